// Hot enough to be compiled; required, so that its name is in the debug information.
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s; }
function outer(k) {
  let t = 0;
  for (let i = 0; i < k; i++) t ^= inner(1000);
  return t;
}
const end = Date.now() + 300; let x = 0;
while (Date.now() < end) x += outer(100);

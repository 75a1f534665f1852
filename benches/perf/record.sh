#!/bin/sh
# Records one busy system with call chains, for the measurements of `symidx perf`:
#     sh benches/perf/record.sh OUT [SECONDS]        leaves the recording in OUT, its programs in OUT.work/
# What runs meanwhile: rustc on a generated crate, a C++ compiler and its LLVM, node, python with numpy and C
# modules loaded at run time, a C++ and a C program built here (libstdc++, dlopen), a Go program if there is one,
# and small tools that keep the kernel busy. HZ sets the samples a second and processor (default 997). Needs perf
# and the right to record the whole system.
set -eu

out=${1:?"usage: record.sh OUT [SECONDS]"}
seconds=${2:-40}
hz=${HZ:-997}
case $out in /*) ;; *) out=$PWD/$out ;; esac
work=$out.work
mkdir -p "$work/checked"

have() { command -v "$1" >/dev/null 2>&1 || { echo "record.sh: no $1 here, goes on without it" >&2; false; }; }

# A crate with generic code, closures, strings and a trait object or two in each of many functions.
generate_rust() {
    n=0
    echo 'use std::collections::{BTreeMap, HashMap}; use std::fmt::Debug;'
    echo 'pub trait Shape: Debug { fn area(&self) -> f64; fn name(&self) -> String { format!("{self:?}") } }'
    while [ $n -lt "$1" ]; do
        cat <<RUST
#[derive(Debug, Clone, PartialEq, PartialOrd, Default)] pub struct S$n<T> { a: T, b: Vec<T>, c: Option<Box<S$n<T>>>, d: BTreeMap<String, T> }
impl<T: Debug + Clone + Into<f64>> Shape for S$n<T> { fn area(&self) -> f64 { self.b.iter().cloned().map(Into::into).sum::<f64>() + self.a.clone().into() } }
pub fn f$n(text: &str, n: usize) -> Result<HashMap<String, Box<dyn Shape>>, std::num::ParseIntError> {
    let mut all: HashMap<String, Box<dyn Shape>> = HashMap::new();
    for (i, word) in text.split_whitespace().enumerate().filter(|(i, _)| i % (n + 1) == $n % 3) {
        let value: i32 = word.parse()?;
        let s = S$n { a: value, b: (0..value).rev().step_by(2).collect(), c: None, d: BTreeMap::from([(word.to_owned(), i as i32)]) };
        let t = S$n { a: f64::from(value), b: s.b.iter().map(|&x| f64::from(x) * 0.5).collect(), c: Some(Box::default()), d: BTreeMap::new() };
        all.insert(format!("{word}-{i:?}"), if i % 2 == 0 { Box::new(s) } else { Box::new(t) });
    }
    Ok(all)
}
RUST
        n=$((n + 1))
    done
}

generate_cpp() {
    cat <<'CPP'
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace work {
template <class T> struct Tree { std::map<T, std::shared_ptr<Tree>> children; std::size_t walk() const { std::size_t n = 1; for (auto& c : children) n += c.second->walk(); return n; } };
struct Visitor { virtual ~Visitor() = default; virtual double visit(const std::string& text, int depth) = 0; };
struct Words final : Visitor {
    std::unordered_map<std::string, int> seen;
    double visit(const std::string& text, int depth) override {
        if (depth > 0) return visit(text + std::to_string(depth), depth - 1) * 0.5;
        std::istringstream in(text);
        for (std::string w; in >> w;) ++seen[w];
        std::ostringstream out;
        for (auto& s : seen) out << s.first << ' ' << s.second << ' ' << 1.5 * s.second << '\n';
        return static_cast<double>(out.str().size());
    }
};
}
int main() {
    std::function<double(int)> go = [&](int n) {
        work::Words words;
        work::Tree<std::string> tree;
        for (int i = 0; i < 300; ++i) tree.children[std::to_string(i * 7919 % 1000)] = std::make_shared<work::Tree<std::string>>();
        std::regex pattern("([a-z]+)[0-9]*x?");
        std::string text = "some words repeated again and again for the counting of words ";
        double sum = 0;
        for (int i = 0; i < n; ++i) { std::smatch m; if (std::regex_search(text, m, pattern)) sum += words.visit(text + m.str(1) + std::to_string(i), 30) + double(tree.walk()); }
        return sum;
    };
    for (;;) std::cerr << go(400) << '\n';
}
CPP
}

generate_dlopen() {
    cat <<'C'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
static char text[1 << 18], packed[1 << 19];
__attribute__((noinline)) static void spin(double (*f)(double)) { volatile double x = 0; for (int i = 1; i < 200000; i++) x += f(i * 0.001); }
__attribute__((noinline)) static void pack(void) {
    void *z = dlopen("libz.so.1", RTLD_NOW);
    if (!z) return;
    int (*compress)(void *, unsigned long *, const void *, unsigned long) = dlsym(z, "compress");
    unsigned long n = sizeof packed;
    if (compress) compress(packed, &n, text, sizeof text);
    dlclose(z);
}
__attribute__((noinline)) static void clocks(void) { struct timespec t; for (int i = 0; i < 100000; i++) clock_gettime(CLOCK_MONOTONIC, &t); }
int main(void) {
    for (unsigned i = 0; i < sizeof text; i++) text[i] = (char)("abcdefgh"[(i * 2654435761u) >> 29]);
    for (;;) {
        void *m = dlopen("libm.so.6", RTLD_NOW);
        double (*f)(double) = m ? (double (*)(double))dlsym(m, "sin") : 0, (*g)(double) = m ? (double (*)(double))dlsym(m, "lgamma") : 0;
        if (f) spin(f);
        if (g) spin(g);
        pack();
        clocks();
        if (m) dlclose(m);
    }
}
C
}

cat >"$work/numbers.py" <<'PY'
import hashlib, json, re, sqlite3, zlib
try:
    import numpy
except ImportError:
    numpy = None
base = sqlite3.connect(":memory:")
base.execute("create table t(a integer, b text)")
turn = 0
while True:
    turn += 1
    if numpy is not None:
        a = numpy.random.default_rng(turn).random((300, 300))
        numpy.linalg.svd(a @ a.T); numpy.fft.fft2(a); numpy.sort(a, axis=None)
    base.executemany("insert into t values(?, ?)", ((i * 7 % 101, str(i)) for i in range(3000)))
    base.execute("select a, count(*), max(b) from t group by a order by 2").fetchall()
    base.execute("delete from t")
    text = json.dumps([{"k%d" % i: list(range(20))} for i in range(300)])
    json.loads(text); re.findall(r"(\d+), (\d+)", text); zlib.compress(text.encode(), 9); hashlib.sha256(text.encode() * 20).digest()
PY
cat >"$work/server.js" <<'JS'
const crypto = require('crypto'), zlib = require('zlib'), http = require('http');
const work = (n) => {
  const all = [];
  for (let i = 0; i < n; i++) all.push({ id: i, name: 'n' + (i * 7919 % n), tags: ['a', 'b', String(i)] });
  all.sort((x, y) => x.name < y.name ? -1 : 1);
  const text = JSON.stringify(all);
  return JSON.parse(text).filter((x) => /n[0-9]*7$/.test(x.name)).length + crypto.createHash('sha256').update(text).digest()[0] + zlib.gzipSync(text).length;
};
const server = http.createServer((q, r) => r.end(String(work(2000)))).listen(0, '127.0.0.1', () => {
  const ask = () => http.get({ port: server.address().port, agent: false }, (r) => { r.resume(); r.on('end', ask); }).on('error', ask);
  ask(); ask();
});
JS

pids=
# Keeps a command running, in a process group of its own.
keep() { setsid sh -c 'while :; do "$@" >/dev/null 2>&1 || sleep 0.2; done' keep "$@" & pids="$pids $!"; }
stop() { for pid in $pids; do kill -s TERM -- "-$pid" 2>/dev/null || true; done; pids=; }
trap stop EXIT
trap 'exit 1' INT TERM

if have rustc; then
    generate_rust 60 >"$work/shapes.rs"
    # A machine that builds Rust has several toolchains, each with libraries of its own.
    for toolchain in $(rustup toolchain list 2>/dev/null | cut -d ' ' -f 1 || true); do
        keep rustc "+$toolchain" --edition 2021 --crate-type rlib -C opt-level=2 -C codegen-units=4 --out-dir "$work/$toolchain" "$work/shapes.rs"
    done
    keep rustc --edition 2021 --crate-type rlib --emit=metadata --out-dir "$work/checked" "$work/shapes.rs"
fi
if have g++; then
    generate_cpp >"$work/words.cpp"
    g++ -O1 -g -fno-omit-frame-pointer -o "$work/words" "$work/words.cpp"
    keep "$work/words"
fi
have clang && keep clang++ -O2 -c -o "$work/words.o" "$work/words.cpp"
if have gcc; then
    generate_dlopen >"$work/plugins.c"
    gcc -O1 -fno-omit-frame-pointer -o "$work/plugins" "$work/plugins.c" -ldl
    keep "$work/plugins"
fi
if have node; then
    keep node "$work/server.js"
    keep node "$work/server.js"
fi
python=python3
if have python3; then
    # numpy goes into an environment of its own; without one the rest still runs.
    if ! python3 -c 'import numpy' 2>/dev/null; then
        [ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"
        "$work/venv/bin/python" -c 'import numpy' 2>/dev/null || "$work/venv/bin/python" -m pip install -q numpy || echo "record.sh: no numpy, goes on without it" >&2
        python=$work/venv/bin/python
    fi
    keep "$python" "$work/numbers.py"
fi
for go in docker containerd; do
    if command -v $go >/dev/null 2>&1; then keep sh -c "$go --help; sleep 0.05"; break; fi
done
keep nice sh -c 'find /usr/lib /usr/share -type f 2>/dev/null | head -2000 | xargs cat | gzip -1 | wc -c; dd if=/dev/zero of="$0" bs=4k count=4000 2>/dev/null; ls -lR /usr/lib >/dev/null; rm -f "$0"' "$work/scratch"
have perl && keep perl -e 'my %h; for my $i (1..300000) { $h{"k" . ($i * 7 % 1001)} .= chr(97 + $i % 26); } my $n = 0; for (sort keys %h) { $n += () = $h{$_} =~ /ab+c?/g }'
have openssl && keep openssl dgst -sha512 "$(command -v openssl)"
sleep 3

perf record -q -e cpu-clock -F "$hz" -a -g -o "$out" -- sleep "$seconds"
stop

ls -l "$out"
perf report -i "$out" --stats 2>/dev/null | grep -E 'SAMPLE|MMAP|LOST' | sort -u
echo "DSOs with samples of their own: $(perf report -i "$out" --sort dso --no-children -g none --stdio 2>/dev/null | grep -cE '^ +[0-9.]+%')"
perf report -i "$out" --sort dso --no-children -g none --stdio 2>/dev/null | grep -E '^ +[0-9.]+%' | head -${ROWS:-30}

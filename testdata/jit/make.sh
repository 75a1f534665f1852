#!/bin/sh
# needs: node 20, java 17, python3 (x86-64 Linux). Real files of two compilers; run in a
# directory of its own, since node writes the path of the program into them.
# node 20.20 writes other bytes than the name of the program's own file into the debug
# information: that of busy.js does not hold together.
set -e; cd "$(dirname "$0")"; here=$PWD
mkdir -p /srv/jit && cd /srv/jit && cp "$here/busy.js" .
echo "require('./busy.js')" > main.js
node --perf-prof --perf-basic-prof --perf-basic-prof-only-functions main.js
mv jit-*.dump "$here/node.dump"
# The first 60 lines of a map: stubs, then functions as they were compiled.
cat > H.java <<'J'
class H { static int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }
  public static void main(String[] a) { int x = 0; for (int i = 0; i < 20000; i++) x += f(1000);
    System.out.println(ProcessHandle.current().pid() + " " + x % 2); } }
J
pid=$(java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit H.java | cut -d' ' -f1)
head -60 "/tmp/perf-$pid.map" > "$here/perf-1.map"
rm -r /srv/jit
cd "$here" && python3 decode.py node.dump perf-1.map > expect.txt

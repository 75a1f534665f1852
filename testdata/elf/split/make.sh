#!/bin/sh
# needs: gcc, clang 14 (x86-64 Linux), llvm-dwp 14. The same program with its debug information in
# .dwo files: DWARF 5, the GNU extension of DWARF 4, compressed, and in a package.
set -e; cd "$(dirname "$0")"
app() { # DIRECTORY COMPILER OPTIONS...: compiles there, so that names are relative to /src
  mkdir -p $1; d=$1; shift
  for i in one two; do
    (cd $d; "$@" -O1 -gsplit-dwarf -fdebug-prefix-map="$PWD"=/src -fdebug-prefix-map="${PWD%/*}"=/src \
      -fno-asynchronous-unwind-tables -c ../$i.c -o $i.o)
  done
  (cd $d; gcc -nostdlib -static -Wl,--build-id -o app one.o two.o; chmod -x app; rm one.o two.o)
}
app v5 gcc -gdwarf-5 -fcf-protection=none
app v4 gcc -gdwarf-4 -fcf-protection=none
app clang5 clang -gdwarf-5
app clang4 clang -gdwarf-4
app packed clang -gdwarf-5
app zlib gcc -gdwarf-5 -gz=zlib -fcf-protection=none
(cd packed; llvm-dwp one.dwo two.dwo -o app.dwp; rm one.dwo two.dwo)
mkdir -p stripped; objcopy --strip-debug v5/app stripped/app

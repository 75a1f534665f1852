#!/bin/sh
# needs: LLVM 19 (llc), binutils (x86-64 Linux). Debug information of Swift, DWARF 4 and 5.
set -e; cd "$(dirname "$0")"
for version in 4 5; do
  sed "s/DWARF_VERSION/$version/" s.ll | llc-19 -O1 -filetype=obj -o s.o
  ld -o s$version.exe s.o; chmod -x s$version.exe; rm s.o
done

#!/bin/sh
# Why: libraries without a symbol table, whose export trie is all there is of names; in both
# commands that lead to one. expect.txt: what llvm-objdump reads in them.
# needs: clang, lld and the llvm tools, all 14, llvm-objdump-19 for the newer command, python3.
set -e; cd "$(dirname "$0")"; PATH=/usr/lib/llvm-14/bin:$PATH
newer() { # LC_DYLD_INFO_ONLY to LC_DYLD_EXPORTS_TRIE, and an empty LC_LINKER_OPTION in the room left
  python3 - "$1" <<'P'
import struct,sys
d=bytearray(open(sys.argv[1],'rb').read()); n,=struct.unpack_from('<I',d,16); at=32
for _ in range(n):
    cmd,size=struct.unpack_from('<II',d,at)
    if cmd==0x80000022:
        trie=struct.unpack_from('<II',d,at+40)
        struct.pack_into('<IIII',d,at,0x80000033,16,*trie)
        d[at+16:at+48]=struct.pack('<III',0x2d,32,0)+bytes(20)
    at+=size
struct.pack_into('<I',d,16,n+1)
open(sys.argv[1],'wb').write(d)
P
}
link() { # ARCHITECTURE NAME
  arch=$1 name=$2
  clang -target "$arch-apple-macos11" -O1 -c exports.c -o "$name.o"
  ld64.lld -arch "$arch" -platform_version macos 11 11 -dylib -install_name /exports \
    -undefined dynamic_lookup -o "$name.whole" "$name.o"
  # All but what the loader itself needs.
  llvm-strip "$name.whole" -o "$name"
  chmod -x "$name"
  [ "$name" != exports-trie.dylib ] || newer "$name"
  llvm-objdump-19 --macho --exports-trie "$name" | sed 's/  */ /g' >> expect.txt
  rm -f "$name.o" "$name.whole"
}
rm -f expect.txt
link x86_64 exports-trie.dylib
link arm64 dyld-info.dylib

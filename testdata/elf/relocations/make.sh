#!/bin/sh
# needs: clang 14 with all targets. One object a machine, all of the same source:
# what each needs to have its debug sections relocated.
set -e; cd "$(dirname "$0")"
for target in x86_64 i386 aarch64 aarch64_be armv7 riscv64 riscv32 powerpc64le powerpc64 \
    powerpc s390x mips64 mips64el mips mipsel sparc64; do
  clang -target $target-linux-gnu -g -O1 -ffunction-sections -fintegrated-as \
    -fdebug-compilation-dir=/src -c r.c -o $target.o
done
# The linker relaxes code: the assembler leaves every difference to it.
clang -target riscv64-linux-gnu -mrelax -gdwarf-4 -O1 -ffunction-sections \
  -fdebug-compilation-dir=/src -c r.c -o riscv64-relax.o
clang -target x86_64-linux-gnu -g -gz=zlib -O1 -ffunction-sections \
  -fdebug-compilation-dir=/src -c r.c -o x86_64-zlib.o

#!/bin/sh
# PLT stubs of other machines: each `name@plt` must be at the address that the
# disassembler gives it (*.addrs). x86-64 has its own case, plt-ifunc.
# needs: clang, ld.lld, llvm-objdump (14 or later)
set -e; cd "$(dirname "$0")"
build() { # NAME TARGET LD-FLAGS...
    name=$1; target=$2; shift 2
    clang --target=$target -O1 -ffreestanding -fPIC -fno-asynchronous-unwind-tables ${CC_FLAGS} -c stubs.c -o $name.o
    ld.lld -shared "$@" $name.o -o $name.so
    llvm-objdump -d --no-show-raw-insn $name.so | grep -E '^[0-9a-f]+ <.*@plt>' > $name.addrs || true
    rm $name.o
}
build aarch64 aarch64-linux-gnu
CC_FLAGS=-mbranch-protection=standard build aarch64-bti aarch64-linux-gnu -z force-bti -z pac-plt
build i386 i386-linux-gnu
# llvm-objdump 14 names no stubs on these two. Their .plt has a header of 32
# bytes and stubs of 16, in the order of .rel[a].plt (see the call targets).
build arm armv7-linux-gnueabi
printf '10250 <ext_one@plt>:\n10260 <ext_two@plt>:\n' > arm.addrs
build riscv64 riscv64-linux-gnu
printf '1340 <ext_one@plt>:\n1350 <ext_two@plt>:\n' > riscv64.addrs

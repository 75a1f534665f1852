#!/bin/sh
# Makes lines.elf. Made once, with gcc 12.2 and GNU binutils 2.40.
set -e
gcc -O2 -g -gdwarf-5 -fdebug-prefix-map="$PWD"=/src -ffreestanding -nostdlib -static \
    -fno-stack-protector -fno-asynchronous-unwind-tables -Wl,--build-id=0x1122334455667788 \
    -Wl,-z,max-page-size=16 lines.c by_hand.s -o lines.elf

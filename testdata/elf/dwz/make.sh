#!/bin/sh
# needs: gcc (x86-64 Linux), dwz. Two programs whose common debug information dwz
# moved to a third file, which both name by a relative path and its build-id.
set -e; cd "$(dirname "$0")"
for i in one two; do
  gcc -g -O1 -gdwarf-4 -nostdlib -static -Wl,--build-id -fdebug-prefix-map="$PWD"=/src \
    -fno-asynchronous-unwind-tables -fcf-protection=none -o $i $i.c
done
mkdir -p common
dwz -m common/shared.debug -r one two
chmod -x one two common/shared.debug

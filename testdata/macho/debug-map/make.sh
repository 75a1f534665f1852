#!/bin/sh
# needs: clang, lld, dsymutil and the llvm tools, all 14. A program linked from two objects and a member of an
# archive; its debug map names them relative to their directory, all changed at second 1000000000.
set -e; cd "$(dirname "$0")"; PATH=$PATH:/usr/lib/llvm-14/bin
for arch in x86_64 arm64; do
  mkdir -p $arch; cd $arch; rm -rf ./*
  for i in one two three; do
    clang -target $arch-apple-macos11 -g -O1 -fdebug-compilation-dir=/src -c ../$i.c -o $i.o
    touch -d @1000000000 $i.o
  done
  llvm-ar rcU libthree.a three.o; rm three.o
  # One symbol leads the functions: the linker does not keep the objects' order.
  printf '_three\n_bar\n_hidden\n_foo\n_baz\n' > order
  ld64.lld-14 -arch $arch -platform_version macos 11 11 -dylib -oso_prefix "$PWD/" -order_file order \
    -install_name /app -force_load libthree.a -o app one.o two.o
  # dsymutil wants to find the objects, so it runs where they are; it leaves out stale ones.
  dsymutil app -o app.dSYM
  rm -f order app.dSYM/Contents/Info.plist
  cp app stripped; llvm-strip -x -S stripped; chmod -x app stripped
  cd ..
done

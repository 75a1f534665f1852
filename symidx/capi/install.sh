#!/bin/sh
# Puts the C library under a prefix: libsymidx.so and libsymidx.a, symidx.h,
# symidx.pc. Build it first: cargo build --release -p symidx-capi
# Usage: install.sh [--built DIR] [--libdir NAME] PREFIX
#   --built DIR     where cargo put the library (target/release of this workspace)
#   --libdir NAME   directory for libraries under the prefix (lib)
# With DESTDIR set, files go to $DESTDIR/PREFIX and still name PREFIX.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
built=${CARGO_TARGET_DIR:-$here/../../target}/release
libdir=lib
usage() {
    sed -n '2,7s/^# //p' "$0" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --built | --libdir)
        [ $# -ge 2 ] || usage
        if [ "$1" = --built ]; then built=$2; else libdir=$2; fi
        shift 2
        ;;
    -*) usage ;;
    *) break ;;
    esac
done
[ $# -eq 1 ] || usage
case $1 in /*) prefix=$1 ;; *) prefix=$PWD/$1 ;; esac

for file in libsymidx_capi.so libsymidx_capi.a; do
    [ -f "$built/$file" ] || {
        echo "expected $file in $built, found none; build it: cargo build --release -p symidx-capi" >&2
        exit 1
    }
done
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$here/../../Cargo.toml")
# The name the loader looks for, as build.rs writes it.
case $version in
0.*) minor=${version#0.} && name=0.${minor%%.*} ;;
*) name=${version%%.*} ;;
esac

to=${DESTDIR:-}$prefix
mkdir -p "$to/$libdir/pkgconfig" "$to/include"
install -m 755 "$built/libsymidx_capi.so" "$to/$libdir/libsymidx.so.$version"
ln -sf "libsymidx.so.$version" "$to/$libdir/libsymidx.so.$name"
ln -sf "libsymidx.so.$name" "$to/$libdir/libsymidx.so"
install -m 644 "$built/libsymidx_capi.a" "$to/$libdir/libsymidx.a"
install -m 644 "$here/include/symidx.h" "$to/include/symidx.h"
sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@VERSION@|$version|" \
    "$here/symidx.pc.in" >"$to/$libdir/pkgconfig/symidx.pc"
chmod 644 "$to/$libdir/pkgconfig/symidx.pc"

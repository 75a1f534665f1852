#!/bin/sh
# Makes work.elf, and the raw profiles of it, again. Needs gcc, gperftools'
# libprofiler.so, and `go tool pprof`, which turns gperftools' format into
# profile.proto without symbolizing. Addresses and counts differ from run to
# run: the tests know those of the committed files.
set -eu
cd "$(dirname "$0")"
gcc -O2 -g -fno-omit-frame-pointer -ffile-prefix-map="$PWD"=/src -Wl,--build-id=sha1 -o work.elf work.c
readelf -n work.elf | sed -n 's/.*Build ID: //p' >work.id
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
# The profile states the path that the program had: one that is no machine's.
mkdir -p "${SRC:=/src}"
cp work.elf "$SRC/"
LD_PRELOAD=libprofiler.so CPUPROFILE="$run/cpu" CPUPROFILE_FREQUENCY=250 "$SRC/work.elf"
go tool pprof -proto -symbolize=none -output "$PWD/cpu.pb.gz" "$run/cpu"
# Go's runtime symbolizes its own profiles.
cat >"$run/main.go" <<'GO'
package main

import (
	"os"
	"runtime/pprof"
)

func spin(n uint64) (x uint64) {
	for i := uint64(0); i < n; i++ {
		x = (x ^ i) * 0x9e3779b97f4a7c15
	}
	return x
}

func main() {
	pprof.StartCPUProfile(os.Stdout)
	println(spin(400_000_000))
	pprof.StopCPUProfile()
}
GO
(cd "$run" && go build -trimpath -o "$SRC/spin" main.go)
"$SRC/spin" >go.pb.gz

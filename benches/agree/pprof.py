#!/usr/bin/env python3
"""Compares `symidx pprof` with pprof itself on the same raw profiles.

    pprof.py [--symidx S] [--count N] BINARY...     ELF executables and shared objects with symbols

pprof is the one that Go's source tree carries, built here with its own front end, as `go tool pprof` has another way
to symbolize: without inlined functions. For each BINARY a raw profile is made: N random bytes of its executable
segments, mapped as a loader maps them at a made-up address, with its build-id, one sample each. Both symbolize that
profile on their own: pprof through llvm-symbolizer or addr2line, found by mapping and build-id; then pprof reads
what symidx wrote (`-raw -symbolize=none`), so that the format is judged by its own reader too. Compared per location: that
both have an answer, the number of frames, file and line of each, and the function's name. Differences are counted by
class (`judge`); what is of no class is UNEXPLAINED and makes the exit status 1. Without Go nothing is compared, and that is said loudly.
"""
import argparse
import collections
import gzip
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

SEED = 20240229
BASE = 0x7F12_3400_0000
Frame = collections.namedtuple("Frame", "name file line")


# ---- a raw profile ----------------------------------------------------------------------------

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n) if n else b""


def block(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def segments(path):
    """(offset, vaddr, filesz) of executable segments, and whether the file says where it is mapped."""
    out = subprocess.run(["readelf", "-hlnW", path], capture_output=True, text=True, check=True).stdout
    loads = re.findall(r"LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+) 0x\w+ R ?W?\s*E", out)
    fixed = re.search(r"Type: +EXEC", out) is not None
    build_id = re.search(r"Build ID: (\w+)", out)
    return [tuple(int(x, 16) for x in load) for load in loads], fixed, build_id.group(1) if build_id else ""


def raw_profile(path, count):
    loads, fixed, build_id = segments(path)
    rng = random.Random(SEED)
    bias = 0 if fixed else BASE
    chosen = rng.choices(loads, [size for *_, size in loads], k=count)
    addresses = sorted({bias + v + rng.randrange(size) for _, v, size in chosen})
    strings = ["", "samples", "count", path, build_id]
    out = block(1, number(1, 1) + number(2, 2))
    spans = []
    for at, (offset, v, size) in enumerate(loads, 1):
        # The loader maps whole pages.
        start, limit, page = bias + (v & ~0xFFF), bias + (v + size + 0xFFF & ~0xFFF), offset & ~0xFFF
        spans.append((at, start, limit))
        out += block(3, number(1, at) + number(2, start) + number(3, limit) + number(4, page) + number(5, 3) + number(6, 4 if build_id else 0))
    for at, address in enumerate(addresses, 1):
        mapping = next(i for i, start, limit in spans if start <= address < limit)
        out += block(4, number(1, at) + number(2, mapping) + number(3, address))
        out += block(2, number(1, at) + number(2, 1))
    for text in strings:
        out += block(6, text.encode())
    return gzip.compress(out), len(addresses)


# ---- the tools --------------------------------------------------------------------------------

LOCATION = re.compile(r"^ +(\d+): (0x\w+) M=\d+ (?:\[F\] )?(.*)$")
LINE = re.compile(r"^(.*?) ?(\S*):(\d+)(?::\d+)? s=-?\d+(?:\((.*)\))?$")


MAIN = """package main

import (
	"fmt"
	"os"

	"github.com/google/pprof/driver"
)

func main() {
	if err := driver.PProf(&driver.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
"""


def build_pprof(into):
    """pprof as Go's source tree has it; nothing is fetched."""
    root = subprocess.run(["go", "env", "GOROOT"], capture_output=True, text=True, check=True).stdout.strip()
    modules = ["google/pprof", "ianlancetaylor/demangle"]
    lines = ["module reference", "go 1.18"]
    for module in modules:
        copy = os.path.join(into, os.path.basename(module))
        shutil.copytree(os.path.join(os.path.realpath(root), "src/cmd/vendor/github.com", module), copy)
        with open(os.path.join(copy, "go.mod"), "w") as out:
            out.write(f"module github.com/{module}\ngo 1.18\n")
        lines += [f"require github.com/{module} v0.0.0", f"replace github.com/{module} => ./{os.path.basename(module)}"]
    for name, text in (("go.mod", "\n".join(lines) + "\n"), ("main.go", MAIN)):
        with open(os.path.join(into, name), "w") as out:
            out.write(text)
    env = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off", "GOCACHE": os.path.join(into, "cache")}
    subprocess.run(["go", "build", "-o", "reference", "."], cwd=into, env=env, check=True)
    return os.path.join(into, "reference")


def raw_text(pprof, path, home, symbolize):
    """What `pprof -raw` prints of each location: address to frames."""
    cmd = [pprof, "-raw", f"-symbolize={symbolize}", path]
    env = {**os.environ, "HOME": home, "PPROF_TMPDIR": home}
    out = subprocess.run(cmd, capture_output=True, text=True, env=env)
    if out.returncode:
        raise SystemExit(f"pprof failed: {out.stderr}")
    found, address, inside = {}, None, False
    for text in out.stdout.splitlines():
        if text in ("Locations", "Mappings"):
            inside = text == "Locations"
            continue
        if not inside:
            continue
        head = LOCATION.match(text)
        if head:
            address, text = int(head.group(2), 16), head.group(3)
            found[address] = []
        line = LINE.match(text.strip())
        if line:
            name, file, number, system = line.groups()
            found[address].append(Frame(system or name, file, int(number)))
    return found


# ---- classes ----------------------------------------------------------------------------------

def plain(name):
    """The last part of a name in any spelling: `_ZN1a1bEv`, `a::b`, `b<T>` and `a.b` all end in b."""
    if shutil.which("c++filt") and name.startswith(("_Z", "_R", "__Z")):
        name = demangled(name)
    name = re.sub(r"(?<=[a-z)])\.\d+$|::h[0-9a-f]{16}$", "", name)
    depth, kept = 0, ""
    for i, c in enumerate(name):
        if c == "<" and i:
            depth += 1
        elif c == ">" and depth:
            depth -= 1
        elif not depth:
            kept += c
    return re.split(r"::|\.", kept.split("(")[0].rstrip(":"))[-1].split(" ")[-1]


NAMES = {}


def demangled(name):
    if name not in NAMES:
        NAMES[name] = subprocess.run(["c++filt", "-i", name], capture_output=True, text=True).stdout.strip()
    return NAMES[name]


def norm(file):
    return os.path.normpath(file) if file else ""


def judge(mine, theirs):
    places = lambda frames: [(norm(f.file), f.line) for f in frames]
    if mine == theirs:
        return "same"
    if not theirs:
        # Stubs are named after their relocations, and a debug file's symbol table is read; llvm-symbolizer does neither.
        if all(m.name.endswith("@plt") for m in mine):
            return "only symidx has an answer: a stub"
        if all(not m.line for m in mine):
            return "only symidx has an answer: a symbol alone"
        return "only symidx has an answer: a line outside of every function" if not any(m.name for m in mine) else None
    if not mine:
        # llvm-symbolizer stretches a symbol to the next one, over padding and into other sections; symidx says gap.
        return "only pprof has an answer: a symbol alone, no line" if [(f.file, f.line) for f in theirs] == [("", 0)] else None
    if places(mine) == places(theirs):
        if all(plain(m.name) == plain(t.name) for m, t in zip(mine, theirs)):
            return "same, names in another spelling"
        # Symbol tables know clones, aliases and parts that DWARF does not; symidx takes the outermost name from there.
        if all(plain(m.name) == plain(t.name) for m, t in zip(mine[:-1], theirs[:-1])):
            return "same places and inlined functions, outermost name of the symbol table"
        return "same places, other names"
    if [f.line for f in mine] == [f.line for f in theirs] and all(os.path.basename(m.file) == os.path.basename(t.file) for m, t in zip(mine, theirs)):
        return "same lines, directory spelt otherwise"
    if not any(f.line for f in mine + theirs) and plain(mine[-1].name) == plain(theirs[-1].name):
        return "same function, no line in either"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--symidx", default="target/release/symidx")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--show", type=int, default=5, help="differences shown per class")
    parser.add_argument("binaries", nargs="+", metavar="BINARY")
    args = parser.parse_args()
    if shutil.which("go") is None:
        print("SKIPPED: Go is not there (Debian: golang-go); NOTHING was compared")
        return 0
    with tempfile.TemporaryDirectory() as tools:
        return compare(args, build_pprof(tools))


def compare(args, pprof):
    bad = 0
    for path in args.binaries:
        path = os.path.realpath(path)
        with tempfile.TemporaryDirectory() as home:
            raw, named = os.path.join(home, "raw.pb.gz"), os.path.join(home, "named.pb.gz")
            data, count = raw_profile(path, args.count)
            with open(raw, "wb") as out:
                out.write(data)
            subprocess.run([args.symidx, "pprof", "-q", "--no-demangle", raw, "-o", named], check=True)
            mine = raw_text(pprof, named, home, "none")
            theirs = raw_text(pprof, raw, home, "local:demangle=none")
        if len(mine) != count or mine.keys() != theirs.keys():
            print(f"{path}: expected {count} locations from both, found {len(mine)} and {len(theirs)}")
            bad += 1
            continue
        classes, shown = collections.Counter(), collections.Counter()
        for address in sorted(mine):
            name = judge(mine[address], theirs[address]) or "UNEXPLAINED"
            classes[name] += 1
            if name != "same" and shown[name] < args.show and (name == "UNEXPLAINED" or args.show > 5):
                shown[name] += 1
                print(f"  {name}: {address:#x}\n    symidx {mine[address]}\n    pprof  {theirs[address]}")
        print(f"{os.path.basename(path)}: {count} locations: " + "; ".join(f"{n} {c}" for c, n in classes.most_common()))
        bad += classes["UNEXPLAINED"]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

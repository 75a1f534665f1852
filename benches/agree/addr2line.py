#!/usr/bin/env python3
"""Compares the output of `symidx addr2line` with GNU addr2line's, byte for byte.

    addr2line.py [OPTIONS] BINARY[:SECTION]...    ELF; a relocatable file's section after a colon (default .text)
    addr2line.py --programs [WAY...]              builds programs/ with gcc, clang and rustc in many ways, and asks of each

Asked: random bytes of executable sections (fixed seed), then the same number of others: starts of symbols of data and
code, the bytes around the ends of sections, PLT stubs, 0 and addresses outside. Each set is asked in one run per form
of output, as both programs remember what they were asked; with --alone, each address of code in a run of its own. Every answer that differs is put in a class by what differs
in it; the exit status is 1 when one does. Needs GNU addr2line and readelf.
"""
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from programs import build as programs

SEED = 20240229
FORMS = ("-a", "-af", "-ai", "-afi", "-afiC", "-afip", "-afis", "-aifpsC")


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True)
    return done.stdout


def need_gnu(args):
    version = shutil.which(args.gnu) and run([args.gnu, "--version"], b"").splitlines()[0].decode()
    if not version or not version.startswith("GNU addr2line"):
        sys.exit(f"addr2line.py: expected GNU addr2line as {args.gnu!r}, found {version or 'nothing'}; "
                 "NOTHING WAS COMPARED; install binutils or name it with --gnu")
    return version


# ---- addresses --------------------------------------------------------------------------------

def sections(path):
    """(name, kind, address, size, flags) of every section."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, errors="replace", check=True).stdout
    rows = re.finditer(r"^ +\[ *\d+\] (\S+) +(\S+) +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) +\S+ +([A-Zlop]*) ", out, re.M)
    return [(m[1], m[2], int(m[3], 16), int(m[4], 16), m[5]) for m in rows]


def symbols(path):
    out = subprocess.run(["readelf", "-sW", path], capture_output=True, text=True, errors="replace").stdout
    return sorted({int(m[1], 16) for m in re.finditer(r"^ +\d+: ([0-9a-f]+) +\S+ (?:FUNC|OBJECT|NOTYPE|IFUNC) ", out, re.M)})


def draw(path, section, count):
    """Two lists of addresses: of code, and odd ones."""
    rng, known = random.Random(SEED), sections(path)
    if section:
        size = next(size for name, _, _, size, _ in known if name == section)
        if not size:
            return [], []
        return [rng.randrange(size) for _ in range(count)], [0, size - 1, size, size + 1, 1 << 40]
    code = [(lo, lo + size) for _, kind, lo, size, flags in known if "X" in flags and size and kind != "NULL"]
    chosen = rng.choices(code, [hi - lo for lo, hi in code], k=count)
    odd = [0, 1, 0xffff, 1 << 40, (1 << 64) - 1]
    for _, _, lo, size, flags in known:
        if "A" in flags and size:
            odd += [lo - 1 & (1 << 64) - 1, lo, lo + size - 1, lo + size, lo + rng.randrange(size)]
    for name, _, lo, size, _ in known:
        if name.startswith(".plt"):
            odd += [lo + rng.randrange(size) for _ in range(count // 20)]
    starts = symbols(path)
    odd += rng.sample(starts, min(len(starts), count // 2))
    return [rng.randrange(lo, hi) for lo, hi in chosen], odd


# ---- answers ----------------------------------------------------------------------------------

def split(output):
    """The answers in an output that has every address."""
    return re.split(rb"^(?=0x[0-9a-f]{8,16}(?:\n|: ))", output, flags=re.M)[1:]


def place(line):
    m = re.match(rb"^(.*?):(\d+|\?)( \(discriminator \d+\))?$", line)
    return (m[1], m[2], m[3]) if m else (line, b"", None)


def lines(form, answer):
    """Function and place, in turn, without the address; -p has both in one line."""
    if "p" not in form:
        return answer.splitlines()[1:]
    parts = answer.split(b": ", 1)[1].replace(b"\n (inlined by) ", b"\n").splitlines()
    return [part for line in parts for part in (line.rsplit(b" at ", 1) if "f" in form else [line])]


def classes(form, ours, theirs):
    """What differs in one answer, in short words."""
    mine, other = lines(form, ours), lines(form, theirs)
    if len(mine) != len(other):
        return {f"{'fewer' if len(mine) < len(other) else 'more'} frames"}
    found, step = set(), 2 if "f" in form else 1
    for i, (a, b) in enumerate(zip(mine, other)):
        where = "innermost" if i < step else "around"
        if a == b:
            continue
        if step == 2 and i % 2 == 0:
            found.add("demangled name" if "C" in form else f"{where}: function")
            continue
        for what, x, y in zip(("file", "line", "discriminator"), place(a), place(b)):
            if x != y:
                found.add(f"{where}: {what}")
    return found


class Report:
    def __init__(self):
        self.asked, self.equal, self.counts = collections.Counter(), collections.Counter(), collections.Counter()


def compare(path, section, args):
    report, shown = Report(), 0
    code, odd = draw(path, section, args.count)
    if args.alone:
        return alone(path, section, code, args)
    for kind, addresses in (("code", code), ("odd", odd)):
        if not addresses:
            continue
        text = "".join(f"{a:x}\n" for a in addresses).encode()
        for form in FORMS if not args.form else args.form:
            tail = [form, "-e", path, *(["-j", section] if section else [])]
            ours, theirs = run([args.symidx, "addr2line", *tail], text), run([args.gnu, *tail], text)
            a, b = split(ours), split(theirs)
            if len(a) != len(addresses) or len(b) != len(addresses):
                sys.exit(f"addr2line.py: {path} {form}: expected {len(addresses)} answers, found {len(a)} and {len(b)}")
            for address, mine, other in zip(addresses, a, b):
                report.asked[kind] += 1
                report.equal[kind] += mine == other
                if mine != other:
                    found = classes(form, mine, other)
                    report.counts[", ".join(sorted(found))] += 1
                    if shown < args.show:
                        shown += 1
                        print(f"  {form} {address:#x}: {', '.join(sorted(found))}\n    ours   {mine!r}\n    GNU    {other!r}", flush=True)
    return report


def alone(path, section, code, args):
    """Every address in a run of its own: nothing was read or asked before it."""
    report = Report()
    for address in code:
        tail = ["-afi", "-e", path, *(["-j", section] if section else []), hex(address)]
        ours, theirs = run([args.symidx, "addr2line", *tail], b""), run([args.gnu, *tail], b"")
        report.asked["code"] += 1
        report.equal["code"] += ours == theirs
        if ours != theirs:
            report.counts[", ".join(sorted(classes("-afi", ours, theirs)))] += 1
    return report


def table(rows):
    out = ["| file | code: equal | odd addresses: equal | what differs |", "|---|---:|---:|---|"]
    for name, r in rows:
        cells = [f"{r.equal[k]:,} of {r.asked[k]:,}" for k in ("code", "odd")]
        out.append(f"| {name} | {' | '.join(cells)} | {'; '.join(f'{c} {n:,}' for c, n in r.counts.most_common()) or '–'} |")
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary", nargs="*")
    p.add_argument("--symidx", default="symidx", help="the program under test")
    p.add_argument("--gnu", default="addr2line", help="GNU addr2line")
    p.add_argument("--programs", nargs="*", metavar="WAY", help="build programs/ in these ways (all) and compare each")
    p.add_argument("--count", type=int, default=300, help="addresses of code of each file (%(default)s)")
    p.add_argument("--form", action="append", help="only this form of output; -a must be in it")
    p.add_argument("--alone", action="store_true", help="ask each address of code in a run of its own")
    p.add_argument("--show", type=int, default=5, help="different answers printed for each file (%(default)s)")
    args = p.parse_args()
    print(f"# {need_gnu(args)}", flush=True)
    if not args.binary and args.programs is None:
        p.error("a BINARY or --programs")
    rows = []
    for word in args.binary:
        path, _, section = word.partition(":")
        with open(path, "rb") as f:
            relocatable = f.read(18)[16] == 1
        began = time.monotonic()
        rows.append((os.path.basename(word), compare(path, section or (".text" if relocatable else None), args)))
        print(table(rows[-1:]), f"{time.monotonic() - began:.0f} s", flush=True)
    if args.programs is not None:
        with tempfile.TemporaryDirectory() as base:
            for name, path in programs.build(base, print, args.programs):
                rows.append((name, compare(path, None, args)))
                objects = [n for n in sorted(os.listdir(os.path.dirname(path))) if n.endswith(".o")]
                for n in objects:
                    rows.append((f"{name} {n}", compare(os.path.join(os.path.dirname(path), n), ".text", args)))
    print(table(rows))
    return 1 if any(r.counts for _, r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares `symidx perf script` with `perf script --no-demangle`, line by line.

    perf.py [OPTIONS] PERF.DATA...            recordings
    perf.py [OPTIONS] --synthetic BINARY...   a made-up recording with a sample at every byte (--step N) of the code
    perf.py [OPTIONS] --kernel KALLSYMS       the same for every symbol of a kallsyms text: start, middle, last byte
    perf.py [OPTIONS] --vmlinux FILE         the same for the text of a vmlinux that KASLR moved

Both print `comm,tid,time,ip,sym,symoff,dso`. A line that differs must be one address with two names, and a class must prove
it by what `readelf` (or the kallsyms text) states about that address; what no class proves is UNEXPLAINED, is printed, and
makes the exit status 1. Lines that are no addresses must be equal. Needs perf and binutils; --write FILE writes the table.
"""
import argparse
import collections
import os
import re
import struct
import subprocess
import sys
import tempfile

FIELDS = "comm,tid,time,ip,sym,symoff,dso"
CLASSES = {
    "alias": "another name of the same start. perf's order is followed; where a file has both tables, its choice among names of one rank is not always the longest",
    "version": "the same symbol: perf shows `f@@V` where `.symtab` has the version behind the name although `f` has one version only; an index does not keep which",
    "plt": "a stub: symidx names it from its relocation; perf 6.1 has no rule for `.plt.sec`, `.plt.got` and the first entry, prints `_init` or `_fini` in front of them, and `@plt` for IRELATIVE ones",
    "enclosing lost": "a nested symbol has ended; perf looks only at the nearest start and says [unknown], symidx finds the enclosing symbol again",
    "enclosing first": "two sized symbols cover the address; perf finds the larger one, symidx the innermost",
    "inner label": "an unsized label lies inside a sized symbol; perf gives it the room up to the next symbol, symidx prefers the sized one",
    "stretched": "perf stretches an unsized symbol up to the next one, over the end of its section or of another symbol; symidx says [unknown] or names what is there",
    "sized past its end": "perf stretches the only symbol there over what no symbol covers",
    "no bytes in the file": "an offset that the file does not have: perf takes `.bss` to lie behind the data there, symidx says [unknown]",
    "other table": "the symbol is in a table that perf did not read: `.dynsym` beside a debug file, `.gnu_debugdata`",
    "dwarf": "a function known only to DWARF: perf says [unknown]",
    "kernel alias": "another name of the same address: kallsyms has no sizes, bindings are guessed from letters",
    "kernel end": "an end marker (`__entry_text_end`) owns nothing; perf stretches it up to the next symbol",
}
FRAME = re.compile(rb"^\s+([0-9a-f]+) (.*) \((.*)\)$")
ALONE = re.compile(rb"^(.*: )\s*([0-9a-f]+) (.*) \((.*)\)$")


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more).stdout


def plain(name):
    return name.split("@")[0] if "@plt" not in name else name


Symbol = collections.namedtuple("Symbol", "start size kind binding name section")


class Elf:
    """What readelf states about a file, its debug file included."""

    def __init__(self, path):
        self.path, self.symbols, self.sections, self.segments = path, {}, [], []
        if not os.path.isfile(path):
            return
        text = run(["readelf", "-SWl", path]).decode("utf8", "replace")
        for m in re.finditer(r"\[ *(\d+)\] (\S+) +(\S+) +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+)", text):
            self.sections.append((int(m[4], 16), int(m[6], 16), m[2], int(m[5], 16)))
        for m in re.finditer(r"LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ (...)", text):
            self.segments.append((int(m[1], 16), int(m[2], 16), int(m[3], 16), "E" in m[4]))
        files = [path]
        ident = re.search(r"Build ID: (\w+)", run(["readelf", "-n", path]).decode("utf8", "replace"))
        if ident:
            files.append("/usr/lib/debug/.build-id/%s/%s.debug" % (ident[1][:2], ident[1][2:]))
        for file in files:
            if os.path.isfile(file):
                self.read(file)
        self.sized = sorted(s for all in self.symbols.values() for s in all if s.size)

    def read(self, file):
        for line in run(["readelf", "-sW", file]).decode("utf8", "replace").splitlines():
            p = line.split()
            if len(p) < 8 or not re.match(r"\d+:", p[0]) or p[6] in ("UND", "ABS") or p[3] in ("SECTION", "FILE", "TLS"):
                continue
            self.symbols.setdefault(int(p[1], 16), set()).add(Symbol(int(p[1], 16), int(p[2], 0), p[3], p[4], p[7], p[6]))

    def svma(self, offset):
        best = None
        for o, v, size, code in self.segments:
            if o <= offset < o + size and (best is None or code):
                best = v + offset - o
        return best

    def section(self, address):
        return next((name for start, size, name, _ in self.sections if start and start <= address < start + size), None)

    def at(self, start, name):
        return [s for s in self.symbols.get(start, ()) if plain(s.name) == plain(name) or s.name == name]

    def in_bss(self, offset, name):
        """True when perf's arithmetic puts an object of `.bss` at an offset."""
        for start, size, section, at in self.sections:
            address = offset - at + start
            if section == ".bss" and start <= address < start + size:
                return any(plain(s.name) == plain(name) and s.start <= address < s.start + s.size for s in self.sized)
        return False


def split(symbol):
    if symbol == "[unknown]":
        return None, 0
    name, _, offset = symbol.rpartition("+0x")
    return name, int(offset, 16)


def classify(perf, ours, address, elf, is_dwarf, offset=None):
    (pname, poff), (oname, ooff) = split(perf), split(ours)
    pstart, ostart = address - poff, address - ooff
    if offset is not None:
        # perf counts in the file, where the symbol may lie in another segment.
        start = elf.svma(offset - poff)
        pstart = pstart if start is None else start
    section = elf.section(address) or ""
    if section.startswith(".plt") or section == ".iplt":
        return "plt"
    theirs = elf.at(pstart, pname) if pname else []
    mine = elf.at(ostart, oname) if oname else []
    if pname and oname and pstart == ostart and theirs and mine:
        return "version" if plain(pname) == plain(oname) else "alias"
    if pname and not theirs:
        return None
    if oname and not mine:
        if not pname and is_dwarf(address, oname):
            return "dwarf"
        return None
    covers = [s for s in mine if s.start <= address < s.start + s.size]
    if oname and covers and not pname:
        nested = any(s.start > ostart for all in elf.symbols.values() for s in all if ostart < s.start <= address)
        return "enclosing lost" if nested else "other table"
    if pname and all(s.size == 0 for s in theirs):
        if oname and covers and pstart > ostart:
            return "inner label"
        return "stretched"
    if pname and oname and covers:
        over = [s for s in theirs if s.start <= address < s.start + s.size]
        return "enclosing first" if over and pstart <= ostart else None
    if pname and not oname and not any(address < s.start + s.size for s in theirs):
        return "sized past its end"
    return None


class Kernel:
    def __init__(self, path):
        self.at = {}
        for line in open(path, errors="replace"):
            p = line.split()
            if len(p) >= 3:
                self.at.setdefault(int(p[0], 16), []).append((p[2], p[3] if len(p) > 3 else ""))
        self.starts = sorted(self.at)

    def classify(self, perf, ours, address):
        (pname, poff), (oname, ooff) = split(perf), split(ours)
        names = lambda start: {name for name, _ in self.at.get(start, ())}
        if pname and oname and poff == ooff and {pname, oname} <= names(address - poff):
            return "kernel alias"
        if pname and not oname and pname in names(address - poff):
            return "kernel end" if re.fullmatch(r"_etext|_end|__.*_end", pname) else None
        return None


def compare(title, profile, args, kernel=None, more=()):
    base = ["-i", profile, "-F", FIELDS, "--no-demangle", "--no-inline"]
    theirs = run(["perf", "script", *base, "--max-stack", "127", *more]).split(b"\n")
    ours = run([args.symidx, "perf", "script", *base, "--quiet", "--store", args.store, *more]).split(b"\n")
    counts, seen, facts, flags = collections.Counter(), {}, {}, {}
    bad = 0
    if len(theirs) != len(ours):
        print(f"{title}: {len(theirs)} lines of perf, {len(ours)} of symidx", file=sys.stderr)
        counts["UNEXPLAINED"] += abs(len(theirs) - len(ours))
    for number, (a, b) in enumerate(zip(theirs, ours), 1):
        counts["lines"] += 1
        if a == b:
            continue
        key = (a, b)
        ma, mb = FRAME.match(a), FRAME.match(b)
        if not ma:
            ma, mb = ALONE.match(a), ALONE.match(b)
            if ma and mb and ma[1] != mb[1]:
                ma = None
            key = (ma and ma.groups()[1:], mb and mb.groups()[1:])
        cls = seen.get(key)
        if cls is None:
            cls = "UNEXPLAINED"
            if ma and mb and ma.groups()[-3] == mb.groups()[-3] and ma.groups()[-1] == mb.groups()[-1]:
                where, dso = int(ma.groups()[-3], 16), os.fsdecode(ma.groups()[-1])
                perf, mine = ma.groups()[-2].decode("utf8", "replace"), mb.groups()[-2].decode("utf8", "replace")
                if dso.startswith("["):
                    cls = kernel and kernel.classify(perf, mine, where) or cls
                else:
                    elf = facts.get(dso) or facts.setdefault(dso, Elf(dso))
                    offset = where if args.synthetic is None else args.synthetic(where)
                    svma = elf.svma(offset)

                    def is_dwarf(address, name):
                        out = run([args.symidx, "lookup", "--json", "--store", args.store, dso, hex(address)]).decode()
                        return '"flags":["dwarf"]' in out and f'"name":"{name}"' in out
                    if svma is None and mine == "[unknown]" and elf.in_bss(where, split(perf)[0]):
                        cls = "no bytes in the file"
                    if svma is not None:
                        cls = classify(perf, mine, svma, elf, is_dwarf, offset) or cls
            seen[key] = cls
        counts[cls] += 1
        if cls == "UNEXPLAINED" and bad < args.show:
            bad += 1
            print(f"{title}: line {number}\n  perf   {a.decode('utf8', 'replace')}\n  symidx {b.decode('utf8', 'replace')}", file=sys.stderr)
    return counts


def event(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def made_up(path, maps, name, samples, kernel=()):
    """A recording for pipes: one process, its mappings, a sample at each address."""
    attr = bytearray(136)
    struct.pack_into("<IIQQQQQ", attr, 0, 1, 136, 0, 1000, 7, 0, (1 << 18) | (1 << 8) | (1 << 9))
    ident = lambda pid, time: struct.pack("<IIQ", pid, pid, time)
    pad = lambda text: text + b"\0" * (8 - len(text) % 8)
    with open(path, "wb") as out:
        out.write(b"PERFILE2" + struct.pack("<Q", 16) + event(64, 0, bytes(attr) + struct.pack("<Q", 0)))
        for start, length, offset, what in kernel:
            out.write(event(1, 1, struct.pack("<IIQQQ", 0xFFFFFFFF, 0, start, length, offset) + pad(what.encode()) + ident(0, 1)))
        out.write(event(3, 0, struct.pack("<II", 4242, 4242) + pad(b"made-up") + ident(4242, 1)))
        for start, length, offset in maps:
            head = struct.pack("<IIQQQIIQQII", 4242, 4242, start, length, offset, 0, 0, 0, 0, 5, 2)
            out.write(event(10, 2, head + pad(os.fsencode(name)) + ident(4242, 2)))
        misc = 1 if kernel else 2
        for time, ip in enumerate(samples, 10):
            out.write(struct.pack("<IHHQIIQ", 9, misc, 32, ip, 4242, 4242, time))
        out.write(event(68, 0, b""))


def synthetic(binary, args, directory):
    binary = os.path.realpath(binary)
    elf = Elf(binary)
    base, page = 0x7F0000000000, 4095
    code = [s for s in elf.segments if s[3]]
    maps = [(base + (v & ~page), (size + (v & page) + page) & ~page, o & ~page) for o, v, size, _ in code]
    samples = [base + a for o, v, size, _ in code for a in range(v, v + size, args.step)]
    profile = os.path.join(directory, "made-up.data")
    made_up(profile, maps, binary, samples)
    # A lone address is printed as it was at run time.
    args.synthetic = lambda ip: next((o + ip - base - v for o, v, size, _ in code if v <= ip - base < v + size), -1)
    counts = compare(binary, profile, args)
    args.synthetic = None
    return counts


def of_kernel(text, args, directory):
    kernel = Kernel(text)
    last = max(a for a in kernel.starts if any(m == "" and n == "_etext" for n, m in kernel.at[a])) if any(
        n == "_etext" for a in kernel.starts for n, _ in kernel.at[a]) else kernel.starts[-1]
    first = next(a for a in kernel.starts if any(n in ("_text", "_stext") for n, _ in kernel.at[a]))
    inside = [a for a in kernel.starts if first <= a < last]
    samples = sorted({a for s, e in zip(inside, inside[1:]) for a in (s, (s + e) // 2, e - 1)})
    profile = os.path.join(directory, "kernel.data")
    made_up(profile, [], "", samples, [(first, last - first, first, "[kernel.kallsyms]_text")])
    return compare(f"kernel: {text}", profile, args, kernel, [f"--kallsyms={text}"])


class KernelFile:
    """What readelf states about a vmlinux that runs moved by a distance."""

    def __init__(self, path, slide):
        self.elf, self.slide = Elf(path), slide

    def classify(self, perf, ours, address):
        return classify(perf, ours, address - self.slide, self.elf, lambda *_: False)


def of_vmlinux(path, args, directory):
    """First, middle and last byte of every symbol in the text of a vmlinux that KASLR moved. perf gives every other
    section a map of its own, `[kernel.kallsyms].rodata`, whose offsets come out wrong."""
    slide = 0x12 << 21
    kernel = KernelFile(path, slide)
    first, size = next((start, size) for start, size, name, _ in kernel.elf.sections if name == ".text")
    starts = sorted(a for a in kernel.elf.symbols if first <= a < first + size)
    samples = sorted({a + slide for s, e in zip(starts, starts[1:]) for a in (s, (s + e) // 2, e - 1)})
    profile = os.path.join(directory, "vmlinux.data")
    text = first + slide
    made_up(profile, [], "", samples, [(text, size, text, "[kernel.kallsyms]_text")])
    return compare(f"vmlinux: {path}", profile, args, kernel, [f"--vmlinux={path}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("--symidx", default="target/release/symidx")
    parser.add_argument("--store", help="of indexes; a temporary one by default")
    parser.add_argument("--synthetic", dest="binaries", action="store_true")
    parser.add_argument("--kernel", action="store_true")
    parser.add_argument("--vmlinux", dest="kernel_files", action="store_true")
    parser.add_argument("--kallsyms", help="of the kernel of recordings, for the facts")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--show", type=int, default=20)
    parser.add_argument("--write")
    args = parser.parse_args()
    args.synthetic = None
    directory = tempfile.mkdtemp()
    args.store = args.store or os.path.join(directory, "store")
    kernel = Kernel(args.kallsyms) if args.kallsyms else None
    table = {}
    for item in args.inputs:
        if args.binaries:
            table[item] = synthetic(item, args, directory)
        elif args.kernel_files:
            table[item] = of_vmlinux(item, args, directory)
        elif args.kernel:
            table[item] = of_kernel(item, args, directory)
        else:
            table[item] = compare(item, item, args, kernel)
    shown = [c for c in CLASSES if any(t[c] for t in table.values())] + ["UNEXPLAINED"]
    rows = ["| | lines | " + " | ".join(shown) + " |", "|---|" + "---:|" * (len(shown) + 1)]
    for item, counts in table.items():
        name = os.path.basename(item)
        rows.append(f"| {name} | {counts['lines']:,} | " + " | ".join(f"{counts[c]:,}" for c in shown) + " |")
    print("\n".join(rows))
    if args.write:
        with open(args.write, "a") as out:
            out.write("\n".join(rows) + "\n\n")
    sys.exit(any(t["UNEXPLAINED"] for t in table.values()))


if __name__ == "__main__":
    main()

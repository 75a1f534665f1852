#!/usr/bin/env python3
"""Counts what is odd in the symbol tables of binaries, with examples: facts.py [--arch A] BINARY...

The traps that RULES.md names, as they are in the wild; for whoever writes or reviews the indexer.
"""
import argparse
import collections
import os

import model as M


def facts(m):
    """(what, symbols) of one model."""
    kept = m.kept
    sized = [s for s in kept if s.size]
    yield "section number is stale (address lies in another section)", [s for s in kept if s.moved]
    yield "size runs past its section", [s for s in sized if s.start + s.size > s.region.end]
    yield "sized label (NOTYPE)", [s for s in sized if s.kind == "label"]
    yield "unsized function", [s for s in kept if s.kind == "func" and not s.size and not m.stops]
    yield "unsized object", [s for s in kept if s.kind == "object" and not s.size and not m.stops]
    inside, nested, overlap, open_ends = [], [], [], []
    covers = []                     # the sized symbols that may still cover, ends ascending inwards
    for s in kept:
        covers = [c for c in covers if c.end > s.start]
        outer = [c for c in covers if c.start < s.start]
        if outer and not s.size:
            inside.append(s)
        elif outer and any(s.end > c.end for c in outer):
            overlap.append(s)
        elif outer:
            nested.append(s)
        if s.size:
            covers.append(s)
    yield "unsized inside a sized symbol", inside
    ends = sorted(lo for lo, _ in m.gaps())
    starts = set(ends)
    yield "unsized inside a sized symbol that is followed by a gap (who owns the gap?)", [s for s in inside if s.end in starts]
    yield "nested sized", nested
    yield "overlapping sized, not nested", overlap
    mixed, kinds, aliases = [], [], []
    for same in m.at.values():
        sizes = {s.end for s in same if s.size}
        if len(sizes) > 1:
            mixed.append(same[0])
            if len({s.kind for s in same if s.size}) > 1:
                kinds.append(same[0])
        if len({s.base for s in same}) > 1:
            aliases.append(same[0])
    yield "start shared by different sizes", mixed
    yield "start shared by different sizes and kinds (smallest first, or function first?)", kinds
    yield "starts with several names", aliases
    yield "weak primary beside a local of fewer underscores", [s for s in aliases if s.bind == 1 and any(o.bind == 2 for o in m.at[s.start])]
    if "symtab" in m.tables and "dynsym" in m.tables:
        known = {(s.start, s.base) for s in kept if s.table == "symtab"}
        yield "only in .dynsym though there is a .symtab", [s for s in kept if s.table == "dynsym" and (s.start, s.base) not in known]
    yield "name with blanks", [s for s in kept if " " in s.name]
    yield "name with @", [s for s in kept if "@" in s.name and s.table != "plt"]
    yield "name not ASCII", [s for s in kept if not s.name.isascii() or "\\x" in s.name]
    yield "name over 4096 bytes", [s for s in kept if len(s.name) > 4096]
    yield "PLT stub without a name (IRELATIVE)", [s for s in kept if s.table == "plt" and "*ABS*" in s.name]
    for drop, n in collections.Counter(s.drop for s in m.symbols if s.drop).most_common():
        yield f"left out: {drop}", [s for s in m.symbols if s.drop == drop]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary", nargs="+")
    p.add_argument("--arch")
    p.add_argument("--examples", type=int, default=2)
    args = p.parse_args()
    for path in args.binary:
        with open(path, "rb") as f:
            elf = f.read(4) == b"\x7fELF"
        m = M.load_elf(path) if elf else M.load_macho(path, args.arch)
        print(f"\n{os.path.basename(path)}: {len(m.symbols)} entries, {len(m.kept)} kept, tables {', '.join(sorted(m.tables))}")
        for what, found in facts(m):
            if found:
                print(f"{len(found):9,}  {what}")
                for s in found[:args.examples]:
                    print(f"{'':13}{str(s)[:200]}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes a profile most of whose addresses nobody can name, as `perf record -o -` would have written it.

usage: unknown.py OUT [--samples N] [--depth D] [--unknown SHARE] [--seed S] FILE...

FILEs are ELF files; a few processes have them mapped. The share of unknown addresses (default 0.75) is drawn from
gaps between the symbols of these files, from executable memory without a file, from the heap of a JIT without a
map, and from where nothing is mapped; every one is random, so that no cache remembers it. The rest falls into
functions of the symbol tables. The same arguments give the same bytes.
"""
import argparse
import bisect
import random
import struct
import sys

SOFTWARE, CPU_CLOCK = 1, 0
# sample_type: ip, tid, time, callchain, period
SAMPLE = 0x1 | 0x2 | 0x4 | 0x20 | 0x100
MMAP, COMM, SAMPLE_ID_ALL = 1 << 8, 1 << 9, 1 << 18
CONTEXT_USER = 2**64 - 512
PROCESSES = 4
PAGE = 4096


class Elf:
    """The executable segments and the functions of an ELF64 file."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            data = file.read()
        if data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path}: expected a 64-bit little-endian ELF file")
        phoff, shoff = struct.unpack_from("<QQ", data, 32)
        phentsize, phnum, shentsize, shnum = struct.unpack_from("<HHHH", data, 54)
        headers = [struct.unpack_from("<IIQQQQQQ", data, phoff + i * phentsize) for i in range(phnum)]
        self.loads = [(offset, address, size) for kind, flags, offset, address, _, size, _, _ in headers if kind == 1 and flags & 1]
        functions = set()
        for i in range(shnum):
            _, kind, _, _, offset, size, _, _, _, entry = struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize)
            if kind not in (2, 11) or entry != 24:
                continue
            for at in range(offset, offset + size, 24):
                _, info, _, section, value, length = struct.unpack_from("<IBBHQQ", data, at)
                if info & 15 == 2 and section and length:
                    functions.add((value, length))
        self.functions = sorted((self.offset(a), n) for a, n in functions if self.offset(a) is not None)
        self.ends, end = [], 0
        for start, length in self.functions:
            end = max(end, start + length)
            self.ends.append(end)

    def offset(self, address):
        """The file offset of an address of code."""
        for offset, start, size in self.loads:
            if start <= address < start + size:
                return address - start + offset
        return None

    def is_named(self, offset):
        at = bisect.bisect_right(self.functions, (offset, 2**64)) - 1
        return at >= 0 and offset < self.ends[at]

    def named(self, rng):
        start, length = rng.choice(self.functions)
        return start + rng.randrange(length)

    def gap(self, rng):
        """An offset in a code segment that no function covers, or `None` where there is hardly one."""
        offset, _, size = max(self.loads, key=lambda load: load[2])
        for _ in range(30):
            at = offset + rng.randrange(size)
            if not self.is_named(at):
                return at
        return None


def event(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--samples", type=int, default=60000)
    parser.add_argument("--depth", type=int, default=16)
    parser.add_argument("--unknown", type=float, default=0.75)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    files = [elf for elf in map(Elf, args.files) if elf.functions and elf.loads]
    if not files:
        sys.exit("unknown.py: expected at least one file with functions, found none")

    attr = bytearray(136)
    struct.pack_into("<IIQQQQQ", attr, 0, SOFTWARE, 136, CPU_CLOCK, 1000000, SAMPLE, 0, MMAP | COMM | SAMPLE_ID_ALL)
    out = open(args.out, "wb")
    out.write(b"PERFILE2" + struct.pack("<Q", 16) + event(64, 0, bytes(attr) + struct.pack("<Q", 0)))

    processes = []
    for number in range(PROCESSES):
        pid = 5000 + number
        who = lambda time: struct.pack("<IIQ", pid, pid, time)
        comm = f"unknown{number}".encode()
        out.write(event(3, 1 << 13, struct.pack("<II", pid, pid) + comm + b"\0" * (8 - len(comm) % 8) + who(1)))
        at = 0x7F0000000000 + number * 0x100000000
        mapped, anonymous = [], []

        def mmap(start, size, offset, name, inode):
            name += b"\0" * (8 - len(name) % 8)
            body = struct.pack("<IIQQQIIQQII", pid, pid, start, size, offset, 8 if inode else 0, 1 if inode else 0, inode, 0, 5, 2)
            out.write(event(10, 2, body + name + who(2)))

        for inode, elf in enumerate(files, 1):
            for offset, _, size in elf.loads:
                first, end = offset & -PAGE, (offset + size + PAGE - 1) & -PAGE
                mmap(at, end - first, first, elf.path.encode(), inode)
                mapped.append((elf, first, end, at))
                at = (at + end - first + 0x200000) & -0x1000
        for name in (b"//anon", b"//anon", b"/memfd:jit (deleted)"):
            mmap(at, 64 << 20, 0, name, 0)
            anonymous.append((at, 64 << 20))
            at += 80 << 20
        processes.append((pid, mapped, anonymous, at))

    def known(process):
        _, mapped, _, _ = process
        while True:
            elf, first, end, at = rng.choice(mapped)
            offset = elf.named(rng)
            if first <= offset < end:
                return at + offset - first

    def unknown(process):
        _, mapped, anonymous, top = process
        kind = rng.randrange(4)
        if kind == 0:
            elf, first, end, at = rng.choice(mapped)
            offset = elf.gap(rng)
            if offset is not None and first <= offset < end:
                return at + offset - first
        if kind <= 2:
            start, size = rng.choice(anonymous)
            return start + rng.randrange(size)
        return top + (1 << 36) + rng.randrange(1 << 32)

    counts = [0, 0]
    for number in range(args.samples):
        process = processes[number % PROCESSES]
        ips = []
        for _ in range(args.depth):
            lost = rng.random() < args.unknown
            counts[lost] += 1
            ips.append(unknown(process) if lost else known(process))
        body = struct.pack("<QIIQQQ", ips[0], process[0], process[0], 1000 + number * 1000, 1000000, len(ips) + 1)
        out.write(event(9, 2, body + struct.pack(f"<Q{len(ips)}Q", CONTEXT_USER, *ips)))
        if number % 1000 == 999:
            out.write(event(68, 0, b""))
    out.write(event(68, 0, b""))
    out.close()
    share = 100 * counts[1] / max(1, sum(counts))
    print(f"{args.out}: {args.samples:,} samples, {sum(counts):,} frames, {counts[1]:,} of them ({share:.1f} %) in no function, {len(files)} files")


if __name__ == "__main__":
    main()

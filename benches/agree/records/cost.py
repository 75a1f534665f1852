#!/usr/bin/env python3
"""What linux-perf-data and symidx-perf cost on the same recordings, and what they make of damaged ones.

usage: cost.py --cost PROGRAM [--write OUT.md] [--runs N] [--part whole|made] BUSY UNKNOWN LONG

PROGRAM is the `cost` of this package (`cargo build --release`). Each file is read once to warm up and N times (3) by each;
medians. Memory is of the process: RssAnon every 2 ms, VmPeak for what was asked for. A process may have 4 GiB of
addresses (`ulimit -v`), so a claim is refused, not granted. Made files are written by this script, with zstd(1) and
perf(1) where needed.
"""
import argparse
import json
import os
import resource
import statistics
import struct
import subprocess
import tempfile
import time

MIB = 1 << 20
LIMIT = 4 << 30
TIME, CHAIN = 1 << 2, 1 << 5
FIELDS = 0x7 | CHAIN


class Made:
    """A recording made by hand: one event, a name, a mapping, ten samples."""

    def __init__(self, order="<"):
        self.order = order
        self.records = [self.event(3, 0, self.pack("II", 7, 7) + b"worker\0\0" + self.who(1))]
        place = self.pack("IIQQQ", 7, 7, 0x400000, 0x10000, 0) + bytes(24) + self.pack("II", 5, 2)
        self.records.append(self.event(10, 2, place + b"/bin/app\0\0\0\0\0\0\0\0" + self.who(2)))
        for time in range(10, 20):
            body = self.pack("QIIQQQQ", 0x400010, 7, 7, time, 2, 2**64 - 512, 0x400010)
            self.records.append(self.event(9, 2, body))

    def pack(self, layout, *values):
        return struct.pack(self.order + layout, *values)

    def event(self, kind, misc, body, size=None):
        return self.pack("IHH", kind, misc, size or 8 + len(body)) + body

    def who(self, time):
        return self.pack("IIQ", 7, 7, time)

    def attr(self):
        flags = 1 << 18
        if self.order == ">":
            flags = int(f"{flags:064b}"[::-1], 2)
        return self.pack("IIQQQQQQQ", 1, 64, 0, 4000, FIELDS, 0, flags, 0, 0)

    def magic(self):
        return b"PERFILE2" if self.order == "<" else b"2ELIFREP"

    def file(self, features=(), ids=8, data=None):
        """`features`: number, bytes, and perhaps a size claimed in their place."""
        records = b"".join(self.records)
        each, attrs = 64 + 16, 104
        at = attrs + each + 8
        bits = sum(1 << number for number, *_ in features)
        head = self.magic() + self.pack("12Q", 104, each, attrs, each, at, data or len(records), 0, 0, bits, 0, 0, 0)
        out = head + self.attr() + self.pack("QQ", attrs + each, ids) + self.pack("Q", 77) + records
        place, table, bodies = len(out) + 16 * len(features), b"", b""
        for _, body, *size in features:
            table += self.pack("QQ", place + len(bodies), size[0] if size else len(body))
            bodies += body
        return out + table + bodies

    def pipe(self):
        return self.magic() + self.pack("Q", 16) + self.event(64, 0, self.attr() + self.pack("Q", 77)) + b"".join(self.records)

    def with_more(self, *records):
        self.records += records
        return self


def without_rounds(path):
    """The same recording without FINISHED_ROUND records."""
    data = open(path, "rb").read()
    start, size = struct.unpack_from("<QQ", data, 40)
    kept, at = [], start
    while at < start + size:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        if kind != 68:
            kept.append(data[at:at + length])
        at += length
    kept = b"".join(kept)
    head = bytearray(data[:start])
    struct.pack_into("<Q", head, 48, len(kept))
    # What stands behind is left out: the sections say where they are.
    struct.pack_into("<4Q", head, 72, 0, 0, 0, 0)
    return bytes(head) + kept


def expanding(gib):
    """A compressed record whose stream comes to so many GiB of one large record again and again."""
    made = Made()
    one = made.event(9, 2, made.pack("QIIQQ", 0x400010, 7, 7, 50, 8000) + bytes(8000 * 8))
    with tempfile.TemporaryFile() as raw:
        for _ in range((gib << 30) // len(one) // 256):
            raw.write(one * 256)
        raw.seek(0)
        packed = subprocess.run(["zstd", "-19", "--long=20", "-q", "-c"], stdin=raw, stdout=subprocess.PIPE, check=True).stdout
    pieces = [packed[at:at + 65000] for at in range(0, len(packed), 65000)]
    return made.with_more(*(made.event(81, 0, piece) for piece in pieces)).file()


def unordered_files(recordings):
    """The same recordings in other forms."""
    pipe = lambda path: subprocess.run(["perf", "inject", "-i", path, "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    names = {path: os.path.basename(path) for path in recordings}
    is_pipe = lambda path: open(path, "rb").read(16)[8:] == struct.pack("<Q", 16)
    without = [(f"{names[path]} without FINISHED_ROUND", lambda path=path: without_rounds(path)) for path in recordings if not is_pipe(path)]
    return without + [(f"{names[recordings[0]]} through a pipe (`perf inject -o -`)", lambda: pipe(recordings[0]))]


def made_files(busy):
    """Title and bytes, or a function that gives them."""
    huge = 1 << 40
    string = Made().pack("I", 8) + b"host\0\0\0\0"
    data = lambda: open(busy, "rb").read()
    return [
        ("busy.data, the first half", lambda: data()[: os.path.getsize(busy) // 2]),
        ("busy.data, the first 100 bytes", lambda: data()[:100]),
        ("small, whole", Made().file()),
        ("small, whole, pipe", Made().pipe()),
        ("small, other byte order", Made(">").file()),
        ("small, last record cut", Made().file()[:-20]),
        ("small, pipe, last record cut", Made().pipe()[:-20]),
        ("hostname section claims 1 TiB", Made().file([(3, string, huge)])),
        ("hostname section claims 2 GiB", Made().file([(3, string, 2 << 30)])),
        ("ids of the event claim 1 TiB", Made().file(ids=huge)),
        ("EVENT_DESC claims 4 G events", Made().file([(12, Made().pack("II", 2**32 - 1, 64))])),
        ("EVENT_DESC claims 4 G ids", Made().file([(12, Made().pack("II", 1, 64) + Made().attr() + Made().pack("I", 2**32 - 1))])),
        ("data section claims 1 TiB", Made().file(data=huge)),
        ("AUXTRACE record claims 1 TiB", Made().with_more(Made().event(71, 0, Made().pack("QQQIIII", huge, 0, 0, 0, 0, 0, 0))).file()),
        ("AUXTRACE record claims 2 GiB", Made().with_more(Made().event(71, 0, Made().pack("QQQIIII", 2 << 30, 0, 0, 0, 0, 0, 0))).file()),
        ("build-id record of 8 bytes", Made().file([(2, Made().event(67, 0, b"", 8))])),
        ("chain of 2^61 addresses", Made().with_more(Made().event(9, 2, Made().pack("QIIQQ", 1, 7, 7, 30, 1 << 61))).file()),
        ("record of size 0", Made().with_more(Made().event(9, 2, b"")[:6] + b"\0\0").file()),
        ("zstd records that come to 1 GiB", lambda: expanding(1)),
        ("zstd records that come to 8 GiB", lambda: expanding(8)),
    ]


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


def once(program, who, path):
    try:
        quiet = {**os.environ, "RUST_BACKTRACE": "0"}
        done = subprocess.run([program, who, path], capture_output=True, text=True, preexec_fn=limited, timeout=120, env=quiet)
    except subprocess.TimeoutExpired:
        return {"error": "not done after 120 s"}
    if done.returncode == 0:
        return json.loads(done.stdout)
    said = [line for line in done.stderr.splitlines() if line and not line.startswith("note")]
    how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return {"error": f"{how}: {' '.join(said)[:200]}"}


def measure(program, who, path, runs):
    results = [once(program, who, path) for _ in range(runs + 1)][1:]
    if any("seconds" not in result for result in results):
        return results[-1]
    numbers = {key: statistics.median(r[key] for r in results) for key in ("seconds", "anon", "rss", "asked")}
    return {**results[-1], **numbers}


def row(title, size, who, found):
    if "seconds" not in found:
        return f"| {title} | {size} | {who} | | | | **{found['error']}** |"
    what = f"{found['records']:,} records, {found['samples']:,} samples"
    if found["error"]:
        what += f"; **error: {found['error']}**"
    elif found["said"]:
        what += f"; says: {found['said']}"
    asked = f"{found['asked'] / MIB:,.0f} MiB"
    return f"| {title} | {size} | {who} | {found['seconds']:.3f} s | {found['anon'] / MIB:,.1f} MiB | {asked} | {what} |"


def size_of(path):
    size = os.path.getsize(path)
    return f"{size / MIB:.1f} MiB" if size >= MIB else f"{size / 1000:.1f} kB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recordings", nargs="+")
    parser.add_argument("--cost", required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--part", choices=["whole", "made"])
    parser.add_argument("--write")
    args = parser.parse_args()
    lines = ["| recording | size | | time | peak RssAnon | addresses asked for | outcome |", "|---|--:|---|--:|--:|--:|---|"]
    started = time.time()

    def add(title, path, runs):
        for who in ("symidx", "linux-perf-data"):
            found = measure(args.cost, who, path, runs)
            lines.append(row(title if who == "symidx" else "", size_of(path) if who == "symidx" else "", who, found))
            print(lines[-1], flush=True)

    made = []
    if args.part != "made":
        for path in args.recordings:
            add(os.path.basename(path), path, args.runs)
        made += unordered_files(args.recordings)
    if args.part != "whole":
        made += made_files(args.recordings[0])
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "made.data")
        for title, content in made:
            with open(path, "wb") as out:
                out.write(content() if callable(content) else content)
            add(title, path, 1 if title.startswith(("small", "zstd")) or "claim" in title else args.runs)
    if args.write:
        with open(args.write, "w") as out:
            out.write("\n".join(lines) + "\n")
    print(f"{time.time() - started:.0f} s")


if __name__ == "__main__":
    main()

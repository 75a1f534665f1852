#!/usr/bin/env python3
"""Measures `perf script` and `symidx perf script` on the same recordings: time and memory, as a table and a plot.

usage: measure.py --symidx PROGRAM [--table OUT.md] [--plot OUT.svg] [--runs N] [--perf PROGRAM] [--store DIR]
                  [--only CONTESTANT]... [--keep FILE.json] NAME=PERF.DATA...

One warm-up and N runs (default 3) of each contestant, in turns; medians. Output goes to /dev/null. Memory is read
from /proc/PID/status every 10 ms (2 ms in the first second): the kernel's own high-water mark of all resident memory, and the highest RssAnon
and RssFile seen. Indexes are there before the clock starts (`symidx perf index`), symbol files are in the page
cache. "no symbol files" is perf with an empty directory for --symfs and for its build-id cache: what reading the
events and printing them takes.

A long measurement goes in pieces: --only takes some of the contestants by their names, and --keep adds the medians to
those of earlier pieces, of which table and plot are made; --runs 0 measures nothing and only makes them.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

FIELDS = "comm,tid,time,ip,sym,dso"
SCRIPT = ["--no-inline", "--max-stack", "127", "-F", FIELDS]
INTERVAL = 0.01
MIB = 1 << 20


def sample(pid, peaks):
    """Raises the peaks to what the process uses now; false once it has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file if line.startswith(("VmHWM", "RssAnon", "RssFile")))
    except OSError:
        return False
    for key, text in lines.items():
        peaks[key] = max(peaks.get(key, 0), int(text.split()[0]) * 1024)
    return bool(lines)


def run(command, environment):
    """Seconds, and the peaks, of one run."""
    peaks = {}
    with open(os.devnull, "wb") as nowhere, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=nowhere, stderr=errors, env=environment)
        while True:
            sample(child.pid, peaks)
            ended, status, usage = os.wait4(child.pid, os.WNOHANG)
            if ended:
                break
            time.sleep(INTERVAL if time.perf_counter() - start > 1 else INTERVAL / 5)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            sys.exit(f"{' '.join(command)}: ended with {child.returncode}: {errors.read()[-2000:].decode(errors='replace')}")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "rss": peaks.get("VmHWM", 0), "anon": peaks.get("RssAnon", 0), "file": peaks.get("RssFile", 0)}


def contestants(args, data, empty):
    """Name, command, and what is set in its environment."""
    plain = dict(os.environ)
    nothing = {**plain, "HOME": empty}
    perf = [args.perf, "script", "-i", data]
    rows = [
        ("perf script", perf + SCRIPT, plain),
        ("perf script --no-demangle", perf + ["--no-demangle"] + SCRIPT, plain),
        ("perf script, no symbol files", [args.perf, "--buildid-dir", empty, "script", "-i", data, "--symfs", empty] + SCRIPT, nothing),
    ]
    if args.symidx:
        own = [args.symidx, "perf", "script", "-i", data, "--no-build"]
        own += ["--store", args.store] if args.store else []
        rows += [("symidx perf script", own + SCRIPT, plain), ("symidx perf script --no-demangle", own + ["--no-demangle"] + SCRIPT, plain)]
    return [row for row in rows if not args.only or row[0] in args.only]


def measure(args, name, data, empty):
    """Rows of (contestant, medians)."""
    rows = contestants(args, data, empty)
    if args.runs == 0:
        return []
    runs = [[] for _ in rows]
    for turn in range(args.runs + 1):
        for (who, command, environment), taken in zip(rows, runs):
            result = run(command, environment)
            print(f"{name}: {who}: {'warm-up' if turn == 0 else turn}: {result['seconds']:.2f} s, {result['anon'] / MIB:.1f} MiB anonymous", file=sys.stderr)
            if turn:
                taken.append(result)
    return [(who, {key: statistics.median(r[key] for r in taken) for key in taken[0]}) for (who, _, _), taken in zip(rows, runs)]


def stats(args, data):
    """Samples and frames of a recording, by perf's own count of its lines."""
    # Without `sym` and `dso` nothing is looked up; an event with frames takes several lines.
    samples = frames = 0
    command = [args.perf, "script", "-i", data, "--max-stack", "127", "-F", "tid,time,ip"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        for line in child.stdout:
            if line[:1] == b"\t":
                frames += 1
            elif line.strip():
                samples += 1
    return samples, frames


def table(measured):
    lines = ["| recording | | time | of it processor | max RSS | peak RssAnon | peak RssFile |", "|---|---|--:|--:|--:|--:|--:|"]
    for name, (samples, frames, size), rows in measured:
        first = rows[0][1]
        head = f"{name}: {samples:,} samples, {frames:,} frames, {size / MIB:.1f} MiB"
        for who, r in rows:
            ratio = lambda key: f" ({r[key] / first[key]:.2f}x)" if r is not first and first[key] else ""
            lines.append(
                f"| {head} | {who} | {r['seconds']:.2f} s{ratio('seconds')} | {r['cpu']:.2f} s{ratio('cpu')} | {r['rss'] / MIB:.1f} MiB{ratio('rss')} "
                f"| {r['anon'] / MIB:.1f} MiB{ratio('anon')} | {r['file'] / MIB:.1f} MiB |"
            )
            head = ""
    return "\n".join(lines) + "\n"


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def plot(measured):
    """Bars: a row of panels a recording; a bar a contestant."""
    columns = [("seconds", "time, s", 1.0), ("rss", "max RSS, MiB", MIB), ("anon", "peak RssAnon, MiB", MIB)]
    colors = ["#8a8f98", "#b0b5bd", "#d3d6db", "#1f6f54", "#59a98a"]
    names, bar, panel, pad = 220, 16, 210, 70
    out, y = [], 10
    for name, (samples, frames, _), rows in measured:
        out.append(f'<text x="10" y="{y + 12}" font-weight="bold">{escape(name)}: {samples:,} samples, {frames:,} frames</text>')
        y += 24
        for i, (key, title, unit) in enumerate(columns):
            left = names + i * (panel + pad)
            most = max(r[key] for _, r in rows) or 1
            out.append(f'<text x="{left}" y="{y + 10}" fill="#555">{title}</text>')
            for j, (who, r) in enumerate(rows):
                top = y + 18 + j * (bar + 4)
                width = max(1.0, panel * r[key] / most)
                if i == 0:
                    out.append(f'<text x="{names - 8}" y="{top + 12}" text-anchor="end">{escape(who)}</text>')
                out.append(f'<rect x="{left}" y="{top}" width="{width:.1f}" height="{bar}" fill="{colors[j % len(colors)]}"/>')
                out.append(f'<text x="{left + width + 4:.1f}" y="{top + 12}">{r[key] / unit:.{2 if unit == 1.0 else 1}f}</text>')
        y += 18 + len(rows) * (bar + 4) + 16
    width = names + len(columns) * (panel + pad)
    style = 'font-family="sans-serif" font-size="12" fill="#222"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" viewBox="0 0 {width} {y}" {style}>\n<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("recordings", nargs="+", metavar="NAME=PERF.DATA")
    parser.add_argument("--symidx")
    parser.add_argument("--perf", default="perf")
    parser.add_argument("--store")
    parser.add_argument("--table")
    parser.add_argument("--plot")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", action="append", metavar="CONTESTANT")
    parser.add_argument("--keep", metavar="FILE.json")
    args = parser.parse_args()
    kept = json.load(open(args.keep)) if args.keep and os.path.exists(args.keep) else {}
    measured = []
    with tempfile.TemporaryDirectory() as empty:
        for recording in args.recordings:
            name, _, data = recording.rpartition("=")
            name = name or os.path.basename(data)
            if args.symidx and args.runs:
                store = ["--store", args.store] if args.store else []
                subprocess.run([args.symidx, "-q", "perf", "index", "-i", data] + store, stdout=subprocess.DEVNULL, check=False)
            one = kept.setdefault(name, {"size": None, "rows": {}})
            one["size"] = one["size"] or [*stats(args, data), os.path.getsize(data)]
            one["rows"].update(measure(args, name, data, empty))
            everyone = contestants(argparse.Namespace(**{**vars(args), "only": None}), data, empty)
            rows = [(who, one["rows"][who]) for who, _, _ in everyone if who in one["rows"]]
            measured.append((name, one["size"], rows))
    if args.keep:
        with open(args.keep, "w") as file:
            json.dump(kept, file, indent=1)
    version = subprocess.run([args.perf, "--version"], capture_output=True, text=True).stdout.strip()
    text = f"{version}, Linux {platform.release().split('-')[0]}, {os.cpu_count()} processors; medians of {args.runs or 3} runs after a warm-up; ratios to `perf script`.\n\n" + table(measured)
    print(text)
    for path, content in ((args.table, text), (args.plot, plot(measured))):
        if path:
            with open(path, "w") as file:
                file.write(content)


if __name__ == "__main__":
    main()

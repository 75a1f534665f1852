#!/usr/bin/env python3
"""Compares every row of `symidx perf report --children` with `perf report --children`: self and children.

usage: perf_report.py SYMIDX PERF.DATA [--store DIR]

Rows are keyed by DSO (its file name, as perf merges them) and linkage name; addresses without a symbol, which perf
lists one by one, are counted by DSO alone. Ends with 0 when every DSO has the same self count and no row that both
have differs. Rows that only one has are listed: which name an address has is the matter of `perf script`'s own
comparison.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

# perf prints shares with two places.
ROUNDING = 0.011


def shown(dso):
    if dso is None:
        return "[unknown]"
    name = os.path.basename(dso)
    return f"[JIT] tid {name[5:-4]}" if re.fullmatch(r"perf-\d+\.map", name) else name


def ours(args):
    command = [args.symidx, "-q", "perf", "report", "-i", args.data, "--children", "--no-demangle", "--limit", "100000000", "--json"]
    command += ["--store", args.store] if args.store else []
    rows, dsos, total = collections.defaultdict(lambda: [0, 0]), collections.Counter(), 1
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        row = json.loads(line)
        if "summary" in row:
            total = row["summary"]["period"]
            continue
        dso = shown(row["dso"])
        dsos[dso] += row["self"]
        if row["symbol"] is not None:
            counted = rows[dso, row["symbol"]]
            counted[0] += row["self"]
            counted[1] += row["children_period"]
    return {key: (own, 100 * children / total) for key, (own, children) in rows.items()}, dsos


def theirs(args):
    command = ["perf", "report", "-i", args.data, "--children", "--no-demangle", "-g", "none", "-n", "--sort", "dso,sym", "--stdio"]
    command += ["--field-separator", "|", "--percent-limit", "0"]
    rows, dsos = collections.defaultdict(lambda: [0, 0.0]), collections.Counter()
    for line in subprocess.run(command, capture_output=True, text=True, errors="replace").stdout.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        columns = [column.strip() for column in line.split("|", 4)]
        if len(columns) < 5:
            sys.exit(f"perf_report.py: expected five columns of perf report, found {line!r}; a recording through a pipe has none of children")
        children, _, own, dso, symbol = columns
        dsos[dso] += int(own)
        name = re.sub(r"^\[.\] ", "", symbol)
        if not re.fullmatch(r"(0x)?[0-9a-f]{16}", name):
            counted = rows[dso, name]
            counted[0] += int(own)
            counted[1] += float(children.rstrip("%"))
    return {key: tuple(value) for key, value in rows.items()}, dsos


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("symidx")
    parser.add_argument("data")
    parser.add_argument("--store")
    args = parser.parse_args()
    (mine, my_dsos), (perfs, perf_dsos) = ours(args), theirs(args)
    wrong = 0
    for dso in sorted(set(my_dsos) | set(perf_dsos)):
        if my_dsos[dso] != perf_dsos[dso]:
            wrong += 1
            print(f"DIFFERENT {dso}: self {my_dsos[dso]} here, {perf_dsos[dso]} in perf")
    same, alone = 0, collections.Counter()
    for key in sorted(set(mine) | set(perfs)):
        here, there = mine.get(key), perfs.get(key)
        if here is None or there is None:
            alone["perf" if here is None else "symidx"] += 1
            print(f"only in {'perf' if here is None else 'symidx'}: {key[0]} {key[1]}: {(here or there)[0]} samples")
        elif here[0] != there[0] or abs(here[1] - there[1]) > ROUNDING:
            wrong += 1
            print(f"DIFFERENT {key[0]} {key[1]}: {here} here, {there} in perf")
        else:
            same += 1
    samples = sum(perf_dsos.values())
    print(f"{samples:,} samples in {len(perf_dsos)} DSOs, {same:,} rows with the same self and children, {wrong} different, names only in one: {dict(alone)}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

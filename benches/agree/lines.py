#!/usr/bin/env python3
"""Compares the frames of `symidx lookup` with independent tools over whole real binaries.

    lines.py [OPTIONS] BINARY...      ELF with DWARF, its own or a debug file's; relocatable files, too
    lines.py --programs [OPTIONS]     builds programs/ with gcc, clang and rustc in many ways and compares each
    lines.py --self-test BINARY...    no symidx: `dwarf.py` plays its part
    lines.py --spoil BINARY...        damages right answers and sees whether the judge notices

Asked: random bytes of executable sections (fixed seed) of which symbols or lines say something. Asked whom: symidx;
llvm-symbolizer --inlines (function, file, line, column of every frame); eu-addr2line -i -f (function, file, line).
Where an answer differs, `dwarf.py` reads the DIEs and line rows of that address, and both answers must be spellings
or documented shortcomings of what stands there; each class below is such a proof. What none proves is UNEXPLAINED,
printed with the facts, and the exit status is 1. Needs LLVM, and elfutils (optional).
"""
import argparse
import bisect
import collections
import json
import os
import posixpath
import random
import re
import shutil
import sys
import tempfile
import time

import agree
import dwarf
import model as M
import quirks
import relocate
from programs import build as programs

SEED = 20240229
Frame = collections.namedtuple("Frame", "function file line column")     # unknown: "", "", 0, 0


# ---- addresses --------------------------------------------------------------------------------

def draw(code, count):
    """`count` addresses, uniform over the executable bytes, in the order they were drawn."""
    rng = random.Random(SEED)
    chosen = rng.choices(code, [hi - lo for lo, hi, _ in code], k=count)
    return list(dict.fromkeys(rng.randrange(lo, hi) for lo, hi, _ in chosen))


# ---- the tools --------------------------------------------------------------------------------

def known(text):
    return "" if text in (None, "??", "") else text


def ask_symidx(args, index, queries):
    out = []
    for line in agree.ask([args.symidx, "lookup", "--json", "--no-demangle", *args.lookup_arg, index], queries):
        o = json.loads(line)
        if "error" in o:
            raise SystemExit(f"symidx: no answer to {queries[len(out)]}: {line!r}")
        out.append([Frame(agree.unescape(f["function"] or ""), agree.unescape(f["file"] or ""), f["line"] or 0, f["column"] or 0) for f in o["frames"]])
    agree.need(len(out), len(queries), "symidx")
    return out


def ask_llvm(args, path, addrs):
    cmd = [args.llvm_symbolizer, "-e", path, "--inlines", "--no-demangle", "--no-untag-addresses", "--output-style=JSON"]
    out = []
    for line in agree.ask(cmd, [hex(a) for a in addrs]):
        o = json.loads(line.decode("utf-8", "backslashreplace"))
        frames = [Frame(known(f["FunctionName"]), known(f["FileName"]), f["Line"], f["Column"]) for f in o.get("Symbol") or []]
        out.append([] if frames == [Frame("", "", 0, 0)] else frames)
    agree.need(len(out), len(addrs), "llvm-symbolizer")
    return out


EU_PLACE = re.compile(r"^(.*?):(\d+)(?::(\d+))?(?: \(discriminator \d+\))?$")
EU_INLINED = re.compile(r"^(.*?) inlined (?:at|from) .*$")


def ask_eu(path, addrs):
    out, lines = [], None

    def finish():
        frames = []
        for function, place in zip(lines[::2], lines[1::2]):
            m, inlined = EU_PLACE.match(place), EU_INLINED.match(function)
            frames.append(Frame(known(inlined[1] if inlined else function), known(m[1]) if m else "", int(m[2]) if m else 0, int(m[3] or 0) if m else 0))
        out.append([] if all(f[:3] == ("", "", 0) for f in frames) else frames)
    for line in agree.ask(["eu-addr2line", "-a", "-i", "-f", "-A", "-e", path], [hex(a) for a in addrs]):
        line = line.rstrip(b"\n").decode("utf-8", "backslashreplace")
        if line == f"{addrs[len(out) + (lines is not None)] if len(out) + (lines is not None) < len(addrs) else 0:#018x}":
            if lines is not None:
                finish()
            lines = []
        else:
            lines.append(line)
    if lines is not None:
        finish()
    agree.need(len(out), len(addrs), "eu-addr2line")
    return out


def play_symidx(facts, addrs):
    """What the rules give: the first answer of the DIEs, else the symbol alone."""
    out = []
    for addr, symbol in zip(addrs, facts.model.lookup(addrs)):
        answers = facts.answers(addr)
        frames = [Frame(f.name or "", f.path or "", f.line, f.column if f.line else 0) for f in answers[0]] if answers else []
        if symbol and frames:
            frames[-1] = frames[-1]._replace(function=symbol.name)
        out.append(frames or ([Frame(symbol.name, "", 0, 0)] if symbol else []))
    return out


# ---- facts and classes ------------------------------------------------------------------------

class Facts:
    """What the symbol tables and DWARF say, asked for differing addresses only."""

    def __init__(self, path, tmp):
        self.path, self.tmp = path, tmp
        self.dwp = path + ".dwp" if os.path.exists(path + ".dwp") else None
        self.model = M.load_elf(path)
        self.where = self.model.debug or path
        self._dwarf, self._answers, self._files = None, {}, None

    @property
    def dwarf(self):
        if self._dwarf is None:
            self._dwarf = dwarf.Dwarf(self.where, self.tmp, self.dwp)
        return self._dwarf

    def answers(self, addr):
        if addr not in self._answers:
            self._answers[addr] = self.dwarf.answers(addr)
        return self._answers[addr]

    def symbols(self, addr):
        """The names of every symbol whose bytes hold `addr`, nested and enclosing ones alike; of a label, up to the next symbol."""
        out, starts = set(), self.starts()
        i = bisect.bisect_right(starts, addr) - 1
        near = i
        while i >= 0 and near - i < 4000:
            for s in self.model.at[starts[i]]:
                if s.start <= addr < max(s.end, s.start + s.size) or i == near:
                    out.update((s.name, s.base))
            i -= 1
        return out

    def starts(self):
        if not hasattr(self, "_starts"):
            self._starts = sorted(self.model.at)
        return self._starts

    def stretched(self, addr):
        """The names of the last symbols before `addr`, when none of them has a size, left-out ones too."""
        if not hasattr(self, "_all"):
            self._all = collections.defaultdict(list)
            for s in self.model.symbols:
                self._all[s.start].append(s)
            self._all_starts = sorted(self._all)
        i = bisect.bisect_right(self._all_starts, addr) - 1
        near = self._all[self._all_starts[i]] if i >= 0 else []
        return set() if any(s.size for s in near) else {s.name for s in near}

    def file_symbols(self):
        """Names of the STT_FILE symbols."""
        if self._files is None:
            self._files = set()
            for path in {self.path, self.where}:
                for line in M.output("readelf", "-sW", path):
                    f = line.split(None, 7)
                    if len(f) == 8 and f[3] == "FILE":
                        self._files.add(f[7])
        return self._files


def spelled(frame, fact, outermost, addr, facts, tool):
    """The set of classes that make `frame` a spelling of `fact`, or None when it is none."""
    used = set()
    if frame.function != (fact.name or ""):
        if outermost and frame.function in facts.symbols(addr):
            used.add("symbol's name")
        elif outermost and tool != "symidx" and not fact.name and frame.function in facts.stretched(addr):
            used.add("stretched label")
        elif tool == "llvm" and fact.own and fact.own != (fact.linkage, fact.plain) and frame.function == (fact.own[0] or fact.own[1] or ""):
            used.add("llvm: no supplement")
        elif frame.function and frame.function == fact.plain:
            used.add("plain name")
        else:
            return None
    path = fact.path or ""
    if frame.file != path:
        if frame.file and path and posixpath.normpath(frame.file) == posixpath.normpath(path):
            used.add("path spelling")
        elif (why := quirks.path(tool, frame, fact, facts)):
            used.add(why)
        else:
            return None
    if frame.line != fact.line or tool != "eu" and frame.line and frame.column != fact.column:
        return None
    return used


def spelling(frames, chain, addr, facts, tool):
    """The classes that make `frames` a spelling of the whole chain; None when it is none."""
    if len(frames) != len(chain):
        return None
    used = set()
    for i, (frame, fact) in enumerate(zip(frames, chain)):
        one = spelled(frame, fact, i == len(chain) - 1, addr, facts, tool)
        if one is None:
            return None
        used |= one
    return used


def equal(mine, theirs, columns):
    cut = 4 if columns else 3
    return [f[:cut] for f in mine] == [f[:cut] for f in theirs]


def line_0(frames):
    return any(f.column and not f.line for f in frames)


def classes(tool, addr, mine, theirs, facts):
    """The names of the classes that prove the difference; empty when nothing does."""
    answers = facts.answers(addr)
    if not answers and any(f.file for f in mine):
        for chain in facts.dwarf.outside(addr):
            if spelling(mine, chain, addr, facts, "symidx") is not None:
                other = spelling(theirs, chain, addr, facts, tool)
                silent = len(theirs) <= 1 and not any(f.file or f.line for f in theirs) and (not theirs or theirs[0].function in facts.symbols(addr))
                return other if other else {"outside every unit"} if silent else set()
        return set()
    if not answers:
        return quirks.symbols_alone(tool, addr, mine, theirs, facts, spelling)
    ours = [(chain, used) for chain in answers if (used := spelling(mine, chain, addr, facts, "symidx")) is not None]
    if not ours and not mine:
        # No function, no line: a row that says only which file some padding came from.
        return {"no line, no function"} if all(len(c) == 1 and not c[0].name and not c[0].line for c in answers) and len(theirs) <= 1 else set()
    if not ours:
        return set()
    for chain, used in ours:
        other = spelling(theirs, chain, addr, facts, tool)
        if other is not None:
            return used | other or ({"column of line 0"} if line_0(theirs) != line_0(mine) else set())
    for chain in answers:
        if spelling(theirs, chain, addr, facts, tool) is not None:
            return {"several answers"}
    return (quirks.eu_way if tool == "eu" else quirks.llvm_way)(addr, theirs, facts, spelling) or set()


# ---- one binary -------------------------------------------------------------------------------

class Report:
    def __init__(self):
        self.asked = self.nobody = 0
        self.answered, self.equal = collections.Counter(), collections.Counter()
        self.counts = {"llvm": collections.Counter(), "eu": collections.Counter()}
        self.used, self.unexplained, self.frames = [], 0, 0


def show(frames, beside=None):
    """One frame a line; with `beside`, those that differ from it are marked."""
    out = []
    for i, f in enumerate(frames):
        mark = "      > " if beside is not None and (i >= len(beside) or beside[i][:3] != f[:3]) else "        "
        out.append(f"{mark}{f.function or '-'}  {f.file or '-'}:{f.line}:{f.column}")
    return "\n".join(out) or "        nothing"


def compare(path, args, tmp):
    report, began = Report(), time.monotonic()
    plain, name_of = relocate.linked(path, tmp)
    facts = Facts(plain, tmp)
    code = [(r.start, r.end, r.name) for r in facts.model.regions if r.exec and r.end > r.start]
    drawn = draw(code, args.count * 5 // 4)
    addrs = sorted(drawn)
    agree.note(args, f"{os.path.basename(path)}: {len(addrs)} addresses")
    if args.self_test:
        mine = play_symidx(facts, addrs)
    else:
        mine = ask_symidx(args, agree.build(args, path, tmp), [name_of(a) for a in addrs])
    tools = {}
    if args.llvm_symbolizer:
        tools["llvm"] = ask_llvm(args, plain, addrs)
    if args.eu:
        some = sorted(drawn[:args.eu_count]) if args.eu_count else addrs
        asked = dict(zip(some, ask_eu(plain, some)))
        tools["eu"] = [asked.get(a) for a in addrs]
    shown, place = collections.Counter(), {a: i for i, a in enumerate(addrs)}
    for addr, i in ((a, place[a]) for a in drawn):
        if report.asked == args.count:
            break
        if not mine[i] and not any(theirs[i] for theirs in tools.values()):
            report.nobody += 1
            continue
        report.asked += 1
        report.frames += len(mine[i])
        for tool, theirs in tools.items():
            if theirs[i] is None:
                continue
            report.answered[tool] += 1
            if equal(mine[i], theirs[i], tool == "llvm"):
                report.equal[tool] += 1
                continue
            found = classes(tool, addr, mine[i], theirs[i], facts)
            for name in found or {"UNEXPLAINED"}:
                report.counts[tool][name] += 1
                shown[tool, name] += 1
            report.unexplained += not found
            if not found and shown[tool, "UNEXPLAINED"] <= args.show or found and max(shown[tool, n] for n in found) <= args.examples:
                word = ", ".join(sorted(found)) or "UNEXPLAINED"
                chains = "\n".join("      DWARF\n" + show([Frame(f.name or "", f.path or "", f.line, f.column) for f in c]) for c in facts.answers(addr))
                print(f"  {word}: {name_of(addr)}\n      symidx\n{show(mine[i])}\n      {tool}\n{show(theirs[i], mine[i])}\n{chains or '      DWARF: nothing'}", flush=True)
    report.used = list(tools)
    agree.note(args, f"{os.path.basename(path)}: {time.monotonic() - began:.0f} s")
    return report


def spoiled(frames):
    """Wrong answers made of a right one: (what is wrong, frames)."""
    for i, f in enumerate(frames):
        where = "innermost" if i == 0 else "caller"
        if f.line:
            yield f"{where}: line", [*frames[:i], f._replace(line=f.line + 1), *frames[i + 1:]]
            yield f"{where}: column", [*frames[:i], f._replace(column=f.column + 1), *frames[i + 1:]]
        if f.file:
            yield f"{where}: file", [*frames[:i], f._replace(file=f.file + "x"), *frames[i + 1:]]
            yield f"{where}: no file", [*frames[:i], f._replace(file=""), *frames[i + 1:]]
        yield f"{where}: function", [*frames[:i], f._replace(function=f.function + "x"), *frames[i + 1:]]
        if len(frames) > 1:
            yield f"{where}: dropped", [*frames[:i], *frames[i + 1:]]
    if frames and frames[0].file:
        yield "all dropped", []


def spoil(path, args, tmp):
    """Whether the classes see through wrong answers: {what is wrong: [noticed, not noticed]}, asked of a right one's spoilings."""
    plain, _ = relocate.linked(path, tmp)
    facts, out = Facts(plain, tmp), collections.defaultdict(lambda: [0, 0])
    addrs = sorted(draw([(r.start, r.end, r.name) for r in facts.model.regions if r.exec and r.end > r.start], args.count))
    for addr, right, theirs in zip(addrs, play_symidx(facts, addrs), ask_llvm(args, plain, addrs)):
        if facts.answers(addr) and right[0].line and (equal(right, theirs, True) or classes("llvm", addr, right, theirs, facts)):
            for wrong, frames in spoiled(right):
                out[wrong][equal(frames, theirs, True) or bool(classes("llvm", addr, frames, theirs, facts))] += 1
    return out


def table(reports):
    out = ["| binary | addresses | frames | equal llvm | equal eu | unexplained |", "|---|---:|---:|---:|---:|---:|"]
    for name, r in reports:
        cells = [f"{r.equal[t]:,} of {r.answered[t]:,}" if t in r.used else "-" for t in ("llvm", "eu")]
        out.append(f"| {name} | {r.asked:,} | {r.frames:,} | {' | '.join(cells)} | {r.unexplained:,} |")
    for name, r in reports:
        out += ["", f"**{name}**", "", "| class | " + " | ".join(r.used) + " |", "|---|" + "---:|" * len(r.used)]
        for cls in [*quirks.CLASSES, "UNEXPLAINED"]:
            row = [r.counts[t][cls] for t in r.used]
            if any(row) or cls == "UNEXPLAINED":
                out.append(f"| {cls} | " + " | ".join(f"{n:,}" for n in row) + " |")
    return "\n".join(out) + "\n"


def markdown(reports, args):
    versions = [next((l.strip() for l in M.output(t, "--version") if re.search(r"\d\.\d", l)), t) for t in (args.llvm_symbolizer, "eu-addr2line") if t]
    seen = {cls for _, r in reports for c in r.counts.values() for cls in c}
    out = ["# Lines and inlined functions: agreement with independent tools", "",
           f"Written by `benches/agree/lines.py`; tools: {'; '.join(versions)}.", "",
           f"Asked: {args.count:,} random code addresses of each, of which symbols or lines say something. *equal llvm*: function, file, line and column of every",
           "frame are those of `llvm-symbolizer --inlines`; *equal eu*: function, file and line are those of `eu-addr2line -i -f -A` (of those it was asked).",
           "Every other answer is in a class, counted below: an answer may be in several. *UNEXPLAINED* is what no class proves.", "",
           table(reports), "## The classes", "", "| class | why the answers differ |", "|---|---|"]
    out += [f"| {cls} | {why} |" for cls, why in quirks.CLASSES.items() if cls in seen]
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary", nargs="*")
    p.add_argument("--symidx", default="symidx", help="the program under test")
    p.add_argument("--self-test", action="store_true", help="dwarf.py plays symidx's part")
    p.add_argument("--spoil", action="store_true", help="damage right answers and see whether the damage is noticed")
    p.add_argument("--programs", nargs="*", metavar="WAY", help="build programs/ in these ways (all) and compare each")
    p.add_argument("--count", type=int, default=20_000, help="addresses of each binary (%(default)s)")
    p.add_argument("--eu-count", type=int, default=0, help="ask eu-addr2line, which is slow, only so many of them (all)")
    p.add_argument("--no-eu", dest="eu", action="store_false", help="do not ask eu-addr2line")
    p.add_argument("--llvm-symbolizer", default=shutil.which(M.llvm("llvm-symbolizer")) or shutil.which("llvm-symbolizer-19"))
    p.add_argument("--build-arg", action="append", default=[], help="passed on to symidx build")
    p.add_argument("--lookup-arg", action="append", default=[], help="passed on to symidx lookup")
    p.add_argument("--show", type=int, default=10, help="unexplained answers printed for each tool (%(default)s)")
    p.add_argument("--examples", type=int, default=0, help="print so many answers of each class, too")
    p.add_argument("--markdown", metavar="FILE", help="write the tables there")
    args = p.parse_args()
    args.code_only, args.no_debug_file, args.lines, args.kallsyms, args.modules, args.arch = False, False, True, False, None, None
    if args.eu and not shutil.which("eu-addr2line"):
        agree.note(args, "SKIPPED: eu-addr2line is not installed")
        args.eu = False
    if not args.llvm_symbolizer:
        agree.note(args, "SKIPPED: llvm-symbolizer is not installed")
    if not args.binary and args.programs is None:
        p.error("a BINARY or --programs")
    reports = []
    if args.spoil:
        missed = 0
        for path in args.binary:
            with tempfile.TemporaryDirectory() as tmp:
                for wrong, (noticed, not_noticed) in sorted(spoil(path, args, tmp).items()):
                    print(f"{os.path.basename(path)}: {wrong}: {noticed} noticed, {not_noticed} not")
                    missed += not_noticed
        return 1 if missed else 0
    for path in args.binary:
        with tempfile.TemporaryDirectory() as tmp:
            reports.append((os.path.basename(path), compare(path, args, tmp)))
        print(table(reports[-1:]), flush=True)
    if args.programs is not None:
        with tempfile.TemporaryDirectory() as base:
            for name, path in programs.build(base, lambda text: agree.note(args, text), args.programs):
                with tempfile.TemporaryDirectory() as tmp:
                    reports.append((name, compare(path, args, tmp)))
                print(table(reports[-1:]), flush=True)
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write(markdown(reports, args))
    return 1 if any(r.unexplained for _, r in reports) else 0


if __name__ == "__main__":
    sys.exit(main())

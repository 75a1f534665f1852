#!/usr/bin/env python3
"""Compares `symidx lookup` with independent tools over whole real binaries.

    agree.py [OPTIONS] BINARY...                 ELF executables and libraries, vmlinux, Mach-O (--arch for a fat file)
    agree.py --kallsyms [--modules FILE] TEXT... /proc/kallsyms-style text
    agree.py --self-test BINARY...               no symidx: the model below plays its part

Asked: start, middle and last byte of every symbol, every gap, addresses outside the image, and random code addresses
(fixed seed). Asked whom: symidx; `model.py` (the nm oracle: RULES.md, written the slow way over readelf, objdump and
llvm-nm text); llvm-symbolizer, its symbol table (DATA) and its default answer (CODE); eu-addr2line -S.
Each answer that is not symidx's falls in a class, chosen by a fact of the symbol tables about that address, or is
UNEXPLAINED: those are printed with all facts, and the exit status is 1. Needs binutils, LLVM, and elfutils (optional).
"""
import argparse
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import model as M
from model import split_version

SEED = 20240229
Answer = collections.namedtuple("Answer", "name start aliases flags inside", defaults=((), (), True))

CLASSES = {
    "agree": "the same symbol, or no symbol from both",
    "alias choice": "another name of the same address, which symidx lists among the aliases; every tool has its own order",
    "version suffix": "`f@@V` or `f@V` against `f`: symidx keeps the version of a `.dynsym` symbol in its own field",
    "plt name": "symidx names a PLT stub from its relocation (`name@plt`); the tool has no name, or blames the unsized symbol in front",
    "plt without a name": "the stub of an IRELATIVE relocation: the file has no name for it, objdump prints `*ABS*+0x…@plt`",
    "other table": "the symbol is in a table that the tool does not read (`.dynsym` beside `.symtab`, `.gnu_debugdata`, separate debug file, Mach-O export trie)",
    "enclosing lost": "a nested symbol has ended; the tool looks only at the nearest start and misses the enclosing symbol",
    "inner label": "an unsized label lies inside a sized symbol; the tool prefers the nearer label, symidx the sized symbol",
    "stretched": "the tool stretches an unsized symbol past its section, the next symbol, or the sized symbol that it lies in",
    "past section": "a symbol's size runs past the end of its section; symidx clamps it",
    "per-CPU": "an offset in the per-CPU template, found by name only: in the running kernel each CPU has its own copy elsewhere",
    "not loaded": "the tool answers with a symbol whose section is not loaded (or with an absolute or thread-local one, whose value is no address)",
    "section end label": "the tool gives the address to a label that marks the end of the section before",
    "mapping symbol": "the tool answers with a mapping or assembler-temporary symbol",
    "kernel-internal label": "the tool answers with a `.L*` or `__kcfi_typeid_*` label",
    "global first": "eu-addr2line searches global symbols before local ones, so an enclosing global hides a nested local",
    "same start, larger": "two symbols of different sizes share the start: llvm keeps the largest, symidx the smallest that covers",
    "unnamed function": "Mach-O: LC_FUNCTION_STARTS begins a function without a name between the symbol and the address",
    "dwarf name": "llvm found no symbol in its table and names the function as DWARF does",
    "dwarf part": "as above; the symbol is a part (`f.cold`, `f.part.0`) of what DWARF calls `f`, a function of several ranges",
    "dwarf ranges": "as above; a function of several ranges (llvm gives it no start), known to DWARF by a name that is no symbol's",
    "dwarf only": "a function known only to DWARF, at an address that no symbol covers",
    "dwarf function": "symidx answers with a function known only to DWARF (the *llvm* column says whether llvm's DWARF reader agrees)",
    "outside the module": "eu-addr2line takes a module to begin at the first segment, and knows nothing below (vmlinux: per-CPU data at 0)",
    "thread-local bss": "eu-addr2line: `.tbss` takes no addresses but has some in its header; there, unsized symbols of other sections are not found",
    "kernel end marker": "`_etext`, `__entry_text_end` and the like in vmlinux: an unsized label, or a marker that owns nothing",
    "module end unknown": "the last symbol of a module, and no `--modules` says where the module ends",
}


# ---- addresses --------------------------------------------------------------------------------

def addresses(model, count, code_only):
    out = set()
    for s in model.kept:
        if code_only and s.kind == "object" or s.end <= s.start:
            continue
        out.update((s.start, s.start + (s.end - s.start) // 2, s.end - 1))
    for lo, hi in model.gaps():
        out.update((lo, lo + (hi - lo) // 2, hi - 1))
    top = (1 << model.bits) - 1
    out.update((0, 1, top, top - 1, top >> 1))
    for r in model.regions:
        out.update((max(r.start - 1, 0), r.end, min(r.end + 0x1000, top)))
    rng = random.Random(SEED)
    code = [r for r in model.regions if r.exec]
    if code:
        for r in rng.choices(code, [r.end - r.start for r in code], k=count):
            out.add(rng.randrange(r.start, r.end))
    return sorted(out)


def sample(addrs, n):
    return addrs if n <= 0 or n >= len(addrs) else sorted(random.Random(SEED).sample(addrs, n))


# ---- the tools --------------------------------------------------------------------------------

def ask(cmd, queries):
    """Lines of stdout while a thread writes the queries; stderr is dropped."""
    p = subprocess.Popen(["nice", *cmd], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=M.ENV)

    def feed():
        try:
            for i in range(0, len(queries), 4096):
                p.stdin.write("".join(q + "\n" for q in queries[i:i + 4096]).encode())
            p.stdin.close()
        except BrokenPipeError:
            pass
    threading.Thread(target=feed, daemon=True).start()
    yield from p.stdout
    p.wait()


def need(got, want, tool):
    if got != want:
        raise SystemExit(f"{tool}: {got} answers to {want} addresses")


def ask_symidx(args, index, addrs):
    out = []
    for line in ask([args.symidx, "lookup", "--json", "--all", *args.lookup_arg, index], [hex(a) for a in addrs]):
        o = json.loads(line)
        s, asked = o.get("symbol"), addrs[len(out)]
        if "error" in o or int(o["address"], 16) != asked:
            raise SystemExit(f"symidx: not an answer to {asked:#x}: {line!r}")
        if s is None:
            out.append(None)
            continue
        start = int(s["start"], 16)
        inside = s["offset"] == asked - start and start <= asked < start + s["size"]
        out.append(Answer(unescape(s["name"]), start, tuple(map(unescape, s["aliases"])), tuple(s["flags"]), inside))
    need(len(out), len(addrs), "symidx")
    return out


def unescape(name):
    return name if "\\" not in name else re.sub(r"\\(x([0-9a-fA-F]{2})|\\)", lambda m: "\\x" + m[2].lower() if m[2] else "\\", name)


def play_symidx(model, addrs):
    return [Answer(s.name, s.start, tuple({o.name: 0 for o in model.at[s.start] if o.name != s.name})) if s else None for s in model.lookup(addrs)]


def hidden(model, args, tmp):
    """The path that llvm is given: a link in an empty place when debug files are not to be found."""
    if not args.no_debug_file:
        return model.path, []
    link = os.path.join(tmp, "binary")
    if not os.path.lexists(link):
        os.symlink(os.path.realpath(model.path), link)
    return link, ["--debug-file-directory=/nonexistent", "--fallback-debug-path=/nonexistent"]


def ask_llvm(model, args, tmp, verb, addrs):
    path, extra = hidden(model, args, tmp)
    arch = ["--default-arch=" + model.arch] if getattr(model, "arch", None) else []
    cmd = [args.llvm_symbolizer, "-e", path, "--no-demangle", "--no-untag-addresses", "--output-style=JSON", *extra, *arch]
    out = []
    for line in ask(cmd, [f"{verb} {a:#x}" for a in addrs]):
        o = json.loads(line.decode("utf-8", "backslashreplace"))
        if verb == "DATA":
            d = o.get("Data") or {}
            out.append(Answer(d["Name"], int(d["Start"], 16)) if d.get("Name") else None)
        else:
            d = (o.get("Symbol") or [{}])[-1]   # the outermost frame: with --no-inlines it would be the innermost
            out.append(Answer(d["FunctionName"], int(d["StartAddress"] or "0", 16)) if d.get("FunctionName") else None)
    need(len(out), len(addrs), "llvm-symbolizer")
    return out


EU = re.compile(r"^(.*)\+0x([0-9a-f]+)$")
EU_SECTION = re.compile(r"^\([^()]*\)\+(0x[0-9a-f]+|0)$")     # `(.text)+0x10`, `()+0x10`: no symbol


def ask_eu(model, args, addrs):
    cmd = ["eu-addr2line", "-S", "-a", "-e", model.path] + (["--debuginfo-path=/nonexistent"] if args.no_debug_file else [])
    out = []
    for i, line in enumerate(ask(cmd, [hex(a) for a in addrs])):
        if i % 3 != 1:
            continue
        name, addr = line.rstrip(b"\n").decode("utf-8", "backslashreplace"), addrs[len(out)]
        m = EU.match(name)
        base, off = (m[1], int(m[2], 16)) if m else (name, 0)
        out.append(None if name == "??" or EU_SECTION.match(name) else Answer(base, addr - off))
    need(len(out), len(addrs), "eu-addr2line")
    return out


def nearest_lower(model, addrs):
    """What `awk` over the sorted text would print: the last line at or below the address."""
    lines = sorted((s for s in model.symbols if s.start), key=lambda s: s.start)
    i, out = 0, []
    for a in addrs:
        while i < len(lines) and lines[i].start <= a:
            i += 1
        out.append(Answer(lines[i - 1].name, lines[i - 1].start) if i else None)
    return out


# ---- classes ----------------------------------------------------------------------------------

def same_name(a, b):
    return a == b or split_version(a)[0] == split_version(b)[0]


def same_symbol(mine, theirs):
    """'agree', 'version suffix', 'alias choice' or None."""
    if mine is None or theirs is None:
        return "agree" if mine is theirs else None
    if mine.start != theirs.start:
        return None
    if mine.name == theirs.name:
        return "agree"
    if same_name(mine.name, theirs.name):
        return "version suffix"
    return "alias choice" if any(same_name(a, theirs.name) for a in mine.aliases) else None


def in_stubs(model, addr, mine, theirs):
    """symidx names a stub of Mach-O's __stubs section, which has no symbols of its own."""
    region = model.region_of(addr)
    return mine and not theirs and mine.name.endswith("@plt") and region and region.name.endswith("__stubs")


def class_of_model(model, addr, mine, s):
    """symidx against the model: the same primary is expected, and every alias that reaches the address."""
    if in_stubs(model, addr, mine, s):
        return "plt name"
    if s and s.table == "plt" and "*ABS*" in s.name and (mine is None or mine.name.endswith("@plt")):
        return "plt without a name"
    if mine and not s and "dwarf" in mine.flags:
        return "dwarf function"
    if model.end_unknown(addr) and (mine is None or model.end_unknown(mine.start)):
        return "module end unknown"
    if model.kernel and "kallsyms" not in model.tables and (mine is None or s is None) and M.MARKER.match((mine or s or Answer("", 0)).name):
        return "kernel end marker"
    if not mine or not s:
        return "agree" if mine is None and s is None else None
    if mine.start != s.start or not same_name(mine.name, s.name) and mine.name != s.base:
        return None
    if not mine.inside:
        return None             # symidx's own offset and size deny the answer
    listed = {split_version(n)[0] for n in (mine.name, *mine.aliases)}
    if any(split_version(o.name)[0] not in listed for o in model.at[s.start] if not o.size or addr < s.start + o.size):
        return None
    return "agree" if mine.name == s.name else "version suffix"


LEFT_OUT = {"label at its section's end": "section end label", "mapping symbol": "mapping symbol", "assembler temporary": "mapping symbol",
            "kernel-internal label": "kernel-internal label", "absolute": "not loaded", "its section is not loaded": "not loaded",
            "thread-local": "not loaded", "absolute or per-CPU": "not loaded", "per-CPU": "per-CPU", "its address is in no section": "not loaded"}


class Tool:
    """What a tool reads: its tables, and the answers that the rules give over those tables alone."""

    def __init__(self, model, tables, addrs, eu=False):
        self.model, self.tables, self.eu = model, tables, eu
        self.part, self.owners = model, None
        if model.tables - tables:
            self.part = model.over(tables)
            self.owners = dict(zip(addrs, play_symidx(self.part, addrs)))

    def class_of(self, addr, mine, theirs):
        """symidx against the tool. Every branch tests facts of the tables about this address."""
        same = same_symbol(mine, theirs)
        if same:
            return same
        if mine and "dwarf" in mine.flags:      # no table has it: the tool must be explained as at a miss
            return "dwarf function" if self.class_in(self.model, addr, None, theirs) else None
        s = (self.model.record(mine.start, mine.name) or self.model.stub(mine)) if mine else None
        if s and s.start <= addr < s.end and not self.model.in_table(s, self.tables):
            # Not its table: then its own tables must explain the answer.
            why = "plt name" if s.table == "plt" else "other table"
            return why if self.class_in(self.part, addr, self.owners[addr], theirs) else None
        return self.class_in(self.model, addr, mine, theirs)

    def class_in(self, model, addr, mine, theirs):
        same = same_symbol(mine, theirs)
        if same:
            return same
        if in_stubs(model, addr, mine, theirs):
            return "plt name"
        s = model.record(mine.start, mine.name) if mine else None
        r = model.record(theirs.start, theirs.name) if theirs else None
        if mine and s is None or theirs and r is None or s and not s.start <= addr < s.end:
            return None
        if r is None:
            if self.eu and addr < model.first_segment:
                return "outside the module"
            if self.eu and s.size == 0 and any(lo <= addr < hi for lo, hi in self.model.tbss):
                return "thread-local bss"
            near = model.last_before(addr, self.tables) if not self.eu else None
            # Something of the nearest start was sized and has ended; that start is inside the owner.
            if near and s.start <= near[0].start and any(o.size and o.start + o.size <= addr for o in near):
                return "enclosing lost"
            return None
        if r.drop:
            return LEFT_OUT.get(r.drop)
        if s is None:
            if model.stops and model.stop_between(r.start, addr):
                return "unnamed function"
            if r.size == 0 and addr >= r.end:
                return "stretched"
            if r.size and r.start + r.size > addr >= r.region.end:
                return "past section"
            return None
        if s.start < r.start <= addr < s.end and r.size == 0 and s.size:
            return "inner label"
        if r.start < s.start and r.size == 0 and addr >= r.end:
            return "stretched"
        if r.start == s.start and r.size > s.size > 0:
            return "same start, larger"
        if self.eu and r.start < s.start and r.bind < 2 and s.bind == 2 and addr < r.start + r.size:
            return "global first"
        return None


def class_of_code(tool, addr, mine, data, code):
    """llvm's CODE answer: that of its table (classed as such), else DWARF's."""
    if data == code and not (code is None and mine and "dwarf" in mine.flags):
        return tool.class_of(addr, mine, code)
    same = same_symbol(mine, code)
    if same:
        return same
    if data is None and code and tool.model.has_dwarf:      # nothing in its table: this is DWARF's name
        if mine is None:
            return "dwarf only"
        if "dwarf" in mine.flags:
            return "agree" if code == Answer(mine.name, code.start) and code.start == 0 else None
        if mine.start == code.start:
            return "dwarf name"
        if code.start == 0:     # llvm gives a function of several ranges no start
            if same_symbol(mine, code._replace(start=mine.start)):
                return "agree"
            return "dwarf part" if mine.name.startswith(code.name + ".") else "dwarf ranges"
    return None


def class_of_awk(model, addr, mine, near):
    """symidx against the nearest lower address of the text, whatever it is."""
    same = same_symbol(mine, near)
    if same:
        return same
    r = model.record(near.start, near.name) if near else None
    if r is None:
        return None
    if r.drop:
        return LEFT_OUT.get(r.drop)
    return "stretched" if mine is None and addr >= r.end else None


# ---- reports ----------------------------------------------------------------------------------

class Report:
    """Counts of one binary: column -> class -> number; the unexplained with their facts."""

    def __init__(self, model, limit, examples):
        self.model, self.limit, self.examples = model, limit, examples
        self.counts = collections.defaultdict(collections.Counter)
        self.unexplained = 0

    def add(self, column, addr, cls, mine, theirs):
        counts = self.counts[column]
        counts[cls or "UNEXPLAINED"] += 1
        if cls is None:
            self.unexplained += 1
            if counts["UNEXPLAINED"] <= self.limit:
                self.explain("UNEXPLAINED", column, addr, mine, theirs)
        elif cls != "agree" and counts[cls] <= self.examples:
            self.explain(cls, column, addr, mine, theirs)

    def explain(self, cls, column, addr, mine, theirs):
        model = self.model
        show = lambda a: f"{a.name} at {a.start:#x}" if a else "no symbol"
        owner = theirs if isinstance(theirs, M.Sym) else None
        print(f"{cls} {addr:#x} in {model.region_of(addr) and model.region_of(addr).name}\n"
              f"  symidx: {show(mine)}{' aliases ' + ', '.join(mine.aliases[:8]) if mine and mine.aliases else ''}\n  {column}: {show(theirs)}")
        facts = []
        for a in filter(None, (mine, theirs)):
            facts += model.raw.get(a.start, [])[:8]
        facts += model.last_before(addr, model.tables)[:4] + ([owner] if owner else [])
        for f in dict.fromkeys(map(str, facts)):
            print(f"    fact: {f}")


def compare(path, args, tmp):
    t0 = time.time()
    if args.kallsyms:
        model = M.load_kallsyms(path, args.modules)
    elif open(path, "rb").read(4) == b"\x7fELF":
        model = M.load_elf(path, not args.no_debug_file)
    else:
        slices = M.macho_slices(path)
        if slices and not args.arch:
            raise SystemExit(f"{path}: fat: choose one with --arch: {', '.join(slices)}")
        model = M.load_macho(path, args.arch)
    addrs = addresses(model, args.random, args.code_only)
    note(args, f"{path}: {len(model.kept)} symbols, {len(addrs)} addresses ({time.time() - t0:.1f} s)")
    if args.self_test:
        mine = play_symidx(model, addrs)
    else:
        mine = ask_symidx(args, build(args, path, tmp), addrs)
    at = dict(zip(addrs, mine))
    report = Report(model, args.show, args.examples)
    for a, m, s in zip(addrs, mine, model.lookup(addrs)):
        report.add("nm", a, class_of_model(model, a, m, s), m, s)
    if args.kallsyms:
        for a, n in zip(addrs, nearest_lower(model, addrs)):
            report.add("nearest", a, class_of_awk(model, a, at[a], n), at[a], n)
    if model.llvm_tables and args.llvm_symbolizer:
        t = time.time()
        some = sample(addrs, args.sample_llvm)
        data = ask_llvm(model, args, tmp, "DATA", some)
        tool = Tool(model, model.llvm_tables, some)
        for a, d in zip(some, data):
            report.add("llvm table", a, tool.class_of(a, at[a], d), at[a], d)
        note(args, f"  llvm-symbolizer DATA: {len(some)} ({time.time() - t:.1f} s)")
        if model.has_dwarf:
            t = time.time()
            less = sample(some, args.sample)
            known = dict(zip(some, data))
            for a, c in zip(less, ask_llvm(model, args, tmp, "CODE", less)):
                report.add("llvm", a, class_of_code(tool, a, at[a], known[a], c), at[a], c)
            note(args, f"  llvm-symbolizer CODE: {len(less)} ({time.time() - t:.1f} s)")
    if model.eu_tables and shutil.which("eu-addr2line"):
        t = time.time()
        # eu-addr2line walks all symbols for every address: about 14 ns each.
        n = args.sample if args.sample <= 0 else min(args.sample, max(2000, int(args.eu_seconds / 14e-9 / max(1, len(model.symbols)))))
        some = sample(addrs, n)
        tool = Tool(model, model.eu_tables, some, eu=True)
        for a, e in zip(some, ask_eu(model, args, some)):
            report.add("eu", a, tool.class_of(a, at[a], e), at[a], e)
        note(args, f"  eu-addr2line: {len(some)} ({time.time() - t:.1f} s)")
    return report


def build(args, path, tmp):
    out = os.path.join(tmp, "index.symidx")
    extra = ["--names-only"] * (not args.lines) + ["--no-auto-debug"] * args.no_debug_file + ["--force"]
    extra += ["--arch", args.arch] if args.arch else []
    extra += ["--modules", args.modules] if args.modules else []
    subprocess.run([args.symidx, "build", "--quiet", *extra, *args.build_arg, "-o", out, path], check=True)
    return out


def note(args, text):
    print(text, file=sys.stderr, flush=True)


COLUMNS = ("nm", "nearest", "llvm table", "llvm", "eu")


def text_table(name, report):
    used = [c for c in COLUMNS if report.counts[c]]
    print(f"\n{name}: {report.unexplained} unexplained")
    print(f"  {'class':26}" + "".join(f"{c:>12}" for c in used))
    for cls in [*CLASSES, "UNEXPLAINED"]:
        row = [report.counts[c][cls] for c in used]
        if any(row) or cls == "UNEXPLAINED":
            print(f"  {cls:26}" + "".join(f"{n or '':>12}" for n in row))
    print(f"  {'asked':26}" + "".join(f"{sum(report.counts[c].values()):>12}" for c in used), flush=True)


def markdown(reports, args):
    llvm = next(M.output(args.llvm_symbolizer, "--version"), "").strip() if args.llvm_symbolizer else ""
    llvm = next((l.strip() for l in M.output(args.llvm_symbolizer, "--version") if "version" in l), llvm)
    tools = [next(M.output(t, "--version"), "") for t in ("readelf", "eu-addr2line")] + [llvm]
    out = ["# Agreement with independent tools", "",
           "Written by `benches/agree/agree.py`" + (" --self-test (the model plays symidx's part)" if args.self_test else "") +
           f"; tools: {'; '.join(t for t in tools if t)}.", "",
           "Asked: start, middle and last byte of every symbol, first, middle and last byte of every gap, addresses around and outside",
           f"every section, {args.random:,} random code addresses. *nm*: the model over readelf/objdump/llvm-nm text; *llvm table*: llvm-symbolizer `DATA`;",
           "*llvm*: `CODE` (with DWARF); *eu*: `eu-addr2line -S`. The slow ones are asked a fixed sample.", ""]
    for name, report in reports:
        used = [c for c in COLUMNS if report.counts[c]]
        out += [f"## {name}", "", "| class | " + " | ".join(used) + " |", "|---|" + "---:|" * len(used)]
        for cls in [*CLASSES, "UNEXPLAINED"]:
            row = [report.counts[c][cls] for c in used]
            if any(row) or cls == "UNEXPLAINED":
                out.append(f"| {cls} | " + " | ".join(f"{n:,}" for n in row) + " |")
        out += ["| *asked* | " + " | ".join(f"{sum(report.counts[c].values()):,}" for c in used) + " |", ""]
    seen = {cls for _, r in reports for c in r.counts.values() for cls in c}
    out += ["## The classes", "", "| class | why the answers differ |", "|---|---|"]
    out += [f"| {cls} | {why} |" for cls, why in CLASSES.items() if cls in seen]
    return "\n".join(out) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary", nargs="+")
    p.add_argument("--symidx", default="symidx", help="the program under test")
    p.add_argument("--self-test", action="store_true", help="the model plays symidx's part")
    p.add_argument("--kallsyms", action="store_true", help="the inputs are kallsyms text")
    p.add_argument("--modules", help="with --kallsyms: a /proc/modules file")
    p.add_argument("--arch", help="slice of a fat Mach-O file")
    p.add_argument("--code-only", action="store_true", help="do not ask data objects")
    p.add_argument("--no-debug-file", action="store_true", help="keep everyone from separate debug files")
    p.add_argument("--lines", action="store_true", help="build with lines and inlines (functions known only to DWARF)")
    p.add_argument("--random", type=int, default=10_000, help="random code addresses (%(default)s)")
    p.add_argument("--sample", type=int, default=50_000, help="addresses for llvm CODE and eu; 0: all (%(default)s)")
    p.add_argument("--sample-llvm", type=int, default=0, help="addresses for llvm DATA; 0: all")
    p.add_argument("--eu-seconds", type=float, default=60, help="bound on eu-addr2line's sample, which is slow (%(default)s)")
    p.add_argument("--llvm-symbolizer", default=M.llvm("llvm-symbolizer"))
    p.add_argument("--build-arg", action="append", default=[], help="passed on to symidx build")
    p.add_argument("--lookup-arg", action="append", default=[], help="passed on to symidx lookup")
    p.add_argument("--show", type=int, default=20, help="unexplained answers printed for each tool (%(default)s)")
    p.add_argument("--examples", type=int, default=0, help="print so many answers of each class, too")
    p.add_argument("--markdown", metavar="FILE", help="write the tables there")
    args = p.parse_args()
    reports = []
    for path in args.binary:
        with tempfile.TemporaryDirectory() as tmp:
            report = compare(path, args, tmp)
        name = os.path.basename(path) + (f" ({args.arch})" if args.arch else "")
        reports.append((name, report))
        text_table(name, report)
    if args.markdown:
        with open(args.markdown, "w") as f:
            f.write(markdown(reports, args))
    return 1 if any(r.unexplained for _, r in reports) else 0


if __name__ == "__main__":
    sys.exit(main())

"""The slow, obviously right symbol model that agree.py compares with.

In: the text of readelf, objdump, llvm-nm, llvm-objdump or a kallsyms listing. Out: `Model`, which
says for an address which symbol owns it, and keeps every symbol that was left out with the reason.
It never reads a symbol table itself and shares no code or format with symidx.
"""
import bisect
import collections
import copy
import glob
import heapq
import lzma
import os
import re
import subprocess
import tempfile
import zlib

ENV = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"} | {"LC_ALL": "C.UTF-8"}
KINDS = {"FUNC": "func", "IFUNC": "func", "OBJECT": "object", "NOTYPE": "label"}
BINDS = {"GLOBAL": 0, "UNIQUE": 0, "WEAK": 1, "LOCAL": 2}
KIND_RANK = {"func": 0, "object": 1, "label": 2}
DEBUGDATA_CAP = 1 << 30


def llvm(tool):
    """The newest installed LLVM tool of that name."""
    found = glob.glob(f"/usr/lib/llvm-*/bin/{tool}")
    return max(found, key=lambda p: int(re.search(r"llvm-(\d+)", p)[1])) if found else tool


def output(*cmd):
    """Lines of stdout; what the tool complains about is dropped."""
    with subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV) as p:
        for line in p.stdout:
            yield line.rstrip(b"\n").decode("utf-8", "backslashreplace")


VERSIONED = re.compile(r"^([^@]+)(@@?)([^@]+)$")


def split_version(name):
    """`f@@V2` -> (`f`, True); `f@V1` -> (`f`, False); `f@plt` and unversioned names stay whole."""
    m = VERSIONED.match(name) if "@" in name else None
    return (m[1], m[2] == "@@") if m and m[3] != "plt" else (name, True)


def underscores(name):
    return len(name) - len(name.lstrip("_"))


class Region:
    """A place that symbols live in and never leave: an allocated section, or a loaded segment."""
    __slots__ = ("start", "end", "name", "exec", "open")

    def __init__(self, start, end, name, exec, open=None):
        self.start, self.end, self.name, self.exec = start, end, name, exec
        self.open = open            # kallsyms: from here on the end is a guess


class Sym:
    __slots__ = ("name", "base", "default", "start", "size", "end", "kind", "bind", "table", "drop", "region", "module", "moved")

    def __init__(self, name, start, size, kind, bind, table, drop=None, region=None, module=None):
        self.name, self.start, self.size, self.kind, self.bind = name, start, size, kind, bind
        self.base, self.default = split_version(name)
        self.table, self.drop, self.region, self.module = table, drop, region, module
        self.end, self.moved = start, False

    def key(self, prefix_loses=False):
        """The primary among aliases is the least."""
        return (prefix_loses and self.base.startswith("__pfx_"), KIND_RANK[self.kind], self.size == 0, self.bind,
                underscores(self.base), not self.default, len(self.base), self.base)

    def __str__(self):
        where = f" in {self.region.name} [{self.region.start:#x},{self.region.end:#x})" if self.region else ""
        drop = f" LEFT OUT: {self.drop}" if self.drop else ""
        bind = ("global", "weak", "local")[self.bind]
        return (f"{self.name} [{self.start:#x},{self.end:#x}) size={self.size:#x} {bind} {self.kind} from {self.table}{where}{drop}")


class Model:
    """Every symbol of one image, how far each reaches, and who owns an address."""

    def __init__(self, path, regions, symbols, stops=(), tables=(), bits=64, kernel=False):
        self.path, self.bits, self.kernel = path, bits, kernel
        self.regions = sorted((r for r in regions if r.end > r.start), key=lambda r: r.start)
        self.region_starts = [r.start for r in self.regions]
        self.symbols = symbols              # everything, also what was left out
        self.tables = set(tables)           # which tables exist and are not empty
        self.stops = sorted(set(stops))     # Mach-O function starts
        for s in symbols:
            if not s.drop:
                self.place(s)
        self.kept = sorted((s for s in symbols if not s.drop), key=lambda s: (s.start, s.key(kernel)))
        self.reach()
        self.at = collections.defaultdict(list)     # start -> kept symbols, primary first
        for s in self.kept:
            self.at[s.start].append(s)
        self.raw = collections.defaultdict(list)    # start -> all symbols
        for s in symbols:
            self.raw[s.start].append(s)
        self.first_segment, self.tbss = 0, []
        self.nearest = {}                           # table -> sorted starts

    def region_of(self, addr):
        i = bisect.bisect_right(self.region_starts, addr) - 1
        return self.regions[i] if i >= 0 and addr < self.regions[i].end else None

    def place(self, s):
        """The claimed section if the address is in it, else the one that holds the address."""
        claimed = s.region
        if claimed and claimed.start <= s.start < claimed.end:
            return
        if claimed and s.start == claimed.end and (s.kind == "label" or s.size == 0):
            s.drop = "label at its section's end"
            return
        s.region, s.moved = self.region_of(s.start), claimed is not None
        if s.region is None:
            s.drop = "its address is in no section"

    def reach(self):
        """Sized: the size, at most the region's end. Unsized: the next symbol or the region's end;
        one that starts inside a sized symbol (or at its start) is part of it and ends with it."""
        starts = collections.defaultdict(set)
        for s in self.kept:
            starts[s.region].add(s.start)
        for r in self.regions:
            lo, hi = bisect.bisect_left(self.stops, r.start), bisect.bisect_left(self.stops, r.end)
            starts[r].update(self.stops[lo:hi])
        starts = {r: sorted(v) for r, v in starts.items()}
        covered = collections.defaultdict(int)      # region -> end of the sized symbols so far
        for _, same in group(self.kept, lambda s: s.start):
            for s in same:
                if s.size:
                    s.end = min(s.start + s.size, s.region.end)
                    covered[s.region] = max(covered[s.region], s.end)
            for s in same:
                if not s.size:
                    i = bisect.bisect_right(starts[s.region], s.start)
                    s.end = starts[s.region][i] if i < len(starts[s.region]) else s.region.end
                    if covered[s.region] > s.start:
                        s.end = min(s.end, covered[s.region])

    def lookup(self, addrs):
        """The owner of each of the ascending addresses, or None: the sized symbol with the latest
        start, then the least end; an unsized one only where no sized one covers."""
        sized, unsized, i, out = [], None, 0, []
        for a in addrs:
            while i < len(self.kept) and self.kept[i].start <= a:
                s = self.kept[i]
                if s.size:
                    heapq.heappush(sized, (-s.start, s.end, s.key(self.kernel), i))
                elif unsized is None or s.start > unsized.start:
                    unsized = s             # kept is in alias order: the first of a start is the primary
                i += 1
            while sized and sized[0][1] <= a:
                heapq.heappop(sized)        # ended: it covers no later address either
            if sized:
                out.append(self.kept[sized[0][3]])
            else:
                out.append(unsized if unsized and a < unsized.end else None)
        return out

    def record(self, start, name):
        """The symbol of that address and name (version aside), one that was kept if there is one."""
        base = split_version(name)[0]
        found = [s for s in self.raw.get(start, ()) if s.base == base]
        return min(found, key=lambda s: s.drop is not None) if found else None

    def stub(self, answer):
        """The PLT stub that a `…@plt` answer means, when the model has no name for it."""
        if not answer.name.endswith("@plt"):
            return None
        return next((s for s in self.raw.get(answer.start, ()) if s.table == "plt"), None)

    def over(self, tables):
        """The same image, knowing only some of the tables."""
        part = Model(self.path, self.regions, [copy.copy(s) for s in self.symbols if s.table in tables],
                     stops=self.stops, tables=tables, bits=self.bits, kernel=self.kernel)
        part.first_segment = self.first_segment
        return part

    def stop_between(self, start, addr):
        i = bisect.bisect_right(self.stops, start)
        return i < len(self.stops) and self.stops[i] <= addr

    def end_unknown(self, addr):
        """After the start of a module's last symbol, the module's end not being known?"""
        r = self.region_of(addr)
        return r is not None and r.open is not None and addr > r.open

    def in_table(self, s, tables):
        return any(o.base == s.base and o.table in tables for o in self.raw[s.start])

    def last_before(self, addr, tables):
        """Symbols of the tables with the greatest start <= addr (those a nearest-start search finds)."""
        key = tuple(sorted(tables))
        if key not in self.nearest:
            self.nearest[key] = sorted({s.start for s in self.kept if s.table in tables})
        starts = self.nearest[key]
        i = bisect.bisect_right(starts, addr) - 1
        return [s for s in self.at[starts[i]] if s.table in tables] if i >= 0 else []

    def gaps(self):
        """[start, end) pieces of the regions that nobody owns."""
        by_region = collections.defaultdict(list)
        for s in self.kept:
            if s.end > s.start:
                by_region[s.region].append(s)
        for r in self.regions:
            at = r.start
            for s in by_region[r]:
                if s.start > at:
                    yield at, s.start
                at = max(at, s.end)
            if at < r.end:
                yield at, r.end


def group(items, key):
    out, last = [], None
    for x in items:
        k = key(x)
        if out and k != last:
            yield last, out
            out = []
        out.append(x)
        last = k
    if out:
        yield last, out


# ---- ELF --------------------------------------------------------------------------------------

SECTION = re.compile(r"^\s*\[\s*(\d+)\] (.*?)\s+([A-Z][A-Z0-9_]+|[0-9a-f]{8}: <unknown>|LOOS\S*)\s+([0-9a-f]{8,16}) ([0-9a-f]{6,}) ([0-9a-f]{6,}) ([0-9a-f]{2,})\s+([A-Zlop]*)\s+\d+\s+\d+\s+\d+$")
VISIBILITY = re.compile(r"^\[[^]]*\]$")
MAPPING = {"ARM": re.compile(r"^\$[adtx](\.|$)"), "AArch64": re.compile(r"^\$[dx](\.|$)"), "RISC-V": re.compile(r"^\$[dx]")}


class Section:
    __slots__ = ("name", "type", "addr", "offset", "size", "entry", "flags", "region")

    def __init__(self, name, type, addr, offset, size, entry, flags):
        self.name, self.type, self.addr, self.offset = name, type, addr, offset
        self.size, self.entry, self.flags = size, entry, flags
        alloc = "A" in flags and not (type == "NOBITS" and "T" in flags)    # .tbss takes no address space
        self.region = Region(addr, addr + size, name, "X" in flags) if alloc else None


def elf_sections(path):
    out = {}
    for line in output("readelf", "-SW", path):
        m = SECTION.match(line)
        if m:
            out[int(m[1])] = Section(m[2], m[3], int(m[4], 16), int(m[5], 16), int(m[6], 16), int(m[7], 16), m[8])
    return out


def elf_symbols(path, sections, machine, kernel, rename, options=("-sW", "--dyn-syms")):
    """Symbols of readelf's tables; `rename` maps its table name to ours ('.symtab' -> 'debug file')."""
    table, mapping = None, MAPPING.get(machine)
    for line in output("readelf", *options, path):
        f = line.split(None, 7)
        if len(f) < 8 or not f[0].endswith(":") or not f[0][:-1].isdigit():
            m = re.match(r"^Symbol table '(.*)' contains|^(Symbol table for image)", line)
            if m:
                table = rename.get(m[1] or ".dynsym", None)
            continue
        if table is None:
            continue
        _, value, size, type, bind, _, ndx, name = f
        while VISIBILITY.match(ndx) or ndx.startswith("["):     # st_other notes stand between
            ndx, name = (name.split(None, 1) + [""])[:2]
            if ndx.endswith("]"):
                ndx, name = (name.split(None, 1) + [""])[:2]
        if ndx == "UND":
            continue
        if table == "dynsym":
            name = re.sub(r" \(\d+\)$", "", name)
        start = int(value, 16)
        size = int(size, 0)
        section = sections.get(int(ndx)) if ndx.isdigit() else None
        region = section.region if section else None
        if type == "FUNC" and machine == "ARM":
            start &= ~1
        kind = KINDS.get(type)
        drop = None
        if not name or name == "<corrupt>":
            drop = "no name"
        elif kind is None:
            drop = {"TLS": "thread-local", "SECTION": "section symbol", "FILE": "file symbol"}.get(type, f"type {type}")
        elif ndx == "ABS":
            drop = "absolute"
        elif not ndx.isdigit():
            drop = ndx
        elif section and "A" not in section.flags:
            drop = "its section is not loaded"
        elif mapping and kind == "label" and mapping.match(name):
            drop = "mapping symbol"
        elif kernel and (name.startswith(".L") or name.startswith("__kcfi_typeid_")):
            drop = "kernel-internal label"
        elif kernel and section and section.name.startswith(".data..percpu"):
            drop = "per-CPU"
        elif section and region is None and kind == "label" and size == 0 and start == section.addr + section.size:
            drop = "label at its section's end"     # of .tbss, whose end is the start of .bss
        sym = Sym(name, start, size, kind or "label", BINDS.get(bind, 0), table, drop, region)
        if table == "dynsym":
            sym.name = sym.base         # readelf adds the version, the table holds the plain name
        yield sym


STUB = re.compile(r"^([0-9a-f]+) <(.*)@plt>:$")


def plt_stubs(path, sections):
    """name@plt as objdump's own disassembly labels it; PLT0 stays nobody's."""
    names = [s for s in sections.values() if s.region and s.name in (".plt", ".plt.sec", ".plt.got", ".iplt")]
    if not names or any(s.type == "NOBITS" for s in names):
        return
    args = [x for s in names for x in ("-j", s.name)]
    for tool in ("objdump", llvm("llvm-objdump")):
        if tool != "objdump":
            args = ["-j" + s.name for s in names]
        stubs = [(int(m[1], 16), m[2]) for m in map(STUB.match, output(tool, "-d", "--no-show-raw-insn", *args, path)) if m]
        if stubs:
            break
    bounds = sorted(a for a, _ in stubs)
    for addr, name in stubs:
        section = next((s for s in names if s.region.start <= addr < s.region.end), None)
        if not section:
            continue
        i = bisect.bisect_right(bounds, addr)
        nxt = min(bounds[i] if i < len(bounds) else section.region.end, section.region.end)
        size = min(nxt - addr, 16) if section.entry not in (8, 16) else min(nxt - addr, section.entry)
        sym = Sym(name + "@plt", addr, size, "func", 0, "plt", None, section.region)
        sym.base = split_version(name)[0] + "@plt"
        yield sym


def build_id(path):
    for line in output("readelf", "-nW", path):
        m = re.search(r"Build ID: ([0-9a-f]+)", line)
        if m:
            return m[1]
    return None


def debug_file(path, sections):
    """The separate debug file that belongs to it: by build-id, else by .gnu_debuglink and CRC."""
    ident = build_id(path)
    if ident:
        found = f"/usr/lib/debug/.build-id/{ident[:2]}/{ident[2:]}.debug"
        if os.path.exists(found) and build_id(found) == ident:
            return found
    link = next((s for s in sections.values() if s.name == ".gnu_debuglink"), None)
    if not link:
        return None
    with open(path, "rb") as f:
        f.seek(link.offset)
        data = f.read(link.size)
    name = data.split(b"\0", 1)[0].decode("utf-8", "replace")
    where = os.path.dirname(os.path.realpath(path))
    for found in (f"{where}/{name}", f"{where}/.debug/{name}", f"/usr/lib/debug{where}/{name}"):
        if os.path.exists(found) and not os.path.samefile(found, path):
            with open(found, "rb") as f:
                crc = 0
                while chunk := f.read(1 << 20):
                    crc = zlib.crc32(chunk, crc)
            if crc in (int.from_bytes(data[-4:], "little"), int.from_bytes(data[-4:], "big")):
                return found
    return None


def load_elf(path, use_debug_file=True):
    header = dict(line.strip().split(":", 1) for line in output("readelf", "-hW", path) if ":" in line)
    kind = header["Type"].strip()
    if kind.startswith("REL"):
        raise SystemExit(f"{path}: relocatable: its addresses are offsets in sections, not compared here")
    machine = header["Machine"].strip()
    bits = 32 if "ELF32" in header["Class"] else 64
    sections = elf_sections(path)
    kernel = any(s.name in (".modinfo", "__ksymtab", ".data..percpu") for s in sections.values())
    regions = [s.region for s in sections.values() if s.region]
    if sections:
        symbols = list(elf_symbols(path, sections, machine, kernel, {".symtab": "symtab", ".dynsym": "dynsym"}))
    else:
        for line in output("readelf", "-lW", path):
            f = line.split()
            if f[:1] == ["LOAD"]:
                regions.append(Region(int(f[2], 16), int(f[2], 16) + int(f[5], 16), "LOAD", "E" in line[-16:]))
        symbols = list(elf_symbols(path, sections, machine, kernel, {".dynsym": "dynsym"}, ("-sW", "-D")))
    packed = next((s for s in sections.values() if s.name == ".gnu_debugdata"), None)
    if packed:
        with open(path, "rb") as f, tempfile.NamedTemporaryFile() as tmp:
            f.seek(packed.offset)
            try:
                tmp.write(lzma.LZMADecompressor().decompress(f.read(packed.size), DEBUGDATA_CAP))
                tmp.flush()
                inner = elf_sections(tmp.name)
                symbols += elf_symbols(tmp.name, inner, machine, kernel, {".symtab": "debugdata"})
            except lzma.LZMAError:
                pass
    debug = debug_file(path, sections) if use_debug_file else None
    if debug:
        symbols += elf_symbols(debug, elf_sections(debug), machine, kernel, {".symtab": "debug file"})
    # Symbols of another file name that file's sections: bring them to the runtime file's own.
    by_start = {(r.start, r.name): r for r in regions}
    for s in symbols:
        if s.region:
            s.region = by_start.get((s.region.start, s.region.name), s.region)
    symbols += plt_stubs(path, sections)
    tables = {s.table for s in symbols}
    model = Model(path, regions, symbols, tables=tables, bits=bits, kernel=kernel)
    model.has_dwarf = any(s.name in (".debug_info", ".zdebug_info") for s in sections.values()) or bool(debug)
    model.debug = debug
    model.tbss = [(s.addr, s.addr + s.size) for s in sections.values() if s.type == "NOBITS" and "T" in s.flags]
    loads = [line.split()[2] for line in output("readelf", "-lW", path) if line.split()[:1] == ["LOAD"]]
    model.first_segment = int(loads[0], 16) if loads else 0
    # llvm-symbolizer reads the runtime file's .symtab, or .dynsym when there is none; elfutils one main
    # table (of the debug file if there is one) and .gnu_debugdata.
    own = "symtab" if "symtab" in tables else "dynsym"
    model.llvm_tables = {own}
    model.eu_tables = {"debug file"} if "debug file" in tables else {own, "debugdata"}
    return model


# ---- Mach-O -----------------------------------------------------------------------------------

NM_LINE = re.compile(r"^([0-9a-f]{8,16}) \(([^)]*)\) (.*)$")
EXPORT_LINE = re.compile(r"^0x([0-9A-F]+)  (\S+)(?: \[([^]]*)\])?")
NM_WORDS = re.compile(r"^(\(was a private external\)|\[[^]]*\]|weak|private|external|non-external|automatically|hidden) ")


def macho_slices(path):
    return [m[1] for m in (re.match(r"^architecture (\S+)$", l) for l in output(llvm("llvm-objdump"), "--macho", "--universal-headers", path)) if m]


def macho_exports(objdump, pick, path, regions, known):
    """Names that the export trie alone has, which is all that a stripped library keeps; llvm-nm does not read it."""
    symbols = []
    for line in output(objdump, "--macho", *pick, "--exports-trie", path):
        m = EXPORT_LINE.match(line)
        if not m:       # the heading, and `[re-export] _name (from lib)`, which is defined elsewhere
            continue
        start, rest, flags = int(m[1], 16), m[2], m[3] or ""
        name = rest[1:] if rest.startswith("_") else rest
        if (start, name) in known:
            continue
        region = next((r for r in regions.values() if r and r.start <= start < r.end), None)
        drop = "absolute" if "absolute" in flags or region is None else None
        symbols.append(Sym(name, start, 0, "func" if region and region.exec else "object", 1 if "weak_def" in flags else 0, "exports", drop, region))
        symbols[-1].base = name
    return symbols


def load_macho(path, arch=None):
    pick = ["--arch", arch] if arch else []
    objdump = llvm("llvm-objdump")
    regions, now = {}, {}
    for line in output(objdump, "--macho", *pick, "--private-headers", path):
        f = line.split()
        if not f:
            continue
        if f[0] == "sectname":
            now = {"sect": f[1] if len(f) > 1 else ""}
        elif f[0] == "segname" and "sect" in now:
            now["seg"] = f[1] if len(f) > 1 else ""
        elif f[0] in ("addr", "size") and "seg" in now and len(f) == 2:
            now[f[0]] = int(f[1], 16)
        elif f[0] == "type" and "addr" in now:
            now["type"] = f[1]
        elif f[0] == "attributes" and "addr" in now:
            name = f"{now['seg']},{now['sect']}"
            if "THREAD_LOCAL_ZEROFILL" not in now.get("type", "") and "THREAD_LOCAL_REGULAR" not in now.get("type", ""):
                regions[name] = Region(now["addr"], now["addr"] + now["size"], name, "INSTRUCTIONS" in line)
            else:
                regions[name] = None
            now = {}
    symbols = []
    for line in output(llvm("llvm-nm"), "-m", *pick, path):
        m = NM_LINE.match(line)
        if not m:
            continue
        start, where, rest = int(m[1], 16), m[2], m[3]
        words = []
        while w := NM_WORDS.match(rest):
            words.append(w[1])
            rest = rest[w.end():]
        if where == "undefined":
            continue
        name = rest[1:] if rest.startswith("_") else rest
        region, drop = regions.get(where), None
        if where == "absolute":
            drop = "absolute"
        elif where in regions and region is None:
            drop = "thread-local"
        elif region is None:
            drop = where
        elif not rest:
            drop = "no name"
        elif re.match(r"^ltmp\d*$", rest):
            drop = "assembler temporary"
        kind = "func" if region and region.exec else "object"
        bind = 2 if "non-external" in words or "private" in words else 1 if "weak" in words else 0
        symbols.append(Sym(name, start, 0, kind, bind, "symtab", drop, region))
        symbols[-1].base = name     # no versions in this format
    symbols += macho_exports(objdump, pick, path, regions, {(s.start, s.name) for s in symbols})
    starts = [int(l, 16) for l in output(objdump, "--macho", *pick, "--function-starts", path) if re.match(r"^[0-9a-f]{8,16}$", l)]
    all_regions = [r for r in regions.values() if r]
    model = Model(path, all_regions, symbols, stops=starts, tables={"symtab", "exports"})
    model.has_dwarf, model.debug, model.arch = False, None, arch
    model.llvm_tables, model.eu_tables = {"symtab"}, set()
    return model


# ---- kallsyms ---------------------------------------------------------------------------------

# Linker-script markers by name: `__*_end` alone would also take real functions, such as `__hugetlb_zap_end`
# and every `__traceiter_*_end` (228 of them in one 6.x kallsyms, against 14 markers).
MARKER = re.compile(r"^(_etext|_edata|_end|_einittext|__bss_stop|__init_end|__per_cpu_end|__nosave_end|__bhi_args_end|__indirect_thunk_end|"
                    r"__end_rodata\w*|__end_ro_after_init|__end_builtin_fw|__end_of_kernel_reserve|__\w+_text_end)$")


def load_kallsyms(path, modules=None):
    """kallsyms text: no sizes; next symbol of the same module, never another module or past its end."""
    ends = {}
    if modules:
        with open(modules) as f:
            for line in f:
                w = line.split()
                ends[w[0]] = (int(w[5], 16), int(w[5], 16) + int(w[1]))
    symbols = []
    with open(path, encoding="utf-8", errors="backslashreplace") as f:
        for line in f:
            w = line.split()
            if len(w) < 3:
                continue
            try:
                start = int(w[0], 16)
            except ValueError:
                continue
            module = w[3].strip("[]") if len(w) > 3 else ""
            kind = "func" if w[1] in "tTwW" else "object"
            bind = 1 if w[1] in "wWvV" else 0 if w[1].isupper() else 2
            drop = "absolute or per-CPU" if w[1] in "aA" else "no address" if start == 0 else None
            symbols.append(Sym(w[2], start, 0, kind, bind, "kallsyms", drop, None, module))
            symbols[-1].base = w[2]
    kept = sorted((s for s in symbols if not s.drop), key=lambda s: s.start)
    # A run of one module is a region. Where its end is not known, it is the end of the page at most.
    regions = []
    runs = list(group(kept, lambda s: s.module))
    for i, (module, run) in enumerate(runs):
        last, after = run[-1].start, runs[i + 1][1][0].start if i + 1 < len(runs) else 1 << 64
        known = module in ends and ends[module][0] <= last < ends[module][1]
        end = min(after, ends[module][1] if known else (last | 0xfff) + 1)
        region = Region(run[0].start, end, f"[{module}]" if module else "kernel", True, None if known else last)
        regions.append(region)
        for s in run:
            s.region = region
    model = Model(path, regions, symbols, tables={"kallsyms"}, kernel=True)
    for same in model.at.values():
        if all(MARKER.match(s.name) for s in same):
            for s in same:
                s.end = s.start
            if same[0].region.open == same[0].start:
                same[0].region.open = None
    model.has_dwarf, model.debug = False, None
    model.llvm_tables = model.eu_tables = set()
    return model

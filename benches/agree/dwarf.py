"""DWARF read a second time, the slow and plain way: which frames the debug information gives an address.

In: an ELF file with DWARF 2-5 (its own, a debug file's, split or with a dwz supplement). Out: for an address, every
answer that the DIEs allow, each with the facts it came from. Never: guesses; what it cannot read it raises.
"""
import bisect
import collections
import functools
import itertools
import os
import struct

from elf import load, sleb, text, uleb
from rows import Lines

# Tags, attributes and forms used, by their numbers in the DWARF standard.
SUBPROGRAM, INLINED, PARTIAL, IMPORTED, IMPORT = 0x2e, 0x1d, 0x3c, 0x3d, 0x18
NAME, STMT_LIST, LOW, HIGH, COMP_DIR, ORIGIN, DECLARATION, SPECIFICATION, RANGES = 0x3, 0x10, 0x11, 0x12, 0x1b, 0x31, 0x3c, 0x47, 0x55
CALL_COLUMN, CALL_FILE, CALL_LINE, LINKAGE, MIPS_LINKAGE = 0x57, 0x58, 0x59, 0x6e, 0x2007
STR_BASE, ADDR_BASE, RNG_BASE, DWO_NAME, GNU_DWO_NAME, GNU_DWO_ID, GNU_RANGES_BASE, GNU_ADDR_BASE = 0x72, 0x73, 0x74, 0x76, 0x2130, 0x2131, 0x2132, 0x2133
FUNCTIONS, BLOCKS = (SUBPROGRAM, INLINED), (0x0b, 0x32, 0x25)       # lexical, try and catch blocks
WANTED = {NAME, IMPORT, STMT_LIST, LOW, HIGH, COMP_DIR, ORIGIN, DECLARATION, SPECIFICATION, RANGES, CALL_COLUMN, CALL_FILE, CALL_LINE, LINKAGE, MIPS_LINKAGE,
          STR_BASE, ADDR_BASE, RNG_BASE, DWO_NAME, GNU_DWO_NAME, GNU_DWO_ID, GNU_RANGES_BASE, GNU_ADDR_BASE}
FIXED = {0x0b: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x0c: 1, 0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x19: 0, 0x1c: 4, 0x1e: 16, 0x20: 8, 0x21: 0, 0x24: 8,
         0x25: 1, 0x26: 2, 0x28: 4, 0x29: 1, 0x2a: 2, 0x2c: 4}
OFFSETS = {0x0e, 0x17, 0x1d, 0x1f, 0x1f20, 0x1f21}           # strp, sec_offset, strp_sup, line_strp, GNU_ref_alt, GNU_strp_alt
LEB = {0x0d, 0x0f, 0x15, 0x1a, 0x1b, 0x22, 0x23, 0x1f01, 0x1f02}
INDEXED = {0x1a, 0x1b, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x1f01, 0x1f02, 0x22, 0x23}


class Part:
    """The sections one unit reads from: the main file, a supplement, or a split unit's share of a .dwo or .dwp."""

    def __init__(self, elf, dwo=False, share=None):
        self.elf, self.dwo, self.end = elf, dwo, elf.end
        self.abbrevs, self.units = {}, []
        for name in ("info", "abbrev", "str", "str_offsets", "addr", "ranges", "rnglists", "line", "line_str"):
            body = elf.debug(name, dwo)
            if share and name in share:
                at, size = share[name]
                body = body[at:at + size]
            setattr(self, name, body)

    def scan(self, dwarf):
        at = 0
        while at + 11 < len(self.info):
            unit = Unit(dwarf, self, at)
            self.units.append(unit)
            at = unit.finish
        self.starts = [u.at for u in self.units]
        return self

    def unit_of(self, at):
        i = bisect.bisect_right(self.starts, at) - 1
        return self.units[i]


# A DIE with code: its offset and tag, the enclosing function's index (-1: none, and for a subprogram), the enclosing
# scope's index of any kind, whether a DIE without code stands between the two, its ranges, its attributes.
Scope = collections.namedtuple("Scope", "at tag up parent blind ranges die")


class Abbrev:
    __slots__ = ("tag", "children", "forms", "size", "scope")

    def __init__(self, tag, children, forms, unit):
        self.tag, self.children, self.forms = tag, children, forms
        size = 0
        for _, form, _ in forms:
            step = unit.fixed(form)
            if step is None:
                size = None
                break
            size += step
        self.size, self.scope = size, tag in BLOCKS or tag in FUNCTIONS


class Unit:
    def __init__(self, dwarf, part, at):
        self.dwarf, self.part, self.at, self.main = dwarf, part, at, self
        info, e = part.info, part.end
        length, pos = struct.unpack_from(e + "I", info, at)[0], at + 4
        self.offset = 4
        if length == 0xffffffff:
            length, pos, self.offset = struct.unpack_from(e + "Q", info, pos)[0], pos + 8, 8
        self.finish = pos + length
        self.version, pos = struct.unpack_from(e + "H", info, pos)[0], pos + 2
        self.kind, self.id = 1, None
        if self.version >= 5:
            self.kind, self.address, pos = info[pos], info[pos + 1], pos + 2
            abbrev, pos = self.word(info, pos, self.offset)
            if self.kind in (4, 5):
                self.id, pos = self.word(info, pos, 8)
            elif self.kind in (2, 6):
                pos += 8 + self.offset
        else:
            abbrev, pos = self.word(info, pos, self.offset)
            self.address, pos = info[pos], pos + 1
        self.abbrev_at, self.first = abbrev, pos
        self.root, _ = self.die(pos)
        self._scopes = self._lines = None
        if self.id is None:
            self.id = self.root.get(GNU_DWO_ID)

    def word(self, data, pos, size):
        return int.from_bytes(data[pos:pos + size], "little" if self.part.end == "<" else "big"), pos + size

    def fixed(self, form):
        if form in OFFSETS:
            return self.offset
        if form == 0x01:
            return self.address
        if form == 0x10:
            return self.address if self.version < 3 else self.offset
        return FIXED.get(form)

    def abbrevs(self):
        key = (self.abbrev_at, self.address, self.offset, self.version < 3)
        table = self.part.abbrevs.get(key)
        if table is None:
            table, data, pos = {}, self.part.abbrev, self.abbrev_at
            while pos < len(data):
                code, pos = uleb(data, pos)
                if not code:
                    break
                tag, pos = uleb(data, pos)
                children, pos, forms = data[pos], pos + 1, []
                while True:
                    attr, pos = uleb(data, pos)
                    form, pos = uleb(data, pos)
                    value = None
                    if form == 0x21:
                        value, pos = sleb(data, pos)
                    if not attr and not form:
                        break
                    forms.append((attr, form, value))
                table[code] = Abbrev(tag, children, forms, self)
            self.part.abbrevs[key] = table
        return table

    def skip(self, form, pos):
        size, info = self.fixed(form), self.part.info
        if size is not None:
            return pos + size
        if form in LEB:
            return uleb(info, pos)[1]
        if form == 0x08:
            return info.index(b"\0", pos) + 1
        if form in (0x09, 0x18):
            size, pos = uleb(info, pos)
            return pos + size
        if form in (0x0a, 0x03, 0x04):
            size, pos = self.word(info, pos, {0x0a: 1, 0x03: 2, 0x04: 4}[form])
            return pos + size
        if form in (0x27, 0x2b):
            return pos + 3
        if form == 0x16:
            form, pos = uleb(info, pos)
            return self.skip(form, pos)
        raise ValueError(f"form {form:#x}")

    def value(self, form, pos, implicit):
        """(value, form): indexes and references as they are; `attr` makes sense of them."""
        info = self.part.info
        if form == 0x21:
            return implicit
        if form == 0x19:
            return 1
        if form == 0x08:
            return text(info, pos)
        if form == 0x0d:
            return sleb(info, pos)[0]
        if form == 0x15:
            return ("ref", self.part, self.at + uleb(info, pos)[0])
        if form in LEB:
            return uleb(info, pos)[0]
        size = self.fixed(form) or (3 if form in (0x27, 0x2b) else None)
        if size is None:
            return None                     # a block or an expression: nothing asked for comes as one
        value = self.word(info, pos, size)[0]
        if form == 0x0e:
            return text(self.part.str, value)
        if form == 0x1f:
            return text(self.part.line_str, value)
        if form in (0x1d, 0x1f21):
            return ("alt", text(self.dwarf.alt.str, value)) if self.dwarf.alt else None
        if form in (0x11, 0x12, 0x13, 0x14):
            return ("ref", self.part, self.at + value)
        if form == 0x10:
            return ("ref", self.part, value)
        if form in (0x1c, 0x24, 0x1f20):
            return ("ref", self.dwarf.alt, value)
        if form == 0x20:
            return None
        return value

    def die(self, pos):
        """The wanted attributes of the DIE at `pos` (with its tag under 0) and where the next one begins."""
        code, pos = uleb(self.part.info, pos)
        if not code:
            return None, pos
        abbrev = self.abbrevs()[code]
        out, raw = {0: abbrev.tag}, {}
        for attr, form, implicit in abbrev.forms:
            if form == 0x16:
                form, pos = uleb(self.part.info, pos)
            if attr in WANTED:
                raw[attr] = (form, self.value(form, pos, implicit))
            pos = self.skip(form, pos)
        for attr, (form, value) in raw.items():
            out[attr] = value
            if form in INDEXED and form not in (0x1a,):
                out[attr] = (form, value)
            elif attr == HIGH and form != 0x01:
                out[attr] = ("size", value)
        if 0x1a in [f for f, _ in raw.values()]:
            for attr, (form, value) in raw.items():
                if form == 0x1a:
                    out[attr] = (form, value)
        return out, pos

    # -- what indexes stand for; bases come from the root DIE of this unit or of its skeleton --

    def string(self, value, alt=True):
        """The text of a string attribute; None for one in the supplement, without `alt`."""
        if not isinstance(value, tuple):
            return value
        if value[0] == "alt":
            return value[1] if alt else None
        base = self.root.get(STR_BASE)
        if base is None:
            base = (8 if self.offset == 4 else 16) if self.part.dwo and self.version >= 5 else 0
        return text(self.part.str, self.word(self.part.str_offsets, base + value[1] * self.offset, self.offset)[0])

    def place(self, value):
        if not isinstance(value, tuple):
            return value
        base = self.main.root.get(ADDR_BASE, self.main.root.get(GNU_ADDR_BASE, 0))
        return self.word(self.main.part.addr, base + value[1] * self.address, self.address)[0]

    def ranges(self, die):
        """[(low, high)] in code of the file: addresses elsewhere are tombstones."""
        out = []
        if RANGES in die:
            out = self.list5(die[RANGES]) if self.version >= 5 else self.list4(die[RANGES])
        elif LOW in die and HIGH in die:
            low, high = self.place(die[LOW]), die[HIGH]
            high = low + high[1] if isinstance(high, tuple) and high[0] == "size" else self.place(high)
            out = [(low, high)]
        return [(lo, hi) for lo, hi in out if lo < hi and self.dwarf.elf.holds_code(lo)]

    def base(self):
        low = self.main.root.get(LOW)
        return self.place(low) if low is not None else 0

    def list4(self, at):
        data, size, base, top = self.main.part.ranges, self.address, self.base(), (1 << 8 * self.address) - 1
        if self.main is not self:
            at += self.main.root.get(GNU_RANGES_BASE, 0)
        out = []
        while True:
            low, at = self.word(data, at, size)
            high, at = self.word(data, at, size)
            if not low and not high:
                return out
            if low == top:
                base = high
            else:
                out.append(((base + low) & top, (base + high) & top))

    def list5(self, at):
        data, base = self.part.rnglists, self.base()
        if isinstance(at, tuple):
            start = self.root.get(RNG_BASE)
            if start is None:
                start = 12 if self.offset == 4 else 20
            at = start + self.word(data, start + at[1] * self.offset, self.offset)[0]
        elif self.main is not self and not self.part.dwo:
            data = self.main.part.rnglists
        out = []
        while True:
            op, at = data[at], at + 1
            if op == 0:
                return out
            if op in (1, 2, 3):
                first, at = uleb(data, at)
                low = self.place((0x1b, first))
                if op == 1:
                    base = low
                    continue
                second, at = uleb(data, at)
                out.append((low, self.place((0x1b, second)) if op == 2 else low + second))
            elif op == 4:
                first, at = uleb(data, at)
                second, at = uleb(data, at)
                out.append((base + first, base + second))
            elif op == 5:
                base, at = self.word(data, at, self.address)
            else:
                low, at = self.word(data, at, self.address)
                if op == 6:
                    high, at = self.word(data, at, self.address)
                else:
                    size, at = uleb(data, at)
                    high = low + size
                out.append((low, high))

    def scopes(self):
        """Every DIE with code below the root, in DIE order."""
        if self._scopes is not None:
            return self._scopes
        out, table, info, pos, self._imports = [], self.abbrevs(), self.part.info, self.first, []
        stack, here, up, blind = [], -1, -1, False
        while pos < self.finish:
            at = pos
            code, pos = uleb(info, pos)
            if not code:
                if not stack:
                    break
                here, up, blind = stack.pop()
                if not stack:
                    break
                continue
            abbrev, inner = table[code], (here, up, bool(stack))
            if abbrev.scope:
                die, pos = self.die(at)
                ranges = self.ranges(die)
                if ranges:
                    i = len(out)
                    out.append(Scope(at, abbrev.tag, up if abbrev.tag != SUBPROGRAM else -1, here, blind, ranges, die))
                    inner = (i, i if abbrev.tag in FUNCTIONS else up, False)
            elif abbrev.tag == IMPORTED:
                die, pos = self.die(at)
                self._imports.append(die.get(IMPORT))
            elif abbrev.size is not None:
                pos += abbrev.size
            else:
                for _, form, _ in abbrev.forms:
                    pos = self.skip(form, pos)
            if abbrev.children:
                stack.append((here, up, blind))
                here, up, blind = inner
            elif not stack:
                break
        self._scopes = out
        self._flat = sorted((lo, hi, i) for i, s in enumerate(out) for lo, hi in s.ranges)
        reach, self._reach = 0, []
        for lo, hi, _ in self._flat:
            reach = max(reach, hi)
            self._reach.append(reach)
        return out

    @functools.lru_cache(maxsize=None)
    def imports(self):
        """This unit and those it imports, through others, too."""
        seen, todo = set(), [self]
        while todo:
            unit = todo.pop()
            if unit not in seen:
                seen.add(unit)
                unit.scopes()
                todo += [ref[1].unit_of(ref[2]) for ref in unit._imports if ref and ref[1]]
        return seen

    def covering(self, address):
        """Indexes of the scopes that cover `address`, in DIE order."""
        self.scopes()
        i, out = bisect.bisect_right(self._flat, (address, 1 << 65, 0)) - 1, set()
        while i >= 0 and self._reach[i] > address:
            lo, hi, index = self._flat[i]
            if lo <= address < hi:
                out.add(index)
            i -= 1
        return sorted(out)

    def names(self, die, alt=True, depth=0):
        """(linkage name, plain name) along abstract origins and specifications, into the supplement only with `alt`."""
        linkage = die.get(LINKAGE, die.get(MIPS_LINKAGE))
        linkage, name = self.string(linkage, alt), self.string(die.get(NAME), alt)
        for attr in (ORIGIN, SPECIFICATION):
            ref = die.get(attr)
            if ref and ref[1] and (alt or ref[1] is not self.dwarf.alt) and depth < 16 and not (linkage and name):
                unit = ref[1].unit_of(ref[2])
                other, _ = unit.die(ref[2])
                more = unit.names(other, alt, depth + 1) if other else (None, None)
                linkage, name = linkage or more[0], name or more[1]
        return linkage, name

    def lines(self):
        if self._lines is None:
            at = self.main.root.get(STMT_LIST)
            self._lines = Lines(self.main, at) if at is not None else Lines.none()
        return self._lines


# ---- the whole --------------------------------------------------------------------------------

class Fact(collections.namedtuple("Fact", "linkage plain lines file line column own", defaults=((),))):
    """One frame as DWARF states it: names (None = has none), line table and file index, line, column (0 = unknown);
    `own`: the names without what the supplement (dwz) holds."""
    __slots__ = ()

    @property
    def name(self):
        return self.linkage or self.plain

    @property
    def path(self):
        return self.lines.path(self.file) if self.lines else None


class Dwarf:
    """Answers of one file: `answers(address)` lists every chain of frames the DIEs allow, innermost first."""

    def __init__(self, path, tmp, package=None):
        self.elf, self.tmp, self.alt, self._aranges, self.arange_units = load(path, tmp), tmp, None, None, set()
        link = self.elf.sections.get(".gnu_debugaltlink")
        if link:
            name = os.path.join(os.path.dirname(os.path.realpath(path)), text(link, 0))
            self.alt = Part(load(name, tmp))
        self.main = Part(self.elf).scan(self)
        if self.alt:
            self.alt.scan(self)
        self.package = package
        self.split = {}
        self.table = []
        self.everywhere = []
        for unit in self.main.units:
            if unit.kind in (2, 6) or unit.root[0] not in (0x11, PARTIAL, 0x4a):
                continue
            ranges = unit.ranges(unit.root)
            self.table += [(lo, hi, i) for lo, hi in ranges for i in [len(self.everywhere)]]
            self.everywhere.append((unit, bool(ranges)))
        self.table.sort()

    @functools.lru_cache(maxsize=None)
    def inner(self, unit):
        """The unit that holds the DIEs: itself, or the split unit of a skeleton."""
        name = unit.root.get(DWO_NAME, unit.root.get(GNU_DWO_NAME))
        if name is None:
            return unit
        path = os.path.join(unit.string(unit.root.get(COMP_DIR)) or "", unit.string(name))
        if self.package:
            elf = self.__dict__.setdefault("_package", load(self.package, self.tmp))
            part = Part(elf, True, index(elf, unit.id))
        elif os.path.exists(path):
            part = Part(load(path, self.tmp), True)
        else:
            return unit
        for split in part.scan(self).units:
            if split.id == unit.id or split.version < 5 and split.root.get(GNU_DWO_ID) == unit.id:
                split.main = unit
                return split
        return unit

    def aranges(self):
        """`.debug_aranges`: [(low, high)] in ascending order, and the highest end up to each."""
        if self._aranges is None:
            data, out, at, order = self.elf.debug("aranges"), [], 0, "little" if self.elf.end == "<" else "big"
            while at + 12 < len(data):
                start, offset = at + 4, 4
                length = int.from_bytes(data[at:start], order)
                if length == 0xffffffff:
                    start, offset, length = at + 12, 8, int.from_bytes(data[at + 4:at + 12], order)
                size, pos, finish = data[start + 2 + offset], start + 4 + offset, start + length
                self.arange_units.add(int.from_bytes(data[start + 2:start + 2 + offset], order))
                pos += -(pos - at) % (2 * size)
                for pos in range(pos, finish - 2 * size + 1, 2 * size):
                    low, count = (int.from_bytes(data[p:p + size], order) for p in (pos, pos + size))
                    if count:
                        out.append((low, low + count))
                at = finish
            out.sort()
            self._aranges = out, list(itertools.accumulate((high for _, high in out), max))
        return self._aranges

    def in_aranges(self, address):
        """Whether `.debug_aranges` holds the address."""
        out, tops = self.aranges()
        i = bisect.bisect_right(out, (address, 1 << 65)) - 1
        return i >= 0 and address < tops[i]

    def end_before(self, address):
        """The end of the last of its ranges below a gap that holds `address`."""
        out, tops = self.aranges()
        i = bisect.bisect_right(out, (address, 1 << 65)) - 1
        return tops[i] if i >= 0 and tops[i] <= address else None

    def units(self, address):
        found = {i for lo, hi, i in self.table[:bisect.bisect_right(self.table, (address, 1 << 65, 0))] if address < hi}
        return [unit for i, (unit, known) in enumerate(self.everywhere) if i in found or not known]

    def outside(self, address):
        """Rows that hold `address`, of units whose ranges do not: one answer of one frame each."""
        held, out = set(self.units(address)), []
        for unit, _ in self.everywhere:
            if unit not in held:
                lines = unit.lines()
                out += [[Fact(None, None, lines, *row[1:])] for row in lines.rows(address)]
        return out

    def answers(self, address):
        out = []
        for unit in self.units(address):
            inner, lines = self.inner(unit), unit.lines()
            rows = lines.rows(address) or [None]
            scopes = inner.scopes()
            covering = [i for i in inner.covering(address) if scopes[i].tag in FUNCTIONS]
            leaves = set(covering)
            for i in covering:
                while (i := scopes[i].up) >= 0:
                    leaves.discard(i)
            for row in rows:
                here = (lines, *row[1:]) if row else (None, None, 0, 0)
                if not leaves and row and unit.root[0] != PARTIAL:
                    out.append([Fact(None, None, *here)])
                for leaf in sorted(leaves):
                    out.append(chain(inner, lines, scopes, leaf, here))
        return out


def chain(unit, lines, scopes, i, here):
    """The frames from scope `i` outwards; `here` is the place in its body."""
    frames = []
    while i >= 0:
        die = scopes[i].die
        frames.append(Fact(*unit.names(die), *here, unit.names(die, alt=False) if unit.dwarf.alt else ()))
        here = (lines, die.get(CALL_FILE), die.get(CALL_LINE, 0), die.get(CALL_COLUMN, 0))
        i = scopes[i].up
    return frames


def index(elf, ident):
    """The share of each section that the package's index gives unit `ident`: {name: (offset, size)}."""
    data, e = elf.sections[".debug_cu_index"], elf.end
    version, = struct.unpack_from(e + "I", data)
    columns, units, slots = struct.unpack_from(e + "III", data, 4)
    names = {1: "info", 3: "abbrev", 4: "line", 6: "str_offsets", 8: "rnglists"} if version & 0xffff == 5 else {1: "info", 3: "abbrev", 4: "line", 6: "str_offsets"}
    ids, rows = 16, 16 + 8 * slots
    head = rows + 4 * slots
    for slot in range(slots):
        if struct.unpack_from(e + "Q", data, ids + 8 * slot)[0] == ident:
            row, = struct.unpack_from(e + "I", data, rows + 4 * slot)
            if row:
                out = {}
                for column in range(columns):
                    kind, = struct.unpack_from(e + "I", data, head + 4 * column)
                    at, = struct.unpack_from(e + "I", data, head + 4 * columns * row + 4 * column)
                    size, = struct.unpack_from(e + "I", data, head + 4 * columns * (units + row) + 4 * column)
                    if kind in names:
                        out[names[kind]] = (at, size)
                return out
    return {}

"""The classes of differences between two tools' frames, each with the predicate that proves it.

In: an answer, and what DWARF and the symbol tables state about that address. Out: the class's name, or nothing.
Never: names a class for an answer that the facts do not lead to by the class's own rule.
"""
import os

import dwarf

CLASSES = {
    "symbol's name": "the outermost frame is named by a symbol that covers the address in one answer, by the DIE (or by another such symbol) in the other",
    "stretched label": "no symbol covers the address; the tool stretches the last unsized label in front of it, such as a marker at a section's end",
    "plain name": "the DIE has a linkage name and a plain name; the answer gives the plain one",
    "path spelling": "the same path but for `//`, `/./` or `a/../`",
    "column of line 0": "llvm gives the column of a row that has no line",
    "file symbol": "no line row: llvm names the file by the STT_FILE symbol in front of the function's symbol",
    "symbols alone": "DWARF says nothing here; the difference is one of symbol tables (`agree.py` explains those)",
    "outside every unit": "a line row holds the address, but no unit's ranges do (padding, mostly): llvm goes by the ranges and says nothing, symidx gives file and line",
    "no line, no function": "a row of line 0 outside every function (padding): symidx says nothing, llvm names the file",
    "several answers": "the DIEs give several chains of functions (folded code, overlapping units); both answers are among them",
    "llvm: no supplement": "llvm-symbolizer does not read the supplement (`.gnu_debugaltlink`, dwz): the names that stand there are missing",
    "llvm: not in .debug_aranges": "the unit is listed in `.debug_aranges`, but not with this address (clang -gline-tables-only): llvm looks no further",
    "eu: directory 0 joined to itself": "DWARF 5's directory 0 is the compilation directory; where it is relative, elfutils puts the compilation directory in front again",
    "eu: not in .debug_aranges": "elfutils finds units by `.debug_aranges`, which has this address nowhere (Go leaves it out): it knows the symbol alone",
    "eu: zstd": "elfutils before 0.189 cannot unpack debug sections compressed with zstd: it knows the symbol alone",
    "eu: split unit": "eu-addr2line looks for functions in the skeleton unit alone, not in the .dwo file or package",
    "eu: past the end": "elfutils lets the last row of a unit's range reach into the gap behind it",
    "eu: inside a namespace": "libdw does not look for code below a DIE that has none itself (a namespace, a class): it finds no function there, or only the outer one",
    "eu: declared in another unit": "the inlined function's abstract origin is in another unit that is not imported, where libdw does not look: it finds no function at the address at all",
    "eu: callers of the row's start": "eu-addr2line takes the callers from the first address of the line row, where other functions are inlined than at the address",
}


def path(tool, frame, fact, facts):
    if tool == "llvm" and not fact.path and frame.line == 0 and frame.file in facts.file_symbols():
        return "file symbol"
    if tool == "llvm" and fact.lines and (parts := fact.lines.parts(fact.file)):
        comp = fact.lines.unit.root.get(dwarf.COMP_DIR)
        if isinstance(comp, tuple) and comp[0] == "alt" and frame.file == os.path.join(parts[1] if parts[1] != comp[1] else "", parts[2]):
            return "llvm: no supplement"
    if tool == "eu" and fact.lines and (parts := fact.lines.parts(fact.file)):
        if fact.lines.version >= 5 and frame.file == os.path.join(parts[0], parts[1], parts[2]):
            return "eu: directory 0 joined to itself"
    return None


def symbols_alone(tool, addr, mine, theirs, facts, spelling):
    """Classes where no DIE and no row holds the address."""
    if len(mine) > 1 or any(f.line or f.file for f in mine):
        return set()
    if tool == "eu" and any(f.line or f.file for f in theirs):
        end = facts.dwarf.end_before(addr)
        return {"eu: past the end"} if end and eu_way(addr, theirs, facts, spelling, end - 1) is not None else set()
    if len(theirs) > 1 or any(f.line or f.file and not (tool == "llvm" and f.file in facts.file_symbols()) for f in theirs):
        return set()
    if [f.function for f in mine] == [f.function for f in theirs]:
        return {"file symbol"}
    return {"symbols alone"}


def llvm_way(addr, theirs, facts, _spelling):
    """llvm goes by `.debug_aranges` for every unit that is listed there at all."""
    alone = len(theirs) <= 1 and not any(f.file or f.line for f in theirs) and (not theirs or theirs[0].function in facts.symbols(addr))
    listed = not facts.dwarf.in_aranges(addr) and all(unit.at in facts.dwarf.arange_units for unit in facts.dwarf.units(addr))
    return {"llvm: not in .debug_aranges"} if alone and listed else None


# ---- elfutils ---------------------------------------------------------------------------------

def eu_scope(unit, address):
    """The innermost scope that libdw finds: it does not look below a DIE without code of its own, such as a namespace, and takes
    the first child that covers the address."""
    scopes, at = unit.scopes(), -1
    covering = unit.covering(address)
    while True:
        inner = next((i for i in covering if scopes[i].parent == at and not scopes[i].blind), None)
        if inner is None:
            return at
        at = inner


def eu_foreign(unit, address):
    """The innermost inlined function that libdw finds is declared in another unit: then it finds none at all."""
    scopes, i = unit.scopes(), eu_scope(unit, address)
    while i >= 0 and scopes[i].tag != dwarf.INLINED:
        i = scopes[i].parent
    origin = scopes[i].die.get(dwarf.ORIGIN) if i >= 0 else None
    return bool(origin and origin[1]) and origin[1].unit_of(origin[2]) not in unit.imports()


def eu_chain(unit, lines, address, here):
    if eu_foreign(unit, address):
        return []
    scopes, i = unit.scopes(), eu_scope(unit, address)
    while i >= 0 and scopes[i].tag not in dwarf.FUNCTIONS:
        i = scopes[i].parent
    return dwarf.chain(unit, lines, scopes, i, here) if i >= 0 else []


def eu_way(addr, theirs, facts, spelling, row_at=None):
    """The classes that turn DWARF into elfutils' answer, or None. eu-addr2line asks the functions of `addr`, prints the innermost
    one, and takes the callers from the first address of the line row that holds `addr`; behind the end of a sequence, that of the
    sequence's last row (`row_at`: its last byte)."""
    row_at = addr if row_at is None else row_at
    if facts.dwarf.elf.zstd or not facts.dwarf.in_aranges(row_at):
        alone = len(theirs) <= 1 and not any(f.file or f.line for f in theirs) and (not theirs or theirs[0].function in facts.symbols(addr))
        return {"eu: zstd" if facts.dwarf.elf.zstd else "eu: not in .debug_aranges"} if alone else None
    for unit in facts.dwarf.units(row_at):
        inner, lines = facts.dwarf.inner(unit), unit.lines()
        for row in lines.rows(row_at) if row_at == addr else [rows[-2] for _, high, rows in lines.sequences if high == row_at + 1]:
            here = (lines, *row[1:])
            asked, start = [], []
            if inner is unit:
                asked, start = eu_chain(unit, lines, addr, here), eu_chain(unit, lines, row[0], here)
            if not theirs or asked and spelling(theirs, asked[:1] + start[1:], addr, facts, "eu") is None:
                continue
            if not asked:
                # No function: the symbol's name, if there is one.
                named = not theirs[0].function or theirs[0].function in facts.symbols(addr)
                unnamed = [theirs[0]._replace(function=""), *theirs[1:]]
                if not named or spelling(unnamed, [dwarf.Fact(None, None, *here), *start[1:]], addr, facts, "eu") is None:
                    continue
            if inner is not unit:
                return {"eu: split unit"}
            out = set()
            if any(scope.blind for scope in (inner.scopes()[i] for i in inner.covering(addr))):
                out.add("eu: inside a namespace")
            if eu_foreign(inner, addr):
                out.add("eu: declared in another unit")
            if [f[2:] for f in asked[1:]] != [f[2:] for f in start[1:]] or [f.name for f in asked[1:]] != [f.name for f in start[1:]]:
                out.add("eu: callers of the row's start")
            return out
    return None

"""Line tables of DWARF 2-5: the row that holds an address, and the path of a file index.

In: a unit of `dwarf.py` and where its table begins. Out: `Lines`. Never: reads a DIE.
"""
import bisect
import os
import struct

from elf import sleb, text, uleb

COMP_DIR = 0x1b
SIZES = {0x0b: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1e: 16, 0x25: 1, 0x26: 2, 0x28: 4}        # forms of a fixed size in file tables


class Lines:
    @classmethod
    def none(cls):
        out = cls.__new__(cls)
        out.sequences, out.files, out.dirs, out.version, out.unit = [], [], [], 5, None
        return out

    def __init__(self, unit, at):
        self.unit, data = unit, unit.part.line
        word = unit.word
        length, pos = word(data, at, 4)
        size = 4
        if length == 0xffffffff:
            length, pos = word(data, pos, 8)
            size = 8
        finish = pos + length
        self.version, pos = word(data, pos, 2)
        address = unit.address
        if self.version >= 5:
            address, pos = data[pos], pos + 2
        header, pos = word(data, pos, size)
        program = pos + header
        self.quantum, pos = data[pos], pos + 1
        if self.version >= 4:
            pos += 1
        pos += 1
        line_base = struct.unpack_from("b", data, pos)[0]
        line_range, opcode_base, pos = data[pos + 1], data[pos + 2], pos + 3
        lengths, pos = data[pos:pos + opcode_base - 1], pos + opcode_base - 1
        if self.version >= 5:
            self.dirs, pos = self.entries(data, pos, size)
            self.files, pos = self.entries(data, pos, size)
            self.dirs = [d[0] for d in self.dirs]
        else:
            comp = unit.string(unit.root.get(COMP_DIR)) or ""
            self.dirs, self.files = [comp], [None]
            while data[pos]:
                self.dirs.append(text(data, pos))
                pos = data.index(b"\0", pos) + 1
            pos += 1
            while data[pos]:
                name = text(data, pos)
                pos = data.index(b"\0", pos) + 1
                index, pos = uleb(data, pos)
                _, pos = uleb(data, pos)
                _, pos = uleb(data, pos)
                self.files.append((name, index))
        self.sequences = []
        self.run(data, program, finish, address, line_base, line_range, opcode_base, lengths)

    def entries(self, data, pos, size):
        count, pos = data[pos], pos + 1
        forms = []
        for _ in range(count):
            kind, pos = uleb(data, pos)
            form, pos = uleb(data, pos)
            forms.append((kind, form))
        count, pos = uleb(data, pos)
        out, unit = [], self.unit
        for _ in range(count):
            name, index = None, 0
            for kind, form in forms:
                if form == 0x08:
                    value = text(data, pos)
                    pos = data.index(b"\0", pos) + 1
                elif form in (0x0e, 0x1f):
                    value, pos = unit.word(data, pos, size)
                    value = text(unit.part.line_str if form == 0x1f else unit.part.str, value)
                elif form == 0x0f:
                    value, pos = uleb(data, pos)
                elif form == 0x09:
                    value, pos = uleb(data, pos)
                    pos += value
                elif form in (0x1a,):
                    value, pos = uleb(data, pos)
                    value = unit.string((form, value))
                elif form in (0x25, 0x26, 0x28):
                    value, pos = unit.word(data, pos, SIZES[form])
                    value = unit.string((form, value))
                else:
                    value, pos = unit.word(data, pos, SIZES[form])
                if kind == 1:
                    name = value
                elif kind == 2:
                    index = value
            out.append((name, index))
        return out, pos

    def run(self, data, pos, finish, address_size, line_base, line_range, opcode_base, lengths):
        rows, address, file, line, column = [], 0, 1, 1, 0
        holds, quantum = self.unit.dwarf.elf.holds_code, self.quantum
        while pos < finish:
            op, pos = data[pos], pos + 1
            if op >= opcode_base:
                op -= opcode_base
                address += op // line_range * quantum
                line += line_base + op % line_range
                rows.append((address, file, line, column))
            elif op == 0:
                size, pos = uleb(data, pos)
                sub = data[pos] if size else 0
                if sub == 1:
                    rows.append((address, file, line, column))
                    if rows and holds(rows[0][0]) and address > rows[0][0]:
                        self.sequences.append((rows[0][0], address, sorted(rows[:-1], key=lambda r: r[0]) + rows[-1:]))
                    rows, address, file, line, column = [], 0, 1, 1, 0
                elif sub == 2:
                    address = self.unit.word(data, pos + 1, size - 1)[0]
                pos += size
            elif op == 1:
                rows.append((address, file, line, column))
            elif op == 2:
                step, pos = uleb(data, pos)
                address += step * quantum
            elif op == 3:
                step, pos = sleb(data, pos)
                line += step
            elif op == 4:
                file, pos = uleb(data, pos)
            elif op == 5:
                column, pos = uleb(data, pos)
            elif op == 8:
                address += (255 - opcode_base) // line_range * quantum
            elif op == 9:
                step, pos = self.unit.word(data, pos, 2)
                address += step
            elif op in (6, 7, 10, 11):
                pass
            else:
                for _ in range(lengths[op - 1]):
                    _, pos = uleb(data, pos)
        self.sequences.sort(key=lambda s: (s[0], s[1]))

    def rows(self, address):
        """The row that holds `address`, of every sequence that does; of several rows at one address the last."""
        out = []
        for low, high, rows in self.sequences[:bisect.bisect_right(self.sequences, address, key=lambda s: s[0])]:
            if low <= address < high:
                out.append(rows[bisect.bisect_right(rows, address, hi=len(rows) - 1, key=lambda r: r[0]) - 1])
        return out

    def parts(self, index):
        """(compilation directory, directory, name) of a file index; None for an index outside the table."""
        if not isinstance(index, int) or not 0 <= index < len(self.files) or self.files[index] is None:
            return None
        name, at = self.files[index]
        comp = self.unit.string(self.unit.root.get(COMP_DIR)) or ""
        return comp, self.dirs[at] if at < len(self.dirs) else "", name

    def path(self, index):
        """The parts joined as the standard says: directory 0 is the compilation directory itself."""
        parts = self.parts(index)
        if parts is None:
            return None
        return os.path.join(*parts) if self.files[index][1] else os.path.join(self.dirs[0] if self.dirs else parts[0], parts[2])

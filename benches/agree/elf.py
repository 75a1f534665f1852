"""ELF files as sections by name, and the small number formats of DWARF.

In: a file. Out: `Elf`, its sections decompressed. Never: looks inside a section; that is `dwarf.py` and `rows.py`.
"""
import bisect
import struct
import subprocess
import tempfile
import zlib

import model as M


def uleb(data, pos):
    byte = data[pos]
    pos += 1
    if byte < 0x80:
        return byte, pos
    value, shift = byte & 0x7f, 7
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80:
            return value, pos
        shift += 7


def sleb(data, pos):
    value, end = uleb(data, pos)
    bits = 7 * (end - pos)
    return (value - (1 << bits) if value >> (bits - 1) else value), end


def text(data, pos):
    return data[pos:data.index(b"\0", pos)].decode("utf-8", "backslashreplace")


class Elf:
    """Sections by name, decompressed, of a linked file."""

    zstd = False            # whether some had to be decompressed by another tool

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            data = f.read()
        self.end, self.wide = "<" if data[5] == 1 else ">", data[4] == 2
        e = self.end
        shoff = struct.unpack_from(e + "Q", data, 40)[0] if self.wide else struct.unpack_from(e + "I", data, 32)[0]
        size, count, names = struct.unpack_from(e + "HHH", data, 58 if self.wide else 46)
        layout = e + ("IIQQQQIIQQ" if self.wide else "10I")
        self.headers = [struct.unpack_from(layout, data, shoff + i * size) for i in range(count)]
        strings = self.headers[names]
        self.names = [text(data, strings[4] + h[0]) for h in self.headers]
        self.sections, self.code = {}, []
        for name, h in zip(self.names, self.headers):
            if h[2] & 2 and h[2] & 4 and h[5]:
                self.code.append((h[3], h[3] + h[5], name))
            if h[1] == 8:
                continue
            body = data[h[4]:h[4] + h[5]]
            if h[2] & 0x800:
                form, _, _, *_ = struct.unpack_from(e + ("IIQQ" if self.wide else "III"), body)
                if form != 1:
                    raise ValueError(f"{path}: {name} is compressed, not with zlib")
                body = zlib.decompress(body[24 if self.wide else 12:])
            elif name.startswith(".zdebug_"):
                name, body = "." + name[2:], zlib.decompress(body[12:])
            self.sections.setdefault(name, body)
        self.code.sort()

    def debug(self, name, dwo=False):
        return self.sections.get(".debug_" + name + (".dwo" if dwo else ""), b"")

    def holds_code(self, address):
        i = bisect.bisect_right(self.code, (address, 1 << 65)) - 1
        return i >= 0 and address < self.code[i][1]


def load(path, tmp):
    """An `Elf`, through `objcopy --decompress-debug-sections` where Python cannot decompress."""
    try:
        return Elf(path)
    except ValueError as error:
        if "compressed" not in str(error):
            raise
    out = tempfile.mktemp(dir=tmp)
    subprocess.run([M.llvm("llvm-objcopy"), "--decompress-debug-sections", path, out], check=True)
    elf = Elf(out)
    elf.zstd = True
    return elf

"""A relocatable file laid out and relocated, so that each byte of its code has an address that every tool understands.

In: an ELF file. Out: the path to ask about, and how to name an address to symidx (`SECTION:OFFSET` of the original).
Never: changes a linked file, or a byte of code; only section addresses, symbol values and debug sections.
"""
import os
import re
import struct
import subprocess

import model as M

FIRST, ROOM = 0x100_0000, 0x1000          # where the first section goes; alignment and gap between sections


def linked(path, tmp):
    with open(path, "rb") as f:
        head = f.read(20)
    if head[:4] != b"\x7fELF" or int.from_bytes(head[16:18], "little" if head[5] == 1 else "big") != 1:
        return path, hex
    if head[4:6] != b"\x02\x01" or head[18:20] != b"\x3e\0":
        raise SystemExit(f"{path}: relocatable files are known for x86-64 alone")
    plain = os.path.join(tmp, "plain.o")
    subprocess.run([M.llvm("llvm-objcopy"), "--decompress-debug-sections", path, plain], check=True)
    out = os.path.join(tmp, os.path.basename(path))
    with open(plain, "rb") as f:
        data = bytearray(f.read())
    places = lay_out(data)
    with open(out, "wb") as f:
        f.write(data)

    def name_of(addr):
        section, low = next((name, low) for low, high, name in places if low <= addr < high)
        return f"{section}:{addr - low:#x}"
    return out, name_of


def lay_out(data):
    """Gives the allocated sections of `data` addresses, relocates, and returns [(start, end, name)]."""
    shoff, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [list(struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * size)) for i in range(count)]

    def name(header):
        at = headers[names][4] + header[0]
        return data[at:data.index(0, at)].decode()
    places, at = [], FIRST
    for i, h in enumerate(headers):
        if h[2] & 2 and h[5]:
            h[3] = at
            struct.pack_into("<Q", data, shoff + i * size + 16, at)
            places.append((at, at + h[5], name(h)))
            at = (at + h[5] + 2 * ROOM) & -ROOM
    symbols = next(h for h in headers if h[1] == 2)
    for pos in range(symbols[4], symbols[4] + symbols[5], 24):
        section, value = struct.unpack_from("<HQ", data, pos + 6)
        if 0 < section < count:
            struct.pack_into("<Q", data, pos + 8, value + headers[section][3])
    for h in headers:
        if h[1] != 4 or not re.match(r"\.rela\.debug_", name(h)):
            continue
        target = headers[h[7]][4]
        for pos in range(h[4], h[4] + h[5], 24):
            offset, info, addend = struct.unpack_from("<QQq", data, pos)
            value = struct.unpack_from("<Q", data, symbols[4] + 24 * (info >> 32) + 8)[0] + addend
            kind = info & 0xffffffff
            if kind == 1:
                struct.pack_into("<Q", data, target + offset, value % (1 << 64))
            elif kind in (10, 11):
                struct.pack_into("<I", data, target + offset, value % (1 << 32))
            elif kind not in (0, 21):
                raise SystemExit(f"relocation {kind} in {name(h)}")
    # An executable with one segment that spans all; the headers go to the end of the file.
    struct.pack_into("<H", data, 16, 2)
    struct.pack_into("<Q", data, 32, len(data))
    struct.pack_into("<HH", data, 54, 56, 1)
    data += struct.pack("<IIQQQQQQ", 1, 5, 0, FIRST, FIRST, 0, at - FIRST, ROOM)
    return places

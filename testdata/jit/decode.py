#!/usr/bin/env python3
# Decodes a jitdump file (argument 1) or a perf map (argument 2), apart from symidx:
# what is at each address in the end, and the lines of debug information that holds together.
import struct, sys

def jitdump(path):
    b = open(path, 'rb').read()
    _, _, at, _, mark = struct.unpack_from('<5I', b)
    skew = 0x40 if mark == 0xdeadbeef else 0
    live, lines, debug, broken = {}, {}, None, 0
    while at < len(b):
        kind, size = struct.unpack_from('<II', b, at)
        body, end = at + 16, at + size
        if kind == 2:
            code, count = struct.unpack_from('<QQ', b, body)
            body += 16
            rows = []
            try:
                for _ in range(count):
                    row = struct.unpack_from('<QII', b, body)
                    stop = b.index(b'\0', body + 16, end)
                    rows.append(row + (b[body + 16:stop],))
                    body = stop + 1
                debug = (code, rows) if end - body < 8 else None
            except (ValueError, struct.error):
                debug = None
            broken += debug is None
        elif kind == 0:
            address, length = struct.unpack_from('<QQ', b, body + 16)
            stop = b.index(b'\0', body + 40)
            for old in [o for o in live if o < address + length and address < o + live[o][0]]:
                del live[old]
                lines.pop(old, None)
            live[address] = (length, b[body + 40:stop].decode())
            if debug and debug[0] == address:
                lines[address] = [(a - skew, l, c, f) for a, l, c, f in debug[1]]
            debug = None
        at = end
    for address in sorted(live):
        print('symbol %x %x %s' % (address, *live[address]))
        last = {a: row for a, *row in lines.get(address, [])}
        for a in sorted(last):
            line, column, file = last[a]
            print('line %x %d %d %s' % (a, line, column, file.decode()))
    print('broken', broken)

def perf_map(path):
    live = []
    for text in open(path):
        start, size, name = text.rstrip('\n').split(' ', 2)
        start, size = int(start, 16), int(size, 16)
        live = [l for l in live if l[0] + l[1] <= start or start + size <= l[0]] + [(start, size, name)]
    for l in sorted(live):
        print('symbol %x %x %s' % l)

jitdump(sys.argv[1])
perf_map(sys.argv[2])

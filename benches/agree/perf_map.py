#!/usr/bin/env python3
"""Every function of a perf map, as symidx and as `perf script` answer it.

Writes a profile with a sample at the first, a middle and the last byte of every line, and behind it, asks
`perf script` (no privileges, no recording) and `symidx lookup MAP`, and compares name and start. A difference has
to be of a known class; anything else makes the exit code 1.

Usage: perf_map.py SYMIDX /tmp/perf-PID.map       owned by you or by root, where perf looks for it
"""
import bisect, collections, json, re, struct, subprocess, sys, tempfile


def profile(path, pid, ips):
    def event(kind, misc, body):
        return struct.pack('<IHH', kind, misc, 8 + len(body)) + body
    attr = bytearray(136)
    struct.pack_into('<IIQQQQQ', attr, 0, 1, 136, 0, 1000, 7, 0, 0)
    struct.pack_into('<Q', attr, 40, (1 << 18) | (1 << 8) | (1 << 9))
    out = b'PERFILE2' + struct.pack('<Q', 16) + event(64, 0, bytes(attr) + struct.pack('<Q', 0))
    stamp = lambda t: struct.pack('<IIQ', pid, pid, t)
    out += event(3, 0, struct.pack('<II', pid, pid) + b'synth\0\0\0' + stamp(1))
    # One anonymous mapping for each stretch of code, as the kernel would tell.
    start = last = ips[0]
    spans = []
    for ip in ips[1:] + [1 << 63]:
        if ip - last > 1 << 30:
            spans.append((start & ~4095, (last | 4095) + 1))
            start = ip
        last = ip
    for low, high in spans:
        out += event(1, 2, struct.pack('<IIQQQ', pid, pid, low, high - low, low) + b'//anon\0\0' + stamp(2))
    with open(path, 'wb') as file:
        file.write(out)
        for t, ip in enumerate(ips):
            file.write(event(9, 2, struct.pack('<QIIQ', ip, pid, pid, 10 + t)))
        file.write(event(68, 0, b''))


def left_of(lines):
    """The lines that are left when each has replaced the earlier ones that it overlaps."""
    live = []
    for start, size, name in lines:
        if not size and any(l[0] <= start < l[0] + l[1] for l in live):
            continue
        end = start + max(size, 1)
        live = [l for l in live if l[0] + max(l[1], 1) <= start or end <= l[0]] + [(start, size, name)]
    return sorted(live)


def main():
    symidx, path = sys.argv[1:3]
    pid = int(re.search(r'perf-(\d+)\.map$', path).group(1))
    lines = []
    for line in open(path, errors='surrogateescape'):
        start, size, name = line.rstrip('\n').split(' ', 2)
        lines.append((int(start, 16), int(size, 16), name))
    ips = sorted({ip for start, size, _ in lines
                  for ip in (start, start + size // 2, start + max(size, 1) - 1, start + size)})
    # A mapping ends where the code does; behind it is nobody's memory.
    with tempfile.TemporaryDirectory() as directory:
        profile(directory + '/j.data', pid, ips)
        command = ['perf', 'script', '-i', directory + '/j.data', '-F', 'ip,sym,symoff', '--no-demangle']
        out = subprocess.run(command, capture_output=True, text=True, errors='surrogateescape').stdout
        index = directory + '/index.symidx'
        subprocess.run([symidx, 'build', '-q', path, '-o', index], check=True)
        asked = '\n'.join('%x' % ip for ip in ips)
        ours = subprocess.run([symidx, 'lookup', '--json', index], input=asked, capture_output=True, text=True)
    live = left_of(lines)
    starts = [line[0] for line in live]
    classes, examples = collections.Counter(), collections.defaultdict(list)
    answers = out.splitlines()
    assert len(answers) == len(ips), 'perf left samples out: %d of %d' % (len(answers), len(ips))
    for ip, theirs, own in zip(ips, answers, ours.stdout.splitlines()):
        theirs = theirs.split(None, 1)[1]
        perf = None
        if not theirs.startswith('[unknown]'):
            name, offset = theirs.rsplit('+', 1)
            perf = (name, ip - int(offset, 16))
        symbol = json.loads(own)['symbol']
        mine = (symbol['name'], int(symbol['start'], 16)) if symbol else None
        at = bisect.bisect_right(starts, ip) - 1
        right = at >= 0 and (ip < live[at][0] + live[at][1] or ip == live[at][0])
        right = (live[at][2].strip(), live[at][0]) if right else None
        if perf == mine:
            what = 'the same' if mine else 'nothing, both'
        elif perf and mine and perf[0].rstrip() == mine[0] and perf[1] == mine[1]:
            what = 'the same, with blanks at the end in perf'
        elif mine == right and perf and not any(l[0] == perf[1] and l[2] == perf[0] for l in live):
            what = 'perf: a line of which a later one uses the memory'
        elif mine == right and perf is None:
            what = 'perf: its tree of overlapping lines misses the one that is there'
        else:
            what = 'UNEXPLAINED'
        classes[what] += 1
        examples[what].append('%x perf %s ours %s' % (ip, perf, mine))
    print('%d lines, %d addresses' % (len(lines), len(ips)))
    for what, count in classes.most_common():
        print('%8d  %s' % (count, what))
        if what == 'UNEXPLAINED':
            print('\n'.join('          ' + example for example in examples[what][:5]))
    sys.exit(1 if classes['UNEXPLAINED'] else 0)


main()

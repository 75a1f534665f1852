#!/usr/bin/env python3
"""Writes ../results/{frames,lines-size,lines-build}.md from `compare --frames --json OUT`.

    compare --frames --rounds 5 --no-cold --json OUT BINARY...; frames_tables.py OUT
"""
import json
import os
import sys

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'results')
RIVALS = ['symidx', 'symcache', 'gsym-rs', 'gsym-llvm', 'blazesym', 'addr2line']


def cells(binary, measure):
    return next((row['cells'] for row in binary['rows'] if row['measure'] == measure), {})


def table(head, rows):
    lines = ['| ' + ' | '.join(head) + ' |', '|---|' + '---:|' * (len(head) - 1)]
    return '\n'.join(lines + ['| ' + ' | '.join(row) + ' |' for row in rows])


def name(binary):
    title = binary['title'].split(':')[0]
    return 'libc.so.6.debug' if title.startswith('ac61ec') else title


def pair(cell):
    return f"{cell['median']:,.0f} ({cell['min']:,.0f})" if cell else '-'


def ratio(a, b, digits=2):
    return f"{a['median'] / b['median']:.{digits}f} ({a['min'] / b['min']:.{digits}f})" if a and b else '-'


def times(binaries, measure):
    rows = []
    for binary in binaries:
        c = cells(binary, measure)
        rows.append([name(binary)] + [pair(c.get(r)) for r in RIVALS] + [ratio(c.get('symidx'), c.get('symcache'))])
    return table(['binary'] + RIVALS + ['symidx / symcache'], rows)


def number(cell, scale, form):
    return format(cell['median'] / scale, form) if cell else '-'


def plain(binaries, measure, columns, scale, form, over):
    rows = []
    for binary in binaries:
        c = cells(binary, measure)
        quotients = [f"{c['symidx']['median'] / c[o]['median']:.2f}" if o in c else '-' for o in over]
        rows.append([name(binary)] + [number(c.get(column), scale, form) for column in columns] + quotients)
    return table(['binary'] + columns + [f'symidx / {o}' for o in over], rows)


def main(path):
    with open(path) as file:
        data = json.load(file)
    binaries, legend = data['binaries'], data['legend'].strip()
    with open(os.path.join(RESULTS, 'frames.md'), 'w') as out:
        print(f'''# Address to all frames

`compare --frames`, {legend}. ns a lookup: median of the rounds, in brackets the least; random addresses in functions;
every file is mapped, each binary in a run of its own (`--rounds 5 --no-cold`). The goal, a fifth of symcache's time, is reached on every binary for addresses that do not depend on each other; where each
lookup waits for the one before, and where names and paths are read, not on all. Ratios depend on what else is in the caches: with symidx
and symcache alone (`--only symidx,symcache --rounds 15`) rg is 0.16, vmlinux 0.15, docker 0.14, node 0.14 and libc, which then fits
into the processor's own cache, 0.22.''', file=out)
        for measure, title in [('all frames', 'All frames'), ('all frames, chained', 'All frames, each address made from the answer before'),
                               ('all frames, names and paths read', 'All frames, names and paths read'), ('miss', 'Miss')]:
            print(f'\n## {title}\n\n{times(binaries, measure)}', file=out)
        rows = []
        for binary in binaries:
            heap, paths = cells(binary, 'heap a lookup'), cells(binary, 'heap a lookup, paths read')
            rows.append([name(binary)] + [f"{heap[r]['median']:.0f}; paths {paths[r]['median']:.0f}" if r in heap else '-' for r in RIVALS])
        print(f"\n## Heap a lookup, bytes\n\n{table(['binary'] + RIVALS, rows)}", file=out)
        rows = []
        for binary in binaries:
            c = cells(binary, 'the symbol alone')
            a, b = c.get('symidx'), c.get('symidx-names')
            rows.append([name(binary), f"{a['median']:.1f} ({a['min']:.1f})", f"{b['median']:.1f} ({b['min']:.1f})", ratio(a, b)])
        head = ['binary', 'with lines, ns', 'without, ns', 'ratio']
        print(f"\n## The symbol alone, with lines in the file and without\n\n{table(head, rows)}", file=out)
        rows = []
        for binary in binaries:
            d, f = cells(binary, 'frames: other depth'), cells(binary, 'frames: other innermost file:line')
            rows.append([name(binary)] + [f"{d[r]['median']}; {f[r]['median']}" if r in d else '-' for r in RIVALS[1:]])
        print(f'''\n## Other answers

Of 5,000 of the addresses, how many have another depth, or another innermost file (last part) and line, than symidx says.
Which answer is right is not decided here: see `lines-agreement.md`.

{table(['binary'] + RIVALS[1:], rows)}''', file=out)
    with open(os.path.join(RESULTS, 'lines-size.md'), 'w') as out:
        columns = ['symidx', 'symidx-names', 'symcache', 'gsym-rs', 'gsym-llvm']
        print(f'''# Size of a file with lines and inlined functions

`compare --frames`, {legend}. MiB. symidx is built with `--code-only`, as the rivals hold no data objects; it holds columns, declaration
lines, aliases, an index by name and the rows outside every function, none of which GSYM has. Where it is larger than GSYM these are why: in
libc the columns alone are 0.15 MiB, and split rows that GSYM joins; in docker (Go: no columns) the index by name is 0.18 MiB.

{plain(binaries, 'file size', columns, 1 << 20, '.2f', ['gsym-llvm', 'symcache'])}''', file=out)
    with open(os.path.join(RESULTS, 'lines-build.md'), 'w') as out:
        print(f'''# Building a file with lines and inlined functions

`compare --frames`, {legend}. Each build in a process of its own. `symidx-256M`: `max_memory` of 256 MiB.
`gsym-llvm`: `llvm-gsymutil --num-threads`.''', file=out)
        one = ['symidx', 'symidx-256M', 'gsym-llvm', 'symcache', 'gsym-rs']
        two = ['symidx', 'symidx-256M', 'gsym-llvm']
        for measure, columns in [('build, 1 thread', one), ('build, 1 thread: peak RssAnon', one), ('build, 1 thread: peak RSS', one),
                                 ('build, 2 threads', two), ('build, 2 threads: peak RssAnon', two), ('build, 2 threads: peak RSS', two)]:
            seconds = 'peak' not in measure
            unit = 'seconds' if seconds else 'MiB'
            body = plain(binaries, measure, columns, 1 if seconds else 1 << 20, '.2f', ['gsym-llvm'])
            print(f'\n## {measure}, {unit}\n\n{body}', file=out)


if __name__ == '__main__':
    main(sys.argv[1])

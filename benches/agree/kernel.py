#!/usr/bin/env python3
"""Every symbol of a kernel, as symidx and as `perf script` answer it.

Writes a profile with a sample at the first, a middle and the last byte up to the next
symbol of every address that kallsyms has, asks `perf script` for the names (no
privileges, no recording), asks `symidx lookup --kernel`, and compares start and name.
A difference has to be of a known class; anything else makes the exit code 1.

Usage: kernel.py SYMIDX [KALLSYMS [MODULES]]      default: the running kernel's, as root;
       two made-up modules that touch are added, since not every kernel has some.
"""
import bisect, collections, json, os, struct, subprocess, sys, tempfile

CODE, DATA = set('TtWwi'), set('DdBb')
# perf takes what these letters stand for, and nothing else.
PERF = set('TtWwDdBb')
BORDER = '''ffffffffc0a00000 t dca_0\t[dca]
ffffffffc0a00f00 t dca_sysfs_exit\t[dca]
ffffffffc0a01000 t nft_do_chain\t[nf_tables]
ffffffffc0a01400 t nft_0\t[nf_tables]
'''


def kernel(text):
    """(address, letter, name, module) of each line that is an address of the kernel's half."""
    symbols = []
    for line in text.splitlines():
        words = line.split()
        if len(words) < 3 or words[1] in 'AaU':
            continue
        address = int(words[0], 16)
        if address >> 63:
            module = words[3][1:-1] if len(words) > 3 else ''
            symbols.append((address, words[1], words[2], module))
    return sorted(symbols, key=lambda s: s[0])


def samples(symbols):
    starts = sorted({s[0] for s in symbols})
    ips = []
    for at, start in enumerate(starts):
        end = starts[at + 1] if at + 1 < len(starts) else start + 16
        # Between the last symbol of one part and the first of the next is nobody's.
        end = min(end, start + (2 << 20))
        ips += sorted({start, start + (end - start) // 2, end - 1})
    return ips


def profile(path, symbols, ips):
    """A perf.data in pipe mode: one map for the kernel, one for each module."""
    def event(kind, misc, body):
        return struct.pack('<IHH', kind, misc, 8 + len(body)) + body
    attr = bytearray(136)
    struct.pack_into('<IIQQQQQ', attr, 0, 1, 136, 0, 1000, 7, 0, 0)
    struct.pack_into('<Q', attr, 40, (1 << 18) | (1 << 8) | (1 << 9))
    out = b'PERFILE2' + struct.pack('<Q', 16) + event(64, 0, bytes(attr) + struct.pack('<Q', 0))
    stamp = lambda t: struct.pack('<IIQ', 0, 0, t)

    def mmap(start, size, offset, name, t):
        name = name.encode() + b'\0'
        name += b'\0' * (-len(name) % 8)
        return event(1, 1, struct.pack('<IIQQQ', 0xffffffff, 0, start, size, offset) + name + stamp(t))
    core = [s[0] for s in symbols if not s[3]]
    out += mmap(core[0], core[-1] + 4096 - core[0], core[0], '[kernel.kallsyms]_text', 1)
    spans = collections.OrderedDict()
    for address, _, _, module in symbols:
        if module:
            low, high = spans.get(module, (address, address))
            spans[module] = (min(low, address), max(high, address))
    ordered = sorted(spans.items(), key=lambda item: item[1])
    for at, (module, (low, high)) in enumerate(ordered):
        end = (high | 4095) + 1
        if at + 1 < len(ordered):
            end = min(end, ordered[at + 1][1][0])
        out += mmap(low, end - low, 0, '[%s]' % module, 2)
    out += event(3, 0, struct.pack('<II', 7, 7) + b'synth\0\0\0' + stamp(4))
    with open(path, 'wb') as file:
        file.write(out)
        for t, ip in enumerate(ips):
            file.write(event(9, 1, struct.pack('<QIIQ', ip, 7, 7, 10 + t)))
        file.write(event(68, 0, b''))


def ask_perf(directory, kallsyms):
    command = ['perf', 'script', '-i', directory + '/k.data', '--kallsyms=' + kallsyms,
               '-F', 'ip,sym,symoff', '--no-demangle']
    out = subprocess.run(command, cwd=directory, capture_output=True, text=True).stdout
    answers = []
    for line in out.splitlines():
        ip, name = line.split(None, 1)
        if name.startswith('[unknown]'):
            answers.append((int(ip, 16), None, None))
        else:
            name, offset = name.split(' ')[0].rsplit('+', 1)
            answers.append((int(ip, 16), int(ip, 16) - int(offset, 16), name))
    return answers


def ask_symidx(symidx, kallsyms, modules, ips):
    command = [symidx, 'lookup', '--kernel', '--json', '-q', '--kallsyms', kallsyms]
    command += ['--modules', modules] if modules else []
    text = '\n'.join('%x' % ip for ip in ips)
    out = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    answers = []
    for line in out.splitlines():
        symbol = json.loads(line)['symbol']
        if symbol:
            names = [symbol['name']] + symbol['aliases']
            answers.append((int(symbol['start'], 16), symbol['name'], names, symbol['module'] or ''))
        else:
            answers.append((None, None, [], ''))
    return answers


def is_marker(name):
    """A name for a place, not for what is there."""
    ends = ('_end', '_start', '_begin', 'etext', 'sinittext', 'einittext', '_stext', '_text', 'edata')
    return name.startswith(('__start_', '__stop_', '__pfx_', '__cfi_')) or name.endswith(ends)


def explain(ip, perf, ours, at):
    """The class of a difference, or None."""
    _, p_start, p_name = perf
    o_start, _, o_names, o_module = ours
    here = at.get(p_start, [])
    letters = {s[1] for s in here if s[2] == p_name}
    modules = {s[3] for s in here if s[2] == p_name}
    if p_start is not None and p_start == o_start:
        if p_name in o_names:
            return 'the same symbol by another of its names'
        if is_marker(p_name):
            return 'perf: a marker in place of the symbol at its address'
        if not modules & {o_module}:
            return 'perf: the symbol of another module at the same address'
    if p_start is None and o_start is not None:
        letter = {s[1] for s in at[o_start]}
        if not letter & PERF:
            return 'perf: read-only data and weak objects are left out'
        if o_module:
            return 'perf: code that the kernel makes itself is in no map'
        known = [s[0] for s in at['all'] if s[1] in PERF and not s[3]]
        if o_start == known[-1] and ip - o_start > 4096:
            return 'perf: the last symbol that it reads reaches a page, no matter how far the next is'
        return None
    if p_start is None or p_start > ip:
        return None
    if o_start is None:
        if is_marker(p_name):
            return 'perf: a marker reaches over a gap'
        if ip - p_start >= 4096 - (p_start & 4095):
            return 'perf: the last symbol of a part reaches over the gap behind it'
        if modules - {''}:
            return 'perf: the last symbol of a module reaches past its page'
        return None
    if p_start < o_start:
        if {s[3] for s in here} != {o_module}:
            return 'perf: the last symbol of a module reaches into the next one'
        if not {s[1] for s in at[o_start]} & PERF:
            return 'perf: the symbol in front of read-only data or weak objects reaches over them'
    if o_start < p_start and is_marker(p_name):
        return 'perf: a marker cuts a symbol'
    return None


def main():
    symidx = sys.argv[1]
    kallsyms = sys.argv[2] if len(sys.argv) > 2 else '/proc/kallsyms'
    modules = sys.argv[3] if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory() as directory:
        text = open(kallsyms).read()
        if not modules:
            text += BORDER
            modules = directory + '/modules'
            open(modules, 'w').write('dca 16384 0 - Live 0xffffffffc0a00000\n'
                                     'nf_tables 32768 0 - Live 0xffffffffc0a01000\n')
        # Under another name than kallsyms, or perf looks for a kcore beside it.
        copy = directory + '/symbols'
        open(copy, 'w').write(text)
        symbols = kernel(text)
        at = collections.defaultdict(list)
        for symbol in symbols:
            at[symbol[0]].append(symbol)
        at['all'] = symbols
        ips = samples(symbols)
        profile(directory + '/k.data', symbols, ips)
        perf = ask_perf(directory, copy)
        assert [answer[0] for answer in perf] == ips, 'perf left samples out'
        ours = ask_symidx(symidx, copy, modules, ips)
    classes, examples = collections.Counter(), collections.defaultdict(list)
    for theirs, own in zip(perf, ours):
        if theirs[1] == own[0] and theirs[2] == own[1]:
            what = 'the same' if own[0] is not None else 'nothing, both'
        else:
            what = explain(theirs[0], theirs, own, at) or 'UNEXPLAINED'
        classes[what] += 1
        if len(examples[what]) < 3:
            examples[what].append('%x perf %s ours %s' % (theirs[0], theirs[1:], own[:2]))
    print('%d symbols, %d addresses' % (len(symbols), len(ips)))
    for what, count in classes.most_common():
        print('%8d  %s' % (count, what))
        if what == 'UNEXPLAINED' or os.environ.get('EXAMPLES'):
            print('\n'.join('          ' + example for example in examples[what]))
    sys.exit(1 if classes['UNEXPLAINED'] else 0)


main()

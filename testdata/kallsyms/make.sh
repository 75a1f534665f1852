#!/bin/sh
# Why: no sizes, markers, per-cpu offsets, modules, hidden addresses, broken lines, any order.
# needs: python3
set -e; cd "$(dirname "$0")"
python3 - <<'P'
T='''0000000000000000 A fixed_percpu_data
0000000000000000 A __per_cpu_start
0000000000001000 A cpu_debug_store
000000000001f000 A __per_cpu_end
ffffffff81000000 T startup_64
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000040 T secondary_startup_64
ffffffff81001000 t __pfx_do_one
ffffffff81001010 t do_one
ffffffff81001050 T __ia32_sys_thing
ffffffff81001050 T __x64_sys_thing
ffffffff810010a0 t helper
ffffffff810010e0 t helper
ffffffff81001120 W weak_hook
ffffffff81001120 t default_hook
ffffffff81001160 T last_in_text
ffffffff81200000 T _etext
ffffffff82000000 D init_task
ffffffff82000f00 d some.data.name
ffffffff82001000 B counters
ffffffff82400000 B _end
ffffffffc0100000 t mod_a_probe\t[mod_a]
ffffffffc0100080 t helper\t[mod_a]
ffffffffc01000c0 t mod_a_last\t[mod_a]
ffffffffc0101000 d mod_a_data\t[mod_a]
ffffffffc0180000 t init_module\t[mod_b]
ffffffffc0180000 t mod_b_init\t[mod_b]
ffffffffc0180100 t mod_b_last\t[mod_b]
ffffffffc0200000 t bpf_prog_0123456789abcdef_myprog\t[bpf]
ffffffffc0200200 t bpf_trampoline_6442450944\t[bpf]
'''
open('kallsyms','w').write(T)
L=T.splitlines(True); open('kallsyms-unsorted','w').write(''.join(L[::2][::-1]+L[1::2]))
open('kallsyms-hidden','w').write(''.join('0'*16+l[16:] for l in L))
open('kallsyms-32bit','w').write('c0008000 T stext\nc0008100 t vec\nc0009000 T _etext\nffff1004 t vector_rst\nffff1020 t vector_irq\n')
open('kallsyms-broken','w').write('ffffffff81000000 T good\n\nzzzz T bad\nffffffff81000040\nffffffff81000080 T \n ffffffff810000c0 T leading\nffffffff81000100 T crlf\r\nfffffffff81000140 T toolong\nffffffff81000180 T noeol')
open('modules','w').write('mod_b 16384 0 - Live 0xffffffffc0180000 (OE)\nmod_a 20480 1 mod_c, Live 0xffffffffc0100000\n')
P

#!/bin/sh
# Why: stabs, ltmp labels, the header symbol, N_ABS, N_ALT_ENTRY, unnamed function starts, Thumb.
# needs: python3 (machow.py here writes the files)
set -e; cd "$(dirname "$0")"
python3 - <<'P'
from machow import *
B=0x100000000; T=B+0xf00
EXT=0x0f; SECT=0x0e; ABS=0x03; UNDF=0x01
syms=[
 (b'/src/dir/',0x64,0,0,0),(b'foo.c',0x64,0,0,0),                       # N_SO, N_SO
 (b'/obj/foo.o',0x66,3,1,0x5f000000),                                   # N_OSO
 (b'',0x2e,1,0,T),(b'_foo',0x24,1,0,T),(b'',0x24,0,0,0x18),(b'',0x4e,1,0,0x18),   # BNSYM, FUN, FUN(size), ENSYM
 (b'_counter',0x26,2,0,B+0x1000),                                       # N_STSYM
 (b'',0x64,1,0,0),                                                      # N_SO end
 (b'_foo',EXT,1,0,T),
 (b'ltmp0',SECT,1,0,T),                                                 # assembler-made local label at the same address
 (b'__ZN5space6methodEv',EXT,1,0,T+0x20),                               # one extra underscore, then _ZN...
 (b'___dunder',EXT,1,0,T+0x30),                                         # C name is __dunder
 (b'_alt_entry',EXT,1,0x0200,T+0x38),                                   # N_ALT_ENTRY inside ___dunder
 (b'_counter',SECT,2,0,B+0x1000),
 (b'__mh_execute_header',EXT,1,0x10,B),                                 # says section 1, but lies before it
 (b'_absolute',EXT&~0x0e|ABS,0,0,T+0x10),                               # N_ABS in the middle of foo
 (b'_printf',UNDF,0,0x0100,0),
]
starts=[T,T+0x18,T+0x20,T+0x30]
open('sym.macho','wb').write(macho(syms=syms,fstarts=starts))
# stripped: only the undefined import is left; LC_FUNCTION_STARTS still tells the boundaries
open('stripped.macho','wb').write(macho(syms=[(b'_printf',UNDF,0,0x0100,0)],fstarts=starts))
# no function starts, no stabs: the size of the last symbol ends at the section end
open('nofs.macho','wb').write(macho(syms=[(b'_foo',EXT,1,0,T),(b'_bar',EXT,1,0,T+0x20),(b'_counter',EXT,2,0,B+0x1000)]))
# 32-bit ARM: Thumb is a flag in n_desc (N_ARM_THUMB_DEF 0x8), the value itself is even
open('armv7.macho','wb').write(macho('armv7',base=0x4000,text_addr=0x4f00,syms=[(b'_thumb',EXT,1,8,0x4f00),(b'_arm',EXT,1,0,0x4f10)],fstarts=[0x4f00,0x4f10],text_fill=b'\x00\xbf'))
P

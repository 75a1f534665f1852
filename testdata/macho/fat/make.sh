#!/bin/sh
# Why: a fat file needs a choice of slice, arm64e differs from arm64 by subtype only, and a Java class
# file has the same magic number. (Other damage is made by the tests themselves.)
# needs: python3 (machow.py here writes the slices)
set -e; cd "$(dirname "$0")"
python3 - <<'P'
from machow import *
EXT=0x0f; B=0x100000000; T=B+0xf00
def s(*n): return [(x,EXT,1,0,T+0x10*i) for i,x in enumerate(n)]
U=lambda k: bytes([k])*16
x=macho('x86_64',syms=s(b'_x_first',b'_common'),uuid=U(0x11))
a=macho('arm64', syms=s(b'_common',b'_a_second'),uuid=U(0x22),text_fill=b'\x1f\x20\x03\xd5')
e=macho('arm64e',syms=s(b'_e_first',b'_e_second',b'_common'),uuid=U(0x33),text_fill=b'\x1f\x20\x03\xd5')
f=fat([('x86_64',x),('arm64',a),('arm64e',e)]); open('fat3.macho','wb').write(f)
# hostile containers
b=bytearray(f); b[4:8]=(0xffffffff).to_bytes(4,'big'); open('bad-nfat-huge.macho','wb').write(b[:64])
open('java.class','wb').write(b'\xca\xfe\xba\xbe\x00\x00\x00\x34\x00\x10'+bytes(200))   # same magic, "52 architectures"
P

# Names that people read otherwise: C++ with shared and separate short texts,
# constructors and Rust instances that are shown alike, a clone, a table; and
# names that are shown as they are.
	.text
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.skip 16, 0x90
	.size \name, 16
	.endm
	function main
	function _ZN5space6Longer5Names6methodEi
	function _ZN5space6Longer5Names6methodEiPKc
	function _ZNK5space6Longer5Names6methodEiPKcSt6vectorIiSaIiEE
	function _ZN5space6Longer5NamesC1Ev
	function _ZN5space6Longer5NamesC2Ev
	function _ZN5space8templateIiEET_S1_
	function _ZN5space7pointerIiEEPFivET_
	function _ZN5space6Longer5Names6methodEi.cold
	function _ZN5space6Longer5NamesaSERKS1_
	function _ZN4core3fmt9Formatter9write_fmt17h0123456789abcdefE
	function _ZN4core3fmt9Formatter9write_fmt17hfedcba9876543210E
	function _ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.8001
	function _RNvNtCs1234_7mycrate6module3foo
	function _RINvNtCs1234_7mycrate6module3fooNtB2_3BarE
	function _RNvC7mycrateu8gdel_5qa
	function $s5swift4namedyyF
	function _ZThn16_N5space6Longer5Names6methodEi
	function _Znot_a_name
	.data
	.globl _ZTVN5space6Longer5NamesE
	.type _ZTVN5space6Longer5NamesE, @object
_ZTVN5space6Longer5NamesE:
	.skip 32
	.size _ZTVN5space6Longer5NamesE, 32
	.section .tbss, "awT", @nobits
	.globl _ZN5space6Longer5Names10per_threadE
	.type _ZN5space6Longer5Names10per_threadE, @object
_ZN5space6Longer5Names10per_threadE:
	.skip 8
	.size _ZN5space6Longer5Names10per_threadE, 8
	.section .note.GNU-stack, "", @progbits

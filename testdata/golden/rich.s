# A bit of everything that the format can hold: enough functions in one region
# for a bucket table, nesting, aliases, a function within a function's start,
# an object above 4 GiB, thread-local and absolute names.
	.text
	.altmacro
	.macro function number
	.globl function_\number
	.type function_\number, @function
function_\number:
	.skip 16, 0x90
	.size function_\number, 16
	.endm
	.set i, 0
	.rept 24
	function %i
	.set i, i+1
	.endr
	.globl outer
	.type outer, @function
outer:
	.type first_half, @function
first_half:
	.skip 16, 0x90
	.size first_half, 16
	.type nested, @function
nested:
	.skip 8, 0x90
	.size nested, 8
inside:
	.skip 40, 0x90
	.size outer, 64
	.weak alias_weak
	.type alias_weak, @function
	.type alias_local, @function
	.globl aliased
	.type aliased, @function
alias_weak:
alias_local:
aliased:
	.skip 16, 0x90
	.size alias_weak, 16
	.size aliased, 16
	.size alias_local, 8
	.globl open_end
	.type open_end, @function
open_end:
	.skip 32, 0x90
	.globl worker.cold
	.type worker.cold, @function
worker.cold:
	.skip 16, 0x90
	.size worker.cold, 16
	.globl constant
constant = 0x1234
	.section .tbss, "awT", @nobits
	.globl per_thread
	.type per_thread, @object
per_thread:
	.skip 8
	.size per_thread, 8
	.data
	.globl table
	.type table, @object
table:
	.skip 64
	.size table, 64
	.bss
	.globl huge
	.type huge, @object
huge:
	.skip 0x140000000
	.size huge, 0x140000000
	.globl after_huge
	.type after_huge, @object
after_huge:
	.skip 16
	.size after_huge, 16
	.section .note.GNU-stack, "", @progbits

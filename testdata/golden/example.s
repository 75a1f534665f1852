# The example of symidx/FORMAT.md: main, with inner nested in it, then helper.
	.text
	.globl main
	.type main, @function
main:
	.skip 8, 0x90
	.type inner, @function
inner:
	.skip 8, 0x90
	.size inner, 8
	.skip 15, 0x90
	ret
	.size main, 32
	.globl helper
	.type helper, @function
helper:
	.skip 15, 0x90
	ret
	.size helper, 16
	.section .note.GNU-stack,"",@progbits

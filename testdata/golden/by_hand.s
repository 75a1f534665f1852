# Lines outside every function: the assembler's, of code without a DIE.
        .text
        .globl  by_hand
        .type   by_hand, @function
        .file   1 "/src" "by_hand.s"
by_hand:
        .loc    1 12 3
        nop
        .loc    1 400 0
        nop
        .loc    1 0 0
        nop
        .loc    1 14 300
        ret
        .size   by_hand, . - by_hand

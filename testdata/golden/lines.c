/* Lines and inlined functions of every shape that the format has a place for. */
typedef unsigned long u64;

volatile u64 sink;

static inline __attribute__((always_inline)) u64 leaf(u64 x) { sink = x; return x * 3; }

static inline __attribute__((always_inline)) u64 middle(u64 x)
{
    sink = leaf(x) + 1;
    return leaf(x + 1) + leaf(x + 2);
}

u64 outer(u64 x)
{
    /* the same calls on one line, and a column that takes more than a byte */
    sink = middle(x);                                                                                                                                                                                                                                                           sink = x; sink = leaf(x);
    return middle(x) + 1;
}

static __attribute__((noinline, cold)) void never(void) { sink = 0; for (;;) sink++; }

void _start(void)
{
    if (outer(sink) == 1)
        never();
#line 100000 "far/away.c"
    sink = leaf(4);
    sink = 5;
#line 8 "generated.h"
    sink = 6;
    for (;;)
        ;
}

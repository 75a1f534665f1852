/* A program that spends its time in known places, under a profiler. */
static volatile unsigned long sink;

static inline __attribute__((always_inline)) unsigned long mix(unsigned long x)
{
    x ^= x >> 13;
    return x * 0x9e3779b97f4a7c15;
}

__attribute__((noinline)) unsigned long hot(unsigned long n)
{
    unsigned long x = n;
    for (unsigned long i = 0; i < 200000; i++)
        x = mix(x + i);
    return x;
}

__attribute__((noinline)) unsigned long deep(unsigned long n, int depth)
{
    unsigned long x = depth > 0 ? deep(n + 1, depth - 1) : hot(n);
    return x + 1;
}

int main(void)
{
    for (unsigned long i = 0; i < 2000; i++) {
        sink += hot(i);
        sink += deep(i, 3);
    }
    return 0;
}

int two(int);
static inline __attribute__((always_inline)) int leaf(int x)
{
    return x * 7 + 1;
}
int one(int x)
{
    return leaf(two(x)) ^ x;
}
void _start(void)
{
    one(1);
}

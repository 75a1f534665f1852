static __attribute__((noinline)) int hidden(int x)
{
    return x * 7;
}
int three(int x)
{
    return hidden(x) + 1;
}

int two(int x)
{
    return x / 3;
}

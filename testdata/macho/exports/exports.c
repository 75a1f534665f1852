/* What a library offers, and what it keeps to itself. */
int counter = 3;
__thread int each = 4;
static int hidden(int x) { return x * counter; }
int offered(int x) { return hidden(x) + each; }
int offered_too(int x) { return offered(x) + 1; }
__attribute__((weak)) int may_be_replaced(int x) { return x + 2; }
__attribute__((visibility("hidden"))) int kept(int x) { return x + 3; }
int aliased(int x) { return kept(x) + 4; }

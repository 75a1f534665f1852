struct point { int x, y; };
struct line { struct point from, to; long width; const char *name; };
enum colour { RED, GREEN, BLUE, ORANGE, PURPLE };
struct picture { struct line lines[4]; enum colour colour; struct picture *next; };
static inline __attribute__((always_inline)) int shifted(const struct point *p) { return p->x * 3 + p->y; }

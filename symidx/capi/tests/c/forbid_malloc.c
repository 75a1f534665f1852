/* The allocator of a program whose signal handlers must not allocate: passes
 * calls on to glibc, counts them, and ends the process when one comes from
 * inside the handler. */
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

extern volatile sig_atomic_t symbolizing;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static unsigned long calls;

static void called(void) {
    calls++;
    if (symbolizing)
        abort();
}

void *malloc(size_t size) {
    called();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    called();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size) {
    called();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size) {
    called();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    called();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size) {
    called();
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : ENOMEM;
}

void free(void *block) {
    called();
    __libc_free(block);
}

/* That this allocator was the one in use. */
__attribute__((destructor)) static void report(void) {
    fprintf(stderr, "allocator called %lu times\n", calls);
}

#ifdef __cplusplus
}
#endif

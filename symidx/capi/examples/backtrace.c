/* Prints its own stack with names, lines and inlined functions.
 * Usage: backtrace [STORE]     STORE: one more directory of indexes
 *
 *   cc -g -O2 backtrace.c $(pkg-config --cflags --libs symidx) -o backtrace
 *   symidx build ./backtrace
 *   ./backtrace
 */
#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <symidx.h>

#define MOST 64

static void *stack[MOST];
static int depth;

static inline __attribute__((always_inline)) void innermost(void) {
    if (depth == 0)
        depth = backtrace(stack, MOST);
}

static inline __attribute__((always_inline)) void between(void) {
    innermost();
}

/* libc calls this one: its frames lie between this program's. */
__attribute__((noinline)) static int compare(const void *a, const void *b) {
    between();
    return *(const int *)a - *(const int *)b;
}

static void print_frame(const symidx_frame *frame) {
    char name[512], path[512];
    if (symidx_display_name(frame->index, frame->function.data, frame->function.length, 0, name,
                            sizeof name, NULL) < 0)
        name[0] = 0;
    symidx_path(frame->directory, frame->file, path, sizeof path, NULL);
    printf("    %s%s%s", frame->flags & SYMIDX_FRAME_INLINED ? "(inlined) " : "", name,
           path[0] ? " at " : "");
    if (path[0])
        printf("%s:%" PRIu32, path, frame->line);
    printf("\n");
}

/* An address without a symbol: in which file, where in it, and why. */
static void print_unknown(const symidx_resolver *resolver, uint64_t address, int32_t status) {
    const symidx_modules *modules = symidx_resolver_modules(resolver);
    symidx_location location;
    symidx_module module;
    location.size = sizeof location;
    module.size = sizeof module;
    printf("    [%s]", symidx_strerror(status));
    if (symidx_modules_find(modules, address, &location) == SYMIDX_OK &&
        symidx_modules_get(modules, location.module, &module) == SYMIDX_OK)
        printf(" in %.*s at file offset 0x%" PRIx64, SYMIDX_PRINT(module.path),
               location.file_offset);
    printf("\n");
}

static int failed(const char *what, int32_t status) {
    fprintf(stderr, "%s: %s\n", what, symidx_strerror(status));
    return 1;
}

int main(int argc, char **argv) {
    int numbers[] = {3, 1, 2};
    uint64_t addresses[MOST];
    static symidx_statistics statistics;
    symidx_modules *modules;
    symidx_store *store;
    symidx_resolver *resolver;
    int32_t status;

    if (symidx_abi_version() != SYMIDX_ABI_VERSION)
        return failed("libsymidx is of another version than symidx.h", SYMIDX_ERROR_VERSION);
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
    for (int i = 0; i < depth; i++)
        addresses[i] = (uint64_t)(uintptr_t)stack[i];

    if ((status = symidx_store_new(0, &store)) != SYMIDX_OK)
        return failed("store", status);
    if (argc > 1 && (status = symidx_store_add_directory(store, argv[1])) != SYMIDX_OK)
        return failed(argv[1], status);
    if ((status = symidx_modules_capture(&modules)) != SYMIDX_OK)
        return failed("modules", status);
    if ((status = symidx_resolver_new(modules, store, &resolver)) != SYMIDX_OK)
        return failed("resolver", status);
    symidx_resolver_open_for(resolver, addresses, (size_t)depth, NULL);

    statistics.size = sizeof statistics;
    for (int i = 0; i < depth; i++) {
        symidx_frame frames[16];
        size_t count;
        frames[0].size = sizeof frames[0];
        /* backtrace() gives return addresses only. */
        status = symidx_resolver_frames_return(resolver, addresses[i], NULL, frames, 16, &count);
        printf("#%d 0x%" PRIx64 "\n", i, addresses[i]);
        for (size_t j = 0; j < count && j < 16; j++)
            print_frame(&frames[j]);
        if (count == 0)
            print_unknown(resolver, addresses[i], status);
        symidx_statistics_count(&statistics, status);
    }
    printf("%" PRIu64 " of %" PRIu64 " addresses have names\n", statistics.resolved,
           statistics.addresses);

    symidx_resolver_free(resolver);
    symidx_store_free(store);
    symidx_modules_free(modules);
    return 0;
}

/* A sampling profiler of itself: names the function it is in at every tick of
 * SIGPROF, inside the signal handler. Usage: signal [MILLISECONDS [STORE]]
 *
 *   cc -g -O2 signal.c $(pkg-config --cflags --libs symidx) -o signal
 *   symidx build ./signal
 *   ./signal 1000
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include <symidx.h>

/* The handler's own memory: what it needs is set aside before the first tick. */
static const symidx_resolver *shared;
static symidx_statistics statistics;
static symidx_symbol symbol;
static symidx_frame frames[16];
static char name[4096];
static uint64_t in_spin, framed;

/* Set while the handler asks for names; whoever replaces malloc can look. */
volatile sig_atomic_t symbolizing;

static uint64_t program_counter(const void *context) {
    const ucontext_t *state = (const ucontext_t *)context;
#if defined(__x86_64__)
    return (uint64_t)state->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uint64_t)state->uc_mcontext.pc;
#else
#error "say where this machine keeps its program counter"
#endif
}

static void tick(int signal, siginfo_t *info, void *context) {
    const int error = errno;
    const uint64_t address = program_counter(context);
    size_t count;
    int32_t status;
    (void)signal;
    (void)info;
    symbolizing = 1;
    status = symidx_resolver_frames(shared, address, &symbol, frames, 16, &count);
    symidx_statistics_count(&statistics, status);
    framed += count;
    if (symbol.status == SYMIDX_OK) {
        /* Names of C take little stack; deep ones of Rust are better shown later. */
        symidx_display_name(symbol.index, symbol.name.data, symbol.name.length,
                            SYMIDX_DISPLAY_SHORT, name, sizeof name, NULL);
        if (strcmp(name, "spin") == 0)
            in_spin++;
    }
    symbolizing = 0;
    errno = error;
}

/* Work of the program's own. */
__attribute__((noinline)) static uint64_t spin(uint64_t seed) {
    for (int i = 0; i < 200000; i++)
        seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

/* Work in libc, most of it under the lock of the allocator. */
__attribute__((noinline)) static void allocate(uint64_t seed) {
    void *blocks[64];
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 64; i++)
            blocks[i] = malloc((size_t)(seed >> (i % 50)) % 5000);
        for (int i = 0; i < 64; i++)
            free(blocks[i]);
    }
}

/* Milliseconds of processor time. */
static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void every_microseconds(int microseconds) {
    struct itimerval timer;
    timer.it_interval.tv_sec = timer.it_value.tv_sec = 0;
    timer.it_interval.tv_usec = timer.it_value.tv_usec = microseconds;
    setitimer(ITIMER_PROF, &timer, NULL);
}

int main(int argc, char **argv) {
    const int64_t end = now() + (argc > 1 ? atoi(argv[1]) : 1000);
    static char small_stack[32 * 1024];
    struct sigaction action;
    stack_t stack;
    symidx_modules *modules;
    symidx_store *store;
    symidx_resolver *resolver;
    uint64_t seed = 1;

    statistics.size = sizeof statistics;
    symbol.size = sizeof symbol;
    frames[0].size = sizeof frames[0];

    /* Everything that allocates or calls the system, before the first tick. */
    if (symidx_store_new(0, &store) != SYMIDX_OK || symidx_modules_capture(&modules) != SYMIDX_OK)
        return 1;
    if (argc > 2 && symidx_store_add_directory(store, argv[2]) != SYMIDX_OK)
        return 1;
    if (symidx_resolver_new(modules, store, &resolver) != SYMIDX_OK)
        return 1;
    symidx_resolver_open_all(resolver, NULL);
    shared = resolver;

    memset(&stack, 0, sizeof stack);
    stack.ss_sp = small_stack;
    stack.ss_size = sizeof small_stack;
    sigaltstack(&stack, NULL);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = tick;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigaction(SIGPROF, &action, NULL);
    every_microseconds(1000);
    while (now() < end) {
        seed = spin(seed);
        allocate(seed);
    }

    /* No tick may come while the resolver goes. */
    every_microseconds(0);
    signal(SIGPROF, SIG_IGN);
    printf("ticks %" PRIu64 " resolved %" PRIu64 " spin %" PRIu64 " frames %" PRIu64 "\n",
           statistics.addresses, statistics.resolved, in_spin, framed);
    printf("gap %" PRIu64 " no index %" PRIu64 " no module %" PRIu64 "\n", statistics.gap,
           statistics.no_index, statistics.no_module);
    symidx_resolver_free(resolver);
    symidx_store_free(store);
    symidx_modules_free(modules);
    return seed == 0;
}

/* A process to be looked at: prints addresses of its own with their svmas, as
   the loader tells them, then waits. Options: LIB = dlopen it; --memfd LIB =
   load it from memory; --map FILE OFFSET = map a page of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char memory[1 << 20];
int data[2] = {1, 2};
static const char constant[] = "constant";

static const char *what;
static unsigned long wanted;

static int tell(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        unsigned long start = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && wanted - start < header->p_memsz) {
            printf("AT %s %lx %lx\n", what, wanted, wanted - (unsigned long)info->dlpi_addr);
            return 1;
        }
    }
    return 0;
}

static void show(const char *name, const volatile void *address) {
    what = name;
    wanted = (unsigned long)address;
    if (!dl_iterate_phdr(tell, NULL)) abort();
}

int main(int count, char **words) {
    memory[sizeof memory - 1] = 1;
    show("code", (void *)main);
    show("constant", constant);
    show("data", &data[1]);
    show("memory", &memory[100]);
    show("end", &memory[sizeof memory - 1]);
#ifndef STATIC
    char name[64];
    const char *path = count > 1 ? words[count - 1] : NULL;
    if (count == 3 && !strcmp(words[1], "--memfd")) {
        int from = open(path, O_RDONLY), to = memfd_create("in memory", 0);
        char buffer[4096];
        for (ssize_t size; (size = read(from, buffer, sizeof buffer)) > 0;)
            if (write(to, buffer, size) != size) abort();
        sprintf(name, "/proc/self/fd/%d", to);
        path = name;
    }
    if (count == 4) {
        int from = open(words[2], O_RDONLY);
        long offset = strtol(words[3], NULL, 0);
        char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, from, offset);
        if (page == MAP_FAILED) abort();
        printf("MAPPED %lx\n", (unsigned long)page);
    } else if (path) {
        void *library = dlopen(path, RTLD_NOW);
        if (!library) abort();
        show("library", dlsym(library, "in_library"));
        show("library-memory", dlsym(library, "library_memory"));
    }
#endif
    puts("READY");
    fflush(stdout);
    for (;;) pause();
}

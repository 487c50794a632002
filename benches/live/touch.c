/* Memory that is touched in a pattern, and then updated at random in the touched pages.
 *
 *   touch MEBIBYTES every N | quarter
 *
 * Prints "ready" when the memory is touched. For each line with a number, it makes that many
 * updates and prints the nanoseconds of processor time that they took. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint64_t own_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    size_t pages = strtoull(words[1], 0, 10) << 8, block = 2u << 20;
    size_t step = count > 3 ? strtoull(words[3], 0, 10) : 0;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *memory = mmap(0, (pages << 12) + block, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (memory == MAP_FAILED) return 1;
    memory += block - (uintptr_t)memory % block;
    /* The list of touched pages is memory of its own. It is small: four bytes for each page. */
    uint32_t *touched = malloc(pages * sizeof *touched);
    size_t known = 0;
    for (size_t page = 0; page < pages; page++)
        if (step ? page % step == 0 : next() % 4 == 0) {
            memory[page << 12] = 1;
            touched[known++] = (uint32_t)page;
        }
    printf("ready\n");
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        uint64_t updates = strtoull(line, 0, 10), began = own_time();
        for (uint64_t n = 0; n < updates; n++) {
            uint64_t draw = next();
            size_t page = touched[(size_t)(((__uint128_t)(draw & 0xffffffffu) * known) >> 32)];
            *(uint64_t *)(memory + ((size_t)page << 12) + (draw >> 52) / 8 * 8) ^= draw;
        }
        printf("%" PRIu64 "\n", own_time() - began);
        fflush(stdout);
    }
    return 0;
}

/* Two tables of 6 MiB. The argument names the one that is used at random; each page of the other
   is stored to once. `malloc`, `mmap` and `bss` select how both are made. With `reused`, the tables
   have the same place, and the other one has it first. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (6UL << 20)

static char bss_first[BYTES]; /* bss first */
static char bss_second[BYTES]; /* bss second */

static char *mapped(void)
{
    return mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Allocations of the hot table, after some of the other one at the same place. */
static char *reused(int first_is_hot)
{
    char *hot = NULL;
    for (int i = 0; i < 6; i++) {
        free(hot);
        if ((i < 3) != first_is_hot)
            hot = malloc(BYTES); /* reused first */
        else
            hot = malloc(BYTES); /* reused second */
    }
    return hot;
}

int main(int argc, char **argv)
{
    char *first, *second;
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "reused") == 0) {
        first = second = reused(strcmp(argv[2], "first") == 0);
    } else if (strcmp(argv[1], "malloc") == 0) {
        first = malloc(BYTES); /* malloc first */
        second = malloc(BYTES); /* malloc second */
    } else if (strcmp(argv[1], "mmap") == 0) {
        first = mapped(); /* mmap first */
        second = mapped(); /* mmap second */
    } else {
        first = bss_first;
        second = bss_second;
    }
    char *hot = strcmp(argv[2], "first") == 0 ? first : second;
    for (unsigned long at = 0; at < BYTES; at += 512)
        first[at] = second[at] = 1;
    unsigned long state = 1, sum = 0;
    for (int i = 0; i < 50000; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        sum += hot[(state >> 33) % BYTES]++;
    }
    return sum == 1;
}

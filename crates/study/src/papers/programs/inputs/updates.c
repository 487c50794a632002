// Random updates of a table, each after the one before. Arguments: the MiB of the table, the
// millions of updates.
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    size_t words = atol(arguments[1]) << 17;
    long updates = atol(arguments[2]) * 1000000;
    unsigned long *table = malloc(words * sizeof *table), random = 88172645463325252ul;
    for (size_t at = 0; at < words; at++)
        table[at] = at;
    for (long number = 0; number < updates; number++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        // The next place depends on the word of this one.
        unsigned long *word = table + random % words;
        random += *word & 1;
        *word ^= random;
    }
    printf("%lx\n", table[7]);
}

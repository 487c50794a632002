// PageRank of a graph in a file, which is mapped. Arguments: the file, then the rounds; or the
// file, the vertices and the edges of each, to make it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long state = 88172645463325252ul;

static unsigned long drawn(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* Writes the number of vertices, the first edge of each, and the sources of all edges. */
static int make(const char *path, unsigned vertices, unsigned each) {
    FILE *file = fopen(path, "wb");
    unsigned heads[2] = {vertices, vertices * each};
    fwrite(heads, sizeof heads, 1, file);
    for (unsigned vertex = 0; vertex <= vertices; vertex++) {
        unsigned first = vertex * each;
        fwrite(&first, sizeof first, 1, file);
    }
    for (unsigned edge = 0; edge < vertices * each; edge++) {
        /* Citations: few vertices have most of the edges. */
        unsigned long one = drawn() % vertices, other = drawn() % vertices;
        unsigned source = one * other / vertices;
        fwrite(&source, sizeof source, 1, file);
    }
    return fclose(file);
}

int main(int count, char **arguments) {
    if (count > 3)
        return make(arguments[1], atoi(arguments[2]), atoi(arguments[3]));
    int file = open(arguments[1], O_RDONLY), rounds = atoi(arguments[2]);
    off_t size = lseek(file, 0, SEEK_END);
    const unsigned *graph = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (graph == MAP_FAILED)
        return 1;
    unsigned vertices = graph[0];
    const unsigned *first = graph + 2, *sources = first + vertices + 1;
    double *rank = malloc(vertices * sizeof *rank), *next = malloc(vertices * sizeof *next);
    for (unsigned vertex = 0; vertex < vertices; vertex++)
        rank[vertex] = 1.0 / vertices;
    for (int round = 0; round < rounds; round++) {
        for (unsigned vertex = 0; vertex < vertices; vertex++) {
            double sum = 0;
            for (unsigned edge = first[vertex]; edge < first[vertex + 1]; edge++)
                sum += rank[sources[edge]];
            next[vertex] = 0.15 / vertices + 0.85 * sum / (first[1] - first[0]);
        }
        double *old = rank;
        rank = next, next = old;
    }
    printf("%g\n", rank[1]);
}

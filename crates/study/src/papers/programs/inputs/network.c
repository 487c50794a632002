// Shortest distances in a random network of large nodes, by sweeps over all arcs: the pricing of a
// network simplex reads memory alike. Arguments: the nodes, the sweeps.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARCS = 4 };

struct node {
    struct node *heads[ARCS];
    int costs[ARCS];
    int distance;
    struct node *before;
};

int main(int count, char **arguments) {
    long nodes = atol(arguments[1]), sweeps = atol(arguments[2]), changes = 0;
    struct node *network = malloc(nodes * sizeof *network);
    unsigned long random = 88172645463325252ul;
    for (long number = 0; number < nodes; number++) {
        struct node *node = network + number;
        node->distance = number == 0 ? 0 : INT_MAX / 2;
        node->before = NULL;
        for (int arc = 0; arc < ARCS; arc++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            node->heads[arc] = network + random % nodes;
            node->costs[arc] = 1 + (random >> 40) % 1000;
        }
    }
    for (long sweep = 0; sweep < sweeps; sweep++)
        for (struct node *node = network; node < network + nodes; node++)
            for (int arc = 0; arc < ARCS; arc++) {
                struct node *head = node->heads[arc];
                int distance = node->distance + node->costs[arc];
                if (distance < head->distance) {
                    head->distance = distance;
                    head->before = node;
                    changes++;
                }
            }
    printf("%ld\n", changes);
}

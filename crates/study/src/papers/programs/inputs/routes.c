// Shortest routes over a map of hills, by A* with a binary heap. Each route joins two random
// places.
// Arguments: the side of the map, the routes.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
    unsigned route, cost;
    unsigned char height;
};
struct entry {
    unsigned key;
    int cell;
};

static struct place *map;
static struct entry *heap;
static long length, capacity;

static void push(unsigned key, int cell) {
    if (length == capacity) {
        capacity = 2 * capacity + 1024;
        heap = realloc(heap, capacity * sizeof *heap);
    }
    long at = length++;
    for (; at > 0 && heap[(at - 1) / 2].key > key; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = (struct entry){key, cell};
}

static struct entry pop(void) {
    struct entry first = heap[0], last = heap[--length];
    long at = 0;
    for (long below; (below = 2 * at + 1) < length; at = below) {
        below += below + 1 < length && heap[below + 1].key < heap[below].key;
        if (heap[below].key >= last.key)
            break;
        heap[at] = heap[below];
    }
    heap[at] = last;
    return first;
}

int main(int count, char **arguments) {
    long side = atol(arguments[1]), routes = atol(arguments[2]);
    map = calloc(side * side, sizeof *map);
    unsigned long random = 88172645463325252ul, total = 0;
    for (long cell = 0; cell < side * side; cell++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        map[cell].height = 1 + random % 9;
    }
    for (unsigned route = 1; route <= routes; route++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        long from = random % (side * side), to = (random >> 32) % (side * side);
        length = 0;
        map[from].route = route, map[from].cost = 0;
        push(0, from);
        while (length > 0) {
            struct entry entry = pop();
            long cell = entry.cell, x = cell % side, y = cell / side;
            if (cell == to)
                break;
            const long next[4] = {x > 0 ? cell - 1 : -1, x < side - 1 ? cell + 1 : -1,
                                  y > 0 ? cell - side : -1, y < side - 1 ? cell + side : -1};
            for (int way = 0; way < 4; way++) {
                if (next[way] < 0)
                    continue;
                struct place *place = map + next[way];
                unsigned cost = map[cell].cost + place->height;
                if (place->route == route && place->cost <= cost)
                    continue;
                place->route = route, place->cost = cost;
                long left = labs(next[way] % side - to % side) + labs(next[way] / side - to / side);
                push(cost + left, next[way]);
            }
        }
        total += map[to].cost;
    }
    printf("%lu\n", total);
}

// A netlist on a grid, placed by simulated annealing: two elements at a time change places.
// Arguments: the elements, the thousands of tried exchanges.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINKS = 5 };

struct place {
    int x, y;
};
struct element {
    struct place *place;
    struct element *links[LINKS];
    char name[32];
};

static unsigned long state = 88172645463325252ul;

static unsigned long drawn(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* The length of the wires of an element at a place. */
static long wires(const struct element *element, const struct place *place) {
    long length = 0;
    for (int link = 0; link < LINKS; link++) {
        const struct place *other = element->links[link]->place;
        length += labs((long)place->x - other->x) + labs((long)place->y - other->y);
    }
    return length;
}

int main(int count, char **arguments) {
    long all = atol(arguments[1]), tries = atol(arguments[2]) * 1000, kept = 0;
    long side = (long)sqrt((double)all) + 1;
    struct element *elements = malloc(all * sizeof *elements);
    struct place *places = malloc(all * sizeof *places);
    for (long number = 0; number < all; number++) {
        places[number] = (struct place){number % side, number / side};
        elements[number].place = places + number;
        snprintf(elements[number].name, sizeof elements->name, "element %ld", number);
        for (int link = 0; link < LINKS; link++)
            elements[number].links[link] = elements + drawn() % all;
    }
    double heat = 2000;
    for (long tried = 0; tried < tries; tried++) {
        struct element *one = elements + drawn() % all, *other = elements + drawn() % all;
        long change = wires(one, other->place) - wires(one, one->place)
            + wires(other, one->place) - wires(other, other->place);
        if (change < 0 || exp(-change / heat) * 4294967296.0 > (double)(drawn() >> 32)) {
            struct place *place = one->place;
            one->place = other->place;
            other->place = place;
            kept++;
        }
        heat *= 0.99999;
    }
    printf("%ld of %ld\n", kept, tries);
}

/* A rarefied gas in a box of cells, in the manner of mp3d: particles move, meet one other particle
   of their cell at most, and bounce at walls. The arguments are the numbers of particles and of
   steps. */
#include <stdio.h>
#include <stdlib.h>

struct particle {
    double place[3], speed[3];
};
struct cell {
    int waiting, collisions;
    double momentum[3];
};

enum { SIDE = 64 };

static unsigned long long state = 1;

static double uniform(void) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 11) / 9007199254740992.0;
}

int main(int count, char **arguments) {
    size_t all = count > 1 ? atoi(arguments[1]) : 1000;
    int steps = count > 2 ? atoi(arguments[2]) : 1;
    struct particle *particles = malloc(all * sizeof *particles);
    struct cell *cells = calloc(SIDE * SIDE * SIDE, sizeof *cells);
    for (size_t i = 0; i < all; i++) {
        for (int d = 0; d < 3; d++) {
            particles[i].place[d] = uniform() * SIDE;
            particles[i].speed[d] = uniform() * 2 - 1;
        }
    }
    for (int step = 0; step < steps; step++) {
        for (size_t i = 0; i < all; i++) {
            struct particle *one = &particles[i];
            int at = 0;
            for (int d = 0; d < 3; d++) {
                one->place[d] += one->speed[d];
                if (one->place[d] < 0 || one->place[d] >= SIDE) {
                    one->speed[d] = -one->speed[d];
                    one->place[d] += 2 * one->speed[d];
                }
                at = at * SIDE + (int)one->place[d];
            }
            struct cell *cell = &cells[at];
            for (int d = 0; d < 3; d++)
                cell->momentum[d] += one->speed[d];
            if (cell->waiting) {
                struct particle *other = &particles[cell->waiting - 1];
                for (int d = 0; d < 3; d++) {
                    double mean = (one->speed[d] + other->speed[d]) / 2;
                    double apart = (uniform() - 0.5) / 2;
                    one->speed[d] = mean + apart;
                    other->speed[d] = mean - apart;
                }
                cell->collisions++;
                cell->waiting = 0;
            } else {
                cell->waiting = i + 1;
            }
        }
    }
    printf("%d\n", cells[SIDE].collisions);
    return 0;
}

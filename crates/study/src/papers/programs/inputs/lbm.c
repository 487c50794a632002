// A fluid in a box of two dimensions, by the lattice-Boltzmann method: nine densities a cell, which
// move to the neighbours and collide. Arguments: the side of the box, the steps.
#include <stdio.h>
#include <stdlib.h>

static const int DX[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
static const int DY[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const double WEIGHT[9] = {4. / 9,  1. / 9,  1. / 9,  1. / 9, 1. / 9,
                                 1. / 36, 1. / 36, 1. / 36, 1. / 36};

int main(int count, char **arguments) {
    long side = atol(arguments[1]), steps = atol(arguments[2]), cells = side * side;
    double *now = malloc(9 * cells * sizeof *now), *next = malloc(9 * cells * sizeof *next);
    for (long cell = 0; cell < cells; cell++)
        for (int way = 0; way < 9; way++)
            now[9 * cell + way] = WEIGHT[way] * (1 + 0.001 * (cell % 17));
    for (long step = 0; step < steps; step++) {
        for (long y = 0; y < side; y++)
            for (long x = 0; x < side; x++) {
                double *cell = now + 9 * (y * side + x), rho = 0, ux = 0, uy = 0;
                for (int way = 0; way < 9; way++) {
                    rho += cell[way];
                    ux += cell[way] * DX[way];
                    uy += cell[way] * DY[way];
                }
                ux /= rho;
                uy /= rho;
                double square = 1.5 * (ux * ux + uy * uy);
                for (int way = 0; way < 9; way++) {
                    double along = 3 * (ux * DX[way] + uy * DY[way]);
                    double calm = WEIGHT[way] * rho * (1 + along + along * along / 2 - square);
                    long to_x = x + DX[way], to_y = y + DY[way];
                    to_x = to_x < 0 ? side - 1 : to_x == side ? 0 : to_x;
                    to_y = to_y < 0 ? side - 1 : to_y == side ? 0 : to_y;
                    next[9 * (to_y * side + to_x) + way] = cell[way] + 0.6 * (calm - cell[way]);
                }
            }
        double *swap = now;
        now = next;
        next = swap;
    }
    printf("%g\n", now[9 * (cells / 2)]);
}

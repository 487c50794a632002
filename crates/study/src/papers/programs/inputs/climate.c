// An atmosphere on a sphere: tracers move with the wind along rows, and each column mixes and
// radiates. Arguments: the columns around the globe, the steps.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 26, TRACERS = 4 };

int main(int count, char **arguments) {
    long around = atol(arguments[1]), rows = around / 2, steps = atol(arguments[2]);
    size_t cells = (size_t)around * rows * LEVELS;
    double *wind = malloc(cells * sizeof *wind), *heat = malloc(cells * sizeof *heat);
    double *tracers[TRACERS], *moved = malloc(cells * sizeof *moved);
    for (size_t at = 0; at < cells; at++) {
        wind[at] = 0.4 * sin(at % around * 6.28 / around);
        heat[at] = 250 + 40 * cos(at / around % rows * 3.14 / rows);
    }
    for (int tracer = 0; tracer < TRACERS; tracer++) {
        tracers[tracer] = malloc(cells * sizeof(double));
        for (size_t at = 0; at < cells; at++)
            tracers[tracer][at] = (double)(at * (tracer + 7) % 101) / 101;
    }
    for (long step = 0; step < steps; step++) {
        for (int tracer = 0; tracer < TRACERS; tracer++) {
            double *here = tracers[tracer];
            for (long line = 0; line < rows * LEVELS; line++)
                for (long x = 0; x < around; x++) {
                    size_t at = line * around + x;
                    size_t west = line * around + (x + around - 1) % around;
                    size_t east = line * around + (x + 1) % around;
                    double flow = wind[at] > 0 ? here[at] - here[west] : here[east] - here[at];
                    moved[at] = here[at] - wind[at] * flow;
                }
            tracers[tracer] = moved;
            moved = here;
        }
        /* The levels of a column lie far apart. */
        size_t layer = (size_t)around * rows;
        for (size_t column = 0; column < layer; column++) {
            double above = 0;
            for (int level = 0; level < LEVELS; level++) {
                size_t at = level * layer + column;
                double moist = tracers[0][at];
                above += moist * (heat[at] - 240) * 1e-3;
                heat[at] -= 1e-2 * above;
                tracers[0][at] = moist * 0.999 + tracers[1][at] * 1e-3;
            }
        }
    }
    printf("%g\n", heat[cells / 2]);
}

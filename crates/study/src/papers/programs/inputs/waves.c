/* Waves on a membrane, by finite differences in space and time. The arguments are the side of the
   grid and the number of steps. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    size_t side = count > 1 ? atoi(arguments[1]) : 64;
    int steps = count > 2 ? atoi(arguments[2]) : 1;
    double *before = calloc(side * side, sizeof(double));
    double *now = calloc(side * side, sizeof(double));
    double *next = calloc(side * side, sizeof(double));
    double *speed = malloc(side * side * sizeof(double));
    for (size_t i = 0; i < side * side; i++)
        speed[i] = i / side < side / 2 ? 0.25 : 0.1;
    now[side * (side / 2) + side / 2] = before[side * (side / 2) + side / 2] = 1;
    for (int step = 0; step < steps; step++) {
        for (size_t y = 1; y + 1 < side; y++) {
            for (size_t x = 1; x + 1 < side; x++) {
                size_t at = y * side + x;
                double bend = now[at - 1] + now[at + 1] + now[at - side] + now[at + side];
                next[at] = 2 * now[at] - before[at] + speed[at] * (bend - 4 * now[at]);
            }
        }
        double *oldest = before;
        before = now;
        now = next;
        next = oldest;
    }
    printf("%g\n", now[side + 1]);
    return 0;
}

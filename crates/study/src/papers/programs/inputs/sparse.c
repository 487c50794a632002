// Conjugate gradients on a sparse matrix whose rows have neighbours and random columns.
// Arguments: the rows, the iterations.
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES = 12 };

int main(int count, char **arguments) {
    long rows = atol(arguments[1]), iterations = atol(arguments[2]);
    int *columns = malloc(rows * ENTRIES * sizeof *columns);
    double *values = malloc(rows * ENTRIES * sizeof *values);
    double *x = calloc(rows, sizeof *x), *residual = malloc(rows * sizeof *x);
    double *direction = malloc(rows * sizeof *x), *image = malloc(rows * sizeof *x);
    unsigned long random = 88172645463325252ul;
    for (long entry = 0; entry < rows * ENTRIES; entry++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        long row = entry / ENTRIES, place = entry % ENTRIES;
        columns[entry] = place == 0 ? row : place < 5 ? (row + place) % rows : random % rows;
        values[entry] = place == 0 ? 2.0 * ENTRIES : -1.0;
    }
    double before = 0;
    for (long row = 0; row < rows; row++) {
        residual[row] = direction[row] = 1.0 + row % 3;
        before += residual[row] * residual[row];
    }
    for (long iteration = 0; iteration < iterations; iteration++) {
        double along = 1e-30, after = 0;
        for (long row = 0; row < rows; row++) {
            double sum = 0;
            for (long entry = row * ENTRIES; entry < (row + 1) * ENTRIES; entry++)
                sum += values[entry] * direction[columns[entry]];
            image[row] = sum;
            along += sum * direction[row];
        }
        double step = before / along;
        for (long row = 0; row < rows; row++) {
            x[row] += step * direction[row];
            residual[row] -= step * image[row];
            after += residual[row] * residual[row];
        }
        for (long row = 0; row < rows; row++)
            direction[row] = residual[row] + after / before * direction[row];
        before = after;
    }
    printf("%g\n", x[rows / 2]);
}

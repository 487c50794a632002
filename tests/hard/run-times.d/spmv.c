// Products of a sparse matrix in rows with a vector: random places of the vector, the rest in
// order.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { ROWS = 1 << 20, EACH = 16, ROUNDS = 10 };
  unsigned *columns = malloc(sizeof(unsigned) * ROWS * EACH);
  float *values = malloc(sizeof(float) * ROWS * EACH);
  double *from = malloc(sizeof(double) * ROWS), *to = malloc(sizeof(double) * ROWS);
  unsigned state = 7;
  for (long i = 0; i < (long)ROWS * EACH; i++) {
    state = state * 1664525u + 1013904223u;
    columns[i] = (state >> 8) % ROWS, values[i] = (float)(state >> 20) / 4096;
  }
  for (long i = 0; i < ROWS; i++) from[i] = 1.0 / (i + 1);
  for (int round = 0; round < ROUNDS; round++) {
    for (long row = 0; row < ROWS; row++) {
      double sum = 0;
      for (long i = row * EACH; i < (row + 1) * EACH; i++) sum += values[i] * from[columns[i]];
      to[row] = sum / EACH;
    }
    double *kept = from;
    from = to, to = kept;
  }
  printf("%g\n", from[17]);
  return 0;
}

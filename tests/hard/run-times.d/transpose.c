// Transpositions of a matrix: one side of each copy goes down a column, a page for each element.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { SIDE = 3000 };
  double *from = malloc(sizeof(double) * SIDE * SIDE), *to = malloc(sizeof(double) * SIDE * SIDE);
  for (long i = 0; i < (long)SIDE * SIDE; i++) from[i] = i;
  for (int round = 0; round < 16; round++) {
    for (long row = 0; row < SIDE; row++)
      for (long column = 0; column < SIDE; column++) to[column * SIDE + row] = from[row * SIDE + column] + round;
    double *kept = from;
    from = to, to = kept;
  }
  printf("%f\n", from[SIDE + 1]);
  return 0;
}

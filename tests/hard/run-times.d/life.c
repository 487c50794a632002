// Conway's game of life on a torus: every access is in order.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { SIDE = 4096, ROUNDS = 10 };
  uint8_t *now = malloc(SIDE * SIDE), *next = malloc(SIDE * SIDE);
  uint32_t state = 3;
  for (long i = 0; i < SIDE * SIDE; i++) state = state * 1664525u + 1013904223u, now[i] = state >> 31;
  for (int round = 0; round < ROUNDS; round++) {
    for (long y = 0; y < SIDE; y++) {
      const uint8_t *up = now + (y + SIDE - 1) % SIDE * SIDE, *here = now + y * SIDE;
      const uint8_t *down = now + (y + 1) % SIDE * SIDE;
      for (long x = 1; x < SIDE - 1; x++) {
        int n = up[x - 1] + up[x] + up[x + 1] + here[x - 1] + here[x + 1] + down[x - 1] + down[x] + down[x + 1];
        next[y * SIDE + x] = n == 3 || (n == 2 && here[x]);
      }
    }
    uint8_t *kept = now;
    now = next, next = kept;
  }
  long alive = 0;
  for (long i = 0; i < SIDE * SIDE; i++) alive += now[i];
  printf("%ld\n", alive);
  return 0;
}

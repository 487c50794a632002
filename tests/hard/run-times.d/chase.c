// A walk over a list whose nodes are in random order: each load waits for the one before.
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { NODES = 96 << 14, WORDS = 8 };
  size_t *nodes = malloc(sizeof(size_t) * NODES * WORDS);
  size_t *order = malloc(sizeof(size_t) * NODES);
  for (size_t i = 0; i < NODES; i++) order[i] = i;
  unsigned long long state = 88172645463325252ULL;
  for (size_t i = NODES - 1; i > 0; i--) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    size_t j = state % i, kept = order[i];
    order[i] = order[j], order[j] = kept;
  }
  for (size_t i = 0; i < NODES; i++) nodes[order[i] * WORDS] = order[(i + 1) % NODES];
  free(order);
  size_t at = 0;
  for (long i = 0; i < 6000000; i++) at = nodes[at * WORDS];
  printf("%zu\n", at);
  return 0;
}

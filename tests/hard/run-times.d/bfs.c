// Breadth-first searches of a random graph in rows.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  enum { NODES = 1 << 20, EACH = 8, SEARCHES = 12 };
  uint32_t *edges = malloc(sizeof(uint32_t) * NODES * EACH), *queue = malloc(sizeof(uint32_t) * NODES);
  uint32_t *depth = malloc(sizeof(uint32_t) * NODES), state = 5;
  for (long i = 0; i < (long)NODES * EACH; i++) state = state * 1664525u + 1013904223u, edges[i] = (state >> 7) % NODES;
  uint64_t sum = 0;
  for (uint32_t search = 0; search < SEARCHES; search++) {
    memset(depth, 255, sizeof(uint32_t) * NODES);
    long from = 0, to = 1;
    queue[0] = search * 1001, depth[queue[0]] = 0;
    while (from < to) {
      uint32_t node = queue[from++];
      for (long i = (long)node * EACH; i < ((long)node + 1) * EACH; i++)
        if (depth[edges[i]] == UINT32_MAX) depth[edges[i]] = depth[node] + 1, queue[to++] = edges[i];
    }
    for (long i = 0; i < NODES; i++) sum += depth[i] == UINT32_MAX ? 0 : depth[i];
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}

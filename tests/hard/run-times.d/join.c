// A hash join: a table of chains over one relation, probed by another.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct { uint32_t key, next; uint64_t payload; } Row;

int main(void) {
  enum { BUILD = 2 << 20, PROBES = 28 << 20, BUCKETS = 1 << 21 };
  Row *rows = malloc(sizeof(Row) * BUILD);
  uint32_t *heads = calloc(BUCKETS, sizeof(uint32_t));
  uint64_t state = 99, sum = 0;
  for (uint32_t i = 1; i < BUILD; i++) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    uint32_t key = state >> 40, bucket = key * 2654435761u >> 11;
    rows[i] = (Row){key, heads[bucket], i}, heads[bucket] = i;
  }
  for (long i = 0; i < PROBES; i++) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    uint32_t key = state >> 40;
    for (uint32_t at = heads[key * 2654435761u >> 11]; at; at = rows[at].next)
      if (rows[at].key == key) sum += rows[at].payload;
  }
  printf("%llu\n", (unsigned long long)sum);
  return 0;
}

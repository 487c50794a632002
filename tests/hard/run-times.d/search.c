// Binary searches in a sorted array.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  enum { NUMBERS = 24 << 20 };
  uint64_t *sorted = malloc(sizeof(uint64_t) * NUMBERS);
  for (size_t i = 0; i < NUMBERS; i++) sorted[i] = 7 * i;
  uint64_t state = 12345, found = 0;
  for (long i = 0; i < 2500000; i++) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    uint64_t wanted = (state >> 20) % (7ULL * NUMBERS);
    size_t low = 0, high = NUMBERS;
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (sorted[middle] < wanted) low = middle + 1; else high = middle;
    }
    found += low;
  }
  printf("%llu\n", (unsigned long long)found);
  return 0;
}

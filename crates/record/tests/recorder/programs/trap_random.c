/* A hot set, and random pages of 8 MiB. */
#define WITHOUT_LIBRARY
#include "traps.h"

static char memory[8 << 20] __attribute__((aligned(4096)));

int run(void)
{
   unsigned char sum = 0;
   for (long i = 0; i < 20000; i++) {
      sum += memory[random_number() % 2048 * 4096 + (i & 4095)]++;
      for (int page = 0; page < 20; page++)
         sum += memory[page * 4096 + (i & 63)];
   }
   return sum & 0;
}

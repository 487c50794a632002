/* Moves between pages that have one set of a direct-mapped TLB of 64 entries. */
#define WITHOUT_LIBRARY
#include "traps.h"

static char memory[1 << 20] __attribute__((aligned(4096)));

int run(void)
{
   for (int round = 0; round < 3; round++) {
      void *to = memory + (64 << 12) + 128, *from = memory + 256;
      memory[256] = 7;
      __asm__ volatile("movsq" : "+D"(to), "+S"(from)::"memory");
   }
   return memory[(64 << 12) + 128];
}

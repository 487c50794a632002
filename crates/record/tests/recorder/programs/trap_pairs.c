/* Instructions that refer to several pages: accesses across pages, and moves between memories. */
#define WITHOUT_LIBRARY
#include "traps.h"

static char memory[4 << 20] __attribute__((aligned(4096)));

int run(void)
{
   unsigned long sum = 0;
   for (long i = 0; i < 10000; i++) {
      unsigned long number = random_number();
      char *        one = memory + number % 1000 * 4096;
      char *        other = memory + (number >> 20) % 1000 * 4096;
      sum += *(long*)(one + 4092);
      *(long*)(other + 4093) = sum;
      __asm__ volatile("lock xaddq %0, (%1)" : "+r"(sum) : "r"(one + 16) : "memory");
      __asm__ volatile("pushq (%0); popq (%1)" ::"r"(one + 64), "r"(other + 72) : "memory");
      void *to = one + 128, *from = other + 256;
      __asm__ volatile("movsq" : "+D"(to), "+S"(from)::"memory");
   }
   return sum & 0;
}

/* A transposition, and string instructions whose iterations begin again one by one. */
#define WITHOUT_LIBRARY
#include "traps.h"

static long from[256 * 256] __attribute__((aligned(4096)));
static long to[256 * 256];

int run(void)
{
   for (int row = 0; row < 256; row++)
      for (int column = 0; column < 256; column++)
         to[column * 256 + row] = from[row * 256 + column] + row;
   for (long round = 1; round < 20; round++) {
      void *end = (char*)to + round * 13, *start = (char*)from + round * 4097;
      long  bytes = 30000;
      __asm__ volatile("rep movsb" : "+D"(end), "+S"(start), "+c"(bytes)::"memory");
      void* words = (char*)from + round * 8000;
      long  count = 5000;
      __asm__ volatile("rep stosq" : "+D"(words), "+c"(count) : "a"(0L) : "memory");
   }
   return 0;
}

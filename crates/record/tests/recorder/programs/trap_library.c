/* A dynamically linked program: sorting and searching by the library, with calls back. */
#include "traps.h"
#include <search.h>
#include <stdlib.h>

static int compare(const void* one, const void* other)
{
   unsigned long a = *(const unsigned long*)one, b = *(const unsigned long*)other;
   return (a > b) - (a < b);
}

int run(void)
{
   static unsigned long numbers[1 << 15];
   void*                tree = NULL;
   for (long i = 0; i < 1 << 15; i++)
      numbers[i] = random_number();
   qsort(numbers, 1 << 14, sizeof *numbers, compare);
   for (long i = 0; i < 1 << 12; i++)
      tsearch(&numbers[(i * 40503) & ((1 << 15) - 1)], &tree, compare);
   long found = 0;
   for (long i = 0; i < 1 << 14; i++)
      found += bsearch(&numbers[i * 2], numbers, 1 << 14, sizeof *numbers, compare) != NULL;
   return found < 0;
}

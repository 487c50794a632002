/* A sort by recursion, and a table of sums: the stack, and pages without an order. */
#define WITHOUT_LIBRARY
#include "traps.h"

static unsigned long numbers[1 << 16], sums[1 << 17];

static void sort(long low, long high)
{
   while (low < high) {
      unsigned long middle = numbers[(low + high) / 2];
      long          left = low, right = high;
      while (left <= right) {
         while (numbers[left] < middle)
            left++;
         while (numbers[right] > middle)
            right--;
         if (left <= right) {
            unsigned long moved = numbers[left];
            numbers[left++] = numbers[right];
            numbers[right--] = moved;
         }
      }
      sort(low, right);
      low = left;
   }
}

int run(void)
{
   for (long i = 0; i < 1 << 16; i++)
      numbers[i] = random_number();
   sort(0, (1 << 16) - 1);
   for (long i = 0; i < 1 << 14; i++)
      sums[(numbers[i] * 0x9e3779b97f4a7c15UL) >> 47] += i;
   return 0;
}

/* A dynamically linked program: lists in the heap, which grows, and mappings that come and go. */
#include "traps.h"
#include <stdlib.h>

struct Node {
   struct Node* next;
   long         value[30];
};

int run(void)
{
   struct Node* all = NULL;
   long         sum = 0;
   for (long i = 0; i < 8000; i++) {
      struct Node* node = malloc(sizeof *node);
      node->next = all;
      node->value[i % 30] = i;
      all = node;
   }
   for (int round = 0; round < 10; round++)
      for (struct Node* node = all; node; node = node->next)
         sum += node->value[round]++;
   for (int round = 0; round < 8; round++) {
      char* large = malloc(1 << 20);
      for (long i = 0; i < 1 << 20; i += 4096)
         large[i] = sum;
      free(large);
   }
   while (all) {
      struct Node* next = all->next;
      free(all);
      all = next;
   }
   return sum & 0;
}

/* Three threads at once, each with pages of its own. Argument: a file for the address of the first.
   Thread i has 16 pages at 64 i pages. */
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
static char* pages;

static void* work(void* which)
{
   volatile char* mine = pages + (long)which * 64 * PAGE;
   for (int i = 0; i < 200000; i++)
      mine[i % 16 * PAGE]++;
   return NULL;
}

int main(int argc, char** argv)
{
   pthread_t t[3];
   if (argc < 2)
      return 2;
   pages = mmap(NULL, 256 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   FILE* out = fopen(argv[1], "w");
   fprintf(out, "%lx\n", (unsigned long)pages);
   fclose(out);
   for (long i = 0; i < 3; i++)
      pthread_create(&t[i], NULL, work, (void*)i);
   for (int i = 0; i < 3; i++)
      pthread_join(t[i], NULL);
   return 0;
}

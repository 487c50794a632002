/* Changes its memory over and over: random updates, new and freed mappings, moved pages, discarded
   pages and a heap that grows and shrinks. Each run makes the same references. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define TABLE (600 * PAGE)
#define PART (40 * PAGE)

static unsigned long state = 1;

static unsigned long next(unsigned long below)
{
   state = state * 6364136223846793005ul + 1442695040888963407ul;
   return (state >> 33) % below;
}

static char* memory(unsigned long bytes)
{
   return mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(int argc, char** argv)
{
   volatile char* table = memory(TABLE);
   volatile char* loaded = memory(TABLE);
   int            file = open(argv[0], O_RDONLY);
   volatile char* read_only = mmap(0, 40 * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
   volatile char* copied = mmap(0, 40 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
   volatile char  sum = 0;
   for (int round = 0; round < 40; round++) {
      for (int i = 0; i < 2000; i++)
         table[next(TABLE * (round + 1) / 40)]++;
      for (int i = 0; i < 20; i++)
         sum += loaded[next(TABLE)];
      sum += read_only[next(40 * PAGE)];
      copied[next(40 * PAGE)] = 1;
      char* part = memory(PART);
      for (int i = 0; i < 30; i++)
         ((volatile char*)part)[next(PART)] = 1;
      part = mremap(part, PART, 2 * PART, MREMAP_MAYMOVE);
      madvise(part, PART / 2, MADV_DONTNEED);
      for (int i = 0; i < 30; i++)
         sum += ((volatile char*)part)[next(2 * PART)];
      if (round % 3)
         munmap(part, PART);
      char* end = sbrk(round % 4 == 3 ? -PART : PART);
      if (round % 4 != 3)
         for (int i = 0; i < 10; i++)
            ((volatile char*)end)[next(PART)] = 1;
   }
   return sum == 123 ? 1 : 0;
}

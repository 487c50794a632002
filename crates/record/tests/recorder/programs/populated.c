/* Populates memory by system calls, each in a mapping of a different size for the test. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ul
#define POPULATE_READ 22
#define POPULATE_WRITE 23

static char* map(size_t pages, int more)
{
   int   flags = MAP_PRIVATE | MAP_ANONYMOUS | more;
   char* p = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
   if (p == MAP_FAILED)
      exit(3);
   return p;
}

int main(void)
{
   madvise(map(11, 0), 11 * PAGE, POPULATE_READ);
   madvise(map(12, 0), 12 * PAGE, POPULATE_WRITE);
   map(13, MAP_POPULATE);
   if (mlock(map(14, 0), 14 * PAGE))
      return 4;
   if (syscall(SYS_mlock2, map(15, 0), 15 * PAGE, 1 /* MLOCK_ONFAULT */))
      return 5;
   map(16, MAP_LOCKED);
   char* buffer = map(17, 0);
   int   file = open("/dev/zero", O_RDONLY);
   for (int i = 0; i < 1000; i++) /* the same pages each time */
      if (read(file, buffer, 17 * PAGE) != (ssize_t)(17 * PAGE))
         return 6;
   /* More than 64 MiB takes several events. */
   madvise(map(20000, 0), 20000 * PAGE, POPULATE_READ);
   return 0;
}

/* Moves pages and leaves their mapping (MREMAP_DONTUNMAP): the old place then reads as zeroes. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#define BYTES (40 * 4096ul)

/* Without MREMAP_FIXED, the C library of Debian 12 does not pass the address to the kernel. */
static char* move(char* from, int flags, char* to)
{
   flags |= MREMAP_MAYMOVE | MREMAP_DONTUNMAP;
   return (char*)syscall(SYS_mremap, from, BYTES, BYTES, flags, to);
}

int main(void)
{
   char* old = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   for (unsigned long i = 0; i < BYTES; i += 4096)
      old[i] = 7;
   char* new = move(old, 0, 0);
   if (new == MAP_FAILED || new == old)
      return 1;
   for (unsigned long i = 0; i < BYTES; i += 4096)
      if (new[i] != 7 || old[i] != 0)
         return 2;
   /* A place of the program's own choice. */
   char* there = mmap(0, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   if (move(new, MREMAP_FIXED, there) != there)
      return 3;
   return there[0] == 7 && new[4096] == 0 ? 0 : 4;
}

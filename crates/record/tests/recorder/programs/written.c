/* Writes memory of which a system call reads only a part. Each call names a length of 64 TiB, and
   the mapped pages end much earlier. The last call writes 40 pages to a pipe that has room for 16.
   */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096l
#define HUGE_LENGTH (0x7fffffffffff >> 1)

/* Maps pages without a mapping after them. */
static char* map(long pages)
{
   static char* at = (char*)(1l << 32);
   at += 1l << 30;
   int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
   if (mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0) != at)
      exit(9);
   return at;
}

int main(int argc, char** argv)
{
   int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600), ends[2];
   if (write(file, map(18), HUGE_LENGTH) != 18 * PAGE)
      return 1;
   if (pwrite(file, map(19), HUGE_LENGTH, 0) != 19 * PAGE)
      return 2;
   struct iovec part = {map(21), HUGE_LENGTH};
   if (writev(file, &part, 1) != 21 * PAGE)
      return 3;
   if (pipe2(ends, O_NONBLOCK) || write(ends[1], map(40), 40 * PAGE) != 16 * PAGE)
      return 4;
   return 0;
}

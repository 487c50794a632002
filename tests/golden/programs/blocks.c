/* Takes 2 MiB blocks through everything that a policy can meet: fully and sparsely touched, read and written, unmapped,
   protected, moved and given back in part, of anonymous memory, a file and shared memory. It has no libc and takes no input, so
   that a recording of it is small and always the same. The pages that it touches are chosen by arithmetic. */
#include <asm/unistd.h>

#define PAGE 4096UL
#define BLOCK (512 * PAGE)

enum { READ = 1, WRITE = 2 };
enum { SHARED = 1, PRIVATE = 2, FIXED = 16, ANONYMOUS = 32 };
enum { MAYMOVE = 1, FIXED_PLACE = 2 };
enum { DONTNEED = 4, HUGEPAGE = 14, NOHUGEPAGE = 15 };

static long call(long number, long a, long b, long c, long d, long e, long f)
{
   register long r10 __asm__("r10") = d;
   register long r8 __asm__("r8") = e;
   register long r9 __asm__("r9") = f;
   long          result;
   __asm__ volatile("syscall"
                    : "=a"(result)
                    : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                    : "rcx", "r11", "memory");
   return result;
}

static volatile char* map_at(unsigned long start, unsigned long length, long rights, long flags, long fd)
{
   return (volatile char*)call(__NR_mmap, (long)start, (long)length, rights, flags | (start ? FIXED : 0), fd, 0);
}

/* One load or store in each of `count` pages, `stride` pages apart. */
static void load(volatile char* from, unsigned long count, unsigned long stride)
{
   for (unsigned long i = 0; i < count; i++)
      (void)from[i * stride * PAGE + i % 64 * 64];
}

static void store(volatile char* to, unsigned long count, unsigned long stride)
{
   for (unsigned long i = 0; i < count; i++)
      to[i * stride * PAGE + i % 64 * 64] = 1;
}

void _start(void)
{
   const unsigned long base = 0x40000000; /* a 2 MiB boundary, far from everything */

   /* Eight blocks: a few pages, 64, 128, 256, 461 and 511 pages written, all read, all written; one more that is half a block. */
   volatile char* a = map_at(base, 8 * BLOCK + BLOCK / 2, READ | WRITE, PRIVATE | ANONYMOUS, -1);
   store(a, 5, 100);
   store(a + BLOCK, 64, 8);
   store(a + 2 * BLOCK, 128, 4);
   store(a + 3 * BLOCK, 256, 2);
   store(a + 4 * BLOCK, 461, 1);
   store(a + 5 * BLOCK, 511, 1);
   load(a + 6 * BLOCK, 512, 1);
   store(a + 7 * BLOCK, 512, 1);
   store(a + 8 * BLOCK, 256, 1);
   store(a + 6 * BLOCK, 1, 1);   /* breaks what was made clean */
   store(a + 6 * BLOCK, 512, 1); /* and makes all of it dirty */

   /* Parts go and come back: unmapped, given back, protected, with other rights. */
   call(__NR_munmap, (long)(a + 7 * BLOCK + 100 * PAGE), 50 * PAGE, 0, 0, 0, 0);
   call(__NR_madvise, (long)(a + 5 * BLOCK), 256 * PAGE, DONTNEED, 0, 0, 0);
   load(a + 5 * BLOCK, 512, 1);
   call(__NR_mprotect, (long)(a + 4 * BLOCK), 10 * PAGE, READ, 0, 0, 0);
   load(a + 4 * BLOCK, 512, 1);
   call(__NR_mprotect, (long)(a + 4 * BLOCK), 10 * PAGE, READ | WRITE, 0, 0, 0);
   store(a + 4 * BLOCK, 512, 1);
   call(__NR_mprotect, (long)(a + 3 * BLOCK), BLOCK, READ, 0, 0, 0);
   load(a + 3 * BLOCK, 512, 1);

   /* Moved as a whole block, and moved out of step with blocks. */
   volatile char* b = (volatile char*)call(__NR_mremap, (long)(a + 2 * BLOCK), BLOCK, BLOCK, MAYMOVE | FIXED_PLACE,
                                           (long)(base + 16 * BLOCK), 0);
   store(b, 512, 1);
   b = (volatile char*)call(__NR_mremap, (long)(a + BLOCK), BLOCK, BLOCK, MAYMOVE | FIXED_PLACE,
                            (long)(base + 20 * BLOCK + 3 * PAGE), 0);
   store(b, 512, 1);

   /* Advice. */
   volatile char* c = map_at(base + 24 * BLOCK, 3 * BLOCK, READ | WRITE, PRIVATE | ANONYMOUS, -1);
   call(__NR_madvise, (long)c, BLOCK, NOHUGEPAGE, 0, 0, 0);
   call(__NR_madvise, (long)(c + BLOCK), BLOCK, HUGEPAGE, 0, 0, 0);
   store(c, 100, 1);
   store(c + BLOCK, 100, 1);

   /* A file of three blocks and a half, read and written; shared memory. */
   long fd = call(__NR_open, (long)"blocks.data", 2 | 0100, 0600, 0, 0, 0); /* O_RDWR | O_CREAT */
   call(__NR_ftruncate, fd, 3 * BLOCK + BLOCK / 2, 0, 0, 0, 0);
   volatile char* f = map_at(base + 32 * BLOCK, 3 * BLOCK + BLOCK / 2, READ | WRITE, SHARED, fd);
   load(f, 70, 7);
   store(f + BLOCK, 300, 1);
   load(f + 2 * BLOCK, 512, 1);
   store(f + 2 * BLOCK, 1, 1);
   load(f + 3 * BLOCK, 256, 1);
   volatile char* s = map_at(base + 40 * BLOCK, 2 * BLOCK, READ | WRITE, SHARED | ANONYMOUS, -1);
   store(s, 130, 3);

   /* Wandering over 24 MiB, four times the reach of Skylake's second level: most of what the TLBs see. */
   volatile char* w = map_at(base + 48 * BLOCK, 12 * BLOCK, READ | WRITE, PRIVATE | ANONYMOUS, -1);
   unsigned long  at = 1;
   for (unsigned long i = 0; i < 30000; i++) {
      at = at * 6364136223846793005UL + 1442695040888963407UL;
      unsigned long page = (at >> 33) % (12 * 512);
      if (i % 4)
         (void)w[page * PAGE];
      else
         w[page * PAGE] = 1;
   }
   /* An access that straddles two pages, and two blocks. */
   *(volatile long*)(w + PAGE - 4) = 1;
   (void)*(volatile long*)(w + BLOCK - 4);

   call(__NR_munmap, (long)w, 12 * BLOCK, 0, 0, 0, 0);
   call(__NR_exit_group, 0, 0, 0, 0, 0, 0);
   __builtin_unreachable();
}

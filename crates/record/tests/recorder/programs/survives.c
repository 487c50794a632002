/* Faults twice, with a handler that does not ask for the address, and continues. Before, between
   and after the faults it stores to 64 pages, 1000 times each. Between the faults it executes the
   faulting store without a fault. */
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

enum { PAGES = 64, TIMES = 1000, PAGE = 4096 };
#define PLACE ((volatile char*)0x10000000000)

static sigjmp_buf back;

static void on_fault(int signal) { siglongjmp(back, signal); }

__attribute__((noinline)) static void touch(void)
{
   for (int i = 0; i < TIMES; i++)
      for (int page = 0; page < PAGES; page++)
         PLACE[page * PAGE] = i;
}

/* The store that faults is the last of a block, so all places of the block are noted before it, and
   none is written. */
__attribute__((noinline)) static void fault(volatile char* forbidden)
{
   __asm__ volatile("lea 1f(%%rip), %%rdx\n\tmovb $1, (%0)\n\tmovb $1, (%1)\n\tjmp *%%rdx\n1:"
                    :
                    : "r"(PLACE + PAGES * PAGE), "r"(forbidden)
                    : "memory", "rdx");
}

int main(void)
{
   int   flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
   char* at = mmap((void*)PLACE, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
   char* forbidden = mmap(0, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   if (at == MAP_FAILED || forbidden == MAP_FAILED)
      return 1;
   signal(SIGSEGV, on_fault);
   touch();
   for (volatile int i = 0; i < 3; i++) { /* a single call, so that the block is the same */
      mprotect(forbidden, PAGE, i == 1 ? PROT_READ | PROT_WRITE : PROT_NONE);
      if (sigsetjmp(back, 1) == 0)
         fault(forbidden);
      touch();
   }
   return 0;
}

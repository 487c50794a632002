/* Signals at any moment: a timer whose handler stores, jumps out of handlers, handlers in handlers,
   a handler on a stack of its own, and a write barrier made of faults. The accesses of the
   program's own loop do not depend on the times of signals. Arguments: "timer", or another word for
   signals at the same places each time; a file for the addresses. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 64 };

static volatile sig_atomic_t ticks, nested, jumps;
static char*                 seen;    /* pages that only the timer's handler stores to */
static char*                 barrier; /* pages that fault at their first store */
static sigjmp_buf            back;
static volatile sig_atomic_t may_jump;

static void on_user(int signal)
{
   (void)signal;
   nested++;
   seen[PAGE] = nested;
}

static void on_alarm(int signal)
{
   (void)signal;
   ticks++;
   *(volatile char*)seen = ticks;
   if (ticks % 3 == 0)
      raise(SIGUSR1);
   if (may_jump) {
      may_jump = 0;
      jumps++;
      siglongjmp(back, 1);
   }
}

static void on_fault(int signal, siginfo_t* info, void* context)
{
   (void)signal;
   (void)context;
   char* page = (char*)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
   if (page < barrier || page >= barrier + 2 * PAGES * PAGE)
      _exit(3);
   mprotect(page, PAGE, PROT_READ | PROT_WRITE);
   seen[2 * PAGE]++;
}

static void* map(size_t bytes, int protection)
{
   void* at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   if (at == MAP_FAILED)
      _exit(4);
   return at;
}

int main(int argc, char** argv)
{
   if (argc < 3)
      return 2;
   int timer = strcmp(argv[1], "timer") == 0;
   struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK};
   stack_t          stack = {.ss_sp = map(16 * PAGE, PROT_READ | PROT_WRITE), .ss_size = 16 * PAGE};
   seen = map(3 * PAGE, PROT_READ | PROT_WRITE);
   barrier = map(2 * PAGES * PAGE, PROT_READ);
   sigaltstack(&stack, NULL);
   sigaction(SIGALRM, &action, NULL);
   action.sa_handler = on_user;
   action.sa_flags = 0;
   sigaction(SIGUSR1, &action, NULL);
   action.sa_sigaction = on_fault;
   action.sa_flags = SA_SIGINFO;
   sigaction(SIGSEGV, &action, NULL);
   struct itimerval often = {{0, 1000}, {0, 1000}};
   if (timer)
      setitimer(ITIMER_REAL, &often, NULL);

   /* The loop: 64 rounds over 64 pages, with a load and a store each. The asm keeps the compiler
      from adding references. */
   volatile char* loop = map(PAGES * PAGE, PROT_READ | PROT_WRITE);
   for (int round = 0; round < 640; round++)
      for (int page = 0; page < PAGES; page++)
         __asm__ volatile("movb (%0), %%al\n\tincb %%al\n\tmovb %%al, (%0)"
                          :
                          : "r"(loop + page * PAGE)
                          : "al", "memory");
   /* The barrier: three stores to each page, the first of which faults, each after a load in the
      same block. */
   for (int round = 0; round < 3; round++)
      for (int page = 0; page < PAGES; page++) {
         char* at = barrier + page * PAGE;
         __asm__ volatile("movb 1(%0), %%al\n\tmovb %%al, (%0)\n\tmovb 2(%0), %%al"
                          :
                          : "r"(at)
                          : "al", "memory");
      }
   /* A register must hold the same value when a store faults and when the store is tried again. */
   unsigned long once = 0, twice = 0;
   for (int round = 0; round < 3; round++) {
      char *at = barrier + PAGES * PAGE, *end = at + PAGES * PAGE;
      __asm__ volatile("1:\n\tincq %1\n\taddq $3, %2\n\tmovb %b1, (%0)\n\taddq $5, %2\n\t"
                       "addq $4096, %0\n\tcmpq %3, %0\n\tjb 1b"
                       : "+r"(at), "+r"(once), "+r"(twice)
                       : "r"(end)
                       : "memory", "cc");
   }
   if (once != 3 * PAGES || twice != 8 * once)
      return 7;
   if (*(unsigned char*)(seen + 2 * PAGE) != 2 * PAGES)
      return 5;
   if (timer) {
      for (int i = 0; i < 20; i++)
         if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            for (volatile unsigned spin = 0; may_jump; spin++)
               loop[spin % (PAGES * PAGE)] = 0;
         }
      if (jumps != 20 || nested == 0)
         return 6;
   } else {
      raise(SIGALRM), raise(SIGALRM), raise(SIGALRM);
   }
   memset(&often, 0, sizeof often);
   setitimer(ITIMER_REAL, &often, NULL);
   FILE* out = fopen(argv[2], "w");
   fprintf(out, "%lx %lx %lx\n", (unsigned long)loop, (unsigned long)barrier, (unsigned long)seen);
   return fclose(out);
}

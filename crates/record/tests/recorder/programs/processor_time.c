/* Reads its processor time while it executes short and long blocks, then in a child. The exit
   status names the rule that a clock broke. */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef REAL_CLOCK
#define REAL_CLOCK 0
#endif

static const clockid_t clocks[] = {CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};

static long ns(clockid_t clock)
{
   struct timespec t;
   clock_gettime(clock, &t);
   return t.tv_sec * 1000000000 + t.tv_nsec;
}

static void execute(int blocks, int is_long)
{
   for (volatile int i = 0; i < blocks; i++)
      if (is_long)
         __asm__ volatile(".rept 40\n\tnop\n\t.endr");
}

/* Returns 1 if a clock goes back. */
static int goes_back(void)
{
   long last[2] = {ns(clocks[0]), ns(clocks[1])};
   for (int round = 0; round < 3000; round++) {
      execute(round % 97 * 20, round / 100 % 2);
      for (int i = 0; i < 2; i++) {
         long now = ns(clocks[i]);
         if (now < last[i])
            return 1;
         last[i] = now;
      }
   }
   return 0;
}

/* Returns the time of this many long blocks. */
static long measured(int blocks)
{
   long before = ns(clocks[0]);
   execute(blocks, 1);
   return ns(clocks[0]) - before;
}

int main(void)
{
   if (goes_back())
      return 1;
   execute(20000, 1);
   /* Times are exact where the recorder has all executed words, and estimates between: a long time
      is nearly exact. */
   long expected = measured(100000) / 10;
   usleep(1); /* the recorder then has all executed words, but not those that follow */
   execute(5000, 1);
   long  before = ns(clocks[0]);
   pid_t child = fork();
   if (child == 0) {
      long in_child = ns(clocks[0]);
      if (in_child < 0 || in_child > before || ns(clocks[1]) < 0)
         _exit(2);
      /* A real clock also counts what other programs take from this one. */
      if (!REAL_CLOCK && measured(10000) < expected / 10 * 8)
         _exit(3);
      _exit(goes_back() ? 4 : 0);
   }
   int status;
   if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
      return 9;
   return WEXITSTATUS(status) ? WEXITSTATUS(status) : goes_back() * 5;
}

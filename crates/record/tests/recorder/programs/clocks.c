/* Prints the time of some execution by several clocks, then the time of waits, in ms. */
#include <pthread.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ms(clockid_t clock)
{
   struct timespec t;
   clock_gettime(clock, &t);
   return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(void)
{
   static const clockid_t clocks[] = {CLOCK_MONOTONIC,          CLOCK_MONOTONIC_COARSE,
                                      CLOCK_BOOTTIME,           CLOCK_PROCESS_CPUTIME_ID,
                                      CLOCK_THREAD_CPUTIME_ID,  CLOCK_REALTIME};
   long before[6], last = 0;
   int  backwards = 0;
   for (int i = 0; i < 6; i++)
      before[i] = ms(clocks[i]);
   for (int round = 0; round < 100; round++) {
      /* 200,000 times three instructions */
      for (long i = 0; i < 200000; i++)
         __asm__ volatile("");
      long now = ms(CLOCK_MONOTONIC);
      backwards += now < last;
      last = now;
   }
   for (int i = 0; i < 6; i++)
      printf("%ld ", ms(clocks[i]) - before[i]);

   long t = ms(CLOCK_MONOTONIC);
   usleep(200000);
   printf("%ld ", ms(CLOCK_MONOTONIC) - t);

   /* A deadline 200 ms ahead of the program's clock, which is far slower than the real one. */
   pthread_condattr_t kind;
   pthread_cond_t     never;
   pthread_mutex_t    lock = PTHREAD_MUTEX_INITIALIZER;
   struct timespec    deadline;
   pthread_condattr_init(&kind);
   pthread_condattr_setclock(&kind, CLOCK_MONOTONIC);
   pthread_cond_init(&never, &kind);
   pthread_mutex_lock(&lock);
   clock_gettime(CLOCK_MONOTONIC, &deadline);
   deadline.tv_nsec += 200000000;
   if (deadline.tv_nsec >= 1000000000) {
      deadline.tv_sec++;
      deadline.tv_nsec -= 1000000000;
   }
   long nanoseconds = deadline.tv_nsec;
   t = ms(CLOCK_MONOTONIC);
   pthread_cond_timedwait(&never, &lock, &deadline);
   printf("%ld %d %d\n", ms(CLOCK_MONOTONIC) - t, backwards, deadline.tv_nsec == nanoseconds);
   return 0;
}

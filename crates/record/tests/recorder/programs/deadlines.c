/* Two threads sleep until one deadline, and a signal handler leaves calls with a deadline for good.
   The deadlines must stay the program's own. The exit status names the broken rule. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000l

static struct timespec deadline;
static long            in_handler;
static sigjmp_buf      back;

static long ns(const struct timespec* t) { return t->tv_sec * 1000 * MS + t->tv_nsec; }

static long now(clockid_t clock)
{
   struct timespec t;
   clock_gettime(clock, &t);
   return ns(&t);
}

static long set_deadline(clockid_t clock, long from_now)
{
   long at = now(clock) + from_now;
   deadline.tv_sec = at / (1000 * MS);
   deadline.tv_nsec = at % (1000 * MS);
   return at;
}

static void* sleeps(void* none)
{
   clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
   return none;
}

static void leaves(int signal)
{
   in_handler = ns(&deadline);
   siglongjmp(back, signal);
}

static pthread_mutex_t lock;

static void* waits(void* none)
{
   pthread_mutex_timedlock(&lock, &deadline);
   return none;
}

static void* holds(void* held)
{
   pthread_mutex_lock(&lock);
   pthread_barrier_wait(held);
   pause();
   return NULL;
}

/* Returns true if the deadline is the program's in a handler that leaves a call, and after it. */
static int keeps(clockid_t clock, void* (*calls)(void*))
{
   struct itimerval timer = {{0, 0}, {0, 50000}};
   long             at = set_deadline(clock, 30000 * MS);
   if (sigsetjmp(back, 1) == 0) {
      setitimer(ITIMER_REAL, &timer, NULL);
      calls(NULL);
   }
   return in_handler == at && ns(&deadline) == at;
}

int main(void)
{
   /* Execution takes no time by a fast clock, so the real clock gets far ahead of it. */
   for (long i = 0; i < 20000000; i++)
      __asm__ volatile("");

   long      at = set_deadline(CLOCK_MONOTONIC, 300 * MS);
   pthread_t other;
   if (pthread_create(&other, NULL, sleeps, NULL))
      return 9;
   sleeps(NULL);
   pthread_join(other, NULL);
   if (ns(&deadline) != at)
      return 1;
   at = now(CLOCK_MONOTONIC) - at;
   if (at < -20 * MS || at > 5000 * MS)
      return 2;

   pthread_mutexattr_t kind;
   pthread_barrier_t   held;
   pthread_mutexattr_init(&kind);
   pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
   pthread_mutex_init(&lock, &kind);
   pthread_barrier_init(&held, NULL, 2);
   if (pthread_create(&other, NULL, holds, &held))
      return 9;
   pthread_barrier_wait(&held);
   signal(SIGALRM, leaves);
   if (!keeps(CLOCK_MONOTONIC, sleeps))
      return 3;
   /* The kernel begins this call again after a signal. */
   return keeps(CLOCK_REALTIME, waits) ? 0 : 4;
}

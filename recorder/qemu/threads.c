/* The baton. QEMU runs the threads of a program at the same time. The recorder lets one of them run
   at a time, so the trace has one exact order. A thread gives the baton away before a system call
   that may wait, and when it has filled a segment of the ring while others wait.

   QEMU sometimes stops all threads at a block's border, for example to empty its translation cache.
   The thread that does so waits for threads that wait here for the baton. So the first thread that
   waits takes the baton from an owner that sleeps inside QEMU. */
#define _GNU_SOURCE
#include "recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 4096
#define LOOK_AFTER 20000000L /* nanoseconds */

typedef struct {
   int  tid;
   bool is_known;
   bool waits;     /* for the baton; it may have it already and not know */
   bool has_aside; /* the baton was taken from it during an execution */
   Run  aside;
} Thread;

int           bl_owner = -1;
volatile bool bl_parallel = false;
volatile bool bl_turn_is_over = false;

static Thread          threads[MOST_THREADS];
static unsigned        waiting[MOST_THREADS];
static volatile UInt   waiters;
static volatile int    living, made;
static int             latest = -1; /* the thread that ran last */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t  changed = PTHREAD_COND_INITIALIZER;

void bl_segment_is_full(void) { bl_turn_is_over = waiters > 0; }

void bl_on_thread(qemu_plugin_id_t id, unsigned cpu)
{
   (void)id;
   if (cpu >= MOST_THREADS) {
      bl_say("the program has more than 4096 threads");
      exit(125);
   }
   threads[cpu] = (Thread){0};
   __atomic_add_fetch(&living, 1, __ATOMIC_SEQ_CST);
   if (__atomic_add_fetch(&made, 1, __ATOMIC_SEQ_CST) > 1)
      bl_parallel = true;
}

/* Returns the state of a thread of this process: 'S' if it sleeps. */
static char state_of(int tid)
{
   char path[64], text[512];
   snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
   int fd = open(path, O_RDONLY | O_CLOEXEC);
   if (fd < 0)
      return '?';
   ssize_t n = read(fd, text, sizeof text - 1);
   close(fd);
   text[n > 0 ? n : 0] = 0;
   const char* end = strrchr(text, ')');
   return end && end[1] ? end[2] : '?';
}

/* Takes the baton from an owner that sleeps inside QEMU, and not here. The owner is looked at once
   more after the baton has changed hands: if it still sleeps then, it finds out before it executes
   anything. */
static void steal(unsigned cpu)
{
   int     old = bl_owner;
   Thread* t = &threads[old < 0 ? 0 : old];
   if (old < 0 || t->waits || bl_waits_for_room || state_of(t->tid) != 'S')
      return;
   __atomic_store_n(&bl_owner, (int)cpu, __ATOMIC_SEQ_CST);
   if (bl_waits_for_room || state_of(t->tid) != 'S') {
      __atomic_store_n(&bl_owner, old, __ATOMIC_SEQ_CST);
      return;
   }
   bl_set_aside(&t->aside);
   t->has_aside = true;
   waiters--;
   memmove(waiting, waiting + 1, waiters * sizeof *waiting);
}

static void wait_for_turn(unsigned cpu)
{
   waiting[waiters++] = cpu;
   threads[cpu].waits = true;
   while (bl_owner != (int)cpu) {
      struct timespec until;
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += LOOK_AFTER;
      if (until.tv_nsec >= 1000000000L) {
         until.tv_nsec -= 1000000000L;
         until.tv_sec++;
      }
      if (pthread_cond_timedwait(&changed, &lock, &until) != 0 && bl_owner != (int)cpu
          && waiting[0] == cpu)
         steal(cpu);
   }
   threads[cpu].waits = false;
}

void bl_take_turn(unsigned cpu)
{
   Thread* t = &threads[cpu];
   if (bl_owner != (int)cpu) {
      pthread_mutex_lock(&lock);
      if (bl_owner < 0)
         bl_owner = cpu;
      else if (bl_owner != (int)cpu)
         wait_for_turn(cpu);
      pthread_mutex_unlock(&lock);
   }
   if (latest == (int)cpu && t->is_known && !t->has_aside)
      return;
   if (!t->is_known) {
      t->is_known = true;
      t->tid = syscall(SYS_gettid);
      bl_send_number(REC_THREAD_START, cpu + 1);
   }
   if (latest != (int)cpu)
      bl_send_number(REC_THREAD_RUN, cpu + 1);
   latest = cpu;
   if (t->has_aside) {
      t->has_aside = false;
      bl_resume(&t->aside);
   }
}

/* Gives the baton to the thread that has waited longest. */
void bl_end_turn(unsigned cpu)
{
   if (bl_owner != (int)cpu)
      return;
   pthread_mutex_lock(&lock);
   bl_turn_is_over = false;
   if (waiters > 0) {
      bl_owner = waiting[0];
      waiters--;
      memmove(waiting, waiting + 1, waiters * sizeof *waiting);
      pthread_cond_broadcast(&changed);
   } else {
      bl_owner = -1;
   }
   pthread_mutex_unlock(&lock);
}

bool bl_is_last_thread(void) { return living <= 1; }

void bl_thread_ends(unsigned cpu)
{
   bl_send_number(REC_THREAD_END, cpu + 1);
   __atomic_sub_fetch(&living, 1, __ATOMIC_SEQ_CST);
   latest = -1;
}

/* A forked child has the forking thread alone. */
void bl_threads_in_child(unsigned cpu)
{
   pthread_mutex_init(&lock, NULL);
   pthread_cond_init(&changed, NULL);
   waiters = 0;
   living = 1;
   latest = -1;
   bl_owner = -1;
   bl_turn_is_over = false;
   threads[cpu] = (Thread){.tid = syscall(SYS_gettid), .is_known = true};
}

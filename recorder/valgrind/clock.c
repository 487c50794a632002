/* The program's clock.

   A recorded program runs many times slower than without the recorder. By the real clock,
   allocators that purge after some milliseconds would purge far too often. So the program's clock
   advances by the instructions that the program executes, at a given rate. It also advances by the
   real time in which no thread executes instructions: system calls and waiting.

   With CLOCK_PROGRAM, processor time and all clocks that count from an arbitrary start follow the
   program. The date stays real: programs compare it with file times and other machines. With
   CLOCK_DATE the date follows the program too. Absolute deadlines are converted to real time before
   the kernel sees them; relative timeouts are real.

   Instructions are estimated: each segment of the ring is sampled, and its words are counted. In a
   recording with windows, they are counted exactly. */
#include "recorder.h"

extern SysRes VG_(do_syscall)(UWord sysno, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord, RegWord);

#define SAMPLES 64u /* sampled words of a segment */
#define SECOND 1000000000LL
#define STEP (SECOND / 20) /* the least change of a distance by which a clock counts as set */
#define MOST_TIMERS 1024u
#define MOST_THREADS 512u

enum { REALTIME, MONOTONIC, PROCESS_TIME, THREAD_TIME, MONOTONIC_RAW, REALTIME_COARSE,
       MONOTONIC_COARSE, BOOTTIME, REALTIME_ALARM, BOOTTIME_ALARM, TAI = 11, CLOCKS };

UInt bl_clock = CLOCK_PROGRAM;
UInt bl_clock_rate = 3500; /* instructions in a microsecond */

static UShort weights[MAX_PATTERNS + 1]; /* instructions of each pattern */
static ULong  executed;       /* instructions in the segments so far */
static ULong  in_1024 = 5120; /* instructions in 1024 words of the last segment */
static ULong  random_state = 1;

static Long  began;              /* the monotonic clock at the start */
static ULong ticks_at_start;     /* the time-stamp counter at the start */
static ULong idle, idle_since;   /* in ticks; 0 while a thread executes */
static Long  shown;              /* the last program time shown: it never goes back */
static Long  distance[CLOCKS];   /* from the monotonic clock to each clock */
static Bool  is_known[CLOCKS];
static Long  processor_shown; /* the last processor time shown: it never goes back */
static Long  process_began;      /* processor time before the process was forked */
static Long  time_of[MOST_THREADS], thread_began;
static UChar timers[MOST_TIMERS], descriptors[MOST_TIMERS]; /* each timer's clock */

/* A program's deadline, converted to real time while a call waits: its address and old value. */
static struct { Addr at; struct vki_timespec was; } deadlines[MOST_THREADS];

static ULong ticks(void)
{
   UInt low, high;
   __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
   return (ULong)high << 32 | low;
}

static Long real(UInt clock)
{
   struct vki_timespec now = {0, 0};
   VG_(do_syscall)(__NR_clock_gettime, clock, (UWord)&now, 0, 0, 0, 0, 0, 0);
   return now.tv_sec * SECOND + now.tv_nsec;
}

void bl_clock_begin(void)
{
   began = real(MONOTONIC);
   ticks_at_start = ticks();
   if (bl_clock_rate == 0)
      bl_clock_rate = 1;
}

void bl_clock_pattern(UInt pattern, UInt instructions)
{
   weights[pattern] = instructions < 0xffff ? instructions : 0xffff;
}

static ULong weight(UInt word) { return word & WIRE_RECORD ? 0 : weights[word & MAX_PATTERNS]; }

/* Counts the instructions of `n` executed words, which are about to be published. */
void bl_clock_executed(const UInt* words, UInt n)
{
   ULong sum = 0;
   if (bl_clock == CLOCK_WALL || n == 0 || bl_windows)
      return;
   if (n <= SAMPLES) {
      for (UInt i = 0; i < n; i++)
         sum += weight(words[i]);
      executed += sum;
      return;
   }
   /* Samples a random word of each equal part, which is fair to loops of any length. */
   ULong part = ((ULong)n << 16) / SAMPLES;
   for (UInt i = 0; i < SAMPLES; i++) {
      random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
      ULong at = (i * part + ((random_state >> 48) * part >> 16)) >> 16;
      sum += weight(words[at < n ? at : n - 1]);
   }
   in_1024 = sum * (1024 / SAMPLES);
   executed += in_1024 * n / 1024;
}

void bl_clock_advances(ULong instructions) { executed += instructions; }

/* Returns the processor time so far: executed instructions, at the given rate. */
static Long processor_time(void)
{
   ULong instructions = executed;
   if (!bl_windows)
      instructions += in_1024 * bl_unpublished_words() / 1024;
   Long  time = instructions * 1000 / bl_clock_rate;
   if (time > processor_shown)
      processor_shown = time;
   return processor_shown;
}

/* No instruction is executed from now on until a thread runs again. */
void bl_clock_pauses(void)
{
   if (bl_clock != CLOCK_WALL)
      idle_since = ticks();
}

void bl_clock_runs(void)
{
   if (idle_since) {
      idle += ticks() - idle_since;
      idle_since = 0;
   }
}

void bl_clock_thread(ThreadId before)
{
   Long now = processor_time();
   if (before < MOST_THREADS)
      time_of[before] += now - thread_began;
   thread_began = now;
}

void bl_clock_thread_starts(ThreadId t)
{
   if (t < MOST_THREADS) {
      time_of[t] = 0;
      deadlines[t].at = 0; /* an earlier thread with this number may have ended during a call */
   }
}

void bl_clock_in_child(ThreadId t)
{
   processor_shown = 0;
   process_began = thread_began = processor_time();
   VG_(memset)(deadlines, 0, sizeof deadlines); /* these belong to the parent's threads */
   bl_clock_thread_starts(t);
}

/* Returns the monotonic clock that the program sees. `lag` is the distance to the real one. */
static Long program_time(Long* lag)
{
   Long  now = real(MONOTONIC);
   ULong waited = idle + (idle_since ? ticks() - idle_since : 0);
   ULong all = ticks() - ticks_at_start;
   Long  t = processor_time();
   if (all)
      t += (Long)((double)waited * ((double)(now - began) / (double)all));
   if (t > shown)
      shown = t;
   *lag = now - (began + shown);
   return began + shown;
}

ULong bl_clock_microseconds(void)
{
   Long lag;
   if (bl_clock == CLOCK_WALL)
      return (real(MONOTONIC) - began) / 1000;
   return (program_time(&lag) - began) / 1000;
}

static Bool follows(Long clock)
{
   switch (clock) {
      case MONOTONIC: case MONOTONIC_RAW: case MONOTONIC_COARSE: case BOOTTIME: case BOOTTIME_ALARM:
         return bl_clock != CLOCK_WALL;
      case REALTIME: case REALTIME_COARSE: case REALTIME_ALARM: case TAI:
         return bl_clock == CLOCK_DATE;
      default:
         return False;
   }
}

/* Returns the distance of a clock from the monotonic one. Both clocks are read at each call, but
   the process may lose the processor between the two reads. So the old distance is kept unless the
   clock was set. */
static Long distance_of(UInt clock)
{
   Long now = 0;
   for (UInt tries = 0; clock != MONOTONIC && tries < 8; tries++) {
      Long before = real(MONOTONIC);
      now = real(clock) - before;
      if (real(MONOTONIC) - before < STEP / 50)
         break;
   }
   Long change = now - distance[clock];
   if (!is_known[clock] || change > STEP || change < -STEP) {
      is_known[clock] = True;
      distance[clock] = now;
   }
   return distance[clock];
}

static Bool may_write(Addr at, SizeT bytes)
{
   return at && VG_(am_is_valid_for_client)(at, bytes, VKI_PROT_READ | VKI_PROT_WRITE);
}

static void show(Addr at, Long time, UInt in_second)
{
   Long* to = (Long*)at;
   to[0] = time / SECOND;
   to[1] = time % SECOND / (SECOND / in_second);
}

static void show_clock(ThreadId tid, Long clock, Addr at)
{
   Long lag;
   if (!may_write(at, sizeof(struct vki_timespec)))
      return;
   if (follows(clock))
      show(at, program_time(&lag) + distance_of(clock), SECOND);
   else if (bl_clock != CLOCK_WALL && clock == PROCESS_TIME)
      show(at, processor_time() - process_began, SECOND);
   else if (bl_clock != CLOCK_WALL && clock == THREAD_TIME && tid < MOST_THREADS)
      show(at, time_of[tid] + processor_time() - thread_began, SECOND);
}

/* Replaces the kernel's time in the results of a call that asks for a time. */
void bl_clock_after(ThreadId tid, UInt number, const UWord* args, UWord result)
{
   Long lag;
   switch (number) {
      case __NR_clock_gettime:
         show_clock(tid, (Int)args[0], args[1]);
         break;
      case __NR_gettimeofday:
         if (follows(REALTIME) && may_write(args[0], 2 * sizeof(Long)))
            show(args[0], program_time(&lag) + distance_of(REALTIME), 1000000);
         break;
      case __NR_timerfd_create:
         if (result < MOST_TIMERS)
            descriptors[result] = args[0] < CLOCKS ? args[0] : PROCESS_TIME;
         break;
      case __NR_timer_create:
         if (may_write(args[2], sizeof(Int)) && *(UInt*)args[2] < MOST_TIMERS)
            timers[*(UInt*)args[2]] = args[0] < CLOCKS ? args[0] : PROCESS_TIME;
         break;
   }
}

extern void __real_vgSysWrap_generic_sys_time_before(ThreadId, void*, SyscallArgs*, SyscallStatus*,
                                                     UWord*);
extern SysRes VG_(mk_SysRes_Success)(UWord);

/* Computes the result of `time` before the call, because the result is in a register, which cannot
   be changed after the call. */
void __wrap_vgSysWrap_generic_sys_time_before(ThreadId tid, void* layout, SyscallArgs* args,
                                              SyscallStatus* status, UWord* flags)
{
   Long lag;
   __real_vgSysWrap_generic_sys_time_before(tid, layout, args, status, flags);
   if (!follows(REALTIME) || (args->arg[0] && !may_write(args->arg[0], sizeof(Long))))
      return;
   Long now = (program_time(&lag) + distance_of(REALTIME)) / SECOND;
   if (args->arg[0])
      *(Long*)args->arg[0] = now;
   status->what = CALL_COMPLETE;
   status->result = VG_(mk_SysRes_Success)(now);
}

/* Returns the clock of a call's absolute deadline, and the deadline's address in `at`. Returns -1
   for a call without such a deadline. */
static Long deadline_of(UInt number, const UWord* args, Addr* at)
{
   enum { WAIT_BITSET = 9, WAIT_REQUEUE_PI = 11, LOCK_PI = 6, LOCK_PI2 = 13, BY_DATE = 256 };
   UInt op = args[1] & 0x7f;
   switch (number) {
      case __NR_futex:
         *at = args[3];
         if (op == LOCK_PI)
            return REALTIME;
         if (op == WAIT_BITSET || op == WAIT_REQUEUE_PI || op == LOCK_PI2)
            return args[1] & BY_DATE ? REALTIME : MONOTONIC;
         return -1;
      case __NR_clock_nanosleep:
         *at = args[2];
         return args[1] & 1 ? (Int)args[0] : -1;
      case __NR_timerfd_settime:
         *at = args[2] + sizeof(struct vki_timespec);
         return (args[1] & 1) && args[0] < MOST_TIMERS ? descriptors[args[0]] : -1;
      case __NR_timer_settime:
         *at = args[2] + sizeof(struct vki_timespec);
         return (args[1] & 1) && args[0] < MOST_TIMERS ? timers[args[0]] : -1;
      default:
         return -1;
   }
}

/* Returns another thread that waits by the deadline at `at`, or MOST_THREADS if there is none. */
static UInt other_with(Addr at, ThreadId tid)
{
   UInt other = 0;
   while (other < MOST_THREADS && (other == tid || deadlines[other].at != at))
      other++;
   return other;
}

/* Restores the program's deadline when a call ends, is interrupted or is repeated. The last thread
   that waits by a deadline restores it. */
void bl_clock_deadline_back(ThreadId tid)
{
   if (tid < MOST_THREADS && deadlines[tid].at) {
      Addr at = deadlines[tid].at;
      if (other_with(at, tid) == MOST_THREADS && may_write(at, sizeof(struct vki_timespec)))
         *(struct vki_timespec*)at = deadlines[tid].was;
      deadlines[tid].at = 0;
   }
}

/* Converts a call's absolute deadline to real time, which the kernel waits by. */
void bl_clock_deadline(ThreadId tid, UInt number, const UWord* args)
{
   Addr at = 0;
   Long clock = deadline_of(number, args, &at), lag;
   bl_clock_deadline_back(tid);
   if (!follows(clock) || tid >= MOST_THREADS || !may_write(at, sizeof(struct vki_timespec)))
      return;
   UInt                 other = other_with(at, tid);
   struct vki_timespec* t = other < MOST_THREADS ? &deadlines[other].was : (struct vki_timespec*)at;
   if (t->tv_sec < 0 || t->tv_sec > (1LL << 32) || t->tv_nsec < 0 || t->tv_nsec >= SECOND
       || (t->tv_sec | t->tv_nsec) == 0)
      return; /* never, at once, an error, or a timer that is switched off */
   deadlines[tid].at = at;
   deadlines[tid].was = *t;
   program_time(&lag);
   show(at, t->tv_sec * SECOND + t->tv_nsec + lag, SECOND);
}

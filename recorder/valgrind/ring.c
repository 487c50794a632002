/* The ring towards `broadleaf record`. Each process has a ring file in the folder of --ring-dir,
   and announces it by a line in the folder's `control` pipe. */
#include "recorder.h"

/* Functions of the core. A statically linked tool may call them although their headers are not
   installed. */
extern Int VG_(safe_fd)(Int fd);
extern Int VG_(kill)(Int pid, Int signal);
extern SysRes VG_(do_syscall)(UWord sysno, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord, RegWord);
extern SysRes VG_(am_shared_mmap_file_float_valgrind)(SizeT length, UInt prot, Int fd,
                                                      Off64T offset);
extern SysRes VG_(am_munmap_valgrind)(Addr start, SizeT length);

#define FUTEX_WAIT 0
#define FUTEX_WAKE 1
#define F_SETFL 4
#define F_SETOWN 8
#define F_SETSIG 10
#define O_ASYNC 020000

Bool               bl_recording = False;
ThreadId           bl_running = VG_INVALID_THREADID;
static WireHeader* ring;
static ULong       fork; /* the fork that made this process, or the last fork of this process */
/* Translated code fills a private segment, which stays in its core's cache. The whole segment is
   then copied to the ring. Word by word, it would be slow to write to memory that another core has
   just read. */
static UChar       filling[WIRE_SEGMENT_BYTES] __attribute__((aligned(64)));
static UChar*      segment; /* `filling` or `nowhere` */
static UChar       nowhere[WIRE_SEGMENT_BYTES] __attribute__((aligned(8))); /* has no reader */

/* The contents of the shadow while no thread's shadow holds them. A *parked* thread's shadow does
   not hold them: its `full` is NULL, and the next block that runs fetches the contents. */
static Shadow waiting = {(UInt*)nowhere, nowhere};

static SizeT ring_bytes(void)
{
   return WIRE_HEADER_BYTES + (SizeT)WIRE_SEGMENTS * WIRE_SEGMENT_BYTES;
}

static UChar* segment_at(UInt n)
{
   return (UChar*)ring + WIRE_HEADER_BYTES + (SizeT)(n % WIRE_SEGMENTS) * WIRE_SEGMENT_BYTES;
}

static Shadow shadow(void)
{
   Shadow s = waiting;
   if (bl_running != VG_INVALID_THREADID) {
      VG_(get_shadow_regs_area)(bl_running, (UChar*)&s, 1, 0, sizeof s);
      if (s.full == NULL)
         s = waiting;
   }
   return s;
}

static void set_shadow(Shadow s)
{
   waiting = s;
   if (bl_running != VG_INVALID_THREADID)
      VG_(set_shadow_regs_area)(bl_running, 1, 0, sizeof s, (const UChar*)&s);
}

/* Parks the shadow. A signal's frame contains the register shadow, and the end of the handler
   restores it. So the shadow is parked when the frame is made and when it is left. */
void bl_park(void)
{
   static const Shadow parked = {(UInt*)nowhere, NULL};
   waiting = shadow();
   if (bl_running != VG_INVALID_THREADID)
      VG_(set_shadow_regs_area)(bl_running, 1, 0, sizeof parked, (const UChar*)&parked);
}

static void begin_segment(UChar* start)
{
   segment = start;
   set_shadow((Shadow){(UInt*)start, start + WIRE_SEGMENT_BYTES - ROOM});
}

void bl_thread_runs(ThreadId t)
{
   bl_park();
   bl_running = t;
   set_shadow(waiting);
}

static void give_up(const HChar* why)
{
   VG_(umsg)("recorder: %s; the program continues without being recorded\n", why);
   bl_recording = False;
   begin_segment(nowhere);
}

static SysRes open_in_folder(const HChar* name, Int flags)
{
   HChar path[VKI_PATH_MAX];
   VG_(snprintf)(path, sizeof path, "%s/%s", bl_ring_directory, name);
   return VG_(open)(path, flags | VKI_O_NONBLOCK, 0);
}

/* Ends this process, because its recorder is dead: an unrecorded run under Valgrind is slow and
   useless. */
static void end_with_recorder(void) { VG_(kill)(VG_(getpid)(), VKI_SIGKILL); }

/* Makes the kernel kill this process when the recorder dies. A living recorder keeps `life` open
   for writing. When the kernel closes the writing end, it sends the signal that F_SETSIG names to
   the owner of each reading end. SIGKILL also ends a process that sleeps in a system call. A
   reading end has one owner, so a forked child opens a new end. The end does not survive an exec,
   so programs that run natively are not tied. */
static void tie_to_recorder(void)
{
   static Int life = -1;
   if (life >= 0)
      VG_(close)(life);
   life = -1;
   SysRes fd = open_in_folder("life", VKI_O_RDONLY);
   if (sr_isError(fd))
      return; /* the recording has ended, or the program changed its user */
   life = VG_(safe_fd)(sr_Res(fd));
   VG_(do_syscall)(__NR_fcntl, life, F_SETSIG, VKI_SIGKILL, 0, 0, 0, 0, 0);
   VG_(do_syscall)(__NR_fcntl, life, F_SETOWN, VG_(getpid)(), 0, 0, 0, 0, 0);
   VG_(do_syscall)(__NR_fcntl, life, F_SETFL, O_ASYNC | VKI_O_NONBLOCK, 0, 0, 0, 0, 0);
}

/* Returns the error of opening the control pipe, or 0 while the recorder reads it. A recorder that
   ends removes the pipe before it closes it (ENOENT). A pipe without a reader (ENXIO) belongs to a
   dead recorder. */
static UWord control_error(void)
{
   SysRes fd = open_in_folder("control", VKI_O_WRONLY);
   if (sr_isError(fd))
      return sr_Err(fd);
   VG_(close)(sr_Res(fd));
   return 0;
}

static void futex_wake(volatile UInt* word)
{
   VG_(do_syscall)(__NR_futex, (UWord)word, FUTEX_WAKE, 0x7fffffff, 0, 0, 0, 0, 0);
}

/* Waits while the ring is full, until the reader has emptied some segments. The signal of `life`
   ends this process when the recorder dies. If the kernel sends no signal, this function looks for
   the reader after some time without progress. */
static void wait_for_room(void)
{
   static const Int look_after = 50; /* tenths of a second without progress */
   Int              waits = 0;
   UInt             enough = WIRE_SEGMENTS - 1;
   for (;;) {
      UInt tail = ring->tail;
      if (ring->head - tail <= enough)
         return;
      enough = WIRE_SEGMENTS - WIRE_A_WHILE;
      __atomic_store_n(&ring->wake_tool_at, ring->head - enough, __ATOMIC_SEQ_CST);
      struct vki_timespec tenth = {0, 100000000};
      VG_(do_syscall)(__NR_futex, (UWord)&ring->tail, FUTEX_WAIT, tail, (UWord)&tenth, 0, 0, 0, 0);
      if (ring->tail == tail && ++waits >= look_after) {
         waits = 0;
         UWord error = control_error();
         if (error == VKI_ENXIO)
            end_with_recorder();
         if (error == VKI_ENOENT) {
            give_up("the recording has ended");
            return;
         }
      }
   }
}

static void copy(void* to, const void* from, SizeT bytes)
{
   __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

static void publish(Shadow s)
{
   UInt words = s.at - (UInt*)segment;
   UInt numbers = (ULong*)(segment + WIRE_SEGMENT_BYTES) - numbers_end(s);
   if (words == 0)
      return;
   bl_clock_executed((UInt*)segment, words);
   UChar* to = segment_at(ring->head);
   copy(to, segment, words * sizeof(UInt));
   copy(to + WIRE_SEGMENT_BYTES - numbers * sizeof(ULong), numbers_end(s), numbers * sizeof(ULong));
   ring->words[ring->head % WIRE_SEGMENTS] = words;
   ring->numbers[ring->head % WIRE_SEGMENTS] = numbers;
   __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_SEQ_CST);
   if (ring->head == ring->wake_reader_at)
      futex_wake(&ring->head);
   wait_for_room();
   begin_segment(bl_recording ? filling : nowhere);
}

void bl_ring_show(UInt window)
{
   if (!bl_recording)
      return;
   ring->accesses = bl_position.accesses;
   ring->instructions = bl_position.instructions;
   ring->window = window;
}

void bl_ring_flush(void)
{
   Shadow s = shadow();
   if (bl_recording) {
      publish(s);
   } else {
      bl_clock_executed((UInt*)segment, s.at - (UInt*)segment);
      begin_segment(nowhere);
   }
}

UInt bl_unpublished_words(void) { return shadow().at - (UInt*)segment; }

/* Returns a number for a fork. A process makes no two forks in the same nanosecond, and no fork
   lasts longer than the hour after which its number repeats. */
static ULong fork_number(void)
{
   struct vki_timespec now = {0, 0};
   VG_(do_syscall)(__NR_clock_gettime, VKI_CLOCK_MONOTONIC, (UWord)&now, 0, 0, 0, 0, 0, 0);
   return (now.tv_sec * 1000000000ULL + now.tv_nsec) << 22 | VG_(getpid)();
}

void bl_ring_forks(void)
{
   fork = bl_recording ? fork_number() : 0;
   bl_record(REC_FORKING, &fork, 1);
   bl_ring_flush();
}

void bl_next_segment(void)
{
   Shadow s = shadow();
   set_shadow(s);
   if ((UChar*)s.at <= s.full)
      return; /* the shadow was only parked */
   bl_ring_flush();
}

static SizeT room(Shadow s) { return (UChar*)numbers_end(s) - (UChar*)s.at; }

void bl_record(UInt kind, const ULong* payload, UInt words)
{
   SizeT needed = sizeof(UInt) + (1 + (SizeT)words) * sizeof(ULong);
   if (!bl_recording)
      return;
   Shadow s = shadow();
   if (room(s) < needed) {
      publish(s);
      s = shadow();
   }
   if (!bl_recording)
      return;
   if (room(s) < needed) {
      give_up("a record is too large for the ring");
      return;
   }
   ULong* end = numbers_end(s);
   end[-1] = words;
   if (words)
      VG_(memcpy)(end - 1 - words, payload, words * sizeof(ULong));
   *s.at++ = WIRE_RECORD | kind;
   s.full -= (1 + (SizeT)words) * sizeof(ULong);
   set_shadow(s);
}

void bl_rewind(Shadow where) { set_shadow(where); }

/* Writes an execution that no translated code writes. */
void bl_execution(UInt pattern, const ULong* bases, UInt n)
{
   Shadow s = shadow();
   if (!bl_recording)
      return;
   if ((UChar*)s.at > s.full) {
      publish(s);
      s = shadow();
   }
   for (UInt i = 0; i < n; i++)
      numbers_end(s)[-1 - (Int)i] = bases[i];
   *s.at++ = pattern | (n ? WIRE_LEFT : 0);
   s.full -= n * sizeof(ULong);
   set_shadow(s);
}

void put(Payload* p, ULong v)
{
   if (p->words < sizeof(p->word) / sizeof(ULong))
      p->word[p->words++] = v;
}

/* Appends a text. A text that does not fit is cut, because only people read it. */
void put_text(Payload* p, const HChar* s)
{
   UInt bytes = VG_(strlen)(s);
   UInt room = (sizeof(p->word) / sizeof(ULong) - p->words) * sizeof(ULong);
   if (room < 2 * sizeof(ULong))
      return;
   if (bytes > room - sizeof(ULong))
      bytes = room - sizeof(ULong);
   put(p, bytes);
   UInt words = (bytes + 7) / 8;
   if (words)
      p->word[p->words + words - 1] = 0;
   VG_(memcpy)(&p->word[p->words], s, bytes);
   p->words += words;
}

void bl_send(UInt kind, const Payload* p) { bl_record(kind, p->word, p->words); }

void bl_ring_open(const HChar* directory)
{
   static UInt sequence = 0;
   HChar       path[VKI_PATH_MAX], line[64];
   Int         pid = VG_(getpid)();
   SysRes      fd;

   tie_to_recorder();
   for (;;) {
      VG_(sprintf)(line, "ring.%d.%u\n", pid, sequence++);
      VG_(snprintf)(path, sizeof path, "%s/%s", directory, line);
      path[VG_(strlen)(path) - 1] = 0;
      fd = VG_(open)(path, VKI_O_CREAT | VKI_O_EXCL | VKI_O_RDWR, 0600);
      if (!sr_isError(fd) || sr_Err(fd) != VKI_EEXIST)
         break; /* an exec keeps the process id, so the earlier program may have this name */
   }
   if (sr_isError(fd)) {
      give_up(sr_Err(fd) == VKI_ENOENT ? "the recording has ended"
                                       : "its shared memory could not be made");
      return;
   }
   SysRes r = VG_(do_syscall)(__NR_ftruncate, sr_Res(fd), ring_bytes(), 0, 0, 0, 0, 0, 0);
   if (!sr_isError(r))
      r = VG_(am_shared_mmap_file_float_valgrind)(ring_bytes(), VKI_PROT_READ | VKI_PROT_WRITE,
                                                  sr_Res(fd), 0);
   VG_(close)(sr_Res(fd));
   if (sr_isError(r)) {
      give_up("its shared memory could not be mapped");
      return;
   }
   ring = (WireHeader*)sr_Res(r);
   ring->segments = WIRE_SEGMENTS;
   ring->segment_bytes = WIRE_SEGMENT_BYTES;
   ring->unit_shift = bl_unit_shift;
   ring->pid = pid;
   ring->fork = fork;
   ring->magic = WIRE_MAGIC;

   fd = open_in_folder("control", VKI_O_WRONLY);
   if (sr_isError(fd) && sr_Err(fd) == VKI_ENXIO)
      end_with_recorder();
   if (sr_isError(fd) || VG_(write)(sr_Res(fd), line, VG_(strlen)(line)) < 0) {
      give_up("no recorder reads the control pipe");
      return;
   }
   VG_(close)(sr_Res(fd));
   bl_recording = True;
   begin_segment(filling);
}

void bl_ring_close(UInt ended)
{
   if (!bl_recording)
      return;
   bl_ring_flush();
   __atomic_store_n(&ring->ended, ended, __ATOMIC_RELEASE);
   futex_wake(&ring->head);
   bl_recording = False;
   begin_segment(nowhere);
}

void bl_ring_leave(void)
{
   tie_to_recorder();
   if (control_error() == VKI_ENXIO)
      end_with_recorder();
}

void bl_ring_abandon(void)
{
   bl_recording = False;
   begin_segment(nowhere);
   if (ring)
      VG_(am_munmap_valgrind)((Addr)ring, ring_bytes());
   ring = NULL;
}

/* The ring towards `broadleaf record`. It is the ring of the Valgrind tool: each process has a ring
   file in the recorder's folder, and announces it by a line in the folder's `control` pipe. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The program may use any small descriptor, so the recorder's own has a large number. */
#define FIRST_DESCRIPTOR 1000

bool              bl_recording = false;
volatile bool     bl_waits_for_room = false;
UInt*             bl_at;
ULong*            bl_low;
UInt*             bl_full;
static WireHeader* ring;
static ULong       fork_of; /* the fork that made this process, or its own last fork */
/* A private segment is filled and then copied to the ring, because another core reads the ring. */
static UChar filling[WIRE_SEGMENT_BYTES] __attribute__((aligned(64)));

static ULong ring_bytes(void)
{
   return WIRE_HEADER_BYTES + (ULong)WIRE_SEGMENTS * WIRE_SEGMENT_BYTES;
}

static void begin_segment(void)
{
   bl_at = (UInt*)filling;
   bl_low = (ULong*)(filling + WIRE_SEGMENT_BYTES);
   bl_full = (UInt*)((UChar*)bl_low - ROOM);
}

void bl_say(const char* what) { dprintf(2, "recorder: %s\n", what); }

void bl_give_up(const char* why)
{
   if (bl_recording || !ring)
      dprintf(2, "recorder: %s; the program continues without being recorded\n", why);
   bl_recording = false;
   begin_segment();
}

static int open_in_folder(const char* name, int flags)
{
   char path[PATH_MAX];
   snprintf(path, sizeof path, "%s/%s", bl_set.ring, name);
   return open(path, flags | O_NONBLOCK | O_CLOEXEC);
}

static void end_with_recorder(void) { syscall(SYS_kill, getpid(), SIGKILL); }

/* Makes the kernel kill this process when the recorder dies, as the Valgrind tool does. */
static void tie_to_recorder(void)
{
   static int life = -1;
   if (life >= 0)
      close(life);
   life = -1;
   int fd = open_in_folder("life", O_RDONLY);
   if (fd < 0)
      return; /* the recording has ended, or the program changed its user */
   life = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
   if (life < 0)
      life = fd;
   else
      close(fd);
   fcntl(life, F_SETSIG, SIGKILL);
   fcntl(life, F_SETOWN, getpid());
   fcntl(life, F_SETFL, O_ASYNC | O_NONBLOCK);
}

/* Returns the error of opening the control pipe, or 0 while the recorder reads it: ENOENT after
   the end of a recording, ENXIO if the recorder died. */
static int control_error(void)
{
   int fd = open_in_folder("control", O_WRONLY);
   if (fd < 0)
      return errno;
   close(fd);
   return 0;
}

static void futex_wake(volatile UInt* word)
{
   syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits while the ring is full, until the reader has emptied some segments. */
static void wait_for_room(void)
{
   static const int look_after = 50; /* tenths of a second without progress */
   int              waits = 0;
   UInt             enough = WIRE_SEGMENTS - 1;
   for (;;) {
      UInt tail = ring->tail;
      if (ring->head - tail <= enough)
         return;
      enough = WIRE_SEGMENTS - WIRE_A_WHILE;
      __atomic_store_n(&ring->wake_tool_at, ring->head - enough, __ATOMIC_SEQ_CST);
      struct timespec tenth = {0, 100000000};
      syscall(SYS_futex, &ring->tail, FUTEX_WAIT, tail, &tenth, NULL, 0);
      if (ring->tail == tail && ++waits >= look_after) {
         waits = 0;
         int error = control_error();
         if (error == ENXIO)
            end_with_recorder();
         if (error == ENOENT) {
            bl_give_up("the recording has ended");
            return;
         }
      }
   }
}

static UChar* segment_at(UInt n)
{
   return (UChar*)ring + WIRE_HEADER_BYTES + (ULong)(n % WIRE_SEGMENTS) * WIRE_SEGMENT_BYTES;
}

static void publish(void)
{
   UInt words = bl_at - (UInt*)filling;
   UInt numbers = (ULong*)(filling + WIRE_SEGMENT_BYTES) - bl_low;
   if (words == 0)
      return;
   UChar* to = segment_at(ring->head);
   memcpy(to, filling, words * sizeof(UInt));
   memcpy(to + WIRE_SEGMENT_BYTES - numbers * sizeof(ULong), bl_low, numbers * sizeof(ULong));
   ring->words[ring->head % WIRE_SEGMENTS] = words;
   ring->numbers[ring->head % WIRE_SEGMENTS] = numbers;
   __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_SEQ_CST);
   if (ring->head == ring->wake_reader_at)
      futex_wake(&ring->head);
   bl_waits_for_room = true;
   wait_for_room();
   bl_waits_for_room = false;
   bl_segment_is_full();
   begin_segment();
}

void bl_ring_flush(void)
{
   if (bl_recording)
      publish();
   else
      begin_segment();
}

/* Returns a number for a fork. A process makes no two forks in the same nanosecond. */
static ULong fork_number(void)
{
   struct timespec now = {0, 0};
   clock_gettime(CLOCK_MONOTONIC, &now);
   return (now.tv_sec * 1000000000ULL + now.tv_nsec) << 22 | (ULong)getpid();
}

void bl_ring_forks(void)
{
   fork_of = bl_recording ? fork_number() : 0;
   bl_record(REC_FORKING, &fork_of, 1);
   bl_ring_flush();
}

static ULong room(void) { return (UChar*)bl_low - (UChar*)bl_at; }

void bl_record(UInt kind, const ULong* payload, UInt words)
{
   ULong needed = sizeof(UInt) + (1 + (ULong)words) * sizeof(ULong);
   if (!bl_recording)
      return;
   if (room() < needed)
      publish();
   if (!bl_recording)
      return;
   if (room() < needed) {
      bl_give_up("a record is too large for the ring");
      return;
   }
   bl_low[-1] = words;
   if (words)
      memcpy(bl_low - 1 - words, payload, words * sizeof(ULong));
   *bl_at++ = WIRE_RECORD | kind;
   bl_low -= 1 + words;
   bl_full = (UInt*)((UChar*)bl_low - ROOM);
}

void put(Payload* p, ULong v)
{
   if (p->words < sizeof(p->word) / sizeof(ULong))
      p->word[p->words++] = v;
}

/* Appends a text. A text that does not fit is cut, because only people read it. */
void put_text(Payload* p, const char* s)
{
   ULong bytes = strlen(s);
   ULong left = (sizeof(p->word) / sizeof(ULong) - p->words) * sizeof(ULong);
   if (left < 2 * sizeof(ULong))
      return;
   if (bytes > left - sizeof(ULong))
      bytes = left - sizeof(ULong);
   put(p, bytes);
   UInt words = (bytes + 7) / 8;
   if (words)
      p->word[p->words + words - 1] = 0;
   memcpy(&p->word[p->words], s, bytes);
   p->words += words;
}

void bl_send(UInt kind, const Payload* p) { bl_record(kind, p->word, p->words); }

void bl_ring_open(void)
{
   static UInt sequence = 0;
   char        path[PATH_MAX], line[64];
   int         fd, pid = getpid();

   begin_segment();
   tie_to_recorder();
   do {
      /* An exec keeps the process id, so the earlier program may have this name. */
      snprintf(line, sizeof line, "ring.%d.%u", pid, sequence++);
      snprintf(path, sizeof path, "%s/%s", bl_set.ring, line);
      fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
   } while (fd < 0 && errno == EEXIST);
   if (fd < 0) {
      bl_give_up(errno == ENOENT ? "the recording has ended"
                                 : "its shared memory could not be made");
      return;
   }
   void* at = MAP_FAILED;
   if (ftruncate(fd, ring_bytes()) == 0)
      at = mmap(NULL, ring_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
   close(fd);
   if (at == MAP_FAILED) {
      bl_give_up("its shared memory could not be mapped");
      return;
   }
   ring = at;
   ring->segments = WIRE_SEGMENTS;
   ring->segment_bytes = WIRE_SEGMENT_BYTES;
   ring->unit_shift = bl_set.shift;
   ring->pid = pid;
   ring->fork = fork_of;
   ring->magic = WIRE_MAGIC;

   fd = open_in_folder("control", O_WRONLY);
   if (fd < 0 && errno == ENXIO)
      end_with_recorder();
   strcat(line, "\n");
   if (fd < 0 || write(fd, line, strlen(line)) < 0) {
      bl_give_up("no recorder reads the control pipe");
      return;
   }
   close(fd);
   bl_recording = true;
}

void bl_ring_close(UInt ended)
{
   if (!bl_recording)
      return;
   bl_ring_flush();
   if (!bl_recording)
      return;
   __atomic_store_n(&ring->ended, ended, __ATOMIC_RELEASE);
   futex_wake(&ring->head);
   bl_recording = false;
   begin_segment();
}

/* In a forked child that is not recorded. It ends with the recorder. */
void bl_ring_leave(void)
{
   tie_to_recorder();
   if (control_error() == ENXIO)
      end_with_recorder();
}

/* In a forked child: the ring is the parent's. */
void bl_ring_abandon(void)
{
   bl_recording = false;
   begin_segment();
   if (ring)
      syscall(SYS_munmap, ring, ring_bytes());
   ring = NULL;
}

/* Memory that the kernel makes resident: populated pages, and the buffers of system calls. These
   are no references of the program. They are events of their own, as in the Valgrind tool. */
#define _GNU_SOURCE
#include "recorder.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define RECENT 4096u /* pages, indexed by the low bits of their number */
#define POPULATE_READ 22
#define POPULATE_WRITE 23
#define COLLAPSE 25
#define ON_FAULT 4u         /* of mlockall */
#define MOST_MOVED 0x7ffff000u /* the most bytes that one call reads or writes */
#define MOST_PIECES 1024u

/* The page number plus one, shifted left by one bit. Low bit: the kernel stored there. */
static ULong recent[RECENT];
static bool  locks_future;

void bl_touches_forget(void) { memset(recent, 0, sizeof recent); }

void bl_touches_in_child(void)
{
   locks_future = false;
   bl_touches_forget();
}

static void send(Addr start, ULong len, UInt access, UInt origin)
{
   while (len > 0) {
      ULong part = len < WIRE_MOST_POPULATED ? len : WIRE_MOST_POPULATED;
      ULong words[] = {start, part, access, origin};
      bl_record(REC_POPULATE, words, 4);
      start += part;
      len -= part;
   }
}

static void populated(Addr start, ULong len, UInt access)
{
   Addr end = PAGE_UP(start + len);
   if (end > start)
      send(PAGE_DOWN(start), end - PAGE_DOWN(start), access, ORIGIN_REQUEST);
}

static bool is_new(Addr page, bool store)
{
   ULong* cell = &recent[(page / PAGE) % RECENT];
   ULong  number = (page / PAGE + 1) << 1;
   if (*cell == (number | 1) || (*cell == number && !store))
      return false;
   *cell = number | store;
   return true;
}

/* Records the new pages of a buffer that the kernel has read or filled. */
static void buffer(Addr start, ULong len, bool store)
{
   UInt access = store ? TOUCH_STORE : TOUCH_LOAD;
   if (len == 0 || len > MOST_MOVED || start + len < start || !bl_recording)
      return;
   Addr from = 0, to = 0;
   for (Addr page = PAGE_DOWN(start); page < start + len; page += PAGE) {
      if (!is_new(page, store))
         continue;
      if (to != page) {
         send(from, to - from, access, ORIGIN_BUFFER);
         from = page;
      }
      to = page + PAGE;
   }
   send(from, to - from, access, ORIGIN_BUFFER);
}

/* Records the buffers of a vector of which `moved` bytes were read or filled. */
static void buffers(Addr vector, ULong pieces, ULong moved, bool store)
{
   struct iovec piece;
   for (ULong i = 0; i < pieces && i < MOST_PIECES && moved > 0; i++) {
      if (!bl_copy(&piece, vector + i * sizeof piece, sizeof piece))
         return;
      ULong part = piece.iov_len < moved ? piece.iov_len : moved;
      buffer((Addr)piece.iov_base, part, store);
      moved -= part;
   }
}

void bl_touches_mapped(Addr start, ULong len, UInt flags)
{
   if ((flags & MAP_LOCKED) || ((flags & MAP_POPULATE) && !(flags & MAP_NONBLOCK))
       || locks_future)
      populated(start, len, TOUCH_AS_MAPPED);
}

/* Records the population of all mappings. */
static void all_populated(void)
{
   char  line[512];
   FILE* maps = fopen("/proc/self/maps", "re");
   if (!maps)
      return;
   while (fgets(line, sizeof line, maps)) {
      unsigned long start, end;
      char          rights[8];
      if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && bl_is_programs(start)
          && strncmp(rights, "---", 3) != 0)
         populated(start, end - start, TOUCH_AS_MAPPED);
   }
   fclose(maps);
}

static void after_advice(const ULong* a)
{
   if (a[2] == POPULATE_READ)
      populated(a[0], a[1], TOUCH_LOAD);
   else if (a[2] == POPULATE_WRITE)
      populated(a[0], a[1], TOUCH_STORE);
   else if (a[2] == COLLAPSE)
      populated(a[0], a[1], TOUCH_COLLAPSE);
   else
      bl_touches_forget();
}

/* Records the pages that a successful call populated, read or filled. */
void bl_touches_after(Call call, const ULong* a, ULong result)
{
   switch (call) {
      case CALL_READ: buffer(a[1], result, true); break;
      case CALL_WRITE: buffer(a[1], result, false); break;
      case CALL_READV: buffers(a[1], a[2], result, true); break;
      case CALL_WRITEV: buffers(a[1], a[2], result, false); break;
      case CALL_FILLS_1: buffer(a[0], result, true); break;
      case CALL_FILLS_2: buffer(a[1], result, true); break;
      case CALL_MADVISE: after_advice(a); break;
      case CALL_MLOCK: populated(a[0], a[1], TOUCH_AS_MAPPED); break;
      case CALL_MLOCK2:
         if (!(a[2] & 1)) /* MLOCK_ONFAULT */
            populated(a[0], a[1], TOUCH_AS_MAPPED);
         break;
      case CALL_MLOCKALL:
         locks_future = (a[0] & MCL_FUTURE) && !(a[0] & ON_FAULT);
         if ((a[0] & MCL_CURRENT) && !(a[0] & ON_FAULT))
            all_populated();
         break;
      case CALL_MUNLOCKALL: locks_future = false; break;
      case CALL_MMAP:
         if (a[3] & MAP_FIXED)
            bl_touches_forget();
         break;
      case CALL_MUNMAP: case CALL_MREMAP: case CALL_SHMAT: case CALL_SHMDT:
         bl_touches_forget();
         break;
      default: break;
   }
}

/* Memory that the kernel makes resident: populated pages, and the buffers of system calls.

   These are no references of the program. They are recorded as separate events, by page. A recorded
   page is not recorded again until pages may have left memory, so that a program that reuses its
   buffers makes few events. */
#include "recorder.h"

#define RECENT 4096u /* pages, indexed by the low bits of their number */

/* Constants of Linux that Valgrind's headers lack. */
#define POPULATE_READ 22
#define POPULATE_WRITE 23
#define COLLAPSE 25
#define MAP_IS_POPULATED 0x8000u
#define MAP_IS_LOCKED 0x2000u
#define MAP_NONBLOCKING 0x10000u
#define LOCK_CURRENT 1u
#define LOCK_FUTURE 2u
#define LOCK_ON_FAULT 4u
#define MOST_MOVED 0x7ffff000u /* the maximum bytes that one call reads or writes: MAX_RW_COUNT */

/* The page number plus one, shifted left by one bit. Low bit: the kernel stored there. */
static ULong recent[RECENT];
static Bool  read_later; /* the present call reports how much of its buffer it read */
static Bool  locks_future; /* mlockall(MCL_FUTURE): new mappings are populated */

void bl_touches_forget(void) { VG_(memset)(recent, 0, sizeof recent); }

void bl_touched(Addr start, SizeT len, UInt access, UInt origin)
{
   while (len > 0) {
      SizeT   part = len < WIRE_MOST_POPULATED ? len : WIRE_MOST_POPULATED;
      Payload p;
      p.words = 0;
      put(&p, start);
      put(&p, part);
      put(&p, access);
      put(&p, origin);
      bl_send(REC_POPULATE, &p);
      start += part;
      len -= part;
   }
}

/* Records pages that a system call made resident on request. */
void bl_populated(Addr start, SizeT len, UInt access)
{
   Addr end = VG_PGROUNDUP(start + len);
   if (!bl_recording || end <= start)
      return;
   bl_touched(VG_PGROUNDDN(start), end - VG_PGROUNDDN(start), access, ORIGIN_REQUEST);
}

static Bool is_new(Addr page, Bool store)
{
   ULong* cell = &recent[(page / VKI_PAGE_SIZE) % RECENT];
   ULong cached = (page / VKI_PAGE_SIZE + 1) << 1;
   if (*cell == (cached | 1) || (*cell == cached && !store))
      return False;
   if (*cell != cached || store)
      *cell = cached | store;
   return True;
}

/* Records the new pages of a buffer that the kernel reads or fills. */
static void buffer(CorePart part, Addr start, SizeT len, Bool store)
{
   if (part != Vg_CoreSysCall || !bl_recording || len == 0 || start + len < start)
      return;
   if (len > MOST_MOVED)
      len = MOST_MOVED;
   Addr last = VG_PGROUNDDN(start + len - 1), from = 0, to = 0;
   for (Addr page = VG_PGROUNDDN(start);; page += VKI_PAGE_SIZE) {
      /* The kernel stops at unmapped memory (EFAULT), and so does this loop. */
      if (!VG_(am_is_valid_for_client)(page, 1, store ? VKI_PROT_WRITE : VKI_PROT_READ))
         break;
      if (is_new(page, store)) {
         if (to != page) {
            bl_touched(from, to - from, store ? TOUCH_STORE : TOUCH_LOAD, ORIGIN_BUFFER);
            from = page;
         }
         to = page + VKI_PAGE_SIZE;
      }
      if (page == last)
         break;
   }
   bl_touched(from, to - from, store ? TOUCH_STORE : TOUCH_LOAD, ORIGIN_BUFFER);
}

/* Returns true for calls that may read only a part of their buffer, and return its length. */
static Bool reads_a_part(UInt number)
{
   return number == __NR_write || number == __NR_pwrite64 || number == __NR_sendto;
}

void bl_touches_before(UInt number) { read_later = reads_a_part(number); }

static void reads(CorePart part, ThreadId tid, const HChar* what, Addr start, SizeT len)
{
   if (!read_later)
      buffer(part, start, len, False);
}

static void fills(CorePart part, ThreadId tid, Addr start, SizeT len)
{
   buffer(part, start, len, True);
}

/* Records the population of a new mapping, or of `len` new bytes of a mapping or the heap. */
void bl_touches_mapped(Addr start, SizeT len, UInt flags)
{
   if ((flags & MAP_IS_LOCKED) || ((flags & MAP_IS_POPULATED) && !(flags & MAP_NONBLOCKING))
       || locks_future)
      bl_populated(start, len, TOUCH_AS_MAPPED);
}

static void all_populated(void)
{
   static const UInt kinds = SkAnonC | SkFileC | SkShmC;
   Int               room = 256, n;
   Addr*             starts = VG_(malloc)("bl.locked", room * sizeof(Addr));
   while ((n = VG_(am_get_segment_starts)(kinds, starts, room)) < 0) {
      room = -n + 64;
      starts = VG_(realloc)("bl.locked", starts, room * sizeof(Addr));
   }
   for (Int i = 0; i < n; i++) {
      const NSegment* s = VG_(am_find_nsegment)(starts[i]);
      if (s && (s->hasR || s->hasW || s->hasX))
         bl_populated(s->start, s->end + 1 - s->start, TOUCH_AS_MAPPED);
   }
   VG_(free)(starts);
}

/* Records the pages that a successful system call populated or read. */
void bl_touches_after(UInt number, const UWord* args, UWord result)
{
   if (reads_a_part(number))
      buffer(Vg_CoreSysCall, args[1], result < args[2] ? result : args[2], False);
   switch (number) {
      case __NR_madvise:
         if (args[2] == POPULATE_READ)
            bl_populated(args[0], args[1], TOUCH_LOAD);
         else if (args[2] == POPULATE_WRITE)
            bl_populated(args[0], args[1], TOUCH_STORE);
         else if (args[2] == COLLAPSE)
            bl_populated(args[0], args[1], TOUCH_COLLAPSE);
         else
            bl_touches_forget();
         break;
      case __NR_mlock:
         bl_populated(args[0], args[1], TOUCH_AS_MAPPED);
         break;
      case CALL_MLOCK2:
         if (!(args[2] & 1)) /* MLOCK_ONFAULT */
            bl_populated(args[0], args[1], TOUCH_AS_MAPPED);
         break;
      case __NR_mlockall:
         locks_future = (args[0] & LOCK_FUTURE) && !(args[0] & LOCK_ON_FAULT);
         if ((args[0] & LOCK_CURRENT) && !(args[0] & LOCK_ON_FAULT))
            all_populated();
         break;
      case __NR_munlockall:
         locks_future = False;
         break;
      /* Pages left memory, or were replaced by others. */
      case __NR_mmap: case __NR_shmat:
         if (number == __NR_mmap && !(args[3] & VKI_MAP_FIXED))
            break;
         bl_touches_forget();
         break;
      case __NR_munmap: case __NR_mremap: case __NR_shmdt:
         bl_touches_forget();
         break;
   }
}

/* A forked child inherits no memory lock. */
void bl_touches_in_child(void)
{
   locks_future = False;
   bl_touches_forget();
}

void bl_touches_init(void)
{
   VG_(track_pre_mem_read)(reads);
   VG_(track_post_mem_write)(fills);
}

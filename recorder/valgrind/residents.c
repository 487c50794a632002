/* The pages that became resident in a gap. No translated code of a gap notes references, so this
   file asks the kernel: at the start of a window and at the end of the program for all pages, and
   before each change of mappings for the pages of the changed blocks. So pages that leave memory
   within the gap, or move, are recorded while they are there.

   Pages that were recorded before are not recorded again until they may have left memory. */
#include "recorder.h"
#include "pub_tool_hashtable.h"

extern SysRes VG_(do_syscall)(UWord sysno, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord, RegWord);

#define MADVISE_DONTNEED 4
#define BLOCK (1UL << 21)
#define PAGES (BLOCK / VKI_PAGE_SIZE)
#define WORDS (PAGES / 64)

typedef struct _KnownBlock {
   struct _KnownBlock* next;
   UWord               key; /* the number of the block, which is no multiple of anything */
   ULong               resident[WORDS], stored[WORDS];
} KnownBlock;

static VgHashTable* known;
static Bool         records; /* False while pages are only noted */
/* Pages that are to be recorded. */
static struct { Addr start, end; UInt manner; } pending;

static Addr block_start(Addr a) { return a & ~(BLOCK - 1); }
static Addr block_end(Addr a) { return (a + BLOCK - 1) & ~(BLOCK - 1); }

static KnownBlock* block_of(Addr page, Bool make)
{
   KnownBlock* b = VG_(HT_lookup)(known, page / BLOCK);
   if (!b && make) {
      b = VG_(calloc)("bl.known", 1, sizeof *b);
      b->key = page / BLOCK;
      VG_(HT_add_node)(known, b);
   }
   return b;
}

static void send_pending(void)
{
   if (pending.end > pending.start)
      bl_touched(pending.start, pending.end - pending.start,
                 pending.manner == PAGE_STORED ? TOUCH_STORE : TOUCH_LOAD, ORIGIN_GAP);
   pending.end = pending.start;
}

static void found(Addr page, UInt manner)
{
   if (page != pending.end || manner != pending.manner || pending.end == pending.start) {
      send_pending();
      pending.start = page;
      pending.manner = manner;
   }
   pending.end = page + VKI_PAGE_SIZE;
}

static void run(Addr start, SizeT len, UInt manner)
{
   KnownBlock* b = NULL;
   for (Addr page = start; page < start + len; page += VKI_PAGE_SIZE) {
      if (!b || page / BLOCK != b->key)
         b = block_of(page, True);
      const UInt  at = page % BLOCK / VKI_PAGE_SIZE;
      const ULong bit = 1ULL << at % 64;
      const Bool  is_known = (b->resident[at / 64] & bit) != 0;
      const Bool  was_stored = (b->stored[at / 64] & bit) != 0;
      if (is_known && (was_stored || manner == PAGE_LOADED))
         continue;
      b->resident[at / 64] |= bit;
      if (manner == PAGE_STORED)
         b->stored[at / 64] |= bit;
      if (records)
         found(page, manner);
   }
}

/* Returns true for memory whose resident pages the program touched. The core reads the code that it
   translates, which writable memory rarely holds. (To the core, the heap may hold code.) */
static Bool is_data(const NSegment* s) { return s->hasW || (s->hasR && !s->hasX); }

/* Calls `visit` for the parts of the program's mappings in a range. */
static void in_segments(Addr start, Addr end, void (*visit)(const NSegment*, Addr, Addr))
{
   static const UInt kinds = SkAnonC | SkFileC | SkShmC;
   static Addr*      starts;
   static Int        room;
   Int               n = 0;
   while (room == 0 || (n = VG_(am_get_segment_starts)(kinds, starts, room)) < 0) {
      room = room == 0 ? 1024 : -n + 256;
      starts = VG_(realloc)("bl.resident.starts", starts, room * sizeof(Addr));
   }
   for (Int i = 0; i < n && starts[i] < end; i++) {
      const NSegment* s = VG_(am_find_nsegment)(starts[i]);
      if (s && s->end >= start)
         visit(s, s->start > start ? s->start : start, s->end + 1 < end ? s->end + 1 : end);
   }
}

static void look(const NSegment* s, Addr start, Addr end)
{
   if (is_data(s))
      bl_pagemap_runs(start, end, run);
}

static void make_exact(const NSegment* s, Addr start, Addr end)
{
   if (s->kind == SkFileC)
      bl_pagemap_exact(start, end - start);
}

static void find(Addr start, Addr end)
{
   in_segments(start, end, look);
   send_pending();
}

static void begin(void)
{
   known = VG_(HT_construct)("bl.residents");
   bl_pagemap_open();
   in_segments(0, -1UL, make_exact);
   records = True;
}

void bl_residents_begin(void)
{
   if (!known)
      begin();
}

/* Notes the pages that a child inherits. The kernel cannot tell which of them it refers to, so they
   count as resident from the child's first reference in a window on. */
void bl_residents_in_child(void)
{
   VG_(HT_destruct)(known, VG_(free));
   begin();
   records = False;
   find(0, -1UL);
   records = True;
}

void bl_residents_find(void) { find(0, -1UL); }

static Bool in_gap(void) { return bl_recording && !bl_in_window; }

void bl_residents_before(Addr start, SizeT len)
{
   if (in_gap() && len > 0 && start + len > start)
      find(block_start(start), block_end(start + len));
}

/* Before a mapping that may join its neighbours. */
static void around(Addr start, SizeT len)
{
   if (!in_gap())
      return;
   find(block_start(start), start);
   find(start + len, block_end(start + len));
}

static void left(Addr start, SizeT len)
{
   for (Addr page = VG_PGROUNDDN(start); page < start + len;) {
      KnownBlock* b = block_of(page, False);
      if (!b) {
         page = block_start(page) + BLOCK;
         continue;
      }
      const UInt at = page % BLOCK / VKI_PAGE_SIZE;
      b->resident[at / 64] &= ~(1ULL << at % 64);
      b->stored[at / 64] &= ~(1ULL << at % 64);
      page += VKI_PAGE_SIZE;
   }
}

/* Drops pages above the end of a heap that shrinks. The core clears them, which makes all of them
   resident, and keeps them mapped. */
static void drop(Addr start, Addr end)
{
   if (start < end)
      VG_(do_syscall)(__NR_madvise, start, end - start, MADVISE_DONTNEED, 0, 0, 0, 0, 0);
   left(start, end - start);
}

/* A call may change the populations or the rights of blocks. */
void bl_residents_before_call(UInt number, const UWord* args, Addr brk_end)
{
   switch (number) {
      case __NR_mmap:
         if (args[3] & VKI_MAP_FIXED)
            bl_residents_before(args[0], args[1]);
         break;
      case __NR_mremap:
         if (args[3] & 2) /* MREMAP_FIXED */
            bl_residents_before(args[4], args[2]);
         bl_residents_before(args[0], args[1]);
         break;
      case __NR_munmap: case __NR_mprotect: case __NR_pkey_mprotect: case __NR_madvise:
         bl_residents_before(args[0], args[1]);
         break;
      case __NR_shmdt:
         bl_residents_before(args[0], 1);
         break;
      case __NR_brk:
         if (args[0] && args[0] < brk_end)
            bl_residents_before(args[0], brk_end - args[0]);
         else if (args[0] > brk_end)
            bl_residents_before(brk_end - 1, 1);
         break;
      case __NR_fork: case __NR_vfork: case __NR_clone:
         if (in_gap() && bl_follow_children)
            bl_residents_find();
         break;
   }
}

void bl_residents_after_call(UInt number, const UWord* args, UWord result)
{
   static Addr brk_end;
   switch (number) {
      case __NR_mmap:
         around(result, VG_PGROUNDUP(args[1]));
         left(result, args[1]);
         if (!(args[3] & VKI_MAP_ANONYMOUS))
            bl_pagemap_exact(result, args[1]);
         break;
      case __NR_mremap:
         around(result, VG_PGROUNDUP(args[2]));
         left(args[0], args[1]);
         left(result, args[2]);
         break;
      case __NR_munmap:
         left(args[0], args[1]);
         break;
      case __NR_madvise:
         left(args[0], args[1]);
         break;
      case __NR_shmat: case __NR_shmdt: {
         const NSegment* s = VG_(am_find_nsegment)(number == __NR_shmat ? result : args[0]);
         if (s)
            left(s->start, s->end + 1 - s->start);
         break;
      }
      case __NR_brk:
         if (result < brk_end)
            drop(VG_PGROUNDUP(result), VG_PGROUNDUP(brk_end));
         brk_end = result;
         break;
   }
}

/* The kernel's table of resident pages, in /proc/self/pagemap. Linux 6.7 can be asked for runs of
   pages (PAGEMAP_SCAN). Before, the table is read page by page. */
#include "recorder.h"

extern Int VG_(safe_fd)(Int fd);
extern SysRes VG_(do_syscall)(UWord sysno, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord, RegWord);

/* Constants and types of Linux that Valgrind's headers lack. */
#define CALL_USERFAULTFD 323
#define O_CLOEXEC 02000000
#define USER_MODE_ONLY 1
#define UFFD_API 0xaaULL
#define UFFDIO_API 0xc018aa3fUL
#define UFFDIO_REGISTER 0xc020aa00UL
#define REGISTER_WRITE_PROTECT 2
#define WRITE_PROTECT_UNPOPULATED (1ULL << 13)
#define WRITE_PROTECT_ASYNC (1ULL << 15)
typedef struct { ULong api, features, ioctls; } UffdApi;
typedef struct { ULong start, len, mode, ioctls; } UffdRegister;

#define PAGEMAP_SCAN 0xc0606610UL
enum { SCAN_FILE = 1 << 2, SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4, SCAN_ZERO = 1 << 5 };
typedef struct { ULong start, end, categories; } ScanRegion;
typedef struct {
   ULong size, flags, start, end, walk_end, vec, vec_len, max_pages;
   ULong inverted, all_of, any_of, returned;
} ScanArguments;

#define ENTRY_PRESENT (1ULL << 63)
#define ENTRY_SWAPPED (1ULL << 62)
#define ENTRY_FILE (1ULL << 61)
#define ENTRY_EXCLUSIVE (1ULL << 56) /* not the page of zeroes, which many mappings share */

#define PR_SET_THP_DISABLE 41

static Int  table = -1, faults = -1;
static Bool scans; /* the kernel has PAGEMAP_SCAN */

static UWord control(Int fd, UWord request, void* argument)
{
   SysRes r = VG_(do_syscall)(__NR_ioctl, fd, request, (UWord)argument, 0, 0, 0, 0, 0);
   return sr_isError(r) ? -1UL : sr_Res(r);
}

static void open_faults(void)
{
   UffdApi api = {UFFD_API, WRITE_PROTECT_UNPOPULATED | WRITE_PROTECT_ASYNC, 0};
   if (faults >= 0)
      VG_(close)(faults);
   faults = -1;
   SysRes fd = VG_(do_syscall)(CALL_USERFAULTFD, O_CLOEXEC | USER_MODE_ONLY, 0, 0, 0, 0, 0, 0, 0);
   if (sr_isError(fd))
      return;
   faults = VG_(safe_fd)(sr_Res(fd));
   if (control(faults, UFFDIO_API, &api) != 0) {
      VG_(close)(faults);
      faults = -1;
   }
}

static void forbid_superpages(UInt forbidden)
{
   VG_(do_syscall)(__NR_prctl, PR_SET_THP_DISABLE, forbidden, 0, 0, 0, 0, 0, 0);
}

/* In a forked process that is not recorded. */
void bl_pagemap_leave(void) { forbid_superpages(0); }

/* Opens the table of this process: an open table of the parent stays the parent's. Superpages would
   hide which of their pages the program touched, so the kernel shall make none. */
void bl_pagemap_open(void)
{
   ScanRegion    region;
   ScanArguments nothing = {.size = sizeof nothing, .vec = (UWord)&region, .vec_len = 1,
                            .any_of = SCAN_PRESENT, .returned = SCAN_PRESENT};
   if (table >= 0)
      VG_(close)(table);
   table = -1;
   SysRes fd = VG_(open)("/proc/self/pagemap", VKI_O_RDONLY | O_CLOEXEC, 0);
   if (!sr_isError(fd))
      table = VG_(safe_fd)(sr_Res(fd));
   scans = table >= 0 && control(table, PAGEMAP_SCAN, &nothing) == 0;
   open_faults();
   forbid_superpages(1);
}

/* Without this, the kernel maps up to 16 pages of a file at a fault (fault-around). It does not
   where userfaultfd may write-protect pages. None is ever protected here. */
void bl_pagemap_exact(Addr start, SizeT len)
{
   UffdRegister range = {start, VG_PGROUNDUP(len), REGISTER_WRITE_PROTECT, 0};
   if (faults >= 0)
      control(faults, UFFDIO_REGISTER, &range);
}

static void scan(Addr start, Addr end, ResidentRun run)
{
   static ScanRegion regions[512];
   const UInt        wanted = SCAN_PRESENT | SCAN_SWAPPED;
   ScanArguments     ask = {.size = sizeof ask, .start = start, .end = end, .vec = (UWord)regions,
                            .vec_len = 512, .any_of = wanted,
                            .returned = wanted | SCAN_FILE | SCAN_ZERO};
   for (;;) {
      UWord found = control(table, PAGEMAP_SCAN, &ask);
      if (found == -1UL)
         return;
      for (UWord i = 0; i < found; i++) {
         const ScanRegion* r = &regions[i];
         Bool              loaded = r->categories & (SCAN_FILE | SCAN_ZERO);
         run(r->start, r->end - r->start, loaded ? PAGE_LOADED : PAGE_STORED);
      }
      if (ask.walk_end >= end || ask.walk_end <= ask.start)
         return;
      ask.start = ask.walk_end;
   }
}

static UInt manner_of(ULong entry)
{
   if (!(entry & (ENTRY_PRESENT | ENTRY_SWAPPED)))
      return 0;
   if ((entry & ENTRY_FILE) || ((entry & ENTRY_PRESENT) && !(entry & ENTRY_EXCLUSIVE)))
      return PAGE_LOADED;
   return PAGE_STORED;
}

static void read_entries(Addr start, Addr end, ResidentRun run)
{
   static ULong entries[4096];
   while (start < end) {
      SizeT pages = (end - start) / VKI_PAGE_SIZE;
      if (pages > 4096)
         pages = 4096;
      SysRes r = VG_(do_syscall)(__NR_pread64, table, (UWord)entries, pages * sizeof(ULong),
                                 start / VKI_PAGE_SIZE * sizeof(ULong), 0, 0, 0, 0);
      if (sr_isError(r) || sr_Res(r) < sizeof(ULong))
         return;
      pages = sr_Res(r) / sizeof(ULong);
      for (SizeT from = 0, to; from < pages; from = to) {
         const UInt manner = manner_of(entries[from]);
         for (to = from + 1; to < pages && manner_of(entries[to]) == manner;)
            to++;
         if (manner)
            run(start + from * VKI_PAGE_SIZE, (to - from) * VKI_PAGE_SIZE, manner);
      }
      start += pages * VKI_PAGE_SIZE;
   }
}

/* Calls `run` for each run of resident pages in a range. Pages of files, and pages of zeroes, count
   as loaded; pages of private memory as stored to. */
void bl_pagemap_runs(Addr start, Addr end, ResidentRun run)
{
   if (table < 0)
      return;
   if (scans)
      scan(start, end, run);
   else
      read_entries(start, end, run);
}

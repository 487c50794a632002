/* Mappings at the places where the kernel would have put them, as far as 2 MiB boundaries go.

   QEMU looks for room for a mapping by a reservation of its own: an inaccessible, anonymous mapping
   near the place where it would like it. It takes the place that it gets. So this file is also
   preloaded into QEMU, before the C library, and answers these calls of `mmap`. It gives the
   addresses that Linux gives without address randomization, as the Valgrind recorder does: equal
   modulo 1 GiB for mappings, executables and heaps, and modulo 2 MiB for the stack. The program has
   two parts of the address space to itself: QEMU's own mappings lie where the kernel puts the
   executables and mappings of a process, and the program's lie below each of these.

   QEMU moves every mapping that a program lets it move; the kernel moves it only if it must. This
   file corrects that too. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUPERPAGE 0x200000UL
#define MOST_ATTACHED 256
#define TRIES 4 /* mappings that show where the kernel puts one */

static const Addr end_of_lower = 0x500000000000UL; /* executables and heaps */
static const Addr upper = 0x600000000000UL;        /* mappings and the stack */
static const Addr end_of_upper = 0x700000000000UL;
static const Addr mmap_top = 0x6ffff7fff000UL;  /* 0x7ffff7fff000, 0xfffff7fff000 mod 1 GiB */
static const Addr aside = 0x580000000000UL;     /* pages that are QEMU's own */
static const Addr pie_x86_64 = 0x455555554000UL;  /* 0x555555554000 mod 64 GiB */
static const Addr pie_aarch64 = 0x4aaaaaaaa000UL; /* 0xaaaaaaaaa000 mod 64 GiB */

bool bl_loading = true;
Addr bl_stack, bl_stack_end, bl_kernel_page;

static bool  is_ready, is_dynamic, is_interpreted, is_x86;
static UInt  requests; /* while the program is loaded */
static ULong kernel_pages;
static Addr  kernel_pages_end;
static struct { Addr at; ULong bytes; } attached[MOST_ATTACHED];

static __thread bool  misplaced;
static __thread Addr  native;
static __thread ULong detached;

static Addr map(Addr at, ULong len, int prot, int flags, int fd, ULong offset)
{
   return syscall(SYS_mmap, at, len, prot, flags, fd, offset);
}

static bool failed(Addr result) { return result == (Addr)-1; }

bool bl_is_programs(Addr a) { return a < end_of_lower || (a >= upper && a < end_of_upper); }

bool bl_misplaced(Addr* place)
{
   *place = native;
   return misplaced;
}

ULong bl_detached(void) { return detached; }

/* Counts the kernel's own pages (vvar, vdso), which are in this process as they are natively. */
static ULong count_kernel_pages(void)
{
   char  line[512];
   ULong bytes = 0;
   FILE* maps = fopen("/proc/self/maps", "re");
   if (!maps)
      return 0;
   while (fgets(line, sizeof line, maps)) {
      unsigned long start, end;
      if ((strstr(line, "[vvar") || strstr(line, "[vdso]"))
          && sscanf(line, "%lx-%lx", &start, &end) == 2)
         bytes += end - start;
   }
   fclose(maps);
   return bytes;
}

void bl_placement_init(const char* target, bool dynamic, bool interpreted)
{
   static const ULong of_aarch64 = 3 * PAGE; /* vvar has two pages and vdso one, in Linux 6.1 */
   is_x86 = strcmp(target, "x86_64") == 0;
   is_dynamic = dynamic;
   is_interpreted = interpreted;
   kernel_pages = is_x86 ? count_kernel_pages() : of_aarch64;
   is_ready = true;
}

/* Returns true if the kernel moves the mapping of the present call to a place for superpages. Some
   mappings are tried, each with a page below it, because one alone might be there by chance. QEMU's
   memory has several holes that end at such a place. */
static bool kernel_aligns(ULong len, int flags, int fd, ULong offset)
{
   Addr tried[TRIES], below[TRIES];
   bool yes = true;
   UInt n = 0;
   if (len < SUPERPAGE)
      return false;
   for (; yes && n < TRIES; n++) {
      tried[n] = map(0, len, PROT_NONE, flags | MAP_NORESERVE, fd, offset);
      below[n] = (Addr)-1;
      yes = !failed(tried[n]) && ((tried[n] - offset) & (SUPERPAGE - 1)) == 0;
      if (yes)
         below[n] = map(tried[n] - PAGE, PAGE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
   }
   while (n-- > 0) {
      if (!failed(tried[n]))
         syscall(SYS_munmap, tried[n], len);
      if (!failed(below[n]))
         syscall(SYS_munmap, below[n], PAGE);
   }
   return yes;
}

/* Returns the place for a mapping of the program, or 0 without room. */
static Addr place(ULong len)
{
   int   shared = MAP_PRIVATE, fd = -1;
   ULong offset = 0, flags = bl_call.arg[3];
   Addr  a = 0;
   if (bl_call.call == CALL_MMAP) {
      shared = flags & MAP_SHARED ? MAP_SHARED : MAP_PRIVATE;
      if (!(flags & MAP_ANONYMOUS)) {
         fd = (int)bl_call.arg[4];
         offset = bl_call.arg[5];
      }
   } else if (bl_call.call == CALL_SHMAT) {
      shared = MAP_SHARED;
   }
   if (kernel_aligns(len, fd < 0 ? shared | MAP_ANONYMOUS : shared, fd, offset)) {
      a = bl_highest_hole(len + SUPERPAGE, mmap_top, upper);
      if (a) {
         Addr up = (offset - a) & (SUPERPAGE - 1);
         a += up ? up : SUPERPAGE;
      }
   }
   return a ? a : bl_highest_hole(len, mmap_top, upper);
}

/* Returns the place of a mapping that QEMU makes while it loads the program: the executable unless
   its place is fixed, the stack, the dynamic linker, and pages of QEMU's own. */
static Addr place_of_part(ULong len)
{
   UInt step = requests++ + (is_dynamic ? 0 : 1);
   if (step > 1 && !is_interpreted)
      step++;
   switch (step) {
      case 0:
         return is_x86 ? pie_x86_64 : pie_aarch64;
      case 1:
         /* Natively the stack ends at 0x7ffffffff000, on AArch64 at 0x1000000000000. */
         bl_stack_end = is_x86 ? end_of_upper - PAGE : end_of_upper;
         bl_stack = bl_stack_end - len;
         /* The kernel's pages are at the top if no dynamic linker comes first. */
         kernel_pages_end = is_interpreted ? mmap_top - kernel_pages : mmap_top;
         if (!is_interpreted)
            bl_fill(mmap_top - kernel_pages, kernel_pages);
         return bl_stack;
      case 2: {
         Addr linker = bl_highest_hole(len, mmap_top, upper);
         kernel_pages_end = linker;
         bl_fill(linker - kernel_pages, kernel_pages);
         return linker;
      }
      case 3:
         if (!is_x86) /* the page to which signal handlers return */
            return bl_kernel_page = kernel_pages_end - PAGE;
         /* fall through */
      default:
         return aside + (Addr)step * SUPERPAGE;
   }
}

static void note(Addr start, ULong len)
{
   if (start >= upper && start < end_of_upper)
      bl_fill(start, len);
}

static void note_gone(Addr start, ULong len)
{
   if (start >= upper && start < end_of_upper)
      bl_empty(start, len);
}

/* Returns the place for the reservation with which QEMU looks for room, or 0 to let it be. */
static Addr reserve(Addr wish, ULong len, int prot, int flags)
{
   static const int once = MAP_FIXED_NOREPLACE;
   bool asks = bl_call.call == CALL_MMAP   ? PAGE_DOWN(bl_call.arg[0]) != 0
               : bl_call.call == CALL_BRK   ? true
               : bl_call.call == CALL_SHMAT ? bl_call.arg[1] != 0
                                            : false;
   misplaced = false;
   if (bl_loading) {
      Addr a = map(place_of_part(len), len, prot, flags | once, -1, 0);
      return failed(a) ? 0 : a;
   }
   if (asks) {
      Addr a = map(wish, len, prot, flags | once, -1, 0);
      if (!failed(a))
         return a;
      if (bl_call.call == CALL_BRK)
         return 0;
   }
   Addr at = 0;
   if (asks && !bl_is_programs(wish)) { /* natively the address may be free: keep its alignment */
      at = bl_highest_hole(len + SUPERPAGE, mmap_top, upper);
      at = at ? at + ((wish - at) & (SUPERPAGE - 1)) : 0;
   }
   if (!at)
      at = place(len);
   Addr a = at ? map(at, len, prot, flags | once, -1, 0) : (Addr)-1;
   if (!failed(a))
      return a;
   misplaced = true;
   native = asks ? wish : 0;
   return 0;
}

/* The functions of the C library that QEMU calls. */
#pragma GCC visibility push(default)

void* mmap64(void* at, size_t len, int prot, int flags, int fd, off64_t offset)
{
   static const int search = MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE;
   ULong            bytes = PAGE_UP(len);
   Addr             a = 0;
   if (is_ready && prot == PROT_NONE && flags == search && fd == -1 && at)
      a = reserve((Addr)at, bytes, prot, flags);
   if (!a)
      a = map((Addr)at, len, prot, flags, fd, offset);
   if (!failed(a))
      note(a, bytes);
   return (void*)a;
}

int munmap(void* at, size_t len)
{
   int result = syscall(SYS_munmap, at, len);
   if (result == 0)
      note_gone((Addr)at, len);
   return result;
}

static Addr move(Addr old, ULong old_len, ULong len, int flags, Addr to)
{
   Addr a = syscall(SYS_mremap, old, old_len, len, flags, to);
   if (!failed(a)) {
      if (!(flags & MREMAP_DONTUNMAP))
         note_gone(old, old_len);
      note(a, len);
   }
   return a;
}

void* mremap(void* old, size_t old_len, size_t len, int flags, ...)
{
   Addr    to = 0;
   va_list more;
   va_start(more, flags);
   if (flags & MREMAP_FIXED)
      to = va_arg(more, Addr);
   va_end(more);
   if (bl_call.call != CALL_MREMAP || (bl_call.arg[3] & MREMAP_FIXED) || !(flags & MREMAP_FIXED))
      return (void*)move((Addr)old, old_len, len, flags, to);
   /* QEMU reserved room at `to`. The kernel tries the old place first. */
   munmap((void*)to, len);
   if (!(flags & MREMAP_DONTUNMAP)) {
      Addr a = move((Addr)old, old_len, len, flags & ~(MREMAP_FIXED | MREMAP_MAYMOVE), 0);
      if (!failed(a))
         return (void*)a;
   }
   Addr at = place(PAGE_UP(len));
   return (void*)move((Addr)old, old_len, len, flags, at ? at : to);
}

void* shmat(int id, const void* at, int flags)
{
   struct shmid_ds of;
   Addr            a = syscall(SYS_shmat, id, at, flags);
   if (failed(a) || syscall(SYS_shmctl, id, IPC_STAT, &of) != 0)
      return (void*)a;
   note(a, of.shm_segsz);
   for (UInt i = 0; i < MOST_ATTACHED; i++)
      if (attached[i].bytes == 0) {
         attached[i].at = a;
         attached[i].bytes = of.shm_segsz;
         break;
      }
   return (void*)a;
}

int shmdt(const void* at)
{
   int result = syscall(SYS_shmdt, at);
   detached = 0;
   for (UInt i = 0; result == 0 && i < MOST_ATTACHED; i++)
      if (attached[i].bytes && attached[i].at == (Addr)at) {
         detached = attached[i].bytes;
         attached[i].bytes = 0;
         note_gone((Addr)at, detached);
         break;
      }
   return result;
}

/* QEMU ends itself by this call when a signal ends the program. The program's own calls do not come
   here. */
int kill(pid_t pid, int signal)
{
   if (is_ready && pid == getpid() && signal != 0) {
      if (bl_recording)
         bl_conclude(NULL);
      bl_ends(0, false);
   }
   return syscall(SYS_kill, pid, signal);
}
#pragma GCC visibility pop

/* Mappings at the places where the kernel would have put them, as far as 2 MiB boundaries go.

   Valgrind's core places a program's mappings by rules of its own: bottom up, in the first hole. A
   region can hold a superpage only if it spans 2 MiB boundaries, so such places would change the
   answer. The functions below take the place of the core's own (the linker's --wrap) and return the
   addresses that Linux gives without address randomization (`setarch -R`). Their addresses are
   equal modulo 1 GiB for mappings, executables and heaps, and modulo 2 MiB for the stack.

   - Executable: a position-independent executable is natively at 0x555555554000, and here at the
     same address modulo 64 GiB.
   - Heap: after the executable, with as much room to grow as possible. (The core's own limit is 8
     MiB. Beyond it the allocator would use mmap, which it does not do natively.)
   - mmap: natively top down from 0x7ffff7fff000, in the highest hole that is large enough. Kernels
     and file systems differ in the mappings that they move to a 2 MiB boundary. So the kernel is
     asked, by a mapping that is removed at once.
   - Stack: natively up to 0x7ffffffff000.
   - An address that the program asks for and Valgrind does not have: another address, as far from a
     2 MiB boundary.

   With --align, mappings are placed as Talluri's system does (1995, section 6.8): each is aligned
   to the largest of the given page sizes that its object is as large as. The object of a file's
   mapping is the whole file, and the file's offset counts, so that all processes choose equally
   aligned addresses for a shared file.

   If none of this finds room, the core chooses, and the recording says so. */
#include "recorder.h"

typedef struct {
   enum { MFixed, MHint, MAny, MAlign } rkind;
   Addr start;
   Addr len;
} MapRequest;

/* The required fields of the core's type with this name. */
typedef struct {
   const HChar** argv;
   Addr          exe_base, exe_end;
} ExeInfoHead;

extern Addr   __real_vgPlain_am_get_advisory(const MapRequest*, Bool client, Bool* ok);
extern Addr   __real_vgPlain_am_get_advisory_client_simple(Addr start, SizeT len, Bool* ok);
extern Bool   __real_vgPlain_am_create_reservation(Addr start, SizeT length, ShrinkMode smode,
                                                   SSizeT extra);
extern Int    __real_vgPlain_do_exec(const HChar* exe, ExeInfoHead* info);
extern Addr   __real_vgPlain_am_startup(Addr sp_at_startup);
extern HChar** VG_(client_envp);
extern SysRes VG_(am_mmap_anon_fixed_client)(Addr start, SizeT length, UInt prot);
extern Bool   VG_(am_notify_mprotect)(Addr start, SizeT len, UInt prot);
extern Long   VG_(fsize)(Int fd);
extern SysRes VG_(do_syscall)(UWord sysno, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord, RegWord);

#define SUPERPAGE 0x200000UL

/* Under Valgrind 3.19, the address space of the client ends at 128 GiB. The core's own allocations
   begin at 64 GiB and grow upwards. */
static const Addr pie_base = 0x555554000UL;     /* 0x555555554000 mod 64 GiB */
static const Addr mmap_top = 0x1fb7fff000UL;    /* 0x7ffff7fff000 mod 1 GiB, below the stack */
static const Addr mmap_floor = 0x1100000000UL;
static const Addr end_of_client = 0x2000000000UL;

Bool  bl_misplaced;
Addr  bl_native;
Long  bl_align; /* page sizes to align mappings to: bit n for 2^n bytes */

/* Natively the kernel maps pages of its own (vvar, vdso) below the dynamic linker, or at the top if
   a program has no dynamic linker. Valgrind hides these pages from the program. Their room stays
   free. */
static SizeT kernel_pages;
static Addr  kernel_pages_end; /* 0: not known yet */
static UChar vdso_image[64 * 1024];
static SizeT vdso_bytes;
Addr         bl_vdso;
static Bool  loading; /* the program is being loaded */
static Addr  below_all; /* the end that the missing hole would have had */
static const Addr stack_top_in_superpage = 0x1ff000; /* 0x7ffffffff000 mod 2 MiB */

/* The kind of the next mapping, if the system call named it. */
static struct { Bool known; Bool file; Int fd; ULong offset; Bool shared; } expected;

void bl_placement_expect(Bool file, Int fd, ULong offset, Bool shared)
{
   expected.known = True;
   expected.file = file;
   expected.fd = fd;
   expected.offset = offset;
   expected.shared = shared;
}

void bl_placement_expect_nothing(void) { expected.known = False; }

/* Returns true if the kernel moves such a mapping to a place for superpages. Two mappings are
   tried, because one alone might be there by chance. */
static Bool kernel_aligns(SizeT len)
{
   Int    flags = expected.known && expected.shared ? VKI_MAP_SHARED : VKI_MAP_PRIVATE;
   Int    fd = -1;
   ULong  offset = 0;
   SysRes r[2];
   Bool   yes = True;

   if (len < SUPERPAGE)
      return False;
   if (expected.known && expected.file) {
      fd = expected.fd;
      offset = expected.offset;
   } else {
      flags |= VKI_MAP_ANONYMOUS;
   }
   flags |= VKI_MAP_NORESERVE;
   for (Int i = 0; i < 2; i++) {
      r[i] = VG_(do_syscall)(__NR_mmap, 0, len, VKI_PROT_NONE, flags, fd, offset, 0, 0);
      yes = yes && !sr_isError(r[i]) && ((sr_Res(r[i]) - offset) & (SUPERPAGE - 1)) == 0;
   }
   for (Int i = 0; i < 2; i++)
      if (!sr_isError(r[i]))
         VG_(do_syscall)(__NR_munmap, sr_Res(r[i]), len, 0, 0, 0, 0, 0, 0);
   return yes;
}

/* Returns the offset in its file of a mapping that was announced, or 0. */
static ULong offset_in_object(void)
{
   return expected.known && expected.file ? expected.offset : 0;
}

/* Returns the boundary from which a mapping has the same distance as its offset in its object, or 0
   if the mapping has the next place that is free. */
static Addr boundary_of(SizeT len)
{
   if (bl_align == 0)
      return kernel_aligns(len) ? SUPERPAGE : 0;
   ULong object = len;
   if (expected.known && expected.file) {
      const Long bytes = VG_(fsize)(expected.fd);
      if (bytes > 0)
         object = VG_PGROUNDUP(bytes);
   }
   for (Int shift = 63; shift > 12; shift--)
      if ((bl_align >> shift & 1) && object >> shift)
         return 1UL << shift;
   return 0;
}

/* Reads the places of the kernel's [vvar], [vvar_vclock] and [vdso] in this process. They have as
   many pages as natively, at other places. */
static void look_at_kernel_pages(void)
{
   static HChar text[16384];
   SysRes       fd = VG_(open)("/proc/self/maps", VKI_O_RDONLY, 0);
   UInt         used = 0;
   Int          n;
   if (sr_isError(fd))
      return;
   while (used < sizeof text - 1
          && (n = VG_(read)(sr_Res(fd), text + used, sizeof text - 1 - used)) > 0)
      used += n;
   VG_(close)(sr_Res(fd));
   text[used] = 0;
   for (HChar* line = text; *line;) {
      HChar* end = VG_(strchr)(line, '\n');
      if (end)
         *end = 0;
      Bool vdso = VG_(strstr)(line, "[vdso]") != NULL;
      if (vdso || VG_(strstr)(line, "[vvar")) {
         HChar* rest;
         Addr   start = VG_(strtoull16)(line, &rest);
         SizeT  bytes = VG_(strtoull16)(rest + 1, NULL) - start;
         kernel_pages += bytes;
         if (vdso && bytes <= sizeof vdso_image) {
            vdso_bytes = bytes;
            VG_(memcpy)(vdso_image, (void*)start, bytes);
         }
      }
      if (!end)
         break;
      line = end + 1;
   }
}

/* Shows the program a copy of the vDSO, at the native place. A dynamic linker that finds a vDSO
   notes it in memory that it maps for this purpose, before anything else. Without a vDSO, later
   mappings would be a page or two from their native places. The functions of the copy have unused
   names, so the program's calls remain system calls, which Valgrind must see. Statically linked
   programs map nothing for a vDSO and are shown none. */
void bl_show_vdso(void)
{
   static const HChar name[] = "__vdso_";
   enum { IGNORED = 1, VDSO = 33 }; /* types of the auxiliary vector */
   HChar** e = VG_(client_envp);
   if (vdso_bytes == 0 || kernel_pages_end == 0 || kernel_pages_end == mmap_top || !e)
      return;
   while (*e)
      e++;
   ULong* auxiliary = (ULong*)(e + 1);
   while (auxiliary[0] != 0 && auxiliary[0] != IGNORED)
      auxiliary += 2;
   Addr at = kernel_pages_end - vdso_bytes;
   if (auxiliary[0] != IGNORED
       || sr_isError(
          VG_(am_mmap_anon_fixed_client)(at, vdso_bytes, VKI_PROT_READ | VKI_PROT_WRITE)))
      return;
   for (SizeT i = 0; i + sizeof name - 1 <= vdso_bytes; i++)
      if (VG_(memcmp)(vdso_image + i, name, sizeof name - 1) == 0)
         vdso_image[i + 2] = 'V';
   VG_(memcpy)((void*)at, vdso_image, vdso_bytes);
   const UInt rights = VKI_PROT_READ | VKI_PROT_EXEC;
   if (!sr_isError(VG_(do_syscall)(__NR_mprotect, at, vdso_bytes, rights, 0, 0, 0, 0, 0)))
      VG_(am_notify_mprotect)(at, vdso_bytes, rights);
   auxiliary[0] = VDSO;
   auxiliary[1] = at;
   bl_vdso = at;
}

/* Returns the highest hole of that length below the top, or 0. */
static Addr highest_hole(SizeT len)
{
   static const UInt all = SkAnonC | SkAnonV | SkFileC | SkFileV | SkShmC | SkResvn;
   static Addr*      starts;
   static Int        room;
   Addr              ceiling = kernel_pages_end == mmap_top ? mmap_top - kernel_pages : mmap_top;
   Int               n;

   below_all = ceiling;
   if (!starts) {
      room = 1024;
      starts = VG_(malloc)("bl.starts", room * sizeof(Addr));
   }
   while ((n = VG_(am_get_segment_starts)(all, starts, room)) < 0) {
      room = -n + 256; /* with some spare, because this allocation may add segments */
      starts = VG_(realloc)("bl.starts", starts, room * sizeof(Addr));
   }
   for (Int i = n - 1; i >= 0; i--) {
      const NSegment* s = VG_(am_find_nsegment)(starts[i]);
      if (!s || s->start >= ceiling)
         continue;
      if (s->end + 1 < ceiling && ceiling - (s->end + 1) >= len)
         return ceiling - len;
      ceiling = s->start;
      if (ceiling == kernel_pages_end)
         ceiling -= kernel_pages;
      below_all = ceiling;
      if (ceiling < mmap_floor)
         return 0;
   }
   return 0;
}

/* Returns the highest hole with the same distance from a 2 MiB boundary as `like`, an address that
   the program asked for and Valgrind does not have. */
static Addr highest_hole_like(SizeT len, Addr like)
{
   Addr a = highest_hole(VG_PGROUNDUP(len) + SUPERPAGE);
   return a >= mmap_floor ? a + ((VG_PGROUNDDN(like) - a) & (SUPERPAGE - 1)) : 0;
}

/* Returns the place that the kernel would have chosen for a mapping without room, as far as it is
   known: modulo 2 MiB. */
static Addr native_place(const MapRequest* req)
{
   Addr lowest = below_all - VG_PGROUNDUP(req->len);
   if (req->rkind == MHint && req->start >= end_of_client)
      return VG_PGROUNDDN(req->start);
   Addr boundary = boundary_of(VG_PGROUNDUP(req->len));
   if (boundary == 0)
      return lowest;
   return (lowest & ~(boundary - 1)) + (offset_in_object() & (boundary - 1));
}

static Addr where_the_kernel_would(SizeT len)
{
   Addr a = 0;
   len = VG_PGROUNDUP(len);
   const Addr boundary = boundary_of(len);
   if (boundary) {
      a = highest_hole(len + boundary);
      if (a) {
         Addr up = (offset_in_object() - a) & (boundary - 1);
         a += up ? up : boundary;
      }
   }
   if (!a)
      a = highest_hole(len);
   return a >= mmap_floor ? a : 0;
}

Addr __wrap_vgPlain_am_get_advisory(const MapRequest* req, Bool client, Bool* ok)
{
   if (!client || req->rkind == MFixed || req->rkind == MAlign || req->len == 0)
      return __real_vgPlain_am_get_advisory(req, client, ok);
   Addr a;
   bl_misplaced = False;
   if (req->rkind == MHint && req->start != 0) {
      a = __real_vgPlain_am_get_advisory(req, client, ok);
      if (*ok && a == req->start)
         return a;
   }
   if (kernel_pages_end == 0 && !loading)
      kernel_pages_end = mmap_top;
   if (req->rkind == MHint && req->start >= end_of_client)
      a = highest_hole_like(req->len, req->start);
   else
      a = where_the_kernel_would(req->len);
   if (a) {
      if (kernel_pages_end == 0) /* a program's first mapping while it is loaded is its linker */
         kernel_pages_end = a;
      *ok = True;
      return a;
   }
   a = __real_vgPlain_am_get_advisory(req, client, ok);
   if (*ok) {
      bl_misplaced = True;
      bl_native = native_place(req);
   }
   return a;
}

Addr __wrap_vgPlain_am_get_advisory_client_simple(Addr start, SizeT len, Bool* ok)
{
   MapRequest req = {start ? MFixed : MAny, start, len};
   return __wrap_vgPlain_am_get_advisory(&req, True, ok);
}

/* The heap's reservation is the one that shrinks from below and has one page before it. */
Bool __wrap_vgPlain_am_create_reservation(Addr start, SizeT length, ShrinkMode smode, SSizeT extra)
{
   if (smode == SmLower && extra == VKI_PAGE_SIZE)
      for (SizeT larger = 32UL << 30; larger > length; larger /= 2)
         if (__real_vgPlain_am_create_reservation(start, larger, smode, extra))
            return True;
   return __real_vgPlain_am_create_reservation(start, length, smode, extra);
}

/* The core puts a position-independent executable at two thirds of the range that it is given. */
Int __wrap_vgPlain_do_exec(const HChar* exe, ExeInfoHead* info)
{
   info->exe_base = 0;
   info->exe_end = pie_base / 2 * 3;
   if (kernel_pages == 0)
      look_at_kernel_pages();
   loading = True;
   Int error = __real_vgPlain_do_exec(exe, info);
   loading = False;
   return error;
}

/* Returns the last byte of the client's stack. */
Addr __wrap_vgPlain_am_startup(Addr sp_at_startup)
{
   Addr end = __real_vgPlain_am_startup(sp_at_startup) + 1;
   return (end & ~(SUPERPAGE - 1)) - SUPERPAGE + stack_top_in_superpage - 1;
}

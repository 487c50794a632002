/* Records of mappings, with the files that they map. */
#include "mappings.h"
#include "pub_tool_clientstate.h"

extern Addr VG_(brk_base);
extern Bool VG_(resolve_filename)(Int fd, const HChar** buf);

typedef struct { ULong dev, ino; } MappedFile;

static XArray* files; /* of MappedFile; a file's number is its index */

static UInt file_number(ULong dev, ULong ino, ULong size, const HChar* path)
{
   Word n = VG_(sizeXA)(files);
   for (Word i = 0; i < n; i++) {
      MappedFile* f = VG_(indexXA)(files, i);
      if (f->dev == dev && f->ino == ino)
         return i;
   }
   MappedFile f = {dev, ino};
   VG_(addToXA)(files, &f);
   Payload p = {0};
   put(&p, n);
   put(&p, size);
   put_text(&p, path);
   bl_send(REC_FILE, &p);
   return n;
}

static Bool starts_with(const HChar* s, const HChar* head)
{
   return VG_(strncmp)(s, head, VG_(strlen)(head)) == 0;
}

/* Returns true for files that are only a name for memory. */
static Bool is_memory(const HChar* path)
{
   return starts_with(path, "/dev/shm/") || starts_with(path, "/memfd:")
          || starts_with(path, "/SYSV") || starts_with(path, "/dev/zero");
}

void bl_send_map(Addr start, SizeT len, UInt prot, UInt flags, UInt backing, UInt file,
                     ULong offset)
{
   Payload p = {0};
   put(&p, start);
   put(&p, VG_PGROUNDUP(len));
   put(&p, prot);
   put(&p, flags);
   put(&p, backing);
   put(&p, file);
   put(&p, offset);
   bl_send(REC_MAP, &p);
}

void bl_send_range(UInt kind, Addr start, SizeT len)
{
   Payload p = {0};
   put(&p, start);
   put(&p, VG_PGROUNDUP(len));
   bl_send(kind, &p);
}

static void send_file_map(Addr start, SizeT len, UInt prot, UInt flags, ULong dev, ULong ino,
                          ULong size, Bool regular, const HChar* path, ULong offset)
{
   if (is_memory(path)) {
      UInt backing = flags & VKI_MAP_SHARED ? BACK_SHARED_MEMORY : BACK_ANONYMOUS;
      bl_send_map(start, len, prot, flags, backing, 0, 0);
   }
   else if (!regular)
      bl_send_map(start, len, prot, flags, BACK_KERNEL, 0, 0);
   else
      bl_send_map(start, len, prot, flags, BACK_FILE, file_number(dev, ino, size, path), offset);
}

/* Natively, a program starts with 128 KiB of stack below its arguments. */
#define FIRST_STACK (128UL * 1024)

static UInt protection(const NSegment* s)
{
   return (s->hasR ? VKI_PROT_READ : 0) | (s->hasW ? VKI_PROT_WRITE : 0)
          | (s->hasX ? VKI_PROT_EXEC : 0);
}

static void send_segment(const NSegment* s, const NSegment* below)
{
   UInt  prot = protection(s);
   SizeT len = s->end + 1 - s->start;
   if (s->kind == SkShmC) {
      bl_send_map(s->start, len, prot, VKI_MAP_SHARED, BACK_SHARED_MEMORY, 0, 0);
   } else if (s->kind == SkFileC) {
      const HChar*   path = VG_(am_get_filename)(s);
      struct vg_stat st;
      ULong          size = s->offset + len;
      if (path && !sr_isError(VG_(stat)(path, &st)))
         size = st.size;
      send_file_map(s->start, len, prot, VKI_MAP_PRIVATE, s->dev, s->ino, size,
                    VKI_S_ISREG(s->mode), path ? path : "?", s->offset);
   } else if (s->start == bl_vdso) {
      bl_send_map(s->start, len, prot, VKI_MAP_PRIVATE, BACK_KERNEL, 0, 0);
   } else if (s->start == VG_(brk_base)) {
      /* The core maps the heap's first page before the program asks for it. */
   } else if (below && below->kind == SkResvn && below->smode == SmUpper
              && below->end + 1 == s->start) {
      /* The reader detects the stack's growth by the references to it. */
      Addr    low = s->start - FIRST_STACK > below->start ? s->start - FIRST_STACK : s->start;
      Payload p;
      p.words = 0;
      bl_send_map(low, s->end + 1 - low, prot, VKI_MAP_PRIVATE, BACK_STACK, 0, 0);
      put(&p, low);
      put(&p, s->end + 1);
      put(&p, below->start);
      bl_send(REC_STACK, &p);
   } else {
      bl_send_map(s->start, len, prot, VKI_MAP_PRIVATE, BACK_ANONYMOUS, 0, 0);
   }
}

/* Records all mappings of a process that begins. */
void bl_mappings_begin(void)
{
   static const UInt kinds = SkAnonC | SkFileC | SkShmC | SkResvn;
   Int               room = 256, n;
   Addr*             starts = VG_(malloc)("bl.segments", room * sizeof(Addr));
   if (files)
      VG_(deleteXA)(files);
   files = VG_(newXA)(VG_(malloc), "bl.files", VG_(free), sizeof(MappedFile));
   while ((n = VG_(am_get_segment_starts)(kinds, starts, room)) < 0) {
      room = -n + 64;
      starts = VG_(realloc)("bl.segments", starts, room * sizeof(Addr));
   }
   for (Int i = 0; i < n; i++) {
      const NSegment* s = VG_(am_find_nsegment)(starts[i]);
      const NSegment* below = i > 0 ? VG_(am_find_nsegment)(starts[i - 1]) : NULL;
      if (s && s->kind != SkResvn)
         send_segment(s, below);
   }
   VG_(free)(starts);
}

void bl_mapped(UWord* args, Addr start)
{
   SizeT          len = args[1];
   UInt           prot = args[2], flags = args[3];
   Int            fd = args[4];
   struct vg_stat st;
   const HChar*   path;
   if (flags & VKI_MAP_ANONYMOUS) {
      UInt backing = flags & VKI_MAP_SHARED ? BACK_SHARED_MEMORY : BACK_ANONYMOUS;
      bl_send_map(start, len, prot, flags, backing, 0, 0);
   } else if (VG_(fstat)(fd, &st) == 0) {
      if (!VG_(resolve_filename)(fd, &path))
         path = "?";
      send_file_map(start, len, prot, flags, st.dev, st.ino, st.size, VKI_S_ISREG(st.mode), path,
                    args[5]);
   } else {
      bl_send_map(start, len, prot, flags, BACK_KERNEL, 0, 0);
   }
}

/* Records the mapping that remains after an mremap, or the populated memory that it adds. */
void bl_remapped(const UWord* args, Addr to)
{
   if (bl_leaves_mapping(args[3])) {
      const NSegment* s = VG_(am_find_nsegment)(args[0]);
      if (s)
         bl_send_map(args[0], args[1], protection(s), VKI_MAP_PRIVATE, BACK_ANONYMOUS, 0, 0);
   } else if (args[2] > args[1]) {
      bl_touches_mapped(to + args[1], args[2] - args[1], 0);
   }
}

/* Records a place that differs from the native one modulo 2 MiB. The record follows the mapping. */
void bl_send_misplaced(Addr start, SizeT len)
{
   static const Addr in_superpage = (1UL << 21) - 1;
   Payload           p;
   if (!bl_misplaced || ((start ^ bl_native) & in_superpage) == 0)
      return;
   p.words = 0;
   put(&p, start);
   put(&p, VG_PGROUNDUP(len));
   put(&p, bl_native);
   bl_send(REC_MISPLACED, &p);
}

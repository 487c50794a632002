/* Symbols in the dynamic symbol table of a loaded program or library. The core's own tables lack
   variables in sections with unusual names, such as CPython's `_PyRuntime`. */
#include "sites.h"
#include <elf.h>

#define MOST_SEGMENTS 4096
#define MOST_SYMBOLS (1u << 20)

/* Returns the start of the file that is mapped around an address, or 0. */
static Addr file_start(Addr inside)
{
   static Addr     starts[MOST_SEGMENTS];
   const NSegment* at = VG_(am_find_nsegment)(inside);
   if (!at || at->kind != SkFileC)
      return 0;
   Int n = VG_(am_get_segment_starts)(SkFileC, starts, MOST_SEGMENTS);
   for (Int i = 0; i < n; i++) {
      const NSegment* s = VG_(am_find_nsegment)(starts[i]);
      if (s && s->dev == at->dev && s->ino == at->ino && s->offset == 0)
         return s->start;
   }
   return 0;
}

/* Returns the address of a symbol, given an address inside the program or library, or 0. */
Addr bl_dynamic_symbol(Addr inside, const HChar* name)
{
   const Elf64_Ehdr* head = (const Elf64_Ehdr*)file_start(inside);
   const Elf64_Phdr* parts;
   Addr              shift = 0, symbols = 0, names = 0;
   Bool              loads = False;
   if (!bl_readable((Addr)head, sizeof *head) || VG_(memcmp)(head->e_ident, ELFMAG, SELFMAG) != 0)
      return 0;
   parts = (const Elf64_Phdr*)((Addr)head + head->e_phoff);
   if (!bl_readable((Addr)parts, head->e_phnum * sizeof *parts))
      return 0;
   for (UInt i = 0; i < head->e_phnum; i++) {
      if (parts[i].p_type == PT_LOAD && !loads) {
         shift = (Addr)head - VG_PGROUNDDN(parts[i].p_vaddr);
         loads = True;
      }
      if (parts[i].p_type != PT_DYNAMIC)
         continue;
      const Elf64_Dyn* d = (const Elf64_Dyn*)(parts[i].p_vaddr + shift);
      for (; bl_readable((Addr)d, sizeof *d) && d->d_tag != DT_NULL; d++) {
         /* The dynamic linker may already have added the shift. */
         Addr value = d->d_un.d_ptr < (Addr)head ? d->d_un.d_ptr + shift : d->d_un.d_ptr;
         if (d->d_tag == DT_SYMTAB)
            symbols = value;
         else if (d->d_tag == DT_STRTAB)
            names = value;
      }
   }
   /* Linkers put the names right after the symbols. */
   for (UInt i = 0; i < MOST_SYMBOLS && symbols + (i + 1) * sizeof(Elf64_Sym) <= names; i++) {
      const Elf64_Sym* s = (const Elf64_Sym*)symbols + i;
      if (!bl_readable((Addr)s, sizeof *s) || !bl_readable(names + s->st_name, 1))
         return 0;
      if (s->st_value && VG_(strcmp)((const HChar*)(names + s->st_name), name) == 0)
         return s->st_value + shift;
   }
   return 0;
}

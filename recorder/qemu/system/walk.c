/* The guest's page tables. The guest's memory is a file that QEMU shares, so the recorder reads the
   tables itself, at the instant of a reference. A walk comes before the first use of a page since
   its translation was invalidated, so the leaf is the one that a processor would load. */
#define _GNU_SOURCE
#include "system.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

Counts bl_counts;
bool   bl_check = false;

static const UChar* memory;
static ULong        memory_bytes;
static ULong        last_stamp = STAMP_OF_EVENTS;

bool bl_map_memory(const char* file)
{
   struct stat of;
   int         fd = open(file, O_RDONLY | O_CLOEXEC);
   if (fd < 0 || fstat(fd, &of) != 0)
      return false;
   memory_bytes = of.st_size;
   void* at = mmap(NULL, memory_bytes, PROT_READ, MAP_SHARED, fd, 0);
   close(fd);
   memory = at;
   return at != MAP_FAILED;
}

bool bl_read_physical(Addr at, void* to, UInt bytes)
{
   if (at > memory_bytes || bytes > memory_bytes - at)
      return false;
   memcpy(to, memory + at, bytes);
   return true;
}

static ULong entry(Addr table, UInt index)
{
   ULong value = 0;
   bl_read_physical((table & ADDRESS_BITS) + 8 * index, &value, sizeof value);
   return value;
}

#define ENTRY_PRESENT 1u
#define ENTRY_WRITE 2u
#define ENTRY_USER 4u
#define ENTRY_LARGE 0x80u
#define ENTRY_GLOBAL 0x100u
#define ENTRY_NO_EXECUTE (1ULL << 63)

ULong bl_walk(Addr root, Addr address)
{
   ULong table = root, all = ENTRY_WRITE | ENTRY_USER, no_execute = 0;
   for (int level = 3; level >= 0; level--) {
      UInt  shift = 12 + 9 * level;
      ULong e = entry(table, address >> shift & 511);
      if (!(e & ENTRY_PRESENT))
         return 0;
      all &= e;
      no_execute |= e & ENTRY_NO_EXECUTE;
      if (level > 0 && (level > 2 || !(e & ENTRY_LARGE))) {
         table = e;
         continue;
      }
      Addr  inside = ((1ULL << shift) - 1) & ~(PAGE - 1);
      ULong leaf = ((e & ADDRESS_BITS & ~inside) | (address & inside)) | LEAF_PRESENT;
      leaf |= all & ENTRY_WRITE ? LEAF_WRITE : 0;
      leaf |= all & ENTRY_USER ? LEAF_USER : 0;
      leaf |= no_execute ? 0 : LEAF_EXECUTE;
      leaf |= e & ENTRY_GLOBAL ? LEAF_GLOBAL : 0;
      return leaf | (level == 1 ? LEAF_2M : level == 2 ? LEAF_1G : 0);
   }
   return 0;
}

void bl_flush(UInt half) { bl_cpu->stamp[half] = ++last_stamp; }

/* The leaves that the trace has: for each page and each block of 2 MiB that has had a large leaf.
   Keys are never 0. */
typedef struct { ULong key, leaf; } Told;
static Told* told;
static ULong told_room, told_number;

#define BLOCK_KEY (1ULL << 63)
#define SPLIT 1ULL /* the leaf of a block that has base pages again */
#define PAGE_BITS ((1ULL << 36) - 1)

static ULong key_of(UInt space, Addr page, ULong kind)
{
   return kind | ((ULong)(space + 1) << 36 | (page & PAGE_BITS));
}

static Told* place_of(Told* table, ULong room, ULong key)
{
   ULong at = (key * 0x9e3779b97f4a7c15ULL) >> 20;
   while (table[at & (room - 1)].key != 0 && table[at & (room - 1)].key != key)
      at++;
   return &table[at & (room - 1)];
}

static void grow(void)
{
   ULong room = told_room ? 2 * told_room : 1 << 16;
   Told* to = calloc(room, sizeof *to);
   if (!to)
      abort();
   for (ULong i = 0; i < told_room; i++)
      if (told[i].key)
         *place_of(to, room, told[i].key) = told[i];
   free(told);
   told = to;
   told_room = room;
}

static Told* told_of(ULong key)
{
   if (2 * told_number >= told_room)
      grow();
   Told* at = place_of(told, told_room, key);
   if (!at->key) {
      at->key = key;
      told_number++;
   }
   return at;
}

static void send_leaf(Addr start, UInt shift, ULong leaf)
{
   ULong words[4] = {start, shift, leaf & ADDRESS_BITS, leaf & 15};
   bl_counts.leaves++;
   bl_record(REC_LEAF, words, 4);
}

/* The places at which huge pages of programs were seen. */
typedef struct { ULong frame; UInt space; Addr block; } Huge;
static Huge* huge;
static UInt  huge_number, huge_room;

/* Counts a huge page, unless another place maps it too: a fork shares huge pages, and a change of
   rights makes none. A child may run first after its parent has ended. The parent's pages have
   KERNEL_SPACE then, and the child has them at the same addresses. */
static void note_huge(UInt space, Addr block, ULong frame)
{
   bool known = false;
   Huge* place = NULL;
   for (UInt i = 0; i < huge_number; i++) {
      bool here = huge[i].space == space && huge[i].block == block;
      bool orphan = huge[i].space == KERNEL_SPACE && huge[i].block == block;
      if (here)
         place = &huge[i];
      if (huge[i].frame == frame)
         known = known || here || orphan || bl_still_maps(huge[i].space, huge[i].block, frame);
   }
   bl_counts.huge += !known;
   if (!place) {
      if (huge_number == huge_room) {
         huge_room = huge_room ? 2 * huge_room : 256;
         huge = realloc(huge, huge_room * sizeof *huge);
         if (!huge)
            abort();
      }
      place = &huge[huge_number++];
   }
   *place = (Huge){frame, space, block};
}

/* Tells the trace a leaf, unless the trace has it. Base pages of a block that was one page before
   are told again. */
static void tell(UInt space, Addr address, ULong leaf)
{
   Addr  block = address & ~((1ULL << 21) - 1), page = PAGE_DOWN(address);
   ULong key = key_of(space, block >> 12, BLOCK_KEY);
   if (leaf & (LEAF_2M | LEAF_1G)) {
      ULong whole = leaf & ~(address & ((1ULL << 21) - 1) & ~(PAGE - 1));
      Told* t = told_of(key);
      ULong times = t->leaf >> 52;
      if ((t->leaf & ~(0xfffULL << 52)) == whole)
         return;
      t->leaf = whole | (times + 1) << 52;
      send_leaf(block, leaf & LEAF_1G ? 30 : 21, whole);
      if (!(address >> 63))
         note_huge(space, block, whole & ADDRESS_BITS);
      return;
   }
   Told* of_block = told_of(key);
   ULong times = of_block->leaf >> 52;
   if (of_block->leaf & (LEAF_2M | LEAF_1G))
      of_block->leaf = times << 52 | SPLIT;
   Told* t = told_of(key_of(space, page >> 12, 0));
   ULong value = leaf | times << 52;
   if (t->leaf == value)
      return;
   t->leaf = value;
   send_leaf(page, 12, leaf);
}

void bl_forget_leaves(UInt space, Addr start, ULong bytes)
{
   bl_flush_all();
   if (!told_room || bytes == 0)
      return;
   /* The last page, and not the one after it: the range may end with the addresses. */
   Addr first = start >> 12, last = (start + (bytes - 1)) >> 12;
   if (last - first >= told_room) {
      for (ULong i = 0; i < told_room; i++) {
         /* Keys have the low bits of a page, or of the first page of a block. */
         Addr from = told[i].key & BLOCK_KEY ? first & ~511ULL : first;
         bool same = (told[i].key & ~BLOCK_KEY) >> 36 == space + 1ULL;
         if (told[i].key && same && ((told[i].key - from) & PAGE_BITS) <= last - from)
            told[i].leaf &= 0xfffULL << 52;
      }
      return;
   }
   for (Addr page = first; page <= last; page++) {
      Told* t = place_of(told, told_room, key_of(space, page, 0));
      t->leaf = 0;
      t = place_of(told, told_room, key_of(space, (page << 12 & ~((1ULL << 21) - 1)) >> 12,
                                           BLOCK_KEY));
      t->leaf &= 0xfffULL << 52; /* the times of its huge pages go on */
   }
}

void bl_orphan_huge(UInt space)
{
   for (UInt i = 0; i < huge_number; i++)
      if (huge[i].space == space)
         huge[i].space = KERNEL_SPACE;
}

static __attribute__((noinline)) ULong walk_now(Cell* cell, Addr address)
{
   UInt  half = address >> 63;
   ULong leaf = bl_walk(bl_cpu->root, address);
   bl_counts.walks++;
   if (!leaf) {
      *cell = (Cell){0};
      return 0;
   }
   bool passing = half && !(leaf & LEAF_GLOBAL); /* a kernel's page that CR3 writes invalidate */
   *cell = (Cell){address >> 12, bl_cpu->stamp[passing ? 0 : half], leaf & ADDRESS_BITS};
   if (UNLIKELY(cell->frame == bl_events_frame) && bl_events_frame)
      cell->stamp = STAMP_OF_EVENTS;
   if (bl_on)
      tell(half ? KERNEL_SPACE : bl_cpu->space, address, leaf);
   return cell->stamp;
}

static inline Cell* cell_of(Addr address)
{
   Addr page = address >> 12;
   return &bl_cpu->cells[(page ^ page >> 12) % CELLS];
}

ULong bl_translate(Addr address)
{
   Cell* cell = cell_of(address);
   if (LIKELY(cell->page == address >> 12
              && (cell->stamp == bl_cpu->stamp[address >> 63] || cell->stamp == bl_cpu->stamp[0])))
      return cell->stamp;
   return walk_now(cell, address);
}

/* Compares the translation of a reference with QEMU's own. Addresses of devices have none. */
ULong bl_check_reference(UInt info, Addr address)
{
   ULong                      stamp = bl_translate(address);
   struct qemu_plugin_hwaddr* at = qemu_plugin_get_hwaddr(info, address);
   if (!at)
      return stamp;
   if (qemu_plugin_hwaddr_is_io(at)) {
      bl_counts.devices++;
      return stamp;
   }
   bl_counts.checked++;
   Addr ours = cell_of(address)->frame | (address & (PAGE - 1));
   if (!stamp || qemu_plugin_hwaddr_phys_addr(at) != ours)
      bl_counts.different++;
   return stamp;
}

/* Events of an instrumented kernel (Zhu 2018, table 3.1). The kernel emits an event by stores to a
   page that the recorder knows. The page has a slot of 64 bytes for each processor:

     0  the space that the event is about: the physical address of its top page table, or the
        address of its mm_struct in Linux; 0 for the running space
     8  the first address
    16  the length in bytes
    24  rights (1 read, 2 write, 4 execute), or the type of INVPCID
    32  the number of the event; a store to this word emits the event

   The recorder learns the page in one of two ways. A kernel has the symbol broadleaf_events, which
   the file of symbols names. Or code executes the mark 0xb0ad1ea3, and its next instruction stores
   to the page.

   The page is known by its physical address, so that any mapping of it emits events. */
#include "system.h"

#include <stdlib.h>

bool bl_events_expected = false;
Addr bl_events_frame;

enum { RV_CREATE, RV_BREAK, RV_FREE, VM_PROMOTE, VM_DEMOTE, VM_MAPPING, VM_UNMAP, VM_PROTECT,
       VM_PAGEOUT, INVLPG, INVLTLB, INVLTLB_G, INVPCID };

#define SLOT_BYTES 64u
#define EMITS 32u
#define BLOCK_BYTES (2ULL << 20)

static void know(Addr root, Addr address)
{
   ULong leaf = bl_walk(root, address);
   if (!bl_events_expected) {
      bl_say("the guest announces kernel events, which are left out: write the line "
             "'kernel-events 1' into the guest's file of symbols");
      return;
   }
   if (!leaf) {
      bl_say("the page of kernel events has no translation: announce it while the recording runs");
      return;
   }
   bl_events_frame = leaf & ADDRESS_BITS;
   bl_flush_all();
}

void bl_announces_events(Addr address) { know(bl_cpu->root, address); }

void bl_finds_events(void)
{
   if (!bl_events_frame && bl_events_symbol)
      know(bl_cpu->root, bl_events_symbol);
}

static bool is_valid(ULong event, ULong start, ULong length, ULong more)
{
   switch (event) {
      case RV_CREATE: case RV_BREAK: case RV_FREE: case VM_PROMOTE: case VM_DEMOTE: case VM_MAPPING:
         return start % BLOCK_BYTES == 0;
      case VM_PROTECT: return length <= ~start && more < 8;
      case VM_UNMAP: case VM_PAGEOUT: return length <= ~start;
      case INVPCID: return more < 4;
      default: return event <= INVPCID;
   }
}

void bl_event_at(Addr address)
{
   ULong slot[5];
   if (!bl_on || (address & (SLOT_BYTES - 1)) != EMITS)
      return;
   bl_read_physical(bl_events_frame | (address & (PAGE - 1) & ~(Addr)(SLOT_BYTES - 1)), slot,
                    sizeof slot);
   ULong event = slot[4], start = slot[1], length = slot[2], more = slot[3];
   if (!is_valid(event, start, length, more)) {
      bl_counts.invalid_events++;
      return;
   }
   UInt space = bl_cpu->space;
   if (slot[0]) {
      space = bl_space_named(slot[0]);
      if (space == KERNEL_SPACE) {
         bl_counts.homeless_events++;
         return;
      }
   }
   ULong words[5] = {event, space, start, length, more};
   bl_pend(REC_KERNEL, words, 5);
}

/* The trace has the event now. A leaf that comes after it makes its page present again. */
void bl_event_is_sent(const ULong* words)
{
   ULong event = words[0];
   bl_counts.events++;
   if (event == VM_UNMAP || event == VM_PAGEOUT)
      bl_forget_leaves(words[1], words[2], words[3]);
   if (event == RV_FREE || event == RV_CREATE)
      bl_forget_leaves(words[1], words[2], BLOCK_BYTES);
}

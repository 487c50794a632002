/* References become executions of shapes.

   A reference is compared with the one that its block is expected to make. An execution whose
   references are all as expected is one word, and its addresses follow only if one of them may have
   left its unit. Otherwise the references are collected, and a shape is looked for or learned when
   the execution ends. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

static Step collecting = {.insn = NULL};
static Made collected[WIRE_MAX_STEPS];

Run   bl_run = {.next = &collecting, .shape = &bl_unknown, .made = collected};
ULong bl_unit_mask = ~4095ULL;

/* Writes an execution of a shape. */
static void write_execution(const Shape* p, ULong left)
{
   UInt word = p->pattern;
   if (UNLIKELY((ULong)((UChar*)bl_low - (UChar*)bl_at) < ROOM))
      bl_ring_flush();
   if (left & bl_unit_mask) {
      ULong* to = bl_low;
      for (UInt i = 0; i < p->bases; i++)
         *--to = p->steps[p->base[i]].last;
      bl_low = to;
      word |= WIRE_LEFT;
   }
   *bl_at++ = word;
}

static inline void begin(Block* b)
{
   bl_run.block = b;
   bl_run.shape = b->shape;
   bl_run.next = b->shape->steps;
   bl_run.left = 0;
}

/* Moves the references so far from the predicted shape to `made`. The predicted shape has not seen
   its places, so the next execution of that shape gives all of them. */
static void collect(void)
{
   if (bl_run.next == &collecting)
      return;
   bl_run.n = 0;
   for (Step* s = bl_run.shape->steps; s < bl_run.next; s++) {
      bl_run.made[bl_run.n++] = (Made){s->insn, s->info, s->last};
      s->last = NOWHERE;
   }
   bl_run.next = &collecting;
}

static void write_made(Shape* p)
{
   ULong left = 0;
   for (UInt i = 0; i < bl_run.n; i++) {
      Step* s = &p->steps[i];
      ULong address = bl_run.made[i].address;
      left |= (address ^ s->last) | ((address + s->span) ^ s->last);
      s->last = address;
   }
   write_execution(p, left);
}

/* Returns the end of the instructions that an execution has made. A fault interrupts an execution
   before the instruction whose reference is missing. The instruction begins again later. */
static UInt end_of(const Block* following, const Step* expected)
{
   const Block* b = bl_run.block;
   if (!following || !bl_is_fault_handler(following->insns[0].address))
      return b->n;
   if (expected && expected->insn != END)
      return expected->insn->index;
   return bl_run.n ? bl_run.made[bl_run.n - 1].insn->index + 1U : b->n;
}

/* Ends an execution that was not the predicted one. */
static __attribute__((noinline)) void learn(const Block* following)
{
   Block* b = bl_run.block;
   Step*  expected = bl_run.next == &collecting ? NULL : bl_run.next;
   if (!b)
      return;
   UInt to = end_of(following, expected);
   collect();
   if (bl_recording && to > bl_run.from) {
      Shape* p = bl_shape(b, bl_run.from, to, bl_run.made, bl_run.n);
      if (p) {
         write_made(p);
         if (p->from == 0 && p->to == b->n)
            b->shape = p;
      }
   }
   bl_run.n = bl_run.from = 0;
   bl_run.block = NULL;
}

void bl_conclude(const Block* following)
{
   if (bl_run.next->insn != END)
      learn(following);
   else if (bl_run.block)
      write_execution(bl_run.shape, bl_run.left);
   bl_run.block = NULL;
   bl_run.shape = &bl_unknown;
   bl_run.next = &collecting;
}

/* Notes a reference that was not expected. */
static __attribute__((noinline)) void unexpected(const Insn* insn, UInt info, ULong address)
{
   if (!bl_run.block)
      return; /* outside of the recording */
   collect();
   if (bl_run.n == WIRE_MAX_STEPS) {
      UInt   to = bl_run.made[bl_run.n - 1].insn->index + 1U;
      Shape* p = bl_recording ? bl_shape(bl_run.block, bl_run.from, to, bl_run.made, bl_run.n)
                              : NULL;
      if (p)
         write_made(p);
      bl_run.from = to;
      bl_run.n = 0;
   }
   bl_run.made[bl_run.n++] = (Made){insn, info, address};
}

void bl_on_reference(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* insn)
{
   Step* s = bl_run.next;
   (void)cpu;
   if (LIKELY(s->insn == insn && s->info == info)) {
      bl_run.left |= (address ^ s->last) | ((address + s->span) ^ s->last);
      s->last = address;
      bl_run.next = s + 1;
   } else {
      unexpected(insn, info, address);
   }
}

void bl_on_block(unsigned cpu, void* block)
{
   (void)cpu;
   if (LIKELY(bl_run.next->insn == END))
      write_execution(bl_run.shape, bl_run.left);
   else
      learn(block);
   begin(block);
}

void bl_on_reference_in_turn(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address,
                             void* insn)
{
   if (UNLIKELY(bl_owner != (int)cpu))
      bl_take_turn(cpu);
   bl_on_reference(cpu, info, address, insn);
}

void bl_on_block_in_turn(unsigned cpu, void* block)
{
   if (UNLIKELY(bl_owner != (int)cpu))
      bl_take_turn(cpu);
   if (UNLIKELY(bl_turn_is_over)) {
      bl_conclude(block);
      bl_end_turn(cpu);
      bl_take_turn(cpu);
   }
   bl_on_block(cpu, block);
}

void bl_set_aside(Run* to)
{
   collect();
   Made* room = to->made ? to->made : malloc(sizeof collected);
   *to = bl_run;
   to->made = room;
   if (room)
      memcpy(room, collected, bl_run.n * sizeof(Made));
   else
      to->n = 0;
   bl_run = (Run){.next = &collecting, .shape = &bl_unknown, .made = collected};
}

void bl_resume(const Run* from)
{
   bl_run = *from;
   bl_run.made = collected;
   if (from->n)
      memcpy(collected, from->made, from->n * sizeof(Made));
}

/* References become executions of shapes.

   A block is expected to make the references of its predicted shape. A callback notes its address
   in the shape. No callback waits for the one before it, and the end of an execution looks at the
   references only if it must: if a reference may have left its unit, or if the shape is not trusted
   yet. If the references are not the predicted ones, they are collected, and a shape is looked for
   or learned when the execution ends. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

static Made collected[WIRE_MAX_STEPS];

Run   bl_run = {.state = COLLECTING, .shape = &bl_unknown, .made = collected};
ULong bl_unit_mask = ~4095ULL;

/* Writes an execution with its addresses, because a reference may have left its unit. */
static void write_addresses(Shape* p)
{
   for (Step* s = p->steps; s < p->end; s++)
      s->last = s->now;
   ULong* to = bl_low;
   for (const UShort* base = p->base; base < p->base + p->bases; base++)
      *--to = p->steps[*base].now;
   bl_low = to;
   bl_full = (UInt*)((UChar*)bl_low - ROOM);
   *bl_at++ = p->pattern | WIRE_LEFT;
}

static void write_execution(Shape* p, bool left)
{
   if (UNLIKELY(bl_at >= bl_full))
      bl_ring_flush();
   if (left)
      write_addresses(p);
   else
      *bl_at++ = p->pattern;
}

/* Returns true if a reference may have left its unit. */
static inline bool has_left(const Step* s, Addr now)
{
   return (((now ^ s->last) | ((now + s->span) ^ s->last)) & bl_unit_mask) != 0;
}

/* Returns the first reference that is missing or not expected, or NULL. */
static const Step* missing(void)
{
   const Shape* p = bl_run.shape;
   for (const Step* s = p->steps; (bl_run.state & COUNTED) && s < p->end; s++)
      if (s->made != bl_run.number)
         return s;
   return NULL;
}

/* Moves the references so far from the predicted shape to `made`. They come before those of `insn`,
   if it is not NULL and they are not counted. The places of the shape were not sent to the reader,
   so its next execution sends all of them. */
static void collect(const Insn* insn)
{
   Shape* p = bl_run.shape;
   if (bl_run.state & COLLECTING)
      return;
   bl_run.n = 0;
   for (Step* s = p->steps; s < p->end; s++) {
      bool made = bl_run.state & COUNTED ? s->made == bl_run.number
                                         : !insn || s->insn->index < insn->index;
      if (made)
         bl_run.made[bl_run.n++] = (Made){s->insn, s->info, s->now};
      s->last = NOWHERE;
   }
   if (p->state == 0)
      bl_distrust(bl_run.block);
   bl_run.state = COLLECTING;
}

static void write_made(Shape* p)
{
   bool left = false;
   for (UInt i = 0; i < bl_run.n; i++) {
      p->steps[i].now = bl_run.made[i].address;
      left |= has_left(&p->steps[i], p->steps[i].now);
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
   if (expected)
      return expected->insn->index;
   return bl_run.n ? bl_run.made[bl_run.n - 1].insn->index + 1U : b->n;
}

/* Ends an execution that was not the predicted one. */
static __attribute__((noinline)) void learn(const Block* following)
{
   Block* b = bl_run.block;
   if (!b)
      return;
   const Step* expected = missing();
   collect(NULL);
   UInt to = end_of(following, expected);
   if (bl_recording && to > bl_run.from) {
      Shape* p = bl_shape(b, bl_run.from, to, bl_run.made, bl_run.n);
      if (p) {
         write_made(p);
         if (p->from == 0 && p->to == b->n)
            bl_predict(b, p);
      }
   }
   bl_run.n = bl_run.from = 0;
}

/* Ends an execution that is not over with its pattern alone. */
static __attribute__((noinline)) void end(const Block* following)
{
   Shape* p = bl_run.shape;
   if ((bl_run.state & COLLECTING) || missing()) {
      learn(following);
      return;
   }
   write_execution(p, bl_run.state & LEFT);
   if (p->state == COUNTED && p->trials > 0 && --p->trials == 0)
      bl_trust(p);
}

void bl_conclude(const Block* following)
{
   if (bl_run.block)
      end(following);
   bl_run.state = COLLECTING;
   bl_run.n = 0;
   bl_run.block = NULL;
   bl_run.shape = &bl_unknown;
}

/* Forgets the execution in progress. In a forked child it is that of another thread. */
void bl_drop(void)
{
   bl_run = (Run){.state = COLLECTING, .number = bl_run.number, .shape = &bl_unknown,
                  .made = collected};
}

/* Collects a reference that was not expected. */
static void unexpected(const Insn* insn, UInt info, Addr address)
{
   if (!bl_run.block)
      return; /* outside of the recording */
   collect(insn);
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

/* Notes a reference that is counted or not expected. */
static __attribute__((noinline)) void count(const Insn* insn, UInt info, Addr address)
{
   for (Step* s = insn->steps; s && !(bl_run.state & COLLECTING) && s->insn == insn; s++)
      if (s->made != bl_run.number) {
         if (s->info != info)
            break;
         s->made = bl_run.number;
         bl_run.state |= has_left(s, address) ? LEFT : 0;
         s->now = address;
         return;
      }
   unexpected(insn, info, address);
}

void bl_on_reference(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* insn)
{
   Step* s = ((Insn*)insn)->step;
   (void)cpu;
   if (UNLIKELY(s->info != info)) {
      s++;
      if (UNLIKELY(s->info != info || s->insn != insn)) {
         count(insn, info, address);
         return;
      }
   }
   s->now = address;
   if (UNLIKELY(has_left(s, address)))
      bl_run.state |= LEFT;
}

void bl_on_block(unsigned cpu, void* block)
{
   Block* b = block;
   (void)cpu;
   if (LIKELY(bl_run.state == 0 && bl_at < bl_full))
      *bl_at++ = bl_run.shape->pattern;
   else if (bl_run.block)
      end(b);
   bl_run.block = b;
   bl_run.shape = b->shape;
   bl_run.state = b->shape->state;
   bl_run.number++;
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
   if (bl_run.state & (COUNTED | COLLECTING))
      collect(NULL);
   else
      bl_conclude(NULL); /* the owner sleeps between two blocks */
   Made* room = to->made ? to->made : malloc(sizeof collected);
   *to = bl_run;
   to->made = room;
   if (room)
      memcpy(room, collected, bl_run.n * sizeof(Made));
   else
      to->n = 0;
   bl_drop();
}

void bl_resume(const Run* from)
{
   ULong number = bl_run.number;
   bl_run = *from;
   bl_run.number = number;
   bl_run.made = collected;
   if (from->n)
      memcpy(collected, from->made, from->n * sizeof(Made));
}

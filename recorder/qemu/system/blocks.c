/* References become executions of shapes, as in the recorder of programs. Here an exception may
   interrupt any instruction, so no shape is trusted: each execution is compared with the predicted
   shape, reference by reference.

   A reference that stays in its unit, and whose entry of the software TLB still holds, needs two
   comparisons. All others look the page up. */
#include "system.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INSNS 4096

bool  bl_on = false;
bool  bl_code = false;
ULong bl_unit_mask = ~4095ULL;

static Made   collected[WIRE_MAX_STEPS];
static Step   none[1]; /* the steps of a block without a prediction */
static Step*  cursor = none; /* the reference that is expected next */
static const Step* end = none;
static Shape* shape = &bl_unknown;
static Block* block; /* NULL between executions */
static UInt   state = COLLECTING, made, from;
static bool   in_kernel = true;
static enum { NOTHING_PENDS, BEGIN_PENDS, END_PENDS } mark;
/* Invalidations and events of the kernel that the last block made, in order; they follow its
   references. */
static struct { UInt record, words; ULong word[5]; } *pending;
static size_t pendings, pending_room;

enum { INVALIDATE_PAGE, INVALIDATE_UNKNOWN_PAGE, INVALIDATE_SPACE, INVALIDATE_ALL };

void bl_segment_is_full(void) {}

static void write_execution(Shape* p)
{
   if (UNLIKELY(bl_at >= bl_full))
      bl_ring_flush();
   if (!(state & LEFT)) {
      *bl_at++ = p->pattern;
      return;
   }
   for (Step* s = p->steps; s < p->end; s++)
      s->last = s->now;
   ULong* to = bl_low;
   for (const UShort* base = p->base; base < p->base + p->bases; base++)
      *--to = p->steps[*base].now;
   bl_low = to;
   bl_full = (UInt*)((UChar*)bl_low - ROOM);
   *bl_at++ = p->pattern | WIRE_LEFT;
}

/* Moves the references so far from the predicted shape to the collected ones. */
static void collect(void)
{
   if (state & COLLECTING)
      return;
   made = 0;
   for (Step* s = shape->steps; s < cursor; s++)
      collected[made++] = (Made){s->insn, s->info, s->now};
   for (Step* s = shape->steps; s < shape->end; s++)
      s->last = NOWHERE;
   cursor = none;
   end = NULL;
   state = COLLECTING;
}

static void write_collected(UInt to)
{
   if (to <= from)
      return;
   Shape* p = bl_shape(block, from, to, collected, made);
   if (!p)
      return;
   state |= LEFT;
   for (UInt i = 0; i < made; i++)
      p->steps[i].now = collected[i].address;
   write_execution(p);
   if (p->from == 0 && p->to == block->n)
      block->shape = p;
}

/* Ends an execution that was not the predicted one. */
static __attribute__((noinline)) void learn(bool faulted)
{
   const Insn* expected = state & COLLECTING ? NULL : cursor->insn;
   UInt        to = block->n;
   collect();
   if (expected && !(expected->kind & CONDITIONAL))
      to = expected->index; /* an exception interrupted it */
   else if (faulted)
      to = made ? collected[made - 1].insn->index + 1U : from;
   if (bl_recording)
      write_collected(to);
   made = from = 0;
}

static void conclude(bool faulted)
{
   if (!block)
      return;
   if (LIKELY(cursor == end))
      write_execution(shape);
   else
      learn(faulted);
   block = NULL;
   cursor = none;
   end = NULL;
   state = COLLECTING;
   made = from = 0;
}

static inline ULong check(UInt info, Addr address)
{
   ULong stamp = UNLIKELY(bl_check) ? bl_check_reference(info, address) : bl_translate(address);
   bl_counts.untranslated += stamp == 0;
   return stamp;
}

/* Checks the translations of a reference. Returns the stamp of its first page. A vector is reported
   in pieces, so the page of a later piece may be missing yet: its fault follows. */
static ULong check_all(UInt info, Addr address, UInt span)
{
   ULong stamp = check(info, address);
   if (UNLIKELY(stamp == STAMP_OF_EVENTS) && qemu_plugin_mem_is_store(info))
      bl_event_at(address);
   if (UNLIKELY(((address ^ (address + span)) & ~(PAGE - 1)) != 0))
      bl_translate(address + span);
   return stamp;
}

static __attribute__((noinline)) void unexpected(const Insn* insn, UInt info, Addr address)
{
   if (!block)
      return;
   collect();
   check_all(info, address, (1u << qemu_plugin_mem_size_shift(info)) - 1);
   if (made == WIRE_MAX_STEPS) {
      UInt to = collected[made - 1].insn->index + 1U;
      if (bl_recording)
         write_collected(to);
      state = COLLECTING;
      from = to;
      made = 0;
   }
   collected[made++] = (Made){insn, info, address};
}

static __attribute__((noinline)) void left(Step* s, UInt info, Addr address)
{
   if ((((address ^ s->last) | ((address + s->span) ^ s->last)) & bl_unit_mask) != 0)
      state |= LEFT;
   s->stamp = check_all(info, address, s->span);
   if (bl_check)
      s->stamp = 0; /* each reference is checked */
}

static void on_reference(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* insn)
{
   Step* s = cursor;
   (void)cpu;
   if (!bl_on)
      return;
   if (UNLIKELY(s->insn != insn || s->info != info)) {
      unexpected(insn, info, address);
      return;
   }
   cursor = s + 1;
   s->now = address;
   if (UNLIKELY((((address ^ s->last) | ((address + s->span) ^ s->last)) & bl_unit_mask) != 0
                || s->stamp != bl_cpu->stamp[address >> 63]))
      left(s, info, address);
}

/* The function that loads spaces stores the new one after it wrote CR3. */
static void on_switch(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* insn)
{
   on_reference(cpu, info, address, insn);
   if (qemu_plugin_mem_is_store(info))
      bl_loads_space(address);
}

/* The instruction after a mark stores to the page of events. */
static void on_announcement(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* insn)
{
   on_reference(cpu, info, address, insn);
   if (qemu_plugin_mem_is_store(info))
      bl_announces_events(address);
}

static void send_pending(void)
{
   for (size_t i = 0; i < pendings && bl_on; i++) {
      bl_record(pending[i].record, pending[i].word, pending[i].words);
      if (pending[i].record == REC_KERNEL)
         bl_event_is_sent(pending[i].word);
   }
   pendings = 0;
}

void bl_pend(UInt record, const ULong* words, UInt n)
{
   if (pendings == pending_room) {
      pending_room = pending_room ? 2 * pending_room : 1024;
      if (!(pending = realloc(pending, pending_room * sizeof *pending)))
         abort();
   }
   pending[pendings].record = record;
   pending[pendings].words = n;
   memcpy(pending[pendings++].word, words, n * sizeof *words);
}

static void pend(UInt kind, Addr address)
{
   ULong words[2] = {kind, address};
   bl_pend(REC_INVALIDATE, words, 2);
}

static void on_special(unsigned cpu, void* data)
{
   const Decoded* d = data;
   ULong          value = 0, before;
   (void)cpu;
   switch (d->change) {
      case WRITES_CR3:
         before = bl_cpu->root;
         if (bl_register(bl_cpu_number, d->reg, &value))
            bl_cpu->root = value & ADDRESS_BITS;
         bl_flush(0);
         if (before == bl_cpu->root)
            pend(INVALIDATE_SPACE, 0);
         break;
      case WRITES_CR4: case INVALIDATES_SPACES:
         bl_counts.everything++;
         bl_flush(0);
         bl_flush(1);
         pend(INVALIDATE_ALL, 0);
         break;
      case INVALIDATES_PAGE:
         bl_counts.pages++;
         if (d->reg >= 0 && bl_register(bl_cpu_number, d->reg, &value)) {
            value += d->displacement;
            bl_flush(value >> 63);
            pend(INVALIDATE_PAGE, value);
         } else {
            bl_flush(0);
            bl_flush(1);
            pend(INVALIDATE_UNKNOWN_PAGE, 0);
         }
         break;
      case MARKS_BEGIN: mark = BEGIN_PENDS; break;
      case MARKS_END: mark = END_PENDS; break;
      case MARKS_EVENTS: case CHANGES_NOTHING: break;
   }
}

static void changes_privilege(bool kernel)
{
   in_kernel = kernel;
   bl_send_number(REC_PRIVILEGE, kernel);
   if (!kernel)
      bl_enters_program();
}

/* The rare work at the beginning of a block. */
static __attribute__((noinline)) void between_blocks(unsigned cpu, const Block* next)
{
   send_pending();
   if (cpu != bl_cpu_number || !bl_cpu) {
      bl_cpu_begins(cpu);
      if (bl_on) {
         bl_send_number(REC_CORE, cpu);
         bl_tell_space();
      }
   }
   if (mark == BEGIN_PENDS && !bl_on)
      bl_system_begins();
   else if (mark == END_PENDS && bl_on)
      bl_system_ends();
   mark = NOTHING_PENDS;
   if (bl_on && in_kernel != (bool)(next->insns[0].address >> 63))
      changes_privilege(!in_kernel);
}

static __attribute__((noinline)) void notes_fault(const Block* b)
{
   bool entry = bl_is_fault_entry(b->insns[0].address);
   if (entry)
      bl_counts.faults++;
   else
      bl_counts.handled++;
   bl_send_number(REC_FAULT, entry ? 0 : 1);
}

enum { IS_FAULT = 1, IS_FAULT_ENTRY = 2 };

static void on_block(unsigned cpu, void* data)
{
   Block* b = data;
   if (bl_on)
      conclude(b->marks & IS_FAULT_ENTRY);
   if (UNLIKELY(cpu != bl_cpu_number || !bl_cpu || mark || pendings
                || in_kernel != (bool)(b->insns[0].address >> 63)))
      between_blocks(cpu, b);
   if (!bl_on)
      return;
   if (UNLIKELY(b->marks))
      notes_fault(b);
   if (bl_code) {
      if (UNLIKELY(b->code_stamp != bl_cpu->stamp[b->insns[0].address >> 63])) {
         b->code_stamp = bl_translate(b->insns[0].address);
         bl_translate(b->insns[b->n - 1].address);
      }
   }
   block = b;
   shape = b->shape;
   state = shape->state & COLLECTING;
   cursor = state ? none : shape->steps;
   end = state ? NULL : shape->end;
}

void bl_begin_blocks(void)
{
   block = NULL;
   cursor = none;
   end = NULL;
   state = COLLECTING;
   made = from = 0;
   in_kernel = true;
}

void bl_end_blocks(void) { conclude(false); }

static ULong hash(ULong so_far, const UChar* code, size_t bytes)
{
   for (size_t i = 0; i < bytes; i++)
      so_far = (so_far ^ code[i]) * 0x100000001b3ULL;
   return so_far;
}

static size_t code_of(const struct qemu_plugin_insn* insn, UChar* to, size_t room)
{
   size_t bytes = qemu_plugin_insn_size(insn);
   bytes = bytes < room ? bytes : room;
#if PLUGIN_API >= 4
   return qemu_plugin_insn_data(insn, to, bytes);
#else
   memcpy(to, qemu_plugin_insn_data(insn), bytes);
   return bytes;
#endif
}

static Addr announcing; /* the instruction after a mark of the page of events */

static void adds_special(struct qemu_plugin_insn* insn, const UChar* code, size_t bytes)
{
   Decoded d = bl_decode(code, bytes);
   if (d.change == MARKS_EVENTS)
      announcing = qemu_plugin_insn_vaddr(insn) + bytes;
   if (d.change == CHANGES_NOTHING || d.change == MARKS_EVENTS)
      return;
   Decoded* data = malloc(sizeof d); /* code is translated again and again, and these are few */
   if (!data)
      abort();
   *data = d;
   qemu_plugin_register_vcpu_insn_exec_cb(insn, on_special, QEMU_PLUGIN_CB_R_REGS, data);
}

void bl_translates(qemu_plugin_id_t id, struct qemu_plugin_tb* tb)
{
   static Insn insns[MOST_INSNS]; /* QEMU translates one block at a time */
   UChar       code[16];
   size_t      n = qemu_plugin_tb_n_insns(tb);
   (void)id;
   if (n == 0 || n > MOST_INSNS)
      return;
   for (size_t i = 0; i < n; i++) {
      struct qemu_plugin_insn* insn = qemu_plugin_tb_get_insn(tb, i);
      size_t                   bytes = code_of(insn, code, sizeof code);
      adds_special(insn, code, bytes);
      insns[i] = (Insn){.address = qemu_plugin_insn_vaddr(insn), .index = i,
                        .kind = bl_kind_x86(code, bytes),
                        .code = hash(0xcbf29ce484222325ULL, code, bytes)};
   }
   Block* b = bl_block(insns, n);
   b->marks = bl_is_fault_entry(insns[0].address) ? IS_FAULT | IS_FAULT_ENTRY
              : bl_is_fault_work(insns[0].address) ? IS_FAULT
                                                   : 0;
   qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, b);
   for (size_t i = 0; i < n; i++) {
      Addr at = b->insns[i].address;
      qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i),
                                       bl_is_in_switch(at)               ? on_switch
                                       : UNLIKELY(at && at == announcing) ? on_announcement
                                                                         : on_reference,
                                       QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, &b->insns[i]);
   }
}

/* The tables of blocks and of the shapes of their executions. A block that is translated again
   keeps its shapes, so recordings do not depend on QEMU's translation cache. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS (1u << 17)
#define MOST_PATTERNS ((1u << 22) - 1)

Shape bl_unknown = {.state = COLLECTING};

/* The step of an instruction whose references are counted, or that is not expected to make any. The
   callback looks at two. */
static Step no_step[2] = {{.info = ~0u}, {.info = ~0u}};
static bool trust_none;

static Block*  buckets[BUCKETS];
static Shape** in_order; /* by pattern */
static UInt    patterns, room;

static void* allocate(ULong bytes)
{
   void* p = calloc(1, bytes);
   if (!p)
      abort(); /* QEMU's own allocations end the process too */
   return p;
}

/* Returns the block with these instructions. */
Block* bl_block(const Insn* insns, UInt n)
{
   ULong hash = 0x9e3779b97f4a7c15ULL ^ n;
   for (UInt i = 0; i < n; i++) {
      hash = (hash ^ insns[i].address ^ insns[i].code ^ (ULong)insns[i].kind << 62)
             * 0xff51afd7ed558ccdULL;
      hash ^= hash >> 32;
   }
   Block** bucket = &buckets[hash % BUCKETS];
   for (Block* b = *bucket; b; b = b->next) {
      bool same = b->hash == hash && b->n == n;
      for (UInt i = 0; same && i < n; i++)
         same = b->insns[i].address == insns[i].address && b->insns[i].kind == insns[i].kind
                && b->insns[i].code == insns[i].code;
      if (same)
         return b;
   }
   Block* b = allocate(sizeof(Block) + n * sizeof(Insn));
   b->next = *bucket;
   b->shape = &bl_unknown;
   b->hash = hash;
   b->n = n;
   memcpy(b->insns, insns, n * sizeof(Insn));
   for (UInt i = 0; i < n; i++) {
      b->insns[i].step = no_step;
      b->is_wary = b->is_wary || (insns[i].kind & CONDITIONAL);
   }
   *bucket = b;
   return b;
}

#define WIDEST 64u /* the bytes of the widest vector */

/* A reference as the trace has it. Pieces of one access are merged, because QEMU reports a vector
   of 16 bytes as two accesses of 8. */
typedef struct {
   const Insn* insn;
   Addr        address;
   UInt        bytes, step, base;
   bool        loads, stores;
   bool        paired; /* it is a part of the load before it */
} Reference;

/* Bits 16 and 17 of the callback's value hold 1 for a load, 2 for a store, and 3 for an atomic
   operation while the program has threads. The interface's own function tells only stores. */
static UInt kind_of(UInt info)
{
   UInt kind = info >> 16 & 3;
   return kind ? kind : qemu_plugin_mem_is_store(info) ? 2 : 1;
}

/* Finds the reference that an access continues or is the store of. */
static Reference* join(Reference* all, UInt n, const Insn* insn, Addr address, UInt bytes,
                       UInt kind)
{
   for (UInt i = n; i > 0 && all[i - 1].insn == insn && !(insn->kind & LOOSE); i--) {
      Reference* r = &all[i - 1];
      if (kind != 3 && r->loads == (kind == 1) && r->stores == (kind == 2)
          && r->address + r->bytes == address && r->bytes + bytes <= WIDEST) {
         r->bytes += bytes;
         return r;
      }
   }
   return NULL;
}

/* Returns true if the store belongs to a load of the same instruction and memory. */
static bool pairs(const Reference* all, UInt n, const Reference* store)
{
   bool may = !(store->insn->kind & LOOSE);
   for (UInt i = 0; may && i < n; i++)
      if (all[i].insn == store->insn && all[i].loads && !all[i].stores
          && all[i].address == store->address)
         return true;
   return false;
}

/* Merges the accesses of an execution. Returns the number of references. */
static UInt merge(Shape* p, const Made* made, UInt n, Reference* all)
{
   UInt references = 0;
   for (UInt i = 0; i < n; i++) {
      UInt kind = kind_of(made[i].info);
      UInt bytes = 1u << qemu_plugin_mem_size_shift(made[i].info);
      p->steps[i] = (Step){made[i].insn, made[i].info, bytes - 1, 0, NOWHERE, 0, 0};
      Reference* r = join(all, references, made[i].insn, made[i].address, bytes, kind);
      if (!r) {
         r = &all[references];
         *r = (Reference){made[i].insn, made[i].address, bytes, i, 0, kind & 1, kind & 2, false};
         r->paired = kind == 2 && pairs(all, references, r);
         references++;
      }
      p->steps[r->step].span = r->bytes - 1;
   }
   return references;
}

static void item(Shape* p, ULong kind, ULong argument)
{
   p->items[p->words++] = kind | argument << 8;
}

static void reference_item(Shape* p, const Reference* r, UInt kind)
{
   item(p, kind, r->bytes | (ULong)r->base << 24);
   p->items[p->words++] = 0;
}

/* Returns true if the program stores to the memory of this load by the same instruction. Hardware
   then asks for write access at once, so the store is recorded before the load. */
static bool is_stored_to(const Reference* all, UInt n, const Reference* load)
{
   for (const Reference* r = load + 1; r < all + n && r->insn == load->insn; r++)
      if (r->paired && r->address == load->address)
         return true;
   return false;
}

static void describe(Shape* p)
{
   ULong* payload = allocate((2 + p->words) * sizeof(ULong));
   payload[0] = p->pattern;
   memcpy(payload + 2, p->items, p->words * sizeof(ULong));
   bl_record(REC_BLOCK, payload, 2 + p->words);
   free(payload);
}

static Shape* new_shape(Block* b, UInt from, UInt to, const Made* made, UInt n)
{
   static Reference all[WIRE_MAX_STEPS];
   Shape*           p = allocate(sizeof(Shape) + (n + 1) * sizeof(Step));
   UInt             references = merge(p, made, n, all), next = 0;
   p->block = b;
   p->from = from;
   p->to = to;
   p->n = n;
   p->end = p->steps + n;
   p->state = COUNTED;
   p->trials = TRIALS;
   p->items = allocate((to - from + 4 * references + 1) * sizeof(ULong));
   p->base = allocate((references + 1) * sizeof(UShort));
   for (UInt i = from; i < to; i++) {
      item(p, ITEM_INSTRUCTION, b->insns[i].address);
      for (; next < references && all[next].insn->index <= i; next++) {
         Reference* r = &all[next];
         if (r->paired)
            continue;
         r->base = p->bases;
         p->base[p->bases++] = r->step;
         if (r->stores || is_stored_to(all, references, r))
            reference_item(p, r, ITEM_STORE);
         if (r->loads)
            reference_item(p, r, ITEM_LOAD);
      }
   }
   item(p, ITEM_EXIT, 0);
   return p;
}

static bool is_shape(const Shape* p, UInt from, UInt to, const Made* made, UInt n)
{
   if (p->from != from || p->to != to || p->n != n)
      return false;
   for (UInt i = 0; i < n; i++)
      if (p->steps[i].insn != made[i].insn || p->steps[i].info != made[i].info)
         return false;
   return true;
}

Shape* bl_shape(Block* b, UInt from, UInt to, const Made* made, UInt n)
{
   for (Shape* p = b->shapes; p; p = p->next)
      if (is_shape(p, from, to, made, n))
         return p;
   if (patterns == MOST_PATTERNS) {
      bl_give_up("the program has more kinds of blocks than the recorder's tables");
      return NULL;
   }
   if (patterns == room) {
      room = room ? 2 * room : 4096;
      in_order = realloc(in_order, room * sizeof(Shape*));
      if (!in_order)
         abort();
   }
   Shape* p = new_shape(b, from, to, made, n);
   in_order[patterns++] = p;
   p->pattern = patterns; /* from 1 */
   p->next = b->shapes;
   b->shapes = p;
   describe(p);
   return p;
}

/* Returns true if the callback can tell the references of an instruction apart without counting. */
static bool is_simple(const Step* s, const Step* end)
{
   bool has_second = s + 1 < end && s[1].insn == s->insn;
   bool has_third = has_second && s + 2 < end && s[2].insn == s->insn;
   return !has_third && !(has_second && s[1].info == s->info);
}

static void look_ahead(Block* b, Shape* p)
{
   for (UInt i = 0; i < b->n; i++) {
      b->insns[i].step = no_step;
      b->insns[i].steps = NULL;
   }
   for (UInt i = p->n; i > 0; i--) {
      Insn* insn = &b->insns[p->steps[i - 1].insn->index];
      insn->steps = &p->steps[i - 1];
   }
   for (UInt i = 0; p->state == 0 && i < b->n; i++)
      if (b->insns[i].steps && is_simple(b->insns[i].steps, p->end))
         b->insns[i].step = b->insns[i].steps;
}

/* Makes a shape the predicted one of its block. */
void bl_predict(Block* b, Shape* p)
{
   if (b->shape == p)
      return;
   b->shape = p;
   look_ahead(b, p);
}

/* Trusts a shape that has been right in all of its trials. */
void bl_trust(Shape* p)
{
   if (trust_none || p->block->is_wary)
      return;
   p->state = 0;
   if (p->block->shape == p)
      look_ahead(p->block, p);
}

void bl_distrust(Block* b)
{
   b->is_wary = true;
   for (Shape* p = b->shapes; p; p = p->next)
      p->state = COUNTED;
   if (b->shape != &bl_unknown)
      look_ahead(b, b->shape);
}

void bl_distrust_all(void)
{
   trust_none = true;
   for (UInt i = 0; i < patterns; i++)
      if (in_order[i]->state == 0)
         bl_distrust(in_order[i]->block);
}

/* Forgets the places of all references, for a new reader. */
void bl_forget_places(void)
{
   for (UInt i = 0; i < patterns; i++)
      for (UInt j = 0; j < in_order[i]->n; j++)
         in_order[i]->steps[j].last = NOWHERE;
}

/* Describes all shapes to a new reader. */
void bl_describe_again(void)
{
   for (UInt i = 0; i < patterns; i++)
      describe(in_order[i]);
}

/* Instrumentation: the code that is added to the translated code.

   A block of guest code makes a fixed list of references and has a few exits. The block up to an
   exit is a pattern. Every execution writes a word with the number of the pattern, and the bases of
   its addresses among the numbers. If each reference stayed in its latest unit, the next execution
   overwrites the bases. No branch depends on this, because such a branch would be mispredicted too
   often.

   Consecutive references whose addresses differ by constants are compared together. References at
   constant addresses are not compared. */
#include "instrument.h"
#include "sites.h"

extern void VG_(discard_translations)(Addr start, ULong range, const HChar* who);

Bool  bl_precise = False;
Midst bl_midst = {NO_BLOCK, 0, {NULL, NULL}};

void bl_be_precise(void)
{
   if (bl_precise)
      return;
   bl_precise = True;
   VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtMemAccess;
   VG_(clo_px_file_backed) = VexRegUpdAllregsAtMemAccess;
   VG_(discard_translations)(0, 1UL << 47, "recorder"); /* older translations are not precise */
}

/* A reference of the block under translation. */
typedef struct {
   UInt kind, bytes;
   UInt base;     /* or WIRE_NO_BASE */
   Long offset;   /* of its address from the base */
   UInt leader;   /* the first of the references that are compared together with it */
   /* Of a leader: the touched range, from the base; the last reference that begins elsewhere, or
      the leader itself. */
   Long low, high;
   UInt other;
} Reference;

/* The base of addresses. */
typedef struct {
   IRExpr* value;
   IRExpr* guard; /* NULL without a guard. A guarded base has one reference. */
   UInt    first; /* its first reference */
} Base;

static Reference references[WIRE_MAX_STEPS];
static Base      bases[WIRE_MAX_STEPS];

static IRExpr* u64(ULong v) { return IRExpr_Const(IRConst_U64(v)); }
static IRExpr* u32(UInt v) { return IRExpr_Const(IRConst_U32(v)); }
static IRExpr* u8(UChar v) { return IRExpr_Const(IRConst_U8(v)); }
static IRExpr* tmp(IRTemp t) { return IRExpr_RdTmp(t); }

static IRTemp assign(Walk* w, IRType ty, IRExpr* e)
{
   IRTemp t = newIRTemp(w->out->tyenv, ty);
   addStmtToIRSB(w->out, IRStmt_WrTmp(t, e));
   return t;
}

IRTemp bl_binop(Walk* w, IROp op, IRExpr* a, IRExpr* b)
{
   return assign(w, Ity_I64, IRExpr_Binop(op, a, b));
}

static IRExpr* plus(Walk* w, IRExpr* a, Long n)
{
   return n ? tmp(bl_binop(w, Iop_Add64, a, u64(n))) : a;
}

static void store(Walk* w, IRExpr* address, IRExpr* value)
{
   addStmtToIRSB(w->out, IRStmt_Store(Iend_LE, address, value));
}

void bl_item(Walk* w, ULong kind, ULong argument)
{
   w->words++;
   if (w->items) {
      ULong word = kind | argument << 8;
      VG_(addToXA)(w->items, &word);
   }
}

/* Follows additions of constants back from an address. Returns the value at the start, and the
   distance from it in `offset`. */
static IRExpr* origin(const Walk* w, IRExpr* address, Long* offset)
{
   *offset = 0;
   while (address->tag == Iex_RdTmp && w->made[address->Iex.RdTmp.tmp]) {
      IRExpr* e = w->made[address->Iex.RdTmp.tmp]->Ist.WrTmp.data;
      if (e->tag == Iex_RdTmp) {
         address = e;
         continue;
      }
      if (e->tag != Iex_Binop
          || (e->Iex.Binop.op != Iop_Add64 && e->Iex.Binop.op != Iop_Sub64))
         break;
      IRExpr *a = e->Iex.Binop.arg1, *b = e->Iex.Binop.arg2;
      if (e->Iex.Binop.op == Iop_Add64 && a->tag == Iex_Const) {
         IRExpr* c = a;
         a = b;
         b = c;
      }
      if (b->tag != Iex_Const || a->tag != Iex_RdTmp)
         break;
      Long n = b->Iex.Const.con->Ico.U64;
      *offset += e->Iex.Binop.op == Iop_Add64 ? n : -n;
      address = a;
   }
   return address;
}

static UInt base_of(Walk* w, IRExpr* value, IRExpr* guard)
{
   for (UInt i = 0; i < w->bases && !guard; i++)
      if (!bases[i].guard && eqIRAtom(bases[i].value, value))
         return i;
   bases[w->bases] = (Base){value, guard, w->steps};
   return w->bases++;
}

/* Returns the maximum size of a range whose references are compared together. If the range crosses
   the border of two units, each execution counts as one in which some reference left its unit. */
static Long closeness(void) { return (1L << bl_unit_shift) / 32; }

/* Finds earlier references since the last exit that are compared together with this one. All of
   them are made, or none. */
static void join(Walk* w, Reference* r)
{
   UInt self = r - references;
   r->leader = r->other = self;
   r->low = r->offset;
   r->high = r->offset + r->bytes - 1;
   if (r->base == WIRE_NO_BASE || bases[r->base].guard)
      return;
   for (UInt i = w->after_exit; i < self; i++) {
      Reference* l = &references[i];
      if (l->leader != i || l->base != r->base)
         continue;
      Long low = l->low < r->low ? l->low : r->low;
      Long high = l->high > r->high ? l->high : r->high;
      if (high - low >= closeness() && !(l->low == r->low && l->other == i))
         continue;
      l->low = low;
      l->high = high;
      if (r->offset != l->offset)
         l->other = self;
      r->leader = i;
      return;
   }
}

/* Returns true for a reference that crosses units. It is recorded each time it is made. */
static Bool crosses(ULong address, UInt bytes)
{
   return bytes && (address ^ (address + bytes - 1)) >> bl_unit_shift;
}

static void learn(Walk* w, UInt kind, IRExpr* address, UInt bytes, IRExpr* guard)
{
   Reference* r = &references[w->steps];
   Long       offset = 0;
   IRExpr*    value = guard ? address : origin(w, address, &offset);
   *r = (Reference){.kind = kind, .bytes = bytes, .base = WIRE_NO_BASE, .offset = offset};
   if (guard || value->tag == Iex_RdTmp || crosses(value->Iex.Const.con->Ico.U64, bytes))
      r->base = base_of(w, value, guard);
   else
      r->offset = value->Iex.Const.con->Ico.U64;
   join(w, r);
}

static void or_left(Walk* w, IRTemp difference)
{
   w->left =
      w->left == IRTemp_INVALID ? difference : bl_binop(w, Iop_Or64, tmp(w->left), tmp(difference));
}

static IRExpr* cell(const Walk* w, UInt step) { return u64((Addr)&bl_last[w->reference + step]); }

/* Compares the references of a leader with their latest units. They left their unit if the first or
   last touched byte differs from the latest address in the bits above a unit's.

   If some references begin elsewhere, the latest lowest begin and highest end are noted. If both
   were and are in one unit, then so is everything between them. */
static void look(Walk* w, const Reference* r, UInt step, IRExpr* base, IRExpr* guard)
{
   IRTemp  before = assign(w, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, cell(w, step)));
   IRExpr* low = plus(w, base, r->low);
   IRExpr* high = plus(w, base, r->high);
   or_left(w, bl_binop(w, Iop_Xor64, low, tmp(before)));
   if (r->high != r->low)
      or_left(w, bl_binop(w, Iop_Xor64, high, tmp(before)));
   if (r->other != step) {
      IRTemp end = assign(w, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, cell(w, r->other)));
      or_left(w, bl_binop(w, Iop_Xor64, high, tmp(end)));
      store(w, cell(w, r->other), high);
   }
   if (guard) /* the reader of a new chunk does not know the place, so the next one is recorded */
      low = tmp(assign(w, Ity_I64, IRExpr_ITE(guard, low, u64(NOWHERE))));
   store(w, cell(w, step), low);
}

static void step_out(Walk* w, UInt step)
{
   const Reference* r = &references[step];
   if (r->base == WIRE_NO_BASE)
      return;
   const Base* b = &bases[r->base];
   IRExpr*     value = b->value;
   if (b->guard)
      value = tmp(assign(w, Ity_I64, IRExpr_ITE(b->guard, value, u64(WIRE_ABSENT))));
   if (b->first == step) {
      store(w, plus(w, tmp(w->full), ROOM - sizeof(ULong) * (1 + (Long)r->base)), value);
      w->bases = r->base + 1;
   }
   if (r->leader == step)
      look(w, r, step, value, b->guard);
}

/* Records one reference. `guard` is NULL for a reference that is always made. */
void bl_step(Walk* w, UInt kind, IRExpr* addr, UInt bytes, IRExpr* guard)
{
   bl_count_reference(w, guard);
   if (w->only_counts)
      return;
   tl_assert(w->steps < WIRE_MAX_STEPS);
   if (!w->out)
      learn(w, kind, addr, bytes, guard);
   const Reference* r = &references[w->steps];
   bl_item(w, kind, bytes | (ULong)r->base << 24);
   w->words++;
   if (w->items)
      VG_(addToXA)(w->items, &r->offset);
   if (w->out)
      step_out(w, w->steps);
   w->steps++;
   w->changed = True;
}

static void exit_out(Walk* w, UInt number)
{
   IRExpr* word = u32(number);
   IRExpr* full = tmp(w->full);
   if (w->left != IRTemp_INVALID) {
      /* All ones if a reference left its unit, and zero otherwise. */
      IRTemp above = bl_binop(w, Iop_Shr64, tmp(w->left), u8(bl_unit_shift));
      IRTemp minus = bl_binop(w, Iop_Sub64, u64(0), tmp(above));
      IRTemp left = bl_binop(w, Iop_Sar64, tmp(minus), u8(63));
      IRTemp flag = bl_binop(w, Iop_And64, tmp(left), u64(WIRE_LEFT));
      IRTemp with_flag = bl_binop(w, Iop_Or64, tmp(flag), u64(number));
      word = tmp(assign(w, Ity_I32, IRExpr_Unop(Iop_64to32, tmp(with_flag))));
      IRTemp numbers = w->bases == 1
                          /* one instruction with the sum */
                          ? bl_binop(w, Iop_Shl64, tmp(left), u8(3))
                          : bl_binop(w, Iop_And64, tmp(left),
                                     u64(-(sizeof(ULong) * (Long)w->bases)));
      full = tmp(bl_binop(w, Iop_Add64, full, tmp(numbers)));
      addStmtToIRSB(w->out, IRStmt_Put(w->shadow + offsetof(Shadow, full), full));
   }
   store(w, tmp(w->at), word);
   IRExpr* next = plus(w, tmp(w->at), sizeof(UInt));
   addStmtToIRSB(w->out, IRStmt_Put(w->shadow + offsetof(Shadow, at), next));
   if (bl_precise)
      store(w, u64((Addr)&bl_midst.pattern), u64(NO_BLOCK));
}

/* Notes an exit of the block. An exit right after another is the same pattern. If the block does
   not take the exit, the next execution overwrites the word. */
void bl_note_exit(Walk* w)
{
   if (!w->changed)
      return;
   w->changed = False;
   bl_count_exit(w);
   if (w->only_counts)
      return;
   w->after_exit = w->steps;
   bl_item(w, ITEM_EXIT, 0);
   if (w->out)
      exit_out(w, w->pattern + w->exits);
   w->exits++;
}

/* Notes the start of an instruction at this address. */
void bl_note_instruction(Walk* w, Addr address, UInt bytes)
{
   w->instructions++;
   w->changed = True;
   if (w->only_counts)
      return;
   if (w->out && bl_precise) {
      store(w, u64((Addr)&bl_midst.pattern), u64(w->pattern));
      store(w, u64((Addr)&bl_midst.words), u64(w->words));
   }
   bl_item(w, ITEM_INSTRUCTION, address);
   if (bl_code)
      bl_note_code(w, address, bytes);
}

static IRTemp get(Walk* w, Int field)
{
   return assign(w, Ity_I64, IRExpr_Get(w->shadow + field, Ity_I64));
}

static void begin(Walk* w)
{
   IRTemp   at = get(w, offsetof(Shadow, at));
   IRTemp   full = get(w, offsetof(Shadow, full));
   void*    entry = VG_(fnptr_to_fnentry)(bl_next_segment);
   IRDirty* call = unsafeIRDirty_0_N(0, "bl_next_segment", entry, mkIRExprVec_0());
   call->guard = tmp(assign(w, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, tmp(full), tmp(at))));
   call->nFxState = 1;
   VG_(memset)(&call->fxState, 0, sizeof call->fxState);
   call->fxState[0].fx = Ifx_Write;
   call->fxState[0].offset = w->shadow;
   call->fxState[0].size = sizeof(Shadow);
   addStmtToIRSB(w->out, IRStmt_Dirty(call));
   w->at = get(w, offsetof(Shadow, at));
   w->full = get(w, offsetof(Shadow, full));
   w->left = IRTemp_INVALID;
   bl_count_begin(w);
   if (bl_precise) {
      store(w, u64((Addr)&bl_midst.where.at), tmp(w->at));
      store(w, u64((Addr)&bl_midst.where.full), tmp(w->full));
   }
}

static Int first_instruction(const IRSB* in)
{
   Int i = 0;
   while (i < in->stmts_used && in->stmts[i]->tag != Ist_IMark)
      i++;
   return i;
}

static void walk(Walk* w, const IRSB* in, Int from)
{
   for (Int i = from; i < in->stmts_used; i++)
      if (in->stmts[i]->tag != Ist_NoOp)
         bl_statement(w, in, i);
   bl_note_exit(w);
}

static void write_out(Walk* w, const IRSB* in, const VexGuestLayout* layout, Int from)
{
   w->shadow = layout->total_sizeB; /* the first register shadow follows the registers */
   w->out = deepCopyIRSBExceptStmts(in);
   for (Int i = 0; i < from; i++)
      addStmtToIRSB(w->out, in->stmts[i]);
   if (from < in->stmts_used)
      bl_sites_instrument(w->out, in->stmts[from]->Ist.IMark.addr, w->shadow);
   if (w->only_counts)
      bl_count_begin(w);
   else
      begin(w);
   walk(w, in, from);
}

IRSB* bl_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                    const VexGuestExtents* extents, const VexArchInfo* arch, IRType guest_word,
                    IRType host_word)
{
   Walk look = {0}, write = {0};
   Int  from = first_instruction(in);
   if (!bl_in_window) {
      write.only_counts = True;
      write_out(&write, in, layout, from);
      return write.out;
   }
   look.items = VG_(newXA)(VG_(malloc), "bl.items", VG_(free), sizeof(ULong));
   look.made = VG_(calloc)("bl.made", in->tyenv->types_used + 1, sizeof(IRStmt*));
   for (Int i = 0; i < in->stmts_used; i++)
      if (in->stmts[i]->tag == Ist_WrTmp)
         look.made[in->stmts[i]->Ist.WrTmp.tmp] = in->stmts[i];
   walk(&look, in, from);
   VG_(free)(look.made);

   if (look.exits == 0) { /* no instruction: nothing to record */
      VG_(deleteXA)(look.items);
      return in;
   }
   const ULong* items = VG_(indexXA)(look.items, 0);
   UInt         words = VG_(sizeXA)(look.items);
   write.pattern = bl_block(items, words, look.steps, look.exits, &write.reference);
   VG_(deleteXA)(look.items);
   if (write.pattern == NO_PATTERN)
      return in;

   write_out(&write, in, layout, from);
   return write.out;
}

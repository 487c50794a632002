/* Instrumentation: what is added to the translated code.

   A block of guest code makes a fixed list of references and can be left at a few exits; the block up to an exit is a pattern. Every execution writes a word
   that says which pattern ran, and the bases of its addresses among the numbers. If each reference stayed in the unit where it was made the last
   time, the next execution writes over the bases: no branch depends on it, since such a branch would be mispredicted too often.

   References that come one after the other, with addresses that differ by constants, are looked at together; those at constant addresses are not looked at. */
#include "recorder.h"

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
   VG_(discard_translations)(0, 1UL << 47, "recorder"); /* what was translated before is not */
}

/* A reference of the block that is being translated. */
typedef struct {
   UInt kind, bytes;
   UInt base;     /* or WIRE_NO_BASE */
   Long offset;   /* of its address from the base */
   UInt leader;   /* the first of the references that are looked at together with it */
   /* Of a leader: what they touch, from the base; the last of them that begins elsewhere, or itself. */
   Long low, high;
   UInt other;
} Reference;

/* What addresses are made from. */
typedef struct {
   IRExpr* value;
   IRExpr* guard; /* NULL where it is always there. A guarded one has one reference. */
   UInt    first; /* its first reference */
} Base;

static Reference references[WIRE_MAX_STEPS];
static Base      bases[WIRE_MAX_STEPS];

/* A block is walked twice: once to learn what it does (`out` is NULL), which gives its pattern numbers and what can be looked at together, and
   once to write it out with them. */
typedef struct {
   IRSB*   out;
   IRStmt** made;   /* for each temporary, the statement that makes it, or NULL; first walk only */
   XArray* items;   /* of ULong; first walk only */
   UInt    words;   /* of items so far */
   UInt    steps, bases, exits;
   UInt    after_exit; /* the first reference since the last exit */
   Bool    changed; /* references or instructions since the last exit */
   UInt    pattern, reference; /* numbers of the block's first */
   Int     shadow;  /* where a Shadow stands in the guest state */
   IRTemp  at, full;/* where this execution is written */
   IRTemp  left;    /* bits above a unit's are set if a reference may have left its unit */
} Walk;

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

static IRTemp binop(Walk* w, IROp op, IRExpr* a, IRExpr* b) { return assign(w, Ity_I64, IRExpr_Binop(op, a, b)); }

static IRExpr* plus(Walk* w, IRExpr* a, Long n) { return n ? tmp(binop(w, Iop_Add64, a, u64(n))) : a; }

static void store(Walk* w, IRExpr* address, IRExpr* value) { addStmtToIRSB(w->out, IRStmt_Store(Iend_LE, address, value)); }

static void item(Walk* w, ULong kind, ULong argument)
{
   w->words++;
   if (w->items) {
      ULong word = kind | argument << 8;
      VG_(addToXA)(w->items, &word);
   }
}

/* Follows additions of constants back from an address: what it comes down to, and how far from there it is. */
static IRExpr* origin(const Walk* w, IRExpr* address, Long* offset)
{
   *offset = 0;
   while (address->tag == Iex_RdTmp && w->made[address->Iex.RdTmp.tmp]) {
      IRExpr* e = w->made[address->Iex.RdTmp.tmp]->Ist.WrTmp.data;
      if (e->tag == Iex_RdTmp) {
         address = e;
         continue;
      }
      if (e->tag != Iex_Binop || (e->Iex.Binop.op != Iop_Add64 && e->Iex.Binop.op != Iop_Sub64))
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

/* References are looked at together if what they touch lies this close: if it lies across the border of two units, each execution is taken
   for one in which some reference left its unit. */
static Long closeness(void) { return (1L << bl_unit_shift) / 32; }

/* Finds references since the last exit that this one is looked at with: all of them are made, or none. */
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
      Long low = l->low < r->low ? l->low : r->low, high = l->high > r->high ? l->high : r->high;
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

/* Such a reference is told each time it is made. */
static Bool crosses(ULong address, UInt bytes) { return bytes && (address ^ (address + bytes - 1)) >> bl_unit_shift; }

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
   w->left = w->left == IRTemp_INVALID ? difference : binop(w, Iop_Or64, tmp(w->left), tmp(difference));
}

static IRExpr* cell(const Walk* w, UInt step) { return u64((Addr)&bl_last[w->reference + step]); }

/* Whether the references of a leader left their unit: what they touch first or last differs from where they were the last time in the bits
   above a unit's.

   Where some begin elsewhere, what began the lowest and what ended the highest the last time are noted. Both in one unit, now and then, the same:
   so is all between them. */
static void look(Walk* w, const Reference* r, UInt step, IRExpr* base, IRExpr* guard)
{
   IRTemp  before = assign(w, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, cell(w, step)));
   IRExpr* low = plus(w, base, r->low);
   IRExpr* high = plus(w, base, r->high);
   or_left(w, binop(w, Iop_Xor64, low, tmp(before)));
   if (r->high != r->low)
      or_left(w, binop(w, Iop_Xor64, high, tmp(before)));
   if (r->other != step) {
      IRTemp end = assign(w, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, cell(w, r->other)));
      or_left(w, binop(w, Iop_Xor64, high, tmp(end)));
      store(w, cell(w, r->other), high);
   }
   if (guard) /* a reader that begins a new chunk cannot say where it was: it has to be told the next time */
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

/* One reference. `guard` is NULL where it is always made. */
static void step(Walk* w, UInt kind, IRExpr* addr, UInt bytes, IRExpr* guard)
{
   tl_assert(w->steps < WIRE_MAX_STEPS);
   if (!w->out)
      learn(w, kind, addr, bytes, guard);
   const Reference* r = &references[w->steps];
   item(w, kind, bytes | (ULong)r->base << 24);
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
      /* All ones if it left, or else zero. */
      IRTemp above = binop(w, Iop_Shr64, tmp(w->left), u8(bl_unit_shift));
      IRTemp left = binop(w, Iop_Sar64, tmp(binop(w, Iop_Sub64, u64(0), tmp(above))), u8(63));
      IRTemp flag = binop(w, Iop_And64, tmp(left), u64(WIRE_LEFT));
      word = tmp(assign(w, Ity_I32, IRExpr_Unop(Iop_64to32, tmp(binop(w, Iop_Or64, tmp(flag), u64(number))))));
      IRTemp numbers = w->bases == 1 ? binop(w, Iop_Shl64, tmp(left), u8(3)) /* one instruction with the addition */
                                     : binop(w, Iop_And64, tmp(left), u64(-(sizeof(ULong) * (Long)w->bases)));
      full = tmp(binop(w, Iop_Add64, full, tmp(numbers)));
      addStmtToIRSB(w->out, IRStmt_Put(w->shadow + offsetof(Shadow, full), full));
   }
   store(w, tmp(w->at), word);
   addStmtToIRSB(w->out, IRStmt_Put(w->shadow + offsetof(Shadow, at), plus(w, tmp(w->at), sizeof(UInt))));
   if (bl_precise)
      store(w, u64((Addr)&bl_midst.pattern), u64(NO_BLOCK));
}

/* The block can be left here. An exit that follows another with nothing between them is the same pattern. Where the block goes on
   instead, what was written is written again. */
static void note_exit(Walk* w)
{
   if (!w->changed)
      return;
   w->changed = False;
   w->after_exit = w->steps;
   item(w, ITEM_EXIT, 0);
   if (w->out)
      exit_out(w, w->pattern + w->exits);
   w->exits++;
}

static IRTemp get(Walk* w, Int field) { return assign(w, Ity_I64, IRExpr_Get(w->shadow + field, Ity_I64)); }

static void begin(Walk* w)
{
   IRTemp   at = get(w, offsetof(Shadow, at));
   IRTemp   full = get(w, offsetof(Shadow, full));
   IRDirty* call = unsafeIRDirty_0_N(0, "bl_next_segment", VG_(fnptr_to_fnentry)(bl_next_segment), mkIRExprVec_0());
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
   if (bl_precise) {
      store(w, u64((Addr)&bl_midst.where.at), tmp(w->at));
      store(w, u64((Addr)&bl_midst.where.full), tmp(w->full));
   }
}

static UInt bytes_of_loadg(IRLoadGOp op)
{
   switch (op) {
      case ILGop_IdentV128: return 16;
      case ILGop_Ident64: return 8;
      case ILGop_Ident32: return 4;
      case ILGop_16Uto32: case ILGop_16Sto32: return 2;
      default: return 1;
   }
}

static UInt bytes_of_cas(const IRTypeEnv* types, const IRCAS* cas)
{
   return sizeofIRType(typeOfIRExpr(types, cas->dataLo)) * (cas->dataHi ? 2 : 1);
}

static Bool loads(const IRStmt* st, IRExpr* address, UInt bytes)
{
   if (st->tag != Ist_WrTmp || st->Ist.WrTmp.data->tag != Iex_Load)
      return False;
   const IRExpr* load = st->Ist.WrTmp.data;
   return sizeofIRType(load->Iex.Load.ty) == bytes && eqIRAtom(load->Iex.Load.addr, address);
}

static Bool stores(const IRTypeEnv* types, const IRStmt* st, IRExpr* address, UInt bytes)
{
   if (st->tag == Ist_Store)
      return sizeofIRType(typeOfIRExpr(types, st->Ist.Store.data)) == bytes && eqIRAtom(st->Ist.Store.addr, address);
   if (st->tag == Ist_CAS)
      return bytes_of_cas(types, st->Ist.CAS.details) == bytes && eqIRAtom(st->Ist.CAS.details->addr, address);
   return False;
}

/* Returns true if the present instruction has already loaded exactly this memory. The instruction
   cannot be left between the load and statement `at`. */
static Bool was_loaded(const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   for (Int i = at - 1; i >= 0 && in->stmts[i]->tag != Ist_IMark && in->stmts[i]->tag != Ist_Exit; i--)
      if (loads(in->stmts[i], address, bytes))
         return True;
   return False;
}

/* Returns true if the present instruction goes on to store to exactly this memory. The hardware
   then asks for write access at once: a page that is not resident takes one fault, of a store. So
   the store is recorded before the load. This applies to `add %rax,(%rdx)` as to `lock xadd`,
   which VEX translates as a load, the operation, and a compare-and-swap. */
static Bool will_be_stored(const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   for (Int i = at + 1; i < in->stmts_used && in->stmts[i]->tag != Ist_IMark && in->stmts[i]->tag != Ist_Exit; i++)
      if (stores(in->tyenv, in->stmts[i], address, bytes))
         return !was_loaded(in, at, address, bytes);
   return False;
}

/* Returns true if the store of statement `at` was recorded before the instruction's load. */
static Bool was_recorded(const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   for (Int i = at - 1; i >= 0 && in->stmts[i]->tag != Ist_IMark && in->stmts[i]->tag != Ist_Exit; i--) {
      if (stores(in->tyenv, in->stmts[i], address, bytes))
         return False;
      if (loads(in->stmts[i], address, bytes))
         return True;
   }
   return False;
}

static void step_load(Walk* w, const IRSB* in, Int at)
{
   IRExpr* address = in->stmts[at]->Ist.WrTmp.data->Iex.Load.addr;
   UInt    bytes = sizeofIRType(in->stmts[at]->Ist.WrTmp.data->Iex.Load.ty);
   if (will_be_stored(in, at, address, bytes))
      step(w, ITEM_STORE, address, bytes, NULL);
   step(w, ITEM_LOAD, address, bytes, NULL);
}

static void step_store(Walk* w, const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   if (!was_recorded(in, at, address, bytes))
      step(w, ITEM_STORE, address, bytes, NULL);
}

/* Records the references of a statement before the statement. A locked instruction counts as a load
   and a store. So does a compare-and-swap, even if it fails, as on the hardware. A helper that
   reads and writes memory is a load and a store of its whole operand. All other rules are those of
   Valgrind's Lackey, so that both recorders can be compared. */
static void statement(Walk* w, const IRSB* in, Int at)
{
   IRStmt*          st = in->stmts[at];
   const IRTypeEnv* types = in->tyenv;
   switch (st->tag) {
      case Ist_WrTmp:
         if (st->Ist.WrTmp.data->tag == Iex_Load)
            step_load(w, in, at);
         break;
      case Ist_Store:
         step_store(w, in, at, st->Ist.Store.addr, sizeofIRType(typeOfIRExpr(types, st->Ist.Store.data)));
         break;
      case Ist_LoadG:
         step(w, ITEM_LOAD, st->Ist.LoadG.details->addr, bytes_of_loadg(st->Ist.LoadG.details->cvt),
              st->Ist.LoadG.details->guard);
         break;
      case Ist_StoreG:
         step(w, ITEM_STORE, st->Ist.StoreG.details->addr,
              sizeofIRType(typeOfIRExpr(types, st->Ist.StoreG.details->data)), st->Ist.StoreG.details->guard);
         break;
      case Ist_Dirty: {
         IRDirty* d = st->Ist.Dirty.details;
         IRExpr*  guard = d->guard->tag == Iex_Const ? NULL : d->guard;
         if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify)
            step(w, ITEM_LOAD, d->mAddr, d->mSize, guard);
         if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
            step(w, ITEM_STORE, d->mAddr, d->mSize, guard);
         break;
      }
      case Ist_CAS: {
         IRCAS* cas = st->Ist.CAS.details;
         UInt   bytes = bytes_of_cas(types, cas);
         step_store(w, in, at, cas->addr, bytes);
         if (!was_loaded(in, at, cas->addr, bytes))
            step(w, ITEM_LOAD, cas->addr, bytes, NULL);
         break;
      }
      case Ist_LLSC:
         if (st->Ist.LLSC.storedata)
            step(w, ITEM_STORE, st->Ist.LLSC.addr, sizeofIRType(typeOfIRExpr(types, st->Ist.LLSC.storedata)), NULL);
         else
            step(w, ITEM_LOAD, st->Ist.LLSC.addr, sizeofIRType(typeOfIRTemp(types, st->Ist.LLSC.result)), NULL);
         break;
      case Ist_Exit:
         note_exit(w);
         break;
      case Ist_IMark:
         if (w->out && bl_precise) {
            store(w, u64((Addr)&bl_midst.pattern), u64(w->pattern));
            store(w, u64((Addr)&bl_midst.words), u64(w->words));
         }
         item(w, ITEM_INSTRUCTION, st->Ist.IMark.addr);
         w->changed = True;
         break;
      default:
         break;
   }
   if (w->out)
      addStmtToIRSB(w->out, st);
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
         statement(w, in, i);
   note_exit(w);
}

IRSB* bl_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* extents,
                    const VexArchInfo* arch, IRType guest_word, IRType host_word)
{
   Walk look = {0}, write = {0};
   Int  from = first_instruction(in);
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
   write.pattern =
      bl_block(VG_(indexXA)(look.items, 0), VG_(sizeXA)(look.items), look.steps, look.exits, &write.reference);
   VG_(deleteXA)(look.items);
   if (write.pattern == NO_PATTERN)
      return in;

   write.shadow = layout->total_sizeB; /* the first register shadow follows the registers */
   write.out = deepCopyIRSBExceptStmts(in);
   for (Int i = 0; i < from; i++)
      addStmtToIRSB(write.out, in->stmts[i]);
   begin(&write);
   walk(&write, in, from);
   return write.out;
}

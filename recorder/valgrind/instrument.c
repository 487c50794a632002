/* Instrumentation: what is added to the translated code.

   A block of guest code makes a fixed list of references and can be left at a few exits; the block up to an exit is a pattern. Every execution writes a word
   that says which pattern ran, and behind it the addresses of its references. If each of them stayed in the unit where it was made the last
   time, the next execution writes over the addresses: no branch depends on it, since such a branch would be mispredicted too often. */
#include "recorder.h"

extern void VG_(discard_translations)(Addr start, ULong range, const HChar* who);

Bool  bl_precise = False;
Midst bl_midst = {NO_BLOCK, 0, NULL};

void bl_be_precise(void)
{
   if (bl_precise)
      return;
   bl_precise = True;
   VG_(clo_vex_control).iropt_register_updates_default = VexRegUpdAllregsAtMemAccess;
   VG_(clo_px_file_backed) = VexRegUpdAllregsAtMemAccess;
   VG_(discard_translations)(0, 1UL << 47, "recorder"); /* what was translated before is not */
}

/* A block is walked twice: once to learn what it does (`out` is NULL), which gives its pattern numbers, and once to write it
   out with them. */
typedef struct {
   IRSB*   out;
   XArray* items;   /* of ULong; first walk only */
   UInt    done;    /* items so far */
   UInt    steps;
   UInt    exits;
   Bool    changed; /* references or instructions since the last exit */
   UInt    pattern, reference; /* numbers of the block's first */
   Int     shadow;  /* where a Shadow stands in the guest state */
   IRTemp  at;      /* where this execution is written */
   IRTemp  left;    /* bits above a unit's are set if a reference left its unit */
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

static void store(Walk* w, IRExpr* address, IRExpr* value) { addStmtToIRSB(w->out, IRStmt_Store(Iend_LE, address, value)); }

static IRExpr* half_at(Walk* w, UInt half) { return half ? tmp(binop(w, Iop_Add64, tmp(w->at), u64(4 * (ULong)half))) : tmp(w->at); }
static IRExpr* word_at(Walk* w, UInt word) { return half_at(w, 2 * word); }

static void item(Walk* w, UInt kind, ULong argument)
{
   w->done++;
   if (w->items) {
      ULong word = kind | argument << 8;
      VG_(addToXA)(w->items, &word);
   }
}

/* Whether the reference left its unit: the distance from where the unit of the last one begins, of its first byte or of its last, is negative or
   not less than a unit; both show in the bits above a unit's. */
static void step_out(Walk* w, IRExpr* addr, UInt bytes, IRExpr* guard)
{
   IRExpr* cell = u64((Addr)&bl_begin[w->reference + w->steps]);
   IRTemp  begin = assign(w, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, cell));
   IRTemp  unit;
   if (guard)
      addr = tmp(assign(w, Ity_I64, IRExpr_ITE(guard, addr, u64(WIRE_ABSENT))));
   IRTemp distance = binop(w, Iop_Sub64, addr, tmp(begin));
   w->left = w->left == IRTemp_INVALID ? distance : binop(w, Iop_Or64, tmp(w->left), tmp(distance));
   if (bytes > 1)
      w->left = binop(w, Iop_Or64, tmp(w->left), tmp(binop(w, Iop_Add64, tmp(distance), u64(bytes - 1))));
   unit = binop(w, Iop_And64, addr, u64(-(1ULL << bl_unit_shift)));
   if (guard)
      unit = assign(w, Ity_I64, IRExpr_ITE(guard, tmp(unit), tmp(begin)));
   store(w, cell, tmp(unit));
   store(w, word_at(w, 1 + w->steps), addr);
}

/* One reference. `guard` is NULL where it is always made. */
static void step(Walk* w, UInt kind, IRExpr* addr, UInt bytes, IRExpr* guard)
{
   tl_assert(w->steps < WIRE_MAX_STEPS);
   item(w, kind, bytes);
   if (w->out)
      step_out(w, addr, bytes, guard);
   w->steps++;
   w->changed = True;
}

static void exit_out(Walk* w, UInt number)
{
   IRExpr* at = word_at(w, 1);
   if (w->left == IRTemp_INVALID) {
      store(w, word_at(w, 0), u64(number));
   } else {
      IRTemp above = binop(w, Iop_Shr64, tmp(w->left), u8(bl_unit_shift));
      IRTemp left = assign(w, Ity_I1, IRExpr_Binop(Iop_CmpNE64, tmp(above), u64(0)));
      store(w, half_at(w, 0), u32(number));
      store(w, half_at(w, 1), tmp(assign(w, Ity_I32, IRExpr_Unop(Iop_1Uto32, tmp(left)))));
      at = tmp(assign(w, Ity_I64, IRExpr_ITE(tmp(left), word_at(w, 1 + w->steps), at)));
   }
   addStmtToIRSB(w->out, IRStmt_Put(w->shadow + offsetof(Shadow, at), at));
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
   item(w, ITEM_EXIT, 0);
   if (w->out)
      exit_out(w, w->pattern + w->exits);
   w->exits++;
}

static void begin(Walk* w)
{
   IRTemp   at = assign(w, Ity_I64, IRExpr_Get(w->shadow + offsetof(Shadow, at), Ity_I64));
   IRTemp   limit = assign(w, Ity_I64, IRExpr_Get(w->shadow + offsetof(Shadow, limit), Ity_I64));
   IRDirty* call = unsafeIRDirty_0_N(0, "bl_next_segment", VG_(fnptr_to_fnentry)(bl_next_segment), mkIRExprVec_0());
   call->guard = tmp(assign(w, Ity_I1, IRExpr_Binop(Iop_CmpLT64U, tmp(limit), tmp(at))));
   call->nFxState = 1;
   VG_(memset)(&call->fxState, 0, sizeof call->fxState);
   call->fxState[0].fx = Ifx_Write;
   call->fxState[0].offset = w->shadow;
   call->fxState[0].size = sizeof(Shadow);
   addStmtToIRSB(w->out, IRStmt_Dirty(call));
   w->at = assign(w, Ity_I64, IRExpr_Get(w->shadow + offsetof(Shadow, at), Ity_I64));
   w->left = IRTemp_INVALID;
   if (bl_precise)
      store(w, u64((Addr)&bl_midst.at), tmp(w->at));
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

/* References are noted before the statement that makes them. The rules for what counts are those of Valgrind's own Lackey, so
   that the two can be compared: a compare-and-swap is a load and a store, whether it succeeds or not; a helper that
   reads and writes memory is a load and a store of its whole operand. */
static void statement(Walk* w, const IRSB* in, IRStmt* st)
{
   const IRTypeEnv* types = in->tyenv;
   switch (st->tag) {
      case Ist_WrTmp:
         if (st->Ist.WrTmp.data->tag == Iex_Load)
            step(w, ITEM_LOAD, st->Ist.WrTmp.data->Iex.Load.addr, sizeofIRType(st->Ist.WrTmp.data->Iex.Load.ty), NULL);
         break;
      case Ist_Store:
         step(w, ITEM_STORE, st->Ist.Store.addr, sizeofIRType(typeOfIRExpr(types, st->Ist.Store.data)), NULL);
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
         UInt   bytes = sizeofIRType(typeOfIRExpr(types, cas->dataLo)) * (cas->dataHi ? 2 : 1);
         step(w, ITEM_LOAD, cas->addr, bytes, NULL);
         step(w, ITEM_STORE, cas->addr, bytes, NULL);
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
            store(w, u64((Addr)&bl_midst.items), u64(w->done));
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
         statement(w, in, in->stmts[i]);
   note_exit(w);
}

IRSB* bl_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* extents,
                    const VexArchInfo* arch, IRType guest_word, IRType host_word)
{
   Walk look = {0}, write = {0};
   Int  from = first_instruction(in);
   look.items = VG_(newXA)(VG_(malloc), "bl.items", VG_(free), sizeof(ULong));
   walk(&look, in, from);

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

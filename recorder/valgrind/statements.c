/* The references of each VEX statement, and the order of the loads and stores of an instruction. */
#include "instrument.h"

Bool bl_code = False;

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
      return sizeofIRType(typeOfIRExpr(types, st->Ist.Store.data)) == bytes
             && eqIRAtom(st->Ist.Store.addr, address);
   if (st->tag == Ist_CAS)
      return bytes_of_cas(types, st->Ist.CAS.details) == bytes
             && eqIRAtom(st->Ist.CAS.details->addr, address);
   return False;
}

/* Returns true at the start of an instruction, and at an exit. */
static Bool is_boundary(const IRStmt* st)
{
   return st->tag == Ist_IMark || st->tag == Ist_Exit;
}

/* Returns true if the present instruction has already loaded exactly this memory. The instruction
   has no exit between the load and statement `at`. */
static Bool was_loaded(const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   for (Int i = at - 1; i >= 0 && !is_boundary(in->stmts[i]); i--)
      if (loads(in->stmts[i], address, bytes))
         return True;
   return False;
}

/* Returns true if the present instruction later stores to exactly this memory. The hardware then
   asks for write access at once, so a page that is not resident takes one fault, of a store. So the
   store is recorded before the load. Examples are `add %rax,(%rdx)` and `lock xadd`. VEX translates
   the latter as a load, the operation, and a compare-and-swap. */
static Bool will_be_stored(const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   for (Int i = at + 1; i < in->stmts_used && !is_boundary(in->stmts[i]); i++)
      if (stores(in->tyenv, in->stmts[i], address, bytes))
         return !was_loaded(in, at, address, bytes);
   return False;
}

/* Returns true if the store of statement `at` was recorded before the instruction's load. */
static Bool was_recorded(const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   for (Int i = at - 1; i >= 0 && !is_boundary(in->stmts[i]); i--) {
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
      bl_step(w, ITEM_STORE, address, bytes, NULL);
   bl_step(w, ITEM_LOAD, address, bytes, NULL);
}

static void step_store(Walk* w, const IRSB* in, Int at, IRExpr* address, UInt bytes)
{
   if (!was_recorded(in, at, address, bytes))
      bl_step(w, ITEM_STORE, address, bytes, NULL);
}

/* Notes the code of the instruction that begins. */
void bl_note_code(Walk* w, Addr address, UInt bytes)
{
   ULong code[2] = {0, 0};
   if (bytes > 15) /* no instruction has more */
      bytes = 15;
   VG_(memcpy)(code, (const void*)address, bytes);
   bl_item(w, ITEM_CODE, bytes);
   w->words += 2;
   if (w->items) {
      VG_(addToXA)(w->items, &code[0]);
      VG_(addToXA)(w->items, &code[1]);
   }
}

/* Records the references of a statement, and then copies the statement. A locked instruction counts
   as a load and a store. So does a compare-and-swap, even if it fails, as on the hardware. A helper
   that reads and writes memory is a load and a store of its whole operand. All other rules are
   those of Valgrind's Lackey, so that both recorders can be compared. */
void bl_statement(Walk* w, const IRSB* in, Int at)
{
   IRStmt*          st = in->stmts[at];
   const IRTypeEnv* types = in->tyenv;
   switch (st->tag) {
      case Ist_WrTmp:
         if (st->Ist.WrTmp.data->tag == Iex_Load)
            step_load(w, in, at);
         break;
      case Ist_Store:
         step_store(w, in, at, st->Ist.Store.addr,
                    sizeofIRType(typeOfIRExpr(types, st->Ist.Store.data)));
         break;
      case Ist_LoadG:
         bl_step(w, ITEM_LOAD, st->Ist.LoadG.details->addr,
                 bytes_of_loadg(st->Ist.LoadG.details->cvt), st->Ist.LoadG.details->guard);
         break;
      case Ist_StoreG:
         bl_step(w, ITEM_STORE, st->Ist.StoreG.details->addr,
                 sizeofIRType(typeOfIRExpr(types, st->Ist.StoreG.details->data)),
                 st->Ist.StoreG.details->guard);
         break;
      case Ist_Dirty: {
         IRDirty* d = st->Ist.Dirty.details;
         IRExpr*  guard = d->guard->tag == Iex_Const ? NULL : d->guard;
         if (d->mFx == Ifx_Read || d->mFx == Ifx_Modify)
            bl_step(w, ITEM_LOAD, d->mAddr, d->mSize, guard);
         if (d->mFx == Ifx_Write || d->mFx == Ifx_Modify)
            bl_step(w, ITEM_STORE, d->mAddr, d->mSize, guard);
         break;
      }
      case Ist_CAS: {
         IRCAS* cas = st->Ist.CAS.details;
         UInt   bytes = bytes_of_cas(types, cas);
         step_store(w, in, at, cas->addr, bytes);
         if (!was_loaded(in, at, cas->addr, bytes))
            bl_step(w, ITEM_LOAD, cas->addr, bytes, NULL);
         break;
      }
      case Ist_LLSC:
         if (st->Ist.LLSC.storedata)
            bl_step(w, ITEM_STORE, st->Ist.LLSC.addr,
                    sizeofIRType(typeOfIRExpr(types, st->Ist.LLSC.storedata)), NULL);
         else
            bl_step(w, ITEM_LOAD, st->Ist.LLSC.addr,
                    sizeofIRType(typeOfIRTemp(types, st->Ist.LLSC.result)), NULL);
         break;
      case Ist_Exit:
         bl_note_exit(w);
         break;
      case Ist_IMark:
         bl_note_instruction(w, st->Ist.IMark.addr, st->Ist.IMark.len);
      default:
         break;
   }
   if (w->out)
      addStmtToIRSB(w->out, st);
}

/* Counts of accesses and instructions, for recordings with windows. The code of gaps does nothing
   else.

   Both counts are in one number, so that each exit of a block costs one addition: accesses in the
   low ACCESS_BITS bits, instructions above. The number is added to the position and cleared each
   time the thread stops. windows.c limits the blocks of a run so that the low count does not
   overflow. */
#include "instrument.h"

void bl_count_begin(Walk* w)
{
   w->count = IRTemp_INVALID;
   if (bl_windows) {
      w->count = newIRTemp(w->out->tyenv, Ity_I64);
      IRExpr* count = IRExpr_Get(w->shadow + COUNT_PLACE, Ity_I64);
      addStmtToIRSB(w->out, IRStmt_WrTmp(w->count, count));
   }
}

static Bool counts(const Walk* w) { return w->out && w->count != IRTemp_INVALID; }

/* Counts a reference. A reference with a guard counts if the guard is true. */
void bl_count_reference(Walk* w, IRExpr* guard)
{
   w->changed = True;
   w->all.accesses++;
   if (!guard)
      w->accesses++;
   else if (counts(w)) {
      IRTemp made = newIRTemp(w->out->tyenv, Ity_I64);
      addStmtToIRSB(w->out, IRStmt_WrTmp(made, IRExpr_Unop(Iop_1Uto64, guard)));
      w->count = bl_binop(w, Iop_Add64, IRExpr_RdTmp(w->count), IRExpr_RdTmp(made));
   }
}

/* Counts what came since the last exit. */
void bl_count_exit(Walk* w)
{
   ULong n = w->accesses + ((ULong)w->instructions << ACCESS_BITS);
   w->all.instructions += w->instructions;
   w->accesses = w->instructions = 0;
   if (!counts(w))
      return;
   if (w->all.accesses > bl_largest.accesses)
      bl_largest.accesses = w->all.accesses;
   if (w->all.instructions > bl_largest.instructions)
      bl_largest.instructions = w->all.instructions;
   if (n)
      w->count = bl_binop(w, Iop_Add64, IRExpr_RdTmp(w->count), IRExpr_Const(IRConst_U64(n)));
   addStmtToIRSB(w->out, IRStmt_Put(w->shadow + COUNT_PLACE, IRExpr_RdTmp(w->count)));
}

/* The interface between instrument.c and statements.c. */
#ifndef BROADLEAF_INSTRUMENT_H
#define BROADLEAF_INSTRUMENT_H

#include "recorder.h"

/* The walk over a block's statements. A block is walked twice. The first walk (`out` is NULL)
   collects its items, which give the block its pattern numbers, and the references that are
   compared together. The second walk writes the instrumented code. */
typedef struct {
   IRSB*   out;
   IRStmt** made;   /* the statement that makes each temporary, or NULL; first walk only */
   XArray* items;   /* of ULong; first walk only */
   UInt    words;   /* of items so far */
   UInt    steps, bases, exits;
   UInt    after_exit; /* the first reference since the last exit */
   Bool    changed; /* true if references or instructions came since the last exit */
   UInt    pattern, reference; /* numbers of the block's first */
   Int     shadow;  /* the place of the Shadow in the guest state */
   IRTemp  at, full;/* the place of this execution */
   Bool    only_counts; /* the code records nothing */
   UInt    accesses, instructions; /* since the last exit */
   Position all;    /* of the block so far */
   IRTemp  count;   /* the thread's counts, or IRTemp_INVALID without windows */
   IRTemp  left;    /* bits above a unit's are set if a reference may have left its unit */
} Walk;

/* instrument.c */
void bl_step(Walk* w, UInt kind, IRExpr* addr, UInt bytes, IRExpr* guard);
IRTemp bl_binop(Walk* w, IROp op, IRExpr* a, IRExpr* b);
void bl_note_exit(Walk* w);
void bl_item(Walk* w, ULong kind, ULong argument);
void bl_note_instruction(Walk* w, Addr address, UInt bytes);

/* count.c */
void bl_count_begin(Walk* w);
void bl_count_reference(Walk* w, IRExpr* guard);
void bl_count_exit(Walk* w);

/* statements.c */
void bl_note_code(Walk* w, Addr address, UInt bytes);
void bl_statement(Walk* w, const IRSB* in, Int at);

#endif

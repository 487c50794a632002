/* The interface between events.c and mappings.c. */
#ifndef BROADLEAF_MAPPINGS_H
#define BROADLEAF_MAPPINGS_H

#include "recorder.h"

void bl_mappings_begin(void);
void bl_send_map(Addr start, SizeT len, UInt prot, UInt flags, UInt backing, UInt file,
                 ULong offset);
void bl_send_range(UInt kind, Addr start, SizeT len);
void bl_mapped(UWord* args, Addr start);
void bl_remapped(const UWord* args, Addr to);
void bl_send_misplaced(Addr start, SizeT len);

#endif

/* The interface of sites.c and its neighbours. Nothing of it runs without --sites=yes. */
#ifndef BROADLEAF_SITES_H
#define BROADLEAF_SITES_H

#include "recorder.h"
#include "pub_tool_guest.h"

extern Bool bl_sites;

/* sites.c */
void bl_sites_init(void);
/* Adds calls to a block that starts where an allocator begins, or where one returns. */
void bl_sites_instrument(IRSB* out, Addr start, Int shadow);
/* Records that a system call of this thread mapped memory. */
void bl_sites_mapped(ThreadId tid, const HChar* call, Addr start, SizeT len);
void bl_sites_flush(void);    /* sends the allocations that are not sent yet */
void bl_sites_in_child(void); /* sends the sites again */

/* allocators.c */
typedef enum { SIZE_1, SIZE_2, SIZE_3, SIZE_1X2, SIZE_2X3, SIZE_AX } SizeArgument;
typedef struct {
   const HChar* symbol;
   const HChar* shown;
   SizeArgument size;
   Bool         at_pointer; /* the result is at the first argument, not in RAX */
   Bool         of_go;      /* the caller's stack and thread may change during the call */
} Allocator;
const Allocator* bl_allocator(const HChar* symbol);

/* stacks.c */
#define MAX_FRAMES 32
UInt  bl_stack(ThreadId tid, Addr* ips, UInt n, Bool by_frame_pointers);
Bool  bl_readable(Addr a, SizeT n);
ULong bl_register(ThreadId tid, PtrdiffT offset);
#define REG(tid, name) bl_register(tid, offsetof(VexGuestAMD64State, guest_##name))

/* dynamic.c */
Addr bl_dynamic_symbol(Addr inside, const HChar* name);

/* The identity of a frame of Python or Java. */
typedef struct { Addr code; Addr instruction; } ManagedFrame;
/* python.c */
void bl_python_look_again(void); /* a library was loaded */
UInt bl_python_stack(ManagedFrame* frames, UInt n);
void bl_python_describe(Payload* p, const ManagedFrame* frame);

#endif

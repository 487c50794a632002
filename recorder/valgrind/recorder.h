/* The declarations that the recorder's files share.

   instrument.c  translated code that writes executions to the ring
   statements.c  the references of each statement, and the order of their loads and stores
   mappings.c    records of mappings
   blocks.c      the tables of blocks, patterns and the latest places of references
   ring.c        the shared memory towards `broadleaf record`
   events.c      system calls, threads, processes
   placement.c   mappings at the places where the kernel would have put them
   kernel_touch.c  memory that the kernel makes resident
   clock.c       the program's clock
   missing_calls.c  system calls that Valgrind lacks
   windows.c     recording in windows, with gaps in which only events are recorded
   count.c       translated code that counts accesses and instructions
   tables.c      one table of translations for windows, and one for gaps
   residents.c   the pages that became resident in a gap
   pagemap.c     the kernel's table of resident pages
   sites.c       call stacks of allocations; allocators.c, stacks.c, dynamic.c and python.c
                 are parts of it */
#ifndef BROADLEAF_RECORDER_H
#define BROADLEAF_RECORDER_H

#include "pub_tool_basics.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_xarray.h"
#include "wire.h"

/* instrument.c */
IRSB* bl_instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                    const VexGuestExtents* extents, const VexArchInfo* arch, IRType guest_word,
                    IRType host_word);
/* The contents of the running thread's register shadow, which translated code reaches fastest. The
   next word is written at `at`. The next number is written right below `full` + ROOM, the room of
   one execution and some spare. A block that begins with `at` above `full` first calls
   `bl_next_segment`. */
#define ROOM ((WIRE_MAX_STEPS + 8) * sizeof(ULong))
typedef struct { UInt* at; UChar* full; } Shadow;
static inline ULong* numbers_end(Shadow s) { return (ULong*)(s.full + ROOM); }
extern Bool bl_code; /* the bytes of instructions are recorded (statements.c) */
/* True if a fault inside a block must find the exact registers of the program and the exact
   references made so far. Exactness costs time, and only a program that handles faults can notice
   it. */
extern Bool bl_precise;
void bl_be_precise(void);
/* The present state of a precise translation: the running block (the number of its first pattern),
   the words of its items that were done before the present instruction, and the place of its
   execution. */
#define NO_BLOCK (~0ULL)
typedef struct { ULong pattern, words; Shadow where; } Midst;
extern Midst bl_midst;
extern ThreadId bl_running; /* VG_INVALID_THREADID before the first */

/* blocks.c. Patterns and the references of blocks are numbered, patterns from 1. */
#define MAX_PATTERNS ((1u << 22) - 1)
#define MAX_REFERENCES (1u << 23)
/* The latest address of each reference that translated code compares. */
extern ULong bl_last[];
#define NOWHERE (1ULL << 63) /* in no unit that a program can reach */
/* Returns the first pattern of the block with these items, and its first reference in `reference`.
   Returns NO_PATTERN if the tables are full. */
UInt bl_block(const ULong* items, UInt words, UInt steps, UInt exits, UInt* reference);
void bl_fault(void);  /* ends the running block and records the part that was executed */
void bl_forget(void); /* forgets the units of all references, for a new reader */
void bl_describe_blocks_again(void);

/* ring.c. Nothing is written while `bl_recording` is False. Translated code then writes into a
   segment without a reader. */
extern Bool bl_recording;
void bl_ring_open(const HChar* directory);
void bl_ring_close(UInt ended);
void bl_ring_abandon(void);     /* in a forked child: the ring is the parent's */
void bl_ring_leave(void);       /* in an unrecorded forked child, which ends with the recorder */
void bl_ring_show(UInt window); /* shows the position and the window to the reader */
void bl_ring_flush(void);       /* publishes the present segment */
void bl_ring_forks(void);       /* before a recorded fork: the child's ring will name the fork */
void bl_next_segment(void);     /* called by translated code when a segment is full */
void bl_thread_runs(ThreadId t);/* the shadow goes with the thread that runs */
/* Sets the place of the next execution. It overwrites later words of the same segment. */
void bl_rewind(Shadow where);
void bl_execution(UInt pattern, const ULong* bases, UInt n);
void bl_park(void);             /* before a signal's frame is made or left */
void bl_record(UInt kind, const ULong* payload, UInt words);
UInt bl_unpublished_words(void); /* words executed since the last segment */
/* A record that is built word by word. */
typedef struct { UInt words; ULong word[4096]; } Payload;
void put(Payload* p, ULong v);
void put_text(Payload* p, const HChar* s);
void bl_send(UInt kind, const Payload* p);

/* windows.c */
enum { UNIT_ACCESSES, UNIT_INSTRUCTIONS, UNIT_MICROSECONDS };
extern Bool  bl_windows;   /* the recording has windows */
extern Bool  bl_in_window; /* references are recorded now; always True without windows */
extern UInt  bl_window_unit;
extern Long  bl_window_skip, bl_window_for, bl_window_every; /* for, every: 0 for no end */
typedef struct { ULong accesses, instructions; } Position;
extern Position bl_position; /* what the process has done */
void bl_windows_init(void);
void bl_windows_begin(void);    /* before a process's first instruction */
void bl_windows_in_child(void);
void bl_windows_total(void);    /* before a process ends or executes another program */
void bl_windows_fold(ThreadId tid); /* adds the counts of a thread that is not running */
/* The counts of the largest block so far, which bounds what a number of blocks can do. */
extern Position bl_largest;
/* One number in the register shadow, behind the Shadow, has both counts of a thread since it began
   to run. */
#define COUNT_PLACE sizeof(Shadow)
#define ACCESS_BITS 24u

/* tables.c */
void bl_tables_init(void);
void bl_other_table(void);      /* exchanges the tables of translations */

/* residents.c */
void bl_residents_begin(void);
void bl_residents_in_child(void);
void bl_residents_find(void);   /* records all pages that became resident in the gap */
/* Before a system call changes these pages or mappings next to them: records the pages of their
   blocks that became resident in the gap. */
void bl_residents_before(Addr start, SizeT len);
void bl_residents_before_call(UInt number, const UWord* args, Addr brk_end);
void bl_residents_after_call(UInt number, const UWord* args, UWord result);

/* pagemap.c */
enum { PAGE_LOADED = 1, PAGE_STORED = 3 };
typedef void (*ResidentRun)(Addr start, SizeT len, UInt manner);
void bl_pagemap_open(void);     /* for each process */
void bl_pagemap_leave(void);
/* Lets the kernel map no neighbours of touched pages. */
void bl_pagemap_exact(Addr start, SizeT len);
void bl_pagemap_runs(Addr start, Addr end, ResidentRun run);

/* events.c */
extern Int bl_exit_status; /* as wait() reports it; -1: unknown, as if a signal ends the program */
void bl_events_init(void);
void bl_process_begins(void);
void bl_program_ends(void);

/* placement.c */
void bl_placement_expect(Bool file, Int fd, ULong offset, Bool shared);
void bl_placement_expect_nothing(void);
void bl_show_vdso(void);
extern Addr bl_vdso;      /* the program's vDSO; 0 if it sees none */
extern Long bl_align; /* page sizes to align mappings to: bit n for 2^n bytes; 0: as the kernel */
extern Bool bl_misplaced; /* true if the core chose the last mapping's place */
extern Addr bl_native;    /* the native place of that mapping, modulo 2 MiB */

/* The required fields of the core's types with these names. */
typedef struct { Word number; UWord arg[8]; } SyscallArgs;
typedef struct { enum { CALL_COMPLETE = 1 } what; SysRes result; } SyscallStatus;

/* kernel_touch.c */
/* Records touched pages, in parts of at most WIRE_MOST_POPULATED. */
void bl_touched(Addr start, SizeT len, UInt access, UInt origin);
void bl_touches_init(void);
void bl_touches_forget(void);
void bl_touches_in_child(void);
void bl_touches_before(UInt number);
void bl_touches_after(UInt number, const UWord* args, UWord result);
void bl_touches_mapped(Addr start, SizeT len, UInt flags);

/* clock.c */
enum { CLOCK_WALL, CLOCK_PROGRAM, CLOCK_DATE };
extern UInt bl_clock, bl_clock_rate;
void bl_clock_begin(void);
void bl_clock_pattern(UInt pattern, UInt instructions);
void bl_clock_executed(const UInt* words, UInt n);
void bl_clock_advances(ULong instructions); /* with windows, instead of bl_clock_executed */
ULong bl_clock_microseconds(void); /* since the recording began, by the clock of --clock */
void bl_clock_pauses(void);
void bl_clock_runs(void);
void bl_clock_thread(ThreadId before);
void bl_clock_thread_starts(ThreadId t);
void bl_clock_in_child(ThreadId t);
void bl_clock_after(ThreadId tid, UInt number, const UWord* args, UWord result);
void bl_clock_deadline(ThreadId tid, UInt number, const UWord* args);
void bl_clock_deadline_back(ThreadId tid);

/* missing_calls.c */
#define CALL_MLOCK2 325
Bool bl_leaves_mapping(UWord flags); /* true if an mremap with these flags leaves a mapping */

/* startup.c */
void bl_hide_preload(void);

/* main.c */
extern UInt  bl_unit_shift;
extern const HChar* bl_ring_directory;
extern Bool  bl_follow_children;

#endif

/* The declarations that the files of the recorder for whole systems share. It is a plugin of
   qemu-system-x86_64. It shares the ring, the shapes and the wire with the recorder of programs.

   main.c    options, marks, start and end
   blocks.c  callbacks of translated code: references become executions of shapes
   walk.c    the guest's page tables, behind a small software TLB
   spaces.c  the kernel's address spaces, and CR3
   events.c  the events of an instrumented kernel
   decode.c  the instructions that change translations */
#ifndef BROADLEAF_QEMU_SYSTEM_H
#define BROADLEAF_QEMU_SYSTEM_H

#include "../recorder.h"

/* The version of the plugin interface: 1 (QEMU 7.2) or 4 (QEMU 10.0, with registers). */
#ifndef PLUGIN_API
#define PLUGIN_API 1
#endif

#define MOST_CPUS 64u
#define CELLS 4096u
#define ADDRESS_BITS 0x000ffffffffff000ULL

/* decode.c */
typedef enum { CHANGES_NOTHING, WRITES_CR3, WRITES_CR4, INVALIDATES_PAGE, INVALIDATES_SPACES,
               MARKS_BEGIN, MARKS_END, MARKS_EVENTS } Change;
typedef struct {
   Change  change;
   int     reg;          /* the general register that holds the value or the base, or -1 */
   int32_t displacement; /* from the base */
} Decoded;
Decoded bl_decode(const UChar* code, size_t bytes);

/* walk.c. A leaf in one word: the frame in bits 12 to 51, and LEAF_... below. */
enum { LEAF_WRITE = 1, LEAF_USER = 2, LEAF_EXECUTE = 4, LEAF_GLOBAL = 8, LEAF_2M = 16,
       LEAF_1G = 32, LEAF_PRESENT = 64 };

/* An entry of the software TLB. It holds until its half's stamp changes. */
typedef struct { ULong page, stamp, frame; } Cell;

/* A processor of the guest. A stamp is a number that no other half of any processor has or had.
   Halves: 0 for the program's addresses, 1 for the kernel's. */
typedef struct {
   bool  known;
   Addr  root;     /* the physical address of the top table: CR3 */
   UInt  space;    /* the number of the running space in the trace */
   ULong stamp[2];
   Addr  loaded;   /* the address of the kernel's cpu_tlbstate.loaded_mm of this processor */
   Cell  cells[CELLS];
} Cpu;

extern Cpu*  bl_cpu; /* the one that runs */
extern UInt  bl_cpu_number;
extern bool  bl_check;
typedef struct {
   ULong references, checked, different, devices, untranslated, leaves, huge, walks;
   ULong faults, handled, switches, pages, everything;
   ULong events, invalid_events, homeless_events;
} Counts;
extern Counts bl_counts;
bool  bl_map_memory(const char* file);
/* Checks that an address has a translation, and returns the stamp of the entry. */
ULong bl_translate(Addr address);
ULong bl_check_reference(UInt info, Addr address);
/* The stamp of the page of events. No half has it, so each reference to the page is looked at. */
#define STAMP_OF_EVENTS 1ULL
/* The next use of these pages gives the trace their leaves again. */
void bl_forget_leaves(UInt space, Addr start, ULong bytes);
/* Returns the leaf of an address under a top table, or 0. */
ULong bl_walk(Addr root, Addr address);
bool  bl_read_physical(Addr at, void* to, UInt bytes);
void  bl_flush(UInt half);
void  bl_orphan_huge(UInt space); /* the space ends */

/* events.c */
extern bool bl_events_expected; /* the trace may have events of the kernel */
extern Addr bl_events_frame; /* the physical address of the page of events, or 0 */
void bl_announces_events(Addr address);
void bl_finds_events(void); /* the recording begins */
void bl_event_at(Addr address);
void bl_event_is_sent(const ULong* words); /* the five words of its record */

/* spaces.c */
extern Addr bl_events_symbol; /* the address of the kernel's own page of events, or 0 */
/* The number of the space that an instrumented kernel names: by the address of its mm_struct, or by
   the physical address of its top table. KERNEL_SPACE if the recorder knows no such space. */
UInt bl_space_named(ULong name);
void bl_flush_all(void); /* on all processors */
bool bl_read_symbols(const char* file);
bool bl_read_kernel(Addr address, void* to, UInt bytes);
bool bl_is_in_switch(Addr address); /* in the function that loads spaces */
bool bl_is_fault_entry(Addr address);
bool bl_is_fault_work(Addr address);
void bl_cpu_begins(UInt cpu);
void bl_loads_space(Addr address); /* after a store by that function */
void bl_spaces_begin(void);        /* the recording begins */
/* True if a space that has not ended maps this block by a huge page with this frame. */
bool bl_still_maps(UInt space, Addr block, ULong frame);
void bl_enters_program(void);      /* the first block of a program in a space */
void bl_tell_space(void);
#define KERNEL_SPACE 0u

/* blocks.c */
extern bool bl_on; /* between the marks */
/* Appends a record that follows the references of the running block. */
void bl_pend(UInt record, const ULong* words, UInt n);
void bl_translates(qemu_plugin_id_t id, struct qemu_plugin_tb* tb);
void bl_begin_blocks(void);
void bl_end_blocks(void);

/* main.c */
void bl_system_begins(void);
void bl_system_ends(void);
extern bool bl_code; /* instruction pages are translated too */

/* Registers, with version 4 of the interface. */
void  bl_find_registers(void);
bool  bl_register(UInt cpu, int number, ULong* value);

#endif

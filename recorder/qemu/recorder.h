/* The declarations that the files of the recorder for QEMU share.

   main.c       options, start and end
   translate.c  callbacks that are added to translated code
   kinds.c      the instructions whose references are loose
   execute.c    references become executions of shapes
   shapes.c     the tables of blocks and shapes
   ring.c       the shared memory towards `broadleaf record`
   threads.c    the baton: one thread runs at a time
   calls.c      system calls; numbers.c has their numbers
   exec.c       programs that the program executes
   mappings.c   records of mappings
   placement.c  mappings at the places where the kernel would have put them; holes.c has the list
   touches.c    memory that the kernel makes resident */
#ifndef BROADLEAF_QEMU_RECORDER_H
#define BROADLEAF_QEMU_RECORDER_H

#include "plugin_api.h"

typedef uint8_t  UChar;
typedef uint16_t UShort;
typedef uint32_t UInt;
typedef uint64_t ULong;
typedef ULong    Addr;

#include "../valgrind/wire.h"

#define PAGE 4096UL
#define PAGE_DOWN(a) ((a) & ~(PAGE - 1))
#define PAGE_UP(a) (((a) + PAGE - 1) & ~(PAGE - 1))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* shapes.c. A block is a piece of translated code. The plugin interface does not tell which
   references an instruction makes, so they are learned: a *shape* is a list of references that an
   execution of a block has made. A shape is a pattern of the wire.

   An execution is compared with the predicted shape of its block. After TRIALS executions that were
   as predicted, a shape is *trusted*: its references are no longer counted, because only a fault
   could leave one out. A shape is never trusted if an instruction makes its references under a
   condition, or if the program handles faults. */
typedef struct _Block Block;
typedef struct _Insn  Insn;
typedef struct {
   const Insn* insn; /* NULL after the last */
   UInt        info; /* the callback's */
   UInt        span; /* bytes after the first */
   Addr        now;  /* the address in the latest execution */
   Addr        last; /* the address that the reader knows of, or NOWHERE */
   ULong       made; /* the execution that made it last, if it is counted */
   ULong       stamp; /* of whole systems: that of the translation of the last page */
} Step;

enum { LOOSE = 1, CONDITIONAL = 2 };
struct _Insn {
   ULong  address;
   Step*  step;  /* the one or two that need no counting, in the predicted shape */
   Step*  steps; /* all of them, or NULL */
   UShort index;
   UChar  kind; /* LOOSE, CONDITIONAL: see kinds.c */
   ULong  code; /* a hash of the code, where other programs may have other code there; else 0 */
};

typedef struct _Shape {
   struct _Shape* next; /* of the same block */
   Block*         block;
   UInt           pattern;
   UInt           state; /* at the beginning of an execution */
   const Step*    end;
   UInt           trials; /* left until it is trusted */
   UInt           from, to; /* the instructions */
   UInt           n, bases;
   UInt           words;
   ULong*         items;
   UShort*        base; /* the step of each base */
   Step           steps[];
} Shape;
#define TRIALS 32

struct _Block {
   struct _Block* next; /* with the same hash */
   Shape*         shape; /* the predicted one */
   Shape*         shapes;
   ULong          hash;
   UInt           n;
   bool           is_wary; /* none of its shapes is trusted */
   UChar          marks;   /* of whole systems: see blocks.c */
   ULong          code_stamp;
   Insn           insns[];
};

/* A reference that was made. */
typedef struct { const Insn* insn; UInt info; ULong address; } Made;

#define NOWHERE (1ULL << 63) /* in no unit that a program can reach */

extern Shape bl_unknown; /* the prediction for a block that has not been executed */
Block* bl_block(const Insn* insns, UInt n);
void bl_predict(Block* b, Shape* p);
void bl_trust(Shape* p);
void bl_distrust(Block* b);
void bl_distrust_all(void); /* and all shapes to come */
/* Returns the shape with these references and instructions. Returns NULL if the tables are full. */
Shape* bl_shape(Block* b, UInt from, UInt to, const Made* made, UInt n);
void bl_forget_places(void);
void bl_describe_again(void);

/* execute.c. The execution in progress. The end of an execution has nothing to do but to write the
   pattern if its state is 0. */
enum { COUNTED = 1, LEFT = 2, COLLECTING = 4 };
typedef struct {
   UInt   state;
   UInt   from;   /* its first instruction */
   UInt   n;      /* references in `made` */
   ULong  number;
   Shape* shape;  /* the predicted one */
   Block* block;  /* NULL between executions */
   Made*  made;
} Run;

extern Run   bl_run;
extern ULong bl_unit_mask; /* the bits above a unit's */
void bl_on_block(unsigned cpu, void* block);
void bl_on_reference(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* insn);
/* The same while the program has several threads. */
void bl_on_block_in_turn(unsigned cpu, void* block);
void bl_on_reference_in_turn(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address,
                             void* insn);
void bl_conclude(const Block* following); /* ends the execution in progress */
void bl_set_aside(Run* to); /* moves the execution in progress to `to` */
void bl_resume(const Run* from);
void bl_drop(void);

/* kinds.c */
UInt bl_kind_x86(const UChar* code, size_t bytes);

/* translate.c */
void bl_on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb* tb);

/* ring.c */
#define ROOM ((WIRE_MAX_STEPS + 8) * sizeof(ULong))
extern bool          bl_recording;
extern UInt*         bl_at;   /* the place of the next word */
extern ULong*        bl_low;  /* right above the place of the next number */
extern UInt*         bl_full; /* a word at this place or above has no room for its numbers */
extern volatile bool bl_waits_for_room;
void bl_ring_open(void);
void bl_ring_close(UInt ended);
void bl_ring_abandon(void);
void bl_ring_leave(void);
void bl_ring_flush(void);
void bl_ring_forks(void);
void bl_give_up(const char* why);
void bl_say(const char* what);
void bl_record(UInt kind, const ULong* payload, UInt words);
typedef struct { UInt words; ULong word[4096]; } Payload;
void put(Payload* p, ULong v);
void put_text(Payload* p, const char* s);
void bl_send(UInt kind, const Payload* p);
static inline void bl_send_number(UInt kind, ULong n) { bl_record(kind, &n, 1); }

/* threads.c */
extern int           bl_owner; /* the thread that runs, or -1 */
extern volatile bool bl_parallel; /* the program has had several threads */
extern volatile bool bl_turn_is_over; /* a segment is full, and other threads wait */
void bl_segment_is_full(void);
void bl_on_thread(qemu_plugin_id_t id, unsigned cpu);
void bl_take_turn(unsigned cpu);
void bl_end_turn(unsigned cpu);
void bl_thread_ends(unsigned cpu);
bool bl_is_last_thread(void);
void bl_threads_in_child(unsigned cpu);

/* calls.c and numbers.c */
typedef enum {
   CALL_OTHER, CALL_WAITS, CALL_MMAP, CALL_MUNMAP, CALL_MPROTECT, CALL_MREMAP, CALL_MADVISE,
   CALL_BRK, CALL_SHMAT, CALL_SHMDT, CALL_FORK, CALL_CLONE, CALL_CLONE3, CALL_EXECVE,
   CALL_EXECVEAT, CALL_EXIT, CALL_EXIT_GROUP, CALL_KILL, CALL_SIGACTION, CALL_MLOCK, CALL_MLOCK2,
   CALL_MLOCKALL, CALL_MUNLOCKALL, CALL_READ, CALL_WRITE, CALL_READV, CALL_WRITEV, CALL_FILLS_2,
   CALL_FILLS_1,
} Call;
typedef struct { Call call; ULong arg[8]; } PresentCall;
extern __thread PresentCall bl_call; /* of this thread */
bool bl_numbers_for(const char* target);
Call bl_call_of(int64_t number);
void bl_on_call(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
void bl_on_return(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result);
void bl_ends(ULong status, bool is_known);
extern Addr bl_brk_base, bl_brk_end; /* 0 before the program asks for it */
bool bl_is_fault_handler(Addr address);
bool bl_copy(void* to, Addr from, ULong bytes); /* from the program's memory */
bool bl_copy_text(char* to, Addr from, ULong room);

/* exec.c */
void bl_execute(Addr path, Addr args, Addr env, int folder, bool recorded);

/* mappings.c */
void bl_process_begins(void);
void bl_send_range(UInt kind, Addr start, ULong len);
void bl_send_map(Addr start, ULong len, UInt prot, UInt flags, UInt backing, UInt file,
                 ULong offset);
void bl_mapped(const ULong* args, Addr start);

/* placement.c */
extern bool bl_loading; /* the program is being loaded */
extern Addr bl_stack, bl_stack_end, bl_kernel_page;
bool bl_is_programs(Addr address); /* in a part of the address space that is the program's */
void bl_placement_init(const char* target, bool dynamic, bool interpreted);
bool bl_misplaced(Addr* native); /* the last mapping of this thread */
ULong bl_detached(void); /* the bytes that the last shmdt of this thread took away */

/* holes.c */
void bl_fill(Addr start, ULong len);
void bl_empty(Addr start, ULong len);
bool bl_is_free(Addr start, ULong len);
Addr bl_highest_hole(ULong len, Addr top, Addr floor);

/* touches.c */
void bl_touches_forget(void);
void bl_touches_in_child(void);
void bl_touches_after(Call call, const ULong* args, ULong result);
void bl_touches_mapped(Addr start, ULong len, UInt flags);

/* main.c */
typedef struct {
   const char* ring;    /* the folder of rings */
   const char* plugin;  /* this file */
   const char* path;    /* the folder with QEMU's programs */
   const char* target;  /* the guest's processor */
   const char* prefix;  /* the folder of foreign libraries, or NULL */
   UInt        shift;   /* log2 of the unit */
   bool        children;
} Settings;
extern Settings bl_set;
extern char**   bl_words; /* the program's path and arguments */
extern UInt     bl_number_of_words;
extern char*    bl_program; /* the path of its file */

#endif

/* The interface between the tool and `broadleaf record`. Shared memory holds a ring of segments.
   Words of 32 bits fill a segment from its start, one for each execution or record. Numbers of 64
   bits fill it from its end downwards. They are the addresses and payloads of the words, in the
   same order. The counterpart of this file is crates/record/src/valgrind/wire.rs. Both files change
   together. */
#ifndef BROADLEAF_WIRE_H
#define BROADLEAF_WIRE_H

#define WIRE_MAGIC 0x424c5631u /* "BLV1" */
#define WIRE_SEGMENTS 16u
#define WIRE_A_WHILE 8u /* segments */
#define WIRE_SEGMENT_BYTES (64u * 1024u)
#define WIRE_HEADER_BYTES 4096u
#define WIRE_MAX_STEPS 1024
#define NO_PATTERN 0u

/* The first page of the ring. `head` counts the segments that the tool filled, and `tail` those
   that the reader has emptied. Both only grow, and wrap around at 2^32. Each side sleeps on the
   other's counter (futex) until there are several segments to work on, because a sleep and a
   wake-up take as long as a segment. */
typedef struct {
   UInt magic;
   UInt segments;
   UInt segment_bytes;
   UInt unit_shift;
   UInt pid;
   UInt ended; /* 1: the tool wrote its last segment; 2: the program continues unrecorded */
   volatile UInt head;
   volatile UInt tail;
   UInt words[WIRE_SEGMENTS];   /* used in each segment */
   UInt numbers[WIRE_SEGMENTS]; /* the same */
   volatile UInt wake_reader_at; /* the `head` at which the reader wants to be woken */
   volatile UInt wake_tool_at;   /* the `tail` at which the tool does */
   /* the number of the fork that made the process, as in the parent's REC_FORKING; 0 without */
   ULong fork;
   /* with windows: the accesses and instructions so far, and twice the number of the present or
      next window, plus 1 inside a window */
   volatile ULong accesses, instructions;
   volatile UInt  window;
} WireHeader;

/* An execution: its pattern (from 1, below 2^22), and WIRE_LEFT if one of its references may have
   left the unit of its latest execution. Only then do the pattern's bases follow among the numbers.
   The base of a reference whose guard was false is WIRE_ABSENT. */
#define WIRE_LEFT 0x40000000u
#define WIRE_ABSENT (~0ULL)

/* A record: WIRE_RECORD is set, and the kind is in bits 0..7. Among the numbers are the length of
   its payload and, below it, the payload, upwards. A text is its length in bytes, then the bytes,
   padded to whole numbers. Everything before a record in the segment happened before it. */
#define WIRE_RECORD 0x80000000u
enum {
   REC_BLOCK = 1,   /* first pattern, first reference, then items: see below */
   REC_MAP,         /* start, length, protection, flags, backing, file, offset */
   REC_UNMAP,       /* start, length */
   REC_PROTECT,     /* start, length, protection */
   REC_REMAP,       /* old start, old length, new start, new length */
   REC_ADVISE,      /* start, length, advice */
   REC_BRK,         /* start, length */
   REC_STACK,       /* lowest address and top of the main thread's stack; its lowest limit */
   REC_FILE,        /* number, size, text path */
   REC_MISPLACED,   /* start, length, native start */
   REC_PROCESS,     /* pid, parent, arguments; that many texts */
   /* child; the first record after REC_FORKING, if there was one and the fork succeeded */
   REC_FORK,
   REC_EXEC,        /* text path */
   REC_EXIT,        /* status as wait() reports it; nothing if it is unknown */
   REC_THREAD_START,/* thread */
   REC_THREAD_RUN,  /* thread */
   REC_THREAD_END,  /* thread */
   /* the number of a fork that is about to be made, unique in the recording; only if children are
      followed, and published at once */
   REC_FORKING,
   REC_POPULATE,    /* start, length (at most WIRE_MOST_POPULATED), access, origin of pages that the
                       kernel makes resident */
   /* number, text allocator, count and addresses of its native frames (in the call instruction, the
      innermost first), count of its Python frames, each text function, text file, line */
   REC_SITE,
   REC_ALLOCATION,  /* site, start, length, count, bytes */
   /* The process's accesses and instructions so far are in each of these. */
   REC_WINDOW_START,/* accesses, instructions, number of the window from 0 */
   REC_WINDOW_END,  /* accesses, instructions */
   REC_TOTAL,       /* accesses, instructions: the process ends, or executes another program */
   /* Whole systems. */
   REC_SPACE,       /* the number of the space that runs */
   REC_LEAF,        /* start, log2 of the size, physical address, rights: 1 write, 2 user,
                       4 execute, 8 global */
   REC_INVALIDATE,  /* 0 page, 1 unknown page, 2 the running space, 3 everything; address */
   REC_FAULT,       /* 0 an exception; 1 the kernel's work on a page fault */
   REC_PRIVILEGE,   /* 1 the kernel runs, 0 a program */
   REC_CORE,        /* the number of the processor that runs */
   REC_SPACE_END,   /* the running space ended */
   REC_KERNEL,      /* an event of an instrumented kernel: its number, space, start, length, more */
};
#define WIRE_MOST_POPULATED (64UL << 20)
enum { TOUCH_LOAD = 0, TOUCH_STORE, TOUCH_AS_MAPPED, TOUCH_COLLAPSE };
enum { ORIGIN_REQUEST = 0, ORIGIN_BUFFER, ORIGIN_GAP };

/* The items of a block: what the program does in it, in order. The low 8 bits are the kind, and the
   rest is the argument. A pattern is the block up to one of its exits.

   References whose addresses differ by constants share a *base*. An address is the base plus an
   offset, which is the next number. Bases are numbered in the order of their first use in the
   block, so a pattern uses those up to some number. */
enum {
   ITEM_INSTRUCTION = 1, /* argument: its address */
   ITEM_LOAD,            /* argument: bytes in bits 8..31, base in bits 32..63 */
   ITEM_STORE,           /* the same */
   ITEM_EXIT,            /* the next pattern ends here */
   /* the code of the instruction before: argument: its bytes, at most 15; the next two numbers hold
      them, padded with zeros */
   ITEM_CODE,
};
#define WIRE_NO_BASE 0xffffu /* the offset is the address: it is always the same */

/* Backing of a mapping. */
enum { BACK_ANONYMOUS = 0, BACK_HEAP, BACK_STACK, BACK_SHARED_MEMORY, BACK_FILE, BACK_KERNEL };

#endif

/* What the tool and `broadleaf record` say to each other. Shared memory holds a ring of segments. Words of 32 bits fill a segment from its start, one for
   each execution or record; numbers of 64 bits fill it from its end downwards, the addresses and payloads that belong to the words, in the same order.
   crates/record/src/valgrind/wire.rs is the other side of this file: the two change together. */
#ifndef BROADLEAF_WIRE_H
#define BROADLEAF_WIRE_H

#define WIRE_MAGIC 0x424c5631u /* "BLV1" */
#define WIRE_SEGMENTS 16u
#define WIRE_A_WHILE 8u /* segments */
#define WIRE_SEGMENT_BYTES (64u * 1024u)
#define WIRE_HEADER_BYTES 4096u
#define WIRE_MAX_STEPS 1024
#define NO_PATTERN 0u

/* The first page of the ring. `head` counts the segments that the tool filled, `tail` those that the reader has emptied;
   both only grow, and wrap around at 2^32. Each side sleeps on the other's counter (futex), until
   there is work for a while: to fall asleep and to be woken takes as long as to fill a segment. */
typedef struct {
   UInt magic;
   UInt segments;
   UInt segment_bytes;
   UInt unit_shift;
   UInt pid;
   UInt ended; /* 1: the tool wrote its last segment; 2: the program goes on without being recorded */
   volatile UInt head;
   volatile UInt tail;
   UInt words[WIRE_SEGMENTS];   /* used in each segment */
   UInt numbers[WIRE_SEGMENTS]; /* the same */
   volatile UInt wake_reader_at; /* the `head` at which the reader wants to be woken */
   volatile UInt wake_tool_at;   /* the `tail` at which the tool does */
   ULong fork; /* the number of the fork that made the process, as REC_FORKING told it to its parent's reader; 0 where none did or it did not */
} WireHeader;

/* An execution: its pattern (from 1, below 2^22), and WIRE_LEFT if one of its references may have left the unit where it was made the last time. Only then
   the pattern's bases follow among the numbers; WIRE_ABSENT for that of a reference whose guard was false. */
#define WIRE_LEFT 0x40000000u
#define WIRE_ABSENT (~0ULL)

/* A record: WIRE_RECORD is set, and the kind is in bits 0..7. Among the numbers: how many make up its payload, and below that the
   payload, upwards. A text is its length in bytes, then the bytes, padded to whole numbers. Everything told before a record happened before it. */
#define WIRE_RECORD 0x80000000u
enum {
   REC_BLOCK = 1,   /* first pattern, first reference, then items: see below */
   REC_MAP,         /* start, length, protection, flags, backing, file, offset */
   REC_UNMAP,       /* start, length */
   REC_PROTECT,     /* start, length, protection */
   REC_REMAP,       /* old start, old length, new start, new length */
   REC_ADVISE,      /* start, length, advice */
   REC_BRK,         /* start, length */
   REC_STACK,       /* lowest address and top of the main thread's stack; how low it may grow */
   REC_FILE,        /* number, size, text path */
   REC_MISPLACED,   /* start, length, native start */
   REC_PROCESS,     /* pid, parent, arguments; that many texts */
   REC_FORK,        /* child; the first record behind REC_FORKING if that was told and the fork succeeded */
   REC_EXEC,        /* text path */
   REC_EXIT,        /* status as wait() reports it; nothing where it is not known */
   REC_THREAD_START,/* thread */
   REC_THREAD_RUN,  /* thread */
   REC_THREAD_END,  /* thread */
   REC_FORKING,     /* the number of a fork that is now made; no other of the recording has it. Only where children are followed, and handed over at once. */
   REC_POPULATE,    /* start, length (at most WIRE_MOST_POPULATED), access, origin: the kernel makes these pages resident */
};
#define WIRE_MOST_POPULATED (64UL << 20)
enum { TOUCH_LOAD = 0, TOUCH_STORE, TOUCH_AS_MAPPED, TOUCH_COLLAPSE };
enum { ORIGIN_REQUEST = 0, ORIGIN_BUFFER };

/* Items of a block: what the program does in it, in order. The low 8 bits say what; the rest is the argument. A pattern is the block up to one of
   its exits.

   References whose addresses differ by constants share a *base*; an address is the base and an offset, which is the next number. Bases are
   numbered in the order in which the block first uses them, so that a pattern uses those up to some number. */
enum {
   ITEM_INSTRUCTION = 1, /* argument: its address */
   ITEM_LOAD,            /* argument: bytes in bits 8..31, base in bits 32..63 */
   ITEM_STORE,           /* the same */
   ITEM_EXIT,            /* the next pattern ends here */
};
#define WIRE_NO_BASE 0xffffu /* the offset is the address: it is always the same */

/* Backing of a mapping. */
enum { BACK_ANONYMOUS = 0, BACK_HEAP, BACK_STACK, BACK_SHARED_MEMORY, BACK_FILE, BACK_KERNEL };

#endif

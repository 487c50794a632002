/* What the tool and `broadleaf record` say to each other. Shared memory holds a ring of segments; a segment holds whole
   words of 64 bits. crates/record/src/valgrind/wire.rs is the other side of this file: the two change together. */
#ifndef BROADLEAF_WIRE_H
#define BROADLEAF_WIRE_H

#define WIRE_MAGIC 0x424c5631u /* "BLV1" */
#define WIRE_SEGMENTS 16u
#define WIRE_SEGMENT_BYTES (64u * 1024u)
#define WIRE_HEADER_BYTES 4096u
#define WIRE_MAX_STEPS 1024
#define NO_PATTERN 0xffffffffu

/* The first page of the ring. `head` counts the segments that the tool filled, `tail` those that the reader has emptied;
   both only grow, and wrap around at 2^32. Each side sleeps on the other's counter (futex). */
typedef struct {
   UInt magic;
   UInt segments;
   UInt segment_bytes;
   UInt unit_shift;
   UInt pid;
   UInt ended; /* 1: the tool wrote its last segment; 2: the program goes on without being recorded */
   volatile UInt head;
   volatile UInt tail;
   UInt length[WIRE_SEGMENTS]; /* words used in each segment */
} WireHeader;

/* An execution: its pattern (below 2^22), and bit 32 is set if one of its references left the unit where it was made the last time. Only then the
   addresses of all its references follow, a word each; WIRE_ABSENT for one whose guard was false. */
#define WIRE_LEFT (1ULL << 32)
#define WIRE_ABSENT (~0ULL)

/* A record: bit 31 of its first word is set; the kind is in bits 0..7, and from bit 32 on how many words of payload follow. Every number of a payload is a
   word; a text is its length in bytes, then the bytes, padded to words. Everything told before a record happened before it. */
#define WIRE_RECORD 0x80000000ULL
enum {
   REC_BLOCK = 1,   /* first pattern, first reference, then items: see below */
   REC_RESET,       /* all references forget their units: the next chunk begins here */
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
   REC_FORK,        /* child */
   REC_EXEC,        /* text path */
   REC_EXIT,        /* status as wait() reports it; nothing where it is not known */
   REC_THREAD_START,/* thread */
   REC_THREAD_RUN,  /* thread */
   REC_THREAD_END,  /* thread */
};

/* Items of a block, a word each: what the program does in it, in order. The low 8 bits say what; the rest is the argument. A
   pattern is the block up to one of its exits. */
enum {
   ITEM_INSTRUCTION = 1, /* argument: its address */
   ITEM_LOAD,            /* argument: bytes */
   ITEM_STORE,           /* argument: bytes */
   ITEM_EXIT,            /* the next pattern ends here */
};

/* Backing of a mapping. */
enum { BACK_ANONYMOUS = 0, BACK_HEAP, BACK_STACK, BACK_SHARED_MEMORY, BACK_FILE, BACK_KERNEL };

#endif

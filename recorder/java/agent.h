/* The interface between the Java agent and the recorder's tool: a client request of Valgrind with
   the address of a JavaAllocation. */
#ifndef BROADLEAF_AGENT_H
#define BROADLEAF_AGENT_H

/* VG_USERREQ_TOOL_BASE('B', 'L') */
#define JAVA_ALLOCATION_REQUEST (('B' << 24 | 'L' << 16) & 0xffff0000)
#define JAVA_FRAMES 16

typedef struct {
   unsigned long method, location; /* they identify the frame */
   const char*   function;
   const char*   file;
   unsigned long line;
} JavaFrame;

typedef struct {
   unsigned long start, size;
   unsigned long frames; /* the innermost first */
   JavaFrame     frame[JAVA_FRAMES];
} JavaAllocation;

#endif

/* An agent for the Java virtual machine: it reports the call stacks of large objects.

   A JVM's heap is one mapping, so the recorder's tool sees no allocation in it. The agent asks the
   JVM for sampled allocations (JVM TI 11, JEP 331), and reports objects of 64 KiB or more. G1 does
   not move objects that are larger than half a region. Smaller objects move at collections, so
   their first addresses say little.

   The interface of JVM TI is stable: functions have numbers, as its specification lists them. So
   the agent needs no headers of a JDK. Without Valgrind, the agent does nothing. */
#include "agent.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <valgrind/valgrind.h>

typedef void** Interface; /* a table of functions */
typedef Interface* Environment;
typedef int (*Function)(Environment, ...);

enum {
   GET_ENV = 6, /* in the table of JavaVM */
   /* Functions of JVM TI, by their numbers. */
   SET_EVENT_NOTIFICATION_MODE = 2,
   DEALLOCATE = 47,
   GET_CLASS_SIGNATURE = 48,
   GET_SOURCE_FILE_NAME = 50,
   GET_METHOD_NAME = 64,
   GET_METHOD_DECLARING_CLASS = 65,
   GET_LINE_NUMBER_TABLE = 70,
   GET_STACK_TRACE = 104,
   SET_EVENT_CALLBACKS = 122,
   ADD_CAPABILITIES = 142,
   SET_HEAP_SAMPLING_INTERVAL = 156,
   FIRST_EVENT = 50,
   SAMPLED_OBJECT_ALLOC = 86,
};
#define VERSION_11 0x300B0000
#define CAN_GET_SOURCE_FILE_NAME (1UL << 11)
#define CAN_GET_LINE_NUMBERS (1UL << 12)
#define CAN_SAMPLE (1UL << 43)

#define LEAST_BYTES (64L << 10)
/* Bytes between two samples of a thread, on average. So hardly a large object is missed. */
#define INTERVAL (8 << 10)

typedef struct { void* method; long location; } StackFrame;
typedef struct { long start; int line; } LineEntry;

static Environment jvm;

static int call_1(int number, void* a) { return ((Function)(*jvm)[number - 1])(jvm, a); }

static void release(void* memory)
{
   if (memory)
      call_1(DEALLOCATE, memory);
}

/* Writes a class and a method as `a.b.C.m`. */
static void name_method(char* out, size_t room, const char* class, const char* method)
{
   size_t n = 0;
   if (*class == 'L')
      class++;
   for (; *class && *class != ';' && n + 1 < room; class++)
      out[n++] = *class == '/' ? '.' : *class;
   snprintf(out + n, room - n, ".%s", method);
}

static unsigned long line_of(void* method, long location)
{
   int        n = 0;
   LineEntry* entries = NULL;
   long       best = -1;
   int        line = 0;
   if (((Function)(*jvm)[GET_LINE_NUMBER_TABLE - 1])(jvm, method, &n, &entries) != 0)
      return 0;
   for (int i = 0; i < n; i++)
      if (entries[i].start <= location && entries[i].start > best) {
         best = entries[i].start;
         line = entries[i].line;
      }
   release(entries);
   return line;
}

/* The texts of one report. */
static __thread char names[JAVA_FRAMES][512], files[JAVA_FRAMES][256];

static void describe(JavaFrame* out, const StackFrame* frame, unsigned at)
{
   void* class = NULL;
   char *method = NULL, *signature = NULL, *file = NULL;
   if (((Function)(*jvm)[GET_METHOD_NAME - 1])(jvm, frame->method, &method, NULL, NULL) != 0)
      method = NULL;
   if (((Function)(*jvm)[GET_METHOD_DECLARING_CLASS - 1])(jvm, frame->method, &class) == 0) {
      if (((Function)(*jvm)[GET_CLASS_SIGNATURE - 1])(jvm, class, &signature, NULL) != 0)
         signature = NULL;
      if (((Function)(*jvm)[GET_SOURCE_FILE_NAME - 1])(jvm, class, &file) != 0)
         file = NULL;
   }
   name_method(names[at], sizeof names[at], signature ? signature : "?", method ? method : "?");
   snprintf(files[at], sizeof files[at], "%s", file ? file : "");
   *out = (JavaFrame){(unsigned long)frame->method, frame->location, names[at], files[at],
                      line_of(frame->method, frame->location)};
   release(method);
   release(signature);
   release(file);
}

static void sampled(Environment environment, void* jni, void* thread, void** object, void* class,
                    long size)
{
   StackFrame     frames[JAVA_FRAMES];
   int            n = 0;
   JavaAllocation report;
   if (size < LEAST_BYTES || !object
       || ((Function)(*jvm)[GET_STACK_TRACE - 1])(jvm, thread, 0, JAVA_FRAMES, frames, &n) != 0)
      return;
   report.start = (unsigned long)*object; /* a local reference is the place of an address */
   report.size = size;
   report.frames = n;
   for (int i = 0; i < n; i++)
      describe(&report.frame[i], &frames[i], i);
   VALGRIND_DO_CLIENT_REQUEST_STMT(JAVA_ALLOCATION_REQUEST, &report, 0, 0, 0, 0);
}

__attribute__((visibility("default"))) int Agent_OnLoad(Environment machine, char* options,
                                                        void* reserved)
{
   static void*  callbacks[SAMPLED_OBJECT_ALLOC - FIRST_EVENT + 1];
   unsigned long wanted[2] = {CAN_GET_SOURCE_FILE_NAME | CAN_GET_LINE_NUMBERS | CAN_SAMPLE, 0};
   if (!RUNNING_ON_VALGRIND || ((Function)(*machine)[GET_ENV])(machine, &jvm, VERSION_11) != 0
       || call_1(ADD_CAPABILITIES, wanted) != 0)
      return 0; /* the JVM runs without the agent's events */
   callbacks[SAMPLED_OBJECT_ALLOC - FIRST_EVENT] = (void*)sampled;
   ((Function)(*jvm)[SET_EVENT_CALLBACKS - 1])(jvm, callbacks, (int)sizeof callbacks);
   ((Function)(*jvm)[SET_HEAP_SAMPLING_INTERVAL - 1])(jvm, INTERVAL);
   ((Function)(*jvm)[SET_EVENT_NOTIFICATION_MODE - 1])(jvm, 1, SAMPLED_OBJECT_ALLOC, NULL);
   return 0;
}

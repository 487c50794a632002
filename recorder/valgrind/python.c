/* Frames of a Python program, read from the memory of CPython 3.11.

   The offsets are those of 3.11 for 64-bit machines (Include/internal/pycore_runtime.h,
   pycore_frame.h and cpython/code.h). They are equal in all releases of 3.11. Another version has
   other offsets, so its programs have native frames only. Every pointer is checked before it is
   followed: the interpreter may be in the middle of a change. */
#include "sites.h"
#include "pub_tool_debuginfo.h"

/* An internal type of the core, as it is on amd64. */
typedef struct { Addr main; } SymbolPlaces;
extern Bool VG_(lookup_symbol_SLOW)(DiEpoch ep, const HChar* soname_pattern, const HChar* name,
                                    SymbolPlaces* places);

#define VERSION_3_11 0x030b
enum {
   RUNTIME_CURRENT = 576, /* _PyRuntimeState.gilstate.tstate_current: the thread with the lock */
   THREAD_CFRAME = 56,
   THREAD_NATIVE_ID = 160,
   CFRAME_CURRENT = 8,
   FRAME_CODE = 32,
   FRAME_PREVIOUS = 48,
   FRAME_INSTRUCTION = 56, /* prev_instr: the latest that was executed */
   CODE_FIRST_LINE = 72,
   CODE_FILENAME = 112,
   CODE_QUALNAME = 128,
   CODE_LINES = 136, /* co_linetable, of bytes */
   CODE_INSTRUCTIONS = 184,
   OBJECT_SIZE = 16, /* of bytes and texts: the length */
   BYTES_DATA = 32,
   TEXT_STATE = 32,
   ASCII_DATA = 48,
   TEXT_DATA = 72,
};

static Addr runtime;           /* _PyRuntime, or 0 */
static Bool look_again = True; /* a library may have been loaded since the last search */

void bl_python_look_again(void)
{
   if (runtime == 0)
      look_again = True;
}

static ULong at(Addr a, SizeT offset)
{
   return bl_readable(a + offset, sizeof(ULong)) ? *(ULong*)(a + offset) : 0;
}

static void find_runtime(void)
{
   SymbolPlaces version;
   DiEpoch      now = VG_(current_DiEpoch)();
   look_again = False;
   if (VG_(lookup_symbol_SLOW)(now, "*", "Py_Version", &version)
       && at(version.main, 0) >> 16 == VERSION_3_11)
      runtime = bl_dynamic_symbol(version.main, "_PyRuntime");
}

/* Writes at most `n` frames of the Python functions that this thread runs, the innermost first. */
UInt bl_python_stack(ManagedFrame* frames, UInt n)
{
   UInt done = 0;
   if (look_again)
      find_runtime();
   if (runtime == 0)
      return 0;
   Addr thread = at(runtime, RUNTIME_CURRENT);
   if (thread == 0 || at(thread, THREAD_NATIVE_ID) != VG_(gettid)())
      return 0; /* another thread has the interpreter's lock */
   Addr frame = at(at(thread, THREAD_CFRAME), CFRAME_CURRENT);
   for (; frame && done < n; frame = at(frame, FRAME_PREVIOUS)) {
      frames[done].code = at(frame, FRAME_CODE);
      frames[done].instruction = at(frame, FRAME_INSTRUCTION);
      if (frames[done].code == 0)
         break;
      done++;
   }
   return done;
}

/* Returns the number of the table of lines at `*p`: six bits in each byte, lowest first. */
static ULong number(const UChar** p, const UChar* end)
{
   ULong value = 0;
   for (UInt shift = 0; *p < end && shift < 60; shift += 6) {
      UChar byte = *(*p)++;
      value |= (ULong)(byte & 63) << shift;
      if (!(byte & 64))
         break;
   }
   return value;
}

static Int signed_number(const UChar** p, const UChar* end)
{
   ULong value = number(p, end);
   return value & 1 ? -(Int)(value >> 1) : (Int)(value >> 1);
}

/* Returns the line of an instruction, or 0. An entry of the table covers some instructions, and
   gives their line as the distance from the line before (Objects/locations.md of CPython). */
static UInt line_of(const ManagedFrame* f)
{
   enum { SHORT = 10, SAME_LINES = 13, LONG = 14, NONE = 15 };
   Addr  table = at(f->code, CODE_LINES);
   SizeT bytes = at(table, OBJECT_SIZE);
   ULong unit = (f->instruction - (f->code + CODE_INSTRUCTIONS)) / 2, covered = 0;
   if (!bl_readable(f->code + CODE_FIRST_LINE, 4)
       || !bl_readable(table + BYTES_DATA, bytes ? bytes : 1))
      return 0;
   Int          line = *(Int*)(f->code + CODE_FIRST_LINE);
   const UChar* p = (const UChar*)table + BYTES_DATA;
   const UChar* end = p + bytes;
   while (p < end) {
      UInt kind = *p >> 3 & 15, length = (*p & 7) + 1;
      p++;
      if (kind == LONG || kind == SAME_LINES)
         line += signed_number(&p, end);
      else if (kind >= SHORT && kind < SAME_LINES)
         line += kind - SHORT;
      covered += length;
      if (unit < covered)
         return kind == NONE || line < 0 ? 0 : line;
      while (p < end && !(*p & 0x80))
         p++;
   }
   return 0;
}

#define LONGEST_TEXT 512

/* Appends a text of Python. A character beyond ASCII becomes UTF-8. */
static void put_python_text(Payload* p, Addr text)
{
   HChar out[4 * LONGEST_TEXT + 1];
   UInt  n = 0;
   SizeT length = at(text, OBJECT_SIZE);
   UInt  state = at(text, TEXT_STATE);
   UInt  kind = state >> 2 & 7;
   Bool  compact = state >> 5 & 1, ascii = state >> 6 & 1;
   Addr  data = text + (ascii ? ASCII_DATA : TEXT_DATA);
   if (length > LONGEST_TEXT)
      length = LONGEST_TEXT;
   if (compact && (kind == 1 || kind == 2 || kind == 4) && bl_readable(data, length * kind)) {
      for (SizeT i = 0; i < length; i++) {
         UInt c = kind == 1 ? ((UChar*)data)[i] : kind == 2 ? ((UShort*)data)[i] : ((UInt*)data)[i];
         if (c < 0x80)
            out[n++] = c;
         else if (c < 0x800) {
            out[n++] = 0xc0 | c >> 6;
            out[n++] = 0x80 | (c & 63);
         } else if (c < 0x10000) {
            out[n++] = 0xe0 | c >> 12;
            out[n++] = 0x80 | (c >> 6 & 63);
            out[n++] = 0x80 | (c & 63);
         } else {
            out[n++] = 0xf0 | (c >> 18 & 7);
            out[n++] = 0x80 | (c >> 12 & 63);
            out[n++] = 0x80 | (c >> 6 & 63);
            out[n++] = 0x80 | (c & 63);
         }
      }
   }
   out[n] = 0;
   put_text(p, out);
}

/* Appends the name of a frame's function, its file and its line. */
void bl_python_describe(Payload* p, const ManagedFrame* f)
{
   put_python_text(p, at(f->code, CODE_QUALNAME));
   put_python_text(p, at(f->code, CODE_FILENAME));
   put(p, line_of(f));
}

/* The instructions of x86-64 whose references are loose.

   The references of an instruction are merged if they are of one kind and adjacent: they are the
   pieces of a vector. A store is paired with a load of the same instruction and memory. Both rules
   hold for every execution of most instructions, because one address operand gives all of their
   references. Loose instructions are the others: strings, gathers, and those with two operands in
   memory. Conditional instructions do not make all of their references each time. */
#include "recorder.h"

/* Returns the kind of an opcode of the map 0F. */
static UInt kind_0f(const UChar* code)
{
   switch (code[0]) {
      case 0xf7: /* maskmovq, maskmovdqu */
         return LOOSE | CONDITIONAL;
      case 0xae: case 0xc7: /* fxsave, xsave and their like; cmpxchg16b */
         return CONDITIONAL;
      default:
         return 0;
   }
}

/* Returns the kind of an opcode without a map. */
static UInt kind_plain(const UChar* code, size_t left)
{
   UInt extension = left > 1 ? code[1] >> 3 & 7 : 0;
   switch (code[0]) {
      case 0x6c: case 0x6d: case 0x6e: case 0x6f: /* ins, outs */
      case 0xa4: case 0xa5: case 0xa6: case 0xa7: /* movs, cmps */
      case 0xaa: case 0xab: case 0xac: case 0xad: case 0xae: case 0xaf: /* stos, lods, scas */
         return LOOSE | CONDITIONAL;
      case 0xc8: case 0xc9: /* enter, leave */
      case 0x8f: /* pop to memory */
         return LOOSE;
      case 0xff: /* calls, jumps and pushes with an operand in memory */
         return extension == 2 || extension == 3 || extension == 6 ? LOOSE : 0;
      default:
         return 0;
   }
}

static bool is_prefix(UChar byte)
{
   return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3
          || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64
          || byte == 0x65;
}

UInt bl_kind_x86(const UChar* code, size_t bytes)
{
   size_t i = 0;
   while (i < bytes && is_prefix(code[i]))
      i++;
   if (i < bytes && (code[i] & 0xf0) == 0x40)
      i++; /* REX */
   if (i + 1 >= bytes)
      return i < bytes ? kind_plain(code + i, 1) : 0;
   if (code[i] == 0x0f)
      return kind_0f(code + i + 1);
   if (code[i] == 0xc5 && i + 2 < bytes) /* VEX with two bytes: map 0F */
      return kind_0f(code + i + 2);
   if (code[i] == 0xc4 && i + 3 < bytes) {
      UInt map = code[i + 1] & 0x1f;
      UInt op = code[i + 3];
      bool gathers = map == 2 && op >= 0x90 && op <= 0x93;
      return map == 1 ? kind_0f(code + i + 3) : gathers ? LOOSE | CONDITIONAL : 0;
   }
   return kind_plain(code + i, bytes - i);
}

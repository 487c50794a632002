/* Instructions of x86-64 that change translations, and the marks of the supervisor. */
#include "system.h"

#include <string.h>

#define BEGIN_MARK 0xb0ad1ea1u
#define END_MARK 0xb0ad1ea2u
#define EVENTS_MARK 0xb0ad1ea3u

/* Decodes the memory operand of INVLPG. An operand without a plain base register, or with an index,
   is left unknown. */
static void decode_base(Decoded* d, const UChar* modrm, size_t left, UInt rex)
{
   UInt mode = modrm[0] >> 6, base = modrm[0] & 7;
   d->reg = -1;
   if (mode == 3 || (mode == 0 && base == 5))
      return;
   const UChar* rest = modrm + 1;
   if (base == 4) {
      if (left < 2 || (modrm[1] & 0x38) != 0x20 || (rex & 2) || (mode == 0 && (modrm[1] & 7) == 5))
         return;
      base = modrm[1] & 7;
      rest++;
      left--;
   }
   if (mode == 1 && left >= 2) {
      d->displacement = (int8_t)rest[0];
   } else if (mode == 2 && left >= 5) {
      memcpy(&d->displacement, rest, 4);
   } else if (mode != 0) {
      return;
   }
   d->reg = base | (rex & 1 ? 8 : 0);
}

Decoded bl_decode(const UChar* code, size_t bytes)
{
   Decoded d = {CHANGES_NOTHING, -1, 0};
   size_t  i = 0;
   UInt    rex = 0;
   bool    operand = false;
   for (; i < bytes; i++) {
      if (code[i] == 0x66)
         operand = true;
      else if (code[i] != 0x67 && code[i] != 0xf0 && code[i] != 0xf2 && code[i] != 0xf3
               && code[i] != 0x2e && code[i] != 0x36 && code[i] != 0x3e && code[i] != 0x26
               && code[i] != 0x64 && code[i] != 0x65)
         break;
   }
   if (i < bytes && (code[i] & 0xf0) == 0x40)
      rex = code[i++];
   if (i + 3 > bytes || code[i] != 0x0f)
      return d;
   const UChar* modrm = code + i + 2;
   size_t       left = bytes - i - 2;
   UInt         extension = modrm[0] >> 3 & 7;
   switch (code[i + 1]) {
      case 0x22: /* to a control register; REX.R names registers from 8 on */
         if (rex & 4)
            break;
         d.change = extension == 3 ? WRITES_CR3 : extension == 4 ? WRITES_CR4 : CHANGES_NOTHING;
         d.reg = (modrm[0] & 7) | (rex & 1 ? 8 : 0);
         break;
      case 0x01:
         if (extension == 7 && modrm[0] >> 6 != 3) {
            d.change = INVALIDATES_PAGE;
            decode_base(&d, modrm, left, rex);
         }
         break;
      case 0x38:
         if (operand && left >= 2 && modrm[0] == 0x82)
            d.change = INVALIDATES_SPACES;
         break;
      case 0x1f: {
         UInt number = 0;
         if (left == 6 && modrm[0] == 0x84 && modrm[1] == 0)
            memcpy(&number, modrm + 2, 4);
         d.change = number == BEGIN_MARK    ? MARKS_BEGIN
                    : number == END_MARK    ? MARKS_END
                    : number == EVENTS_MARK ? MARKS_EVENTS
                                            : CHANGES_NOTHING;
         break;
      }
      default:
         break;
   }
   return d;
}

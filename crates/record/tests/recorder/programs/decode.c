/* Decodes instructions as the recorder of whole systems does. Each argument is code in hexadecimal.
   Prints the change, the register and the displacement. */
#include "../../../../../recorder/qemu/system/decode.c"

#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words)
{
   static const char* const names[] = {"nothing", "cr3", "cr4", "page", "spaces", "begin", "end",
                                       "events"};
   for (int i = 1; i < count; i++) {
      UChar  code[16];
      size_t bytes = 0;
      for (const char* at = words[i]; at[0] && at[1] && bytes < sizeof code; at += 2) {
         char digits[3] = {at[0], at[1], 0};
         code[bytes++] = strtoul(digits, NULL, 16);
      }
      Decoded d = bl_decode(code, bytes);
      printf("%s %d %d\n", names[d.change], d.reg, d.displacement);
   }
   return 0;
}

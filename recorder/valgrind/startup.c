/* The program's environment, before the program runs. */
#include "recorder.h"

extern HChar** VG_(client_envp);

/* Removes the core's library from the program's environment. The core adds it for tools that
   replace functions. The program's dynamic linker would load it, and every later mapping would
   shift. */
void bl_hide_preload(void)
{
   static const HChar name[] = "LD_PRELOAD=";
   static const HChar own[] = "vgpreload_core";
   for (HChar** e = VG_(client_envp); e && *e; e++) {
      HChar* value = *e + sizeof name - 1;
      if (VG_(strncmp)(*e, name, sizeof name - 1) != 0 || !VG_(strstr)(value, own))
         continue;
      HChar* rest = VG_(strchr)(value, ':'); /* the user's own value follows */
      if (rest)
         VG_(memmove)(value, rest + 1, VG_(strlen)(rest + 1) + 1);
      else
         VG_(strcpy)(*e, "BROADLEAF=1");
   }
}

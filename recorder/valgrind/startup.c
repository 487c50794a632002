/* The program's environment, before it runs. */
#include "recorder.h"

extern HChar** VG_(client_envp);

/* The core has the program's dynamic linker load a library of its own (for tools that replace functions), which would shift every mapping that
   follows. The recorder needs none: the name is taken out of the program's environment before it runs. */
void bl_hide_preload(void)
{
   static const HChar name[] = "LD_PRELOAD=";
   static const HChar own[] = "vgpreload_core";
   for (HChar** e = VG_(client_envp); e && *e; e++) {
      HChar* value = *e + sizeof name - 1;
      if (VG_(strncmp)(*e, name, sizeof name - 1) != 0 || !VG_(strstr)(value, own))
         continue;
      HChar* rest = VG_(strchr)(value, ':'); /* what the user had set stands behind it */
      if (rest)
         VG_(memmove)(value, rest + 1, VG_(strlen)(rest + 1) + 1);
      else
         VG_(strcpy)(*e, "BROADLEAF=1");
   }
}

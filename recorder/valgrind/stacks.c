/* Call stacks and registers of the program. */
#include "sites.h"
#include "pub_tool_stacktrace.h"

Bool bl_readable(Addr a, SizeT n) { return a && VG_(am_is_valid_for_client)(a, n, VKI_PROT_READ); }

ULong bl_register(ThreadId tid, PtrdiffT offset)
{
   ULong value = 0;
   VG_(get_shadow_regs_area)(tid, (UChar*)&value, 0, offset, sizeof value);
   return value;
}

/* A stack frame is smaller than this. */
#define LARGEST_FRAME (1UL << 20)

/* Follows the chain of saved frame pointers from the entry of a function. */
static UInt by_frame_pointers(ThreadId tid, Addr* ips, UInt n)
{
   Addr sp = VG_(get_SP)(tid), frame = REG(tid, RBP);
   UInt done = 0;
   ips[done++] = VG_(get_IP)(tid);
   if (done < n && bl_readable(sp, sizeof(Addr)))
      ips[done++] = *(Addr*)sp - 1;
   while (done < n && frame > sp && frame - sp < LARGEST_FRAME && frame % sizeof(Addr) == 0
          && bl_readable(frame, 2 * sizeof(Addr))) {
      Addr to = ((Addr*)frame)[1];
      if (to == 0)
         break;
      ips[done++] = to - 1;
      sp = frame;
      frame = *(Addr*)frame;
   }
   return done;
}

/* Writes at most `n` addresses of the thread's call stack. The first is the present instruction.
   The others are in the call instructions of the frames above. The core needs unwind information
   and the bounds of the stack. Go has frame pointers, and stacks that the core does not know. */
UInt bl_stack(ThreadId tid, Addr* ips, UInt n, Bool frame_pointers)
{
   if (frame_pointers)
      return by_frame_pointers(tid, ips, n);
   return VG_(get_StackTrace)(tid, ips, n, NULL, NULL, 0);
}

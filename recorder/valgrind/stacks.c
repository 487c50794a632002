/* Call stacks of the program. */
#include "sites.h"
#include "pub_tool_stacktrace.h"

/* Writes at most `n` addresses of the thread's call stack. The first is the present instruction.
   The others are in the call instructions of the frames above. */
UInt bl_stack(ThreadId tid, Addr* ips, UInt n)
{
   return VG_(get_StackTrace)(tid, ips, n, NULL, NULL, 0);
}

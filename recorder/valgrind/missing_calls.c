/* System calls that change or populate memory and that Valgrind 3.19 refuses.

   mremap(MREMAP_DONTUNMAP): pages move, and their old range stays mapped, empty.
   mlock2: passed on to the kernel. */
#include "recorder.h"

#define MAY_MOVE 1u
#define FIXED 2u
#define DONT_UNMAP 4u

extern void   __real_vgSysWrap_generic_sys_mremap_before(ThreadId, void*, SyscallArgs*,
                                                         SyscallStatus*, UWord*);
extern Addr   __wrap_vgPlain_am_get_advisory_client_simple(Addr start, SizeT len, Bool* ok);
extern Bool   VG_(am_notify_client_mmap)(Addr a, SizeT len, UInt prot, UInt flags, Int fd,
                                         Off64T offset);
extern SysRes VG_(do_syscall)(UWord sysno, RegWord, RegWord, RegWord, RegWord, RegWord, RegWord,
                              RegWord, RegWord);
extern void   VG_(discard_translations)(Addr start, ULong range, const HChar* who);
extern SysRes VG_(mk_SysRes_Error)(UWord);

Bool bl_leaves_mapping(UWord flags) { return (flags & DONT_UNMAP) != 0; }

static SysRes refused(UWord error, const HChar* why)
{
   if (why)
      VG_(umsg)("recorder: mremap with MREMAP_DONTUNMAP is refused: %s\n", why);
   return VG_(mk_SysRes_Error)(error);
}

static SysRes move(Addr old, SizeT len, SizeT new_len, UWord flags, Addr to)
{
   const NSegment* s = VG_(am_find_nsegment)(old);
   Bool            ok = True;
   UInt            kept = 0;
   len = VG_PGROUNDUP(len);
   if (!(flags & MAY_MOVE) || (flags & ~(UWord)(MAY_MOVE | FIXED | DONT_UNMAP)) || len == 0
       || VG_PGROUNDUP(new_len) != len || old % VKI_PAGE_SIZE || to % VKI_PAGE_SIZE)
      return refused(VKI_EINVAL, NULL);
   if (!s || s->end < old + len - 1)
      return refused(VKI_EFAULT, s ? "the range spans several mappings" : NULL);
   if (s->kind != SkAnonC)
      return refused(VKI_EINVAL, "the recorder moves anonymous memory only");
   kept = (s->hasR ? VKI_PROT_READ : 0) | (s->hasW ? VKI_PROT_WRITE : 0)
          | (s->hasX ? VKI_PROT_EXEC : 0);
   if (flags & FIXED) {
      __wrap_vgPlain_am_get_advisory_client_simple(to, len, &ok);
      if (!ok || (to < old + len && old < to + len))
         return refused(VKI_EINVAL, "Valgrind has no room at the fixed address");
   } else {
      to = __wrap_vgPlain_am_get_advisory_client_simple(0, len, &ok);
      if (!ok)
         return refused(VKI_ENOMEM, NULL);
   }
   UWord  how = MAY_MOVE | FIXED | DONT_UNMAP;
   SysRes r = VG_(do_syscall)(__NR_mremap, old, len, len, how, to, 0, 0, 0);
   if (sr_isError(r))
      return r;
   VG_(discard_translations)(old, len, "recorder.mremap");
   if (VG_(am_notify_client_mmap)(to, len, kept, VKI_MAP_PRIVATE | VKI_MAP_ANONYMOUS, -1, 0))
      VG_(discard_translations)(to, len, "recorder.mremap");
   return r;
}

void __wrap_vgSysWrap_generic_sys_mremap_before(ThreadId tid, void* layout, SyscallArgs* args,
                                                SyscallStatus* status, UWord* flags)
{
   if (!bl_leaves_mapping(args->arg[3])) {
      __real_vgSysWrap_generic_sys_mremap_before(tid, layout, args, status, flags);
      return;
   }
   status->what = CALL_COMPLETE;
   status->result = move(args->arg[0], args->arg[1], args->arg[2], args->arg[3], args->arg[4]);
}

/* An entry of the core's table of system calls. */
typedef struct {
   void (*before)(ThreadId, void*, SyscallArgs*, SyscallStatus*, UWord*);
   void (*after)(ThreadId, SyscallArgs*, SyscallStatus*);
} CallEntry;

extern const CallEntry* __real_vgModuleLocal_get_linux_syscall_entry(UInt number);

/* Does nothing, so that the core passes the call on to the kernel. */
static void pass_on(ThreadId tid, void* layout, SyscallArgs* args, SyscallStatus* status,
                    UWord* flags)
{
}

const CallEntry* __wrap_vgModuleLocal_get_linux_syscall_entry(UInt number)
{
   static const CallEntry passed_on = {pass_on, NULL};
   return number == CALL_MLOCK2 ? &passed_on : __real_vgModuleLocal_get_linux_syscall_entry(number);
}

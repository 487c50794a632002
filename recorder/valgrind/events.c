/* Changes of an address space, of processes and of threads. Each event is recorded after everything
   that happened before it. */
#include "mappings.h"
#include "sites.h"
#include "pub_tool_clientstate.h"

extern Addr VG_(brk_base);
extern Bool VG_(clo_trace_children);

Int bl_exit_status = -1;

static Addr     brk_end;
static Bool     forked; /* a fork succeeded, and its system call has not returned yet */
static SizeT    detached; /* length of the shared memory that the present call detaches */

static void send_number(UInt kind, ULong n) { bl_record(kind, &n, 1); }

/* Records a process from its first instruction, or from its fork: its ids, command and mappings. */
void bl_process_begins(void)
{
   Payload* p = VG_(calloc)("bl.process", 1, sizeof(Payload));
   Word     n = VG_(sizeXA)(VG_(args_for_client));
   put(p, VG_(getpid)());
   put(p, VG_(getppid)());
   put(p, n + 1);
   put_text(p, VG_(args_the_exename));
   for (Word i = 0; i < n; i++)
      put_text(p, *(HChar**)VG_(indexXA)(VG_(args_for_client), i));
   bl_send(REC_PROCESS, p);
   VG_(free)(p);

   bl_mappings_begin();
   if (brk_end == 0)
      brk_end = VG_(brk_base);
   bl_send_range(REC_BRK, VG_(brk_base), brk_end - VG_(brk_base));
}

/* Records the end of a process or of its program. */
void bl_program_ends(void)
{
   bl_sites_flush();
   bl_windows_total();
}

static void thread_runs(ThreadId tid, ULong blocks)
{
   bl_clock_runs();
   if (tid == bl_running)
      return;
   bl_clock_thread(bl_running);
   bl_thread_runs(tid);
   send_number(REC_THREAD_RUN, tid);
}

static void thread_starts(ThreadId tid, ThreadId child)
{
   bl_clock_thread_starts(child);
   if (bl_recording)
      send_number(REC_THREAD_START, child);
}

static void thread_ends(ThreadId tid)
{
   if (bl_recording)
      send_number(REC_THREAD_END, tid);
   bl_thread_runs(VG_INVALID_THREADID); /* its registers cannot be read any more */
}

static Bool is_fault(Int signal)
{
   return signal == VKI_SIGSEGV || signal == VKI_SIGBUS || signal == VKI_SIGFPE
          || signal == VKI_SIGILL || signal == VKI_SIGTRAP;
}

/* Notes that the program is about to install a signal handler. A handler that repairs the cause of
   a fault needs the fault's address. A handler that does not ask for the address, such as a
   compiler's for its own crash, only reports the fault, and is not worth the cost of exactness. */
static void handles(Int signal, const struct vki_sigaction_base* action)
{
   if (is_fault(signal) && VG_(am_is_valid_for_client)((Addr)action, sizeof *action, VKI_PROT_READ)
       && (action->sa_flags & VKI_SA_SIGINFO) && action->ksa_handler != VKI_SIG_DFL
       && action->ksa_handler != VKI_SIG_IGN)
      bl_be_precise();
}

/* Returns true for calls in which a program may wait for long. Earlier words are published before
   them, so that a recording that is killed meanwhile has them. */
static Bool may_wait(UInt number)
{
   switch (number) {
      case __NR_read: case __NR_readv: case __NR_recvfrom: case __NR_recvmsg: case __NR_accept:
      case __NR_accept4: case __NR_connect: case __NR_poll: case __NR_ppoll: case __NR_select:
      case __NR_pselect6: case __NR_epoll_wait: case __NR_epoll_pwait: case __NR_nanosleep:
      case __NR_clock_nanosleep: case __NR_pause: case __NR_futex: case __NR_flock:
      case __NR_wait4: case __NR_waitid: case __NR_rt_sigsuspend: case __NR_rt_sigtimedwait:
      case __NR_msgrcv: case __NR_semop: case __NR_semtimedop: case __NR_io_getevents:
         return True;
      default:
         return False;
   }
}

/* Returns true if a call makes a process. A call that makes a thread shares all of these. */
static Bool forks(UInt number, const UWord* args)
{
   static const UWord of_threads = VKI_CLONE_VM | VKI_CLONE_FS | VKI_CLONE_FILES;
   return number == __NR_fork || number == __NR_vfork
          || (number == __NR_clone && (args[0] & of_threads) != of_threads);
}

/* Returns the path that an execve or execveat names. */
static const HChar* executed_path(UInt number, const UWord* args)
{
   const HChar* path = (const HChar*)args[number == __NR_execve ? 0 : 1];
   return path && VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ) ? path : "?";
}

static void before_call(ThreadId tid, UInt number, UWord* args, UInt n)
{
   if (bl_recording && may_wait(number))
      bl_ring_flush();
   if (bl_windows)
      bl_residents_before_call(number, args, brk_end);
   if (bl_follow_children && forks(number, args)) {
      bl_sites_flush();
      bl_ring_forks();
   }
   bl_touches_before(number);
   bl_clock_deadline(tid, number, args);
   bl_clock_pauses();
   bl_placement_expect_nothing();
   bl_misplaced = False;
   switch (number) {
      case __NR_mmap:
         if (args[3] & VKI_MAP_ANONYMOUS)
            bl_placement_expect(False, -1, 0, (args[3] & VKI_MAP_SHARED) != 0);
         else
            bl_placement_expect(True, args[4], args[5], (args[3] & VKI_MAP_SHARED) != 0);
         break;
      case __NR_exit_group: case __NR_exit:
         bl_exit_status = (args[0] & 0xff) << 8;
         break;
      case __NR_rt_sigaction:
         handles(args[0], (const struct vki_sigaction_base*)args[1]);
         break;
      case __NR_rt_sigreturn:
         bl_park();
         break;
      case __NR_shmat:
         bl_placement_expect(False, -1, 0, True);
         break;
      case __NR_shmdt: {
         const NSegment* s = VG_(am_find_nsegment)(args[0]);
         detached = s && s->start == args[0] ? s->end + 1 - s->start : 0;
         break;
      }
      case __NR_execve: case __NR_execveat: {
         if (!bl_recording)
            break;
         Payload* p = VG_(calloc)("bl.exec", 1, sizeof(Payload));
         bl_program_ends();
         put_text(p, executed_path(number, args));
         bl_send(REC_EXEC, p);
         VG_(free)(p);
         bl_ring_flush();
         break;
      }
   }
}

static void after_call(ThreadId tid, UInt number, UWord* args, UInt n, SysRes res)
{
   Payload p;
   p.words = 0;
   bl_placement_expect_nothing();
   bl_clock_deadline_back(tid);
   if (sr_isError(res))
      return;
   if (bl_windows)
      bl_residents_after_call(number, args, sr_Res(res));
   bl_clock_after(tid, number, args, sr_Res(res));
   bl_touches_after(number, args, sr_Res(res));
   switch (number) {
      case __NR_mmap:
         if (bl_recording) {
            bl_mapped(args, sr_Res(res));
            bl_send_misplaced(sr_Res(res), args[1]);
            bl_touches_mapped(sr_Res(res), args[1], args[3]);
            if (bl_sites && (args[2] & VKI_PROT_EXEC))
               bl_python_look_again();
            bl_sites_mapped(tid, "mmap", sr_Res(res), args[1]);
         }
         break;
      case __NR_munmap:
         if (bl_recording)
            bl_send_range(REC_UNMAP, args[0], args[1]);
         break;
      case __NR_mprotect:
      case __NR_pkey_mprotect:
         if (bl_recording) {
            put(&p, args[0]);
            put(&p, VG_PGROUNDUP(args[1]));
            put(&p, args[2]);
            bl_send(REC_PROTECT, &p);
         }
         break;
      case __NR_mremap:
         if (bl_recording) {
            put(&p, args[0]);
            put(&p, VG_PGROUNDUP(args[1]));
            put(&p, sr_Res(res));
            put(&p, VG_PGROUNDUP(args[2]));
            bl_send(REC_REMAP, &p);
            bl_send_misplaced(sr_Res(res), args[2]);
            bl_remapped(args, sr_Res(res));
            bl_sites_mapped(tid, "mremap", sr_Res(res), args[2]);
         }
         break;
      case __NR_madvise:
         if (bl_recording) {
            put(&p, args[0]);
            put(&p, VG_PGROUNDUP(args[1]));
            put(&p, args[2]);
            bl_send(REC_ADVISE, &p);
         }
         break;
      case __NR_brk:
         if (sr_Res(res) != brk_end && bl_recording) {
            Addr before = brk_end;
            brk_end = sr_Res(res);
            bl_send_range(REC_BRK, VG_(brk_base), brk_end - VG_(brk_base));
            if (brk_end > before) {
               bl_touches_mapped(before, brk_end - before, 0);
               bl_sites_mapped(tid, "brk", before, brk_end - before);
            } else
               bl_touches_forget();
         }
         break;
      case __NR_shmat:
         if (bl_recording) {
            const NSegment* s = VG_(am_find_nsegment)(sr_Res(res));
            if (s) {
               bl_send_map(s->start, s->end + 1 - s->start, (s->hasR ? 1 : 0) | (s->hasW ? 2 : 0),
                        VKI_MAP_SHARED, BACK_SHARED_MEMORY, 0, 0);
               bl_send_misplaced(s->start, s->end + 1 - s->start);
               bl_sites_mapped(tid, "shmat", s->start, s->end + 1 - s->start);
            }
         }
         break;
      case __NR_shmdt:
         if (detached && bl_recording)
            bl_send_range(REC_UNMAP, args[0], detached);
         break;
      case __NR_fork: case __NR_vfork: case __NR_clone:
         if (sr_Res(res) != 0 && forked) {
            forked = False;
            if (bl_recording)
               send_number(REC_FORK, sr_Res(res));
         }
         break;
   }
}


static void in_parent(ThreadId tid)
{
   forked = True;
   bl_touches_forget(); /* the kernel's next store to a shared page is a fault again */
}

static void in_child(ThreadId tid)
{
   bl_touches_in_child();
   bl_ring_abandon();
   bl_clock_in_child(tid); /* the parent counts the abandoned words */
   if (!bl_follow_children) {
      VG_(clo_trace_children) = False; /* programs that it executes run natively */
      if (bl_windows)
         bl_pagemap_leave();
      bl_windows = False;
      bl_ring_leave();
      return;
   }
   bl_forget();
   bl_ring_open(bl_ring_directory);
   bl_process_begins();
   bl_windows_in_child();
   bl_describe_blocks_again();
   bl_sites_in_child();
   send_number(REC_THREAD_RUN, tid);
}

static void before_signal(ThreadId tid, Int signal, Bool alternate_stack)
{
   bl_windows_fold(tid);
   bl_clock_deadline_back(tid); /* the handler may leave the interrupted call for good */
   if (is_fault(signal)) {
      if (bl_precise)
         bl_fault();
      else { /* the block's earlier references are lost, and so are their places */
         bl_forget();
         bl_be_precise();
      }
   }
   bl_park();
}

void bl_events_init(void)
{
   /* A program that replaces itself by another is followed with or without its children. */
   VG_(clo_trace_children) = True;
   VG_(needs_syscall_wrapper)(before_call, after_call);
   VG_(track_start_client_code)(thread_runs);
   VG_(track_pre_thread_ll_create)(thread_starts);
   VG_(track_pre_thread_ll_exit)(thread_ends);
   VG_(track_pre_deliver_signal)(before_signal);
   bl_touches_init();
   VG_(atfork)(NULL, in_parent, in_child);
}

/* What changes an address space, and who runs in it. Each event is told after everything that was recorded before it. */
#include "recorder.h"
#include "pub_tool_clientstate.h"

extern Addr VG_(brk_base);
extern Bool VG_(clo_trace_children);
extern Bool VG_(resolve_filename)(Int fd, const HChar** buf);

Int bl_exit_status = -1;

static Addr     brk_end;
static XArray*  files; /* of File; a file's number is its index */
static Bool     forked; /* a fork succeeded, its system call has not returned yet */
static SizeT    detached; /* length of the shared memory that the present call detaches */

typedef struct { ULong dev, ino; } File;

static UInt file_number(ULong dev, ULong ino, ULong size, const HChar* path)
{
   Word n = VG_(sizeXA)(files);
   for (Word i = 0; i < n; i++) {
      File* f = VG_(indexXA)(files, i);
      if (f->dev == dev && f->ino == ino)
         return i;
   }
   File f = {dev, ino};
   VG_(addToXA)(files, &f);
   Payload p = {0};
   put(&p, n);
   put(&p, size);
   put_text(&p, path);
   bl_send(REC_FILE, &p);
   return n;
}

static Bool starts_with(const HChar* s, const HChar* head) { return VG_(strncmp)(s, head, VG_(strlen)(head)) == 0; }

/* Files that are only a name for memory. */
static Bool is_memory(const HChar* path)
{
   return starts_with(path, "/dev/shm/") || starts_with(path, "/memfd:") || starts_with(path, "/SYSV")
          || starts_with(path, "/dev/zero");
}

static void send_map(Addr start, SizeT len, UInt prot, UInt flags, UInt backing, UInt file, ULong offset)
{
   Payload p = {0};
   put(&p, start);
   put(&p, VG_PGROUNDUP(len));
   put(&p, prot);
   put(&p, flags);
   put(&p, backing);
   put(&p, file);
   put(&p, offset);
   bl_send(REC_MAP, &p);
}

static void send_range(UInt kind, Addr start, SizeT len)
{
   Payload p = {0};
   put(&p, start);
   put(&p, VG_PGROUNDUP(len));
   bl_send(kind, &p);
}

static void send_number(UInt kind, ULong n) { bl_record(kind, &n, 1); }

static void send_file_map(Addr start, SizeT len, UInt prot, UInt flags, ULong dev, ULong ino, ULong size,
                          Bool regular, const HChar* path, ULong offset)
{
   if (is_memory(path))
      send_map(start, len, prot, flags, flags & VKI_MAP_SHARED ? BACK_SHARED_MEMORY : BACK_ANONYMOUS, 0, 0);
   else if (!regular)
      send_map(start, len, prot, flags, BACK_KERNEL, 0, 0);
   else
      send_map(start, len, prot, flags, BACK_FILE, file_number(dev, ino, size, path), offset);
}

/* Natively, a program starts with 128 KiB of stack below its arguments. */
#define FIRST_STACK (128UL * 1024)

static void send_segment(const NSegment* s, const NSegment* below)
{
   UInt  prot = (s->hasR ? VKI_PROT_READ : 0) | (s->hasW ? VKI_PROT_WRITE : 0) | (s->hasX ? VKI_PROT_EXEC : 0);
   SizeT len = s->end + 1 - s->start;
   if (s->kind == SkShmC) {
      send_map(s->start, len, prot, VKI_MAP_SHARED, BACK_SHARED_MEMORY, 0, 0);
   } else if (s->kind == SkFileC) {
      const HChar*   path = VG_(am_get_filename)(s);
      struct vg_stat st;
      ULong          size = s->offset + len;
      if (path && !sr_isError(VG_(stat)(path, &st)))
         size = st.size;
      send_file_map(s->start, len, prot, VKI_MAP_PRIVATE, s->dev, s->ino, size, VKI_S_ISREG(s->mode), path ? path : "?",
                    s->offset);
   } else if (s->start == bl_vdso) {
      send_map(s->start, len, prot, VKI_MAP_PRIVATE, BACK_KERNEL, 0, 0);
   } else if (s->start == VG_(brk_base)) {
      /* The core maps the heap's first page before the program asks for it. */
   } else if (below && below->kind == SkResvn && below->smode == SmUpper && below->end + 1 == s->start) {
      /* Its growth is seen by the reader, in the references to it. */
      Addr    low = s->start - FIRST_STACK > below->start ? s->start - FIRST_STACK : s->start;
      Payload p;
      p.words = 0;
      send_map(low, s->end + 1 - low, prot, VKI_MAP_PRIVATE, BACK_STACK, 0, 0);
      put(&p, low);
      put(&p, s->end + 1);
      put(&p, below->start);
      bl_send(REC_STACK, &p);
   } else {
      send_map(s->start, len, prot, VKI_MAP_PRIVATE, BACK_ANONYMOUS, 0, 0);
   }
}

static void send_segments(void)
{
   static const UInt kinds = SkAnonC | SkFileC | SkShmC | SkResvn;
   Int               room = 256, n;
   Addr*             starts = VG_(malloc)("bl.segments", room * sizeof(Addr));
   while ((n = VG_(am_get_segment_starts)(kinds, starts, room)) < 0) {
      room = -n + 64;
      starts = VG_(realloc)("bl.segments", starts, room * sizeof(Addr));
   }
   for (Int i = 0; i < n; i++) {
      const NSegment* s = VG_(am_find_nsegment)(starts[i]);
      const NSegment* below = i > 0 ? VG_(am_find_nsegment)(starts[i - 1]) : NULL;
      if (s && s->kind != SkResvn)
         send_segment(s, below);
   }
   VG_(free)(starts);
}

/* A process, from its first instruction or from the fork that made it: who it is and what it has mapped. */
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

   if (files)
      VG_(deleteXA)(files);
   files = VG_(newXA)(VG_(malloc), "bl.files", VG_(free), sizeof(File));
   send_segments();
   if (brk_end == 0)
      brk_end = VG_(brk_base);
   send_range(REC_BRK, VG_(brk_base), brk_end - VG_(brk_base));
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
   bl_thread_runs(VG_INVALID_THREADID); /* its registers will no longer be there to be read */
}

static void mapped(UWord* args, Addr start)
{
   SizeT          len = args[1];
   UInt           prot = args[2], flags = args[3];
   Int            fd = args[4];
   struct vg_stat st;
   const HChar*   path;
   if (flags & VKI_MAP_ANONYMOUS) {
      send_map(start, len, prot, flags, flags & VKI_MAP_SHARED ? BACK_SHARED_MEMORY : BACK_ANONYMOUS, 0, 0);
   } else if (VG_(fstat)(fd, &st) == 0) {
      if (!VG_(resolve_filename)(fd, &path))
         path = "?";
      send_file_map(start, len, prot, flags, st.dev, st.ino, st.size, VKI_S_ISREG(st.mode), path, args[5]);
   } else {
      send_map(start, len, prot, flags, BACK_KERNEL, 0, 0);
   }
}

/* Records the mapping that an mremap leaves behind, or the populated memory that it adds. */
static void remapped(const UWord* args, Addr to)
{
   if (bl_leaves_mapping(args[3])) {
      const NSegment* s = VG_(am_find_nsegment)(args[0]);
      if (s)
         send_map(args[0], args[1], (s->hasR ? 1 : 0) | (s->hasW ? 2 : 0) | (s->hasX ? 4 : 0), VKI_MAP_PRIVATE, BACK_ANONYMOUS, 0, 0);
   } else if (args[2] > args[1]) {
      bl_touches_mapped(to + args[1], args[2] - args[1], 0);
   }
}

/* Told behind the mapping, where the core put it somewhere that matters. */
static void tell_misplaced(Addr start, SizeT len)
{
   static const Addr in_superpage = (1UL << 21) - 1;
   Payload           p;
   if (!bl_misplaced || ((start ^ bl_native) & in_superpage) == 0)
      return;
   p.words = 0;
   put(&p, start);
   put(&p, VG_PGROUNDUP(len));
   put(&p, bl_native);
   bl_send(REC_MISPLACED, &p);
}

static Bool is_fault(Int signal)
{
   return signal == VKI_SIGSEGV || signal == VKI_SIGBUS || signal == VKI_SIGFPE || signal == VKI_SIGILL || signal == VKI_SIGTRAP;
}

/* The program is about to handle a signal in its own way. One that means to mend what made an instruction fault has to know where; one that does
   not ask for that, such as a compiler's for its own crash, only reports it, and is not worth the price of exactness. */
static void handles(Int signal, const struct vki_sigaction_base* action)
{
   if (is_fault(signal) && VG_(am_is_valid_for_client)((Addr)action, sizeof *action, VKI_PROT_READ)
       && (action->sa_flags & VKI_SA_SIGINFO) && action->ksa_handler != VKI_SIG_DFL && action->ksa_handler != VKI_SIG_IGN)
      bl_be_precise();
}

/* Calls in which a program may wait for long: what it did before them is handed over, so that a recording that is killed meanwhile has it. */
static Bool may_wait(UInt number)
{
   switch (number) {
      case __NR_read: case __NR_readv: case __NR_recvfrom: case __NR_recvmsg: case __NR_accept: case __NR_accept4: case __NR_connect:
      case __NR_poll: case __NR_ppoll: case __NR_select: case __NR_pselect6: case __NR_epoll_wait: case __NR_epoll_pwait:
      case __NR_nanosleep: case __NR_clock_nanosleep: case __NR_pause: case __NR_futex: case __NR_flock:
      case __NR_wait4: case __NR_waitid: case __NR_rt_sigsuspend: case __NR_rt_sigtimedwait:
      case __NR_msgrcv: case __NR_semop: case __NR_semtimedop: case __NR_io_getevents:
         return True;
      default:
         return False;
   }
}

/* Whether a call makes a process: where it makes a thread, that shares all of these. */
static Bool forks(UInt number, const UWord* args)
{
   static const UWord of_threads = VKI_CLONE_VM | VKI_CLONE_FS | VKI_CLONE_FILES;
   return number == __NR_fork || number == __NR_vfork || (number == __NR_clone && (args[0] & of_threads) != of_threads);
}

static void before_call(ThreadId tid, UInt number, UWord* args, UInt n)
{
   if (bl_recording && may_wait(number))
      bl_ring_flush();
   if (bl_follow_children && forks(number, args))
      bl_ring_forks();
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
         const HChar* path = (const HChar*)args[number == __NR_execve ? 0 : 1];
         if (!bl_recording)
            break;
         Payload* p = VG_(calloc)("bl.exec", 1, sizeof(Payload));
         put_text(p, path && VG_(am_is_valid_for_client)((Addr)path, 1, VKI_PROT_READ) ? path : "?");
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
   bl_clock_after(tid, number, args, sr_Res(res));
   bl_touches_after(number, args, sr_Res(res));
   switch (number) {
      case __NR_mmap:
         if (bl_recording) {
            mapped(args, sr_Res(res));
            tell_misplaced(sr_Res(res), args[1]);
            bl_touches_mapped(sr_Res(res), args[1], args[3]);
         }
         break;
      case __NR_munmap:
         if (bl_recording)
            send_range(REC_UNMAP, args[0], args[1]);
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
            tell_misplaced(sr_Res(res), args[2]);
            remapped(args, sr_Res(res));
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
            send_range(REC_BRK, VG_(brk_base), brk_end - VG_(brk_base));
            if (brk_end > before)
               bl_touches_mapped(before, brk_end - before, 0);
            else
               bl_touches_forget();
         }
         break;
      case __NR_shmat:
         if (bl_recording) {
            const NSegment* s = VG_(am_find_nsegment)(sr_Res(res));
            if (s) {
               send_map(s->start, s->end + 1 - s->start, (s->hasR ? 1 : 0) | (s->hasW ? 2 : 0), VKI_MAP_SHARED,
                        BACK_SHARED_MEMORY, 0, 0);
               tell_misplaced(s->start, s->end + 1 - s->start);
            }
         }
         break;
      case __NR_shmdt:
         if (detached && bl_recording)
            send_range(REC_UNMAP, args[0], detached);
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
   bl_touches_forget(); /* the next store of the kernel in a shared page is a fault again */
}

static void in_child(ThreadId tid)
{
   bl_touches_in_child();
   bl_ring_abandon();
   bl_clock_in_child(tid); /* the parent counts the abandoned words */
   if (!bl_follow_children) {
      VG_(clo_trace_children) = False; /* what it executes runs natively */
      bl_ring_leave();
      return;
   }
   bl_forget();
   bl_ring_open(bl_ring_directory);
   bl_process_begins();
   bl_tell_blocks_again();
   send_number(REC_THREAD_RUN, tid);
}

static void before_signal(ThreadId tid, Int signal, Bool alternate_stack)
{
   bl_clock_deadline_back(tid); /* the handler may leave the interrupted call for good */
   if (is_fault(signal)) {
      if (bl_precise)
         bl_fault();
      else { /* what the block did before it is lost, and where its references went with it */
         bl_forget();
         bl_be_precise();
      }
   }
   bl_park();
}

void bl_events_init(void)
{
   /* A program that replaces itself by another is followed whether its children are or not. */
   VG_(clo_trace_children) = True;
   VG_(needs_syscall_wrapper)(before_call, after_call);
   VG_(track_start_client_code)(thread_runs);
   VG_(track_pre_thread_ll_create)(thread_starts);
   VG_(track_pre_thread_ll_exit)(thread_ends);
   VG_(track_pre_deliver_signal)(before_signal);
   bl_touches_init();
   VG_(atfork)(NULL, in_parent, in_child);
}

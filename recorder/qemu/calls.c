/* System calls of the program: changes of its address space, threads and processes. Each event is
   recorded after everything that happened before it. */
#define _GNU_SOURCE
#include "recorder.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <unistd.h>

#define SIGNALS 65

__thread PresentCall bl_call;
static Addr          fault_handlers[SIGNALS];
Addr                 bl_brk_base, bl_brk_end;
static bool          ended;

bool bl_copy(void* to, Addr from, ULong bytes)
{
   struct iovec here = {to, bytes}, there = {(void*)from, bytes};
   return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

bool bl_copy_text(char* to, Addr from, ULong room)
{
   for (ULong n = 0; n < room; n++) {
      if (!bl_copy(to + n, from + n, 1))
         return false;
      if (to[n] == 0)
         return true;
   }
   return false;
}

bool bl_is_fault_handler(Addr address)
{
   for (int s = 0; s < SIGNALS; s++)
      if (fault_handlers[s] == address && address > 1)
         return true;
   return false;
}

/* Notes a handler of a signal that a faulting instruction raises. */
static void handles(ULong signal, Addr action)
{
   Addr handler = 0;
   bool is_fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL
                   || signal == SIGTRAP;
   if (is_fault && action && bl_copy(&handler, action, sizeof handler))
      fault_handlers[signal] = handler;
   if (handler > 1)
      bl_distrust_all(); /* a fault may leave references out */
}

/* Returns true if a call makes a process, not a thread. */
static bool forks(Call call, const ULong* args)
{
   static const ULong of_threads = CLONE_VM | CLONE_FS | CLONE_FILES;
   ULong              flags = args[0];
   if (call == CALL_CLONE3 && !bl_copy(&flags, args[0], sizeof flags))
      return false;
   return call == CALL_FORK
          || ((call == CALL_CLONE || call == CALL_CLONE3) && (flags & of_threads) != of_threads);
}

/* The calls that change mappings keep the baton, so their events are in the kernel's order. None of
   them waits for another thread. */
static bool keeps_baton(Call call)
{
   switch (call) {
      case CALL_MMAP: case CALL_MUNMAP: case CALL_MPROTECT: case CALL_MREMAP: case CALL_MADVISE:
      case CALL_BRK: case CALL_SHMAT: case CALL_SHMDT:
         return true;
      default:
         return false;
   }
}

/* Returns true for calls in which a program may wait for long. Earlier words are published before
   them. */
static bool may_wait(Call call)
{
   return call == CALL_WAITS || call == CALL_READ || call == CALL_READV;
}

void bl_ends(ULong status, bool is_known)
{
   if (!bl_recording || ended)
      return;
   ended = true;
   bl_record(REC_EXIT, &status, is_known ? 1 : 0);
   bl_ring_close(1);
}

static void exits(unsigned cpu, Call call)
{
   if (call == CALL_EXIT && !bl_is_last_thread()) {
      bl_thread_ends(cpu);
      return;
   }
   bl_thread_ends(cpu);
   bl_ends((bl_call.arg[0] & 0xff) << 8, true);
}

static void executes(Call call)
{
   const ULong* a = bl_call.arg;
   if (call == CALL_EXECVE)
      bl_execute(a[0], a[1], a[2], AT_FDCWD, bl_recording);
   else if (a[4] == 0)
      bl_execute(a[1], a[2], a[3], (int)a[0], bl_recording);
}

void bl_on_call(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
   Call call = bl_call_of(number);
   (void)id;
   bl_take_turn(cpu);
   bl_conclude(NULL);
   bl_call = (PresentCall){call, {a1, a2, a3, a4, a5, a6, a7, a8}};
   if (bl_recording && may_wait(call))
      bl_ring_flush();
   switch (call) {
      case CALL_EXIT: case CALL_EXIT_GROUP:
         exits(cpu, call);
         break;
      case CALL_EXECVE: case CALL_EXECVEAT:
         executes(call);
         break;
      case CALL_KILL:
         if ((pid_t)a1 == getpid() && a2 == SIGKILL)
            bl_ends(0, false);
         break;
      case CALL_CLONE: case CALL_CLONE3: case CALL_FORK:
         if (bl_set.children && forks(call, bl_call.arg))
            bl_ring_forks();
         break;
      default:
         break;
   }
   if (!keeps_baton(call))
      bl_end_turn(cpu);
}

static void in_child(unsigned cpu)
{
   bl_drop();
   bl_touches_in_child();
   bl_ring_abandon();
   bl_threads_in_child(cpu);
   if (!bl_set.children) {
      bl_take_turn(cpu);
      bl_ring_leave();
      return;
   }
   bl_forget_places();
   bl_ring_open();
   bl_process_begins();
   bl_describe_again();
   bl_take_turn(cpu);
}

static void brk_moved(Addr to)
{
   Addr before = bl_brk_end;
   if (to == before)
      return;
   if (bl_brk_base == 0)
      bl_brk_base = before = to;
   bl_brk_end = to;
   bl_send_range(REC_BRK, bl_brk_base, bl_brk_end - bl_brk_base);
   if (to > before)
      bl_touches_mapped(before, to - before, 0);
   else
      bl_touches_forget();
}

static void send_three(UInt kind, ULong a, ULong b, ULong c)
{
   ULong words[3] = {a, b, c};
   bl_record(kind, words, 3);
}

static void send_misplaced(Addr start, ULong len)
{
   static const Addr in_superpage = (1UL << 21) - 1;
   Addr              native;
   if (bl_misplaced(&native) && ((start ^ native) & in_superpage) != 0)
      send_three(REC_MISPLACED, start, PAGE_UP(len), native);
}

static void remapped(const ULong* a, Addr to)
{
   ULong words[4] = {a[0], PAGE_UP(a[1]), to, PAGE_UP(a[2])};
   bl_record(REC_REMAP, words, 4);
   send_misplaced(to, a[2]);
   if (a[3] & 4) /* MREMAP_DONTUNMAP */
      bl_send_map(a[0], a[1], PROT_READ | PROT_WRITE, MAP_PRIVATE, BACK_ANONYMOUS, 0, 0);
   else if (a[2] > a[1])
      bl_touches_mapped(to + a[1], a[2] - a[1], 0);
}

static void attached(const ULong* a, Addr at)
{
   struct shmid_ds of;
   if (shmctl((int)a[0], IPC_STAT, &of) != 0)
      return;
   UInt prot = PROT_READ | (a[2] & SHM_RDONLY ? 0 : PROT_WRITE);
   bl_send_map(at, of.shm_segsz, prot, MAP_SHARED, BACK_SHARED_MEMORY, 0, 0);
   send_misplaced(at, of.shm_segsz);
}

/* Records the effects of a call that has succeeded. */
static void has_done(Call call, const ULong* a, ULong result)
{
   bl_touches_after(call, a, result);
   switch (call) {
      case CALL_MMAP:
         bl_mapped(a, result);
         send_misplaced(result, a[1]);
         bl_touches_mapped(result, a[1], a[3]);
         break;
      case CALL_MUNMAP: bl_send_range(REC_UNMAP, a[0], a[1]); break;
      case CALL_MPROTECT: send_three(REC_PROTECT, a[0], PAGE_UP(a[1]), a[2]); break;
      case CALL_MREMAP: remapped(a, result); break;
      case CALL_MADVISE: send_three(REC_ADVISE, a[0], PAGE_UP(a[1]), a[2]); break;
      case CALL_BRK: brk_moved(result); break;
      case CALL_SHMAT: attached(a, result); break;
      case CALL_SHMDT:
         if (bl_detached())
            bl_send_range(REC_UNMAP, a[0], bl_detached());
         break;
      case CALL_SIGACTION: handles(a[0], a[1]); break;
      case CALL_CLONE: case CALL_CLONE3: case CALL_FORK:
         if (forks(call, a)) {
            bl_touches_forget(); /* the kernel's next store to a shared page is a fault again */
            bl_send_number(REC_FORK, result);
         }
         break;
      default:
         break;
   }
}

void bl_on_return(qemu_plugin_id_t id, unsigned cpu, int64_t number, int64_t result)
{
   PresentCall call = bl_call;
   (void)id;
   (void)number;
   bl_call.call = CALL_OTHER;
   if (result == 0 && forks(call.call, call.arg)) {
      in_child(cpu);
      return;
   }
   bl_take_turn(cpu);
   if (result >= 0 || result < -4095)
      has_done(call.call, call.arg, result);
}

/* The numbers of the system calls that the recorder looks at, for each kind of guest. */
#include "recorder.h"

#include <string.h>

#define MOST_NUMBERS 512

typedef struct { short x86_64, aarch64; Call call; } Number; /* -1: the guest has no such call */

static const Number numbers[] = {
   {9, 222, CALL_MMAP}, {10, 226, CALL_MPROTECT}, {11, 215, CALL_MUNMAP}, {12, 214, CALL_BRK},
   {13, 134, CALL_SIGACTION}, {25, 216, CALL_MREMAP}, {28, 233, CALL_MADVISE},
   {30, 196, CALL_SHMAT}, {67, 197, CALL_SHMDT}, {329, 288, CALL_MPROTECT},
   {56, 220, CALL_CLONE}, {57, -1, CALL_FORK}, {58, -1, CALL_FORK}, {435, 435, CALL_CLONE3},
   {59, 221, CALL_EXECVE}, {322, 281, CALL_EXECVEAT},
   {60, 93, CALL_EXIT}, {231, 94, CALL_EXIT_GROUP}, {62, 129, CALL_KILL},
   {149, 228, CALL_MLOCK}, {325, 284, CALL_MLOCK2}, {151, 230, CALL_MLOCKALL},
   {152, 231, CALL_MUNLOCKALL},
   /* read, pread64, recvfrom */
   {0, 63, CALL_READ}, {17, 67, CALL_READ}, {45, 207, CALL_READ},
   /* write, pwrite64, sendto */
   {1, 64, CALL_WRITE}, {18, 68, CALL_WRITE}, {44, 206, CALL_WRITE},
   {19, 65, CALL_READV}, {295, 69, CALL_READV}, {20, 66, CALL_WRITEV}, {296, 70, CALL_WRITEV},
   /* getdents64; getcwd, getrandom */
   {217, 61, CALL_READ}, {79, 17, CALL_FILLS_1}, {318, 278, CALL_FILLS_1},
   {89, -1, CALL_FILLS_2}, /* readlink */
   /* recvmsg, accept, accept4, connect, poll, ppoll, select, pselect6, epoll_wait, epoll_pwait,
      nanosleep, clock_nanosleep, pause, futex, flock, wait4, waitid, rt_sigsuspend,
      rt_sigtimedwait, msgrcv, semop, semtimedop, io_getevents */
   {47, 212, CALL_WAITS}, {43, 202, CALL_WAITS}, {288, 242, CALL_WAITS}, {42, 203, CALL_WAITS},
   {7, -1, CALL_WAITS}, {271, 73, CALL_WAITS}, {23, -1, CALL_WAITS}, {270, 72, CALL_WAITS},
   {232, -1, CALL_WAITS}, {281, 22, CALL_WAITS}, {35, 101, CALL_WAITS}, {230, 115, CALL_WAITS},
   {34, -1, CALL_WAITS}, {202, 98, CALL_WAITS}, {73, 32, CALL_WAITS}, {61, 260, CALL_WAITS},
   {247, 95, CALL_WAITS}, {130, 133, CALL_WAITS}, {128, 137, CALL_WAITS}, {70, 188, CALL_WAITS},
   {65, 193, CALL_WAITS}, {220, 192, CALL_WAITS}, {208, 4, CALL_WAITS},
};

static UChar calls[MOST_NUMBERS];

/* Learns the numbers of a guest. Returns false if the guest is unknown. */
bool bl_numbers_for(const char* target)
{
   bool x86 = strcmp(target, "x86_64") == 0;
   if (!x86 && strcmp(target, "aarch64") != 0)
      return false;
   for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
      int number = x86 ? numbers[i].x86_64 : numbers[i].aarch64;
      if (number >= 0)
         calls[number] = numbers[i].call;
   }
   return true;
}

Call bl_call_of(int64_t number)
{
   return number >= 0 && number < MOST_NUMBERS ? calls[number] : CALL_OTHER;
}

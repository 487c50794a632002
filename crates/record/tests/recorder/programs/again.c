/* Executes itself once for each letter of its argument, and does nothing else. The program has no C
   library, so each execution is very short. */
#include <sys/syscall.h>

__asm__(".globl _start\n_start: mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");

static long call(long number, long a, const void* b, long c)
{
   long result;
   __asm__ volatile("syscall"
                    : "=a"(result)
                    : "a"(number), "D"(a), "S"(b), "d"(c)
                    : "rcx", "r11", "memory");
   return result;
}

void begin(long* stack)
{
   char** argv = (char**)(stack + 1);
   if (stack[0] == 2 && argv[1][0] != 0) {
      argv[1]++;
      call(SYS_execve, (long)argv[0], argv, 0);
   }
   call(SYS_exit_group, stack[0] != 2 || argv[1][0] != 0, 0, 0);
   for (;;)
      ;
}

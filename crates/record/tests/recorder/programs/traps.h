/* What the programs of the trap engine's tests share: the marker, and random numbers. */
#ifndef TRAPS_H
#define TRAPS_H

/* A page here is mapped and unmapped where counting begins. */
#define MARKER 0x700000000UL

static long call6(long number, long a, long b, long c, long d, long e, long f)
{
   register long r10 __asm__("r10") = d;
   register long r8 __asm__("r8") = e;
   register long r9 __asm__("r9") = f;
   long          result;
   __asm__ volatile("syscall"
                    : "=a"(result)
                    : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                    : "rcx", "r11", "memory");
   return result;
}

/* The trace and the engine see the calls; neither counts what came before. */
static void begin(void)
{
   call6(9, MARKER, 4096, 3, 0x32, -1, 0);
   call6(11, MARKER, 4096, 0, 0, 0, 0);
}

static unsigned long state = 88172645463325252UL;

static unsigned long random_number(void)
{
   state ^= state << 13;
   state ^= state >> 7;
   state ^= state << 17;
   return state;
}

int run(void);

/* The stack of the kernel begins somewhere in a page, as the environment has it. This one does
   not. */
static char own_stack[1 << 18] __attribute__((aligned(4096)));

static void run_on_own_stack(void)
{
   long result;
   begin();
   __asm__ volatile("mov %%rsp, %%rbx\n mov %1, %%rsp\n call run\n mov %%rbx, %%rsp"
                    : "=&a"(result)
                    : "r"(own_stack + sizeof own_stack)
                    : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
   call6(231, result, 0, 0, 0, 0, 0);
}

#ifdef WITHOUT_LIBRARY
void _start(void)
{
   run_on_own_stack();
}
#else
int main(void)
{
   run_on_own_stack();
   return 1;
}
#endif
#endif

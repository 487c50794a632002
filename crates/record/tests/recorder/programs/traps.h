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

#ifdef WITHOUT_LIBRARY
int         run(void);
void        _start(void)
{
   begin();
   call6(231, run(), 0, 0, 0, 0, 0);
}
#else
int run(void);
int main(void)
{
   begin();
   return run();
}
#endif
#endif

/* Ten kinds of locked instructions, each 100 times. Nothing else here refers to memory. */
static long words[512] __attribute__((aligned(4096)));

#define HUNDRED(instruction, ...) \
   for (int i = 0; i < 100; i++) \
      __asm__ volatile(instruction : "+m"(words[2 * i]) : : "rax", "cc", ##__VA_ARGS__);

void _start(void)
{
   HUNDRED("lock xaddq %%rax,%0")
   HUNDRED("xchgq %%rax,%0")
   HUNDRED("lock incq %0")
   HUNDRED("lock decw %0")
   HUNDRED("lock orq $1,%0")
   HUNDRED("lock btsq $3,%0")
   HUNDRED("lock cmpxchgq %%rcx,%0")
   HUNDRED("lock cmpxchgb %%cl,%0")
   HUNDRED("lock cmpxchg8b %0", "rcx", "rdx")
   HUNDRED("lock cmpxchg16b %0", "rcx", "rdx")
   __asm__ volatile("syscall" : : "a"(231), "D"(0));
   __builtin_unreachable();
}

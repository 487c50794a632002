/* Ten instructions that read and write memory, each on a page of its own. Nothing else here refers
   to memory. */
static char pages[10][4096] __attribute__((aligned(4096)));

#define ON(page, instruction) \
   __asm__ volatile(instruction : "+m"(*(long*)pages[page]) : : "rax", "cc");

void _start(void)
{
   ON(0, "addq $1,%0")
   ON(1, "incb %0")
   ON(2, "negl %0")
   ON(3, "shlq $3,%0")
   ON(4, "xorw $5,%0")
   ON(5, "sbbq %%rax,%0")
   ON(6, "notq %0")
   ON(7, "lock xaddq %%rax,%0")
   ON(8, "xchgq %%rax,%0")
   ON(9, "lock cmpxchgq %%rax,%0")
   __asm__ volatile("syscall" : : "a"(231), "D"(0));
   __builtin_unreachable();
}

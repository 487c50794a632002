/* Fails by itself: exits with the status of its argument, or ends by SIGILL without one. Looks with
   a weak symbol whether it was built with AddressSanitizer, as libraries do. */
#include <stdlib.h>

__attribute__((weak)) void __asan_init(void);

int main(int argc, char** argv)
{
   if (argc > 1)
      return atoi(argv[1]) + (&__asan_init != 0 ? 100 : 0);
   __builtin_trap();
}

/* Fills pages and forks as many children as its first argument says. Each child reads the pages,
   and after each fork this program stores to them again. With `suspended` in place of a number, the
   only child is made as by vfork, and kills this program before it reads the pages. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64
#define AT ((volatile char*)0x10000000000)

static void store(int what)
{
   for (int i = 0; i < PAGES; i++)
      AT[i * 4096L] = what;
}

static void child(void)
{
   int sum = 0;
   for (int i = 0; i < PAGES; i++)
      sum += AT[i * 4096L];
   _exit(sum == 0);
}

int main(int argc, char** argv)
{
   int   flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
   void* at = mmap((void*)AT, PAGES * 4096L, PROT_READ | PROT_WRITE, flags, -1, 0);
   if (argc != 2 || at != (void*)AT)
      return 2;
   store(1);
   if (strcmp(argv[1], "suspended") == 0) {
      if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0) {
         kill(getppid(), SIGKILL);
         child();
      }
      /* QEMU suspends no parent. */
      pause();
      return 3;
   }
   int children = atoi(argv[1]);
   for (int i = 0; i < children; i++) {
      pid_t pid = fork();
      if (pid < 0)
         return 4;
      if (pid == 0)
         child();
      store(2 + i);
   }
   for (int i = 0; i < children; i++) {
      int status = -1;
      if (wait(&status) < 0 || status != 0)
         return 5;
   }
   return 0;
}

/* Makes children in every way: a fork that continues alone, a vfork that executes, a spawn, and an
   execution of a missing file. Each child touches 4096 bytes of its own or runs `true`. Then this
   program executes another in its place. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int ended(pid_t child)
{
   int status = -1;
   if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
      exit(9);
   return WEXITSTATUS(status);
}

int main(void)
{
   char* true_[] = {"true", NULL};
   char* nothing[] = {"/nothing/of/that/name", NULL};
   char* last[] = {"sh", "-c", "exit 23", NULL};
   pid_t child;

   if ((child = fork()) == 0) {
      volatile char page[4096];
      for (int i = 0; i < 4096; i++)
         page[i] = i;
      _exit(page[7]);
   }
   if (ended(child) != 7)
      return 3;
   if ((child = fork()) == 0) {
      execv(nothing[0], nothing);
      _exit(11);
   }
   if (ended(child) != 11)
      return 4;
   if ((child = vfork()) == 0) {
      execvp(true_[0], true_);
      _exit(1);
   }
   if (ended(child) != 0)
      return 5;
   if (posix_spawnp(&child, true_[0], NULL, NULL, true_, environ) != 0 || ended(child) != 0)
      return 6;
   execv(nothing[0], nothing); /* fails: this program continues, and its recording too */
   execvp(last[0], last);
   return 7;
}

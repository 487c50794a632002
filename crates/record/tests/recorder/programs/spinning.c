/* Three threads never wait, while the first one forks and maps shared memory. Exits with 0 if all
   children did what they should. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 12

static volatile int  stop;
static volatile long counts[3];

static void* spin(void* which)
{
   while (!stop)
      counts[(long)which]++;
   return NULL;
}

int main(void)
{
   pthread_t threads[3];
   int       good = 0;
   for (long i = 0; i < 3; i++)
      pthread_create(&threads[i], NULL, spin, (void*)i);
   for (int i = 0; i < FORKS; i++) {
      char* page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      pid_t child = fork();
      int   status = -1;
      if (child == 0) {
         page[7] = i;
         _exit(i);
      }
      waitpid(child, &status, 0);
      good += WEXITSTATUS(status) == i && page[7] == i;
      munmap(page, 4096);
   }
   stop = 1;
   for (int i = 0; i < 3; i++)
      pthread_join(threads[i], NULL);
   return good != FORKS;
}

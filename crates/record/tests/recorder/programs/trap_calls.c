/* System calls whose buffers are closed pages, signals, a fork, a thread, and moved memory. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 200
#define LARGE (32 << 20)

static char  buffer[PAGES << 12] __attribute__((aligned(4096)));
static char* own_stack;
static volatile sig_atomic_t seen;

/* Drives all pages but a few out of the TLB. */
static int sweep(void)
{
   static char other[PAGES << 12];
   int         sum = 0;
   for (int i = 0; i < PAGES; i++)
      sum += other[i << 12]++;
   return sum & 0;
}

static void on_alarm(int number, siginfo_t* info, void* context)
{
   char here;
   (void)context;
   seen += number == info->si_signo;
   if (&here < own_stack || &here > own_stack + 65536)
      _exit(3);
}

static void* work(void* argument)
{
   for (int i = 0; i < PAGES; i++)
      __atomic_fetch_add((long*)(buffer + (i << 12)), 1, __ATOMIC_SEQ_CST);
   return argument;
}

int main(int count, char** arguments)
{
   if (count > 1 && !strcmp(arguments[1], "again"))
      return puts("executed again") < 0;
   /* Buffers of plain calls, of lists and of messages. */
   int ends[2];
   if (pipe(ends))
      return 1;
   memset(buffer, 'x', sizeof buffer);
   sweep();
   printf("%zd", write(ends[1], buffer + 4090, 8200));
   sweep();
   printf(" %zd", read(ends[0], buffer + 8190, 8200));
   struct iovec list[2] = {{buffer, 5000}, {buffer + 70000, 5000}};
   sweep();
   printf(" %zd", writev(ends[1], list, 2));
   sweep();
   printf(" %zd\n", readv(ends[0], list, 2));
   if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
      return 1;
   struct msghdr message = {.msg_iov = list, .msg_iovlen = 2};
   sweep();
   printf("%zd", sendmsg(ends[0], &message, 0));
   sweep();
   printf(" %zd\n", recvmsg(ends[1], &message, MSG_WAITALL));
   /* A handler on a stack of its own, and a call that it interrupts. */
   own_stack = malloc(65536);
   stack_t          stack = {.ss_sp = own_stack, .ss_size = 65536};
   struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_ONSTACK};
   sigaltstack(&stack, NULL);
   sigaction(SIGALRM, &action, NULL);
   struct itimerval soon = {.it_value = {.tv_usec = 20000}};
   setitimer(ITIMER_REAL, &soon, NULL);
   printf("%d %d", read(ends[1], buffer, 1) == -1, errno == EINTR);
   setitimer(ITIMER_REAL, &soon, NULL);
   while (seen < 2)
      sweep();
   printf(" %d\n", seen);
   /* A child has memory of its own; a thread shares it. */
   fflush(stdout);
   pid_t child = fork();
   if (child == 0) {
      memset(buffer, 'c', sizeof buffer);
      _exit(buffer[5000] == 'c' ? 7 : 8);
   }
   int status;
   waitpid(child, &status, 0);
   printf("%d ", WEXITSTATUS(status));
   /* A child keeps shared memory that its parent gives back and maps anew. */
   char* both = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
   strcpy(both + 4096, "kept");
   int turn[2];
   if (pipe(turn))
      return 1;
   fflush(stdout);
   child = fork();
   if (child == 0) {
      char go;
      _exit(read(turn[0], &go, 1) == 1 && !strcmp(both + 4096, "kept") ? 9 : 8);
   }
   munmap(both + 4096, 4096);
   char* anew = mmap(both + 4096, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
   printf("%d ", anew[0]);
   anew[0] = 'n';
   sweep();
   if (write(turn[1], "g", 1) != 1)
      return 1;
   waitpid(child, &status, 0);
   printf("%c ", anew[0]);
   memset(buffer, 0, sizeof buffer);
   pthread_t threads[3];
   for (int i = 0; i < 3; i++)
      pthread_create(&threads[i], NULL, work, NULL);
   for (int i = 0; i < 3; i++)
      pthread_join(threads[i], NULL);
   long sum = 0;
   for (int i = 0; i < PAGES; i++)
      sum += *(long*)(buffer + (i << 12));
   printf("%d %ld\n", WEXITSTATUS(status), sum);
   /* Memory that moves, is given back, and is protected. */
   char* moved = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   strcpy(moved, "moved");
   mmap(moved + 8192, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
   moved = mremap(moved, 8192, 1 << 20, MREMAP_MAYMOVE);
   printf("%s %d", moved, moved[1 << 19]);
   madvise(moved, 4096, MADV_DONTNEED);
   printf(" %d %d\n", moved[0], mprotect(moved, 4096, PROT_READ));
   /* Shared memory that moves is still shared with a child. */
   char* common = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
   strcpy(common, "ours");
   fflush(stdout);
   child = fork();
   if (child == 0) {
      char go;
      int  is_first = read(turn[0], &go, 1) == 1 && !strcmp(common, "mine");
      strcpy(common + 4096, "its");
      _exit(is_first ? 6 : 8);
   }
   char* elsewhere = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   char* old = common;
   common = mremap(common, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere + 8192);
   anew = mmap(old, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
   strcpy(anew, "other");
   sweep();
   printf("%d %s", common == elsewhere + 8192, common);
   strcpy(common, "mine");
   if (write(turn[1], "g", 1) != 1)
      return 1;
   waitpid(child, &status, 0);
   printf(" %d %s %s %s\n", WEXITSTATUS(status), common, common + 4096, anew);
   /* A shared file, and a private one. */
   char name[] = "/tmp/broadleaf-traps-XXXXXX";
   int  file = mkstemp(name);
   unlink(name);
   if (ftruncate(file, 8192))
      return 1;
   char* shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
   shared[5000] = 's';
   sweep();
   shared = mremap(shared, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere + 32768);
   printf("%c%d ", shared[5000], shared == elsewhere + 32768);
   shared[5002] = 'f';
   sweep();
   char* private = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
   printf("%c ", private[5002]);
   private[5001] = 'p';
   char two[2];
   printf("%zd %c%d %c\n", pread(file, two, 2, 5000), two[0], two[1], private[5000]);
   /* A large file: read in place, then written to in memory alone, and moved. */
   if (ftruncate(file, LARGE) || pwrite(file, "L", 1, LARGE - 4096) != 1)
      return 1;
   char* large = mmap(NULL, LARGE + 8192, PROT_READ, MAP_PRIVATE, file, 0);
   printf("%c%c", large[5000], large[LARGE - 4096]);
   sweep();
   printf(" %zd", write(ends[0], large + LARGE - 4096, 1));
   mprotect(large + LARGE / 2, LARGE / 2, PROT_READ | PROT_WRITE);
   large[LARGE - 4096] = 'm';
   printf(" %zd", pread(file, two, 1, LARGE - 4096));
   printf(" %c%c%c", two[0], large[LARGE - 4096], large[5000]);
   large = mremap(large, LARGE / 4, LARGE, MREMAP_MAYMOVE);
   printf("%c%d\n", large[5000], large[LARGE - 1]);
   /* A program that cannot be executed. */
   pid_t other;
   char* none[] = {"none", NULL};
   printf("%d\n", posix_spawn(&other, "/none", NULL, NULL, none, NULL) == ENOENT);
   fflush(stdout);
   char* next[] = {arguments[0], "again", NULL};
   return system("exit 5") == 5 << 8 ? execv("/proc/self/exe", next) : 1;
}

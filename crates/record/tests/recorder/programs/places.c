/* Maps regions of many sizes and writes the place of each: its name, address and length. Arguments:
   the output file, a file to make, and a third word if too much must be mapped at the end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

static FILE* out;
static int   names;

static void say(const char* what, void* at, size_t length)
{
   fprintf(out, "%d:%s %lx %lx\n", names++, what, (unsigned long)at, (unsigned long)length);
}

static void* map(const char* what, size_t length, int protection, int flags, int fd, off_t offset)
{
   void* at = mmap(NULL, length, protection, flags, fd, offset);
   if (at == MAP_FAILED)
      perror(what), exit(1);
   say(what, at, length);
   return at;
}

static void map_at(const char* what, void* hint, size_t length)
{
   void* at = mmap(hint, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   say(what, at, length);
}

static void* thread(void* unused)
{
   int here;
   say("thread's stack", &here, 8);
   return unused;
}

int main(int argc, char** argv)
{
   static const size_t sizes[] = {
      4096,     65536,    1 << 20,         (2 << 20) - 4096, 2 << 20, (2 << 20) + 4096, 4 << 20,
      5 << 20,  16 << 20, 12345678,        64 << 20,         96 << 20, (8 << 20) + 8192, 3 << 20,
      12288,    6 << 20,  1 << 30,         1 << 21,          20480};
   static const size_t files[] = {100, 8192, (1 << 20) + 5, 2 << 20, (4 << 20) + 777, 9 << 20,
                                  33 << 20};
   const int   RW = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS;
   const int   n = sizeof sizes / sizeof *sizes;
   static char staged[1 << 16];
   void*       at[32];
   out = fopen(argv[1], "w");
   setvbuf(out, staged, _IOFBF, sizeof staged);
   say("executable", (void*)main, 8);
   say("library", (void*)printf, 8);
   say("stack", (void*)((uintptr_t)&argv & ~4095ul), 8);
   say("heap", sbrk(0), 8);
   for (int i = 0; i < n; i++)
      at[i] = map("private", sizes[i], RW, PRIVATE, -1, 0);
   for (int i = 0; i < n; i += 3)
      munmap(at[i], sizes[i]);
   for (int i = 0; i < n; i += 2)
      map("private again", sizes[i] / 2 + 4096, RW, PRIVATE, -1, 0);
   for (int i = 0; i < n; i += 4)
      map("shared", sizes[i], RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
   map("none", 40 << 20, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0);
   map("stack-like", 8 << 20, RW, PRIVATE | MAP_STACK, -1, 0);
   for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
      int fd = open(argv[2], O_RDWR | O_CREAT | O_TRUNC, 0600);
      if (fd < 0 || ftruncate(fd, files[i]) < 0)
         perror(argv[2]), exit(1);
      map("file", files[i], PROT_READ, MAP_PRIVATE, fd, 0);
      map("file, shared", files[i], RW, MAP_SHARED, fd, 0);
      if (files[i] > 3 << 20)
         map("file, from 4096", files[i] - 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
      close(fd);
   }
   unlink(argv[2]);
   int memory = memfd_create("memory", 0);
   if (memory >= 0 && ftruncate(memory, 10 << 20) == 0)
      map("memfd", 10 << 20, RW, MAP_SHARED, memory, 0);
   int segment = shmget(IPC_PRIVATE, 6 << 20, IPC_CREAT | 0600);
   if (segment >= 0) {
      say("shmat", shmat(segment, NULL, 0), 6 << 20);
      shmctl(segment, IPC_RMID, NULL);
   }
   for (int i = 0; i < 64; i++)
      if (sbrk(1 << 20) == (void*)-1)
         say("heap ends", sbrk(0), 8), i = 64;
   say("heap after 64 MiB", sbrk(0), 8);
   /* Grown without room, so that they move. */
   for (int i = 1; i < n; i += 3) {
      size_t length = sizes[i + (i % 3 == 0)], more = length * 2 + 8192;
      void*  old = mmap(NULL, length, RW, PRIVATE, -1, 0);
      mmap(NULL, 4096, RW, PRIVATE, -1, 0);
      void* new = mremap(old, length, more, MREMAP_MAYMOVE);
      say("moved", new, more);
      new = mremap(new, more, length, MREMAP_MAYMOVE);
      say("shrunk", new, length);
   }
   say("malloc, large", malloc(50 << 20), 50 << 20);
   say("malloc, small", malloc(5000), 5000);
   pthread_t t[3];
   for (int i = 0; i < 3; i++) {
      pthread_create(&t[i], NULL, thread, NULL);
      pthread_join(t[i], NULL);
   }
   map_at("hint", (char*)at[1] + (100ul << 20) + 12288, 1 << 20);
   map_at("far hint", (void*)0x600000003000ul, 3 << 20);
   fclose(out);
   /* Natively all of this fits. Under the recorder, the second mapping finds no room at the place
      of the first. */
   if (argc > 3) {
      mmap(NULL, 50ul << 30, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0);
      void* last = mmap(NULL, (15ul << 30) + 4096, PROT_NONE, PRIVATE | MAP_NORESERVE, -1, 0);
      return last == MAP_FAILED;
   }
   return 0;
}

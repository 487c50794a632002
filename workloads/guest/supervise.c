/* The first program of the recorded guest. It mounts what programs expect, runs the command between
   two marks, and powers the guest off.

   A mark is an instruction that does nothing and that the recorder knows by its bytes. The counters
   of /proc/vmstat are read right before the first mark and right after the second. All buffers were
   touched before, so no page fault comes between a mark and its counters. The second serial port
   receives the counters and the command's exit status. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define ROOM 65536

static char at_begin[ROOM], at_end[ROOM];

/* The bytes 0f 1f 84 00 and a number: a no-operation with an operand in memory. */
#define MARK(number) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n.long " #number ::: "memory")
#define BEGIN MARK(0xb0ad1ea1)
#define END MARK(0xb0ad1ea2)

static void counters(char* to)
{
   int     fd = open("/proc/vmstat", O_RDONLY);
   size_t  n = 0;
   ssize_t more;
   while (fd >= 0 && (more = read(fd, to + n, ROOM - 1 - n)) > 0)
      n += more;
   to[n] = 0;
   if (fd >= 0)
      close(fd);
}

static void report(FILE* to, const char* when, char* text)
{
   for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
      fprintf(to, "%s %s\n", when, line);
}

static void raw(int fd)
{
   struct termios set;
   if (tcgetattr(fd, &set) == 0) {
      cfmakeraw(&set);
      tcsetattr(fd, TCSANOW, &set);
   }
}

/* Loads the module that emits kernel events, if the guest has it. */
static void load_module(void)
{
   int fd = open("/lib/broadleaf/broadleaf_events.ko", O_RDONLY | O_CLOEXEC);
   if (fd < 0)
      return;
   if (syscall(SYS_finit_module, fd, "", 0) != 0)
      perror("the module of kernel events could not be loaded");
   close(fd);
}

/* The local APIC: its place, and the register that divides the clock of its timer. */
#define APIC 0xfee00000
#define DIVIDER 0x3e0
#define BY_16 0x3
#define BY_64 0x9

static volatile uint8_t* apic; /* mapped if the clock is divided */

static volatile uint32_t* divider(void) { return (volatile uint32_t*)(apic + DIVIDER); }

/* Divides the clock of the timer of the processor that runs. Linux divides it by 16. */
static bool slow_timer(void)
{
   if (*divider() == BY_16)
      *divider() = BY_64;
   return *divider() == BY_64;
}

static bool is_slow(void) { return *divider() == BY_64; }

/* Returns true if `is` returns true on each processor. */
static bool on_each_processor(bool (*is)(void))
{
   cpu_set_t all, one;
   bool      each = true;
   sched_getaffinity(0, sizeof all, &all);
   for (int at = 0; at < CPU_COUNT(&all); at++) {
      CPU_ZERO(&one);
      CPU_SET(at, &one);
      each &= sched_setaffinity(0, sizeof one, &one) == 0 && is();
   }
   sched_setaffinity(0, sizeof all, &all);
   return each;
}

/* Makes the timers four times as slow, if the recorder asks for that by the environment. Its
   kernel parameters make the other clock, the time-stamp counter, four times as slow too. An
   instruction then takes a quarter of QEMU's shortest time, and timer interrupts come as rarely as
   on a processor of today. */
static bool slow_timers(void)
{
   int   fd;
   void* found;
   if (!getenv("BROADLEAF_CLOCK"))
      return false;
   unsetenv("BROADLEAF_CLOCK");
   fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
   if (fd >= 0) {
      found = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, APIC);
      close(fd);
      if (found != MAP_FAILED) {
         apic = found;
         on_each_processor(slow_timer);
      }
   }
   return true;
}

/* Runs a command of busybox to its end. */
static void run(char** words)
{
   pid_t child = fork();
   if (child == 0) {
      execv("/bin/busybox", words);
      _exit(127);
   }
   waitpid(child, NULL, 0);
}

int main(int count, char** words)
{
   static char* fallback[] = {"/bin/sh", "/etc/broadleaf/command", NULL};
   char**       command = count > 1 && words[1][0] == '/' ? words + 1 : fallback;
   FILE*        to;
   int          status = 0;
   bool         divides;
   mount("proc", "/proc", "proc", 0, NULL);
   mount("sysfs", "/sys", "sysfs", 0, NULL);
   mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
   mount("tmpfs", "/tmp", "tmpfs", 0, NULL);
   divides = slow_timers();
   setenv("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", 1);
   setenv("HOME", "/tmp", 1);
   run((char*[]){"ip", "link", "set", "lo", "up", NULL});
   load_module();
   raw(0);
   to = fopen("/dev/ttyS1", "w");
   if (!to)
      to = stderr;
   raw(fileno(to));
   memset(at_begin, 1, ROOM);
   memset(at_end, 1, ROOM);
   counters(at_end); /* the code and the kernel's buffers have run once */
   sync();
   counters(at_begin);
   BEGIN;
   pid_t child = fork();
   if (child == 0) {
      setsid();
      execv(command[0], command);
      _exit(127);
   }
   while (waitpid(child, &status, 0) != child)
      ;
   END;
   counters(at_end);
   report(to, "begin", at_begin);
   report(to, "end", at_end);
   /* The kernel may have set the divider again meanwhile. */
   if (divides)
      fprintf(to, "slow-timers %d\n", apic && on_each_processor(is_slow));
   fprintf(to, "status %d\n", status);
   fflush(to);
   tcdrain(fileno(to));
   reboot(RB_POWER_OFF);
   return 0;
}

/* Signals that arrive at any instruction of a program that misses all the time: no register, flag
   or vector may change, and no signal may be lost. The program prints the same however many
   arrive. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { PAGES = 64, ROUNDS = 4000, SIGNALS = 200 };

static double* memory;
static volatile int signals;
static volatile double noise;

static void on_signal(int signal)
{
   signals++;
   /* Other pages, and other values in the vector registers. */
   for (int i = 0; i < PAGES; i += 7)
      noise += memory[i * 512 + 3] * 1.5 + signals;
}

int main(void)
{
   memory = mmap(NULL, PAGES << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   struct sigaction action = {.sa_handler = on_signal};
   sigaction(SIGALRM, &action, NULL);
   struct itimerval often = {{.tv_usec = 300}, {.tv_usec = 300}};
   setitimer(ITIMER_REAL, &often, NULL);
   double sums[8] = {0};
   unsigned long mixed = 1;
   for (int i = 0; i < PAGES; i++)
      for (int j = 0; j < 8; j++)
         memory[i * 512 + j] = i + j / 8.0;
   for (int round = 0; round < ROUNDS || signals < SIGNALS; round++) {
      if (round >= ROUNDS) /* natively, the work ends before the signals */
         continue;
      double* page = memory + round * 5 % PAGES * 512;
      for (int j = 0; j < 8; j++)
         sums[j] = sums[j] * 0.5 + page[j];
      mixed = mixed * 31 + (mixed >> 7) + (unsigned long)page[0];
      if ((mixed & 1) == (round & 1))
         mixed ^= 0x5555;
   }
   for (int j = 0; j < 8; j++)
      printf("%.17g ", sums[j]);
   printf("%lx %d\n", mixed, signals >= SIGNALS);
   return 0;
}

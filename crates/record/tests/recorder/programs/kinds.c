/* References of many kinds, most of them to the program's own arrays: scattered updates, sweeps, a
   sort, vectors, locked instructions, recursion. Without an argument, a few masked moves and fxsave
   are among them. The C library is hardly used, because it has functions for each processor. */
#include <immintrin.h>
#include <stdint.h>
#include <sys/mman.h>

#define CELLS (1u << 21)
#define SORTED (1u << 16)

static uint32_t sorted[SORTED];
static float    vector[1 << 16] __attribute__((aligned(32)));
static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
   state ^= state << 13;
   state ^= state >> 7;
   return state ^= state << 17;
}

static void sift(uint32_t* heap, unsigned at, unsigned n)
{
   for (unsigned child; (child = 2 * at + 1) < n; at = child) {
      child += child + 1 < n && heap[child + 1] > heap[child];
      if (heap[at] >= heap[child])
         return;
      uint32_t was = heap[at];
      heap[at] = heap[child];
      heap[child] = was;
   }
}

static void sort(uint32_t* heap, unsigned n)
{
   for (unsigned i = n / 2; i > 0; i--)
      sift(heap, i - 1, n);
   for (unsigned last = n - 1; last > 0; last--) {
      uint32_t was = heap[0];
      heap[0] = heap[last];
      heap[last] = was;
      sift(heap, 0, last);
   }
}

static unsigned depth(unsigned n)
{
   volatile char room[700];
   room[n % sizeof room] = n;
   return n == 0 ? 0 : depth(n - 1) + room[n % sizeof room];
}

__attribute__((target("avx2"))) static int masked(const int* from)
{
   __m256i mask = _mm256_set_epi32(-1, 0, -1, 0, -1, -1, 0, -1);
   __m256i v = _mm256_maskload_epi32(from, mask);
   return _mm256_extract_epi32(v, 2);
}

int main(int argc, char** argv)
{
   (void)argv;
   uint64_t* cells = mmap(0, CELLS * sizeof *cells, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   uint64_t  sum = 0;
   char      room[512] __attribute__((aligned(64)));
   for (unsigned i = 0; i < 600000; i++)
      cells[next() % CELLS] += i;
   for (unsigned i = 0; i < SORTED; i++)
      sorted[i] = next();
   sort(sorted, SORTED);
   for (int round = 0; round < 8; round++)
      for (unsigned i = 0; i < sizeof vector / sizeof *vector; i += 4) {
         __m128 v = _mm_load_ps(&vector[i]);
         _mm_store_ps(&vector[i], _mm_add_ps(v, _mm_set1_ps(round)));
      }
   for (unsigned i = 0; i < 50000; i++)
      __atomic_fetch_add(&cells[next() % 4096], 1, __ATOMIC_SEQ_CST);
   for (int i = 0; i < 20; i++) {
      sum += depth(300);
      if (argc > 1)
         continue;
      __asm__ volatile("fxsave %0" : "=m"(room));
      if (__builtin_cpu_supports("avx2"))
         sum += masked((int*)cells + i);
   }
   return sum + sorted[7] + (uint64_t)vector[3] == 0;
}

/* Many kinds of references: strings, copies, vectors, string instructions, atomics, masked moves,
   straddling accesses, recursion, the heap and large mappings. */
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char text[1 << 16];
static int64_t table[4096];

static int compare(const void* a, const void* b)
{
   const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
   return (x > y) - (x < y);
}

static unsigned depth(unsigned n)
{
   volatile char room[700];
   room[n % sizeof room] = n;
   return n == 0 ? 0 : depth(n - 1) + room[n % sizeof room];
}

__attribute__((target("avx2"))) static int masked(int* to, const int* from, int n)
{
   int sum = 0;
   for (int i = 0; i + 8 <= n; i += 8) {
      __m256i mask = _mm256_set_epi32(i & 8 ? -1 : 0, 0, -1, 0, -1, -1, 0, i & 16 ? -1 : 0);
      __m256i v = _mm256_maskload_epi32(from + i, mask);
      _mm256_maskstore_epi32(to + i, mask, v);
      sum += to[i + 2];
   }
   return sum;
}

int main(void)
{
   uint64_t sum = 0;
   for (int i = 0; i < 4096; i++)
      table[i] = (int64_t)i * 7919 % 4099;
   qsort(table, 4096, sizeof *table, compare);
   for (size_t i = 0; i < sizeof text - 1; i++)
      text[i] = 'a' + table[i % 4096] % 26;
   for (int round = 0; round < 4; round++) {
      char* copy = malloc(sizeof text + 64 * round);
      memcpy(copy, text, sizeof text);
      memmove(copy + 3, copy, sizeof text - 100);
      sum += strlen(copy) + (strchr(copy, 'z') ? 1 : 0) + memcmp(copy, text, 5000);
      void *to = copy, *from = text;
      size_t words = 3000;
      __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words) : : "memory");
      words = 5000;
      __asm__ volatile("rep stosb" : "+D"(to), "+c"(words) : "a"(0) : "memory");
      __m128d v = _mm_setzero_pd();
      for (int i = 0; i + 2 <= 4096; i += 2)
         v = _mm_add_pd(v, _mm_castsi128_pd(_mm_loadu_si128((__m128i*)(copy + 8 * i + 1))));
      _mm_storeu_pd((double*)(copy + 4093), v);
      sum += copy[4095];
      free(copy);
   }
   size_t large = 5 << 20;
   char* page = mmap(0, large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
   for (size_t i = 4094; i + 8 < large; i += 4096 * 3 + 1)
      *(volatile uint64_t*)(page + i) += i;
   for (int i = 0; i < 10000; i++) {
      __atomic_fetch_add((int*)(page + (i * 40503u % large & ~3ul)), 1, __ATOMIC_SEQ_CST);
      uint64_t expected = i;
      __atomic_compare_exchange_n((uint64_t*)page, &expected, i + 1, 0, __ATOMIC_SEQ_CST,
                                  __ATOMIC_SEQ_CST);
   }
   if (__builtin_cpu_supports("avx2"))
      sum += masked((int*)page, (int*)text, 4096);
   long double x = 1.5L;
   for (int i = 0; i < 1000; i++)
      *(volatile long double*)(page + 24 * i) = x *= 1.001L;
   char state[512] __attribute__((aligned(64)));
   _mm_setcsr(_mm_getcsr());
   __asm__ volatile("fxsave %0" : "=m"(state));
   sum += depth(300) + state[0];
   munmap(page, large);
   return sum == 0;
}

/* The functions that allocate memory, by the names of their symbols. */
#include "sites.h"

static const Allocator allocators[] = {
   {"malloc", "malloc", SIZE_1},
   {"calloc", "calloc", SIZE_1X2},
   {"realloc", "realloc", SIZE_2},
   {"reallocarray", "reallocarray", SIZE_2X3},
   {"memalign", "memalign", SIZE_2},
   {"aligned_alloc", "aligned_alloc", SIZE_2},
   {"posix_memalign", "posix_memalign", SIZE_3, True},
   {"valloc", "valloc", SIZE_1},
   {"pvalloc", "pvalloc", SIZE_1},
   /* operator new and new[]: plain, with nothrow, with an alignment, with both */
   {"_Znwm", "operator new", SIZE_1},
   {"_ZnwmRKSt9nothrow_t", "operator new", SIZE_1},
   {"_ZnwmSt11align_val_t", "operator new", SIZE_1},
   {"_ZnwmSt11align_val_tRKSt9nothrow_t", "operator new", SIZE_1},
   {"_Znam", "operator new[]", SIZE_1},
   {"_ZnamRKSt9nothrow_t", "operator new[]", SIZE_1},
   {"_ZnamSt11align_val_t", "operator new[]", SIZE_1},
   {"_ZnamSt11align_val_tRKSt9nothrow_t", "operator new[]", SIZE_1},
   /* allocators that Rust programs link under names of their own */
   {"_rjem_malloc", "jemalloc malloc", SIZE_1},
   {"_rjem_mallocx", "jemalloc mallocx", SIZE_1},
   {"_rjem_calloc", "jemalloc calloc", SIZE_1X2},
   {"_rjem_realloc", "jemalloc realloc", SIZE_2},
   {"_rjem_rallocx", "jemalloc rallocx", SIZE_2},
   {"mi_malloc", "mimalloc malloc", SIZE_1},
   {"mi_malloc_aligned", "mimalloc malloc", SIZE_1},
   {"mi_zalloc", "mimalloc zalloc", SIZE_1},
   {"mi_zalloc_aligned", "mimalloc zalloc", SIZE_1},
   {"mi_calloc", "mimalloc calloc", SIZE_1X2},
   {"mi_realloc", "mimalloc realloc", SIZE_2},
   {"mi_realloc_aligned", "mimalloc realloc", SIZE_2},
   /* Go: the first argument is in RAX, and a goroutine's stack may be copied meanwhile */
   {"runtime.mallocgc", "Go's mallocgc", SIZE_AX, False, True},
};

static const HChar* without(const HChar* name, const HChar* head)
{
   SizeT n = VG_(strlen)(head);
   return VG_(strncmp)(name, head, n) == 0 ? name + n : name;
}

/* Returns the allocator that has this symbol, or NULL. A C library has several symbols for one
   function, such as `__libc_malloc` for `malloc`. */
const Allocator* bl_allocator(const HChar* symbol)
{
   symbol = without(without(symbol, "__GI_"), "__libc_");
   for (UInt i = 0; i < sizeof allocators / sizeof allocators[0]; i++)
      if (VG_(strcmp)(symbol, allocators[i].symbol) == 0)
         return &allocators[i];
   return NULL;
}

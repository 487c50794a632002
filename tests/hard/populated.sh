#!/bin/sh
# Memory that system calls populate is in the recording: compares the model's resident memory with
# the kernel's.
set -eu
broadleaf=${BROADLEAF:-target/release/broadleaf}
broadleaf=$(realpath "$broadleaf")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/populated.c" <<'EOF'
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#define M (1ul << 20)
static volatile char sink;
static char* get(size_t n, int more)
{
   return mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
}
static void small(char* p, size_t n) { madvise(p, n, MADV_NOHUGEPAGE); }
static void load(char* p, size_t n) { for (size_t i = 0; i < n; i += 4096) sink += p[i]; }
int main(int argc, char** argv)
{
   char* p = get(16 * M, 0);
   switch (atoi(argv[1])) {
      case 1: small(p, 16 * M); madvise(p, 16 * M, 23 /* MADV_POPULATE_WRITE */); load(p, 16 * M); break;
      case 2: get(16 * M, MAP_POPULATE); break;
      case 3: mlock(p, 4 * M); load(p, 4 * M); break;
      case 4: { /* MADV_COLLAPSE fills the block that holds one page */
         char* block = (char*)(((uintptr_t)p + 2 * M - 1) & ~(2 * M - 1));
         small(p, 16 * M);
         for (int i = 0; i < 7; i++) block[2 * M * i] = 1;
         madvise(p, 16 * M, MADV_HUGEPAGE);
         madvise(block, 14 * M, 25 /* MADV_COLLAPSE */);
      }
   }
   char line[256];
   FILE* status = argc > 2 ? fopen("/proc/self/status", "r") : NULL;
   while (status && fgets(line, sizeof line, status))
      if (strncmp(line, "VmHWM:", 6) == 0)
         printf("%d\n", atoi(line + 6));
   return 0;
}
EOF
gcc -O1 -o "$folder/populated" "$folder/populated.c"
failed=0
for part in 1 2 3 4; do
   native=$("$folder/populated" $part say)
   "$broadleaf" record --force -o "$folder/t.bl" -- "$folder/populated" $part >/dev/null 2>&1
   model=$("$broadleaf" compare "$folder/t.bl" --policy 4k --format json |
      python3 -c 'import json, sys; print(max(r["peak_resident_pages"] for r in json.load(sys.stdin)["results"]) * 4)')
   # The kernel maps pages of the C library around those that a program touches: some 1.2 MiB that
   # the model leaves out.
   difference=$(( model - native ))
   off=$(( difference * 100 / native ))
   echo "part $part: the kernel has $native KiB, the model $model KiB: $off percent"
   if [ ${off#-} -gt 5 ] && [ ${difference#-} -gt 1536 ]; then
      failed=1
   fi
done
exit $failed

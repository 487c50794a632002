#!/bin/sh
# Allocators that purge by the clock behave under the recorder as natively. Uses libjemalloc2 and
# libmimalloc2.0 from the system, or from the folder $ALLOCATORS.
set -eu
broadleaf=$(realpath "${BROADLEAF:-target/release/broadleaf}")
libraries=${ALLOCATORS:-/usr/lib/x86_64-linux-gnu}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/churn.c" <<'EOF'
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
/* Memory grows and shrinks, with work between. Faults and calls of madvise are printed natively. */
#define N 60000
static uint64_t state = 88172645463325252ull;
static char*    block[N];
static size_t   size[N];
static uint64_t next(void) { state ^= state << 13; state ^= state >> 7; return state ^= state << 17; }
int main(int argc, char** argv)
{
   uint64_t sum = 0;
   for (int round = 0; round < atoi(argv[1]); round++) {
      for (int i = 0; i < N; i++) {
         int k = next() % N;
         if (block[k]) {
            sum += block[k][size[k] / 2];
            free(block[k]);
            block[k] = NULL;
         } else {
            size[k] = 16 + next() % (next() % 16 ? 300 : 9000);
            block[k] = memset(malloc(size[k]), round, size[k]);
         }
      }
      for (int i = 0; round % 4 == 3 && i < N; i++)
         if ((i >> 9) % 3) {
            free(block[i]);
            block[i] = NULL;
         }
      for (int i = 0; i < 600000; i++)
         sum = sum * 6364136223846793005ull + 1;
   }
   struct rusage used;
   getrusage(RUSAGE_SELF, &used);
   if (argc > 2)
      printf("%ld\n", used.ru_minflt);
   return sum == 1;
}
EOF
gcc -O1 -o "$folder/churn" "$folder/churn.c"
figure() { # FILE KEY: a figure of `4k`
   "$broadleaf" compare "$1" --policy 4k --format json |
      python3 -c 'import json, sys; print(max(r[sys.argv[1]] for r in json.load(sys.stdin)["results"]))' "$2"
}
failed=0
for library in jemalloc.so.2 mimalloc.so.2.0; do
   path="$libraries/lib$library"
   if [ ! -e "$path" ]; then
      echo "skipped: $path is not installed"
      continue
   fi
   native=$(LD_PRELOAD=$path "$folder/churn" 40 say)
   for clock in wall program; do
      option="--clock $clock"
      "$broadleaf" record --help | grep -q -e --clock || option=
      # shellcheck disable=SC2086
      "$broadleaf" record $option --force -o "$folder/t.bl" -- env LD_PRELOAD="$path" "$folder/churn" 40 >/dev/null 2>&1
      faults=$(figure "$folder/t.bl" page_faults)
      advice=$("$broadleaf" info "$folder/t.bl" | sed -n 's/^events *\(\([0-9]*\) advise\)*.*/\2/p')
      off=$(( (faults - native) * 100 / native ))
      echo "$library, clock $clock: ${advice:-0} calls of madvise, $faults faults; natively $native faults: $off percent"
   done
   # What the dynamic linker and env fault is in one figure or the other.
   if [ ${off#-} -gt 10 ] || [ "${advice:-0}" -gt 15 ]; then
      failed=1
   fi
done
exit $failed

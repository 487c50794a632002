#!/usr/bin/env bash
# Fuzzes each target of fuzz/ for FUZZ_SECONDS. A crash leaves its input under fuzz/artifacts, and
# the script ends with status 1.
set -euo pipefail
cd "$(dirname "$0")/.."

for target in fuzz/fuzz_targets/*.rs; do
  name=$(basename "$target" .rs)
  echo "$name for ${FUZZ_SECONDS:=60} seconds" >&2
  # Seeds are small valid recordings and texts. New findings go into the first folder.
  seeds=()
  [ ! -d "fuzz/seeds/$name" ] || seeds=("fuzz/seeds/$name")
  mkdir -p "fuzz/corpus/$name"
  cargo +nightly fuzz run "$name" "fuzz/corpus/$name" "${seeds[@]}" -- \
    -print_final_stats=1 -verbosity=0 -max_total_time="$FUZZ_SECONDS" -rss_limit_mb=4096 -timeout=10
done

# Tests the parts of memory with a million operations each, and checks the invariants after each.
echo "memory, ${BROADLEAF_OPERATIONS:=1000000} operations" >&2
BROADLEAF_OPERATIONS=$BROADLEAF_OPERATIONS cargo test --locked --package broadleaf-memory

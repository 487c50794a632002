#!/usr/bin/env bash
# Fuzzes each target of fuzz/ for FUZZ_SECONDS. A crash leaves its input under fuzz/artifacts, and
# the script ends with status 1.
#
# Each target starts from its seeds, fuzz/seeds/NAME, which the repository holds, and from earlier
# finds, fuzz/corpus/NAME, which it does not hold. To keep finds as seeds, minimise the corpus:
#   cargo +nightly fuzz cmin --features libfuzzer NAME fuzz/corpus/NAME
# Then copy a few small files of different kinds to fuzz/seeds/NAME, each under a name that says
# what it holds. To minimise the input of a crash:
#   cargo +nightly fuzz tmin --features libfuzzer NAME fuzz/artifacts/NAME/FILE
set -euo pipefail
cd "$(dirname "$0")/.."

# A crash shows its lines, and each target builds sooner without link-time optimisation.
export CARGO_PROFILE_RELEASE_DEBUG=line-tables-only CARGO_PROFILE_RELEASE_STRIP=none
export CARGO_PROFILE_RELEASE_LTO=off

for target in fuzz/fuzz_targets/*.rs; do
  name=$(basename "$target" .rs)
  echo "$name for ${FUZZ_SECONDS:=60} seconds" >&2
  # libFuzzer writes new finds to the first folder.
  mkdir -p "fuzz/corpus/$name"
  cargo +nightly fuzz run --features libfuzzer "$name" "fuzz/corpus/$name" "fuzz/seeds/$name" -- \
    -print_final_stats=1 -verbosity=0 -max_total_time="$FUZZ_SECONDS" -rss_limit_mb=4096 -timeout=10
done

# Tests the parts of memory with a million operations each, and checks the invariants after each.
echo "memory, ${BROADLEAF_OPERATIONS:=1000000} operations" >&2
BROADLEAF_OPERATIONS=$BROADLEAF_OPERATIONS cargo test --profile checked --locked --package broadleaf-memory

echo "To keep finds as seeds: cargo +nightly fuzz cmin --features libfuzzer NAME fuzz/corpus/NAME," \
  "then copy small files to fuzz/seeds/NAME" >&2

#!/usr/bin/env bash
# Writes the golden results again: the counts of every policy on the recordings of tests/golden. The
# recordings stay (see tests/golden/record.sh). Read the difference before you commit it, and give
# its reason in CHANGELOG.md.
set -euo pipefail
cd "$(dirname "$0")/.."
BROADLEAF_UPDATE=1 cargo test --profile checked --quiet --package broadleaf-cli --test suite not_moved
git --no-pager diff --stat -- tests/golden

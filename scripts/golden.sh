#!/usr/bin/env bash
# Writes the golden results anew: what every policy counts on the recordings of tests/golden. The recordings stay; see
# tests/golden/record.sh for those. Read the difference before you commit it, and say in CHANGELOG.md why it moved.
set -euo pipefail
cd "$(dirname "$0")/.."
BROADLEAF_UPDATE=1 cargo test --quiet --package broadleaf-cli --test suite not_moved
git --no-pager diff --stat -- tests/golden

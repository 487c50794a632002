#!/usr/bin/env bash
# Writes the result in README.md: records an `awk` program and compares policies on the recording,
# with the broadleaf on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."
readme=$PWD/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

commands='broadleaf record -o awk.bl -- awk "$(cat count.awk)"
broadleaf compare awk.bl --policy 4k --policy freebsd --policy foresight --policy greedy \
  --policy pop-64 --policy pop-256 --policy dirty-64 --policy life-1e7 --policy thp-always'
program='BEGIN {
  for (i = 0; i < 200000; i++) count["key" i * 7919 % 200003] = i
  for (i = 0; i < 200000; i++) sum += count["key" i * 104729 % 200003]
  print sum
}'

{
  echo 'An `awk` program, `count.awk`, that fills a table with 200,000 keys and looks each up again:'
  echo
  echo '```awk'
  echo "$program"
  echo '```'
  echo
  echo 'These commands'
  echo
  echo '```sh'
  echo "$commands"
  echo '```'
  echo
  echo 'print this:'
  echo
  echo '```text'
  echo "$program" >"$work/count.awk"
  (cd "$work" && LC_ALL=C NO_COLOR=1 COLUMNS=160 bash -euo pipefail -c "$commands" 2>"$work/messages") || {
    cat "$work/messages" >&2
    exit 1
  }
  echo '```'
  echo
  echo "(Recorded on $(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r | cut -d- -f1), with $(broadleaf --version).)"
} >"$work/section"

awk -v section="$work/section" '
  /^<!-- result: / { print; print ""; while ((getline line <section) > 0) print line; print ""; skipping = 1 }
  /^<!-- end of result -->/ { skipping = 0 }
  !skipping && !/^<!-- result: / { print }
' "$readme" >"$work/readme"
cp "$work/readme" "$readme"

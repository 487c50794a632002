#!/usr/bin/env bash
# Records the golden traces anew, with the broadleaf on PATH. Wanted only when the format changes or a recording is added: the
# recordings are kept, so that results can be compared over the years.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$PWD

# record NAME ARGUMENTS...: writes NAME.bl, from a folder of its own so that it holds no path of this machine, and with
# next to no environment, which would stand on the program's stack.
broadleaf=$(command -v broadleaf)
record() {
  local name=$1
  shift
  (cd "$work" && env -i PATH=/usr/bin:/bin LC_ALL=C "$broadleaf" record --force -o "$here/$name.bl" "$@")
}

gcc -O1 -static -nostdlib -ffreestanding -fno-stack-protector -fno-pic -no-pie -fcf-protection=none \
  -o "$work/blocks" programs/blocks.c
cp programs/words.txt "$work/"

record blocks -- ./blocks
record sort -- sort words.txt -o sorted.txt
record children --follow-children -- sh -c 'true; cat words.txt | tail -n 1'

#!/usr/bin/env bash
# Runs every executable of benches/, or with `live` those of benches/live, and writes a dated record
# of their output, with the machine, the commit and the commands. A benchmark prints Markdown. It
# finds `broadleaf` and `broadleaf-bench` on PATH.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p out
folder=benches${1:+/$1}
record=out/bench${1:+-$1}-$(date +%F).md
commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit="$commit, with changes that are not committed"

{
  echo "# Benchmarks of $(date +%F)"
  echo
  echo "- commit: $commit"
  echo "- broadleaf: $(broadleaf --version)"
  echo "- processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) CPUs"
  echo "- memory: $(awk '/^MemTotal/ { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)"
  echo "- system: $(. /etc/os-release && echo "$PRETTY_NAME"), Linux $(uname -r)"
  echo "- valgrind: $(valgrind --version)"
  echo "- load when it began: $(cut -d' ' -f1-3 /proc/loadavg)"
} >"$record"

status=0
for bench in "$folder"/*; do
  [ -f "$bench" ] && [ -x "$bench" ] || continue
  echo "$bench" >&2
  { echo; echo "## $(basename "$bench" .sh)"; echo; echo "\`$bench\`"; echo; } >>"$record"
  code=0
  "$bench" >>"$record" || code=$?
  if [ $code -eq 3 ]; then # its message on standard error gives the reason
    echo "Refused on this machine." >>"$record"
  elif [ $code -ne 0 ]; then
    echo "This benchmark failed." >>"$record"
    echo "$bench failed" >&2
    status=1
  fi
done
echo "$record"
exit $status

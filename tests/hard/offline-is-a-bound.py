#!/usr/bin/env python3
"""OFFLINE is a bound for compared policies where memory changes, and its time does not grow with breaks."""

import json
import os
import subprocess
import sys
import tempfile
import time

BROADLEAF = os.path.abspath(os.environ.get("BROADLEAF", "target/release/broadleaf"))
COSTS = ["--machine", "romer1995", "--memory", "unlimited", "--costs", "copy-kib=3000,zero-kib=3000,promotion=0"]

# Gives single pages of a 1 MiB table back and uses them again; then uses the table at random.
PROGRAM = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
enum { PAGES = 256, PAGE = 4096, LARGEST = 8 << 20 };
int main(int count, char **words) {
  long breaks = count > 1 ? atol(words[1]) : 0;
  char *map = mmap(0, 2 * LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *table = (char *)(((uintptr_t)map + LARGEST - 1) & ~(uintptr_t)(LARGEST - 1));
  for (long page = 0; page < PAGES; page++) table[page * PAGE] = 1;
  for (long round = 0; round < 100; round++) {
    char *page = table + round * 37 % PAGES * PAGE;
    if (round < breaks) madvise(page, PAGE, MADV_DONTNEED);
    *page = 2;
  }
  uint64_t state = 12345;
  for (long i = 0; i < 400000; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    table[(state >> 33) % PAGES * PAGE + 64 * (state >> 60)]++;
  }
  return 0;
}
"""


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def compare(trace, policies):
    """The times offline of each policy, and the seconds that it took."""
    begun = time.monotonic()
    text = run(BROADLEAF, "compare", trace, "--policy", policies, *COSTS, "--format", "csv")
    took = time.monotonic() - begun
    lines = text.splitlines()
    head = lines[0].split(",")
    rows = [dict(zip(head, line.split(","))) for line in lines[1:]]
    return {row["policy"]: float(row["times_offline"]) for row in rows}, took


def trap(path):
    """Three hot pairs and 29 cold pages on 32 entries: only three superpages together spare misses."""
    hot = [pair * 2048 + page for pair in range(3) for page in (0, 1)]
    with open(path, "w", encoding="ascii") as file:
        for _ in range(300):
            for cold in range(29):
                for page in [(100 + cold) * 2048 + 5, *hot]:
                    file.write("I  00400000,4\n" * 3 + f" L {0x40000000 + page * 4096:x},8\n")


def main():
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        trap("trap.lackey")
        run(BROADLEAF, "import", "lackey", "trap.lackey", "-o", "trap.bl")
        with open("breaks.c", "w", encoding="ascii") as file:
            file.write(PROGRAM)
        run("cc", "-O1", "-o", "breaks", "breaks.c")
        seconds = {}
        for breaks in (0, 100):
            run(BROADLEAF, "record", "-o", f"breaks{breaks}.bl", "--", "./breaks", str(breaks))
            seconds[breaks] = min(compare(f"breaks{breaks}.bl", "offline")[1] for _ in range(3))
        for trace in ("trap.bl", "breaks100.bl"):
            times, _ = compare(trace, "4k,asap,approx-online,online,offline")
            least = min(times, key=times.get)
            print(f"{trace}: least is {least} with {times[least]:.2f} times the cycles of offline")
            if times[least] < 1:
                failed.append(f"{trace}: {least} takes fewer cycles than offline")
    print(f"offline: {seconds[0]:.2f} s without breaks, {seconds[100]:.2f} s with 100")
    if seconds[100] > 2 * seconds[0] + 0.05:
        failed.append("100 breaks take more than twice the time")
    for reason in failed:
        print(f"FAILED: {reason}")
    sys.exit(bool(failed))


main()

"""A program that is hard to govern: it forks, maps, unmaps and frees at random."""

import mmap
import os
import random
import signal
import sys
import time

PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
seconds, forks = float(sys.argv[1]), int(sys.argv[2])
draw = random.Random(11)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def filled(mebibytes):
    memory = mmap.mmap(-1, mebibytes << 20, PRIVATE)
    for page in range(0, mebibytes << 8):
        memory[page << 12] = 1
    return memory


kept = filled(256)
others, started, living = [], 0, set()
began = time.time()
while time.time() - began < seconds:
    # Children live for a while on their parent's memory, evenly over the time.
    while started < forks * (time.time() - began) / seconds:
        child = os.fork()
        if not child:
            time.sleep(draw.random() * 0.5)
            if draw.random() < 0.3:
                kept[draw.randrange(256 << 8) << 12] = 2
            if draw.random() < 0.1:
                os.execvp("true", ["true"])
            os._exit(0)
        started += 1
        living.add(child)
    while living:
        ended, _ = os.waitpid(-1, os.WNOHANG)
        if not ended:
            break
        living.discard(ended)
    what = draw.random()
    if what < 0.4 and len(others) < 20:
        others.append(filled(draw.randrange(1, 9)))
    elif what < 0.7 and others:
        others.pop(draw.randrange(len(others))).close()
    elif others:
        memory = draw.choice(others)
        memory.madvise(mmap.MADV_DONTNEED, draw.randrange(len(memory) >> 12) << 12, 4096)
    time.sleep(0.002)
for child in living:
    os.waitpid(child, 0)
for memory in others:
    memory.close()
# Memory that a fork shared is this program's own again, page by page.
held = sum(
    int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Rss:")
)
print(started, held, flush=True)

"""The machine under the benchmarks: its settings, its processes, and their figures in /proc."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
from statistics import median

SETTING = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
MIB = 1 << 20
# The processors that may be used.
PROCESSORS = sorted(os.sched_getaffinity(0))


@contextlib.contextmanager
def setting(wanted):
    """Applies the system-wide setting of transparent huge pages, and restores the old one."""
    before = SETTING.read_text().split("[")[1].split("]")[0]
    SETTING.write_text(wanted)
    try:
        yield
    finally:
        SETTING.write_text(before)


def make_room():
    """Frees memory in large extents: drops cached files, and compacts memory."""
    os.sync()
    for file in ("drop_caches", "compact_memory"):
        pathlib.Path(f"/proc/sys/vm/{file}").write_text("3" if file == "drop_caches" else "1")


def available():
    return fields("/proc/meminfo")["MemAvailable"]


def fields(path):
    """Returns the figures of a file with lines of a name and kilobytes, in bytes."""
    found = {}
    with open(path) as lines:
        for line in lines:
            words = line.split()
            if len(words) == 3 and words[2] == "kB":
                found[words[0].rstrip(":")] = int(words[1]) << 10
    return found


def memory(pid):
    """Returns the bytes that a process holds, and those in superpages."""
    figures = fields(f"/proc/{pid}/smaps_rollup")
    return figures["Rss"], figures["AnonHugePages"] + figures["ShmemPmdMapped"]


def processor_seconds(pid):
    """Returns the processor time of all threads of a process."""
    spent = 0
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        spent += int((thread / "schedstat").read_text().split()[0])
    return spent / 1e9


def children(pid):
    return [
        int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


class Program:
    """A program that runs one way.

    The way is `never` or `governed` under the governor, or `always` under the kernel's own setting.
    """

    def __init__(self, way, command, options=(), **pipes):
        self.way = way
        self.report = tempfile.NamedTemporaryFile(suffix=".json", delete=False).name
        self.governor = None
        if way == "always":
            # The setting at the time of a program's touches applies to its memory.
            self.process = subprocess.Popen(command, **pipes)
            self.pid = self.process.pid
            return
        policy = ["--policy", "4k"] if way == "never" else list(options)
        run = [
            "broadleaf",
            "run",
            "--format",
            "json",
            "-o",
            self.report,
            "--force",
            *policy,
            "--",
            *command,
        ]
        self.process = subprocess.Popen(run, **pipes)
        self.governor = self.process.pid
        until = time.time() + 10
        while not children(self.governor):
            if time.time() > until:
                raise RuntimeError(f"{command[0]} did not start")
            time.sleep(0.01)
        self.pid = children(self.governor)[0]

    def memory(self):
        return memory(self.pid)

    def end(self):
        """Ends the program, and returns the governor's report."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
        if self.governor is None:
            return None
        with open(self.report) as file:
            return json.load(file)


def put_on(processors, pids):
    for pid in pids:
        for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(thread.name), processors)


@contextlib.contextmanager
def apart(pids):
    """Keeps programs on one processor and their callers on another, if there are two.

    Migrations by the scheduler are then no part of any figure. Governors run anywhere.
    """
    if len(PROCESSORS) > 1:
        put_on(PROCESSORS[:1], pids)
        put_on(PROCESSORS[1:2], [os.getpid()])
    try:
        yield
    finally:
        put_on(PROCESSORS, [os.getpid()])
        put_on(PROCESSORS, pids)


def spread(values, digits=3):
    return f"{median(values):.{digits}f} [{min(values):.{digits}f} .. {max(values):.{digits}f}]"


def middle(rounds):
    """Returns the median of all turns of all rounds."""
    return median(turn for turns in rounds for turn in turns)


def summary(rounds):
    """Formats the median, with the minimum and maximum of the rounds' own medians."""
    each = [median(turns) for turns in rounds]
    return f"{middle(rounds):.3f} [{min(each):.3f} .. {max(each):.3f}]"

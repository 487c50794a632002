"""A program that forks, maps and unmaps at random, and very short programs."""

import os
import pathlib
import subprocess
import sys
import threading
import time

from machine import MIB, fields, make_room, memory

HERE = pathlib.Path(__file__).parent


def tree(pid):
    """Returns a process and its descendants."""
    found = [pid]
    for process in found:
        try:
            text = pathlib.Path(f"/proc/{process}/task/{process}/children").read_text()
        except OSError:
            continue
        found += [int(child) for child in text.split()]
    return found


def together(pids):
    """Returns the bytes that processes hold. Shared memory counts once."""
    total = 0
    for pid in pids:
        try:
            total += fields(f"/proc/{pid}/smaps_rollup").get("Pss", 0)
        except OSError:
            continue
    return total


def once(options, seconds, forks):
    """Runs the storm under the governor.

    Returns the program's answer and the peak of the memory of the program and its children. The
    samples of the governor's memory and open files, and its messages, follow.
    """
    command = [
        "broadleaf",
        "run",
        *options,
        "--",
        sys.executable,
        str(HERE / "storm.py"),
        str(seconds),
        str(forks),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    held, governor = [], []
    began = time.time()
    while process.poll() is None and time.time() - began < seconds + 30:
        time.sleep(0.25)
        pids = tree(process.pid)
        held.append(together(pids[1:]))
        try:
            governor.append((memory(process.pid)[0], len(os.listdir(f"/proc/{process.pid}/fd"))))
        except OSError:
            break
    out, said = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(said)
    return out.split(), max(held), governor, said


def storm(log, _rounds):
    make_room()
    seconds, forks = 60, 1000
    (_, plain), plain_held, _, _ = once(["--policy", "4k"], seconds, forks)
    (started, governed), held, governor, said = once(["--interval", "50"], seconds, forks)
    log.line(
        "a minute of forks, maps and unmaps",
        f"{started} children; KiB held at the end {governed}, never {plain}",
    )
    log.line("", " ".join(said.split()))
    log.check(
        "memory held by it and its children over never, at most", held / plain_held, "<=", 1.10
    )
    early, late = governor[len(governor) // 3], governor[-2]
    log.check(
        "MiB that the governor grew from a third of the time to the end",
        (late[0] - early[0]) / MIB,
        "<=",
        2,
    )
    log.check("files that it holds open at the end", late[1], "<=", 40)
    failed = [
        status
        for status in (
            subprocess.run(["broadleaf", "run", "--", "true"], capture_output=True).returncode
            for _ in range(50)
        )
        if status
    ]
    log.check("programs of 50 that are over at once and make it fail", len(failed), "<=", 0)

"""Experiments of the tests of sweeps, and a scheduler of Dask with workers."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from conftest import write_filled

EXPERIMENT = """
name = "grid"
traces = "trace*.bl"
policies = ["4k", "pop-64", "greedy", "promote if populated >= 100"]
machines = ["skylake", "zen4"]

[[memory]]

[[memory]]
size = "80%"
fragmentation = ["50%", "100%"]
seed = "1..2"
"""
"""4 policies x 2 machines x (1 + 4) memories: 40 cells of each trace."""

SMALL = """
name = "grid"
traces = "trace*.bl"
policies = ["4k", "pop-64"]
memory = { size = "80%", seed = [1, 2] }
"""
"""2 policies x 2 memories: 4 cells of each trace."""


def write_experiment(folder: Path, *, traces: int, visits: int = 2_000, text: str = EXPERIMENT) -> Path:
    folder.mkdir()
    for number in range(traces):
        pages = [(place * (7919 + 2 * number)) % 4096 for place in range(visits)]
        write_filled(folder / f"trace{number}.bl", pages)
    file = folder / "grid.toml"
    file.write_text(text)
    return file


class Dask:
    """A scheduler and workers as processes, so that they can be killed."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        self.file = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", str(self.file))

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen([sys.executable, "-m", "dask", *arguments], stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self) -> subprocess.Popen[bytes]:
        return self._start(
            *("worker", "--scheduler-file", str(self.file), "--no-nanny", "--nthreads", "1", "--no-dashboard"),
            *("--local-directory", str(self.folder)),
        )

    def client(self) -> Any:
        import distributed

        deadline = time.monotonic() + 30
        while not self.file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return distributed.Client(scheduler_file=str(self.file), timeout=30)

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

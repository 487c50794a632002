"""Sweeps that end early: a full disk, and Ctrl-C."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import broadleaf
import pytest
from dask_processes import SMALL, write_experiment

DASK = """
import json, sys
import broadleaf, distributed

file, out = sys.argv[1:]
with distributed.LocalCluster(
    n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
) as cluster:
    try:
        outcome = broadleaf.sweep(file, out, cluster)
        print(json.dumps([outcome.computed, outcome.finished, outcome.failed]))
    except broadleaf.WorkFailed as error:
        print(json.dumps(str(error)))
"""
FULL = """
mount -t tmpfs -o size="$1" tmpfs "$2" || exit 77
"$3" -c "$4" "$5" "$2" || exit 1
ls -A "$2/experiment=grid" | wc -l
ls "$2"/experiment=grid/*.parquet | wc -l
mount -o remount,size=16m "$2" || exit 77
"$3" -c "$4" "$5" "$2" || exit 1
cp -r "$2/experiment=grid" "$6"
"""
"""Sweeps into a file system that is too small, and again when it is larger. Arguments: size in bytes, mount point,
interpreter, program, experiment, and a folder for the results."""


def test_a_full_disk_loses_at_most_the_tasks_in_flight(tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=4, text=SMALL)
    broadleaf.sweep(file, tmp_path / "here")
    sizes = [-(-path.stat().st_size // 4096) * 4096 for path in tmp_path.glob("here/experiment=grid/*")]
    assert len(sizes) == 4
    full, kept = tmp_path / "full", tmp_path / "kept"
    full.mkdir()
    kept.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("there is no command unshare")
    # One page of memory is missing for the last file.
    words: list[Any] = [FULL, "sh", sum(sizes) - 4096, full, sys.executable, DASK, file, kept]
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0 and ("unshare" in done.stderr or done.returncode == 77):
        pytest.skip(f"no file system can be mounted here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    first, files, whole, second = map(json.loads, done.stdout.splitlines())
    assert "No space left on device" in first
    assert files == whole == 3
    assert second == [4, 12, {}]
    (tmp_path / "rows").mkdir()
    (kept / "experiment=grid").rename(tmp_path / "rows/experiment=grid")
    query = "from results order by cell"
    here = broadleaf.results(tmp_path / "here").sql(query).fetchall()
    assert broadleaf.results(tmp_path / "rows").sql(query).fetchall() == here


INTERRUPTED = """
import sys, time
import broadleaf

file, out, where = sys.argv[1:]

def show(doing, done, total, unit):
    if doing.startswith("sweeping") and done > 0:
        print("runs", flush=True)
        # The sweep goes on once the signal is there.
        time.sleep(600)

def run(scheduler):
    try:
        broadleaf.sweep(file, out, scheduler, progress=show, cache=False, threads=1)
        print("done")
    except KeyboardInterrupt:
        print("interrupted")

if where == "here":
    run(None)
else:
    import distributed
    broadleaf._dask._REPORT = 0
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster:
        run(cluster)
"""


@pytest.mark.parametrize("where", ["here", "dask"])
def test_control_c_ends_a_sweep(where: str, tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=3, visits=120_000, text=SMALL)
    out = tmp_path / "out"
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, file, out, where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "runs\n"
        child.send_signal(signal.SIGINT)
        text, errors = child.communicate(timeout=120)
    finally:
        child.kill()
    assert child.returncode == 0, errors
    assert text.splitlines()[-1] == "interrupted", errors
    kept = len(list(out.glob("experiment=grid/*.parquet")))
    assert kept < 3
    # Finished tasks are kept, and an unfinished one left nothing that stops the next sweep.
    again = broadleaf.sweep(file, out)
    assert (again.computed, again.finished) == (12 - 4 * kept, 4 * kept)

"""Sweeps: here and over Dask, with workers and schedulers that die."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import broadleaf
import dask.config
import duckdb
import matplotlib
import pytest
from broadleaf import _dask
from dask_processes import EXPERIMENT, SMALL, Dask, write_experiment

matplotlib.use("Agg")


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """All rows of a data set, in one order."""
    found: list[tuple[Any, ...]] = broadleaf.results(folder).sql("from results order by cell").fetchall()
    return found


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Dask]:
    with Dask(tmp_path / "dask") as made:
        yield made


def test_a_second_sweep_computes_no_cell(tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=2)
    out = tmp_path / "out"
    seen: list[tuple[int, int | None]] = []
    first = broadleaf.sweep(file, out, progress=lambda _, done, total, unit: seen.append((done, total)))
    assert (first.cells, first.computed, first.finished, first.failed) == (80, 80, 0, {})
    assert seen
    before = rows(out)
    second = broadleaf.sweep(file, out)
    assert (second.computed, second.finished) == (0, 80)
    # A new value computes its own cells alone, and another trace under the same name all of its
    # cells.
    file.write_text(EXPERIMENT.replace('"greedy"', '"greedy", "pop-8"'))
    third = broadleaf.sweep(file, out)
    assert (third.cells, third.computed, third.finished) == (100, 20, 80)
    assert set(before) < set(rows(out))


def test_cells_equal_those_of_compare(tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=1)
    outcome = broadleaf.sweep(file, tmp_path / "out")
    memory = broadleaf.Memory(size="80%", fragmentation="50%", seed=2)
    policies, machines = ["4k", "pop-64", "greedy"], ["skylake", "zen4"]
    limited = "memory_fragmentation = '50%' and memory_seed = '2'"
    for condition, given in [("memory_size = ''", None), (limited, memory)]:
        compared = broadleaf.compare(tmp_path / "in/trace0.bl", policies, machines, memory=given)
        for result in compared.results:
            wanted = (result["l1_misses"], result["page_faults"], result["walk_cycles"])
            found = outcome.results().sql(
                f"select l1_misses, page_faults, walk_cycles from results where {condition} "
                f"and policy = '{result['policy']}' and machine = '{result['machine']}'"
            )
            assert found.fetchall() == [wanted]


def test_two_hundred_cells_on_two_workers_equal_the_local_sweep(tmp_path: Path, cluster: Dask) -> None:
    file = write_experiment(tmp_path / "in", traces=5)
    here = broadleaf.sweep(file, tmp_path / "here")
    for _ in range(2):
        cluster.worker()
    with cluster.client() as client:
        client.wait_for_workers(2, timeout=60)
        there = broadleaf.sweep(file, tmp_path / "there", client)
        assert (there.cells, there.computed, there.failed) == (200, 200, {})
        assert rows(tmp_path / "there") == rows(tmp_path / "here")
        assert broadleaf.sweep(file, tmp_path / "there", client.scheduler.address).computed == 0
        # A worker that lacks the trace.
        gone = tmp_path / "gone"
        os.rename(write_experiment(gone, traces=2), gone / "grid.toml")
        name, _, _, tasks, _ = broadleaf._broadleaf.plan_sweep(str(gone / "grid.toml"), str(gone), progress=None)
        (gone / "trace0.bl").unlink()
        plan = [_dask.Task(*task) for task in tasks]
        run = _dask.DaskSweep(gone, name, plan, {}, 1, True, None, cells=80, finished=0)
        run.run(client)
        assert run.computed == 40
        assert list(run.failed) == ["trace0.bl"]
        assert "copy the trace there" in run.failed["trace0.bl"]
    assert here.computed == 200


def test_a_killed_worker_and_a_killed_scheduler_lose_only_tasks_in_flight(tmp_path: Path, cluster: Dask) -> None:
    file = write_experiment(tmp_path / "in", traces=8, visits=10_000, text=SMALL)
    out = tmp_path / "out"
    first, _ = cluster.worker(), cluster.worker()
    files = lambda: len(list(out.glob("experiment=grid/*.parquet")))  # noqa: E731

    over = threading.Event()

    def kill() -> None:
        for process, after in [(first, 2), (cluster.scheduler, 4)]:
            while files() < after and not over.is_set():
                time.sleep(0.01)
            process.kill()

    with cluster.client() as client:
        client.wait_for_workers(2, timeout=60)
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with pytest.raises(broadleaf.WorkFailed, match="run the sweep again"):
                broadleaf.sweep(file, out, client)
        finally:
            over.set()
            killer.join()
    kept = files() * 4
    assert 16 <= kept < 32
    again = broadleaf.sweep(file, out)
    assert (again.computed, again.finished) == (32 - kept, kept)
    broadleaf.sweep(file, tmp_path / "here")
    assert rows(out) == rows(tmp_path / "here")


def test_workers_that_die_with_results_end_no_sweep(
    tmp_path: Path, cluster: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_experiment(tmp_path / "in", traces=8, visits=10_000, text=SMALL)
    workers = [cluster.worker(), cluster.worker()]
    # Results wait on their workers.
    monkeypatch.setattr(_dask, "_LOOK", 2.0)
    with cluster.client() as client:
        client.wait_for_workers(2, timeout=60)
        over = threading.Event()

        def kill() -> None:
            while sum(map(len, client.has_what().values())) < 8 and not over.is_set():
                time.sleep(0.05)
            for worker in workers:
                worker.kill()
            # The sweep looks before the results are computed again.
            over.wait(3)
            cluster.worker()

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            done = broadleaf.sweep(file, tmp_path / "out", client)
        finally:
            over.set()
            killer.join()
    assert (done.computed, done.finished) == (32, 0)


def test_results_are_queried_and_drawn(tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=1)
    results = broadleaf.sweep(file, tmp_path / "out").results()
    assert len(results) == 40
    means = results.means("l1_misses", by=["policy", "machine"]).fetchall()
    assert len(means) == 8 and all(row[2] == 5 for row in means)
    axes = results.plot("page_faults", x="memory_fragmentation")
    lines: Any = axes.get_lines()
    assert len(lines) == 4
    with pytest.raises(duckdb.Error):
        results.sql("select no_column from results")
    with pytest.raises(broadleaf.InvalidInput, match="has no results"):
        broadleaf.results(tmp_path).sql("from results")


def test_wrong_experiments_are_refused(tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=1)
    file.write_text(EXPERIMENT.replace("policies", "polices"))
    with pytest.raises(broadleaf.InvalidInput, match=r"(?s)line 4, column 1: .*did you mean policies"):
        broadleaf.sweep(file, tmp_path / "out")
    with pytest.raises(broadleaf.InvalidInput, match="no scheduler of Dask answers"):
        write_experiment(tmp_path / "other", traces=1)
        with dask.config.set({"distributed.comm.timeouts.connect": "500ms"}):
            broadleaf.sweep(tmp_path / "other/grid.toml", tmp_path / "out", "tcp://127.0.0.1:1")

"""Sweeps: experiment files over the cores of this machine or over Dask, and their results."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _broadleaf
from ._errors import BroadleafError, InvalidInput, WorkFailed
from ._progress import Progress, watched

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_TRIES = 3
"""The most workers that a failing task is tried on."""

Experiment = str | os.PathLike[str]


@dataclass(frozen=True)
class SweepOutcome:
    """The end of a sweep."""

    folder: Path
    """The folder of results."""
    cells: int
    """All cells of the experiment, but those of traces that could not be read."""
    computed: int
    """The cells that were computed now."""
    finished: int
    """The cells that were finished before."""
    failed: dict[str, str] = field(default_factory=dict)
    """The traces whose task failed, with the reason."""

    @property
    def complete(self) -> bool:
        """True if no task failed."""
        return not self.failed

    def results(self) -> SweepResults:
        """The results of the folder."""
        return results(self.folder)


def sweep(
    file: Experiment,
    output: str | os.PathLike[str],
    scheduler: Any = None,
    *,
    threads: int | None = None,
    cache: bool = True,
    progress: Progress = None,
) -> SweepOutcome:
    """Runs an experiment file. Each trace is a task; finished cells are never computed twice.

    Parameters
    ----------
    file
        The experiment, a TOML file.
    output
        The folder of results, a Parquet data set partitioned by experiment.
    scheduler
        ``None`` runs the tasks on the cores of this machine. The address of a Dask scheduler
        (``"tcp://10.0.0.1:8786"``), a ``distributed.Client``, or a cluster of Dask (``LocalCluster``,
        ``dask_jobqueue.SLURMCluster``, ``dask_kubernetes.operator.KubeCluster``) runs them on its workers. Each worker
        needs the same version of the package, and the traces under the same paths.
    threads
        The threads of all tasks together; with a scheduler, the threads of each task (1).
    cache
        Use the cache of the machine that runs a task.
    progress
        ``True`` for a bar, a function, or ``None`` for bars in notebooks. Dask's dashboard shows each task by its
        trace.

    Returns
    -------
    SweepOutcome
        ``failed`` has the traces whose task failed, with the reason. All others are complete.

    Raises
    ------
    InvalidInput
        If the experiment is wrong.
    WorkFailed
        If results cannot be written, or the scheduler goes away. Finished tasks are kept: run the sweep again.
    """
    folder = Path(output)
    with watched(progress) as show:
        if scheduler is None:
            counts = _broadleaf.sweep_local(
                os.fspath(file), os.fspath(folder), threads=threads, use_cache=cache, progress=show
            )
            cells, computed, finished, failed = counts
            return SweepOutcome(folder, cells, computed, finished, dict(failed))
        name, cells, finished, tasks, failed = _broadleaf.plan_sweep(
            os.fspath(file), os.fspath(folder), progress=show
        )
        plan = [_Task(*task) for task in tasks]
        run = _DaskSweep(folder, name, plan, dict(failed), threads or 1, cache, show)
        with ExitStack() as stack:
            run.run(_client(scheduler, stack))
    return SweepOutcome(folder, cells, run.computed, finished, run.failed)


def _client(scheduler: Any, stack: ExitStack) -> Any:
    """The client of an address, a cluster or a client. A client that is made here is closed at the end."""
    try:
        import distributed
    except ImportError:
        raise ImportError("a sweep over Dask needs dask: pip install 'broadleaf[dask]'") from None
    if isinstance(scheduler, distributed.Client):
        return scheduler
    try:
        client = distributed.Client(scheduler)
    except OSError as error:
        raise InvalidInput(f"no scheduler of Dask answers at {scheduler}: {error}") from None
    stack.callback(client.close, timeout=2)
    return client


@dataclass
class _Task:
    """A task, and the workers that it failed on."""

    json: str
    trace: str
    path: Path
    cells: int
    tried: list[str] = field(default_factory=list)


def _run_task(json: str, path: str, threads: int, cache: bool) -> tuple[bool, str, bytes, str]:
    """Runs a task on a worker: true with the file's name and bytes, or false with the reason; and the worker."""
    from distributed import get_worker

    address = str(get_worker().address)
    if not os.path.exists(path):
        reason = f"the worker {address} has no file {path}: copy the trace there, or put it on a shared file system"
        return False, reason, b"", address
    try:
        name, data = _broadleaf.run_sweep_task(json, threads=threads, use_cache=cache, progress=None)
    except BroadleafError as error:
        return False, f"on the worker {address}: {error}", b"", address
    return True, name, data, address


class _DaskSweep:
    """A sweep over the workers of a Dask scheduler."""

    def __init__(
        self,
        folder: Path,
        experiment: str,
        tasks: list[_Task],
        failed: dict[str, str],
        threads: int,
        cache: bool,
        show: Callable[[str, int, int | None, str], object] | None,
    ) -> None:
        self.folder = folder
        self.experiment = experiment
        self.tasks = tasks
        self.failed = failed
        self.threads = threads
        self.cache = cache
        self.show = show
        self.computed = 0

    def run(self, client: Any) -> None:
        """Submits all tasks, and writes the results of each as it ends."""
        from distributed import as_completed

        self._progress()
        if not self.tasks:
            return
        running = {self._submit(client, task): task for task in self.tasks}
        queue = as_completed(list(running), raise_errors=False)
        try:
            for future in queue:
                task = running.pop(future)
                again = self._take(client, future, task)
                if again is not None:
                    running[again] = task
                    queue.add(again)
                self._progress()
        finally:
            # An exception ends the tasks that still run.
            if running and client.status == "running":
                client.cancel(list(running), force=True)

    def _submit(self, client: Any, task: _Task) -> Any:
        others = None
        if task.tried:
            others = [worker for worker in client.scheduler_info()["workers"] if worker not in task.tried]
        number = f"{id(self):x}-{len(task.tried)}"
        return client.submit(
            _run_task,
            task.json,
            os.fspath(task.path),
            self.threads,
            self.cache,
            key=f"broadleaf-{self.experiment}-{task.trace}-{number}",
            pure=False,
            workers=others,
        )

    def _take(self, client: Any, future: Any, task: _Task) -> Any:
        """Keeps the results of a task. Returns its next try, if it failed and another worker is left."""
        if future.status in ("cancelled", "lost"):
            raise WorkFailed(
                f"the scheduler of Dask went away: {self.computed} cells are finished and kept. "
                "Start a scheduler, and run the sweep again for the others"
            )
        if future.status == "error":
            self.failed[task.trace] = f"Dask gave the task up: {future.exception()}"
            return None
        done, text, data, worker = future.result()
        if done:
            _broadleaf.add_sweep_result(os.fspath(self.folder), self.experiment, text, data)
            self.computed += task.cells
            return None
        task.tried.append(worker)
        known = set(client.scheduler_info()["workers"])
        if len(task.tried) < _MOST_TRIES and known - set(task.tried):
            return self._submit(client, task)
        self.failed[task.trace] = text
        return None

    def _progress(self) -> None:
        if self.show is not None:
            total = sum(task.cells for task in self.tasks)
            self.show(f"sweeping {self.experiment}", self.computed, total, "cells")


class SweepResults:
    """The results of a folder: a view ``results`` for SQL, one row for each cell.

    The columns are those of :class:`Comparison`, and ``experiment``, ``cell`` (the key), ``memory_size``,
    ``memory_fragmentation``, ``memory_seed`` and the other keys of memory as the file has them.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    @cached_property
    def connection(self) -> Any:
        """A connection of DuckDB with the view ``results``."""
        try:
            import duckdb
        except ImportError:
            raise ImportError("results need DuckDB: pip install 'broadleaf[results]'") from None
        if not any(self.folder.glob("experiment=*/*.parquet")):
            raise InvalidInput(f"{self.folder}: has no results: run broadleaf.sweep")
        connection = duckdb.connect()
        connection.sql(_broadleaf.results_view(os.fspath(self.folder)))
        return connection

    def sql(self, query: str) -> Any:
        """Runs a query of DuckDB on the view ``results``. The answer has ``df()``, ``pl()`` and ``arrow()``."""
        return self.connection.sql(query)

    def means(self, *figures: str, by: str | list[str] = "policy") -> Any:
        """The means of figures in each group, as a relation of DuckDB."""
        groups = ", ".join(_quoted(name) for name in ([by] if isinstance(by, str) else by))
        means = ", ".join(f"avg({_quoted(name)}) as {_quoted(name)}" for name in figures)
        return self.sql(f"select {groups}, count(*) as cells, {means} from results group by all order by all")

    def plot(self, figure: str, x: str = "memory_size", by: str = "policy", axes: Axes | None = None) -> Axes:
        """Draws the mean of a figure against a column: one line for each value of ``by``."""
        from .plots import _axes

        axes = _axes(axes)
        columns = f"{_quoted(by)} as line, {_quoted(x)}::varchar as place, avg({_quoted(figure)}) as mean"
        order = "line, try_cast(rtrim(place, '%') as double), place"
        query = f"from (select {columns} from results group by all) order by {order}"
        lines: dict[str, tuple[list[str], list[float]]] = {}
        for name, place, mean in self.sql(query).fetchall():
            places, means = lines.setdefault(str(name), ([], []))
            places.append(str(place))
            means.append(float("nan") if mean is None else float(mean))
        for name, (places, means) in lines.items():
            axes.plot(places, means, marker="o", label=name)
        axes.set_xlabel(x)
        axes.set_ylabel(f"mean {figure}")
        axes.legend()
        return axes

    def __len__(self) -> int:
        return int(self.sql("select count(*) from results").fetchall()[0][0])

    def __repr__(self) -> str:
        return f"<broadleaf.SweepResults of {str(self.folder)!r}: {len(self)} cells>"


def results(folder: str | os.PathLike[str]) -> SweepResults:
    """The results of sweeps in a folder, for SQL and plots. Needs DuckDB."""
    return SweepResults(folder)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

"""Sweeps: experiment files over the cores of this machine or over Dask, and their results."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _broadleaf
from ._dask import DaskSweep, Task, client_of
from ._display import SHOWN, html_list, html_table
from ._errors import InvalidInput
from ._progress import Progress, watched
from ._results import ArrowRows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FIGURES = ["page_faults", "l1_misses", "l2_misses", "walk_cycles"]
"""The figures of cells in a notebook."""

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

    def _repr_html_(self) -> str:
        counts = f"{self.cells:,} cells: {self.computed:,} computed, {self.finished:,} known before"
        failed = html_list([f"{trace}: {reason}" for trace, reason in self.failed.items()])
        failures = f"<p>Failed traces:</p>{failed}" if failed else ""
        return f"<div><p><b>{html.escape(str(self.folder))}</b>: {counts}</p>{failures}</div>"


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
        ``True`` for a bar, a function, or ``None`` for bars in notebooks. The bar moves within tasks, in accesses
        replayed. The page ``/broadleaf`` of the scheduler's dashboard shows rate and time left as well.

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
        plan = [Task(*task) for task in tasks]
        run = DaskSweep(folder, name, plan, dict(failed), threads or 1, cache, show, cells=cells, finished=finished)
        with client_of(scheduler) as client:
            run.run(client)
    return SweepOutcome(folder, cells, run.computed, finished, run.failed)


class SweepResults(ArrowRows):
    """The results of a folder: a table, and a view ``results`` for SQL. One row for each cell.

    The columns are those of :class:`Comparison`, and ``experiment``, ``cell`` (the key), ``memory_size``,
    ``memory_fragmentation``, ``memory_seed`` and the other keys of memory as the file has them.

    Parameters
    ----------
    folder
        The folder of results, which :func:`sweep` or the command wrote.
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
        """Runs a ``query`` of DuckDB on the view ``results``. The answer has ``df()``, ``pl()`` and ``arrow()``."""
        return self.connection.sql(query)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as a capsule of Arrow's C stream interface: polars, pandas, DuckDB and pyarrow read it.

        A ``requested_schema`` is ignored, as the interface allows.
        """
        stream: object = self.sql("from results").__arrow_c_stream__(requested_schema)
        return stream

    def means(self, *figures: str, by: str | list[str] = "policy") -> Any:
        """The means of figures in each group, as a relation of DuckDB.

        Parameters
        ----------
        figures
            Names of columns. The unit of a mean is that of its column (``broadleaf.metrics()``).
        by
            The column, or the columns, that make the groups.
        """
        groups = ", ".join(_quoted(name) for name in ([by] if isinstance(by, str) else by))
        means = ", ".join(f"avg({_quoted(name)}) as {_quoted(name)}" for name in figures)
        return self.sql(f"select {groups}, count(*) as cells, {means} from results group by all order by all")

    def plot(self, figure: str, x: str = "memory_size", by: str = "policy", axes: Axes | None = None) -> Axes:
        """Draws the mean of a figure against a column.

        Parameters
        ----------
        figure
            The column whose mean is drawn, in its unit (``broadleaf.metrics()``).
        x
            The column of the horizontal axis.
        by
            The column whose values have a line each.
        axes
            The axes to draw on; ``None`` makes some.
        """
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

    def _repr_html_(self) -> str:
        # Keys of memory that no cell has are left out.
        memory = [name for name in self.sql("from results limit 0").columns if name.startswith("memory_")]
        sizes = self.sql(f"select {', '.join(f'max(length({_quoted(name)}))' for name in memory)} from results")
        used = [name for name, size in zip(memory, sizes.fetchall()[0], strict=True) if size]
        names = ["experiment", "trace", "policy", "machine", *used, *_FIGURES]
        query = f"select {', '.join(map(_quoted, names))} from results order by all limit {SHOWN}"
        rows = [
            [f"{value:,}" if isinstance(value, int) else str(value) for value in row]
            for row in self.sql(query).fetchall()
        ]
        head = f"<p><b>{html.escape(str(self.folder))}</b>: {len(self):,} cells</p>"
        return f"<div>{head}{html_table([name.replace('_', ' ') for name in names], rows, len(self))}</div>"


def results(folder: str | os.PathLike[str]) -> SweepResults:
    """The results of sweeps in a folder, as a table, for SQL and for plots. Needs DuckDB.

    Parameters
    ----------
    folder
        The folder of results, which :func:`sweep` or the command wrote.

    Returns
    -------
    SweepResults
        One row for each cell of all experiments in the folder.
    """
    return SweepResults(folder)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

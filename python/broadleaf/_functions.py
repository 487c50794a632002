"""The functions of the package, over the extension."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _broadleaf
from ._broadleaf import Table, Trace
from ._memory import Memory, costs_text, memory_fields
from ._policy import Policy
from ._progress import Progress, watched
from ._results import Advice, Comparison, Info

TracePath = str | os.PathLike[str]
"""The path of a trace: a recording (``.bl``) or a text of Lackey."""

PolicyLike = str | Policy | type[Policy]
"""A policy: a name (``"pop-64"``), an expression (``"promote if populated >= 64"``), or a class."""

MachineLike = str | os.PathLike[str] | Mapping[str, Any]
"""A machine: a name (``"skylake"``), a pattern, a TOML file, a grid, or a dict with the keys of such a file."""


def listed(given: Any, kinds: tuple[type, ...]) -> list[Any]:
    """One value or several, as a list."""
    if given is None:
        return []
    if isinstance(given, kinds) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def machine_of(machine: MachineLike) -> Any:
    return dict(machine) if isinstance(machine, Mapping) else machine


def compare(
    trace: TracePath,
    policies: PolicyLike | Sequence[PolicyLike] | None = None,
    machines: MachineLike | Sequence[MachineLike] = "skylake",
    *,
    memory: Memory | int | str | None = None,
    curves: bool = False,
    restarts: bool = False,
    warm_up: float = 0.2,
    threads: int | None = None,
    keep_going: bool = False,
    max_accesses: int | None = None,
    cache: bool = True,
    progress: Progress = None,
) -> Comparison:
    """Replays a trace under policies, on machines, and returns what each saves and costs.

    Parameters
    ----------
    trace
        The trace.
    policies
        Names, expressions, and classes or objects with a method ``decide`` (:class:`Policy`). ``None`` compares the
        catalogue's default policies.
    machines
        Names, files, patterns, grids and dicts.
    memory
        The memory of each policy: a size in bytes, ``"512M"``, ``"75%"`` of the footprint, ``"unlimited"``, or a
        :class:`Memory`. ``None`` is memory that never runs short, without frames, which is much faster.
    curves
        Count the misses of TLBs of every other geometry too.
    restarts
        Let each instruction begin again after a TLB miss.
    warm_up
        The share of each window of a recording, from 0 to 0.99, that warms TLBs up before its misses count. It matters
        for the estimates of a recording in windows (``record(window=...)``) alone.
    threads
        The number of threads; no result depends on it.
    keep_going
        Read a damaged trace up to the damage.
    max_accesses
        The most accesses to read; ``None`` derives a limit from the size of the trace.
    cache
        Use the cache folder of reduced traces and results. It holds no result of a Python class.
    progress
        A function, or ``True`` for bars of tqdm, or ``False``. ``None`` shows bars in notebooks.

    Returns
    -------
    Comparison
        One row for each policy and machine: policies in the given order, machines within each.

    Raises
    ------
    InvalidInput
        If an argument or the trace is wrong.
    WorkFailed
        If the replay failed.
    Exception
        Whatever a policy raised, with its traceback. The replay ends at once.
    """
    chosen = listed(policies, (str, Policy, type))
    places = [machine_of(machine) for machine in listed(machines, (str, os.PathLike, Mapping))]
    with watched(progress) as show:
        native = _broadleaf.compare(
            os.fspath(trace),
            chosen,
            places,
            memory=memory_fields(memory),
            curves=curves,
            restarts=restarts,
            warm_up=warm_up,
            threads=threads,
            keep_going=keep_going,
            max_accesses=max_accesses,
            use_cache=cache,
            progress=show,
        )
    return Comparison(native)


def curve(
    trace: TracePath,
    policies: PolicyLike | Sequence[PolicyLike] = "4k",
    machines: MachineLike | Sequence[MachineLike] = "skylake",
    *,
    threads: int | None = None,
    max_accesses: int | None = None,
    cache: bool = True,
    progress: Progress = None,
) -> Table:
    """Miss-ratio curves: the misses of TLBs of many geometries, each for one page size, with exact LRU.

    Returns
    -------
    Table
        One row for each policy, machine and geometry: ``policy``, ``machine``, ``page_size`` (bytes), ``sets``,
        ``ways``, ``entries``, ``misses`` (lookups that miss) and ``accesses`` (loads plus stores of the trace).

    Raises
    ------
    InvalidInput
        If an argument or the trace is wrong.
    """
    comparison = compare(
        trace,
        policies,
        machines,
        curves=True,
        threads=threads,
        max_accesses=max_accesses,
        cache=cache,
        progress=progress,
    )
    return comparison.curves


def advise(
    trace: TracePath,
    machine: MachineLike = "skylake",
    *,
    policy: str = "offline(cycles=all,sizes=2m)",
    files: str = "disk",
    costs: Mapping[str, int] | str | None = None,
    by: str = "gain",
    threads: int | None = None,
    keep_going: bool = False,
    max_accesses: int | None = None,
    cache: bool = True,
    progress: Progress = None,
) -> Advice:
    """Finds the parts of a program's memory that are worth superpages, and the gain of each in cycles.

    Parameters
    ----------
    policy
        The policy that chooses with the whole trace in view: ``offline``, with parameters.
    files
        The place of file pages before their first use: ``"disk"`` or ``"memory"``.
    costs
        Event costs in cycles, as in :class:`Memory`.
    by
        The order of the ranges: ``"gain"`` (cycles), or ``"byte"`` (cycles for each byte of superpages).

    Raises
    ------
    InvalidInput
        If an argument or the trace is wrong.
    """
    with watched(progress) as show:
        native = _broadleaf.advise(
            os.fspath(trace),
            machine=machine_of(machine),
            policy=policy,
            files=files,
            costs=costs_text(costs),
            by=by,
            threads=threads,
            keep_going=keep_going,
            max_accesses=max_accesses,
            use_cache=cache,
            progress=show,
        )
    return Advice(native)


def info(
    trace: TracePath,
    *,
    keep_going: bool = False,
    max_accesses: int | None = None,
    progress: Progress = None,
) -> Info:
    """Describes a trace: its header, and counts of its accesses, pages, events, mappings and processes.

    Raises
    ------
    InvalidInput
        If the trace is damaged, or has addresses that no processor translates.
    """
    with watched(progress) as show:
        record, text = _broadleaf.info(
            os.fspath(trace), keep_going=keep_going, max_accesses=max_accesses, progress=show
        )
    return Info(json.loads(record), text)


def open_trace(trace: TracePath, *, keep_going: bool = False, max_accesses: int | None = None) -> Trace:
    """Opens a trace, whose visits and events are tables.

    ``visits()`` and ``events()`` are read while they are used, batch by batch: ``pyarrow.table(trace.visits())``,
    ``polars.DataFrame(trace.events())``.

    A row of visits is a run of references to one unit: ``unit`` (address divided by 4096, or by 64 at line grain),
    ``loads``, ``stores``, ``loads_before_store``, ``instructions``, ``lead`` (1 or 2 if the visit begins with the
    upper part of the last load or store of the visit before, else 0) and ``fetch``.

    A row of events is a change: ``visit`` (the visits before it), ``event`` (its kind) and the fields of that kind,
    such as ``start`` and ``bytes``. Other fields are null. ``command`` and ``frames`` are JSON text.

    Raises
    ------
    InvalidInput
        If the file is no trace.
    """
    return _broadleaf.open_trace(os.fspath(trace), keep_going=keep_going, max_accesses=max_accesses)


def write_trace(
    path: TracePath,
    visits: Any,
    events: Any = None,
    *,
    like: TracePath | Trace | None = None,
    grain: str = "page",
    instruction_counts: bool = False,
    instruction_pages: bool = False,
    children: bool = False,
    command: Sequence[str] = (),
    notes: Sequence[str] = (),
    force: bool = False,
    progress: Progress = None,
) -> Path:
    """Writes a trace from tables.

    Parameters
    ----------
    path
        The file to write.
    visits, events
        Tables with the columns of :func:`open_trace`: any object with ``__arrow_c_stream__``, such as a DataFrame of
        polars or pandas, or a ``pyarrow.Table``. Of visits, ``unit`` and ``loads`` or ``stores`` must be there.
        Events are sorted by ``visit``. Events of windows need ``like``.
    like
        A trace whose header is taken. Otherwise the other keywords make the header, and events of a whole system make
        the trace one of a whole system.
    grain
        The unit of visits: ``"page"`` or ``"line"``.
    instruction_counts, instruction_pages, children
        True if visits count instructions, hold fetches, and belong to several processes.

    Raises
    ------
    InvalidInput
        If the name is taken, a column is missing, or a visit or an event is invalid.
    """
    header = like.path if isinstance(like, Trace) else like
    with watched(progress) as show:
        _broadleaf.write_trace(
            os.fspath(path),
            visits,
            events,
            like=None if header is None else os.fspath(header),
            grain=grain,
            instruction_counts=instruction_counts,
            instruction_pages=instruction_pages,
            children=children,
            command=list(command),
            notes=list(notes),
            force=force,
            progress=show,
        )
    return Path(path)


def names(of: str) -> list[str]:
    """The names of a catalogue: ``"policies"``, ``"machines"``, ``"metrics"`` or ``"refusals"``."""
    return _broadleaf.names(of)


def metrics() -> dict[str, tuple[str, str]]:
    """The metrics by name: the unit and the meaning in a sentence."""
    return {name: (unit, sentence) for name, unit, sentence in _broadleaf.metrics()}

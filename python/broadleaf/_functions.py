"""Comparisons, curves, advice and catalogues, over the extension."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _broadleaf
from ._broadleaf import Table
from ._memory import Memory, costs_text, memory_fields
from ._policy import Policy
from ._progress import Progress, watched
from ._results import Advice, Comparison

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

    Parameters
    ----------
    trace
        The trace.
    policies
        Names, expressions, and classes or objects with a method ``decide``.
    machines
        Names, files, patterns, grids and dicts.
    threads
        The number of threads; no result depends on it.
    max_accesses
        The most accesses to read; ``None`` derives a limit from the size of the trace.
    cache
        Use the cache folder of reduced traces and results.
    progress
        A function, or ``True`` for bars of tqdm, or ``False``. ``None`` shows bars in notebooks.

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
    trace
        The trace, with the program's mappings.
    machine
        The machine whose walks are counted: a name, a file or a dict.
    policy
        The policy that chooses with the whole trace in view: ``offline``, with parameters.
    files
        The place of file pages before their first use: ``"disk"`` or ``"memory"``.
    costs
        Event costs in cycles, as in :class:`Memory`.
    by
        The order of the ranges: ``"gain"`` (cycles), or ``"byte"`` (cycles for each byte of superpages).
    threads
        The number of threads; no result depends on it.
    keep_going
        Read a damaged trace up to the damage.
    max_accesses
        The most accesses to read; ``None`` derives a limit from the size of the trace.
    cache
        Use the cache folder of reduced traces and results.
    progress
        A function, or ``True`` for bars of tqdm, or ``False``. ``None`` shows bars in notebooks.

    Returns
    -------
    Advice
        One row for each range of addresses, the best first: its bounds, the walks, faults and cycles that superpages
        spare, and the bytes that they add.

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


def names(of: str) -> list[str]:
    """The names of a catalogue.

    Parameters
    ----------
    of
        The catalogue: ``"policies"``, ``"machines"``, ``"metrics"`` or ``"refusals"``.

    Returns
    -------
    list[str]
        The names, in the catalogue's order.

    Raises
    ------
    InvalidInput
        If there is no such catalogue.
    """
    return _broadleaf.names(of)


def metrics() -> dict[str, tuple[str, str]]:
    """The metrics of results.

    Returns
    -------
    dict[str, tuple[str, str]]
        For each metric by its name: the unit, and the meaning in a sentence.
    """
    return {name: (unit, sentence) for name, unit, sentence in _broadleaf.metrics()}

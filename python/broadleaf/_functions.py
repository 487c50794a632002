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
from ._results import Advice, Comparison, Info, Recording, Validation

TracePath = str | os.PathLike[str]
"""The path of a trace: a recording (``.bl``) or a text of Lackey."""

PolicyLike = str | Policy | type[Policy]
"""A policy: a name (``"pop-64"``), an expression (``"promote if populated >= 64"``), or a class."""

MachineLike = str | os.PathLike[str] | Mapping[str, Any]
"""A machine: a name (``"skylake"``), a pattern, a TOML file, a grid, or a dict with the keys of such a file."""


def _listed(given: Any, kinds: tuple[type, ...]) -> list[Any]:
    """One value or several, as a list."""
    if given is None:
        return []
    if isinstance(given, kinds) or not isinstance(given, Iterable):
        return [given]
    return list(given)


def _text(given: str | int | None) -> str | None:
    return None if given is None else str(given)


def _machine(machine: MachineLike) -> Any:
    return dict(machine) if isinstance(machine, Mapping) else machine


def compare(
    trace: TracePath,
    policies: PolicyLike | Sequence[PolicyLike] | None = None,
    machines: MachineLike | Sequence[MachineLike] = "skylake",
    *,
    memory: Memory | int | str | None = None,
    curves: bool = False,
    restarts: bool = False,
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
    chosen = _listed(policies, (str, Policy, type))
    places = [_machine(machine) for machine in _listed(machines, (str, os.PathLike, Mapping))]
    with watched(progress) as show:
        native = _broadleaf.compare(
            os.fspath(trace),
            chosen,
            places,
            memory=memory_fields(memory),
            curves=curves,
            restarts=restarts,
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
        If an argument or the trace is wrong, or a policy needs frames of memory.
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
            machine=_machine(machine),
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


def record(
    command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: TracePath | None = None,
    *,
    engine: str = "valgrind",
    grain: str = "page",
    instructions: bool = False,
    follow_children: bool = False,
    sites: bool = False,
    align: str | Sequence[str] = (),
    skip: str | int | None = None,
    window: str | int | None = None,
    every: str | int | None = None,
    clock: str | None = None,
    clock_rate: int = 3500,
    measure: int | None = None,
    force: bool = False,
    progress: Progress = None,
) -> Recording:
    """Runs a program and records every load and store, and every change to its mappings.

    The program keeps the standard streams of this process, and runs 3 to 45 times slower. Ctrl-C asks the program to
    end; the trace is then whole up to the program's end, and ``KeyboardInterrupt`` is raised.

    Parameters
    ----------
    command
        The program and its arguments. A text is a program without arguments; no shell reads it.
    output
        The trace; ``None`` takes the first free name of ``PROGRAM.bl``, ``PROGRAM.1.bl`` and so on.
    engine
        ``"valgrind"``, or ``"qemu"`` for programs of x86-64 and AArch64 under QEMU.
    grain
        The unit of visits: ``"page"`` (4096 bytes) or ``"line"`` (64 bytes).
    instructions
        Record the pages that instructions are fetched from as well.
    follow_children
        Record the processes that the program starts as well.
    sites
        Record the call stack of each allocation as well.
    align
        Page sizes above 4 KiB (``"64k"``, ``["64k", "2m"]``): each mapping is aligned to the largest that its object
        is as large as.
    skip, window, every
        Record in windows: nothing of the first ``skip``, then ``window`` of each ``every``. A number counts accesses; a
        text has a unit (``"500M instructions"``, ``"2s"``).
    clock, clock_rate
        The clock that the program sees (``"program"``, the default, ``"date"`` or ``"wall"``), and its instructions in
        a microsecond. QEMU's programs see the real clock.
    measure
        First measure the run time with base pages and with huge pages, in this number of rounds; the trace keeps it.
    force
        Replace the file if it exists.

    Raises
    ------
    InvalidInput
        If the name is taken, or Valgrind cannot run the program.
    WorkFailed
        If the program was not found, or the recording failed.
    """
    words = [command] if isinstance(command, (str, os.PathLike)) else list(command)
    with watched(progress) as show:
        path, accesses, processes, code, signal, seconds, summary, cause = _broadleaf.record(
            [os.fspath(word) for word in words],
            output=None if output is None else os.fspath(output),
            engine=engine,
            grain=grain,
            instructions=instructions,
            follow_children=follow_children,
            sites=sites,
            align=[align] if isinstance(align, str) else list(align),
            skip=_text(skip),
            window=_text(window),
            every=_text(every),
            clock=clock,
            clock_rate=clock_rate,
            measure=measure,
            force=force,
            progress=show,
        )
    status = code if code is not None else -(signal or 0)
    return Recording(Path(path), accesses, processes, status, seconds, summary, cause)


def validate(
    command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    policies: str | Sequence[str] = "pop-256",
    machine: MachineLike | None = None,
    *,
    rounds: int = 7,
    set_switch: bool = False,
    counters: Mapping[str, TracePath] | None = None,
    keep: TracePath | None = None,
    force: bool = False,
    progress: Progress = None,
) -> Validation:
    """Predicts a program's behaviour with huge pages, measures it, and compares.

    The program runs with base pages, as the kernel makes huge pages, under the policies, and with huge pages wherever
    they fit, in turns. It is then recorded and replayed. Its runs have no input, and its standard output is thrown
    away. Ctrl-C ends the program.

    Parameters
    ----------
    command
        The program and its arguments. A text is a program without arguments; no shell reads it.
    policies
        Names of policies that can govern live processes.
    machine
        The machine of the predictions; ``None`` is this computer's.
    rounds
        The runs of each setting, after one that is dropped.
    set_switch
        Set the kernel's switch of huge pages while the program runs, and set it back. Needs root.
    counters
        For names of settings (``"never"``), files of ``perf stat -I 100 -x,`` whose misses are drawn beside those of
        the model.
    keep
        The file to keep the recording in; ``None`` removes it.
    force
        Replace that file if it exists.

    Raises
    ------
    InvalidInput
        If an argument is wrong.
    WorkFailed
        If the program failed, or this machine cannot make huge pages for it.
    """
    words = [command] if isinstance(command, (str, os.PathLike)) else list(command)
    with watched(progress) as show:
        report, text = _broadleaf.validate(
            [os.fspath(word) for word in words],
            policies=_listed(policies, (str,)),
            machine=None if machine is None else _machine(machine),
            rounds=rounds,
            set_switch=set_switch,
            counters=[(setting, os.fspath(path)) for setting, path in (counters or {}).items()],
            keep=None if keep is None else os.fspath(keep),
            force=force,
            progress=show,
        )
    return Validation(json.loads(report), text)


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
        Events are sorted by ``visit``.
    like
        A trace whose header is taken. Otherwise the other keywords make the header.
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

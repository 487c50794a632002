"""Traces: their description, and their visits and events as tables."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import _broadleaf
from ._broadleaf import Trace
from ._functions import TracePath
from ._progress import Progress, watched
from ._results import Info


def info(
    trace: TracePath,
    *,
    keep_going: bool = False,
    max_accesses: int | None = None,
    progress: Progress = None,
) -> Info:
    """Describes a trace: its header, and counts of its accesses, pages, events, mappings and processes.

    Parameters
    ----------
    trace
        The trace.
    keep_going
        Read a damaged trace up to the damage.
    max_accesses
        The most accesses to read; ``None`` derives a limit from the size of the trace.
    progress
        A function, or ``True`` for bars of tqdm, or ``False``. ``None`` shows bars in notebooks.

    Returns
    -------
    Info
        The counts: accesses are loads plus stores, and pages are base pages of 4096 bytes.

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

    Parameters
    ----------
    trace
        The trace.
    keep_going
        Read a damaged trace up to the damage.
    max_accesses
        The most accesses to read; ``None`` derives a limit from the size of the trace.

    Returns
    -------
    Trace
        The trace, whose ``visits()`` and ``events()`` are tables of Arrow with one row for each visit and each event.
        ``start`` is an address, ``bytes`` a number of bytes, and counts are numbers of references.

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
        The unit of visits: ``"page"`` (4096 bytes) or ``"line"`` (64 bytes).
    instruction_counts, instruction_pages, children
        True if visits count instructions, hold fetches, and belong to several processes.
    command
        The program and its arguments, for the header.
    notes
        Sentences on the origin of the trace, for the header.
    force
        Replace the file if it exists.
    progress
        A function, or ``True`` for bars of tqdm, or ``False``. ``None`` shows bars in notebooks.

    Returns
    -------
    Path
        The file, which is whole.

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

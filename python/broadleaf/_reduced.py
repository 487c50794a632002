"""Reduced forms of traces, whole or in parts that several machines make."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import _broadleaf
from ._errors import InvalidInput
from ._functions import TracePath, listed
from ._progress import Progress, watched


def reduce(
    trace: TracePath,
    output: TracePath | None = None,
    *,
    part: tuple[int, int] | None = None,
    machines: TracePath | Sequence[TracePath] = "skylake",
    threads: int | None = None,
    max_accesses: int | None = None,
    force: bool = False,
    progress: Progress = None,
) -> Path:
    """Writes the reduced form of a trace, which :func:`compare` reads in its place, faster and with the same counts.

    Workers of a cluster can each make one part. :func:`join_parts` joins them.

    Parameters
    ----------
    trace
        The trace, a file.
    output
        The file to write. ``None`` is ``TRACE.reduced``, where :func:`compare` looks.
    part
        The number of the part to make, from 1, and the number of parts: ``(1, 64)`` is the first of 64. ``None`` makes
        the whole form.
    machines
        The machines whose counts are wanted later: names, patterns, grids and TOML files.
    threads
        The number of threads; no byte of the file depends on it.
    max_accesses
        The most accesses to read; ``None`` derives a limit from the size of the trace.
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
        If an argument or the trace is wrong, or the name is taken.
    WorkFailed
        If the trace changed meanwhile, or the disk is full.
    """
    places = listed(machines, (str, os.PathLike, Mapping))
    if any(isinstance(machine, Mapping) for machine in places):
        raise InvalidInput("machines: a reduced form needs machines by name or file: write the dict to a TOML file")
    with watched(progress) as show:
        return _broadleaf.reduce(
            os.fspath(trace),
            part=None if part is None else (part[0], part[1]),
            machines=[os.fspath(machine) for machine in places],
            output=None if output is None else os.fspath(output),
            force=force,
            threads=threads,
            max_accesses=max_accesses,
            progress=show,
        )


def join_parts(
    parts: TracePath | Sequence[TracePath], output: TracePath, *, force: bool = False, progress: Progress = None
) -> Path:
    """Joins the parts of a reduced form. The file equals, to the byte, the form that one machine makes of the trace.

    Parameters
    ----------
    parts
        The files of all parts, in any order.
    output
        The file to write: ``TRACE.reduced`` beside the trace is where :func:`compare` looks.
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
        If a part is missing, given twice, damaged or of another trace, or the name is taken.
    WorkFailed
        If the disk is full.
    """
    with watched(progress) as show:
        files = [os.fspath(part) for part in listed(parts, (str, os.PathLike))]
        return _broadleaf.join_parts(files, os.fspath(output), force=force, progress=show)

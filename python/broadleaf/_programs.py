"""Functions that run programs: recordings, and predictions beside measurements."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import _broadleaf
from ._functions import MachineLike, TracePath, listed, machine_of
from ._progress import Progress, watched
from ._results import Recording, Validation


def _text(given: str | int | None) -> str | None:
    return None if given is None else str(given)


def record(
    command: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: TracePath | None = None,
    *,
    engine: str = "valgrind",
    grain: str = "page",
    instructions: bool = False,
    code: bool = False,
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
    code
        Keep the bytes of executed instructions, for machines whose cores follow them. They also need
        ``grain="line"`` and ``instructions=True``.
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
        a microsecond. QEMU's programs see the real clock, and have neither.
    measure
        First measure the run time with base pages and with huge pages, in this number of rounds; the trace keeps it.
    force
        Replace the file if it exists.
    progress
        A function, or ``True`` for bars of tqdm, or ``False``. ``None`` shows bars in notebooks.

    Returns
    -------
    Recording
        The path of the trace, its accesses (loads plus stores), the processes, the program's exit status, and the time
        in seconds.

    Raises
    ------
    InvalidInput
        If the name is taken, or Valgrind cannot run the program.
    WorkFailed
        If the program was not found, or the recording failed.
    """
    words = [command] if isinstance(command, (str, os.PathLike)) else list(command)
    with watched(progress) as show:
        path, accesses, processes, exit_code, signal, seconds, summary, cause = _broadleaf.record(
            [os.fspath(word) for word in words],
            output=None if output is None else os.fspath(output),
            engine=engine,
            grain=grain,
            instructions=instructions,
            code=code,
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
    status = exit_code if exit_code is not None else -(signal or 0)
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
    progress
        A function, or ``True`` for bars of tqdm, or ``False``. ``None`` shows bars in notebooks.

    Returns
    -------
    Validation
        For each setting of huge pages, the predicted and the measured run time (seconds) and the huge pages.

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
            policies=listed(policies, (str,)),
            machine=None if machine is None else machine_of(machine),
            rounds=rounds,
            set_switch=set_switch,
            counters=[(setting, os.fspath(path)) for setting, path in (counters or {}).items()],
            keep=None if keep is None else os.fspath(keep),
            force=force,
            progress=show,
        )
    return Validation(json.loads(report), text)

"""Memory of a comparison: its size and its state at the start."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

Path = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Memory that is modelled down to the frame.

    Parameters
    ----------
    size
        Bytes, a size (``"512M"``), a share of the program's footprint (``"75%"``), or ``"unlimited"``. Without a size,
        memory is unlimited if another parameter is given.
    after
        Traces of programs that ran before in the same memory.
    occupied
        The share of memory that is occupied at first: ``0.3`` or ``"30%"``.
    fragmentation
        The share of free memory in free blocks of 2 MiB, from 0 to 1.
    pagetypeinfo, buddyinfo
        Recorded files of ``/proc``, from which memory begins.
    movable
        The share of occupied memory that the kernel can move.
    seed
        The seed of the places of occupied memory.
    swap
        The size of the swap, as ``size``.
    code
        True if memory holds the pages of instructions too.
    files
        The place of file pages before their first use: ``"disk"`` or ``"memory"``.
    allocator
        The rule that chooses frames: ``"buddy"``, ``"first-fit"`` and others.
    pools
        The share of memory for superpages, with the allocator ``"pools"``.
    rate
        Accesses per second, which converts periods in seconds.
    costs
        Event costs in cycles: ``{"fault": 900}`` or ``"fault=900,disk=30000"``.
    """

    size: int | str | None = None
    after: Sequence[Path] | None = None
    occupied: float | str | None = None
    fragmentation: float | str | None = None
    pagetypeinfo: Path | None = None
    buddyinfo: Path | None = None
    movable: float | str | None = None
    seed: int | None = None
    swap: int | str | None = None
    code: bool | None = None
    files: str | None = None
    allocator: str | None = None
    pools: float | str | None = None
    rate: float | str | None = None
    costs: Mapping[str, int] | str | None = None


def costs_text(costs: Mapping[str, int] | str | None) -> str | None:
    """Costs in the notation of the command."""
    if costs is None or isinstance(costs, str):
        return costs
    return ",".join(f"{name}={cycles}" for name, cycles in costs.items())


def memory_fields(memory: Memory | int | str | None) -> dict[str, Any]:
    """The fields that are set, as the extension takes them."""
    if memory is None:
        return {}
    if not isinstance(memory, Memory):
        memory = Memory(size=memory)
    given = {of.name: getattr(memory, of.name) for of in fields(memory)}
    given = {name: value for name, value in given.items() if value is not None}
    for name in ("size", "swap"):
        if isinstance(given.get(name), int):
            given[name] = f"{given[name]}B" if given[name] >= 4096 else str(given[name])
    for name in ("occupied", "fragmentation", "movable", "pools", "rate"):
        if name in given:
            given[name] = str(given[name])
    if "costs" in given:
        given["costs"] = costs_text(given["costs"])
    if "after" in given:
        given["after"] = [os.fspath(path) for path in given["after"]]
    return given

"""Parts of machines as Python classes: replacement rules of TLBs, and page tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

Mapped = tuple[int, int, int | None]
"""A mapped page: its first page of 4096 bytes, the number of such pages, and its first frame of 4096 bytes (``None``
for the page of zeroes)."""

Read = tuple[int, int, bool]
"""A read of a walk: the physical address in bytes, the number of bytes, and true for the first read of a node."""


class ReplacementRule:
    """The base of replacement rules that are Python classes: which entry of a set makes room.

    A machine dict names the class in place of a rule: ``{"name": "tlb", ..., "replacement": MyRule}``. The engine makes
    an object for each TLB structure of each policy, copies it by ``copy.deepcopy`` where it copies a TLB, and calls it
    at hits and misses of that structure.

    Parameters
    ----------
    sets
        The number of sets of the structure.
    ways
        The number of entries of each set.
    """

    fills_unused_first: ClassVar[bool] = True
    """True if a new translation takes the first unused way, if there is one, without asking."""

    counts_uses: ClassVar[bool] = False
    """True if the rule needs ``repeat``. Then every reference is replayed."""

    def __init__(self, sets: int, ways: int) -> None:
        self.sets = sets
        self.ways = ways

    def hit(self, set: int, way: int) -> None:
        """Notes a hit in a way of a set."""

    def fill(self, set: int, way: int) -> None:
        """Notes a new translation in a way of a set."""

    def victim(self, set: int, ways: list[str]) -> int:
        """Returns the way that makes room.

        ``ways`` says of each way whether it is ``"unused"``, ``"used"`` or ``"locked"``. At least one is not locked,
        and the rule returns no locked way.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method victim(set, ways)")

    def repeat(self, set: int, way: int, times: int) -> None:
        """Notes that ``times`` more hits followed the last hit or fill. Complete only with ``counts_uses``."""


class PageTable:
    """The base of page tables that are Python classes: what a walk reads.

    A machine dict names the class in place of a table: ``{"name": "mine", ..., "page-table": MyTable}``. The engine
    knows which page is mapped where, and asks the class what a walk reads. It makes an object for each policy.

    Parameters
    ----------
    base_bytes
        The size of a base page in bytes.
    """

    def __init__(self, base_bytes: int) -> None:
        self.base_bytes = base_bytes

    def map(self, space: int, page: int, pages: int, frame: int | None) -> None:
        """Notes a mapped page of an address space: see :data:`Mapped`."""

    def unmap(self, space: int, page: int, pages: int) -> None:
        """Notes that a mapped page is no longer mapped."""

    def end(self, space: int) -> None:
        """Notes the end of an address space."""

    def walk(self, space: int, page: int, mapped: Mapped | None) -> Iterable[Read]:
        """Returns what a walk for a page of 4096 bytes reads, in order. ``mapped`` is the page that holds it."""
        raise NotImplementedError(f"{type(self).__name__} has no method walk(space, page, mapped)")

    def size(self) -> tuple[int, int]:
        """The memory of the table: nodes, and bytes of all nodes."""
        return (0, 0)

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
        """Notes a hit in the entry ``way`` of the set ``set``."""

    def fill(self, set: int, way: int) -> None:
        """Notes a new translation in the entry ``way`` of the set ``set``."""

    def victim(self, set: int, ways: list[str]) -> int:
        """Returns the way of the set ``set`` that makes room.

        ``ways`` says of each way whether it is ``"unused"``, ``"used"`` or ``"locked"``. At least one is not locked,
        and the rule returns no locked way.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method victim(set, ways)")

    def repeat(self, set: int, way: int, times: int) -> None:
        """Notes ``times`` more hits in the entry ``way`` of the set ``set``.

        The hits followed the last hit or fill of the entry. Complete only with ``counts_uses``.
        """


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
        """Notes a mapped page of the address space ``space``.

        ``page``, ``pages`` and ``frame`` are those of :data:`Mapped`: numbers of 4096 bytes.
        """

    def unmap(self, space: int, page: int, pages: int) -> None:
        """Notes that ``pages`` from ``page`` on, mapped before in the space ``space``, are mapped no longer."""

    def end(self, space: int) -> None:
        """Notes the end of the address space ``space``."""

    def walk(self, space: int, page: int, mapped: Mapped | None) -> Iterable[Read]:
        """Returns the reads of a walk of the space ``space`` for ``page``, a page of 4096 bytes, in order.

        ``mapped`` is the mapped page that holds it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method walk(space, page, mapped)")

    def size(self) -> tuple[int, int]:
        """The memory of the table: nodes, and bytes of all nodes."""
        return (0, 0)

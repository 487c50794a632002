"""Replacement rules and page tables as Python classes: equal to those of the catalogue."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import broadleaf
import pytest
from conftest import write_filled


@pytest.fixture
def scattered(tmp_path: Path) -> Path:
    """A trace of references to 600 pages, some of them more often than others."""
    chance = random.Random(7)
    pages = [int(600 * chance.random() ** 2) * 13 for _ in range(20_000)]
    return write_filled(tmp_path / "scattered.bl", pages)


def skylake(golden: Path, name: str, rule: object = "lru", table: object = None) -> dict[str, Any]:
    """Skylake under another name, with a rule in its second level and a page table."""
    machine = tomllib.loads((golden.parents[1] / "machines/skylake.toml").read_text())
    machine["name"] = name
    machine["tlb"][-1].update(entries=96, ways=12, replacement=rule)
    machine["tlb"][-1]["index"] = {"4k": "va[14:12]", "2m": "va[23:21]"}
    if table is not None:
        machine["page-table"] = table
        machine["walk-lines"] = {"bytes": 64}
    return machine


class MyLru(broadleaf.ReplacementRule):
    """Exact LRU."""

    def __init__(self, sets: int, ways: int) -> None:
        super().__init__(sets, ways)
        self.order: list[list[int]] = [list(range(ways)) for _ in range(sets)]

    def hit(self, set: int, way: int) -> None:
        self.order[set].remove(way)
        self.order[set].append(way)

    def fill(self, set: int, way: int) -> None:
        self.hit(set, way)

    def victim(self, set: int, ways: list[str]) -> int:
        return next(way for way in self.order[set] if ways[way] != "locked")


class MyFifo(MyLru):
    """FIFO: a hit changes nothing."""

    def hit(self, set: int, way: int) -> None:
        pass

    def fill(self, set: int, way: int) -> None:
        super().hit(set, way)


def counts(result: dict[str, Any]) -> dict[str, Any]:
    """A result without the name of its machine."""
    return {name: value for name, value in result.items() if name != "machine"}


@pytest.mark.parametrize(("rule", "name"), [(MyLru, "lru"), (MyFifo, "fifo")])
@pytest.mark.parametrize("policies", [["4k"], ["pop-64", "linux"]])
def test_a_rule_has_the_counts_of_its_equal(
    scattered: Path, golden: Path, rule: type[broadleaf.ReplacementRule], name: str, policies: list[str]
) -> None:
    machines = [skylake(golden, "theirs", name), skylake(golden, "ours", rule)]
    results = broadleaf.compare(scattered, policies, machines, memory="unlimited").results
    for theirs, ours in zip(results[::2], results[1::2], strict=True):
        assert (theirs["machine"], ours["machine"]) == ("theirs", "ours")
        # Exact LRU has a state of its own in the engine, which counts less beside hits and misses.
        both = counts(theirs).keys() & counts(ours).keys()
        assert {"l1_misses", "l2_misses", "walk_cycles", "page_faults"} <= both
        assert all(ours[count] == theirs[count] for count in both)
        assert name == "lru" or counts(ours) == counts(theirs)
        assert ours["l2_misses"] > 600 or policies != ["4k"]


def test_a_rule_that_is_changed_has_other_counts(scattered: Path, golden: Path) -> None:
    """No cache keeps results of a class, whose name says nothing of it."""

    def named_rule(base: type[MyLru]) -> type[MyLru]:
        return type("Rule", (base,), {})

    first = broadleaf.compare(scattered, "4k", skylake(golden, "ours", named_rule(MyLru))).results[0]
    second = broadleaf.compare(scattered, "4k", skylake(golden, "ours", named_rule(MyFifo))).results[0]
    assert first["l2_misses"] != second["l2_misses"]


def test_an_exception_of_a_rule_ends_the_replay(scattered: Path, golden: Path) -> None:
    class Broken(MyLru):
        def victim(self, set: int, ways: list[str]) -> int:
            raise LookupError("no victim")

    class Outside(MyLru):
        def victim(self, set: int, ways: list[str]) -> int:
            return 12

    with pytest.raises(LookupError, match="no victim") as raised:
        broadleaf.compare(scattered, "4k", skylake(golden, "ours", Broken))
    assert raised.traceback[-1].name == "victim"
    with pytest.raises(ValueError, match=r"Outside: victim returned way 12 of set \d, which the set does not have"):
        broadleaf.compare(scattered, "4k", skylake(golden, "ours", Outside))


class MyRadix(broadleaf.PageTable):
    """The radix tree of x86-64: four levels of 512 entries of 8 bytes. Nodes are numbered as they are made."""

    def __init__(self, base_bytes: int) -> None:
        super().__init__(base_bytes)
        self.nodes: dict[tuple[int, int, int], int] = {}

    def levels(self, space: int, page: int, pages: int) -> list[tuple[int, tuple[int, int, int]]]:
        """The entry and the node of each level, from the root to the leaf."""
        leaf = {1: 0, 512: 1, 512 * 512: 2}[pages]
        return [
            (page >> 9 * level & 511, (space, level, page >> 9 * (level + 1))) for level in range(3, leaf - 1, -1)
        ]

    def map(self, space: int, page: int, pages: int, frame: int | None) -> None:
        for _, node in self.levels(space, page, pages):
            self.nodes.setdefault(node, len(self.nodes))

    def walk(self, space: int, page: int, mapped: broadleaf.Mapped | None) -> Iterator[broadleaf.Read]:
        assert mapped is not None
        for entry, node in self.levels(space, page, mapped[1]):
            yield (self.nodes[node] * 4096 + entry * 8, 8, True)

    def size(self) -> tuple[int, int]:
        return (len(self.nodes), len(self.nodes) * 4096)


def test_a_page_table_has_the_walks_of_its_equal(scattered: Path, golden: Path) -> None:
    machines = [skylake(golden, "theirs", table="x86-64"), skylake(golden, "ours", table=MyRadix)]
    results = broadleaf.compare(scattered, ["4k", "pop-64"], machines, memory="unlimited").results
    for theirs, ours in zip(results[::2], results[1::2], strict=True):
        # The levels of a class are one.
        for result in (ours, theirs):
            del result["table_level_bytes"]
        assert counts(ours) == counts(theirs)
        assert ours["table_lines"] > ours["walks_4k"] > 0


def test_an_exception_of_a_page_table_ends_the_replay(scattered: Path, golden: Path) -> None:
    class Broken(MyRadix):
        def walk(self, space: int, page: int, mapped: broadleaf.Mapped | None) -> Iterator[broadleaf.Read]:
            yield (0, 8, True)
            raise LookupError(f"no walk to {page}")

    with pytest.raises(LookupError, match="no walk to"):
        broadleaf.compare(scattered, "4k", skylake(golden, "ours", table=Broken))

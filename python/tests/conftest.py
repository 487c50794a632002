"""Traces for the tests."""

from __future__ import annotations

from pathlib import Path

import broadleaf
import pyarrow as pa
import pytest

START = 0x1000_0000
"""The first address of the mapping of `filled`, a multiple of 2 MiB."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def write_filled(path: Path, pages: list[int], *, anonymous_blocks: int = 16) -> Path:
    """A trace that stores to these pages of one mapping of anonymous memory."""
    visits = pa.table(
        {
            "unit": pa.array([(START >> 12) + page for page in pages], pa.uint64()),
            "stores": pa.array([1] * len(pages), pa.uint32()),
        }
    )
    events = pa.table(
        {
            "visit": [0, 0],
            "event": ["space_start", "map"],
            "pid": [41, None],
            "parent": [1, None],
            "command": ['["filled"]', None],
            "start": [None, START],
            "bytes": [None, anonymous_blocks << 21],
            "rights": [None, "rw-"],
            "shared": [None, False],
            "backing": [None, "anonymous"],
        }
    )
    return broadleaf.write_trace(path, visits, events)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A trace that fills blocks of 2 MiB to different parts, and goes back to them."""
    pages = [block * 512 + page for block in range(12) for page in range((block + 1) * 40)]
    return write_filled(tmp_path / "filled.bl", pages + pages[::3])


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """A trace that takes a while under a policy in Python."""
    pages = [(number * 7919) % 4096 for number in range(400_000)]
    return write_filled(tmp_path / "long.bl", pages)


@pytest.fixture
def golden() -> Path:
    """The folder of recordings of the repository."""
    return Path(__file__).parents[2] / "tests/golden"

"""Reduced forms of traces, and the join of their parts."""

from __future__ import annotations

from pathlib import Path

import broadleaf
import pytest


def test_joined_parts_are_the_reduced_form(golden: Path, tmp_path: Path) -> None:
    trace = golden / "sort.bl"
    whole = broadleaf.reduce(trace, tmp_path / "whole", machines=["skylake", "zen2"])
    names = [str(tmp_path / f"part{number}") for number in (1, 2, 3)]
    parts = [
        broadleaf.reduce(trace, name, part=(number, 3), machines="skylake,zen2", threads=1)
        for number, name in enumerate(names, 1)
    ]
    assert parts == [Path(name) for name in names]
    seen: list[str] = []
    joined = broadleaf.join_parts(
        parts[::-1], tmp_path / "joined", progress=lambda doing, done, total, unit: seen.append(doing)
    )
    assert seen
    assert joined.read_bytes() == whole.read_bytes()
    ours, theirs = (broadleaf.compare(form, ["4k", "pop-64"], cache=False).results for form in (joined, trace))
    assert [result["walk_cycles"] for result in ours] == [result["walk_cycles"] for result in theirs]


def test_a_reduced_form_lies_beside_its_trace(filled: Path) -> None:
    assert broadleaf.reduce(filled) == filled.with_name("filled.bl.reduced")
    with pytest.raises(broadleaf.InvalidInput, match="filled.bl.reduced"):
        broadleaf.reduce(filled)
    broadleaf.reduce(filled, force=True)


def test_parts_that_are_no_parts_are_refused(filled: Path, tmp_path: Path) -> None:
    with pytest.raises(broadleaf.InvalidInput, match=r"part=\(3, 2\): give a number from 1"):
        broadleaf.reduce(filled, tmp_path / "part", part=(3, 2))
    with pytest.raises(broadleaf.InvalidInput, match=r"part=\(-1, 2\): give a number from 1"):
        broadleaf.reduce(filled, tmp_path / "part", part=(-1, 2))
    with pytest.raises(broadleaf.InvalidInput, match="no machine is given"):
        broadleaf.reduce(filled, tmp_path / "part", machines=[])
    for output in ("", "-"):
        with pytest.raises(broadleaf.InvalidInput, match="give a file"):
            broadleaf.reduce(filled, output)
    with pytest.raises(broadleaf.InvalidInput, match="a part needs an output"):
        broadleaf.reduce(filled, part=(1, 2))
    one = broadleaf.reduce(filled, tmp_path / "one", part=(1, 2))
    with pytest.raises(broadleaf.InvalidInput, match="part"):
        broadleaf.join_parts([one], tmp_path / "joined")
    with pytest.raises(broadleaf.InvalidInput, match="one of 2 parts, and these are missing: 2/2"):
        broadleaf.join_parts(str(one), tmp_path / "joined")
    assert not (tmp_path / "joined").exists()


def test_an_exception_of_the_progress_ends_the_work(long: Path, tmp_path: Path) -> None:
    def stop(doing: str, done: int, total: int | None, unit: str) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        broadleaf.reduce(long, tmp_path / "reduced", progress=stop)
    assert not (tmp_path / "reduced").exists()

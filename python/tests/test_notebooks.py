"""The notebooks of the book run, and their committed form is an executed one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs/book/notebooks").glob("*.ipynb"))


def test_each_work_has_one() -> None:
    names = [path.stem for path in NOTEBOOKS]
    assert names == ["chen2014", "navarro2002", "romer1995", "talluri1995", "zhu2018"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_as_it_was_kept(path: Path, tmp_path: Path) -> None:
    kept: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    run: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    # A cell that fails raises its error here.
    NotebookClient(run, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    for before, after in zip(kept.cells, run.cells, strict=True):
        if before.cell_type == "code":
            # Counts differ with the program's version; the kinds of results do not.
            assert _kinds(before) == _kinds(after), before.source


def _kinds(cell: Any) -> list[tuple[str, list[str]]]:
    return [(output.output_type, sorted(output.get("data", {}))) for output in cell.outputs]

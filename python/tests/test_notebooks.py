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
            pages = [output for output in after.outputs if _is_page(output)]
            assert len(pages) == int(".report(" in before.source), before.source
            # A report page is not kept: it is that of the package which runs.
            assert not any(_is_page(output) for output in before.outputs), before.source
            rest = [output for output in after.outputs if not _is_page(output)]
            assert _kinds(before.outputs) == _kinds(rest), before.source


def _is_page(output: Any) -> bool:
    html: str = output.get("data", {}).get("text/html", "")
    return html.startswith("<iframe ")


def _kinds(outputs: list[Any]) -> list[tuple[str, list[str]]]:
    return [(output.output_type, sorted(output.get("data", {}))) for output in outputs]

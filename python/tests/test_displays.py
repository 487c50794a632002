"""Displays of results in notebooks, progress bars there, and results of sweeps as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import broadleaf
import duckdb
import nbformat
import polars
import pyarrow as pa
from dask_processes import EXPERIMENT, SMALL, write_experiment
from nbclient import NotebookClient


def outputs(source: str, folder: Path) -> list[Any]:
    """The outputs of a cell in a kernel of its own."""
    v4: Any = nbformat.v4
    notebook = v4.new_notebook(cells=[v4.new_code_cell(source)])
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": folder}}).execute()
    found: list[Any] = notebook.cells[0].outputs
    return found


def streamed(found: list[Any]) -> str:
    return "".join(output["text"] for output in found if output["output_type"] == "stream")


def test_a_recording_has_a_display() -> None:
    recording = broadleaf.Recording(Path("a<b>.bl"), 1_234_567, 2, 0, 3.21, "1.2 M accesses in 3 KiB", None)
    shown = recording._repr_html_()
    assert "a&lt;b&gt;.bl" in shown and "<b>.bl" not in shown
    assert "<td>accesses</td><td>1,234,567</td>" in shown and "<td>seconds</td><td>3.2</td>" in shown
    assert "<td>end</td><td>status 0</td>" in shown and "<li>1.2 M accesses in 3 KiB</li>" in shown
    failed = broadleaf.Recording(Path("a.bl"), 1, 1, -9, 3.21, "ended", "out of memory")._repr_html_()
    assert "<td>signal 9</td>" in failed and "<li>out of memory</li>" in failed


def test_a_sweep_has_a_display(tmp_path: Path) -> None:
    outcome = broadleaf.SweepOutcome(tmp_path, 1080, 1000, 40, {"t<1>.bl": "is damaged"})
    shown = outcome._repr_html_()
    assert "1,080 cells: 1,000 computed, 40 known before" in shown
    assert "<li>t&lt;1&gt;.bl: is damaged</li>" in shown
    assert "Failed" not in broadleaf.SweepOutcome(tmp_path, 1, 1, 0)._repr_html_()


def test_results_of_a_sweep_are_a_table_and_have_a_display(tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=2, text=EXPERIMENT)
    results = broadleaf.sweep(file, tmp_path / "out").results()
    wanted = results.sql("select cell, policy, walk_cycles from results order by cell").fetchall()
    table = pa.table(results)
    assert table.num_rows == len(results) == 80
    assert table.column_names == results.sql("from results").columns
    frame = results.to_polars().sort("cell").select("cell", "policy", "walk_cycles")
    assert frame.rows() == wanted
    assert polars.DataFrame(results).shape == (80, table.num_columns)
    assert len(results.to_pandas()) == 80
    assert results.to_arrow().equals(table)
    found = duckdb.sql("select cell, policy, walk_cycles from results order by cell")
    assert found is not None and found.fetchall() == wanted
    shown = results._repr_html_()
    assert "80 cells" in shown and "<p>40 more rows</p>" in shown
    for name in ("experiment", "trace", "policy", "machine", "memory size", "memory seed", "walk cycles"):
        assert f"<th>{name}</th>" in shown
    # No cell has a swap.
    assert "memory swap" not in shown
    assert shown.count("<tr>") == 41


def test_results_without_memory_have_a_display(tmp_path: Path) -> None:
    text = 'name = "grid"\ntraces = "trace*.bl"\npolicies = ["4k", "pop-64"]\n'
    results = broadleaf.sweep(write_experiment(tmp_path / "in", traces=1, text=text), tmp_path / "out").results()
    shown = results._repr_html_()
    assert shown.count("<tr>") == 3 and "<th>memory" not in shown and "more rows" not in shown


def test_a_report_is_one_line_of_markdown(filled: Path) -> None:
    # A blank line would end the HTML of a page of Markdown.
    shown = broadleaf.compare(filled, "4k").report()._repr_html_()
    assert shown.startswith("<iframe ") and "\n" not in shown


def test_bars_appear_in_a_notebook(tmp_path: Path, long: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=2, visits=50_000, text=SMALL)
    work = f"""
import broadleaf
broadleaf._progress.SHORT = 0
compared = broadleaf.compare({str(long)!r}, ["4k", "pop-64"], cache=False, progress=PROGRESS)
swept = broadleaf.sweep({str(file)!r}, OUT, cache=False, progress=PROGRESS)
"""
    by_itself = work.replace("PROGRESS", "None").replace("OUT", repr(str(tmp_path / "one")))
    text = streamed(outputs(by_itself, tmp_path))
    assert "comparing" in text and "sweeping 8 cells" in text and "accesses/s" in text
    silent = work.replace("PROGRESS", "False").replace("OUT", repr(str(tmp_path / "two")))
    assert streamed(outputs(silent, tmp_path)) == ""


def test_a_report_is_shown_inline_in_a_notebook(tmp_path: Path, filled: Path) -> None:
    (output,) = outputs(f"import broadleaf\nbroadleaf.compare({str(filled)!r}, '4k').report(height=300)", tmp_path)
    shown = output["data"]["text/html"]
    assert shown.startswith("<iframe srcdoc=") and 'height="300"' in shown
    assert len(shown) > 50_000


def test_control_c_ends_a_comparison_in_a_notebook(tmp_path: Path, long: Path) -> None:
    source = f"""
import _thread, broadleaf
def show(*_):
    _thread.interrupt_main()
try:
    broadleaf.compare({str(long)!r}, ["4k", "linux"], memory="64M", cache=False, progress=show)
except KeyboardInterrupt:
    print("interrupted")
"""
    assert streamed(outputs(source, tmp_path)) == "interrupted\n"

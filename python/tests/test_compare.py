"""Comparisons: the figures of the command, tables, machines as dicts, and errors."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import broadleaf
import duckdb
import polars
import pyarrow as pa
import pytest

COMMAND = os.environ.get("BROADLEAF")
needs_command = pytest.mark.skipif(COMMAND is None, reason="BROADLEAF names the command")


def command(*arguments: str | Path) -> str:
    """The output of the command."""
    assert COMMAND is not None
    done = subprocess.run([COMMAND, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


@needs_command
def test_a_comparison_is_that_of_the_command(golden: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(golden.parents[1])
    for memory in ([], ["--memory", "75%", "--seed", "7"]):
        theirs = json.loads(
            command("compare", "tests/golden/blocks.bl", "--policy", "4k,pop-64,linux", "--format", "json", *memory)
        )
        asked = broadleaf.Memory(size="75%", seed=7) if memory else None
        ours = broadleaf.compare("tests/golden/blocks.bl", ["4k", "pop-64", "linux"], memory=asked).to_dict()
        # A package and a command may be built from different commits.
        for record in (theirs, ours):
            del record["provenance"]
        assert ours["results"] == theirs["results"]
        assert ours["trace"] == theirs["trace"]
        assert ours["notes"] == theirs["notes"]


def test_every_library_reads_the_table(filled: Path) -> None:
    comparison = broadleaf.compare(filled, ["4k", "pop-64"], ["skylake", "zen2"])
    assert len(comparison) == 4
    arrow = pa.table(comparison)
    assert arrow.column_names == comparison.table.column_names
    assert comparison.to_arrow().equals(arrow)
    wanted = [(result["policy"], result["machine"], result["walk_cycles"]) for result in comparison.results]
    frame = comparison.to_polars()
    assert frame.select("policy", "machine", "walk_cycles").rows() == wanted
    pandas = comparison.to_pandas()
    assert list(zip(pandas["policy"], pandas["machine"], pandas["walk_cycles"], strict=True)) == wanted
    found = duckdb.sql("select policy, machine, walk_cycles from comparison")
    assert found is not None and found.fetchall() == wanted
    assert arrow.schema.field("walk_cycles").type == pa.uint64()
    assert set(arrow.column_names) >= {"trace_hash", "page_faults", "refusal_too_few_resident"}
    assert comparison.result("pop-64", "zen2")["machine"] == "zen2"
    with pytest.raises(KeyError):
        comparison.result("pop-64")


def test_the_table_is_not_copied(filled: Path) -> None:
    table = broadleaf.compare(filled, ["4k"]).table
    first, second = (pa.table(table)["walk_cycles"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == second


def test_a_machine_is_a_dict(filled: Path, golden: Path) -> None:
    text = (golden.parents[1] / "machines/skylake.toml").read_text()
    machine = tomllib.loads(text)
    by_name = broadleaf.compare(filled, "pop-64").results[0]
    assert broadleaf.compare(filled, "pop-64", machine).results[0] == by_name
    machine["name"] = "small"
    machine["tlb"][-1]["entries"] = 768
    machine["tlb"][-1]["ways"] = 6
    two = broadleaf.compare(filled, "4k", ["skylake", machine])
    assert [result["machine"] for result in two.results] == ["skylake", "small"]
    assert two.results[0]["l2_misses"] < two.results[1]["l2_misses"]

    def refused(change: dict[str, Any], message: str) -> None:
        with pytest.raises(broadleaf.InvalidInput) as raised:
            broadleaf.compare(filled, "4k", {**machine, **change})
        assert message in str(raised.value), str(raised.value)

    refused({"tlbs": 1}, "no key is called \"tlbs\"")
    refused({"name": None}, "None is no value of a machine")
    message = "machine small: `ways = 5`: 32 entries do not divide into sets of 5 ways"
    refused({"tlb": [{**machine["tlb"][0], "ways": 5}]}, message)
    with pytest.raises(broadleaf.InvalidInput, match="two machines are called skylake"):
        broadleaf.compare(filled, "4k", ["skylake", {**machine, "name": "skylake"}])


def test_errors_are_those_of_the_command(filled: Path, tmp_path: Path) -> None:
    def refused(message: str, *arguments: Any, **keywords: Any) -> None:
        with pytest.raises(broadleaf.InvalidInput) as raised:
            broadleaf.compare(*arguments, **keywords)
        assert message in str(raised.value), str(raised.value)

    refused("cannot read it: No such file or directory", tmp_path / "none.bl")
    refused('no policy is called "pup-64"; did you mean pop-64?', filled, "pup-64")
    refused('no machine is called "skylak"; did you mean skylake', filled, machines="skylak")
    refused('memory: size: "much" is no size', filled, memory="much")
    refused('no cost is called "foult"', filled, memory=broadleaf.Memory(size="1G", costs={"foult": 1}))
    refused('files="tape" is unknown: write disk, memory', filled, memory=broadleaf.Memory(size="1G", files="tape"))
    refused("threads=0", filled, threads=0)
    damaged = tmp_path / "damaged.bl"
    damaged.write_bytes(filled.read_bytes()[:-30])
    refused("--keep-going", damaged)
    assert broadleaf.compare(damaged, "4k", keep_going=True).to_dict()["damage"]
    assert issubclass(broadleaf.InvalidInput, ValueError)
    assert issubclass(broadleaf.WorkFailed, RuntimeError)


def test_memory_in_bytes_is_exact(filled: Path) -> None:
    for size in (64 << 20, (64 << 20) + 4096):
        record = broadleaf.compare(filled, "4k", memory=size).to_dict()
        assert record["memory"]["bytes"] == size


def test_progress_is_reported_and_may_fail(long: Path) -> None:
    seen: list[tuple[str, int, int | None, str]] = []

    def note(doing: str, done: int, total: int | None, unit: str) -> None:
        seen.append((doing, done, total, unit))

    broadleaf.compare(long, ["4k", "linux"], memory="64M", cache=False, progress=note)
    assert seen[0] == ("comparing", 0, 400_000, "accesses")
    amounts = [done for doing, done, _, _ in seen if doing == "comparing"]
    assert amounts == sorted(amounts)

    def fail(*_: object) -> None:
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        broadleaf.compare(long, ["4k", "linux"], memory="64M", cache=False, progress=fail)


def test_bars_are_drawn_unless_work_is_short(
    long: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broadleaf.info(long, progress=True)
    assert "reading" not in capsys.readouterr().err
    monkeypatch.setattr("broadleaf._progress.SHORT", 0)
    broadleaf.compare(long, "4k", cache=False, progress=True)
    assert "comparing" in capsys.readouterr().err
    broadleaf.compare(long, "4k", cache=False)
    assert capsys.readouterr().err == ""


def test_curves_are_a_table(filled: Path) -> None:
    curve = polars.DataFrame(broadleaf.curve(filled))
    assert curve.columns == ["policy", "machine", "page_size", "sets", "ways", "entries", "misses", "accesses"]
    assert set(curve["page_size"]) == {4096, 2 << 20}
    full = curve.filter(polars.col("sets") == 1, polars.col("page_size") == 4096).sort("entries")
    assert full["misses"].is_sorted(descending=True)
    comparison = broadleaf.compare(filled, "4k", curves=True)
    assert polars.DataFrame(comparison.curves).equals(curve)
    assert comparison.svg().startswith("<svg")
    assert len(broadleaf.compare(filled, "4k").curves) == 0


def test_results_have_a_display(filled: Path) -> None:
    comparison = broadleaf.compare(filled, ["4k", "pop-64"])
    shown = comparison._repr_html_()
    assert "<table>" in shown and "pop-64" in shown and "filled.bl" in shown
    report = comparison.report(height=400)
    assert 'id="broadleaf-records"' in report.html and "pop-64" in report.html
    inline = report._repr_html_()
    assert inline.startswith("<iframe srcdoc=") and 'height="400"' in inline and "<script" not in inline
    assert "walk cycles" in str(comparison)
    assert repr(comparison).endswith("2 results>")


def test_advice_is_a_table(filled: Path) -> None:
    advice = broadleaf.advise(filled, costs={"fault": 5000})
    frame = advice.to_polars()
    assert len(advice) == len(advice.to_dict()["ranges"]) == frame.height > 0
    assert frame["cycles_gained"].is_sorted(descending=True)
    assert "MADV_HUGEPAGE" in advice.format("madvise", top=1)
    assert "<table>" in advice._repr_html_()
    with pytest.raises(broadleaf.InvalidInput, match="no format is called"):
        advice.format("prose")
    with pytest.raises(broadleaf.InvalidInput):
        advice.format("folded")
    with pytest.raises(broadleaf.InvalidInput, match="gives no advice"):
        broadleaf.advise(filled, policy="pop-64")


def test_warnings_go_to_the_logger(filled: Path, caplog: pytest.LogCaptureFixture) -> None:
    broadleaf.compare(filled, ["pop-64", "pop(64)"])
    assert "is named more than once" in caplog.text


def test_names_are_those_of_the_catalogues() -> None:
    assert {"4k", "linux"} <= set(broadleaf.names("policies"))
    assert "skylake" in broadleaf.names("machines")
    unit, sentence = broadleaf.metrics()["walk_cycles"]
    assert unit == "cycles" and sentence.endswith(".")
    with pytest.raises(broadleaf.InvalidInput, match="no catalogue is called"):
        broadleaf.names("things")

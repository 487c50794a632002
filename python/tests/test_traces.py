"""Traces as tables, and recordings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import broadleaf
import pandas
import polars
import pyarrow as pa
import pytest


@pytest.mark.parametrize("name", ["blocks", "children", "sort"])
def test_a_trace_that_is_read_and_written_has_the_same_content(golden: Path, tmp_path: Path, name: str) -> None:
    trace = broadleaf.open_trace(golden / f"{name}.bl")
    first = broadleaf.write_trace(tmp_path / "1.bl", trace.visits(1000), trace.events(7), like=trace)
    again = broadleaf.open_trace(first)
    assert again.content_hash() == trace.content_hash()
    assert polars.DataFrame(again.visits()).equals(polars.DataFrame(trace.visits()))
    assert polars.DataFrame(again.events()).equals(polars.DataFrame(trace.events()))
    assert (again.command, again.grain, again.notes) == (trace.command, trace.grain, trace.notes)
    # A trace that Python wrote has the same bytes when Python writes it again.
    second = broadleaf.write_trace(tmp_path / "2.bl", again.visits(), again.events(), like=again)
    assert broadleaf.info(second).hash == broadleaf.info(first).hash
    policies = ["4k", "pop-64", "linux"]
    both = [broadleaf.compare(path, policies, memory="unlimited").results for path in (trace.path, first)]
    for result in both[0] + both[1]:
        # Memory is sampled at the ends of visits, and a writer joins visits that a chunk split.
        del result["over_time"]
    assert both[0] == both[1]


def test_every_library_writes_a_trace(golden: Path, tmp_path: Path) -> None:
    trace = broadleaf.open_trace(golden / "children.bl")
    visits, events = pa.table(trace.visits()), pa.table(trace.events())
    tables = {
        "polars": (polars.DataFrame(trace.visits()), polars.DataFrame(trace.events())),
        "pandas": (visits.to_pandas(), events.to_pandas(types_mapper=pandas.ArrowDtype)),
        "arrow": (visits, events),
    }
    for name, (of_visits, of_events) in tables.items():
        path = broadleaf.write_trace(tmp_path / f"{name}.bl", of_visits, of_events, like=trace)
        assert broadleaf.open_trace(path).content_hash() == trace.content_hash(), name


def test_the_content_hash_sees_a_change(filled: Path, tmp_path: Path) -> None:
    trace = broadleaf.open_trace(filled)
    visits = polars.DataFrame(trace.visits())
    other = visits.with_columns(unit=polars.col("unit") + (polars.int_range(polars.len()) == 17))
    assert other["unit"].dtype == polars.UInt64
    path = broadleaf.write_trace(tmp_path / "other.bl", other, trace.events(), like=trace)
    assert broadleaf.open_trace(path).content_hash() != trace.content_hash()


def test_visits_and_events_are_counted_by_info(golden: Path) -> None:
    for path in sorted(golden.glob("*.bl")):
        trace, info = broadleaf.open_trace(path), broadleaf.info(path)
        visits = polars.DataFrame(trace.visits(batch_size=4096))
        assert visits.select(polars.col("loads").sum() + polars.col("stores").sum()).item() == info.accesses
        events = polars.DataFrame(trace.events())
        assert dict(events["event"].value_counts().rows()) == info.to_dict()["events"]
        assert events["visit"].is_sorted()


def test_wrong_tables_are_refused(tmp_path: Path) -> None:
    def refused(message: str, visits: dict[str, list[object]], events: dict[str, list[object]] | None = None) -> None:
        table = None if events is None else pa.table(events)
        with pytest.raises(broadleaf.InvalidInput) as raised:
            broadleaf.write_trace(tmp_path / "x.bl", pa.table(visits), table)
        assert message in str(raised.value), str(raised.value)
        assert not (tmp_path / "x.bl").exists()

    refused('no column is called "unit" (there are loads)', {"loads": [1]})
    refused('no column is called "loads" or "stores"', {"unit": [1]})
    refused('the column "unit" has the type Utf8', {"unit": ["a"], "loads": [1]})
    refused('the column "loads" holds -1, out of range', {"unit": [1], "loads": [-1]})
    refused('the column "unit" has no value in row 1', {"unit": [1, None], "loads": [1, 1]})
    refused("visit 0: ", {"unit": [1], "loads": [1], "stores": [1], "loads_before_store": [2]})
    refused('the column "lead" holds 3', {"unit": [1], "loads": [1], "lead": [3]})
    visits: dict[str, list[object]] = {"unit": [1, 2], "loads": [1, 1]}
    refused('no event is called "mop"', visits, {"visit": [0], "event": ["mop"]})
    refused('the column "start" has no value for the event "unmap"', visits, {"visit": [0], "event": ["unmap"]})
    refused("sort the table", visits, {"visit": [1, 0], "event": ["space_end", "space_end"]})


def test_a_name_that_is_taken_is_refused(filled: Path) -> None:
    visits = pa.table({"unit": [1], "loads": [1]})
    with pytest.raises(broadleaf.InvalidInput, match="exists"):
        broadleaf.write_trace(filled, visits)
    assert broadleaf.info(broadleaf.write_trace(filled, visits, force=True)).accesses == 1


def test_damage_ends_a_table_with_its_place(filled: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.bl"
    damaged.write_bytes(filled.read_bytes()[:-30])
    with pytest.raises(Exception, match=r"damaged\.bl: .*cut short|ends early|damaged"):
        pa.table(broadleaf.open_trace(damaged).visits())
    assert pa.table(broadleaf.open_trace(damaged, keep_going=True).visits()).num_rows > 0
    with pytest.raises(broadleaf.InvalidInput, match="is not a trace"):
        broadleaf.open_trace(__file__)


def test_a_program_is_recorded(tmp_path: Path) -> None:
    output = tmp_path / "true.bl"
    recording = broadleaf.record(["sh", "-c", "exit 3"], output)
    assert (recording.path, recording.returncode) == (output, 3)
    assert recording.accesses == broadleaf.info(recording).accesses > 0
    assert broadleaf.compare(recording, "4k").results[0]["accesses"] == recording.accesses
    with pytest.raises(broadleaf.InvalidInput, match="exists"):
        broadleaf.record("true", output)
    with pytest.raises(broadleaf.WorkFailed, match="no-such-program: cannot run it"):
        broadleaf.record("no-such-program", tmp_path / "x.bl")
    with pytest.raises(broadleaf.InvalidInput, match='grain="byte" is unknown: write page, line'):
        broadleaf.record("true", tmp_path / "x.bl", grain="byte")


def test_ctrl_c_ends_a_recording(tmp_path: Path) -> None:
    program = """
        import broadleaf, sys
        try:
            broadleaf.record(["sleep", "60"], "sleep.bl")
        except KeyboardInterrupt:
            sys.exit(broadleaf.info("sleep.bl").accesses == 0)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], cwd=tmp_path, env=os.environ)
    while not list(tmp_path.glob("*.bl")):
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0


def system_events() -> dict[str, list[object]]:
    """Two spaces of a whole system, each with a page."""
    return {
        "visit": [0, 0, 1, 2, 2],
        "event": ["system_space", "leaf", "system_space", "page_fault", "system_space_end"],
        "space": [1, None, 2, None, None],
        "start": [None, 0x20_0000, None, None, None],
        "bytes": [None, 1 << 21, None, None, None],
        "to_start": [None, 0x40_0000, None, None, None],
        "rights": [None, "rw-", None, None, None],
        "shared": [None, False, None, None, None],
        "touch": [None, "program", None, "handled", None],
    }


def test_a_whole_system_is_written_with_its_header_and_version(tmp_path: Path) -> None:
    visits = pa.table({"unit": [512, 513], "loads": [1, 1], "instructions": [3, 4]})
    events = pa.table(system_events())
    first = broadleaf.write_trace(tmp_path / "1.bl", visits, events, instruction_counts=True)
    trace = broadleaf.open_trace(first)
    assert pa.table(trace.events())["event"].to_pylist() == ["space_switch", *system_events()["event"]]
    assert pa.table(trace.visits())["instructions"].to_pylist() == [3, 4]
    second = broadleaf.write_trace(tmp_path / "2.bl", trace.visits(), trace.events(), like=trace)
    assert first.read_bytes()[10:12] == second.read_bytes()[10:12] == b"\x04\x00"
    assert broadleaf.info(second).hash == broadleaf.info(first).hash
    assert broadleaf.open_trace(second).content_hash() == trace.content_hash()


def test_rows_that_no_header_announces_are_refused(filled: Path, tmp_path: Path) -> None:
    visits = pa.table({"unit": [512, 513], "loads": [1, 1]})
    window = pa.table(
        {"visit": [0], "event": ["window"], "border": ["end"], "accesses": [1], "instructions": [1]}
    )
    for events, like, words in [
        (window, None, "event 0 is of windows"),
        (window, filled, "event 0 is of windows"),
        (pa.table(system_events()), filled, "event 0 is of a whole system"),
    ]:
        with pytest.raises(broadleaf.InvalidInput, match=words):
            broadleaf.write_trace(tmp_path / "x.bl", visits, events, like=like)
        assert not (tmp_path / "x.bl").exists()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("bytes", 3 * 4096, "the size of a page of x86-64"),
        ("bytes", 0, "the size of a page of x86-64"),
        ("start", 0x20_1000, "write a multiple of 2097152"),
        ("to_start", 1, "write a multiple of 2097152"),
    ],
)
def test_a_leaf_has_a_size_and_is_aligned(tmp_path: Path, column: str, value: int, words: str) -> None:
    visits = pa.table({"unit": [512, 513], "loads": [1, 1]})
    events = system_events()
    events[column][1] = value
    with pytest.raises(broadleaf.InvalidInput, match=words):
        broadleaf.write_trace(tmp_path / "x.bl", visits, pa.table(events))

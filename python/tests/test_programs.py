"""Functions that run programs."""

from __future__ import annotations

from pathlib import Path

import broadleaf
import pytest

SCRIPT = "BEGIN { while (i < 60000) count[i * 7919 % 60007] = i++ }"


def test_a_recording_in_windows_holds_a_part(tmp_path: Path) -> None:
    whole = broadleaf.record(["awk", SCRIPT], tmp_path / "whole.bl")
    part = broadleaf.record(
        ["awk", SCRIPT], tmp_path / "part.bl", skip="100k", window=50_000, every="1M"
    )
    assert part.returncode == 0
    assert 50_000 <= part.accesses < whole.accesses / 4
    windows = broadleaf.info(tmp_path / "part.bl").record["windows"]
    assert windows
    # A longer warm-up leaves more of each window out.
    counted = {}
    for share in (0.0, 0.5):
        result = broadleaf.compare(tmp_path / "part.bl", "4k", warm_up=share).results[0]
        assert result["estimates"]["warm_up"] == share
        counted[share] = sum(window["accesses"] for window in result["estimates"]["windows"])
    assert counted[0.0] == part.accesses and 0.4 < counted[0.5] / counted[0.0] < 0.6
    for share in (-0.1, 1.0):
        with pytest.raises(broadleaf.InvalidInput, match="from 0 to 0.99"):
            broadleaf.compare(tmp_path / "part.bl", "4k", warm_up=share)


def test_cores_follow_the_code_of_a_recording(tmp_path: Path) -> None:
    coded = tmp_path / "coded.bl"
    short = "BEGIN { for (i = 0; i < 300; i++) s += i % 7; print s }"
    broadleaf.record(["awk", short], coded, grain="line", instructions=True, code=True)
    result = broadleaf.compare(coded, "4k", "zen5-core").results[0]
    assert 0 < result["mispredicted_branches"] < result["cycles"]
    with pytest.raises(broadleaf.InvalidInput, match="--code"):
        broadleaf.record("true", tmp_path / "x.bl", engine="qemu", code=True)


def test_mappings_are_aligned(tmp_path: Path) -> None:
    broadleaf.record(["awk", SCRIPT], tmp_path / "aligned.bl", align=["64k", "2m"])
    events = broadleaf.open_trace(tmp_path / "aligned.bl").events()
    assert events is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"engine": "gdb"}, "engine"),
        ({"align": "3k"}, "no page size above 4k"),
        ({"measure": 0}, "at least 1"),
        ({"engine": "qemu", "sites": True}, "--sites is an option of --engine valgrind"),
        ({"engine": "qemu", "skip": "1M"}, "--skip is an option of --engine valgrind"),
        ({"engine": "qemu", "clock": "date"}, "--clock date is an option of --engine"),
        ({"engine": "qemu", "clock_rate": 100}, "--clock-rate is an option of --engine"),
        ({"skip": "1 mile"}, "skip"),
        ({"skip": "1M", "window": "2s"}, "one unit"),
    ],
)
def test_wrong_requests_are_refused(
    tmp_path: Path, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(broadleaf.InvalidInput, match=words):
        broadleaf.record(["awk", SCRIPT], tmp_path / "x.bl", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "x.bl").exists()


def test_predictions_are_compared_with_measurements(tmp_path: Path) -> None:
    kept = tmp_path / "kept.bl"
    try:
        validation = broadleaf.validate(["awk", SCRIPT], "pop-64", "skylake", rounds=1, keep=kept)
    except broadleaf.WorkFailed as error:
        pytest.skip(f"this machine cannot make huge pages for programs: {error}")
    names = [setting["name"] for setting in validation.settings]
    assert names[0] == "never" and names[-1] == "all huge" and "pop-64" in names
    assert "pop-64" in str(validation) and "<pre>" in validation._repr_html_()
    assert broadleaf.info(kept).accesses > 100_000
    # The recording holds the run times at both ends.
    with pytest.raises(broadleaf.InvalidInput, match="exists already"):
        broadleaf.validate(["awk", SCRIPT], keep=kept)


def test_wrong_validations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(broadleaf.InvalidInput, match="no policy is called"):
        broadleaf.validate(["true"], "pup-64", "skylake", rounds=1)
    with pytest.raises(broadleaf.InvalidInput, match="at least 1"):
        broadleaf.validate(["true"], rounds=0)
    with pytest.raises(broadleaf.InvalidInput):
        broadleaf.validate(["true"], counters={"never": tmp_path / "none.csv"})

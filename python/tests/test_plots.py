"""Plots: the points that they draw."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import broadleaf
import matplotlib
import pytest
from broadleaf import plots

matplotlib.use("Agg")


def test_curves_are_drawn(filled: Path) -> None:
    comparison = broadleaf.compare(filled, ["4k", "pop-64"], curves=True)
    axes = plots.miss_ratio_curves(comparison)
    lines: dict[Any, Any] = {line.get_label(): line for line in axes.get_lines()}
    assert {"4k, 4 KiB", "pop-64, 4 KiB", "pop-64, 2 MiB"} == set(lines)
    result = comparison.result("4k")
    wanted = [
        (float(point["ways"]), point["misses"] / result["accesses"])
        for point in result["curve"]
        if point["sets"] == 1 and point["page_size"] == 4096
    ]
    drawn = lines["4k, 4 KiB"].get_xydata()
    assert [tuple(map(float, point)) for point in drawn] == sorted(wanted)
    assert plots.miss_ratio_curves(comparison, ways=4, axes=axes) is axes
    with pytest.raises(broadleaf.InvalidInput, match="has no curves"):
        plots.miss_ratio_curves(broadleaf.compare(filled, "4k"))


def test_gain_is_drawn_against_memory(filled: Path) -> None:
    comparison = broadleaf.compare(filled, ["4k", "pop-64", "greedy"])
    axes = plots.gain_against_memory(comparison)
    base, greedy = comparison.result("4k"), comparison.result("greedy")
    lines: Any = axes.get_lines()
    points = {line.get_label(): line.get_xydata()[0] for line in lines}
    assert tuple(points["4k"]) == (0, 0)
    added = 100 * (greedy["peak_resident_pages"] / base["peak_resident_pages"] - 1)
    saved = 100 * (1 - greedy["walk_cycles"] / base["walk_cycles"])
    assert tuple(points["greedy"]) == pytest.approx((added, saved))
    with pytest.raises(broadleaf.InvalidInput, match="the policy 4k was not compared"):
        plots.gain_against_memory(broadleaf.compare(filled, "pop-64"))
    two = broadleaf.compare(filled, "4k", ["skylake", "zen2"])
    with pytest.raises(broadleaf.InvalidInput, match="name one of skylake, zen2"):
        plots.gain_against_memory(two)
    assert plots.gain_against_memory(two, machine="zen2").get_title() == "zen2"


def test_metrics_are_drawn_as_bars(filled: Path) -> None:
    comparison = broadleaf.compare(filled, ["4k", "pop-64"], ["skylake", "zen2"])
    axes = plots.policies(comparison, "page_faults")
    bars: Any = axes.patches
    heights = [bar.get_height() for bar in bars]
    results = sorted(comparison.results, key=lambda result: result["machine"])
    assert heights == [result["page_faults"] for result in results]
    with pytest.raises(broadleaf.InvalidInput, match="metric='no_metric'"):
        plots.policies(comparison, "no_metric")

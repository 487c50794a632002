"""Plots for notebooks, by matplotlib: ``pip install 'broadleaf[plots]'``.

Each function draws into the given axes, or into new ones, and returns the axes.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._errors import InvalidInput
from ._results import Comparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["gain_against_memory", "miss_ratio_curves", "policies"]


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("broadleaf.plots needs matplotlib: pip install 'broadleaf[plots]'") from None
    # Long names of policies and metrics stay within the picture.
    _, made = pyplot.subplots(layout="constrained")
    return made


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    return comparison.results


def _one_machine(comparison: Comparison, machine: str | None) -> str:
    machines = list(dict.fromkeys(result["machine"] for result in _rows(comparison)))
    if machine is None and len(machines) == 1:
        return str(machines[0])
    if machine is None or machine not in machines:
        raise InvalidInput(f"machine={machine!r}: name one of {', '.join(machines)}")
    return machine


def miss_ratio_curves(
    comparison: Comparison,
    *,
    ways: int | None = None,
    machine: str | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws misses per access against the entries of a TLB: one line for each policy and page size.

    Parameters
    ----------
    comparison
        A comparison with ``curves=True``.
    ways
        The associativity; ``None`` draws fully associative TLBs.
    machine
        The machine; ``None`` is the only one.
    axes
        The axes to draw on; ``None`` makes some.

    Returns
    -------
    Axes
        The axes of matplotlib.

    Raises
    ------
    InvalidInput
        If the comparison has no curves, or several machines and none is named.
    """
    machine = _one_machine(comparison, machine)
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for result in _rows(comparison):
        if result["machine"] != machine:
            continue
        if "curve" not in result:
            raise InvalidInput("the comparison has no curves: compare(..., curves=True)")
        for point in result["curve"]:
            is_wanted = point["sets"] == 1 if ways is None else point["ways"] == ways
            if is_wanted and any(other["misses"] for other in _of_size(result, point["page_size"])):
                entries = point["sets"] * point["ways"]
                line = lines.setdefault((result["policy"], point["page_size"]), [])
                line.append((entries, point["misses"] / max(1, result["accesses"])))
    axes = _axes(axes)
    for (policy, size), points in lines.items():
        entries, ratios = zip(*sorted(points), strict=True)
        axes.plot(entries, ratios, marker=".", label=f"{policy}, {_size(size)}")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("entries of the TLB" + ("" if ways is None else f", {ways} ways"))
    axes.set_ylabel("misses per access")
    axes.set_title(machine)
    if lines:
        axes.legend()
    return axes


def _of_size(result: Mapping[str, Any], size: int) -> list[dict[str, Any]]:
    return [point for point in result["curve"] if point["page_size"] == size]


def gain_against_memory(
    comparison: Comparison,
    *,
    baseline: str = "4k",
    machine: str | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws what each policy saves against the memory that it adds: one point for each policy.

    The horizontal axis is the change of the peak of memory, and the vertical axis the walk cycles saved. Both are
    percentages of the baseline.

    Parameters
    ----------
    comparison
        A comparison that has the baseline.
    baseline
        The policy to compare with, by its name in results.
    machine
        The machine; ``None`` is the only one.
    axes
        The axes to draw on; ``None`` makes some.

    Returns
    -------
    Axes
        The axes of matplotlib.

    Raises
    ------
    InvalidInput
        If the baseline was not compared, or there are several machines and none is named.
    """
    machine = _one_machine(comparison, machine)
    results = [result for result in _rows(comparison) if result["machine"] == machine]
    base = next((result for result in results if result["policy"] == baseline), None)
    if base is None:
        raise InvalidInput(f"the policy {baseline} was not compared: add it, or name another baseline")
    axes = _axes(axes)
    for result in results:
        added = _percent(result["peak_resident_pages"], base["peak_resident_pages"])
        saved = -_percent(result["walk_cycles"], base["walk_cycles"])
        axes.plot([added], [saved], marker="o", linestyle="none", label=result["policy"])
        axes.annotate(result["policy"], (added, saved), xytext=(4, 4), textcoords="offset points")
    axes.set_xlabel(f"peak of memory added, % of {baseline}")
    axes.set_ylabel(f"walk cycles saved, % of {baseline}")
    axes.set_title(machine)
    return axes


def _percent(value: int, base: int) -> float:
    return 100 * (value - base) / max(1, base)


def policies(
    comparison: Comparison,
    metric: str = "walk_cycles",
    *,
    machines: Sequence[str] | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draws a metric as bars: one group for each policy, one bar for each machine.

    Parameters
    ----------
    comparison
        The comparison.
    metric
        The metric, drawn in its unit (``broadleaf.metrics()``).
    machines
        The machines; ``None`` is all.
    axes
        The axes to draw on; ``None`` makes some.

    Returns
    -------
    Axes
        The axes of matplotlib.

    Raises
    ------
    InvalidInput
        If there is no such metric or machine, or a result lacks the metric.
    """
    from ._functions import metrics

    rows = _rows(comparison)
    named = list(dict.fromkeys(result["machine"] for result in rows)) if machines is None else list(machines)
    names = list(dict.fromkeys(result["policy"] for result in rows))
    values = {(result["policy"], result["machine"]): result.get(metric) for result in rows}
    if metric not in metrics():
        near = "".join(f"; did you mean {one}?" for one in difflib.get_close_matches(metric, metrics(), 1))
        raise InvalidInput(f"metric={metric!r}: there is no such metric{near}")
    known = list(dict.fromkeys(result["machine"] for result in rows))
    if missing := [machine for machine in named if machine not in known]:
        raise InvalidInput(f"machines: the comparison has no {missing[0]}; it has {', '.join(known)}")
    axes = _axes(axes)
    width = 0.8 / max(1, len(named))
    for number, machine in enumerate(named):
        heights = [values.get((policy, machine)) for policy in names]
        if not all(isinstance(height, (int, float)) for height in heights):
            raise InvalidInput(f"metric={metric!r}: not all results on {machine} have a number for it")
        places = [place + (number - (len(named) - 1) / 2) * width for place in range(len(names))]
        axes.bar(places, [float(height or 0) for height in heights], width=width, label=machine)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    unit = metrics().get(metric, ("", ""))[0]
    axes.set_ylabel(f"{metric} ({unit})" if unit else metric)
    if len(named) > 1:
        axes.legend()
    return axes


def _size(size: int) -> str:
    for shift, letter in ((30, "G"), (20, "M"), (10, "K")):
        if size >> shift:
            return f"{size >> shift} {letter}iB"
    return f"{size} B"

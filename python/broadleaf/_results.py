"""Results, with tables for every library that reads Arrow and a display for notebooks."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _broadleaf
from ._broadleaf import Table
from ._display import Report, html_list, html_table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class ArrowRows:
    """A result that is a table of Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule of Arrow's C stream interface: polars, pandas, DuckDB and pyarrow read it."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """The table as a ``pyarrow.Table``, without a copy. Needs pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a ``pandas.DataFrame``. Needs pandas and pyarrow."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table as a ``polars.DataFrame``, without a copy. Needs polars."""
        import polars

        frame = polars.DataFrame(self)
        return frame


class _ArrowResult(ArrowRows):
    """A result that is a table: one row for each cell or range."""

    @cached_property
    def table(self) -> Table:
        """The table in Arrow's memory layout. The class describes its columns."""
        return self._make_table()

    def _make_table(self) -> Table:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table as a capsule of Arrow's C stream interface: polars, pandas, DuckDB and pyarrow read it."""
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.table)


class Comparison(_ArrowResult):
    """The results of a comparison: one row for each policy and machine.

    The columns are those of ``broadleaf compare --format parquet``. ``broadleaf.metrics()`` gives the unit and the
    meaning of each column.

    Parameters
    ----------
    native
        The object of the extension. ``compare`` makes it.
    """

    def __init__(self, native: _broadleaf.Comparison) -> None:
        self._native = native

    def _make_table(self) -> Table:
        return self._native.table()

    @cached_property
    def curves(self) -> Table:
        """The miss-ratio curves: ``policy``, ``machine``, ``page_size`` (bytes), ``sets``, ``ways``, ``entries``,
        ``misses`` and ``accesses``. One row for each geometry of a TLB; no row without ``curves=True``."""
        return self._native.curves()

    @cached_property
    def _record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads(self._native.json())
        return record

    def to_dict(self) -> dict[str, Any]:
        """The comparison as ``broadleaf compare --format json`` prints it, schema ``broadleaf.compare/1``."""
        record: dict[str, Any] = json.loads(self._native.json())
        return record

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results, as dicts of metrics."""
        results: list[dict[str, Any]] = self._record["results"]
        return results

    def result(self, policy: str, machine: str | None = None) -> dict[str, Any]:
        """The result of a policy.

        Parameters
        ----------
        policy
            The policy by its name in results, or as it was asked for.
        machine
            The machine; ``None`` is the only one that has such a result.

        Raises
        ------
        KeyError
            If there is none, or several machines have one and none is named.
        """
        found = [
            result
            for result in self.results
            if policy in (result["policy"], result.get("asked")) and machine in (None, result["machine"])
        ]
        if len(found) != 1:
            raise KeyError(f"{len(found)} results are of policy {policy!r} and machine {machine!r}")
        return found[0]

    @property
    def trace(self) -> dict[str, Any]:
        """The trace: ``path``, ``hash``, ``accesses``, ``pages`` and others."""
        trace: dict[str, Any] = self._record["trace"]
        return trace

    @property
    def notes(self) -> list[str]:
        """Notes that the interpretation of the figures needs."""
        notes: list[str] = self._record["notes"]
        return notes

    @property
    def advice(self) -> list[dict[str, Any]]:
        """The recommended policy on each machine: ``machine``, ``policy``, ``sentence`` and ``commands``."""
        advice: list[dict[str, Any]] = self._record["advice"]
        return advice

    def text(self, width: int | None = None) -> str:
        """The table of the command, at most ``width`` columns wide."""
        return self._native.text(width)

    def report(self, height: int = 700) -> Report:
        """The report page, which a notebook shows inline, ``height`` pixels high."""
        return Report(self._native.html(), height)

    def svg(self) -> str:
        """The miss-ratio curves as SVG, or without ``curves=True`` the page walks by machine."""
        return self._native.svg()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<broadleaf.Comparison of {self.trace['path']!r}: {len(self)} results>"

    def _repr_html_(self) -> str:
        columns = {
            "policy": "policy",
            "machine": "machine",
            "page_faults": "page faults",
            "l1_misses": "L1 misses",
            "l2_misses": "L2 misses",
            "walk_cycles": "walk cycles",
            "promotions": "promotions",
            "peak_resident_pages": "peak pages",
        }
        rows = [
            [f"{value:,}" if isinstance(value := result.get(name, ""), int) else str(value) for name in columns]
            for result in self.results
        ]
        trace = self.trace
        head = f"<p><b>{html.escape(trace['path'])}</b>: {trace['accesses']:,} accesses, {trace['pages']:,} pages</p>"
        advice = html_list([f"{of['machine']}: {of['policy']}. {of['sentence']}" for of in self.advice])
        notes = html_list(self.notes)
        return f"<div>{head}{html_table(list(columns.values()), rows)}{advice}{notes}</div>"


class Advice(_ArrowResult):
    """The parts of memory that are worth superpages: one row for each range, the best first.

    Columns: ``space``, ``pid``, ``start``, ``end`` (addresses), ``superpage_bytes``, ``superpages``,
    ``walks_spared``, ``walk_cycles_spared`` (cycles), ``faults_spared``, ``added_bytes``, ``cycles_gained`` (cycles)
    and others. ``mapping_*`` describe the mapping. ``command`` is JSON text.

    Parameters
    ----------
    native
        The object of the extension. ``advise`` makes it.
    """

    def __init__(self, native: _broadleaf.Advice) -> None:
        self._native = native

    def _make_table(self) -> Table:
        return self._native.table()

    def to_dict(self) -> dict[str, Any]:
        """The advice as ``broadleaf advise --format json`` prints it, schema ``broadleaf.advice/1``."""
        record: dict[str, Any] = json.loads(self._native.json())
        return record

    def format(self, name: str, top: int | None = None) -> str:
        """The best ``top`` ranges for another program.

        Parameters
        ----------
        name
            ``"madvise"`` (C), ``"cbmm"``, ``"mosalloc"``, ``"folded"`` (call stacks), ``"flamegraph"`` (SVG) or
            ``"perf"`` (as ``perf script`` prints stacks). The last three need a recording with ``sites=True``.
        top
            The number of ranges; ``None`` is all.
        """
        text, _ = self._native.format(name, _most(top))
        return text

    def text(self, top: int | None = 20, width: int | None = None) -> str:
        """The best ``top`` ranges as the table of the command, at most ``width`` columns wide."""
        return self._native.text(_most(top), width)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<broadleaf.Advice: {len(self)} ranges>"

    def _repr_html_(self) -> str:
        ranges = self.to_dict()["ranges"]
        header = ["start", "end", "superpages", "walks spared", "cycles gained", "bytes added", "mapping"]
        rows = [
            [
                f"{of['start']:#x}",
                f"{of['end']:#x}",
                f"{of['superpages']:,} of {of['superpage_bytes'] >> 10:,} KiB",
                f"{of['walks_spared']:,}",
                f"{of['cycles_gained']:,}",
                f"{of['added_bytes']:,}",
                (of.get("mapping") or {}).get("path") or (of.get("mapping") or {}).get("backing", ""),
            ]
            for of in ranges
        ]
        return html_table(header, rows)


def _most(top: int | None) -> int:
    return 2**63 - 1 if top is None else top


@dataclass(frozen=True)
class Recording:
    """A finished recording."""

    path: Path
    """The trace."""
    accesses: int
    """Loads plus stores."""
    processes: int
    """The number of processes."""
    returncode: int
    """The exit status of the program, or minus the number of the signal that ended it, as in ``subprocess``."""
    seconds: float
    """The time from the program's start to the last byte of the trace."""
    summary: str
    """A sentence on the size of the trace and the end of the program."""
    likely_cause: str | None = None
    """The reason of the program's failure, if the recorder itself is likely to have caused it."""

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def _repr_html_(self) -> str:
        ended = f"signal {-self.returncode}" if self.returncode < 0 else f"status {self.returncode}"
        facts = [
            ["accesses", f"{self.accesses:,}"],
            ["processes", f"{self.processes:,}"],
            ["end", ended],
            ["seconds", f"{self.seconds:,.1f}"],
        ]
        said = html_list([text for text in (self.summary, self.likely_cause) if text])
        return f"<div>{html_table([str(self.path), ''], facts)}{said}</div>"


@dataclass(frozen=True)
class Info:
    """The contents of a trace."""

    record: dict[str, Any]
    """The contents as ``broadleaf info --format json`` prints them, schema ``broadleaf.info/1``."""
    _text: str

    @property
    def accesses(self) -> int:
        """Loads plus stores."""
        return int(self.record["accesses"])

    @property
    def pages(self) -> int:
        """Distinct base pages referenced."""
        return int(self.record["pages"])

    @property
    def hash(self) -> str:
        """The hash of the trace's bytes."""
        return str(self.record["trace"]["hash"])

    def to_dict(self) -> dict[str, Any]:
        """The contents as a dict."""
        return dict(self.record)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


@dataclass(frozen=True)
class Validation:
    """Predictions of a program beside measurements, for each setting of huge pages."""

    record: dict[str, Any]
    """The report as ``broadleaf validate --format json`` prints it, schema ``broadleaf.validation/1``."""
    _text: str

    @property
    def settings(self) -> list[dict[str, Any]]:
        """The settings in the order of the runs: base pages first, huge pages wherever they fit last."""
        return list(self.record["settings"])

    def to_dict(self) -> dict[str, Any]:
        """The report as a dict."""
        return dict(self.record)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"

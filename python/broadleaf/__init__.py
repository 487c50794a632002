"""Broadleaf: which page sizes should a program run with, and what would that cost?

>>> import broadleaf
>>> comparison = broadleaf.compare("gzip.bl", ["4k", "pop-64"])  # doctest: +SKIP
>>> comparison.to_polars()  # doctest: +SKIP
"""

from ._broadleaf import Table, Trace, TraceStream, View, build, listen
from ._display import Report
from ._errors import BroadleafError, InvalidInput, WorkFailed
from ._functions import (
    MachineLike,
    PolicyLike,
    TracePath,
    advise,
    compare,
    curve,
    metrics,
    names,
)
from ._memory import Memory
from ._parts import Mapped, PageTable, Read, ReplacementRule
from ._policy import Policy
from ._programs import record, validate
from ._progress import Progress, ProgressFunction
from ._reduced import join_parts, reduce
from ._results import Advice, Comparison, Info, Recording, Validation
from ._sweep import SweepOutcome, SweepResults, results, sweep
from ._traces import info, open_trace, write_trace

__version__: str = build()[0]

# Warnings go to the logger ``broadleaf``.
listen()

__all__ = [
    "Advice",
    "BroadleafError",
    "Comparison",
    "Info",
    "InvalidInput",
    "MachineLike",
    "Mapped",
    "Memory",
    "PageTable",
    "Policy",
    "PolicyLike",
    "Progress",
    "ProgressFunction",
    "Read",
    "Recording",
    "ReplacementRule",
    "Report",
    "SweepOutcome",
    "SweepResults",
    "Table",
    "Trace",
    "TracePath",
    "TraceStream",
    "Validation",
    "View",
    "WorkFailed",
    "advise",
    "compare",
    "curve",
    "info",
    "join_parts",
    "metrics",
    "names",
    "open_trace",
    "record",
    "reduce",
    "results",
    "sweep",
    "validate",
    "write_trace",
]

"""Progress of long work."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

ProgressFunction = Callable[[str, int, int | None, str], object]
"""Receives what is done (``"comparing"``), the amount done, the whole amount if it is known, and the unit:
``"accesses"``, ``"bytes"``, ``"runs"`` or ``"cells"``. An exception of the function ends the work."""

Progress = bool | ProgressFunction | None

SHORT = 0.5
"""Work of fewer seconds shows no bar, because the bar would only flash."""


@contextmanager
def watched(progress: Progress) -> Iterator[ProgressFunction | None]:
    """The function that receives the progress: the given one, or bars of tqdm.

    ``None`` shows bars in notebooks, if tqdm is installed; ``True`` shows bars anywhere; ``False`` shows none.
    """
    if callable(progress):
        yield progress
        return
    bars = _Bars.make(always=progress is True) if progress is not False else None
    if bars is None:
        yield None
        return
    try:
        yield bars
        bars.complete()
    finally:
        bars.close()


def _in_notebook() -> bool:
    # A program without IPython has not imported it.
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


class _Bars:
    """A bar of tqdm for each task."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bar: Any = None
        self._doing = ""

    @classmethod
    def make(cls, *, always: bool) -> _Bars | None:
        if not always and not _in_notebook():
            return None
        try:
            with warnings.catch_warnings():
                # A notebook without ipywidgets shows bars as text.
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError:
            if always:
                raise ImportError("progress=True needs tqdm: pip install tqdm") from None
            return None
        return cls(tqdm)

    def __call__(self, doing: str, done: int, total: int | None, unit: str) -> None:
        if self._bar is None or doing != self._doing or done < self._bar.n:
            self.complete()
            self.close()
            self._bar = self._tqdm(
                desc=doing, total=total, unit=f" {unit}", unit_scale=True, leave=False, delay=SHORT
            )
            self._doing = doing
        self._bar.update(done - self._bar.n)

    def complete(self) -> None:
        """Fills the last bar."""
        if self._bar is not None and self._bar.total is not None:
            self._bar.update(self._bar.total - self._bar.n)

    def close(self) -> None:
        """Removes the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

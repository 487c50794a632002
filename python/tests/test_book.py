"""The Python blocks of the book: each `>>>` is run, and its output compared."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")

PAGE = Path(__file__).parents[2] / "docs/book/src/python.md"


def test_the_page_of_the_book_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    parser, names = doctest.DocTestParser(), {"__name__": "book"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    for block in blocks:
        line = text[: text.index(block)].count("\n")
        test = parser.get_doctest(block, names, PAGE.name, str(PAGE), line)
        runner.run(test, clear_globs=False)
        names = test.globs
    assert runner.summarize(verbose=False).failed == 0

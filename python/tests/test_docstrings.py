"""The docstrings of all public functions and classes: each parameter is named, and each function says what it returns."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import broadleaf
import broadleaf.plots
import pytest

FUNCTIONS = {
    **{name: of for name in broadleaf.__all__ if inspect.isroutine(of := getattr(broadleaf, name))},
    **{
        f"plots.{name}": of
        for name, of in vars(broadleaf.plots).items()
        if inspect.isfunction(of) and not name.startswith("_")
    },
}
CLASSES = {name: of for name in broadleaf.__all__ if inspect.isclass(of := getattr(broadleaf, name))}


def section(doc: str, title: str) -> str:
    """The text of a section of a docstring; empty if there is none."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", doc, re.DOTALL | re.MULTILINE)
    return found[1] if found else ""


def documented(doc: str) -> dict[str, str]:
    """The parameters of a docstring, with their texts."""
    found: dict[str, str] = {}
    for head, text in re.findall(r"^(\w[\w, ]*)\n((?:    .*\n|\n)+)", section(doc, "Parameters") + "\n", re.MULTILINE):
        found.update({name: text.strip() for name in head.split(", ")})
    return found


def parameters(of: Any) -> list[str]:
    found = inspect.signature(of).parameters
    return [name for name in found if name != "self" and not name.startswith("_")]


def attributes(of: type) -> set[str]:
    """The attributes of a class that have a docstring in the source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(of))).body
    assert isinstance(tree, ast.ClassDef)
    found = set()
    for before, after in zip(tree.body, tree.body[1:], strict=False):
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and is_text:
            found.add(before.target.id)
    return found


def methods(of: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class and of its bases in the package."""
    for base in of.__mro__:
        if base.__module__.startswith("broadleaf"):
            yield from (
                (name, value)
                for name, value in vars(base).items()
                if callable(value) and not name.startswith("_")
            )


def test_there_are_many() -> None:
    assert {"compare", "curve", "sweep", "write_trace", "plots.policies"} <= set(FUNCTIONS)
    assert {"Comparison", "Memory", "Policy", "SweepResults", "Trace", "View"} <= set(CLASSES)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_documents_its_parameters_and_its_result(name: str) -> None:
    doc = inspect.getdoc(FUNCTIONS[name]) or ""
    found = documented(doc)
    assert list(found) == [one for one in parameters(FUNCTIONS[name])], "in the order of the signature"
    assert all(found.values())
    assert section(doc, "Returns").strip()


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_documents_its_parameters_and_those_of_its_methods(name: str) -> None:
    of = CLASSES[name]
    doc = inspect.getdoc(of) or ""
    assert doc
    if dataclasses.is_dataclass(of):
        known = set(documented(doc)) | attributes(of)
        assert {field.name for field in dataclasses.fields(of) if not field.name.startswith("_")} <= known
    elif "__init__" in vars(of):
        assert list(documented(doc)) == parameters(of)
    for method, value in methods(of):
        text = inspect.getdoc(value) or ""
        assert text, method
        missing = [one for one in parameters(value) if not re.search(rf"(`|^|, ){one}(`|$|, )", text, re.MULTILINE)]
        assert not missing, f"{method}: {missing}"

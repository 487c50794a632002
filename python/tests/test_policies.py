"""Policies as Python classes: equal to those of the catalogue, and refused where they are wrong."""

from __future__ import annotations

import re
import signal
import threading
import traceback
from pathlib import Path
from typing import Any

import broadleaf
import pytest


class MyPop64(broadleaf.Policy):
    """`pop-64` of the catalogue, after the words of Zhu (2018), chapter 5."""

    name = "my-pop-64"

    def decide(self, point: str, view: broadleaf.View) -> str:
        if view.promoted:
            return "pass"
        if view.reservation_age is None:
            return "no_reservation" if point == "fault" else "pass"
        return "promote" if view.populated >= 64 else "too_few_resident"


class MyLinux(broadleaf.Policy):
    """`linux` of the catalogue with its defaults, after the functions of the kernel that it names."""

    name = "my-linux"
    needs = "linux"

    def forbidden(self, view: broadleaf.View) -> str | None:
        # thp_vma_allowable_orders
        if view.backing == "anonymous" and view.bytes != 2 << 20:
            return "disabled"
        if view.advised_against:
            return "advised_against"
        if view.coverage != "covered":
            return view.coverage
        return {"anonymous": None, "shared_memory": "shared_memory", "file": "file_backed"}[view.backing]

    def collapse(self, view: broadleaf.View) -> str:
        # hpage_collapse_scan_pmd, with max_ptes_none=511, max_ptes_swap=64 and max_ptes_shared=256
        none = max(0, view.pages + view.zero - min(2**32, view.populated + view.swapped))
        if view.swapped > 64:
            return "too_many_swapped"
        if none > 511:
            return "too_many_empty"
        if view.shared > 256:
            return "too_many_shared"
        if view.dirty == 0:
            return "nothing_stored"
        if view.referenced == 0 or (view.swapped > 0 and view.referenced < view.pages // 2):
            return "rarely_referenced"
        return "promote"

    def decide(self, point: str, view: broadleaf.View) -> str:
        if point == "fault" and not view.promoted:
            return self.forbidden(view) or ("promote" if view.was_empty else "already_populated")
        if point == "scan" and not view.promoted and view.pages == view.base_bytes // 8:
            return self.forbidden(view) or self.collapse(view)
        return "pass"

    def effort(self, point: str, view: broadleaf.View) -> str:
        if point == "scan":
            return "now"
        return "now" if view.advised_for else "none"


def counts(result: dict[str, Any]) -> dict[str, Any]:
    """A result without the names of its policy."""
    return {name: value for name, value in result.items() if name not in ("policy", "asked")}


MEMORIES = [None, "unlimited", broadleaf.Memory(size="64M", fragmentation=0.5, occupied=0.2), "8M"]


@pytest.mark.parametrize("memory", MEMORIES, ids=["none", "unlimited", "fragmented", "short"])
def test_a_class_equal_to_pop_64_has_its_counts(filled: Path, memory: broadleaf.Memory | str | None) -> None:
    comparison = broadleaf.compare(filled, ["pop-64", MyPop64], memory=memory)
    theirs, ours = comparison.results
    assert (theirs["policy"], ours["policy"]) == ("pop-64", "my-pop-64")
    assert counts(ours) == counts(theirs)
    assert ours["promotions"] > 0


@pytest.mark.parametrize("memory", MEMORIES[1:], ids=["unlimited", "fragmented", "short"])
def test_a_class_equal_to_linux_has_its_counts(filled: Path, memory: broadleaf.Memory | str) -> None:
    linux = f"linux(scan_period={1000})"

    class Scanning(MyLinux):
        needs = linux

    comparison = broadleaf.compare(filled, [linux, Scanning], memory=memory)
    theirs, ours = comparison.results
    assert counts(ours) == counts(theirs)
    assert ours["promotions"] > 0


def test_both_have_the_counts_on_recordings(golden: Path) -> None:
    for trace in sorted(golden.glob("*.bl")):
        results = broadleaf.compare(trace, ["pop-64", MyPop64(), "linux", MyLinux()], memory="unlimited").results
        for theirs, ours in zip(results[::2], results[1::2], strict=True):
            assert counts(ours) == counts(theirs), trace


def test_an_object_keeps_its_parameters(filled: Path) -> None:
    class MyPop(MyPop64):
        def __init__(self, pages: int) -> None:
            self.pages = pages
            self.name = f"my-pop-{pages}"  # type: ignore[misc]

        def decide(self, point: str, view: broadleaf.View) -> str:
            verdict = super().decide(point, view)
            if verdict in ("promote", "too_few_resident"):
                return "promote" if view.populated >= self.pages else "too_few_resident"
            return verdict

    results = broadleaf.compare(filled, ["pop-16", MyPop(16), "pop-256", MyPop(256)]).results
    assert counts(results[0]) == counts(results[1]) != counts(results[2]) == counts(results[3])


def test_expressions_are_policies(filled: Path) -> None:
    results = broadleaf.compare(filled, ["pop-64", "promote if populated >= 64"]).results
    assert results[0]["walk_cycles"] == results[1]["walk_cycles"]


def test_an_exception_ends_the_replay_with_its_line(long: Path) -> None:
    calls = []

    class Broken(MyPop64):
        def decide(self, point: str, view: broadleaf.View) -> str:
            calls.append(point)
            if len(calls) == 10:
                raise LookupError("the tenth question")
            return super().decide(point, view)

    for memory in (None, "unlimited"):
        calls.clear()
        with pytest.raises(LookupError, match="the tenth question") as raised:
            broadleaf.compare(long, ["4k", Broken], memory=memory)
        last = traceback.extract_tb(raised.value.__traceback__)[-1]
        assert (last.filename, last.name) == (__file__, "decide")
        assert last.line == 'raise LookupError("the tenth question")'
        assert len(calls) == 10


@pytest.mark.parametrize("answer", ["promoted", None, 1, True])
def test_a_wrong_verdict_is_refused(filled: Path, answer: object) -> None:
    class Wrong(broadleaf.Policy):
        def decide(self, point: str, view: broadleaf.View) -> Any:
            return answer

    with pytest.raises(ValueError, match=r"^policy Wrong: decide returned .*: return \"promote\", "):
        broadleaf.compare(filled, Wrong)


def test_wrong_classes_are_refused(filled: Path) -> None:
    def refused(policy: Any, message: str) -> None:
        with pytest.raises(broadleaf.InvalidInput) as raised:
            broadleaf.compare(filled, ["4k", policy])
        assert str(raised.value).startswith(message)

    def with_attribute(**attributes: Any) -> type[MyPop64]:
        return type("Mine", (MyPop64,), {"name": None, **attributes})

    refused(with_attribute(name="pop-64"), '"pop-64" means a policy of the catalogue')
    refused(with_attribute(name="a b"), '"a b" is no name of a policy')
    refused(with_attribute(needs={"scans": 1}), 'policy Mine: needs has no key "scans"')
    refused(with_attribute(needs={"scan": {"pages": 1}}), "policy Mine: scan lacks its period")
    refused(with_attribute(needs={"sizes": [3000]}), "policy Mine: 3000 bytes is no page size")
    refused(with_attribute(needs={"placement": "here"}), 'placement="here" is unknown: write reserved, at_fault')
    refused(with_attribute(needs="foresight"), "policy Mine: foresight knows the future")
    with pytest.raises(TypeError, match=r"int is no policy"):
        broadleaf.compare(filled, ["4k", 7])  # type: ignore[list-item]
    with pytest.raises(broadleaf.InvalidInput, match="two policies are called"):
        broadleaf.compare(filled, [MyPop64, MyPop64()])


def test_needs_decide_where_a_class_is_asked(filled: Path) -> None:
    points: set[str] = set()

    class Curious(broadleaf.Policy):
        needs = {
            "placement": "at_fault",
            "sizes": "2m",
            "copies": "scattered",
            "scan": {"period": 500, "order": "by_rank"},
            "charges": ["misses"],
        }

        def decide(self, point: str, view: broadleaf.View) -> str:
            points.add(point)
            return "promote" if point == "scan" and view.populated > 100 else "pass"

        def rank(self, view: broadleaf.View) -> int:
            return view.populated

    result = broadleaf.compare(filled, Curious, memory="unlimited").results[0]
    assert {"fault", "scan", "miss"} <= points
    assert result["promotions"] > 0


def test_a_view_has_all_fields(filled: Path) -> None:
    fields: set[str] = set()

    class Looking(broadleaf.Policy):
        def decide(self, point: str, view: broadleaf.View) -> str:
            fields.update(re.findall(r"(\w+): ", repr(view)))
            missing = fields - set(dir(view)) - {"foreseen"}
            assert not missing, missing
            return "pass"

    broadleaf.compare(filled, Looking)
    assert len(fields) > 20


def test_ctrl_c_ends_a_comparison(long: Path) -> None:
    started = threading.Event()

    class Slow(MyPop64):
        def decide(self, point: str, view: broadleaf.View) -> str:
            started.set()
            return super().decide(point, view)

    def interrupt() -> None:
        started.wait(30)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            broadleaf.compare(long, [Slow, "linux"], memory="64M", cache=False)
    thread.join()


def test_other_threads_run_during_a_comparison(long: Path) -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    broadleaf.compare(long, ["4k", "linux"], memory="64M", cache=False)
    done.set()
    thread.join()
    assert ticks > 3

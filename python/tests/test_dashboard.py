"""The progress of sweeps over Dask: the page of the scheduler, and bars within a task."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import broadleaf
import distributed
import pytest
from broadleaf import _dask
from broadleaf._dashboard import SweepPage
from dask_processes import SMALL, Dask, write_experiment

LONG = 300_000
"""The accesses of a trace whose task takes a while."""
WORK = 3 * LONG
"""The accesses of its passes: two replays, and the measurement of the footprint before."""


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[distributed.Client]:
    """A cluster in this process, with the dashboard, whose tasks report each look."""
    monkeypatch.setattr(_dask, "_REPORT", 0.0)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def port_of(client: distributed.Client) -> int:
    """The port of the scheduler's HTTP server."""
    port: int = client.scheduler_info()["services"]["dashboard"]
    return port


def got(client: distributed.Client, name: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port_of(client)}/{name}", timeout=20) as answer:
        text: str = answer.read().decode()
    return text


def sweeps(client: distributed.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(got(client, "broadleaf.json"))["sweeps"]
    return found


def test_the_dashboard_and_the_bar_move_within_a_task(
    tmp_path: Path, local: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_experiment(tmp_path / "in", traces=1, visits=LONG, text=SMALL)
    (tmp_path / "in/trace0.bl").rename(tmp_path / "in/trace<b>.bl")
    seen: list[tuple[str, int, int | None, str]] = []
    during: list[tuple[dict[str, Any], str]] = []

    looked = threading.Event()
    work = broadleaf._broadleaf.run_sweep_task

    def waiting(*given: Any, progress: Any, **named: Any) -> tuple[str, bytes]:
        def wait(doing: str, done: int, total: int | None, unit: str) -> None:
            progress(doing, done, total, unit)
            # The task goes on once the page was read, so that it cannot end before.
            if done > 0:
                looked.wait(timeout=60)

        return work(*given, progress=wait, **named)

    monkeypatch.setattr(broadleaf._broadleaf, "run_sweep_task", waiting)

    def show(*progress: Any) -> None:
        seen.append(progress)
        if progress[1] > 0 and not during:
            during.append((sweeps(local)[0], got(local, "broadleaf")))
            looked.set()

    outcome = broadleaf.sweep(file, tmp_path / "out", local, progress=show, cache=False)
    assert outcome.computed == 4
    # The bar: one task moves it several times, in accesses of all passes.
    assert {(doing, total, unit) for doing, _, total, unit in seen} == {("sweeping 4 cells", WORK, "accesses")}
    amounts = [done for _, done, _, _ in seen]
    assert amounts == sorted(set(amounts)) and amounts[0] == 0 and amounts[-1] == WORK
    assert len(amounts) > 2
    # The page while the task runs.
    state, page = during[0]
    assert (state["state"], state["cells"], state["cells_done"]) == ("running", 4, 0)
    assert state["accesses"] == WORK and 0 < state["accesses_done"] <= WORK
    assert state["accesses_per_second"] > 0 and state["seconds_left"] >= 0
    (task,) = state["running"]
    assert (task["trace"], task["cells"], task["of"]) == ("trace<b>.bl", 4, WORK)
    assert task["worker"] in local.scheduler_info()["workers"]
    assert 'http-equiv="refresh"' in page and "0 of 4 cells" in page and "accesses per second" in page
    assert "left</p>" in page and "trace&lt;b&gt;.bl" in page and "<b>" not in page
    # The page at the end, and that of a second sweep.
    state = sweeps(local)[0]
    assert (state["state"], state["cells_done"], state["running"]) == ("finished", 4, [])
    assert (state["accesses_done"], state["seconds_left"], state["failed"]) == (WORK, 0, {})
    broadleaf.sweep(file, tmp_path / "out", local)
    again, before = sweeps(local)
    assert before == state
    assert (again["state"], again["cells_known_before"], again["cells_done"]) == ("finished", 4, 4)
    # No message comes to a client without a sweep.
    assert not _dask._SWEEPS
    cluster: Any = local.cluster
    topic: Any = cluster.scheduler._broker._topics[_dask.TOPIC]
    deadline = time.monotonic() + 20
    while topic.subscribers and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not topic.subscribers
    # The other pages of the dashboard link to it.
    assert 'href="broadleaf"' in got(local, "status")


def test_failures_are_shown(tmp_path: Path, local: distributed.Client) -> None:
    file = write_experiment(tmp_path / "in", traces=2, text=SMALL)
    bad = tmp_path / "in/trace1.bl"
    data = bytearray(bad.read_bytes())
    data[len(data) // 2] ^= 0xFF
    bad.write_bytes(data)
    outcome = broadleaf.sweep(file, tmp_path / "out", local)
    assert list(outcome.failed) == ["trace1.bl"]
    (state,) = sweeps(local)
    assert state["failed"] == outcome.failed and state["state"] == "finished, but for the failed traces"
    assert "Failed traces:" in got(local, "broadleaf")


def test_a_scheduler_without_a_dashboard_has_the_page(tmp_path: Path) -> None:
    file = write_experiment(tmp_path / "in", traces=2, text=SMALL)
    with Dask(tmp_path / "dask") as cluster:
        cluster.worker()
        with cluster.client() as client:
            client.wait_for_workers(1, timeout=60)
            # By its address: another client, which is gone at the end.
            broadleaf.sweep(file, tmp_path / "out", client.scheduler.address)
            (state,) = sweeps(client)
            assert (state["state"], state["cells_done"], state["cells"]) == ("finished", 8, 8)


def test_a_scheduler_that_takes_no_plugin_runs_the_sweep(
    tmp_path: Path, local: distributed.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("no plugins here")

    monkeypatch.setattr(distributed.Client, "register_plugin", refuse)
    file = write_experiment(tmp_path / "in", traces=1, text=SMALL)
    assert broadleaf.sweep(file, tmp_path / "out", local).complete
    assert "shows no page of this sweep: no plugins here" in caplog.text


def test_the_page_of_a_new_version_takes_the_place_of_an_old_one(tmp_path: Path, local: distributed.Client) -> None:
    file = write_experiment(tmp_path / "in", traces=1, text=SMALL)
    version: str = broadleaf.__version__
    assert _dask.TOPIC.endswith(version)
    local.register_plugin(SweepPage(), name="broadleaf-sweeps-0.0.0")
    broadleaf.sweep(file, tmp_path / "out", local)
    (state,) = sweeps(local)
    assert (state["state"], state["cells_done"]) == ("finished", 4)


def test_an_exception_ends_the_tasks_of_workers(
    tmp_path: Path, local: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_experiment(tmp_path / "in", traces=1, visits=2 * LONG, text=SMALL)
    ends: list[BaseException | None] = []
    work = broadleaf._broadleaf.run_sweep_task

    def watched(*given: Any, progress: Any, **named: Any) -> tuple[str, bytes]:
        def cancelled(*report: Any) -> None:
            # The task goes on from its first report once it is cancelled.
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                progress(*report)
                time.sleep(0.01)

        try:
            done = work(*given, progress=cancelled, **named)
        except BaseException as error:
            ends.append(error)
            raise
        ends.append(None)
        return done

    def fail(_: str, done: int, *__: object) -> None:
        if done:
            raise LookupError("enough")

    monkeypatch.setattr(broadleaf._broadleaf, "run_sweep_task", watched)
    with pytest.raises(LookupError, match="enough"):
        broadleaf.sweep(file, tmp_path / "out", local, progress=fail, cache=False)
    deadline = time.monotonic() + 60
    while not ends and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [type(error).__name__ for error in ends] == ["_TaskCancelled"]
    assert sweeps(local)[0]["state"] == "stopped"


def message(kind: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return _dask.TOPIC, {"sweep": "one", "kind": kind, **fields}


def progress(task: int, accesses: int, worker: str = "w1") -> tuple[str, dict[str, Any]]:
    return message("progress", task=task, trace=f"t{task}", cells=4, of=1000, accesses=accesses, worker=worker)


def begun(page: SweepPage, total: int, name: str = "one") -> None:
    topic, fields = message("begun", experiment="grid", client="c", cells=12, finished=4, total=total, failed={})
    page.log_event(topic, {**fields, "sweep": name})


def test_rate_and_time_left_are_those_of_the_last_half_minute() -> None:
    page, now = SweepPage(), [0.0]
    page.clock = lambda: now[0]
    page.log_event(*message("progress", task=0))
    page.log_event("other", {})
    begun(page, 2000)
    for second in range(1, 101):
        now[0] = float(second)
        # Slow at first: 2 accesses per second, then 10.
        page.log_event(*progress(0, 2 * second if second <= 50 else 100 + 10 * (second - 50)))
    (sweep,) = page.to_dict()["sweeps"]
    assert (sweep["accesses_done"], sweep["accesses_per_second"], sweep["seconds_left"]) == (600, 10, 140)
    assert "10 accesses per second" in page.page() and "about 2:20 left" in page.page()
    # A task whose worker died begins again elsewhere. Late messages of an ended task are ignored.
    page.remove_worker(None, "w1")
    assert page.to_dict()["sweeps"][0]["accesses_done"] == 0
    page.log_event(*progress(0, 100, "w2"))
    page.log_event(*message("again", task=0))
    assert page.to_dict()["sweeps"][0]["running"] == []
    page.log_event(*message("kept", task=0, cells=4, of=1000))
    page.log_event(*progress(0, 900, "w2"))
    (sweep,) = page.to_dict()["sweeps"]
    assert (sweep["accesses_done"], sweep["cells_done"], sweep["running"]) == (1000, 8, [])
    # The client dies.
    page.remove_client(None, "c")
    assert page.to_dict()["sweeps"][0]["state"] == "stopped: the calling process went away"
    # Workers are heard late. A message of the client shows that it has connected again.
    page.log_event(*progress(1, 100, "w2"))
    assert page.to_dict()["sweeps"][0]["state"] == "stopped: the calling process went away"
    page.log_event(*message("kept", task=1, cells=4, of=1000))
    (sweep,) = page.to_dict()["sweeps"]
    assert (sweep["state"], sweep["cells_done"]) == ("running", 12)
    page.remove_client(None, "c")
    page.log_event(*message("ended", state="finished"))
    assert page.to_dict()["sweeps"][0]["state"] == "finished"
    page.remove_client(None, "c")
    page.log_event(*message("again", task=0))
    assert page.to_dict()["sweeps"][0]["state"] == "finished"


def test_the_time_left_is_that_of_cells_if_a_trace_does_not_say_its_accesses() -> None:
    page, now = SweepPage(), [0.0]
    page.clock = lambda: now[0]
    begun(page, 0)
    assert page.to_dict()["sweeps"][0]["seconds_left"] is None
    now[0] = 10.0
    page.log_event(*message("kept", task=0, cells=2, of=0))
    assert page.to_dict()["sweeps"][0]["seconds_left"] == 30


def test_old_sweeps_leave_the_page() -> None:
    page = SweepPage()
    for number in range(30):
        begun(page, 1, f"sweep{number}")
        if number:
            page.log_event(_dask.TOPIC, {"sweep": f"sweep{number}", "kind": "ended", "state": "finished"})
    names = [sweep["sweep"] for sweep in page.to_dict()["sweeps"]]
    assert len(names) == 22 and names[0] == "sweep29" and names[-1] == "sweep0"

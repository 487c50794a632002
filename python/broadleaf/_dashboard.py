"""The page of sweeps on the HTTP server of a Dask scheduler: ``/broadleaf`` and ``/broadleaf.json``."""

from __future__ import annotations

import html
import json
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from distributed.diagnostics.plugin import SchedulerPlugin
from tornado.web import RequestHandler

from ._dask import TOPIC

_KEPT = 20
"""The most sweeps on the page."""
_WINDOW = 30.0
"""The seconds that a rate is the mean of."""
_LOST = "stopped: the calling process went away"
"""The state of a sweep whose client is gone."""
_REFRESH = 2
"""The seconds between two loads of the page."""


@dataclass
class _RunningTask:
    """A task that a worker runs."""

    trace: str
    worker: str
    cells: int
    accesses: int
    of: int


@dataclass
class _SweepRecord:
    """The state of a sweep."""

    experiment: str
    client: str
    cells: int
    """All cells of the experiment."""
    finished: int
    """The cells that were finished before."""
    total: int
    """The accesses of all replays; 0 if a trace does not say how many it has."""
    began: float
    failed: dict[str, str] = field(default_factory=dict)
    computed: int = 0
    complete: int = 0
    """The accesses of the tasks that ended."""
    running: dict[int, _RunningTask] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)
    state: str = "running"
    end: float | None = None
    samples: deque[tuple[float, int]] = field(default_factory=deque)

    def done(self) -> int:
        """The accesses that were replayed."""
        return self.complete + sum(task.accesses for task in self.running.values())

    def sample(self, now: float) -> None:
        if not self.samples or now - self.samples[-1][0] >= 0.5:
            self.samples.append((now, self.done()))
        while len(self.samples) > 1 and now - self.samples[1][0] > _WINDOW:
            self.samples.popleft()

    def rate(self, now: float) -> float:
        """Accesses per second: of the last seconds, and at the end of the whole sweep."""
        since, before = (self.began, 0) if self.end is not None or not self.samples else self.samples[0]
        seconds = (now if self.end is None else self.end) - since
        return max(0, self.done() - before) / seconds if seconds > 0 else 0.0

    def seconds_left(self, now: float) -> float | None:
        """The time left, from the accesses, or from the cells if not all traces say their accesses."""
        if self.end is not None:
            return 0.0
        if self.total:
            rate = self.rate(now)
            return max(0, self.total - self.done()) / rate if rate else None
        left = self.cells - self.finished - self.computed
        return (now - self.began) / self.computed * left if self.computed else None

    def to_dict(self, now: float) -> dict[str, Any]:
        left = self.seconds_left(now)
        return {
            "experiment": self.experiment,
            "state": self.state,
            "cells": self.cells,
            "cells_done": self.finished + self.computed,
            "cells_known_before": self.finished,
            "accesses": self.total,
            "accesses_done": self.done(),
            "accesses_per_second": round(self.rate(now)),
            "seconds": round((now if self.end is None else self.end) - self.began, 1),
            "seconds_left": None if left is None else round(left, 1),
            "failed": dict(self.failed),
            "running": [vars(task) for _, task in sorted(self.running.items())],
        }


class SweepPage(SchedulerPlugin):
    """Keeps the state of the sweeps of a scheduler, and shows it on the scheduler's HTTP server.

    Clients and workers log what happens under the topic `TOPIC`. Each message has ``sweep``, the sweep's identifier,
    and ``kind``: ``begun``, ``progress``, ``again``, ``kept``, ``failed`` or ``ended``.
    """

    idempotent = True

    def __init__(self) -> None:
        self.sweeps: dict[str, _SweepRecord] = {}
        self.clock: Callable[[], float] = time.monotonic

    async def start(self, scheduler: Any) -> None:
        """Adds the page to the HTTP server, which a scheduler has without Bokeh too."""
        # The dashboard may have a prefix.
        routes = [
            (r"(?:/.*)?/broadleaf", _Page, {"sweeps": self}),
            (r"(?:/.*)?/broadleaf\.json", _Json, {"sweeps": self}),
        ]
        application = scheduler.http_application
        application.add_handlers(r".*$", routes)
        # The first route that matches answers. An older version of this plugin may have its own.
        rules = application.default_router.rules
        for rule in [rule for rule in rules if _leads_to(rule, self)]:
            rules.remove(rule)
            rules.insert(0, rule)
        # Bokeh's pages have a row of links. A scheduler without Bokeh has not imported the module.
        dashboard = sys.modules.get("distributed.dashboard.scheduler")
        with suppress(AttributeError, KeyError, TypeError):
            pages = dashboard.template_variables(scheduler)["pages"]  # type: ignore[union-attr]
            if "broadleaf" not in pages:
                pages.append("broadleaf")

    def log_event(self, topic: str, msg: Any) -> None:
        """Takes a message."""
        if topic != TOPIC:
            return
        now = self.clock()
        if msg["kind"] == "begun":
            self._begin(msg, now)
        sweep = self.sweeps.get(msg["sweep"])
        if sweep is not None:
            if sweep.state == _LOST and msg["kind"] != "progress":
                # The client has connected again. Workers may hear of its loss late, and go on.
                sweep.state, sweep.end = "running", None
            self._take(sweep, msg, now)
            sweep.sample(now)

    def _begin(self, msg: dict[str, Any], now: float) -> None:
        names = ("experiment", "client", "cells", "finished", "total", "failed")
        self.sweeps[msg["sweep"]] = _SweepRecord(**{name: msg[name] for name in names}, began=now)
        for name in [name for name, sweep in self.sweeps.items() if sweep.end is not None][:-_KEPT]:
            del self.sweeps[name]

    def _take(self, sweep: _SweepRecord, msg: dict[str, Any], now: float) -> None:
        number: int = msg.get("task", -1)
        if msg["kind"] == "progress":
            if number not in sweep.ended and sweep.end is None:
                names = ("trace", "worker", "cells", "accesses", "of")
                sweep.running[number] = _RunningTask(**{name: msg[name] for name in names})
        elif msg["kind"] == "again":
            sweep.running.pop(number, None)
        elif msg["kind"] in ("kept", "failed"):
            sweep.running.pop(number, None)
            sweep.ended.add(number)
            sweep.complete += msg["of"]
            if msg["kind"] == "kept":
                sweep.computed += msg["cells"]
            else:
                sweep.failed[msg["trace"]] = msg["reason"]
        elif msg["kind"] == "ended":
            self._end(sweep, msg["state"], now)

    def _end(self, sweep: _SweepRecord, state: str, now: float) -> None:
        if sweep.end is None:
            sweep.running.clear()
            sweep.state, sweep.end = state, now

    def remove_worker(self, scheduler: Any, worker: str, **_: Any) -> None:
        """Drops the tasks of a worker that died: Dask runs them elsewhere, from their start."""
        for sweep in self.sweeps.values():
            for number in [number for number, task in sweep.running.items() if task.worker == worker]:
                del sweep.running[number]

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Ends the sweeps of a client that died. They run again if the client connects again and sends a message."""
        for sweep in self.sweeps.values():
            if sweep.client == client:
                self._end(sweep, _LOST, self.clock())

    def to_dict(self) -> dict[str, Any]:
        """All sweeps, the newest first."""
        now = self.clock()
        sweeps = reversed(self.sweeps.items())
        return {"sweeps": [{"sweep": name, **sweep.to_dict(now)} for name, sweep in sweeps]}

    def page(self) -> str:
        """The page, which loads itself again."""
        shown = "".join(_section(sweep) for sweep in self.to_dict()["sweeps"])
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Broadleaf sweeps</title>'
            f'<meta http-equiv="refresh" content="{_REFRESH}"><style>{_STYLE}</style></head><body>'
            '<nav><a href="status">Dask</a> <a href="broadleaf.json">JSON</a></nav><h1>Broadleaf sweeps</h1>'
            f"{shown or '<p>No sweep yet.</p>'}</body></html>"
        )


def _leads_to(rule: Any, sweeps: SweepPage) -> bool:
    """True for the routes of a page."""
    inner = getattr(rule.target, "rules", [])
    return any((one.target_kwargs or {}).get("sweeps") is sweeps for one in inner)


class _Handler(RequestHandler):
    """A page of a plugin."""

    def initialize(self, sweeps: SweepPage) -> None:
        self.sweeps = sweeps
        self.set_header("Cache-Control", "no-store")


class _Page(_Handler):
    def get(self) -> None:
        self.write(self.sweeps.page())


class _Json(_Handler):
    def get(self) -> None:
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(self.sweeps.to_dict()))


_STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:60em;margin:1em auto;padding:0 1em;color:#222;background:#fff}"
    "progress{width:100%;height:1.2em}table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.2em .8em .2em 0;border-bottom:1px solid #ddd}nav a{margin-right:1em}"
    ".failed{color:#a00}"
)


def _section(sweep: dict[str, Any]) -> str:
    """A sweep on the page."""
    facts = [f"{sweep['cells_done']:,} of {sweep['cells']:,} cells ({sweep['cells_known_before']:,} known before)"]
    facts.append(f"{sweep['accesses_done']:,} accesses replayed")
    facts.append(f"{sweep['accesses_per_second']:,} accesses per second")
    facts.append(f"running for {_duration(sweep['seconds'])}")
    if sweep["state"] != "running":
        facts[-1] = f"took {_duration(sweep['seconds'])}"
    elif sweep["seconds_left"] is not None:
        facts.append(f"about {_duration(sweep['seconds_left'])} left")
    done, total = sweep["accesses_done"], sweep["accesses"]
    if not total or sweep["state"] == "finished":
        done, total = sweep["cells_done"], sweep["cells"]
    rows = "".join(
        f"<tr><td>{html.escape(task['trace'])}</td><td>{html.escape(task['worker'])}</td>"
        f"<td>{task['cells']:,}</td><td>{_share(task['accesses'], task['of'])}</td></tr>"
        for task in sweep["running"]
    )
    head = "<tr><th>trace</th><th>worker</th><th>cells</th><th>replayed</th></tr>"
    failed = "".join(
        f"<li>{html.escape(trace)}: {html.escape(reason)}</li>" for trace, reason in sweep["failed"].items()
    )
    return (
        f"<section><h2>{html.escape(sweep['experiment'])}: {html.escape(sweep['state'])}</h2>"
        f'<progress value="{done}" max="{max(total, 1)}"></progress><p>{"; ".join(facts)}</p>'
        + (f'<p class="failed">Failed traces:</p><ul class="failed">{failed}</ul>' if failed else "")
        + (f"<table>{head}{rows}</table>" if rows else "")
        + "</section>"
    )


def _share(done: int, of: int) -> str:
    return f"{100 * done // of} %" if of else f"{done:,} accesses"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

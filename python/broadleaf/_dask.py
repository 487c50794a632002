"""Sweeps over the workers of a Dask scheduler."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _broadleaf
from ._errors import BroadleafError, InvalidInput, WorkFailed
from ._progress import ProgressFunction

_MOST_TRIES = 3
"""The most workers that a failing task is tried on."""
_LOOK = 0.05
"""The seconds between two looks at the tasks and their progress."""
_REPORT = 0.5
"""The seconds between two messages of a running task."""
TOPIC = f"broadleaf-sweeps-{_broadleaf.build()[0]}"
"""The topic of all messages, and the name of the scheduler's plugin.

A scheduler keeps its plugins. The version in the name keeps an old plugin from messages of a new version.
"""
_SWEEPS: dict[str, DaskSweep] = {}
"""The sweeps of this process whose progress is shown, by identifier."""
_SWEEPS_LOCK = threading.Lock()
"""Held while a sweep comes or goes, with the subscription of its client."""

_log = logging.getLogger("broadleaf")


@contextmanager
def client_of(scheduler: Any) -> Iterator[Any]:
    """The client of an address, a cluster or a client. A client that is made here is closed at the end."""
    try:
        import distributed
    except ImportError:
        raise ImportError("a sweep over Dask needs dask: pip install 'broadleaf[dask]'") from None
    if isinstance(scheduler, distributed.Client):
        yield scheduler
        return
    try:
        client = distributed.Client(scheduler)
    except OSError as error:
        raise InvalidInput(f"no scheduler of Dask answers at {scheduler}: {error}") from None
    try:
        yield client
    finally:
        client.close(timeout=2)


@dataclass
class Task:
    """A task, and the workers that it failed on."""

    json: str
    trace: str
    path: Path
    cells: int
    accesses: int
    """The accesses of all replays; 0 if the trace does not say how many it has."""
    tried: list[str] = field(default_factory=list)


class _TaskCancelled(Exception):
    """The client cancelled the task."""


class _TaskReport:
    """Reports the progress of a running task to the scheduler, and ends a task that was cancelled."""

    def __init__(self, worker: Any, message: dict[str, Any]) -> None:
        self.worker = worker
        self.key = worker.get_current_task()
        self.message = message
        self.send(0)

    def send(self, accesses: int) -> None:
        self.last = time.monotonic()
        message = {**self.message, "kind": "progress", "accesses": accesses, "worker": str(self.worker.address)}
        self.worker.log_event(TOPIC, message)

    def __call__(self, doing: str, done: int, total: int | None, unit: str) -> None:
        state = self.worker.state.tasks.get(self.key)
        if state is None or state.state == "cancelled":
            raise _TaskCancelled
        if time.monotonic() - self.last >= _REPORT:
            self.send(done)


def _run_task(
    json: str, path: str, threads: int, cache: bool, message: dict[str, Any]
) -> tuple[bool, str, bytes, str]:
    """Runs a task on a worker: true with the file's name and bytes, or false with the reason; and the worker."""
    from distributed import get_worker

    worker = get_worker()
    address = str(worker.address)
    if not os.path.exists(path):
        reason = f"the worker {address} has no file {path}: copy the trace there, or put it on a shared file system"
        return False, reason, b"", address
    try:
        report = _TaskReport(worker, message)
        name, data = _broadleaf.run_sweep_task(json, threads=threads, use_cache=cache, progress=report)
    except BroadleafError as error:
        return False, f"on the worker {address}: {error}", b"", address
    except _TaskCancelled:
        return False, "cancelled", b"", address
    return True, name, data, address


class _Messages:
    """Sends messages of a client to the scheduler, in order. The caller does not wait for them."""

    def __init__(self, client: Any, sweep: str) -> None:
        self.client = client
        self.sweep = sweep
        self.pending: deque[dict[str, Any]] = deque()
        self.lock = asyncio.Lock()

    def send(self, **message: Any) -> None:
        self.pending.append({"sweep": self.sweep, **message})
        self.client.loop.add_callback(self._drain)

    async def _drain(self) -> None:
        async with self.lock:
            # A page that lacks a message must not end a sweep.
            with suppress(Exception):
                while self.pending:
                    await self.client.scheduler.log_event(topic=TOPIC, msg=self.pending.popleft())

    def flush(self) -> None:
        """Waits until all messages are sent, or the scheduler does not answer."""
        if self.client.status == "running":
            with suppress(Exception):
                self.client.sync(self._drain, callback_timeout=2)


def _heard(event: tuple[float, Any]) -> None:
    """Takes a message of a worker, in the thread of the client."""
    _, message = event
    sweep = _SWEEPS.get(message["sweep"])
    if sweep is not None and message["kind"] == "progress":
        sweep.note(message["task"], message["accesses"])


class DaskSweep:
    """A sweep over the workers of a Dask scheduler."""

    def __init__(
        self,
        folder: Path,
        experiment: str,
        tasks: list[Task],
        failed: dict[str, str],
        threads: int,
        cache: bool,
        show: ProgressFunction | None,
        *,
        cells: int,
        finished: int,
    ) -> None:
        self.folder = folder
        self.experiment = experiment
        self.tasks = tasks
        self.failed = failed
        self.threads = threads
        self.cache = cache
        self.show = show
        self.cells = cells
        self.finished = finished
        self.computed = 0
        self.name = uuid.uuid4().hex[:12]
        self._lock = threading.Lock()
        self._accesses: dict[int, int] = {}
        self._ended: set[int] = set()
        self._shown = -1
        self._client = ""

    def run(self, client: Any) -> None:
        """Submits all tasks, and writes the results of each as it ends."""
        messages = _Messages(client, self.name)
        _register_page(client)
        messages.send(
            kind="begun",
            experiment=self.experiment,
            client=client.id,
            failed=dict(self.failed),
            cells=self.cells,
            finished=self.finished,
            total=self._total() or 0,
        )
        self._listen(client)
        state = "stopped"
        try:
            self._run(client, messages)
            state = "finished, but for the failed traces" if self.failed else "finished"
        finally:
            self._listen_no_more(client)
            messages.send(kind="ended", state=state)
            messages.flush()

    def _listen(self, client: Any) -> None:
        if self.show is None:
            return
        self._client = client.id
        with _SWEEPS_LOCK:
            _SWEEPS[self.name] = self
            client.subscribe_topic(TOPIC, _heard)

    def _listen_no_more(self, client: Any) -> None:
        with _SWEEPS_LOCK:
            ended = _SWEEPS.pop(self.name, None)
            others = any(sweep._client == client.id for sweep in _SWEEPS.values())
            if ended is not None and not others:
                # A client that lost its scheduler cannot.
                with suppress(Exception):
                    client.unsubscribe_topic(TOPIC)

    def _run(self, client: Any, messages: _Messages) -> None:
        from distributed import as_completed

        self._progress()
        running = {self._submit(client, number): number for number in range(len(self.tasks))}
        queue = as_completed(list(running), raise_errors=False)
        try:
            while running:
                if queue.has_ready():
                    future = next(queue)
                    if future.status == "lost":
                        # A worker died with the result. The scheduler has it computed again.
                        queue.add(future)
                        continue
                    number = running.pop(future)
                    again = self._take(client, future, number, messages)
                    if again is not None:
                        running[again] = number
                        queue.add(again)
                else:
                    time.sleep(_LOOK)
                self._progress()
        finally:
            # An exception ends the tasks that still run.
            if running and client.status == "running":
                client.cancel(list(running), force=True)

    def _submit(self, client: Any, number: int) -> Any:
        task = self.tasks[number]
        others = None
        if task.tried:
            others = [worker for worker in client.scheduler_info(n_workers=-1)["workers"] if worker not in task.tried]
        name = f"{self.name}-{len(task.tried)}"
        message = {"sweep": self.name, "task": number, "trace": task.trace, "cells": task.cells, "of": task.accesses}
        return client.submit(
            _run_task,
            task.json,
            os.fspath(task.path),
            self.threads,
            self.cache,
            message,
            key=f"broadleaf-{self.experiment}-{task.trace}-{name}",
            pure=False,
            workers=others,
        )

    def _take(self, client: Any, future: Any, number: int, messages: _Messages) -> Any:
        """Keeps the results of a task. Returns its next try, if it failed and another worker is left."""
        if future.status == "cancelled":
            raise self._alone()
        task = self.tasks[number]
        if future.status == "error":
            self._fail(number, f"Dask gave the task up: {future.exception()}", messages)
            return None
        try:
            done, text, data, worker = future.result()
        except (OSError, asyncio.CancelledError, concurrent.futures.CancelledError) as error:
            # Results come through the scheduler.
            raise self._alone() from error
        if done:
            _broadleaf.add_sweep_result(os.fspath(self.folder), self.experiment, text, data)
            self.computed += task.cells
            self._end(number)
            messages.send(kind="kept", task=number, cells=task.cells, of=task.accesses)
            return None
        task.tried.append(worker)
        known = set(client.scheduler_info(n_workers=-1)["workers"])
        if len(task.tried) < _MOST_TRIES and known - set(task.tried):
            messages.send(kind="again", task=number)
            return self._submit(client, number)
        self._fail(number, text, messages)
        return None

    def _alone(self) -> WorkFailed:
        return WorkFailed(
            f"the scheduler of Dask went away: {self.computed} cells are finished and kept. "
            "Start a scheduler, and run the sweep again for the others"
        )

    def _fail(self, number: int, reason: str, messages: _Messages) -> None:
        task = self.tasks[number]
        self.failed[task.trace] = reason
        self._end(number)
        messages.send(kind="failed", task=number, trace=task.trace, reason=reason, of=task.accesses)

    def note(self, number: int, accesses: int) -> None:
        """Notes the progress of a running task."""
        with self._lock:
            if number not in self._ended:
                self._accesses[number] = accesses

    def _end(self, number: int) -> None:
        with self._lock:
            self._ended.add(number)
            self._accesses[number] = self.tasks[number].accesses

    def _total(self) -> int | None:
        """The accesses of all replays, if each trace says how many it has."""
        if not all(task.accesses for task in self.tasks):
            return None
        return sum(task.accesses for task in self.tasks)

    def _progress(self) -> None:
        if self.show is None:
            return
        cells = sum(task.cells for task in self.tasks)
        total = self._total()
        if total is None:
            done, total, unit = self.computed, cells, "cells"
        else:
            with self._lock:
                done, unit = sum(self._accesses.values()), "accesses"
        # A task whose worker died begins again.
        if done > self._shown:
            self._shown = done
            self.show(f"sweeping {cells} cells", done, total, unit)


def _register_page(client: Any) -> None:
    """Adds the page of sweeps to the scheduler, unless it has one."""
    try:
        from ._dashboard import SweepPage

        client.register_plugin(SweepPage(), name=TOPIC)
    except Exception as error:
        # An old version of Dask, or a scheduler without the package.
        _log.warning("the scheduler shows no page of this sweep: %s", error)

"""The Rust part of the package."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, final

__all__ = [
    "Advice",
    "Comparison",
    "Table",
    "Trace",
    "TraceStream",
    "View",
    "add_sweep_result",
    "advise",
    "build",
    "compare",
    "info",
    "metrics",
    "names",
    "open_trace",
    "plan_sweep",
    "record",
    "results_view",
    "run_sweep_task",
    "sweep_local",
    "validate",
    "write_trace",
]

_Progress = Callable[[str, int, int | None, str], object] | None

@final
class View:
    """The state of one block at a decision point. A policy reads it and changes nothing."""

    @property
    def populated(self) -> int:
        """Resident base pages, including filled pages."""
    @property
    def dirty(self) -> int:
        """Base pages stored to since they became resident."""
    @property
    def pages(self) -> int:
        """Base pages of the block: 512 for 2 MiB on x86-64."""
    @property
    def base_bytes(self) -> int:
        """The size of a base page in bytes."""
    @property
    def bytes(self) -> int:
        """The size of the block in bytes."""
    @property
    def place(self) -> int:
        """The place of the block among four neighbours: 0 to 3."""
    @property
    def reservation_age(self) -> int | None:
        """Accesses of the trace since the block was reserved; ``None`` without a reservation."""
    @property
    def promoted(self) -> bool:
        """True if the block is a superpage."""
    @property
    def was_empty(self) -> bool:
        """True if the block was empty before this fault."""
    @property
    def backing(self) -> str:
        """The kind of memory: ``"anonymous"``, ``"shared_memory"`` or ``"file"``."""
    @property
    def coverage(self) -> str:
        """The coverage by mappings: ``"covered"``, ``"not_covered"`` or ``"mixed_protection"``."""
    @property
    def writable(self) -> bool:
        """True if the program may store to the block."""
    @property
    def advised_against(self) -> bool:
        """True if the program advised against superpages for any page of the block."""
    @property
    def advised_for(self) -> bool:
        """True if the program advised superpages for every page of the block."""
    @property
    def referenced(self) -> int:
        """Base pages referenced since the last round of the daemon; 0 without a daemon."""
    @property
    def referenced_on_average(self) -> int:
        """The moving average of referenced pages over rounds, in sixteenths of a page."""
    @property
    def swapped(self) -> int:
        """Base pages in the swap."""
    @property
    def shared(self) -> int:
        """Base pages whose frame another mapping uses too."""
    @property
    def zero(self) -> int:
        """Resident base pages of anonymous memory without a store."""
    @property
    def extent_free(self) -> bool:
        """True if an extent of the block's size is free, or reserved for the block."""
    @property
    def memory_short(self) -> bool:
        """True if free memory is below the host's reserve."""
    @property
    def misses(self) -> int:
        """TLB misses in the block, at the point ``miss``."""
    @property
    def prefetch_charge(self) -> int:
        """Misses that a superpage would have prevented, at the point ``miss``."""
    @property
    def capacity_charge(self) -> int:
        """Misses of other pages that the block's entries displaced, at the point ``miss``."""
    @property
    def miss_cycles(self) -> int:
        """The cycles of a walk that finds a base page."""
    @property
    def copy_cycles(self) -> int:
        """The cycles of copying the whole block into one page."""

@final
class Table:
    """A table of results in Arrow's memory layout, which other libraries read without a copy."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""

@final
class TraceStream:
    """A table of a trace that is read while it is used. Each use begins at the start of the trace."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...

@final
class Trace:
    """A trace file that is read as tables. Each table is a pass of its own over the file."""

    @property
    def path(self) -> Path:
        """The path of the file."""
    @property
    def grain(self) -> str:
        """The unit of visits: ``"page"`` (4096 bytes) or ``"line"`` (64 bytes)."""
    @property
    def command(self) -> list[str]:
        """The recorded command; empty if there is none."""
    @property
    def notes(self) -> list[str]:
        """The notes of the recorder."""
    def visits(self, batch_size: int = 65536) -> TraceStream:
        """The visits: one row for each run of references to one unit."""
    def events(self, batch_size: int = 65536) -> TraceStream:
        """The events: one row for each change of an address space, with the visits before it."""
    def content_hash(self, progress: _Progress = None) -> str:
        """The hash of the visits and the events, in order, whatever the version of the format."""

@final
class Comparison:
    def json(self) -> str: ...
    def text(self, width: int | None) -> str: ...
    def html(self) -> str: ...
    def svg(self) -> str: ...
    def table(self) -> Table: ...
    def curves(self) -> Table: ...

@final
class Advice:
    def json(self) -> str: ...
    def text(self, top: int, width: int | None) -> str: ...
    def format(self, name: str, top: int) -> tuple[str, list[str]]: ...
    def table(self) -> Table: ...

def compare(
    trace: str,
    policies: Sequence[object],
    machines: Sequence[object],
    *,
    memory: Mapping[str, Any],
    curves: bool,
    restarts: bool,
    threads: int | None,
    keep_going: bool,
    max_accesses: int | None,
    use_cache: bool,
    progress: _Progress,
) -> Comparison: ...
def advise(
    trace: str,
    *,
    machine: object,
    policy: str,
    files: str,
    costs: str | None,
    by: str,
    threads: int | None,
    keep_going: bool,
    max_accesses: int | None,
    use_cache: bool,
    progress: _Progress,
) -> Advice: ...
def record(
    command: Sequence[str],
    *,
    output: str | None,
    engine: str,
    grain: str,
    instructions: bool,
    follow_children: bool,
    sites: bool,
    align: Sequence[str],
    skip: str | None,
    window: str | None,
    every: str | None,
    clock: str | None,
    clock_rate: int,
    measure: int | None,
    force: bool,
    progress: _Progress,
) -> tuple[Path, int, int, int | None, int | None, float, str, str | None]: ...
def validate(
    command: Sequence[str],
    *,
    policies: Sequence[str],
    machine: object | None,
    rounds: int,
    set_switch: bool,
    counters: Sequence[tuple[str, str]],
    keep: str | None,
    force: bool,
    progress: _Progress,
) -> tuple[str, str]: ...
def info(
    trace: str, *, keep_going: bool, max_accesses: int | None, progress: _Progress
) -> tuple[str, str]: ...
def open_trace(path: str, *, keep_going: bool, max_accesses: int | None) -> Trace: ...
def write_trace(
    path: str,
    visits: object,
    events: object | None,
    *,
    like: str | None,
    grain: str,
    instruction_counts: bool,
    instruction_pages: bool,
    children: bool,
    command: Sequence[str],
    notes: Sequence[str],
    force: bool,
    progress: _Progress,
) -> tuple[int, int, int, int]: ...
def names(of: str) -> list[str]:
    """The names of a catalogue: ``policies``, ``machines``, ``metrics`` or ``refusals``."""

def metrics() -> list[tuple[str, str, str]]:
    """The metrics: name, unit, and meaning in a sentence."""

def build() -> tuple[str, str]:
    """The version and the commit of this build."""

def sweep_local(
    file: str,
    folder: str,
    *,
    threads: int | None,
    use_cache: bool,
    progress: _Progress,
) -> tuple[int, int, int, list[tuple[str, str]]]:
    """Runs an experiment here: all cells, the computed and the known ones, and failed traces with the reason."""

def plan_sweep(
    file: str, folder: str, *, progress: _Progress
) -> tuple[str, int, int, list[tuple[str, str, Path, int]], list[tuple[str, str]]]:
    """Plans a sweep: the name, all cells, the known ones, tasks (JSON, trace, path, cells) and failed traces."""

def run_sweep_task(
    task: str, *, threads: int | None, use_cache: bool, progress: _Progress
) -> tuple[str, bytes]:
    """Runs a task. Returns the name and the bytes of its file of results."""

def add_sweep_result(folder: str, experiment: str, name: str, bytes: bytes) -> None:
    """Adds a file of results to a data set."""

def results_view(folder: str) -> str:
    """The SQL statement that makes the view ``results`` of a data set."""

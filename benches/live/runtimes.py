"""Programs of runtimes that manage memory: Go, the JVM and node, and redis with jemalloc.

The benchmarks compare `report` with what happens, and measure the gain of superpages.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from machine import MIB, Program, make_room, setting
from server import Client
from touching import Speeds, Touching, settled

HERE = pathlib.Path(__file__).parent / "programs"
# The path of libjemalloc2, unless the environment sets it. Without the library, redis has the
# allocator that it was built with.
JEMALLOC = os.environ.get("JEMALLOC", "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
PORT = 7441
# Whole blocks cannot be closer than one.
NEAR, GRAIN = 0.03, 1


def commands():
    """Returns the installed programs, which print `ready` and then make updates, by name."""
    folder = pathlib.Path(tempfile.mkdtemp())
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    found = {}
    if go:
        subprocess.run([go, "build", "-o", folder / "lookup", HERE / "lookup.go"], check=True)
        found["go"] = [str(folder / "lookup")]
    if shutil.which("javac"):
        subprocess.run(["javac", "-d", folder, HERE / "Lookup.java"], check=True)
        found["java"] = ["java", "-Xmx1g", "-cp", str(folder), "Lookup"]
    elif shutil.which("java"):
        # A JVM without `javac` on the path has a compiler inside.
        found["java"] = ["java", "-Xmx1g", str(HERE / "Lookup.java")]
    if shutil.which("node"):
        found["node"] = ["node", str(HERE / "lookup.js")]
    return found


RUNTIMES = ("go", "java", "node")


def installed(log):
    """Returns the programs of `commands`. Reports the missing runtimes."""
    found = commands()
    for name in RUNTIMES:
        if name not in found:
            log.left_out(f"{name} is not installed")
    return found


class Jemalloc(Program):
    """A redis server with jemalloc, filled by a client."""

    def __init__(self, way, options=(), port=PORT, keys=400_000):
        preload = {"LD_PRELOAD": JEMALLOC} if pathlib.Path(JEMALLOC).exists() else {}
        command = ["env", *(f"{name}={value}" for name, value in preload.items())]
        command += [
            "redis-server",
            "--port",
            str(port),
            "--save",
            "",
            "--disable-thp",
            "no",
            "--loglevel",
            "warning",
        ]
        super().__init__(way, command, options, stdout=subprocess.DEVNULL)
        self.port, self.keys = port, keys
        self.client = Client(port, keys)
        self.client.fill(700)
        # Holes, as in a server that has run for a while.
        self.client.each(
            "for i=ARGV[1],ARGV[2] do if i % 5 == 0 then redis.call('del', string.format('key:%012d', i)) end end"
        )
        self.ready = time.time()


def started(name, command, way, options=()):
    """Starts a program, and waits until it is ready."""
    with setting("always" if way == "always" else "madvise"):
        return Jemalloc(way, options) if name == "jemalloc" else Touching(way, command, options)


def calm(program, wait=10):
    """Waits until a program's memory stays constant: runtimes free and collect for a while."""
    before, until = None, time.time() + wait
    while time.time() < until:
        now = program.memory()
        if now == before:
            return
        before = now
        time.sleep(0.5)


def forecast_of(pid, policy):
    answer = subprocess.run(
        ["broadleaf", "report", str(pid), "--policy", policy, "--format", "json"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return json.loads(answer)["processes"][0]["policies"][0]


def whole(program, wait=60):
    """Waits until no superpage has been made for three seconds.

    A busy machine makes only a few in a second.
    """
    before, since = None, time.time()
    until = time.time() + wait
    while time.time() < until and time.time() - since < 3:
        now = program.memory()[1]
        if now != before:
            before, since = now, time.time()
        time.sleep(0.2)


def attach(program, policy):
    """Returns the report of a governor that attaches to a running program."""
    command = [
        "broadleaf",
        "attach",
        str(program.pid),
        "--policy",
        policy,
        "--max-added",
        "unlimited",
        "--max-pressure",
        "100",
        "--format",
        "json",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    whole(program)
    process.terminate()
    return json.loads(process.communicate()[0])


def far(came, said):
    return max(abs(came - said) - GRAIN, 0) / max(said, 1)


def compare_forecast(log, name, command, policy):
    """Compares the forecast of `report` with the results of `attach` and `run`."""
    make_room()
    program = started(name, command, "never")
    calm(program)
    said = forecast_of(program.pid, policy)
    attached = attach(program, policy)
    program.end()
    make_room()
    program = started(
        name,
        command,
        "governed",
        ["--policy", policy, "--max-added", "unlimited", "--max-pressure", "100"],
    )
    whole(program)
    huge = program.memory()[1] // (2 * MIB)
    ran = program.end()
    wanted = said["would_promote"]
    log.line(
        f"{name}, {policy}: promotions",
        f"forecast {wanted}, by attach {attached['promotions']}, by run {ran['promotions']} ({huge} superpages at the end); refused {attached['refusals']}; "
        f"longest stall {ran['stalls']['max_seconds'] * 1000:.1f} ms of {ran['stalls']['count']}",
    )
    log.check(
        f"{name}, {policy}: promotions by attach, how far from the forecast",
        far(attached["promotions"], wanted),
        "<=",
        NEAR,
    )
    log.check(
        f"{name}, {policy}: superpages under run, how far from the forecast",
        far(huge, wanted),
        "<=",
        NEAR,
    )


def programs(log):
    return {**installed(log), "jemalloc": None}


def forecasts(log, _rounds):
    for name, command in programs(log).items():
        for policy in ("pop-256", "pop-64"):
            compare_forecast(log, name, command, policy)


def speeds(log, rounds):
    """Measures the speed over never, in half the turns of the long experiments."""
    for name, command in installed(log).items():
        found = Speeds()
        for _ in range(max(rounds // 2, 1)):
            make_room()
            each = {way: started(name, command, way) for way in ("never", "governed")}
            settled(each["governed"], 0.8, 10)
            each["always"] = started(name, command, "always")
            found.round(each, lambda program: program.update(300_000))
            held = {way: program.memory() for way, program in each.items()}
            for program in each.values():
                with contextlib.suppress(ProcessLookupError):
                    program.end()
        log.line(
            f"{name}, random updates: speed over never",
            f"governed {found.summary('governed')}, always {found.summary('always')}",
        )
        log.line(
            "",
            "MiB held, in superpages: "
            + ", ".join(
                f"{way} {rss / MIB:.0f}, {huge / MIB:.0f}" for way, (rss, huge) in held.items()
            ),
        )
        log.check(
            f"{name}: speed governed over always",
            found.of("governed") / found.of("always"),
            ">=",
            0.95,
        )
        log.check(f"{name}: memory over never", held["governed"][0] / held["never"][0], "<=", 1.12)

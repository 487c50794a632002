"""Compares the replay of a program's recording with the program's live run."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from machine import MIB, children, make_room, memory
from server import Client

# Frames come from anywhere, and a block's pages are copied together, as in the kernel.
POLICY = "promote(frames=any) if populated >= 64"

PYTHON = """
import os, time, random
draw = random.Random(3)
table = {n: str(n) * 3 for n in range(350_000)}
rows = [bytearray(draw.randrange(2000, 9000)) for n in range(6_000)]
for row in rows[::2]: row[len(row) // 2] = 1
del rows[::3]
print('ready', flush=True)
time.sleep(3)
os._exit(0)
"""

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (values(1) union all select i + 1 from n where i < 300000)
insert into t select i, 'row ' || (i * 7919 % 300001) || hex(zeroblob(40)), i / 7.0 from n;
create index by_b on t(b);
select count(*), sum(length(b)) from t where b > 'row 2';
.print ready
.shell sleep 3; kill $PPID
"""

PERL = """
$| = 1;
my %seen; $seen{"key $_"} = "x" x ($_ % 97) for 1 .. 250_000;
my @list = map { "y" x (200 + $_ % 3000) } 1 .. 40_000;
splice(@list, $_, 1) for map { $_ * 3 } 1 .. 2000;
print "ready\\n"; sleep 3; kill "TERM", $$;
"""

AWK = 'BEGIN { for (i = 0; i < 500000; i++) t[i] = "value " i % 1013; for (i = 0; i < 500000; i += 3) delete t[i]; print "ready"; fflush(); system("sleep 3; kill $PPID") }'


PORT = 7431


class Script:
    """A program with fixed input. It prints that it is ready, waits three seconds, and ends."""

    def __init__(self, command, given=os.devnull):
        self.command, self.given = command, given

    def until_ready(self, process):
        for line in process.stdout:
            if line == "ready\n":
                return

    def end(self):
        pass


class Server:
    """A redis server that a client fills."""

    def __init__(self):
        self.command = [
            "redis-server",
            "--port",
            str(PORT),
            "--save",
            "",
            "--disable-thp",
            "no",
            "--loglevel",
            "warning",
        ]
        self.given = os.devnull

    def until_ready(self, _process):
        self.client = Client(PORT, 60_000)
        self.client.fill(2000)

    def end(self):
        with contextlib.suppress(OSError):
            self.client.ask("shutdown", "nosave")


def commands(folder):
    script = folder / "script.sql"
    script.write_text(SQL)
    return {
        "sqlite3": Script(["sqlite3", ":memory:"], script),
        "perl": Script(["perl", "-e", PERL]),
        "gawk": Script(["awk", AWK]),
        "redis": Server(),
        "python3": Script([sys.executable, "-c", PYTHON]),
    }


@contextlib.contextmanager
def started(broadleaf, program):
    """Runs a program until it is ready, and afterwards to its end."""
    with open(program.given) as given:
        process = subprocess.Popen(
            [*broadleaf, "--", *program.command],
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
    program.until_ready(process)
    yield process
    program.end()
    process.communicate()


def live(options, program):
    """Returns the bytes held and in superpages 2.5 s after the start, and the report."""
    report = tempfile.NamedTemporaryFile(suffix=".json", delete=False).name
    run = [
        "broadleaf",
        "run",
        "--format",
        "json",
        "-o",
        report,
        "--force",
        "--interval",
        "50",
        *options,
    ]
    with started(run, program) as process:
        time.sleep(2.5)
        held = memory(children(process.pid)[0])
    with open(report) as file:
        return held, json.load(file)


def replayed(trace):
    """Returns the results of 4k and of the policy."""
    compare = [
        "broadleaf",
        "compare",
        trace,
        "--policy",
        "4k",
        "--policy",
        POLICY,
        "--memory",
        "unlimited",
        "--format",
        "json",
    ]
    results = json.loads(
        subprocess.run(compare, check=True, capture_output=True, text=True).stdout
    )["results"]
    return results


def predicted(log, _rounds):
    folder = pathlib.Path(tempfile.mkdtemp())
    for name, program in commands(folder).items():
        make_room()
        trace = str(folder / f"{name}.bl")
        with started(["broadleaf", "record", "-o", trace], program):
            pass
        base, policy = replayed(trace)
        (plain, _), _ = live(["--policy", "4k"], program)
        (held, huge), report = live(["--policy", POLICY, "--max-added", "unlimited"], program)
        said = (
            policy["promotions"],
            policy["page_sizes"].get("2097152", 0),
            (policy["resident_pages"] - base["resident_pages"]) * 4096,
        )
        came = (report["promotions"], huge // (2 * MIB), held - plain)
        log.line(
            f"{name}, `{POLICY}`: promotions, superpages at the end, MiB added",
            f"replayed {said[0]}, {said[1]}, {said[2] / MIB:.1f}; live {came[0]}, {came[1]}, {came[2] / MIB:.1f} of {plain / MIB:.0f}",
        )
        if name == "python3":
            # Its dictionaries grow by copying. The earlier copies are gone before a governor sees
            # them, but a replay promotes them.
            continue
        for what, wanted, had, grain in zip(
            ("promotions", "superpages at the end", "memory added"), said, came, (1, 1, 2 * MIB)
        ):
            # Whole blocks cannot be closer than one.
            far = max(abs(had - wanted) - grain, 0) / max(wanted, 1)
            log.check(f"{name}: {what}, how far from what was replayed", far, "<=", 0.10)

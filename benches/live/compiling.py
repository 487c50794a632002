"""A compiler, which ends before a policy is worth anything."""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from machine import make_room, middle, spread, summary
from programs import compiler, source

# Pairs of runs, with and without, in a round. Two runs differ by a tenth, which is ten times the
# measured effect.
PAIRS = 30


def gcc(log, rounds):
    make_room()
    folder = pathlib.Path(tempfile.mkdtemp())
    source(folder / "big.c", 42)
    command = [compiler(), "-O2", "-quiet", str(folder / "big.c"), "-o", str(folder / "big.s")]
    ran = subprocess.run(
        ["broadleaf", "run", "--baseline", str(rounds * PAIRS), "--format", "json", "--", *command],
        check=True,
        capture_output=True,
        text=True,
    )
    report = json.loads(ran.stdout)
    quotients = [
        governed["cpu_seconds"] / plain["cpu_seconds"]
        for governed, plain in zip(report["with"], report["without"])
    ]
    turns = [quotients[first : first + PAIRS] for first in range(0, len(quotients), PAIRS)]
    seconds = [plain["cpu_seconds"] for plain in report["without"]]
    governed = [governed["cpu_seconds"] for governed in report["with"]]
    governor = [governed["governor_cpu_seconds"] for governed in report["with"]]
    log.line(
        "gcc, one file",
        f"{spread(seconds, 2)} s of a processor; governed {spread(governed, 2)} s; one over the other, by pairs, {summary(turns)}; governor {spread(governor)} s",
    )
    log.check("gcc: processor time over that without governor", middle(turns), "<=", 1.01)

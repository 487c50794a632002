"""A compiler, which is over before a policy is worth anything."""
import json
import pathlib
import subprocess
import sys
import tempfile
from statistics import median

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from machine import make_room, spread
from programs import compiler, source


def gcc(tell, rounds):
    make_room()
    folder = pathlib.Path(tempfile.mkdtemp())
    source(folder / "big.c", 420)
    command = [compiler(), "-O2", "-quiet", str(folder / "big.c"), "-o", str(folder / "big.s")]
    ran = subprocess.run(["broadleaf", "run", "--baseline", str(max(rounds, 5)), "--format", "json", "--", *command], check=True, capture_output=True, text=True)
    report = json.loads(ran.stdout)
    quotients = [governed["cpu_seconds"] / plain["cpu_seconds"] for governed, plain in zip(report["with"], report["without"])]
    seconds = [plain["cpu_seconds"] for plain in report["without"]]
    governor = [governed["governor_cpu_seconds"] for governed in report["with"]]
    tell.line("gcc, one file", f"{spread(seconds, 2)} s of a processor; governed over not {spread(quotients)}; governor {spread(governor)} s")
    tell.check("gcc: processor time over that without governor", median(quotients), "<=", 1.01)

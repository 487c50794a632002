"""What a replay of a recording says of a program, beside what happens when the program runs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from machine import MIB, children, make_room, memory

# Frames come from anywhere, and a block's pages are copied together, as the kernel does it.
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


def commands(folder):
    script = folder / "script.sql"
    script.write_text(SQL)
    return {
        "python3": ([sys.executable, "-c", PYTHON], None),
        "sqlite3": (["sqlite3", ":memory:"], script),
        "perl": (["perl", "-e", PERL], None),
        "gawk": (["awk", AWK], None),
    }


def live(options, command, script):
    """Bytes held and in superpages two and a half seconds after the program was ready, and the governor's report."""
    report = tempfile.NamedTemporaryFile(suffix=".json", delete=False).name
    run = ["broadleaf", "run", "--format", "json", "-o", report, "--force", "--interval", "50", *options, "--", *command]
    with open(script or os.devnull) as given:
        process = subprocess.Popen(run, stdin=given, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line == "ready\n":
            break
    time.sleep(2.5)
    held = memory(children(process.pid)[0])
    process.communicate()
    with open(report) as file:
        return held, json.load(file)


def replayed(trace):
    """What a replay says of 4k and of the policy."""
    compare = ["broadleaf", "compare", trace, "--policy", "4k", "--policy", POLICY, "--memory", "unlimited", "--format", "json"]
    results = json.loads(subprocess.run(compare, check=True, capture_output=True, text=True).stdout)["results"]
    return results


def predicted(tell, _rounds):
    folder = pathlib.Path(tempfile.mkdtemp())
    for name, (command, script) in commands(folder).items():
        make_room()
        trace = str(folder / f"{name}.bl")
        with open(script or os.devnull) as given:
            subprocess.run(["broadleaf", "record", "-o", trace, "--", *command], check=True, stdin=given, capture_output=True)
        base, policy = replayed(trace)
        (plain, _), _ = live(["--policy", "4k"], command, script)
        (held, huge), report = live(["--policy", POLICY, "--max-added", "unlimited"], command, script)
        said = (policy["promotions"], policy["page_sizes"].get("2097152", 0), (policy["resident_pages"] - base["resident_pages"]) * 4096)
        came = (report["promotions"], huge // (2 * MIB), held - plain)
        tell.line(f"{name}, `{POLICY}`: promotions, superpages at the end, MiB added", f"replayed {said[0]}, {said[1]}, {said[2] / MIB:.1f}; live {came[0]}, {came[1]}, {came[2] / MIB:.1f} of {plain / MIB:.0f}")
        for what, wanted, had, grain in zip(("promotions", "superpages at the end", "memory added"), said, came, (1, 1, 2 * MIB)):
            # Whole blocks cannot be nearer than one.
            far = max(abs(had - wanted) - grain, 0) / max(wanted, 1)
            tell.check(f"{name}: {what}, how far from what was replayed", far, "<=", 0.10)

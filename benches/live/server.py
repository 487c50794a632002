"""redis with 2 GB of keys."""

import json
import pathlib
import socket
import subprocess
import tempfile
import time
from statistics import median

from machine import MIB, Program, make_room, processor_seconds, setting, spread
from touching import Busy, Speeds, settled, steady

# The numbers and sizes of keys: small keys, of which a page holds several, and large keys, whose
# deletion returns pages.
SMALL, LARGE = (2_300_000, 700), (330_000, 6000)
FILL = "for i=ARGV[1],ARGV[2] do redis.call('set', string.format('key:%012d', i), string.rep(string.char(97 + i % 26), ARGV[3])) end"
THIN = "for i=ARGV[1],ARGV[2] do if i % 4 ~= 0 then redis.call('del', string.format('key:%012d', i)) end end"


class Client:
    """A client of redis at a port. It connects as soon as a server answers there."""

    def __init__(self, port, keys):
        self.port, self.keys = port, keys
        until = time.time() + 60
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                if time.time() > until:
                    raise
                time.sleep(0.05)
        self.stream = self.socket.makefile("rb")

    def ask(self, *words):
        parts = [f"*{len(words)}\r\n".encode()]
        for word in words:
            word = str(word).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))
        answer = self.stream.readline()
        if answer.startswith(b"-"):
            raise RuntimeError(answer.decode())
        return answer

    def each(self, script, *more):
        """Runs a script over all keys, some thousands at a time."""
        for first in range(0, self.keys, 20_000):
            self.ask("eval", script, 0, first, min(first + 20_000, self.keys) - 1, *more)

    def fill(self, size):
        self.each(FILL, size)


class Redis(Program):
    def __init__(self, way, port, keys, options=()):
        folder = tempfile.mkdtemp()
        command = [
            "redis-server",
            "--port",
            str(port),
            "--save",
            "",
            "--appendonly",
            "no",
            "--dir",
            folder,
            "--disable-thp",
            "no",
            "--loglevel",
            "warning",
        ]
        super().__init__(way, command, options, stdout=subprocess.DEVNULL)
        self.client = Client(port, keys)
        self.port, self.keys = port, keys

    def fill(self, size):
        self.client.fill(size)
        self.ready = time.time()

    def thin(self):
        self.client.each(THIN)

    def gets(self, count):
        """Returns the nanoseconds of the server's processor time for one random GET."""
        before = processor_seconds(self.pid)
        subprocess.run(
            [
                "redis-benchmark",
                "-p",
                str(self.port),
                "-n",
                str(count),
                "-r",
                str(self.keys),
                "-P",
                "32",
                "-c",
                "8",
                "-q",
                "GET",
                "key:__rand_int__",
            ],
            check=True,
            capture_output=True,
        )
        return (processor_seconds(self.pid) - before) / count * 1e9


def small_keys(log, rounds):
    redis(log, rounds, *SMALL)


def large_keys(log, rounds):
    redis(log, rounds, *LARGE)


def started(keys, size, turn):
    """Starts servers with that many keys, in another order in each turn."""
    make_room()
    servers = {}
    ways = ["never", "governed", "always"]
    for port, way in enumerate(ways[turn % 3 :] + ways[: turn % 3], 7411):
        with setting("always" if way == "always" else "madvise"):
            servers[way] = Redis(way, port, keys)
            servers[way].fill(size)
    settled(servers["governed"], 0.95, 20)
    return servers


def redis(log, rounds, keys, size):
    speeds = Speeds()
    for turn in range(rounds):
        # Two starts of a server differ in speed, so each round has servers of its own.
        servers = started(keys, size, turn)
        busy = Busy(servers["governed"])
        speeds.round(servers, lambda server: server.gets(25_000))
        if turn < rounds - 1:
            for server in servers.values():
                server.end()
    working, cpu = busy.part(), steady(servers["governed"], 10)
    held = {name: server.memory() for name, server in servers.items()}
    log.line(
        f"redis, {keys:,} keys of {size} bytes, random GETs: speed over never",
        f"governed {speeds.summary('governed')}, always {speeds.summary('always')}",
    )
    log.line(
        "",
        "MiB held, in superpages: "
        + ", ".join(
            f"{name} {rss / MIB:.0f}, {huge / MIB:.0f}" for name, (rss, huge) in held.items()
        ),
    )
    log.check("gain of always that the default policy gives", speeds.gain(), ">=", 0.90)
    log.check("memory over never", held["governed"][0] / held["never"][0], "<=", 1.02)
    log.check("part of a processor for the governor while redis answers", working, "<", 0.01)
    log.check("part of a processor for the governor, steady", cpu, "<", 0.01)
    for server in servers.values():
        server.thin()
    time.sleep(25)
    held = {name: server.memory() for name, server in servers.items()}
    log.line(
        "after 75 percent of the keys are deleted",
        "MiB held, in superpages: "
        + ", ".join(
            f"{name} {rss / MIB:.0f}, {huge / MIB:.0f}" for name, (rss, huge) in held.items()
        ),
    )
    log.check(
        "after the deletion: memory over never", held["governed"][0] / held["never"][0], "<=", 1.03
    )
    for server in servers.values():
        report = server.end()
        if server.way == "governed":
            log.line(
                "governor",
                f"{report['governor_cpu_seconds']:.2f} s of a processor, {report['promotions']} promotions, {report['broken_by_programs']} broken by redis, refusals {report['refusals']}",
            )


def forecast(log, rounds):
    """Measures the forecast of `report`, its time, and its accuracy."""
    make_room()
    keys, size = SMALL
    server = Redis("never", 7421, keys)
    server.fill(size)
    policies = ("pop-512", "pop-461", "pop-256", "pop-64")
    asked = ["broadleaf", "report", str(server.pid), "--format", "json"]
    for policy in policies:
        asked += ["--policy", policy]
    times = []
    for _ in range(max(rounds, 5)):
        began = time.time()
        answer = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        times.append((time.time() - began) * 1000)
    log.line("report on redis with 2 GB of keys", f"{spread(times, 1)} ms")
    log.check("milliseconds for a report", median(times), "<", 50)
    predicted = {each["policy"]: each for each in json.loads(answer)["processes"][0]["policies"]}
    promoted = added = 0
    for policy in policies:
        run = [
            "broadleaf",
            "attach",
            str(server.pid),
            "--policy",
            policy,
            "--max-added",
            "unlimited",
            "--for",
            "15",
            "--format",
            "json",
        ]
        report = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
        promoted += report["promotions"]
        added += report["added_bytes"]
        wanted = predicted[policy]
        log.check(
            f"{policy}: blocks promoted over predicted ({promoted} and {wanted['would_promote']})",
            promoted / max(wanted["would_promote"], 1),
            "in",
            (0.97, 1.03),
        )
        within = abs(added - wanted["added_bytes"]) / max(wanted["added_bytes"], 16 * MIB)
        log.check(
            f"{policy}: memory added against predicted, {added / MIB:.1f} and {wanted['added_bytes'] / MIB:.1f} MiB",
            within,
            "<=",
            0.03,
        )
    server.end()

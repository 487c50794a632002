"""Programs that touch memory in a pattern (touch.c), and the effect of a governor on each."""

import pathlib
import subprocess
import tempfile
import time

from machine import (
    MIB,
    Program,
    apart,
    available,
    make_room,
    middle,
    processor_seconds,
    setting,
    summary,
)

HERE = pathlib.Path(__file__).parent


def built():
    folder = pathlib.Path(tempfile.mkdtemp())
    subprocess.run(["gcc", "-O2", "-o", folder / "touch", HERE / "touch.c"], check=True)
    return str(folder / "touch")


class Touching(Program):
    def __init__(self, way, command, options=()):
        super().__init__(
            way,
            command,
            options,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        assert self.process.stdout.readline() == "ready\n"
        self.ready = time.time()

    def update(self, count):
        """Returns the nanoseconds of processor time for one update."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline()) / count


def start(way, command, options=()):
    with setting("always" if way == "always" else "madvise"):
        return Touching(way, command, options)


def settled(program, share=0.99, wait=30):
    """Returns the seconds until this share of a program is in superpages, or None if it never is.

    The time starts when the program's memory has been touched.
    """
    while time.time() - program.ready < wait:
        rss, huge = program.memory()
        if huge >= share * rss:
            return time.time() - program.ready
        time.sleep(0.05)
    return None


class Speeds:
    """The speeds of programs relative to the one without superpages: turn by turn, in rounds.

    Turns are so short that other load slows all programs alike.
    """

    TURNS = 48

    def __init__(self):
        self.rounds = {}

    def round(self, programs, time_of):
        """Measures a round of programs, by the way in which they run."""
        quotients = {way: [] for way in programs}
        with apart([program.pid for program in programs.values()]):
            for turn in range(self.TURNS):
                ways = list(programs)
                ways = ways[turn % len(ways) :] + ways[: turn % len(ways)]
                times = {way: time_of(programs[way]) for way in ways}
                for way in programs:
                    quotients[way].append(times["never"] / times[way])
        for way in programs:
            self.rounds.setdefault(way, []).append(quotients[way])

    def of(self, name):
        return middle(self.rounds[name])

    def summary(self, name):
        return summary(self.rounds[name])

    def gain(self):
        """Returns the share of the gain under `always` that the governor gives."""
        always, governed = self.of("always") - 1, self.of("governed") - 1
        return governed / always if always > 0 else float("nan")


def steady(program, seconds):
    """Returns the part of a processor that the governor takes while nothing changes."""
    before, began = processor_seconds(program.governor), time.time()
    time.sleep(seconds)
    return (processor_seconds(program.governor) - before) / (time.time() - began)


class Busy:
    """The part of a processor that a governor takes from now on."""

    def __init__(self, program):
        self.pid = program.governor
        self.before, self.began = processor_seconds(self.pid), time.time()

    def part(self):
        return (processor_seconds(self.pid) - self.before) / (time.time() - self.began)


def gups(log, rounds):
    touch = built()
    command = [touch, "2048", "every", "1"]
    speeds, took = Speeds(), []
    for turn in range(rounds):
        # Two starts of a program differ in speed, so each round has programs of its own.
        make_room()
        programs = {way: start(way, command) for way in ("never", "governed")}
        took.append(settled(programs["governed"]))
        programs["always"] = start("always", command)
        busy = Busy(programs["governed"])
        speeds.round(programs, lambda program: program.update(1_000_000))
        if turn < rounds - 1:
            for program in programs.values():
                program.end()
    working, cpu = busy.part(), steady(programs["governed"], 10)
    huge = {name: program.memory()[1] / MIB for name, program in programs.items()}
    for program in programs.values():
        report = program.end()
        if program.way == "governed":
            governed = report
    log.line(
        "random updates over 2 GiB: speed over never",
        f"governed {speeds.summary('governed')}, always {speeds.summary('always')}; MiB in superpages {huge['governed']:.0f}, {huge['always']:.0f}",
    )
    log.check("gain of always that the default policy gives", speeds.gain(), ">=", 0.95)
    log.check("part of a processor for the governor while the program works", working, "<", 0.01)
    log.check(
        "seconds until 99 percent of it is promoted, the slowest",
        max(1e9 if each is None else each for each in took),
        "<=",
        3,
    )
    log.check("part of a processor for the governor, steady", cpu, "<", 0.01)
    log.line(
        "governor",
        f"{governed['governor_cpu_seconds']:.2f} s of a processor, {governed['promotions']} promotions, refusals {governed['refusals']}",
    )


def sparse(log, _rounds):
    make_room()
    touch = built()
    command = [touch, "4096", "every", "64"]
    never, governed = start("never", command), start("governed", command)
    time.sleep(5)
    cpu = steady(governed, 20)
    held = {program.way: program.memory()[0] for program in (never, governed)}
    never.end()
    report = governed.end()
    log.check(
        "1 page in 64 over 4 GiB: memory over never", held["governed"] / held["never"], "<=", 1.02
    )
    log.check("part of a processor for the governor, steady", cpu, "<", 0.01)
    log.line(
        "governor",
        f"{report['governor_cpu_seconds']:.3f} s of a processor, {report['promotions']} promotions, refusals {report['refusals']}",
    )


def quarter(log, rounds):
    touch = built()
    command = [touch, "3072", "quarter"]
    make_room()
    never = start("never", command)
    held = never.memory()[0]
    for policy in ("pop-256", "pop-128", "pop-64", "greedy"):
        program = start("governed", command, ["--policy", policy])
        time.sleep(6)
        added = program.memory()[0] - held
        cpu = steady(program, 10) if policy == "pop-256" else None
        report = program.end()
        # The program's own list of pages is in superpages too, equally in both programs.
        log.check(
            f"a quarter of the pages over 3 GiB, {policy}, budget 10 %: MiB added beyond the budget",
            (added - held * 0.10) / MIB,
            "<=",
            2,
        )
        log.line(
            "",
            f"{policy}: {added / MIB:.1f} MiB added, by its own count at most {report['added_bytes_peak'] / MIB:.1f}; {report['promotions']} promotions",
        )
        if cpu is not None:
            log.check(
                "part of a processor for the governor, steady, never-promotable memory",
                cpu,
                "<",
                0.01,
            )
    make_room()
    # Pressure is a program that takes memory until less than the kept amount is available.
    keep = available() - 6 * 1024 * MIB
    unlimited = start(
        "governed",
        command,
        ["--policy", "pop-64", "--max-added", "unlimited", "--keep-free", str(keep)],
    )
    settled(unlimited, 0.95)
    speeds = Speeds()
    for _ in range(rounds):
        speeds.round(
            {"never": never, "governed": unlimited}, lambda program: program.update(1_000_000)
        )
    full = unlimited.memory()[0]
    log.line(
        "the same, pop-64 without a budget",
        f"speed over never {speeds.summary('governed')}, memory {full / held:.2f} times",
    )
    log.check("speed over never", speeds.of("governed"), ">", 1)
    # The program takes so much that memory stays short until all is returned.
    need = (max(available() - keep, 0) + full - held) // MIB + 512
    hog = Touching("always", [touch, str(need), "every", "1"])
    until = time.time() + 60
    while time.time() < until and unlimited.memory()[0] - held > 0.05 * (full - held):
        time.sleep(0.2)
    left = unlimited.memory()[0]
    hog.end()
    report = unlimited.end()
    never.end()
    log.check(
        "given pressure, part of what was added that demotion returns",
        (full - left) / (full - held),
        ">=",
        0.90,
    )
    log.line(
        "",
        f"{report['demotions']} demotions, {report['returned_bytes'] / MIB:.0f} MiB by its own count",
    )

"""The inputs and commands of the benchmarks. They are equal on machines with the same packages."""

import glob
import os
import random
import signal
import subprocess
import time


def text(path, size):
    """Writes lines of the licences of every Debian machine, in an order with a fixed seed."""
    lines = []
    for name in sorted(glob.glob("/usr/share/common-licenses/*")):
        with open(name, errors="replace") as f:
            lines += f.readlines()
    draw = random.Random(20)
    with open(path, "w") as f:
        while f.tell() < size:
            at = draw.randrange(len(lines))
            f.writelines(lines[at : at + 4])
        f.truncate(size)


def source(path, functions):
    """Writes a C file of many functions with loops, switches and structures."""
    draw = random.Random(7)
    with open(path, "w") as f:
        f.write(
            "int strcmp(const char *, const char *);\nstruct s { int a, b; double d; char name[24]; struct s *next; };\n"
        )
        for n in range(functions):
            a, b, c = (draw.randrange(1, 999) for _ in range(3))
            f.write(
                f"static int helper{n}(struct s *p, int k) {{ int r = {a}; for (int i = 0; i < k; i++) {{\n"
                f"  switch ((p->a + i) % 5) {{ case 0: r += p->b * {b}; break; case 1: r ^= i << {b % 13}; break;\n"
                f"  case 2: p->d = p->d * {a}.5 + r; break; case 3: r -= (int)p->d; break; default: r += {c}; }}\n"
                f"  if (r > {a * c}) p = p->next ? p->next : p; }} return r; }}\n"
                f"int work{n}(struct s *p, const char *t) {{ int v[16] = {{0}}; for (int i = 0; i < 16; i++)\n"
                f"  v[i] = helper{n}(p, i + {a % 7}) + (t ? t[i % 3] : 0); int m = 0;\n"
                f"  for (int i = 0; i < 16; i++) for (int j = 0; j < i; j++) m += v[i] * v[j] % {b + 3};\n"
                f"  if (t && strcmp(t, p->name) == 0) m += helper{n}(p->next, m & 31); return m; }}\n"
            )


def compiler():
    """Returns the compiler proper, without the driver that starts it."""
    found = subprocess.run(
        ["gcc", "-print-prog-name=cc1"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def record_redis(folder, requests):
    """Records redis-server under redis-benchmark, with this many requests of each kind."""
    socket = os.path.join(folder, "socket")
    server = ["redis-server", "--port", "0", "--unixsocket", socket]
    server += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
    null = subprocess.DEVNULL
    quiet = {"stdin": null, "stdout": null, "stderr": null, "cwd": folder}
    recorder = subprocess.Popen(["broadleaf", "record", "-o", "redis.bl", "--", *server], **quiet)
    try:
        deadline = time.monotonic() + 60
        while not os.path.exists(socket):
            if recorder.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("redis-server did not start under the recorder")
            time.sleep(0.1)
        load = ["redis-benchmark", "-s", socket, "-q", "-t", "set,get,lpush,zadd"]
        load += ["-n", str(requests), "-r", "100000", "-d", "64"]
        subprocess.run(load, check=True, **quiet)
        # The server ends without an answer, which the client reports as a failure.
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], **quiet)
        if recorder.wait(timeout=60) != 0:
            raise SystemExit("redis-server could not be recorded")
    finally:
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGTERM)
            recorder.wait()

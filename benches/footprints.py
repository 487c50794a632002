"""Five programs whose memory matters: what they are given, how they are started, and who talks to them meanwhile."""
import os

import programs

SQL = """
pragma temp_store = memory;
create table t(a integer primary key, b text, c integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 180000)
  insert into t select i, printf('%0400d', i * 7919), (i * 7919) % 100003 from n;
create index ti on t(c);
select count(*), sum(length(b)) from t where c between 100 and 90000;
delete from t where c < 30000;
"""

# A dictionary of lists, another made from it, and counts in a table of 24 MiB that the program asks to have in 2 MiB pages.
PYTHON = """
import mmap
found = {}
for i in range(250000):
    found["key %d" % i] = [i, str(i * 7919 % 1000003)]
names = sorted(found, key=lambda name: found[name][1])
back = {value[1]: name for name, value in found.items()}
table = mmap.mmap(-1, 24 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
table.madvise(mmap.MADV_HUGEPAGE)
for i in range(250000):
    at = i * 7919 % (18 << 20)
    table[at] = table[at] + 1 & 255
print(len(names), len(back), table[0])
"""

# The server answers from a socket; the client says at the end that it should stop, which it does without an answer.
CLIENT = """
until redis-cli -s socket ping 2>/dev/null | grep -q PONG; do sleep 0.05; done
redis-cli -s socket --pipe <commands
redis-cli -s socket dbsize
redis-cli -s socket shutdown nosave
exit 0
"""


class Program:
    """A command that runs in the present folder. `asks`: it, or a library of it, looks at the machine's setting for 2 MiB pages and acts on it."""

    def __init__(self, command, environment=None, client=None, asks=False):
        self.command, self.client, self.asks = command, client, asks
        self.own = environment or {}
        # What lies on the stack is part of the footprint, so nothing of the user's environment gets in.
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **self.own}


def resp(*words):
    """A command in the protocol of redis."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def gcc():
    programs.source("large.c", 280)
    return Program([programs.compiler(), "-quiet", "-O0", "large.c", "-o", "large.s"])


def xz():
    programs.text("text", 9_000_000)
    return Program(["xz", "-6", "-c", "-T1", "text"])


def sqlite():
    with open("script.sql", "w") as f:
        f.write(SQL)
    # The C library advises its heap, where the machine's setting is `madvise`.
    return Program(["sqlite3", ":memory:", ".read script.sql"], {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, asks=True)


def python():
    with open("count.py", "w") as f:
        f.write(PYTHON)
    return Program(["/usr/bin/python3", "-S", "-B", "count.py"], {"PYTHONHASHSEED": "0"})


def redis():
    with open("commands", "wb") as f:
        for i in range(90_000):
            f.write(resp(b"SET", b"key:%012d" % (i * 7919 % 1_000_003), b"%0700d" % i))
        for i in range(60_000):
            f.write(resp(b"HSET", b"hash:%d" % (i % 500), b"field:%d" % i, b"%d" % (i * 31)))
    server = ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no", "--daemonize", "no", "--disable-thp", "no"]
    # jemalloc advises what it maps, where the machine's setting is `madvise`.
    return Program(server, {"MALLOC_CONF": "thp:always"}, ["sh", "-c", CLIENT], asks=True)


FOOTPRINTS = {"gcc": gcc, "xz": xz, "sqlite": sqlite, "python": python, "redis": redis}

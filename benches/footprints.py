"""Eight programs whose memory matters: their inputs, their commands, and their clients."""

import os
import shutil
import subprocess

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

# A dictionary of lists, another one made from it, and counts in a table of 24 MiB. The program asks
# for that table in 2 MiB pages.
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

# The server answers on a socket. At the end, the client asks it to stop, which it does without an
# answer.
CLIENT = """
until redis-cli -s socket ping 2>/dev/null | grep -q PONG; do sleep 0.05; done
redis-cli -s socket --pipe <commands
redis-cli -s socket dbsize
redis-cli -s socket shutdown nosave
exit 0
"""


# A map of byte slices, half of which becomes garbage, and a large array. One processor makes runs
# repeatable.
GO = """
package main

import "fmt"

func main() {
	found := make(map[uint64][]byte)
	for i := uint64(0); i < 120000; i++ {
		found[i*7919%1000003] = make([]byte, 16+i%300)
		if i%2 == 1 {
			delete(found, (i-1)*7919%1000003)
		}
	}
	array := make([]uint64, 4<<20)
	for i := range array {
		array[i*7919%len(array)] += uint64(i)
	}
	fmt.Println(len(found), array[17])
}
"""

# Objects, strings and a typed array. Compiler threads are off, because they take memory at varying
# times.
NODE = """
const found = new Map();
for (let i = 0; i < 150000; i++) found.set("key " + i, { at: i, name: String(i * 7919 % 1000003) });
const sorted = [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
const table = new Float64Array(2 << 20);
for (let i = 0; i < table.length; i++) table[(i * 7919) % table.length] += i;
console.log(sorted.length, table[17]);
"""


class Program:
    """A command that runs in the present folder.

    `asks` is true if the program, or one of its libraries, reads the machine's setting for 2 MiB
    pages and acts on it.
    """

    def __init__(self, command, environment=None, client=None, asks=False):
        self.command, self.client, self.asks = command, client, asks
        self.own = environment or {}
        # The stack is part of the footprint, so the user's environment is left out.
        self.environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **self.own}


def resp(*words):
    """Encodes a command in the protocol of redis."""
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%s\r\n" % (len(word), word) for word in words
    )


def gcc():
    programs.source("large.c", 280)
    return Program([programs.compiler(), "-quiet", "-O0", "large.c", "-o", "large.s"])


def xz():
    programs.text("text", 9_000_000)
    return Program(["xz", "-6", "-c", "-T1", "text"])


def sqlite():
    with open("script.sql", "w") as f:
        f.write(SQL)
    # The C library advises its heap if the machine's setting is `madvise`.
    return Program(
        ["sqlite3", ":memory:", ".read script.sql"],
        {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
        asks=True,
    )


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
    server = [
        "redis-server",
        "--port",
        "0",
        "--unixsocket",
        "socket",
        "--save",
        "",
        "--appendonly",
        "no",
        "--daemonize",
        "no",
        "--disable-thp",
        "no",
    ]
    # jemalloc advises its mappings if the machine's setting is `madvise`.
    return Program(server, {"MALLOC_CONF": "thp:always"}, ["sh", "-c", CLIENT], asks=True)


def go():
    with open("found.go", "w") as f:
        f.write(GO)
    # The linker needs a home and a cache. The program itself sees neither.
    own = {
        **os.environ,
        "GO111MODULE": "off",
        "GOCACHE": os.path.abspath("cache"),
        "CGO_ENABLED": "0",
    }
    subprocess.run([go_tool(), "build", "-o", "found", "found.go"], check=True, env=own)
    return Program([os.path.abspath("found")], {"GOMAXPROCS": "1"})


def node():
    with open("found.js", "w") as f:
        f.write(NODE)
    return Program([shutil.which("node"), "--single-threaded", "found.js"])


def jemalloc():
    """The same Python program with Debian's jemalloc, which frees memory by the clock."""
    with open("count.py", "w") as f:
        f.write(PYTHON)
    own = {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc", "LD_PRELOAD": JEMALLOC}
    return Program(["/usr/bin/python3", "-S", "-B", "count.py"], own)


JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"


def go_tool():
    return shutil.which("go") or "/usr/local/go/bin/go"


def lacking():
    """Returns the programs that this machine cannot run, with the missing file."""
    needs = {"go": go_tool(), "node": shutil.which("node") or "node", "jemalloc": JEMALLOC}
    return {name: path for name, path in needs.items() if not os.path.exists(path)}


FOOTPRINTS = {
    "gcc": gcc,
    "xz": xz,
    "sqlite": sqlite,
    "python": python,
    "redis": redis,
    "go": go,
    "node": node,
    "jemalloc": jemalloc,
}

"""Linux's own counts for a program: page faults, peak memory, and peak memory in 2 MiB pages.

The program runs at full speed without address-space randomization, as in a recording, under ptrace.
It stops only where a figure would be gone a moment later:

- after `exec`, so that earlier faults of the process and those of `exec` can be subtracted;
- before each system call that can take memory away or break a 2 MiB page (a seccomp filter selects
  these calls, and all others run untraced);
- before it exits, while its memory still exists.

Between two such stops memory only grows, so the peak at the stops is the true peak. (Reclaim could
take pages away at any time, but a machine with free memory does not reclaim. khugepaged may make a
2 MiB page at any time, which is growth.)
"""

import ctypes
import os
import signal
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = [ctypes.c_long] * 4

TRACEME, CONT, SETOPTIONS = 0, 7, 0x4200
ON_CLONE, ON_EXEC, ON_EXIT, ON_SECCOMP, KILL_WITH_TRACER = 0x8, 0x10, 0x40, 0x80, 0x100000
EVENT_CLONE, EVENT_EXEC, EVENT_EXIT, EVENT_SECCOMP = 3, 4, 6, 7
ANY_CHILD = 0x40000000  # __WALL
NO_RANDOMISATION = 0x0040000
# The x86-64 numbers of mmap (over other memory), mprotect, munmap, brk, mremap, madvise and shmdt.
TAKES_AWAY = (9, 10, 11, 12, 25, 28, 67)


def filter_of(calls):
    """Returns a seccomp filter (classic BPF) that stops at these calls and allows all others."""
    step = lambda code, yes, no, k: struct.pack("HBBI", code, yes, no, k)
    steps = [step(0x20, 0, 0, 0)]  # load the call's number
    for i, number in enumerate(calls):
        steps.append(step(0x15, len(calls) - i, 0, number))  # equal: to the last step
    steps += [step(0x06, 0, 0, 0x7FFF0000), step(0x06, 0, 0, 0x7FF00000)]  # allow; trace
    return b"".join(steps), len(steps)


def ptrace(request, pid, data=0):
    if LIBC.ptrace(request, pid, 0, data) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def become(command, environment, stdin, stdout):
    """Runs the child's part between fork and exec. Never returns."""
    try:
        os.setpgid(0, 0)
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.dup2(stdout, 2)
        LIBC.personality(NO_RANDOMISATION)
        ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        code, steps = filter_of(TAKES_AWAY)
        kept = ctypes.create_string_buffer(code)
        program = ctypes.create_string_buffer(
            struct.pack("HxxxxxxP", steps, ctypes.addressof(kept))
        )
        if LIBC.prctl(38, 1, 0, 0, 0) != 0 or LIBC.prctl(22, 2, program, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl")
        os.execvpe(command[0], command, environment)
    except BaseException as error:
        os.write(2, f"{command[0]}: {error}\n".encode())
    finally:
        os._exit(127)


# ---- figures that are read at a stop ----


def faults(pid):
    """Returns the page faults of all threads so far: minor, major."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rpartition(")")[2].split()
    return int(fields[7]), int(fields[9])


def amounts(pid, file, names):
    """Returns the lines of that file of /proc that begin with these names, in KiB."""
    with open(f"/proc/{pid}/{file}") as f:
        lines = (line.split() for line in f)
        return {line[0][:-1]: int(line[1]) for line in lines if line and line[0][:-1] in names}


RESIDENT = ("RssAnon", "RssFile", "RssShmem")


class Peak:
    """The peak over all stops."""

    def __init__(self):
        self.stops = self.resident = self.huge = self.mark = 0
        self.split = {}

    def look(self, pid, last=False):
        self.stops += 1
        now = amounts(pid, "status", (*RESIDENT, "VmHWM"))
        self.mark = max(self.mark, now["VmHWM"])
        resident = sum(now[name] for name in RESIDENT)
        if resident > self.resident:
            self.resident, self.split = resident, {name: now[name] for name in RESIDENT}
        # 2 MiB pages are part of the anonymous memory, so there cannot be more of them.
        if last or now["RssAnon"] > self.huge:
            self.huge = max(
                self.huge, amounts(pid, "smaps_rollup", ("AnonHugePages",))["AnonHugePages"]
            )


def run(command, environment):
    """Runs the command to its end, without input. Returns Linux's counts, with sizes in KiB."""
    given, taken = os.open("/dev/null", os.O_RDONLY), os.open("/dev/null", os.O_WRONLY)
    pid = os.fork()
    if pid == 0:
        become(command, environment, given, taken)
    os.close(given)
    os.close(taken)
    try:
        os.waitpid(pid, ANY_CHILD)
        ptrace(SETOPTIONS, pid, ON_CLONE | ON_EXEC | ON_EXIT | ON_SECCOMP | KILL_WITH_TRACER)
        ptrace(CONT, pid)
        return follow(pid)
    except BaseException:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        raise


def follow(pid):
    """Follows the process and all its threads from the first stop to the end."""
    peak, before, after = Peak(), None, None
    while True:
        stopped, status = os.waitpid(-pid, ANY_CHILD)
        if not os.WIFSTOPPED(status):
            if stopped != pid:
                continue
            if before is None or after is None or status != 0:
                raise SystemExit(
                    f"a program that was to be measured ended with status {os.waitstatus_to_exitcode(status)}"
                )
            break
        event, passed_on = status >> 16, 0
        if event == EVENT_EXEC:
            before = faults(pid)
        elif event == EVENT_SECCOMP and before is not None:
            peak.look(pid)
        elif event == EVENT_EXIT and stopped == pid:
            after = faults(pid)
            peak.look(pid, last=True)
        elif event == 0 and os.WSTOPSIG(status) not in (signal.SIGSTOP, signal.SIGTRAP):
            passed_on = os.WSTOPSIG(status)
        try:
            ptrace(CONT, stopped, passed_on)
        except OSError:
            pass  # another thread of it ended the process meanwhile
    return {
        "minor_faults": after[0] - before[0],
        "major_faults": after[1] - before[1],
        "faults_of_exec": before[0] + before[1],
        "peak_rss_kib": peak.resident,
        "vm_hwm_kib": peak.mark,
        "peak_split_kib": peak.split,
        "peak_anon_huge_kib": peak.huge,
        "stops": peak.stops,
    }

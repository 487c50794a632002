#!/usr/bin/env python3
"""A signal that ends `top` leaves the terminal as it was: the cursor is shown and the settings are restored."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

BROADLEAF = os.path.realpath(os.environ.get("BROADLEAF", "target/release/broadleaf"))
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"


def drained(terminal, seconds):
    """What the terminal is sent within this time."""
    sent, until = b"", time.time() + seconds
    while (left := until - time.time()) > 0:
        if not select.select([terminal], [], [], left)[0]:
            break
        try:
            sent += os.read(terminal, 65536)
        except OSError:
            break
    return sent


def check(number):
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    before = termios.tcgetattr(inner)
    child = os.fork()
    if child == 0:
        os.setsid()
        fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
        for stream in range(3):
            os.dup2(inner, stream)
        os.execv(BROADLEAF, [BROADLEAF, "top"])
    sent = drained(terminal, 1.5)
    if HIDE not in sent:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        sys.exit("broken: top did not start")
    os.kill(child, number)
    sent += drained(terminal, 1)
    _, status = os.waitpid(child, 0)
    after = termios.tcgetattr(inner)
    os.close(terminal)
    os.close(inner)
    name = signal.Signals(number).name
    faults = []
    if sent.rfind(SHOW) < sent.rfind(HIDE):
        faults.append("the cursor is hidden")
    if before != after:
        faults.append("the settings are others")
    if os.waitstatus_to_exitcode(status) != -number:
        faults.append(f"the wait status is {status}")
    print(f"{name}: {', '.join(faults) or 'the terminal is as it was'}")
    return not faults


if __name__ == "__main__":
    sys.exit(0 if all([check(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]) else 1)

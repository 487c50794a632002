# Two tables of 16 MiB. The argument names the one that is used at random; the other is filled once.
import sys
from array import array


def first():
    return array("q", [1]) * (2 << 20)  # first


def second():
    return [None] * (2 << 20)  # second


def main():
    one, other = first(), second()
    hot = one if sys.argv[1] == "first" else other
    state = 1
    for _ in range(100000):
        state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        hot[(state >> 33) % len(hot)] = 7


main()

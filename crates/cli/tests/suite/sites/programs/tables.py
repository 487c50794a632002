# Two tables of 6 MiB. The argument names the one that is used at random; the other is filled once.
import sys


def first():
    return bytearray(6 << 20)  # first


def second():
    return [None] * (3 << 18)  # second


def main():
    one, other = first(), second()
    hot = one if sys.argv[1] == "first" else other
    at, step = 1, len(hot) // 32749
    for _ in range(12000):
        # A generator of random numbers below 32,749, a prime.
        at = at * 219 % 32749
        hot[at * step] = 7


main()

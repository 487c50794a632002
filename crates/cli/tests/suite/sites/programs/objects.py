# A table of small objects, which are used at random.
import gc


def main():
    gc.disable()
    nodes = [[number] for number in range(32749)]
    at = 1
    for _ in range(20000):
        # A generator of random numbers below 32,749, a prime.
        at = at * 219 % 32749
        nodes[at][0] = at


main()

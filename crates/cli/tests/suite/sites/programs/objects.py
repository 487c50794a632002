# A table of small objects, which are used at random.
class Node:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def main():
    nodes = [Node(number + 1000) for number in range(200000)]
    state = 1
    for _ in range(200000):
        state = (state * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        nodes[(state >> 33) % len(nodes)].value += 1


main()

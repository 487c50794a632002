"""A network of queues, by discrete events. Arguments: the nodes, the events."""
import heapq
import random
import sys

nodes, events = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(7)


class Node:
    def __init__(self, number):
        self.number = number
        self.waiting = []
        self.links = [int(nodes * chance.random()) for _ in range(4)]
        self.served = 0


network = [Node(number) for number in range(nodes)]
agenda = [(chance.random(), packet, int(nodes * chance.random())) for packet in range(nodes)]
heapq.heapify(agenda)
for _ in range(events):
    time, packet, place = heapq.heappop(agenda)
    node = network[place]
    node.waiting.append((time, packet))
    if len(node.waiting) > 4:
        node.waiting.pop(0)
    node.served += 1
    heapq.heappush(agenda, (time + chance.random(), packet, node.links[packet % 4]))
print(max(node.served for node in network))

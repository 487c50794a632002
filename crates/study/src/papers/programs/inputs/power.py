# Finds the largest singular value of a dense matrix by products with it and with its transpose.
# The arguments are the side of the matrix and the number of rounds.
import sys

import numpy

side, rounds = (int(word) for word in sys.argv[1:])
matrix = numpy.arange(side * side, dtype=float).reshape(side, side)
vector = numpy.ones(side)
for _ in range(rounds):
    vector = matrix.T @ (matrix @ vector)
    size = numpy.sqrt(vector @ vector)
    vector /= size
print(size**0.5)

// Products of matrices along the links of a lattice of four dimensions, as in quantum
// chromodynamics: each site has four links, each link a complex matrix of 3 x 3.
// Arguments: the side of the lattice, the sweeps.
#include <complex.h>
#include <stdio.h>
#include <stdlib.h>

typedef float complex matrix[3][3];

static void multiply(matrix left, matrix right, matrix product) {
    for (int row = 0; row < 3; row++)
        for (int column = 0; column < 3; column++)
            product[row][column] = left[row][0] * right[0][column] +
                                   left[row][1] * right[1][column] +
                                   left[row][2] * right[2][column];
}

int main(int count, char **arguments) {
    long side = atol(arguments[1]), sweeps = atol(arguments[2]);
    long sites = side * side * side * side, strides[4] = {1, side, side * side, side * side * side};
    matrix *links = malloc(4 * sites * sizeof *links), *staples = malloc(sites * sizeof *staples);
    for (long link = 0; link < 4 * sites; link++)
        for (int cell = 0; cell < 9; cell++)
            links[link][cell / 3][cell % 3] = (cell % 4 == 0) + 0.01f * (link % 7) * I;
    float trace = 0;
    for (long sweep = 0; sweep < sweeps; sweep++)
        for (int one = 0; one < 4; one++) {
            int other = (one + 1) % 4;
            for (long site = 0; site < sites; site++) {
                long ahead = site + strides[one], aside = site + strides[other];
                ahead = ahead < sites ? ahead : ahead - sites;
                aside = aside < sites ? aside : aside - sites;
                matrix product;
                multiply(links[4 * site + one], links[4 * ahead + other], product);
                multiply(product, links[4 * aside + one], staples[site]);
                trace += crealf(staples[site][0][0]);
            }
        }
    printf("%g\n", trace);
}

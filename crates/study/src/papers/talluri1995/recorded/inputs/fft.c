/* Solves a Poisson equation on a square with periodic edges, by two-dimensional transforms of
   FFTW: the work of the thesis's fftpde. The arguments are the side and the number of solutions. */
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    int side = count > 1 ? atoi(arguments[1]) : 64;
    int rounds = count > 2 ? atoi(arguments[2]) : 1;
    fftw_complex *field = fftw_alloc_complex((size_t)side * side);
    /* An estimated plan depends on no clock. */
    fftw_plan forth = fftw_plan_dft_2d(side, side, field, field, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_plan_dft_2d(side, side, field, field, FFTW_BACKWARD, FFTW_ESTIMATE);
    for (int i = 0; i < side * side; i++) {
        field[i][0] = i * 7919 % 1009 - 504;
        field[i][1] = 0;
    }
    for (int round = 0; round < rounds; round++) {
        fftw_execute(forth);
        for (int y = 0; y < side; y++) {
            for (int x = 0; x < side; x++) {
                int far_x = x < side / 2 ? x : x - side, far_y = y < side / 2 ? y : y - side;
                double divisor = 1 + (double)far_x * far_x + (double)far_y * far_y;
                field[y * side + x][0] /= divisor * side * side;
                field[y * side + x][1] /= divisor * side * side;
            }
        }
        fftw_execute(back);
    }
    printf("%g\n", field[side + 1][0]);
    return 0;
}

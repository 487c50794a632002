/* Solves a Poisson equation on a rectangle with periodic edges, by two-dimensional transforms of
   FFTW: the work of the thesis's fftpde. The arguments are the longer side and the number of
   solutions. */
#include <fftw3.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    int height = count > 1 ? atoi(arguments[1]) : 64, width = height / 2;
    int rounds = count > 2 ? atoi(arguments[2]) : 1;
    fftw_complex *field = fftw_alloc_complex((size_t)height * width);
    fftw_complex *waves = fftw_alloc_complex((size_t)height * width);
    /* An estimated plan depends on no clock. */
    fftw_plan forth = fftw_plan_dft_2d(height, width, field, waves, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_plan_dft_2d(height, width, waves, field, FFTW_BACKWARD, FFTW_ESTIMATE);
    for (int i = 0; i < height * width; i++) {
        field[i][0] = i * 7919 % 1009 - 504;
        field[i][1] = 0;
    }
    for (int round = 0; round < rounds; round++) {
        fftw_execute(forth);
        for (int y = 0; y < height; y++) {
            for (int x = 0; x < width; x++) {
                int far_x = x < width / 2 ? x : x - width, far_y = y < height / 2 ? y : y - height;
                double divisor = 1 + (double)far_x * far_x + (double)far_y * far_y;
                waves[y * width + x][0] /= divisor * height * width;
                waves[y * width + x][1] /= divisor * height * width;
            }
        }
        fftw_execute(back);
    }
    printf("%g\n", field[width + 1][0]);
    return 0;
}

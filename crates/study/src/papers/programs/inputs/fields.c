// Electric and magnetic fields in a box, by finite differences in the time domain (Yee 1966).
// Arguments: the side of the box, the steps.
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    long side = atol(arguments[1]), steps = atol(arguments[2]);
    long row = side, plane = side * side, cells = side * plane;
    float *fields[6];
    for (int field = 0; field < 6; field++)
        fields[field] = calloc(cells, sizeof(float));
    float *ex = fields[0], *ey = fields[1], *ez = fields[2];
    float *hx = fields[3], *hy = fields[4], *hz = fields[5];
    for (long step = 0; step < steps; step++) {
        ez[cells / 2 + plane / 2] += 1.0f / (1 + step % 20);
        for (long z = 1; z < side - 1; z++)
            for (long y = 1; y < side - 1; y++)
                for (long x = 1; x < side - 1; x++) {
                    long at = z * plane + y * row + x;
                    hx[at] += 0.4f * (ey[at + plane] - ey[at] - ez[at + row] + ez[at]);
                    hy[at] += 0.4f * (ez[at + 1] - ez[at] - ex[at + plane] + ex[at]);
                    hz[at] += 0.4f * (ex[at + row] - ex[at] - ey[at + 1] + ey[at]);
                }
        for (long z = 1; z < side - 1; z++)
            for (long y = 1; y < side - 1; y++)
                for (long x = 1; x < side - 1; x++) {
                    long at = z * plane + y * row + x;
                    ex[at] += 0.4f * (hz[at] - hz[at - row] - hy[at] + hy[at - plane]);
                    ey[at] += 0.4f * (hx[at] - hx[at - plane] - hz[at] + hz[at - 1]);
                    ez[at] += 0.4f * (hy[at] - hy[at - 1] - hx[at] + hx[at - row]);
                }
    }
    printf("%g\n", ez[cells / 2]);
}

/*
 * picture.h: decodes PNG files.
 */
#ifndef HPC_TESTS_SUPPORT_PICTURE_H
#define HPC_TESTS_SUPPORT_PICTURE_H

#include <stddef.h>
#include <stdint.h>

typedef struct hpc_test_picture {
    int width, height;
    uint8_t *rgb; /* 3 bytes per pixel, row by row; release with hpc_free */
} hpc_test_picture;
/* Decodes a PNG as gnuplot writes it (8 bits per channel, not interlaced), or fails the test. */
void hpc_test_picture_read(hpc_test_picture *out, const void *png, size_t bytes);
/* Number of pixels that differ from colour 0xrrggbb by at most `off` in each channel. */
int64_t hpc_test_picture_count(const hpc_test_picture *p, uint32_t colour, int off);

#endif

/*
 * picture.h: what is in a PNG file.
 */
#ifndef HPC_TESTS_SUPPORT_PICTURE_H
#define HPC_TESTS_SUPPORT_PICTURE_H

#include <stddef.h>
#include <stdint.h>

typedef struct hpc_test_picture {
    int width, height;
    uint8_t *rgb; /* 3 bytes a pixel, row by row; hpc_free */
} hpc_test_picture;
/* Decodes it, or fails the test. Of 8 bits a channel, not interlaced, as gnuplot writes it. */
void hpc_test_picture_read(hpc_test_picture *out, const void *png, size_t bytes);
/* Pixels of that colour, 0xrrggbb, or as near to it as `off` in each channel. */
int64_t hpc_test_picture_count(const hpc_test_picture *p, uint32_t colour, int off);

#endif

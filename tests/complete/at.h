/*
 * at.h: opens a text with '@' at the cursor as a spot.
 */
#ifndef HPC_TESTS_COMPLETE_AT_H
#define HPC_TESTS_COMPLETE_AT_H

#include <stdlib.h>
#include <string.h>

#include "infer/complete/complete.h"

static inline hpc_spot place_in(const char *path, const char *text)
{
    const char *at = strchr(text, '@');
    size_t n = strlen(text), before = (size_t)(at - text);
    char *bytes = malloc(n);
    hpc_position p = {1, 1};
    hpc_spot d;
    memcpy(bytes, text, before);
    memcpy(bytes + before, at + 1, n - before - 1);
    for (size_t k = 0; k < before; k++) {
        p.col = text[k] == '\n' ? 1 : p.col + (((unsigned char)text[k] & 0xc0) != 0x80);
        p.line += text[k] == '\n';
    }
    assert_int_equal(hpc_spot_open(&d, path, bytes, n - 1, p), 0);
    assert_int_equal(d.raw_at, before);
    free(bytes);
    return d;
}

#endif

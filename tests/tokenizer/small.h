/*
 * small.h: what the tests of the byte-level family share: the small tokenizers of
 * tests/fixtures/byte_level/, as they are or with a change, and numbers to make texts from.
 */
#ifndef HPC_TESTS_TOKENIZER_SMALL_H
#define HPC_TESTS_TOKENIZER_SMALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tokenizer/tokenizer.h"

#define SMALL_FOLDER "tests/fixtures/byte_level/"

static inline uint32_t small_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* The file of a family, with the first `from` replaced; NULL: as it is. */
static inline void small_text(hpc_buf *out, const char *family, const char *from, const char *to)
{
    char path[256];
    hpc_buf file = {0};
    snprintf(path, sizeof path, SMALL_FOLDER "%s.json", family);
    if (hpc_file_read(&file, path, 1 << 24) < 0) fail_msg("%s", hpc_error_get()->text);
    const char *at = from ? strstr(file.data, from) : file.data;
    if (!at) fail_msg("%s has no %s", path, from ? from : "start");
    size_t skip = from ? strlen(from) : 0;
    out->n = 0;
    assert_int_equal(hpc_buf_add(out, file.data, (size_t)(at - file.data)), 0);
    assert_int_equal(hpc_buf_text(out, to ? to : ""), 0);
    assert_int_equal(hpc_buf_text(out, at + skip), 0);
    hpc_buf_release(&file);
}

/* NULL, and the error is recorded, when it is refused. */
static inline hpc_tokenizer *small_open(const char *family, const char *from, const char *to)
{
    hpc_buf text = {0};
    hpc_tokenizer *t;
    small_text(&text, family, from, to);
    int rc = hpc_tokenizer_open_json(&t, text.data, text.n, "t.json");
    assert_int_equal(rc < 0, t == NULL);
    hpc_buf_release(&text);
    return t;
}

#endif

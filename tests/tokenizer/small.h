/*
 * small.h: for tests of the byte-level family: the small tokenizers of tests/fixtures/byte_level/,
 * optionally modified, and random numbers for texts.
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

/* Reads a family's file, with the first `from` replaced; NULL: unchanged. */
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

/* Opens a tokenizer; NULL with a recorded error if it is invalid. */
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

/* Opens it by its prepared form. */
static inline hpc_tokenizer *small_open_prepared(const char *family)
{
    hpc_buf text = {0}, form = {0};
    hpc_tokenizer *t;
    small_text(&text, family, NULL, NULL);
    assert_int_equal(hpc_tokenizer_prepare(&form, text.data, text.n, "t.json"), 0);
    int rc = hpc_tokenizer_open_prepared(&t, form.data, form.n, "t.packed");
    if (rc < 0) fail_msg("%s: %s", family, hpc_error_get()->text);
    hpc_buf_release(&text);
    hpc_buf_release(&form);
    return t;
}

/* Uses a tokenizer that opened although damaged: encodes a text, looks up every id,
 * and closes it. */
static inline void small_use(hpc_tokenizer *t)
{
    static const char text[] = "for (i = 0; i < 10; i++) a\xcc\x81 <|endoftext|> \xff\n";
    hpc_tokenizer_scratch *s;
    hpc_ids ids = {0};
    hpc_buf out = {0};
    assert_int_equal(hpc_tokenizer_scratch_create(&s, t), 0);
    if (hpc_tokenizer_encode(&ids, t, s, text, sizeof text - 1, HPC_ENCODE_SPECIALS) == 0) {
        assert_int_equal(hpc_tokenizer_decode(&out, t, ids.id, ids.n, false), 0);
    }
    for (int32_t id = 0; id < hpc_tokenizer_n(t); id++) {
        if (hpc_tokenizer_piece(t, id, NULL)) {
            assert_int_equal(hpc_tokenizer_decode(&out, t, &id, 1, false), 0);
        }
    }
    hpc_error_clear();
    hpc_free(ids.id);
    hpc_buf_release(&out);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
}

#endif

/*
 * inflating.h: decompresses test streams between guard pages.
 */
#ifndef HPC_TESTS_GIT_INFLATING_H
#define HPC_TESTS_GIT_INFLATING_H

#include <stdlib.h>

#include "runtime/git/priv.h"
#include "tests/git/deflating.h"

enum { GUARD = 64 };

typedef struct reader {
    git_inflater *f;
    uint8_t *out;
    size_t n;
} reader;

/* Decompresses from memory that ends with the stream into memory with a guard page
 * after the slack. */
static inline int inflate(reader *r, const uint8_t *data, size_t data_n, size_t room)
{
    uint8_t *in = malloc(data_n + (data_n == 0));
    size_t whole = room + GIT_SLACK + GUARD;
    free(r->out);
    r->out = malloc(whole);
    assert_non_null(in);
    assert_non_null(r->out);
    memset(r->out, 0xa5, whole);
    if (data_n > 0) memcpy(in, data, data_n);
    r->n = room;
    int rc = git_inflate(r->out, &r->n, r->f, in, data_n);
    free(in);
    assert_true(r->n <= room);
    for (size_t k = room + GIT_SLACK; k < whole; k++) assert_int_equal(r->out[k], 0xa5);
    return rc;
}

static inline void assert_text(const reader *r, const stream *s, size_t n)
{
    assert_int_equal(r->n, n);
    assert_memory_equal(r->out, s->text, n);
}

static inline int stream_setup(void **state)
{
    *state = calloc(1, sizeof(stream));
    return *state ? 0 : -1;
}

static inline int stream_teardown(void **state)
{
    free(*state);
    return 0;
}

static inline reader reader_opened(void)
{
    reader r = {.f = git_inflater_create()};
    assert_non_null(r.f);
    return r;
}

static inline void reader_closed(reader *r)
{
    git_inflater_free(r->f);
    free(r->out);
}

#endif

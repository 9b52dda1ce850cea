/*
 * asking.h: test repositories, and the context that a query finds in them.
 */
#ifndef HPC_TESTS_COMPLETE_ASKING_H
#define HPC_TESTS_COMPLETE_ASKING_H

#include "tests/git/repository.h"

#include "infer/complete/context.h"
#include "tests/complete/at.h"
#include "tests/support/expect.h"

static const hpc_context_options usual = HPC_CONTEXT_DEFAULTS;

/* Writes a file and its parent folders. */
static inline void file(place *p, const char *name, const char *text)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", p->root, name);
    *strrchr(folder, '/') = '\0';
    test_ok(hpc_file_mkdir(folder));
    put(p, name, text, strlen(text));
}

static inline hpc_context *context_of(place *p, const char *name)
{
    hpc_context *c = NULL;
    test_ok(hpc_context_open(&c, in(p, name)));
    assert_non_null(c);
    return c;
}

/* "PATH:LINE" of all parts, separated by blanks. */
static inline char *described(const hpc_context_parts *parts)
{
    hpc_buf b = {0};
    hpc_buf_text(&b, "");
    for (int64_t k = 0; k < parts->n; k++)
        hpc_buf_printf(&b, "%s%s:%lld", k > 0 ? " " : "", parts->snippet[k].path,
                       (long long)parts->line[k]);
    assert_int_equal(b.failed, 0);
    return b.data;
}

static inline char *asked(hpc_context *c, place *p, const char *name, const char *text,
                          const hpc_context_options *o)
{
    hpc_context_parts parts;
    hpc_spot d = place_in(name, text);
    test_ok(hpc_context_find(&parts, c, in(p, name), &d, o));
    char *out = described(&parts);
    hpc_spot_close(&d);
    return out;
}

static inline void finds(place *p, const char *name, const char *text, const char *expected)
{
    hpc_context *c = context_of(p, name);
    char *out = asked(c, p, name, text, &usual);
    assert_string_equal(out, expected);
    hpc_free(out);
    hpc_context_close(c);
}

#endif

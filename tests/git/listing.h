/*
 * listing.h: lists of blobs as text, for tests.
 */
#ifndef HPC_TESTS_GIT_LISTING_H
#define HPC_TESTS_GIT_LISTING_H

#include "tests/git/repository.h"

typedef struct listing {
    hpc_git_list l;
    hpc_pool *pool;
    hpc_git *g;
} listing;

static inline listing listed(place *p, const char *name, int workers, const hpc_git_list_options *o)
{
    listing x = {.g = opened(p, name)};
    assert_int_equal(hpc_pool_create(&x.pool, workers), 0);
    if (hpc_git_list_blobs(&x.l, x.g, x.pool, o) < 0) fail_msg("%s", hpc_error_get()->text);
    return x;
}

static inline void done(listing *x)
{
    hpc_git_list_release(&x->l);
    hpc_pool_free(x->pool);
    hpc_git_close(x->g);
}

static inline const char *path_of(const listing *x, int64_t k)
{
    return x->l.paths.data + x->l.entry[k].path;
}

/* "PATH HEAD ID\n" for every entry; checks the order that the header promises. */
static inline char *shown(const listing *x)
{
    hpc_buf b = {0};
    assert_int_equal(hpc_buf_text(&b, ""), 0);
    for (int64_t k = 0; k < x->l.n; k++) {
        char hex[41];
        hpc_git_id_text(hex, &x->l.entry[k].id);
        assert_int_equal(hpc_buf_printf(&b, "%s %u %s\n", path_of(x, k), x->l.entry[k].head, hex),
                         0);
        if (k == 0) continue;
        int order = strcmp(path_of(x, k - 1), path_of(x, k));
        if (order == 0) order = memcmp(&x->l.entry[k - 1].id, &x->l.entry[k].id, 20);
        assert_true(order < 0);
    }
    return b.data;
}

static inline void assert_lists(place *p, const char *name, const hpc_git_list_options *o,
                                const char *expected)
{
    for (int workers = 1; workers <= 3; workers++) {
        listing x = listed(p, name, workers, o);
        char *text = shown(&x);
        assert_string_equal(text, expected);
        hpc_free(text);
        done(&x);
    }
}

static const hpc_git_list_options head_only, whole = {.history = true};

#endif

/*
 * packed.h: all objects of a repository, and a handle that uses libgit2 only.
 */
#ifndef HPC_TESTS_GIT_PACKED_H
#define HPC_TESTS_GIT_PACKED_H

#include "tests/git/repository.h"

#include "runtime/git/priv.h"

/* A handle that uses libgit2 for everything. */
static inline hpc_git *opened_plain(place *p, const char *name)
{
    hpc_git *g = opened(p, name);
    while (g->packs->n > 0) {
        hpc_file_close(&g->packs->item[--g->packs->n].file);
        hpc_file_close(&g->packs->item[g->packs->n].index);
    }
    return g;
}

enum { MOST_IDS = 4096, LIMIT = 1 << 24 };

typedef struct ids {
    hpc_git_id id[MOST_IDS];
    int n;
} ids;

static inline void list_ids(ids *out, place *p, const char *repository)
{
    char text[256];
    snprintf(text, sizeof text,
             "git -C %s cat-file --batch-all-objects --batch-check='%%(objectname)' >ids",
             repository);
    script(p, text);
    char *hex = text_of(p, "ids");
    out->n = 0;
    for (const char *at = hex; *at; at += at[40] ? 41 : 40) {
        assert_true(out->n < MOST_IDS);
        out->id[out->n++] = id_of(at);
    }
    hpc_free(hex);
}

static inline void assert_same(const git_raw *a, const git_raw *b)
{
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->data, b->data, a->n);
}

#endif

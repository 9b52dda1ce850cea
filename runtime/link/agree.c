/*
 * agree.c: agreement between the ranks of a link on values and on errors. The error of
 * one rank becomes the error of all, instead of an abort on the other ranks.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/link/priv.h"

/* ---- failures ------------------------------------------------------------------ */

typedef struct failure {
    int32_t code, os;
    char text[sizeof((hpc_error *)0)->text];
} failure;
_Static_assert(sizeof(failure) % sizeof(int32_t) == 0, "it travels as whole numbers");

/* The record of `root`, on all. */
static int share(failure *f, hpc_link *l, int root)
{
    failure mine = *f;
    return hpc_link_run(l, &(hpc_comm){.kind = HPC_BROADCAST,
                                       .dtype = HPC_I32,
                                       .peer = root,
                                       .n = sizeof mine / sizeof(int32_t),
                                       .send = &mine,
                                       .recv = f});
}

/* All ranks adopt the record of `root`; the others prefix the text with its rank. */
static int adopt(hpc_link *l, int root)
{
    failure f = {0};
    hpc_error e = *hpc_error_get();
    if (l->rank == root) {
        f.code = e.code, f.os = e.os;
        snprintf(f.text, sizeof f.text, "%s", e.text);
    }
    hpc_error_clear();
    int rc = share(&f, l, root);
    if (rc < 0) return rc;
    e = (hpc_error){.code = f.code, .os = f.os, .file = __FILE__, .line = __LINE__};
    if (root == 0)
        memcpy(e.text, f.text, sizeof e.text);
    else
        snprintf(e.text, sizeof e.text, "rank %d: %.480s", root, f.text);
    return hpc_error_adopt(&e);
}

static int largest(int64_t *most, hpc_link *l, int64_t mine)
{
    return hpc_link_run(l, &(hpc_comm){.kind = HPC_ALL_REDUCE,
                                       .dtype = HPC_I64,
                                       .reduce = HPC_COMM_MAX,
                                       .n = 1,
                                       .send = &mine,
                                       .recv = most});
}

/* Who has heard of a failure may end the job: only when all have. How this ends itself matters to
 * none, as each knows why. */
static void wait_for_all(hpc_link *l)
{
    hpc_error known = *hpc_error_get();
    int64_t none;
    hpc_error_clear();
    (void)largest(&none, l, 0);
    hpc_error_clear();
    hpc_error_adopt(&known);
}

int hpc_link_agree(hpc_link *l, int rc)
{
    int64_t most = 0;
    if (l->size == 1) return rc;
    hpc_error before = *hpc_error_get();
    hpc_error_clear(); /* so that a failure of the exchange itself is recorded */
    int failed = largest(&most, l, rc < 0 ? l->size - l->rank : 0);
    if (failed < 0) return failed;
    if (most == 0) return rc;
    hpc_error_adopt(&before);
    if (rc < 0 && !hpc_error_get()->code) hpc_fail(rc, "%s", hpc_error_name(rc));
    rc = adopt(l, l->size - (int)most);
    wait_for_all(l);
    return rc;
}

/* ---- what is alike --------------------------------------------------------------- */

/* The first rank's text, on all. */
static int first_text(char **out, hpc_link *l, const char *mine)
{
    int64_t n = (int64_t)(strlen(mine) / sizeof(int32_t)) + 1, words = 0;
    char *text = NULL, *room = NULL;
    int rc;
    *out = NULL;
    TRY(hpc_link_run(
        l,
        &(hpc_comm){.kind = HPC_BROADCAST, .dtype = HPC_I64, .n = 1, .send = &n, .recv = &words}));
    text = hpc_alloc((size_t)words, sizeof(int32_t));
    room = hpc_alloc((size_t)words, sizeof(int32_t));
    TRY(hpc_link_agree(l, text && room ? HPC_OK : HPC_E_NOMEM));
    if (l->rank == 0) memcpy(room, mine, strlen(mine));
    TRY(hpc_link_run(
        l, &(hpc_comm){
               .kind = HPC_BROADCAST, .dtype = HPC_I32, .n = words, .send = room, .recv = text}));
    *out = text;
    text = NULL;
out:
    hpc_free(text);
    hpc_free(room);
    return rc;
}

typedef struct line {
    const char *key, *value;
    int key_n, value_n;
} line;

static line next_line(const char **at)
{
    int n = (int)strcspn(*at, "\n"), key = (int)strcspn(*at, "=\n");
    line out = {*at, *at + key + (key < n), key, n - key - (key < n)};
    *at += n + ((*at)[n] == '\n');
    return out;
}

static bool equal(const line *a, const line *b)
{
    return a->key_n == b->key_n && a->value_n == b->value_n &&
           memcmp(a->key, b->key, (size_t)a->key_n) == 0 &&
           memcmp(a->value, b->value, (size_t)a->value_n) == 0;
}

static int shown(const line *a)
{
    return a->value_n < 120 ? a->value_n : 120;
}

static int compare(const char *first, const char *mine, const char *advice)
{
    while (*first || *mine) {
        line a = next_line(&first), b = next_line(&mine);
        if (equal(&a, &b)) continue;
        return hpc_fail(HPC_E_ARG, "%.*s=%.*s here, and on rank 0 %.*s=%.*s: %s",
                        b.key_n < 40 ? b.key_n : 40, b.key, shown(&b), b.value,
                        a.key_n < 40 ? a.key_n : 40, a.key, shown(&a), a.value, advice);
    }
    return HPC_OK;
}

int hpc_link_same(hpc_link *l, const char *lines, const char *advice)
{
    char *first = NULL;
    int rc;
    if (l->size == 1) return HPC_OK;
    TRY(first_text(&first, l, lines));
    TRY(hpc_link_agree(l, compare(first, lines, advice)));
out:
    hpc_free(first);
    return rc;
}

/*
 * pages.c: a cache of pages that texts with a common beginning share.
 *
 * Known pages form a forest: the parent of a page is the page before it. A page is found only if
 * its tokens and its parent agree, so correctness does not depend on unique hashes. A reference to
 * a page is also a reference to its parents. Pages without references and without known children
 * are listed in order of their last use; reusing one may list its parent.
 */
#include "infer/engine/pages.h"

#include <string.h>

enum { NONE = -1 };

typedef struct page {
    int32_t parent, children; /* among known pages */
    int32_t next;             /* next with the same hash, or next empty page */
    int32_t older, newer;     /* where listed */
    int32_t holders;
    bool known, listed;
    uint64_t used; /* when it was last given up */
} page;

struct hpc_pages {
    int64_t n, page_tokens;
    page *page;
    int32_t *token;  /* [n,page_tokens]: of those that are known */
    int32_t *bucket; /* [mask + 1]: first of the pages with that hash */
    uint64_t mask, now;
    int32_t empty, oldest, newest;
    hpc_pages_count count;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static uint64_t buckets_for(int64_t pages)
{
    uint64_t n = 16;

    while (n < (uint64_t)pages * 2) n *= 2;
    return n;
}

int hpc_pages_create(hpc_pages **out, int64_t pages, int64_t page_tokens)
{
    hpc_pages *p;

    *out = NULL;
    if (pages <= 0 || pages > INT32_MAX || page_tokens <= 0 || page_tokens > INT32_MAX)
        return hpc_fail(HPC_E_ARG, "a cache of %lld pages of %lld tokens", (long long)pages,
                        (long long)page_tokens);
    p = hpc_alloc(1, sizeof *p);
    if (!p) return HPC_E_NOMEM;
    *p = (hpc_pages){.n = pages, .page_tokens = page_tokens, .empty = NONE, .oldest = NONE};
    p->newest = NONE;
    p->mask = buckets_for(pages) - 1;
    p->page = hpc_alloc((size_t)pages, sizeof *p->page);
    p->token = hpc_alloc((size_t)pages, (size_t)page_tokens * sizeof *p->token);
    p->bucket = hpc_alloc((size_t)(p->mask + 1), sizeof *p->bucket);
    if (!p->page || !p->token || !p->bucket) {
        hpc_pages_free(p);
        return HPC_E_NOMEM;
    }
    for (uint64_t b = 0; b <= p->mask; b++) p->bucket[b] = NONE;
    for (int64_t k = pages; k-- > 0;) {
        p->page[k].next = p->empty;
        p->empty = (int32_t)k;
    }
    p->count.empty = pages;
    *out = p;
    return HPC_OK;
}

void hpc_pages_free(hpc_pages *p)
{
    if (!p) return;
    hpc_assert(p->count.held == 0);
    hpc_free(p->page);
    hpc_free(p->token);
    hpc_free(p->bucket);
    hpc_free(p);
}

hpc_pages_count hpc_pages_count_of(const hpc_pages *p)
{
    return p->count;
}

/* ---- what is known --------------------------------------------------------------------------- */

static int32_t *bucket_of(const hpc_pages *p, int32_t parent, const int32_t *token)
{
    size_t bytes = (size_t)p->page_tokens * sizeof *token;
    uint64_t seed = parent == NONE ? 0 : (uint64_t)parent + 1;

    return &p->bucket[hpc_hash(token, bytes, seed) & p->mask];
}

static int32_t *tokens_of(const hpc_pages *p, int32_t k)
{
    return p->token + k * p->page_tokens;
}

static int32_t find(const hpc_pages *p, int32_t parent, const int32_t *token)
{
    size_t bytes = (size_t)p->page_tokens * sizeof *token;
    int32_t k = *bucket_of(p, parent, token);

    while (k != NONE && (p->page[k].parent != parent || memcmp(tokens_of(p, k), token, bytes) != 0))
        k = p->page[k].next;
    return k;
}

static void make_known(hpc_pages *p, int32_t k, int32_t parent, const int32_t *token)
{
    page *x = &p->page[k];
    int32_t *bucket = bucket_of(p, parent, token);

    memcpy(tokens_of(p, k), token, (size_t)p->page_tokens * sizeof *token);
    x->known = true;
    x->parent = parent;
    x->children = 0;
    x->next = *bucket;
    *bucket = k;
    if (parent != NONE) p->page[parent].children++;
}

/* ---- the list of those that may be taken ------------------------------------------------------
 */

static void unlist(hpc_pages *p, int32_t k)
{
    page *x = &p->page[k];

    if (!x->listed) return;
    *(x->older == NONE ? &p->oldest : &p->page[x->older].newer) = x->newer;
    *(x->newer == NONE ? &p->newest : &p->page[x->newer].older) = x->older;
    x->listed = false;
}

/* Where it belongs by its age: the newest of all as a rule, or a parent among the oldest. */
static void list(hpc_pages *p, int32_t k)
{
    page *x = &p->page[k];
    int32_t older = p->newest, newer = NONE;

    if (older != NONE && p->page[older].used > x->used) {
        older = NONE, newer = p->oldest;
        while (newer != NONE && p->page[newer].used <= x->used)
            older = newer, newer = p->page[newer].newer;
    }
    x->older = older;
    x->newer = newer;
    *(older == NONE ? &p->oldest : &p->page[older].newer) = k;
    *(newer == NONE ? &p->newest : &p->page[newer].older) = k;
    x->listed = true;
}

static void list_if_free(hpc_pages *p, int32_t k)
{
    const page *x = &p->page[k];

    if (x->known && x->holders == 0 && x->children == 0) list(p, k);
}

static void forget(hpc_pages *p, int32_t k)
{
    page *x = &p->page[k];
    int32_t *link = bucket_of(p, x->parent, tokens_of(p, k));

    unlist(p, k);
    while (*link != k) link = &p->page[*link].next;
    *link = x->next;
    x->known = false;
    p->count.idle--;
    if (x->parent == NONE) return;
    p->page[x->parent].children--;
    list_if_free(p, x->parent);
}

/* ---- holding ------------------------------------------------------------------------------------
 */

static void hold(hpc_pages *p, int32_t k)
{
    page *x = &p->page[k];

    if (x->holders++ > 0) return;
    unlist(p, k);
    p->count.held++;
    p->count.idle -= x->known;
}

static void give_up(hpc_pages *p, int32_t k)
{
    page *x = &p->page[k];

    if (--x->holders > 0) return;
    p->count.held--;
    if (x->known) {
        x->used = ++p->now;
        p->count.idle++;
        list_if_free(p, k);
        return;
    }
    x->next = p->empty;
    p->empty = k;
    p->count.empty++;
}

/* Takes a page. One is available, because all idle pages can be taken one after the other. */
static int32_t take(hpc_pages *p)
{
    int32_t k = p->empty;

    if (k != NONE) {
        p->empty = p->page[k].next;
        p->count.empty--;
    } else {
        k = p->oldest;
        forget(p, k);
    }
    hold(p, k);
    return k;
}

static int32_t parent_at(const hpc_past *past, int64_t k)
{
    return k > 0 ? past->page[k - 1] : NONE;
}

int hpc_pages_begin(hpc_pages *p, hpc_past *past, const int32_t *token, int64_t n, int64_t *found)
{
    int64_t whole = n / p->page_tokens;
    int rc = hpc_grow(&past->page, &past->page_cap, whole, sizeof *past->page);

    *found = 0;
    if (rc < 0) return rc;
    hpc_assert(past->page_n == 0);
    for (int64_t k = 0; k < whole; k++) {
        int32_t at = find(p, parent_at(past, k), token + k * p->page_tokens);
        if (at == NONE) break;
        hold(p, at);
        past->page[past->page_n++] = at;
    }
    past->known_n = past->page_n;
    *found = past->known_n * p->page_tokens;
    return HPC_OK;
}

int64_t hpc_pages_known(const hpc_pages *p, const int32_t *token, int64_t n)
{
    int32_t at = NONE;
    int64_t known = 0;

    for (; known + p->page_tokens <= n; known += p->page_tokens) {
        at = find(p, at, token + known);
        if (at == NONE) break;
    }
    return known;
}

int64_t hpc_pages_text(int32_t *token, int64_t cap, const hpc_pages *p, int64_t *at)
{
    int64_t depth = 0, n;
    size_t bytes = (size_t)p->page_tokens * sizeof *token;

    while (*at < p->n && !(p->page[*at].known && p->page[*at].children == 0)) ++*at;
    if (*at == p->n) return 0;
    for (int32_t k = (int32_t)*at; k != NONE; k = p->page[k].parent) depth++;
    n = depth * p->page_tokens;
    for (int32_t k = (int32_t)*at; k != NONE && n <= cap; k = p->page[k].parent)
        memcpy(token + --depth * p->page_tokens, tokens_of(p, k), bytes);
    ++*at;
    return n;
}

int hpc_pages_reserve(hpc_pages *p, hpc_past *past, int64_t tokens)
{
    int64_t wanted = (tokens + p->page_tokens - 1) / p->page_tokens;
    int rc;

    if (wanted - past->page_n > p->count.empty + p->count.idle)
        return hpc_fail(HPC_E_STATE, "the cache has %lld of %lld pages left, %lld are needed",
                        (long long)(p->count.empty + p->count.idle), (long long)p->n,
                        (long long)(wanted - past->page_n));
    rc = hpc_grow(&past->page, &past->page_cap, wanted, sizeof *past->page);
    if (rc < 0) return rc;
    while (past->page_n < wanted) past->page[past->page_n++] = take(p);
    return HPC_OK;
}

void hpc_pages_settle(hpc_pages *p, hpc_past *past, const int32_t *token, int64_t n)
{
    hpc_assert(n <= past->page_n * p->page_tokens);
    for (; (past->known_n + 1) * p->page_tokens <= n; past->known_n++) {
        int32_t *own = &past->page[past->known_n], parent = parent_at(past, past->known_n);
        const int32_t *mine = token + past->known_n * p->page_tokens;
        int32_t same = find(p, parent, mine);
        if (same == NONE) {
            make_known(p, *own, parent, mine);
            continue;
        }
        hold(p, same);
        give_up(p, *own);
        *own = same;
    }
}

static void keep_first(hpc_pages *p, hpc_past *past, int64_t n)
{
    while (past->page_n > n) give_up(p, past->page[--past->page_n]);
    if (past->known_n > n) past->known_n = n;
}

void hpc_pages_cut(hpc_pages *p, hpc_past *past, int64_t tokens, int64_t *left)
{
    int64_t whole = tokens / p->page_tokens;
    hpc_assert(tokens <= past->page_n * p->page_tokens);
    bool within_own = tokens % p->page_tokens && whole >= past->known_n && whole < past->page_n;

    *left = within_own ? tokens : whole * p->page_tokens;
    keep_first(p, past, whole + within_own);
}

void hpc_pages_end(hpc_pages *p, hpc_past *past)
{
    keep_first(p, past, 0);
    hpc_free(past->page);
    *past = (hpc_past){0};
}

/*
 * pair.c: matches the functions of two versions of a file by one criterion after the other, the
 * most reliable first.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/source/pair.h"

/* ---- what a function consists of ------------------------------------------------------------- */

int64_t hpc_function_behind(const hpc_functions *f, int64_t k)
{
    int64_t lo = k + 1, hi = f->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (f->item[mid].at < f->item[k].end)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int hpc_function_code(hpc_buf *out, const hpc_tokens *t, const hpc_functions *f, int64_t k)
{
    enum { ROOM = 512 };
    int64_t inner = k + 1, i = k < 0 ? 0 : hpc_token_at(t, f->item[k].at), room[ROOM], n = 0;
    uint32_t end = k < 0 ? UINT32_MAX : f->item[k].end;
    int rc = HPC_OK;
    out->n = 0;
    while (i < t->n && t->item[i].at < end) {
        uint32_t at = t->item[i].at;
        while (inner < f->n && f->item[inner].end <= at) inner = hpc_function_behind(f, inner);
        if (inner < f->n && f->item[inner].at <= at) {
            int64_t behind = hpc_token_at(t, f->item[inner].end);
            i = behind > i ? behind : i + 1;
            continue;
        }
        room[n] = i;
        n += hpc_token_is_code(&t->item[i]);
        if (n == ROOM) TRY(hpc_buf_add(out, room, sizeof room));
        if (n == ROOM) n = 0;
        i++;
    }
    TRY(hpc_buf_add(out, room, (size_t)n * sizeof *room));
out:
    return rc;
}

int hpc_function_content(uint64_t *out, hpc_buf *scratch, const hpc_tokens *t,
                         const hpc_functions *f, int64_t k)
{
    int rc = HPC_OK;
    TRY(hpc_function_code(scratch, t, f, k));
    const int64_t *index = (const int64_t *)(const void *)scratch->data;
    uint32_t *hash = (uint32_t *)(void *)scratch->data; /* in place; never ahead of the reads */
    int64_t n = (int64_t)(scratch->n / sizeof *index);
    for (int64_t i = 0; i < n; i++) {
        uint32_t h = t->item[index[i]].hash;
        memcpy(hash + i, &h, sizeof h);
    }
    *out = hpc_hash(n > 0 ? (const void *)hash : "", (size_t)n * sizeof *hash, 0);
out:
    return rc;
}

/* ---- likeness ---------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= 0x9e3779b97f4a7c15u;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

void hpc_likeness_of(hpc_likeness *out, const uint64_t *item, int64_t n)
{
    uint64_t last[4] = {1, 2, 3, 4}; /* what stands before the first is the same for all */
    memset(out, 0xff, sizeof *out);
    for (int64_t i = 0; i < n; i++) {
        last[i & 3] = item[i];
        uint64_t h =
            mix(item[i] + mix(last[(i + 3) & 3] + mix(last[(i + 2) & 3] + mix(last[(i + 1) & 3]))));
        uint32_t *slot = &out->least[h % HPC_LIKENESS_SLOTS], value = (uint32_t)(h >> 32);
        if (value < *slot) *slot = value;
    }
}

double hpc_likeness_share(const hpc_likeness *a, const hpc_likeness *b)
{
    int alike = 0, any = 0;
    for (int k = 0; k < HPC_LIKENESS_SLOTS; k++) {
        any += a->least[k] != UINT32_MAX || b->least[k] != UINT32_MAX;
        alike += a->least[k] != UINT32_MAX && a->least[k] == b->least[k];
    }
    return any > 0 ? (double)alike / any : 1;
}

/* ---- pairs ------------------------------------------------------------------------------------
 */

typedef struct entry { /* one that has no partner yet */
    uint64_t key;
    int32_t index;
    bool taken;
} entry;
typedef struct match { /* of two, by place in their lists */
    double share;
    int32_t a, b;
} match;
typedef struct pairing {
    int32_t *partner;
    bool *taken; /* of head */
    const hpc_known *base, *head;
    int64_t base_n, head_n;
    entry *a, *b;
    match *m;
    int64_t m_n, m_cap;
} pairing;
enum { ALIKE_MOST = 256, GROUP_MOST = 4096 };
#define ALIKE_LEAST 0.5
#define NAMED_LEAST 0.125 /* two that have no more in common than that only share a name */

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static int by_share(const void *a, const void *b)
{
    const match *x = a, *y = b;
    if (x->share != y->share) return x->share > y->share ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

static uint64_t key_of(const hpc_known *f, hpc_pair_step step)
{
    if (step == HPC_PAIR_ALIKE) return 0;
    const uint64_t all[] = {f->name, step <= HPC_PAIR_CHANGED ? f->path : 0,
                            step == HPC_PAIR_SAME || step == HPC_PAIR_MOVED ? f->content : 0};
    return hpc_hash(all, sizeof all, 0);
}

static void pair(pairing *p, entry *a, entry *b)
{
    p->partner[a->index] = b->index;
    p->taken[b->index] = true;
    a->taken = b->taken = true;
}

/* Those of two groups that are alike, the most alike first. */
static int pair_alike(pairing *p, entry *a, int64_t a_n, entry *b, int64_t b_n, double least)
{
    int rc = HPC_OK;
    p->m_n = 0;
    for (int64_t i = 0; i < a_n; i++) {
        const hpc_likeness *x = p->base[a[i].index].like;
        for (int64_t j = 0; x && j < b_n; j++) {
            const hpc_likeness *y = p->head[b[j].index].like;
            double share = y ? hpc_likeness_share(x, y) : -1;
            if (share < least) continue;
            TRY(hpc_grow(&p->m, &p->m_cap, p->m_n + 1, sizeof *p->m));
            p->m[p->m_n++] = (match){share, (int32_t)i, (int32_t)j};
        }
    }
    if (p->m_n > 1) qsort(p->m, (size_t)p->m_n, sizeof *p->m, by_share);
    for (int64_t k = 0; k < p->m_n; k++) {
        entry *x = &a[p->m[k].a], *y = &b[p->m[k].b];
        if (!x->taken && !y->taken) pair(p, x, y);
    }
out:
    return rc;
}

/* In order, but for those that are no more alike than any two functions are. */
static void pair_in_order(pairing *p, entry *a, int64_t a_n, entry *b, int64_t b_n,
                          hpc_pair_step step)
{
    for (int64_t i = 0, j = 0; i < a_n && j < b_n; i++) {
        if (a[i].taken) continue;
        while (j < b_n && b[j].taken) j++;
        if (j == b_n) return;
        const hpc_likeness *x = p->base[a[i].index].like, *y = p->head[b[j].index].like;
        bool strange = step == HPC_PAIR_NAMED && x && y && hpc_likeness_share(x, y) < NAMED_LEAST;
        if (!strange) pair(p, &a[i], &b[j]);
    }
}

static int64_t free_ones(entry *out, const pairing *p, bool base, hpc_pair_step step)
{
    int64_t n = 0, all = base ? p->base_n : p->head_n;
    const hpc_known *from = base ? p->base : p->head;
    for (int64_t k = 0; k < all; k++) {
        bool taken = base ? p->partner[k] >= 0 : p->taken[k];
        if (!taken) out[n++] = (entry){.key = key_of(&from[k], step), .index = (int32_t)k};
    }
    if (n > 1) qsort(out, (size_t)n, sizeof *out, by_key);
    return n;
}

static int64_t run_of(const entry *e, int64_t n)
{
    int64_t k = 1;
    while (k < n && e[k].key == e[0].key) k++;
    return k;
}

static int take_step(pairing *p, hpc_pair_step step)
{
    int64_t a_n = free_ones(p->a, p, true, step), b_n = free_ones(p->b, p, false, step);
    int rc = HPC_OK;
    if (step == HPC_PAIR_ALIKE) {
        if (a_n > ALIKE_MOST) a_n = ALIKE_MOST;
        if (b_n > ALIKE_MOST) b_n = ALIKE_MOST;
        return pair_alike(p, p->a, a_n, p->b, b_n, ALIKE_LEAST);
    }
    for (int64_t i = 0, j = 0; i < a_n && j < b_n;) {
        if (p->a[i].key != p->b[j].key) {
            if (p->a[i].key < p->b[j].key)
                i++;
            else
                j++;
            continue;
        }
        int64_t x = run_of(p->a + i, a_n - i), y = run_of(p->b + j, b_n - j);
        bool several = step == HPC_PAIR_CHANGED && x * y > 1 && x * y <= GROUP_MOST;
        if (several) TRY(pair_alike(p, p->a + i, x, p->b + j, y, NAMED_LEAST));
        pair_in_order(p, p->a + i, x, p->b + j, y, step);
        i += x;
        j += y;
    }
out:
    return rc;
}

int hpc_pairs_find(int32_t *partner, const hpc_known *base, int64_t base_n, const hpc_known *head,
                   int64_t head_n, hpc_pair_step first, hpc_pair_step last)
{
    pairing p = {
        .partner = partner, .base = base, .head = head, .base_n = base_n, .head_n = head_n};
    int rc = HPC_OK;
    if (base_n == 0 || head_n == 0) return rc;
    p.taken = hpc_alloc((size_t)head_n, sizeof *p.taken);
    p.a = hpc_alloc((size_t)base_n, sizeof *p.a);
    p.b = hpc_alloc((size_t)head_n, sizeof *p.b);
    if (!p.taken || !p.a || !p.b) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < base_n; k++)
        if (partner[k] >= 0) p.taken[partner[k]] = true;
    for (int step = (int)first; step <= (int)last; step++) TRY(take_step(&p, (hpc_pair_step)step));
out:
    hpc_free(p.taken);
    hpc_free(p.a);
    hpc_free(p.b);
    hpc_free(p.m);
    return rc;
}

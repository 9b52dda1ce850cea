/*
 * encode.c: from text to ids: special tokens, begin and end, and one long text on many workers.
 *
 * What happens to the text between special tokens is the family's.
 */
#include <string.h>

#include "tokenizer/priv.h"

static const unsigned known_flags =
    HPC_ENCODE_SPECIALS | HPC_ENCODE_BEGIN | HPC_ENCODE_END | HPC_ENCODE_INNER;

int hpc_tokenizer_scratch_create(hpc_tokenizer_scratch **out, const hpc_tokenizer *t)
{
    int rc = HPC_OK;
    hpc_tokenizer_scratch *s = hpc_alloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    s->tokenizer = t;
    TRY(tokenizer_cache_create(&s->cache));
    TRY(tokenizer_matcher_create(&s->controls));
    for (int64_t id = 0; id < t->n; id++) {
        const tokenizer_piece *p = &t->piece[id];
        if (!p->text || p->kind != PIECE_CONTROL || p->n == 0) continue;
        TRY(tokenizer_matcher_add(s->controls, p->text, p->n, (int32_t)id));
    }
    if (t->family->scratch_create) TRY(t->family->scratch_create(&s->state, t));
    *out = s;
    s = NULL;
out:
    hpc_tokenizer_scratch_free(s);
    return rc;
}

void hpc_tokenizer_scratch_free(hpc_tokenizer_scratch *s)
{
    if (!s) return;
    if (s->state && s->tokenizer->family->scratch_free)
        s->tokenizer->family->scratch_free(s->state);
    tokenizer_cache_free(s->cache);
    tokenizer_matcher_free(s->controls);
    hpc_free(s->symbols.id);
    hpc_buf_release(&s->heap);
    hpc_free(s);
}

/* Without begin and end. */
static int encode_inner(hpc_ids *ids, hpc_tokenizer_scratch *s, const char *text, size_t n,
                        unsigned flags)
{
    const hpc_tokenizer *t = s->tokenizer;
    bool first = !(flags & HPC_ENCODE_INNER);
    int rc = HPC_OK;
    if (t->family->encode_marked) return t->family->encode_marked(ids, t, s, text, n, flags);
    if (!(flags & HPC_ENCODE_SPECIALS)) return t->family->encode(ids, t, s, text, n, first);
    for (size_t at = 0; at < n;) {
        size_t special = tokenizer_matcher_find(s->controls, text, n, at);
        if (special > at) TRY(t->family->encode(ids, t, s, text + at, special - at, first));
        first = false;
        at = special;
        if (at == n) break;
        int32_t id = -1;
        at += tokenizer_matcher_at(&id, s->controls, text, n, at);
        TRY(tokenizer_ids_add(ids, id));
    }
out:
    return rc;
}

static int check_flags(unsigned flags)
{
    if ((flags & ~known_flags) == 0) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "unknown flags %#x for encoding", flags & ~known_flags);
}

int hpc_tokenizer_encode(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n, unsigned flags)
{
    int rc = HPC_OK;
    hpc_assert(s->tokenizer == t);
    TRY(check_flags(flags));
    if (flags & HPC_ENCODE_BEGIN && t->special.begin >= 0)
        TRY(tokenizer_ids_add(ids, t->special.begin));
    if (n > 0) TRY(encode_inner(ids, s, text, n, flags));
    if (flags & HPC_ENCODE_END && t->special.end >= 0) TRY(tokenizer_ids_add(ids, t->special.end));
out:
    return rc;
}

/* ---- one text on many workers ------------------------------------------------------------
 * The text is cut where the ids of the parts are those of the whole, about every so many bytes.
 * Parts are taken in order by whoever is free, and put together by their number, so the result
 * does not depend on who took what. */
enum { PART_BYTES = 256 << 10 };

typedef struct part {
    size_t at, end;
    int worker;        /* who encoded it; */
    int64_t first, n;  /* its ids in that worker's list, */
    int64_t placed_at; /* and in the result */
} part;

typedef struct work {
    const hpc_tokenizer *t;
    hpc_tokenizer_scratch **scratch; /* by worker */
    hpc_ids *list;                   /* likewise */
    part *item;
    int64_t n, cap;
    int64_t next; /* by atomic built-ins */
    const char *text;
    size_t bytes;
    unsigned flags;
    int32_t *out;
} work;

static size_t cut_at(const work *w, size_t lo)
{
    const hpc_tokenizer *t = w->t;
    while (lo < w->bytes) {
        lo = t->family->cut(t, w->text, w->bytes, lo);
        if (lo >= w->bytes) break;
        if (t->family->encode_marked || !(w->flags & HPC_ENCODE_SPECIALS) ||
            !tokenizer_matcher_spans(w->scratch[0]->controls, w->text, w->bytes, lo))
            return lo;
        lo++;
    }
    return w->bytes;
}

static int split(work *w)
{
    for (size_t at = 0; at < w->bytes;) {
        size_t end = w->bytes - at > PART_BYTES ? cut_at(w, at + PART_BYTES) : w->bytes;
        int rc = hpc_grow(&w->item, &w->cap, w->n + 1, sizeof *w->item);
        if (rc < 0) return rc;
        w->item[w->n++] = (part){.at = at, .end = end};
        at = end;
    }
    return HPC_OK;
}

static int encode_parts(int worker, int workers, void *user)
{
    work *w = user;
    hpc_ids *list = &w->list[worker];
    (void)workers;
    for (;;) {
        int64_t i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED);
        if (i >= w->n) return HPC_OK;
        part *p = &w->item[i];
        p->worker = worker;
        p->first = list->n;
        int rc = encode_inner(list, w->scratch[worker], w->text + p->at, p->end - p->at,
                              w->flags | (i > 0 ? HPC_ENCODE_INNER : 0));
        if (rc < 0) return rc;
        p->n = list->n - p->first;
    }
}

static int place_parts(int worker, int workers, void *user)
{
    const work *w = user;
    hpc_ids *list = &w->list[worker];
    (void)workers;
    for (int64_t i = 0; i < w->n; i++) {
        const part *p = &w->item[i];
        if (p->worker != worker || p->n == 0) continue;
        memcpy(w->out + p->placed_at, list->id + p->first, (size_t)p->n * sizeof *w->out);
    }
    /* Here and not in the end, because giving memory back takes time too. */
    hpc_free(list->id);
    list->id = NULL;
    return HPC_OK;
}

/* Memory that is not touched before it is used, and grows seldom or never. */
static int reserve(hpc_ids *ids, size_t n)
{
    ids->id = hpc_alloc(n, sizeof *ids->id);
    ids->cap = ids->id ? (int64_t)n : 0;
    return ids->id ? HPC_OK : HPC_E_NOMEM;
}

/* Room for all ids behind those that are there. */
static int gather(hpc_ids *ids, work *w, hpc_pool *pool)
{
    int64_t total = 0;
    for (int64_t i = 0; i < w->n; i++) {
        w->item[i].placed_at = total;
        total += w->item[i].n;
    }
    int rc = HPC_OK;
    if (ids->cap == 0 && total > 0) rc = reserve(ids, (size_t)total);
    if (rc < 0) return rc;
    rc = hpc_grow(&ids->id, &ids->cap, ids->n + total, sizeof *ids->id);
    if (rc < 0) return rc;
    w->out = ids->id + ids->n;
    rc = hpc_pool_run(pool, place_parts, w);
    ids->n += total;
    return rc;
}

static int encode_parallel(hpc_ids *ids, work *w, hpc_pool *pool, int workers)
{
    const hpc_tokenizer *t = w->t;
    int rc = HPC_OK;
    w->scratch = hpc_alloc((size_t)workers, sizeof(hpc_tokenizer_scratch *));
    w->list = hpc_alloc((size_t)workers, sizeof *w->list);
    if (!w->scratch || !w->list) TRY(HPC_E_NOMEM);
    for (int i = 0; i < workers; i++) TRY(hpc_tokenizer_scratch_create(&w->scratch[i], t));
    for (int i = 0; i < workers; i++) TRY(reserve(&w->list[i], w->bytes / (size_t)workers / 2));
    TRY(split(w));
    if (w->flags & HPC_ENCODE_BEGIN && t->special.begin >= 0)
        TRY(tokenizer_ids_add(ids, t->special.begin));
    TRY(hpc_pool_run(pool, encode_parts, w));
    TRY(gather(ids, w, pool));
    if (w->flags & HPC_ENCODE_END && t->special.end >= 0)
        TRY(tokenizer_ids_add(ids, t->special.end));
out:
    for (int i = 0; i < workers; i++) {
        if (w->scratch) hpc_tokenizer_scratch_free(w->scratch[i]);
        if (w->list) hpc_free(w->list[i].id);
    }
    hpc_free(w->scratch);
    hpc_free(w->list);
    hpc_free(w->item);
    return rc;
}

int hpc_tokenizer_encode_all(hpc_ids *ids, const hpc_tokenizer *t, hpc_pool *pool, const char *text,
                             size_t n, unsigned flags)
{
    work w = {.t = t, .text = text, .bytes = n, .flags = flags};
    hpc_tokenizer_scratch *s = NULL;
    int rc = HPC_OK;
    TRY(check_flags(flags));
    if (hpc_pool_n(pool) > 1 && n > PART_BYTES) {
        TRY(encode_parallel(ids, &w, pool, hpc_pool_n(pool)));
    } else {
        TRY(hpc_tokenizer_scratch_create(&s, t));
        TRY(hpc_tokenizer_encode(ids, t, s, text, n, flags));
    }
out:
    hpc_tokenizer_scratch_free(s);
    return rc;
}

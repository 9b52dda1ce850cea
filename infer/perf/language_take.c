/*
 * language_take.c: which functions of a change a language model reads, and how much of them.
 */
#include "infer/perf/language_priv.h"

#include <stdlib.h>

enum { LEAST_TOKENS = 64 }; /* less of a function that is longer tells nothing */

typedef struct candidate {
    int64_t function, weight;
} candidate;

static bool differs(const hpc_perf_change *c, const hpc_perf_function *f)
{
    bool inside =
        (f->base.source && f->base.function >= 0) || (f->head.source && f->head.function >= 0);
    return inside && !f->same_code && c->file[f->file].kind == HPC_PERF_SOURCE;
}

static int heaviest(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return (x->function > y->function) - (x->function < y->function);
}

/* Heaviest first; the caller's to free. */
static int find_candidates(candidate **out, int64_t *n, const hpc_perf_change *c)
{
    *n = 0;
    *out = hpc_alloc((size_t)c->n + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    for (int64_t k = 0; k < c->n; k++) {
        const hpc_perf_function *f = &c->function[k];
        int64_t lines = f->lines_added + f->lines_removed;
        if (differs(c, f))
            (*out)[(*n)++] = (candidate){.function = k, .weight = lines > 0 ? lines : 1};
    }
    if (*n > 1) qsort(*out, (size_t)*n, sizeof **out, heaviest);
    return HPC_OK;
}

static const char *text_of(size_t *n, const hpc_perf_side *s)
{
    *n = s->source ? s->end - s->at : 0;
    return s->source ? s->source->text.data + s->at : "";
}

/* The tokens of function f as those of a document of task perf, without the answer. */
static int encode(hpc_perf_language *l, const hpc_perf_change *c, const hpc_perf_function *f)
{
    size_t base_n, head_n;
    const char *base = text_of(&base_n, &f->base), *head = text_of(&head_n, &f->head);
    int rc = HPC_OK;
    hpc_sample_clear(&l->sample);
    l->ids.n = 0;
    TRY(hpc_render_change(&l->sample, c->names.data + c->file[f->file].path, base, base_n, head,
                          head_n, NULL));
    TRY(hpc_coder_encode(&l->ids, &l->coder, &l->sample));
out:
    return rc;
}

/* Both sequences of what is encoded, in `room` tokens, become the next opinion's. */
static int keep(hpc_perf_language *l, const candidate *from, int64_t room)
{
    const int32_t *mark = l->coder.mark;
    const hpc_compare_marks marks = {.base = mark[HPC_MARK_PERF_BASE],
                                     .head = mark[HPC_MARK_PERF_HEAD],
                                     .label = mark[HPC_MARK_PERF_LABEL]};
    language_text t = {.at = l->pool_n};
    hpc_compare c;
    int rc = HPC_OK;
    bool found = hpc_compare_find(&c, l->ids.id, l->ids.n, &marks);
    hpc_assert(found); /* it was encoded with them */
    hpc_compare_fit(&c, l->ids.id, room);
    TRY(hpc_grow(&l->pool, &l->pool_cap, l->pool_n + room, sizeof *l->pool));
    TRY(hpc_grow(&l->opinion, &l->opinions_cap, l->opinions_n + 1, sizeof *l->opinion));
    TRY(hpc_grow(&l->text, &l->texts_cap, l->opinions_n + 1, sizeof *l->text));
    t.first_n = hpc_compare_write(l->pool + t.at, &c, l->ids.id, 0);
    t.n = t.first_n + hpc_compare_write(l->pool + t.at + t.first_n, &c, l->ids.id, 1);
    t.hash = hpc_hash(l->pool + t.at, (size_t)t.n * sizeof *l->pool, (uint64_t)t.first_n);
    l->text[l->opinions_n] = t;
    l->opinion[l->opinions_n++] =
        (hpc_perf_language_opinion){.function = from->function, .weight = from->weight};
    l->pool_n += t.n;
out:
    return rc;
}

int hpc_perf_language_add(hpc_perf_language *l, const hpc_perf_change *c)
{
    language_commit commit = {.first = l->opinions_n};
    candidate *list = NULL;
    int64_t n, room = l->limits.tokens, first = l->opinions_n, pool = l->pool_n;
    int rc;
    TRY(find_candidates(&list, &n, c));
    TRY(hpc_grow(&l->commit, &l->commits_cap, l->commits_n + 1, sizeof *l->commit));
    for (int64_t k = 0; k < n && commit.n < l->limits.functions && room >= LEAST_TOKENS; k++) {
        TRY(encode(l, c, &c->function[list[k].function]));
        TRY(keep(l, &list[k], room < l->limits.length ? room : l->limits.length));
        room -= l->text[l->opinions_n - 1].n;
        commit.n++;
    }
    commit.left = n - commit.n;
    l->commit[l->commits_n++] = commit;
    first = l->opinions_n;
    pool = l->pool_n;
out:
    l->opinions_n = first; /* of a commit that failed nothing is left */
    l->pool_n = pool;
    hpc_free(list);
    return rc;
}

void hpc_perf_language_clear(hpc_perf_language *l)
{
    l->commits_n = l->opinions_n = l->pool_n = 0;
}

void language_release(hpc_perf_language *l)
{
    hpc_free(l->commit);
    hpc_free(l->opinion);
    hpc_free(l->text);
    hpc_free(l->pool);
    hpc_free(l->ids.id);
    hpc_sample_release(&l->sample);
}

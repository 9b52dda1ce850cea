/*
 * stats.c: counts over a corpus in one pass over its rows.
 *
 * Reasons are counted over all files, everything else over kept files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/corpus.h"

const char *hpc_stats_key_name(hpc_stats_key k)
{
    static const char *const name[HPC_STATS_N] = {
        [HPC_STATS_LANGUAGE] = "language", [HPC_STATS_PARALLEL] = "parallel",
        [HPC_STATS_LICENCE] = "licence",   [HPC_STATS_REPOSITORY] = "repository",
        [HPC_STATS_REASON] = "reason",     [HPC_STATS_SPLIT] = "split",
    };
    hpc_assert((unsigned)k < HPC_STATS_N);
    return name[k];
}

typedef struct table { /* rows of one key as they come up */
    hpc_map *index;    /* name to row */
    hpc_stats_row *row;
    int64_t n, cap;
} table;

static void add(hpc_stats_row *row, const hpc_corpus_file *f)
{
    row->files++;
    row->bytes += f->bytes;
    row->lines += f->lines;
    row->tokens += f->tokens;
}

static int count(table *t, const char *name, const hpc_corpus_file *f)
{
    uint64_t k = (uint64_t)t->n;
    size_t bytes = strlen(name);
    int rc = 0;
    if (!hpc_map_get(t->index, name, bytes, &k)) {
        TRY(hpc_grow(&t->row, &t->cap, t->n + 1, sizeof *t->row));
        TRY(hpc_map_put(t->index, name, bytes, k));
        t->row[t->n++] = (hpc_stats_row){0};
    }
    add(&t->row[k], f);
out:
    return rc;
}

static int count_kept(table t[HPC_STATS_N], const hpc_corpus_file *f)
{
    int rc = 0;
    TRY(count(&t[HPC_STATS_LANGUAGE], hpc_language_name(f->language), f));
    TRY(count(&t[HPC_STATS_LICENCE], f->licence[0] ? f->licence : "unknown", f));
    TRY(count(&t[HPC_STATS_REPOSITORY], f->repository, f));
    TRY(count(&t[HPC_STATS_SPLIT], hpc_split_name(f->split), f));
    for (int bit = 0; bit < HPC_PARALLEL_N; bit++)
        if (f->parallel & (1U << bit))
            TRY(count(&t[HPC_STATS_PARALLEL], hpc_parallel_name(bit), f));
    if (!f->parallel) TRY(count(&t[HPC_STATS_PARALLEL], "none", f));
out:
    return rc;
}

static int count_all(hpc_stats *out, table t[HPC_STATS_N], hpc_corpus *c)
{
    const hpc_corpus_filter filter = {.reasons = (1U << HPC_REASON_N) - 1};
    hpc_corpus_file f;
    int rc = 0;
    TRY(hpc_corpus_select(c, &filter));
    for (;;) {
        TRY(hpc_corpus_next(&f, c));
        if (rc == 0) break;
        add(&out->total, &f);
        TRY(count(&t[HPC_STATS_REASON], hpc_reason_name(f.reason), &f));
        if (f.reason != HPC_REASON_KEPT) continue;
        add(&out->kept, &f);
        TRY(count_kept(t, &f));
    }
out:
    return rc;
}

/* Most bytes first, then by name, so that the order is always the same. */
static int compare_rows(const void *a, const void *b)
{
    const hpc_stats_row *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int finish(hpc_stats *out, table t[HPC_STATS_N])
{
    for (int k = 0; k < HPC_STATS_N; k++) {
        hpc_stats_row *row = hpc_arena_alloc(out->arena, (size_t)t[k].n + 1, sizeof *row);
        if (!row) return HPC_E_NOMEM;
        for (int64_t i = 0; i < t[k].n; i++) {
            size_t bytes;
            const char *name = hpc_map_at(t[k].index, i, &bytes, NULL);
            row[i] = t[k].row[i];
            row[i].name = hpc_arena_text(out->arena, "%.*s", (int)bytes, name);
            if (!row[i].name) return HPC_E_NOMEM;
        }
        qsort(row, (size_t)t[k].n, sizeof *row, compare_rows);
        out->row[k] = row;
        out->rows_n[k] = t[k].n;
    }
    return 0;
}

int hpc_corpus_stats(hpc_stats *out, const char *folder)
{
    table t[HPC_STATS_N] = {{0}};
    hpc_corpus *c = NULL;
    int rc = HPC_E_NOMEM;
    *out = (hpc_stats){.total.name = "all", .kept.name = "kept"};
    out->arena = hpc_arena_create(0);
    if (!out->arena) goto out;
    for (int k = 0; k < HPC_STATS_N; k++) {
        t[k].index = hpc_map_create();
        if (!t[k].index) goto out;
    }
    TRY(hpc_corpus_open(&c, folder));
    TRY(count_all(out, t, c));
    TRY(finish(out, t));
out:
    for (int k = 0; k < HPC_STATS_N; k++) {
        hpc_map_free(t[k].index);
        hpc_free(t[k].row);
    }
    hpc_corpus_close(c);
    if (rc < 0) hpc_stats_release(out);
    return rc;
}

void hpc_stats_release(hpc_stats *s)
{
    hpc_arena_free(s->arena);
    *s = (hpc_stats){0};
}

/*
 * pack_order_all.c: orders a whole corpus: workers take repositories one by one, read their files
 * and order them.
 */
#include "corpus/pack.h"

typedef struct shared {
    int64_t *order;
    const pack_files *files;
    const char *corpus;
    const int *stop;
    int64_t next; /* repository; by atomic built-ins */
} shared;

typedef struct scratch { /* of one repository */
    hpc_buf *records;
    const char **paths;
    int64_t n, records_cap, paths_cap;
    hpc_buf text;
} scratch;

static void scratch_clear(scratch *s)
{
    for (int64_t k = 0; k < s->n; k++) hpc_buf_release(&s->records[k]);
    s->n = 0;
}

static void scratch_release(scratch *s)
{
    scratch_clear(s);
    hpc_free(s->records);
    hpc_free(s->paths);
    hpc_buf_release(&s->text);
}

static int order_repository(scratch *s, const shared *all, hpc_corpus *c, int64_t repository)
{
    const pack_files *f = all->files;
    int64_t lo = f->first[repository], n = f->first[repository + 1] - lo;
    int rc = HPC_OK;
    TRY(hpc_grow(&s->records, &s->records_cap, n, sizeof *s->records));
    TRY(hpc_grow(&s->paths, &s->paths_cap, n, sizeof *s->paths));
    for (int64_t k = 0; k < n; k++) {
        s->paths[k] = pack_files_path(f, lo + k);
        s->records[k] = (hpc_buf){0};
        s->n = k + 1;
        TRY(pack_files_read(&s->text, c, f, lo + k));
        TRY(pack_scan(&s->records[k], s->text.data, s->text.n,
                      (hpc_language)f->item[lo + k].language));
    }
    TRY(pack_order(all->order + lo, n, s->paths, s->records));
    for (int64_t k = 0; k < n; k++) all->order[lo + k] += lo;
out:
    scratch_clear(s);
    return rc;
}

static int work(int worker, int workers, void *user)
{
    shared *all = user;
    hpc_corpus *c = NULL;
    scratch s = {0};
    int rc = HPC_OK;
    (void)worker, (void)workers;
    TRY(hpc_corpus_open(&c, all->corpus));
    for (;;) {
        int64_t r = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED);
        if (r >= all->files->repositories_n) break;
        if (all->stop && __atomic_load_n(all->stop, __ATOMIC_RELAXED)) break;
        TRY(order_repository(&s, all, c, r));
    }
out:
    if (rc < 0) __atomic_store_n(&all->next, all->files->repositories_n, __ATOMIC_RELAXED);
    scratch_release(&s);
    hpc_corpus_close(c);
    return rc;
}

int pack_order_all(int64_t *order, const pack_files *f, const char *corpus, hpc_pool *pool,
                   const int *stop)
{
    shared all = {.order = order, .files = f, .corpus = corpus, .stop = stop};
    return hpc_pool_run(pool, work, &all);
}

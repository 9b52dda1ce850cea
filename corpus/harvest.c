/*
 * harvest.c: runs a harvest: settings, work, merge. Each step can be interrupted and resumed
 * anywhere.
 */
#include "corpus/harvest.h"

/* Removes lock files after corpus.db is complete, except those held by another process, and files
 * left by a process that was killed after its last step. */
static int clear_away(const corpus_harvest *h, hpc_buf *path)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < h->sources_n; k++) {
        int lock = -1;
        TRY(corpus_chunk_path(path, h->options->folder, h->source[k].name, -1));
        TRY(hpc_buf_text(path, "++lock"));
        TRY(hpc_file_lock(&lock, path->data, false));
        rc = lock < 0 ? HPC_OK : hpc_file_remove(path->data);
        hpc_file_unlock(lock);
        TRY(rc);
    }
    static const char *const rest[] = {"corpus.db.new", "harvest.lock"};
    for (size_t k = 0; k < sizeof rest / sizeof *rest; k++) {
        TRY(corpus_harvest_path(path, h, rest[k]));
        TRY(hpc_file_remove(path->data));
    }
out:
    return rc;
}

/* Rebuilds an existing corpus if it is damaged, if fewer repositories fail now than then, or if as
 * many fail and the chunks differ. Keeps it if more fail. */
static int must_merge(bool *out, const corpus_harvest *h, const hpc_buf *chunks, hpc_buf *path)
{
    bool same = false;
    int64_t now = h->result->failed_n, then = 0;
    int rc = corpus_harvest_path(path, h, "corpus.db");
    *out = true;
    if (rc < 0 || !hpc_file_exists(path->data)) return rc;
    rc = corpus_verify(&same, &then, h->options->folder, chunks);
    if (rc == HPC_E_FORMAT) {
        corpus_harvest_warn(h, "corpus.db is damaged; rebuilding it from the chunks");
        hpc_error_clear();
        return HPC_OK;
    }
    *out = now < then || (now == then && !same);
    return rc;
}

/* One of the processes that find everything complete merges; the others wait for it. */
static int merge(corpus_harvest *h, const hpc_buf *chunks)
{
    hpc_buf path = {0};
    int64_t failed = h->result->failed_n;
    bool needed = false;
    int lock = -1, rc = HPC_OK;
    TRY(corpus_harvest_path(&path, h, "harvest.lock"));
    TRY(hpc_file_lock(&lock, path.data, true));
    TRY(must_merge(&needed, h, chunks, &path));
    if (needed) TRY(corpus_merge(h));
    TRY(clear_away(h, &path));
    TRY(corpus_count(h->result, h->options->folder));
    if (h->result->failed_n < failed) h->result->failed_n = failed;
    h->result->complete = true;
out:
    hpc_file_unlock(lock);
    hpc_buf_release(&path);
    return rc;
}

/* Removes what this call created, so that the folder can be used again. */
static int give_up(const corpus_harvest *h)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    if (h->fresh) {
        TRY(clear_away(h, &path));
        TRY(corpus_harvest_path(&path, h, "harvest.json"));
        TRY(hpc_file_remove(path.data));
    }
    rc = hpc_fail(HPC_E_ARG, "no repository can be read; there is nothing to harvest");
out:
    hpc_buf_release(&path);
    return rc;
}

/* Checks all chunks, even of a complete corpus, and rebuilds damaged or missing ones. */
static int go_on(corpus_harvest *h)
{
    hpc_harvest_result *r = h->result;
    hpc_buf chunks = {0};
    bool complete = false;
    int rc = HPC_OK;
    r->repositories_n = h->sources_n;
    TRY(corpus_work_run(h));
    for (int64_t k = 0; k < h->sources_n; k++) r->failed_n += h->source[k].failed != 0;
    r->stopped = corpus_harvest_stopped(h);
    if (!r->stopped && r->failed_n == r->repositories_n) TRY(give_up(h));
    if (!r->stopped) TRY(corpus_work_complete(&complete, &chunks, h));
    if (complete) TRY(merge(h, &chunks));
out:
    hpc_buf_release(&chunks);
    return rc;
}

int hpc_corpus_harvest(hpc_harvest_result *out, const hpc_harvest_options *options)
{
    corpus_harvest h = {.options = options, .result = out};
    int rc = HPC_OK;
    *out = (hpc_harvest_result){0};
    h.arena = hpc_arena_create(0);
    if (!h.arena) TRY(HPC_E_NOMEM);
    if (options->held_out) TRY(hpc_sketch_open(&h.sketch, options->held_out));
    TRY(hpc_pool_create(&h.pool, options->threads));
    TRY(corpus_settings_fix(&h));
    TRY(go_on(&h));
out:
    hpc_pool_free(h.pool);
    hpc_sketch_close(h.sketch);
    hpc_buf_release(&h.settings);
    hpc_arena_free(h.arena);
    return rc;
}

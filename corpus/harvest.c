/*
 * harvest.c: a harvest from its options to corpus.db: settings, work, merge, in this order, each
 * of which can be interrupted anywhere and gone on with.
 */
#include "corpus/harvest.h"

/* Lock files are of no use once corpus.db is there: whoever still comes finds all done. And what a
 * process that was killed right behind the last step has left. */
static int clear_away(const corpus_harvest *h, hpc_buf *path)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < h->sources_n; k++) {
        TRY(corpus_chunk_path(path, h->options->folder, h->source[k].name, -1));
        TRY(hpc_buf_text(path, "++lock"));
        TRY(hpc_file_remove(path->data));
    }
    static const char *const rest[] = {"corpus.db.new", "harvest.lock"};
    for (size_t k = 0; k < sizeof rest / sizeof *rest; k++) {
        TRY(corpus_harvest_path(path, h, rest[k]));
        TRY(hpc_file_remove(path->data));
    }
out:
    return rc;
}

/* Of several processes that find everything done, one merges; the others wait for it. A corpus
 * that is there is made anew only when more of its repositories can be read than then. */
static int merge(corpus_harvest *h, int64_t failed_before, hpc_buf *path)
{
    hpc_harvest_result there = {0};
    int64_t failed = 0;
    int lock = -1, rc = HPC_OK;
    for (int64_t k = 0; k < h->sources_n; k++) failed += h->source[k].failed != 0;
    TRY(corpus_harvest_path(path, h, "harvest.lock"));
    TRY(hpc_file_lock(&lock, path->data, true));
    TRY(corpus_harvest_path(path, h, "corpus.db"));
    if (hpc_file_exists(path->data)) {
        TRY(corpus_count(&there, h->options->folder));
        failed_before = there.failed_n;
    }
    if (failed < failed_before) TRY(corpus_merge(h));
    TRY(clear_away(h, path));
    TRY(corpus_count(h->result, h->options->folder));
    h->result->complete = true;
out:
    hpc_file_unlock(lock);
    return rc;
}

static int go_on(corpus_harvest *h)
{
    hpc_buf path = {0};
    bool complete = false;
    int rc = HPC_OK;
    h->result->repositories_n = h->sources_n;
    TRY(corpus_harvest_path(&path, h, "corpus.db"));
    if (hpc_file_exists(path.data)) {
        hpc_harvest_result there = {0};
        TRY(corpus_count(&there, h->options->folder));
        if (there.failed_n == 0) {
            TRY(merge(h, 0, &path)); /* nothing to do but to count */
            goto out;
        }
    }
    TRY(corpus_work_run(h));
    for (int64_t k = 0; k < h->sources_n; k++) h->result->failed_n += h->source[k].failed != 0;
    h->result->stopped = corpus_harvest_stopped(h);
    if (!h->result->stopped) TRY(corpus_work_complete(&complete, h));
    if (complete) TRY(merge(h, INT64_MAX, &path));
out:
    hpc_buf_release(&path);
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

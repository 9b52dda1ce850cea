/*
 * loops.c: `corpus loops`: writes the loops of a corpus as a table and as JSON lines.
 *
 * Files are read in batches in order of id on all threads, and results are merged in that order,
 * so they do not depend on threads. The first record of each pair of loop and directive is kept in
 * a temporary file: only when all are known is it clear which loops are disputed or straddle the
 * split. Memory holds one batch and the tally.
 */
#include <stdio.h>
#include <string.h>

#include "corpus/loops.h"

enum { BATCH_FILES = 256, BATCH_BYTES = 16 << 20, FLUSH = 1 << 20 };

typedef struct worker {
    hpc_corpus *corpus;
    loops_scratch scratch;
    hpc_buf text, records;
    int64_t loops_n;
} worker;

typedef struct job {
    const hpc_loops_options *o;
    hpc_loops_result *result;
    hpc_corpus *corpus;
    hpc_pool *pool;
    worker *worker;
    int workers;
    hpc_arena *names; /* of the batch */
    hpc_corpus_file file[BATCH_FILES];
    int64_t files_n;
    loops_tally tally;
    hpc_buf stage_path, lines;
    hpc_file_writer *stage, *jsonl;
    hpc_file_view view;
    loops_store *store;
} job;

static int flush(hpc_file_writer *w, hpc_buf *lines, size_t least)
{
    if (lines->failed) return lines->failed;
    if (lines->n <= least) return HPC_OK;
    int rc = hpc_file_write(w, lines->data, lines->n);
    lines->n = 0;
    return rc;
}

/* ---- reading, on all threads ---------------------------------------------------------------- */

static int read_file(worker *w, const hpc_corpus_file *f)
{
    loops_record like = {.file = f->id,
                         .repository = f->repository,
                         .path = f->path,
                         .licence = f->licence,
                         .language = (uint8_t)f->language,
                         .split = (uint8_t)f->split};
    int rc = HPC_OK;
    TRY(hpc_corpus_read(&w->text, w->corpus, f));
    TRY(loops_of_text(&w->records, &w->scratch, &w->loops_n, &like, w->text.n ? w->text.data : "",
                      w->text.n, f->fixed));
out:
    if (rc < 0) hpc_error_where("%s: %s", f->repository, f->path);
    return rc;
}

static int read_share(int number, int workers, void *user)
{
    job *j = user;
    worker *w = &j->worker[number];
    int64_t lo, hi;
    int rc = HPC_OK;
    w->records.n = 0;
    hpc_share(&lo, &hi, j->files_n, 1, number, workers);
    if (lo < hi && !w->corpus) TRY(hpc_corpus_open(&w->corpus, j->o->folder));
    for (; lo < hi; lo++) TRY(read_file(w, &j->file[lo]));
out:
    return rc;
}

/* ---- putting together, in order ------------------------------------------------------------- */

static int stage_records(job *j, const hpc_buf *records)
{
    loops_record r;
    bool fresh;
    int rc = HPC_OK;
    for (size_t at = 0; loops_next(&r, &at, records->data, records->n);) {
        TRY(loops_tally_add(&j->tally, &r, &fresh));
        if (fresh) TRY(loops_put(&j->lines, &r));
        TRY(flush(j->stage, &j->lines, FLUSH));
    }
out:
    return rc;
}

static int run_batch(job *j)
{
    int rc = HPC_OK;
    if (j->files_n == 0) return HPC_OK;
    TRY(hpc_pool_run(j->pool, read_share, j));
    for (int k = 0; k < j->workers; k++) {
        TRY(stage_records(j, &j->worker[k].records));
        j->result->loops_n += j->worker[k].loops_n;
        j->worker[k].loops_n = 0;
    }
    j->result->files_n += j->files_n;
    j->files_n = 0;
    if (j->o->progress) hpc_progress_update(j->o->progress, j->result->files_n, NULL);
out:
    return rc;
}

/* The row borrows its texts until the next one. */
static int keep_row(job *j, hpc_corpus_file *f)
{
    f->repository = hpc_arena_text(j->names, "%s", f->repository);
    f->path = hpc_arena_text(j->names, "%s", f->path);
    f->licence = hpc_arena_text(j->names, "%s", f->licence);
    f->detail = "";
    if (!f->repository || !f->path || !f->licence) return HPC_E_NOMEM;
    j->file[j->files_n++] = *f;
    return HPC_OK;
}

static int read_all(job *j)
{
    const hpc_corpus_filter used = {.reasons =
                                        1u << HPC_REASON_KEPT | 1u << HPC_REASON_NEAR_DUPLICATE};
    hpc_arena_mark begin = hpc_arena_here(j->names);
    hpc_corpus_file f;
    int64_t bytes = 0;
    int rc = HPC_OK, more;
    TRY(hpc_corpus_select(j->corpus, &used));
    while ((more = hpc_corpus_next(&f, j->corpus)) > 0) {
        TRY(keep_row(j, &f));
        bytes += f.stored_bytes;
        if (j->files_n < BATCH_FILES && bytes < BATCH_BYTES) continue;
        TRY(run_batch(j));
        hpc_arena_rewind(j->names, begin);
        bytes = 0;
    }
    TRY(more);
    TRY(run_batch(j));
    TRY(flush(j->stage, &j->lines, 0));
out:
    return rc;
}

/* ---- the result ----------------------------------------------------------------------------- */

static int write_rows(job *j)
{
    loops_record r;
    int64_t id = 0;
    int rc = HPC_OK;
    const char *data = (const char *)j->view.data;
    for (size_t at = 0; loops_next(&r, &at, data, j->view.bytes);) {
        if (loops_tally_straddles(&j->tally, &r)) continue;
        int64_t occurrences = loops_tally_occurrences(&j->tally, &r);
        r.kind = (uint8_t)loops_tally_kind(&j->tally, &r);
        TRY(loops_store_add(j->store, &r, ++id, occurrences));
        loops_json(&j->lines, &r, id, occurrences);
        TRY(flush(j->jsonl, &j->lines, FLUSH));
    }
    TRY(flush(j->jsonl, &j->lines, 0));
out:
    return rc;
}

static int write_result(job *j)
{
    hpc_buf path = {0};
    hpc_hash128 h = hpc_corpus_hash(j->corpus);
    char hex[40];
    int rc = HPC_OK;
    snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)h.high,
             (unsigned long long)h.low);
    TRY(hpc_file_open(&j->view, j->stage_path.data));
    TRY(loops_store_create(&j->store, j->o->out));
    TRY(loops_store_meta(j->store, "corpus", hex));
    TRY(hpc_buf_printf(&path, "%s/loops.jsonl", j->o->out));
    TRY(hpc_file_create(&j->jsonl, path.data));
    TRY(write_rows(j));
    TRY(loops_store_commit(j->store));
    TRY(hpc_file_commit(j->jsonl));
    loops_tally_counts(j->result, &j->tally);
out:
    hpc_buf_release(&path);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int open_job(job *j)
{
    int rc = HPC_OK;
    j->workers = j->o->threads > 0 ? j->o->threads : 1;
    TRY(hpc_corpus_open(&j->corpus, j->o->folder));
    TRY(hpc_file_mkdir(j->o->out));
    TRY(hpc_file_sweep(j->o->out));
    TRY(hpc_pool_create(&j->pool, j->workers));
    j->worker = hpc_alloc((size_t)j->workers, sizeof *j->worker);
    j->names = hpc_arena_create(0);
    if (!j->worker || !j->names) TRY(HPC_E_NOMEM);
    TRY(loops_tally_init(&j->tally));
    TRY(hpc_buf_printf(&j->stage_path, "%s/loops.stage", j->o->out));
    TRY(hpc_file_create(&j->stage, j->stage_path.data));
out:
    return rc;
}

static void close_job(job *j)
{
    for (int k = 0; j->worker && k < j->workers; k++) {
        hpc_corpus_close(j->worker[k].corpus);
        loops_scratch_release(&j->worker[k].scratch);
        hpc_buf_release(&j->worker[k].text);
        hpc_buf_release(&j->worker[k].records);
    }
    hpc_free(j->worker);
    hpc_pool_free(j->pool);
    hpc_corpus_close(j->corpus);
    hpc_arena_free(j->names);
    hpc_file_close_writer(j->stage);
    hpc_file_close_writer(j->jsonl);
    hpc_file_close(&j->view);
    loops_store_free(j->store);
    loops_tally_release(&j->tally);
    bool clean = hpc_error_get()->code == HPC_OK;
    /* What cannot be removed now, the next run writes over. */
    if (j->stage_path.data && hpc_file_remove(j->stage_path.data) < 0 && clean) hpc_error_clear();
    hpc_buf_release(&j->stage_path);
    hpc_buf_release(&j->lines);
}

int hpc_corpus_loops(hpc_loops_result *out, const hpc_loops_options *options)
{
    int rc = HPC_OK;
    *out = (hpc_loops_result){0};
    job *j = hpc_alloc(1, sizeof *j);
    if (!j) return HPC_E_NOMEM;
    j->o = options;
    j->result = out;
    TRY(open_job(j));
    if (options->progress) hpc_progress_start(options->progress, "loops", "files", 0);
    TRY(read_all(j));
    TRY(hpc_file_commit(j->stage));
    hpc_file_close_writer(j->stage);
    j->stage = NULL;
    TRY(write_result(j));
    if (options->progress) hpc_progress_end(options->progress, out->files_n);
out:
    close_job(j);
    hpc_free(j);
    return rc;
}

/*
 * work.c: makes the chunks of the repositories that this process has claimed, on all threads.
 *
 * Repositories are claimed by locks, several at a time, so threads do not wait for each other
 * after every small one. One thread makes a chunk, independently of others and atomically;
 * resuming needs no other state.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/bytes.h"
#include "corpus/harvest.h"

enum { KINDS = 4, TASKS_EACH = 16, CLAIMED_MOST = 512 };
static const hpc_reason kinds[KINDS] = {HPC_REASON_TOO_LARGE, HPC_REASON_ABSENT, HPC_REASON_CORRUPT,
                                        HPC_REASON_LICENCE};

typedef struct claimed { /* a claimed repository */
    corpus_source *source;
    corpus_plan plan;
    hpc_git *git; /* only to share with workers */
    int lock;
    int64_t passed_over[KINDS], first[KINDS]; /* number and first entry by kind; atomic */
} claimed;

typedef struct task {
    int32_t claimed, chunk;
} task;

typedef struct batch {
    corpus_harvest *h;
    claimed *item;
    int64_t n, cap;
    task *task;
    int64_t tasks_n, tasks_cap;
    int64_t next;   /* task; atomic */
    int failed;     /* a fatal error occurred; atomic */
    int64_t done_n; /* files; atomic, like the result's read_ counts */
    int64_t start_ns;
} batch;

/* ---- one worker ---------------------------------------------------------------------- */

typedef struct worker {
    batch *b;
    bool shows; /* shows progress: the calling thread */
    corpus_judge judge;
    hpc_git *git; /* of repository `at` of the batch, or NULL */
    int32_t at;
    hpc_buf path;
} worker;

static bool must_stop(const batch *b)
{
    return __atomic_load_n(&b->failed, __ATOMIC_RELAXED) || corpus_harvest_stopped(b->h);
}

static void show(const worker *w)
{
    const batch *b = w->b;
    char rate[32];
    hpc_progress *p = b->h->options->progress;
    if (!w->shows || !p) return;
    double seconds = (double)(hpc_clock_ns() - b->start_ns) * 1e-9;
    int64_t bytes = __atomic_load_n(&b->h->result->read_bytes, __ATOMIC_RELAXED);
    snprintf(rate, sizeof rate, "%.0f MB/s", seconds > 0 ? (double)bytes * 1e-6 / seconds : 0.0);
    hpc_progress_update(p, b->h->done_n + __atomic_load_n(&b->done_n, __ATOMIC_RELAXED), rate);
}

static void count(worker *w, claimed *c, const corpus_record *r, int64_t entry)
{
    hpc_harvest_result *total = w->b->h->result;
    __atomic_add_fetch(&w->b->done_n, 1, __ATOMIC_RELAXED);
    if (r->hash.low | r->hash.high) { /* it was read */
        __atomic_add_fetch(&total->read_n, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&total->read_bytes, (int64_t)r->bytes, __ATOMIC_RELAXED);
    }
    for (int k = 0; k < KINDS; k++) {
        if (r->reason != kinds[k]) continue;
        __atomic_add_fetch(&c->passed_over[k], 1, __ATOMIC_RELAXED);
        int64_t least = __atomic_load_n(&c->first[k], __ATOMIC_RELAXED);
        while (entry < least && !__atomic_compare_exchange_n(&c->first[k], &least, entry, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
    }
    show(w);
}

/* Returns 1: made; 0: stopped, nothing left; negative: failed. */
static int make_chunk(worker *w, claimed *c, int64_t chunk)
{
    corpus_harvest *h = w->b->h;
    corpus_chunk_writer *out = NULL;
    corpus_record record;
    const char *text = NULL;
    int64_t lo, hi;
    int rc = HPC_OK;
    TRY(corpus_chunk_path(&w->path, h->options->folder, c->source->name, chunk));
    TRY(corpus_chunk_create(&out, w->path.data, corpus_plan_key(&c->plan, h, c->source, chunk)));
    corpus_plan_range(&lo, &hi, &c->plan, chunk);
    for (int64_t k = lo; k < hi; k++) {
        if (must_stop(w->b)) goto out;
        TRY(corpus_judge_file(&record, &text, &w->judge, w->git, h, c->source, &c->plan, k));
        if (rc > 0) TRY(corpus_chunk_add(out, &record, text, record.stored_bytes));
        count(w, c, &record, k);
    }
    TRY(corpus_chunk_commit(out));
    rc = 1;
out:
    corpus_chunk_free(out);
    return rc;
}

/* Opens a repository; false: it disappeared and is skipped. */
static bool open_repository(worker *w, int32_t at)
{
    claimed *c = &w->b->item[at];
    if (w->git && w->at == at) return true;
    hpc_git_close(w->git);
    w->git = NULL;
    w->at = at;
    if (__atomic_load_n(&c->source->failed, __ATOMIC_RELAXED)) return false;
    if (hpc_git_share(&w->git, c->git) == 0) return true;
    if (hpc_error_get()->code != HPC_E_NOMEM) {
        __atomic_store_n(&c->source->failed, 1, __ATOMIC_RELAXED);
        hpc_error_clear();
    }
    return false;
}

static int work(int number, int workers, void *user)
{
    (void)workers;
    batch *b = user;
    worker w = {.b = b, .shows = number == 0};
    int rc = HPC_OK;
    for (;;) {
        int64_t k = __atomic_fetch_add(&b->next, 1, __ATOMIC_RELAXED);
        if (k >= b->tasks_n || must_stop(b)) break;
        if (open_repository(&w, b->task[k].claimed))
            TRY(make_chunk(&w, &b->item[b->task[k].claimed], b->task[k].chunk));
        else
            TRY(hpc_error_get()->code);
    }
    rc = HPC_OK;
out:
    if (rc < 0) __atomic_store_n(&b->failed, 1, __ATOMIC_RELAXED);
    hpc_git_close(w.git);
    corpus_judge_release(&w.judge);
    hpc_buf_release(&w.path);
    return rc;
}

/* ---- plans --------------------------------------------------------------------------- */

static int lock_source(int *lock, const corpus_harvest *h, const corpus_source *s)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    TRY(corpus_chunk_path(&path, h->options->folder, s->name, -1));
    TRY(hpc_buf_text(&path, "++lock")); /* no repository is called so */
    TRY(hpc_file_lock(lock, path.data, false));
out:
    hpc_buf_release(&path);
    return rc;
}

/* An error of one repository is reported and the repository skipped; lack of memory is fatal. */
static int pass_over(const corpus_harvest *h, corpus_source *s, int code)
{
    if (code == HPC_E_NOMEM) return code;
    s->failed = 1;
    corpus_harvest_warn_error(h, s->name);
    return HPC_OK;
}

static int plan_one(corpus_harvest *h, corpus_source *s, const char *path)
{
    hpc_buf folder = {0};
    hpc_git *g = NULL;
    corpus_plan plan = {0};
    int rc = hpc_git_open(&g, s->path);
    if (rc >= 0) rc = corpus_plan_make(&plan, h, s, g);
    if (rc < 0) rc = pass_over(h, s, rc);
    if (rc != HPC_OK || s->failed) goto out;
    TRY(corpus_chunk_path(&folder, h->options->folder, s->name, -1));
    TRY(hpc_file_mkdir(folder.data));
    TRY(corpus_plan_save(&plan, path));
    s->files_n = plan.n;
out:
    corpus_plan_release(&plan);
    hpc_git_close(g);
    hpc_buf_release(&folder);
    return rc;
}

/* 1: there is a sound plan; 0: none; negative: failed. */
static int look_for_plan(corpus_harvest *h, corpus_source *s, const char *path)
{
    corpus_plan plan;
    if (!hpc_file_exists(path)) return 0;
    int rc = corpus_plan_load(&plan, path);
    if (rc == HPC_E_FORMAT) {
        hpc_error_clear();
        return 0;
    }
    if (rc < 0) return rc;
    s->files_n = plan.n;
    corpus_plan_tell_missing(&plan, h, s->name, NULL);
    corpus_plan_release(&plan);
    return 1;
}

/* Lists every repository before any is read, so that how much there is to do is known. */
static int plan_all(corpus_harvest *h)
{
    hpc_buf path = {0};
    int lock = -1, rc = HPC_OK;
    for (int64_t k = 0; k < h->sources_n && !corpus_harvest_stopped(h); k++) {
        corpus_source *s = &h->source[k];
        TRY(corpus_plan_path(&path, h, s));
        TRY(look_for_plan(h, s, path.data));
        if (rc > 0) continue;
        TRY(lock_source(&lock, h, s));
        if (lock < 0) continue; /* somebody else is at it */
        TRY(look_for_plan(h, s, path.data));
        if (rc == 0) {
            if (hpc_file_exists(path.data))
                corpus_harvest_warn(h, "%s: its plan is damaged; rebuilding it", s->name);
            TRY(plan_one(h, s, path.data));
        }
        hpc_file_unlock(lock);
        lock = -1;
    }
    rc = HPC_OK;
out:
    hpc_file_unlock(lock);
    hpc_buf_release(&path);
    return rc;
}

/* ---- a batch -------------------------------------------------------------------------- */

static void release_batch(batch *b)
{
    for (int64_t k = 0; k < b->n; k++) {
        corpus_plan_release(&b->item[k].plan);
        hpc_git_close(b->item[k].git);
        hpc_file_unlock(b->item[k].lock);
    }
    hpc_free(b->item);
    hpc_free(b->task);
    *b = (batch){.h = b->h, .start_ns = b->start_ns};
}

/* Does an intact chunk with the plan's key exist? Then gives its hash. */
static int chunk_is_done(bool *done, hpc_hash128 *hash, const corpus_harvest *h,
                         const corpus_source *s, const corpus_plan *plan, int64_t chunk,
                         hpc_buf *path)
{
    corpus_chunk *there = NULL;
    int rc = corpus_chunk_path(path, h->options->folder, s->name, chunk);
    *done = false;
    if (rc < 0 || !hpc_file_exists(path->data)) return rc;
    rc = corpus_chunk_open(&there, path->data);
    if (rc >= 0) rc = corpus_chunk_verify(there);
    if (rc == HPC_E_FORMAT) {
        corpus_harvest_warn(h, "%s: chunk %lld is damaged; rebuilding it", s->name,
                            (long long)chunk);
        hpc_error_clear();
        rc = HPC_OK;
    } else if (rc >= 0) {
        *done = hpc_same_hash(corpus_chunk_key(there), corpus_plan_key(plan, h, s, chunk));
        *hash = corpus_chunk_hash(there);
    }
    corpus_chunk_close(there);
    return rc;
}

static int add_tasks(batch *b, int32_t number)
{
    corpus_harvest *h = b->h;
    const claimed *c = &b->item[number];
    hpc_buf path = {0};
    hpc_hash128 hash;
    int64_t lo, hi;
    int rc = HPC_OK;
    for (int64_t k = 0; k < corpus_plan_chunks(&c->plan); k++) {
        bool done = false;
        TRY(chunk_is_done(&done, &hash, h, c->source, &c->plan, k, &path));
        if (done) {
            corpus_plan_range(&lo, &hi, &c->plan, k);
            h->done_n += hi - lo;
            if (h->options->progress) h->options->progress->start_done += hi - lo;
            continue;
        }
        TRY(hpc_grow(&b->task, &b->tasks_cap, b->tasks_n + 1, sizeof *b->task));
        b->task[b->tasks_n++] = (task){number, (int32_t)k};
    }
out:
    hpc_buf_release(&path);
    return rc;
}

static void tell_if_moved(const corpus_harvest *h, const claimed *c)
{
    hpc_git_facts now;
    if (hpc_git_describe(&now, c->git) < 0) {
        hpc_error_clear();
        return;
    }
    if (memcmp(&now.head, &c->plan.head, sizeof now.head) != 0 ||
        (h->options->history && now.refs != c->plan.refs))
        corpus_harvest_warn(
            h, "%s: its branches have moved since it was planned; harvesting the planned commits",
            c->source->name);
}

/* The repository's lock is the batch's from here on. */
static int claim(batch *b, corpus_source *s, int lock, const char *plan_path)
{
    corpus_harvest *h = b->h;
    hpc_buf folder = {0};
    int64_t tasks = b->tasks_n;
    int rc = hpc_grow(&b->item, &b->cap, b->n + 1, sizeof *b->item);
    if (rc < 0) {
        hpc_file_unlock(lock);
        return rc;
    }
    claimed *c = &b->item[b->n++];
    *c = (claimed){.source = s, .lock = lock};
    for (int k = 0; k < KINDS; k++) c->first[k] = INT64_MAX;
    TRY(corpus_chunk_path(&folder, h->options->folder, s->name, -1));
    TRY(hpc_file_sweep(folder.data));
    TRY(corpus_plan_load(&c->plan, plan_path));
    TRY(add_tasks(b, (int32_t)(b->n - 1)));
    if (b->tasks_n == tasks) goto out; /* done already */
    rc = hpc_git_open(&c->git, s->path);
    if (rc < 0) {
        b->tasks_n = tasks;
        TRY(pass_over(h, s, rc));
        goto out;
    }
    tell_if_moved(h, c);
out:
    hpc_buf_release(&folder);
    return rc;
}

/* Reason that a file was skipped, from its record, by judging it again; "": unknown. */
static int reason_of(hpc_buf *out, const corpus_harvest *h, const claimed *c, int64_t entry)
{
    corpus_judge judge = {0};
    corpus_record record;
    const char *text;
    int rc = corpus_judge_file(&record, &text, &judge, c->git, h, c->source, &c->plan, entry);
    if (rc > 0 && record.detail[0]) rc = hpc_buf_printf(out, " (%s)", record.detail);
    corpus_judge_release(&judge);
    return rc;
}

static int tell_kind(const corpus_harvest *h, const claimed *c, int k)
{
    static const char *const what[KINDS] = {"too large", "absent", "damaged",
                                            "under licences that --licenses does not allow"};
    bool partial = kinds[k] == HPC_REASON_ABSENT && c->plan.partial;
    hpc_buf why = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_text(&why, ""));
    if (kinds[k] != HPC_REASON_ABSENT) TRY(reason_of(&why, h, c, c->first[k]));
    corpus_harvest_warn(
        h, "%s: %lld %s %s%s; the first: %s%s%s", c->source->name, (long long)c->passed_over[k],
        c->passed_over[k] > 1 ? "files are" : "file is", what[k],
        partial ? " (a partial clone)" : "", corpus_plan_entry_path(&c->plan, c->first[k]),
        why.data, kinds[k] == HPC_REASON_LICENCE ? "; --licenses all keeps them" : "");
    rc = HPC_OK;
out:
    hpc_buf_release(&why);
    return rc;
}

static int tell_passed_over(const corpus_harvest *h, const claimed *c)
{
    int rc = HPC_OK;
    for (int k = 0; k < KINDS; k++)
        if (c->passed_over[k] > 0) TRY(tell_kind(h, c, k));
    if (__atomic_load_n(&c->source->failed, __ATOMIC_RELAXED) && c->git)
        corpus_harvest_warn(h, "%s: the repository disappeared while it was read", c->source->name);
out:
    return rc;
}

static int run_batch(batch *b)
{
    int rc = HPC_OK;
    if (b->tasks_n > 0) rc = hpc_pool_run(b->h->pool, work, b);
    for (int64_t k = 0; k < b->n && rc >= 0; k++) rc = tell_passed_over(b->h, &b->item[k]);
    b->h->done_n += b->done_n;
    release_batch(b);
    return rc;
}

/* ---- all of them ------------------------------------------------------------------------ */

/* One pass over the list. *took: repositories claimed that were free and not yet seen. */
static int take_all(int64_t *took, batch *b, bool *seen)
{
    corpus_harvest *h = b->h;
    hpc_buf path = {0};
    int lock = -1, rc = HPC_OK;
    int64_t enough = (int64_t)TASKS_EACH * hpc_pool_n(h->pool);
    *took = 0;
    for (int64_t k = 0; k < h->sources_n && !corpus_harvest_stopped(h); k++) {
        corpus_source *s = &h->source[k];
        if (seen[k] || s->failed) continue;
        TRY(corpus_plan_path(&path, h, s));
        if (!hpc_file_exists(path.data)) continue; /* another process is planning it */
        TRY(lock_source(&lock, h, s));
        if (lock < 0) continue;
        seen[k] = true;
        ++*took;
        TRY(claim(b, s, lock, path.data));
        if (b->tasks_n >= enough || b->n >= CLAIMED_MOST) TRY(run_batch(b));
    }
    TRY(run_batch(b));
out:
    release_batch(b);
    hpc_buf_release(&path);
    return rc;
}

int corpus_work_run(corpus_harvest *h)
{
    batch b = {.h = h};
    int64_t total = 0, took = 0;
    int rc = HPC_OK;
    bool *seen = hpc_alloc((size_t)h->sources_n, sizeof *seen);
    if (!seen) TRY(HPC_E_NOMEM);
    TRY(plan_all(h));
    for (int64_t k = 0; k < h->sources_n; k++) total += h->source[k].files_n;
    if (h->options->progress) hpc_progress_start(h->options->progress, "harvest", "files", total);
    b.start_ns = hpc_clock_ns();
    do TRY(take_all(&took, &b, seen));
    while (took > 0 && !corpus_harvest_stopped(h));
    if (h->options->progress) hpc_progress_end(h->options->progress, h->done_n);
out:
    hpc_free(seen);
    return rc;
}

static int source_is_complete(bool *out, hpc_buf *chunks, const corpus_harvest *h,
                              const corpus_source *s, hpc_buf *path)
{
    corpus_plan plan = {0};
    hpc_hash128 hash;
    int rc = HPC_OK;
    *out = false;
    TRY(corpus_plan_path(path, h, s));
    if (!hpc_file_exists(path->data)) goto out;
    rc = corpus_plan_load(&plan, path->data);
    if (rc == HPC_E_FORMAT) { /* its owner rebuilds it */
        hpc_error_clear();
        rc = HPC_OK;
        goto out;
    }
    TRY(rc);
    *out = true;
    for (int64_t k = 0; k < corpus_plan_chunks(&plan) && *out; k++) {
        TRY(chunk_is_done(out, &hash, h, s, &plan, k, path));
        if (*out) TRY(corpus_list_chunk(chunks, s->name, k, hash));
    }
out:
    corpus_plan_release(&plan);
    return rc;
}

int corpus_work_complete(bool *out, hpc_buf *chunks, const corpus_harvest *h)
{
    hpc_buf path = {0};
    int rc = HPC_OK;
    *out = true;
    for (int64_t k = 0; k < h->sources_n && *out; k++)
        if (!h->source[k].failed) TRY(source_is_complete(out, chunks, h, &h->source[k], &path));
out:
    hpc_buf_release(&path);
    return rc;
}

/*
 * check.c: verifies that a corpus or a file has no held-out content: by repository name, path, git
 * id, hash of all code, and fraction of 50-token shingles.
 *
 * It repeats the harvest's checks on the stored texts and does not trust the corpus's own rows.
 */
#include <stdio.h>
#include <string.h>

#include "corpus/priv.h"

enum { BLOCK = 256 }; /* adjacent files per worker: their texts are stored together */

typedef struct row {
    int64_t id;
    hpc_finding finding;
} row;

typedef struct part { /* of one worker */
    row *row;
    int64_t rows_n, rows_cap, files_n, worst_id;
    double worst_share;
    char worst[256];
    hpc_arena *arena;
} part;

typedef struct check {
    const char *folder;
    const hpc_sketch *sketch;
    const hpc_check_options *options;
    part *part;
    int64_t done; /* by atomic built-ins */
} check;

typedef struct file {
    int64_t id;
    const char *repository, *path; /* repository NULL: a file of its own */
    const hpc_git_id *git_id;      /* or NULL */
    const char *text;
    size_t n;
    hpc_language language;
    bool fixed;
} file;

static const char *where_of(hpc_arena *a, const file *f)
{
    return f->repository ? hpc_arena_text(a, "%s:%s", f->repository, f->path)
                         : hpc_arena_text(a, "%s", f->path);
}

static int add_row(part *p, const file *f, hpc_reason reason, double share, const char *detail)
{
    int rc = hpc_grow(&p->row, &p->rows_cap, p->rows_n + 1, sizeof *p->row);
    if (rc < 0) return rc;
    hpc_finding found = {reason, where_of(p->arena, f), share,
                         hpc_arena_text(p->arena, "%s", detail)};
    if (!found.where || !found.detail) return HPC_E_NOMEM;
    p->row[p->rows_n++] = (row){f->id, found};
    return HPC_OK;
}

static int note_worst(part *p, const file *f, double share)
{
    if (share <= p->worst_share) return HPC_OK;
    p->worst_share = share;
    p->worst_id = f->id;
    snprintf(p->worst, sizeof p->worst, "%s%s%s", f->repository ? f->repository : "",
             f->repository ? ":" : "", f->path);
    return HPC_OK;
}

typedef struct lexed { /* reused from file to file */
    hpc_tokens tokens;
    corpus_code code;
} lexed;

static void release_lexed(lexed *l)
{
    hpc_tokens_release(&l->tokens);
    corpus_code_release(&l->code);
}

static int check_file(part *p, const check *c, const file *f, lexed *l)
{
    const char *pattern;
    corpus_held_out found;
    p->files_n++;
    if (f->repository && corpus_sketch_repository(c->sketch, f->repository))
        return add_row(p, f, HPC_REASON_HELD_OUT_REPOSITORY, 0, f->repository);
    if (f->repository && corpus_sketch_path(c->sketch, f->repository, f->path, &pattern))
        return add_row(p, f, HPC_REASON_HELD_OUT_PATH, 0, pattern);
    int rc = hpc_lex(&l->tokens, f->text, f->n, f->language, f->fixed);
    if (rc >= 0) rc = corpus_code_of(&l->code, &l->tokens);
    if (rc < 0) return rc;
    rc = corpus_sketch_content(&found, c->sketch, f->git_id, &l->code, c->options->share, false);
    if (rc < 0) return rc;
    if (found.reason != HPC_REASON_KEPT)
        return add_row(p, f, found.reason, found.share, found.detail);
    return note_worst(p, f, found.share);
}

/* ---- a corpus ------------------------------------------------------------------------ */

static int check_row(part *p, check *c, hpc_corpus *corpus, const hpc_corpus_file *f, hpc_buf *text,
                     lexed *l)
{
    int rc = hpc_corpus_read(text, corpus, f);
    if (rc < 0) return hpc_error_where("%s:%s", f->repository, f->path);
    file one = {f->id,   f->repository, f->path, &f->git_id, text->data ? text->data : "",
                text->n, f->language,   f->fixed};
    return check_file(p, c, &one, l);
}

static int work(int worker, int workers, void *user)
{
    int rc;
    check *c = user;
    part *p = &c->part[worker];
    hpc_corpus *corpus = NULL;
    hpc_corpus_file f;
    hpc_buf text = {0};
    lexed l = {0};
    hpc_corpus_filter which = {.reasons = 1u << HPC_REASON_KEPT | 1u << HPC_REASON_NEAR_DUPLICATE};
    TRY(hpc_corpus_open(&corpus, c->folder));
    TRY(hpc_corpus_select(corpus, &which));
    for (int64_t i = 0;; i++) {
        TRY(hpc_corpus_next(&f, corpus));
        if (rc == 0) break;
        if (i / BLOCK % workers != worker) continue;
        TRY(check_row(p, c, corpus, &f, &text, &l));
        int64_t done = __atomic_add_fetch(&c->done, 1, __ATOMIC_RELAXED);
        if (worker == 0 && c->options->progress)
            hpc_progress_update(c->options->progress, done, NULL);
    }
    rc = HPC_OK;
out:
    release_lexed(&l);
    hpc_buf_release(&text);
    hpc_corpus_close(corpus);
    return rc;
}

/* ---- results ---------------------------------------------------------------------------- */

/* In order of id, as one worker would have found them: each has its own in order. */
static int report(hpc_check_result *out, const check *c, int parts)
{
    int64_t at = 0, *next = hpc_alloc((size_t)parts, sizeof *next);
    if (!next) return HPC_E_NOMEM;
    int rc = HPC_OK;
    while (rc >= 0 && at >= 0) {
        at = -1;
        for (int w = 0; w < parts; w++) {
            const part *p = &c->part[w];
            if (next[w] == p->rows_n) continue;
            if (at < 0 || p->row[next[w]].id < c->part[at].row[next[at]].id) at = w;
        }
        if (at < 0) break;
        const row *r = &c->part[at].row[next[at]++];
        out->findings_n++;
        if (c->options->found) rc = c->options->found(&r->finding, c->options->user);
    }
    hpc_free(next);
    return rc < 0 ? rc : HPC_OK;
}

static void sum_up(hpc_check_result *out, const check *c, int parts)
{
    const part *worst = NULL;
    for (int w = 0; w < parts; w++) {
        const part *p = &c->part[w];
        out->files_n += p->files_n;
        if (p->worst_share > out->worst_share &&
            (!worst || p->worst_share > worst->worst_share ||
             (p->worst_share == worst->worst_share && p->worst_id < worst->worst_id)))
            worst = p;
    }
    if (!worst) return;
    out->worst_share = worst->worst_share;
    snprintf(out->worst, sizeof out->worst, "%s", worst->worst);
}

static int open_parts(check *c, int n)
{
    c->part = hpc_alloc((size_t)n, sizeof *c->part);
    if (!c->part) return HPC_E_NOMEM;
    for (int w = 0; w < n; w++)
        if (!(c->part[w].arena = hpc_arena_create(0))) return HPC_E_NOMEM;
    return HPC_OK;
}

static void close_parts(check *c, int n)
{
    for (int w = 0; c->part && w < n; w++) {
        hpc_arena_free(c->part[w].arena);
        hpc_free(c->part[w].row);
    }
    hpc_free(c->part);
}

int hpc_corpus_check(hpc_check_result *out, const char *folder, const hpc_sketch *sketch,
                     const hpc_check_options *options)
{
    int rc, n = options->threads > 0 ? options->threads : 1;
    check c = {.folder = folder, .sketch = sketch, .options = options};
    hpc_pool *pool = NULL;
    TRY(open_parts(&c, n));
    TRY(hpc_pool_create(&pool, n));
    if (options->progress) hpc_progress_start(options->progress, "check", "files", 0);
    rc = hpc_pool_run(pool, work, &c);
    if (options->progress) hpc_progress_end(options->progress, c.done);
    if (rc < 0) goto out;
    sum_up(out, &c, n);
    TRY(report(out, &c, n));
out:
    hpc_pool_free(pool);
    close_parts(&c, n);
    return rc;
}

/* ---- a file ------------------------------------------------------------------------------ */

int hpc_corpus_check_text(hpc_check_result *out, const char *where, const char *text, size_t n,
                          const hpc_sketch *sketch, const hpc_check_options *options)
{
    int rc;
    check c = {.sketch = sketch, .options = options};
    lexed l = {0};
    file one = {.path = where, .text = text, .n = n};
    one.language = hpc_language_of(where, text, n);
    if (one.language == HPC_LANGUAGE_NONE) one.language = HPC_LANGUAGE_CPP;
    one.fixed = one.language == HPC_LANGUAGE_FORTRAN && hpc_language_fixed_form(where, text, n);
    TRY(open_parts(&c, 1));
    TRY(check_file(&c.part[0], &c, &one, &l));
    sum_up(out, &c, 1);
    TRY(report(out, &c, 1));
out:
    release_lexed(&l);
    close_parts(&c, 1);
    return rc;
}

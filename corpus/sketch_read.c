/*
 * sketch_read.c: reads the held-out content of a repository: git ids, hashes of token streams, and
 * shingles, collected per worker.
 *
 * The distribution over workers varies; the sorted union does not.
 */
#include <string.h>

#include "corpus/sketch.h"

/* Larger files are data. */
enum { FILE_MOST = 8 << 20, SORT_FIRST = 1 << 20, BLOCK = 64 };

/* ---- keys -------------------------------------------------------------------------- */

/* By digits, with scratch of the same length; after eight passes all is where it was. */
static void sort(uint64_t *a, uint64_t *scratch, int64_t n)
{
    uint64_t *from = a, *to = scratch;
    for (int shift = 0; shift < 64; shift += 8) {
        int64_t start[257] = {0};
        for (int64_t i = 0; i < n; i++) start[(from[i] >> shift & 255) + 1]++;
        for (int d = 0; d < 256; d++) start[d + 1] += start[d];
        for (int64_t i = 0; i < n; i++) to[start[from[i] >> shift & 255]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
}

/* Of a sorted array: distinct ones to the front; how many there are. */
static int64_t unique(uint64_t *a, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || a[i] != a[i - 1]) a[kept++] = a[i];
    return kept;
}

int corpus_keys_sort(corpus_keys *k)
{
    if (k->n == 0) return HPC_OK;
    uint64_t *scratch = hpc_alloc((size_t)k->n, sizeof *scratch);
    if (!scratch) return HPC_E_NOMEM;
    sort(k->key, scratch, k->n);
    k->n = unique(k->key, k->n);
    k->sort_at = 2 * k->n > SORT_FIRST ? 2 * k->n : SORT_FIRST;
    hpc_free(scratch);
    return HPC_OK;
}

/* Versions of a file share most shingles: sorting now and then limits memory to the
 * distinct ones. */
int corpus_keys_add(corpus_keys *k, uint64_t key)
{
    int rc = HPC_OK;
    if (k->n >= SORT_FIRST && k->n >= k->sort_at) TRY(corpus_keys_sort(k));
    TRY(hpc_grow(&k->key, &k->cap, k->n + 1, sizeof *k->key));
    k->key[k->n++] = key;
out:
    return rc;
}

void corpus_gathered_release(corpus_gathered *g)
{
    hpc_free(g->ids.key);
    hpc_free(g->streams.key);
    hpc_free(g->shingles.key);
    *g = (corpus_gathered){0};
}

/* ---- one file ---------------------------------------------------------------------- */

static int add_code(corpus_gathered *out, const hpc_git_id *id, const corpus_code *c)
{
    int rc = HPC_OK, n;
    uint64_t key[CORPUS_PASSAGE_MOST];
    corpus_passage p;
    corpus_passage_start(&p, c);
    out->files_n++;
    while ((n = corpus_passage_next(key, &p)) >= 0)
        for (int i = 0; i < n; i++) TRY(corpus_keys_add(&out->shingles, key[i]));
    rc = HPC_OK;
    if (c->n < SKETCH_STREAM_LEAST) goto out;
    TRY(corpus_keys_add(&out->ids, hpc_get64(id->byte)));
    TRY(corpus_keys_add(&out->streams, corpus_passage_stream(c)));
out:
    return rc;
}

/* ---- one repository ------------------------------------------------------------------ */

typedef struct reading {
    corpus_gathered *out;
    const corpus_held_list *held;
    hpc_git *git;
    const char *name;
    bool whole;
    hpc_git_list blobs;
    int64_t next; /* by atomic built-ins */
} reading;

static bool wanted(const char *path, void *user)
{
    const reading *r = user;
    return hpc_language_of_path(path) != HPC_LANGUAGE_NONE &&
           (r->whole || corpus_held_list_match(r->held, r->name, path));
}

static int read_entry(corpus_gathered *out, const reading *r, const hpc_git_entry *e, hpc_git *git,
                      hpc_buf *text, hpc_tokens *tokens, corpus_code *code)
{
    size_t bytes;
    const char *path = r->blobs.paths.data + e->path;
    if (corpus_vendored(path, r->name) || corpus_held_list_foreign(r->held, r->name, path)) {
        out->foreign_n++;
        return HPC_OK;
    }
    int rc = hpc_git_read(text, &bytes, git, &e->id, FILE_MOST);
    if (rc < 0) return rc;
    if (rc != HPC_GIT_READ) {
        out->unread_n++;
        return HPC_OK;
    }
    const char *data = text->data ? text->data : "";
    hpc_language l = hpc_language_of(path, data, text->n);
    if (l == HPC_LANGUAGE_NONE) return HPC_OK;
    bool fixed = l == HPC_LANGUAGE_FORTRAN && hpc_language_fixed_form(path, data, text->n);
    rc = hpc_lex(tokens, data, text->n, l, fixed);
    if (rc >= 0) rc = corpus_code_of(code, tokens);
    return rc < 0 ? rc : add_code(out, &e->id, code);
}

static int work(int worker, int workers, void *user)
{
    (void)workers;
    int rc;
    reading *r = user;
    hpc_git *git = NULL;
    hpc_buf text = {0};
    hpc_tokens tokens = {0};
    corpus_code code = {0};
    TRY(hpc_git_share(&git, r->git));
    for (;;) {
        int64_t at = __atomic_fetch_add(&r->next, BLOCK, __ATOMIC_RELAXED);
        if (at >= r->blobs.n) break;
        for (int64_t i = at; i < at + BLOCK && i < r->blobs.n; i++)
            TRY(read_entry(&r->out[worker], r, &r->blobs.entry[i], git, &text, &tokens, &code));
    }
    rc = HPC_OK;
out:
    hpc_tokens_release(&tokens);
    corpus_code_release(&code);
    hpc_buf_release(&text);
    hpc_git_close(git);
    return rc;
}

int corpus_sketch_read(corpus_gathered *out, const corpus_held_list *l, hpc_git *git,
                       const char *name, hpc_pool *pool, bool history)
{
    int rc;
    reading r = {
        .out = out, .held = l, .git = git, .name = name, .whole = corpus_held_list_has(l, name)};
    hpc_git_list_options which = {.history = history, .want = wanted, .user = &r};
    TRY(hpc_git_list_blobs(&r.blobs, git, pool, &which));
    TRY(hpc_pool_run(pool, work, &r));
    out[0].unread_n += r.blobs.missing_n;
out:
    hpc_git_list_release(&r.blobs);
    return rc;
}

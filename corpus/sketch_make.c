/*
 * sketch_make.c: makes a sketch: the file of hashes by which held-out content is recognised.
 *
 * It contains only names, patterns and hashes. The same list and repositories give the same bytes
 * for any number of threads and any order of repositories.
 */
#include <stdio.h>
#include <string.h>

#include "corpus/sketch.h"

typedef struct maker {
    const hpc_sketch_options *options;
    corpus_held_list held;
    bool *seen; /* by name of the list */
    hpc_pool *pool;
    hpc_git *git;               /* the repository opened last */
    corpus_gathered *part, all; /* of each worker; of all */
} maker;

static void warn(const maker *m, const char *line)
{
    if (m->options->warn) m->options->warn(line, m->options->user);
}

/* ---- the repositories ------------------------------------------------------------------ */

/* The one before is closed only now: with no repository open the library forgets its threads. */
static int read_one(maker *m, const hpc_repository *repository)
{
    char line[768];
    int rc;
    hpc_git *git = NULL;
    hpc_git_facts facts;
    TRY(hpc_git_open(&git, repository->path));
    hpc_git_close(m->git);
    m->git = git;
    TRY(hpc_git_describe(&facts, git));
    const char *name = repository->name ? repository->name : facts.name;
    if (!*name) {
        rc = hpc_fail(HPC_E_ARG, "%s has no origin with a name: use OWNER/NAME=%s",
                      repository->path, repository->path);
        goto out;
    }
    if (!corpus_held_list_has(&m->held, name) && !corpus_held_list_touches(&m->held, name)) {
        rc = hpc_fail(HPC_E_ARG, "%s is %s, which is not in %s: add it there, or leave it out",
                      repository->path, name, m->options->list);
        goto out;
    }
    for (int64_t i = 0; i < m->held.names_n; i++) {
        corpus_held_list one = {.name = &m->held.name[i], .names_n = 1};
        m->seen[i] |= corpus_held_list_has(&one, name);
    }
    int64_t unread = 0;
    for (int w = 0; w < hpc_pool_n(m->pool); w++) unread -= m->part[w].unread_n;
    TRY(corpus_sketch_read(m->part, &m->held, git, name, m->pool, m->options->history));
    for (int w = 0; w < hpc_pool_n(m->pool); w++) unread += m->part[w].unread_n;
    if (unread > 0) {
        snprintf(line, sizeof line, "%s: %lld objects cannot be read and are not in the sketch",
                 repository->path, (long long)unread);
        warn(m, line);
    }
    if (facts.shallow && m->options->history) {
        snprintf(line, sizeof line, "%s is shallow: older history is not in the sketch",
                 repository->path);
        warn(m, line);
    }
out:
    return rc;
}

static void warn_of_absent(const maker *m)
{
    char line[768];
    for (int64_t i = 0; i < m->held.names_n; i++) {
        if (m->seen[i]) continue;
        snprintf(line, sizeof line, "%s: no local copy given, it is matched by name only",
                 m->held.name[i]);
        warn(m, line);
    }
}

static int merge_keys(corpus_keys *into, corpus_keys *from)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < from->n; i++) TRY(corpus_keys_add(into, from->key[i]));
out:
    hpc_free(from->key);
    *from = (corpus_keys){0};
    return rc;
}

static int merge(maker *m)
{
    int rc = HPC_OK;
    for (int w = 0; w < hpc_pool_n(m->pool); w++) {
        corpus_gathered *p = &m->part[w];
        TRY(merge_keys(&m->all.ids, &p->ids));
        TRY(merge_keys(&m->all.streams, &p->streams));
        TRY(corpus_keys_sort(&p->shingles));
        TRY(merge_keys(&m->all.shingles, &p->shingles));
        m->all.files_n += p->files_n;
        m->all.foreign_n += p->foreign_n;
        m->all.unread_n += p->unread_n;
    }
    TRY(corpus_keys_sort(&m->all.ids));
    TRY(corpus_keys_sort(&m->all.streams));
    TRY(corpus_keys_sort(&m->all.shingles));
out:
    return rc;
}

/* ---- the file ---------------------------------------------------------------------------- */

static void put_keys(hpc_buf *out, const corpus_keys *k)
{
    uint8_t bytes[8];
    for (int64_t i = 0; i < k->n; i++) {
        hpc_put64(bytes, k->key[i]);
        hpc_buf_add(out, bytes, sizeof bytes);
    }
}

static int put_header(uint8_t *at, const maker *m, size_t list_bytes, const hpc_fuse *f)
{
    uint64_t lexer = 0;
    uint64_t count[SKETCH_COUNTS] = {
        [SKETCH_LIST_BYTES] = list_bytes,
        [SKETCH_IDS] = (uint64_t)m->all.ids.n,
        [SKETCH_STREAMS] = (uint64_t)m->all.streams.n,
        [SKETCH_SHINGLES] = (uint64_t)m->all.shingles.n,
        [SKETCH_FILES] = (uint64_t)m->all.files_n,
        [SKETCH_FOREIGN] = (uint64_t)m->all.foreign_n,
        [SKETCH_UNREAD] = (uint64_t)m->all.unread_n,
        [SKETCH_HISTORY] = m->options->history,
    };
    int rc = hpc_lexer_hash(&lexer);
    memcpy(at, SKETCH_MAGIC, 8);
    hpc_put32(at + SKETCH_AT_VERSION, SKETCH_VERSION);
    hpc_put64(at + SKETCH_AT_LEXER, lexer);
    for (int i = 0; i < SKETCH_COUNTS; i++) hpc_put64(at + SKETCH_AT_COUNTS + 8 * i, count[i]);
    hpc_put64(at + SKETCH_AT_FILTER, f->seed);
    hpc_put64(at + SKETCH_AT_FILTER + 8, f->segment_log2);
    hpc_put64(at + SKETCH_AT_FILTER + 16, f->segments);
    return rc;
}

static int write_file(const char *path, const maker *m)
{
    int rc;
    hpc_buf out = {0};
    hpc_fuse fuse = {0};
    static const uint8_t zeros[SKETCH_HEADER] = {0};
    uint8_t hash[SKETCH_HASH];
    TRY(hpc_buf_add(&out, zeros, SKETCH_HEADER));
    TRY(corpus_held_list_text(&out, &m->held));
    TRY(hpc_buf_add(&out, zeros, -out.n % 8));
    size_t list_bytes = out.n - SKETCH_HEADER;
    put_keys(&out, &m->all.ids);
    put_keys(&out, &m->all.streams);
    TRY(out.failed);
    TRY(hpc_fuse_build(&fuse, &out, m->all.shingles.key, NULL, m->all.shingles.n, SKETCH_BITS));
    TRY(put_header((uint8_t *)out.data, m, list_bytes, &fuse));
    hpc_put_hash(hash, hpc_hash_wide(out.data, out.n));
    TRY(hpc_buf_add(&out, hash, sizeof hash));
    TRY(hpc_file_save(path, out.data, out.n));
out:
    hpc_buf_release(&out);
    return rc;
}

int hpc_sketch_make(const char *path, const hpc_sketch_options *options)
{
    int rc;
    maker m = {.options = options};
    TRY(corpus_held_list_read(&m.held, options->list));
    TRY(hpc_pool_create(&m.pool, options->threads > 0 ? options->threads : 1));
    rc = HPC_E_NOMEM;
    m.part = hpc_alloc((size_t)hpc_pool_n(m.pool), sizeof *m.part);
    m.seen = hpc_alloc((size_t)m.held.names_n + 1, sizeof *m.seen);
    if (!m.part || !m.seen) goto out;
    for (int64_t i = 0; i < options->repositories_n; i++)
        TRY(read_one(&m, &options->repository[i]));
    warn_of_absent(&m);
    TRY(merge(&m));
    TRY(write_file(path, &m));
out:
    for (int w = 0; m.part && w < hpc_pool_n(m.pool); w++) corpus_gathered_release(&m.part[w]);
    corpus_gathered_release(&m.all);
    hpc_free(m.part);
    hpc_free(m.seen);
    hpc_pool_free(m.pool);
    hpc_git_close(m.git); /* after the threads, which hold memory of the library's */
    corpus_held_list_release(&m.held);
    return rc;
}

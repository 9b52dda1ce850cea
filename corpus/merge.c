/*
 * merge.c: builds corpus.db from chunks: exact and near-duplicates over all repositories, splits,
 * and one row per file.
 *
 * Chunks are read three times, in order: to compare files of HEAD, to compare files of history,
 * and to write rows. So memory holds a few words per file and the index of near-duplicates.
 */
#include <string.h>

#include "runtime/base/bytes.h"
#include "corpus/harvest.h"

typedef struct chunk_place { /* where the items of one chunk begin */
    int32_t first;
    uint32_t source;
    int64_t chunk;
} chunk_place;

typedef struct merge {
    corpus_harvest *h;
    corpus_item *item;
    int64_t n, cap;
    chunk_place *place;
    int64_t places_n, places_cap;
    corpus_near *near;
    hpc_hash128 *key; /* content hashes; git ids are untrusted */
    int64_t keys_cap;
    int32_t *table; /* items + 1 by key, open addressing */
    uint64_t table_size;
    hpc_buf path;
    hpc_split *split;
    int32_t *cluster;
} merge;

static void release_merge(merge *m)
{
    corpus_near_free(m->near);
    hpc_free(m->item);
    hpc_free(m->place);
    hpc_free(m->key);
    hpc_free(m->table);
    hpc_free(m->split);
    hpc_free(m->cluster);
    hpc_buf_release(&m->path);
}

static int open_chunk(corpus_chunk **out, merge *m, const chunk_place *p)
{
    corpus_harvest *h = m->h;
    int rc = corpus_chunk_path(&m->path, h->options->folder, h->source[p->source].name, p->chunk);
    return rc < 0 ? rc : corpus_chunk_open(out, m->path.data);
}

/* ---- items -------------------------------------------------------------------------------- */

static int add_chunk(merge *m, const corpus_plan *plan, uint32_t source, int64_t number)
{
    corpus_chunk *c = NULL;
    corpus_record r;
    chunk_place p = {.first = (int32_t)m->n, .source = source, .chunk = number};
    int rc = HPC_OK;
    TRY(open_chunk(&c, m, &p));
    if (!hpc_same_hash(corpus_chunk_key(c),
                       corpus_plan_key(plan, m->h, &m->h->source[source], number)))
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%s belongs to another harvest; run the harvest again with --resume",
                     m->path.data));
    TRY(hpc_grow(&m->place, &m->places_cap, m->places_n + 1, sizeof *m->place));
    m->place[m->places_n++] = p;
    int64_t n = corpus_chunk_n(c);
    if (n > INT32_MAX - 1 - m->n)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "a corpus has at most 2^31 - 2 files"));
    TRY(hpc_grow(&m->item, &m->cap, m->n + n, sizeof *m->item));
    TRY(hpc_grow(&m->key, &m->keys_cap, m->n + n, sizeof *m->key));
    for (int64_t k = 0; k < n; k++) {
        TRY(corpus_chunk_record(&r, c, k));
        m->item[m->n] = (corpus_item){.original = -1,
                                      .component = (int32_t)m->n,
                                      .source = source,
                                      .stored_bytes = r.stored_bytes,
                                      .reason = r.reason,
                                      .head = r.head};
        m->key[m->n] = r.hash;
        m->n++;
    }
out:
    corpus_chunk_close(c);
    return rc;
}

static int add_source(merge *m, uint32_t source)
{
    corpus_plan plan = {0};
    hpc_buf path = {0};
    int rc = HPC_OK;
    TRY(corpus_plan_path(&path, m->h, &m->h->source[source]));
    TRY(corpus_plan_load(&plan, path.data));
    for (int64_t k = 0; k < corpus_plan_chunks(&plan); k++) TRY(add_chunk(m, &plan, source, k));
out:
    corpus_plan_release(&plan);
    hpc_buf_release(&path);
    return rc;
}

/* ---- duplicates ---------------------------------------------------------------------------- */

/* Finds an item with the same content at *at; -1: none, *at is the insertion position. */
static int32_t look_up(uint64_t *at, const merge *m, hpc_hash128 key)
{
    for (*at = key.low & (m->table_size - 1); m->table[*at]; *at = (*at + 1) & (m->table_size - 1))
        if (hpc_same_hash(m->key[m->table[*at] - 1], key)) return m->table[*at] - 1;
    return -1;
}

static int compare_item(merge *m, int32_t item, const corpus_signature *s)
{
    corpus_item *i = &m->item[item];
    int64_t original = -1;
    uint64_t at;
    i->original = look_up(&at, m, m->key[item]);
    if (i->original >= 0) {
        i->reason = HPC_REASON_DUPLICATE;
        return HPC_OK;
    }
    m->table[at] = item + 1;
    int rc = corpus_near_add(&original, m->near, item, s);
    if (rc < 0 || original < 0) return rc;
    i->original = (int32_t)original;
    i->reason = HPC_REASON_NEAR_DUPLICATE;
    return HPC_OK;
}

/* Files of HEAD come before those of history; within each, the order of ids. */
static int compare_all(merge *m, bool head)
{
    corpus_chunk *c = NULL;
    corpus_record r;
    int rc = HPC_OK;
    for (int64_t p = 0; p < m->places_n; p++) {
        int32_t item = m->place[p].first;
        TRY(open_chunk(&c, m, &m->place[p]));
        for (int64_t k = 0; k < corpus_chunk_n(c); k++, item++) {
            if (m->item[item].head != head || m->item[item].reason != HPC_REASON_KEPT) continue;
            TRY(corpus_chunk_record(&r, c, k));
            TRY(compare_item(m, item, &r.signature));
        }
        corpus_chunk_close(c);
        c = NULL;
        if (m->h->options->progress) hpc_progress_update(m->h->options->progress, item, NULL);
    }
out:
    corpus_chunk_close(c);
    return rc;
}

static int64_t count_texts(const merge *m)
{
    int64_t n = 0;
    for (int64_t k = 0; k < m->n; k++) n += m->item[k].reason == HPC_REASON_KEPT;
    return n;
}

static int find_duplicates(merge *m)
{
    int rc = HPC_OK;
    for (m->table_size = 16; m->table_size < 2 * (uint64_t)m->n; m->table_size *= 2) continue;
    m->table = hpc_alloc(m->table_size, sizeof *m->table);
    if (!m->table) TRY(HPC_E_NOMEM);
    TRY(corpus_near_create(&m->near, count_texts(m)));
    TRY(compare_all(m, true));
    TRY(compare_all(m, false));
    for (int64_t k = 0; k < m->n; k++) {
        corpus_item *i = &m->item[k];
        if (i->reason == HPC_REASON_KEPT || i->reason == HPC_REASON_NEAR_DUPLICATE)
            i->component = (int32_t)corpus_near_component(m->near, k);
    }
    for (int64_t k = 0; k < m->n; k++) /* theirs are those of what was compared */
        if (m->item[k].reason == HPC_REASON_DUPLICATE)
            m->item[k].component = m->item[m->item[k].original].component;
    corpus_near_free(m->near); /* the larger part of all memory */
    m->near = NULL;
    hpc_free(m->table);
    m->table = NULL;
out:
    return rc;
}

/* ---- splits ---------------------------------------------------------------------------------- */

static int find_splits(merge *m)
{
    const hpc_harvest_options *o = m->h->options;
    corpus_split_result result;
    corpus_split_options options = {.validation = o->validation,
                                    .test = o->test,
                                    .seed = o->seed,
                                    .source = m->h->source,
                                    .sources_n = m->h->sources_n};
    int rc = HPC_OK;
    m->split = hpc_alloc((size_t)m->h->sources_n, sizeof *m->split);
    m->cluster = hpc_alloc((size_t)m->h->sources_n, sizeof *m->cluster);
    if (!m->split || !m->cluster) TRY(HPC_E_NOMEM);
    TRY(corpus_split(&result, m->split, m->cluster, m->item, m->n, &options));
out:
    return rc;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int write_chunk(corpus_store *out, merge *m, int64_t place)
{
    corpus_chunk *c = NULL;
    corpus_record r;
    const chunk_place *p = &m->place[place];
    int rc = HPC_OK;
    TRY(open_chunk(&c, m, p));
    int64_t n = corpus_chunk_n(c);
    TRY(corpus_store_add_chunk(out, p->source + 1, p->chunk, corpus_chunk_hash(c), p->first + 1,
                               n));
    for (int64_t k = 0; k < n; k++) {
        TRY(corpus_chunk_record(&r, c, k));
        TRY(corpus_store_add_file(out, p->first + k + 1, &r, &m->item[p->first + k], p->chunk, k));
    }
out:
    corpus_chunk_close(c);
    return rc;
}

static int write_source(corpus_store *out, merge *m, int64_t source, int64_t *place)
{
    corpus_plan plan = {0};
    const corpus_source *s = &m->h->source[source];
    corpus_store_repository row = {
        .name = s->name, .licence = "", .cluster = m->cluster[source], .split = m->split[source]};
    int rc = HPC_OK;
    int64_t last = *place;
    for (; last < m->places_n && m->place[last].source == source; last++) continue;
    row.chunks_n = last - *place;
    if (row.chunks_n > 0) {
        row.first = m->place[*place].first + 1;
        row.files_n = (last < m->places_n ? m->place[last].first : m->n) + 1 - row.first;
    }
    if (!s->failed) {
        TRY(corpus_plan_path(&m->path, m->h, s));
        TRY(corpus_plan_load(&plan, m->path.data));
        row.plan = &plan;
        row.licence = corpus_plan_licence(&plan, "");
    }
    TRY(corpus_store_add_repository(out, source + 1, &row));
    for (; *place < last; ++*place) TRY(write_chunk(out, m, *place));
out:
    corpus_plan_release(&plan);
    return rc;
}

static int write_all(merge *m)
{
    corpus_store *out = NULL;
    int64_t place = 0;
    int rc = HPC_OK;
    TRY(corpus_store_create(&out, m->h->options->folder));
    TRY(corpus_store_meta(out, "settings", m->h->settings.data));
    for (int64_t k = 0; k < m->h->sources_n; k++) TRY(write_source(out, m, k, &place));
    TRY(corpus_store_commit(out));
out:
    corpus_store_free(out);
    return rc;
}

int corpus_merge(corpus_harvest *h)
{
    merge m = {.h = h};
    int rc = HPC_OK;
    for (int64_t k = 0; k < h->sources_n; k++)
        if (!h->source[k].failed) TRY(add_source(&m, (uint32_t)k));
    if (h->options->progress) hpc_progress_start(h->options->progress, "compare", "files", m.n);
    TRY(find_duplicates(&m));
    if (h->options->progress) hpc_progress_end(h->options->progress, m.n);
    TRY(find_splits(&m));
    TRY(write_all(&m));
out:
    release_merge(&m);
    return rc;
}

/*
 * passage_make.c: builds a passage index: selects windows of known texts, and records their
 * sources.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/source/passage_priv.h"

/* How many sets of sources get their own value. With few sources a slot has 7 bits: a window that
 * is not in the map gets one of the at most 49 values that are in use in 49 of 128 cases. */
enum { FEW_SOURCES = 40, FEW_SETS = 48, FEW_BITS = 7, SETS_MOST = 4096, MANY_BITS = 16 };
enum { NOBODY, COMMON, FIRST_SET }; /* numbers of sets while they are made */

typedef struct who { /* several sources, ascending */
    uint16_t source[HPC_PASSAGE_SOURCES];
    int32_t n;
    int64_t windows; /* that they have */
    uint16_t value;
} who;

struct hpc_passage_maker {
    passage_code code;
    uint64_t *key; /* by open addressing; 0: free */
    uint16_t *set; /* of each: its number */
    int64_t size, n, tokens_n;
    who *who; /* by number; the first two are no sets */
    int64_t who_n, who_cap;
    hpc_map *source_of; /* "repository TAB licence" to its number */
    hpc_map *repository_of;
    int32_t repository[HPC_PASSAGE_SOURCES_MOST]; /* of each source */
};

int hpc_passage_maker_create(hpc_passage_maker **out)
{
    int rc = HPC_E_NOMEM;
    hpc_passage_maker *m = hpc_alloc(1, sizeof *m);
    *out = NULL;
    if (!m) return HPC_E_NOMEM;
    m->source_of = hpc_map_create();
    m->repository_of = hpc_map_create();
    if (!m->source_of || !m->repository_of) goto out;
    TRY(hpc_grow(&m->who, &m->who_cap, FIRST_SET, sizeof *m->who));
    m->who_n = FIRST_SET;
    *out = m;
    m = NULL;
out:
    hpc_passage_maker_free(m);
    return rc;
}

void hpc_passage_maker_free(hpc_passage_maker *m)
{
    if (!m) return;
    passage_code_release(&m->code);
    hpc_free(m->key);
    hpc_free(m->set);
    hpc_free(m->who);
    hpc_map_free(m->source_of);
    hpc_map_free(m->repository_of);
    hpc_free(m);
}

/* ---- windows ------------------------------------------------------------------------------- */

/* Where a key is, or would be. */
static int64_t place_of(const hpc_passage_maker *m, uint64_t key)
{
    int64_t at = (int64_t)(key & (uint64_t)(m->size - 1));
    while (m->key[at] && m->key[at] != key) at = (at + 1) & (m->size - 1);
    return at;
}

/* So that a third of the places stays free. */
static int make_room(hpc_passage_maker *m)
{
    enum { BEGIN = 1 << 12 };
    if (m->size > 0 && m->n < m->size / 3 * 2) return HPC_OK;
    hpc_passage_maker old = *m;
    m->size = old.size > 0 ? 2 * old.size : BEGIN;
    m->key = hpc_alloc((size_t)m->size, sizeof *m->key);
    m->set = hpc_alloc((size_t)m->size, sizeof *m->set);
    if (!m->key || !m->set) {
        hpc_free(m->key);
        hpc_free(m->set);
        *m = old;
        return HPC_E_NOMEM;
    }
    for (int64_t i = 0; i < old.size; i++) {
        if (!old.key[i]) continue;
        int64_t at = place_of(m, old.key[i]);
        m->key[at] = old.key[i];
        m->set[at] = old.set[i];
    }
    hpc_free(old.key);
    hpc_free(old.set);
    return HPC_OK;
}

int hpc_passage_maker_pick(hpc_passage_maker *m, const hpc_tokens *t)
{
    uint64_t sum = 0;
    int rc;
    TRY(passage_code_of(&m->code, t, 0, t->n));
    m->tokens_n += m->code.n;
    for (int64_t i = 0; i < passage_windows(&m->code); i++) {
        uint64_t key = passage_key(&sum, &m->code, i);
        if (i % HPC_PASSAGE_STRIDE != 0) continue;
        TRY(make_room(m));
        int64_t at = place_of(m, key);
        m->n += m->key[at] == 0;
        m->key[at] = key;
    }
out:
    return rc;
}

/* ---- who has them ------------------------------------------------------------------------------
 */

static int number_of(uint64_t *out, hpc_map *m, const char *text, size_t n)
{
    if (hpc_map_get(m, text, n, out)) return HPC_OK;
    *out = (uint64_t)hpc_map_n(m);
    return hpc_map_put(m, text, n, *out);
}

static int source_number(uint16_t *out, hpc_passage_maker *m, const char *repository,
                         const char *licence)
{
    hpc_buf name = {0};
    uint64_t source, of;
    int rc;
    TRY(hpc_buf_printf(&name, "%s\t%s", repository, licence));
    if (strcspn(repository, "\t\n") + strcspn(licence, "\t\n") + 1 < name.n)
        TRY(hpc_fail(HPC_E_ARG, "a tab or line end in the name or licence of %s", repository));
    if (hpc_map_n(m->source_of) == HPC_PASSAGE_SOURCES_MOST &&
        !hpc_map_get(m->source_of, name.data, name.n, &source))
        TRY(hpc_fail(HPC_E_UNSUPPORTED,
                     "%s, %s: more than %d pairs of repository and licence: use fewer repositories",
                     repository, licence, HPC_PASSAGE_SOURCES_MOST));
    TRY(number_of(&source, m->source_of, name.data, name.n));
    TRY(number_of(&of, m->repository_of, repository, strlen(repository)));
    m->repository[source] = (int32_t)of;
    *out = (uint16_t)source;
out:
    hpc_buf_release(&name);
    return rc;
}

/* True if its sources are in at most two repositories. */
static bool tells(const hpc_passage_maker *m, const who *w)
{
    int32_t other = -1, first = m->repository[w->source[0]];
    for (int k = 1; k < w->n; k++) {
        int32_t r = m->repository[w->source[k]];
        if (r == first || r == other) continue;
        if (other >= 0) return false;
        other = r;
    }
    return true;
}

static bool has(const who *w, uint16_t source)
{
    for (int k = 0; k < w->n; k++)
        if (w->source[k] == source) return true;
    return false;
}

/* The number of a set with one source more. */
static int set_with(uint16_t *out, hpc_passage_maker *m, uint16_t set, uint16_t source)
{
    who w = m->who[set];
    int k = w.n;
    *out = COMMON;
    if (w.n == HPC_PASSAGE_SOURCES) return HPC_OK;
    for (; k > 0 && w.source[k - 1] > source; k--) w.source[k] = w.source[k - 1];
    w.source[k] = source;
    w.n++;
    if (!tells(m, &w)) return HPC_OK;
    for (int64_t i = FIRST_SET; i < m->who_n; i++) {
        if (m->who[i].n != w.n || memcmp(m->who[i].source, w.source, sizeof w.source) != 0)
            continue;
        *out = (uint16_t)i;
        return HPC_OK;
    }
    if (m->who_n >= SETS_MOST) return HPC_OK;
    int rc = hpc_grow(&m->who, &m->who_cap, m->who_n + 1, sizeof *m->who);
    if (rc < 0) return rc;
    *out = (uint16_t)m->who_n;
    m->who[m->who_n++] = w;
    return HPC_OK;
}

int hpc_passage_maker_learn(hpc_passage_maker *m, const char *repository, const char *licence,
                            const hpc_tokens *t)
{
    uint16_t source;
    uint64_t sum = 0;
    int rc;
    TRY(source_number(&source, m, repository, licence));
    TRY(passage_code_of(&m->code, t, 0, t->n));
    for (int64_t i = 0; m->size > 0 && i < passage_windows(&m->code); i++) {
        int64_t at = place_of(m, passage_key(&sum, &m->code, i));
        if (!m->key[at] || m->set[at] == COMMON || has(&m->who[m->set[at]], source)) continue;
        TRY(set_with(&m->set[at], m, m->set[at], source));
    }
out:
    return rc;
}

/* ---- the file ----------------------------------------------------------------------------------
 */

static int by_use(const void *a, const void *b)
{
    const who *x = *(who *const *)a, *y = *(who *const *)b;
    if ((x->n == 1) != (y->n == 1)) return x->n == 1 ? -1 : 1;
    if (x->n == 1) return (x->source[0] > y->source[0]) - (x->source[0] < y->source[0]);
    if (x->windows != y->windows) return x->windows < y->windows ? 1 : -1;
    return memcmp(x->source, y->source, sizeof x->source);
}

/* Values: a source's is its number; then come the sets that most windows have; *sets is how many. A
 * source that no window has is missing among the sets. */
static int choose_values(int64_t *sets, hpc_buf *text, hpc_passage_maker *m)
{
    int64_t sources = hpc_map_n(m->source_of), n = 0;
    int64_t most = sources > FEW_SOURCES ? SETS_MOST : FEW_SETS - sources;
    uint8_t none[2] = {PASSAGE_NO_SOURCE & 255, PASSAGE_NO_SOURCE >> 8};
    who **order = hpc_alloc((size_t)m->who_n, sizeof *order);
    if (!order) return HPC_E_NOMEM;
    for (int64_t i = 0; i < m->size; i++) m->who[m->set[i]].windows += m->key[i] != 0;
    for (int64_t i = FIRST_SET; i < m->who_n; i++) order[i] = &m->who[i];
    qsort(order + FIRST_SET, (size_t)(m->who_n - FIRST_SET), sizeof *order, by_use);
    for (int64_t i = FIRST_SET; i < m->who_n; i++) {
        who *w = order[i];
        w->value = w->source[0];
        if (w->n == 1) continue;
        w->value = (uint16_t)(sources + n);
        if (n == most) {
            w->value = UINT16_MAX;
            continue;
        }
        n++;
        for (int k = 0; k < HPC_PASSAGE_SOURCES; k++) {
            uint8_t number[2] = {(uint8_t)w->source[k], (uint8_t)(w->source[k] >> 8)};
            hpc_buf_add(text, k < w->n ? number : none, 2);
        }
    }
    *sets = n;
    hpc_free(order);
    return text->failed;
}

static int put_map(hpc_buf *out, hpc_fuse *f, int64_t *common_n, const hpc_passage_maker *m,
                   int64_t common, int bits)
{
    int rc = HPC_E_NOMEM;
    int64_t n = 0;
    uint64_t *key = hpc_alloc((size_t)m->n + 1, sizeof *key);
    uint16_t *value = hpc_alloc((size_t)m->n + 1, sizeof *value);
    if (!key || !value) goto out;
    for (int64_t i = 0; i < m->size; i++) {
        if (!m->key[i]) continue;
        const who *w = &m->who[m->set[i]];
        bool is_common = m->set[i] < FIRST_SET || w->value == UINT16_MAX;
        key[n] = m->key[i];
        value[n++] = is_common ? (uint16_t)common : w->value;
        *common_n += is_common;
    }
    TRY(hpc_fuse_build(f, out, key, value, n, bits));
out:
    hpc_free(key);
    hpc_free(value);
    return rc;
}

static int put_names(hpc_buf *out, const hpc_passage_maker *m)
{
    size_t begin = out->n;
    for (int64_t i = 0; i < hpc_map_n(m->source_of); i++) {
        size_t n;
        uint64_t number;
        const void *name = hpc_map_at(m->source_of, i, &n, &number);
        hpc_buf_add(out, name, n);
        hpc_buf_text(out, "\n");
    }
    return hpc_buf_add(out, (const char[8]){0}, -(out->n - begin) % 8);
}

static int put_header(uint8_t *at, const uint64_t count[PASSAGE_COUNTS], const hpc_fuse *f)
{
    uint64_t lexer = 0;
    int rc = hpc_lexer_hash(&lexer);
    memcpy(at, PASSAGE_MAGIC, 8);
    hpc_put32(at + PASSAGE_AT_VERSION, PASSAGE_VERSION);
    hpc_put64(at + PASSAGE_AT_LEXER, lexer);
    for (int i = 0; i < PASSAGE_COUNTS; i++) hpc_put64(at + PASSAGE_AT_COUNTS + 8 * i, count[i]);
    hpc_put64(at + PASSAGE_AT_MAP, f->seed);
    hpc_put64(at + PASSAGE_AT_MAP + 8, f->segment_log2);
    hpc_put64(at + PASSAGE_AT_MAP + 16, f->segments);
    return rc;
}

int hpc_passage_maker_finish(hpc_buf *out, hpc_passage_maker *m)
{
    static const uint8_t zeros[PASSAGE_HEADER] = {0};
    const size_t begin = out->n;
    int64_t sets = 0, common_n = 0, sources = hpc_map_n(m->source_of);
    int bits = sources > FEW_SOURCES ? MANY_BITS : FEW_BITS;
    uint8_t hash[PASSAGE_HASH];
    hpc_fuse map = {0};
    int rc;
    TRY(hpc_buf_add(out, zeros, PASSAGE_HEADER));
    TRY(put_names(out, m));
    size_t text = out->n - begin - PASSAGE_HEADER;
    TRY(choose_values(&sets, out, m));
    TRY(put_map(out, &map, &common_n, m, sources + sets, bits));
    const uint64_t count[PASSAGE_COUNTS] = {[PASSAGE_TEXT_BYTES] = text,
                                            [PASSAGE_SOURCES_N] = (uint64_t)sources,
                                            [PASSAGE_SETS_N] = (uint64_t)sets,
                                            [PASSAGE_BITS] = (uint64_t)bits,
                                            [PASSAGE_TOKENS_N] = (uint64_t)m->tokens_n,
                                            [PASSAGE_WINDOWS_N] = (uint64_t)m->n,
                                            [PASSAGE_COMMON_N] = (uint64_t)common_n};
    TRY(put_header((uint8_t *)out->data + begin, count, &map));
    hpc_put_hash(hash, hpc_hash_wide(out->data + begin, out->n - begin));
    TRY(hpc_buf_add(out, hash, sizeof hash));
out:
    return rc;
}

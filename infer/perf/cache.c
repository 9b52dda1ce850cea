/*
 * Cache of file versions, parsed into functions, across the changes of a reader.
 */
#include <string.h>

#include "infer/perf/change_priv.h"

const char *hpc_perf_skip_name(hpc_perf_skip s)
{
    static const char *const names[] = {
        [HPC_PERF_TAKEN] = "",          [HPC_PERF_BINARY] = "binary",
        [HPC_PERF_LARGE] = "too large", [HPC_PERF_ABSENT] = "absent",
        [HPC_PERF_CORRUPT] = "corrupt", [HPC_PERF_NO_SOURCE] = "no source code",
    };
    return names[s];
}

hpc_perf_kind hpc_perf_kind_of_path(const char *path)
{
    if (perf_is_build(path)) return HPC_PERF_BUILD;
    return hpc_language_of_path(path) != HPC_LANGUAGE_NONE ? HPC_PERF_SOURCE : HPC_PERF_OTHER;
}

static void free_kept(perf_kept *k)
{
    if (!k) return;
    hpc_buf_release(&k->s.text);
    hpc_tokens_release(&k->s.t);
    hpc_functions_release(&k->s.f);
    hpc_free(k->s.line);
    hpc_free(k->part);
    hpc_free(k);
}

/* ---- parsing ------------------------------------------------------------------------------- */

static int find_lines(hpc_perf_source *s)
{
    const char *text = s->text.data, *end = text + s->text.n;
    uint32_t n = 0;
    for (const char *p = text; p < end; p++, n++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p) p = end - 1;
    }
    s->line = hpc_alloc((size_t)n + 1, sizeof *s->line);
    if (!s->line) return HPC_E_NOMEM;
    s->lines_n = n;
    n = 0;
    for (const char *p = text; p < end; p++) {
        s->line[n++] = (uint32_t)(p - text);
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p) break;
    }
    s->line[s->lines_n] = (uint32_t)s->text.n;
    return HPC_OK;
}

/* The text of function k without nested functions; -1: code outside functions. */
static uint64_t hash_text(const hpc_perf_source *s, int64_t k)
{
    const hpc_functions *f = &s->f;
    uint64_t all[2] = {0, 0};
    uint32_t at = k < 0 ? 0 : f->item[k].at, last = k < 0 ? (uint32_t)s->text.n : f->item[k].end;
    for (int64_t inner = k + 1;; inner = hpc_function_behind(f, inner)) {
        bool cut = inner < f->n && f->item[inner].at < last;
        uint32_t end = cut ? f->item[inner].at : last;
        if (end > at) all[1] = hpc_hash(s->text.data + at, end - at, 0);
        if (end > at) all[0] = hpc_hash(all, sizeof all, 0);
        if (!cut) return all[0];
        if (f->item[inner].end > at) at = f->item[inner].end;
    }
}

static int find_parts(perf_kept *k, hpc_buf *scratch)
{
    const hpc_perf_source *s = &k->s;
    int rc = HPC_OK;
    k->part = hpc_alloc((size_t)s->f.n + 1, sizeof *k->part);
    if (!k->part) TRY(HPC_E_NOMEM);
    for (int64_t i = 0; i < s->f.n; i++) {
        TRY(hpc_function_content(&k->part[i].content, scratch, &s->t, &s->f, i));
        k->part[i].bytes = hash_text(s, i);
    }
    TRY(hpc_function_content(&k->part[s->f.n].content, scratch, &s->t, &s->f, -1));
    k->part[s->f.n].bytes = hash_text(s, -1);
out:
    return rc;
}

static int parse(perf_kept *k, const char *path, hpc_buf *scratch)
{
    hpc_perf_source *s = &k->s;
    const char *text = s->text.data;
    size_t n = s->text.n;
    int rc = HPC_OK;
    if (s->kind == HPC_PERF_SOURCE) {
        s->language = hpc_language_of(path, text, n);
        if (s->language == HPC_LANGUAGE_NONE) s->skip = HPC_PERF_NO_SOURCE;
        if (s->skip != HPC_PERF_TAKEN) goto out;
        bool fixed = s->language == HPC_LANGUAGE_FORTRAN && hpc_language_fixed_form(path, text, n);
        TRY(hpc_lex(&s->t, text, n, s->language, fixed));
        TRY(hpc_functions_find(&s->f, &s->t, text, s->language));
    } else {
        TRY(perf_build_words(&s->t, text, n));
    }
    TRY(find_lines(s));
    TRY(find_parts(k, scratch));
out:
    return rc;
}

static int read_file(perf_kept *k, hpc_perf_reader *r, const char *path)
{
    static const hpc_perf_skip skips[] = {[HPC_GIT_TOO_LARGE] = HPC_PERF_LARGE,
                                          [HPC_GIT_ABSENT] = HPC_PERF_ABSENT,
                                          [HPC_GIT_CORRUPT] = HPC_PERF_CORRUPT};
    hpc_perf_source *s = &k->s;
    size_t bytes = 0, looked = 8000;
    int rc = HPC_OK;
    const hpc_perf_text *own = perf_work_find(r, &k->id);
    if (own) {
        rc = own->n > r->limits.file_bytes ? HPC_GIT_TOO_LARGE : HPC_GIT_READ;
        if (rc == HPC_GIT_READ) TRY(hpc_buf_add(&s->text, own->text, own->n));
    } else {
        TRY(hpc_git_read(&s->text, &bytes, r->git, &k->id, r->limits.file_bytes));
    }
    if (rc != HPC_GIT_READ) s->skip = skips[rc];
    if (s->skip == HPC_PERF_TAKEN && s->text.n > 0 &&
        memchr(s->text.data, 0, s->text.n < looked ? s->text.n : looked))
        s->skip = HPC_PERF_BINARY; /* as git tells it */
    if (s->skip == HPC_PERF_TAKEN && !s->text.data) TRY(hpc_buf_add(&s->text, "", 0));
    if (s->skip == HPC_PERF_TAKEN) TRY(parse(k, path, &r->scratch));
    if (s->skip != HPC_PERF_TAKEN) hpc_buf_release(&s->text);
    k->bytes = sizeof *k + s->text.cap + (size_t)s->t.cap * sizeof *s->t.item +
               (size_t)s->f.cap * sizeof *s->f.item + (size_t)s->lines_n * sizeof *s->line +
               (size_t)(s->f.n + 1) * sizeof *k->part;
    rc = HPC_OK;
out:
    return rc;
}

/* ---- what is kept ------------------------------------------------------------------------------
 */

static bool oversized(const hpc_perf_reader *r, const perf_kept *k)
{
    return r->change_bytes + k->s.text.n > r->limits.change_bytes;
}

int perf_cache_get(const hpc_perf_source **out, hpc_perf_reader *r, const hpc_git_id *id,
                   const char *path)
{
    struct {
        hpc_git_id id;
        uint64_t path;
    } key;
    const char *dot = strrchr(path, '.');
    perf_kept *k = NULL;
    int rc = HPC_OK;
    memset(&key, 0, sizeof key);
    key.id = *id;
    key.path = (uint64_t)hpc_perf_kind_of_path(path);
    if (key.path == HPC_PERF_SOURCE && dot) key.path = hpc_hash(dot, strlen(dot), 0);
    uint64_t hash = hpc_hash(&key, sizeof key, 0);
    perf_kept **slot = &r->slot[hash % PERF_SLOTS];
    *out = NULL;
    for (k = *slot; k; k = k->chain)
        if (k->key == hash && memcmp(&k->id, id, sizeof *id) == 0) break;
    if (k) {
        r->kept_n++;
    } else {
        k = hpc_alloc(1, sizeof *k);
        if (!k) TRY(HPC_E_NOMEM);
        k->id = *id;
        k->key = hash;
        k->s.kind = hpc_perf_kind_of_path(path);
        rc = read_file(k, r, path);
        if (rc < 0) free_kept(k);
        TRY(rc);
        r->read_n++;
        r->bytes += k->bytes;
        k->chain = *slot;
        *slot = k;
    }
    if (k->used != r->change && oversized(r, k)) {
        k->used = 0; /* it may go */
        goto out;
    }
    if (k->used != r->change) r->change_bytes += k->s.text.n;
    k->used = r->change;
    *out = &k->s;
out:
    return rc < 0 ? rc : HPC_OK;
}

static void forget(hpc_perf_reader *r, int64_t before)
{
    for (int slot = 0; slot < PERF_SLOTS; slot++) {
        perf_kept **at = &r->slot[slot];
        while (*at) {
            perf_kept *k = *at;
            if (k->used >= before) {
                at = &k->chain;
                continue;
            }
            *at = k->chain;
            r->bytes -= k->bytes;
            free_kept(k);
        }
    }
}

void perf_cache_trim(hpc_perf_reader *r)
{
    for (int64_t age = 64; r->bytes > r->limits.cache_bytes && age >= 0; age = age / 2 - (age == 0))
        forget(r, r->change - age);
}

void perf_cache_free(hpc_perf_reader *r)
{
    forget(r, INT64_MAX);
}

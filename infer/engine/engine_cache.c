/*
 * Copies pages of the KV cache out of an engine and into it, so that they outlive it.
 */
#include <stdio.h>
#include <string.h>

#include "infer/engine/priv.h"

enum { SAMPLE = 1 << 16 }; /* bytes of each parameter that identify the model */

/* ---- identity ------------------------------------------------------------------------------- */

static int add_state(hpc_buf *b, engine_model *m, hpc_value v)
{
    const hpc_value_info *x = &m->p->value[v];
    size_t bytes = hpc_type_bytes(&x->type);
    const void *data = hpc_exec_address(m->e, 0, v);
    if (!data)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "the KV cache cannot be saved: the host cannot read memory of this device");
    hpc_buf_printf(b, "%s %d %d ", x->name, (int)x->type.dtype, (int)x->type.pack);
    if (strncmp(x->name, "cache.", 6) == 0) return HPC_OK; /* any number of pages will do */
    uint64_t hash = hpc_hash(data, bytes < SAMPLE ? bytes : SAMPLE, 0);
    return hpc_buf_add(b, &hash, sizeof hash);
}

int hpc_engine_cache_identity(hpc_hash128 *out, hpc_engine *e)
{
    const engine_model *m = &e->m;
    const hpc_device_info d = hpc_device_about(m->d);
    hpc_buf b = {0};
    int rc;
    TRY(hpc_buf_printf(&b, "%s %s %d %d %lld %g ", d.backend, d.isa ? d.isa : "", (int)m->weights,
                       (int)m->shape.cache, (long long)m->c.heads, m->c.norm_eps));
    for (hpc_value v = 0; v < m->p->value_n; v++)
        if (m->p->value[v].kind == HPC_VALUE_STATE) TRY(add_state(&b, &e->m, v));
    TRY(b.failed);
    *out = hpc_hash_wide(b.data, b.n);
out:
    hpc_buf_release(&b);
    return rc;
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Rows of keys or values of a block; NULL: there is no such block. */
static char *cache_of(engine_model *m, const char *what, int block, size_t *page_bytes)
{
    char name[32];
    snprintf(name, sizeof name, "cache.%s.%d", what, block);
    hpc_value v = hpc_program_find(m->p, name);
    if (v == HPC_NONE) return NULL;
    *page_bytes = hpc_type_bytes(&m->p->value[v].type) / (size_t)m->shape.pages;
    return hpc_exec_address(m->e, 0, v);
}

/* Bytes of one page in all blocks; 0: the host cannot read them. */
static size_t bytes_of_page(engine_model *m)
{
    size_t all = 0, one = 0;
    for (int block = 0; cache_of(m, "k", block, &one); block++) {
        all += one;
        cache_of(m, "v", block, &one);
        all += one;
    }
    return all;
}

static int check(engine_model *m, int64_t n, int64_t from)
{
    hpc_assert(n % ENGINE_PAGE == 0 && from % ENGINE_PAGE == 0 && from >= 0 && from <= n);
    if (bytes_of_page(m) > 0) return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "the KV cache cannot be saved: the host cannot read memory of this device");
}

int hpc_engine_cache_export(hpc_buf *out, hpc_engine *e, const int32_t *token, int64_t n,
                            int64_t from)
{
    static const char *const parts[] = {"k", "v"};
    hpc_past past = {0};
    size_t bytes = 0;
    int64_t found;
    int rc;
    TRY(check(&e->m, n, from));
    TRY(hpc_pages_begin(e->pages, &past, token, n, &found));
    if (found < n) TRY(hpc_fail(HPC_E_STATE, "this text is no longer in the KV cache"));
    for (int block = 0; cache_of(&e->m, "k", block, &bytes); block++)
        for (int part = 0; part < 2; part++) {
            const char *rows = cache_of(&e->m, parts[part], block, &bytes);
            for (int64_t k = from / ENGINE_PAGE; k < past.page_n; k++)
                TRY(hpc_buf_add(out, rows + (size_t)past.page[k] * bytes, bytes));
        }
out:
    hpc_pages_end(e->pages, &past);
    return rc;
}

/* Pages from `first` on; data begins with page `from`. */
static void put_pages(engine_model *m, const hpc_past *past, int64_t first, int64_t from,
                      const char *data)
{
    static const char *const parts[] = {"k", "v"};
    size_t bytes = 0;
    for (int block = 0; cache_of(m, "k", block, &bytes); block++)
        for (int part = 0; part < 2; part++) {
            char *rows = cache_of(m, parts[part], block, &bytes);
            for (int64_t k = from; k < past->page_n; k++, data += bytes)
                if (k >= first) memcpy(rows + (size_t)past->page[k] * bytes, data, bytes);
        }
}

int hpc_engine_cache_import(hpc_engine *e, const int32_t *token, int64_t n, int64_t from,
                            const void *data, size_t bytes)
{
    hpc_past past = {0};
    int64_t found;
    int rc;
    TRY(check(&e->m, n, from));
    if (bytes != (size_t)((n - from) / ENGINE_PAGE) * bytes_of_page(&e->m))
        TRY(hpc_fail(HPC_E_FORMAT, "%zu bytes are not the KV cache of %lld tokens", bytes,
                     (long long)(n - from)));
    if (n > e->m.shape.sequence_pages * ENGINE_PAGE)
        TRY(hpc_fail(HPC_E_STATE, "the KV cache is too small for %lld tokens", (long long)n));
    TRY(hpc_pages_begin(e->pages, &past, token, n, &found));
    if (found < from) TRY(hpc_fail(HPC_E_STATE, "the tokens before are not in the KV cache"));
    TRY(hpc_pages_reserve(e->pages, &past, n));
    put_pages(&e->m, &past, found / ENGINE_PAGE, from / ENGINE_PAGE, data);
    hpc_pages_settle(e->pages, &past, token, n);
out:
    hpc_pages_end(e->pages, &past);
    return rc;
}

int64_t hpc_engine_cache_text(int32_t *token, int64_t cap, const hpc_engine *e, int64_t *at)
{
    return hpc_pages_text(token, cap, e->pages, at);
}

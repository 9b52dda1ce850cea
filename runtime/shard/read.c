/*
 * read.c: opening a data set, or one shard, and reading documents and values.
 *
 * Everything is proven at opening; reading afterwards is plain memory access and cannot fail.
 */
#include <inttypes.h>
#include <string.h>

#include "runtime/shard/priv.h"

typedef struct part { /* one shard */
    hpc_file_view view;
    shard_image image;
    int64_t document, token; /* the first of it, counted over all that is open */
} part;

struct hpc_shards {
    part *part;
    int64_t n, documents, tokens;
    hpc_shard_spec spec;
};

/* ---- opening ------------------------------------------------------------------- */

static int open_part(hpc_shards *s, const char *name)
{
    part *p = &s->part[s->n];
    int rc = HPC_OK;
    TRY(hpc_file_open(&p->view, name));
    s->n++; /* closed by hpc_shards_close from here on */
    TRY(shard_check(&p->image, p->view.data, p->view.bytes, name));
    p->document = s->documents;
    p->token = s->tokens;
    s->documents += p->image.header.documents;
    s->tokens += p->image.header.tokens;
out:
    return rc;
}

static int open_file(hpc_shards *s, const char *path)
{
    int rc = HPC_OK;
    s->part = hpc_alloc(1, sizeof *s->part);
    if (!s->part) return HPC_E_NOMEM;
    TRY(open_part(s, path));
    shard_header_spec(&s->spec, &s->part[0].image.header);
out:
    return rc;
}

static int open_listed(hpc_shards *s, const shard_index *x, int64_t k, const char *name)
{
    hpc_shard_spec spec;
    int rc = HPC_OK;
    int64_t before = s->documents;
    TRY(open_part(s, name));
    const shard_header *h = &s->part[k].image.header;
    TRY(shard_index_match(x, k, h, name));
    shard_header_spec(&spec, h);
    TRY(shard_spec_same(&spec, &s->spec, name));
    if (h->number != k || h->first != before)
        TRY(hpc_fail(HPC_E_FORMAT, "%s is not the shard that its index lists", name));
out:
    return rc;
}

static int open_folder(hpc_shards *s, const char *folder, const hpc_hash128 *tokenizer)
{
    shard_index index = {0};
    hpc_buf name = {0};
    int rc = HPC_OK;
    TRY(shard_index_read(&index, folder));
    s->spec = index.spec;
    if (tokenizer) TRY(shard_tokenizer_same(s->spec.tokenizer, *tokenizer, folder));
    s->part = hpc_alloc(index.n ? (size_t)index.n : 1, sizeof *s->part);
    if (!s->part) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < index.n; k++) {
        TRY(shard_path(&name, folder, k));
        if (!hpc_file_exists(name.data)) TRY(hpc_fail(HPC_E_FORMAT, "%s is missing", name.data));
        TRY(open_listed(s, &index, k, name.data));
    }
out:
    if (rc == HPC_E_FORMAT) hpc_error_where("%s is damaged, resume writing the data set", folder);
    shard_index_release(&index);
    hpc_buf_release(&name);
    return rc;
}

/* A folder whose writing was not finished deserves another word than "is a directory". */
static int open_any(hpc_shards *s, const char *path, const hpc_hash128 *tokenizer)
{
    hpc_buf name = {0};
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&name, "%s/" SHARD_INDEX, path));
    if (hpc_file_exists(name.data)) {
        TRY(open_folder(s, path, tokenizer));
        goto out;
    }
    TRY(shard_path(&name, path, 0));
    if (hpc_file_exists(name.data))
        TRY(hpc_fail(HPC_E_FORMAT, "%s has no " SHARD_INDEX ": it is incomplete, resume writing it",
                     path));
    name.n = 0;
    TRY(hpc_buf_printf(&name, "%s/.", path));
    if (hpc_file_exists(name.data))
        TRY(hpc_fail(HPC_E_ARG, "%s has no token shards: create them with `hpccoder corpus pack`",
                     path));
    TRY(open_file(s, path));
    if (tokenizer) TRY(shard_tokenizer_same(s->spec.tokenizer, *tokenizer, path));
out:
    hpc_buf_release(&name);
    return rc;
}

int hpc_shards_open(hpc_shards **out, const char *path, const hpc_hash128 *tokenizer)
{
    hpc_shards *s = hpc_alloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    int rc = open_any(s, path, tokenizer);
    if (rc < 0)
        hpc_shards_close(s);
    else
        *out = s;
    return rc;
}

void hpc_shards_close(hpc_shards *s)
{
    if (!s) return;
    for (int64_t k = 0; k < s->n; k++) hpc_file_close(&s->part[k].view);
    hpc_free(s->part);
    hpc_free(s);
}

/* ---- reading ------------------------------------------------------------------- */

const hpc_shard_spec *hpc_shards_spec(const hpc_shards *s)
{
    return &s->spec;
}

int64_t hpc_shards_n(const hpc_shards *s)
{
    return s->documents;
}

uint64_t hpc_shards_hash(const hpc_shards *s)
{
    uint64_t h = 0;
    for (int64_t k = 0; k < s->n; k++)
        h = hpc_hash(&s->part[k].image.header.hash, sizeof s->part[k].image.header.hash, h);
    return h;
}

int64_t hpc_shards_tokens_n(const hpc_shards *s)
{
    return s->tokens;
}

/* The last part that begins at or before a document; empty shards are not written. */
static const part *part_of(const hpc_shards *s, int64_t document)
{
    int64_t lo = 0, hi = s->n;
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (s->part[mid].document <= document)
            lo = mid;
        else
            hi = mid;
    }
    return &s->part[lo];
}

hpc_document hpc_shards_document(const hpc_shards *s, int64_t i)
{
    hpc_assert(i >= 0 && i < s->documents);
    const part *p = part_of(s, i);
    const shard_header *h = &p->image.header;
    const uint64_t *offset = p->image.offset + (i - p->document);
    return (hpc_document){.token = (const uint8_t *)p->image.token + offset[0] * h->width,
                          .width = (int)h->width,
                          .n = (int64_t)(offset[1] - offset[0]),
                          .shard = p - s->part};
}

int32_t hpc_document_token(const hpc_document *d, int64_t k)
{
    return d->width == 2 ? ((const uint16_t *)d->token)[k]
                         : (int32_t)((const uint32_t *)d->token)[k];
}

double hpc_shards_value(const hpc_shards *s, int64_t column, int64_t i)
{
    hpc_assert(i >= 0 && i < s->documents && column >= 0 && column < s->spec.columns_n);
    const part *p = part_of(s, i);
    const void *data = p->image.column[column];
    int64_t k = i - p->document;
    switch (s->spec.column[column].type) {
    case HPC_SHARD_I32: return ((const int32_t *)data)[k];
    case HPC_SHARD_I64: return (double)((const int64_t *)data)[k];
    default: return ((const float *)data)[k];
    }
}

int64_t hpc_shards_column(const hpc_shards *s, const char *name)
{
    for (int64_t k = 0; k < s->spec.columns_n; k++)
        if (strcmp(s->spec.column[k].name, name) == 0) return k;
    return -1;
}

int64_t hpc_shards_find(int64_t *begin, const hpc_shards *s, int64_t t)
{
    hpc_assert(t >= 0 && t < s->tokens);
    int64_t lo = 0, hi = s->n;
    while (hi - lo > 1) { /* the last part that begins at or before t */
        int64_t mid = lo + (hi - lo) / 2;
        if (s->part[mid].token <= t)
            lo = mid;
        else
            hi = mid;
    }
    const part *p = &s->part[lo];
    uint64_t inside = (uint64_t)(t - p->token);
    lo = 0, hi = p->image.header.documents;
    while (hi - lo > 1) { /* and so for documents: empty ones at t lie before the one meant */
        int64_t mid = lo + (hi - lo) / 2;
        if (p->image.offset[mid] <= inside)
            lo = mid;
        else
            hi = mid;
    }
    *begin = p->token + (int64_t)p->image.offset[lo];
    return p->document + lo;
}

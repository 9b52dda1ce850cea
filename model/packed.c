/*
 * packed.c: reads FILE.packed. Opening checks everything before the parameters; the parameters
 * stay mapped.
 *
 * packed_save.c writes files.
 */
#include "model/packed.h"

#include <stdio.h>
#include <string.h>

#include "model/packed_priv.h"
#include "model/priv.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read where they lie");

#define AGAIN "; rebuild it with hpccoder export MODEL --to packed --out FILE.packed"

enum { CONFIG_MOST = 1 << 20, TOKENIZER_MOST = 256 << 20 };
#define EXTENT_MOST  ((int64_t)1 << 40)
#define NUMBERS_MOST ((int64_t)1 << 46)

struct hpc_packed {
    hpc_file_view view;
    const uint8_t *data;
    size_t bytes;
    model_packed_head h; /* header and entries are copies, so they cannot change after the check */
    model_packed_entry *entry;
    hpc_map *names; /* name to entry */
    hpc_model_config c;
    char path[512]; /* for messages */
};

bool hpc_is_packed(const char *path)
{
    size_t n = strlen(path), k = strlen(".packed");
    return n > k && strcmp(path + n - k, ".packed") == 0;
}

/* ---- the head -------------------------------------------------------------------------------- */

static int check_kind(const hpc_packed *k)
{
    const model_packed_head *h = &k->h;
    if (memcmp(h->magic, MODEL_PACKED_MAGIC, sizeof h->magic) != 0)
        return hpc_fail(HPC_E_FORMAT, "%s: not a packed model", k->path);
    if (h->order != MODEL_PACKED_ORDER)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: its byte order is not supported" AGAIN, k->path);
    if (h->version != MODEL_PACKED_VERSION)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s: packed models of version %u are not supported, only version %d" AGAIN,
                        k->path, (unsigned)h->version, MODEL_PACKED_VERSION);
    if (!memchr(h->layout, '\0', sizeof h->layout) || strcmp(h->layout, MODEL_PACKED_LAYOUT) != 0)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s: its data layout is %.*s, this program needs %s" AGAIN, k->path,
                        (int)strnlen(h->layout, sizeof h->layout), h->layout, MODEL_PACKED_LAYOUT);
    return HPC_OK;
}

static int check_head(hpc_packed *k)
{
    const model_packed_head *h = &k->h;
    const size_t entry = sizeof(model_packed_entry),
                 hashed = offsetof(model_packed_head, file_bytes);
    if (k->bytes < sizeof *h) return hpc_fail(HPC_E_FORMAT, "%s: not a packed model", k->path);
    memcpy(&k->h, k->data, sizeof k->h);
    int rc = check_kind(k);
    if (rc < 0) return rc;
    if (h->file_bytes != k->bytes)
        return hpc_fail(HPC_E_FORMAT, "%s: the file is truncated or damaged: %zu bytes of %llu",
                        k->path, k->bytes, (unsigned long long)h->file_bytes);
    if (h->data_at < sizeof *h || h->data_at > h->file_bytes ||
        h->tensors > (h->data_at - sizeof *h) / entry || h->config_bytes > CONFIG_MOST ||
        h->tokenizer_bytes > TOKENIZER_MOST || h->prepared_bytes > TOKENIZER_MOST ||
        h->metadata_bytes > TOKENIZER_MOST ||
        model_packed_round(sizeof *h + h->tensors * entry + h->config_bytes + h->tokenizer_bytes +
                               h->prepared_bytes + h->metadata_bytes,
                           MODEL_PACKED_PAGE) != h->data_at)
        return hpc_fail(HPC_E_FORMAT, "%s: its header is damaged: the parts are inconsistent",
                        k->path);
    if (hpc_hash(k->data + hashed, (size_t)h->data_at - hashed, 0) != h->hash)
        return hpc_fail(HPC_E_FORMAT, "%s: its header is damaged: the hash is wrong", k->path);
    if (!memchr(h->tokenizer, '\0', sizeof h->tokenizer))
        return hpc_fail(HPC_E_FORMAT, "%s: the name of its tokenizer is not terminated", k->path);
    return HPC_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static int bad(const hpc_packed *k, const model_packed_entry *e, const char *why)
{
    return hpc_fail(HPC_E_FORMAT, "%s: tensor %s: %s", k->path, e->name, why);
}

static int check_name(const hpc_packed *k, const model_packed_entry *e)
{
    size_t n = strnlen(e->name, sizeof e->name);
    bool prints = n > 0 && n < sizeof e->name;
    for (size_t i = 0; i < n && prints; i++) prints = e->name[i] > ' ' && e->name[i] <= '~';
    if (!prints || !memchr(e->dtype, '\0', sizeof e->dtype))
        return hpc_fail(HPC_E_FORMAT, "%s: the name of a tensor or of its type is damaged",
                        k->path);
    if (hpc_map_get(k->names, e->name, n, NULL)) return bad(k, e, "it occurs twice");
    return hpc_map_put(k->names, e->name, n, (uint64_t)(e - k->entry));
}

/* Checked entries only. */
static hpc_type type_of(const model_packed_entry *e)
{
    hpc_dtype d = HPC_F32;
    hpc_dtype_find(&d, e->dtype);
    const int64_t all[] = {e->batch, e->extent[0], e->extent[1]};
    hpc_type t = hpc_type_of(d, e->rank + (e->batch > 0), e->batch > 0 ? all : e->extent);
    t.pack = (uint8_t)e->pack;
    return t;
}

static int check_type(const hpc_packed *k, const model_packed_entry *e)
{
    hpc_dtype d;
    int64_t n = e->batch > 0 ? e->batch : 1;
    if (hpc_dtype_find(&d, e->dtype) < 0) return hpc_error_where("%s: tensor %s", k->path, e->name);
    if (e->rank < 1 || e->rank > 2 || (e->batch > 0 && e->rank != 2))
        return bad(k, e, "it is neither a vector nor a matrix");
    if (e->pack != HPC_PLAIN && (e->pack != HPC_PANEL16 || e->rank != 2))
        return bad(k, e, "its layout is unknown");
    for (int i = 0; i < e->rank; i++) {
        if (e->extent[i] < 1 || e->extent[i] > EXTENT_MOST ||
            __builtin_mul_overflow(n, e->extent[i], &n) || n > NUMBERS_MOST)
            return bad(k, e, "its extents are out of range");
    }
    if (!hpc_dtype_get(d)->real) return bad(k, e, "its elements are integers");
    if (e->extent[e->rank - 1] % hpc_dtype_get(d)->block)
        return bad(k, e, "its rows are not multiples of a block");
    return HPC_OK;
}

/* Entries are contiguous. *at: first possible offset of this entry, then of the next one. */
static int check_entry(hpc_packed *k, const model_packed_entry *e, uint64_t *at)
{
    int rc;
    TRY(check_name(k, e));
    TRY(check_type(k, e));
    hpc_type type = type_of(e);
    if (e->bytes != hpc_type_bytes(&type)) TRY(bad(k, e, "its size does not match its shape"));
    *at = model_packed_round(*at, HPC_ALIGN);
    if (e->at != *at) TRY(bad(k, e, "it does not follow the previous one"));
    if (e->at > k->bytes || e->bytes > k->bytes - e->at)
        TRY(bad(k, e, "it extends beyond the end of the file"));
    *at += e->bytes;
out:
    return rc;
}

static int check_entries(hpc_packed *k)
{
    uint64_t at = k->h.data_at;
    int rc = HPC_OK;
    k->names = hpc_map_create();
    k->entry = hpc_alloc((size_t)k->h.tensors + 1, sizeof *k->entry);
    if (!k->names || !k->entry) return HPC_E_NOMEM;
    memcpy(k->entry, k->data + sizeof k->h, (size_t)k->h.tensors * sizeof *k->entry);
    for (uint64_t i = 0; i < k->h.tensors; i++) TRY(check_entry(k, &k->entry[i], &at));
    if (at != k->bytes)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %llu bytes after the last tensor", k->path,
                     (unsigned long long)(k->bytes - at)));
out:
    return rc;
}

/* ---- the configuration ----------------------------------------------------------------------- */

static const model_packed_entry *find(const hpc_packed *k, const char *name)
{
    uint64_t at;
    return hpc_map_get(k->names, name, strlen(name), &at) ? &k->entry[at] : NULL;
}

static const char *config_text(const hpc_packed *k)
{
    return (const char *)k->data + sizeof k->h + k->h.tensors * sizeof *k->entry;
}

static int read_config(hpc_packed *k)
{
    hpc_json *root = NULL;
    int rc;
    TRY(hpc_json_parse(&root, config_text(k), (size_t)k->h.config_bytes, "its configuration"));
    TRY(hpc_model_config_load(&k->c, root));
out:
    hpc_json_free(root);
    return rc < 0 ? hpc_error_where("%s", k->path) : rc;
}

static int check_tensors(const hpc_packed *k)
{
    hpc_model_tensor *list = NULL;
    int64_t n = 0;
    int rc = HPC_OK;
    if (k->c.layers > (int64_t)k->h.tensors)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %lld layers, and %llu tensors", k->path,
                     (long long)k->c.layers, (unsigned long long)k->h.tensors));
    TRY(hpc_model_tensors(&list, &n, &k->c));
    for (int64_t i = 0; i < n; i++) {
        const model_packed_entry *e = find(k, list[i].name);
        if (!e) TRY(hpc_fail(HPC_E_FORMAT, "%s: tensor %s is missing", k->path, list[i].name));
        bool same = e->rank == list[i].rank && e->extent[0] == list[i].extent[0] &&
                    e->batch == list[i].batch;
        if (!same || (e->rank == 2 && e->extent[1] != list[i].extent[1]))
            TRY(bad(k, e, "its shape differs from the configuration"));
    }
    if (n != (int64_t)k->h.tensors)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %llu tensors, the configuration needs %lld", k->path,
                     (unsigned long long)k->h.tensors, (long long)n));
out:
    hpc_free(list);
    return rc;
}

/* ---- the file -------------------------------------------------------------------------------- */

int model_packed_parse(hpc_packed **out, const void *data, size_t bytes, const char *name)
{
    hpc_packed *k = hpc_alloc(1, sizeof *k);
    int rc;
    *out = NULL;
    if (!k) return HPC_E_NOMEM;
    k->data = data;
    k->bytes = bytes;
    snprintf(k->path, sizeof k->path, "%.250s", name);
    TRY(check_head(k));
    TRY(check_entries(k));
    TRY(read_config(k));
    TRY(check_tensors(k));
    *out = k;
    k = NULL;
out:
    hpc_packed_close(k);
    return rc;
}

int hpc_packed_open(hpc_packed **out, const char *path)
{
    hpc_file_view view = {0};
    *out = NULL;
    int rc = hpc_file_open(&view, path);
    if (rc < 0) return rc;
    rc = model_packed_parse(out, view.data, view.bytes, path);
    if (rc < 0)
        hpc_file_close(&view);
    else
        (*out)->view = view;
    return rc;
}

void hpc_packed_close(hpc_packed *k)
{
    if (!k) return;
    hpc_map_free(k->names);
    hpc_free(k->entry);
    hpc_file_close(&k->view);
    hpc_free(k);
}

/* ---- what is in it --------------------------------------------------------------------------- */

const hpc_model_config *hpc_packed_config(const hpc_packed *k)
{
    return &k->c;
}

hpc_dtype hpc_packed_dtype(const hpc_packed *k, const hpc_model_tensor *t)
{
    const model_packed_entry *e = find(k, t->name);
    return e ? (hpc_dtype)type_of(e).dtype : HPC_F32;
}

int model_packed_tokenizer_of(model_packed_tokenizer *out, const hpc_packed *k)
{
    const model_packed_head *h = &k->h;
    if (h->tokenizer_bytes == 0) return hpc_fail(HPC_E_ARG, "%s: it has no tokenizer", k->path);
    const char *file = config_text(k) + h->config_bytes;
    *out =
        (model_packed_tokenizer){.name = h->tokenizer,
                                 .data = file,
                                 .bytes = (size_t)h->tokenizer_bytes,
                                 .prepared = h->prepared_bytes ? file + h->tokenizer_bytes : NULL,
                                 .prepared_bytes = (size_t)h->prepared_bytes,
                                 .special = {.begin = h->begin,
                                             .end = h->end,
                                             .pad = h->pad,
                                             .add_begin = h->add_begin != 0,
                                             .add_end = h->add_end != 0}};
    return HPC_OK;
}

const char *model_packed_metadata(size_t *n, const hpc_packed *k)
{
    const model_packed_head *h = &k->h;
    *n = (size_t)h->metadata_bytes;
    return config_text(k) + h->config_bytes + h->tokenizer_bytes + h->prepared_bytes;
}

static int lend_one(hpc_lent *out, const hpc_packed *k, const hpc_program *p, const char *name)
{
    const model_packed_entry *e = find(k, name);
    hpc_value v = hpc_program_find(p, name);
    hpc_assert(e && v >= 0);
    const hpc_type is = type_of(e), *want = &p->value[v].type;
    char a[128], b[128];
    if (is.dtype != want->dtype || is.pack != want->pack || e->bytes != hpc_type_bytes(want))
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: tensor %s is %s, this program needs %s" AGAIN,
                        k->path, name, hpc_type_text(a, &is), hpc_type_text(b, want));
    *out = (hpc_lent){.state = v, .data = k->data + e->at, .bytes = (size_t)e->bytes};
    return HPC_OK;
}

int hpc_packed_lend(hpc_lent **list, int64_t *n, const hpc_packed *k, const hpc_program *p)
{
    int rc = HPC_OK;
    *n = (int64_t)k->h.tensors;
    *list = hpc_alloc((size_t)*n, sizeof **list);
    if (!*list) return HPC_E_NOMEM;
    for (int64_t i = 0; i < *n; i++) TRY(lend_one(&(*list)[i], k, p, k->entry[i].name));
out:
    if (rc < 0) {
        hpc_free(*list);
        *list = NULL;
        *n = 0;
    }
    return rc;
}

/* Checks that preparing the tokenizer file gives the stored prepared form. */
static int verify_tokenizer(const hpc_packed *k)
{
    model_packed_tokenizer t;
    hpc_buf again = {0};
    int rc = HPC_OK;
    if (k->h.prepared_bytes == 0) return HPC_OK;
    TRY(model_packed_tokenizer_of(&t, k));
    TRY(hpc_tokenizer_prepare(&again, t.data, t.bytes, k->path));
    if (again.n != t.prepared_bytes || memcmp(again.data, t.prepared, again.n) != 0)
        rc = hpc_fail(HPC_E_FORMAT, "%s: its prepared tokenizer does not match its tokenizer file",
                      k->path);
out:
    hpc_buf_release(&again);
    return rc;
}

int hpc_packed_verify(const hpc_packed *k)
{
    for (uint64_t i = 0; i < k->h.tensors; i++) {
        const model_packed_entry *e = &k->entry[i];
        if (hpc_hash(k->data + e->at, (size_t)e->bytes, 0) != e->hash)
            return bad(k, e, "it is damaged: the hash is wrong");
    }
    return verify_tokenizer(k);
}

/*
 * safetensors.c: reads safetensors files: a length, a JSON header, and contiguous tensor data.
 *
 * The file is mapped. Opening checks everything (limits: model.h), so later reads are plain memory
 * accesses. safetensors_write.c writes files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/priv.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are read where they lie");

enum { HEADER_MOST = 100000000, LENGTH_BYTES = 8, RANK_MOST = 8 };

typedef struct entry {
    const char *name;
    int dtype;            /* index into dtypes[], or -1: one that we do not know */
    const char *spelling; /* of the dtype, as the file has it */
    int rank;
    int64_t extent[RANK_MOST];
    uint64_t from, to; /* in the data */
} entry;

struct hpc_safetensors {
    hpc_file_view view;
    hpc_json *header;
    hpc_map *by_name;
    entry *entry; /* in the order of the data */
    int64_t n;
    const uint8_t *data;
    uint64_t data_bytes;
    char path[512]; /* for messages */
};

/* ours -1: known by size alone. */
static const struct {
    const char *name;
    uint64_t bytes;
    int ours;
} dtypes[] = {{"F32", 4, HPC_F32},   {"F16", 2, HPC_F16},
              {"BF16", 2, HPC_BF16}, {"F64", 8, HPC_F64},
              {"I32", 4, HPC_I32},   {"I64", 8, HPC_I64},
              {"I16", 2, -1},        {"I8", 1, -1},
              {"U8", 1, -1},         {"U16", 2, -1},
              {"U32", 4, -1},        {"U64", 8, -1},
              {"BOOL", 1, -1},       {"F8_E4M3", 1, HPC_F8_E4M3},
              {"F8_E5M2", 1, -1}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

const char *model_safetensors_dtype(hpc_dtype dtype)
{
    for (int k = 0; k < DTYPES; k++)
        if (dtypes[k].ours == (int)dtype) return dtypes[k].name;
    return NULL;
}

/* ---- a tensor's entry ------------------------------------------------------------------------ */

static int bad(const hpc_safetensors *s, const entry *e, const char *why)
{
    return hpc_fail(HPC_E_FORMAT, "%s: tensor %.200s: %s", s->path, e->name, why);
}

/* A list of at most `most` integers that are not negative. Fails without a record. */
static bool read_counts(int64_t *out, int *n, const hpc_json *list, int most)
{
    if (hpc_json_kind_of(list) != HPC_JSON_LIST || hpc_json_n(list) > most) return false;
    *n = (int)hpc_json_n(list);
    for (int k = 0; k < *n; k++) {
        const hpc_json *v = hpc_json_at(list, k);
        if (hpc_json_kind_of(v) != HPC_JSON_INT || hpc_json_int(&out[k], v, "") < 0 || out[k] < 0)
            return false;
    }
    return true;
}

static bool bytes_are(const entry *e, uint64_t bytes)
{
    uint64_t n = dtypes[e->dtype].bytes;
    for (int k = 0; k < e->rank; k++)
        if (__builtin_mul_overflow(n, (uint64_t)e->extent[k], &n)) return false;
    return n == bytes;
}

static int read_entry(entry *e, const hpc_safetensors *s, const hpc_json *v)
{
    int64_t range[2];
    int two = 0, rc = HPC_OK;
    const hpc_json *dtype = hpc_json_get(v, "dtype");
    if (hpc_json_kind_of(v) != HPC_JSON_OBJECT) return bad(s, e, "its entry is not an object");
    if (hpc_json_kind_of(dtype) != HPC_JSON_TEXT) return bad(s, e, "it has no dtype");
    TRY(hpc_json_text(&e->spelling, dtype, "dtype"));
    e->dtype = -1;
    for (int k = 0; k < DTYPES; k++)
        if (strcmp(dtypes[k].name, e->spelling) == 0) e->dtype = k;
    if (!read_counts(e->extent, &e->rank, hpc_json_get(v, "shape"), RANK_MOST))
        return bad(s, e, "its shape is not a list of at most 8 sizes");
    if (!read_counts(range, &two, hpc_json_get(v, "data_offsets"), 2) || two != 2)
        return bad(s, e, "its data_offsets are not a pair of offsets");
    e->from = (uint64_t)range[0];
    e->to = (uint64_t)range[1];
    if (e->from > e->to || e->to > s->data_bytes)
        return hpc_fail(HPC_E_FORMAT,
                        "%s: tensor %.200s: bytes %llu to %llu of %llu: the file is truncated, or "
                        "its header is damaged",
                        s->path, e->name, (unsigned long long)e->from, (unsigned long long)e->to,
                        (unsigned long long)s->data_bytes);
    if (e->dtype >= 0 && !bytes_are(e, e->to - e->from))
        return bad(s, e, "its size does not match its shape and dtype");
out:
    return rc;
}

/* ---- the header ----------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* In the order of their places each begins where the one before it ends. */
static int check_places(const hpc_safetensors *s)
{
    uint64_t at = 0;
    for (int64_t k = 0; k < s->n; k++) {
        if (s->entry[k].from < at) return bad(s, &s->entry[k], "it overlaps the previous one");
        if (s->entry[k].from > at) return bad(s, &s->entry[k], "there is a gap before it");
        at = s->entry[k].to;
    }
    if (at == s->data_bytes) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "%s: %llu bytes after the last tensor", s->path,
                    (unsigned long long)(s->data_bytes - at));
}

static int read_entries(hpc_safetensors *s)
{
    int64_t all = hpc_json_n(s->header);
    int rc = HPC_OK;
    s->entry = hpc_alloc((size_t)all + 1, sizeof *s->entry);
    s->by_name = hpc_map_create();
    if (!s->entry || !s->by_name) return HPC_E_NOMEM;
    for (int64_t k = 0; k < all; k++) {
        const hpc_json *v;
        entry *e = &s->entry[s->n];
        e->name = hpc_json_key(s->header, k, &v);
        if (strcmp(e->name, "__metadata__") == 0) continue;
        TRY(read_entry(e, s, v));
        s->n++;
    }
    qsort(s->entry, (size_t)s->n, sizeof *s->entry, compare_places);
    TRY(check_places(s));
    for (int64_t k = 0; k < s->n; k++)
        TRY(hpc_map_put(s->by_name, s->entry[k].name, strlen(s->entry[k].name), (uint64_t)k));
out:
    return rc;
}

static int parse(hpc_safetensors *s, const uint8_t *data, size_t bytes)
{
    uint64_t length = 0;
    int rc = HPC_OK;
    if (bytes < LENGTH_BYTES)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %zu bytes are not a safetensors file", s->path, bytes));
    memcpy(&length, data, LENGTH_BYTES);
    if (length > HEADER_MOST || length > bytes - LENGTH_BYTES)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%s: a header of %llu bytes in a file of %zu: the file is truncated, or not a "
                     "safetensors file",
                     s->path, (unsigned long long)length, bytes));
    s->data = data + LENGTH_BYTES + length;
    s->data_bytes = bytes - LENGTH_BYTES - length;
    TRY(hpc_json_parse(&s->header, (const char *)data + LENGTH_BYTES, (size_t)length, s->path));
    if (hpc_json_kind_of(s->header) != HPC_JSON_OBJECT)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: its header is not an object", s->path));
    TRY(read_entries(s));
out:
    return rc;
}

int model_safetensors_parse(hpc_safetensors **out, const void *data, size_t bytes, const char *name)
{
    hpc_safetensors *s = hpc_alloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    snprintf(s->path, sizeof s->path, "%.300s", name);
    int rc = parse(s, data, bytes);
    if (rc < 0)
        hpc_safetensors_close(s);
    else
        *out = s;
    return rc;
}

int hpc_safetensors_open(hpc_safetensors **out, const char *path)
{
    hpc_file_view view = {0};
    *out = NULL;
    int rc = hpc_file_open(&view, path);
    if (rc < 0) return rc;
    rc = model_safetensors_parse(out, view.data, view.bytes, path);
    if (rc < 0)
        hpc_file_close(&view);
    else
        (*out)->view = view;
    return rc;
}

void hpc_safetensors_close(hpc_safetensors *s)
{
    if (!s) return;
    hpc_map_free(s->by_name);
    hpc_json_free(s->header);
    hpc_free(s->entry);
    hpc_file_close(&s->view);
    hpc_free(s);
}

/* ---- tensors -------------------------------------------------------------------------------- */

int64_t hpc_safetensors_n(const hpc_safetensors *s)
{
    return s->n;
}

const char *hpc_safetensors_says(const hpc_safetensors *s, const char *key)
{
    const hpc_json *text = hpc_json_get(hpc_json_get(s->header, "__metadata__"), key);
    const char *out = NULL;
    if (hpc_json_kind_of(text) == HPC_JSON_TEXT) hpc_json_text(&out, text, key);
    return out;
}

const char *model_safetensors_name(const hpc_safetensors *s, int64_t i)
{
    return s->entry[i].name;
}

const char *model_safetensors_path(const hpc_safetensors *s)
{
    return s->path;
}

const hpc_file_view *model_safetensors_view(const hpc_safetensors *s)
{
    return &s->view;
}

int hpc_safetensors_at(hpc_stored_tensor *out, const hpc_safetensors *s, int64_t i)
{
    hpc_assert(i >= 0 && i < s->n);
    const entry *e = &s->entry[i];
    *out = (hpc_stored_tensor){.name = e->name,
                               .rank = e->rank,
                               .data = s->data + e->from,
                               .bytes = (size_t)(e->to - e->from)};
    memcpy(out->extent, e->extent, sizeof out->extent);
    if (e->dtype < 0 || dtypes[e->dtype].ours < 0)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s: tensor %.200s has dtype %.20s, which is not read; F32, F16, BF16, F64 "
                        "and F8_E4M3 with scales of blocks are: convert the model to bf16",
                        s->path, e->name, e->spelling);
    out->dtype = (hpc_dtype)dtypes[e->dtype].ours;
    return HPC_OK;
}

int hpc_safetensors_find(hpc_stored_tensor *out, const hpc_safetensors *s, const char *name)
{
    uint64_t i;
    if (hpc_map_get(s->by_name, name, strlen(name), &i))
        return hpc_safetensors_at(out, s, (int64_t)i);
    return hpc_fail(HPC_E_FORMAT, "%s: there is no tensor %s", s->path, name);
}

/*
 * gguf.c: reads GGUF files: key/value pairs, tensor descriptions and tensor data.
 *
 * The file is mapped. Opening checks everything (limits: model.h), so later reads are plain memory
 * accesses. gguf_split.c joins the parts of a split model, gguf_config.c interprets the keys,
 * gguf_write.c writes files.
 */
#include <stdio.h>
#include <string.h>

#include "model/gguf_priv.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read where they lie");

enum {
    KEY_MOST = 65535,
    NAME_MOST = 127,
    ALIGN_LEAST = 8,
    ALIGN_MOST = 65536,
    VALUE_LEAST = 8 + 1 + 4 + 1,      /* bytes that a key and its value take */
    TENSOR_LEAST = 8 + 1 + 4 + 4 + 8, /* and a tensor's entry */
    VERSION_LEAST = 2,
    VERSION_MOST = 3,
    KNOWN = 320 /* characters of a list of types */
};

/* Blocks and their bytes; ours -1: known by size alone. */
static const model_gguf_type types[] = {
    {0, "F32", 1, 4, HPC_F32},
    {1, "F16", 1, 2, HPC_F16},
    {2, "Q4_0", 32, 18, HPC_Q4_0},
    {3, "Q4_1", 32, 20, HPC_Q4_1},
    {6, "Q5_0", 32, 22, HPC_Q5_0},
    {7, "Q5_1", 32, 24, HPC_Q5_1},
    {8, "Q8_0", 32, 34, HPC_Q8_0},
    {9, "Q8_1", 32, 40, -1},
    {10, "Q2_K", 256, 84, HPC_Q2_K},
    {11, "Q3_K", 256, 110, HPC_Q3_K},
    {12, "Q4_K", 256, 144, HPC_Q4_K},
    {13, "Q5_K", 256, 176, HPC_Q5_K},
    {14, "Q6_K", 256, 210, HPC_Q6_K},
    {15, "Q8_K", 256, 292, -1},
    {16, "IQ2_XXS", 256, 66, -1},
    {17, "IQ2_XS", 256, 74, -1},
    {18, "IQ3_XXS", 256, 98, -1},
    {19, "IQ1_S", 256, 50, -1},
    {20, "IQ4_NL", 32, 18, HPC_IQ4_NL},
    {21, "IQ3_S", 256, 110, -1},
    {22, "IQ2_S", 256, 82, -1},
    {23, "IQ4_XS", 256, 136, HPC_IQ4_XS},
    {24, "I8", 1, 1, -1},
    {25, "I16", 1, 2, -1},
    {26, "I32", 1, 4, HPC_I32},
    {27, "I64", 1, 8, HPC_I64},
    {28, "F64", 1, 8, HPC_F64},
    {29, "IQ1_M", 256, 56, -1},
    {30, "BF16", 1, 2, HPC_BF16},
    {34, "TQ1_0", 256, 54, -1},
    {35, "TQ2_0", 256, 66, -1},
    {39, "MXFP4", 32, 17, -1},
    {40, "NVFP4", 64, 36, -1},
    {41, "Q1_0", 128, 18, -1},
    {42, "Q2_0", 64, 18, -1},
};
enum { TYPES = sizeof types / sizeof *types };

const model_gguf_type *model_gguf_type_of(hpc_dtype dtype)
{
    for (int k = 0; k < TYPES; k++)
        if (types[k].ours == (int)dtype) return &types[k];
    return NULL;
}

/* Bytes of a number; 0: a string, a list or no kind. */
static size_t kind_bytes(int kind)
{
    static const uint8_t bytes[HPC_GGUF_KIND_N] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return kind >= 0 && kind < HPC_GGUF_KIND_N ? bytes[kind] : 0;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

typedef struct reader {
    hpc_gguf *g;
    const uint8_t *data;
    size_t at, n;
    const char *where; /* "key general.name", for messages */
    char room[160];
} reader;

static int bad(const reader *r, const char *why)
{
    return hpc_fail(HPC_E_FORMAT, "%s: %s: %s", r->g->path, r->where, why);
}

static void look_at(reader *r, const char *what, const char *name)
{
    snprintf(r->room, sizeof r->room, "%s %.120s", what, name);
    r->where = r->room;
}

static int take(const uint8_t **out, reader *r, uint64_t bytes)
{
    if (bytes > r->n - r->at) return bad(r, "the file is truncated, or a length in it is damaged");
    *out = r->data + r->at;
    r->at += (size_t)bytes;
    return HPC_OK;
}

static int take_number(void *out, reader *r, size_t bytes)
{
    const uint8_t *from = NULL;
    int rc = take(&from, r, bytes);
    if (rc >= 0) memcpy(out, from, bytes);
    return rc;
}

/* A name as a text of its own. */
static int take_name(const char **out, reader *r, uint64_t most)
{
    uint64_t n;
    const uint8_t *from = NULL;
    int rc = HPC_OK;
    TRY(take_number(&n, r, sizeof n));
    if (n < 1 || n > most) TRY(bad(r, "the length of a name is out of range"));
    TRY(take(&from, r, n));
    for (uint64_t i = 0; i < n; i++)
        if (from[i] < 0x21 || from[i] > 0x7E)
            TRY(bad(r, "a name has bytes that are not printable ASCII"));
    char *copy = hpc_arena_alloc(r->g->arena, (size_t)n + 1, 1);
    if (!copy) TRY(HPC_E_NOMEM);
    memcpy(copy, from, (size_t)n);
    *out = copy;
out:
    return rc;
}

/* ---- key/values ----------------------------------------------------------------------------- */

/* Skips n strings. */
static int pass_texts(reader *r, uint64_t n)
{
    const uint8_t *text;
    uint64_t bytes;
    int rc = HPC_OK;
    for (; n > 0; n--) {
        TRY(take_number(&bytes, r, sizeof bytes));
        TRY(take(&text, r, bytes));
    }
out:
    return rc;
}

static int read_list(hpc_gguf_value *v, reader *r)
{
    uint32_t item;
    uint64_t n;
    int rc = HPC_OK;
    TRY(take_number(&item, r, sizeof item));
    TRY(take_number(&n, r, sizeof n));
    if (item >= HPC_GGUF_KIND_N) TRY(bad(r, "its items have an unknown type"));
    if (item == HPC_GGUF_LIST)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "%s: %s: lists of lists are not supported", r->g->path,
                     r->where));
    size_t least = item == HPC_GGUF_TEXT ? sizeof n : kind_bytes((int)item);
    if (n > (r->n - r->at) / least) TRY(bad(r, "it has more items than fit into the file"));
    v->item = (int)item;
    v->n = (int64_t)n;
    v->data = r->data + r->at;
    if (item == HPC_GGUF_TEXT)
        TRY(pass_texts(r, n));
    else
        r->at += (size_t)n * least;
    v->bytes = (size_t)(r->data + r->at - (const uint8_t *)v->data);
out:
    return rc;
}

static int read_value(hpc_gguf_value *v, reader *r)
{
    uint32_t kind;
    uint64_t bytes;
    int rc = HPC_OK;
    TRY(take_number(&kind, r, sizeof kind));
    if (kind >= HPC_GGUF_KIND_N) TRY(bad(r, "its value has an unknown type"));
    v->kind = (int)kind;
    if (kind == HPC_GGUF_LIST) return read_list(v, r);
    bytes = kind_bytes(v->kind);
    if (kind == HPC_GGUF_TEXT) TRY(take_number(&bytes, r, sizeof bytes));
    TRY(take((const uint8_t **)&v->data, r, bytes));
    v->bytes = (size_t)bytes;
    if (kind == HPC_GGUF_BOOL && *(const uint8_t *)v->data > 1)
        TRY(bad(r, "it is neither true nor false"));
out:
    return rc;
}

static int read_values(reader *r)
{
    hpc_gguf *g = r->g;
    int rc = HPC_OK;
    g->value = hpc_arena_alloc(g->arena, (size_t)g->values + 1, sizeof *g->value);
    if (!g->value) return HPC_E_NOMEM;
    for (int64_t k = 0; k < g->values; k++) {
        hpc_gguf_value *v = &g->value[k];
        r->where = "the keys";
        TRY(take_name(&v->key, r, KEY_MOST));
        look_at(r, "key", v->key);
        if (hpc_map_get(g->keys, v->key, strlen(v->key), NULL)) TRY(bad(r, "it occurs twice"));
        TRY(hpc_map_put(g->keys, v->key, strlen(v->key), (uint64_t)k));
        TRY(read_value(v, r));
    }
out:
    return rc;
}

/* ---- tensors -------------------------------------------------------------------------------- */

/* Which matrices are read, and how to get them. */
static const char *known_types(char out[KNOWN])
{
    out[0] = '\0';
    for (int k = 0; k < TYPES; k++)
        if (types[k].ours >= 0 && hpc_dtype_get((hpc_dtype)types[k].ours)->real)
            snprintf(out + strlen(out), KNOWN - strlen(out), "%s%s", out[0] ? ", " : "",
                     types[k].name);
    snprintf(out + strlen(out), KNOWN - strlen(out),
             " are read: get the model in one of them, or convert its f16 file with llama-quantize "
             "FILE.gguf OUT.gguf Q4_K_M");
    return out;
}

static int find_type(const model_gguf_type **out, const reader *r, uint32_t number)
{
    for (int k = 0; k < TYPES; k++)
        if (types[k].number == number) {
            *out = &types[k];
            return HPC_OK;
        }
    char line[KNOWN];
    return hpc_fail(HPC_E_UNSUPPORTED, "%s: %s has the unknown type %u; %s", r->g->path, r->where,
                    (unsigned)number, known_types(line));
}

/* Files have the contiguous extent first. */
static int read_shape(gguf_entry *e, reader *r)
{
    uint32_t rank;
    int64_t n = 1, others = 1; /* product of nonzero extents: callers may multiply them */
    int rc = HPC_OK;
    TRY(take_number(&rank, r, sizeof rank));
    if (rank > GGUF_RANK_MOST) TRY(bad(r, "it has more than 4 extents"));
    e->rank = (int)rank;
    for (int k = e->rank; k-- > 0;) {
        TRY(take_number(&e->extent[k], r, sizeof e->extent[k]));
        int64_t some = e->extent[k] ? e->extent[k] : 1;
        if (some < 0 || __builtin_mul_overflow(others, some, &others) || others > INT64_MAX / 8)
            TRY(bad(r, "its extents are out of range"));
        n *= e->extent[k];
    }
    e->bytes = (uint64_t)n; /* elements, until the type is known */
out:
    return rc;
}

static int read_entry(gguf_entry *e, reader *r)
{
    uint32_t number;
    int rc = HPC_OK;
    r->where = "the list of tensors";
    TRY(take_name(&e->name, r, NAME_MOST));
    look_at(r, "tensor", e->name);
    e->file = r->g;
    TRY(read_shape(e, r));
    TRY(take_number(&number, r, sizeof number));
    TRY(find_type(&e->type, r, number));
    TRY(take_number(&e->from, r, sizeof e->from));
    int64_t row = e->rank > 0 ? e->extent[e->rank - 1] : 1;
    if (row % e->type->block != 0) TRY(bad(r, "its rows are not multiples of a block"));
    e->bytes = e->bytes / (uint64_t)e->type->block * e->type->bytes;
out:
    return rc;
}

static int read_entries(reader *r)
{
    hpc_gguf *g = r->g;
    int rc = HPC_OK;
    g->entry = hpc_arena_alloc(g->arena, (size_t)g->n + 1, sizeof *g->entry);
    if (!g->entry) return HPC_E_NOMEM;
    for (int64_t k = 0; k < g->n; k++) {
        const char **name = &g->entry[k].name;
        TRY(read_entry(&g->entry[k], r));
        if (hpc_map_get(g->names, *name, strlen(*name), NULL)) TRY(bad(r, "it occurs twice"));
        TRY(hpc_map_put(g->names, *name, strlen(*name), (uint64_t)k));
    }
out:
    return rc;
}

/* Each tensor starts where the previous one ends, rounded up to a multiple of `align`. */
static int check_places(reader *r, uint64_t data_bytes, uint64_t align)
{
    uint64_t at = 0;
    for (int64_t k = 0; k < r->g->n; k++) {
        const gguf_entry *e = &r->g->entry[k];
        look_at(r, "tensor", e->name);
        if (e->from % align != 0) return bad(r, "its offset is not aligned");
        if (e->from < at) return bad(r, "it overlaps the previous one");
        if (e->from - at >= align) return bad(r, "there is a gap before it");
        if (e->from > data_bytes || e->bytes > data_bytes - e->from)
            return hpc_fail(HPC_E_FORMAT,
                            "%s: tensor %s: bytes %llu to %llu of %llu: the file is truncated, or "
                            "its header is damaged",
                            r->g->path, e->name, (unsigned long long)e->from,
                            (unsigned long long)(e->from + e->bytes),
                            (unsigned long long)data_bytes);
        at = e->from + e->bytes;
    }
    if (data_bytes - at < align) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT, "%s: %llu bytes after the last tensor", r->g->path,
                    (unsigned long long)(data_bytes - at));
}

/* ---- the file ------------------------------------------------------------------------------- */

static int check_version(const reader *r, uint32_t version)
{
    const char *path = r->g->path;
    if (version >= VERSION_LEAST && version <= VERSION_MOST) return HPC_OK;
    if (version > 0 && version % 65536 == 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: big-endian files are not supported", path);
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "%s: GGUF version %u is %s than %d, the %s supported version", path,
                    (unsigned)version, version < VERSION_LEAST ? "older" : "newer",
                    version < VERSION_LEAST ? VERSION_LEAST : VERSION_MOST,
                    version < VERSION_LEAST ? "oldest" : "newest");
}

static int read_counts(reader *r)
{
    uint32_t version;
    uint64_t tensors, values;
    int rc = HPC_OK;
    r->where = "the header";
    if (r->n < 4 || memcmp(r->data, "GGUF", 4) != 0)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: not a GGUF file", r->g->path));
    r->at = 4;
    TRY(take_number(&version, r, sizeof version));
    TRY(check_version(r, version));
    TRY(take_number(&tensors, r, sizeof tensors));
    TRY(take_number(&values, r, sizeof values));
    if (values > (r->n - r->at) / VALUE_LEAST || tensors > (r->n - r->at) / TENSOR_LEAST)
        TRY(hpc_fail(HPC_E_FORMAT, "%s: %llu keys and %llu tensors do not fit into %zu bytes",
                     r->g->path, (unsigned long long)values, (unsigned long long)tensors, r->n));
    r->g->values = (int64_t)values;
    r->g->n = (int64_t)tensors;
out:
    return rc;
}

static int read_align(uint64_t *out, const hpc_gguf *g)
{
    int64_t align = MODEL_GGUF_ALIGN;
    int rc = model_gguf_int(&align, g, "general.alignment", MODEL_GGUF_ALIGN);
    if (rc < 0) return rc;
    *out = (uint64_t)align;
    if (align >= ALIGN_LEAST && align <= ALIGN_MOST && (align & (align - 1)) == 0) return HPC_OK;
    return hpc_fail(HPC_E_FORMAT,
                    "%s: key general.alignment: %lld is not a power of two from %d to %d", g->path,
                    (long long)align, ALIGN_LEAST, ALIGN_MOST);
}

static int read_split(hpc_gguf *g)
{
    int rc = HPC_OK;
    TRY(model_gguf_int(&g->split_n, g, "split.count", 0));
    TRY(model_gguf_int(&g->split_no, g, "split.no", 0));
    if (g->split_n < 0 || g->split_n > UINT16_MAX || g->split_no < 0 ||
        (g->split_no > 0 && g->split_no >= g->split_n))
        TRY(hpc_fail(HPC_E_FORMAT, "%s: keys split.no, split.count: part %lld of %lld", g->path,
                     (long long)g->split_no, (long long)g->split_n));
out:
    return rc;
}

static int parse(hpc_gguf *g, const void *data, size_t bytes, size_t file_bytes)
{
    reader r = {.g = g, .data = data, .n = bytes};
    uint64_t align, start;
    int rc = HPC_OK;
    g->arena = hpc_arena_create(0);
    g->keys = hpc_map_create();
    g->names = hpc_map_create();
    if (!g->arena || !g->keys || !g->names) TRY(HPC_E_NOMEM);
    TRY(read_counts(&r));
    TRY(read_values(&r));
    TRY(read_align(&align, g));
    TRY(read_split(g));
    TRY(read_entries(&r));
    start = (r.at + align - 1) / align * align;
    if (start > file_bytes) start = file_bytes; /* without data, files end here */
    g->data = (const uint8_t *)data + start;
    TRY(check_places(&r, file_bytes - start, align));
out:
    return rc;
}

static int parse_file(hpc_gguf **out, const void *data, size_t bytes, size_t file_bytes,
                      const char *name)
{
    hpc_gguf *g = hpc_alloc(1, sizeof *g);
    *out = NULL;
    if (!g) return HPC_E_NOMEM;
    snprintf(g->path, sizeof g->path, "%.250s", name);
    int rc = parse(g, data, bytes, file_bytes);
    if (rc < 0)
        hpc_gguf_close(g);
    else
        *out = g;
    return rc;
}

int model_gguf_parse(hpc_gguf **out, const void *data, size_t bytes, size_t file_bytes,
                     const char *name)
{
    int rc = parse_file(out, data, bytes, file_bytes, name);
    if (rc < 0 || (*out)->split_n <= 1) return rc;
    rc = hpc_fail(HPC_E_UNSUPPORTED, "%s: key split.count: the file is one of %lld parts", name,
                  (long long)(*out)->split_n);
    hpc_gguf_close(*out);
    *out = NULL;
    return rc;
}

int model_gguf_open_file(hpc_gguf **out, const char *path)
{
    hpc_file_view view = {0};
    *out = NULL;
    int rc = hpc_file_open(&view, path);
    if (rc < 0) return rc;
    rc = parse_file(out, view.data, view.bytes, view.bytes, path);
    if (rc < 0)
        hpc_file_close(&view);
    else
        (*out)->view = view;
    return rc;
}

int hpc_gguf_open(hpc_gguf **out, const char *path)
{
    int rc = model_gguf_open_file(out, path);
    return rc < 0 ? rc : model_gguf_join(out, path);
}

void hpc_gguf_close(hpc_gguf *g)
{
    if (!g) return;
    for (int64_t k = 1; k < g->part_n; k++) hpc_gguf_close(g->part[k]);
    hpc_free(g->part);
    hpc_map_free(g->keys);
    hpc_map_free(g->names);
    hpc_arena_free(g->arena);
    hpc_file_close(&g->view);
    hpc_free(g);
}

/* ---- what is in it -------------------------------------------------------------------------- */

const char *model_gguf_path(const hpc_gguf *g)
{
    return g->path;
}

const hpc_file_view *model_gguf_view(const hpc_gguf *g)
{
    return &g->view;
}

int64_t model_gguf_parts(const hpc_gguf *g)
{
    return g->part_n > 0 ? g->part_n : 1;
}

const hpc_file_view *model_gguf_view_of(const hpc_gguf *g, const char *name)
{
    uint64_t i;
    bool found = hpc_map_get(g->names, name, strlen(name), &i);
    hpc_assert(found);
    return &g->entry[i].file->view;
}

const hpc_gguf_value *hpc_gguf_value_at(const hpc_gguf *g, int64_t i)
{
    return i >= 0 && i < g->values ? &g->value[i] : NULL;
}

const hpc_gguf_value *hpc_gguf_get(const hpc_gguf *g, const char *key)
{
    uint64_t i;
    return hpc_map_get(g->keys, key, strlen(key), &i) ? &g->value[i] : NULL;
}

int64_t hpc_gguf_n(const hpc_gguf *g)
{
    return g->n;
}

const char *model_gguf_name(const hpc_gguf *g, int64_t i)
{
    return g->entry[i].name;
}

bool model_gguf_has(const hpc_gguf *g, const char *name)
{
    return hpc_map_get(g->names, name, strlen(name), NULL);
}

int hpc_gguf_at(hpc_stored_tensor *out, const hpc_gguf *g, int64_t i)
{
    hpc_assert(i >= 0 && i < g->n);
    const gguf_entry *e = &g->entry[i];
    *out = (hpc_stored_tensor){.name = e->name,
                               .rank = e->rank,
                               .data = e->file->data + e->from,
                               .bytes = (size_t)e->bytes};
    memcpy(out->extent, e->extent, sizeof e->extent);
    char line[KNOWN];
    if (e->type->ours < 0)
        return hpc_fail(HPC_E_UNSUPPORTED, "%s: tensor %s has type %s, which is not read; %s",
                        e->file->path, e->name, e->type->name, known_types(line));
    out->dtype = (hpc_dtype)e->type->ours;
    return HPC_OK;
}

int hpc_gguf_find(hpc_stored_tensor *out, const hpc_gguf *g, const char *name)
{
    uint64_t i;
    if (hpc_map_get(g->names, name, strlen(name), &i)) return hpc_gguf_at(out, g, (int64_t)i);
    return hpc_fail(HPC_E_FORMAT, "%s: there is no tensor %s", g->path, name);
}

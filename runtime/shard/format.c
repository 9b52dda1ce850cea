/*
 * format.c: specifications and headers of shards: validation, the offsets of a file's
 * sections, and the description of a difference between two of them.
 *
 * It does not read tokens (image.c) and opens no files.
 */
#include <inttypes.h>
#include <string.h>

#include "runtime/shard/priv.h"

static const char *const types[] = {
    [HPC_SHARD_I32] = "i32", [HPC_SHARD_I64] = "i64", [HPC_SHARD_F32] = "f32"};
enum { TYPES_N = sizeof types / sizeof *types };

size_t shard_type_bytes(hpc_shard_type t)
{
    return t == HPC_SHARD_I64 ? 8 : 4;
}

const char *shard_type_name(hpc_shard_type t)
{
    return types[t];
}

int shard_type_named(hpc_shard_type *out, const char *name)
{
    for (int k = 0; k < TYPES_N; k++) {
        if (strcmp(name, types[k]) != 0) continue;
        *out = (hpc_shard_type)k;
        return HPC_OK;
    }
    return hpc_fail(HPC_E_FORMAT, "unknown column type '%s': expected i32, i64 or f32", name);
}

/* ---- specifications ---------------------------------------------------------- */

static bool is_name(const char *text, size_t size)
{
    size_t n = strnlen(text, size);
    if (n == 0 || n == size) return false;
    for (size_t k = 0; k < n; k++)
        if (text[k] <= ' ' || text[k] > '~' || text[k] == '"' || text[k] == '\\') return false;
    return true;
}

static int column_check(int code, const hpc_shard_spec *s, int64_t k)
{
    const hpc_shard_column *c = &s->column[k];
    if (!is_name(c->name, sizeof c->name))
        return hpc_fail(code, "column %" PRId64 " of a data set has no proper name", k);
    if ((unsigned)c->type >= TYPES_N)
        return hpc_fail(code, "column '%s' has an unknown type", c->name);
    for (int64_t j = 0; j < k; j++)
        if (strcmp(s->column[j].name, c->name) == 0)
            return hpc_fail(code, "there are two columns '%s'", c->name);
    return HPC_OK;
}

int shard_spec_check(int code, const hpc_shard_spec *s)
{
    if (s->vocabulary < 1 || s->vocabulary > INT32_MAX)
        return hpc_fail(code, "a vocabulary of %" PRId64 " tokens: expected 1 to 2^31-1",
                        s->vocabulary);
    if (!is_name(s->task, sizeof s->task))
        return hpc_fail(code, "the task of a data set has no proper name");
    if (s->columns_n < 0 || s->columns_n > HPC_SHARD_COLUMNS)
        return hpc_fail(code, "%" PRId64 " columns: a data set has at most %d", s->columns_n,
                        HPC_SHARD_COLUMNS);
    for (int64_t k = 0; k < s->columns_n; k++) {
        int rc = column_check(code, s, k);
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

int shard_tokenizer_same(hpc_hash128 has, hpc_hash128 asked, const char *name)
{
    if (has.low == asked.low && has.high == asked.high) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "%s was packed with tokenizer %016" PRIx64 "%016" PRIx64
                    ", not with %016" PRIx64 "%016" PRIx64 ": use the former, or pack again",
                    name, has.high, has.low, asked.high, asked.low);
}

static int differs(const char *name, const char *what, int64_t has, int64_t asked)
{
    if (has == asked) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "%s has %s %" PRId64 ", not %" PRId64 ": choose another folder",
                    name, what, has, asked);
}

int shard_spec_same(const hpc_shard_spec *has, const hpc_shard_spec *asked, const char *name)
{
    int rc = HPC_OK;
    TRY(shard_tokenizer_same(has->tokenizer, asked->tokenizer, name));
    TRY(differs(name, "vocabulary", has->vocabulary, asked->vocabulary));
    if (strcmp(has->task, asked->task) != 0)
        TRY(hpc_fail(HPC_E_ARG, "%s has task %s, not %s: choose another folder", name, has->task,
                     asked->task));
    TRY(differs(name, "seed", has->seed, asked->seed));
    TRY(differs(name, "columns", has->columns_n, asked->columns_n));
    for (int64_t k = 0; k < has->columns_n; k++) {
        const hpc_shard_column *a = &has->column[k], *b = &asked->column[k];
        if (strcmp(a->name, b->name) != 0 || a->type != b->type)
            TRY(hpc_fail(HPC_E_ARG, "%s has a column %s of %s, not %s of %s: choose another folder",
                         name, a->name, shard_type_name(a->type), b->name,
                         shard_type_name(b->type)));
    }
out:
    return rc;
}

/* ---- headers ------------------------------------------------------------------- */

static uint64_t aligned(uint64_t n)
{
    return (n + SHARD_ALIGN - 1) / SHARD_ALIGN * SHARD_ALIGN;
}

void shard_header_fill(shard_header *h, const hpc_shard_spec *s)
{
    uint64_t at = sizeof *h, documents = (uint64_t)h->documents, bytes[SHARD_SECTIONS] = {0};
    memcpy(h->magic, SHARD_MAGIC, sizeof h->magic);
    h->version = HPC_SHARD_VERSION;
    h->header_bytes = sizeof *h;
    h->vocabulary = s->vocabulary;
    h->seed = s->seed;
    h->tokenizer[0] = s->tokenizer.low;
    h->tokenizer[1] = s->tokenizer.high;
    memcpy(h->task, s->task, strnlen(s->task, sizeof h->task)); /* the rest is zeros */
    h->width = s->vocabulary <= 65536 ? 2 : 4;
    h->columns_n = (uint32_t)s->columns_n;
    bytes[SHARD_TOKENS] = (uint64_t)h->tokens * h->width;
    bytes[SHARD_OFFSETS] = (documents + 1) * sizeof(uint64_t);
    for (int64_t k = 0; k < s->columns_n; k++) {
        const hpc_shard_column *c = &s->column[k];
        memcpy(h->column[k].name, c->name, strnlen(c->name, sizeof c->name));
        h->column[k].type = (uint32_t)c->type;
        bytes[SHARD_COLUMN + k] = documents * shard_type_bytes(c->type);
    }
    for (int k = 0; k < SHARD_COLUMN + (int)s->columns_n; k++) {
        h->section[k].at = at;
        h->section[k].bytes = bytes[k];
        at += aligned(bytes[k]);
    }
    h->bytes = at;
}

void shard_header_spec(hpc_shard_spec *out, const shard_header *h)
{
    memset(out, 0, sizeof *out);
    out->vocabulary = h->vocabulary;
    out->seed = h->seed;
    out->tokenizer = (hpc_hash128){.low = h->tokenizer[0], .high = h->tokenizer[1]};
    memcpy(out->task, h->task, sizeof out->task);
    out->columns_n = h->columns_n;
    for (uint32_t k = 0; k < h->columns_n && k < HPC_SHARD_COLUMNS; k++) {
        memcpy(out->column[k].name, h->column[k].name, sizeof out->column[k].name);
        out->column[k].type = (hpc_shard_type)h->column[k].type;
    }
}

uint64_t shard_header_hash(const shard_header *h)
{
    return hpc_hash(h, offsetof(shard_header, hash), 0);
}

bool shard_is_full(int64_t documents, int64_t tokens, int64_t shard_tokens)
{
    return tokens >= shard_tokens || documents >= SHARD_DOCUMENTS;
}

uint64_t shard_hash(const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint64_t hash = 0;
    for (size_t n; bytes > 0; at += n, bytes -= n) {
        n = bytes < SHARD_BLOCK ? bytes : SHARD_BLOCK;
        hash = hpc_hash(at, n, hash);
    }
    return hash;
}

int shard_path(hpc_buf *out, const char *folder, int64_t number)
{
    out->n = 0;
    return hpc_buf_printf(out, "%s/%05" PRId64 ".shard", folder, number);
}

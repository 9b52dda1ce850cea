/*
 * image.c: validates the bytes of a shard completely, so that readers need no checks. The tokens
 * are read once: each block is hashed and compared with the vocabulary while it is in the cache.
 */
#include <inttypes.h>
#include <string.h>

#include "runtime/shard/priv.h"

/* ---- the header ---------------------------------------------------------------- */

static int counts_check(const shard_header *h, const char *name)
{
    const int64_t count[] = {h->documents, h->tokens, h->first, h->number};
    for (size_t k = 0; k < sizeof count / sizeof *count; k++)
        if (count[k] < 0 || count[k] > SHARD_MOST) goto wrong;
    if (h->shard_tokens < 1 || h->columns_n > HPC_SHARD_COLUMNS) goto wrong;
    return HPC_OK;
wrong:
    return hpc_fail(HPC_E_FORMAT, "%s: the counts in its header are out of range", name);
}

/* The remaining fields must equal those that we would write. */
static int layout_check(const shard_header *h, const hpc_shard_spec *s, const char *name)
{
    shard_header want = {.number = h->number,
                         .first = h->first,
                         .documents = h->documents,
                         .tokens = h->tokens,
                         .shard_tokens = h->shard_tokens,
                         .hash = h->hash};
    shard_header_fill(&want, s);
    for (int k = 0; k < SHARD_COLUMN + (int)h->columns_n; k++)
        want.section[k].hash = h->section[k].hash;
    if (memcmp(&want, h, sizeof want) != 0)
        return hpc_fail(HPC_E_FORMAT, "%s: the offsets in its header are wrong", name);
    return HPC_OK;
}

static int header_check(shard_header *h, const uint8_t *data, size_t bytes, const char *name)
{
    hpc_shard_spec spec;
    int rc = HPC_OK;
    memset(h, 0, sizeof *h);
    if (bytes > 0) memcpy(h, data, bytes < sizeof *h ? bytes : sizeof *h);
    if (bytes < sizeof h->magic || memcmp(h->magic, SHARD_MAGIC, sizeof h->magic) != 0)
        return hpc_fail(HPC_E_FORMAT,
                        "%s is not a token shard: it does not start with " SHARD_MAGIC, name);
    if (bytes >= offsetof(shard_header, header_bytes) && h->version > HPC_SHARD_VERSION)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s has shard format version %" PRIu32
                        " from a newer hpccoder; this one reads version %d",
                        name, h->version, HPC_SHARD_VERSION);
    if (bytes < sizeof *h)
        return hpc_fail(HPC_E_FORMAT, "%s is truncated in its header: %zu of %zu bytes", name,
                        bytes, sizeof *h);
    if (h->version != HPC_SHARD_VERSION || h->header_bytes != sizeof *h ||
        h->hash != shard_header_hash(h))
        return hpc_fail(HPC_E_FORMAT, "%s: its header is damaged", name);
    TRY(counts_check(h, name));
    shard_header_spec(&spec, h);
    TRY(shard_spec_check(HPC_E_FORMAT, &spec));
    TRY(layout_check(h, &spec, name));
    if (bytes < h->bytes)
        TRY(hpc_fail(HPC_E_FORMAT, "%s is truncated: %zu of %" PRIu64 " bytes", name, bytes,
                     h->bytes));
    if (bytes > h->bytes)
        TRY(hpc_fail(HPC_E_FORMAT, "%s has %zu bytes after its end", name,
                     bytes - (size_t)h->bytes));
out:
    return rc;
}

/* ---- sections ------------------------------------------------------------------ */

/* The width of the registers that every machine of ours has. */
typedef uint16_t vector16 __attribute__((vector_size(16), aligned(2), may_alias));
typedef uint32_t vector32 __attribute__((vector_size(16), aligned(4), may_alias));

/* True if all n tokens are at most `last`. t > last is a borrow of last - t. At the highest bit h,
 * borrow = ~last & t | (~last | t) & (last - t). That is t | (last - t) if h is clear in `last`,
 * and t & (last - t) if it is set. This avoids unsigned vector comparisons, which the oldest x86-64
 * lacks. */
static bool all_at_most16(const uint16_t *t, size_t n, uint16_t last)
{
    const vector16 limit = {last, last, last, last, last, last, last, last};
    vector16 either = {0}, both = {0};
    unsigned above = 0;
    size_t k = 0;
    for (; k + 8 <= n; k += 8) {
        vector16 v = *(const vector16 *)(t + k), d = limit - v;
        either |= v | d;
        both |= v & d;
    }
    const vector16 bits = last >> 15 ? both : either;
    for (int j = 0; j < 8; j++) above |= bits[j] >> 15;
    for (; k < n; k++) above |= t[k] > last;
    return !above;
}

static bool all_at_most32(const uint32_t *t, size_t n, uint32_t last) /* last has no h */
{
    const vector32 limit = {last, last, last, last};
    vector32 either = {0};
    unsigned above = 0;
    size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        vector32 v = *(const vector32 *)(t + k);
        either |= v | (limit - v);
    }
    for (int j = 0; j < 4; j++) above |= either[j] >> 31;
    for (; k < n; k++) above |= t[k] > last;
    return !above;
}

static int tokens_check(const shard_image *m, const char *name)
{
    const shard_header *h = &m->header;
    const uint8_t *at = m->token;
    size_t left = (size_t)h->section[SHARD_TOKENS].bytes;
    uint64_t hash = 0;
    bool below = true;
    for (size_t n; left > 0; at += n, left -= n) {
        n = left < SHARD_BLOCK ? left : SHARD_BLOCK;
        hash = hpc_hash(at, n, hash);
        const void *t = at;
        below &= h->width == 2 ? all_at_most16(t, n / 2, (uint16_t)(h->vocabulary - 1))
                               : all_at_most32(t, n / 4, (uint32_t)(h->vocabulary - 1));
    }
    if (hash != h->section[SHARD_TOKENS].hash)
        return hpc_fail(HPC_E_FORMAT, "%s: its tokens are damaged: the checksum is wrong", name);
    if (!below)
        return hpc_fail(HPC_E_FORMAT, "%s: it has a token beyond its vocabulary of %" PRId64, name,
                        h->vocabulary);
    return HPC_OK;
}

static int offsets_check(const shard_image *m, const char *name)
{
    const shard_header *h = &m->header;
    const uint64_t *offset = m->offset;
    unsigned falls = 0;
    if (shard_hash(offset, (size_t)h->section[SHARD_OFFSETS].bytes) !=
        h->section[SHARD_OFFSETS].hash)
        return hpc_fail(HPC_E_FORMAT, "%s: its offsets are damaged: the checksum is wrong", name);
    for (int64_t k = 0; k < h->documents; k++) falls |= offset[k] > offset[k + 1];
    if (falls || offset[0] != 0 || offset[h->documents] != (uint64_t)h->tokens)
        return hpc_fail(HPC_E_FORMAT, "%s: its offsets do not fit its tokens", name);
    return HPC_OK;
}

static int padding_check(const shard_header *h, int section, const uint8_t *data, const char *name)
{
    uint64_t at = h->section[section].at + h->section[section].bytes;
    bool last = section + 1 == SHARD_COLUMN + (int)h->columns_n;
    uint64_t end = last ? h->bytes : h->section[section + 1].at;
    for (; at < end; at++)
        if (data[at])
            return hpc_fail(HPC_E_FORMAT, "%s is damaged between its sections, at byte %" PRIu64,
                            name, at);
    return HPC_OK;
}

int shard_check(shard_image *out, const uint8_t *data, size_t bytes, const char *name)
{
    shard_header *h = &out->header;
    int rc = HPC_OK;
    memset(out, 0, sizeof *out);
    TRY(header_check(h, data, bytes, name));
    out->token = data + h->section[SHARD_TOKENS].at;
    out->offset = (const void *)(data + h->section[SHARD_OFFSETS].at);
    TRY(tokens_check(out, name));
    TRY(offsets_check(out, name));
    for (uint32_t k = 0; k < h->columns_n; k++) {
        out->column[k] = data + h->section[SHARD_COLUMN + k].at;
        if (shard_hash(out->column[k], (size_t)h->section[SHARD_COLUMN + k].bytes) !=
            h->section[SHARD_COLUMN + k].hash)
            TRY(hpc_fail(HPC_E_FORMAT, "%s: its column '%s' is damaged: the checksum is wrong",
                         name, h->column[k].name));
    }
    for (int k = 0; k < SHARD_COLUMN + (int)h->columns_n; k++) TRY(padding_check(h, k, data, name));
out:
    return rc;
}

/*
 * write.c: writing a data set, one shard after the other, and resuming after an
 * interrupted attempt.
 *
 * Tokens are written to the file at once; only the offsets and columns of the current
 * shard are in memory. A shard appears in the folder when it is complete. A killed
 * process therefore leaves complete shards and at most a temporary file, which the next
 * attempt removes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/shard/priv.h"

struct hpc_shard_writer {
    char *folder;
    int lock;
    shard_index index;         /* of whole shards */
    int64_t documents, tokens; /* in them */
    int failed;                /* code of the first failure: nothing more is added */
    bool closed;               /* the last shard is not full, so it is the last */
    char damage[512];          /* description of the damage found in the folder; "": none */
    /* the shard under way */
    hpc_file_writer *file; /* NULL: none */
    hpc_buf path;
    shard_header header;
    uint8_t *block; /* of SHARD_BLOCK bytes: tokens not yet written */
    size_t block_n;
    uint64_t *offset;
    int64_t offset_cap;
    hpc_buf column[HPC_SHARD_COLUMNS];
};

/* ---- one shard ------------------------------------------------------------------ */

static int flush_block(hpc_shard_writer *w)
{
    uint64_t *hash = &w->header.section[SHARD_TOKENS].hash;
    if (w->block_n == 0) return HPC_OK;
    *hash = hpc_hash(w->block, w->block_n, *hash);
    size_t n = w->block_n;
    w->block_n = 0;
    return hpc_file_write(w->file, w->block, n);
}

static int begin_shard(hpc_shard_writer *w)
{
    int rc = HPC_OK;
    w->header = (shard_header){
        .number = w->index.n, .first = w->documents, .shard_tokens = w->index.shard_tokens};
    w->header.width = w->index.spec.vocabulary <= 65536 ? 2 : 4;
    w->block_n = 0;
    for (int k = 0; k < HPC_SHARD_COLUMNS; k++) w->column[k].n = 0;
    TRY(shard_path(&w->path, w->folder, w->index.n));
    TRY(hpc_grow(&w->offset, &w->offset_cap, 1, sizeof *w->offset));
    w->offset[0] = 0;
    TRY(hpc_file_create(&w->file, w->path.data));
    TRY(hpc_file_write(w->file, &w->header, sizeof w->header)); /* room for it */
out:
    return rc;
}

/* A section that is whole in memory, at the next aligned place. */
static int write_section(hpc_shard_writer *w, int section, const void *data)
{
    static const char zeros[SHARD_ALIGN] = {0};
    size_t n = (size_t)w->header.section[section].bytes;
    int rc = HPC_OK;
    hpc_assert(hpc_file_written(w->file) == w->header.section[section].at);
    TRY(hpc_file_write(w->file, data, n));
    TRY(hpc_file_write(w->file, zeros, (SHARD_ALIGN - n % SHARD_ALIGN) % SHARD_ALIGN));
    w->header.section[section].hash = shard_hash(data, n);
out:
    return rc;
}

static int end_shard(hpc_shard_writer *w)
{
    static const char zeros[SHARD_ALIGN] = {0};
    shard_header *h = &w->header;
    int rc = HPC_OK;
    TRY(flush_block(w));
    shard_header_fill(h, &w->index.spec);
    size_t at = (size_t)h->section[SHARD_OFFSETS].at;
    TRY(hpc_file_write(w->file, zeros, at - hpc_file_written(w->file)));
    TRY(write_section(w, SHARD_OFFSETS, w->offset));
    for (int64_t k = 0; k < w->index.spec.columns_n; k++)
        TRY(write_section(w, SHARD_COLUMN + (int)k, w->column[k].data));
    h->hash = shard_header_hash(h);
    TRY(hpc_file_write_at(w->file, 0, h, sizeof *h));
    TRY(hpc_file_commit(w->file));
    TRY(shard_index_add(&w->index, h));
    w->documents += h->documents;
    w->tokens += h->tokens;
out:
    hpc_file_close_writer(w->file);
    w->file = NULL;
    return rc;
}

/* ---- adding --------------------------------------------------------------------- */

static int values_check(const hpc_shard_spec *s, const double *value)
{
    for (int64_t k = 0; k < s->columns_n; k++) {
        double v = value[k];
        bool holds = false;
        switch (s->column[k].type) {
        case HPC_SHARD_I32:
            holds = v >= INT32_MIN && v <= INT32_MAX && v == (double)(int32_t)v;
            break;
        case HPC_SHARD_I64:
            holds = v >= -SHARD_EXACT_I64 && v <= SHARD_EXACT_I64 && v == (double)(int64_t)v;
            break;
        case HPC_SHARD_F32: holds = v != v || v == (double)(float)v; break;
        }
        if (!holds)
            return hpc_fail(HPC_E_ARG, "column '%s' of %s cannot hold %.17g", s->column[k].name,
                            shard_type_name(s->column[k].type), v);
    }
    return HPC_OK;
}

static int tokens_check(const hpc_shard_writer *w, const int32_t *token, int64_t n)
{
    uint32_t limit = (uint32_t)w->index.spec.vocabulary;
    if (n < 0 || n > SHARD_MOST) return hpc_fail(HPC_E_ARG, "%" PRId64 " tokens in a document", n);
    for (int64_t k = 0; k < n; k++)
        if ((uint32_t)token[k] >= limit)
            return hpc_fail(HPC_E_ARG, "token %" PRId32 " is not in a vocabulary of %" PRId64,
                            token[k], w->index.spec.vocabulary);
    return HPC_OK;
}

static int add_values(hpc_shard_writer *w, const double *value)
{
    const hpc_shard_spec *s = &w->index.spec;
    int rc = HPC_OK;
    for (int64_t k = 0; k < s->columns_n; k++) {
        union {
            int32_t i32;
            int64_t i64;
            float f32;
        } v;
        switch (s->column[k].type) {
        case HPC_SHARD_I32: v.i32 = (int32_t)value[k]; break;
        case HPC_SHARD_I64: v.i64 = (int64_t)value[k]; break;
        case HPC_SHARD_F32: v.f32 = (float)value[k]; break;
        }
        TRY(hpc_buf_add(&w->column[k], &v, shard_type_bytes(s->column[k].type)));
    }
out:
    return rc;
}

static int add_tokens(hpc_shard_writer *w, const int32_t *token, int64_t n)
{
    size_t width = w->header.width;
    int rc = HPC_OK;
    for (int64_t k = 0; k < n;) {
        int64_t room = (int64_t)((SHARD_BLOCK - w->block_n) / width);
        int64_t part = n - k < room ? n - k : room;
        if (width == 2) {
            uint16_t *to = (void *)(w->block + w->block_n);
            for (int64_t j = 0; j < part; j++) to[j] = (uint16_t)token[k + j];
        } else {
            memcpy(w->block + w->block_n, token + k, (size_t)part * 4);
        }
        w->block_n += (size_t)part * width;
        k += part;
        if (w->block_n == SHARD_BLOCK) TRY(flush_block(w));
    }
out:
    return rc;
}

static int add(hpc_shard_writer *w, const int32_t *token, int64_t n, const double *value)
{
    shard_header *h = &w->header;
    int rc = HPC_OK;
    if (!w->file) TRY(begin_shard(w));
    TRY(hpc_grow(&w->offset, &w->offset_cap, h->documents + 2, sizeof *w->offset));
    TRY(add_values(w, value));
    TRY(add_tokens(w, token, n));
    h->tokens += n;
    w->offset[++h->documents] = (uint64_t)h->tokens;
    if (shard_is_full(h->documents, h->tokens, h->shard_tokens)) TRY(end_shard(w));
out:
    return rc;
}

int hpc_shard_add(hpc_shard_writer *w, const int32_t *token, int64_t n, const double *value)
{
    int rc = HPC_OK;
    if (w->failed)
        return hpc_fail(w->failed, "%s: an earlier document could not be written", w->folder);
    if (w->closed)
        return hpc_fail(HPC_E_STATE,
                        "%s: all its shards are closed, but there are more documents than before: "
                        "choose another folder",
                        w->folder);
    TRY(tokens_check(w, token, n));
    TRY(values_check(&w->index.spec, value));
    TRY(w->failed = add(w, token, n, value));
out:
    return rc;
}

hpc_shard_counts hpc_shard_written(const hpc_shard_writer *w)
{
    hpc_shard_counts c = {.documents = w->documents, .tokens = w->tokens, .shards = w->index.n};
    for (int64_t k = 0; k < w->index.n; k++) c.bytes += w->index.entry[k].bytes;
    return c;
}

/* ---- what is there already ------------------------------------------------------- */

static bool is_shard_name(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    return digits >= 5 && strcmp(name + digits, ".shard") == 0;
}

/* How many shards lie in the folder, and whether there is an index. */
static int look(int64_t *shards, bool *indexed, const char *folder)
{
    hpc_buf names = {0};
    int64_t n = 0;
    int rc = HPC_OK;
    *shards = 0;
    *indexed = false;
    TRY(hpc_file_list(&names, &n, folder));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        *shards += is_shard_name(name);
        *indexed |= strcmp(name, SHARD_INDEX) == 0;
    }
out:
    hpc_buf_release(&names);
    return rc;
}

/* Removes shards after the last, left over from a folder that was found damaged. */
static int remove_others(hpc_shard_writer *w)
{
    hpc_buf names = {0};
    int64_t n = 0;
    int rc = HPC_OK;
    TRY(hpc_file_list(&names, &n, w->folder));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        if (!is_shard_name(name) || strtoll(name, NULL, 10) < w->index.n) continue;
        w->path.n = 0;
        TRY(hpc_buf_printf(&w->path, "%s/%s", w->folder, name));
        TRY(hpc_file_remove(w->path.data));
    }
out:
    hpc_buf_release(&names);
    return rc;
}

/* A failure that only says that what is there is of no use is noted and not passed on; the first of
 * them counts. */
static int note_damage(hpc_shard_writer *w, int code)
{
    if (code != HPC_E_FORMAT) return code;
    if (!w->damage[0]) snprintf(w->damage, sizeof w->damage, "%s", hpc_error_get()->text);
    hpc_error_clear();
    return HPC_OK;
}

const char *hpc_shard_damage(const hpc_shard_writer *w)
{
    return w->damage[0] ? w->damage : NULL;
}

static int same_request(const hpc_shard_writer *w, const hpc_shard_spec *spec, int64_t shard_tokens,
                        const char *name)
{
    int rc = shard_spec_same(spec, &w->index.spec, name);
    if (rc < 0 || shard_tokens == w->index.shard_tokens) return rc;
    return hpc_fail(
        HPC_E_ARG, "%s has shards of %" PRId64 " tokens, not of %" PRId64 ": choose another folder",
        name, shard_tokens, w->index.shard_tokens);
}

static int keep_check(const hpc_shard_writer *w, const shard_header *h, const char *name)
{
    hpc_shard_spec spec;
    int rc = HPC_OK;
    shard_header_spec(&spec, h);
    TRY(same_request(w, &spec, h->shard_tokens, name));
    if (h->number != w->index.n || h->first != w->documents || w->closed)
        TRY(hpc_fail(HPC_E_FORMAT, "%s does not follow the previous shard", name));
out:
    return rc;
}

static int keep_shard(hpc_shard_writer *w)
{
    hpc_file_view view = {0};
    shard_image image;
    int rc = HPC_OK;
    TRY(hpc_file_open(&view, w->path.data));
    TRY(shard_check(&image, view.data, view.bytes, w->path.data));
    TRY(keep_check(w, &image.header, w->path.data));
    TRY(shard_index_add(&w->index, &image.header));
    w->documents += image.header.documents;
    w->tokens += image.header.tokens;
    w->closed =
        !shard_is_full(image.header.documents, image.header.tokens, image.header.shard_tokens);
out:
    hpc_file_close(&view);
    return rc;
}

static int keep_shards(hpc_shard_writer *w)
{
    int rc = HPC_OK;
    for (;;) {
        TRY(shard_path(&w->path, w->folder, w->index.n));
        if (!hpc_file_exists(w->path.data)) break;
        TRY(keep_shard(w));
    }
out:
    return note_damage(w, rc);
}

/* True if the index lists the shards that were kept; w->path is the one after them. */
static int index_check(const hpc_shard_writer *w, const shard_index *x, int64_t shards)
{
    bool same = x->n >= w->index.n;
    for (int64_t k = 0; k < w->index.n && same; k++)
        same = x->entry[k].hash == w->index.entry[k].hash;
    if (!same)
        return hpc_fail(HPC_E_FORMAT, "%s/" SHARD_INDEX " does not match the existing shards",
                        w->folder);
    if (x->n > w->index.n) return hpc_fail(HPC_E_FORMAT, "%s is missing", w->path.data);
    if (shards > x->n)
        return hpc_fail(HPC_E_FORMAT, "%s has more shards than its index lists", w->folder);
    return HPC_OK;
}

static int keep_index(hpc_shard_writer *w, int64_t shards)
{
    shard_index index;
    int rc = shard_index_read(&index, w->folder);
    if (rc < 0) return note_damage(w, rc);
    TRY(same_request(w, &index.spec, index.shard_tokens, w->folder));
    rc = index_check(w, &index, shards);
    w->closed |= rc == HPC_OK;
    TRY(note_damage(w, rc));
out:
    shard_index_release(&index);
    return rc;
}

static int open_folder(hpc_shard_writer *w, bool resume)
{
    int64_t shards = 0;
    bool indexed = false;
    int rc = HPC_OK;
    TRY(hpc_file_mkdir(w->folder));
    TRY(hpc_buf_printf(&w->path, "%s/.lock", w->folder));
    TRY(hpc_file_lock(&w->lock, w->path.data, false));
    if (w->lock < 0)
        TRY(hpc_fail(HPC_E_STATE, "%s: another process is writing it: wait for it, or stop it",
                     w->folder));
    TRY(hpc_file_sweep(w->folder));
    TRY(look(&shards, &indexed, w->folder));
    if (!resume && (shards > 0 || indexed))
        TRY(hpc_fail(HPC_E_ARG, "%s contains a data set: resume it, or choose another folder",
                     w->folder));
    TRY(keep_shards(w));
    if (indexed)
        TRY(keep_index(w, shards));
    else if (shards > w->index.n)
        TRY(note_damage(w, hpc_fail(HPC_E_FORMAT, "%s is missing", w->path.data)));
out:
    return rc;
}

int hpc_shard_create(hpc_shard_writer **out, int64_t *documents, const char *folder,
                     const hpc_shard_spec *spec, int64_t shard_tokens, bool resume)
{
    hpc_shard_writer *w = NULL;
    size_t n = strlen(folder) + 1;
    int rc = HPC_OK;
    *out = NULL;
    *documents = 0;
    TRY(shard_spec_check(HPC_E_ARG, spec));
    if (shard_tokens < 0 || shard_tokens > SHARD_MOST)
        TRY(hpc_fail(HPC_E_ARG, "shards of %" PRId64 " tokens: expected 1 or more", shard_tokens));
    w = hpc_alloc(1, sizeof *w);
    if (!w) TRY(HPC_E_NOMEM);
    w->lock = -1;
    w->index.spec = *spec;
    w->index.shard_tokens = shard_tokens ? shard_tokens : SHARD_TOKENS_N;
    w->folder = hpc_alloc(n, 1);
    w->block = hpc_alloc_aligned(1, SHARD_BLOCK, SHARD_ALIGN);
    if (!w->folder || !w->block) TRY(HPC_E_NOMEM);
    memcpy(w->folder, folder, n);
    TRY(open_folder(w, resume));
    *documents = w->documents;
    *out = w;
out:
    if (rc < 0) hpc_shard_discard(w);
    return rc;
}

int hpc_shard_finish(hpc_shard_writer *w, const char *facts)
{
    int rc = HPC_OK;
    if (w->failed)
        return hpc_fail(w->failed, "%s: an earlier document could not be written", w->folder);
    if (w->file) TRY(w->failed = end_shard(w));
    w->closed = true;
    if (w->damage[0]) TRY(remove_others(w));
    TRY(shard_index_save(&w->index, w->folder, facts));
out:
    return rc;
}

void hpc_shard_discard(hpc_shard_writer *w)
{
    if (!w) return;
    hpc_file_close_writer(w->file);
    hpc_file_unlock(w->lock);
    for (int k = 0; k < HPC_SHARD_COLUMNS; k++) hpc_buf_release(&w->column[k]);
    shard_index_release(&w->index);
    hpc_buf_release(&w->path);
    hpc_free(w->offset);
    hpc_free(w->block);
    hpc_free(w->folder);
    hpc_free(w);
}

/*
 * tokenizer.c: the handle: opens files, answers queries about pieces, and decodes.
 *
 * encode.c and the families encode; model.c and json.c read formats.
 */
#include <errno.h>
#include <string.h>

#include "tokenizer/priv.h"

/* A tokenizer.json of 256k pieces has about 20 MB. */
enum { FILE_MOST = 256 << 20 };

static bool ends_with(const char *text, const char *tail)
{
    size_t n = strlen(text), k = strlen(tail);
    return n >= k && strcmp(text + n - k, tail) == 0;
}

static int open_file(hpc_tokenizer **out, const char *path)
{
    int rc = HPC_OK;
    hpc_buf data = {0};
    *out = NULL;
    TRY(hpc_file_read(&data, path, FILE_MOST));
    if (data.n >= 4 && memcmp(data.data, "GGUF", 4) == 0)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%s is a GGUF model: convert it with `hpccoder import` and name the folder",
                     path));
    if (ends_with(path, ".json"))
        TRY(hpc_tokenizer_open_json(out, data.data, data.n, path));
    else
        TRY(hpc_tokenizer_open_model(out, data.data, data.n, path));
out:
    hpc_buf_release(&data);
    return rc;
}

/* SentencePiece models often include a converted tokenizer.json, which lacks information of the
 * original. Some other models call a word list tokenizer.model. */
static int open_folder(hpc_tokenizer **out, const char *model, const char *json)
{
    if (!hpc_file_exists(model)) return open_file(out, json);
    int rc = open_file(out, model);
    if ((rc != HPC_E_FORMAT && rc != HPC_E_UNSUPPORTED) || !hpc_file_exists(json)) return rc;
    hpc_error_clear();
    return open_file(out, json);
}

int hpc_tokenizer_open(hpc_tokenizer **out, const char *path)
{
    int rc = HPC_OK;
    hpc_arena *a = hpc_arena_create(0);
    *out = NULL;
    if (!a) return HPC_E_NOMEM;
    const char *json = hpc_arena_text(a, "%s/tokenizer.json", path);
    const char *model = hpc_arena_text(a, "%s/tokenizer.model", path);
    const char *inside = hpc_arena_text(a, "%s/.", path);
    if (!json || !model || !inside) TRY(HPC_E_NOMEM);
    if (!hpc_file_exists(inside))
        TRY(open_file(out, path));
    else if (hpc_file_exists(json) || hpc_file_exists(model))
        TRY(open_folder(out, model, json));
    else
        TRY(hpc_fail(HPC_E_ARG, "%s contains neither tokenizer.json nor tokenizer.model", path));
out:
    hpc_arena_free(a);
    return rc;
}

void hpc_tokenizer_close(hpc_tokenizer *t)
{
    if (!t) return;
    if (t->family && t->family->release) t->family->release(t);
    hpc_map_free(t->index);
    hpc_arena_free(t->arena);
    hpc_free(t);
}

/* ---- pieces ------------------------------------------------------------------------- */

int64_t hpc_tokenizer_n(const hpc_tokenizer *t)
{
    return t->n;
}

hpc_hash128 hpc_tokenizer_hash(const hpc_tokenizer *t)
{
    return t->hash;
}

const char *hpc_tokenizer_kind(const hpc_tokenizer *t)
{
    return t->family->kind;
}

const char *hpc_tokenizer_piece(const hpc_tokenizer *t, int32_t id, size_t *n)
{
    const char *text = id >= 0 && id < t->n ? t->piece[id].text : NULL;
    if (n) *n = text ? t->piece[id].n : 0;
    return text;
}

int hpc_tokenizer_piece_type(float *score, const hpc_tokenizer *t, int32_t id)
{
    static const uint8_t types[] = {[PIECE_NORMAL] = 1, [PIECE_UNKNOWN] = 2, [PIECE_CONTROL] = 3,
                                    [PIECE_USER] = 4,   [PIECE_UNUSED] = 5,  [PIECE_BYTE] = 6};
    bool there = id >= 0 && id < t->n && t->piece[id].text;
    *score = there ? t->piece[id].score : 0;
    return there ? types[t->piece[id].kind] : 0;
}

int32_t hpc_tokenizer_find(const hpc_tokenizer *t, const char *piece)
{
    uint64_t id;
    size_t n = strlen(piece);
    if (hpc_map_get(t->index, piece, n, &id)) return (int32_t)id;
    return t->family->find ? t->family->find(t, piece, n) : -1;
}

hpc_tokenizer_special hpc_tokenizer_specials(const hpc_tokenizer *t)
{
    return t->special;
}

int hpc_tokenizer_set_specials(hpc_tokenizer *t, const hpc_tokenizer_special *s)
{
    const int32_t ids[] = {s->begin, s->end, s->pad};
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
        if (ids[k] != -1 && !hpc_tokenizer_piece(t, ids[k], NULL))
            return hpc_fail(HPC_E_ARG, "special token %d is not one of the tokenizer's %lld",
                            (int)ids[k], (long long)t->n);
    t->special.begin = s->begin;
    t->special.end = s->end;
    t->special.pad = s->pad;
    t->special.add_begin = s->add_begin;
    t->special.add_end = s->add_end;
    return HPC_OK;
}

/* ---- decoding ------------------------------------------------------------------------ */

int hpc_tokenizer_decode(hpc_buf *out, const hpc_tokenizer *t, const int32_t *id, int64_t n,
                         bool skip_specials)
{
    size_t start = out->n;
    bool first = true;
    for (int64_t i = 0; i < n; i++) {
        if (id[i] < 0 || id[i] >= t->n || !t->piece[id[i]].text)
            return hpc_fail(HPC_E_ARG, "token %lld is %d; this tokenizer has ids from 0 to %lld",
                            (long long)i, (int)id[i], (long long)t->n - 1);
        if (t->piece[id[i]].kind == PIECE_CONTROL) {
            const tokenizer_piece *p = &t->piece[id[i]];
            int rc = skip_specials ? HPC_OK : hpc_buf_add(out, p->text, p->n);
            if (rc < 0) return rc;
            start += skip_specials ? 0 : p->n;
            continue;
        }
        int rc = t->family->decode(out, t, id[i], first);
        if (rc < 0) return rc;
        first = first && rc == 0 && out->n == start;
    }
    return HPC_OK;
}

/* ---- lists of ids --------------------------------------------------------------------- */

int tokenizer_ids_add(hpc_ids *ids, int32_t id)
{
    if (ids->n == ids->cap) {
        int rc = hpc_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id);
        if (rc < 0) return rc;
    }
    ids->id[ids->n++] = id;
    return HPC_OK;
}

int tokenizer_ids_append(hpc_ids *ids, const int32_t *id, int64_t n)
{
    if (n > ids->cap - ids->n) {
        int rc = hpc_grow(&ids->id, &ids->cap, ids->n + n, sizeof *ids->id);
        if (rc < 0) return rc;
    }
    if (n > 0) memcpy(ids->id + ids->n, id, (size_t)n * sizeof *id);
    ids->n += n;
    return HPC_OK;
}

/*
 * packed_save.c: writes FILE.packed, each parameter in the type and layout of the inference
 * program.
 *
 * It emits that program only for its types.
 */
#include <stdio.h>
#include <string.h>

#include "model/packed.h"
#include "model/packed_priv.h"
#include "model/priv.h"

typedef struct saver {
    const hpc_weights *w;
    const hpc_packed_options *o;
    hpc_program *p; /* never run */
    hpc_model_tensor *list;
    int64_t n;
    model_packed_head head;
    model_packed_entry *entry;
    hpc_buf config;
    model_tokens tokens;
    hpc_buf prepared; /* of a tokenizer.json */
    hpc_buf metadata; /* JSON */
} saver;

static hpc_dtype type_of(const hpc_model_tensor *t, const void *user)
{
    const saver *s = user;
    return hpc_serve_choose(s->w, t, s->o->dtype);
}

static int emit(saver *s, const hpc_model_config *c)
{
    const hpc_serve_emission least = {.tokens = 1,
                                      .sequences = 1,
                                      .outputs = 1,
                                      .pages = 1,
                                      .page = 1,
                                      .sequence_pages = 1,
                                      .cache = HPC_F32,
                                      .dtype = type_of,
                                      .user = s};
    hpc_model_config run = *c;
    hpc_serve_io io;
    run.dtype = HPC_F32; /* as engines have it */
    s->p = hpc_program_create();
    return s->p ? hpc_serve_emit(&io, s->p, &run, &least) : HPC_E_NOMEM;
}

static int read_tokenizer(saver *s)
{
    model_packed_head *h = &s->head;
    int rc = HPC_OK;
    if (!s->o->tokenizer) return HPC_OK;
    TRY(model_tokens_open(&s->tokens, s->o->tokenizer));
    hpc_tokenizer_special is = hpc_tokenizer_specials(s->tokens.t);
    snprintf(h->tokenizer, sizeof h->tokenizer, "%s", s->tokens.name);
    h->tokenizer_bytes = s->tokens.file.n;
    h->begin = is.begin, h->end = is.end, h->pad = is.pad;
    h->add_begin = is.add_begin, h->add_end = is.add_end;
    if (model_tokens_are_json(&s->tokens))
        TRY(hpc_tokenizer_prepare(&s->prepared, s->tokens.file.data, s->tokens.file.n,
                                  s->o->tokenizer));
    h->prepared_bytes = s->prepared.n;
out:
    return rc;
}

static int put_metadata(saver *s)
{
    hpc_json_out w = {.buf = &s->metadata};
    if (s->o->metadata)
        hpc_json_put(&w, NULL, s->o->metadata);
    else
        hpc_buf_text(&s->metadata, "{}");
    s->head.metadata_bytes = s->metadata.n;
    return s->metadata.failed;
}

static void place(saver *s)
{
    model_packed_head *h = &s->head;
    uint64_t at = sizeof *h + (uint64_t)s->n * sizeof *s->entry + s->config.n + s->tokens.file.n +
                  s->prepared.n + s->metadata.n;
    h->data_at = at = model_packed_round(at, MODEL_PACKED_PAGE);
    for (int64_t k = 0; k < s->n; k++) {
        model_packed_entry *e = &s->entry[k];
        const hpc_type *type = &s->p->value[hpc_program_find(s->p, s->list[k].name)].type;
        snprintf(e->name, sizeof e->name, "%s", s->list[k].name);
        snprintf(e->dtype, sizeof e->dtype, "%s", hpc_dtype_get((hpc_dtype)type->dtype)->name);
        e->rank = (uint16_t)s->list[k].rank;
        e->batch = (uint16_t)s->list[k].batch;
        e->pack = type->pack;
        for (int i = 0; i < e->rank; i++) e->extent[i] = s->list[k].extent[i];
        e->bytes = hpc_type_bytes(type);
        e->at = model_packed_round(at, HPC_ALIGN);
        at = e->at + e->bytes;
    }
    h->file_bytes = at;
}

static int plan(saver *s, const hpc_model_config *c)
{
    int rc;
    TRY(emit(s, c));
    TRY(hpc_model_config_write(&s->config, c));
    TRY(read_tokenizer(s));
    TRY(put_metadata(s));
    TRY(hpc_model_tensors(&s->list, &s->n, c));
    s->entry = hpc_alloc((size_t)s->n, sizeof *s->entry);
    if (!s->entry) TRY(HPC_E_NOMEM);
    memcpy(s->head.magic, MODEL_PACKED_MAGIC, sizeof s->head.magic);
    s->head.order = MODEL_PACKED_ORDER;
    s->head.version = MODEL_PACKED_VERSION;
    snprintf(s->head.layout, sizeof s->head.layout, "%s", MODEL_PACKED_LAYOUT);
    s->head.tensors = (uint64_t)s->n;
    s->head.config_bytes = s->config.n;
    place(s);
out:
    return rc;
}

static int pad(hpc_buf *out, size_t to)
{
    static const char zeros[MODEL_PACKED_PAGE];
    return hpc_buf_add(out, zeros, to - out->n);
}

/* All that leads up to the numbers, with the hashes that are known by now. */
static int put_head(hpc_buf *out, const saver *s)
{
    const size_t hashed = offsetof(model_packed_head, file_bytes);
    int rc;
    out->n = 0;
    hpc_buf_add(out, &s->head, sizeof s->head);
    hpc_buf_add(out, s->entry, (size_t)s->n * sizeof *s->entry);
    hpc_buf_add(out, s->config.data, s->config.n);
    if (s->tokens.file.n > 0) hpc_buf_add(out, s->tokens.file.data, s->tokens.file.n);
    if (s->prepared.n > 0) hpc_buf_add(out, s->prepared.data, s->prepared.n);
    hpc_buf_add(out, s->metadata.data, s->metadata.n);
    TRY(out->failed);
    TRY(pad(out, (size_t)s->head.data_at));
    uint64_t hash = hpc_hash(out->data + hashed, out->n - hashed, 0);
    memcpy(out->data + offsetof(model_packed_head, hash), &hash, sizeof hash);
out:
    return rc;
}

static int write_tensor(hpc_file_writer *w, saver *s, int64_t k)
{
    static const char zeros[HPC_ALIGN];
    model_packed_entry *e = &s->entry[k];
    const hpc_type *type = &s->p->value[hpc_program_find(s->p, e->name)].type;
    void *bytes = hpc_alloc_aligned((size_t)e->bytes, 1, HPC_ALIGN);
    int rc;
    if (!bytes) return HPC_E_NOMEM;
    TRY(hpc_serve_read(bytes, type, s->w, &s->list[k]));
    e->hash = hpc_hash(bytes, (size_t)e->bytes, 0);
    TRY(hpc_file_write(w, zeros, (size_t)e->at - hpc_file_written(w)));
    TRY(hpc_file_write(w, bytes, (size_t)e->bytes));
    if (s->o->done) s->o->done(model_tensor_n(&s->list[k]), s->o->user);
out:
    hpc_free(bytes);
    return rc;
}

static int write_all(saver *s, const char *path)
{
    hpc_file_writer *w = NULL;
    hpc_buf head = {0};
    int rc;
    TRY(hpc_file_create(&w, path));
    TRY(put_head(&head, s));
    TRY(hpc_file_write(w, head.data, head.n));
    for (int64_t k = 0; k < s->n; k++) TRY(write_tensor(w, s, k));
    TRY(put_head(&head, s));
    TRY(hpc_file_write_at(w, 0, head.data, head.n));
    TRY(hpc_file_commit(w));
out:
    hpc_file_close_writer(w);
    hpc_buf_release(&head);
    return rc;
}

int hpc_packed_save(const char *path, const hpc_weights *w, const hpc_model_config *c,
                    const hpc_packed_options *o)
{
    saver s = {.w = w, .o = o};
    int rc;
    s.head.begin = s.head.end = s.head.pad = -1;
    TRY(plan(&s, c));
    TRY(write_all(&s, path));
out:
    hpc_program_free(s.p);
    hpc_free(s.list);
    hpc_free(s.entry);
    hpc_buf_release(&s.config);
    hpc_buf_release(&s.prepared);
    hpc_buf_release(&s.metadata);
    model_tokens_release(&s.tokens);
    return rc;
}

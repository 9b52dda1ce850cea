/*
 * serve.c: emits the inference program from the blocks of block.c, with packed weights and
 * attention over the cache.
 */
#include <stdio.h>

#include "model/priv.h"
#include "runtime/device/kernel/sample.h"

static hpc_type matrix_type(const model_emitter *m, const hpc_model_tensor *t, hpc_weight_role role)
{
    hpc_dtype d = m->serve->dtype(t, m->serve->user);
    hpc_type type = model_tensor_type(t, d);
    bool plain = t->batch > 0 && m->serve->plain && m->serve->plain(t, m->serve->user);
    type.pack = plain ? HPC_PLAIN : hpc_device_layout(m->serve->device, role, d).pack;
    return type;
}

/* A tied head uses the embedding, which is stored for products and also gathered from. */
hpc_value model_serve_weight(const model_emitter *m, int part)
{
    hpc_model_tensor t;
    bool shared = part == HPC_PART_HEAD && m->c->tied;
    if (!model_tensor_at(&t, m->c, shared ? HPC_PART_EMBED : part, m->block, 0)) return HPC_NONE;
    if (shared) return hpc_program_find(m->p, t.name);
    return hpc_program_state(m->p, t.name, matrix_type(m, &t, HPC_WEIGHT_PRODUCT), false);
}

/* Rows of a table, in the type of activations. */
static hpc_value rows_of(const model_emitter *m, int part, hpc_value index)
{
    hpc_model_tensor t;
    if (!model_tensor_at(&t, m->c, part, -1, 0)) return HPC_NONE;
    bool shared = part == HPC_PART_EMBED && m->c->tied;
    hpc_weight_role role = shared ? HPC_WEIGHT_PRODUCT : HPC_WEIGHT_TABLE;
    hpc_value table = hpc_program_state(m->p, t.name, matrix_type(m, &t, role), false);
    hpc_value x = hpc_gather(m->p, table, index);
    bool same = x < 0 || m->p->value[x].type.dtype == (uint8_t)m->c->dtype;
    return same ? x : hpc_copy(m->p, x, m->c->dtype);
}

/* ---- the cache ------------------------------------------------------------------------------ */

/* Writes the new rows; returns the cache as pages. */
static hpc_value cache(const model_emitter *m, const char *what, hpc_value x)
{
    const hpc_serve_emission *e = m->serve;
    int64_t d = hpc_model_config_head_dim(m->c), row = m->c->kv_heads * d;
    const int64_t flat[] = {e->pages * e->page, row},
                  four[] = {e->pages, e->page, m->c->kv_heads, d};
    int64_t rows = x < 0 ? 0 : m->p->value[x].type.extent[0];
    char name[32];
    snprintf(name, sizeof name, "cache.%s.%d", what, m->block);
    hpc_value state = hpc_program_state(m->p, name, hpc_type_of(e->cache, 2, flat), false);
    hpc_value new = hpc_view(m->p, x, 2, (int64_t[]){rows, row});
    hpc_scatter(m->p, state, new, m->served->slot, (hpc_scatter_attr){.mode = HPC_SCATTER_SET});
    return hpc_view(m->p, state, 4, four);
}

hpc_value model_serve_attention(const model_emitter *m, hpc_value q, hpc_value k, hpc_value v,
                                hpc_attention_attr attr)
{
    const hpc_serve_io *io = m->served;
    hpc_value keys = cache(m, "k", k), values = cache(m, "v", v);
    return hpc_attention(m->p, q, keys, values, io->start, io->len, io->pages, attr);
}

/* ---- inputs --------------------------------------------------------------------------------- */

static hpc_value indices(hpc_program *p, const char *name, int64_t n, hpc_value count)
{
    hpc_type t = hpc_type_of(HPC_I32, 1, &n);
    return hpc_program_input(p, name, count < 0 ? t : hpc_type_ragged(t, 0, count));
}

static hpc_value count(hpc_program *p, const char *name)
{
    return hpc_program_input(p, name, hpc_type_of(HPC_I32, 0, NULL));
}

static void make_inputs(hpc_serve_io *io, hpc_program *p, const hpc_model_config *c,
                        const hpc_serve_emission *e)
{
    const int64_t pages[] = {e->sequences, e->sequence_pages};
    int64_t freq_n = hpc_rope_frequencies_n(c);
    hpc_dtype real = c->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
    io->tokens_n = count(p, "tokens_n");
    io->start_n = count(p, "start_n");
    io->output_n = count(p, "output_n");
    io->tokens = indices(p, "tokens", e->tokens, io->tokens_n);
    io->pos = indices(p, "pos", e->tokens, io->tokens_n);
    io->slot = indices(p, "slot", e->tokens, io->tokens_n);
    io->start = indices(p, "start", e->sequences + 1, io->start_n);
    io->len = indices(p, "len", e->sequences, HPC_NONE);
    io->pages = hpc_program_input(p, "pages", hpc_type_of(HPC_I32, 2, pages));
    io->output = indices(p, "output", e->outputs, io->output_n);
    io->freq = freq_n == 0
                   ? HPC_NONE
                   : hpc_program_state(p, "rope.freq", hpc_type_of(real, 1, &freq_n), false);
    io->local_freq = model_local_frequencies(p, c);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int check_blocks(const hpc_model_config *c, const hpc_serve_emission *e)
{
    hpc_model_tensor *all = NULL;
    int64_t n = 0;
    int rc;
    TRY(hpc_model_tensors(&all, &n, c));
    for (int64_t k = 0; k < n; k++) {
        if (all[k].rank < 2) continue;
        const hpc_dtype_info *d = hpc_dtype_get(e->dtype(&all[k], e->user));
        if (all[k].extent[1] % d->block)
            TRY(hpc_fail(HPC_E_SHAPE, "%s: rows of %lld are not a multiple of the block of %s, %d",
                         all[k].name, (long long)all[k].extent[1], d->name, (int)d->block));
    }
out:
    hpc_free(all);
    return rc;
}

static int check_emission(const hpc_model_config *c, const hpc_serve_emission *e)
{
    int rc = hpc_model_config_check(c);
    if (rc < 0) return rc;
    if (c->head != HPC_HEAD_TOKENS)
        return hpc_fail(HPC_E_UNSUPPORTED, "a classification head does not predict tokens");
    if (c->adapter.rank > 0)
        return hpc_fail(
            HPC_E_UNSUPPORTED,
            "models with adapters cannot generate: export the model, which merges them");
    if (e->tokens < 1 || e->sequences < 1 || e->outputs < 1 || e->pages < 1 || e->page < 1 ||
        e->sequence_pages < 1)
        return hpc_fail(HPC_E_SHAPE, "tokens, sequences, outputs and pages must be at least 1");
    return check_blocks(c, e);
}

static void emit_sampling(hpc_serve_io *io, hpc_program *p, const hpc_serve_emission *e)
{
    const int64_t how[] = {e->outputs, HPC_SAMPLE_WORDS};
    io->how = io->drawn = io->logprob = HPC_NONE;
    if (!e->samples || io->logits < 0) return;
    hpc_type t = hpc_type_ragged(hpc_type_of(HPC_I64, 2, how), 0, io->output_n);
    io->how = hpc_program_input(p, "how", t);
    io->drawn = hpc_sample_tokens(p, &io->logprob, io->logits, io->how);
    hpc_program_keep(p, io->drawn);
    hpc_program_keep(p, io->logprob);
}

int hpc_serve_emit(hpc_serve_io *io, hpc_program *p, const hpc_model_config *c,
                   const hpc_serve_emission *e)
{
    hpc_model_config own = *c;
    own.dropout = 0;
    int rc = check_emission(&own, e);
    if (rc < 0) return rc;
    make_inputs(io, p, &own, e);
    hpc_model_io as_training = {
        .pos = io->pos, .freq = io->freq, .local_freq = io->local_freq, .start = io->start};
    model_emitter m = {
        .p = p, .c = &own, .io = &as_training, .block = -1, .serve = e, .served = io};
    io->decode = hpc_program_segment(p, HPC_DECODE, 0);
    hpc_value x = model_scaled(&m, rows_of(&m, HPC_PART_EMBED, io->tokens), own.embed_scale);
    if (own.position == HPC_LEARNED)
        x = hpc_binary(p, HPC_ADD, x, rows_of(&m, HPC_PART_POSITIONS, io->pos));
    for (int64_t k = 0; k < own.layers; k++) x = model_block(&m, (int)k, x);
    x = hpc_gather(p, model_norm(&m, HPC_PART_NORM, x), io->output);
    if (own.dtype == HPC_BF16) x = hpc_copy(p, x, HPC_F32); /* sampling needs the bits of logits */
    io->logits = model_head(&m, x);
    hpc_program_keep(p, io->logits);
    emit_sampling(io, p, e);
    return hpc_program_status(p);
}

hpc_dtype hpc_serve_dtype(const hpc_model_tensor *t, hpc_dtype d)
{
    if (t->part == HPC_PART_ROUTER || t->part == HPC_PART_SHARED_SCALE) return HPC_F32;
    return t->role != HPC_ROLE_MATRIX && (d == HPC_Q4_0 || d == HPC_Q4_K) ? HPC_Q8_0 : d;
}

/* Packs matrix e of `batch`. */
static int pack_matrix(void *bytes, const hpc_type *type, const float *from, int64_t e,
                       int64_t batch)
{
    hpc_dtype d = (hpc_dtype)type->dtype;
    const hpc_dtype_info *info = hpc_dtype_get(d);
    int64_t k = type->rank > 0 ? type->extent[type->rank - 1] : 1;
    int64_t n = type->rank > 1 ? type->extent[type->rank - 2] : 1;
    uint8_t *to = (uint8_t *)bytes + (size_t)e * (hpc_type_bytes(type) / (size_t)batch);
    from += e * n * k;
    if (type->pack == HPC_PLAIN) {
        hpc_from_f32(to, d, from, n * k);
        return HPC_OK;
    }
    void *plain = hpc_alloc((size_t)(n * k / info->block), info->block_bytes);
    if (!plain) return HPC_E_NOMEM;
    hpc_from_f32(plain, d, from, n * k);
    if (type->pack == HPC_PLANES)
        hpc_planes(bytes, batch * n, e * n, plain, d, n, k);
    else
        hpc_panel16(to, plain, d, n, k);
    hpc_free(plain);
    return HPC_OK;
}

int hpc_serve_pack(void *bytes, const hpc_type *type, const float *from)
{
    int64_t batch = type->rank > 2 ? type->extent[0] : 1;
    int rc = HPC_OK;
    for (int64_t e = 0; e < batch; e++) TRY(pack_matrix(bytes, type, from, e, batch));
out:
    return rc;
}

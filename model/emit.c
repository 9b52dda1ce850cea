/*
 * emit.c: emits the forward program: inputs, embedding, blocks, head.
 *
 * Gradients, optimizer updates and schedules are added elsewhere.
 */
#include <stdio.h>

#include "model/priv.h"

/* Program whose inputs get a common name suffix. */
typedef struct naming {
    hpc_program *p;
    const char *end;
} naming;

static hpc_value add(const naming *n, const char *name, hpc_type t)
{
    char text[32];
    snprintf(text, sizeof text, "%s%s", name, n->end);
    return hpc_program_input(n->p, text, t);
}

static hpc_value input(const naming *in, const char *name, int rank, int64_t n, int64_t m)
{
    return add(in, name, hpc_type_of(HPC_I32, rank, (int64_t[]){n, m}));
}

void hpc_split_rows(hpc_type *t)
{
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (HPC_ROW_AXES >> a & 1) t->layout[a] = HPC_SPLIT(0);
}

/* An input with one element per token. */
static hpc_value by_token(const naming *in, const char *name, int64_t tokens)
{
    hpc_type t = hpc_type_of(HPC_I32, 1, &tokens);
    hpc_split_rows(&t);
    return add(in, name, t);
}

/* Inputs that every emission has for itself. */
static void make_rows(hpc_model_io *io, const naming *in, const hpc_model_config *c,
                      const hpc_model_emission *e)
{
    bool classes = c->head != HPC_HEAD_TOKENS, pairs = c->head == HPC_HEAD_PAIRS;
    int64_t rows = pairs ? e->sequences / 2 : e->sequences, starts = e->sequences + 1;
    io->tokens = by_token(in, "tokens", e->tokens);
    if (!classes && !e->logits) io->targets = by_token(in, "targets", e->tokens);
    io->pos = by_token(in, "pos", e->tokens);
    io->start_n = input(in, "start_n", 0, 0, 0);
    hpc_type start = hpc_type_of(HPC_I32, 1, &starts);
    io->start = add(in, "start", hpc_type_ragged(start, 0, io->start_n));
    if (classes) io->pooled = input(in, "pooled", pairs ? 2 : 1, rows, 2);
    if (classes && !e->logits) io->classes = input(in, "classes", 1, rows, 0);
    bool random = c->dropout > 0 || (c->experts > 0 && e->experts.gating == HPC_GATING_ANNEAL);
    if (random) io->first = add(in, "first", hpc_type_of(HPC_I64, 0, NULL));
}

/* Row indices, split like the rows that they select. */
static void make_kv_rows(hpc_model_io *io, hpc_program *p, const hpc_model_config *c,
                         const hpc_model_emission *e)
{
    int64_t rows = e->kv_heads * hpc_model_config_head_dim(c);
    hpc_type t = hpc_type_of(HPC_I32, 1, &rows);
    t.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
    io->kv_rows = hpc_program_input(p, "kv_rows", t);
}

static void make_inputs(hpc_model_io *io, hpc_program *p, const hpc_model_config *c,
                        const hpc_model_emission *e)
{
    const naming in = {p, ""};
    int64_t freq_n = hpc_rope_frequencies_n(c);
    make_rows(io, &in, c, e);
    io->step = input(&in, "step", 0, 0, 0);
    if (c->experts > 0 && e->experts.gating == HPC_GATING_ANNEAL)
        io->anneal = add(&in, "anneal",
                         hpc_type_of(c->dtype == HPC_F64 ? HPC_F64 : HPC_F32, 1, (int64_t[]){2}));
    if (c->adapter.token_n > 0) io->token_rows = input(&in, "token_rows", 1, c->adapter.token_n, 0);
    if (e->kv_heads > 0) make_kv_rows(io, p, c, e);
    if (freq_n == 0) return;
    hpc_dtype real = c->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
    io->freq = hpc_program_state(p, "rope.freq", hpc_type_of(real, 1, &freq_n), false);
    io->local_freq = model_local_frequencies(p, c);
}

/* The embedding or the head. With trained rows it is the sum of the frozen table and a table that
 * is zero apart from the changes of these rows. */
static hpc_value table_of(const model_emitter *m, int part)
{
    hpc_value table = model_param(m, part, 0), rows = model_param(m, part, 3);
    if (rows < 0) return table;
    hpc_scatter_attr at = {.mode = HPC_SCATTER_ADD, .rows = m->c->vocab};
    hpc_value changes = hpc_scatter(m->p, HPC_NEW, rows, m->io->token_rows, at);
    return hpc_binary(m->p, HPC_ADD, table, changes);
}

static hpc_value embed(const model_emitter *m, hpc_value table)
{
    hpc_value x = m->io->embedded = hpc_gather(m->p, table, m->io->tokens);
    hpc_value positions = model_param(m, HPC_PART_POSITIONS, 0);
    x = model_scaled(m, x, m->c->embed_scale);
    if (positions >= 0) x = hpc_binary(m->p, HPC_ADD, x, hpc_gather(m->p, positions, m->io->pos));
    return model_drop(m, 0, x);
}

/* Rows that a class head reads; the two rows of a pair are concatenated. */
static hpc_value pool(const model_emitter *m, hpc_value x)
{
    x = hpc_gather(m->p, x, m->io->pooled);
    if (m->c->head != HPC_HEAD_PAIRS || x < 0) return x;
    return hpc_view(m->p, x, 2, (int64_t[]){m->p->value[x].type.extent[0], 2 * m->c->hidden});
}

/* A count of each rank is summed over ranks before it is mapped to itself. */
static hpc_value read_by_host(hpc_program *p, hpc_value count)
{
    if (count < 0) return count;
    count = hpc_map_each(p, count, (hpc_map_attr){.alpha = 1, .power = 1});
    hpc_program_keep(p, count);
    return count;
}

static void emit_all(model_emitter *m, hpc_model_io *io, const hpc_model_emission *e)
{
    const hpc_model_config *c = m->c;
    hpc_value table = e->behind ? e->behind->table : table_of(m, HPC_PART_EMBED);
    hpc_value x = embed(m, table);
    for (int64_t k = 0; k < c->layers; k++) x = model_block(m, (int)k, x);
    x = model_norm(m, HPC_PART_NORM, x);
    if (c->head == HPC_HEAD_TOKENS) x = model_scaled(m, x, c->logit_scale);
    hpc_value head = table, target = io->targets;
    if (!c->tied) head = e->behind ? e->behind->head : table_of(m, HPC_PART_HEAD);
    if (c->head != HPC_HEAD_TOKENS) {
        x = pool(m, x);
        head = model_param(m, HPC_PART_CLASSES, 0);
        target = io->classes;
    }
    io->active = read_by_host(m->p, io->active);
    io->dropped = read_by_host(m->p, io->dropped);
    hpc_value *out = e->logits ? &io->logits : &io->loss;
    io->table = table;
    io->hidden = x;
    io->head = head;
    io->logit_cap = c->head == HPC_HEAD_TOKENS ? c->logit_cap : 0;
    if (e->apart && e->parts && x >= 0) x = hpc_view(m->p, x, 2, m->p->value[x].type.extent);
    if (e->apart && !m->again) io->forward_head = hpc_program_segment(m->p, HPC_FORWARD, 1);
    if (e->apart) m->p->current = io->forward_head;
    if (e->logits)
        *out = model_capped(m, hpc_linear(m->p, x, head, HPC_NONE, HPC_NONE));
    else if ((e->split || e->parts) && c->head == HPC_HEAD_TOKENS)
        *out = hpc_head_loss_of_parts(m->p, NULL, x, head, target, io->logit_cap);
    else
        *out = hpc_head_loss_capped(m->p, NULL, x, head, target, io->logit_cap);
    hpc_program_keep(m->p, *out);
}

void hpc_model_kv_rows(int32_t *out, const hpc_model_config *c, int64_t heads, int64_t first,
                       int64_t n)
{
    int64_t d = hpc_model_config_head_dim(c), times = heads / c->kv_heads;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = first + i;
        out[i] = (int32_t)(row / d / times * d + row % d);
    }
}

static int check_emission(const hpc_model_config *c, const hpc_model_emission *e)
{
    int rc = hpc_model_config_check(c);
    if (rc < 0) return rc;
    if (c->dtype != HPC_F32 && c->dtype != HPC_BF16 && c->dtype != HPC_F64)
        return hpc_fail(HPC_E_UNSUPPORTED, "dtype=%s: programs compute in f32, bf16 or f64",
                        hpc_dtype_get(c->dtype)->name);
    if (e->sequences < 1 || e->tokens < e->sequences)
        return hpc_fail(HPC_E_SHAPE, "%lld sequences do not fit into %lld tokens",
                        (long long)e->sequences, (long long)e->tokens);
    if (e->behind && c->head != HPC_HEAD_TOKENS)
        return hpc_fail(HPC_E_UNSUPPORTED, "only a language-model head reads rows separately");
    if (c->head == HPC_HEAD_PAIRS && e->sequences % 2)
        return hpc_fail(HPC_E_SHAPE, "%lld sequences cannot form pairs", (long long)e->sequences);
    if (e->kv_heads % c->kv_heads || (e->kv_heads && c->heads % e->kv_heads))
        return hpc_fail(HPC_E_SHAPE, "%lld key heads, for %lld query heads, repeated to %lld",
                        (long long)c->kv_heads, (long long)c->heads, (long long)e->kv_heads);
    return HPC_OK;
}

/* Reuses parameters and segments of the previous emission; creates new row inputs. */
static void begin_behind(hpc_model_io *io, hpc_program *p, const hpc_model_config *c,
                         const hpc_model_emission *e)
{
    make_rows(io, &(naming){p, ".1"}, c, e);
    io->step = e->behind->step;
    io->freq = e->behind->freq;
    io->local_freq = e->behind->local_freq;
    io->kv_rows = e->behind->kv_rows;
    io->token_rows = e->behind->token_rows;
    io->anneal = e->behind->anneal;
    io->forward = e->behind->forward;
    io->forward_head = e->behind->forward_head;
    p->current = io->forward;
    p->tags.block = -1;
}

int hpc_model_emit(hpc_model_io *io, hpc_program *p, const hpc_model_config *c,
                   const hpc_model_emission *e)
{
    int rc = check_emission(c, e);
    if (rc < 0) return rc;
    *io = (hpc_model_io){.forward_head = -1,
                         .targets = HPC_NONE,
                         .pooled = HPC_NONE,
                         .classes = HPC_NONE,
                         .freq = HPC_NONE,
                         .local_freq = HPC_NONE,
                         .first = HPC_NONE,
                         .kv_rows = HPC_NONE,
                         .token_rows = HPC_NONE,
                         .loss = HPC_NONE,
                         .logits = HPC_NONE,
                         .anneal = HPC_NONE,
                         .aux = HPC_NONE,
                         .active = HPC_NONE,
                         .dropped = HPC_NONE};
    if (e->behind) {
        begin_behind(io, p, c, e);
    } else {
        make_inputs(io, p, c, e);
        io->forward = hpc_program_segment(p, HPC_FORWARD, 0);
    }
    emit_all(&(model_emitter){.p = p,
                              .o = e,
                              .c = c,
                              .io = io,
                              .seed = e->seed,
                              .split = e->split,
                              .sequence = e->sequence,
                              .kv_heads = e->kv_heads,
                              .again = e->behind != NULL,
                              .block = -1},
             io, e);
    return hpc_program_status(p);
}

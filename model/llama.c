/*
 * llama.c: the blocks of the Llama shape and a training step around them.
 *
 * Nothing here is parallel, placed or timed: passes see to that.
 */
#include <math.h>
#include <stdio.h>

#include "model/model.h"

static hpc_value param(hpc_program *p, const hpc_model_config *c, int index, const char *name,
                       int rank, int64_t rows, int64_t cols)
{
    char full[96];
    if (index >= 0)
        snprintf(full, sizeof full, "model.layers.%d.%s.weight", index, name);
    else
        snprintf(full, sizeof full, "%s.weight", name);
    return hpc_program_state(p, full, hpc_type_of(c->dtype, rank, (int64_t[]){rows, cols}), true);
}

static int64_t rows_of(const hpc_program *p, hpc_value x)
{
    return x < 0 ? 0 : p->value[x].type.extent[0];
}

static hpc_value heads(hpc_program *p, hpc_value x, int64_t n, int64_t d)
{
    return hpc_view(p, x, 3, (int64_t[]){rows_of(p, x), n, d});
}

static hpc_value drop(hpc_program *p, const hpc_model_config *c, int site, hpc_value x,
                      const hpc_training *io)
{
    if (c->dropout == 0) return x;
    hpc_dropout_attr a = {.p = c->dropout, .seed = 1, .tensor = site};
    return hpc_dropout(p, x, io->step, HPC_NONE, a);
}

static hpc_value attention(hpc_program *p, const hpc_model_config *c, int index, hpc_value h,
                           const hpc_training *io)
{
    int64_t d = c->hidden / c->heads, kv = d * c->kv_heads;
    hpc_value q = hpc_linear(p, h, param(p, c, index, "self_attn.q_proj", 2, c->hidden, c->hidden),
                             HPC_NONE, HPC_NONE);
    hpc_value k = hpc_linear(p, h, param(p, c, index, "self_attn.k_proj", 2, kv, c->hidden),
                             HPC_NONE, HPC_NONE);
    hpc_value v = hpc_linear(p, h, param(p, c, index, "self_attn.v_proj", 2, kv, c->hidden),
                             HPC_NONE, HPC_NONE);
    hpc_rope_attr rope = {.scale = 1};
    q = hpc_rope(p, heads(p, q, c->heads, d), io->pos, io->freq, rope);
    k = hpc_rope(p, heads(p, k, c->kv_heads, d), io->pos, io->freq, rope);
    v = heads(p, v, c->kv_heads, d);
    hpc_attention_attr a = {.scale = 1 / sqrt((double)d), .causal = true};
    hpc_value o = hpc_attention(p, q, k, v, io->start, HPC_NONE, HPC_NONE, a);
    return hpc_view(p, o, 2, (int64_t[]){rows_of(p, o), c->hidden});
}

hpc_value hpc_model_emit_block(hpc_program *p, const hpc_model_config *c, int index, hpc_value x,
                               const hpc_training *io)
{
    hpc_norm_attr rms = {.kind = HPC_RMS, .eps = c->norm_eps};
    p->tags.block = (int16_t)index;
    hpc_value w = param(p, c, index, "input_layernorm", 1, c->hidden, 0);
    hpc_value o = attention(p, c, index, hpc_norm(p, x, w, HPC_NONE, rms), io);
    w = param(p, c, index, "self_attn.o_proj", 2, c->hidden, c->hidden);
    if (c->dropout == 0)
        x = hpc_linear(p, o, w, HPC_NONE, x);
    else
        x = hpc_binary(p, HPC_ADD, x,
                       drop(p, c, 2 * index, hpc_linear(p, o, w, HPC_NONE, HPC_NONE), io));
    hpc_value h = hpc_norm(p, x, param(p, c, index, "post_attention_layernorm", 1, c->hidden, 0),
                           HPC_NONE, rms);
    hpc_value gate = hpc_linear(p, h, param(p, c, index, "mlp.gate_proj", 2, c->ffn, c->hidden),
                                HPC_NONE, HPC_NONE);
    hpc_value up = hpc_linear(p, h, param(p, c, index, "mlp.up_proj", 2, c->ffn, c->hidden),
                              HPC_NONE, HPC_NONE);
    h = hpc_glu(p, gate, up, HPC_SILU);
    w = param(p, c, index, "mlp.down_proj", 2, c->hidden, c->ffn);
    if (c->dropout == 0)
        x = hpc_linear(p, h, w, HPC_NONE, x);
    else
        x = hpc_binary(p, HPC_ADD, x,
                       drop(p, c, 2 * index + 1, hpc_linear(p, h, w, HPC_NONE, HPC_NONE), io));
    p->tags.block = -1;
    return x;
}

static hpc_value input(hpc_program *p, const char *name, hpc_dtype d, int rank, int64_t n,
                       bool split)
{
    hpc_type t = hpc_type_of(d, rank, &n);
    if (split) t.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
    return hpc_program_input(p, name, t);
}

static void make_inputs(hpc_training *io, hpc_program *p, const hpc_model_config *c, int64_t tokens,
                        int64_t sequences)
{
    hpc_dtype real = c->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
    io->tokens = input(p, "tokens", HPC_I32, 1, tokens, true);
    io->targets = input(p, "targets", HPC_I32, 1, tokens, true);
    io->pos = input(p, "pos", HPC_I32, 1, tokens, true);
    io->weight = input(p, "weight", real, 1, tokens, true);
    io->start_n = input(p, "start_n", HPC_I32, 0, 0, false);
    int64_t n = sequences + 1;
    io->start =
        hpc_program_input(p, "start", hpc_type_ragged(hpc_type_of(HPC_I32, 1, &n), 0, io->start_n));
    io->lr = input(p, "lr", real, 0, 0, false);
    io->step = input(p, "step", HPC_I32, 0, 0, false);
    int64_t half = c->hidden / c->heads / 2;
    io->freq = hpc_program_state(p, "rope.freq", hpc_type_of(real, 1, &half), false);
}

static void emit_forward(hpc_training *io, hpc_program *p, const hpc_model_config *c)
{
    hpc_norm_attr rms = {.kind = HPC_RMS, .eps = c->norm_eps};
    hpc_value embed = param(p, c, -1, "model.embed_tokens", 2, c->vocab, c->hidden);
    hpc_value x = hpc_gather(p, embed, io->tokens);
    for (int64_t k = 0; k < c->layers; k++) x = hpc_model_emit_block(p, c, (int)k, x, io);
    x = hpc_norm(p, x, param(p, c, -1, "model.norm", 1, c->hidden, 0), HPC_NONE, rms);
    hpc_value head = c->tied ? embed : param(p, c, -1, "lm_head", 2, c->vocab, c->hidden);
    io->loss = hpc_head_loss(p, x, head, io->targets);
    hpc_program_keep(p, io->loss);
}

static void emit_update(const hpc_training *io, hpc_program *p, const hpc_optimizer_config *o)
{
    int64_t n = p->value_n;
    char name[112];
    for (hpc_value v = 0; v < n && p->error.code == HPC_OK; v++) {
        if (!p->value[v].trainable || p->value[v].grad < 0) continue;
        hpc_type t = p->value[v].type;
        t.dtype = t.dtype == HPC_F64 ? HPC_F64 : HPC_F32;
        hpc_adamw_attr a = {o->beta1, o->beta2, o->eps, t.rank > 1 ? o->decay : 0};
        snprintf(name, sizeof name, "adam.m.%s", p->value[v].name);
        hpc_value m = hpc_program_state(p, name, t, false);
        snprintf(name, sizeof name, "adam.v.%s", p->value[v].name);
        hpc_value s = hpc_program_state(p, name, t, false);
        p->tags.group = t.rank > 1 ? 0 : 1;
        hpc_adamw(p, v, m, s, HPC_NONE, p->value[v].grad, io->lr, io->step, HPC_NONE, a);
        hpc_fill(p, p->value[v].grad, 0);
    }
}

int hpc_model_emit_training(hpc_training *io, hpc_program *p, const hpc_model_config *c,
                            const hpc_optimizer_config *o, int64_t tokens, int64_t sequences)
{
    int rc = HPC_OK;
    TRY(hpc_model_config_check(c));
    make_inputs(io, p, c, tokens, sequences);
    io->forward = hpc_program_segment(p, HPC_FORWARD, 0);
    emit_forward(io, p, c);
    io->backward = hpc_program_segment(p, HPC_BACKWARD, 0);
    TRY(hpc_program_status(p));
    hpc_diff_options d = {.forward = io->forward,
                          .backward = io->backward,
                          .accumulate = -1,
                          .seed_of = &io->loss,
                          .seed = &io->weight,
                          .seed_n = 1};
    TRY(hpc_differentiate(p, &d));
    io->update = hpc_program_segment(p, HPC_UPDATE, 0);
    emit_update(io, p, o);
    TRY(hpc_program_status(p));
out:
    return rc;
}

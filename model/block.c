/*
 * block.c: emits one transformer block in every variant that a configuration can describe.
 *
 * Parallelism, placement and scheduling are added by later passes.
 */
#include <math.h>

#include "model/priv.h"

static hpc_dtype type_of_param(const model_emitter *m, const hpc_model_tensor *t)
{
    bool frozen = m->o && m->o->frozen && !t->trainable && t->role == HPC_ROLE_MATRIX;
    return frozen ? m->o->frozen(t, m->o->user) : m->c->dtype;
}

hpc_value model_param(const model_emitter *m, int part, int adapter)
{
    hpc_model_tensor t;
    if (!model_tensor_at(&t, m->c, part, m->block, adapter)) return HPC_NONE;
    if (m->again) return hpc_program_find(m->p, t.name);
    hpc_type type = model_tensor_type(&t, type_of_param(m, &t));
    return hpc_program_state(m->p, t.name, type, t.trainable);
}

static bool splits(const model_emitter *m, hpc_axis a)
{
    return m->split >> a & 1;
}

/* Scatters the value over row: each rank gets its share of the tokens. */
static hpc_value by_tokens(const model_emitter *m, hpc_value x)
{
    if (m->sequence && x >= 0) m->p->value[x].type.layout[HPC_AXIS_ROW] = HPC_INNER(0);
    return x;
}

/* A vector as a column, one number per row. */
static hpc_value column(hpc_program *p, hpc_value x)
{
    int64_t rows = x < 0 ? 0 : p->value[x].type.extent[0];
    return hpc_view(p, x, 2, (int64_t[]){rows, 1});
}

/* Norm of rows that are split over ranks: (x - mean) / sqrt(mean square + eps). Ranks exchange only
 * sums over a row. */
static hpc_value norm_of_moments(const model_emitter *m, hpc_value x)
{
    hpc_program *p = m->p;
    double h = x < 0 ? 1 : (double)p->value[x].type.extent[1];
    if (m->c->dtype == HPC_BF16) x = hpc_copy(p, x, HPC_F32);
    if (m->c->norm == HPC_LAYER) {
        hpc_value sum = hpc_reduce(p, HPC_NEW, x, HPC_SUM, HPC_OVER_COLS);
        x = hpc_binary(p, HPC_SUB, x, column(p, hpc_scale(p, HPC_NEW, sum, HPC_NONE, 1 / h)));
    }
    hpc_value squares = hpc_reduce(p, HPC_NEW, x, HPC_SUMSQ, HPC_OVER_COLS);
    hpc_map_attr mean = {.alpha = 1 / h, .power = 1, .beta = m->c->norm_eps};
    hpc_map_attr root = {.alpha = 1, .power = -0.5};
    return hpc_binary(p, HPC_MUL, x,
                      column(p, hpc_map_each(p, hpc_map_each(p, squares, mean), root)));
}

/* Norm of x with weight w and bias b; `split`: ranks hold parts of its rows. */
static hpc_value norm_by(const model_emitter *m, hpc_value x, hpc_value w, hpc_value b, bool split)
{
    hpc_norm_attr a = {.kind = m->c->norm, .eps = m->c->norm_eps};
    if (!split) return hpc_norm(m->p, x, w, b, a);
    hpc_value y = hpc_binary(m->p, HPC_MUL, norm_of_moments(m, x), w);
    if (b >= 0) y = hpc_binary(m->p, HPC_ADD, y, b);
    return m->c->dtype == HPC_BF16 ? hpc_copy(m->p, y, HPC_BF16) : y;
}

hpc_value model_norm(const model_emitter *m, int part, hpc_value x)
{
    hpc_value w = model_param(m, part, 0);
    hpc_value b = m->c->norm == HPC_LAYER ? model_param(m, part + 1, 0) : HPC_NONE;
    return by_tokens(m, norm_by(m, x, w, b, splits(m, HPC_AXIS_COL)));
}

/* The input of a layer: not normalised if norms follow layers only. */
static hpc_value norm_before(const model_emitter *m, int part, hpc_value x)
{
    return m->c->norm_place == HPC_NORM_AFTER ? x : model_norm(m, part, x);
}

hpc_value model_scaled(const model_emitter *m, hpc_value x, double scale)
{
    return scale == 0 || scale == 1 ? x : hpc_scale(m->p, HPC_NEW, x, HPC_NONE, scale);
}

hpc_value model_drop(const model_emitter *m, int site, hpc_value x)
{
    if (m->c->dropout == 0) return x;
    hpc_dropout_attr a = {.p = m->c->dropout, .seed = m->seed, .tensor = site};
    return hpc_dropout(m->p, x, m->io->step, m->io->first, a);
}

static bool is_repeated(const model_emitter *m, int part)
{
    return !m->serve && (part == HPC_PART_K || part == HPC_PART_V) && m->io->kv_rows >= 0;
}

/* A matrix, with rows repeated if several ranks use the same key/value head. */
static hpc_value matrix(const model_emitter *m, int part)
{
    if (m->serve) return model_serve_weight(m, part);
    hpc_value w = model_param(m, part, 0);
    if (w >= 0 && m->p->value[w].type.dtype != m->c->dtype) w = hpc_copy(m->p, w, m->c->dtype);
    return is_repeated(m, part) ? hpc_gather(m->p, w, m->io->kv_rows) : w;
}

static hpc_value repeated(const model_emitter *m, hpc_value x)
{
    x = hpc_gather(m->p, column(m->p, x), m->io->kv_rows);
    int64_t rows = m->p->value[m->io->kv_rows].type.extent[0];
    return hpc_view(m->p, x, 1, &rows);
}

static hpc_value bias_of(const model_emitter *m, int part)
{
    hpc_value b = model_param(m, part + 1, 0);
    return b < 0 || !is_repeated(m, part) ? b : repeated(m, b);
}

static hpc_value product(const model_emitter *m, int part, hpc_value x, hpc_value bias,
                         hpc_value residual)
{
    hpc_value w = matrix(m, part);
    hpc_value operand[] = {HPC_NEW, HPC_NONE, x, w, bias, residual};
    hpc_matmul_attr at = {.trans_b = true, .alpha = 1};
    hpc_dtype weights = w < 0 ? HPC_F32 : (hpc_dtype)m->p->value[w].type.dtype;
    at.int8 = m->serve && hpc_device_layout(m->serve->device, HPC_WEIGHT_PRODUCT, weights).int8;
    at.halves = m->serve && weights == HPC_BF16;
    return hpc_emit(m->p, &hpc_op_matmul, operand, &at);
}

/* cap tanh(logits / cap) */
hpc_value model_capped(const model_emitter *m, hpc_value logits)
{
    double cap = m->c->head == HPC_HEAD_TOKENS ? m->c->logit_cap : 0;
    if (cap == 0) return logits;
    logits = hpc_activate(m->p, model_scaled(m, logits, 1 / cap), HPC_TANH);
    return model_scaled(m, logits, cap);
}

hpc_value model_head(const model_emitter *m, hpc_value x)
{
    x = model_scaled(m, x, m->c->logit_scale);
    return model_capped(m, product(m, HPC_PART_HEAD, x, HPC_NONE, HPC_NONE));
}

hpc_value model_local_frequencies(hpc_program *p, const hpc_model_config *c)
{
    int64_t n = hpc_rope_frequencies_n(c);
    hpc_dtype real = c->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
    if (n == 0 || c->rope.local_theta == 0) return HPC_NONE;
    return hpc_program_state(p, "rope.local_freq", hpc_type_of(real, 1, &n), false);
}

/* Ranks sum it. Recomputed blocks of a mixture keep the sum, as they keep rows that were exchanged;
 * other models save its memory. */
static hpc_value joined(const model_emitter *m, hpc_value x)
{
    if (x >= 0) m->p->value[x].joined = m->c->experts > 0;
    return x;
}

/* w x + bias, where ranks sum w x before adding bias; with sequence parallelism, into their shares
 * of the tokens. */
static hpc_value product_apart(const model_emitter *m, int part, hpc_value x, bool leads_back)
{
    hpc_value y = joined(m, product(m, part, x, HPC_NONE, HPC_NONE)), bias = bias_of(m, part);
    if (leads_back) y = by_tokens(m, y);
    return bias < 0 ? y : hpc_binary(m->p, HPC_ADD, y, bias);
}

/* w x + bias + residual, plus (alpha / rank) B A x if there is an adapter. */
static hpc_value layer(const model_emitter *m, int part, hpc_value x, hpc_value residual)
{
    hpc_program *p = m->p;
    hpc_value y = product(m, part, x, bias_of(m, part), residual);
    hpc_value a = model_param(m, part, 1), b = model_param(m, part, 2);
    if (a < 0) return y;
    hpc_matmul_attr at = {.trans_b = true,
                          .alpha = m->c->adapter.alpha / (double)m->c->adapter.rank};
    hpc_value operand[] = {HPC_NEW, HPC_NONE, hpc_linear(p, x, a, HPC_NONE, HPC_NONE),
                           b,       HPC_NONE, y};
    return hpc_emit(p, &hpc_op_matmul, operand, &at);
}

/* Adds what a layer gives to the residual stream; `norm`: the part of the norm before that. */
static hpc_value add_back(const model_emitter *m, int site, int norm, hpc_value y,
                          hpc_value residual)
{
    if (m->c->norm_place != HPC_NORM_BEFORE) y = model_norm(m, norm, y);
    y = model_scaled(m, y, m->c->residual_scale);
    return hpc_binary(m->p, HPC_ADD, residual, model_drop(m, site, y));
}

/* A layer that leads back to the residual stream; `norm`: the part of the norm after it. */
static hpc_value back(const model_emitter *m, int part, int norm, hpc_value x, hpc_value residual)
{
    const hpc_model_config *c = m->c;
    bool scaled = c->residual_scale != 0 && c->residual_scale != 1;
    bool plain = c->dropout == 0 && c->norm_place == HPC_NORM_BEFORE && !scaled;
    int site = 2 * m->block + (part == HPC_PART_O ? 1 : 2);
    hpc_value y;
    if (splits(m, HPC_AXIS_ROW))
        y = product_apart(m, part, x, true);
    else if (plain)
        return layer(m, part, x, residual);
    else
        y = layer(m, part, x, HPC_NONE);
    return add_back(m, site, norm, y, residual);
}

/* A layer that leads away from it. */
static hpc_value away(const model_emitter *m, int part, hpc_value x)
{
    return splits(m, HPC_AXIS_COL) ? product_apart(m, part, x, false) : layer(m, part, x, HPC_NONE);
}

static hpc_value heads(const model_emitter *m, hpc_value x, int64_t n)
{
    int64_t rows = x < 0 ? 0 : m->p->value[x].type.extent[0];
    return hpc_view(m->p, x, 3, (int64_t[]){rows, n, hpc_model_config_head_dim(m->c)});
}

/* q or k as heads, with their norm if they have one. */
static hpc_value normed_heads(const model_emitter *m, int part, int norm, hpc_value h, int64_t n)
{
    const hpc_model_config *c = m->c;
    hpc_value x = away(m, part, h);
    if (c->qk_norm == HPC_QK_PLAIN) return heads(m, x, n);
    hpc_value w = model_param(m, norm, 0);
    if (c->qk_norm == HPC_QK_BY_HEAD) return norm_by(m, heads(m, x, n), w, HPC_NONE, false);
    if (is_repeated(m, part)) w = repeated(m, w);
    return heads(m, norm_by(m, x, w, HPC_NONE, splits(m, HPC_AXIS_ROW)), n);
}

static hpc_value attention(const model_emitter *m, hpc_value h)
{
    const hpc_model_config *c = m->c;
    hpc_program *p = m->p;
    int64_t d = hpc_model_config_head_dim(c), rows = h < 0 ? 0 : p->value[h].type.extent[0];
    hpc_attention_attr a = {.scale =
                                c->attention_scale > 0 ? c->attention_scale : 1 / sqrt((double)d),
                            .causal = true,
                            .window = hpc_model_config_window(c, m->block),
                            .cap = c->attention_cap};
    int64_t kv = m->kv_heads ? m->kv_heads : c->kv_heads;
    hpc_value q = normed_heads(m, HPC_PART_Q, HPC_PART_Q_NORM, h, c->heads);
    hpc_value k = normed_heads(m, HPC_PART_K, HPC_PART_K_NORM, h, kv);
    hpc_value v = heads(m, away(m, HPC_PART_V, h), kv);
    if (hpc_model_config_rotates(c, m->block)) {
        bool local = a.window > 0 && m->io->local_freq >= 0;
        hpc_value freq = local ? m->io->local_freq : m->io->freq;
        hpc_rope_attr rope = {.scale = local ? 1 : hpc_rope_factor(c)};
        q = hpc_rope(p, q, m->io->pos, freq, rope);
        k = hpc_rope(p, k, m->io->pos, freq, rope);
    }
    hpc_value o = m->serve ? model_serve_attention(m, q, k, v, a)
                           : hpc_attention(p, q, k, v, m->io->start, HPC_NONE, HPC_NONE, a);
    return hpc_view(p, o, 2, (int64_t[]){rows, c->heads * d});
}

static hpc_value mlp(const model_emitter *m, hpc_value h)
{
    hpc_act act = (hpc_act)m->c->act;
    if (!m->c->gated) return hpc_activate(m->p, away(m, HPC_PART_UP, h), act);
    hpc_value gate = away(m, HPC_PART_GATE, h);
    return hpc_glu(m->p, gate, away(m, HPC_PART_UP, h), act);
}

/* ---- mixtures of experts -------------------------------------------------------------------- */

/* Do rows go to the ranks that own their experts? */
static bool exchanges(const model_emitter *m)
{
    return m->o && m->o->experts.row_ranks > 0;
}

/* Rows times the matrix `w` of their expert. */
static hpc_value grouped_by(const model_emitter *m, int part, hpc_value x, hpc_value w,
                            hpc_value start)
{
    hpc_dtype weights = w < 0 ? HPC_F32 : (hpc_dtype)m->p->value[w].type.dtype;
    bool sums = splits(m, part == HPC_PART_EXPERT_DOWN ? HPC_AXIS_ROW : HPC_AXIS_COL);
    hpc_grouped_attr at = {.trans_b = true,
                           .halves = m->serve && weights == HPC_BF16,
                           .int8 = hpc_dtype_get(weights)->quantised,
                           .owned = exchanges(m)};
    hpc_value y = hpc_grouped(m->p, HPC_NEW, x, w, start, at);
    return sums ? joined(m, y) : y;
}

/* Rows of all experts times their matrices, plus (alpha / rank) B A x if they have adapters. */
static hpc_value grouped(const model_emitter *m, int part, hpc_value x, hpc_value start)
{
    hpc_value y = grouped_by(m, part, x, matrix(m, part), start);
    hpc_value a = model_param(m, part, 1), b = model_param(m, part, 2);
    if (a < 0) return y;
    hpc_value change = grouped_by(m, part, grouped_by(m, part, x, a, start), b, start);
    double scale = m->c->adapter.alpha / (double)m->c->adapter.rank;
    return hpc_binary(m->p, HPC_ADD, y, hpc_scale(m->p, HPC_NEW, change, HPC_NONE, scale));
}

/* The weights of the rows, as a column. */
static hpc_value row_weights(hpc_program *p, hpc_value weight, hpc_value slot)
{
    if (weight < 0) return HPC_NONE;
    const int64_t *t = p->value[weight].type.extent;
    return hpc_gather_own(p, hpc_view(p, weight, 3, (int64_t[]){t[0], t[1], 1}), slot);
}

/* The MLP that all tokens pass, times the sigmoid of a number of each. */
static hpc_value shared_expert(const model_emitter *m, hpc_value h)
{
    hpc_program *p = m->p;
    hpc_value gate = product(m, HPC_PART_SHARED_GATE, h, HPC_NONE, HPC_NONE);
    hpc_value up = product(m, HPC_PART_SHARED_UP, h, HPC_NONE, HPC_NONE);
    hpc_value y = hpc_glu(p, gate, up, (hpc_act)m->c->act);
    y = product(m, HPC_PART_SHARED_DOWN, y, HPC_NONE, HPC_NONE);
    hpc_gate_io io = {.logits = product(m, HPC_PART_SHARED_SCALE, h, HPC_NONE, HPC_NONE),
                      .bias = HPC_NONE,
                      .anneal = HPC_NONE,
                      .step = HPC_NONE,
                      .base = HPC_NONE};
    hpc_gate_attr one = {.kind = HPC_GATE_SIGMOID, .k = 1};
    return hpc_binary(p, HPC_MUL, y, hpc_gate(p, &io, one));
}

/* A running sum over layers. */
static void add_to(hpc_program *p, hpc_value *sum, hpc_value x)
{
    *sum = *sum < 0 ? x : hpc_binary(p, HPC_ADD, *sum, x);
}

/* Auxiliary losses of each token: shares of tokens count as constants. */
static void add_losses(const model_emitter *m, const hpc_gate_io *io, hpc_value load)
{
    const hpc_expert_emission *e = &m->o->experts;
    hpc_program *p = m->p;
    int64_t n = m->c->experts;
    if (e->balance > 0) {
        hpc_value row = hpc_view(p, load, 2, (int64_t[]){1, n});
        hpc_matmul_attr at = {.trans_b = true, .alpha = e->balance * (double)n};
        add_to(p, &m->io->aux, hpc_matmul(p, io->prob, row, at));
    }
    if (e->z > 0) {
        hpc_value squares = hpc_binary(p, HPC_MUL, io->lse, io->lse);
        add_to(p, &m->io->aux, hpc_scale(p, HPC_NEW, column(p, squares), HPC_NONE, e->z));
    }
}

/* Numbers for the log: experts per token, and the slots that found no capacity. */
static void count_rows(const model_emitter *m, const hpc_dispatched *d)
{
    hpc_program *p = m->p;
    add_to(p, &m->io->active, hpc_reduce(p, HPC_NEW, d->load, HPC_SUM, HPC_OVER_ALL));
    add_to(p, &m->io->dropped, d->dropped);
}

/* The experts of each token: by the router, and in training by what the emission asks for. */
static hpc_value choose(const model_emitter *m, hpc_gate_io *io)
{
    const hpc_model_config *c = m->c;
    const hpc_expert_emission *e = m->o ? &m->o->experts : NULL;
    hpc_gate_attr attr = {
        .k = c->top_k, .normalise = c->normalise, .seed = m->seed, .tensor = m->block};
    if (e) io->wants_prob = e->balance > 0 || e->z > 0;
    if (e && e->gating == HPC_GATING_ANNEAL) {
        io->anneal = m->io->anneal;
        io->step = m->io->step;
        io->base = m->io->first;
        attr.k = c->experts;
        attr.noisy = e->noisy;
        attr.tensor += 1 << 16; /* other numbers than those of dropout */
    }
    return hpc_gate(m->p, io, attr);
}

/* Rows that an expert takes; 0: any number. */
static int64_t capacity(const model_emitter *m, hpc_value h)
{
    const hpc_model_config *c = m->c;
    if (!m->o || h < 0 || m->o->experts.gating != HPC_GATING_SWITCH) return 0;
    double mean = (double)(m->p->value[h].type.extent[0] * c->top_k) / (double)c->experts;
    return (int64_t)ceil(m->o->experts.capacity * mean);
}

/* The MLPs of rows that are sorted by expert, here or on the ranks of these experts. */
static hpc_value expert_mlps(const model_emitter *m, hpc_value x, const hpc_dispatched *d)
{
    hpc_value start = d->start, plan = HPC_NONE, rows = HPC_NONE;
    if (exchanges(m)) {
        plan = hpc_exchange_plan(m->p, &start, &rows, m->c->experts, m->o->experts.row_ranks);
        x = hpc_exchange(m->p, x, plan, rows, false);
    }
    hpc_value gate = grouped(m, HPC_PART_EXPERT_GATE, x, start);
    x = hpc_glu(m->p, gate, grouped(m, HPC_PART_EXPERT_UP, x, start), (hpc_act)m->c->act);
    x = grouped(m, HPC_PART_EXPERT_DOWN, x, start);
    return exchanges(m) ? hpc_exchange(m->p, x, plan, d->rows, true) : x;
}

/* The slots of tokens by expert. */
static hpc_dispatched dispatch(const model_emitter *m, hpc_value h, hpc_value expert)
{
    const hpc_model_config *c = m->c;
    hpc_dispatch_attr to = {
        .experts = c->experts, .cap = capacity(m, h), .wide = c->dtype == HPC_F64};
    if (to.cap == 0 || !m->o->experts.spread) return hpc_dispatch(m->p, expert, to);
    hpc_admitted in = hpc_admit(m->p, expert, to);
    to.cap = 0;
    hpc_dispatched d = hpc_dispatch(m->p, in.expert, to);
    d.dropped = in.dropped;
    d.load = in.load;
    return d;
}

static hpc_value experts(const model_emitter *m, hpc_value h)
{
    const hpc_model_config *c = m->c;
    hpc_program *p = m->p;
    hpc_gate_io io = {.logits = product(m, HPC_PART_ROUTER, h, HPC_NONE, HPC_NONE),
                      .bias = HPC_NONE,
                      .anneal = HPC_NONE,
                      .step = HPC_NONE,
                      .base = HPC_NONE};
    hpc_value weight = choose(m, &io);
    hpc_dispatched d = dispatch(m, h, io.expert);
    if (m->o && io.wants_prob) add_losses(m, &io, d.load);
    if (m->o) count_rows(m, &d);
    hpc_value x = expert_mlps(m, hpc_gather_own(p, h, d.token), &d);
    x = hpc_binary(p, HPC_MUL, x, row_weights(p, weight, d.slot));
    hpc_value y = hpc_scatter_own(p, x, d.token, h);
    return c->shared_ffn > 0 ? hpc_binary(p, HPC_ADD, y, shared_expert(m, h)) : y;
}

hpc_value model_block(model_emitter *m, int block, hpc_value x)
{
    m->block = block;
    m->p->tags.block = (int16_t)block;
    hpc_value o = attention(m, norm_before(m, HPC_PART_NORM1, x));
    hpc_value y = back(m, HPC_PART_O, HPC_PART_NORM1_AFTER, o, x);
    hpc_value h = norm_before(m, HPC_PART_NORM2, m->c->parallel ? x : y);
    if (hpc_model_config_has_experts(m->c, block))
        y = add_back(m, 2 * block + 2, HPC_PART_NORM2_AFTER, experts(m, h), y);
    else
        y = back(m, HPC_PART_DOWN, HPC_PART_NORM2_AFTER, mlp(m, h), y);
    m->p->tags.block = -1;
    m->block = -1;
    return y;
}

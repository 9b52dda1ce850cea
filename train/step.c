/*
 * step.c: emits a training step: forward, backward starting at the loss, the norm of the
 * gradients, refresh and update. A separate segment computes the loss alone, for validation.
 */
#include <math.h>
#include <string.h>

#include "train/plan.h"
#include "train/update_priv.h"

/* ---- what is updated ------------------------------------------------------------------------- */

hpc_value update_master(update *u, hpc_value v, hpc_type type)
{
    hpc_program *p = u->p;
    if (p->value[v].master >= 0) return p->value[v].master;
    const char *name = hpc_arena_text(p->arena, "master.%s", p->value[v].name);
    hpc_value m = name ? hpc_program_state(p, name, type, false) : HPC_NONE;
    if (m < 0) return m;
    p->value[v].master = m;
    p->value[m].param = v;
    return m;
}

/* A parameter in bf16 is a copy of its master in f32, which the update changes. */
static target target_of(update *u, const hpc_model_tensor *tensor, hpc_value v)
{
    hpc_program *p = u->p;
    hpc_type type = p->value[v].type;
    target t = {.name = tensor->name,
                .param = v,
                .half = HPC_NONE,
                .sum = p->value[v].grad,
                .index = HPC_NONE,
                .whole = v,
                .batch = type.rank > 2 ? type.extent[0] : 0,
                .m = type.extent[type.rank > 2 ? 1 : 0],
                .n = type.rank > 1 ? type.extent[type.rank - 1] : 1,
                .decay = tensor->decay ? u->o->decay : 0};
    t.grad = t.sum >= 0 ? update_rounded(u, &t) : HPC_NONE;
    if (p->value[v].index >= 0) sparse_target(u, &t, v);
    if (type.dtype != HPC_BF16 || t.index >= 0) return t;
    type.dtype = HPC_F32;
    t.param = update_master(u, v, type);
    t.half = v;
    return t;
}

static bool is_preconditioned(const update *u, const hpc_model_tensor *t)
{
    return u->o->kind >= HPC_OPT_MUON && t->role == HPC_ROLE_MATRIX && t->adapter == 0;
}

static void update_one(update *u, const hpc_model_tensor *tensor, const target *t)
{
    if (u->adama)
        adama_step(u, t);
    else if (!is_preconditioned(u, tensor))
        (hpc_optimizer_follows_sgd(u->o) ? update_sgd : update_adamw)(u, t);
    else if (u->o->kind == HPC_OPT_MUON)
        update_muon(u, t);
    else
        update_preconditioned(u, t);
}

static bool has_gradient(const update *u, hpc_value v)
{
    if (v < 0 || !u->p->value[v].trainable) return false;
    return u->adama ? adama_has(u, u->p->value[v].name) : u->p->value[v].grad >= 0;
}

/* Each parameter that has a gradient, in the table's order. */
static void for_each(update *u,
                     void (*visit)(update *u, const hpc_model_tensor *tensor, const target *t))
{
    const hpc_model_tensor *tensor = u->tensor;
    for (int64_t k = 0; k < u->tensor_n && u->p->error.code == HPC_OK; k++) {
        hpc_value v = hpc_program_find(u->p, tensor[k].name);
        if (!has_gradient(u, v)) continue;
        target t = target_of(u, &tensor[k], v);
        u->p->tags.block = (int16_t)tensor[k].block;
        u->p->tags.group = (int16_t)tensor[k].role;
        visit(u, &tensor[k], &t);
    }
}

/* A gradient that backward has completed. */
static int fold(hpc_program *p, hpc_value state, hpc_value gradient, void *user)
{
    update *u = user;
    for (int64_t k = 0; k < u->tensor_n; k++) {
        if (strcmp(u->tensor[k].name, p->value[state].name) != 0) continue;
        target t = target_of(u, &u->tensor[k], state);
        adama_add(u, &t, gradient);
    }
    return hpc_program_status(p);
}

/* ---- segments ------------------------------------------------------------------------------- */

static void add_squares(update *u, const hpc_model_tensor *tensor, const target *t)
{
    (void)tensor;
    hpc_value sum = hpc_program_find(u->p, "norm.squares");
    u->p->tags.anew = t->grad != t->sum;
    if (t->grad != t->sum) hpc_scale(u->p, t->grad, t->sum, HPC_NONE, 1);
    u->p->tags.anew = false;
    hpc_reduce(u->p, sum, t->grad, HPC_SUMSQ, HPC_OVER_ALL);
}

hpc_value update_squares(update *u, const hpc_step_options *s, hpc_dtype real)
{
    hpc_value sum = hpc_program_find(u->p, "norm.squares");
    hpc_type partial = hpc_type_of(real, 0, NULL);
    for (int a = 0; s->parallel && a < HPC_AXIS_N; a++) partial.layout[a] = HPC_PARTIAL;
    return sum >= 0 ? sum : hpc_program_state(u->p, "norm.squares", partial, false);
}

/* Global gradient norm, clipping factor, and the decision to update. */
static void emit_norm(update *u, const hpc_step_options *s, hpc_dtype real)
{
    hpc_program *p = u->p;
    hpc_step *io = u->io;
    io->norm = hpc_program_segment(p, HPC_UPDATE, 0);
    hpc_value sum = update_squares(u, s, real);
    if (!u->adama) hpc_fill(p, sum, 0);
    if (!u->adama) for_each(u, add_squares);
    io->grad_norm = map_power(u, sum, 1, 0.5);
    hpc_program_keep(p, io->grad_norm);
    io->ok = hpc_below(p, HPC_NEW, io->grad_norm, io->limit);
    hpc_program_keep(p, io->ok);
    if (u->adama) adama_norm(u, s);
    if (s->clip == 0 || u->adama) return;
    hpc_map_attr a = {.alpha = s->clip, .power = -1, .lo = 0, .hi = 1, .other = 1, .guarded = true};
    u->clip = hpc_map_each(p, io->grad_norm, a);
}

static void refresh_one(update *u, const hpc_model_tensor *tensor, const target *t)
{
    u->p->tags.guard = u->io->ok;
    if (is_preconditioned(u, tensor)) refresh_preconditioned(u, t);
}

/* A gradient that the next run would add to is cleared, even where its update is skipped. */
static void update_and_clear(update *u, const hpc_model_tensor *tensor, const target *t)
{
    u->p->tags.guard = u->io->ok;
    update_one(u, tensor, t);
    if (t->index >= 0)
        hpc_spread(u->p, t->whole, t->half >= 0 ? t->half : t->param, t->index, t->whole);
    u->p->tags.guard = HPC_NONE;
    if (!u->adama && !u->p->value[t->sum].anew) hpc_fill(u->p, t->sum, 0);
}

static void emit_update(update *u)
{
    hpc_program *p = u->p;
    u->io->refresh = -1;
    if (u->o->kind > HPC_OPT_MUON) {
        u->io->refresh = hpc_program_segment(p, HPC_REFRESH, 0);
        u->halves = u->o->halves == HPC_HALVES_ALL;
        for_each(u, refresh_one);
    }
    u->io->update = hpc_program_segment(p, HPC_UPDATE, 1);
    u->halves = u->o->halves != HPC_HALVES_NONE;
    for_each(u, update_and_clear);
}

static hpc_value scalar(hpc_program *p, const char *name, hpc_dtype d)
{
    return hpc_program_input(p, name, hpc_type_of(d, 0, NULL));
}

/* The axes of row and col with more than one rank. */
static hpc_axes split_of(const hpc_step_options *s)
{
    hpc_axes split = 0;
    for (int a = HPC_AXIS_ROW; s->parallel && a <= HPC_AXIS_COL; a++)
        if (s->parallel->grid.extent[a] > 1) split |= 1u << a;
    return split;
}

static bool is_sequence(const hpc_step_options *s)
{
    return s->parallel && s->parallel->sequence;
}

static bool is_interlaced(const hpc_step_options *s)
{
    return s->parallel && plan_is_interlaced(s->parallel);
}

/* Values of the forward segment and their gradients, at which the differentiation starts. */
typedef struct seeds {
    hpc_value of[6], grad[6]; /* of each half: the hidden state, the head, auxiliary losses */
    int64_t n;
} seeds;

static void add_seed(seeds *s, hpc_value of, hpc_value grad)
{
    s->of[s->n] = of;
    s->grad[s->n++] = grad;
}

/* The loss of some rows, and the gradients of its input and of a head with trained rows. */
static hpc_value emit_loss(seeds *out, hpc_program *p, const hpc_model_io *m, hpc_value weight,
                           const hpc_step_options *s)
{
    bool piped = s->parallel && s->parallel->grid.extent[HPC_AXIS_PIPE] > 1;
    const hpc_axes split = split_of(s);
    hpc_value counted = m->classes >= 0 ? m->classes : m->targets;
    hpc_value dhidden = HPC_NONE, dhead = HPC_NONE;
    bool parts = (split || is_interlaced(s)) && m->classes < 0,
         rows = m->token_rows >= 0 && m->classes < 0;
    bool alone =
        s->adama && m->head >= 0 && p->value[m->head].trainable && (m->head != m->table || piped);
    if (alone) dhead = HPC_NEW_WIDE; /* the head's only gradient, or sent to the first stage */
    hpc_value loss = (parts ? hpc_head_loss_of_parts_trained : hpc_head_loss_trained)(
        p, &dhidden, rows || alone ? &dhead : NULL, m->hidden, m->head, counted, weight,
        m->logit_cap);
    hpc_program_keep(p, loss);
    if (parts && dhidden >= 0) plan_stream(&p->value[dhidden].type, split, is_sequence(s));
    add_seed(out, m->hidden, dhidden);
    if (rows || alone) add_seed(out, m->head, dhead);
    if (m->aux >= 0)
        add_seed(out, m->aux,
                 hpc_view(p, weight, 2, (int64_t[]){p->value[m->aux].type.extent[0], 1}));
    return loss;
}

static int emit_gradients(update *u, const hpc_step_options *s)
{
    hpc_step *io = u->io;
    hpc_program *p = u->p;
    int rc;
    seeds from = {.n = 0};
    io->backward = hpc_program_segment(p, HPC_BACKWARD, 0);
    io->loss = emit_loss(&from, p, &io->model, io->weight, s);
    if (io->halves) io->second.loss = emit_loss(&from, p, &io->second.model, io->second.weight, s);
    hpc_diff_options d = {.forward = io->model.forward,
                          .backward = io->backward,
                          .accumulate = -1,
                          .anew = s->once && !s->adama,
                          .fold = s->adama ? fold : NULL,
                          .user = u,
                          .send = io->stage.chunks > 0,
                          .seed_of = from.of,
                          .seed = from.grad,
                          .seed_n = from.n};
    hpc_recompute_options r = {.forward = io->model.forward,
                               .backward = io->backward,
                               .policy = s->recompute,
                               .blocks = s->recompute_blocks,
                               .repeat_joined = s->repeat_joined};
    TRY(hpc_program_status(p));
    TRY(hpc_differentiate(p, &d));
    TRY(hpc_recompute(p, &r));
    io->last = io->backward;
    io->last_loss = io->loss;
    io->second.last_loss = io->second.loss;
    if (s->parallel && s->parallel->overlap && !s->once && io->stage.chunks == 0)
        TRY(io->last = hpc_program_segment(p, HPC_BACKWARD, 1)); /* filled by hpc_step_shard */
    rc = HPC_OK;
out:
    return rc;
}

static hpc_value weights_of(hpc_program *p, const char *name, hpc_value loss)
{
    hpc_type t = p->value[loss].type;
    hpc_split_rows(&t);
    return hpc_program_input(p, name, t);
}

/* Do ranks have other tokens each? */
static bool has_parts(const hpc_parallel *q)
{
    static const hpc_axis axes[] = {HPC_AXIS_DATA, HPC_AXIS_DEPTH, HPC_AXIS_EXPERT};
    for (size_t k = 0; k < sizeof axes / sizeof *axes; k++)
        if (q->grid.extent[axes[k]] > 1) return true;
    return q->sequence && q->grid.extent[HPC_AXIS_ROW] > 1;
}

/* Emits the model for all rows, or twice for half of the rows. */
static int emit_model(hpc_step *io, hpc_program *p, const hpc_model_config *c,
                      const hpc_step_options *s)
{
    hpc_model_emission e = s->model;
    int rc;
    e.apart = true;
    e.split = split_of(s);
    e.sequence = is_sequence(s);
    e.parts = is_interlaced(s);
    if (s->parallel) e.kv_heads = plan_kv_heads(s->parallel, c);
    if (s->parallel && s->parallel->grid.extent[HPC_AXIS_EXPERT] > 1) e.experts.row_ranks = 1;
    if (e.sequence && e.split >> HPC_AXIS_ROW & 1)
        e.experts.row_ranks = s->parallel->grid.extent[HPC_AXIS_ROW];
    e.experts.spread = s->parallel && has_parts(s->parallel);
    io->halves = s->parallel && s->parallel->halves;
    if (io->halves) e.tokens /= 2, e.sequences /= 2;
    TRY(hpc_model_emit(&io->model, p, c, &e));
    e.behind = &io->model;
    if (io->halves) TRY(hpc_model_emit(&io->second.model, p, c, &e));
    hpc_value embedded[2] = {io->model.embedded, io->halves ? io->second.model.embedded : HPC_NONE};
    for (int k = 0; k < 2; k++)
        if (embedded[k] >= 0) plan_stream(&p->value[embedded[k]].type, e.split, e.sequence);
out:
    return rc;
}

/* The stages of a pipeline, given or balanced by cost. */
static int divide_blocks(hpc_step *io, const hpc_program *p, const hpc_parallel *q)
{
    int stages = io->stage.ranks * io->stage.chunks;
    if (io->stage.chunks == 0) return HPC_OK;
    hpc_assert(q);
    memcpy(io->first, q->pipe.first, sizeof io->first);
    if (io->first[stages - 1] > 0) return HPC_OK;
    return hpc_stage_balance(io->first, stages, p, io->model.forward, io->backward);
}

int hpc_step_emit(hpc_step *io, hpc_program *p, const hpc_model_config *c,
                  const hpc_optimizer_config *o, const hpc_step_options *s)
{
    hpc_dtype real = c->dtype == HPC_F64 ? HPC_F64 : HPC_F32;
    update u = {.p = p,
                .o = o,
                .io = io,
                .clip = HPC_NONE,
                .parallel = s->parallel,
                .adama = s->adama,
                .clip_before = HPC_NONE};
    u.rounds = s->gradients == HPC_GRADIENTS_BF16 ||
               (s->gradients == HPC_GRADIENTS_AUTO && s->masks && c->dtype == HPC_BF16);
    hpc_model_tensor *tensor = NULL;
    int64_t n;
    int rc;
    *io = (hpc_step){.refresh = -1, .gather = -1, .moments_keep = HPC_NONE};
    if (s->parallel && s->parallel->grid.extent[HPC_AXIS_PIPE] > 1) {
        io->stage.ranks = s->parallel->grid.extent[HPC_AXIS_PIPE];
        io->stage.chunks = hpc_pipe_resolved(&s->parallel->pipe, io->stage.ranks).chunks;
        io->stage.interlaced = is_interlaced(s);
    }
    TRY(hpc_optimizer_check(o));
    TRY(hpc_model_tensors(&tensor, &n, c));
    u.tensor = tensor, u.tensor_n = n;
    TRY(emit_model(io, p, c, s));
    sparse_begin(p, s->masks);
    if (s->parallel) plan_parameters(p, s->parallel, c, tensor, n);
    sparse_lay_out(p, s->masks, s->parallel, s->coord);
    io->weight = weights_of(p, "weight", io->model.loss);
    if (io->halves) io->second.weight = weights_of(p, "weight.1", io->second.model.loss);
    io->lr = scalar(p, "lr", real);
    io->limit = scalar(p, "limit", real);
    if (s->adama) adama_begin(&u, s, real);
    TRY(emit_gradients(&u, s));
    if (s->parallel) plan_gradients(p, s->parallel);
    if (s->parallel && s->adama) adama_gradients(p, s->parallel);
    if (s->parallel && io->model.table == io->model.head)
        plan_tied(p, s->parallel, io->model.table);
    TRY(divide_blocks(io, p, s->parallel));
    emit_norm(&u, s, real);
    emit_update(&u);
    TRY(hpc_program_status(p));
out:
    hpc_free(tensor);
    return rc;
}

/* The loss alone is not part of a step. */
int64_t hpc_step_times(const hpc_step *io, int s, int64_t microbatches)
{
    int more = io->stage.chunks > 1 ? io->stage.chunks - 1 : 0;
    if (s == io->model.forward_head || (s == io->gather && io->gathers)) return 0;
    if (io->stage.interlaced &&
        (s == hpc_stage_embed(&io->stage) || s == hpc_stage_head(&io->stage) ||
         s == hpc_stage_table(&io->stage)))
        return microbatches;
    if (s >= io->model.forward && s <= io->model.forward + more) return microbatches;
    if (s >= io->backward - more && s <= io->backward)
        return microbatches - (io->last != io->backward);
    return 1;
}

bool hpc_step_refreshes(const hpc_optimizer_config *o, int64_t step)
{
    return o->kind > HPC_OPT_MUON && (step <= o->burst || step % o->interval == 0);
}

/* ---- initial values -------------------------------------------------------------------------- */

void update_start(update *u, hpc_value v, double identity)
{
    hpc_step *io = u->io;
    if (v < 0) return;
    /* Doubled by copying: an arena has no realloc, and there are few entries. */
    if ((io->start_n & (io->start_n - 1)) == 0) {
        int64_t room = io->start_n ? 2 * io->start_n : 1;
        hpc_step_start *more = hpc_arena_alloc(u->p->arena, (size_t)room, sizeof *more);
        if (!more) return;
        if (io->start_n) memcpy(more, io->start, (size_t)io->start_n * sizeof *more);
        io->start = more;
    }
    io->start[io->start_n++] = (hpc_step_start){v, identity};
}

static const hpc_step_start *start_of(const hpc_step *io, hpc_value v)
{
    for (int64_t k = 0; k < io->start_n; k++)
        if (io->start[k].state == v) return &io->start[k];
    return NULL;
}

static int64_t elements(const hpc_type *t)
{
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++) n *= t->extent[k];
    return n;
}

static void begin(float *out, const hpc_step_start *s, const hpc_type *t)
{
    int64_t n = elements(t), b = t->rank > 0 ? t->extent[t->rank - 1] : 1;
    for (int64_t k = 0; k < n; k++) out[k] = k % (b * b) % (b + 1) ? 0 : (float)s->identity;
}

void hpc_step_initial(float *out, const hpc_step *io, hpc_value v, const hpc_type *t,
                      const hpc_model_config *c)
{
    const hpc_step_start *s = start_of(io, v);
    memset(out, 0, (size_t)elements(t) * sizeof *out);
    if (v == io->model.freq) hpc_rope_frequencies(out, c);
    if (v == io->model.local_freq) hpc_rope_local_frequencies(out, c);
    if (s) begin(out, s, t);
}

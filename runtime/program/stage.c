/*
 * stage.c: cuts the program of a pipeline's ranks into that of one stage: assigns instructions to
 * stages by block, sends what other ranks read, and drops the rest. It does not choose a schedule.
 */
#include <stdio.h>

#include "runtime/program/priv.h"
#include "runtime/program/stage.h"

enum { NOWHERE = -1, EVERY = -2 /* rank */ };

typedef struct message { /* of a value, from one rank to another */
    hpc_value value;
    int from, to; /* ranks */
    int segment;  /* old: where it is received; */
    int stage;    /* and by which stage */
    int edge;     /* number among the messages between these ranks */
} message;

typedef struct cutter {
    hpc_program *p;
    hpc_stage_options *o;
    int **stage;      /* by segment and instruction, of forward and backward; else NULL */
    int *made_by;     /* by value: stage of a temporary of forward or backward; NOWHERE */
    int *held;        /* by state: the rank that has it; EVERY, NOWHERE: not known */
    message *message; /* in the order of the instructions that need them */
    int64_t message_n, message_cap;
} cutter;

static int stages_of(const hpc_stage_options *o)
{
    return o->ranks * o->chunks;
}

static int rank_of(const cutter *w, int stage)
{
    return stage % w->o->ranks;
}

static bool is_cut(const hpc_segment *s)
{
    return s->phase == HPC_FORWARD || s->phase == HPC_BACKWARD;
}

/* ---- stages of instructions ------------------------------------------------------------------ */

static int stage_of_block(const hpc_stage_options *o, int block)
{
    int k = stages_of(o) - 1;
    while (k > 0 && o->first[k] > block) k--;
    return k;
}

/* Without a block: where its operands are; in forward the last such stage, in backward the first.
 */
static int stage_by_operands(const cutter *w, const hpc_insn *i, bool backward)
{
    int stage = NOWHERE;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || !(hpc_insn_role(w->p, i, k) & HPC_IN)) continue;
        int at = w->made_by[i->operand[k]];
        if (at == NOWHERE) continue;
        bool before = stage == NOWHERE || (backward ? at < stage : at > stage);
        if (before) stage = at;
    }
    return stage;
}

static void note_made(cutter *w, const hpc_insn *i, int stage)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(w->p, i, k) & HPC_OUT &&
            w->p->value[i->operand[k]].kind == HPC_VALUE_TEMP)
            w->made_by[i->operand[k]] = stage;
}

/* Values computed from state and inputs alone belong to their first reader. */
static void ask_readers(cutter *w, int s)
{
    const hpc_segment *g = &w->p->segment[s];
    for (int64_t k = g->insn_n - 1; k >= 0; k--)
        for (int64_t n = k + 1; n < g->insn_n && w->stage[s][k] == NOWHERE; n++)
            for (int a = 0; a < g->insn[n].op->sig.operand_n; a++) {
                hpc_value v = g->insn[n].operand[a];
                if (v < 0 || !(hpc_insn_role(w->p, &g->insn[n], a) & HPC_IN)) continue;
                for (int b = 0; b < g->insn[k].op->sig.operand_n; b++)
                    if (g->insn[k].operand[b] == v &&
                        hpc_insn_role(w->p, &g->insn[k], b) & HPC_OUT &&
                        w->p->value[v].kind == HPC_VALUE_TEMP)
                        w->stage[s][k] = w->stage[s][n];
            }
    for (int64_t k = 0; k < g->insn_n; k++) {
        if (w->stage[s][k] == NOWHERE) w->stage[s][k] = 0;
        note_made(w, &g->insn[k], w->stage[s][k]);
    }
}

static int assign_stages(cutter *w)
{
    for (int64_t s = 0; s < w->p->segment_n; s++) {
        const hpc_segment *g = &w->p->segment[s];
        if (!is_cut(g)) continue;
        w->stage[s] = hpc_alloc((size_t)g->insn_n + 1, sizeof **w->stage);
        if (!w->stage[s]) return HPC_E_NOMEM;
        for (int64_t k = 0; k < g->insn_n; k++) {
            const hpc_insn *i = &g->insn[k];
            int stage = i->tags.block >= 0 ? stage_of_block(w->o, i->tags.block)
                                           : stage_by_operands(w, i, g->phase == HPC_BACKWARD);
            w->stage[s][k] = stage;
            if (stage != NOWHERE) note_made(w, i, stage);
        }
        ask_readers(w, (int)s);
    }
    return HPC_OK;
}

/* ---- messages -------------------------------------------------------------------------------- */

static int check_value(const cutter *w, hpc_value v)
{
    char text[128];
    const hpc_type *t = &w->p->value[v].type;
    if (t->ragged < 0) return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "%%%d, %s, would be sent to another stage: its extent varies", v,
                    hpc_type_text(text, t));
}

static int add_message(cutter *w, hpc_value v, int from, int to, int segment, int stage)
{
    int edge = 0, rc = check_value(w, v);
    if (rc < 0) return rc;
    for (int64_t k = 0; k < w->message_n; k++) {
        const message *m = &w->message[k];
        if (m->value == v && m->to == to) return HPC_OK;
        edge += m->from == from && m->to == to;
    }
    rc = hpc_grow(&w->message, &w->message_cap, w->message_n + 1, sizeof *w->message);
    if (rc < 0) return rc;
    w->message[w->message_n++] = (message){v, from, to, segment, stage, edge};
    return HPC_OK;
}

static int find_messages(cutter *w)
{
    int rc = HPC_OK;
    for (int64_t s = 0; s < w->p->segment_n; s++)
        for (int64_t k = 0; w->stage[s] && k < w->p->segment[s].insn_n; k++) {
            const hpc_insn *i = &w->p->segment[s].insn[k];
            int to = rank_of(w, w->stage[s][k]);
            for (int a = 0; a < i->op->sig.operand_n; a++) {
                hpc_value v = i->operand[a];
                if (v < 0 || !(hpc_insn_role(w->p, i, a) & HPC_IN)) continue;
                if (w->made_by[v] == NOWHERE || rank_of(w, w->made_by[v]) == to) continue;
                TRY(add_message(w, v, rank_of(w, w->made_by[v]), to, (int)s, w->stage[s][k]));
            }
        }
out:
    return rc;
}

/* ---- ranks of state -------------------------------------------------------------------------- */

static bool is_partial(const cutter *w, hpc_value v)
{
    return w->p->value[v].type.layout[HPC_AXIS_PIPE] == HPC_PARTIAL;
}

static void hold(cutter *w, hpc_value v, int rank)
{
    hpc_value root = hpc_value_root(w->p, v);
    if (root < 0 || w->p->value[root].kind != HPC_VALUE_STATE) return;
    if (w->held[root] == NOWHERE)
        w->held[root] = rank;
    else if (w->held[root] != rank)
        w->held[root] = EVERY;
}

/* State that forward and backward name is held by their ranks. */
static void hold_used(cutter *w)
{
    for (int64_t s = 0; s < w->p->segment_n; s++)
        for (int64_t k = 0; w->stage[s] && k < w->p->segment[s].insn_n; k++) {
            const hpc_insn *i = &w->p->segment[s].insn[k];
            for (int a = 0; a < i->op->sig.operand_n; a++)
                hold(w, i->operand[a], rank_of(w, w->stage[s][k]));
        }
    for (int64_t v = 0; v < w->p->value_n; v++)
        if (is_partial(w, (hpc_value)v)) w->held[v] = EVERY;
}

/* The one rank that has what the instruction reads or writes; EVERY, or NOWHERE: not known yet. In
 * `held` temporaries have entries too. *second: another such rank. */
static int rank_by_operands(const cutter *w, const hpc_insn *i, int *second)
{
    int rank = NOWHERE;
    *second = NOWHERE;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = hpc_value_root(w->p, i->operand[k]);
        int at = v >= 0 ? w->held[v] : NOWHERE;
        if (at == NOWHERE) continue;
        if (at >= 0 && rank >= 0 && at != rank) *second = at;
        if (at >= 0 || rank == NOWHERE) rank = at;
    }
    return rank;
}

/* State of the optimizer follows the parameter that it is computed with. */
static int spread_ranks(cutter *w)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (int64_t s = 0; s < w->p->segment_n; s++)
            for (int64_t k = 0; !w->stage[s] && k < w->p->segment[s].insn_n; k++) {
                const hpc_insn *i = &w->p->segment[s].insn[k];
                int second, rank = rank_by_operands(w, i, &second);
                if (second != NOWHERE) {
                    char where[96];
                    return hpc_fail(HPC_E_UNSUPPORTED, "%s reads state of ranks %d and %d",
                                    hpc_insn_where(where, w->p, (int)s, k), rank, second);
                }
                if (rank < 0) continue;
                for (int a = 0; a < i->op->sig.operand_n; a++) {
                    hpc_value v = hpc_value_root(w->p, i->operand[a]);
                    if (v < 0 || !(hpc_insn_role(w->p, i, a) & HPC_OUT)) continue;
                    changed = changed || w->held[v] == NOWHERE;
                    if (w->held[v] == NOWHERE) w->held[v] = rank;
                }
            }
    }
    return HPC_OK;
}

static int check_shared(const cutter *w)
{
    for (int64_t v = 0; v < w->p->value_n; v++) {
        const hpc_value_info *info = &w->p->value[v];
        if (!info->trainable || w->held[v] != EVERY || info->grad < 0) continue;
        if (!is_partial(w, info->grad))
            return hpc_fail(HPC_E_UNSUPPORTED, "%s is used by several stages of the pipeline",
                            info->name);
    }
    return HPC_OK;
}

static int assign_ranks(cutter *w)
{
    int rc;
    hold_used(w);
    TRY(spread_ranks(w));
    TRY(check_shared(w));
    for (int64_t v = 0; v < w->p->value_n; v++) {
        hpc_value_info *info = &w->p->value[v];
        if (info->kind != HPC_VALUE_STATE || w->held[v] < 0) continue;
        info->type.layout[HPC_AXIS_PIPE] = (int8_t)HPC_AT(w->held[v]);
        info->absent = w->held[v] != w->o->rank;
    }
out:
    return rc;
}

/* ---- the rank's segments --------------------------------------------------------------------- */

/* Adds something that all ranks have to sums of which each rank has a part: once. */
static bool adds_once(const cutter *w, const hpc_insn *i)
{
    bool whole = false, adds = false;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = hpc_value_root(w->p, i->operand[k]);
        if (v < 0) continue;
        int role = hpc_insn_role(w->p, i, k);
        if (role == HPC_INOUT && is_partial(w, v)) adds = true;
        if (role == HPC_IN && !is_partial(w, v)) whole = true;
    }
    return adds && whole;
}

static bool runs_here(const cutter *w, int s, int64_t k, int stage)
{
    const hpc_insn *i = &w->p->segment[s].insn[k];
    int second;
    if (w->stage[s]) return w->stage[s][k] == stage;
    int rank = rank_by_operands(w, i, &second);
    if (rank >= 0) return rank == w->o->rank;
    return w->o->rank == 0 || !adds_once(w, i);
}

static int append(hpc_program *p, hpc_segment *to, const hpc_insn *i)
{
    int rc = hpc_grow(&to->insn, &to->insn_cap, to->insn_n + 1, sizeof *to->insn);
    if (rc >= 0) to->insn[to->insn_n++] = *i;
    (void)p;
    return rc;
}

static int append_message(cutter *w, hpc_segment *to, const message *m, bool send, hpc_phase phase)
{
    hpc_program *p = w->p;
    hpc_comm_attr *a = hpc_arena_alloc(p->arena, 1, sizeof *a);
    if (!a) return HPC_E_NOMEM;
    *a = (hpc_comm_attr){
        .axes = 1u << HPC_AXIS_PIPE, .peer = send ? m->to : m->from, .tag = m->edge};
    a->type = p->value[m->value].type;
    hpc_insn i = {.op = send ? &hpc_op_send : &hpc_op_recv,
                  .operand = {m->value},
                  .attr = a,
                  .tags = {.phase = phase,
                           .block = -1,
                           .microbatch = -1,
                           .group = -1,
                           .origin = -1,
                           .guard = HPC_NONE}};
    if (!send) p->value[m->value].base = HPC_NONE;
    return append(p, to, &i);
}

static int receive(cutter *w, hpc_segment *to, int s, int stage, hpc_phase phase)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < w->message_n; k++) {
        const message *m = &w->message[k];
        if (m->to == w->o->rank && m->segment == s && m->stage == stage)
            TRY(append_message(w, to, m, false, phase));
    }
out:
    return rc;
}

static int send_made(cutter *w, hpc_segment *to, const hpc_insn *i, hpc_phase phase)
{
    int rc = HPC_OK;
    for (int a = 0; a < i->op->sig.operand_n; a++) {
        if (!(hpc_insn_role(w->p, i, a) & HPC_OUT)) continue;
        for (int64_t k = 0; k < w->message_n; k++)
            if (w->message[k].value == i->operand[a] && w->message[k].from == w->o->rank)
                TRY(append_message(w, to, &w->message[k], true, phase));
    }
out:
    return rc;
}

/* The instructions of old segment s that stage `stage` runs, or of a later phase this rank. */
static int fill(cutter *w, hpc_segment *to, int s, int stage)
{
    const hpc_segment *g = &w->p->segment[s];
    int rc = HPC_OK;
    if (w->stage[s]) TRY(receive(w, to, s, stage, g->phase));
    for (int64_t k = 0; k < g->insn_n; k++) {
        if (!runs_here(w, s, k, stage)) continue;
        TRY(append(w->p, to, &g->insn[k]));
        if (w->stage[s]) TRY(send_made(w, to, &g->insn[k], g->phase));
    }
out:
    return rc;
}

/* Chunks of forward ascend, those of backward descend. A segment that is not divided belongs to the
 * last stage, or in later phases to all. */
static int divide(cutter *w, hpc_segment *out, int *out_n, int s)
{
    const hpc_segment *g = &w->p->segment[s];
    int last = stages_of(w->o) - 1, rc = HPC_OK;
    bool forward = s == w->o->forward, backward = s == w->o->backward;
    int n = forward || backward ? w->o->chunks : 1;
    for (int k = 0; k < n; k++) {
        int chunk = backward ? n - 1 - k : k;
        int stage = forward || backward ? chunk * w->o->ranks + w->o->rank : last;
        hpc_segment *to = &out[(*out_n)++];
        *to =
            (hpc_segment){.phase = g->phase, .index = chunk > 0 ? g->index + 1 + chunk : g->index};
        snprintf(to->name, sizeof to->name, "%s[%d]", hpc_phase_name(g->phase), to->index);
        if (!w->stage[s] || forward || backward || rank_of(w, last) == w->o->rank)
            TRY(fill(w, to, s, stage));
    }
out:
    return rc;
}

static void note_places(hpc_program *p)
{
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            const hpc_insn *i = &p->segment[s].insn[k];
            for (int a = 0; a < i->op->sig.operand_n; a++) {
                if (!(hpc_insn_role(p, i, a) & HPC_OUT)) continue;
                hpc_value_info *v = &p->value[i->operand[a]];
                if (v->kind != HPC_VALUE_TEMP) continue;
                v->segment = (int32_t)s;
                v->insn = (int32_t)k;
            }
        }
}

static int rebuild(cutter *w)
{
    hpc_program *p = w->p;
    hpc_stage_options *o = w->o;
    size_t n = (size_t)p->segment_n + 2 * (size_t)o->chunks;
    hpc_segment *out = hpc_alloc(n, sizeof *out);
    int out_n = 0, rc = HPC_OK, forward = o->forward, backward = o->backward;
    if (!out) return HPC_E_NOMEM;
    for (int s = 0; s < p->segment_n; s++) {
        if (o->moved) o->moved[s] = out_n;
        TRY(divide(w, out, &out_n, s));
        if (s == o->forward) forward = out_n - o->chunks;
        if (s == o->backward) backward = out_n - 1;
    }
    for (int64_t s = 0; s < p->segment_n; s++) hpc_free(p->segment[s].insn);
    hpc_free(p->segment);
    p->segment = out;
    p->segment_n = out_n;
    p->segment_cap = (int64_t)n;
    p->current = 0;
    out = NULL;
    o->forward = forward;
    o->backward = backward;
    note_places(p);
    hpc_versions_count(p);
    TRY(hpc_program_check(p));
out:
    for (int k = 0; out && k < out_n; k++) hpc_free(out[k].insn);
    hpc_free(out);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int blocks_of(const hpc_program *p, int s)
{
    int n = 0;
    for (int64_t k = 0; k < p->segment[s].insn_n; k++)
        if (p->segment[s].insn[k].tags.block >= n) n = p->segment[s].insn[k].tags.block + 1;
    return n;
}

static int check_options(const hpc_program *p, const hpc_stage_options *o)
{
    if (o->ranks < 1 || o->chunks < 1 || o->rank < 0 || o->rank >= o->ranks ||
        stages_of(o) > HPC_STAGES)
        return hpc_fail(HPC_E_ARG, "stage %d of %d ranks with %d stages each; at most %d in all",
                        o->rank, o->ranks, o->chunks, HPC_STAGES);
    int blocks = blocks_of(p, o->forward);
    for (int k = 0; k < stages_of(o); k++) {
        int least = k ? o->first[k - 1] + 1 : 0;
        if (o->first[k] < least || o->first[k] >= blocks || (k == 0 && o->first[k] != 0))
            return hpc_fail(HPC_E_SHAPE,
                            "stage %d of %d begins with block %d: give each stage at "
                            "least one of the %d blocks",
                            k, stages_of(o), o->first[k], blocks);
    }
    return HPC_OK;
}

int hpc_stage(hpc_program *p, hpc_stage_options *o)
{
    cutter w = {.p = p, .o = o};
    size_t n = (size_t)p->value_n + 1;
    int64_t segments = p->segment_n;
    int rc;
    TRY(check_options(p, o));
    w.stage = hpc_alloc((size_t)segments + 1, sizeof *w.stage);
    w.made_by = hpc_alloc(n, sizeof *w.made_by);
    w.held = hpc_alloc(n, sizeof *w.held);
    if (!w.stage || !w.made_by || !w.held) TRY(HPC_E_NOMEM);
    for (size_t v = 0; v < n; v++) w.made_by[v] = w.held[v] = NOWHERE;
    TRY(assign_stages(&w));
    TRY(find_messages(&w));
    TRY(assign_ranks(&w));
    TRY(rebuild(&w));
out:
    for (int64_t s = 0; w.stage && s < segments; s++) hpc_free(w.stage[s]);
    hpc_free(w.stage);
    hpc_free(w.made_by);
    hpc_free(w.held);
    hpc_free(w.message);
    return rc;
}

/* ---- balance --------------------------------------------------------------------------------- */

static void add_costs(double *cost, int blocks, const hpc_program *p, int s)
{
    bool first = p->segment[s].phase == HPC_FORWARD;
    int before = 0;
    for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
        const hpc_insn *i = &p->segment[s].insn[k];
        hpc_cost c = hpc_insn_cost(p, i);
        if (i->tags.block >= 0) before = 1;
        int at = i->tags.block >= 0 ? i->tags.block : first != before ? 0 : blocks - 1;
        cost[at] += c.flops + c.bytes;
    }
}

/* Blocks from `from` on in `stages` groups of at most `most`; false: they do not fit. */
static bool divide_by(int *first, const double *cost, int blocks, int stages, double most)
{
    int at = 0;
    for (int k = 0; k < stages; k++) {
        double sum = 0;
        first[k] = at;
        int end = blocks - (stages - 1 - k); /* the others need a block each */
        while (at < end && (at == first[k] || sum + cost[at] <= most)) sum += cost[at++];
        if (sum > most) return false;
    }
    return at == blocks;
}

int hpc_stage_balance(int *first, int stages, const hpc_program *p, int forward, int backward)
{
    enum { HALVINGS = 60 };
    int blocks = blocks_of(p, forward);
    double low = 0, high = 0;
    if (stages > blocks)
        return hpc_fail(HPC_E_SHAPE, "%d stages for %d blocks: use at most %d", stages, blocks,
                        blocks);
    double *cost = hpc_alloc((size_t)blocks + 1, sizeof *cost);
    if (!cost) return HPC_E_NOMEM;
    add_costs(cost, blocks, p, forward);
    add_costs(cost, blocks, p, backward);
    for (int k = 0; k < blocks; k++) high += cost[k];
    for (int k = 0; k < HALVINGS; k++) {
        double middle = (low + high) / 2;
        if (divide_by(first, cost, blocks, stages, middle))
            high = middle;
        else
            low = middle;
    }
    hpc_assert(divide_by(first, cost, blocks, stages, high));
    hpc_free(cost);
    return HPC_OK;
}

/*
 * stage.c: cuts the program of a pipeline's ranks into that of one stage: assigns instructions to
 * stages by block, sends what other ranks read, and drops the rest. It does not choose a schedule.
 */
#include <stdio.h>

#include "runtime/program/stage_priv.h"

enum { NOWHERE = -1, EVERY = -2 /* rank */ };
enum { STAGE_UNDIVIDED = -4 }; /* shared instructions, and those of the last stage */

typedef struct message { /* of a value, from one rank to another */
    hpc_value value;
    int from, to; /* ranks */
    int segment;  /* old: where it is received; */
    int stage;    /* and by which stage; shared: the segment also sends it */
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

static int last_stage(const hpc_stage_options *o)
{
    return stages_of(o) - 1;
}

static int rank_of(const cutter *w, int stage)
{
    return stage_is_shared(stage) ? EVERY : stage % w->o->ranks;
}

static bool is_cut(const hpc_segment *s)
{
    return s->phase == HPC_FORWARD || s->phase == HPC_BACKWARD;
}

/* ---- stages of instructions ------------------------------------------------------------------ */

static int stage_of_block(const hpc_stage_options *o, int block)
{
    int k = last_stage(o);
    while (k > 0 && o->first[k] > block) k--;
    return k;
}

/* The stage that reads the sums with which shared instructions of old segment s end. */
static int stage_after_shared(const cutter *w, int s)
{
    return s == w->o->forward ? 0 : last_stage(w->o);
}

/* Without a block: where its operands are; in forward the last such stage, in backward the first.
 */
static int stage_by_operands(const cutter *w, const hpc_insn *i, int s)
{
    bool backward = w->p->segment[s].phase == HPC_BACKWARD;
    int stage = NOWHERE;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0 || !(hpc_insn_role(w->p, i, k) & HPC_IN)) continue;
        int at = w->made_by[i->operand[k]];
        if (stage_is_shared(at)) at = stage_after_shared(w, s);
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

/* Backward alone has shared instructions that read what its stages compute. */
static int check_shared_insn(const cutter *w, int s, int64_t k)
{
    char where[96];
    if (w->stage[s][k] != STAGE_SHARED_LATE || s == w->o->backward) return HPC_OK;
    return hpc_fail(
        HPC_E_UNSUPPORTED,
        "%s, which all ranks along pipe run, reads what a stage of its segment computes",
        hpc_insn_where(where, w->p, s, k));
}

static int assign_segment(cutter *w, int s)
{
    const hpc_segment *g = &w->p->segment[s];
    int rc = HPC_OK;
    w->stage[s] = hpc_alloc((size_t)g->insn_n + 1, sizeof **w->stage);
    if (!w->stage[s]) return HPC_E_NOMEM;
    for (int64_t k = 0; k < g->insn_n; k++) w->stage[s][k] = NOWHERE;
    if (w->o->interlaced) TRY(stage_find_shared(w->stage[s], w->p, s));
    for (int64_t k = 0; k < g->insn_n; k++) {
        const hpc_insn *i = &g->insn[k];
        int *stage = &w->stage[s][k];
        TRY(check_shared_insn(w, s, k));
        if (*stage == NOWHERE)
            *stage = i->tags.block >= 0 ? stage_of_block(w->o, i->tags.block)
                                        : stage_by_operands(w, i, s);
        if (*stage != NOWHERE) note_made(w, i, *stage);
    }
    ask_readers(w, s);
out:
    return rc;
}

static int assign_stages(cutter *w)
{
    int rc = HPC_OK;
    for (int s = 0; s < w->p->segment_n; s++)
        if (is_cut(&w->p->segment[s])) TRY(assign_segment(w, s));
out:
    return rc;
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
        bool shared = stage_is_shared(m->stage) || stage_is_shared(stage);
        if (m->value == v && m->to == to && shared && (m->segment != segment || m->stage != stage))
            return hpc_fail(HPC_E_UNSUPPORTED, "rank %d along pipe reads %%%d in two segments", to,
                            v);
        if (m->value == v && m->to == to) return HPC_OK;
        edge += m->from == from && m->to == to;
    }
    rc = hpc_grow(&w->message, &w->message_cap, w->message_n + 1, sizeof *w->message);
    if (rc < 0) return rc;
    w->message[w->message_n++] = (message){v, from, to, segment, stage, edge};
    return HPC_OK;
}

/* Only one rank has memory for what a shared segment leaves, and for other segments' values. */
static int check_shared_value(const cutter *w, hpc_value v, int s, int64_t k)
{
    const hpc_value_info *info = &w->p->value[v];
    int made = w->made_by[v], stage = w->stage[s][k];
    char where[96];
    bool reads = stage_is_shared(stage)
                     ? info->segment == s && made == stage
                     : made == STAGE_SHARED &&
                           rank_of(w, stage) == rank_of(w, stage_after_shared(w, info->segment));
    if (reads) return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s reads %%%d, which only lasts on another rank along pipe",
                    hpc_insn_where(where, w->p, s, k), v);
}

/* Adds the messages that instruction k waits for. */
static int find_messages_of(cutter *w, int s, int64_t k)
{
    const hpc_insn *i = &w->p->segment[s].insn[k];
    int stage = w->stage[s][k], to = rank_of(w, stage), rc = HPC_OK;
    for (int a = 0; a < i->op->sig.operand_n; a++) {
        hpc_value v = i->operand[a];
        if (v < 0 || !(hpc_insn_role(w->p, i, a) & HPC_IN) || w->made_by[v] == NOWHERE) continue;
        int from = rank_of(w, w->made_by[v]);
        if (from == EVERY) TRY(check_shared_value(w, v, s, k));
        if (from == EVERY || from == to) continue;
        for (int r = 0; r < w->o->ranks; r++)
            if (r != from && (r == to || to == EVERY)) TRY(add_message(w, v, from, r, s, stage));
    }
out:
    return rc;
}

static int find_messages(cutter *w)
{
    int rc = HPC_OK;
    for (int s = 0; s < w->p->segment_n; s++)
        for (int64_t k = 0; w->stage[s] && k < w->p->segment[s].insn_n; k++)
            TRY(find_messages_of(w, s, k));
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
        if (info->type.layout[HPC_AXIS_PIPE] <= 0 && !is_partial(w, info->grad))
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
        if (role == HPC_IN && w->p->value[v].type.layout[HPC_AXIS_PIPE] == HPC_REPLICATED)
            whole = true;
    }
    return adds && whole;
}

static bool runs_here(const cutter *w, int s, int64_t k, int stage)
{
    const hpc_insn *i = &w->p->segment[s].insn[k];
    int second, own = w->stage[s] ? w->stage[s][k] : NOWHERE;
    if (w->stage[s] && stage == STAGE_UNDIVIDED)
        return stage_is_shared(own) || (own == last_stage(w->o) && rank_of(w, own) == w->o->rank);
    if (w->stage[s]) return own == stage;
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

static bool is_of(const message *m, int s, int stage)
{
    return m->segment == s && (m->stage == stage || stage == STAGE_UNDIVIDED);
}

/* A segment's messages come first: shared ones that it sends, and all that it receives. */
static int begin_with_messages(cutter *w, hpc_segment *to, int s, int stage, hpc_phase phase)
{
    int rc = HPC_OK;
    for (int send = 1; send >= 0; send--)
        for (int64_t k = 0; k < w->message_n; k++) {
            const message *m = &w->message[k];
            bool own =
                send ? m->from == w->o->rank && stage_is_shared(m->stage) : m->to == w->o->rank;
            if (own && is_of(m, s, stage)) TRY(append_message(w, to, m, send, phase));
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
            if (w->message[k].value == i->operand[a] && w->message[k].from == w->o->rank &&
                !stage_is_shared(w->message[k].stage))
                TRY(append_message(w, to, &w->message[k], true, phase));
    }
out:
    return rc;
}

/* The instructions of old segment s that stage `stage` runs or that are shared, or of a later
 * phase this rank. */
static int fill(cutter *w, hpc_segment *to, int s, int stage)
{
    const hpc_segment *g = &w->p->segment[s];
    int rc = HPC_OK;
    if (w->stage[s]) TRY(begin_with_messages(w, to, s, stage, g->phase));
    for (int64_t k = 0; k < g->insn_n; k++) {
        if (!runs_here(w, s, k, stage)) continue;
        TRY(append(w->p, to, &g->insn[k]));
        if (w->stage[s]) TRY(send_made(w, to, &g->insn[k], g->phase));
    }
out:
    return rc;
}

/* "head" waits for activations. */
static int add_shared(cutter *w, hpc_segment *to, int s, int stage, const char *name)
{
    hpc_phase phase = stage == STAGE_SHARED ? HPC_FORWARD : w->p->segment[s].phase;
    *to = (hpc_segment){.phase = phase, .index = w->p->segment[s].index};
    snprintf(to->name, sizeof to->name, "%s", name);
    return fill(w, to, s, stage);
}

static int add_segment(cutter *w, hpc_segment *to, int s, int stage, int chunk)
{
    const hpc_segment *g = &w->p->segment[s];
    *to = (hpc_segment){.phase = g->phase, .index = chunk > 0 ? g->index + 1 + chunk : g->index};
    snprintf(to->name, sizeof to->name, "%s[%d]", hpc_phase_name(g->phase), to->index);
    return fill(w, to, s, stage);
}

/* Chunks of forward ascend, those of backward descend. */
static int divide(cutter *w, hpc_segment *out, int *out_n, int s)
{
    bool backward = s == w->o->backward, shared = w->o->interlaced;
    int n = w->o->chunks, rc = HPC_OK;
    if (s != w->o->forward && !backward) {
        rc = add_segment(w, &out[(*out_n)++], s, STAGE_UNDIVIDED, 0);
        goto out;
    }
    if (shared) TRY(add_shared(w, &out[(*out_n)++], s, STAGE_SHARED, backward ? "head" : "embed"));
    for (int k = 0; k < n; k++) {
        int chunk = backward ? n - 1 - k : k;
        TRY(add_segment(w, &out[(*out_n)++], s, chunk * w->o->ranks + w->o->rank, chunk));
    }
    if (shared && backward) TRY(add_shared(w, &out[(*out_n)++], s, STAGE_SHARED_LATE, "table"));
out:
    return rc;
}

/* Views of a value that is received here, and was a view itself. */
static void bind_views(hpc_program *p)
{
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++)
            if (p->segment[s].insn[k].op->view) hpc_view_bind(p, &p->segment[s].insn[k]);
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
    enum { SHARED = 3 };
    size_t n = (size_t)p->segment_n + 2 * (size_t)o->chunks + SHARED;
    hpc_segment *out = hpc_alloc(n, sizeof *out);
    int out_n = 0, rc = HPC_OK, forward = o->forward, backward = o->backward;
    if (!out) return HPC_E_NOMEM;
    for (int s = 0; s < p->segment_n; s++) {
        if (o->moved) o->moved[s] = out_n;
        TRY(divide(w, out, &out_n, s));
        if (s == o->forward) forward = out_n - o->chunks;
        if (s == o->backward) backward = out_n - 1 - o->interlaced;
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
    bind_views(p);
    note_places(p);
    hpc_versions_count(p);
    TRY(hpc_program_check(p));
out:
    for (int k = 0; out && k < out_n; k++) hpc_free(out[k].insn);
    hpc_free(out);
    return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int check_options(const hpc_program *p, const hpc_stage_options *o)
{
    if (o->ranks < 1 || o->chunks < 1 || o->rank < 0 || o->rank >= o->ranks ||
        stages_of(o) > HPC_STAGES)
        return hpc_fail(HPC_E_ARG, "stage %d of %d ranks with %d stages each; at most %d in all",
                        o->rank, o->ranks, o->chunks, HPC_STAGES);
    int blocks = stage_blocks(p, o->forward);
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

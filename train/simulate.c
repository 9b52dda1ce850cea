/*
 * simulate.c: simulates a rank's program on two queues: computation in program order, and
 * collectives. Each instruction waits for its operands.
 */
#include <math.h>

#include "runtime/program/op/op.h"
#include "train/plan.h"
#include "train/simulate.h"
#include "train/transfer.h"

typedef struct clocks {
    const hpc_machine *m;
    const hpc_program *p;
    hpc_simulation *out;
    hpc_simulated_link link[HPC_AXES_N];
    double *ready;                          /* by value: when it is there */
    double now, sends;                      /* time of computation, and of communication */
    double compute, communication, exposed; /* of the segment */
} clocks;

/* ---- instructions ------------------------------------------------------------------------------
 */

/* 0: f64, 1: f32, 2: factors of bf16. */
static int type_of(const hpc_program *p, const hpc_insn *i)
{
    if (i->op == &hpc_op_matmul && ((const hpc_matmul_attr *)i->attr)->halves) return 2;
    int type = 1;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0) continue;
        int d = p->value[i->operand[k]].type.dtype;
        if (d == HPC_F64) return 0;
        if (d == HPC_BF16) type = 2;
    }
    return type;
}

/* The shortest side of products of groups, if these have as many rows each. */
static double shortest_of_groups(const hpc_program *p, const hpc_insn *i, double share)
{
    const hpc_type *a = &p->value[i->operand[1]].type, *b = &p->value[i->operand[2]].type;
    const hpc_type *start = &p->value[i->operand[3]].type, *y = &p->value[i->operand[0]].type;
    double rows = share * (double)a->extent[0] / (double)(start->extent[0] - 1);
    return fmin(rows, fmin((double)a->extent[1], (double)(y->rank == 3 ? b : y)->extent[1]));
}

/* The shortest side of a product: of its result, or along which it sums. */
static double shortest(const hpc_program *p, const hpc_insn *i, double share)
{
    if (i->op == &hpc_op_grouped) return shortest_of_groups(p, i, share);
    const hpc_matmul_attr *at = i->attr;
    const hpc_type *a = &p->value[i->operand[2]].type, *y = &p->value[i->operand[0]].type;
    double sums = (double)a->extent[a->rank - (at->trans_a ? 2 : 1)];
    return fmin(sums, fmin((double)y->extent[y->rank - 1], (double)y->extent[y->rank - 2]));
}

static bool is_attention(const hpc_op *op)
{
    return op == &hpc_op_attention || op == &hpc_op_attention_grad;
}

static bool is_product(const hpc_op *op)
{
    return op == &hpc_op_matmul || op == &hpc_op_grouped || op == &hpc_op_head_loss ||
           op == &hpc_op_head_loss_grad;
}

/* Rows that have come from other ranks have extents for those of all: each brings its share. */
static hpc_cost expected_cost(double *share, const hpc_program *p, const hpc_insn *i)
{
    hpc_cost c = hpc_insn_cost(p, i);
    *share = 1;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        if (i->operand[k] < 0) continue;
        const hpc_type *t = &p->value[i->operand[k]].type;
        double rows = hpc_transfer_share(p, t);
        c.bytes -= (1 - rows) * (double)hpc_type_bytes(t);
        *share = fmin(*share, rows);
    }
    c.flops *= *share;
    return c;
}

static bool is_move(const hpc_op *op)
{
    return op == &hpc_op_fetch || op == &hpc_op_stow;
}

static double moved_bytes(const clocks *w, const hpc_insn *i)
{
    return is_move(i->op) ? (double)hpc_type_bytes(&w->p->value[i->operand[0]].type) : 0;
}

/* The longer of its operations and of its bytes. */
static double seconds_of(const clocks *w, const hpc_insn *i)
{
    const hpc_machine *m = w->m;
    int type = type_of(w->p, i);
    double rows;
    hpc_cost c = expected_cost(&rows, w->p, i);
    if (is_move(i->op)) return moved_bytes(w, i) / m->outside + m->launch;
    double share = m->other, rate = m->rate[is_product(i->op) || is_attention(i->op) ? type : 1];
    if (is_product(i->op)) share = m->product[type];
    if (is_attention(i->op)) share = m->attention;
    if (i->op == &hpc_op_matmul || i->op == &hpc_op_grouped) {
        double side = shortest(w->p, i, rows);
        share *= side / (side + m->half);
    }
    return fmax(c.flops / (rate * share), c.bytes / (m->bandwidth * m->stream)) + m->launch;
}

static double ready_at(const clocks *w, const hpc_insn *i)
{
    double at = 0;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0) at = fmax(at, w->ready[i->operand[k]]);
    if (i->tags.guard >= 0) at = fmax(at, w->ready[i->tags.guard]);
    return at;
}

static void results_at(clocks *w, const hpc_insn *i, double at)
{
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (i->operand[k] >= 0 && i->op->sig.operand[k].flags & HPC_OUT)
            w->ready[i->operand[k]] = at;
}

/* A message is under way while its sender computes; the schedule of tasks waits for it. */
static void send(clocks *w, const hpc_insn *i, double times)
{
    const hpc_comm_attr *a = i->attr;
    double bytes = (double)hpc_type_bytes(&w->p->value[i->operand[0]].type);
    double seconds = hpc_simulate_seconds(w->m, &w->link[a->axes], HPC_SEND, bytes);
    w->now += w->m->launch;
    w->communication += seconds;
    w->out->message_s = fmax(w->out->message_s, seconds);
    w->out->sent[a->axes] += (int64_t)(times * bytes);
    w->out->messages[a->axes] += (int64_t)times;
}

static double transfer(clocks *w, const hpc_transfer *t, double times)
{
    const hpc_simulated_link *l = &w->link[t->axes];
    bool whole = t->kind == HPC_ALL_REDUCE || t->kind == HPC_BROADCAST;
    double bytes = (double)hpc_transfer_bytes(t) * (whole ? 1 : l->size);
    double seconds = hpc_simulate_seconds(w->m, l, t->kind, bytes);
    w->communication += seconds;
    if (l->size == 1) return 0;
    w->out->sent[t->axes] += (int64_t)times * hpc_simulate_sent(l, t->kind, t->dtype, t->n);
    w->out->messages[t->axes] += (int64_t)times;
    return seconds;
}

/* Computation continues during a collective, but waits for an exchange of rows. */
static void communicate(clocks *w, const hpc_insn *i, double times)
{
    hpc_transfer part[HPC_TRANSFERS];
    int n = hpc_transfers_of(part, w->p, i);
    if (i->op == &hpc_op_all_to_all) part[0].n /= w->link[part[0].axes].size; /* of each part */
    w->sends = fmax(fmax(w->now, w->sends), ready_at(w, i));
    w->now += w->m->launch;
    for (int k = 0; k < n; k++) w->sends += transfer(w, &part[k], times);
    if (i->op->exchange) {
        w->exposed += fmax(0, w->sends - w->now);
        w->now = fmax(w->now, w->sends);
    }
    results_at(w, i, w->sends);
}

static void compute(clocks *w, const hpc_insn *i)
{
    double begin = fmax(w->now, ready_at(w, i)), seconds = i->op->view ? 0 : seconds_of(w, i);
    if (i->op->view) { /* nothing is run: whoever reads it waits */
        w->ready[i->operand[0]] = w->ready[i->operand[1]];
        return;
    }
    w->exposed += begin - w->now;
    w->now = begin + seconds;
    w->compute += seconds;
    results_at(w, i, w->now);
}

/* ---- segments ----------------------------------------------------------------------------------
 */

static int check_kind(const clocks *w, const hpc_insn *i)
{
    int k = i->op->comm;
    if (is_move(i->op) && w->m->outside <= 0)
        return hpc_fail(HPC_E_ARG,
                        "the machine '%s' has no outside_bytes_per_s, the rate of its outside "
                        "memory: add it, or simulate without offload",
                        w->m->name);
    if (k < 0 || k == HPC_SEND || k == HPC_RECV || k == HPC_ALL_REDUCE || k == HPC_ALL_GATHER ||
        k == HPC_REDUCE_SCATTER || k == HPC_ALL_TO_ALL)
        return HPC_OK;
    return hpc_fail(HPC_E_UNSUPPORTED, "%s has no cost model for the simulation", i->op->sig.name);
}

/* From one fence to the next; the step's sums take it `times` times. */
static int run_segment(clocks *w, int s, double times)
{
    const hpc_segment *g = &w->p->segment[s];
    hpc_simulation *out = w->out;
    double rows;
    int rc = HPC_OK;
    w->now = w->sends = w->compute = w->communication = w->exposed = 0;
    for (int64_t v = 0; v < w->p->value_n; v++) w->ready[v] = 0;
    for (int64_t k = 0; k < g->insn_n; k++) {
        const hpc_insn *i = &g->insn[k];
        TRY(check_kind(w, i));
        hpc_cost c = expected_cost(&rows, w->p, i);
        out->flops += c.flops * times;
        out->bytes += c.bytes * times;
        if (i->tags.idle) continue;
        if (i->op->comm == HPC_SEND)
            send(w, i, times);
        else if (i->op->comm >= 0 && i->op->comm != HPC_RECV)
            communicate(w, i, times);
        else if (i->op->comm < 0)
            compute(w, i);
        out->moved_bytes += moved_bytes(w, i) * times;
        if (is_move(i->op)) out->moved_s += seconds_of(w, i) * times;
    }
    w->exposed += fmax(0, w->sends - w->now);
    w->now = fmax(w->now, w->sends);
    if (s < HPC_SIMULATED_SEGMENTS) out->segment_s[s] = w->now;
    out->compute_s += w->compute * times;
    out->communication_s += w->communication * times;
    out->exposed_s += w->exposed * times;
    out->step_s += w->now * times;
out:
    return rc;
}

/* The host's sum of losses and of what experts count, from each rank with its own rows or stage. */
static void add_loss(clocks *w, const hpc_step *io)
{
    int n = io->model.active >= 0 ? 3 : 1;
    hpc_axes axes = HPC_ROW_AXES | 1u << HPC_AXIS_PIPE;
    const hpc_simulated_link *l = &w->link[axes];
    if (l->size == 1) return;
    double seconds = hpc_simulate_seconds(w->m, l, HPC_ALL_REDUCE, n * sizeof(double));
    hpc_axes named = axes;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (w->link[1u << a].size == 1) named &= ~(1u << a);
    w->out->sent[named] += hpc_simulate_sent(l, HPC_ALL_REDUCE, HPC_F64, n);
    w->out->messages[named]++;
    w->out->communication_s += seconds;
    w->out->exposed_s += seconds;
    w->out->step_s += seconds;
}

int hpc_simulate(hpc_simulation *out, const hpc_machine *m, const hpc_program *p,
                 const hpc_step *io, const hpc_grid_shape *s, const int coord[HPC_AXIS_N],
                 int64_t accumulate)
{
    clocks w = {.m = m, .p = p, .out = out};
    hpc_simulation refresh = {0};
    int rc = HPC_OK;
    *out = (hpc_simulation){0};
    w.ready = hpc_alloc((size_t)p->value_n + 1, sizeof *w.ready);
    if (!w.ready) return HPC_E_NOMEM;
    for (hpc_axes a = 0; a < HPC_AXES_N; a++) w.link[a] = hpc_simulate_link(m, s, coord, a);
    for (int k = 0; k < p->segment_n; k++) {
        int64_t times = hpc_step_times(io, k, accumulate);
        if (times == 0) continue;
        w.out = k == io->refresh ? &refresh : out;
        if (k < HPC_SIMULATED_SEGMENTS) out->times[k] = (double)times;
        TRY(run_segment(&w, k, (double)times));
    }
    w.out = out;
    add_loss(&w, io);
    out->refresh_s = refresh.step_s;
    out->least_s = fmax(out->compute_s, out->communication_s);
out:
    hpc_free(w.ready);
    return rc;
}

typedef struct stage_times {
    double forward[HPC_STAGES], backward[HPC_STAGES];
    hpc_plan_times of; /* the same, and of shared tasks */
} stage_times;

/* All ranks wait for the slowest in a shared segment. */
static void add_shared(stage_times *t, const hpc_stage_options *o, const hpc_simulation *one)
{
    const int shared[] = {hpc_stage_embed(o), hpc_stage_head(o), hpc_stage_table(o)};
    for (int k = 0; k < 3 && o->interlaced; k++)
        t->of.shared[k] = fmax(t->of.shared[k], one->segment_s[shared[k]]);
}

/* The stages' programs in one place of the grid: the longest times between the tasks' barriers. */
static void add_stage(hpc_simulation *out, stage_times *t, const hpc_step *io,
                      const hpc_simulation *one)
{
    int chunks = io->stage.chunks, ranks = io->stage.ranks, shared = io->stage.interlaced;
    double rest = one->step_s;
    add_shared(t, &io->stage, one);
    for (int c = 0; c < chunks; c++) {
        int stage = c * ranks + io->stage.rank;
        t->forward[stage] = one->segment_s[hpc_stage_forward(&io->stage, c)];
        t->backward[stage] = one->segment_s[hpc_stage_backward(&io->stage, c)];
    }
    for (int k = 0; k < HPC_SIMULATED_SEGMENTS; k++)
        if (k >= io->model.forward - shared && k <= io->backward + shared)
            rest -= one->segment_s[k] * one->times[k];
    out->rest_s = fmax(out->rest_s, rest);
    out->refresh_s = fmax(out->refresh_s, one->refresh_s);
    out->message_s = fmax(out->message_s, one->message_s);
}

static void keep_busiest(hpc_simulation *out, const hpc_simulation *one)
{
    hpc_simulation kept = *out;
    if (one->compute_s < out->compute_s) return;
    *out = *one;
    out->rest_s = kept.rest_s;
    out->refresh_s = kept.refresh_s;
    out->message_s = kept.message_s;
}

int hpc_simulate_stages(hpc_simulation *out, const hpc_machine *m, const hpc_program *serial,
                        const hpc_step *io, const hpc_parallel *q, int64_t accumulate,
                        int64_t offload)
{
    stage_times t = {.of = {.message = 0}};
    hpc_pipe pipe = hpc_pipe_resolved(&q->pipe, io->stage.ranks);
    hpc_plan_list list[HPC_STAGES] = {{0}};
    hpc_plan_span span;
    int coord[HPC_AXIS_N] = {0}, rc = HPC_OK, ranks = io->stage.ranks;
    *out = (hpc_simulation){0};
    for (int r = 0; r < ranks; r++) {
        hpc_simulation one;
        hpc_step own = *io;
        hpc_program *p = hpc_program_copy(serial);
        if (!p) TRY(HPC_E_NOMEM);
        coord[HPC_AXIS_PIPE] = r;
        rc = hpc_step_shard(&own, p, q, coord);
        if (rc >= 0 && offload > 0)
            rc = hpc_step_offload(&(hpc_offload_options){.bucket = offload}, &own, p);
        if (rc >= 0) rc = hpc_simulate(&one, m, p, &own, &q->grid, coord, accumulate);
        if (rc >= 0) add_stage(out, &t, &own, &one);
        hpc_program_free(p);
        TRY(rc);
        keep_busiest(out, &one);
        TRY(hpc_plan_tasks(&list[r], &pipe, ranks, r, accumulate));
    }
    hpc_plan_policy policy =
        pipe.schedule == HPC_PIPE_ARRIVAL ? HPC_PLAN_PREFERRED : HPC_PLAN_IN_ORDER;
    t.of.forward = t.forward, t.of.backward = t.backward, t.of.message = out->message_s;
    TRY(hpc_plan_simulate_tasks(&span, list, ranks, pipe.chunks, policy, &t.of));
    out->step_s = span.seconds + out->rest_s;
    for (int r = 0; r < ranks; r++) out->bubble_s = fmax(out->bubble_s, span.idle[r]);
out:
    for (int r = 0; r < ranks; r++) hpc_free(list[r].task);
    return rc;
}

int64_t hpc_simulation_sent(const hpc_simulation *s)
{
    int64_t sum = 0;
    for (int k = 0; k < HPC_AXES_N; k++) sum += s->sent[k];
    return sum;
}

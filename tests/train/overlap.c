/*
 * overlap.c: a step with communication overlapped by computation: the same order on all ranks, and
 * the exposed time by a simulated clock.
 */
#include "runtime/program/run/priv.h"
#include "tests/train/data.h"
#include "train/proof.h"

enum { ROWS = 8, RANKS_MAX = 8 };

typedef struct plan {
    hpc_parallel q;
    hpc_program *p;
    hpc_step io;
    int recompute, layers; /* 0: four */
} plan;

static hpc_model_config shape(void)
{
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    o.model.layers = 4;
    o.model.kv_heads = o.model.heads;
    return o.model;
}

static void emit(plan *v, const int *coord, bool once)
{
    hpc_model_config c = shape();
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    if (v->layers) c.layers = v->layers;
    hpc_step_options s = {.model = {.tokens = ROWS * 32, .sequences = 2 * ROWS},
                          .clip = 1,
                          .once = once,
                          .recompute = v->recompute,
                          .parallel = &v->q};
    v->p = hpc_program_create();
    assert_non_null(v->p);
    test_ok(hpc_step_emit(&v->io, v->p, &c, &o, &s));
    test_ok(hpc_step_shard(&v->io, v->p, &v->q, coord));
    test_ok(hpc_program_check(v->p));
}

/* ---- one order --------------------------------------------------------------------------- */

static void same_insn(const plan *a, const plan *b, const hpc_insn *x, const hpc_insn *y)
{
    assert_ptr_equal(x->op, y->op);
    assert_memory_equal(x->operand, y->operand, sizeof x->operand);
    assert_true(x->tags.block == y->tags.block && x->tags.queue == y->tags.queue);
    for (int k = 0; k < x->op->sig.operand_n; k++) {
        if (x->operand[k] < 0) continue;
        const hpc_type *s = &a->p->value[x->operand[k]].type, *t = &b->p->value[y->operand[k]].type;
        assert_memory_equal(s->extent, t->extent, sizeof s->extent);
    }
    if (x->op->comm < 0) return;
    const hpc_comm_attr *s = x->attr, *t = y->attr;
    assert_true(s->axes == t->axes && s->reduce == t->reduce);
}

static void ranks_have_one_order(void **state)
{
    static const int grids[][4] = {{2, 1, 1, 0}, {2, 2, 2, 3}, {1, 2, 2, 0},
                                   {4, 1, 2, 1}, {2, 2, 1, 2}, {2, 1, 4, 2}};
    (void)state;
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        plan first = {.q = {.zero = grids[g][3],
                            .overlap = true,
                            .ahead = 1,
                            .bucket_bytes = g % 3 ? 6000 : 0}};
        for (int a = 0; a < 3; a++)
            first.q.grid.extent[(const int[]){HPC_AXIS_DATA, HPC_AXIS_DEPTH, HPC_AXIS_ROW}[a]] =
                grids[g][a];
        for (int r = 0; r < hpc_grid_size(&first.q.grid); r++) {
            plan other = {.q = first.q};
            plan *v = r ? &other : &first;
            int coord[HPC_AXIS_N];
            hpc_grid_coords(coord, &first.q.grid, r);
            emit(v, coord, g % 2);
            for (int64_t s = 0; r && s < first.p->segment_n; s++) {
                const hpc_segment *x = &first.p->segment[s], *y = &other.p->segment[s];
                assert_int_equal(x->insn_n, y->insn_n);
                for (int64_t k = 0; k < x->insn_n; k++)
                    same_insn(&first, &other, &x->insn[k], &y->insn[k]);
            }
            if (r) hpc_program_free(other.p);
        }
        hpc_program_free(first.p);
    }
}

/* ---- buckets ------------------------------------------------------------------------------- */

typedef struct sums { /* of gradients over the axis data */
    int64_t messages, bytes, most;
} sums;

static sums count_sums(int zero, size_t bucket)
{
    plan v = {.q = {.grid = {.extent = {[HPC_AXIS_DATA] = 2}},
                    .zero = zero,
                    .overlap = true,
                    .bucket_bytes = bucket}};
    sums out = {0};
    emit(&v, (const int[HPC_AXIS_N]){0}, true);
    const hpc_segment *s = &v.p->segment[v.io.last];
    for (int64_t k = 0; k < s->insn_n; k++) {
        const hpc_insn *i = &s->insn[k];
        if (i->op != (zero ? &hpc_op_reduce_scatter : &hpc_op_all_reduce)) continue;
        int64_t bytes = (int64_t)hpc_type_bytes(&v.p->value[i->operand[1]].type);
        if (bytes <= 4) continue; /* the norm */
        out.messages++;
        out.bytes += bytes;
        if (bytes > out.most) out.most = bytes;
    }
    hpc_program_free(v.p);
    return out;
}

/* A message for each tensor; or as many as buckets hold, of which two that follow each other are
 * more than a bucket, and none has more than a bundle takes. A tensor as large goes alone. */
static void gradients_go_together(void **state)
{
    (void)state;
    const int64_t tensors = 4 * 9 + 2; /* of each block two norms; the table and the last norm */
    const int64_t large = 48 * 32 * 4; /* bytes of the MLP's matrices, of which a block has three */
    for (int zero = 0; zero <= 2; zero++) {
        int64_t uses = zero == 2 ? tensors + 1 : tensors; /* of the table each by itself */
        sums alone = count_sums(zero, 0), all = count_sums(zero, 1 << 30);
        sums some = count_sums(zero, 16 << 10), few = count_sums(zero, (size_t)large);
        assert_int_equal(alone.messages, uses);
        assert_int_equal(all.messages, (uses + HPC_BUNDLE_MAX - 1) / HPC_BUNDLE_MAX);
        assert_true(all.bytes == alone.bytes && some.bytes == alone.bytes);
        assert_true(some.most <= 16 << 10 && some.messages <= 2 * alone.bytes / (16 << 10) + 1);
        assert_true(some.messages >= alone.bytes / (16 << 10));
        assert_true(few.messages > 4 * 3 && few.messages < uses && few.bytes == alone.bytes);
    }
}

/* ---- gathers --------------------------------------------------------------------------------- */

/* Forward gathers a block's parameters when the block comes that is so many before, no earlier: so
 * many are there besides its own. */
static void gathers_keep_within_bounds(void **state)
{
    (void)state;
    for (int ahead = 0; ahead <= 3; ahead++) {
        plan v = {
            .q = {.grid = {.extent = {[HPC_AXIS_DEPTH] = 2}}, .overlap = true, .ahead = ahead}};
        emit(&v, (const int[HPC_AXIS_N]){0}, true);
        const hpc_segment *s = &v.p->segment[v.io.model.forward];
        int now = -1, most = -1, gathers = 0;
        for (int64_t k = 0; k < s->insn_n; k++) {
            const hpc_insn *i = &s->insn[k];
            if (i->op->comm < 0 && !i->op->view && i->tags.block >= 0) now = i->tags.block;
            if (i->op->comm != HPC_ALL_GATHER || i->tags.block < 0) continue;
            gathers++;
            if (i->tags.block - now > most) most = i->tags.block - now;
        }
        assert_int_equal(gathers, 4 * 7);
        /* They begin when the last of the block before those so many has been computed. */
        assert_int_equal(most, ahead + 1);
        hpc_program_free(v.p);
    }
}

/* ---- a simulated clock --------------------------------------------------------------------- */

typedef struct clock { /* of a machine that does so many a second */
    double flops, bytes, wire, latency;
    double now, exposed, sent; /* seconds */
    double wire_free[1 << HPC_AXIS_N];
} clock;

static double transfer_time(const hpc_exec *e, const clock *c, int32_t k)
{
    const transfer_plan *t = &e->transfer[k];
    return c->latency + (double)hpc_link_sends(t->link, &t->comm) / c->wire;
}

static void run_segment(clock *c, const hpc_exec *e, int segment)
{
    double lands[4096] = {0};
    assert_true(e->transfer_n <= 4096);
    for (int64_t k = 0; k < e->segment[segment].step_n; k++) {
        const step *s = &e->segment[segment].step[k];
        const hpc_insn *i = &e->p->segment[segment].insn[s->insn];
        if (s->kind == STEP_KERNEL) {
            hpc_cost cost = hpc_insn_cost(e->p, i);
            c->now += fmax(cost.flops / c->flops, cost.bytes / c->bytes);
        } else if (s->kind == STEP_START) {
            double *wire = &c->wire_free[((const hpc_comm_attr *)i->attr)->axes];
            double takes = transfer_time(e, c, s->transfer);
            *wire = fmax(*wire, c->now) + takes;
            c->sent += takes;
            lands[s->transfer] = *wire;
        } else if (s->kind == STEP_WAIT && lands[s->transfer] > c->now) {
            c->exposed += lands[s->transfer] - c->now;
            c->now = lands[s->transfer];
        }
    }
}

typedef struct job {
    plan v;
    clock forward, backward, update; /* in: the machine; out: of the first rank */
    sums row;                        /* along row, of what flows: in forward and backward */
    double live;                     /* bytes of activations, and whatever else flows */
} job;

/* Sums of activations; of scalars and of norms' gradients there are others. */
static void count_row(sums *out, const plan *v, int segment)
{
    const hpc_segment *s = &v->p->segment[segment];
    for (int64_t k = 0; k < s->insn_n; k++) {
        const hpc_insn *i = &s->insn[k];
        const hpc_type *t = &v->p->value[i->operand[0]].type;
        if (i->op != &hpc_op_all_reduce || t->rank < 2) continue;
        if (((const hpc_comm_attr *)i->attr)->axes != 1 << HPC_AXIS_ROW) continue;
        out->messages++;
        out->bytes += (int64_t)hpc_type_bytes(t);
    }
}

static int simulate(hpc_link *world, void *user)
{
    job *j = user;
    plan v = {.q = j->v.q};
    int coord[HPC_AXIS_N];
    hpc_device *d;
    hpc_grid *g;
    hpc_exec *e;
    hpc_grid_coords(coord, &v.q.grid, hpc_link_rank(world));
    emit(&v, coord, true);
    test_ok(hpc_grid_open(&g, world, &v.q.grid));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    test_ok(hpc_exec_open(&e, v.p, d, g, &(hpc_exec_options){.dry = true}));
    if (hpc_link_rank(world) == 0) {
        j->live = (double)e->place.live[HPC_SPACE_SLOT];
        count_row(&j->row, &v, v.io.model.forward);
        count_row(&j->row, &v, v.io.last);
        run_segment(&j->forward, e, v.io.model.forward);
        run_segment(&j->backward, e, v.io.last);
        run_segment(&j->backward, e, v.io.norm);
        run_segment(&j->update, e, v.io.update);
        if (v.io.gather >= 0 && !v.io.gathers) run_segment(&j->update, e, v.io.gather);
    }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(g);
    hpc_program_free(v.p);
    return HPC_OK;
}

static job measure_plan(hpc_parallel q, double wire)
{
    const clock machine = {.flops = 1e9, .bytes = 4e9, .wire = wire, .latency = 1e-6};
    job j = {.v = {.q = q}, .forward = machine, .backward = machine, .update = machine};
    test_ok(hpc_threads_run(hpc_grid_size(&q.grid), simulate, &j));
    return j;
}

static job measure(int data, int depth, int row, int zero, int ahead, double wire)
{
    hpc_parallel q = {
        .grid =
            {.extent = {[HPC_AXIS_DATA] = data, [HPC_AXIS_DEPTH] = depth, [HPC_AXIS_ROW] = row}},
        .zero = zero,
        .overlap = ahead >= 0,
        .ahead = ahead};
    return measure_plan(q, wire);
}

/* Of n bytes that a rank of two sends. */
static double takes(const clock *c, int64_t bytes)
{
    return c->latency + (double)bytes / c->wire;
}

static bool at_most(double x, double bound)
{
    return x <= bound * (1 + 1e-9);
}

/* Without it all is waited for. */
static void hardly_hidden(const job *j, double share)
{
    const clock *list[] = {&j->forward, &j->backward, &j->update};
    for (int k = 0; k < 3; k++)
        assert_true(fabs(list[k]->exposed - list[k]->sent) <= 1e-9 + share * list[k]->sent);
}

static void nothing_is_hidden(const job *j)
{
    hardly_hidden(j, 1e-9);
}

/* The same is sent, and the time that is gained is what was hidden. */
static void the_rest_is_gained(const job *hidden, const job *plain)
{
    const clock *h[] = {&hidden->forward, &hidden->backward, &hidden->update};
    const clock *p[] = {&plain->forward, &plain->backward, &plain->update};
    for (int k = 0; k < 3; k++) {
        double gained = p[k]->now - h[k]->now;
        assert_true(fabs(h[k]->sent - p[k]->sent) <= 1e-9 * (1 + p[k]->sent));
        assert_true(fabs(gained - (p[k]->exposed - h[k]->exposed)) <= 1e-9 * (1 + p[k]->now));
    }
}

static const double fast = 2e8, slow = 2e7;
static const int64_t table = VOCABULARY * 32 * 4; /* bytes, and the last gradient that is there */

/* Gradients are communicated during backward, except the last; parameters during the update. */
static void gradients_behind_backward(void **state)
{
    (void)state;
    for (int zero = 0; zero <= 2; zero++) {
        job plain = measure(2, 1, 1, zero, -1, fast), hidden = measure(2, 1, 1, zero, 1, fast);
        const clock *c = &hidden.backward;
        nothing_is_hidden(&plain);
        the_rest_is_gained(&hidden, &plain);
        int64_t last = zero ? table / 2 : table;
        assert_true(at_most(c->exposed, takes(c, last) + 2 * takes(c, 4)));
        if (zero) assert_true(hidden.update.exposed < 0.5 * plain.update.exposed);
    }
}

/* Of a slow wire as much is hidden as there is computing for it, once the first gradient is there:
 * that of the head, and so of the table, comes last where they are one. */
static void a_slow_wire(void **state)
{
    (void)state;
    job plain = measure(2, 1, 1, 0, -1, slow), hidden = measure(2, 1, 1, 0, 1, slow);
    nothing_is_hidden(&plain);
    the_rest_is_gained(&hidden, &plain);
    assert_true(hidden.backward.exposed < 0.1 * plain.backward.exposed);
}

/* What the head sums: statistics of the loss, each token's largest lse, sum of exponentials and
 * logit, and what it hands on, which it makes together with its weights' gradient. */
static double head_takes(const clock *c, int64_t tokens)
{
    return takes(c, tokens * 32 * 4) + 3 * takes(c, tokens * 4);
}

/* Of all that row sums in backward only what the head does, and the norm, which is last, is waited
 * for: weights' gradients come meanwhile. Forward has none of them. */
static void sums_behind_gradients_of_weights(void **state)
{
    (void)state;
    job plain = measure(1, 1, 2, 0, -1, fast), hidden = measure(1, 1, 2, 0, 1, fast);
    nothing_is_hidden(&plain);
    the_rest_is_gained(&hidden, &plain);
    const clock *c = &hidden.backward;
    assert_true(at_most(c->exposed, head_takes(c, ROWS * 32) + takes(c, 4)));
    assert_true(hidden.forward.exposed == plain.forward.exposed);
}

/* Only the first parameters are waited for: the table's, which are whole on the axis depth. */
static void parameters_ahead(void **state)
{
    (void)state;
    for (int ahead = 1; ahead <= 3; ahead++) {
        job plain = measure(2, 1, 1, 3, -1, fast), hidden = measure(2, 1, 1, 3, ahead, fast);
        nothing_is_hidden(&plain);
        the_rest_is_gained(&hidden, &plain);
        assert_true(at_most(hidden.forward.exposed, takes(&plain.forward, table / 2)));
        plain = measure(1, 2, 1, 0, -1, fast), hidden = measure(1, 2, 1, 0, ahead, fast);
        nothing_is_hidden(&plain);
        the_rest_is_gained(&hidden, &plain);
        assert_true(at_most(hidden.forward.exposed, takes(&plain.forward, table / 2)));
    }
}

/* With overdecomposition the row sums of one part, in forward also, are hidden by products of the
 * other: all but the first and last in forward, and the last head's in backward. Messages double;
 * bytes do not change. */
static void halves_hide_each_other(void **state)
{
    (void)state;
    hpc_parallel q = {.grid = {.extent = {[HPC_AXIS_ROW] = 2}}, .overlap = true, .ahead = 1};
    job whole = measure_plan(q, fast);
    q.halves = true;
    job halves = measure_plan(q, fast);
    const int64_t each = 4 * 4 + 2; /* of each block, the words' and the head's */
    assert_int_equal(whole.row.messages, each);
    assert_int_equal(halves.row.messages, 2 * each);
    assert_int_equal(halves.row.bytes, whole.row.bytes);
    const clock *f = &halves.forward, *b = &halves.backward;
    assert_true(at_most(f->exposed, 2 * takes(f, ROWS * 32 / 2 * 32 * 4)));
    assert_true(at_most(b->exposed, head_takes(b, ROWS * 32 / 2) + takes(b, 4)));
}

/* Each block ahead costs the memory of its parameters, gathered, and of its gradients, which may be
 * under way for so long. */
static void memory_keeps_within_bounds(void **state)
{
    (void)state;
    const double block = 4 * (4 * 32 * 32 + 3 * 48 * 32 + 2 * 32);
    for (int zero = 0; zero <= 3; zero += 3) {
        int data = zero ? 2 : 1, depth = zero ? 1 : 2;
        double plain = measure(data, depth, 1, zero, -1, fast).live;
        for (int ahead = 0; ahead <= 2; ahead++) {
            double live = measure(data, depth, 1, zero, ahead, fast).live;
            assert_true(live >= plain && live <= plain + 2 * (ahead + 1) * block);
        }
    }
}

/* Peak live activations of a rank with this many blocks. */
static double alive(hpc_parallel q, int recompute, int layers)
{
    plan v = {.q = q, .recompute = recompute, .layers = layers};
    hpc_model_config c = shape();
    hpc_step_memory m;
    emit(&v, (const int[HPC_AXIS_N]){0}, true);
    test_ok(hpc_step_memory_of(&m, v.p, &v.io, &c, NULL, 1));
    hpc_program_free(v.p);
    return m.activations;
}

/* What eight blocks cost more than four. */
static double of_blocks(hpc_parallel q, int recompute)
{
    return alive(q, recompute, 8) - alive(q, recompute, 4);
}

/* Blocks are recomputed one by one in backward, not all at the first sum. Overlap costs no more
 * memory per block than without recomputation, except for a block's input. */
static void blocks_are_made_again_one_by_one(void **state)
{
    (void)state;
    const double stream = ROWS * 32 * 32 * 4 / 2;
    for (int v = 0; v < 6; v++) {
        hpc_parallel q = {.grid = {.extent = {[HPC_AXIS_ROW] = 2, [HPC_AXIS_COL] = 1 + v % 2}},
                          .sequence = v / 2 == 1,
                          .halves = v / 2 == 2,
                          .ahead = 1};
        double plain[HPC_RECOMPUTE_BLOCK + 1], hidden[HPC_RECOMPUTE_BLOCK + 1];
        for (int policy = HPC_RECOMPUTE_NONE; policy <= HPC_RECOMPUTE_BLOCK; policy++) {
            q.overlap = false;
            plain[policy] = of_blocks(q, policy);
            q.overlap = true;
            hidden[policy] = of_blocks(q, policy);
            double costs = fmax(hidden[HPC_RECOMPUTE_NONE] - plain[HPC_RECOMPUTE_NONE], 0);
            assert_true(hidden[policy] <= plain[policy] + costs + stream);
        }
    }
}

/* On three axes at once a quarter of it waits; without, all but some statistics of the loss, which
 * another axis sums meanwhile. */
static void all_together(void **state)
{
    (void)state;
    job plain = measure(2, 2, 2, 3, -1, fast), hidden = measure(2, 2, 2, 3, 1, fast);
    hardly_hidden(&plain, 0.02);
    the_rest_is_gained(&hidden, &plain);
    assert_true(hidden.backward.exposed < 0.25 * plain.backward.exposed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_have_one_order),
                                       cmocka_unit_test(gradients_go_together),
                                       cmocka_unit_test(gathers_keep_within_bounds),
                                       cmocka_unit_test(gradients_behind_backward),
                                       cmocka_unit_test(a_slow_wire),
                                       cmocka_unit_test(sums_behind_gradients_of_weights),
                                       cmocka_unit_test(parameters_ahead),
                                       cmocka_unit_test(memory_keeps_within_bounds),
                                       cmocka_unit_test(blocks_are_made_again_one_by_one),
                                       cmocka_unit_test(halves_hide_each_other),
                                       cmocka_unit_test(all_together)};
    return cmocka_run_group_tests_name("train/overlap", tests, NULL, NULL);
}

/*
 * prune.c: masks by magnitude; a pruned trainer's memory and traffic; its steps have the bits of
 * dense training with a mask, and on many ranks equal those of one.
 */
/* tsan: left out, other tests start the same threads. */
#include <stdlib.h>

#include "tests/train/data.h"
#include "train/run_priv.h"

enum { STEPS = 3, MOST = 1 << 16 };

/* ---- masks ---------------------------------------------------------------------------------- */

/* Values that differ by tensor; some are equal, some negative. */
static int draw(float *out, const hpc_mask *m, void *user)
{
    uint64_t h = hpc_hash(m->name, strlen(m->name), 0);
    (void)user;
    for (int64_t i = 0; i < m->n; i++)
        out[i] = (float)((int)(hpc_random_bits(h, 5, 0, (uint64_t)i) % 4000) - 2000) / 1000;
    return HPC_OK;
}

static hpc_masks *choose(const hpc_model_config *c, double sparsity, bool each)
{
    hpc_masks *m;
    hpc_prune_config p = {.asked = true, .sparsity = sparsity, .each = each};
    test_ok(hpc_masks_create(&m, c));
    test_ok(hpc_masks_choose(m, &p, draw, NULL));
    return m;
}

static bool kept(const hpc_mask *m, int64_t i)
{
    return m->bits[i / 8] >> (i % 8) & 1;
}

/* No element that goes is larger than one that stays, and as many stay as should. */
static void the_largest_stay(void **state)
{
    static const double share[] = {0, 0.3, 0.5, 0.8, 0.9, 0.999};
    const hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    static float x[MOST];
    (void)state;
    for (int each = 0; each < 2; each++)
        for (size_t s = 0; s < sizeof share / sizeof *share; s++) {
            hpc_masks *m = choose(&o.model, share[s], each);
            double least = 10, most = 0;
            int64_t stay = 0;
            for (int64_t k = 0; k < m->mask_n; k++) {
                const hpc_mask *a = &m->mask[k];
                draw(x, a, NULL);
                if (each) least = 10, most = 0;
                for (int64_t i = 0; i < a->n; i++) {
                    double size = fabs((double)x[i]);
                    if (kept(a, i))
                        least = fmin(least, size), stay++;
                    else
                        most = fmax(most, size);
                }
                if (each) assert_true(a->kept == hpc_prune_kept(share[s], a->n));
                if (each) assert_true(most <= least);
            }
            assert_true(most <= least);
            assert_int_equal(stay, m->kept);
            if (!each) assert_int_equal(stay, hpc_prune_kept(share[s], m->n));
            hpc_masks_free(m);
        }
}

static void lists_and_distances(void **state)
{
    const hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_masks *a = choose(&o.model, 0.7, false), *b = choose(&o.model, 0.7, true);
    static int32_t list[MOST];
    double far = hpc_masks_distance(a, b);
    (void)state;
    assert_true(far > 0 && far < 0.5);
    assert_true(hpc_masks_distance(a, a) == 0);
    for (int64_t k = 0; k < a->mask_n; k++) {
        hpc_mask_list(list, &a->mask[k]);
        test_ok(hpc_mask_set(&b->mask[k], list, a->mask[k].kept));
        assert_int_equal(b->mask[k].kept, a->mask[k].kept);
    }
    assert_true(hpc_masks_distance(a, b) == 0);
    test_fails(hpc_mask_set(&b->mask[0], (int32_t[]){1, 1}, 2), HPC_E_FORMAT, "does not ascend");
    test_fails(hpc_mask_set(&b->mask[0], (int32_t[]){1 << 30}, 1), HPC_E_FORMAT, "index.model");
    hpc_masks_free(a);
    hpc_masks_free(b);
}

/* Along row and depth parts of rows, along col of columns: together all that is kept, and of two
 * none has more than one element more than the other, the first part no fewer than any. */
static void parts_of_assumed_masks_are_even(void **state)
{
    static const char *const grid[] = {"row=2", "col=4", "depth=2,row=2", "row=4,col=2",
                                       "data=2,depth=2,row=2,col=2"};
    static const double share[] = {0, 0.1, 0.5, 0.83, 0.9, 0.999};
    const hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    (void)state;
    for (size_t g = 0; g < 5 * 6; g++) {
        hpc_masks *m;
        hpc_grid_shape s;
        hpc_prune_config c = {.asked = true, .sparsity = share[g % 6]};
        int coord[HPC_AXIS_N], ranks;
        test_ok(hpc_grid_parse(&s, grid[g / 6]));
        test_ok(hpc_masks_assume(&m, &o.model, &c));
        ranks = hpc_grid_size(&s);
        assert_true(m->mask_n > 0);
        for (int64_t k = 0; k < m->mask_n; k++) {
            const int64_t cols = o.model.hidden, rows = m->mask[k].n / cols;
            hpc_type whole = hpc_type_of(HPC_F32, 2, (int64_t[]){rows, cols}), part = whole;
            int64_t sum = 0, first = 0, copies = s.extent[HPC_AXIS_DATA] > 1 ? 2 : 1;
            for (int a = HPC_AXIS_DEPTH; a <= HPC_AXIS_COL; a++)
                part.layout[a] = a == HPC_AXIS_COL ? HPC_SPLIT(1) : HPC_SPLIT(0);
            for (int a = HPC_AXIS_DEPTH; a <= HPC_AXIS_COL; a++)
                if (s.extent[a] > 1) part.extent[a == HPC_AXIS_COL] /= s.extent[a];
            for (int r = 0; r < ranks; r++) {
                hpc_grid_coords(coord, &s, r);
                int64_t n = hpc_mask_part(NULL, &m->mask[k], &part, &whole, &s, coord);
                if (r == 0) first = n;
                assert_true(n == first || n == first - 1);
                sum += n;
            }
            assert_int_equal(m->mask[k].kept, hpc_prune_kept(c.sparsity, m->mask[k].n));
            assert_int_equal(sum, copies * m->mask[k].kept);
        }
        hpc_masks_free(m);
    }
}

/* ---- runs of a few steps ----------------------------------------------------------------------
 */

typedef struct job {
    hpc_trainer_options o;
    hpc_grid_shape shape;
    hpc_loader_source source;
    char data[PATH_MAX];
    const hpc_masks *masks; /* of the model, or applied by hand after each step */
    bool by_hand;
    double loss[STEPS], norm[STEPS];
    uint8_t state[32 * MOST]; /* parameters and moments, after the last step */
    size_t bytes;
    double param[MOST];
    int64_t n, sent;
} job;

static const hpc_mask *mask_of(const job *j, const char *name)
{
    static const char *const prefix[] = {"master.", "adam.m.", "adam.v.", "sgd.mom.",
                                         "precondition.m."};
    for (size_t k = 0; k < sizeof prefix / sizeof *prefix; k++)
        if (strncmp(name, prefix[k], strlen(prefix[k])) == 0) name += strlen(prefix[k]);
    return hpc_masks_find(j->masks, name);
}

/* Dense training with a mask: parameters and moments outside it are zero. */
static void mask_by_hand(job *j, hpc_trainer *t)
{
    uint8_t *room = hpc_alloc(MOST, 4);
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        const hpc_value_info *info = &t->p->value[v];
        const hpc_mask *m = trainer_keeps(t, v) ? mask_of(j, info->name) : NULL;
        if (!m) continue;
        size_t bytes = hpc_type_bytes(&t->whole[v]), element = bytes / (size_t)m->n;
        test_ok(trainer_gather(room, t, v));
        for (int64_t i = 0; i < m->n; i++)
            if (!kept(m, i)) memset(room + (size_t)i * element, 0, element);
        test_ok(trainer_put(t, v, room));
    }
    test_ok(trainer_written(t));
    hpc_free(room);
}

/* Everything that a checkpoint would hold, by name in order; parameters as doubles besides. */
static void read_state(job *j, hpc_trainer *t, bool first)
{
    static const char *const same[] = {"model", "lm_head", "master.", "adam.", "sgd.", "precond"};
    uint8_t *room = hpc_alloc(MOST, 8);
    if (first) j->bytes = 0, j->n = 0;
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        bool wanted = false;
        if (!trainer_keeps(t, v)) continue;
        for (size_t k = 0; k < sizeof same / sizeof *same; k++)
            wanted = wanted || strncmp(t->p->value[v].name, same[k], strlen(same[k])) == 0;
        if (!wanted) continue;
        size_t bytes = hpc_type_bytes(&t->whole[v]);
        test_ok(trainer_gather(room, t, v));
        if (!first) continue;
        assert_true(j->bytes + bytes <= sizeof j->state);
        memcpy(j->state + j->bytes, room, bytes);
        j->bytes += bytes;
        if (t->whole[v].dtype != HPC_F64 || !t->p->value[v].trainable) continue;
        memcpy(j->param + j->n, room, bytes);
        j->n += (int64_t)(bytes / sizeof(double));
    }
    hpc_free(room);
}

/* Parameters of a pruned trainer outside the mask are exactly zero. */
static void assert_zeros(job *j, hpc_trainer *t)
{
    uint8_t *room = hpc_alloc(MOST, 8), none[8] = {0};
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        const hpc_mask *m = t->p->value[v].index >= 0 ? mask_of(j, t->p->value[v].name) : NULL;
        if (!m) continue;
        size_t element = hpc_type_bytes(&t->whole[v]) / (size_t)m->n;
        test_ok(trainer_gather(room, t, v));
        for (int64_t i = 0; i < m->n; i++)
            if (!kept(m, i)) assert_memory_equal(room + (size_t)i * element, none, element);
    }
    hpc_free(room);
}

static int run_rank(hpc_link *world, void *user)
{
    job *j = user;
    hpc_trainer_options o = j->o;
    hpc_loader_options l = {.source = &j->source,
                            .source_n = 1,
                            .objective = o.objective,
                            .length = o.length,
                            .documents = o.documents,
                            .seed = o.seed};
    hpc_loader *loader;
    hpc_trainer *t;
    hpc_trainer_result r;
    bool first = hpc_link_rank(world) == 0;
    o.device.threads = 1;
    if (!j->by_hand) o.masks = j->masks;
    if (hpc_link_size(world) > 1) test_ok(hpc_grid_open(&o.grid, world, &j->shape));
    test_ok(hpc_trainer_open(&t, &o, false));
    test_ok(hpc_loader_open(&loader, &l));
    if (j->by_hand) mask_by_hand(j, t);
    for (int64_t s = 0; s < STEPS; s++) {
        test_ok(hpc_trainer_load(t, loader));
        test_ok(hpc_trainer_step(&r, t, s + 1, 0.01, INFINITY));
        if (j->by_hand) mask_by_hand(j, t);
        if (!first) continue;
        j->loss[s] = r.loss;
        j->norm[s] = r.grad_norm;
        j->sent = r.sent;
    }
    read_state(j, t, first);
    if (o.masks) assert_zeros(j, t);
    hpc_loader_close(loader);
    hpc_trainer_close(t);
    hpc_grid_close(o.grid);
    return HPC_OK;
}

static void run_job(job *j)
{
    test_ok(hpc_threads_run(hpc_grid_size(&j->shape), run_rank, j));
}

static job *start(hpc_test_folder *f, int kind, hpc_dtype dtype)
{
    job *j = hpc_alloc(1, sizeof *j);
    assert_non_null(j);
    j->o = tiny_trainer(kind);
    j->o.model.dtype = dtype;
    j->o.rows = 8;
    hpc_test_path(j->data, f, "data");
    if (!hpc_file_exists(j->data)) data_make(j->data, 2000, NULL, 7, data_tokenizer);
    j->source.path = j->data;
    return j;
}

typedef struct grid {
    int data, depth, row, zero;
    bool keep;
} grid;

static void put_grid(job *j, const grid *g)
{
    j->shape = (hpc_grid_shape){
        .extent = {
            [HPC_AXIS_DATA] = g->data, [HPC_AXIS_DEPTH] = g->depth, [HPC_AXIS_ROW] = g->row}};
    j->o.parallel.zero = g->zero;
    j->o.parallel.keep_depth = g->keep;
    j->o.parallel.sequence = g->zero > 0; /* where there is row */
}

/* ---- to the same bits as dense training with a mask -------------------------------------------
 */

static void same_bits(void **state, int kind, hpc_dtype dtype, const grid *g, double sparsity)
{
    job *dense = start(*state, kind, dtype), *pruned = start(*state, kind, dtype);
    hpc_masks *m = choose(&dense->o.model, sparsity, false);
    dense->by_hand = true;
    dense->o.step.gradients = dtype == HPC_BF16 ? HPC_GRADIENTS_BF16 : HPC_GRADIENTS_FULL;
    dense->masks = pruned->masks = m;
    dense->o.step.clip = pruned->o.step.clip = 0;
    put_grid(dense, g);
    put_grid(pruned, g);
    run_job(dense);
    run_job(pruned);
    assert_true(dense->bytes > 0);
    assert_int_equal(dense->bytes, pruned->bytes);
    assert_memory_equal(dense->state, pruned->state, dense->bytes);
    assert_memory_equal(dense->loss, pruned->loss, sizeof dense->loss);
    hpc_masks_free(m);
    hpc_free(dense);
    hpc_free(pruned);
}

/* Except bf16 with depth, where products before picking are summed in bf16. */
static void as_dense_with_a_mask(void **state)
{
    static const grid on[] = {{1, 1, 1, 0, false}, {2, 1, 1, 0, false}, {2, 1, 1, 1, false},
                              {4, 1, 1, 0, false}, {4, 1, 1, 1, false}, {1, 1, 2, 0, false},
                              {1, 2, 1, 0, true},  {2, 1, 2, 1, false}};
    for (size_t g = 0; g < sizeof on / sizeof *on; g++) {
        same_bits(state, HPC_OPT_ADAMW, HPC_F32, &on[g], 0.8);
        if (on[g].depth == 1) same_bits(state, HPC_OPT_ADAMW, HPC_BF16, &on[g], 0.9);
    }
    same_bits(state, HPC_OPT_SGD, HPC_F32, &on[1], 0.5);
}

/* With nothing pruned every optimizer takes the steps of a trainer that knows of no masks. */
static void with_nothing_pruned(void **state)
{
    static const int kinds[] = {
        HPC_OPT_SGD,   HPC_OPT_ADAMW,           HPC_OPT_MUON,         HPC_OPT_SHAMPOO,
        HPC_OPT_JORGE, HPC_OPT_JORGE_SYMMETRIC, HPC_OPT_JORGE_NEWTON, HPC_OPT_JORGE_MOMENTUM};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int graft = 0; graft < 2; graft++) {
            job *plain = start(*state, kinds[k], HPC_F32),
                *pruned = start(*state, kinds[k], HPC_F32);
            hpc_masks *m = choose(&plain->o.model, 0, false);
            hpc_optimizer_usual(&plain->o.optimizer);
            plain->o.optimizer.graft = graft;
            pruned->o.optimizer = plain->o.optimizer;
            pruned->masks = m;
            run_job(plain);
            run_job(pruned);
            assert_int_equal(plain->bytes, pruned->bytes);
            assert_memory_equal(plain->state, pruned->state, plain->bytes);
            hpc_masks_free(m);
            hpc_free(plain);
            hpc_free(pruned);
        }
}

/* ---- on many ranks ------------------------------------------------------------------------------
 */

static const grid grids[] = {{2, 1, 1, 0, false}, {2, 1, 1, 1, false}, {1, 2, 1, 0, false},
                             {1, 1, 2, 0, false}, {1, 2, 1, 0, true},  {2, 2, 1, 1, true},
                             {2, 1, 2, 1, false}, {1, 2, 2, 0, false}, {2, 2, 2, 1, false}};

static void as_on_one(void **state, int kind, double bound, size_t stride)
{
    job *one = start(*state, kind, HPC_F64);
    hpc_masks *m = choose(&one->o.model, 0.8, false);
    one->masks = m;
    one->o.accumulate = 2;
    one->o.model.dropout = 0.1;
    run_job(one);
    for (size_t g = stride - 1; g < sizeof grids / sizeof *grids; g += stride) {
        job *many = start(*state, kind, HPC_F64);
        many->o = one->o;
        many->masks = m;
        put_grid(many, &grids[g]);
        many->o.parallel.overlap = many->o.parallel.halves = g % 4 == 3;
        run_job(many);
        assert_int_equal(many->n, one->n);
        assert_true(hpc_test_error(many->loss, one->loss, STEPS) < bound);
        assert_true(hpc_test_error(many->norm, one->norm, STEPS) < bound);
        assert_true(hpc_test_error(many->param, one->param, one->n) < bound);
        hpc_free(many);
    }
    hpc_masks_free(m);
    hpc_free(one);
}

static void ranks_take_the_steps_of_one(void **state)
{
    as_on_one(state, HPC_OPT_ADAMW, 1e-12, getenv("HPC_TEST_LONG") ? 1 : 2);
    as_on_one(state, HPC_OPT_MUON, 1e-12, 7);
    as_on_one(state, HPC_OPT_JORGE_NEWTON, 1e-10, 4);
    as_on_one(state, HPC_OPT_JORGE_MOMENTUM, 1e-10, 4);
}

/* The same bits and bytes, in few messages or many; ranks whose parts differ differ in these. */
static void overlapping_changes_no_bit(void **state)
{
    static const size_t buckets[] = {0, 600, 1 << 20};
    enum { BUCKETS = sizeof buckets / sizeof *buckets };
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        job *plain = start(*state, HPC_OPT_ADAMW, g % 2 ? HPC_BF16 : HPC_F32), *hidden;
        hpc_masks *m = choose(&plain->o.model, 0.8, false);
        plain->masks = m;
        plain->o.accumulate = 1 + (int64_t)(g % 3 == 0);
        put_grid(plain, &grids[g]);
        run_job(plain);
        hidden = start(*state, HPC_OPT_ADAMW, plain->o.model.dtype);
        for (size_t b = g % 3; b < BUCKETS; b += getenv("HPC_TEST_LONG") ? 1 : BUCKETS) {
            hidden->o = plain->o;
            hidden->masks = m;
            put_grid(hidden, &grids[g]);
            hidden->o.parallel.overlap = true;
            hidden->o.parallel.ahead = 1;
            hidden->o.parallel.bucket_bytes = buckets[b];
            run_job(hidden);
            assert_int_equal(hidden->bytes, plain->bytes);
            assert_memory_equal(hidden->state, plain->state, plain->bytes);
            assert_memory_equal(hidden->loss, plain->loss, sizeof plain->loss);
            assert_int_equal(hidden->sent, plain->sent);
        }
        hpc_masks_free(m);
        hpc_free(plain);
        hpc_free(hidden);
    }
}

/* ---- bytes --------------------------------------------------------------------------------------
 */

typedef struct held {
    int64_t n;                          /* elements of the matrices that are pruned */
    double dense, index, picked, arena; /* bytes of their state, and of all placed state */
} held;

/* Each gradient is picked at once and not read again: a dense one is released before the next is
 * computed. */
static void assert_picked_at_once(const hpc_trainer *t, int64_t n)
{
    const hpc_segment *s = &t->p->segment[t->io.backward];
    int64_t picks = 0;
    for (int64_t k = 0; k < s->insn_n; k++) {
        if (s->insn[k].op != &hpc_op_pick) continue;
        hpc_value x = s->insn[k].operand[1];
        picks++;
        assert_true(t->p->value[x].kind == HPC_VALUE_TEMP && t->p->value[x].insn == k - 1);
        for (int64_t i = k + 1; i < s->insn_n; i++)
            for (int a = 0; a < s->insn[i].op->sig.operand_n; a++)
                assert_true(s->insn[i].operand[a] != x);
    }
    assert_int_equal(picks, n);
}

static held hold(hpc_trainer_options o, const hpc_masks *masks, bool pruned)
{
    held h = {0};
    hpc_trainer *t;
    job j = {.masks = masks};
    o.masks = pruned ? masks : NULL;
    o.step.gradients = HPC_GRADIENTS_BF16;
    test_ok(hpc_trainer_open(&t, &o, false));
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        const hpc_value_info *i = &t->p->value[v];
        double bytes = (double)hpc_type_bytes(&i->type);
        if (i->kind != HPC_VALUE_STATE || i->base >= 0) continue;
        bool gradient = strncmp(i->name, "grad.", 5) == 0,
             rounded = strncmp(i->name, "rounded.", 8) == 0;
        if (i->type.picked == 1 + v)
            h.index += bytes;
        else if (i->type.picked)
            h.picked += bytes;
        else if (mask_of(&j, i->name + (gradient ? 5 : rounded ? 8 : 0)))
            h.dense += bytes;
    }
    assert_picked_at_once(t, pruned ? masks->mask_n : 0);
    h.arena = (double)hpc_exec_placement(t->exec)->bytes[HPC_SPACE_STATE];
    assert_true((double)hpc_trainer_peak(t) >= h.arena);
    h.n = masks->n;
    hpc_trainer_close(t);
    return h;
}

/* (26 - 24 p) bytes for each element, of 20 dense; the placement of all state differs by that, but
 * for what begins values at a line of memory. */
static void bytes_follow_the_form(void **state)
{
    static const double share[] = {0, 0.5, 0.8, 0.9};
    job *j = start(*state, HPC_OPT_ADAMW, HPC_BF16);
    j->o.model.hidden = 64, j->o.model.ffn = 160;
    for (size_t s = 0; s < sizeof share / sizeof *share; s++) {
        hpc_masks *m = choose(&j->o.model, share[s], true);
        held was = hold(j->o, m, false), is = hold(j->o, m, true);
        double phi = (double)is.n, kept_n = (double)m->kept, gaps = 64 * 10 * (double)m->mask_n;
        assert_true(was.dense == 20 * phi && was.picked == 0);
        assert_true(is.dense == 2 * phi);
        assert_true(is.index == 4 * kept_n && is.picked == 20 * kept_n);
        assert_true(fabs(is.dense + is.index + is.picked - (26 - 24 * share[s]) * phi) <=
                    12 * (double)m->mask_n); /* half an element of each, rounded */
        assert_true(fabs(is.arena - was.arena - (6 - 24 * share[s]) * phi) <= gaps);
        if (share[s] == 0) assert_true(is.dense + is.index + is.picked == 26 * phi);
        hpc_masks_free(m);
    }
    hpc_free(j);
}

/* Along data a rank of two sends half of each all-reduce's twice: 2 bytes for each element that is
 * left. Embedding and norms are as they were, rounded like the others. */
static void ranks_send_what_is_left(void **state)
{
    static const double share[] = {0, 0.5, 0.8, 0.9};
    for (size_t s = 0; s < sizeof share / sizeof *share; s++) {
        job *j = start(*state, HPC_OPT_ADAMW, HPC_BF16);
        hpc_masks *m = choose(&j->o.model, share[s], false);
        int64_t others = hpc_model_config_params(&j->o.model) - m->n;
        j->masks = m;
        put_grid(j, &(grid){2, 1, 1, 0, false});
        run_job(j);
        assert_int_equal(j->sent, 2 * (m->kept + others) + 4 + 8);
        hpc_masks_free(m);
        hpc_free(j);
    }
}

/* With ZeRO a rank sends half of each sum, and half of what is new: as much. All of a dense model's
 * gradients are rounded if that is asked for. */
static void shared_out_or_dense_they_send_as_much(void **state)
{
    job *j = start(*state, HPC_OPT_ADAMW, HPC_BF16);
    hpc_masks *m = choose(&j->o.model, 0.5, true); /* an even number of each */
    int64_t all = hpc_model_config_params(&j->o.model);
    put_grid(j, &(grid){2, 1, 1, 1, false});
    j->masks = m;
    run_job(j);
    assert_int_equal(j->sent, 2 * (m->kept + all - m->n) + 4 + 8);
    put_grid(j, &(grid){2, 1, 1, 0, false});
    j->masks = NULL;
    j->o.step.gradients = HPC_GRADIENTS_BF16;
    run_job(j);
    assert_int_equal(j->sent, 2 * all + 4 + 8);
    hpc_masks_free(m);
    hpc_free(j);
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void what_cannot_be_pruned_is_said(void **state)
{
    hpc_trainer_options o = tiny_trainer(HPC_OPT_ADAMW);
    hpc_prune_config p = {.asked = true, .sparsity = 1};
    (void)state;
    test_fails(hpc_prune_check(&p, &o.optimizer, &o.model, &o.parallel), HPC_E_ARG, "prune=1 must");
    p.sparsity = -0.1;
    test_fails(hpc_prune_check(&p, &o.optimizer, &o.model, &o.parallel), HPC_E_ARG, "prune=-0.1 ");
    p.sparsity = 0.5;
    test_ok(hpc_prune_check(&p, &o.optimizer, &o.model, &o.parallel));
    o.optimizer.kind = HPC_OPT_SOAP;
    test_fails(hpc_prune_check(&p, &o.optimizer, &o.model, &o.parallel), HPC_E_UNSUPPORTED,
               "prune: the moments of soap");
    o.optimizer.kind = HPC_OPT_JORGE;
    o.parallel.zero = 2;
    test_fails(hpc_prune_check(&p, &o.optimizer, &o.model, &o.parallel), HPC_E_UNSUPPORTED,
               "zero=2: ");
    o.parallel.zero = 1;
    o.model.adapter.rank = 2;
    test_fails(hpc_prune_check(&p, &o.optimizer, &o.model, &o.parallel), HPC_E_UNSUPPORTED,
               "lora-rank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_largest_stay),
                                       cmocka_unit_test(lists_and_distances),
                                       cmocka_unit_test(parts_of_assumed_masks_are_even),
                                       cmocka_unit_test(as_dense_with_a_mask),
                                       cmocka_unit_test(with_nothing_pruned),
                                       cmocka_unit_test(ranks_take_the_steps_of_one),
                                       cmocka_unit_test(overlapping_changes_no_bit),
                                       cmocka_unit_test(bytes_follow_the_form),
                                       cmocka_unit_test(ranks_send_what_is_left),
                                       cmocka_unit_test(shared_out_or_dense_they_send_as_much),
                                       cmocka_unit_test(what_cannot_be_pruned_is_said)};
    return cmocka_run_group_tests_name("train/prune", tests, hpc_test_folder_setup,
                                       hpc_test_folder_teardown);
}

/*
 * recompute.c: recomputation changes no bit of a gradient, reduces the memory that forward keeps,
 * costs at most forward's flops, and skips ops that must not run twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "train/train.h"
#include "runtime/program/priv.h"
#include "tests/support/fault.h"
#include "tests/support/values.h"

static const int policies[] = {HPC_RECOMPUTE_SELECTIVE, HPC_RECOMPUTE_BLOCK};

/* ---- a transformer's gradients ------------------------------------------------- */

enum { SEQUENCES = 4, LENGTH = 10, T = SEQUENCES * LENGTH, GRADS_MAX = 60000 };

typedef struct job {
    hpc_dtype dtype;
    double dropout;
    const char *backend;
    int threads, policy;
    double grad[GRADS_MAX]; /* of rank 0 */
    int64_t n;
} job;

static hpc_program *emit(hpc_step *io, const hpc_model_config *c, int64_t tokens, int64_t sequences,
                         int policy, int blocks)
{
    hpc_optimizer_config o = HPC_OPTIMIZER_CONFIG_DEFAULTS;
    hpc_program *p = hpc_program_create();
    test_ok(hpc_step_emit(
        io, p, c, &o, &(hpc_step_options){.model = {.tokens = tokens, .sequences = sequences}}));
    test_ok(hpc_recompute(p, &(hpc_recompute_options){.forward = io->model.forward,
                                                      .backward = io->backward,
                                                      .policy = policy,
                                                      .blocks = blocks}));
    test_ok(hpc_program_check(p));
    return p;
}

static const hpc_model_config small = {.vocab = 61,
                                       .hidden = 32,
                                       .layers = 3,
                                       .heads = 4,
                                       .kv_heads = 2,
                                       .ffn = 48,
                                       .positions = 64,
                                       .norm_eps = 1e-5,
                                       .rope = {.theta = 10000, .share = 1, .factor = 1},
                                       .act = HPC_SILU,
                                       .gated = true,
                                       .init_std = 0.02};

static void write_inputs(hpc_exec *e, const hpc_program *p, const hpc_step *io, int ranks, int rank)
{
    int32_t token[T], target[T], pos[T], start[SEQUENCES + 1] = {0};
    int n = T / ranks;
    float f[8];
    double freq[8], weight[T];
    for (int t = 0; t < n; t++) {
        token[t] = (int32_t)(hpc_random_bits(3, 0, 0, (uint64_t)(rank * n + t)) % 61);
        target[t] = (token[t] * 7 + 1) % 61;
        pos[t] = t % LENGTH;
        weight[t] = 1.0 / T;
    }
    for (int s = 0; s <= SEQUENCES / ranks; s++) start[s] = s * LENGTH;
    hpc_rope_frequencies(f, &small);
    for (int k = 0; k < 4; k++) freq[k] = f[k];
    hpc_test_write(e, 0, io->model.freq, freq);
    for (hpc_value v = 0; v < p->value_n; v++)
        if (p->value[v].trainable) hpc_test_feed(e, 0, v, (uint32_t)v, 0.1);
    hpc_test_write_i32(e, 0, io->model.tokens, token);
    hpc_test_write_i32(e, 0, io->model.targets, target);
    hpc_test_write_i32(e, 0, io->model.pos, pos);
    hpc_test_write_i32(e, 0, io->model.start, start);
    hpc_test_write(e, 0, io->weight, weight);
    hpc_test_write_scalar(e, 0, io->model.start_n, SEQUENCES / ranks + 1);
    hpc_test_write_scalar(e, 0, io->model.step, 3);
    if (io->model.first >= 0) hpc_test_write_scalar(e, 0, io->model.first, 0);
}

static void read_gradients(job *j, hpc_exec *e, const hpc_program *p)
{
    j->n = 0;
    for (hpc_value v = 0; v < p->value_n; v++) {
        if (!p->value[v].trainable) continue;
        assert_true(j->n + hpc_test_n(p, v) <= GRADS_MAX);
        hpc_test_read(e, 0, p->value[v].grad, j->grad + j->n);
        j->n += hpc_test_n(p, v);
    }
}

static int run_rank(hpc_link *world, void *user)
{
    job *j = user;
    int ranks = hpc_link_size(world), rank = hpc_link_rank(world), coord[HPC_AXIS_N];
    hpc_grid_shape axes = {.extent = {[HPC_AXIS_DATA] = ranks}};
    hpc_device_options device = {.backend = j->backend, .threads = j->threads};
    hpc_model_config c = small;
    hpc_step io;
    hpc_grid *grid;
    hpc_device *d;
    hpc_exec *e;
    c.dtype = j->dtype;
    c.dropout = j->dropout;
    hpc_program *p = emit(&io, &c, T, SEQUENCES, j->policy, 0);
    hpc_grid_coords(coord, &axes, rank);
    test_ok(hpc_shard(p, &axes, coord, NULL));
    test_ok(hpc_grid_open(&grid, world, &axes));
    test_ok(hpc_device_open(&d, &device));
    test_ok(hpc_exec_open(&e, p, d, grid, &(hpc_exec_options){.poison = 1}));
    write_inputs(e, p, &io, ranks, rank);
    test_ok(hpc_exec_run(e, io.model.forward, 0));
    test_ok(hpc_exec_run(e, io.backward, 0));
    if (rank == 0) read_gradients(j, e, p);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(grid);
    hpc_program_free(p);
    return HPC_OK;
}

/* The gradients of `what` with each policy against those without any. */
static void same_gradients(job what, int ranks)
{
    job *plain = hpc_alloc(1, sizeof *plain), *with = hpc_alloc(1, sizeof *with);
    *plain = what;
    test_ok(hpc_threads_run(ranks, run_rank, plain));
    double norm = 0;
    for (int64_t k = 0; k < plain->n; k++) norm += plain->grad[k] * plain->grad[k];
    assert_true(plain->n > 25000 && norm > 1e-6 && norm < 1e6);
    for (int k = 0; k < 2; k++) {
        *with = what;
        with->policy = policies[k];
        test_ok(hpc_threads_run(ranks, run_rank, with));
        assert_int_equal(with->n, plain->n);
        assert_memory_equal(with->grad, plain->grad, (size_t)plain->n * sizeof *plain->grad);
    }
    hpc_free(plain);
    hpc_free(with);
}

static void gradients_are_the_same_f32(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        same_gradients((job){.dtype = HPC_F32, .threads = threads}, 1);
        same_gradients((job){.dtype = HPC_F32, .threads = threads, .dropout = 0.2}, 1);
    }
}

static void gradients_are_the_same_f64(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 2; threads++) {
        same_gradients((job){.dtype = HPC_F64, .threads = threads}, 1);
        same_gradients((job){.dtype = HPC_F64, .threads = threads, .dropout = 0.2}, 1);
    }
}

static void gradients_are_the_same_on_mock(void **state)
{
    (void)state;
    same_gradients((job){.dtype = HPC_F32, .backend = "mock", .dropout = 0.2}, 1);
}

static void gradients_are_the_same_on_ranks(void **state)
{
    (void)state;
    same_gradients((job){.dtype = HPC_F32, .threads = 1, .dropout = 0.2}, 2);
}

/* ---- memory and flops ------------------------------------------------------------- */

static const hpc_model_config large = {.vocab = 512,
                                       .hidden = 256,
                                       .layers = 8,
                                       .heads = 8,
                                       .kv_heads = 4,
                                       .ffn = 704,
                                       .positions = 64,
                                       .norm_eps = 1e-5,
                                       .rope = {.theta = 10000, .share = 1, .factor = 1},
                                       .act = HPC_SILU,
                                       .gated = true,
                                       .init_std = 0.02};

/* What the slot's arena has for computed values: all of it but inputs and what the host reads.
 * It holds the gradients' working set too, which recomputation cannot shrink. */
static double activation_bytes(const hpc_program *p)
{
    hpc_arena *a = hpc_arena_create(0);
    hpc_placement pl;
    test_ok(hpc_place(&pl, a, p, NULL, NULL, 0, 1));
    double bytes = (double)pl.bytes[HPC_SPACE_SLOT];
    for (hpc_value v = 0; v < p->value_n; v++) {
        size_t own = (hpc_type_bytes(&p->value[v].type) + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
        if (p->value[v].kind == HPC_VALUE_INPUT || p->value[v].kept) bytes -= (double)own;
    }
    hpc_arena_free(a);
    return bytes;
}

static double flops_of(const hpc_program *p, int segment)
{
    double flops = 0;
    for (int64_t k = 0; k < p->segment[segment].insn_n; k++)
        flops += hpc_insn_cost(p, &p->segment[segment].insn[k]).flops;
    return flops;
}

typedef struct footprint {
    double bytes, forward, backward;
} footprint;

static footprint measure(hpc_dtype dtype, double dropout, int policy, int blocks)
{
    hpc_step io;
    hpc_model_config c = large;
    c.dtype = dtype;
    c.dropout = dropout;
    hpc_program *p = emit(&io, &c, 4 * 256, 4, policy, blocks);
    footprint f = {activation_bytes(p), flops_of(p, io.model.forward), flops_of(p, io.backward)};
    hpc_program_free(p);
    return f;
}

static void memory_shrinks_and_flops_are_bounded(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        hpc_dtype dtype = k % 2 ? HPC_BF16 : HPC_F32;
        double dropout = k < 2 ? 0 : 0.1;
        footprint none = measure(dtype, dropout, HPC_RECOMPUTE_NONE, 0);
        footprint some = measure(dtype, dropout, HPC_RECOMPUTE_SELECTIVE, 0);
        footprint all = measure(dtype, dropout, HPC_RECOMPUTE_BLOCK, 0);
        assert_true(all.bytes <= 0.25 * none.bytes);
        assert_true(some.bytes <= 0.75 * none.bytes && some.bytes > all.bytes);
        assert_true(all.backward > none.backward + 0.5 * none.forward);
        assert_true(all.backward <= none.backward + none.forward);
        assert_true(some.backward > none.backward);
        assert_true(some.backward <= none.backward + 0.02 * none.forward);
        assert_true(some.forward == none.forward && all.forward == none.forward);
    }
}

/* Each block gives the same share, but for the last: backward needs all of it at once, at its
 * beginning. */
static void some_blocks_only(void **state)
{
    (void)state;
    enum { BLOCKS = 8 };
    double bytes[BLOCKS + 1];
    for (int blocks = 1; blocks <= BLOCKS; blocks++)
        bytes[blocks] = measure(HPC_F32, 0, HPC_RECOMPUTE_BLOCK, blocks).bytes;
    bytes[0] = measure(HPC_F32, 0, HPC_RECOMPUTE_NONE, 0).bytes;
    for (int k = 2; k < BLOCKS; k++)
        assert_true(bytes[k - 1] - bytes[k] == bytes[0] - bytes[1] && bytes[k] < bytes[k - 1]);
    assert_true(bytes[BLOCKS] == bytes[BLOCKS - 1]);
    assert_true(bytes[BLOCKS] == measure(HPC_F32, 0, HPC_RECOMPUTE_BLOCK, 0).bytes);
    assert_true(bytes[BLOCKS] == measure(HPC_F32, 0, HPC_RECOMPUTE_BLOCK, 100).bytes);
}

/* Every instruction that backward has twice is of a chosen block, and no product is when cheap. */
static void repeats_say_where_they_stem_from(void **state)
{
    (void)state;
    for (int policy = HPC_RECOMPUTE_SELECTIVE; policy <= HPC_RECOMPUTE_BLOCK; policy++) {
        hpc_step io;
        hpc_program *plain = emit(&io, &small, T, SEQUENCES, HPC_RECOMPUTE_NONE, 0);
        hpc_program *p = emit(&io, &small, T, SEQUENCES, policy, 2);
        const hpc_segment *f = &p->segment[io.model.forward], *b = &p->segment[io.backward];
        int seen[512] = {0}, repeats = 0;
        for (int64_t k = 0; k < b->insn_n; k++) {
            const hpc_insn *i = &b->insn[k];
            hpc_value y = i->operand[0];
            if (p->value[y].kind == HPC_VALUE_TEMP) {
                assert_int_equal(p->value[y].segment, io.backward);
                assert_int_equal(p->value[y].insn, k);
            }
            if (y < plain->value_n) continue;
            const hpc_insn *from = &f->insn[i->tags.origin];
            assert_ptr_equal(i->op, from->op);
            assert_int_equal(seen[i->tags.origin]++, 0);
            assert_int_equal(i->tags.phase, HPC_BACKWARD);
            assert_int_equal(i->tags.block, from->tags.block);
            assert_in_range(i->tags.block, 0, 1);
            bool large_op = i->op == &hpc_op_matmul || i->op == &hpc_op_attention;
            assert_false(policy == HPC_RECOMPUTE_SELECTIVE && large_op);
            repeats++;
        }
        assert_int_equal(b->insn_n, plain->segment[io.backward].insn_n + repeats);
        assert_int_equal(repeats, policy == HPC_RECOMPUTE_BLOCK ? 2 * 16 : 2 * 3);
        hpc_program_free(plain);
        hpc_program_free(p);
    }
}

/* ---- what is left alone --------------------------------------------------------------- */

enum { N = 8 };

typedef struct sample {
    hpc_program *p;
    hpc_value x, w, s, h, a, b; /* b: made of `between` and read by backward as a and h are */
    int forward, backward;
} sample;

/* In block 0: h = x + w, a = silu(h), b by the caller; then z = a b h. */
static sample begin(void)
{
    sample s = {.p = hpc_program_create()};
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){N, N});
    s.x = hpc_program_input(s.p, "x", t);
    s.w = hpc_program_state(s.p, "w", t, true);
    s.s = hpc_program_state(s.p, "s", t, false);
    s.forward = hpc_program_segment(s.p, HPC_FORWARD, 0);
    s.p->tags.block = 0;
    s.h = hpc_binary(s.p, HPC_ADD, s.x, s.w);
    s.a = hpc_activate(s.p, s.h, HPC_SILU);
    return s;
}

static void differentiate(sample *s)
{
    hpc_value z = hpc_binary(s->p, HPC_MUL, hpc_binary(s->p, HPC_MUL, s->a, s->b), s->h);
    hpc_value seed = hpc_program_input(s->p, "seed", s->p->value[z].type);
    s->backward = hpc_program_segment(s->p, HPC_BACKWARD, 0);
    test_ok(hpc_differentiate(s->p, &(hpc_diff_options){.forward = s->forward,
                                                        .backward = s->backward,
                                                        .accumulate = -1,
                                                        .seed_of = &z,
                                                        .seed = &seed,
                                                        .seed_n = 1}));
}

/* Which instructions of forward backward has again, a bit each. */
static unsigned repeated(sample *s, int policy)
{
    unsigned bits = 0;
    int64_t n = s->p->value_n;
    hpc_recompute_options o = {.forward = s->forward, .backward = s->backward, .policy = policy};
    test_ok(hpc_recompute(s->p, &o));
    test_ok(hpc_program_check(s->p));
    const hpc_segment *b = &s->p->segment[s->backward];
    for (int64_t k = 0; k < b->insn_n; k++) {
        const hpc_insn *i = &b->insn[k];
        if (i->op->sig.operand_n > 0 && i->operand[0] >= n) bits |= 1u << i->tags.origin;
        if (i->op->view)
            assert_int_equal(s->p->value[i->operand[0]].base, hpc_value_root(s->p, i->operand[1]));
    }
    return bits;
}

static void expect(sample *s, unsigned want)
{
    differentiate(s);
    assert_int_equal(repeated(s, HPC_RECOMPUTE_BLOCK), want);
    hpc_program_free(s->p);
}

enum { H = 1, A = 2, B = 4, AB = 8 }; /* bits of the instructions that make h, a, b and a b */

static void what_is_kept_stays(void **state)
{
    (void)state;
    for (int what = 0; what < 4; what++) {
        sample s = begin();
        s.b = hpc_scale(s.p, HPC_NEW, s.h, HPC_NONE, 3);
        if (what == 1) hpc_program_keep(s.p, s.a);
        if (what == 2) hpc_program_keep(s.p, s.h);
        if (what == 3) hpc_program_keep(s.p, hpc_view(s.p, s.a, 1, (int64_t[]){N * N}));
        static const unsigned want[] = {H | A | B | AB, H | B, A | B | AB, H | B};
        unsigned product = what == 3 ? AB << 1 : AB; /* after the view */
        expect(&s, (want[what] & ~(unsigned)AB) | product);
    }
}

static void what_others_read_stays(void **state)
{
    (void)state;
    for (int block = -1; block < 2; block++) {
        sample s = begin();
        s.b = hpc_scale(s.p, HPC_NEW, s.h, HPC_NONE, 3);
        s.p->tags.block = (int16_t)block;
        hpc_scale(s.p, HPC_NEW, s.a, HPC_NONE, 5);
        s.p->tags.block = 0;
        expect(&s, block == 0 ? H | A | B | AB << 1 : H | B | AB << 1);
    }
}

static void what_is_guarded_stays(void **state)
{
    (void)state;
    sample s = begin();
    s.p->tags.guard = hpc_program_input(s.p, "guard", hpc_type_of(HPC_I32, 0, NULL));
    s.b = hpc_binary(s.p, HPC_MUL, s.x, s.x);
    s.p->tags.guard = HPC_NONE;
    expect(&s, H | A | AB);
}

/* State written before or after the read, in forward or backward: the read is not repeated. */
static void what_reads_changing_state_stays(void **state)
{
    (void)state;
    for (int when = 0; when < 5; when++) {
        sample s = begin();
        if (when == 1) hpc_fill(s.p, s.s, 2);
        s.b = hpc_binary(s.p, HPC_MUL, s.x, hpc_slice(s.p, s.s, 0, N));
        if (when == 2) hpc_fill(s.p, s.s, 2);
        differentiate(&s);
        s.p->current = when == 3 ? s.backward : hpc_program_segment(s.p, HPC_UPDATE, 0);
        if (when >= 3) hpc_fill(s.p, s.s, 2);
        unsigned shift = when == 1, all = H | A | (unsigned)B << (1 + shift);
        unsigned product = (unsigned)AB << (1 + shift + (when == 2));
        bool stays = when > 0 && when < 4;
        if (stays) all = H | A;
        assert_int_equal(repeated(&s, HPC_RECOMPUTE_BLOCK), all | product);
        hpc_program_free(s.p);
    }
}

static void what_others_sent_stays(void **state)
{
    (void)state;
    sample s = begin();
    s.b = hpc_all_reduce(s.p, s.h, 1u << HPC_AXIS_DATA, HPC_COMM_SUM);
    expect(&s, H | A | AB);
}

/* Types refer to one count; counted values are recomputed nevertheless. */
static void counts_stay(void **state)
{
    (void)state;
    sample s = begin();
    hpc_value count,
        group = hpc_program_input(s.p, "group", hpc_type_of(HPC_I32, 1, (int64_t[]){N}));
    hpc_value index = hpc_route(s.p, group, 2, N, &count);
    hpc_value rows = hpc_activate(s.p, hpc_gather(s.p, s.h, index), HPC_SILU);
    s.b = hpc_scatter(s.p, HPC_NEW, rows, index, (hpc_scatter_attr){.rows = N});
    enum { GATHER = 8, ROWS = 16, SCATTER = 32, PRODUCT = 64 };
    expect(&s, H | A | GATHER | ROWS | SCATTER | PRODUCT);
}

/* Backward's views of a recomputed value, and views of these, refer to the new one. */
static void views_follow_their_base(void **state)
{
    (void)state;
    sample s = begin();
    s.b = hpc_view(s.p, hpc_view(s.p, s.h, 1, (int64_t[]){N * N}), 2, (int64_t[]){N, N});
    differentiate(&s);
    s.p->current = s.backward;
    hpc_value flat = hpc_view(s.p, s.a, 1, (int64_t[]){N * N});
    hpc_value back = hpc_view(s.p, flat, 2, (int64_t[]){N, N});
    hpc_program_keep(s.p, hpc_scale(s.p, HPC_NEW, back, HPC_NONE, 2));
    enum { FLAT = 4, SQUARE = 8, PRODUCT = 16 };
    assert_int_equal(repeated(&s, HPC_RECOMPUTE_BLOCK), H | A | FLAT | SQUARE | PRODUCT);
    assert_true(s.p->value[back].base != s.a);
    hpc_program_free(s.p);
}

/* No product; and what backward would keep instead must be smaller: of b = 3 (x w) it is not. */
static void selective_saves_memory(void **state)
{
    (void)state;
    sample s = begin();
    s.b = hpc_matmul(s.p, s.a, s.w, (hpc_matmul_attr){0});
    differentiate(&s);
    assert_int_equal(repeated(&s, HPC_RECOMPUTE_SELECTIVE), H | A | AB);
    hpc_program_free(s.p);
    s = begin();
    hpc_value product = hpc_matmul(s.p, s.x, s.w, (hpc_matmul_attr){0});
    s.b = hpc_scale(s.p, HPC_NEW, product, HPC_NONE, 3); /* one of the two is kept: b is */
    differentiate(&s);
    assert_int_equal(repeated(&s, HPC_RECOMPUTE_SELECTIVE), H | A | AB << 1);
    hpc_program_free(s.p);
}

/* Ten thousand dependent instructions are recomputed from the last. */
static void long_chains(void **state)
{
    (void)state;
    enum { LONG = 10000 };
    sample s = begin();
    hpc_value v = s.h;
    for (int k = 0; k < LONG; k++) v = hpc_scale(s.p, HPC_NEW, v, HPC_NONE, 1);
    s.b = v;
    differentiate(&s);
    int64_t before = s.p->segment[s.backward].insn_n;
    hpc_recompute_options o = {
        .forward = s.forward, .backward = s.backward, .policy = HPC_RECOMPUTE_BLOCK};
    test_ok(hpc_recompute(s.p, &o));
    assert_int_equal(s.p->segment[s.backward].insn_n, before + LONG + 3);
    hpc_program_free(s.p);
}

static void refusals(void **state)
{
    (void)state;
    sample s = begin();
    s.b = s.x;
    differentiate(&s);
    int64_t before = s.p->segment[s.backward].insn_n;
    hpc_recompute_options o = {
        .forward = s.forward, .backward = s.backward, .policy = HPC_RECOMPUTE_NONE};
    test_ok(hpc_recompute(s.p, &o));
    assert_int_equal(s.p->segment[s.backward].insn_n, before);
    o.policy = 3;
    test_fails(hpc_recompute(s.p, &o), HPC_E_ARG, "there is no policy 3");
    o = (hpc_recompute_options){
        .forward = s.forward, .backward = s.backward, .policy = HPC_RECOMPUTE_BLOCK, .blocks = -1};
    test_fails(hpc_recompute(s.p, &o), HPC_E_ARG, "blocks is -1; 0 means all");
    o = (hpc_recompute_options){
        .forward = s.backward, .backward = s.forward, .policy = HPC_RECOMPUTE_BLOCK};
    test_fails(hpc_recompute(s.p, &o), HPC_E_ARG, "segments 1, 0");
    hpc_program_free(s.p);
}

static int recompute_once(void *user)
{
    const hpc_program *original = user;
    hpc_program *p = hpc_program_copy(original);
    int rc = HPC_E_NOMEM;
    if (!p) goto out;
    TRY(hpc_recompute(p, &(hpc_recompute_options){.backward = 1, .policy = HPC_RECOMPUTE_BLOCK}));
out:
    if (p && rc < 0) assert_true(hpc_program_status(p) < 0 || p->segment[1].insn_n > 0);
    hpc_program_free(p);
    return rc;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    sample s = begin();
    s.b = hpc_scale(s.p, HPC_NEW, s.h, HPC_NONE, 3);
    differentiate(&s);
    assert_true(hpc_test_each_alloc(recompute_once, s.p) > 15);
    hpc_program_free(s.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_same_f32),
        cmocka_unit_test(gradients_are_the_same_f64),
        cmocka_unit_test(gradients_are_the_same_on_mock),
        cmocka_unit_test(gradients_are_the_same_on_ranks),
        cmocka_unit_test(memory_shrinks_and_flops_are_bounded),
        cmocka_unit_test(some_blocks_only),
        cmocka_unit_test(repeats_say_where_they_stem_from),
        cmocka_unit_test(what_is_kept_stays),
        cmocka_unit_test(what_others_read_stays),
        cmocka_unit_test(what_is_guarded_stays),
        cmocka_unit_test(what_reads_changing_state_stays),
        cmocka_unit_test(what_others_sent_stays),
        cmocka_unit_test(counts_stay),
        cmocka_unit_test(views_follow_their_base),
        cmocka_unit_test(selective_saves_memory),
        cmocka_unit_test(long_chains),
        cmocka_unit_test(refusals),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("program/recompute", tests, NULL, NULL);
}

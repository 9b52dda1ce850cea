/*
 * shard.c: from the global program to a rank's: conversions are inserted where layouts differ,
 * errors name extents that do not divide, and sums over ranks equal those of one rank.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/values.h"

enum { M = 8, K = 12, N = 4 };

typedef struct layouts { /* of a [M,K] and b [N,K] on the row axis */
    int8_t a, b;
} layouts;

typedef struct product {
    hpc_value a, b, y, z;
} product;

/* y = a b^T, then z = silu(y), which is not linear. */
static hpc_program *emit(product *v, layouts l)
{
    hpc_program *p = hpc_program_create();
    hpc_type a = hpc_type_of(HPC_F64, 2, (int64_t[]){M, K});
    hpc_type b = hpc_type_of(HPC_F64, 2, (int64_t[]){N, K});
    a.layout[HPC_AXIS_ROW] = l.a;
    b.layout[HPC_AXIS_ROW] = l.b;
    v->a = hpc_program_input(p, "a", a);
    v->b = hpc_program_input(p, "b", b);
    hpc_program_segment(p, HPC_FORWARD, 0);
    v->y = hpc_linear(p, v->a, v->b, HPC_NONE, HPC_NONE);
    v->z = hpc_activate(p, v->y, HPC_SILU);
    hpc_program_keep(p, v->z);
    return p;
}

static int shard(hpc_program *p, int rows, int rank)
{
    hpc_grid_shape g = {.extent = {[HPC_AXIS_ROW] = rows}};
    int coord[HPC_AXIS_N];
    hpc_grid_coords(coord, &g, rank);
    return hpc_shard(p, &g, coord, NULL);
}

static int count(const hpc_program *p, const hpc_op *op)
{
    int n = 0;
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) n += p->segment[s].insn[k].op == op;
    return n;
}

static void rows_flow_through(void **state)
{
    (void)state;
    product v;
    hpc_program *p = emit(&v, (layouts){HPC_SPLIT(0), HPC_REPLICATED});
    test_ok(shard(p, 2, 1));
    assert_int_equal(p->segment[0].insn_n, 2);
    assert_int_equal(p->value[v.a].type.extent[0], M / 2);
    assert_int_equal(p->value[v.z].type.extent[0], M / 2);
    assert_int_equal(p->value[v.z].type.layout[HPC_AXIS_ROW], HPC_SPLIT(0));
    hpc_program_free(p);
}

static void split_sums_are_reduced_before_what_is_not_linear(void **state)
{
    (void)state;
    product v;
    hpc_program *p = emit(&v, (layouts){HPC_SPLIT(1), HPC_SPLIT(1)});
    test_ok(shard(p, 2, 0));
    assert_int_equal(p->value[v.y].type.layout[HPC_AXIS_ROW], HPC_PARTIAL);
    assert_int_equal(p->value[v.z].type.layout[HPC_AXIS_ROW], HPC_REPLICATED);
    assert_int_equal(count(p, &hpc_op_all_reduce), 1);
    assert_int_equal(p->segment[0].insn[1].tags.queue, HPC_COMM);
    hpc_program_free(p);
}

static void a_temporary_is_brought_to_its_layout(void **state)
{
    (void)state;
    product v;
    hpc_program *p = emit(&v, (layouts){HPC_SPLIT(1), HPC_SPLIT(1)});
    p->value[v.y].type.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
    test_ok(shard(p, 2, 0));
    assert_int_equal(count(p, &hpc_op_reduce_scatter), 1);
    assert_int_equal(count(p, &hpc_op_all_reduce), 0);
    assert_int_equal(p->value[v.z].type.layout[HPC_AXIS_ROW], HPC_SPLIT(0));
    hpc_program_free(p);
}

/* A sum that one linear op reads is left to it; one that two read is made once, before. */
static void sums_pass_where_they_get_no_larger(void **state)
{
    (void)state;
    for (int readers = 1; readers <= 2; readers++) {
        product v;
        hpc_program *p = emit(&v, (layouts){HPC_SPLIT(1), HPC_SPLIT(1)});
        hpc_value last = HPC_NONE;
        p->segment[0].insn_n--; /* without silu */
        for (int k = 0; k < readers; k++) last = hpc_scale(p, HPC_NEW, v.y, HPC_NONE, 2);
        hpc_program_keep(p, last);
        test_ok(shard(p, 2, 0));
        assert_int_equal(p->value[last].type.layout[HPC_AXIS_ROW],
                         readers == 1 ? HPC_PARTIAL : HPC_REPLICATED);
        assert_int_equal(count(p, &hpc_op_all_reduce), readers - 1);
        hpc_program_free(p);
    }
}

/* The largest lse, the sum of exponentials, the target's logit. */
static void losses_are_put_together_of_parts(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_type words = hpc_type_of(HPC_F64, 2, (int64_t[]){N, K});
    words.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
    hpc_value x = hpc_program_input(p, "x", hpc_type_of(HPC_F64, 2, (int64_t[]){M, K}));
    hpc_value w = hpc_program_input(p, "w", words);
    hpc_value target = hpc_program_input(p, "target", hpc_type_of(HPC_I32, 1, (int64_t[]){M}));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value loss = hpc_head_loss_of_parts(p, NULL, x, w, target, 0);
    hpc_program_keep(p, loss);
    test_ok(shard(p, 2, 1));
    const hpc_head_attr *at = p->segment[0].insn[0].attr;
    assert_int_equal(at->first, N / 2);
    assert_int_equal(at->rows, N);
    assert_int_equal(count(p, &hpc_op_all_reduce), 3);
    assert_int_equal(count(p, &hpc_op_all_gather), 0);
    assert_int_equal(p->value[loss].type.extent[0], M);
    hpc_program_free(p);
}

static void differing_layouts_are_converted(void **state)
{
    (void)state;
    product v;
    hpc_program *p = emit(&v, (layouts){HPC_SPLIT(0), HPC_SPLIT(0)});
    test_ok(shard(p, 2, 0)); /* rows of both: the smaller is gathered */
    assert_int_equal(count(p, &hpc_op_all_gather), 1);
    assert_int_equal(p->value[v.z].type.layout[HPC_AXIS_ROW], HPC_SPLIT(0));
    hpc_program_free(p);
}

static void what_does_not_divide_is_named(void **state)
{
    (void)state;
    product v;
    hpc_program *p = emit(&v, (layouts){HPC_SPLIT(0), HPC_REPLICATED});
    test_fails(shard(p, 3, 0), HPC_E_SHAPE, "a: extent 0 is 8, which row=3 does not divide");
    test_fails(hpc_program_check(p), HPC_E_SHAPE, "row=3");
    hpc_program_free(p);
    p = emit(&v, (layouts){HPC_SPLIT(2), HPC_REPLICATED});
    test_fails(shard(p, 2, 0), HPC_E_SHAPE, "splits dimension 2 of rank 2");
    hpc_program_free(p);
}

static void an_extent_of_one_is_serial(void **state)
{
    (void)state;
    product v;
    hpc_program *p = emit(&v, (layouts){HPC_SPLIT(1), HPC_SPLIT(1)});
    test_ok(shard(p, 1, 0));
    assert_int_equal(p->segment[0].insn_n, 2);
    assert_int_equal(p->value[v.a].type.extent[1], K);
    hpc_program_free(p);
}

/* Every layout of the two factors gives what one rank computes. */
typedef struct job {
    layouts l;
    double z[M * N];
} job;

/* A rank's part of x [.., cols]. */
static void cut(double *out, const double *x, const hpc_type *local, int64_t cols, int8_t layout,
                int rank)
{
    int64_t r0 = layout == HPC_SPLIT(0) ? rank * local->extent[0] : 0;
    int64_t c0 = layout == HPC_SPLIT(1) ? rank * local->extent[1] : 0;
    for (int64_t r = 0; r < local->extent[0]; r++)
        for (int64_t c = 0; c < local->extent[1]; c++)
            out[r * local->extent[1] + c] = x[(r0 + r) * cols + c0 + c];
}

static int run_rank(hpc_link *world, void *user)
{
    job *j = user;
    product v;
    int rank = hpc_link_rank(world), n = hpc_link_size(world);
    double a[M * K], b[N * K], part[M * K];
    hpc_grid_shape shape = {.extent = {[HPC_AXIS_ROW] = n}};
    hpc_device *d;
    hpc_grid *g;
    hpc_exec *e;
    hpc_program *p = emit(&v, j->l);
    test_ok(shard(p, n, rank));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 1}));
    test_ok(hpc_grid_open(&g, world, &shape));
    test_ok(hpc_exec_open(&e, p, d, g, NULL));
    hpc_test_draw(a, M * K, 1, 1);
    hpc_test_draw(b, N * K, 2, 1);
    cut(part, a, &p->value[v.a].type, K, n > 1 ? j->l.a : HPC_REPLICATED, rank);
    hpc_test_write(e, 0, v.a, part);
    cut(part, b, &p->value[v.b].type, K, n > 1 ? j->l.b : HPC_REPLICATED, rank);
    hpc_test_write(e, 0, v.b, part);
    test_ok(hpc_exec_run(e, 0, 0));
    const hpc_type *z = &p->value[v.z].type;
    hpc_test_read(e, 0, v.z, part);
    bool mine = rank == 0 || z->layout[HPC_AXIS_ROW] > 0;
    for (int64_t r = 0; r < z->extent[0] && mine; r++)
        for (int64_t c = 0; c < z->extent[1]; c++) {
            int64_t r0 = z->layout[HPC_AXIS_ROW] == HPC_SPLIT(0) ? rank * z->extent[0] : 0;
            int64_t c0 = z->layout[HPC_AXIS_ROW] == HPC_SPLIT(1) ? rank * z->extent[1] : 0;
            j->z[(r0 + r) * N + c0 + c] = part[r * z->extent[1] + c];
        }
    hpc_exec_close(e);
    hpc_grid_close(g);
    hpc_device_close(d);
    hpc_program_free(p);
    return HPC_OK;
}

static void every_layout_computes_the_same(void **state)
{
    (void)state;
    const int8_t some[] = {HPC_REPLICATED, HPC_SPLIT(0), HPC_SPLIT(1)};
    static job one, two;
    test_ok(hpc_threads_run(1, run_rank, &one));
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            two = (job){.l = {some[a], some[b]}};
            test_ok(hpc_threads_run(2, run_rank, &two));
            assert_true(hpc_test_error(two.z, one.z, M * N) < 1e-14);
        }
}

/* A value gathered under a guard may be missing for other readers. */
static void a_guarded_conversion_serves_its_guard_alone(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K});
    t.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
    hpc_value x = hpc_program_input(p, "x", t);
    hpc_value open = hpc_program_input(p, "open", hpc_type_of(HPC_I32, 0, NULL));
    hpc_program_segment(p, HPC_FORWARD, 0);
    for (int k = 0; k < 5; k++) { /* guarded twice, open to all twice, guarded again */
        p->tags.guard = k < 2 || k == 4 ? open : HPC_NONE;
        hpc_reduce(p, HPC_NEW, x, HPC_MAX, HPC_OVER_ALL);
    }
    test_ok(shard(p, 2, 0));
    assert_int_equal(count(p, &hpc_op_all_gather), 2);
    assert_int_equal(p->segment[0].insn[0].tags.guard, open);
    assert_int_equal(p->segment[0].insn[3].tags.guard, HPC_NONE);
    assert_int_equal(p->segment[0].insn[6].operand[1], p->segment[0].insn[1].operand[1]);
    hpc_program_free(p);
}

/* Rows by row, then by data: to gather them over row first would put them in another order. */
static void the_finest_parts_are_gathered_first(void **state)
{
    (void)state;
    hpc_grid_shape g = {.extent = {[HPC_AXIS_DATA] = 2, [HPC_AXIS_ROW] = 2}};
    int coord[HPC_AXIS_N] = {0};
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K});
    t.layout[HPC_AXIS_ROW] = t.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
    hpc_value x = hpc_program_input(p, "x", t);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_reduce(p, HPC_NEW, x, HPC_MAX, HPC_OVER_ALL);
    test_ok(hpc_shard(p, &g, coord, NULL));
    assert_int_equal(p->segment[0].insn_n, 3);
    assert_int_equal(((hpc_comm_attr *)p->segment[0].insn[0].attr)->axes, 1 << HPC_AXIS_DATA);
    assert_int_equal(((hpc_comm_attr *)p->segment[0].insn[1].attr)->axes, 1 << HPC_AXIS_ROW);
    hpc_program_free(p);
}

/* What data holds in finer parts is put together before row splits it in coarser ones, and split
 * again. */
static void finer_parts_make_way_for_coarser_ones(void **state)
{
    (void)state;
    hpc_grid_shape g = {.extent = {[HPC_AXIS_DATA] = 2, [HPC_AXIS_ROW] = 2}};
    int coord[HPC_AXIS_N] = {0};
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K}), both;
    t.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
    both = t;
    both.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
    hpc_value a = hpc_program_input(p, "a", t), b = hpc_program_input(p, "b", both);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_binary(p, HPC_ADD, b, a);
    test_ok(hpc_shard(p, &g, coord, NULL));
    const hpc_insn *i = p->segment[0].insn;
    assert_int_equal(p->segment[0].insn_n, 4);
    assert_ptr_equal(i[0].op, &hpc_op_all_gather);
    assert_int_equal(((hpc_comm_attr *)i[0].attr)->axes, 1 << HPC_AXIS_DATA);
    for (int k = 1; k <= 2; k++) { /* by row; by data */
        assert_ptr_equal(i[k].op, &hpc_op_view);
        assert_int_equal(p->value[i[k].operand[0]].type.extent[0], M >> k);
    }
    assert_memory_equal(p->value[i[2].operand[0]].type.layout, both.layout, sizeof both.layout);
    hpc_program_free(p);
}

/* Inner parts lie within all others, whichever axes those are of. */
static void inner_parts_are_the_finest(void **state)
{
    (void)state;
    hpc_grid_shape g = {.extent = {[HPC_AXIS_DATA] = 2, [HPC_AXIS_ROW] = 2}};
    int coord[HPC_AXIS_N] = {[HPC_AXIS_DATA] = 1, [HPC_AXIS_ROW] = 0};
    char text[128];
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K}), both;
    t.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
    both = t;
    both.layout[HPC_AXIS_ROW] = HPC_INNER(0);
    hpc_value a = hpc_program_input(p, "a", t), b = hpc_program_input(p, "b", both);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value y = hpc_binary(p, HPC_ADD, b, a);
    hpc_reduce(p, HPC_NEW, y, HPC_MAX, HPC_OVER_ALL);
    test_ok(hpc_shard(p, &g, coord, NULL));
    const hpc_type *sum = &p->value[y].type;
    assert_string_equal(hpc_type_text(text, sum), "f32[2,12]{data:0,row:0 inner}");
    assert_int_equal(hpc_type_first(sum, 0, &g, coord), M / 2);
    coord[HPC_AXIS_ROW] = 1;
    assert_int_equal(hpc_type_first(sum, 0, &g, coord), M / 2 + M / 4);
    const hpc_insn *i = p->segment[0].insn;
    assert_int_equal(p->segment[0].insn_n, 5);
    assert_true(i[0].op->comm < 0); /* cut */
    assert_int_equal(((hpc_comm_attr *)i[2].attr)->axes, 1 << HPC_AXIS_ROW);
    assert_int_equal(((hpc_comm_attr *)i[3].attr)->axes, 1 << HPC_AXIS_DATA);
    hpc_program_free(p);
}

/* However many bytes of it there are. */
static void inner_parts_give_way_to_plain_ones(void **state)
{
    (void)state;
    product v;
    hpc_program *p = emit(&v, (layouts){HPC_INNER(0), HPC_SPLIT(0)});
    test_ok(shard(p, 2, 1));
    assert_int_equal(count(p, &hpc_op_all_gather), 1);
    assert_int_equal(p->segment[0].insn_n, 3);
    assert_int_equal(p->value[v.z].type.layout[HPC_AXIS_ROW], HPC_SPLIT(1));
    hpc_program_free(p);
}

/* Eight rows are in four parts, blocks of four rows in two: the finer axis gives way. */
static void blocks_are_split_as_far_as_they_divide(void **state)
{
    (void)state;
    hpc_grid_shape g = {.extent = {[HPC_AXIS_DEPTH] = 2, [HPC_AXIS_ROW] = 2}};
    int coord[HPC_AXIS_N] = {0};
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K});
    t.layout[HPC_AXIS_ROW] = t.layout[HPC_AXIS_DEPTH] = HPC_SPLIT(0);
    hpc_value x = hpc_program_input(p, "x", t);
    hpc_program_segment(p, HPC_UPDATE, 0);
    hpc_value blocks = hpc_view(p, x, 3, (int64_t[]){M / 4, 4, K});
    test_ok(hpc_shard(p, &g, coord, NULL));
    assert_int_equal(count(p, &hpc_op_all_gather), 1);
    assert_int_equal(((hpc_comm_attr *)p->segment[0].insn[0].attr)->axes, 1 << HPC_AXIS_DEPTH);
    assert_int_equal(p->value[blocks].type.extent[0], M / 4 / 2);
    assert_int_equal(p->value[blocks].type.extent[1], 4);
    hpc_program_free(p);
}

/* sgd's moments are split, its parameter is not: what would be updated is a copy. */
static void what_is_updated_in_place_is_not_converted(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){M, K}), s = t;
    s.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
    hpc_value w = hpc_program_state(p, "w", t, false), m = hpc_program_state(p, "m", s, false);
    hpc_value g = hpc_program_state(p, "g", t, false);
    hpc_value lr = hpc_program_input(p, "lr", hpc_type_of(HPC_F32, 0, NULL));
    hpc_program_segment(p, HPC_UPDATE, 0);
    hpc_sgd(p, w, m, g, lr, (hpc_sgd_attr){0});
    test_fails(shard(p, 2, 0), HPC_E_UNSUPPORTED, "operand param, f32[8,12], is updated in place");
    hpc_program_free(p);
}

/* A preconditioner's blocks are split: each rank averages, damps and takes apart its own. */
static void batches_of_matrices_are_split(void **state)
{
    (void)state;
    enum { B = 6 };
    hpc_program *p = hpc_program_create();
    hpc_type t = hpc_type_of(HPC_F32, 3, (int64_t[]){B, K, K}), split = t;
    split.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
    hpc_value s = hpc_program_state(p, "s", split, false), x = hpc_program_input(p, "x", t);
    hpc_value eps = hpc_program_input(p, "eps", hpc_type_of(HPC_F32, 1, (int64_t[]){B})), values;
    hpc_program_segment(p, HPC_UPDATE, 0);
    hpc_combine(p, s, s, x, NULL, (hpc_combine_attr){.a1 = 0.95, .a2 = 0.05, .trans = true});
    hpc_value damped = hpc_combine(p, HPC_NEW, s, HPC_NONE, (hpc_value[]){eps, HPC_NONE, HPC_NONE},
                                   (hpc_combine_attr){.a0 = 1, .a1 = 1});
    hpc_value vectors = hpc_eigh(p, damped, &values);
    test_ok(shard(p, 2, 0));
    assert_int_equal(p->value[s].type.extent[0], B / 2);
    assert_int_equal(p->value[values].type.extent[0], B / 2);
    assert_int_equal(p->value[vectors].type.extent[0], B / 2);
    assert_int_equal(p->value[vectors].type.extent[1], K);
    assert_int_equal(count(p, &hpc_op_view), 2); /* of x and eps: whole values are cut */
    assert_int_equal(p->segment[0].insn_n, 5);   /* and nothing is gathered */
    hpc_program_free(p);
}

/* Accumulators are zeroed before anything is known of them; the first sum gives them a layout. */
static void accumulators_may_be_filled_first(void **state)
{
    (void)state;
    for (int reads = 0; reads < 2; reads++) {
        hpc_program *p = hpc_program_create();
        hpc_type t = hpc_type_of(HPC_F32, 2, (int64_t[]){N, K});
        t.layout[HPC_AXIS_ROW] = HPC_SPLIT(0);
        hpc_value w = hpc_program_state(p, "w", t, true);
        hpc_value x = hpc_program_input(p, "x", hpc_type_of(HPC_F32, 2, (int64_t[]){M, K}));
        hpc_value dy = hpc_program_input(p, "dy", hpc_type_of(HPC_F32, 2, (int64_t[]){M, N}));
        hpc_value g =
            hpc_program_state(p, "grad.w", hpc_type_of(HPC_F32, 2, (int64_t[]){N, K}), false);
        p->value[w].grad = g;
        int zero = hpc_program_segment(p, HPC_UPDATE, 0);
        hpc_fill(p, g, 0);
        if (reads) hpc_activate(p, g, HPC_SILU);
        int forward = hpc_program_segment(p, HPC_FORWARD, 0);
        hpc_value y = hpc_linear(p, x, w, HPC_NONE, HPC_NONE);
        int backward = hpc_program_segment(p, HPC_BACKWARD, 0);
        test_ok(hpc_differentiate(p, &(hpc_diff_options){.forward = forward,
                                                         .backward = backward,
                                                         .accumulate = -1,
                                                         .seed_of = &y,
                                                         .seed = &dy,
                                                         .seed_n = 1}));
        p->value[dy].type.layout[HPC_AXIS_ROW] = HPC_SPLIT(1);
        if (reads) {
            test_fails(shard(p, 2, 0), HPC_E_SHAPE, "grad.w is read before anything is added");
        } else {
            test_ok(shard(p, 2, 0));
            assert_int_equal(p->value[g].type.layout[HPC_AXIS_ROW], HPC_SPLIT(0));
            assert_int_equal(p->value[g].type.extent[0], N / 2);
            assert_int_equal(p->segment[zero].insn_n, 1);
        }
        hpc_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_flow_through),
        cmocka_unit_test(split_sums_are_reduced_before_what_is_not_linear),
        cmocka_unit_test(a_temporary_is_brought_to_its_layout),
        cmocka_unit_test(sums_pass_where_they_get_no_larger),
        cmocka_unit_test(losses_are_put_together_of_parts),
        cmocka_unit_test(differing_layouts_are_converted),
        cmocka_unit_test(what_does_not_divide_is_named),
        cmocka_unit_test(an_extent_of_one_is_serial),
        cmocka_unit_test(every_layout_computes_the_same),
        cmocka_unit_test(a_guarded_conversion_serves_its_guard_alone),
        cmocka_unit_test(the_finest_parts_are_gathered_first),
        cmocka_unit_test(finer_parts_make_way_for_coarser_ones),
        cmocka_unit_test(inner_parts_are_the_finest),
        cmocka_unit_test(inner_parts_give_way_to_plain_ones),
        cmocka_unit_test(blocks_are_split_as_far_as_they_divide),
        cmocka_unit_test(what_is_updated_in_place_is_not_converted),
        cmocka_unit_test(batches_of_matrices_are_split),
        cmocka_unit_test(accumulators_may_be_filled_first),
    };
    return cmocka_run_group_tests_name("program/shard", tests, NULL, NULL);
}

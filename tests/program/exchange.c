/*
 * exchange.c: rows of experts go to the ranks of their experts and return to their places, however
 * uneven they are, and the proof rejects rows that do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "runtime/program/prove/prove.h"
#include "tests/support/values.h"

enum { T = 16, K = 2, E = 8, H = 4 };

typedef enum routing { EVEN, UNEVEN, HALF_EMPTY, ALL_TO_ONE, ROUTINGS } routing;

typedef struct lab {
    hpc_program *p;
    hpc_value x, expert, weight, y, there, back;
    hpc_grid_shape shape;
    int drop; /* ranks along row that have other rows each; 1: all have the same */
    routing routing;
    int64_t sent[2]; /* bytes of all ranks along expert and along row, without those of plans */
} lab;

/* y[t] = the sum of x[t] times the number of each of its experts, counted from 1. */
static void emit(lab *l)
{
    hpc_program *p = l->p = hpc_program_create();
    hpc_type x = hpc_type_of(HPC_F32, 2, (int64_t[]){T, H});
    hpc_type expert = hpc_type_of(HPC_I32, 2, (int64_t[]){T, K});
    hpc_type weight = hpc_type_of(HPC_F32, 3, (int64_t[]){E, H, H});
    x.layout[HPC_AXIS_EXPERT] = expert.layout[HPC_AXIS_EXPERT] = HPC_SPLIT(0);
    weight.layout[HPC_AXIS_EXPERT] = HPC_SPLIT(0);
    if (l->drop > 1) x.layout[HPC_AXIS_ROW] = expert.layout[HPC_AXIS_ROW] = HPC_INNER(0);
    l->x = hpc_program_input(p, "x", x);
    l->expert = hpc_program_input(p, "expert", expert);
    l->weight = hpc_program_state(p, "weight", weight, false);
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_dispatched d = hpc_dispatch(p, l->expert, (hpc_dispatch_attr){.experts = E});
    hpc_value start = d.start, rows, plan = hpc_exchange_plan(p, &start, &rows, E, l->drop);
    l->there = hpc_exchange(p, hpc_gather_own(p, l->x, d.token), plan, rows, false);
    hpc_value y = hpc_grouped(p, HPC_NEW, l->there, l->weight, start,
                              (hpc_grouped_attr){.trans_b = true, .owned = true});
    l->back = hpc_exchange(p, y, plan, d.rows, true);
    l->y = hpc_scatter_own(p, l->back, d.token, l->x);
    hpc_program_keep(p, l->y);
    test_ok(hpc_program_check(p));
}

static int32_t expert_of(routing r, int t, int k)
{
    switch (r) {
    case EVEN: return (t + k * E / 2) % E;
    case UNEVEN: return (int32_t)((unsigned)(t * t * 7 + k * 3 + t / 5) % E);
    case HALF_EMPTY: return (t + k) % 2 * 5;
    default: return k == 0 ? 3 : -1;
    }
}

static hpc_exec *open_rank(const lab *l, hpc_program *p, hpc_grid **g, hpc_device **d, int rank,
                           hpc_link *world)
{
    hpc_exec *e;
    int coord[HPC_AXIS_N];
    double x[T * H] = {0};
    int32_t expert[T * K];
    hpc_grid_coords(coord, &l->shape, rank);
    test_ok(hpc_grid_open(g, world, &l->shape));
    test_ok(hpc_shard(p, &l->shape, coord, NULL));
    test_ok(hpc_device_open(d, &(hpc_device_options){.threads = 1}));
    test_ok(hpc_exec_open(&e, p, *d, *g, &(hpc_exec_options){.poison = 1}));
    int64_t tokens = p->value[l->x].type.extent[0];
    int64_t first = hpc_type_first(&p->value[l->x].type, 0, &l->shape, coord);
    for (int64_t i = 0; i < tokens * K; i++)
        expert[i] = expert_of(l->routing, (int)(first + i / K), (int)(i % K));
    hpc_test_write(e, 0, l->x, x);
    hpc_test_write_i32(e, 0, l->expert, expert);
    hpc_test_write(e, 0, l->weight, (double[E * H * H]){0});
    return e;
}

static int count_bytes(hpc_link *world, void *user)
{
    lab *l = user;
    hpc_program *p = hpc_program_copy(l->p);
    hpc_grid *g;
    hpc_device *d;
    hpc_exec *e = open_rank(l, p, &g, &d, hpc_link_rank(world), world);
    int64_t ranks = l->shape.extent[HPC_AXIS_EXPERT];
    hpc_grid_traffic_clear(g);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_traffic experts = hpc_grid_traffic(g, 1u << HPC_AXIS_EXPERT);
    hpc_traffic rows = hpc_grid_traffic(g, 1u << HPC_AXIS_ROW);
    int64_t plan = E * (ranks - 1) / ranks * (int64_t)sizeof(int32_t);
    int64_t sum[2], mine[] = {experts.bytes[HPC_ALL_TO_ALL] - plan,
                              l->drop > 1 ? rows.bytes[HPC_ALL_TO_ALL] : 0};
    test_ok(hpc_link_run(
        world,
        &(hpc_comm){.kind = HPC_ALL_REDUCE, .dtype = HPC_I64, .n = 2, .send = mine, .recv = sum}));
    if (hpc_link_rank(world) == 0) memcpy(l->sent, sum, sizeof sum);
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(g);
    hpc_program_free(p);
    return HPC_OK;
}

static int run(hpc_link *world, void *user)
{
    const lab *l = user;
    hpc_program *p = hpc_program_copy(l->p);
    hpc_grid *g;
    hpc_device *d;
    hpc_exec *e;
    int coord[HPC_AXIS_N];
    double x[T * H], y[T * H], w[E * H * H] = {0};
    int32_t expert[T * K];
    hpc_grid_coords(coord, &l->shape, hpc_link_rank(world));
    test_ok(hpc_grid_open(&g, world, &l->shape));
    test_ok(hpc_shard(p, &l->shape, coord, NULL));
    test_ok(hpc_device_open(&d, &(hpc_device_options){.threads = 2}));
    test_ok(hpc_exec_open(&e, p, d, g, &(hpc_exec_options){.poison = 1}));
    int64_t tokens = p->value[l->x].type.extent[0], own = p->value[l->weight].type.extent[0];
    int64_t first = hpc_type_first(&p->value[l->x].type, 0, &l->shape, coord);
    for (int64_t i = 0; i < tokens * H; i++) x[i] = (double)(first * H + i + 1);
    for (int64_t i = 0; i < tokens * K; i++)
        expert[i] = expert_of(l->routing, (int)(first + i / K), (int)(i % K));
    for (int64_t i = 0; i < own * H; i++)
        w[i * H + i % H] = (double)(coord[HPC_AXIS_EXPERT] * own + i / H + 1);
    hpc_test_write(e, 0, l->x, x);
    hpc_test_write_i32(e, 0, l->expert, expert);
    hpc_test_write(e, 0, l->weight, w);
    for (int twice = 0; twice < 2; twice++) test_ok(hpc_exec_run(e, 0, 0));
    hpc_test_read(e, 0, l->y, y);
    for (int64_t i = 0; i < tokens * H; i++) {
        double times = 0;
        for (int k = 0; k < K; k++) times += expert_of(l->routing, (int)(first + i / H), k) + 1;
        assert_true(y[i] == x[i] * times);
    }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_grid_close(g);
    hpc_program_free(p);
    return HPC_OK;
}

static void on(const char *grid, int drop)
{
    for (routing r = EVEN; r < ROUTINGS; r++) {
        lab l = {.routing = r, .drop = drop};
        test_ok(hpc_grid_parse(&l.shape, grid));
        emit(&l);
        test_ok(hpc_threads_run(hpc_grid_size(&l.shape), run, &l));
        hpc_program_free(l.p);
    }
}

static void rows_return_to_their_places(void **state)
{
    (void)state;
    on("data=1", 1);
    on("expert=2", 1);
    on("expert=4", 1);
}

static void ranks_along_row_send_each_row_once(void **state)
{
    (void)state;
    on("expert=2,row=2", 1);
    on("expert=2,row=2", 2);
    on("expert=2,row=4", 4);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* With k choices of each of the T tokens of a row group, spread evenly, a rank sends (R - 1) / R k T
 * H elements a direction, divided by the r ranks along row if these drop duplicates. Each of them
 * then gathers (r - 1) / r k T H. */
static void expect_bytes(const char *grid, int drop)
{
    lab l = {.routing = EVEN, .drop = drop};
    test_ok(hpc_grid_parse(&l.shape, grid));
    emit(&l);
    test_ok(hpc_threads_run(hpc_grid_size(&l.shape), count_bytes, &l));
    int64_t ranks = l.shape.extent[HPC_AXIS_EXPERT], rows = l.shape.extent[HPC_AXIS_ROW];
    int64_t all = T * K * H * (int64_t)sizeof(float); /* of all row groups */
    if (rows < 1) rows = 1;
    assert_int_equal(l.sent[0], 2 * rows * all * (ranks - 1) / ranks / drop);
    assert_int_equal(l.sent[1], drop > 1 ? all * (rows - 1) : 0);
    hpc_program_free(l.p);
}

static void bytes_follow_the_closed_form(void **state)
{
    (void)state;
    expect_bytes("expert=2", 1);
    expect_bytes("expert=4", 1);
    expect_bytes("expert=2,row=2", 1);
    expect_bytes("expert=2,row=2", 2);
    expect_bytes("expert=4,row=2", 2);
    expect_bytes("expert=2,row=4", 4);
}

/* ---- the proof ------------------------------------------------------------------------------- */

static void there_and_back_is_the_identity(void **state)
{
    hpc_proof proof = {0};
    lab l = {.drop = 1};
    (void)state;
    emit(&l);
    test_ok(hpc_prove_exchanges(&proof, l.p));
    assert_int_equal(proof.exchanges, 2);
    hpc_program_free(l.p);
}

static hpc_insn *insn_of(const lab *l, hpc_value v)
{
    return &l->p->segment[0].insn[l->p->value[v].insn];
}

static void rows_that_do_not_return_are_found(void **state)
{
    hpc_proof proof = {0};
    lab l = {.drop = 1};
    (void)state;
    emit(&l);
    ((hpc_exchange_attr *)insn_of(&l, l.back)->attr)->back = false;
    test_fails(hpc_prove_exchanges(&proof, l.p), HPC_E_STATE, "and not back by plan");
    hpc_program_free(l.p);

    emit(&l);
    insn_of(&l, l.back)->operand[1] = insn_of(&l, l.there)->operand[1];
    test_fails(hpc_prove_exchanges(&proof, l.p), HPC_E_STATE, "no exchange has brought them");
    hpc_program_free(l.p);

    emit(&l);
    hpc_insn *scatter = insn_of(&l, l.y);
    scatter->operand[1] = insn_of(&l, l.back)->operand[1];
    test_fails(hpc_prove_exchanges(&proof, l.p), HPC_E_STATE, "not in the order of plan");
    hpc_program_free(l.p);
}

/* The starts of rows before an exchange do not divide those after it. */
static void other_starts_are_found(void **state)
{
    hpc_proof proof = {0};
    lab l = {.drop = 1};
    (void)state;
    emit(&l);
    hpc_insn *plan = insn_of(&l, insn_of(&l, l.there)->operand[2]);
    hpc_insn *grouped = insn_of(&l, insn_of(&l, l.back)->operand[1]);
    grouped->operand[3] = plan->operand[3];
    test_fails(hpc_prove_exchanges(&proof, l.p), HPC_E_STATE, "start is not in the order of plan");
    hpc_program_free(l.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_return_to_their_places),
        cmocka_unit_test(ranks_along_row_send_each_row_once),
        cmocka_unit_test(bytes_follow_the_closed_form),
        cmocka_unit_test(there_and_back_is_the_identity),
        cmocka_unit_test(rows_that_do_not_return_are_found),
        cmocka_unit_test(other_starts_are_found),
    };
    return cmocka_run_group_tests_name("program/exchange", tests, NULL, NULL);
}

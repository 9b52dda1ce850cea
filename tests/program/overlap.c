/*
 * overlap.c: order of collectives and computation in programs written by hand; sent values keep
 * their memory until they have arrived; spliced segments.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/values.h"

enum { N = 64 };

static const hpc_axes row = 1u << HPC_AXIS_ROW, data = 1u << HPC_AXIS_DATA;

static hpc_type matrix(void)
{
    return hpc_type_of(HPC_F32, 2, (int64_t[]){N, N});
}

static hpc_value product(hpc_program *p, hpc_value a, hpc_value b)
{
    return hpc_matmul(p, a, b, (hpc_matmul_attr){.alpha = 1});
}

static hpc_value sum(hpc_program *p, hpc_value x, hpc_axes axes)
{
    p->tags.queue = HPC_COMM;
    hpc_value y = hpc_all_reduce(p, x, axes, HPC_COMM_SUM);
    p->tags.queue = HPC_COMPUTE;
    return y;
}

/* Where an instruction that makes v stands. */
static int at(const hpc_program *p, hpc_value v)
{
    const hpc_segment *s = &p->segment[p->value[v].segment];
    for (int64_t k = 0; k < s->insn_n; k++)
        for (int a = 0; a < s->insn[k].op->sig.operand_n; a++)
            if (s->insn[k].operand[a] == v && s->insn[k].op->sig.operand[a].flags & HPC_OUT)
                return (int)k;
    fail_msg("%%%d is made nowhere", v);
    return -1;
}

static void overlap(hpc_program *p, int ahead, size_t bucket)
{
    hpc_overlap_options o = {.ahead = ahead, .bucket_bytes = bucket};
    test_ok(hpc_overlap(p, &o));
    test_ok(hpc_program_check(p));
}

/* In each layer the critical path comes first; other work follows after the sum has begun. */
static void what_leads_on_comes_first(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix()), side[3], flow[3], y = x;
    hpc_program_segment(p, HPC_FORWARD, 0);
    for (int k = 0; k < 3; k++) {
        side[k] = product(p, y, x); /* written first, not read here */
        hpc_program_keep(p, side[k]);
        flow[k] = product(p, x, y);
        y = sum(p, flow[k], row);
    }
    hpc_program_keep(p, hpc_activate(p, y, HPC_SILU));
    overlap(p, 1, 0);
    const hpc_segment *s = &p->segment[0];
    for (int k = 0; k < 3; k++) {
        assert_true(at(p, flow[k]) < at(p, side[k]));
        assert_ptr_equal(s->insn[at(p, flow[k]) + 1].op, &hpc_op_all_reduce);
        assert_int_equal(at(p, side[k]), at(p, flow[k]) + 2);
    }
    hpc_program_free(p);
}

/* Two flows that do not meet take turns. */
static void flows_take_turns(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix()), made[2][4];
    hpc_program_segment(p, HPC_FORWARD, 0);
    for (int f = 0; f < 2; f++) {
        hpc_value y = x;
        for (int k = 0; k < 4; k++) {
            made[f][k] = product(p, y, x);
            y = sum(p, made[f][k], row);
        }
        hpc_program_keep(p, hpc_activate(p, y, HPC_SILU));
    }
    overlap(p, 1, 0);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(at(p, made[0][k]), 4 * k);
        assert_int_equal(at(p, made[1][k]), 4 * k + 2);
    }
    hpc_program_free(p);
}

/* A value being sent is not overwritten by other computation until it has arrived. */
static void what_is_sent_stays(void **state)
{
    (void)state;
    hpc_arena *a = hpc_arena_create(0);
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix());
    hpc_placement place;
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value sent = product(p, x, x), got = sum(p, sent, row);
    hpc_value meanwhile = product(p, x, x), both = hpc_binary(p, HPC_ADD, got, meanwhile);
    hpc_value after = product(p, both, x);
    hpc_program_keep(p, after);
    test_ok(hpc_place(&place, a, p, NULL, NULL, 0, 1));
    const int64_t bytes = N * N * 4;
    assert_true(place.offset[meanwhile] >= place.offset[sent] + bytes ||
                place.offset[sent] >= place.offset[meanwhile] + bytes);
    assert_int_equal(place.live[HPC_SPACE_SLOT], 4 * bytes); /* and x */
    hpc_program_free(p);
    hpc_arena_free(a);
}

/* Sums that end in state go in one message, which has the bytes of all; what flows goes alone. */
static void small_sums_go_together(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix()), into[3];
    for (int k = 0; k < 3; k++) {
        char name[16];
        snprintf(name, sizeof name, "into%d", k);
        into[k] = hpc_program_state(p, name, matrix(), false);
    }
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value y = x, got[3], seen[3];
    for (int k = 0; k < 3; k++) {
        y = product(p, y, x);
        got[k] = sum(p, y, data);
        seen[k] = hpc_view(p, got[k], 2, (int64_t[]){N, N});
        hpc_scale(p, into[k], seen[k], HPC_NONE, 1);
    }
    hpc_program_keep(p, hpc_activate(p, sum(p, y, row), HPC_SILU));
    overlap(p, 1, 2 * N * N * 4);
    int messages = 0;
    int64_t bytes = 0;
    for (int64_t k = 0; k < p->segment[0].insn_n; k++) {
        const hpc_insn *i = &p->segment[0].insn[k];
        if (i->op != &hpc_op_all_reduce || ((const hpc_comm_attr *)i->attr)->axes != data) continue;
        messages++;
        bytes += (int64_t)hpc_type_bytes(&p->value[i->operand[0]].type);
    }
    assert_int_equal(messages, 2);
    assert_int_equal(bytes, 3 * N * N * 4);
    for (int k = 0; k < 3; k++) { /* the second follows the first, as does its view */
        assert_int_equal(p->value[got[k]].base_element, k == 1 ? N * N : 0);
        assert_int_equal(p->value[seen[k]].base_element, k == 1 ? N * N : 0);
    }
    assert_int_equal(p->value[seen[0]].base, p->value[got[0]].base);
    assert_int_equal(p->value[seen[1]].base, p->value[got[0]].base);
    hpc_program_free(p);
}

static void messages_stay(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix());
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value side = product(p, x, x), flow = product(p, x, x), y = sum(p, flow, row);
    hpc_program_keep(p, side);
    hpc_send(p, y, row, 0, 0);
    overlap(p, 1, 0);
    assert_int_equal(at(p, side), 0);
    hpc_program_free(p);
}

/* A copy has its own values, and counts versions of state after earlier ones. */
static void segments_are_put_together(void **state)
{
    (void)state;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", matrix());
    hpc_value s = hpc_program_state(p, "s", matrix(), false);
    int first = hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value y = product(p, x, s);
    hpc_scale(p, s, y, HPC_NONE, 1);
    int second = hpc_program_segment(p, HPC_FORWARD, 1),
        third = hpc_program_segment(p, HPC_UPDATE, 0);
    hpc_scale(p, s, hpc_view(p, y, 2, (int64_t[]){N, N}), HPC_NONE, 2);
    test_ok(hpc_program_append(p, second, first));
    assert_int_equal(p->segment[first].insn_n, 2);
    assert_int_equal(p->segment[second].insn_n, 2);
    assert_int_not_equal(p->segment[second].insn[0].operand[0], y);
    assert_int_equal(p->segment[second].insn[1].version[0], 1);
    test_ok(hpc_program_move(p, second, third));
    assert_int_equal(p->segment[third].insn_n, 0);
    assert_int_equal(p->segment[second].insn_n, 4);
    assert_int_equal(p->value[s].version, 3);
    test_fails(hpc_program_move(p, 0, 7), HPC_E_ARG, "segments 0 and 7 are not two of");
    test_fails(hpc_program_append(p, 1, 1), HPC_E_ARG, "segments 1 and 1 are not two of");
    hpc_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_leads_on_comes_first),
                                       cmocka_unit_test(flows_take_turns),
                                       cmocka_unit_test(what_is_sent_stays),
                                       cmocka_unit_test(small_sums_go_together),
                                       cmocka_unit_test(messages_stay),
                                       cmocka_unit_test(segments_are_put_together)};
    return cmocka_run_group_tests_name("program/overlap", tests, NULL, NULL);
}

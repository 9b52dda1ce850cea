/*
 * Tests of invalid graphs: operands that do not fit, starts that decrease or pass the end, sources
 * that do not exist. Each gives an error with its position. And the labels of layout rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/support/launch.h"
#include "tests/support/ops.h"

enum { V = 4, U = 3, E = 6, F = 4 };

static hpc_value real(hpc_program *p, const char *name, int64_t rows, int64_t cols)
{
    return hpc_program_input(p, name, test_type(HPC_F32, rows, cols));
}

static hpc_value integer(hpc_program *p, const char *name, int64_t n)
{
    return hpc_program_input(p, name, test_type(HPC_I32, n));
}

static hpc_program *begin(hpc_graph *g)
{
    hpc_program *p = hpc_program_create();
    assert_non_null(p);
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    *g = hpc_graph_of_segments(integer(p, "start", V + 1));
    g->index = integer(p, "index", E);
    return p;
}

static void refuses(hpc_program *p, int code, const char *part)
{
    test_fails(hpc_program_status(p), code, part);
    hpc_program_free(p);
}

static void misfits_are_named(void **state)
{
    (void)state;
    hpc_graph g;
    hpc_program *p = begin(&g);
    hpc_graph_reduce(p, HPC_NEW, real(p, "x", U, F), real(p, "w", E, 3), &g, HPC_GRAPH_SUM);
    refuses(p, HPC_E_SHAPE, "x is f32[3,4] and w is f32[6,3]: 4 columns do not divide into 3");
    p = begin(&g);
    hpc_graph_reduce(p, HPC_NEW, real(p, "x", U, F), real(p, "w", E - 1, 2), &g, HPC_GRAPH_SUM);
    refuses(p, HPC_E_SHAPE, "w is f32[5,2] and index is i32[6]: 6 rows are needed");
    p = begin(&g);
    hpc_graph_reduce(p, HPC_NEW, real(p, "x", U, F), real(p, "w", E, 2), &g, HPC_GRAPH_MAX);
    refuses(p, HPC_E_SHAPE, "w is f32[6,2]: weights need a sum and an index");
    p = begin(&g);
    hpc_graph_add(p, real(p, "a", V + 1, F), HPC_NONE, &g);
    refuses(p, HPC_E_SHAPE, "a is f32[5,4] and start is i32[5]: 4 rows are needed");
    p = begin(&g);
    hpc_graph_dot(p, real(p, "a", V, F), real(p, "b", U, F + 1), &g, 1);
    refuses(p, HPC_E_SHAPE, "a is f32[4,4] and b is f32[3,5]: their columns differ");
    p = begin(&g);
    hpc_graph_attend(p, NULL, real(p, "x", U, F), real(p, "a", V, 3), real(p, "b", U, 3), &g, 0.2);
    refuses(p, HPC_E_SHAPE, "x is f32[3,4] and target is f32[4,3]: 4 columns do not divide into 3");
    p = begin(&g);
    hpc_graph_attend(p, NULL, real(p, "x", U, F), real(p, "a", V, 2), real(p, "b", V, 2), &g, 0.2);
    refuses(p, HPC_E_SHAPE, "source is f32[4,2] and x is f32[3,4]: 3 rows are needed");
    p = begin(&g);
    hpc_graph_attend(p, NULL, real(p, "x", U, F), real(p, "a", V, 2), real(p, "b", U, 1), &g, 0.2);
    refuses(p, HPC_E_SHAPE, "target is f32[4,2] and source is f32[3,1]: their columns differ");
    p = begin(&g);
    hpc_graph_scale(p, real(p, "x", V + 1, F), g.start, 1);
    refuses(p, HPC_E_SHAPE, "x is f32[5,4] and start is i32[5]: each row needs a degree");
    p = begin(&g);
    hpc_value x = real(p, "x", U, F);
    p->value[g.index].type = hpc_type_ragged(p->value[g.index].type, 0, integer(p, "n", 1));
    hpc_graph_reduce(p, HPC_NEW, x, HPC_NONE, &g, HPC_GRAPH_SUM);
    refuses(p, HPC_E_SHAPE, "extents of graphs are fixed");
}

static void labelled(const hpc_program *p, const char *want)
{
    char got[128] = "";
    hpc_dims dims = {0};
    const hpc_insn *i = &p->segment[0].insn[p->segment[0].insn_n - 1];
    test_ok(i->op->layout(p, i, &dims));
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        strcat(got, k ? " " : "");
        strcat(got, i->operand[k] < 0 ? "-" : dims.label[k]);
    }
    assert_string_equal(got, want);
}

/* Columns may be split unless heads share them out; rows and edges may not. */
static void columns_may_be_split(void **state)
{
    (void)state;
    hpc_graph g;
    hpc_program *p = begin(&g);
    hpc_value x = real(p, "x", U, F), a = real(p, "a", V, F);
    hpc_graph_reduce(p, HPC_NEW, x, HPC_NONE, &g, HPC_GRAPH_MAX);
    labelled(p, "vZ vZ uZ - s e - - - - -");
    hpc_graph_reduce(p, HPC_NEW, x, real(p, "w", E, 2), &g, HPC_GRAPH_SUM);
    labelled(p, "vz - uz eh s e - - - - -");
    hpc_graph_dot(p, a, x, &g, 1);
    labelled(p, "eh vZ uZ s e - - - -");
    hpc_graph_add(p, a, x, &g);
    labelled(p, "eZ vZ uZ s e - - - -");
    hpc_graph_softmax(p, real(p, "s", E, 2), g.start, NULL);
    labelled(p, "eZ vZ eZ s");
    hpc_graph_scale(p, a, g.start, 1);
    labelled(p, "vZ vZ s");
    hpc_graph_attend(p, NULL, x, real(p, "t", V, 2), real(p, "u", U, 2), &g, 0.2);
    labelled(p, "vz vh uz vh uh s e - -");
    test_ok(hpc_program_status(p));
    hpc_program_free(p);
}

enum { REDUCE, ADD, SOFTMAX, SCALE, ATTEND, ATTEND_TARGET, ATTEND_SOURCE, OPS };

/* Attention, or one of its gradients; the graph serves as its own transpose. */
static hpc_value emit_attention(hpc_program *p, const hpc_graph *g, int op)
{
    const hpc_graph_attend_attr at = {.slope = 0.2};
    hpc_value x = real(p, "x", U, F), a = real(p, "a", V, 2), b = real(p, "b", U, 2);
    if (op == ATTEND) return hpc_graph_attend(p, NULL, x, a, b, g, at.slope);
    hpc_value dy = real(p, "dy", V, F), lse = real(p, "lse", op == ATTEND_TARGET ? V : U, 2);
    if (op == ATTEND_TARGET) {
        hpc_value to[] = {HPC_NEW, HPC_NEW, dy, x, a, b, lse, g->start, g->index};
        return hpc_emit(p, &hpc_op_graph_attend_target, to, &at);
    }
    hpc_value delta = real(p, "delta", U, 2);
    hpc_value from[] = {HPC_NEW, HPC_NEW, dy, x, b, a, lse, delta, g->start, g->index};
    return hpc_emit(p, &hpc_op_graph_attend_source, from, &at);
}

static void emit(hpc_program *p, const hpc_graph *g, int op)
{
    hpc_value y = HPC_NONE;
    if (op == REDUCE)
        y = hpc_graph_reduce(p, HPC_NEW, real(p, "x", U, F), HPC_NONE, g, HPC_GRAPH_SUM);
    if (op == ADD) y = hpc_graph_add(p, HPC_NONE, real(p, "x", U, F), g);
    if (op == SOFTMAX) y = hpc_graph_softmax(p, real(p, "x", E, F), g->start, NULL);
    if (op == SCALE) y = hpc_graph_scale(p, real(p, "x", V, F), g->start, 1);
    if (op >= ATTEND) y = emit_attention(p, g, op);
    hpc_program_keep(p, y);
}

static void goes_wrong(const hpc_device_options *o, int op, bool wide)
{
    static const struct {
        int32_t start[V + 1], index[E];
        unsigned ops; /* that notice; 0: all is well */
        const char *part;
    } graph[] = {
        {{0, 2, 2, 5, 6}, {0, 1, 2, 0, 0, 2}, 0, NULL},
        {{0, 2, 2, 5, 5}, {0, 1, 2, 0, 0, -7}, 0, NULL}, /* an edge of no vertex */
        {{0, 2, 1, 5, 6}, {0, 1, 2, 0, 0, 2}, 0x7f, "start[2] is 1, after 2, of"},
        {{1, 2, 2, 5, 6}, {0, 1, 2, 0, 0, 2}, 0x7f, "start[0] is 1, after 0, of"},
        {{0, 2, 2, 5, 7}, {0, 1, 2, 0, 0, 2}, 0x77, "start[4] is 7, after 5, of 6 edges"},
        {{0, 2, 2, 5, 6}, {0, 1, 3, 0, 0, 2}, 0x73, "index 3 at 2 is not one of 3 rows"},
        {{0, 2, 2, 5, 6}, {0, 1, 2, 0, -1, 2}, 0x73, "index -1 at 4 is not one of 3 rows"},
    };
    hpc_device *d;
    hpc_exec *e;
    hpc_graph g;
    hpc_program *p = begin(&g);
    emit(p, &g, op);
    if (wide) test_ok(hpc_to_double(p));
    test_ok(hpc_program_status(p));
    test_ok(hpc_device_open(&d, o));
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    for (hpc_value v = 0; v < p->value_n; v++)
        if (p->value[v].kind == HPC_VALUE_INPUT && p->value[v].type.dtype != HPC_I32)
            hpc_test_feed(e, 0, v, 1, 1);
    for (size_t k = 0; k < sizeof graph / sizeof *graph; k++) {
        hpc_test_write_i32(e, 0, g.start, graph[k].start);
        hpc_test_write_i32(e, 0, g.index, graph[k].index);
        int rc = hpc_exec_run(e, 0, 0);
        if (!(graph[k].ops >> op & 1)) {
            test_ok(rc);
            continue;
        }
        if (!strstr(hpc_error_get()->text, "forward[0] #0"))
            print_error("op %d, graph %zu: code %d, '%s'\n", op, k, rc, hpc_error_get()->text);
        assert_non_null(strstr(hpc_error_get()->text, "forward[0] #0"));
        test_fails(rc, HPC_E_ARG, graph[k].part);
    }
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

static void wrong_starts_and_sources_are_named(void **state)
{
    (void)state;
    for (int op = 0; op < OPS; op++)
        for (int wide = 0; wide < 2; wide++) {
            for (const char *const *isa = hpc_test_isas(); *isa; isa++)
                for (int threads = 1; threads < 4; threads += 2)
                    goes_wrong(
                        &(hpc_device_options){.backend = "cpu", .isa = *isa, .threads = threads},
                        op, wide);
            goes_wrong(&(hpc_device_options){.backend = "mock"}, op, wide);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misfits_are_named),
        cmocka_unit_test(columns_may_be_split),
        cmocka_unit_test(wrong_starts_and_sources_are_named),
    };
    return cmocka_run_group_tests_name("ops/graph_refuse", tests, NULL, NULL);
}

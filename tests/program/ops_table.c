/*
 * ops_table.c: the op table as a whole: every row is complete, reports a kernel that a backend
 * lacks, and counts its costs.
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

#define EXTENTS(...)                                                                               \
    sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[])                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define REAL(p, ...)  input(p, HPC_F32, EXTENTS(__VA_ARGS__))
#define INDEX(p, ...) input(p, HPC_I32, EXTENTS(__VA_ARGS__))

static hpc_value input(hpc_program *p, hpc_dtype dtype, size_t rank, const int64_t *extent)
{
    char name[16];
    snprintf(name, sizeof name, "i%lld", (long long)p->value_n);
    return hpc_program_input(p, name, hpc_type_of(dtype, (int)rank, extent));
}

/* Every row is complete: names, a rule, a way to run, and fields within its attributes. */
static void table_is_complete(void **s)
{
    (void)s;
    int n = 0;
    for (const hpc_op *const *at = hpc_op_table; *at; at++, n++) {
        const hpc_op *op = *at;
        assert_ptr_equal(hpc_op_find(op->sig.name), op);
        assert_non_null(op->shape);
        assert_true(op->sig.operand_n <= HPC_OPERAND_MAX);
        assert_int_equal(op->select != NULL, op->comm < 0 && !op->view);
        bool input = false;
        for (int k = 0; k < op->sig.operand_n; k++) {
            int flags = op->sig.operand[k].flags;
            assert_non_null(op->sig.operand[k].name);
            assert_true(flags & HPC_INOUT);
            if (input) assert_false(flags & HPC_OUT); /* outputs come first */
            input = !(flags & HPC_OUT);
        }
        for (const hpc_field *f = op->field; f && f->name; f++) {
            assert_true(f->offset < op->sig.attr_bytes);
            assert_int_equal(f->names != NULL, f->kind == HPC_FIELD_NAME);
        }
    }
    assert_int_equal(n, 65);
    assert_null(hpc_op_find("no such op"));
}

static void missing_kernels_are_named(void **s)
{
    (void)s;
    static const hpc_kernels none;
    for (const hpc_op *const *op = hpc_op_table; *op; op++) {
        char text[80];
        hpc_plan plan;
        if (!(*op)->select) continue;
        hpc_error_clear();
        assert_int_equal((*op)->select(&plan, &none, 1, NULL), HPC_E_UNSUPPORTED);
        snprintf(text, sizeof text, "this backend has no %s kernel", (*op)->sig.name);
        assert_string_equal(hpc_error_get()->text, text);
    }
    hpc_error_clear();
}

static hpc_cost cost_of(const hpc_program *p, int64_t insn)
{
    return hpc_insn_cost(p, &p->segment[0].insn[insn]);
}

static void costs_count(void **s)
{
    (void)s;
    hpc_program *p = hpc_program_create();
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    hpc_value k = REAL(p, 8, 2, 16);
    hpc_matmul(p, REAL(p, 2, 3, 4), REAL(p, 4, 5), (hpc_matmul_attr){0});
    hpc_attention(
        p, REAL(p, 8, 4, 16), k, k, INDEX(p, 3), HPC_NONE, HPC_NONE,
        (hpc_attention_attr){.causal = true}); /* two sequences of 4: 2.5 keys on average */
    hpc_gather(p, REAL(p, 100, 8), INDEX(p, 3));
    hpc_view(p, k, 1, (int64_t[]){256});
    assert_true(cost_of(p, 0).flops == 2.0 * 2 * 3 * 4 * 5);
    assert_true(cost_of(p, 0).bytes == 4.0 * (2 * 3 * 5 + 2 * 3 * 4 + 4 * 5));
    assert_true(cost_of(p, 1).flops == 4.0 * 8 * 4 * 16 * 2.5);
    assert_true(cost_of(p, 2).bytes == 4.0 * (3 * 8 + 3 * 8 + 3)); /* rows read, not the table */
    assert_true(cost_of(p, 3).bytes == 0 && cost_of(p, 3).flops == 0);
    hpc_value a = REAL(p, 3, 7, 7), b = REAL(p, 3, 7, 7);
    hpc_combine(p, HPC_NEW, a, b, NULL, (hpc_combine_attr){1, 1, 1, true});
    hpc_tile(p, REAL(p, 8, 6), 4, 3);
    assert_true(cost_of(p, 4).flops == 2 * 3.0 * (7 * 7 + 7 * 7 + 7)); /* both terms, and I */
    assert_true(cost_of(p, 4).bytes == 4.0 * 3 * 3 * 7 * 7);
    assert_true(cost_of(p, 5).flops == 0 && cost_of(p, 5).bytes == 4.0 * 2 * 8 * 6);
    test_ok(hpc_program_status(p));
    hpc_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_complete),
        cmocka_unit_test(missing_kernels_are_named),
        cmocka_unit_test(costs_count),
    };
    return cmocka_run_group_tests_name("program/ops_table", tests, NULL, NULL);
}

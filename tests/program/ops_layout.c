/*
 * ops_layout.c: layout rules of the op table as labels, and per-rank values of attributes with
 * global indices.
 */
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

static hpc_program *begin(void)
{
    hpc_program *p = hpc_program_create();
    assert_non_null(p);
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    return p;
}

static hpc_value input(hpc_program *p, hpc_dtype dtype, size_t rank, const int64_t *extent)
{
    char name[16];
    snprintf(name, sizeof name, "i%lld", (long long)p->value_n);
    return hpc_program_input(p, name, hpc_type_of(dtype, (int)rank, extent));
}

/* Layout labels of the newest instruction by operand, separated by blanks; "-": none. Each has the
 * length of its operand's rank. */
static hpc_dims labelled(hpc_program *p, const char *want)
{
    char got[128] = "";
    hpc_dims dims = {0};
    test_ok(hpc_program_status(p));
    const hpc_insn *i = &p->segment[0].insn[p->segment[0].insn_n - 1];
    assert_non_null(i->op->layout);
    test_ok(i->op->layout(p, i, &dims));
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        const char *label = dims.label[k];
        if (i->operand[k] >= 0) assert_int_equal(strlen(label), p->value[i->operand[k]].type.rank);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", k ? " " : "",
                 i->operand[k] < 0 ? "-"
                 : *label          ? label
                                   : ".");
    }
    assert_string_equal(got, want);
    return dims;
}

static void products(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value a = REAL(p, 8, 4), w = REAL(p, 6, 4), c = REAL(p, 6), r = REAL(p, 8, 6);
    hpc_linear(p, a, w, HPC_NONE, HPC_NONE);
    hpc_dims d = labelled(p, "MN - MK NK - -");
    assert_int_equal(d.linear[0], 1 << 2);
    assert_int_equal(d.linear[1], 1 << 3);
    hpc_linear(p, a, w, c, r); /* added once for each rank, were the inner extent split */
    d = labelled(p, "MN - Mk Nk N MN");
    assert_int_equal(d.linear[0], 1 << 2 | 1 << 4 | 1 << 5);
    hpc_matmul(p, a, r, (hpc_matmul_attr){.trans_a = true}); /* a weight's gradient */
    labelled(p, "MN - KM KN - -");
    hpc_matmul(p, a, w, (hpc_matmul_attr){.trans_b = true, .act = HPC_SILU});
    d = labelled(p, "MN MN Mk Nk - -");
    assert_int_equal(d.linear[0] | d.linear[1], 0);
    hpc_matmul(p, REAL(p, 2, 8, 4), w, (hpc_matmul_attr){.trans_b = true});
    labelled(p, "BMN - BMK NK - -");
    hpc_matmul(p, REAL(p, 2, 8, 4), REAL(p, 2, 4, 5), (hpc_matmul_attr){0});
    labelled(p, "BMN - BMK BKN - -");
    hpc_matmul(p, a, a, (hpc_matmul_attr){.trans_b = true, .symmetric = true});
    labelled(p, "mn - mK nK - -");
    hpc_matmul(p, a, a, (hpc_matmul_attr){.trans_a = true, .symmetric = true});
    labelled(p, "mn - Km Kn - -");
    hpc_value each = REAL(p, 2, 8, 4);
    hpc_matmul(p, each, each, (hpc_matmul_attr){.trans_b = true, .symmetric = true});
    labelled(p, "Bmn - BmK BnK - -");
    hpc_pack(p, w);
    labelled(p, "AZ AZ");
    hpc_program_free(p);
}

static void rows_and_heads(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value q = REAL(p, 8, 4, 16), k = REAL(p, 8, 2, 16), one = REAL(p, 8, 1, 16);
    hpc_value start = INDEX(p, 3), pool = REAL(p, 9, 4, 2, 16);
    hpc_norm(p, q, REAL(p, 16), HPC_NONE, (hpc_norm_attr){0});
    labelled(p, "ABh ABp ABh h -");
    hpc_rope(p, q, INDEX(p, 8), REAL(p, 8), (hpc_rope_attr){0});
    labelled(p, "TGd TGd T f");
    hpc_attention(p, q, k, k, start, HPC_NONE, HPC_NONE, (hpc_attention_attr){0});
    labelled(p, "TGd TG TGd TGd TGd u - -");
    hpc_attention(p, q, one, one, start, HPC_NONE, HPC_NONE, (hpc_attention_attr){0});
    labelled(p, "TGd TG TGd Tgd Tgd u - -"); /* one head of k for all */
    p->value[one].type.layout[HPC_AXIS_COL] = HPC_SPLIT(1);
    labelled(p, "TGd TG TGd TGd TGd u - -"); /* one is left of several */
    hpc_attention(p, q, pool, pool, start, INDEX(p, 2), INDEX(p, 2, 5), (hpc_attention_attr){0});
    labelled(p, "tGd tG tGd pqGd pqGd u s sn");
    hpc_head_loss(p, REAL(p, 8, 4), REAL(p, 100, 4), INDEX(p, 8));
    labelled(p, "T T Th vh T");
    hpc_head_loss_of_parts(p, NULL, REAL(p, 8, 4), REAL(p, 100, 4), INDEX(p, 8), 0);
    labelled(p, "Z Z Z Z");
    hpc_program_free(p);
}

static void pointwise(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value x = REAL(p, 2, 3, 4), scalar = input(p, HPC_F32, 0, NULL);
    hpc_binary(p, HPC_ADD, x, x);
    hpc_dims d = labelled(p, "ABZ ABZ ABZ");
    assert_int_equal(d.linear[0], 1 << 1 | 1 << 2);
    hpc_binary(p, HPC_MUL, x, REAL(p, 2, 3, 1));
    d = labelled(p, "ABZ ABZ ABz");
    assert_int_equal(d.linear[0], 1 << 1);
    assert_int_equal(d.linear[1], 1 << 2);
    hpc_binary(p, HPC_ADD, x, REAL(p, 4));
    labelled(p, "ABZ ABZ Z");
    hpc_scale(p, HPC_NEW, x, scalar, 2);
    labelled(p, "ABZ ABZ .");
    hpc_activate(p, x, HPC_RELU);
    d = labelled(p, "ABZ ABZ");
    assert_int_equal(d.linear[0], 0);
    hpc_dropout(p, x, HPC_NONE, HPC_NONE, (hpc_dropout_attr){0});
    labelled(p, "RsC RsC - -");
    hpc_program_free(p);
}

static void sums_become_partial(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value x = REAL(p, 2, 3, 4);
    hpc_reduce(p, HPC_NEW, x, HPC_SUM, HPC_OVER_ROWS);
    labelled(p, "Z ABZ");
    hpc_reduce(p, HPC_NEW, x, HPC_SUMSQ, HPC_OVER_ALL);
    hpc_dims d = labelled(p, ". ABZ");
    assert_int_equal(d.linear[0], 0);
    hpc_reduce(p, HPC_NEW, x, HPC_MAX, HPC_OVER_ALL); /* no sum: all of it must be there */
    labelled(p, ". abz");
    hpc_reduce(p, HPC_NEW, x, HPC_MAX, HPC_OVER_COLS);
    labelled(p, "AB ABz");
    hpc_gather(p, REAL(p, 9, 4), INDEX(p, 6));
    labelled(p, "AZ VZ A");
    hpc_scatter(p, HPC_NEW, REAL(p, 6, 4), INDEX(p, 6), (hpc_scatter_attr){.rows = 9});
    labelled(p, "VZ AZ A -");
    hpc_route(p, INDEX(p, 6), 2, 3, NULL);
    labelled(p, "ec e t");
    hpc_value index = INDEX(p, 6), picked = hpc_pick(p, HPC_NEW, x, index, x);
    d = labelled(p, "z abc z"); /* parts are split by their given layouts */
    assert_int_equal(d.linear[0], 2);
    assert_ptr_equal(d.as[0], p->value[index].type.layout);
    hpc_spread(p, HPC_NEW, picked, index, REAL(p, 3, 4));
    labelled(p, "ab z z");
    hpc_program_free(p);
}

/* Batches split, matrices do not; without I and transposition there are only elements. */
static void matrices(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value x = REAL(p, 6, 5, 5), one = REAL(p, 5, 5), each = REAL(p, 6);
    hpc_value scalar = input(p, HPC_F32, 0, NULL), k[] = {each, scalar, HPC_NONE};
    hpc_value s0[] = {scalar, HPC_NONE, HPC_NONE}, s1[] = {HPC_NONE, each, HPC_NONE};
    hpc_combine(p, HPC_NEW, x, x, k, (hpc_combine_attr){1, 1, 1, true});
    hpc_dims d = labelled(p, "Amn Amn Anm A . -");
    assert_int_equal(d.linear[0], 0); /* I would be added once for each rank */
    hpc_combine(p, HPC_NEW, one, HPC_NONE, s0, (hpc_combine_attr){.a0 = 1, .a1 = 1});
    labelled(p, "mn mn - . - -");
    hpc_combine(p, HPC_NEW, x, x, s1, (hpc_combine_attr){.a1 = 1, .a2 = 1});
    d = labelled(p, "ABZ ABZ ABZ - A -");
    assert_int_equal(d.linear[0], 1 << 1 | 1 << 2);
    hpc_map_each(p, each, (hpc_map_attr){.alpha = 1, .power = -1});
    labelled(p, "Z Z");
    hpc_eigh(p, x, NULL);
    labelled(p, "Av Avn Amn");
    hpc_eigh(p, one, NULL);
    labelled(p, "v vn mn");
    hpc_tile(p, REAL(p, 3, 6, 8), 2, 4);
    labelled(p, "Amn Amn");
    hpc_untile_batch(p, REAL(p, 18, 2, 4), 3, 6, 8);
    labelled(p, "Amn Amn");
    hpc_program_free(p);
    assert_null(hpc_op_below.layout);
}

static void views(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value x = REAL(p, 6, 8);
    hpc_view(p, x, 3, (int64_t[]){6, 2, 4});
    labelled(p, "ABc AB");
    hpc_view(p, REAL(p, 6, 2, 4), 2, (int64_t[]){6, 8});
    labelled(p, "AB ABg");
    hpc_view(p, x, 1, (int64_t[]){48});
    labelled(p, "A Af");
    hpc_view(p, x, 4, (int64_t[]){1, 6, 8, 1});
    labelled(p, "aABd AB");
    hpc_view(p, x, 2, (int64_t[]){4, 12});
    labelled(p, "Ab Af");
    hpc_slice(p, x, 1, 2);
    hpc_dims d = labelled(p, "ab ef");
    assert_int_equal(d.linear[0], 0);
    hpc_view(p, REAL(p, 0, 8), 2, (int64_t[]){8, 0});
    labelled(p, "ab ef");
    hpc_program_free(p);
}

/* Row-parallel and column-parallel at once: where a rank's part of the mask begins. */
static void dropout_localises(void **s)
{
    (void)s;
    const hpc_grid_shape grid = {.extent = {[HPC_AXIS_DATA] = 2, [HPC_AXIS_COL] = 4}};
    const int coord[HPC_AXIS_N] = {[HPC_AXIS_DATA] = 1, [HPC_AXIS_COL] = 3};
    hpc_program *p = begin();
    hpc_dropout(p, REAL(p, 6, 3, 8), HPC_NONE, HPC_NONE, (hpc_dropout_attr){.row0 = 100});
    hpc_insn *i = &p->segment[0].insn[0];
    hpc_type global[4], local[4];
    for (int k = 0; k < 2; k++) {
        global[k] = local[k] = p->value[i->operand[k]].type;
        local[k].layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
        local[k].layout[HPC_AXIS_COL] = HPC_SPLIT(2);
        local[k].extent[0] = 3;
        local[k].extent[2] = 2;
    }
    i->op->localise(i, global, local, &grid, coord);
    const hpc_dropout_attr *at = i->attr;
    assert_int_equal(at->row0, 100 + 3 * 3);
    assert_int_equal(at->col0, 6);
    assert_int_equal(at->global_cols, 8);
    hpc_program_free(p);
}

/* A view of what has become local is asked for its labels by what it was. */
static void views_localise(void **s)
{
    (void)s;
    const hpc_grid_shape grid = {.extent = {[HPC_AXIS_COL] = 2}};
    const int coord[HPC_AXIS_N] = {0};
    hpc_program *p = begin();
    hpc_value x = REAL(p, 6, 8);
    hpc_value y = hpc_view(p, x, 3, (int64_t[]){6, 4, 2});
    p->value[x].type.extent[1] = 4;
    p->value[x].type.layout[HPC_AXIS_COL] = HPC_SPLIT(1);
    labelled(p, "ABc AB");
    hpc_insn *i = &p->segment[0].insn[0];
    hpc_type local[2] = {p->value[y].type, p->value[x].type};
    local[0].extent[1] = 2;
    i->op->localise(i, local, local, &grid, coord);
    const hpc_view_attr *at = i->attr;
    assert_int_equal(at->extent[1], 2);
    assert_int_equal(at->from_extent[1], 4);
    hpc_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),          cmocka_unit_test(rows_and_heads),
        cmocka_unit_test(pointwise),         cmocka_unit_test(sums_become_partial),
        cmocka_unit_test(matrices),          cmocka_unit_test(views),
        cmocka_unit_test(dropout_localises), cmocka_unit_test(views_localise),
    };
    return cmocka_run_group_tests_name("program/ops_layout", tests, NULL, NULL);
}

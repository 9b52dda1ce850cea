/*
 * ops.c: shape rules of the op table: accepted operands, results, and errors that name both
 * shapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/program/rules.h"

/* ---- products -------------------------------------------------------------- */

static void matmul_makes(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_matmul_attr plain = {0}, both = {.trans_a = true, .trans_b = true, .alpha = 0.5};
    makes(p, hpc_matmul(p, REAL(p, 3, 4), REAL(p, 4, 5), plain), "f32[3,5]");
    makes(p, hpc_matmul(p, REAL(p, 4, 3), REAL(p, 5, 4), both), "f32[3,5]");
    makes(p, hpc_matmul(p, BF16(p, 2, 3, 4), REAL(p, 4, 5), plain), "bf16[2,3,5]");
    makes(p, hpc_matmul(p, REAL(p, 2, 3, 4), REAL(p, 2, 4, 5), plain), "f32[2,3,5]");
    makes(p, hpc_linear(p, REAL(p, 3, 4), REAL(p, 5, 4), REAL(p, 5), REAL(p, 3, 5)), "f32[3,5]");
    hpc_value q = input(p, HPC_Q8_0, EXTENTS(5, 64));
    makes(p, hpc_linear(p, REAL(p, 3, 64), q, HPC_NONE, HPC_NONE), "f32[3,5]");
    makes(p, hpc_linear(p, REAL(p, 3, 4), hpc_pack(p, REAL(p, 5, 4)), HPC_NONE, HPC_NONE),
          "f32[3,5]");
    assert_int_equal(output(p, 0, 1), HPC_NONE);
    hpc_matmul_attr silu = {.act = HPC_SILU};
    makes(p, hpc_matmul(p, REAL(p, 3, 4), REAL(p, 4, 5), silu), "f32[3,5]");
    makes(p, output(p, p->segment[0].insn_n - 1, 1), "f32[3,5]"); /* pre */
    ends(p);
}

static void matmul_follows_run_time_extents(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value n = SCALAR(p, HPC_I32), each = INDEX(p, 2);
    hpc_value a = ragged(p, REAL(p, 8, 4), 0, n), g = ragged(p, REAL(p, 8, 5), 0, n);
    hpc_value e = ragged(p, REAL(p, 2, 8, 4), 1, each), f = ragged(p, REAL(p, 2, 8, 5), 1, each);
    hpc_matmul_attr plain = {0}, sum = {.trans_a = true};
    makes(p, hpc_matmul(p, a, REAL(p, 4, 5), plain), "f32[%0<=8,5]");
    makes(p, hpc_matmul(p, a, g, sum), "f32[4,5]");
    makes(p, hpc_matmul(p, e, REAL(p, 2, 4, 5), plain), "f32[2,%1<=8,5]");
    makes(p, hpc_matmul(p, e, f, sum), "f32[2,4,5]");
    hpc_matmul(p, a, REAL(p, 8, 5), sum);
    refuses(p, HPC_E_SHAPE,
            "a is f32[%0<=8,4] and b is f32[8,5]: a sum over a run-time extent needs it on both");
    p = begin();
    n = SCALAR(p, HPC_I32);
    hpc_matmul(p, REAL(p, 3, 8), ragged(p, REAL(p, 8, 5), 0, n), plain);
    refuses(p, HPC_E_SHAPE, "a is f32[3,8] and b is f32[%0<=8,5]: only b has this run-time extent");
    p = begin();
    n = INDEX(p, 3);
    hpc_matmul(p, ragged(p, REAL(p, 3, 8), 1, n), REAL(p, 8, 5), plain);
    refuses(p, HPC_E_SHAPE, "a is f32[3,%0<=8]: the last extent of a factor cannot be run-time");
}

static void matmul_names_place_and_shapes(void **s)
{
    (void)s;
    hpc_program *p = begin();
    p->tags.block = 3;
    hpc_linear(p, REAL(p, 256, 768), REAL(p, 1024, 512), HPC_NONE, HPC_NONE);
    assert_int_equal(hpc_program_status(p), HPC_E_SHAPE);
    assert_string_equal(hpc_error_get()->text,
                        "forward[0] #0 matmul (block 3): a is f32[256,768] and b is f32[1024,512] "
                        "(transposed): inner extents 768 and 512 differ");
    hpc_error_clear();
    hpc_program_free(p);
}

static void matmul_refuses(void **s)
{
    (void)s;
    hpc_matmul_attr plain = {0}, row = {.trans_b = true};
    hpc_program *p = begin();
    hpc_matmul(p, INDEX(p, 3, 4), REAL(p, 4, 5), plain);
    refuses(p, HPC_E_SHAPE, "a is i32[3,4]: expected plain f32, bf16 or f64");
    p = begin();
    hpc_matmul(p, REAL(p, 4), REAL(p, 4, 5), plain);
    refuses(p, HPC_E_SHAPE, "a is f32[4]: expected a rank of 2 to 3");
    p = begin();
    hpc_matmul(p, REAL(p, 3, 4), REAL(p, 2, 4, 5), plain);
    refuses(p, HPC_E_SHAPE, "a is f32[3,4] and b is f32[2,4,5]: b has a batch and a has none");
    p = begin();
    hpc_matmul(p, REAL(p, 3, 2, 4), REAL(p, 2, 4, 5), plain);
    refuses(p, HPC_E_SHAPE, "a is f32[3,2,4] and b is f32[2,4,5]: batches 3 and 2 differ");
    p = begin();
    hpc_matmul(p, REAL(p, 3, 5), input(p, HPC_Q4_0, EXTENTS(5, 32)), plain);
    refuses(p, HPC_E_SHAPE,
            "b is q4_0[5,32]: packed and quantised factors are read by rows: set trans_b");
    p = begin();
    hpc_linear(p, REAL(p, 3, 4), REAL(p, 5, 4), REAL(p, 4), HPC_NONE);
    refuses(p, HPC_E_SHAPE, "b is f32[5,4] and bias is f32[4]: a bias of 5 is expected");
    p = begin();
    hpc_linear(p, REAL(p, 3, 4), REAL(p, 5, 4), HPC_NONE, REAL(p, 5, 3));
    refuses(p, HPC_E_SHAPE,
            "residual is f32[5,3] and y is f32[3,5]: they must have the same shape");
    p = begin();
    row.act = 77;
    hpc_matmul(p, REAL(p, 3, 4), REAL(p, 5, 4), row);
    refuses(p, HPC_E_ARG, "unknown activation 77");
    p = begin();
    hpc_value operand[] = {HPC_NEW, HPC_NONE, REAL(p, 3, 4), REAL(p, 4, 5), HPC_NONE, HPC_NONE};
    hpc_emit(p, &hpc_op_matmul, operand, NULL);
    refuses(p, HPC_E_ARG, "alpha is 0, which makes the product vanish; 1 is plain");
    p = begin();
    hpc_value onto[] = {STATE(p, 3, 4), HPC_NONE, REAL(p, 3, 4), REAL(p, 4, 5), HPC_NONE, HPC_NONE};
    hpc_emit(p, &hpc_op_matmul, onto, &(hpc_matmul_attr){.alpha = 1});
    refuses(p, HPC_E_SHAPE, "y is f32[3,4]: expected f32[3,5]");
}

static void pack_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, hpc_pack(p, BF16(p, 20, 8)), "bf16[20,8]/panel16");
    makes(p, hpc_pack(p, REAL(p, 2, 20, 8)), "f32[2,20,8]/panel16");
    hpc_value blocks = hpc_pack(p, input(p, HPC_Q4_K, EXTENTS(20, 256)));
    makes(p, blocks, "q4_K[20,256]/panel16");
    makes(p, hpc_pack(p, input(p, HPC_F16, EXTENTS(20, 8))), "f16[20,8]/panel16");
    hpc_pack(p, blocks);
    refuses(p, HPC_E_SHAPE, "x is q4_K[20,256]/panel16: it is packed already");
    p = begin();
    hpc_pack(p, REAL(p, 8));
    refuses(p, HPC_E_SHAPE, "x is f32[8]: expected a rank of 2 to 3");
}

/* ---- norm, rope, attention ------------------------------------------------- */

static void norm_rules(void **s)
{
    (void)s;
    hpc_norm_attr rms = {.kind = HPC_RMS, .eps = 1e-5};
    hpc_program *p = begin();
    makes(p, hpc_norm(p, BF16(p, 6, 2, 8), REAL(p, 8), HPC_NONE, rms), "bf16[6,2,8]");
    makes(p, output(p, 0, 1), "f32[6,2,2]");
    makes(p, hpc_norm(p, F64(p, 6, 8), HPC_NONE, F64(p, 8), rms), "f64[6,8]");
    makes(p, output(p, 1, 1), "f64[6,2]");
    hpc_norm(p, REAL(p, 6, 8), REAL(p, 6), HPC_NONE, rms);
    refuses(p, HPC_E_SHAPE,
            "w is f32[6] and x is f32[6,8]: expected one element for each of 8 columns");
    p = begin();
    hpc_norm(p, SCALAR(p, HPC_F32), HPC_NONE, HPC_NONE, rms);
    refuses(p, HPC_E_SHAPE, "x is f32[]: expected a rank of 1 to 4");
    p = begin();
    rms.eps = -1;
    hpc_norm(p, REAL(p, 6, 8), HPC_NONE, HPC_NONE, rms);
    refuses(p, HPC_E_ARG, "eps is -1; it must be finite and at least 0");
    p = begin();
    hpc_value grad[] = {HPC_NEW,       HPC_NEW,       HPC_NONE,  REAL(p, 6, 8),
                        REAL(p, 6, 8), REAL(p, 6, 3), REAL(p, 8)};
    hpc_emit(p, &hpc_op_norm_grad, grad, &(hpc_norm_attr){0});
    refuses(p, HPC_E_SHAPE,
            "stats is f32[6,3] and x is f32[6,8]: expected mean and rstd of each row");
}

static void rope_rules(void **s)
{
    (void)s;
    hpc_rope_attr plain = {0};
    hpc_program *p = begin();
    makes(p, hpc_rope(p, BF16(p, 6, 2, 8), INDEX(p, 6), REAL(p, 4), plain), "bf16[6,2,8]");
    makes(p, hpc_rope(p, REAL(p, 6, 2, 8), INDEX(p, 6), REAL(p, 3), plain), "f32[6,2,8]");
    hpc_rope(p, REAL(p, 6, 2, 8), INDEX(p, 6), REAL(p, 5), plain);
    refuses(p, HPC_E_SHAPE,
            "x is f32[6,2,8] and freq is f32[5]: 5 frequencies turn 10 elements, a head has 8");
    p = begin();
    hpc_rope(p, REAL(p, 6, 2, 8), INDEX(p, 5), REAL(p, 4), plain);
    refuses(p, HPC_E_SHAPE,
            "x is f32[6,2,8] and pos is i32[5]: 6 rows need as many positions, not 5");
    p = begin();
    hpc_rope(p, REAL(p, 6, 2, 8), REAL(p, 6), REAL(p, 4), plain);
    refuses(p, HPC_E_SHAPE, "pos is f32[6]: expected plain i32");
}

static hpc_value attend(hpc_program *p, hpc_value q, hpc_value k, hpc_value v, hpc_value start)
{
    return hpc_attention(p, q, k, v, start, HPC_NONE, HPC_NONE,
                         (hpc_attention_attr){.causal = true});
}

static void attention_makes(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value k = REAL(p, 6, 2, 16), pool = REAL(p, 9, 4, 2, 16);
    makes(p, attend(p, BF16(p, 6, 4, 16), k, k, INDEX(p, 3)), "bf16[6,4,16]");
    makes(p, output(p, 0, 1), "f32[6,4]");
    const hpc_attention_attr *at = p->segment[0].insn[0].attr;
    assert_true(fabs(at->scale - 0.25) < 1e-15);
    makes(p,
          hpc_attention(p, REAL(p, 6, 4, 16), pool, pool, INDEX(p, 3), INDEX(p, 2), INDEX(p, 2, 5),
                        (hpc_attention_attr){.scale = 1}),
          "f32[6,4,16]");
    ends(p);
}

static void attention_refuses(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value q = REAL(p, 6, 4, 16), k3 = REAL(p, 6, 3, 16);
    attend(p, q, k3, k3, INDEX(p, 3));
    refuses(p, HPC_E_SHAPE,
            "q is f32[6,4,16] and k is f32[6,3,16]: 4 query heads are no multiple of 3");
    p = begin();
    attend(p, REAL(p, 6, 4, 16), REAL(p, 6, 2, 8), REAL(p, 6, 2, 8), INDEX(p, 3));
    refuses(p, HPC_E_SHAPE, "q is f32[6,4,16] and k is f32[6,2,8]: heads of width 16 and 8 differ");
    p = begin();
    attend(p, REAL(p, 6, 4, 16), REAL(p, 7, 2, 16), REAL(p, 7, 2, 16), INDEX(p, 3));
    refuses(p, HPC_E_SHAPE,
            "q is f32[6,4,16] and k is f32[7,2,16]: without pages, a row of q and one of k are "
            "the same token");
    p = begin();
    attend(p, REAL(p, 6, 4, 16), REAL(p, 6, 2, 16), REAL(p, 6, 4, 16), INDEX(p, 3));
    refuses(p, HPC_E_SHAPE, "v is f32[6,4,16] and k is f32[6,2,16]: they must have the same shape");
    p = begin();
    hpc_value k = REAL(p, 6, 2, 16), pool = REAL(p, 9, 4, 2, 16);
    hpc_attention(p, REAL(p, 6, 4, 16), k, k, INDEX(p, 3), INDEX(p, 2), HPC_NONE,
                  (hpc_attention_attr){0});
    refuses(p, HPC_E_ARG, "lengths len come with pages, which are absent");
    p = begin();
    pool = REAL(p, 9, 4, 2, 16);
    hpc_attention(p, REAL(p, 6, 4, 16), pool, pool, INDEX(p, 3), INDEX(p, 4), INDEX(p, 4, 5),
                  (hpc_attention_attr){0});
    refuses(p, HPC_E_SHAPE,
            "start is i32[3] and len is i32[4]: S sequences have S + 1 starts, S lengths");
    p = begin();
    k = REAL(p, 6, 2, 16);
    hpc_attention(p, REAL(p, 6, 4, 16), k, k, INDEX(p, 3), HPC_NONE, HPC_NONE,
                  (hpc_attention_attr){.window = -1});
    refuses(p, HPC_E_ARG, "window is -1; 0 means none");
}

/* ---- pointwise ------------------------------------------------------------- */

static void act_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, hpc_activate(p, BF16(p, 3, 4), HPC_RELU2), "bf16[3,4]");
    makes(p, hpc_glu(p, BF16(p, 3, 4), REAL(p, 3, 4), HPC_SILU), "bf16[3,4]");
    hpc_glu(p, REAL(p, 3, 4), REAL(p, 4, 3), HPC_SILU);
    refuses(p, HPC_E_SHAPE, "up is f32[4,3] and gate is f32[3,4]: they must have the same shape");
    p = begin();
    hpc_activate(p, INDEX(p, 3), HPC_RELU);
    refuses(p, HPC_E_SHAPE, "x is i32[3]: expected plain f32, bf16 or f64");
    p = begin();
    hpc_value grad[] = {HPC_NEW, REAL(p, 3), REAL(p, 4)};
    hpc_emit(p, &hpc_op_act_grad, grad, NULL);
    refuses(p, HPC_E_SHAPE, "x is f32[4] and dy is f32[3]: they must have the same shape");
}

static void binary_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value a = BF16(p, 3, 4, 5), n = SCALAR(p, HPC_I32);
    makes(p, hpc_binary(p, HPC_ADD, a, REAL(p, 3, 4, 5)), "bf16[3,4,5]");
    makes(p, hpc_binary(p, HPC_SUB, a, REAL(p, 5)), "bf16[3,4,5]");
    makes(p, hpc_binary(p, HPC_MUL, a, REAL(p, 3, 4, 1)), "bf16[3,4,5]");
    makes(p, hpc_binary(p, HPC_MUL, a, SCALAR(p, HPC_F32)), "bf16[3,4,5]");
    hpc_value r = ragged(p, REAL(p, 8, 5), 0, n);
    makes(p, hpc_binary(p, HPC_ADD, r, REAL(p, 5)), "f32[%1<=8,5]");
    hpc_binary(p, HPC_ADD, r, REAL(p, 8, 5));
    refuses(p, HPC_E_SHAPE,
            "a is f32[%1<=8,5] and b is f32[8,5]: b may have a's shape, one row, one column (its "
            "last extent 1) or be a scalar");
    p = begin();
    hpc_binary(p, (hpc_binary_kind)9, REAL(p, 3), REAL(p, 3));
    refuses(p, HPC_E_ARG, "kind 9 is not add, sub or mul");
}

static void scale_copy_fill_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    makes(p, hpc_scale(p, HPC_NEW, REAL(p, 3), SCALAR(p, HPC_F32), 2), "f32[3]");
    hpc_value sum = STATE(p, 3);
    assert_int_equal(hpc_scale(p, sum, BF16(p, 3), HPC_NONE, 1), sum);
    makes(p, hpc_copy(p, REAL(p, 3, 4), HPC_BF16), "bf16[3,4]");
    makes(p, hpc_copy(p, input(p, HPC_Q6_K, EXTENTS(2, 256)), HPC_F32), "f32[2,256]");
    assert_int_equal(hpc_fill(p, sum, 0), sum);
    hpc_scale(p, HPC_NEW, REAL(p, 3), REAL(p, 3), 1);
    refuses(p, HPC_E_SHAPE, "by is f32[3]: expected a scalar");
    p = begin();
    hpc_copy(p, REAL(p, 32), HPC_Q8_0);
    refuses(p, HPC_E_SHAPE, "x is f32[32]: no conversion to q8_0");
    p = begin();
    hpc_copy(p, REAL(p, 32), (hpc_dtype)99);
    refuses(p, HPC_E_ARG, "unknown dtype 99");
    p = begin();
    hpc_fill(p, HPC_NEW, 1);
    refuses(p, HPC_E_ARG, "fill writes state: only the state gives its shape");
}

static void dropout_rules(void **s)
{
    (void)s;
    hpc_dropout_attr half = {.p = 0.5, .seed = 1}, all = {.p = 1};
    hpc_program *p = begin();
    makes(p, hpc_dropout(p, REAL(p, 3, 4), SCALAR(p, HPC_I32), SCALAR(p, HPC_I64), half),
          "f32[3,4]");
    hpc_dropout(p, REAL(p, 3, 4), SCALAR(p, HPC_I32), SCALAR(p, HPC_I32), half);
    refuses(p, HPC_E_SHAPE, "base is i32[]: expected plain i64");
    p = begin();
    hpc_dropout(p, REAL(p, 3, 4), HPC_NONE, HPC_NONE, all);
    refuses(p, HPC_E_ARG, "p is 1; it must be at least 0 and below 1");
}

/* ---- loss, index, reduce --------------------------------------------------- */

static void head_loss_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value n = SCALAR(p, HPC_I32);
    makes(p, hpc_head_loss(p, BF16(p, 6, 8), BF16(p, 100, 8), INDEX(p, 6)), "f32[6]");
    makes(p, output(p, 0, 1), "f32[6]");
    makes(p, hpc_head_loss(p, F64(p, 6, 8), F64(p, 100, 8), INDEX(p, 6)), "f64[6]");
    makes(p,
          hpc_head_loss(p, ragged(p, REAL(p, 6, 8), 0, n), REAL(p, 9, 8),
                        ragged(p, INDEX(p, 6), 0, n)),
          "f32[%0<=6]");
    hpc_head_loss(p, REAL(p, 6, 8), REAL(p, 8, 100), INDEX(p, 6));
    refuses(p, HPC_E_SHAPE, "x is f32[6,8] and w is f32[8,100]: widths 8 and 100 differ");
    p = begin();
    hpc_head_loss(p, REAL(p, 6, 8), REAL(p, 100, 8), INDEX(p, 5));
    refuses(p, HPC_E_SHAPE, "x is f32[6,8] and target is i32[5]: each row needs its target");
}

static void gather_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value each = INDEX(p, 2), table = input(p, HPC_Q8_0, EXTENTS(100, 64));
    makes(p, hpc_gather(p, BF16(p, 100, 64), INDEX(p, 6)), "bf16[6,64]");
    makes(p, hpc_gather(p, table, INDEX(p, 2, 3)), "f32[2,3,64]");
    makes(p, hpc_gather(p, REAL(p, 9, 4), ragged(p, INDEX(p, 2, 5), 1, each)), "f32[2,%0<=5,4]");
    makes(p, hpc_gather(p, hpc_pack(p, table), INDEX(p, 5)), "f32[5,64]");
    hpc_gather(p, hpc_pack(p, REAL(p, 2, 9, 4)), INDEX(p, 6));
    refuses(p, HPC_E_SHAPE, "x is f32[2,9,4]/panel16: packed rows are taken of one matrix");
    p = begin();
    hpc_gather(p, REAL(p, 100), INDEX(p, 6));
    refuses(p, HPC_E_SHAPE, "x is f32[100]: expected a rank of 2 to 4");
    p = begin();
    hpc_gather(p, REAL(p, 100, 8), REAL(p, 6));
    refuses(p, HPC_E_SHAPE, "index is f32[6]: expected plain i32");
}

static void scatter_rules(void **s)
{
    (void)s;
    hpc_scatter_attr add = {.rows = 9}, set = {.mode = HPC_SCATTER_SET};
    hpc_program *p = begin();
    hpc_value cache = STATE(p, 9, 4);
    makes(p, hpc_scatter(p, HPC_NEW, BF16(p, 2, 3, 4), INDEX(p, 2, 3), add), "bf16[9,4]");
    assert_int_equal(hpc_scatter(p, cache, REAL(p, 6, 4), INDEX(p, 6), set), cache);
    hpc_scatter(p, HPC_NEW, REAL(p, 6, 4), INDEX(p, 5), add);
    refuses(p, HPC_E_SHAPE, "x is f32[6,4] and index is i32[5]: each row needs its index");
    p = begin();
    hpc_scatter(p, HPC_NEW, REAL(p, 6, 4), INDEX(p, 6), set);
    refuses(p, HPC_E_ARG, "mode set writes into state: give y");
    p = begin();
    add.rows = 0;
    hpc_scatter(p, HPC_NEW, REAL(p, 6, 4), INDEX(p, 6), add);
    refuses(p, HPC_E_ARG, "rows is 0; a new y needs its number of rows");
    p = begin();
    hpc_scatter(p, STATE(p, 9, 5), REAL(p, 6, 4), INDEX(p, 6), set);
    refuses(p, HPC_E_SHAPE, "y is f32[9,5] and x is f32[6,4]: rows of 5 and 4 elements differ");
}

static void route_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value count;
    makes(p, hpc_route(p, INDEX(p, 8), 2, 5, &count), "i32[2,%2<=5]");
    makes(p, count, "i32[2]");
    hpc_route(p, INDEX(p, 8), 0, 5, NULL);
    refuses(p, HPC_E_ARG, "groups is 0 and cap 5; both must be at least 1");
}

static void sample_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value logprob, n = SCALAR(p, HPC_I32), few = ragged(p, REAL(p, 6, 40), 0, n);
    hpc_type how = hpc_type_of(HPC_I64, 2, (int64_t[]){6, HPC_SAMPLE_WORDS});
    hpc_value records = hpc_program_input(p, "how", hpc_type_ragged(how, 0, n));
    makes(p, hpc_sample_tokens(p, &logprob, few, records), "i32[%0<=6]");
    makes(p, logprob, "f32[%0<=6]");
    hpc_sample_tokens(p, NULL, REAL(p, 6, 40), records);
    refuses(p, HPC_E_SHAPE,
            "logits is f32[6,40] and how is i64[%0<=6,5]: each row needs a record of 5 words");
    p = begin();
    records = hpc_program_input(p, "how", how);
    hpc_sample_tokens(p, NULL, BF16(p, 6, 40), records);
    refuses(p, HPC_E_SHAPE, "logits is bf16[6,40]: expected rows of whole vocabularies in f32");
    p = begin();
    records = hpc_program_input(p, "how", how);
    hpc_sample_tokens(p, NULL, REAL(p, 6, HPC_SAMPLE_VOCAB + 1), records);
    refuses(p, HPC_E_SHAPE, "logits is f32[6,2097153]: a vocabulary has at most 2097152 tokens");
}

static void reduce_rules(void **s)
{
    (void)s;
    hpc_program *p = begin();
    hpc_value x = BF16(p, 3, 4, 5), each = INDEX(p, 2), n = SCALAR(p, HPC_I32);
    makes(p, hpc_reduce(p, HPC_NEW, x, HPC_SUM, HPC_OVER_ALL), "f32[]");
    makes(p, hpc_reduce(p, HPC_NEW, x, HPC_MAX, HPC_OVER_ROWS), "f32[5]");
    makes(p, hpc_reduce(p, HPC_NEW, F64(p, 3, 4), HPC_SUMSQ, HPC_OVER_COLS), "f64[3]");
    makes(p, hpc_reduce(p, HPC_NEW, x, HPC_FINITE, HPC_OVER_ALL), "i32[]");
    hpc_value r = ragged(p, REAL(p, 8, 5), 0, n);
    makes(p, hpc_reduce(p, HPC_NEW, r, HPC_SUM, HPC_OVER_ROWS), "f32[5]");
    makes(p, hpc_reduce(p, HPC_NEW, r, HPC_SUM, HPC_OVER_COLS), "f32[%2<=8]");
    hpc_reduce(p, HPC_NEW, ragged(p, REAL(p, 2, 8), 1, each), HPC_SUM, HPC_OVER_ROWS);
    refuses(p, HPC_E_SHAPE, "x is f32[2,%1<=8]: rows of differing length are not summed up");
    p = begin();
    hpc_reduce(p, HPC_NEW, REAL(p, 3, 4), HPC_FINITE, HPC_OVER_ROWS);
    refuses(p, HPC_E_ARG, "finite is found over all elements only");
    p = begin();
    hpc_reduce(p, STATE(p, 4), REAL(p, 3, 4), HPC_MAX, HPC_OVER_ROWS);
    refuses(p, HPC_E_SHAPE, "y is f32[4]: only sums are added to state");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_makes),
        cmocka_unit_test(matmul_follows_run_time_extents),
        cmocka_unit_test(matmul_names_place_and_shapes),
        cmocka_unit_test(matmul_refuses),
        cmocka_unit_test(pack_rules),
        cmocka_unit_test(norm_rules),
        cmocka_unit_test(rope_rules),
        cmocka_unit_test(attention_makes),
        cmocka_unit_test(attention_refuses),
        cmocka_unit_test(act_rules),
        cmocka_unit_test(binary_rules),
        cmocka_unit_test(scale_copy_fill_rules),
        cmocka_unit_test(dropout_rules),
        cmocka_unit_test(head_loss_rules),
        cmocka_unit_test(gather_rules),
        cmocka_unit_test(scatter_rules),
        cmocka_unit_test(route_rules),
        cmocka_unit_test(sample_rules),
        cmocka_unit_test(reduce_rules),
    };
    return cmocka_run_group_tests_name("program/ops", tests, NULL, NULL);
}

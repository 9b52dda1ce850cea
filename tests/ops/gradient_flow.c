/*
 * gradient_flow.c: accumulation of gradients: values and state used several times, a whole
 * decoder, accumulators; and errors for values without gradient. gradient.c tests single rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/support/gradient.h"

enum { T = 9, H = 8, V = 14 };

/* ---- where gradients meet ------------------------------------------------------------- */

static void three_consumers(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "three consumers");
    hpc_value x = hpc_test_input(&c, test_type(HPC_F64, T, H), 1);
    hpc_value w = hpc_test_state(&c, test_type(HPC_F64, H, H), 0.5, true);
    hpc_value h = hpc_activate(c.p, x, HPC_SILU);
    hpc_value y = hpc_linear(c.p, h, w, HPC_NONE, h);
    hpc_value z = hpc_binary(c.p, HPC_MUL, h, y);
    hpc_test_want(&c, y, HPC_TEST_EXACT);
    hpc_test_want(&c, z, HPC_TEST_EXACT);
    hpc_test_want(&c, hpc_reduce(c.p, HPC_NEW, h, HPC_SUMSQ, HPC_OVER_ROWS), HPC_TEST_EXACT);
    hpc_test_gradient_check(&c);
}

/* One state as weights of two layers, transposed in one, as a bias by its rows and added. */
static void a_state_in_many_places(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "a state in many places");
    hpc_value x = hpc_test_input(&c, test_type(HPC_F64, H, H), 1);
    hpc_value w = hpc_test_state(&c, test_type(HPC_F64, H, H), 0.5, true);
    hpc_value h = hpc_matmul(c.p, x, w, (hpc_matmul_attr){.trans_b = true, .act = HPC_SILU});
    h = hpc_matmul(c.p, h, w, (hpc_matmul_attr){.trans_a = true});
    hpc_test_want(&c, hpc_binary(c.p, HPC_SUB, h, w), HPC_TEST_EXACT);
    hpc_test_want(&c, hpc_scale(c.p, HPC_NEW, w, HPC_NONE, 0.3), HPC_TEST_EXACT);
    hpc_test_gradient_check(&c);
}

/* A small decoder with everything in it; its embedding is its head. */
static void emit_decoder(hpc_test_case *c, hpc_dtype d, hpc_test_bound bound)
{
    static const int32_t token[T] = {3, 1, 4, 1, 5, 9, 2, 6, 13},
                         pos[T] = {0, 1, 2, 3, 4, 0, 1, 2, 3};
    static const int32_t target[T] = {1, 4, 1, 5, -1, 2, 6, 13, 0}, start[] = {0, 5, T};
    hpc_program *p = c->p;
    hpc_value at = hpc_test_indices(c, test_type(HPC_I32, T), token);
    hpc_value where = hpc_test_indices(c, test_type(HPC_I32, T), pos);
    hpc_value documents = hpc_test_indices(c, test_type(HPC_I32, 3), start);
    hpc_value next = hpc_test_indices(c, test_type(HPC_I32, T), target);
    hpc_value freq = hpc_test_input_of(c, test_type(HPC_F32, 2), (double[]){1, 0.25});
    hpc_value table = hpc_test_state(c, test_type(d, V, H), 1, true);
    hpc_value gain = hpc_test_state(c, test_type(HPC_F32, H), 1, true);
    hpc_value wq = hpc_test_state(c, test_type(d, H, H), 0.4, true);
    hpc_value wk = hpc_test_state(c, test_type(d, H / 2, H), 0.4, true);
    hpc_value wo = hpc_test_state(c, test_type(d, H, H), 0.4, true);
    hpc_value up = hpc_test_state(c, test_type(d, 2 * H, H), 0.4, true);
    hpc_value gate = hpc_test_state(c, test_type(d, 2 * H, H), 0.4, true);
    hpc_value bias = hpc_test_state(c, test_type(HPC_F32, 2 * H), 0.4, true);
    hpc_value down = hpc_test_state(c, test_type(d, H, 2 * H), 0.4, true);
    hpc_test_given_of(c, freq)->constant = true;

    hpc_value x = hpc_gather(p, table, at), n, q, k, o;
    n = hpc_norm(p, x, gain, HPC_NONE, (hpc_norm_attr){.kind = HPC_RMS, .eps = 1e-3});
    q = hpc_view(p, hpc_linear(p, n, wq, HPC_NONE, HPC_NONE), 3, (int64_t[]){T, 2, H / 2});
    k = hpc_view(p, hpc_linear(p, n, wk, HPC_NONE, HPC_NONE), 3, (int64_t[]){T, 1, H / 2});
    q = hpc_rope(p, q, where, freq, (hpc_rope_attr){.scale = 1});
    o = hpc_attention(p, q, hpc_rope(p, k, where, freq, (hpc_rope_attr){.scale = 1}), k, documents,
                      HPC_NONE, HPC_NONE, (hpc_attention_attr){.causal = true});
    x = hpc_linear(p, hpc_view(p, o, 2, (int64_t[]){T, H}), wo, HPC_NONE, x);
    n = hpc_norm(p, x, gain, HPC_NONE, (hpc_norm_attr){.kind = HPC_LAYER, .eps = 1e-3});
    n = hpc_glu(p, hpc_linear(p, n, gate, HPC_NONE, HPC_NONE), hpc_linear(p, n, up, bias, HPC_NONE),
                HPC_SILU);
    x = hpc_linear(p, n, down, HPC_NONE, x);
    hpc_test_want(c, hpc_head_loss(p, x, table, next), bound);
}

static void a_decoder(void **state)
{
    hpc_test_case c;
    hpc_test_case_begin(&c, state, "a decoder");
    emit_decoder(&c, HPC_F64, HPC_TEST_EXACT);
    for (int k = 0; k < c.given_n; k++) { /* norms and positions are f64 as well, to be exact */
        hpc_type *t = &c.p->value[c.given[k].value].type;
        if (t->dtype == HPC_F32) t->dtype = HPC_F64;
    }
    hpc_test_gradient_check(&c);
}

/* The same rules in the types of training, on every backend: forward and backward as one case. */
static void a_decoder_in_narrow_types(void **state)
{
    static const hpc_dtype width[] = {HPC_F32, HPC_BF16};
    for (int w = 0; w < 2; w++)
        for (int accumulate = 0; accumulate < 2; accumulate++) {
            hpc_test_case c;
            hpc_test_case_begin(&c, state, "a decoder of type %d, accumulate %d", width[w],
                                accumulate);
            emit_decoder(&c, width[w], HPC_TEST_CHAINED);
            int given_n = c.given_n;
            hpc_test_gradient g = hpc_test_differentiate(&c, accumulate);
            for (int k = 0; k < given_n; k++)
                if (g.of[k] >= 0) hpc_test_want(&c, g.of[k], HPC_TEST_CHAINED);
            hpc_test_case_check(&c);
        }
}

/* ---- accumulators --------------------------------------------------------------------------- */

/* Backward adds: twice is twice as much, bit for bit as 1 + 1; in place or in a segment's order. */
static void accumulators_add_up(void **state)
{
    for (int accumulate = 0; accumulate < 2; accumulate++) {
        hpc_test_case c;
        hpc_exec *e;
        int64_t n;
        hpc_test_case_begin(&c, state, "accumulators");
        hpc_value x = hpc_test_input(&c, test_type(HPC_F32, T, H), 1);
        hpc_value w = hpc_test_state(&c, test_type(HPC_BF16, H, H), 1, true);
        hpc_test_want(&c, hpc_linear(c.p, x, w, HPC_NONE, HPC_NONE), HPC_TEST_EXACT);
        hpc_value sum = hpc_test_differentiate(&c, accumulate).of[1];
        assert_int_equal(c.p->value[sum].type.dtype, HPC_F32);
        test_ok(hpc_exec_open(&e, c.p, hpc_test_bench_device(c.bench), NULL, NULL));
        hpc_test_give(e, c.p, &c);
        double *total[2];
        for (int k = 0; k < 2; k++) {
            for (int s = 0; s < c.p->segment_n; s++) test_ok(hpc_exec_run(e, s, 0));
            total[k] = hpc_test_fetch(e, c.p, sum, &n);
        }
        assert_int_equal(n, H * H);
        for (int64_t i = 0; i < n; i++) {
            assert_true(total[0][i] != 0);
            assert_true(total[1][i] == 2 * total[0][i]);
        }
        hpc_free(total[0]);
        hpc_free(total[1]);
        hpc_exec_close(e);
        hpc_test_case_free(&c);
    }
}

/* ---- what has no gradient ------------------------------------------------------------------- */

static void refused(hpc_test_case *c, hpc_value y, int code, const char *part)
{
    hpc_test_want(c, y, HPC_TEST_EXACT);
    test_fails(hpc_test_differentiate_fails(c), code, part);
    hpc_test_case_free(c);
}

static hpc_value begin(hpc_test_case *c, void **state)
{
    hpc_test_case_begin(c, state, "refused");
    return hpc_test_input(c, test_type(HPC_F32, 6, H), 1);
}

static void views_of_parts_are_refused(void **state)
{
    hpc_test_case c;
    hpc_value x = begin(&c, state);
    refused(&c, hpc_slice(c.p, x, 1, 2), HPC_E_UNSUPPORTED, "gradient of forward[0] #0 view");
    x = begin(&c, state);
    hpc_value n = hpc_test_scalar(&c, HPC_I32, 4);
    refused(&c, hpc_view_ragged(c.p, x, 0, n), HPC_E_UNSUPPORTED, "view of a part");
}

static void choices_are_refused(void **state)
{
    hpc_test_case c;
    hpc_value x = begin(&c, state);
    refused(&c, hpc_reduce(c.p, HPC_NEW, x, HPC_MAX, HPC_OVER_ALL), HPC_E_UNSUPPORTED,
            "gradient of forward[0] #0 reduce (block -1): no gradient passes through max");
    x = begin(&c, state);
    refused(&c, hpc_all_reduce(c.p, x, 1, HPC_COMM_MAX), HPC_E_UNSUPPORTED, "maximum over ranks");
}

/* By-products: what a gradient would need of them is not kept. */
static void by_products_are_refused(void **state)
{
    hpc_test_case c;
    hpc_value x = begin(&c, state);
    hpc_value norm[] = {HPC_NEW, HPC_NEW, x, HPC_NONE, HPC_NONE};
    hpc_emit(c.p, &hpc_op_norm, norm, &(hpc_norm_attr){.kind = HPC_RMS, .eps = 1});
    refused(&c, norm[1], HPC_E_UNSUPPORTED, "statistics of a norm");
    x = begin(&c, state);
    hpc_value to = hpc_test_indices(&c, test_type(HPC_I32, 6), (int32_t[6]){0});
    hpc_value loss[] = {HPC_NEW, HPC_NEW, x, x, to};
    hpc_emit(c.p, &hpc_op_head_loss, loss, NULL);
    refused(&c, loss[1], HPC_E_UNSUPPORTED, "lse of a loss");
}

static void paged_attention_is_refused(void **state)
{
    hpc_test_case c;
    begin(&c, state);
    hpc_value q = hpc_test_input(&c, test_type(HPC_F32, 1, 2, H), 1);
    hpc_value k = hpc_test_input(&c, test_type(HPC_F32, 3, 4, 2, H), 1);
    hpc_value start = hpc_test_indices(&c, test_type(HPC_I32, 2), (int32_t[]){0, 1});
    hpc_value len = hpc_test_indices(&c, test_type(HPC_I32, 1), (int32_t[]){5});
    hpc_value pages = hpc_test_indices(&c, test_type(HPC_I32, 1, 2), (int32_t[]){2, 0});
    hpc_value o = hpc_attention(c.p, q, k, k, start, len, pages, (hpc_attention_attr){0});
    refused(&c, o, HPC_E_UNSUPPORTED, "gradients need identity pages");
}

static void written_state_is_refused(void **state)
{
    hpc_test_case c;
    hpc_value x = begin(&c, state);
    hpc_value sum = hpc_test_state(&c, test_type(HPC_F32, 6, H), 1, false);
    hpc_scale(c.p, sum, x, HPC_NONE, 2);
    refused(&c, sum, HPC_E_ARG, "writes state v1 that a gradient would flow through");
}

static void misfits_are_named(void **state)
{
    hpc_test_case c;
    hpc_value x = begin(&c, state), y = hpc_activate(c.p, x, HPC_SILU), got;
    hpc_value seed = hpc_test_input(&c, test_type(HPC_F32, H, 6), 1);
    hpc_diff_options o = {.backward = 1,
                          .accumulate = -1,
                          .seed_of = &y,
                          .seed = &seed,
                          .seed_n = 1,
                          .want = &x,
                          .want_grad = &got,
                          .want_n = 1};
    test_fails(hpc_differentiate(c.p, &o), HPC_E_ARG, "segments 0, 1 or -1 do not exist");
    test_ok(hpc_program_segment(c.p, HPC_BACKWARD, 0));
    test_fails(hpc_differentiate(c.p, &o), HPC_E_SHAPE, "is f32[6,8], its gradient %2 is f32[8,6]");
    hpc_test_case_free(&c);
}

static int open_bench(void **state)
{
    return hpc_test_bench_open(state, "gradient_flow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_consumers),
        cmocka_unit_test(a_state_in_many_places),
        cmocka_unit_test(a_decoder),
        cmocka_unit_test(a_decoder_in_narrow_types),
        cmocka_unit_test(accumulators_add_up),
        cmocka_unit_test(views_of_parts_are_refused),
        cmocka_unit_test(choices_are_refused),
        cmocka_unit_test(by_products_are_refused),
        cmocka_unit_test(paged_attention_is_refused),
        cmocka_unit_test(written_state_is_refused),
        cmocka_unit_test(misfits_are_named),
    };
    return cmocka_run_group_tests_name("ops/gradient_flow", tests, open_bench,
                                       hpc_test_bench_close);
}

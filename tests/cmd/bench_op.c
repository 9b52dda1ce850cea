/*
 * Tests of `hpccoder bench op`: its report for every op, instruction set and backend, and invalid
 * requests.
 *
 * Times need only exist.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/device/device.h"
#include "tests/support/command.h"
#include "tests/support/sanitized.h"
#include "tests/support/expect.h"

/* ---- running the program ------------------------------------------------------------------- */

/* words: what comes after "bench op". */
static hpc_test_outcome *run(const char *words)
{
    char all[560];
    hpc_test_outcome *o = malloc(sizeof *o);
    assert_non_null(o);
    snprintf(all, sizeof all, "bench op %s", words);
    hpc_test_command(o, all);
    return o;
}

/* ---- reading JSON ---------------------------------------------------------------------------- */

/* Runs with --json, without peers unless they are what is asked about. */
static hpc_json *run_json(const char *words)
{
    char all[400];
    hpc_json *root = NULL;
    bool peers = strstr(words, "--peer") != NULL;
    snprintf(all, sizeof all, "--json --seconds 0.001 %s%s", peers ? "" : "--no-peer ", words);
    hpc_test_outcome *o = run(all);
    if (o->code != 0) fail_msg("%s: exit code %d: %s", all, o->code, o->err);
    if (hpc_json_parse(&root, o->out, strlen(o->out), "stdout") < 0)
        fail_msg("%s: %s", all, hpc_error_get()->text);
    free(o);
    return root;
}

static double number(const hpc_json *object, const char *key)
{
    const hpc_json *v = hpc_json_get(object, key);
    double x = 0;
    if (!v || hpc_json_real(&x, v, key) < 0) fail_msg("'%s' is no number", key);
    return x;
}

static const char *text(const hpc_json *object, const char *key)
{
    const hpc_json *v = hpc_json_get(object, key);
    const char *s = NULL;
    if (!v || hpc_json_text(&s, v, key) < 0) fail_msg("'%s' is no text", key);
    return s;
}

static const hpc_json *ops(const hpc_json *root)
{
    const hpc_json *list = hpc_json_get(root, "ops");
    assert_non_null(list);
    assert_int_equal(hpc_json_kind_of(list), HPC_JSON_LIST);
    return list;
}

static void assert_accurate(const hpc_json *op, double most)
{
    const hpc_json *error = hpc_json_get(op, "error");
    assert_non_null(error);
    double worst = number(error, "max");
    if (!(worst <= most))
        fail_msg("%s %s: error %g, at most %g", text(op, "op"), text(op, "attributes"), worst,
                 most);
    assert_true(number(error, "nmse") <= most);
}

static void assert_timed(const hpc_json *op)
{
    assert_true(number(op, "time_ns") > 0);
    assert_true(number(op, "min_ns") > 0);
    assert_true(number(op, "min_ns") <= number(op, "time_ns"));
    assert_true(number(op, "samples") >= 3);
    assert_true(number(op, "repeats") >= 1);
    assert_true(number(op, "floor_ns") > 0);
    double fraction = number(op, "floor_ns") / number(op, "time_ns");
    assert_true(number(op, "fraction") > 0.999 * fraction);
    assert_true(number(op, "fraction") < 1.001 * fraction);
}

/* ---- what it reports ------------------------------------------------------------------------ */

static void json_says_what_was_measured(void **state)
{
    (void)state;
    hpc_json *root = run_json("--op norm --attr kind=layer --shape 6,64 --threads 1");
    const hpc_json *limits = hpc_json_get(root, "limits"), *op = hpc_json_at(ops(root), 0);
    assert_true(number(limits, "f32_gflops") >= number(limits, "probe_f32_gflops"));
    assert_true(number(limits, "probe_f32_gflops") > 0);
    assert_true(number(limits, "read_gbs") > 0);
    assert_int_equal(number(limits, "threads"), 1);
    assert_int_equal(hpc_json_n(ops(root)), 1);
    assert_string_equal(text(op, "op"), "norm");
    assert_string_equal(text(op, "attributes"), "kind=layer");
    assert_string_equal(text(op, "extents"), "R,C");
    assert_string_equal(text(op, "dtype"), "f32");
    assert_string_equal(text(op, "backend"), "cpu");
    assert_string_equal(text(op, "isa"), hpc_device_isas()[0]);
    assert_int_equal(strncmp(text(op, "kernel"), "norm_", 5), 0);
    const hpc_json *shape = hpc_json_get(op, "shape");
    int64_t extent[2] = {0};
    assert_int_equal(hpc_json_n(shape), 2);
    for (int k = 0; k < 2; k++)
        assert_int_equal(hpc_json_int(&extent[k], hpc_json_at(shape, k), "shape"), 0);
    assert_int_equal(extent[0], 6);
    assert_int_equal(extent[1], 64);
    assert_int_equal(number(op, "flops"), 6 * 6 * 64);
    /* x, y, two columns of statistics, w and b */
    assert_int_equal(number(op, "bytes"), 4 * (2 * 6 * 64 + 2 * 6 + 2 * 64));
    assert_timed(op);
    assert_accurate(op, 1e-5);
    hpc_json_free(root);
}

/* Small extents for all ops that take as many. */
static void measure_group(const char *words, const char *const *names, double most)
{
    hpc_json *root = run_json(words);
    const hpc_json *list = ops(root);
    for (int k = 0; names[k]; k++) {
        bool found = false;
        for (int64_t i = 0; i < hpc_json_n(list); i++)
            found = found || strcmp(text(hpc_json_at(list, i), "op"), names[k]) == 0;
        if (!found) fail_msg("nothing of %s", names[k]);
    }
    for (int64_t i = 0; i < hpc_json_n(list); i++) {
        assert_timed(hpc_json_at(list, i));
        assert_accurate(hpc_json_at(list, i), most);
    }
    hpc_json_free(root);
}

static void measure_every_op(const char *more, double most)
{
    static const struct {
        const char *shape;
        const char *names[20];
    } group[] = {
        {"8,64",
         {"pack", "norm", "norm_grad", "act", "act_grad", "glu", "glu_grad", "dropout", "binary",
          "scale", "fill", "route", "pick", "spread", "reduce"}},
        {"8,16,32", {"matmul", "rope", "head_loss", "head_loss_grad", "gather", "scatter"}},
        {"8,4,2,16", {"attention", "attention_grad"}},
        {"3,40,4,2,16", {"attention"}},
        {"100", {"sgd", "adamw", "adam", "apply", "map"}},
        {"3,20", {"combine", "tile", "eigh"}},
        {NULL, {"below"}},
    };
    for (size_t g = 0; g < sizeof group / sizeof *group; g++) {
        char words[400];
        const char *shape = group[g].shape;
        int n = snprintf(words, sizeof words, "%s %s %s", shape ? "--shape" : "",
                         shape ? shape : "", more);
        for (int k = 0; group[g].names[k]; k++)
            n += snprintf(words + n, sizeof words - (size_t)n, " --op %s", group[g].names[k]);
        measure_group(words, group[g].names, most);
    }
}

static void every_op_is_measured(void **state)
{
    (void)state;
    measure_every_op("--threads 2", 2e-5);
}

static void every_op_runs_on_mock(void **state)
{
    (void)state;
    measure_every_op("--backend mock", 2e-5);
}

static void every_op_takes_bf16(void **state)
{
    (void)state;
    measure_every_op("--dtype bf16 --threads 1", 0.05);
}

static void a_copy_rounds(void **state)
{
    (void)state;
    hpc_json *root = run_json("--op copy --shape 8,64");
    const hpc_json *error = hpc_json_get(hpc_json_at(ops(root), 0), "error");
    assert_true(number(error, "max") > 1e-4); /* to bf16, and noticed */
    assert_true(number(error, "max") < 4e-3);
    hpc_json_free(root);
}

static void sets_are_forced(void **state)
{
    (void)state;
    for (const char *const *isa = hpc_device_isas(); *isa; isa++) {
        char words[96];
        snprintf(words, sizeof words, "--op matmul --shape 9,33,17 --isa %s", *isa);
        hpc_json *root = run_json(words);
        assert_true(hpc_json_n(ops(root)) >= 4); /* both transpositions, none, an activation */
        for (int64_t k = 0; k < hpc_json_n(ops(root)); k++) {
            const hpc_json *op = hpc_json_at(ops(root), k);
            assert_string_equal(text(op, "isa"), *isa);
            assert_non_null(strstr(text(op, "kernel"), *isa));
            assert_accurate(op, 2e-5);
        }
        hpc_json_free(root);
    }
}

static void weights_of_every_type(void **state)
{
    static const char *const types[] = {"bf16", "f16",  "q8_0", "q4_0",
                                        "q4_K", "q5_K", "q6_K", NULL};
    (void)state;
    for (int k = 0; types[k]; k++) {
        char words[96];
        snprintf(words, sizeof words, "--op matmul --op gather --shape 3,256,256 --weights %s",
                 types[k]);
        hpc_json *root = run_json(words);
        assert_int_equal(hpc_json_n(ops(root)), 3); /* plain, with an activation, rows */
        for (int64_t i = 0; i < 3; i++) {
            assert_string_equal(text(hpc_json_at(ops(root), i), "weights"), types[k]);
            /* Rows are rounded to 8 bits for a block format; gathered rows are not. */
            bool rounds = types[k][0] == 'q' && i < 2;
            assert_accurate(hpc_json_at(ops(root), i), rounds ? 3e-2 : 2e-5);
        }
        hpc_json_free(root);
    }
}

static void cold_repeats_until_caches_overflow(void **state)
{
    (void)state;
    hpc_json *root = run_json("--op reduce --shape 512,1024 --cold");
    const hpc_json *op = hpc_json_at(ops(root), 0);
    assert_true(number(op, "repeats") * number(op, "bytes") >= 4.0 * (32 << 20));
    assert_accurate(op, 2e-5);
    hpc_json_free(root);
}

static void nop_costs_instructions_and_barriers(void **state)
{
    (void)state;
    hpc_json *root = run_json("--op nop --threads 2");
    const hpc_json *list = ops(root);
    assert_int_equal(hpc_json_n(list), 2);
    assert_string_equal(text(hpc_json_at(list, 0), "attributes"), "instruction");
    assert_string_equal(text(hpc_json_at(list, 1), "attributes"), "barrier");
    assert_int_equal(number(hpc_json_at(list, 0), "repeats"), 10000);
    assert_true(number(hpc_json_at(list, 0), "time_ns") > 0);
    assert_true(number(hpc_json_get(root, "limits"), "call_ns") > 0);
    assert_true(number(hpc_json_get(root, "limits"), "handoff_ns") > 0);
    hpc_json_free(root);
    root = run_json("--op nop --threads 1"); /* one worker needs no barrier */
    assert_int_equal(hpc_json_n(ops(root)), 1);
    hpc_json_free(root);
}

static void the_table_is_aligned(void **state)
{
    (void)state;
    hpc_test_outcome *o = run("--op binary --op scale --shape 8,64 --seconds 0.001 --no-peer");
    assert_int_equal(o->code, 0);
    assert_non_null(strstr(o->out, "limits: f32 "));
    const char *head = strstr(o->out, "\nop "), *binary = strstr(o->out, "\nbinary ");
    const char *scale = strstr(o->out, "\nscale ");
    assert_true(head && binary && scale && head < binary && binary < scale);
    const char *shape = strstr(head, "shape");
    assert_non_null(shape);
    assert_int_equal(strncmp(binary + (shape - head), "8,64", 4), 0);
    assert_int_equal(strncmp(scale + (shape - head), "8,64", 4), 0);
    assert_null(strstr(o->out, " \n"));
    free(o);
}

/* Sanitizers know nothing of the peers' threads and memory. */
enum { SANITIZED = HPC_TEST_ASAN || HPC_TEST_TSAN };

static void peers_compute_the_same(void **state)
{
    char path[PATH_MAX];
    (void)state;
    if (SANITIZED || access(hpc_test_built(path, "hpccoder-peer.so"), F_OK) != 0) {
        print_message("SKIP: %s\n", SANITIZED ? "sanitizers do not know the peers"
                                              : "hpccoder-peer.so was not built");
        skip();
    }
    for (int bf16 = 0; bf16 < 2; bf16++) {
        hpc_json *root = run_json(bf16 ? "--peer --op matmul --shape 40,72,56 --dtype bf16"
                                       : "--peer --op matmul --shape 40,72,56");
        for (int64_t k = 0; k < 3; k++) { /* the three ways that products are transposed */
            const hpc_json *op = hpc_json_at(ops(root), k), *peers = hpc_json_get(op, "peers");
            if (!bf16) assert_true(hpc_json_n(peers) >= 1);
            for (int64_t i = 0; i < hpc_json_n(peers); i++) {
                const hpc_json *p = hpc_json_at(peers, i);
                assert_true(number(p, "gflops") > 0);
                assert_true(number(p, "ratio") > 0);
                assert_true(number(p, "distance") < (bf16 ? 0.02 : 1e-5));
                assert_true(strlen(text(p, "version")) > 0);
            }
        }
        hpc_json_free(root);
    }
}

/* On AVX2, oneDNN 2.6.3 adds pairs of byte products in 16 bits, which saturates; the report must
 * say that its result differs. */
static void a_peer_that_saturates_is_told(void **state)
{
    char path[PATH_MAX];
    bool avx2 = false;
    (void)state;
    for (const char *const *isa = hpc_device_isas(); *isa; isa++) avx2 |= strcmp(*isa, "avx2") == 0;
    if (SANITIZED || !avx2 || access(hpc_test_built(path, "hpccoder-peer.so"), F_OK) != 0) {
        print_message("SKIP: no AVX2, no peers, or a sanitizer, which does not know them\n");
        skip();
    }
    hpc_json *root = run_json("--peer --op matmul --dtype i8 --shape 64,512,64 --isa avx2");
    const hpc_json *op = hpc_json_at(ops(root), 0), *peers = hpc_json_get(op, "peers");
    for (int64_t i = 0; i < hpc_json_n(peers); i++) {
        const hpc_json *p = hpc_json_at(peers, i);
        bool wrong = false;
        test_ok(hpc_json_bool(&wrong, hpc_json_get(p, "wrong"), "wrong"));
        assert_int_equal(wrong, number(p, "distance") > 0.05);
        if (strcmp(text(p, "name"), "onednn") != 0) continue;
        hpc_test_outcome *o = run("--op matmul --dtype i8 --shape 64,512,64 --isa avx2 "
                                  "--seconds 0.001");
        assert_int_equal(o->code, 0);
        assert_int_equal(strstr(o->out, ", wrong)") != NULL, wrong);
        assert_int_equal(strstr(o->out, "exceed the rounding bound") != NULL, wrong);
        free(o);
    }
    hpc_json_free(root);
    root = run_json("--peer --op matmul --shape 64,512,64 --isa avx2");
    peers = hpc_json_get(hpc_json_at(ops(root), 0), "peers");
    for (int64_t i = 0; i < hpc_json_n(peers); i++) {
        bool wrong = true;
        test_ok(hpc_json_bool(&wrong, hpc_json_get(hpc_json_at(peers, i), "wrong"), "wrong"));
        assert_false(wrong);
    }
    hpc_json_free(root);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void bad_requests_are_told(void **state)
{
    static const struct {
        const char *words, *part;
    } bad[] = {
        {"--op matmull", "no op 'matmull' can be measured; these can: nop, matmul, pack, norm"},
        {"--op matmul --shape 3,4", "--shape 3,4 has 2 extents; matmul takes M,K,N or B,M,K,N"},
        {"--op norm --shape 1,2,3", "--shape 1,2,3 has 3 extents; norm takes R,C"},
        {"--op norm --op sgd --shape 4,8", "--shape 4,8 has 2 extents; sgd takes N"},
        {"--op nop --shape 3", "--shape 3 has 1 extents; nop takes no shape"},
        {"--shape 3,3,3", "--shape needs --op"},
        {"--attr p=1", "--attr needs --op"},
        {"--op matmul --shape 3,x,4", "--shape 3,x,4: expected integers from 1 to 16777216"},
        {"--op matmul --shape 3,0,4", "--shape 3,0,4: expected integers from 1 to 16777216"},
        {"--op matmul --shape 3,4,", "--shape 3,4,: expected integers from 1 to 16777216"},
        {"--op sgd --shape 1,2,3,4,5,6", "no op takes more than 5 extents"},
        {"--op norm --weights q8_0", "norm has no weights of their own type"},
        {"--op norm --attr kind=other",
         "attribute kind of norm is 'other'; expected one of rms, layer"},
        {"--op norm --attr eps=x", "attribute eps of norm is 'x'; expected a number"},
        {"--op norm --attr width=3", "norm has no attribute 'width'; it has kind, eps"},
        {"--op matmul --attr trans_a=maybe", "'maybe'; expected true or false"},
        {"--op dropout --attr p=1", "p is 1; it must be at least 0 and below 1"},
        {"--op matmul --shape 8,100,8 --weights q8_0", "whole blocks of 32 elements"},
        {"--op matmul --shape 8,64,32 --weights q8_0 --attr trans_b=false", "set trans_b"},
        {"--op matmul --shape 8,64,32 --attr int8", "int8 takes a block format alone"},
        {"--op attention --shape 8,4,3,16", "4 query heads are no multiple of 3"},
        {"--op scatter --shape 8,4,16", "cannot draw 8 different rows of 4"},
        {"--op matmul --shape 16777216,16777216,8", "is too large to measure"},
        {"--dtype f16", "option --dtype: 'f16' is not allowed"},
        {"--isa avx9", "no instruction set 'avx9'"},
        {"--backend nowhere", "unknown device 'nowhere'"},
        {"more", "unexpected argument 'more'"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        char words[160];
        snprintf(words, sizeof words, "--no-peer --seconds 0.001 %s", bad[k].words);
        hpc_test_outcome *o = run(words);
        const char *end = strchr(o->err, '\n');
        bool one_line = end && end[1] == '\0';
        if (o->code != 2 || o->out[0] || !one_line || !strstr(o->err, bad[k].part) ||
            strncmp(o->err, "hpccoder bench op: ", 19) != 0)
            fail_msg("%s: exit code %d, '%s', '%.80s'; wanted 2, '%s'", bad[k].words, o->code,
                     o->err, o->out, bad[k].part);
        free(o);
    }
}

static void help_tells_all_options(void **state)
{
    (void)state;
    hpc_test_outcome *o = run("--help");
    assert_int_equal(o->code, 0);
    static const char *const parts[] = {"--op NAME",      "--shape N,N,...", "--dtype TYPE",
                                        "--weights TYPE", "--isa NAME",      "--device DEVICE",
                                        "--threads N",    "--seconds X",     "--[no-]peer",
                                        "--json",         "--cold",          "--attr NAME"};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (!strstr(o->out, parts[k])) fail_msg("no %s", parts[k]);
    }
    free(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_says_what_was_measured),
        cmocka_unit_test(every_op_is_measured),
        cmocka_unit_test(every_op_runs_on_mock),
        cmocka_unit_test(every_op_takes_bf16),
        cmocka_unit_test(a_copy_rounds),
        cmocka_unit_test(sets_are_forced),
        cmocka_unit_test(weights_of_every_type),
        cmocka_unit_test(cold_repeats_until_caches_overflow),
        cmocka_unit_test(nop_costs_instructions_and_barriers),
        cmocka_unit_test(the_table_is_aligned),
        cmocka_unit_test(peers_compute_the_same),
        cmocka_unit_test(a_peer_that_saturates_is_told),
        cmocka_unit_test(bad_requests_are_told),
        cmocka_unit_test(help_tells_all_options),
    };
    return cmocka_run_group_tests_name("cmd/bench_op", tests, NULL, NULL);
}

/*
 * Tests of `hpccoder bench decode`. Times are not checked; bytes and parameters are counts.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;

#define TINY "bench decode --shape 5m --prompt 20 --tokens 3 --turns 1 --threads 2 "

static double number(const hpc_json *object, const char *key)
{
    double x;
    test_ok(hpc_json_real(&x, hpc_json_get(object, key), key));
    return x;
}

/* Four blocks of 4 x 256 x 256 and 3 x 256 x 768, a head of 8192 x 256, and the table as large:
 * these two are q8_0 where the others have 4 bits. */
static void weights_of_every_type(void **state)
{
    static const struct {
        const char *name;
        double bits;
    } type[] = {{"f32", 32},   {"bf16", 16},  {"f16", 16},   {"q8_0", 8.5},
                {"q4_0", 4.5}, {"q4_K", 4.5}, {"q5_K", 5.5}, {"q6_K", 6.5625}};
    const double blocks = 4 * (4.0 * 256 * 256 + 3.0 * 256 * 768), table = 8192.0 * 256;
    (void)state;
    for (size_t k = 0; k < sizeof type / sizeof *type; k++) {
        char line[160];
        hpc_json *root;
        snprintf(line, sizeof line, TINY "--json --weights %s", type[k].name);
        hpc_test_command(&o, line);
        assert_int_equal(o.code, 0);
        test_ok(hpc_json_parse(&root, o.out, strlen(o.out), "output"));
        assert_true(number(root, "matrix_bytes") ==
                    (blocks * type[k].bits + table * (type[k].bits == 4.5 ? 8.5 : type[k].bits)) /
                        8);
        assert_true(number(root, "parameters") == blocks + 2 * table + 9 * 256);
        assert_true(number(root, "threads") == 2);
        assert_true(number(root, "prompt_tokens_per_s") > 0);
        assert_true(number(root, "decode_tokens_per_s") > 0);
        assert_true(number(root, "decode_fraction") > 0 && number(root, "read_gbs") > 0);
        assert_true(number(root, "cache_bytes") >= 32 << 20);
        hpc_json_free(root);
    }
}

static void a_table_for_people(void **state)
{
    (void)state;
    hpc_test_command(&o, TINY "--cache bf16");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.out, "5m, q8_0 weights of 5.6 MiB, 2 threads"));
    assert_non_null(strstr(o.out, "prompt of 20 "));
    assert_non_null(strstr(o.out, "decode of 3 "));
    assert_non_null(strstr(o.out, "GB/s, partly from caches of "));
    assert_null(strstr(o.out, "of memory bandwidth"));
}

static void the_model_as_a_file(void **state)
{
    const hpc_test_folder *f = *state;
    char path[300];
    hpc_model_config c;
    hpc_gguf *g;
    hpc_stored_tensor t;
    snprintf(path, sizeof path, "%s/model.gguf", f->root);
    hpc_test_command_in(&o, f->root, TINY "--weights q4_0 --peer --save @model.gguf");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.out, "llama_decode.py --weights q4_0 --shape 5m --prompt 20 "));
    test_ok(hpc_model_config_read(&c, path));
    assert_int_equal(c.layers, 4);
    assert_int_equal(c.hidden, 256);
    test_ok(hpc_gguf_open(&g, path));
    test_ok(hpc_gguf_find(&t, g, "output.weight"));
    assert_int_equal(t.dtype, HPC_Q8_0);
    test_ok(hpc_gguf_find(&t, g, "blk.3.ffn_down.weight"));
    assert_int_equal(t.dtype, HPC_Q4_0);
    hpc_gguf_close(g);
}

static void wrong_words(void **state)
{
    static const struct {
        const char *words, *part;
    } bad[] = {{"bench decode --shape 7b", "option --shape: '7b' is not allowed"},
               {"bench decode --weights q7_K", "option --weights: 'q7_K' is not allowed"},
               {"bench decode --prompt 0", "option --prompt"},
               {"bench decode more", "unexpected argument 'more'"}};
    (void)state;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        hpc_test_command(&o, bad[k].words);
        assert_int_equal(o.code, 2);
        assert_non_null(strstr(o.err, bad[k].part));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_of_every_type),
        cmocka_unit_test(a_table_for_people),
        cmocka_unit_test_setup_teardown(the_model_as_a_file, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(wrong_words),
    };
    return cmocka_run_group_tests_name("cmd/bench_decode", tests, NULL, NULL);
}

/*
 * Tests of `hpccoder eval graph`: areas of a score and of the network, and invalid samples.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/source/check.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"

static hpc_test_outcome o;
static const char path[] = "build/eval-graph.jsonl";

static void run(const char *samples, const char *words)
{
    char all[200];
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(samples, f);
    fclose(f);
    snprintf(all, sizeof all, "eval graph -q -j 1 %s %s", path, words);
    hpc_test_command(&o, all);
    unlink(path);
}

/* Loops of fold -1 are for training. The score orders the four test loops of each repository as
 * 0, 1, 0, 1: three of four pairs are right. */
static void areas_compare_the_network_with_the_score(void **state)
{
    (void)state;
    hpc_buf b = {0};
    for (int k = 0; k < 40; k++) {
        const char *call = k % 2 ? "printf(s)" : "a[i] = sqrt(b[i])";
        test_ok(hpc_buf_printf(&b,
                               "{\"group\":\"%c\",\"fold\":%d,\"label\":%d,\"language\":\"c\","
                               "\"score\":%d,\"code\":\"for (i = 0; i < %d; i++) { %s; }\"}\n",
                               k < 32 ? 't' : 'a' + k % 8 / 4, k < 32 ? -1 : 0, k % 2, k % 4, k,
                               call));
    }
    run(b.data, "--epochs 20 --width 8 --labels 64 --rate 0.01");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.out, "8 samples, 4 with label 1, in 2 groups"));
    assert_non_null(strstr(o.out, "trained on 32 samples"));
    assert_non_null(strstr(o.out, "score   0.750  0.750 to 0.750"));
    assert_non_null(strstr(o.out, "graph   1.000  1.000 to 1.000        0.250"));
    hpc_buf_release(&b);
}

/* Loops in a file: one that libclang finds, one that a macro hides but has code, one of neither. */
static void loops_in_files_have_graphs_of_trees(void **state)
{
    (void)state;
    static const char file[] = "build/eval-graph.c";
    static const char text[] = "#define LOOP for (int i = 0; i < n; i++) a[i] = 0;\n"
                               "void f(int n, int *a) {\n"
                               "  for (int i = 0; i < n; i++) a[i] += 1;\n"
                               "#if 0\n"
                               "  for (;;) f(n, a);\n"
                               "#endif\n"
                               "}\n";
    char samples[1200];
    NEED_LIBRARY;
    test_ok(hpc_file_save(file, text, sizeof text - 1));
    static const char sample[] = "{\"group\":\"a\",\"fold\":%d,\"label\":%d,\"language\":\"c\","
                                 "\"file\":\"build/eval-graph.c\",\"line\":%d%s}\n";
    size_t n = 0;
    for (int k = 0; k < 4; k++)
        n += (size_t)snprintf(samples + n, sizeof samples - n, sample, k / 2, k % 2, k % 2 ? 3 : 5,
                              ",\"code\":\"for (;;) f(n, a);\"");
    run(samples, "--epochs 1 --width 4");
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.out, "2 graphs are of the compiler's trees, the others of tokens"));
    snprintf(samples + n, sizeof samples - n, sample, 0, 0, 5, "");
    run(samples, "--epochs 1 --width 4");
    assert_int_equal(o.code, 2);
    assert_non_null(strstr(o.err, "jsonl:5: the compiler finds no loop at build/eval-graph.c:5"));
    run("{\"group\":\"a\",\"fold\":0,\"label\":0,\"file\":\"build/none.c\",\"line\":1}\n", "");
    assert_int_equal(o.code, 2);
    assert_non_null(strstr(o.err, "build/none.c"));
    unlink(file);
}

static void changes_have_two_sides(void **state)
{
    (void)state;
    hpc_buf b = {0};
    for (int fold = 0; fold < 2; fold++)
        test_ok(hpc_buf_printf(
            &b,
            "{\"group\":\"a\",\"fold\":%d,\"label\":1,\"base\":\"f(){a;}\",\"head\":\"f(){b();}\"}"
            "\n"
            "{\"group\":\"a\",\"fold\":%d,\"label\":0,\"base\":\"f(){a;}\",\"head\":\"f(){c;}\"}\n",
            fold, fold));
    run(b.data, "--epochs 1 --width 4");
    hpc_buf_release(&b);
    assert_int_equal(o.code, 0);
    assert_non_null(strstr(o.out, "4 samples, 2 with label 1, in 1 groups"));
    assert_null(strstr(o.out, "score"));
}

#define SAMPLE(fold, label)                                                                        \
    "{\"group\":\"a\",\"fold\":" #fold ",\"label\":" #label ",\"code\":\"x\"}\n"

/* Samples of one fold, each label in a fold of its own, one label for training. */
static void folds_without_both_labels_to_train_on_are_named(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {SAMPLE(0, 0) SAMPLE(0, 1), "fold 0: the other folds have no sample with label 0 "},
        {SAMPLE(0, 1) SAMPLE(1, 0), "fold 0: the other folds have no sample with label 1"},
        {SAMPLE(0, 0) SAMPLE(0, 1) SAMPLE(3, 0) SAMPLE(3, 1) SAMPLE(3, 1), NULL},
        {SAMPLE(0, 0) SAMPLE(3, 0) SAMPLE(3, 1), "fold 3: the other folds have no sample with "
                                                 "label 1 to train on: spread each label over "
                                                 "several folds, or add samples of fold -1"},
        {SAMPLE(2, 0) SAMPLE(2, 1) SAMPLE(-1, 1), "fold 2: the other folds have no sample with "
                                                  "label 0"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        run(bad[k][0], "--epochs 1 --width 4");
        if (o.code != (bad[k][1] ? 2 : 0) || (bad[k][1] && !strstr(o.err, bad[k][1])))
            fail_msg("%s: %d: %s", bad[k][0], o.code, o.err);
    }
}

static void invalid_samples_are_named(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"{\"group\":\"a\",\"fold\":0,\"label\":2,\"code\":\"x\"}", ":1: label 2"},
        {"\n{\"group\":\"a\",\"fold\":64,\"label\":1,\"code\":\"x\"}", ":2: fold 64"},
        {"{\"group\":\"a\",\"fold\":0,\"label\":1}", ":1: base"},
        {"{\"group\":\"a\",\"fold\":0,\"label\":1,\"base\":\"x\"}", ":1: head"},
        {"{\"fold\":0,\"label\":1,\"code\":\"x\"}", ":1: group"},
        {"{\"group\":\"a\",\"fold\":0,\"label\":1,\"code\":\"x\",\"language\":\"cobol\"}", "cobol"},
        {"{\"group\":\"a\",\"fold\":0,\"label\":1,\"code\":\"x\",\"language\":\"fortran\"}",
         "Fortran"},
        {"{\"group\":\"a\",\"fold\":0,\"label\":1,\"code\":\"x\"}", "both labels"},
        {"{", ":1"},
        {"", "both labels"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        run(bad[k][0], "");
        if (o.code == 0 || !strstr(o.err, bad[k][1])) fail_msg("%s: %s", bad[k][0], o.err);
    }
    hpc_test_command(&o, "eval graph");
    assert_int_equal(o.code, 2);
    hpc_test_command(&o, "eval graph -q build/no-such.jsonl");
    assert_int_equal(o.code, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(areas_compare_the_network_with_the_score),
        cmocka_unit_test(loops_in_files_have_graphs_of_trees),
        cmocka_unit_test(changes_have_two_sides),
        cmocka_unit_test(folds_without_both_labels_to_train_on_are_named),
        cmocka_unit_test(invalid_samples_are_named),
    };
    return cmocka_run_group_tests_name("cmd/eval_graph", tests, NULL, NULL);
}

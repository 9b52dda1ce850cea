/*
 * Tests of `hpccoder corpus harvest`: arguments, results, exit codes, and recovery after SIGKILL
 * at any moment.
 */
/* tsan: left out, other tests start the same threads. */
/* asan: left out, other tests run the same code. */
#include "tests/corpus/sources.h"

#include <limits.h>
#include <math.h>

#include "tests/support/command.h"
#include "tests/support/ended.h"

typedef struct bench {
    place *place;
    hpc_test_outcome outcome;
} bench;

static bench *make_bench(place *p)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->place = p;
    return b;
}

/* Runs `corpus harvest` with words in which '@' is the folder of the test. */
static const hpc_test_outcome *harvest(bench *b, const char *words)
{
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "corpus harvest %s", words);
    hpc_test_command_in(&b->outcome, b->place->root, all);
    return &b->outcome;
}

static void test_usage(void **state)
{
    static const struct {
        const char *words, *says;
    } wrong[] = {{"@r0 --held-out none", "--out DIR is missing"},
                 {"--out @c --held-out none", "no repository: name one"},
                 {"--out @c --list @absent --held-out none", "absent"},
                 {"@r0 --out @c --split 0.1 --held-out none", "expected two shares"},
                 {"@r0 --out @c --split 0.1,x --held-out none", "expected two shares"},
                 {"@r0 --out @c --split 0.5,0.5 --held-out none", "their sum is at most 0.9"},
                 {"@r0 --out @c --licenses MIT,Nonsense --held-out none", "Nonsense"},
                 {"=@r0 --out @c --held-out none", "expected PATH or NAME=PATH"},
                 {"x/y=@r0 x/y=@r1 --out @c --held-out none", "have the same name 'x/y'"},
                 {"@r0 --out @c --held-out @absent.sketch", "absent.sketch"},
                 {"@r0 --out @c --max-bytes 0 --held-out none", "max-bytes"}};
    bench *b = make_bench(*state);
    write_repository(b->place, 0, 5, 1);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char words[HPC_TEST_WORDS];
        snprintf(words, sizeof words, "corpus harvest %s", wrong[k].words);
        hpc_test_refuses(&b->outcome, b->place->root, words, wrong[k].says);
    }
    free(b);
}

static void test_results(void **state)
{
    bench *b = make_bench(*state);
    hpc_json *root = NULL;
    int64_t n = 0;
    bool complete = false;
    write_repository(b->place, 0, 40, 2);
    write_repository(b->place, 1, 30, 1);
    write_text(b->place, "list", "# two\n\n  a/b=r0 \n\tr1\r\n", 23);
    script(b->place, "sed -i \"s,r0,$PWD/r0,; s,r1,$PWD/r1,\" list");
    const hpc_test_outcome *o = harvest(b, "--list @list --out @c --held-out none -q");
    assert_int_equal(o->code, 0);
    hpc_test_says(o->out, "2 repositories, 0 failed; read 70 files");
    hpc_test_says_row(o->out, "\n kept 70 ");
    o = harvest(b, "--list @list --out @c --held-out none -q --resume --json");
    assert_int_equal(o->code, 0);
    assert_int_equal(hpc_json_parse(&root, o->out, strlen(o->out), "output"), 0);
    assert_int_equal(hpc_json_bool(&complete, hpc_json_get(root, "complete"), ""), 0);
    assert_true(complete);
    const hpc_json *kept = hpc_json_get(hpc_json_get(root, "reasons"), "kept");
    assert_int_equal(hpc_json_int(&n, hpc_json_get(kept, "files"), ""), 0);
    assert_int_equal(n, 70);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(root, "peak_bytes"), ""), 0);
    assert_true(n > 1 << 20);
    hpc_json_free(root);
    o = harvest(b, "a/b=@r0 @r1 --out @d --held-out none -q -j 3"); /* "r1": of its folder */
    assert_int_equal(o->code, 0);
    script(b->place, "diff -r c d; test -d c/content/a+b; test -d c/content/r1");
    o = harvest(b, "@r0 --out @c --held-out none");
    assert_int_equal(o->code, 2);
    hpc_test_says(o->err, "already contains a corpus; continue it with --resume");
    o = harvest(b, "@absent @r1 --out @e --held-out none -q");
    assert_int_equal(o->code, 2);
    hpc_test_says(o->err, "absent: ");
    hpc_test_says(o->out, "2 repositories, 1 failed; read 30 files");
    free(b);
}

/* One line, exit code 2, and the folder is as it was: the right path can be given next. */
static void test_mistyped(void **state)
{
    bench *b = make_bench(*state);
    write_repository(b->place, 0, 5, 1);
    hpc_test_refuses(&b->outcome, b->place->root, "corpus harvest @ro --out @c --held-out none",
                     "ro: not a git repository");
    assert_int_equal(b->outcome.code, 2);
    script(b->place, "test ! -e c");
    assert_int_equal(harvest(b, "@r0 --out @c --held-out none -q")->code, 0);
    free(b);
}

/* The results exist although stdout is closed. */
static void test_stdout_gone(void **state)
{
    place *p = *state;
    char program[PATH_MAX], text[3 * PATH_MAX];
    write_repository(p, 0, 5, 1);
    hpc_test_built(program, "hpccoder");
    snprintf(text, sizeof text,
             "for out in /dev/full '&-'; do r=0; eval \"'%s' corpus harvest r0 --out c -q --resume "
             "--held-out none >$out 2>err\" || r=$?; test $r = 3; test -f c/corpus.db; "
             "test \"$(cat err)\" = 'hpccoder corpus harvest: the corpus is complete in c, only "
             "this report is lost: cannot write to standard output'; done",
             program);
    script(p, text);
}

/* Four equal ones cannot be split as asked; of two, none is split off, which is said. */
static void test_remarks(void **state)
{
    bench *b = make_bench(*state);
    for (int k = 0; k < 4; k++) write_repository(b->place, k, 8, 1);
    const hpc_test_outcome *o = harvest(b, "@r0 @r1 @r2 @r3 --out @c --held-out none");
    assert_int_equal(o->code, 0);
    hpc_test_says(o->err, "the validation split has 0.0 % of the bytes instead of 5.0 %");
    hpc_test_says(o->err, "the test split has 0.0 % of the bytes instead of 5.0 %");
    hpc_test_says(o->err, "there are only 4 clusters\n");
    assert_string_equal(harvest(b, "@r0 @r1 @r2 @r3 --out @d --held-out none -q")->err, "");
    o = harvest(b, "@r0 @r1 @r2 @r3 --out @e --held-out none --split 0.25,0.25");
    assert_null(strstr(o->err, "split"));
    hpc_test_says(harvest(b, "@r0 @r1 --out @f --held-out none")->err,
                  "there is no validation split: the corpus has 2 clusters of repositories");
    assert_null(strstr(harvest(b, "@r0 @r1 --out @h --held-out none --split 0,0")->err, "split"));
    script(b->place, "new empty");
    o = harvest(b, "@empty --out @g --held-out none");
    assert_int_equal(o->code, 0);
    hpc_test_says(o->err, "the repository is empty");
    assert_null(strstr(o->err, "split"));
    free(b);
}

/* Share of the bytes that validate; "r0" does when test gets what else is not the largest. */
static double harvest_share(bench *b, double wanted)
{
    char words[128];
    hpc_json *root = NULL;
    int64_t part = 0, all = 0;
    snprintf(words, sizeof words, "@r0 @r1 @r2 --out @c --held-out none --json --split %.3f,0.44",
             wanted);
    const hpc_test_outcome *o = harvest(b, words);
    assert_int_equal(o->code, 0);
    assert_int_equal(hpc_json_parse(&root, o->out, strlen(o->out), "output"), 0);
    const hpc_json *splits = hpc_json_get(root, "splits");
    assert_int_equal(
        hpc_json_int(&part, hpc_json_get(hpc_json_get(splits, "validation"), "bytes"), ""), 0);
    assert_int_equal(hpc_json_int(&all, hpc_json_get(hpc_json_get(root, "kept"), "bytes"), ""), 0);
    hpc_json_free(root);
    script(b->place, "rm -r c");
    return (double)part / (double)all;
}

/* A fraction that rounds to half of the requested one is not reported. */
static void test_printed_shares(void **state)
{
    bench *b = make_bench(*state);
    int files = 10;
    double share = 0;
    write_repository(b->place, 1, 44, 1);
    write_repository(b->place, 2, 48, 1);
    do {
        script(b->place, "rm -rf r0");
        write_repository(b->place, 0, files++, 1);
        share = harvest_share(b, 0.2);
    } while (1000 * share - floor(1000 * share) < 0.6 && files < 20);
    assert_true(files < 20);
    assert_true(harvest_share(b, 2 * ceil(1000 * share) / 1000) == share);
    assert_null(strstr(b->outcome.err, "validation"));
    assert_true(harvest_share(b, (2 * ceil(1000 * share) + 1) / 1000) == share);
    hpc_test_says(b->outcome.err, "the validation split has ");
    free(b);
}

/* ---- being ended ------------------------------------------------------------------------ */

#define WORDS                                                                                      \
    "corpus harvest @r0 @r1 @r2 @r3 --held-out none --history -j 2 -q --resume --split 0.2,0.2"

static void make_repositories(place *p)
{
    for (int k = 0; k < 4; k++) write_repository(p, k, 60 + 80 * k, 4);
}

static void test_signals(void **state)
{
    place *p = *state;
    make_repositories(p);
    hpc_test_end_by_signals(p->root, WORDS);
}

static void test_full_disk(void **state)
{
    static const long bytes[] = {100, 2000, 30000, 200000};
    place *p = *state;
    make_repositories(p);
    hpc_test_end_by_full_disk(p->root, WORDS, bytes, 4, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_usage, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_results, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_mistyped, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_stdout_gone, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_remarks, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_printed_shares, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_signals, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests of `hpccoder corpus pack`: arguments, results, exit codes, and recovery after SIGKILL at
 * any moment.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/corpus/sources.h"

#include "corpus/history/database.h"
#include "runtime/shard/shard.h"
#include "tests/support/command.h"
#include "tests/support/ended.h"

typedef struct bench {
    place *place;
    hpc_test_outcome outcome;
} bench;

/* Runs words in which '@' is the folder of the test. */
static const hpc_test_outcome *command(bench *b, const char *words)
{
    hpc_test_command_in(&b->outcome, b->place->root, words);
    return &b->outcome;
}

static bench *new_bench(place *p)
{
    bench *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->place = p;
    return b;
}

/* Three repositories and the corpus "c" of them; the tokenizer is copied to "t.model". */
static void make_corpus(place *p)
{
    bench *b = new_bench(p);
    hpc_buf model = {0};
    assert_int_equal(hpc_file_read(&model, "tests/fixtures/tokenizer/ours.model", 1 << 20), 0);
    assert_int_equal(hpc_file_save(in(p, "t.model"), model.data, model.n), 0);
    hpc_buf_release(&model);
    for (int k = 0; k < 3; k++) write_repository(p, k, 40 + 30 * k, 1);
    write_text(p, "r0/omp.c",
               "/* SPDX-License-Identifier: MIT */\nvoid f(double *a, int n)\n{\n"
               "#pragma omp parallel for\n    for (int i = 0; i < n; i++) a[i] = i * 2.5 + n;\n}\n",
               141);
    script(p, "cd r0; save more");
    const hpc_test_outcome *o =
        command(b, "corpus harvest @r0 @r1 @r2 --out @c --held-out none --split 0,0 -q");
    if (o->code != 0) fail_msg("%s", o->err);
    free(b);
}

/* Made once, in a place of its own, and copied for each test. */
static place *made;

static int make_once(void **state)
{
    int rc = place_setup((void **)&made);
    (void)state;
    if (rc == 0) make_corpus(made);
    return rc;
}

static int drop_made(void **state)
{
    (void)state;
    return place_teardown((void **)&made);
}

static bench *make_bench(place *p)
{
    char text[192];
    snprintf(text, sizeof text, "cp -r %s/c %s/t.model .", made->root, made->root);
    script(p, text);
    return new_bench(p);
}

static void refuses(bench *b, const char *words, const char *says)
{
    hpc_test_refuses(&b->outcome, b->place->root, words, says);
}

static void test_usage(void **state)
{
    bench *b = make_bench(*state);
    refuses(b, "corpus pack --tokenizer @t.model --out @a", "name a corpus");
    refuses(b, "corpus pack @c @d --tokenizer @t.model --out @a", "unexpected argument");
    refuses(b, "corpus pack @c --tokenizer @t.model", "--out DIR is missing");
    refuses(b, "corpus pack @c --out @a", "--tokenizer FILE is missing");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --task prose", "--task");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --split some", "--split");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --fim-rate 2", "--fim-rate");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --shard-tokens 0", "--shard-tokens");
    refuses(b, "corpus pack @absent --tokenizer @t.model --out @a -q", "absent");
    refuses(b, "corpus pack @c --tokenizer @absent --out @a -q", "absent");
    script(b->place, "printf GGUF123 >a.gguf");
    refuses(b, "corpus pack @c --tokenizer @a.gguf --out @a -q", "hpccoder import");
    script(b->place, "ln -s absent/x link; mkdir -p folder/index.json; touch file");
    static const char *const outs[][2] = {
        {"link", "File exists"}, {"folder", "not a regular file"}, {"file", "Not a directory"}};
    for (size_t k = 0; k < sizeof outs / sizeof *outs; k++) {
        char words[128];
        snprintf(words, sizeof words, "corpus pack @c --tokenizer @t.model --out @%s -q",
                 outs[k][0]);
        refuses(b, words, outs[k][1]);
        assert_int_equal(b->outcome.code, 2);
    }
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --task pragma -q", "loops.db");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @p --task perf", "takes --perf");
    refuses(b, "corpus pack --tokenizer @t.model --out @p --task perf -q", "--perf FILE");
    script(b->place, "new r");
    refuses(b, "corpus pack --tokenizer @t.model --out @p --task perf --perf @x.db --repository @r",
            "x.db");
    refuses(b,
            "corpus pack --tokenizer @t.model --out @p --task perf --perf @x.db --repository @r "
            "--held-out @none.sketch",
            "none.sketch");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @a --held-out none",
            "--held-out is for task perf");
    free(b);
}

/* Counts documents by their file into seen, and returns how many there are. */
static int64_t count_files(int seen[300], place *p, const char *folder)
{
    hpc_shards *s = NULL;
    if (hpc_shards_open(&s, in(p, folder), NULL) < 0) fail_msg("%s", hpc_error_get()->text);
    int64_t n = hpc_shards_n(s);
    for (int64_t i = 0; i < n; i++) {
        double file = hpc_shards_value(s, hpc_shards_column(s, "file"), i);
        assert_true(file >= 0 && file < 300);
        seen[(int)file]++;
    }
    hpc_shards_close(s);
    return n;
}

/* Files below and from a number are all files, each once. */
static void test_shares(void **state)
{
    bench *b = make_bench(*state);
    int all[300] = {0}, parts[300] = {0};
    const char *pack[] = {"corpus pack @c --tokenizer @t.model -q --out @a",
                          "corpus pack @c --tokenizer @t.model -q --out @b --to 0.3",
                          "corpus pack @c --tokenizer @t.model -q --out @d --from 0.3"};
    for (int k = 0; k < 3; k++)
        if (command(b, pack[k])->code != 0) fail_msg("%s", b->outcome.err);
    int64_t n = count_files(all, b->place, "a"), low = count_files(parts, b->place, "b");
    assert_int_equal(low + count_files(parts, b->place, "d"), n);
    assert_true(low > n / 6 && low < n / 2);
    assert_memory_equal(all, parts, sizeof all);
    refuses(b, "corpus pack @c --tokenizer @t.model --out @e --from 0.5 --to 0.5 -q",
            "share of the files from 0.5 to 0.5: expected");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @b --to 0.4 -q --resume",
            "was written with other options");
    free(b);
}

static void test_results(void **state)
{
    bench *b = make_bench(*state);
    hpc_json *root = NULL;
    int64_t n = 0;
    const hpc_test_outcome *o =
        command(b, "corpus pack @c --tokenizer @t.model --out @a --split all -q --json");
    if (o->code != 0) fail_msg("%s", o->err);
    assert_string_equal(o->err, "");
    assert_int_equal(hpc_json_parse(&root, o->out, strlen(o->out), "output"), 0);
    assert_int_equal(hpc_json_n(root), 3);
    const hpc_json *train = hpc_json_at(root, 0);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(train, "documents"), ""), 0);
    assert_int_equal(n, 211);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(train, "tokens"), ""), 0);
    assert_true(n > 10000);
    hpc_json_free(root);
    script(b->place, "test -f a/train/index.json; test -f a/test/index.json");
    o = command(b, "corpus pack @c --tokenizer @t.model --out @v --split validation");
    assert_int_equal(o->code, 0);
    hpc_test_says(o->err, "the validation split in ");
    hpc_test_says(o->err, "v has no documents: do not pass it to hpccoder train");
    o = command(b, "corpus pack @c --tokenizer @t.model --out @b --threads 3");
    assert_int_equal(o->code, 0);
    hpc_test_says_row(o->out, "\ntrain 211 ");
    hpc_test_says(o->err, "tokens");
    script(b->place, "diff -r a/train b");
    refuses(b, "corpus pack @c --tokenizer @t.model --out @b -q", "contains a data set");
    assert_int_equal(b->outcome.code, 2);
    refuses(b, "corpus pack @c --tokenizer @t.model --out @b -q --resume --fim-rate 0",
            "was written with other options");
    o = command(b, "corpus pack @c --tokenizer @t.model --out @b -q --resume");
    assert_int_equal(o->code, 0);
    script(b->place, "diff -r a/train b; truncate -s -1 b/00000.shard");
    o = command(b, "corpus pack @c --tokenizer @t.model --out @b -q --resume");
    assert_int_equal(o->code, 0);
    hpc_test_says(o->err, "b/00000.shard is truncated: ");
    hpc_test_says(o->err, "; rebuilding it and all later shards\n");
    script(b->place, "diff -r a/train b");
    assert_int_equal(command(b, "corpus loops @c --out @l -q")->code, 0);
    o = command(b, "corpus pack @c --task pragma --loops @l --tokenizer @t.model --out @d -q");
    assert_int_equal(o->code, 0);
    hpc_test_says_row(o->out, "\ntrain 1 ");
    free(b);
}

/* A repository "r" called as one that the program's own sketch holds out, in three commits; its
 * history "h.db"; and a sketch "s" that holds out what the last of them changes. */
static void make_measured(bench *b)
{
    static const double cost[] = {10, 13, 6};
    static const char list[] = "path:LLNL/Kripke:port/*\n";
    place *p = b->place;
    hpc_history_db *d = NULL;
    char id[3][41], what[16];
    script(p, "new r; git config remote.origin.url https://host/LLNL/Kripke.git; mkdir port; "
              "echo 'int f(void) { return 1; }' | tee a.c > port/b.c; save; "
              "sed -i 's/1/2/' a.c; save; sed -i 's/1/2/' port/b.c; save");
    assert_int_equal(hpc_history_db_create(&d, in(p, "h.db")), 0);
    for (int k = 0; k < 3; k++) {
        snprintf(what, sizeof what, "main~%d", 2 - k);
        hpc_git_id commit = parsed(p, "r", what);
        hpc_git_id_text(id[k], &commit);
        assert_int_equal(hpc_history_db_add_commit(d, id[k], k ? id[k - 1] : NULL, k), 0);
        for (int run = 0; run < 3; run++)
            assert_int_equal(
                hpc_history_db_add(d, &(perf_way){"make", "./r", "m"}, "time", id[k], cost[k]), 0);
    }
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
    assert_int_equal(hpc_file_save(in(p, "list"), list, sizeof list - 1), 0);
    const hpc_test_outcome *o = command(b, "corpus sketch --list @list --out @s");
    if (o->code != 0) fail_msg("%s", o->err);
}

#define PACK_PERF "corpus pack --task perf --perf @h.db --repository @r --tokenizer @t.model -q "

static void test_perf(void **state)
{
    bench *b = make_bench(*state);
    hpc_json *root = NULL;
    int64_t n = 0;
    make_measured(b);
    const hpc_test_outcome *o = command(b, PACK_PERF "--held-out @s --out @a --json");
    if (o->code != 0) fail_msg("%s", o->err);
    assert_int_equal(hpc_json_parse(&root, o->out, strlen(o->out), "output"), 0);
    const hpc_json *pairs = hpc_json_get(hpc_json_at(root, 0), "pairs");
    assert_int_equal(hpc_json_int(&n, hpc_json_get(hpc_json_at(root, 0), "documents"), ""), 0);
    assert_int_equal(n, 1);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(pairs, "all"), ""), 0);
    assert_int_equal(n, 2);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(pairs, "left_out"), ""), 0);
    assert_int_equal(n, 1);
    assert_int_equal(hpc_json_int(&n, hpc_json_get(pairs, "held-out-path"), ""), 0);
    assert_int_equal(n, 1);
    hpc_json_free(root);
    o = command(b, PACK_PERF "--held-out @s --out @b");
    assert_int_equal(o->code, 0);
    hpc_test_says(o->out, "\ntrain: 2 commits with their parents, 1 left out, 1 held-out-path\n");
    script(b->place, "diff -r a b");
    o = command(b, PACK_PERF "--out @d");
    if (o->code != 0) fail_msg("%s", o->err);
    hpc_test_says(o->out, ", 2 left out, 2 held-out-repository\n");
    o = command(b, PACK_PERF "--held-out none --out @e");
    assert_int_equal(o->code, 0);
    hpc_test_says(o->out, ", 0 left out\n");
    refuses(b, PACK_PERF "--out @e --resume", "was written with other options");
    free(b);
}

/* ---- being ended ------------------------------------------------------------------------- */

#define WORDS "corpus pack @c --tokenizer @t.model --shard-tokens 16000 -j 2 -q --resume"

static void test_signals(void **state)
{
    bench *b = make_bench(*state);
    hpc_test_end_by_signals(b->place->root, WORDS);
    script(b->place, "test $(ls whole/*.shard | wc -l) -gt 8");
    free(b);
}

static void test_full_disk(void **state)
{
    static const long bytes[] = {100, 2000, 20000};
    bench *b = make_bench(*state);
    hpc_test_end_by_full_disk(b->place->root, WORDS, bytes, 3,
                              "! ls -A part | grep -q tmp; for f in part/*.shard; do "
                              "test ! -e $f || cmp $f whole/$(basename $f); done");
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_usage, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_results, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_shares, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_perf, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_signals, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(test_full_disk, place_setup, place_teardown),
    };
    return cmocka_run_group_tests_name("cmd/corpus_pack", tests, make_once, drop_made);
}

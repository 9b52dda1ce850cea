/*
 * Tests of `hpccoder corpus sketch` and `hpccoder corpus check`: making a sketch, checking files
 * and a corpus, and one-line errors.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/corpus/sources.h"

#include "tests/support/command.h"

typedef struct bench {
    place *place;
    hpc_test_outcome outcome;
} bench;

/* Runs `corpus` with words in which '@' is the folder of the test. */
static const hpc_test_outcome *corpus(bench *b, const char *words)
{
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "corpus %s", words);
    hpc_test_command_in(&b->outcome, b->place->root, all);
    return &b->outcome;
}

static void expect(bench *b, const char *words, int code, const char *out, const char *err)
{
    const hpc_test_outcome *o = corpus(b, words);
    if (o->code != code)
        fail_msg("corpus %s: exit code %d, not %d: %s%s", words, o->code, code, o->out, o->err);
    if (out) hpc_test_says(o->out, out);
    if (err) hpc_test_says(o->err, err);
}

/* "one" is held out; b.c is a copy of its a.c under another licence, c.c is not. */
static bench *make_bench(place *p)
{
    static const char list[] = "# held out\nheld/one\nheld/absent\n";
    bench *b = calloc(1, sizeof *b);
    hpc_buf text = {0};
    assert_non_null(b);
    b->place = p;
    write_text(p, "list", list, sizeof list - 1);
    script(p, "new one");
    write_code(p, "one/a.c", 70, 0);
    script(p, "cd one; save");
    hpc_buf_text(&text, "// Public domain.\n\n");
    add_code(&text, 70, 0, 4);
    write_text(p, "b.c", text.data, text.n);
    hpc_buf_release(&text);
    write_code(p, "c.c", 71, 0);
    return b;
}

static void makes_a_sketch(void **state)
{
    bench *b = make_bench(*state);
    expect(b, "sketch --list @list --out @s held/one=@one", 0, "2 names, 0 patterns; 1 distinct",
           "held/absent: no local copy");
    expect(b, "sketch --list @list --out @s held/one=@one held/absent=@one", 0, "of HEAD", NULL);
    assert_string_equal(b->outcome.err, "");
    expect(b, "sketch --history --json --list @list -o @t held/one=@one", 0, "\"history\": true",
           NULL);
    hpc_test_says(b->outcome.out, "\"files\": 1,");
    expect(b, "check --held-out @t @b.c", 1, "held-out-hash", NULL);
    free(b);
}

static void checks_files(void **state)
{
    bench *b = make_bench(*state);
    expect(b, "sketch --list @list --out @s held/one=@one", 0, NULL, NULL);
    expect(b, "check --held-out @s @c.c", 0, "1 files checked, 0 found\n", NULL);
    assert_string_equal(b->outcome.err, "");
    expect(b, "check --held-out @s @c.c @b.c", 1, "b.c: held-out-hash: ", NULL);
    hpc_test_says(b->outcome.out, "\n2 files checked, 1 found\n");
    expect(b, "check --held-out @s --json @c.c @b.c", 1, "\"reason\": \"held-out-hash\"", NULL);
    hpc_json *root = NULL;
    assert_int_equal(
        hpc_json_parse(&root, b->outcome.out, strlen(b->outcome.out), "standard output"), 0);
    const hpc_json *findings = hpc_json_get(root, "findings");
    assert_int_equal(hpc_json_n(findings), 1);
    double share;
    int64_t files;
    assert_int_equal(
        hpc_json_real(&share, hpc_json_get(hpc_json_at(findings, 0), "share"), "share"), 0);
    assert_true(share == 1);
    assert_int_equal(hpc_json_int(&files, hpc_json_get(root, "files"), "files"), 0);
    assert_int_equal(files, 2);
    hpc_json_free(root);
    free(b);
}

/* Half of a held-out file: found by its passages, and not when the limit is put up. */
static void asks_for_a_share(void **state)
{
    bench *b = make_bench(*state);
    hpc_buf text = {0};
    expect(b, "sketch --list @list --out @s held/one=@one", 0, NULL, NULL);
    add_code(&text, 70, 0, 4);
    text.n /= 2;
    add_code(&text, 72, 0, 4);
    write_text(b->place, "half.c", text.data, text.n);
    hpc_buf_release(&text);
    expect(b, "check --held-out @s @half.c", 1, "half.c: held-out-shingles: ", NULL);
    hpc_test_says(b->outcome.out, " %: ");
    expect(b, "check --share 0.9 --held-out @s @half.c", 0, "closest of the others, with ", NULL);
    hpc_test_says(b->outcome.out, "half.c");
    free(b);
}

static void checks_a_corpus(void **state)
{
    bench *b = make_bench(*state);
    place *p = *state;
    write_repository(p, 0, 12, 1);
    expect(b, "sketch --list @list --out @s held/one=@one", 0, NULL, NULL);
    expect(b, "harvest -q --licenses all --held-out none --out @clean free/r0=@r0", 0, NULL, NULL);
    expect(b, "check -q --threads 2 --held-out @s @clean", 0, ", 0 found", NULL);
    assert_string_equal(b->outcome.err, "");
    script(p, "cp b.c r0/src/b.c; cd r0; save");
    expect(b, "harvest -q --licenses all --held-out none --out @leaky free/r0=@r0", 0, NULL, NULL);
    expect(b, "check -q --held-out @s @leaky", 1, "free/r0:src/b.c: held-out-hash: ", NULL);
    expect(b, "harvest -q --licenses all --held-out @s --out @saved free/r0=@r0", 0, NULL, NULL);
    expect(b, "check -q --held-out @s @saved @c.c", 0, ", 0 found", NULL);
    free(b);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *words, *says;
    } wrong[] = {
        {"check --held-out @s", "name a corpus or files"},
        {"check --held-out @absent @c.c", "absent"},
        {"check --held-out none @c.c", "a check needs a sketch"},
        {"check --held-out @list @c.c", "is not a sketch"},
        {"check --held-out @s --share 1.5 @c.c", "share"},
        {"check -q --held-out @s @one", "no complete corpus"},
        {"check --held-out @s @nothing.c", "nothing.c"},
        {"sketch --out @t held/one=@one", "--list"},
        {"sketch --list @list held/one=@one", "--out"},
        {"sketch --list @c.c --out @t held/one=@one", "c.c:1"},
        {"sketch --list @list --out @t other/one=@one", "which is not in"},
        {"sketch --list @list --out @t held/one=@nothing", "nothing"},
        {"sketch --list @list --out @t @one", "no origin"},
        {"sketch --list @list --out @t held/one=", "expected PATH or NAME=PATH"},
    };
    bench *b = make_bench(*state);
    expect(b, "sketch --list @list --out @s held/one=@one", 0, NULL, NULL);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const hpc_test_outcome *o = corpus(b, wrong[k].words);
        if (o->code != 2 && o->code != 3) fail_msg("%s: exit code %d", wrong[k].words, o->code);
        hpc_test_says(o->err, wrong[k].says);
        assert_string_equal(strchr(o->err, '\n'), "\n"); /* one line */
    }
    /* What cannot be read does not keep the rest from being checked. */
    expect(b, "check --held-out @s @nothing.c @b.c", 2, "b.c: held-out-hash", "nothing.c");
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(makes_a_sketch, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(checks_files, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(asks_for_a_share, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(checks_a_corpus, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(says_what_is_wrong, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

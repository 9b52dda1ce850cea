/*
 * Tests of `hpccoder complete` on training text: attribution of verbatim completions, and
 * --no-verbatim.
 */
/* tsan: left out, other tests start the same threads. */
#include <limits.h>
#include <unistd.h>

#include "tests/corpus/sources.h"

#include "runtime/source/passage.h"
#include "tests/support/command.h"

static hpc_test_outcome o;

static void run(place *p, const char *words)
{
    hpc_test_command_in(&o, p->root, words);
    if (o.code != 0) fail_msg("%s: %s", words, o.err);
}

static void refuses(place *p, const char *words, const char *part)
{
    hpc_test_refuses(&o, p->root, words, part);
}

/* The model's output after `begin`, as the only code of a repository under MIT; and other code of
 * another repository. */
#define ASK "complete @a.c --raw --max-tokens 150 "
static const char begin[] = "#include <math.h>\n\n/* the inner product of x and y */\n"
                            "double dot(int n, const double *x, const double *y)\n{\n";

/* The limit is always reached. */
static void says_no_source(void)
{
    assert_string_equal(
        o.err, "hpccoder complete: stopped at the limit of 150 tokens; -n N allows more\n");
}

static void make(place *p, hpc_buf *said)
{
    hpc_buf text = {0};
    write_text(p, "a.c", begin, sizeof begin - 1);
    run(p, ASK "--passages none");
    says_no_source();
    hpc_buf_text(said, o.out);
    hpc_buf_printf(&text, "// SPDX-License-Identifier: MIT\nint before;\n%s\n", o.out);
    script(p, "new own");
    write_text(p, "own/said.c", text.data, text.n);
    script(p, "cd own; save");
    script(p, "new other");
    write_code(p, "other/b.c", 1, 0);
    script(p, "cd other; save");
    run(p, "corpus harvest -q --held-out none --out @c1 me/own=@own");
    run(p, "corpus harvest -q --held-out none --out @c2 me/other=@other");
    run(p, "corpus passages -q @c1 --out @own.passages");
    run(p, "corpus passages -q @c2 --out @other.passages");
    hpc_buf_release(&text);
}

static hpc_json *json_out(void)
{
    hpc_json *root = NULL;
    assert_int_equal(hpc_json_parse(&root, o.out, strlen(o.out), "out"), 0);
    return root;
}

static const hpc_json *key(const hpc_json *v, const char *name)
{
    const hpc_json *at = hpc_json_get(v, name);
    if (!at) fail_msg("no key %s", name);
    return at;
}

static const char *words_of(const hpc_json *v, const char *name)
{
    const char *text = NULL;
    assert_int_equal(hpc_json_text(&text, key(v, name), name), 0);
    return text;
}

static int64_t int_of(const hpc_json *v, const char *name)
{
    int64_t n = -1;
    assert_int_equal(hpc_json_int(&n, key(v, name), name), 0);
    return n;
}

static void it_says_whose(void **state)
{
    place *p = *state;
    hpc_buf said = {0};
    make(p, &said);
    run(p, ASK "--passages @own.passages");
    assert_string_equal(o.out, said.data);
    hpc_test_says(o.err, "hpccoder complete: lines 6 to ");
    hpc_test_says(o.err, " tokens match me/own (MIT)\n");
    run(p, ASK "--passages @own.passages --quiet");
    assert_string_equal(o.err, "");
    run(p, ASK "--passages @own.passages --json");
    assert_string_equal(o.err, "");
    hpc_json *root = json_out();
    hpc_test_says(words_of(root, "passages"), "own.passages");
    const hpc_json *source = key(hpc_json_at(key(root, "completions"), 0), "source");
    assert_string_equal(words_of(source, "repository"), "me/own");
    assert_string_equal(words_of(source, "license"), "MIT");
    assert_in_range(int_of(source, "tokens"), 40, 200);
    assert_in_range(int_of(source, "line"), 6, 8);
    assert_true(int_of(source, "end_line") > int_of(source, "line"));
    assert_int_equal(hpc_json_n(key(source, "others")), 0);
    assert_int_equal(int_of(root, "left_out"), 0);
    hpc_json_free(root);
    hpc_buf_release(&said);
}

static void fresh_code_is_nobodys(void **state)
{
    place *p = *state;
    hpc_buf said = {0};
    make(p, &said);
    run(p, ASK "--passages @other.passages");
    assert_string_equal(o.out, said.data);
    says_no_source();
    run(p, ASK "--passages @other.passages --json --no-verbatim");
    hpc_json *root = json_out();
    const hpc_json *c = hpc_json_at(key(root, "completions"), 0);
    assert_string_equal(words_of(c, "text"), said.data);
    assert_int_equal(hpc_json_kind_of(key(c, "source")), HPC_JSON_NULL);
    assert_int_equal(int_of(root, "left_out"), 0);
    hpc_json_free(root);
    hpc_buf_release(&said);
}

/* The remaining text repeats nothing; four equal completions are all omitted. */
static void it_does_without(void **state)
{
    place *p = *state;
    hpc_buf said = {0};
    make(p, &said);
    run(p, ASK "--passages @own.passages --no-verbatim --json");
    hpc_json *root = json_out();
    const hpc_json *list = key(root, "completions");
    assert_in_range(int_of(root, "left_out"), 1, 3);
    assert_int_equal(hpc_json_n(list), 1);
    assert_string_not_equal(words_of(hpc_json_at(list, 0), "text"), said.data);
    assert_int_equal(hpc_json_kind_of(key(hpc_json_at(list, 0), "source")), HPC_JSON_NULL);
    char *other = strdup(words_of(hpc_json_at(list, 0), "text"));
    hpc_json_free(root);
    run(p, ASK "--passages @own.passages --no-verbatim");
    assert_string_equal(o.out, other);
    hpc_test_says(o.err, "hpccoder complete: dropped ");
    free(other);
    run(p, ASK "--passages @own.passages --no-verbatim --samples 4 --temperature 0 --json");
    root = json_out();
    list = key(root, "completions");
    assert_in_range(int_of(root, "left_out"), 4, 7);
    for (int64_t k = 0; k < hpc_json_n(list); k++)
        assert_int_equal(hpc_json_kind_of(key(hpc_json_at(list, k), "source")), HPC_JSON_NULL);
    hpc_json_free(root);
    hpc_buf_release(&said);
}

/* With the likeliest tokens alone, four rounds say the same. */
static void nothing_is_left(void **state)
{
    place *p = *state;
    hpc_buf said = {0};
    make(p, &said);
    run(p, ASK "--passages @own.passages --no-verbatim --top-k 1 --json");
    hpc_json *root = json_out();
    assert_int_equal(int_of(root, "left_out"), 4);
    assert_int_equal(hpc_json_n(key(root, "completions")), 0);
    hpc_json_free(root);
    run(p, ASK "--passages @own.passages --no-verbatim --top-k 1");
    assert_string_equal(o.out, "");
    hpc_test_says(o.err, "dropped 4 that repeat the training data\n");
    hpc_test_says(o.err, "a.c:6:1: nothing to add\n");
    hpc_buf_release(&said);
}

static void link_pilot(place *p, const char *name)
{
    char model[PATH_MAX], path[400];
    snprintf(path, sizeof path, "%s/%s", p->root, name);
    assert_non_null(realpath("share/pilot.gguf", model));
    assert_int_equal(symlink(model, path), 0);
}

/* Index files next to the model or in its folder; an invalid one is reported and ignored. */
static void where_they_lie(void **state)
{
    place *p = *state;
    hpc_buf said = {0};
    make(p, &said);
    link_pilot(p, "m.gguf");
    run(p, ASK "--model @m.gguf --json");
    hpc_json *root = json_out();
    assert_int_equal(hpc_json_kind_of(key(root, "passages")), HPC_JSON_NULL);
    hpc_json_free(root);
    refuses(p, ASK "--model @m.gguf --no-verbatim", "has no passage index");
    script(p, "cp own.passages m.passages");
    run(p, ASK "--model @m.gguf");
    hpc_test_says(o.err, "match me/own (MIT)");
    run(p, "import @m.gguf --out @d");
    script(p, "cp own.passages d/model.passages");
    run(p, ASK "--model @d --json");
    root = json_out();
    hpc_test_says(words_of(root, "passages"), "d/model.passages");
    hpc_json_free(root);
    write_text(p, "m.passages", "junk", 4);
    run(p, ASK "--model @m.gguf");
    assert_string_equal(o.out, said.data);
    hpc_test_says(o.err, "m.passages is not a passage index");
    hpc_test_says(strchr(o.err, '\n') + 1, "stopped at the limit");
    refuses(p, ASK "--model @m.gguf --no-verbatim", "m.passages is not a passage index");
    refuses(p, ASK "--passages @m.passages", "m.passages is not a passage index");
    refuses(p, ASK "--passages @nowhere", "nowhere");
    refuses(p, ASK "--passages none --no-verbatim", "has no passage index");
    hpc_buf_release(&said);
}

/* The model that ships brings its own. */
static void the_pilots(void **state)
{
    place *p = *state;
    hpc_passages *shipped = NULL;
    hpc_passages_facts f;
    assert_int_equal(hpc_passages_open(&shipped, "share/pilot.passages"), 0);
    hpc_passages_describe(&f, shipped);
    assert_int_equal(f.sources_n, 28);
    assert_int_equal(f.tokens_n, 23211669);
    assert_in_range(f.bytes, 1 << 20, 6000000);
    for (int64_t k = 0; k < f.sources_n; k++)
        assert_true(strchr(hpc_passages_source(shipped, k)->repository, '/') &&
                    *hpc_passages_source(shipped, k)->licence);
    hpc_passages_close(shipped);
    write_text(p, "a.c", begin, sizeof begin - 1);
    run(p, ASK "--json");
    hpc_json *root = json_out();
    hpc_test_says(words_of(root, "passages"), "share/pilot.passages");
    hpc_json_free(root);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(it_says_whose),   TEST(fresh_code_is_nobodys),
                                       TEST(it_does_without), TEST(nothing_is_left),
                                       TEST(where_they_lie),  TEST(the_pilots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests of `hpccoder corpus passages`: the index has exactly the training files, with source and
 * licence; output is deterministic; errors take one line.
 */
/* tsan: left out, other tests start the same threads. */
#include "tests/corpus/sources.h"

#include "corpus/corpus.h"
#include "runtime/source/passage.h"
#include "tests/support/command.h"

static hpc_test_outcome o;

static void run(place *p, const char *words)
{
    char all[HPC_TEST_WORDS];
    snprintf(all, sizeof all, "corpus %s", words);
    hpc_test_command_in(&o, p->root, all);
    if (o.code != 0) fail_msg("corpus %s: %s", words, o.err);
}

/* As `corpus harvest` does it, but for the share that is kept to validate with. */
static void harvest(place *p, const char *folder, double validation)
{
    static const char *const name[] = {"own/one", "own/two", "own/three"};
    hpc_harvest_options how = HPC_HARVEST_DEFAULTS;
    hpc_harvest_result result;
    hpc_repository repository[3];
    char path[3][400], out[400];
    for (int k = 0; k < 3; k++) {
        snprintf(path[k], sizeof path[k], "%s/%s", p->root, strchr(name[k], '/') + 1);
        repository[k] = (hpc_repository){path[k], name[k]};
    }
    snprintf(out, sizeof out, "%s/%s", p->root, folder);
    how.repository = repository;
    how.repositories_n = 3;
    how.folder = out;
    how.validation = validation;
    how.test = 0;
    if (hpc_corpus_harvest(&result, &how) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(result.kept_n, 3);
    assert_int_equal(result.split_n[HPC_SPLIT_VALIDATION] > 0, validation > 0);
}

/* Two repositories, one of them with a file under another licence, and a third that is too short to
 * be kept. */
static void make_corpus(place *p)
{
    hpc_buf other = {0};
    script(p, "new one");
    script(p, "new two");
    script(p, "new three");
    write_code(p, "one/a.c", 1, 0);
    write_code(p, "two/b.c", 2, 0);
    add_code(&other, 3, 0, 4);
    memcpy(strstr(other.data, "MIT"), "ISC", 3);
    write_text(p, "two/c.c", other.data, other.n);
    write_text(p, "three/d.c", "int x;\n", 7);
    script(p, "(cd one; save); (cd two; save); cd three; save");
    harvest(p, "c", 0);
    hpc_buf_release(&other);
}

/* Who is said to have the code of a seed: "own/one MIT", or "" */
static void whose(char out[80], const hpc_passages *p, uint32_t seed)
{
    hpc_buf text = {0};
    hpc_tokens t = {0};
    hpc_passage_list l = {0};
    add_code(&text, seed, 0, 4);
    assert_int_equal(hpc_lex(&t, text.data, text.n, HPC_LANGUAGE_C, false), 0);
    assert_int_equal(hpc_passages_find(&l, p, &t, 0, t.n), 0);
    out[0] = '\0';
    assert_in_range(l.n, 0, 1);
    if (l.n > 0) {
        const hpc_source *s = hpc_passages_source(p, l.item[0].source[0]);
        assert_int_equal(l.item[0].sources_n, 1);
        assert_in_range(l.item[0].tokens, t.n - 4, t.n); /* one of them is a comment */
        snprintf(out, 80, "%s %s", s->repository, s->licence);
    }
    hpc_passage_list_release(&l);
    hpc_tokens_release(&t);
    hpc_buf_release(&text);
}

static void makes_it(void **state)
{
    place *p = *state;
    hpc_passages *made = NULL;
    hpc_buf first = {0}, second = {0};
    char who[80];
    make_corpus(p);
    run(p, "passages -q @c --out @a.passages");
    hpc_test_says(o.out, "a.passages: ");
    hpc_test_says(o.out, "3 files of 3 sources, ");
    assert_string_equal(o.err, "");
    assert_int_equal(hpc_passages_open(&made, in(p, "a.passages")), 0);
    whose(who, made, 1);
    assert_string_equal(who, "own/one MIT");
    whose(who, made, 2);
    assert_string_equal(who, "own/two MIT");
    whose(who, made, 3);
    assert_string_equal(who, "own/two ISC");
    whose(who, made, 4);
    assert_string_equal(who, "");
    hpc_passages_close(made);
    assert_int_equal(hpc_file_read(&first, in(p, "a.passages"), 1 << 20), 0);
    run(p, "passages -q @c -o @b.passages");
    assert_int_equal(hpc_file_read(&second, in(p, "b.passages"), 1 << 20), 0);
    assert_int_equal(first.n, second.n);
    assert_memory_equal(first.data, second.data, first.n);
    assert_null(strstr(first.data, "for (int"));
    hpc_buf_release(&first);
    hpc_buf_release(&second);
}

static void tells_as_json(void **state)
{
    place *p = *state;
    hpc_json *root = NULL;
    const char *text;
    int64_t files, tokens, windows;
    make_corpus(p);
    run(p, "passages @c --out @a.passages --json -q");
    assert_int_equal(hpc_json_parse(&root, o.out, strlen(o.out), "out"), 0);
    assert_int_equal(hpc_json_int(&files, hpc_json_get(root, "files"), "files"), 0);
    assert_int_equal(files, 3);
    assert_int_equal(hpc_json_int(&tokens, hpc_json_get(root, "tokens"), "tokens"), 0);
    assert_int_equal(hpc_json_int(&windows, hpc_json_get(root, "windows"), "windows"), 0);
    assert_in_range(windows, tokens / 5, tokens / 4);
    const hpc_json *list = hpc_json_get(root, "sources");
    assert_int_equal(hpc_json_n(list), 3);
    const hpc_json *last = hpc_json_at(list, 2);
    assert_int_equal(hpc_json_text(&text, hpc_json_get(last, "repository"), "repository"), 0);
    assert_string_equal(text, "own/two");
    assert_int_equal(hpc_json_text(&text, hpc_json_get(last, "license"), "license"), 0);
    assert_string_equal(text, "ISC");
    hpc_json_free(root);
}

/* Validation and test files are excluded. */
static void only_what_is_for_training(void **state)
{
    place *p = *state;
    const hpc_corpus_filter held = {.splits = 1u << HPC_SPLIT_VALIDATION};
    hpc_passages *made = NULL;
    hpc_corpus *c = NULL;
    hpc_corpus_file f;
    char who[80];
    make_corpus(p);
    harvest(p, "v", 0.4);
    assert_int_equal(hpc_corpus_open(&c, in(p, "v")), 0);
    assert_int_equal(hpc_corpus_select(c, &held), 0);
    assert_int_equal(hpc_corpus_next(&f, c), 1);
    bool one = strcmp(f.repository, "own/one") == 0;
    hpc_corpus_close(c);
    run(p, "passages -q @v --out @v.passages");
    assert_int_equal(hpc_passages_open(&made, in(p, "v.passages")), 0);
    whose(who, made, 1);
    assert_string_equal(who, one ? "" : "own/one MIT");
    whose(who, made, 2);
    assert_string_equal(who, one ? "own/two MIT" : "");
    hpc_passages_close(made);
}

static void says_what_is_wrong(void **state)
{
    static const struct {
        const char *words, *says;
    } wrong[] = {{"corpus passages @c", "--out FILE"},
                 {"corpus passages --out @x", "name one corpus"},
                 {"corpus passages @c @c --out @x", "name one corpus"},
                 {"corpus passages -q @one --out @x", "no complete corpus"},
                 {"corpus passages -q @e --out @x", "has no training files"},
                 {"corpus passages -q @c --out @none/x", "none/x"}};
    place *p = *state;
    make_corpus(p);
    run(p, "harvest -q --held-out none --out @e own/three=@three");
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        hpc_test_refuses(&o, p->root, wrong[k].words, wrong[k].says);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(makes_it), TEST(tells_as_json),
                                       TEST(only_what_is_for_training), TEST(says_what_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

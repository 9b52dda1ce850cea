/*
 * Tests of corpus/pack_change.c and pack_perf.c: the functions that commits of a real repository
 * changed, and a performance history of them as shards.
 */
#include "tests/git/repository.h"

#include "corpus/pack.h"
#include "corpus/pack_change.h"
#include "corpus/perf.h"
#include "runtime/shard/shard.h"

#define OURS "tests/fixtures/tokenizer/ours.model"

/* Five commits: a loop made slower, a comment, a function that moves to another file and one that
 * is new there, a file renamed with a change inside, a Fortran subroutine inside a module. */
static const char history[] =
    "new r; mkdir src; "
    "printf 'double f(int n)\\n{\\n    return n * 2.0;\\n}\\n\\nint g(void)\\n{\\n    return "
    "1;\\n}\\n'"
    " > src/a.c; "
    "printf 'module m\\ncontains\\nsubroutine s(x)\\n  real x\\n  x = 1\\nend subroutine\\n"
    "subroutine t(x)\\n  real x\\n  x = 2\\nend subroutine\\nend module\\n' > src/m.f90; "
    "echo text > notes.txt; save c0; "
    "sed -i 's/n \\* 2.0/n \\/ 2.0/' src/a.c; echo more >> notes.txt; save c1; "
    "sed -i 's/return 1;/return   1; \\/\\/ one/' src/a.c; save c2; "
    "printf 'int g(void) { return 1; }\\nint h(void)\\n{\\n    return 7;\\n}\\n' > src/b.c; "
    "printf 'double f(int n)\\n{\\n    return n / 2.0;\\n}\\n' > src/a.c; save c3; "
    "git mv src/b.c src/c.c; sed -i 's/return 7/return 8/' src/c.c; save c4; "
    "sed -i 's/x = 2/x = 3/' src/m.f90; save c5; "
    "for k in 0 1 2 3 4 5; do git rev-parse main~$((5 - k)); done > ../ids";

typedef struct bench {
    place *p;
    char id[6][PERF_ID];
} bench;

static void make_history(bench *b, place *p)
{
    hpc_buf text = {0};
    b->p = p;
    script(p, history);
    assert_int_equal(hpc_file_read(&text, in(p, "ids"), 1 << 10), 0);
    assert_int_equal(text.n, 6 * PERF_ID);
    for (int k = 0; k < 6; k++) {
        memcpy(b->id[k], text.data + k * PERF_ID, PERF_ID - 1);
        b->id[k][PERF_ID - 1] = '\0';
    }
    hpc_buf_release(&text);
}

/* ---- which functions ---------------------------------------------------------------------- */

static void put_side(hpc_buf *out, hpc_git *g, const change_side *s)
{
    hpc_buf text = {0};
    size_t bytes = 0;
    if (s->n == 0) {
        hpc_buf_text(out, "-");
        return;
    }
    assert_int_equal(hpc_git_read(&text, &bytes, g, &s->blob, 1 << 20), HPC_GIT_READ);
    assert_true((size_t)s->at + s->n <= text.n);
    for (size_t k = s->at; k < (size_t)s->at + s->n; k++)
        if (text.data[k] != '\n' && text.data[k] != ' ') hpc_buf_add(out, text.data + k, 1);
    hpc_buf_release(&text);
}

static void changed(const bench *b, change_scratch *s, int from, int to, const char *expected)
{
    hpc_git_id base, head;
    changes c = {0};
    hpc_buf text = {0};
    assert_true(hpc_git_id_parse(&base, b->id[from]) && hpc_git_id_parse(&head, b->id[to]));
    assert_int_equal(change_find(&c, s, &base, &head), 1);
    hpc_buf_text(&text, "");
    for (int64_t k = 0; k < c.n; k++) {
        hpc_buf_printf(&text, "%s ", c.paths.data + c.item[k].path);
        put_side(&text, change_git(s), &c.item[k].base);
        hpc_buf_text(&text, " ");
        put_side(&text, change_git(s), &c.item[k].head);
        hpc_buf_text(&text, "\n");
    }
    assert_string_equal(text.data, expected);
    hpc_buf_release(&text);
    changes_release(&c);
}

static void test_changes(void **state)
{
    bench b;
    change_scratch *s = NULL;
    make_history(&b, *state);
    hpc_git *g = opened(b.p, "r");
    assert_int_equal(change_scratch_create(&s, g), 0);
    changed(&b, s, 0, 1, "src/a.c doublef(intn){returnn*2.0;} doublef(intn){returnn/2.0;}\n");
    changed(&b, s, 1, 2, ""); /* a comment and blanks */
    changed(&b, s, 2, 3, "src/b.c - inth(void){return7;}\n");
    changed(&b, s, 3, 2, "src/b.c inth(void){return7;} -\n");
    changed(&b, s, 3, 4, "src/c.c inth(void){return7;} inth(void){return8;}\n");
    changed(&b, s, 4, 5,
            "src/m.f90 subroutinet(x)realxx=2endsubroutine "
            "subroutinet(x)realxx=3endsubroutine\n");
    changed(&b, s, 2, 2, "");
    change_scratch_free(s);
    hpc_git_close(g);
}

/* What cannot be read, or is too much, is no change to learn from, and no failure. */
static void test_changes_that_are_not_taken(void **state)
{
    bench b;
    change_scratch *s = NULL;
    changes c = {0};
    hpc_git_id base, head;
    make_history(&b, *state);
    script(b.p, "cd r; for k in $(seq 300); do echo \"int q$k(int x) { return x + $k; }\"; done "
                "> many.c; save many; git rev-parse main > ../many; for k in $(seq 501); do "
                "echo 'int v;' > f$k.c; done; save files; git rev-parse main > ../files");
    hpc_git *g = opened(b.p, "r");
    assert_int_equal(change_scratch_create(&s, g), 0);
    assert_true(hpc_git_id_parse(&base, b.id[5]));
    const char *const names[] = {"many", "files"};
    for (int k = 0; k < 2; k++) {
        hpc_buf text = {0};
        assert_int_equal(hpc_file_read(&text, in(b.p, names[k]), 100), 0);
        text.data[40] = '\0';
        assert_true(hpc_git_id_parse(&head, text.data));
        hpc_buf_release(&text);
        assert_int_equal(change_find(&c, s, &base, &head), 0);
        assert_int_equal(hpc_error_get()->code, 0);
    }
    assert_true(hpc_git_id_parse(&head, "0123456789abcdef0123456789abcdef01234567"));
    assert_int_equal(change_find(&c, s, &base, &head), 0);
    assert_int_equal(hpc_error_get()->code, 0);
    changes_release(&c);
    change_scratch_free(s);
    hpc_git_close(g);
}

/* ---- a history as shards --------------------------------------------------------------------- */

static void measure(const bench *b, const char *name)
{
    const double cost[] = {10, 13, 13, 13.1, 6, 6};
    char path[128];
    perf_db *d = NULL;
    snprintf(path, sizeof path, "%s/%s", b->p->root, name);
    assert_int_equal(perf_db_create(&d, path), 0);
    for (int k = 0; k < 6; k++)
        assert_int_equal(perf_db_add_commit(d, b->id[k], k ? b->id[k - 1] : NULL, 1000 + k), 0);
    for (int k = 0; k < 6; k++)
        for (int run = 0; run < 5; run++)
            assert_int_equal(
                perf_db_add(d, "./r", "time", "m", b->id[k], cost[k] * (1 + run * 1e-4)), 0);
    assert_int_equal(perf_db_commit(d), 0);
    perf_db_close(d);
}

static int pack_history(const bench *b, const char *out, int threads, hpc_pack_result *result)
{
    hpc_pack_options o = HPC_PACK_DEFAULTS;
    char db[128], repository[128], folder[128];
    snprintf(db, sizeof db, "%s/h.db", b->p->root);
    snprintf(repository, sizeof repository, "%s/r", b->p->root);
    snprintf(folder, sizeof folder, "%s/%s", b->p->root, out);
    o.task = "perf";
    o.perf = db;
    o.repository = repository;
    o.out = folder;
    o.tokenizer = OURS;
    o.threads = threads;
    o.resume = true;
    return hpc_corpus_pack(result, &o);
}

static void test_a_history(void **state)
{
    static const struct {
        double label, change;
        const char *answer, *part;
    } expected[] = {{0, 0.3, "slower</s>", "<perf_head>double f(int n)\n{\n    return n / 2.0;\n}"},
                    {1, 0.1 / 13, "same</s>", "<perf_base><perf_head>int h(void)"},
                    {2, -7.1 / 13.1, "faster</s>", "<perf_base>int h(void)"},
                    {1, 0, "same</s>", "<perf_base>subroutine t(x)"}};
    bench b;
    hpc_pack_result result;
    hpc_shards *s = NULL;
    hpc_tokenizer *t = NULL;
    hpc_buf text = {0};
    make_history(&b, *state);
    measure(&b, "h.db");
    if (pack_history(&b, "a", 1, &result) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(pack_history(&b, "b", 3, &result), 0);
    script(b.p, "diff -r a b");
    assert_int_equal(pack_history(&b, "b", 2, &result), 0); /* it is whole already */
    script(b.p, "diff -r a b");
    assert_int_equal(result.documents_n, 4);
    assert_int_equal(hpc_tokenizer_open(&t, OURS), 0);
    assert_int_equal(hpc_shards_open(&s, in(b.p, "a"), NULL), 0);
    double pair = -1;
    for (int64_t i = 0; i < 4; i++) {
        hpc_document d = hpc_shards_document(s, i);
        text.n = 0;
        for (int64_t k = 0; k < d.n; k++) {
            int32_t id = hpc_document_token(&d, k);
            assert_int_equal(hpc_tokenizer_decode(&text, t, &id, 1, false), 0);
        }
        assert_true(hpc_shards_value(s, 0, i) == expected[i].label);
        double off = hpc_shards_value(s, 1, i) - expected[i].change;
        assert_true(off > -1e-6 && off < 1e-6);
        assert_true(hpc_shards_value(s, 2, i) > pair);
        pair = hpc_shards_value(s, 2, i);
        size_t n = strlen(expected[i].answer);
        assert_true(text.n > n);
        assert_string_equal(text.data + text.n - n, expected[i].answer);
        assert_non_null(strstr(text.data, expected[i].part));
        assert_non_null(strstr(text.data, "<file_sep>src/"));
    }
    hpc_shards_close(s);
    hpc_tokenizer_close(t);
    hpc_buf_release(&text);
}

/* With more samples it is another history, and the repository may be gone. */
static void test_what_does_not_fit(void **state)
{
    bench b;
    hpc_pack_result result;
    make_history(&b, *state);
    measure(&b, "h.db");
    assert_int_equal(pack_history(&b, "a", 1, &result), 0);
    measure(&b, "h.db");
    assert_int_equal(pack_history(&b, "a", 1, &result), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "was begun with other options"));
    hpc_error_clear();
    script(b.p, "mv r gone");
    assert_true(pack_history(&b, "c", 1, &result) < 0);
    assert_non_null(strstr(hpc_error_get()->text, "/r"));
    hpc_error_clear();
    script(b.p, "mv gone r; rm h.db");
    assert_int_equal(pack_history(&b, "d", 1, &result), HPC_E_IO);
    hpc_error_clear();
}

static void test_allocations_fail(void **state)
{
    bench b;
    hpc_pack_result result;
    make_history(&b, *state);
    measure(&b, "h.db");
    int64_t each = getenv("HPC_TEST_LONG") ? 1 : 41, failures = 0;
    assert_int_equal(pack_history(&b, "a", 1, &result), 0);
    for (int64_t n = 1;; n += each) {
        hpc_test_fail_alloc(n);
        int rc = pack_history(&b, "b", 1, &result);
        bool hit = hpc_test_alloc_failed();
        hpc_test_fault_reset();
        if (rc < 0) assert_int_equal(rc, HPC_E_NOMEM);
        failures += rc < 0;
        hpc_error_clear();
        if (!hit) break;
        assert_int_equal(pack_history(&b, "b", 1, &result), 0);
        script(b.p, "diff -r a b; rm -rf b");
    }
    assert_true(failures > 3);
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(test_changes),          IN_A_PLACE(test_changes_that_are_not_taken),
        IN_A_PLACE(test_a_history),        IN_A_PLACE(test_what_does_not_fit),
        IN_A_PLACE(test_allocations_fail),
    };
    return cmocka_run_group_tests_name("corpus/pack_perf", tests, NULL, NULL);
}

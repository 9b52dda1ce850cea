/*
 * Tests of corpus/pack_change.c and pack_perf.c: functions changed by commits of a real
 * repository, and its performance history as shards, without secrets and held-out content.
 */
#include "tests/corpus/sources.h"

#include "corpus/pack.h"
#include "corpus/pack_change.h"
#include "corpus/history/database.h"
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
    "sed -i 's/x = 2/x = 3/' src/m.f90; save c5";

enum { COMMITS = 7 };
typedef struct bench {
    place *p;
    char id[COMMITS][HPC_HISTORY_ID];
    int n;
    const char *sketch; /* of the packing */
} bench;

/* The commits of repository "r", the first first. */
static void read_ids(bench *b, place *p)
{
    hpc_buf text = {0};
    *b = (bench){.p = p};
    script(p, "git -C r rev-list --reverse main > ids");
    assert_int_equal(hpc_file_read(&text, in(p, "ids"), 1 << 10), 0);
    b->n = (int)(text.n / HPC_HISTORY_ID);
    assert_in_range(b->n, 2, COMMITS);
    for (int k = 0; k < b->n; k++) {
        memcpy(b->id[k], text.data + k * HPC_HISTORY_ID, HPC_HISTORY_ID - 1);
        b->id[k][HPC_HISTORY_ID - 1] = '\0';
    }
    hpc_buf_release(&text);
}

static void make_history(bench *b, place *p)
{
    script(p, history);
    read_ids(b, p);
    assert_int_equal(b->n, 6);
}

/* ---- which functions ---------------------------------------------------------------------- */

static void put_side(hpc_buf *out, change_scratch *s, const change_side *side)
{
    hpc_buf text = {0};
    assert_int_equal(change_read(&text, s, side), 0);
    assert_int_equal(text.n, side->n);
    if (side->n == 0) hpc_buf_text(out, "-");
    for (size_t k = 0; k < text.n; k++)
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
        put_side(&text, s, &c.item[k].base);
        hpc_buf_text(&text, " ");
        put_side(&text, s, &c.item[k].head);
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
    assert_int_equal(change_scratch_create(&s, g, "", NULL), 0);
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
    assert_int_equal(change_scratch_create(&s, g, "", NULL), 0);
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
    const double cost[COMMITS] = {10, 13, 13, 13.1, 6, 6, 6};
    char path[128];
    hpc_history_db *d = NULL;
    snprintf(path, sizeof path, "%s/%s", b->p->root, name);
    assert_int_equal(hpc_history_db_create(&d, path), 0);
    for (int k = 0; k < b->n; k++)
        assert_int_equal(hpc_history_db_add_commit(d, b->id[k], k ? b->id[k - 1] : NULL, 1000 + k),
                         0);
    for (int k = 0; k < b->n; k++)
        for (int run = 0; run < 5; run++)
            assert_int_equal(hpc_history_db_add(d, &(perf_way){"make", "./r", "m"}, "time",
                                                b->id[k], cost[k] * (1 + run * 1e-4)),
                             0);
    assert_int_equal(hpc_history_db_commit(d), 0);
    hpc_history_db_close(d);
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
    o.held_out = b->sketch;
    o.out = folder;
    o.tokenizer = OURS;
    o.threads = threads;
    o.resume = true;
    return hpc_corpus_pack(result, &o);
}

/* Replaces out by a document as text. */
/* From token `from` on. */
static void document_text(hpc_buf *out, const hpc_shards *s, int64_t i, int64_t from)
{
    hpc_tokenizer *t = NULL;
    hpc_document d = hpc_shards_document(s, i);
    assert_int_equal(hpc_tokenizer_open(&t, OURS), 0);
    out->n = 0;
    for (int64_t k = from; k < d.n; k++) {
        int32_t id = hpc_document_token(&d, k);
        assert_int_equal(hpc_tokenizer_decode(out, t, &id, 1, false), 0);
    }
    hpc_tokenizer_close(t);
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
    hpc_buf text = {0};
    make_history(&b, *state);
    measure(&b, "h.db");
    if (pack_history(&b, "a", 1, &result) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(pack_history(&b, "b", 3, &result), 0);
    script(b.p, "diff -r a b");
    assert_int_equal(pack_history(&b, "b", 2, &result), 0); /* it is whole already */
    script(b.p, "diff -r a b");
    assert_int_equal(result.documents_n, 4);
    assert_int_equal(result.pairs_n, 5);
    assert_int_equal(hpc_shards_open(&s, in(b.p, "a"), NULL), 0);
    double pair = -1;
    for (int64_t i = 0; i < 4; i++) {
        document_text(&text, s, i, (int64_t)hpc_shards_value(s, 1, i));
        assert_string_equal(text.data, expected[i].answer);
        document_text(&text, s, i, 0);
        assert_true(hpc_shards_value(s, 0, i) == expected[i].label);
        double off = hpc_shards_value(s, 2, i) - expected[i].change;
        assert_true(off > -1e-6 && off < 1e-6);
        assert_true(hpc_shards_value(s, 3, i) > pair);
        pair = hpc_shards_value(s, 3, i);
        assert_non_null(strstr(text.data, expected[i].part));
        assert_non_null(strstr(text.data, "<file_sep>src/"));
    }
    hpc_shards_close(s);
    hpc_buf_release(&text);
}

/* ---- secrets ------------------------------------------------------------------------------ */

/* Assembled here, so that no scanner takes this file for a leak. */
#define HUB                                                                                        \
    "ghp"                                                                                          \
    "_0123456789abcdefghijABCDEFGHIJ012345"
#define MARK "-----"

/* The key begins before the function and continues in it; the previous version has its own key. */
static const char leaky[] = "/* by jane@site.org */\nstatic const char *head = \"" MARK
                            "BEGIN RSA PRIVATE KEY" MARK "\\n\";\n"
                            "const char *rest(int n)\n{\n    /* ask john@site.org */\n"
                            "    return n ? \"MIIEowIBAAKCAQEAx1y2z3w4v5u6t7s8r9q0\" : \"" MARK
                            "END RSA PRIVATE KEY" MARK "\";\n}\n"
                            "int login(void)\n{\n    return send(\"" HUB "\", 1);\n}\n";

static void test_secrets(void **state)
{
    static const char *const secrets[] = {"jane", "john@", "MIIE", "w4v5u6t7", "ghp_", "ABCDEFGHI"};
    static const char *const expected[] = {
        "<perf_base>const char *rest(int n)\n{\n    /* ask email@example.com */\n"
        "    return n ? \"SECRET_REMOVED\" : \"" MARK "END RSA PRIVATE KEY" MARK "\";\n}"
        "<perf_head>const char *rest(int n)\n{\n    /* ask email@example.com */\n"
        "    return n > 1 ? \"SECRET_REMOVED\" : \"" MARK "END RSA PRIVATE KEY" MARK "\";\n}"
        "<perf_label>",
        "<perf_base>int login(void)\n{\n    return send(\"SECRET_REMOVED\", 1);\n}"
        "<perf_head>int login(void)\n{\n    return send(\"SECRET_REMOVED\", 2);\n}<perf_label>"};
    bench b;
    hpc_pack_result result;
    hpc_shards *s = NULL;
    hpc_buf text = {0};
    script(*state, "new r");
    write_text(*state, "r/a.c", leaky, sizeof leaky - 1);
    script(*state, "cd r; save c0; sed -i 's/n ?/n > 1 ?/; s/, 1)/, 2)/' a.c; save c1; "
                   "sed -i 's/_0123/_3210/; s/john/paul/; s/3w4v5/5v4w3/' a.c; save c2");
    read_ids(&b, *state);
    measure(&b, "h.db");
    if (pack_history(&b, "a", 2, &result) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(result.documents_n, 2); /* other secrets are no change */
    assert_int_equal(hpc_shards_open(&s, in(b.p, "a"), NULL), 0);
    for (int64_t i = 0; i < 2; i++) {
        document_text(&text, s, i, 0);
        if (!strstr(text.data, expected[i])) fail_msg("%s", text.data);
        for (size_t k = 0; k < sizeof secrets / sizeof *secrets; k++)
            assert_null(strstr(text.data, secrets[k]));
    }
    hpc_shards_close(s);
    hpc_buf_release(&text);
}

/* ---- what is held out ----------------------------------------------------------------------- */

enum { OWN = 5, HELD = 77, MIXED = 9 };

static void put_file(place *p, const char *name, const hpc_buf *text)
{
    assert_int_equal(text->failed, 0);
    write_text(p, name, text->data, text->n);
}

/* Each commit changes one thing: (1) a function; (2) a held-out one is new in a file of which it is
 * a small part; (3) as the first, in that file; (4) a held-out program is copied, under other
 * comments; (5) a function of a file that is mostly held out; (6) a file of a held-out path. */
static void make_leaks(bench *b, place *p)
{
    hpc_buf own = {0}, held = {0}, mixed = {0}, copy = {0};
    add_code(&held, HELD, 1, 2);
    put_file(p, "held/held.c", &held);
    script(p, "cd held; git init -q -b main; save");
    add_code(&own, OWN, 1, 60);
    add_code(&mixed, MIXED, 1, 1);
    hpc_buf_add(&mixed, held.data, held.n);
    script(p, "new r; git config remote.origin.url https://host/owner/r.git");
    put_file(p, "r/own.c", &own);
    put_file(p, "r/mixed.c", &mixed);
    script(p, "cd r; mkdir port; echo 'int p(void) { return 1; }' > port/p.c; save c0; "
              "sed -i 's/s += 1;/s += 2;/' own.c; save c1; "
              "sed -n '/f77_1(/,$p' ../held/held.c >> own.c; save c2; "
              "sed -i 's/s += 2;/s += 3;/' own.c; save c3");
    hpc_buf_text(&copy, "// nobody knows where this is from\n");
    hpc_buf_add(&copy, held.data, held.n);
    put_file(p, "r/copy.c", &copy);
    script(p, "cd r; save c4; sed -i '0,/s += 1;/s//s += 4;/' mixed.c; save c5; "
              "sed -i 's/return 1/return 2/' port/p.c; save c6");
    hpc_buf_release(&own);
    hpc_buf_release(&held);
    hpc_buf_release(&mixed);
    hpc_buf_release(&copy);
    read_ids(b, p);
    assert_int_equal(b->n, 7);
    measure(b, "h.db");
}

/* What "other/held" holds is held out, and what the list says. */
static void make_sketch(place *p, const char *name, const char *list)
{
    char file[128], out[128], path[128];
    snprintf(file, sizeof file, "%s/%s.list", p->root, name);
    snprintf(out, sizeof out, "%s/%s", p->root, name);
    snprintf(path, sizeof path, "%s/held", p->root);
    assert_int_equal(hpc_file_save(file, list, strlen(list)), 0);
    const hpc_repository copy = {.path = path, .name = "other/held"};
    const hpc_sketch_options options = {
        .list = file, .repository = &copy, .repositories_n = 1, .threads = 1};
    if (hpc_sketch_make(out, &options) < 0) fail_msg("%s", hpc_error_get()->text);
}

static void assert_held_out(const hpc_pack_result *r, int repository, int path, int hash,
                            int shingles)
{
    int64_t all = 0;
    for (int k = 0; k < HPC_REASON_N; k++) all += r->held_out_n[k];
    assert_int_equal(r->held_out_n[HPC_REASON_HELD_OUT_REPOSITORY], repository);
    assert_int_equal(r->held_out_n[HPC_REASON_HELD_OUT_PATH], path);
    assert_int_equal(r->held_out_n[HPC_REASON_HELD_OUT_HASH], hash);
    assert_int_equal(r->held_out_n[HPC_REASON_HELD_OUT_SHINGLES], shingles);
    assert_int_equal(all, repository + path + hash + shingles);
}

static const char free_list[] = "other/held\npath:OWNER/r:port/*\n";

static void test_held_out(void **state)
{
    bench b;
    hpc_pack_result result;
    hpc_shards *s = NULL;
    hpc_buf text = {0};
    make_leaks(&b, *state);
    make_sketch(b.p, "some", free_list);
    make_sketch(b.p, "all", "other/held\nowner/R\n");
    assert_int_equal(pack_history(&b, "none", 1, &result), 0);
    assert_int_equal(result.documents_n, 7);
    assert_held_out(&result, 0, 0, 0, 0);
    char some[128], all[128];
    snprintf(some, sizeof some, "%s/some", b.p->root);
    snprintf(all, sizeof all, "%s/all", b.p->root);
    b.sketch = some;
    if (pack_history(&b, "a", 1, &result) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(pack_history(&b, "b", 3, &result), 0);
    script(b.p, "diff -r a b");
    assert_int_equal(result.pairs_n, 6);
    assert_held_out(&result, 0, 1, 1, 2);
    assert_int_equal(result.broad_n, 0);
    assert_int_equal(result.documents_n, 2);
    assert_int_equal(hpc_shards_open(&s, in(b.p, "a"), NULL), 0);
    for (int64_t i = 0; i < 2; i++) {
        document_text(&text, s, i, 0);
        assert_non_null(strstr(text.data, i ? "s += 3" : "s += 2"));
        assert_null(strstr(text.data, "f77_"));
        assert_true(hpc_shards_value(s, 3, i) == 2.0 * (double)i);
    }
    hpc_shards_close(s);
    hpc_buf_release(&text);
    script(b.p, "grep -q '\"held-out-path\": *1' a/index.json; "
                "grep -q '\"held-out-shingles\": *2' a/index.json; "
                "grep -q '\"repository\": *\"owner/r\"' a/pack.json");
    b.sketch = all;
    assert_int_equal(pack_history(&b, "c", 1, &result), 0);
    assert_held_out(&result, 6, 0, 0, 0);
    assert_int_equal(result.documents_n, 0);
}

/* Another sketch, or none, or another name of the repository: other documents. */
static void test_another_sketch(void **state)
{
    bench b;
    hpc_pack_result result;
    char one[128], other[128];
    make_leaks(&b, *state);
    make_sketch(b.p, "one", free_list);
    make_sketch(b.p, "other", "other/held\n");
    snprintf(one, sizeof one, "%s/one", b.p->root);
    snprintf(other, sizeof other, "%s/other", b.p->root);
    b.sketch = one;
    assert_int_equal(pack_history(&b, "a", 1, &result), 0);
    script(b.p, "cp -r a b");
    const char *const sketches[] = {other, NULL};
    for (int k = 0; k < 2; k++) {
        b.sketch = sketches[k];
        assert_refused(pack_history(&b, "a", 1, &result), HPC_E_ARG, "written with other options");
    }
    b.sketch = one;
    script(b.p, "cd r; git config remote.origin.url https://host/owner/s.git");
    assert_refused(pack_history(&b, "a", 1, &result), HPC_E_ARG, "written with other options");
    script(b.p, "diff -r a b; echo x >> one");
    assert_refused(pack_history(&b, "c", 1, &result), HPC_E_FORMAT, "one");
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
    assert_non_null(strstr(hpc_error_get()->text, "was written with other options"));
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
    char sketch[128];
    make_leaks(&b, *state);
    make_sketch(b.p, "sketch", free_list);
    snprintf(sketch, sizeof sketch, "%s/sketch", b.p->root);
    b.sketch = sketch;
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

static void test_splits_pairs_by_time(void **state)
{
    (void)state;
    int64_t n[HPC_SPLIT_N] = {0};
    hpc_split last = HPC_SPLIT_TRAIN;
    for (int64_t k = 0; k < 1000; k++) {
        hpc_split s = hpc_corpus_pair_split(k, 1000);
        assert_true(s >= last);
        last = s;
        n[s]++;
    }
    assert_int_equal(n[HPC_SPLIT_TRAIN], 900);
    assert_int_equal(n[HPC_SPLIT_VALIDATION], 50);
    assert_int_equal(n[HPC_SPLIT_TEST], 50);
    assert_int_equal(hpc_corpus_pair_split(0, 1), HPC_SPLIT_TRAIN);
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(test_changes),
        IN_A_PLACE(test_changes_that_are_not_taken),
        IN_A_PLACE(test_a_history),
        IN_A_PLACE(test_secrets),
        IN_A_PLACE(test_held_out),
        IN_A_PLACE(test_another_sketch),
        IN_A_PLACE(test_what_does_not_fit),
        IN_A_PLACE(test_allocations_fail),
        cmocka_unit_test(test_splits_pairs_by_time),
    };
    return cmocka_run_group_tests_name("corpus/pack_perf", tests, NULL, NULL);
}

/*
 * sketch*.c, held_list.c: contents of a sketch, lookups, rejected files, and failures.
 */
#include "tests/corpus/sources.h"

#include "corpus/sketch.h"
#include "tests/corpus/edits.h"

/* ---- the list ---------------------------------------------------------------------------- */

static void list_of_names(void **state)
{
    (void)state;
    static const char text[] =
        "# held out\n\nLLNL/Kripke\r\n  a.b/c_d-e+f  \n"
        "path:zjin-lcf/HeCBench:*xsbench*\npath:LLNL/RAJAPerf:src/polybench/*\n"
        "foreign:LLNL/Kripke:tpl/?aja/*";
    corpus_held_list l, again;
    hpc_buf out = {0};
    assert_int_equal(corpus_held_list_parse(&l, text, sizeof text - 1, "list"), 0);
    assert_int_equal(corpus_held_list_text(&out, &l), 0);
    assert_int_equal(corpus_held_list_parse(&again, out.data, out.n, "list"), 0);
    for (int k = 0; k < 2; k++) {
        const corpus_held_list *x = k ? &again : &l;
        const char *h = "ZJIN-lcf/hecbench";
        assert_true(corpus_held_list_has(x, "llnl/KRIPKE"));
        assert_true(corpus_held_list_has(x, "a.b/c_d-e+f"));
        assert_false(corpus_held_list_has(x, "LLNL/Kripke2"));
        assert_false(corpus_held_list_has(x, "Kripke"));
        assert_false(corpus_held_list_has(x, "zjin-lcf/HeCBench"));
        assert_string_equal(corpus_held_list_match(x, h, "src/XSBench-cuda/main.cu"), "*xsbench*");
        assert_null(corpus_held_list_match(x, h, "src/xs-bench/main.cu"));
        assert_null(corpus_held_list_match(x, "other/HeCBench", "src/xsbench/main.cu"));
        assert_non_null(corpus_held_list_match(x, "LLNL/RAJAPerf", "src/polybench/a/b.cpp"));
        assert_null(corpus_held_list_match(x, "LLNL/RAJAPerf", "other/src/polybench/a.cpp"));
        assert_true(corpus_held_list_foreign(x, "LLNL/Kripke", "tpl/RAJA/x.h"));
        assert_false(corpus_held_list_foreign(x, "LLNL/Kripke", "tpl/aja/x.h"));
        assert_null(corpus_held_list_match(x, "LLNL/Kripke", "tpl/raja/x.h"));
        assert_true(corpus_held_list_touches(x, "llnl/rajaperf"));
        assert_false(corpus_held_list_touches(x, "LLNL/Kripke"));
    }
    corpus_held_list_release(&l);
    corpus_held_list_release(&again);
    hpc_buf_release(&out);
}

static void lines_that_are_wrong(void **state)
{
    (void)state;
    static const char *const wrong[] = {"kripke",       "a/b/c",       "/b",        "a/",
                                        "a b/c",        "path:a/b",    "path:a/b:", "path:ab:x",
                                        "foreign:a/b:", "paths:a/b:c", "a/b:c",     "path::x"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char text[80];
        corpus_held_list l;
        snprintf(text, sizeof text, "ok/ok\n%s\n", wrong[k]);
        assert_int_equal(corpus_held_list_parse(&l, text, strlen(text), "the.list"), HPC_E_FORMAT);
        assert_non_null(strstr(hpc_error_get()->text, "the.list:2"));
        assert_non_null(strstr(hpc_error_get()->text, wrong[k]));
        hpc_error_clear();
    }
}

/* Stars that can be read in very many ways cost a product of lengths, no more. */
static void globs_are_quick(void **state)
{
    (void)state;
    char text[600], path[2001];
    corpus_held_list l;
    int n = snprintf(text, sizeof text, "path:a/b:");
    for (int k = 0; k < 200; k++) n += snprintf(text + n, sizeof text - (size_t)n, "*a");
    snprintf(text + n, sizeof text - (size_t)n, "b");
    memset(path, 'a', 2000);
    path[2000] = '\0';
    assert_int_equal(corpus_held_list_parse(&l, text, strlen(text), "list"), 0);
    assert_null(corpus_held_list_match(&l, "a/b", path));
    path[1999] = 'b';
    assert_non_null(corpus_held_list_match(&l, "a/b", path));
    corpus_held_list_release(&l);
}

/* ---- a sketch of repositories ------------------------------------------------------------- */

typedef struct notes {
    hpc_buf text;
} notes;

static void note(const char *line, void *user)
{
    notes *n = user;
    hpc_buf_printf(&n->text, "%s\n", line);
}

enum { HELD_SEED = 500 };
static const char list_text[] = "held/one\nheld/two\nabsent/three\npath:free/four:src/bad/*\n"
                                "foreign:held/one:copied/*\n";

/* held/one has history, vendored and foreign trees; free/four is held out in part. */
static void make_held(place *p)
{
    hpc_buf b = {0};
    write_text(p, "list", list_text, sizeof list_text - 1);
    script(p, "new one; new ../two; new ../four");
    write_code(p, "one/src/a.c", HELD_SEED, 0);
    write_code(p, "one/copied/c.c", HELD_SEED + 1, 0);
    write_code(p, "one/third_party/d.c", HELD_SEED + 2, 0);
    write_text(p, "one/src/short.c", "int add(int a, int b) { return a + b; }\n", 40);
    write_text(p, "one/src/tiny.c", "int x;\n", 7);
    write_text(p, "one/README", "not code\n", 9);
    script(p, "cd one; save");
    add_code(&b, HELD_SEED + 3, 0, 4);
    write_text(p, "one/src/a.c", b.data, b.n);
    script(p, "cd one; save");
    write_code(p, "two/b.f90.c", HELD_SEED + 4, 0);
    script(p, "cd two; save");
    write_code(p, "four/src/bad/e.c", HELD_SEED + 5, 0);
    write_code(p, "four/src/good/g.c", HELD_SEED + 6, 0);
    script(p, "cd four; save");
    hpc_buf_release(&b);
}

typedef struct making {
    hpc_sketch_options options;
    hpc_repository repository[3];
    char path[5][300];
    notes notes;
} making;

static making *make_making(place *p)
{
    static const char *const name[] = {"held/one", "Held/Two", "free/four"};
    static const char *const folder[] = {"one", "two", "four", "list", "sketch"};
    making *m = calloc(1, sizeof *m);
    assert_non_null(m);
    for (int k = 0; k < 5; k++)
        snprintf(m->path[k], sizeof m->path[k], "%s/%s", p->root, folder[k]);
    for (int k = 0; k < 3; k++) m->repository[k] = (hpc_repository){m->path[k], name[k]};
    m->options = (hpc_sketch_options){.list = m->path[3],
                                      .repository = m->repository,
                                      .repositories_n = 3,
                                      .threads = 1,
                                      .warn = note,
                                      .user = &m->notes};
    return m;
}

static void release_making(making *m)
{
    hpc_buf_release(&m->notes.text);
    free(m);
}

static hpc_sketch *made_sketch(making *m)
{
    hpc_sketch *s;
    if (hpc_sketch_make(m->path[4], &m->options) < 0) fail_msg("%s", hpc_error_get()->text);
    if (hpc_sketch_open(&s, m->path[4]) < 0) fail_msg("%s", hpc_error_get()->text);
    return s;
}

static corpus_held_out ask_text(const hpc_sketch *s, const char *text, size_t n, bool quick)
{
    corpus_code c = {0};
    corpus_held_out found;
    code_of_text(&c, text, n);
    assert_int_equal(corpus_sketch_content(&found, s, NULL, &c, 0.05, quick), 0);
    corpus_code_release(&c);
    return found;
}

static corpus_held_out ask_code(const hpc_sketch *s, uint32_t seed)
{
    hpc_buf b = {0};
    add_code(&b, seed, 0, 4);
    corpus_held_out found = ask_text(s, b.data, b.n, false);
    hpc_buf_release(&b);
    return found;
}

static void sketch_of_head(void **state)
{
    place *p = *state;
    make_held(p);
    making *m = make_making(p);
    hpc_sketch *s = made_sketch(m);
    assert_true(corpus_sketch_repository(s, "HELD/one"));
    assert_true(corpus_sketch_repository(s, "absent/three"));
    assert_false(corpus_sketch_repository(s, "free/four"));
    const char *pattern;
    assert_true(corpus_sketch_path(s, "free/four", "SRC/bad/x.c", &pattern));
    assert_string_equal(pattern, "src/bad/*");
    assert_false(corpus_sketch_path(s, "free/four", "src/good/x.c", NULL));
    static const struct {
        uint32_t seed;
        hpc_reason reason;
    } expected[] = {{HELD_SEED, HPC_REASON_KEPT} /* only in history */,
                    {HELD_SEED + 1, HPC_REASON_KEPT} /* foreign */,
                    {HELD_SEED + 2, HPC_REASON_KEPT} /* vendored */,
                    {HELD_SEED + 3, HPC_REASON_HELD_OUT_HASH},
                    {HELD_SEED + 4, HPC_REASON_HELD_OUT_HASH},
                    {HELD_SEED + 5, HPC_REASON_HELD_OUT_HASH} /* by pattern */,
                    {HELD_SEED + 6, HPC_REASON_KEPT}};
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        corpus_held_out found = ask_code(s, expected[k].seed);
        assert_int_equal(found.reason, expected[k].reason);
        if (found.reason == HPC_REASON_KEPT) assert_true(found.share < 0.01);
        if (found.reason != HPC_REASON_KEPT) assert_true(found.share == 1);
    }
    static const char known[] = "int add( int a,int b ) /* x */ {return a+b;}";
    for (int quick = 0; quick < 2; quick++) {
        corpus_held_out found = ask_text(s, known, sizeof known - 1, quick);
        assert_int_equal(found.reason, HPC_REASON_HELD_OUT_HASH);
        assert_int_equal(ask_text(s, "int x;", 6, quick).reason, HPC_REASON_KEPT);
    }
    hpc_sketch_facts facts;
    hpc_sketch_describe(&facts, s);
    assert_int_equal(facts.names_n, 3);
    assert_int_equal(facts.patterns_n, 2);
    assert_int_equal(facts.files_n, 5);
    assert_int_equal(facts.foreign_n, 2);
    assert_int_equal(facts.unread_n, 0);
    assert_int_equal(facts.streams_n, 4);
    assert_false(facts.history);
    assert_non_null(strstr(m->notes.text.data, "absent/three: no local copy"));
    assert_null(strstr(m->notes.text.data, "held/"));
    hpc_sketch_close(s);
    release_making(m);
}

/* The filter accepts one foreign window in 16: without the rule on runs most of these texts, of
 * some 50 windows each, would be held out. */
static void foreign_texts_are_kept(void **state)
{
    enum { TEXTS = 2000 };
    place *p = *state;
    hpc_buf own = {0};
    make_held(p);
    making *m = make_making(p);
    hpc_sketch *s = made_sketch(m);
    int held_out = 0;
    double share = 0;
    for (uint64_t k = 0; k < TEXTS; k++) {
        own.n = 0;
        make_program(&own, 50000 + k, 100);
        corpus_held_out found = ask_text(s, own.data, own.n, false);
        held_out += found.reason != HPC_REASON_KEPT;
        share += found.share;
    }
    assert_true(held_out <= 10); /* 50 windows, one in 17,000: six are expected */
    assert_true(share / TEXTS < 1e-3);
    hpc_buf_release(&own);
    hpc_sketch_close(s);
    release_making(m);
}

/* The windows of a text that count. */
static int64_t windows_of(const char *text, size_t n)
{
    corpus_code c = {0};
    corpus_passage p;
    uint64_t key[CORPUS_PASSAGE_MOST];
    int64_t windows = 0;
    code_of_text(&c, text, n);
    corpus_passage_start(&p, &c);
    for (int k; (k = corpus_passage_next(key, &p)) >= 0;) windows += k;
    corpus_code_release(&c);
    return windows;
}

/* From the middle of a held-out file, where all windows count: 50 tokens are one window, 53 are a
 * run of four. */
static void excerpts_of_any_length_are_found(void **state)
{
    enum { WIDTH = CORPUS_HELD_OUT_SHINGLE };
    place *p = *state;
    hpc_buf held = {0};
    hpc_tokens t = {0};
    int asked = 0;
    make_held(p);
    make_program(&held, 77, 400);
    write_text(p, "two/long.c", held.data, held.n);
    script(p, "cd two; save");
    making *m = make_making(p);
    hpc_sketch *s = made_sketch(m);
    assert_int_equal(hpc_lex(&t, held.data, held.n, HPC_LANGUAGE_C, false), 0);
    for (int64_t n = WIDTH; n <= WIDTH + 20; n++) {
        for (int64_t from = 0; from + n < t.n; from += 7) {
            const hpc_token *first = &t.item[from], *last = first + n - 1;
            const char *text = held.data + first->at;
            size_t bytes = last->at + last->n - first->at;
            if (windows_of(text, bytes) < n - WIDTH + 1) continue;
            assert_true(ask_text(s, text, bytes, false).share == 1);
            asked++;
        }
    }
    assert_true(asked > 500);
    hpc_tokens_release(&t);
    hpc_buf_release(&held);
    hpc_sketch_close(s);
    release_making(m);
}

/* A table with a single window that counts is no evidence. */
static void single_windows_of_long_texts_are_no_evidence(void **state)
{
    enum { TEXTS = 400 };
    int asked = 0;
    place *p = *state;
    make_held(p);
    making *m = make_making(p);
    hpc_sketch *s = made_sketch(m);
    hpc_buf b = {0};
    for (int k = 0; k < TEXTS; k++) {
        b.n = 0;
        hpc_buf_printf(&b, "a%d b%d c%d = d%d", k, k, k, k);
        for (int i = 0; i < 44; i++) hpc_buf_text(&b, "+");
        hpc_buf_printf(&b, "e%d;", k);
        for (int i = 0; i < 200; i++) hpc_buf_printf(&b, "%d, ", i);
        if (windows_of(b.data, b.n) == 0) continue; /* two names share a number */
        assert_int_equal(windows_of(b.data, b.n), 1);
        assert_true(ask_text(s, b.data, b.n, false).share == 0);
        asked++;
    }
    assert_true(asked > 9 * TEXTS / 10);
    hpc_buf_release(&b);
    hpc_sketch_close(s);
    release_making(m);
}

/* Long texts with a share of held-out code: a sample and all windows say the same, but for shares
 * so near the limit that a sample may miss them. */
static void quick_is_as_good(void **state)
{
    place *p = *state;
    hpc_buf held = {0}, own = {0}, both = {0};
    make_held(p);
    make_program(&held, 77, 3000);
    write_text(p, "two/long.c", held.data, held.n);
    script(p, "cd two; save");
    making *m = make_making(p);
    hpc_sketch *s = made_sketch(m);
    int dropped = 0;
    for (int k = 0; k < 120; k++) {
        size_t piece = held.n * (size_t)(k % 40) / 100; /* up to two fifths of it */
        make_program(&own, 1000 + (uint64_t)k, 6000);
        both.n = 0;
        hpc_buf_add(&both, own.data, own.n / 2);
        hpc_buf_text(&both, "\n");
        hpc_buf_add(&both, held.data + held.n / 3, piece);
        hpc_buf_text(&both, "\n");
        hpc_buf_add(&both, own.data + own.n / 2, own.n - own.n / 2);
        assert_int_equal(both.failed, 0);
        corpus_held_out all = ask_text(s, both.data, both.n, false);
        corpus_held_out quick = ask_text(s, both.data, both.n, true);
        assert_int_equal(quick.reason, all.reason);
        assert_true(quick.share == all.share || (quick.share == 0 && all.share < 0.05));
        dropped += all.reason == HPC_REASON_HELD_OUT_SHINGLES;
    }
    assert_true(dropped > 40 && dropped < 90);
    assert_int_equal(ask_text(s, held.data, held.n, true).reason, HPC_REASON_HELD_OUT_HASH);
    hpc_buf_release(&held);
    hpc_buf_release(&own);
    hpc_buf_release(&both);
    hpc_sketch_close(s);
    release_making(m);
}

static void sketch_of_history(void **state)
{
    place *p = *state;
    make_held(p);
    making *m = make_making(p);
    m->options.history = true;
    hpc_sketch *s = made_sketch(m);
    assert_int_equal(ask_code(s, HELD_SEED).reason, HPC_REASON_HELD_OUT_HASH);
    assert_int_equal(ask_code(s, HELD_SEED + 3).reason, HPC_REASON_HELD_OUT_HASH);
    hpc_git *g = opened(p, "one");
    hpc_git_list blobs = {0};
    hpc_pool *pool;
    assert_int_equal(hpc_pool_create(&pool, 1), 0);
    assert_int_equal(hpc_git_list_blobs(&blobs, g, pool, &(hpc_git_list_options){0}), 0);
    corpus_held_out found;
    corpus_code none = {0};
    int64_t by_id = 0;
    for (int64_t i = 0; i < blobs.n; i++) {
        assert_int_equal(corpus_sketch_content(&found, s, &blobs.entry[i].id, &none, 0.05, false),
                         0);
        by_id += found.reason == HPC_REASON_HELD_OUT_HASH;
    }
    assert_int_equal(by_id, 2); /* a.c and short.c: tiny.c is too short, the rest left out */
    hpc_git_list_release(&blobs);
    hpc_pool_free(pool);
    hpc_git_close(g);
    hpc_sketch_close(s);
    release_making(m);
}

static void same_bytes_whatever_the_threads(void **state)
{
    place *p = *state;
    make_held(p);
    for (int k = 0; k < 150; k++) {
        char name[64];
        snprintf(name, sizeof name, "one/src/many%d.c", k);
        write_code(p, name, (uint32_t)(9000 + k / 2), (uint32_t)k);
    }
    script(p, "cd one; save");
    making *m = make_making(p);
    hpc_buf first = {0}, other = {0};
    hpc_hash128 hash[2];
    for (int k = 0; k < 4; k++) {
        m->options.threads = 1 + k;
        m->options.history = true;
        hpc_repository swap = m->repository[0];
        m->repository[0] = m->repository[k % 3];
        m->repository[k % 3] = swap;
        hpc_sketch *s = made_sketch(m);
        hash[k > 0] = hpc_sketch_hash(s);
        hpc_sketch_close(s);
        other.n = 0;
        assert_int_equal(hpc_file_read(k ? &other : &first, m->path[4], 1 << 24), 0);
        if (k == 0) continue;
        assert_int_equal(other.n, first.n);
        assert_memory_equal(other.data, first.data, first.n);
        assert_true(hpc_same_hash(hash[0], hash[1]));
    }
    hpc_buf_release(&first);
    hpc_buf_release(&other);
    release_making(m);
}

static void wrong_repositories(void **state)
{
    place *p = *state;
    make_held(p);
    making *m = make_making(p);
    static const struct {
        const char *path, *name, *says;
    } wrong[] = {{"two", "free/unknown", "which is not in"},
                 {"two", NULL, "no origin"},
                 {"nothing", "held/one", "nothing"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        snprintf(m->path[0], sizeof m->path[0], "%s/%s", p->root, wrong[k].path);
        m->repository[0].name = wrong[k].name;
        assert_true(hpc_sketch_make(m->path[4], &m->options) < 0);
        if (!strstr(hpc_error_get()->text, wrong[k].says)) fail_msg("%s", hpc_error_get()->text);
        hpc_error_clear();
        assert_false(hpc_file_exists(m->path[4]));
    }
    release_making(m);
}

/* ---- damaged sketches ------------------------------------------------------------------------ */

static int open_bytes(const char *path, const hpc_buf *b, size_t n, bool seal)
{
    hpc_sketch *s = NULL;
    hpc_buf copy = {0};
    hpc_buf_add(&copy, b->data, n);
    if (seal && n >= SKETCH_HASH)
        hpc_put_hash((uint8_t *)copy.data + n - SKETCH_HASH,
                     hpc_hash_wide(copy.data, n - SKETCH_HASH));
    FILE *f = fopen(path, "wb"); /* not synchronised: there are thousands of them */
    assert_non_null(f);
    assert_int_equal(fwrite(copy.data ? copy.data : "", 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    hpc_buf_release(&copy);
    int rc = hpc_sketch_open(&s, path);
    if (rc < 0) {
        assert_int_equal(hpc_error_get()->code, rc);
        assert_non_null(strstr(hpc_error_get()->text, path));
        hpc_error_clear();
    } else if (s) { /* an accepted sketch can be queried */
        ask_code(s, HELD_SEED);
    }
    hpc_sketch_close(s);
    return rc;
}

static void damage_is_seen(void **state)
{
    place *p = *state;
    make_held(p);
    making *m = make_making(p);
    hpc_sketch_close(made_sketch(m));
    hpc_buf b = {0};
    assert_int_equal(hpc_file_read(&b, m->path[4], 1 << 24), 0);
    for (size_t i = 0; i < b.n; i += i < SKETCH_HEADER + 200 ? 1 : 211) {
        b.data[i] ^= 0x10;
        assert_true(open_bytes(m->path[4], &b, b.n, false) < 0);
        b.data[i] ^= 0x10;
    }
    for (size_t n = 0; n < b.n; n += n < SKETCH_HEADER + 40 ? 1 : 97)
        assert_true(open_bytes(m->path[4], &b, n, false) < 0);
    /* With a right checksum, sizes that are wrong must be seen, and nothing else may go wrong. */
    for (size_t i = 0; i < SKETCH_HEADER + 40; i++) {
        for (int x = 1; x < 256; x = 7 * x + 4) {
            b.data[i] ^= (char)x;
            int rc = open_bytes(m->path[4], &b, b.n, true);
            if (i < SKETCH_AT_VERSION + 4) assert_true(rc < 0);
            b.data[i] ^= (char)x;
        }
    }
    for (size_t n = SKETCH_HEADER; n < b.n; n += 101)
        assert_true(open_bytes(m->path[4], &b, n, true) < 0);
    hpc_put32((uint8_t *)b.data + SKETCH_AT_VERSION, SKETCH_VERSION + 1);
    assert_int_equal(open_bytes(m->path[4], &b, b.n, true), HPC_E_UNSUPPORTED);
    hpc_put32((uint8_t *)b.data + SKETCH_AT_VERSION, SKETCH_VERSION);
    b.data[SKETCH_AT_LEXER] ^= 1;
    assert_int_equal(open_bytes(m->path[4], &b, b.n, true), HPC_E_UNSUPPORTED);
    hpc_buf_release(&b);
    release_making(m);
}

static int make_and_open(void *user)
{
    const making *m = user;
    hpc_sketch *s = NULL;
    hpc_sketch_options o = m->options;
    o.warn = NULL;
    int rc = hpc_sketch_make(m->path[4], &o);
    if (rc >= 0) rc = hpc_sketch_open(&s, m->path[4]);
    hpc_sketch_close(s);
    return rc;
}

static void what_goes_wrong(void **state)
{
    place *p = *state;
    make_held(p);
    making *m = make_making(p);
    m->repository[0] = m->repository[1];
    m->options.repositories_n = 1;
    assert_true(hpc_test_each_alloc(make_and_open, m) > 30);
    assert_int_equal(make_and_open(m), 0);
    release_making(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(list_of_names, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(lines_that_are_wrong, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(globs_are_quick, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(quick_is_as_good, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(foreign_texts_are_kept, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(excerpts_of_any_length_are_found, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(single_windows_of_long_texts_are_no_evidence, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(sketch_of_head, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(sketch_of_history, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(same_bytes_whatever_the_threads, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(wrong_repositories, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(damage_is_seen, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(what_goes_wrong, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

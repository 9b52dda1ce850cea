/*
 * check.c: detection of leaks planted in files and in a corpus, however they are disguised.
 */
#include "tests/corpus/sources.h"

#include "tests/corpus/edits.h"

/* ---- a sketch of one program ---------------------------------------------------------------- */

enum { HELD_SEED = 321, HELD_TOKENS = 1500 };

typedef struct bench {
    hpc_sketch *sketch;
    hpc_buf held; /* the program that is held out */
    hpc_check_options options;
    hpc_check_result result;
    hpc_buf found; /* a line for each finding */
} bench;

static int note(const hpc_finding *f, void *user)
{
    bench *b = user;
    return hpc_buf_printf(&b->found, "%s %s %s\n", f->where, hpc_reason_name(f->reason), f->detail);
}

static bench *make_bench(place *p)
{
    static const char list[] = "held/one\npath:free/r0:src/part0/file1.*\n";
    bench *b = calloc(1, sizeof *b);
    char path[300], repository[300], out[300];
    assert_non_null(b);
    make_program(&b->held, HELD_SEED, HELD_TOKENS);
    script(p, "new one");
    write_text(p, "one/held.c", b->held.data, b->held.n);
    script(p, "cd one; save");
    write_text(p, "list", list, sizeof list - 1);
    snprintf(path, sizeof path, "%s/list", p->root);
    snprintf(repository, sizeof repository, "%s/one", p->root);
    snprintf(out, sizeof out, "%s/sketch", p->root);
    hpc_repository one = {repository, "held/one"};
    hpc_sketch_options how = {.list = path, .repository = &one, .repositories_n = 1, .threads = 1};
    assert_int_equal(hpc_sketch_make(out, &how), 0);
    assert_int_equal(hpc_sketch_open(&b->sketch, out), 0);
    b->options = (hpc_check_options)HPC_CHECK_DEFAULTS;
    b->options.found = note;
    b->options.user = b;
    return b;
}

static void release_bench(bench *b)
{
    hpc_sketch_close(b->sketch);
    hpc_buf_release(&b->held);
    hpc_buf_release(&b->found);
    free(b);
}

/* Findings of one text. */
static int64_t check(bench *b, const hpc_buf *text)
{
    b->found.n = 0;
    b->result = (hpc_check_result){0};
    assert_int_equal(text->failed, 0);
    if (hpc_corpus_check_text(&b->result, "some/file.c", text->data, text->n, b->sketch,
                              &b->options) < 0)
        fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(b->result.files_n, 1);
    return b->result.findings_n;
}

static void assert_found(const bench *b, const char *part)
{
    if (!b->found.data || !strstr(b->found.data, part))
        fail_msg("\"%s\" does not say \"%s\"", b->found.data ? b->found.data : "", part);
}

/* ---- files --------------------------------------------------------------------------------- */

static void disguises_are_seen_through(void **state)
{
    static const edit disguise[] = {
        {.licence = true},
        {.reindent = true},
        {.comment = 0.5, .licence = true},
        {.comment = 1, .licence = true, .reindent = true},
    };
    bench *b = make_bench(*state);
    hpc_buf text = {0};
    for (size_t k = 0; k < sizeof disguise / sizeof *disguise; k++) {
        edit_program(&text, &b->held, &disguise[k], 5 + k);
        assert_int_equal(check(b, &text), 1);
        assert_found(b, "some/file.c held-out-hash");
    }
    /* Changed code: not the same hash, but still the same passages. */
    static const edit change[] = {{.drop = 0.05}, {.insert = 0.1}, {.rename = 0.02, .drop = 0.02}};
    for (size_t k = 0; k < sizeof change / sizeof *change; k++) {
        edit_program(&text, &b->held, &change[k], 50 + k);
        assert_int_equal(check(b, &text), 1);
        assert_found(b, "held-out-shingles");
        assert_found(b, "50-token shingles");
    }
    hpc_buf_release(&text);
    release_bench(b);
}

/* Functions in the opposite order. */
static void order_does_not_hide(void **state)
{
    bench *b = make_bench(*state);
    hpc_buf text = {0};
    const char *last = b->held.data + b->held.n;
    for (const char *p = last; p-- > b->held.data;) {
        if (strncmp(p, "static double step_", 19) != 0) continue;
        hpc_buf_add(&text, p, (size_t)(last - p));
        last = p;
    }
    assert_int_equal(text.n, b->held.n);
    assert_int_equal(check(b, &text), 1);
    assert_found(b, "held-out-shingles");
    hpc_buf_release(&text);
    release_bench(b);
}

/* A fifth of the held-out program inside another one, and one that the limit just lets through. */
static void parts_are_found(void **state)
{
    bench *b = make_bench(*state);
    hpc_buf text = {0}, own = {0};
    make_program(&own, 99, HELD_TOKENS);
    hpc_buf_add(&text, own.data, own.n);
    hpc_buf_add(&text, b->held.data + b->held.n / 3, b->held.n / 5);
    assert_int_equal(check(b, &text), 1);
    assert_found(b, "held-out-shingles");
    b->options.share = 0.5;
    assert_int_equal(check(b, &text), 0);
    assert_true(b->result.worst_share > 0.08 && b->result.worst_share < 0.25);
    assert_string_equal(b->result.worst, "some/file.c");
    b->options.share = 0.05;
    make_program(&own, 98, 20 * HELD_TOKENS);
    text.n = 0;
    hpc_buf_add(&text, own.data, own.n);
    hpc_buf_add(&text, b->held.data, b->held.n / 3);
    assert_int_equal(check(b, &text), 0);
    assert_true(b->result.worst_share > 0.005 && b->result.worst_share < 0.03);
    hpc_buf_release(&text);
    hpc_buf_release(&own);
    release_bench(b);
}

static void clean_files_pass(void **state)
{
    bench *b = make_bench(*state);
    hpc_buf text = {0};
    for (uint32_t k = 0; k < 40; k++) {
        make_program(&text, 5000 + k, 30 + 60 * k);
        assert_int_equal(check(b, &text), 0);
        assert_true(b->result.worst_share < 0.01);
    }
    text.n = 0;
    assert_int_equal(hpc_buf_text(&text, ""), 0);
    assert_int_equal(check(b, &text), 0);
    hpc_buf_release(&text);
    release_bench(b);
}

/* Results add up over files; a caller that stops is obeyed. */
static int refuse(const hpc_finding *f, void *user)
{
    (void)user;
    return hpc_fail(HPC_E_IO, "cannot say %s", f->where);
}

static void results_add_up(void **state)
{
    bench *b = make_bench(*state);
    hpc_check_result sum = {0};
    for (int k = 0; k < 3; k++)
        assert_int_equal(
            hpc_corpus_check_text(&sum, "x.c", b->held.data, b->held.n, b->sketch, &b->options), 0);
    assert_int_equal(sum.files_n, 3);
    assert_int_equal(sum.findings_n, 3);
    b->options.found = NULL;
    assert_int_equal(
        hpc_corpus_check_text(&sum, "x.c", b->held.data, b->held.n, b->sketch, &b->options), 0);
    assert_int_equal(sum.findings_n, 4);
    b->options.found = refuse;
    assert_int_equal(
        hpc_corpus_check_text(&sum, "x.c", b->held.data, b->held.n, b->sketch, &b->options),
        HPC_E_IO);
    hpc_error_clear();
    release_bench(b);
}

typedef struct attempt {
    bench *b;
    const char *folder; /* NULL: the text */
} attempt;

static int try_check(void *user)
{
    const attempt *a = user;
    hpc_check_result sum = {0};
    hpc_check_options quiet = {.share = 0.05, .threads = 2};
    return a->folder ? hpc_corpus_check(&sum, a->folder, a->b->sketch, &quiet)
                     : hpc_corpus_check_text(&sum, "x.c", a->b->held.data, a->b->held.n,
                                             a->b->sketch, &quiet);
}

static void text_without_memory(void **state)
{
    bench *b = make_bench(*state);
    attempt a = {b, NULL};
    assert_true(hpc_test_each_alloc(try_check, &a) >= 5);
    release_bench(b);
}

/* ---- a corpus ------------------------------------------------------------------------------- */

static void harvest(place *p, char folder[300], const char *name)
{
    char path[300];
    hpc_harvest_result result;
    hpc_harvest_options o = HPC_HARVEST_DEFAULTS;
    snprintf(folder, 300, "%s/corpus", p->root);
    snprintf(path, sizeof path, "%s/r0", p->root);
    hpc_repository one = {path, name};
    o.repository = &one;
    o.repositories_n = 1;
    o.folder = folder;
    o.licences = "all";
    if (hpc_corpus_harvest(&result, &o) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_true(result.complete && result.kept_n > 0);
}

/* Harvested without a sketch, with a leak among thirty clean files. */
static void make_leaky(place *p, bench *b)
{
    hpc_buf text = {0};
    write_repository(p, 0, 30, 1);
    edit_program(&text, &b->held, &(edit){.comment = 0.4, .reindent = true, .licence = true}, 7);
    write_text(p, "r0/src/zz/leak.c", text.data, text.n);
    edit_program(&text, &b->held, &(edit){.drop = 0.03, .insert = 0.03}, 8);
    write_text(p, "r0/src/aa/leak.c", text.data, text.n);
    script(p, "cd r0; save");
    hpc_buf_release(&text);
}

static void corpus_with_a_leak(void **state)
{
    bench *b = make_bench(*state);
    char folder[300];
    make_leaky(*state, b);
    harvest(*state, folder, "free/r0");
    hpc_buf first = {0};
    for (int threads = 1; threads <= 3; threads++) {
        b->options.threads = threads;
        b->result = (hpc_check_result){0};
        b->found.n = 0;
        if (hpc_corpus_check(&b->result, folder, b->sketch, &b->options) < 0)
            fail_msg("%s", hpc_error_get()->text);
        assert_true(b->result.files_n >= 30);
        assert_int_equal(b->result.findings_n, 3);
        assert_found(b, "free/r0:src/aa/leak.c held-out-shingles");
        assert_found(b, "free/r0:src/zz/leak.c held-out-hash");
        assert_found(b, "free/r0:src/part0/file1.c held-out-path src/part0/file1.*");
        if (threads == 1) assert_int_equal(hpc_buf_add(&first, b->found.data, b->found.n), 0);
        assert_string_equal(first.data, b->found.data);
    }
    hpc_buf_release(&first);
    release_bench(b);
}

static void corpus_of_a_held_out_repository(void **state)
{
    bench *b = make_bench(*state);
    char folder[300];
    write_repository(*state, 0, 30, 1);
    harvest(*state, folder, "HELD/one");
    if (hpc_corpus_check(&b->result, folder, b->sketch, &b->options) < 0)
        fail_msg("%s", hpc_error_get()->text);
    assert_true(b->result.files_n >= 30);
    assert_int_equal(b->result.findings_n, b->result.files_n);
    assert_found(b, "held-out-repository HELD/one");
    release_bench(b);
}

static void corpus_that_is_none(void **state)
{
    place *p = *state;
    bench *b = make_bench(p);
    char folder[300];
    snprintf(folder, sizeof folder, "%s/one", p->root);
    assert_true(hpc_corpus_check(&b->result, folder, b->sketch, &b->options) < 0);
    assert_int_equal(b->result.files_n, 0);
    hpc_error_clear();
    release_bench(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(disguises_are_seen_through, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(order_does_not_hide, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(parts_are_found, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(clean_files_pass, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(results_add_up, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(text_without_memory, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(corpus_with_a_leak, place_setup, place_teardown),
        cmocka_unit_test_setup_teardown(corpus_of_a_held_out_repository, place_setup,
                                        place_teardown),
        cmocka_unit_test_setup_teardown(corpus_that_is_none, place_setup, place_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

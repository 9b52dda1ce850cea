/*
 * train.c: training on this repository's sources: deterministic bytes, fixed pieces, exact ids and
 * round trips, the .json, and errors.
 */
#include "tests/tokenizer/spm_model.h"

#include "tests/support/fault.h"
#include "tests/support/expect.h"
#include "tokenizer/priv.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* ---- texts ---------------------------------------------------------------------------------- */

typedef struct texts {
    hpc_buf list, text;
    int64_t n, at, fail_at;
    const char *name;
} texts;

static int next_text(const char **text, size_t *n, void *user)
{
    texts *t = user;
    char path[300];
    int rc = HPC_OK;
    while (t->at < t->n && t->name[strlen(t->name) - 1] == '/') {
        t->name += strlen(t->name) + 1;
        t->at++;
    }
    if (t->at == t->n) return 0;
    if (t->at == t->fail_at) return hpc_fail(HPC_E_IO, "no more to be had");
    snprintf(path, sizeof path, "runtime/base/%s", t->name);
    t->text.n = 0;
    TRY(hpc_file_read(&t->text, path, 1 << 20));
    t->name += strlen(t->name) + 1;
    t->at++;
    *text = t->text.data;
    *n = t->text.n;
    return 1;
out:
    return rc;
}

static void texts_open(texts *t)
{
    *t = (texts){.fail_at = -1};
    test_ok(hpc_file_list(&t->list, &t->n, "runtime/base"));
    t->name = t->list.data;
}

static void texts_close(texts *t)
{
    hpc_buf_release(&t->list);
    hpc_buf_release(&t->text);
}

static const char *const marks[] = {"<fim_prefix>", "<fim_middle>", NULL};

static hpc_tokenizer_train_options options_of(char folder[PATH_MAX], int64_t vocabulary)
{
    hpc_tokenizer_train_options o = HPC_TOKENIZER_TRAIN_DEFAULTS;
    hpc_test_built(folder, "hpccoder-spm.so");
    *strrchr(folder, '/') = '\0';
    o.vocabulary = vocabulary;
    o.marks = marks;
    o.library = folder;
    return o;
}

static int train(hpc_buf *model, const hpc_tokenizer_train_options *o, int64_t fail_at)
{
    texts t;
    texts_open(&t);
    t.fail_at = fail_at;
    const hpc_tokenizer_text from = {.next = next_text, .user = &t};
    int rc = hpc_tokenizer_train(model, &from, o);
    texts_close(&t);
    return rc;
}

/* ---- the result ----------------------------------------------------------------------------- */

static void the_same_each_time(void **state)
{
    (void)state;
    SPM_NEED(library)
    char folder[PATH_MAX];
    hpc_buf a = {0}, b = {0}, c = {0};
    hpc_tokenizer_train_options o = options_of(folder, 1200);
    test_ok(train(&a, &o, -1));
    o.threads = 7;
    test_ok(train(&b, &o, -1));
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    o.bytes = 20000;
    test_ok(train(&c, &o, -1));
    assert_false(c.n == a.n && memcmp(c.data, a.data, a.n) == 0);
    hpc_buf_release(&a);
    hpc_buf_release(&b);
    hpc_buf_release(&c);
}

static void one_piece(const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text)
{
    hpc_ids ids = {0};
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, strlen(text), 0));
    if (ids.n != 1) fail_msg("'%s' is %lld pieces", text, (long long)ids.n);
    hpc_free(ids.id);
}

static void pieces_of(const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text,
                      const char *wanted)
{
    hpc_ids ids = {0};
    hpc_buf got = {0};
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, strlen(text), 0));
    for (int64_t i = 0; i < ids.n; i++) {
        if (i > 0) hpc_buf_text(&got, "|");
        test_ok(hpc_tokenizer_decode(&got, t, &ids.id[i], 1, false));
    }
    assert_string_equal(got.data, wanted);
    hpc_free(ids.id);
    hpc_buf_release(&got);
}

static void has_fixed_pieces(void **state)
{
    (void)state;
    SPM_NEED(library)
    char folder[PATH_MAX], run[64];
    hpc_buf m = {0};
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
    hpc_tokenizer_train_options o = options_of(folder, 1200);
    hpc_arena *a = hpc_arena_create(0);
    test_ok(train(&m, &o, -1));
    test_ok(hpc_tokenizer_open_model(&t, m.data, m.n, "m"));
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    assert_int_equal(hpc_tokenizer_n(t), 1200);
    for (const char *const *p = tokenizer_default_pieces(a); *p; p++) one_piece(t, s, *p);
    for (int n = 1; n <= 32; n++) {
        memset(run, ' ', sizeof run);
        run[n] = '\0';
        one_piece(t, s, run);
    }
    pieces_of(t, s, "\n    \t\t\r\n", "\n|    |\t\t|\r\n");
    pieces_of(t, s, "  #pragma omp parallel for reduction(+:\n",
              "  |#pragma omp parallel for| reduction(+:|\n");
    pieces_of(t, s, "2024 1e10", "2|0|2|4| |1|e|1|0");
    assert_int_equal(hpc_tokenizer_find(t, "<fim_prefix>"), 3);
    assert_int_equal(hpc_tokenizer_find(t, "<fim_middle>"), 4);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
    hpc_buf_release(&m);
    hpc_arena_free(a);
}

/* The library reads what it made, and finds the same ids in other text. */
static void is_read_by_the_library(void **state)
{
    (void)state;
    SPM_NEED(library)
    char folder[PATH_MAX], error[HPC_SPM_ERROR_BYTES] = "";
    hpc_buf m = {0}, text = {0}, back = {0};
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
    hpc_spm_model *theirs;
    hpc_ids ids = {0};
    int32_t *wanted;
    size_t n;
    hpc_tokenizer_train_options o = options_of(folder, 2000);
    test_ok(train(&m, &o, -1));
    test_ok(hpc_tokenizer_open_model(&t, m.data, m.n, "m"));
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    if (library->open(&theirs, m.data, m.n, error)) fail_msg("%s", error);
    test_ok(hpc_file_read(&text, "runtime/program/place.c", 1 << 20));
    test_ok(hpc_tokenizer_encode(&ids, t, s, text.data, text.n, 0));
    if (library->encode(&wanted, &n, theirs, text.data, text.n, error)) fail_msg("%s", error);
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.id, wanted, n * sizeof *wanted);
    test_ok(hpc_tokenizer_decode(&back, t, ids.id, ids.n, false));
    assert_int_equal(back.n, text.n);
    assert_memory_equal(back.data, text.data, text.n);
    library->release(wanted);
    library->close(theirs);
    hpc_free(ids.id);
    hpc_buf_release(&m);
    hpc_buf_release(&text);
    hpc_buf_release(&back);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
}

/* Pieces of the caller's own, none of the usual ones. */
static void takes_other_pieces(void **state)
{
    (void)state;
    SPM_NEED(library)
    static const char *const pieces[] = {"a,\"b\" c", ",", "\"", "\n", NULL};
    char folder[PATH_MAX];
    hpc_buf m = {0};
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
    hpc_tokenizer_train_options o = options_of(folder, 600);
    o.pieces = pieces;
    test_ok(train(&m, &o, -1));
    test_ok(hpc_tokenizer_open_model(&t, m.data, m.n, "m"));
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    for (const char *const *p = pieces; *p; p++) one_piece(t, s, *p);
    pieces_of(t, s, "a,\"b\" c,", "a,\"b\" c|,");
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
    hpc_buf_release(&m);
}

/* ---- the .json ------------------------------------------------------------------------------ */

static void writes_a_json(void **state)
{
    (void)state;
    hpc_tokenizer *t = spm_fixture("ours"), *llama = spm_fixture("llama");
    hpc_buf out = {0};
    hpc_json *root = NULL;
    test_ok(hpc_tokenizer_write_json(&out, t));
    test_ok(hpc_json_parse(&root, out.data, out.n, "json"));
    const hpc_json *model = hpc_json_get(root, "model"),
                   *added = hpc_json_get(root, "added_tokens");
    int64_t id;
    const char *text;
    assert_int_equal(hpc_json_n(hpc_json_get(model, "vocab")), 1000);
    test_ok(hpc_json_int(&id, hpc_json_get(hpc_json_get(model, "vocab"), "#pragma omp"), "id"));
    assert_int_equal(id, hpc_tokenizer_find(t, "#pragma\xE2\x96\x81omp"));
    test_ok(hpc_json_text(&text, hpc_json_get(hpc_json_at(added, 0), "content"), "content"));
    assert_string_equal(text, "<s>");
    const hpc_json *first = hpc_json_at(hpc_json_get(model, "merges"), 0);
    assert_int_equal(hpc_json_n(first), 2);
    hpc_json_free(root);
    out.n = 0;
    test_fails(hpc_tokenizer_write_json(&out, llama), HPC_E_UNSUPPORTED, "changes text");
    hpc_buf_release(&out);
    hpc_tokenizer_close(t);
    hpc_tokenizer_close(llama);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static int no_text(const char **text, size_t *n, void *user)
{
    (void)text;
    (void)n;
    (void)user;
    return 0;
}

static void refuses(void **state)
{
    (void)state;
    SPM_NEED(library)
    static const char *const twice[] = {"xy", "xy", NULL}, *const empty[] = {"", NULL},
                             *const broken[] = {"\xFF", NULL},
                             *const blank[] = {"a\xE2\x96\x81", NULL};
    const hpc_tokenizer_text nothing = {.next = no_text};
    char folder[PATH_MAX];
    hpc_buf m = {0};
    hpc_tokenizer_train_options o = options_of(folder, 100);
    test_fails(train(&m, &o, -1), HPC_E_ARG, "vocabulary of 100");
    o.vocabulary = 2000;
    test_fails(train(&m, &o, 3), HPC_E_IO, "no more to be had");
    test_fails(hpc_tokenizer_train(&m, &nothing, &o), HPC_E_ARG, "no text");
    o.pieces = twice;
    test_fails(train(&m, &o, -1), HPC_E_ARG, "'xy' occurs twice");
    o.pieces = empty;
    test_fails(train(&m, &o, -1), HPC_E_ARG, "0 bytes");
    o.pieces = broken;
    test_fails(train(&m, &o, -1), HPC_E_ARG, "UTF-8");
    o.pieces = blank;
    test_fails(train(&m, &o, -1), HPC_E_ARG, "U+2581");
    o.pieces = NULL;
    o.library = "/nowhere";
    test_fails(train(&m, &o, -1), HPC_E_UNSUPPORTED, "libsentencepiece-dev");
    assert_int_equal(m.n, 0);
    hpc_buf_release(&m);
}

/* More pieces than the text has: fewer come out. */
static void has_fewer_pieces_than_asked(void **state)
{
    (void)state;
    SPM_NEED(library)
    char folder[PATH_MAX];
    hpc_buf m = {0};
    hpc_tokenizer *t;
    hpc_tokenizer_train_options o = options_of(folder, 30000);
    o.bytes = 3000;
    test_ok(train(&m, &o, -1));
    test_ok(hpc_tokenizer_open_model(&t, m.data, m.n, "m"));
    assert_in_range(hpc_tokenizer_n(t), 700, 3000);
    hpc_tokenizer_close(t);
    hpc_buf_release(&m);
}

static int train_little(void *user)
{
    static const char *const pieces[] = {"\n", NULL};
    hpc_tokenizer_train_options *o = user;
    hpc_buf m = {0};
    texts t = {.fail_at = -1, .n = 1, .name = "arena.c"};
    const hpc_tokenizer_text from = {.next = next_text, .user = &t};
    o->pieces = pieces;
    int rc = hpc_tokenizer_train(&m, &from, o);
    hpc_buf_release(&t.text);
    hpc_buf_release(&m);
    return rc;
}

static void survives_failures(void **state)
{
    (void)state;
    SPM_NEED(library)
    char folder[PATH_MAX];
    hpc_tokenizer_train_options o = options_of(folder, 450);
    o.bytes = 2000;
    assert_true(hpc_test_each_alloc(train_little, &o) > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_same_each_time, setup),
        cmocka_unit_test_setup(has_fixed_pieces, setup),
        cmocka_unit_test_setup(is_read_by_the_library, setup),
        cmocka_unit_test_setup(takes_other_pieces, setup),
        cmocka_unit_test_setup(writes_a_json, setup),
        cmocka_unit_test_setup(refuses, setup),
        cmocka_unit_test_setup(has_fewer_pieces_than_asked, setup),
        cmocka_unit_test_setup(survives_failures, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

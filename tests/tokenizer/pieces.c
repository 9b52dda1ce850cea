/*
 * pieces.c: a tokenizer.model built from pieces: its contents when opened, the library's reading
 * of it, and errors.
 */
/* tsan: left out, starts no thread. */
#include <math.h>
#include <stdlib.h>

#include "tests/tokenizer/spm_model.h"

#include "tests/support/fault.h"
#include "tests/support/expect.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* A small tokenizer with everything in it; with or without pieces of bytes. */
enum { WORDS = 10, BYTES = 256 };
typedef struct given {
    hpc_tokenizer_given piece[WORDS + BYTES];
    char byte[BYTES][8];
    hpc_tokenizer_pieces p;
} given;

static void make(given *g, bool bytes)
{
    static const hpc_tokenizer_given words[WORDS] = {{"<unk>", 0, SPM_UNKNOWN},
                                                     {"<s>", 0, SPM_CONTROL},
                                                     {"</s>", 0, SPM_CONTROL},
                                                     {"a", -4, SPM_NORMAL},
                                                     {"b", -5, SPM_NORMAL},
                                                     {"ab", -1, SPM_NORMAL},
                                                     {"\xE2\x96\x81", -6, SPM_NORMAL},
                                                     {"\xE2\x96\x81"
                                                      "ab",
                                                      -2, SPM_NORMAL},
                                                     {"   ", 0, SPM_USER},
                                                     {"\xC3\xA4", -7, SPM_NORMAL}};
    memcpy(g->piece, words, sizeof words);
    for (unsigned k = 0; k < BYTES; k++) {
        snprintf(g->byte[k], sizeof g->byte[k], "<0x%02X>", k);
        g->piece[WORDS + k] = (hpc_tokenizer_given){g->byte[k], 0, SPM_BYTE};
    }
    g->p = (hpc_tokenizer_pieces){.name = "x.gguf",
                                  .piece = g->piece,
                                  .n = bytes ? WORDS + BYTES : WORDS,
                                  .special = {.unknown = 0, .begin = 1, .end = 2, .pad = -1}};
}

static hpc_tokenizer *opened(hpc_buf *file, const given *g)
{
    hpc_tokenizer *t;
    file->n = 0;
    test_ok(hpc_tokenizer_make_model(file, &g->p));
    test_ok(hpc_tokenizer_open_model(&t, file->data, file->n, "m"));
    return t;
}

static hpc_ids encoded(const hpc_tokenizer *t, const char *text)
{
    hpc_tokenizer_scratch *s;
    hpc_ids ids = {0};
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, strlen(text), 0));
    hpc_tokenizer_scratch_free(s);
    return ids;
}

static void are(const hpc_tokenizer *t, const char *text, const int32_t *id, int64_t n)
{
    hpc_ids ids = encoded(t, text);
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.id, id, (size_t)n * sizeof *id);
    hpc_free(ids.id);
}

static void says_what_was_given(void **state)
{
    (void)state;
    hpc_buf file = {0};
    given g;
    make(&g, true);
    hpc_tokenizer *t = opened(&file, &g);
    hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    assert_int_equal(hpc_tokenizer_n(t), WORDS + BYTES);
    assert_true(s.unknown == 0 && s.begin == 1 && s.end == 2 && s.pad == -1);
    assert_false(s.dummy_prefix || s.normalises || s.add_begin || s.add_end);
    for (int32_t id = 0; id < hpc_tokenizer_n(t); id++) {
        float score;
        assert_int_equal(hpc_tokenizer_piece_type(&score, t, id), g.piece[id].type);
        assert_true(score == g.piece[id].score);
        if (id != 8) assert_string_equal(hpc_tokenizer_piece(t, id, NULL), g.piece[id].text);
    }
    assert_string_equal(hpc_tokenizer_piece(t, 8, NULL), "\xE2\x96\x81\xE2\x96\x81\xE2\x96\x81");
    are(t, "ab ab   b\n", (const int32_t[]){5, 7, 8, 4, WORDS + '\n'}, 5);
    hpc_tokenizer_close(t);
    g.p.special.dummy_prefix = true;
    g.p.special.pad = 3; /* no control piece, so that the file cannot say it */
    t = opened(&file, &g);
    assert_true(hpc_tokenizer_specials(t).dummy_prefix);
    assert_int_equal(hpc_tokenizer_specials(t).pad, -1);
    are(t, "ab", (const int32_t[]){7}, 1);
    hpc_tokenizer_close(t);
    make(&g, false);
    t = opened(&file, &g);
    are(t, "azz", (const int32_t[]){3, 0}, 2);
    hpc_tokenizer_close(t);
    hpc_buf_release(&file);
}

static void the_library_reads_it_alike(void **state)
{
    (void)state;
    static const char *const texts[] = {"ab ab   b\n", "a", "\xC3\xA4 ab\tb", "    ab", "xyz a"};
    char error[HPC_SPM_ERROR_BYTES] = "";
    hpc_spm_model *theirs;
    hpc_buf file = {0};
    given g;
    SPM_NEED(library);
    for (int k = 0; k < 4; k++) {
        make(&g, k & 1);
        g.p.special.dummy_prefix = k & 2;
        hpc_tokenizer *t = opened(&file, &g);
        if (library->open(&theirs, file.data, file.n, error) != 0) fail_msg("%s", error);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            int32_t *id;
            size_t n;
            if (library->encode(&id, &n, theirs, texts[i], strlen(texts[i]), error))
                fail_msg("%s", error);
            are(t, texts[i], id, (int64_t)n);
            library->release(id);
        }
        library->close(theirs);
        hpc_tokenizer_close(t);
    }
    hpc_buf_release(&file);
}

static void unused_pieces_at_the_end_go(void **state)
{
    (void)state;
    hpc_buf file = {0};
    given g;
    make(&g, false);
    g.piece[9].type = g.piece[8].type = SPM_UNUSED;
    g.piece[4].type = SPM_UNUSED;
    hpc_tokenizer *t = opened(&file, &g);
    float score;
    assert_int_equal(hpc_tokenizer_n(t), 8);
    assert_int_equal(hpc_tokenizer_piece_type(&score, t, 4), SPM_UNUSED);
    hpc_tokenizer_close(t);
    hpc_buf_release(&file);
}

static void the_unknown_piece_is_found(void **state)
{
    (void)state;
    hpc_buf file = {0};
    float score;
    given g;
    make(&g, false);
    g.piece[0].type = SPM_CONTROL;
    g.p.special.unknown = 9;
    hpc_tokenizer *t = opened(&file, &g);
    assert_int_equal(hpc_tokenizer_piece_type(&score, t, 9), SPM_UNKNOWN);
    hpc_tokenizer_close(t);
    g.p.special.unknown = -1;
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_FORMAT,
               "x.gguf: there is no unknown token (of type 2)");
    g.piece[3].type = SPM_UNKNOWN; /* the piece goes before the id */
    g.p.special.unknown = 0;
    t = opened(&file, &g);
    assert_int_equal(hpc_tokenizer_specials(t).unknown, 3);
    hpc_tokenizer_close(t);
    hpc_buf_release(&file);
}

static void what_does_not_fit_is_named(void **state)
{
    (void)state;
    static char big[1026];
    hpc_buf file = {0};
    given g;
    make(&g, true);
    memset(big, ' ', 400); /* three bytes each in the file */
    g.piece[8].text = big;
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_UNSUPPORTED,
               "x.gguf: token 8 has 1200 bytes, at most 1024");
    memset(big, 'x', 1025);
    g.piece[8].type = SPM_NORMAL;
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_UNSUPPORTED,
               "x.gguf: token 8 has 1025 bytes, at most 1024");
    make(&g, true);
    g.piece[5].text = "";
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_FORMAT, "x.gguf: token 5 is empty");
    g.piece[5].text = "a\xC3";
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_FORMAT, "token 5 is not UTF-8");
    make(&g, true);
    for (int type = 0; type <= 7; type += 7) {
        g.piece[5].type = type;
        test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_FORMAT, "token 5 is of type");
    }
    make(&g, true);
    g.piece[5].score = NAN;
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_FORMAT,
               "the score of token 5 is not a number");
    make(&g, true);
    g.p.special.end = WORDS + BYTES;
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_FORMAT,
               "special token 266 is not one of the 266 tokens");
    g.p.special.end = -2;
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_FORMAT,
               "special token -2 is not one of");
    g.p.special.end = -1;
    g.p.n = ((int64_t)1 << 24) + 1; /* rejected before any is read */
    test_fails(hpc_tokenizer_make_model(&file, &g.p), HPC_E_UNSUPPORTED, "more than 16777216");
    hpc_buf_release(&file);
}

static void specials_can_be_told(void **state)
{
    (void)state;
    hpc_buf file = {0};
    given g;
    make(&g, false);
    hpc_tokenizer *t = opened(&file, &g);
    hpc_tokenizer_special s = {.begin = 3, .end = -1, .pad = 4, .add_begin = true, .unknown = 7};
    test_ok(hpc_tokenizer_set_specials(t, &s));
    s = hpc_tokenizer_specials(t);
    assert_true(s.begin == 3 && s.end == -1 && s.pad == 4 && s.add_begin && !s.add_end);
    assert_int_equal(s.unknown, 0);
    s.end = WORDS;
    test_fails(hpc_tokenizer_set_specials(t, &s), HPC_E_ARG,
               "token 10 is not one of the tokenizer's");
    s.end = -2;
    test_fails(hpc_tokenizer_set_specials(t, &s), HPC_E_ARG, "token -2 is not one of");
    assert_int_equal(hpc_tokenizer_specials(t).end, -1);
    hpc_tokenizer_close(t);
    hpc_buf_release(&file);
}

static int make_once(void *given_pieces)
{
    const given *g = given_pieces;
    hpc_buf file = {0};
    int rc = hpc_tokenizer_make_model(&file, &g->p);
    hpc_buf_release(&file);
    return rc;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    given g;
    make(&g, true);
    assert_true(hpc_test_each_alloc(make_once, &g) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(says_what_was_given, setup),
        cmocka_unit_test_setup(the_library_reads_it_alike, setup),
        cmocka_unit_test_setup(unused_pieces_at_the_end_go, setup),
        cmocka_unit_test_setup(the_unknown_piece_is_found, setup),
        cmocka_unit_test_setup(what_does_not_fit_is_named, setup),
        cmocka_unit_test_setup(specials_can_be_told, setup),
        cmocka_unit_test_setup(each_allocation_may_fail, setup),
    };
    return cmocka_run_group_tests_name("tokenizer/pieces", tests, NULL, NULL);
}

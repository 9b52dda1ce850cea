/*
 * pieces_json.c: a tokenizer.json built from pieces and merges: its contents when opened, and
 * errors.
 */
/* tsan: left out, starts no thread. */
#include "tests/tokenizer/small.h"

#include "tests/support/fault.h"
#include "tests/support/expect.h"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* Pieces of all bytes at their own ids, but for one that UTF-8 never has, and a few words. */
enum { FIRST = 256, END = FIRST + 4, BLANKS, UNK, AB, LETTER, PAD, N };
typedef struct given {
    hpc_tokenizer_given piece[N];
    char byte[FIRST][4];
    const char *merge[4];
    hpc_tokenizer_step step[3];
    hpc_tokenizer_pieces p;
} given;

static void spell(char out[4], unsigned byte, unsigned *next)
{
    bool itself = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    unsigned point = itself ? byte : (*next)++;
    if (point < 0x80) {
        snprintf(out, 4, "%c", (char)point);
    } else {
        out[0] = (char)(0xC0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3F));
        out[2] = '\0';
    }
}

static void make(given *g)
{
    static const hpc_tokenizer_given words[N - FIRST] = {
        {"in", 0, NORMAL},     {"int", 0, NORMAL},  {"\xC4\xA0in", 0, NORMAL}, {"abc", 0, NORMAL},
        {"<end>", 0, CONTROL}, {"  ", 0, USER},     {"<unk>", 0, UNKNOWN},     {"ab", 0, USER},
        {"\xC3\xB5", 0, USER}, {"[PAD]", 0, UNUSED}}; /* the letter is spelled like byte 0xF5 */
    unsigned next = 0x100;
    *g = (given){.merge = {"i n", "in t", "a b", "\xC4\xA0 in"},
                 .step = {{HPC_STEP_DIGITS, NULL}, {HPC_STEP_WORDS, NULL}}};
    for (unsigned k = 0; k < FIRST; k++) {
        spell(g->byte[k], k, &next);
        g->piece[k] = (hpc_tokenizer_given){g->byte[k], 0, NORMAL};
    }
    g->piece[0xF5].text = "fill";
    memcpy(g->piece + FIRST, words, sizeof words);
    g->p = (hpc_tokenizer_pieces){.name = "x.gguf",
                                  .piece = g->piece,
                                  .n = N,
                                  .special = {.unknown = -1, .begin = -1, .end = -1, .pad = -1},
                                  .step = g->step,
                                  .merge = g->merge,
                                  .merges_n = 4};
}

static hpc_tokenizer *opened(const given *g)
{
    hpc_buf file = {0};
    hpc_tokenizer *t;
    test_ok(hpc_tokenizer_make_json(&file, &g->p));
    test_ok(hpc_tokenizer_open_json(&t, file.data, file.n, "t"));
    hpc_buf_release(&file);
    return t;
}

static void are(const hpc_tokenizer *t, const char *text, unsigned flags, const int32_t *id,
                int64_t n)
{
    hpc_tokenizer_scratch *s;
    hpc_ids ids = {0};
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, strlen(text), flags));
    assert_int_equal(ids.n, n);
    assert_memory_equal(ids.id, id, (size_t)n * sizeof *id);
    hpc_free(ids.id);
    hpc_tokenizer_scratch_free(s);
}

static void says_what_was_given(void **state)
{
    (void)state;
    static const int types[PAD - FIRST] = {1, 1, 1, 1, 3, 4, 3, 4, 4};
    given g;
    make(&g);
    hpc_tokenizer *t = opened(&g);
    hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    assert_int_equal(hpc_tokenizer_n(t), PAD);
    assert_true(s.unknown == -1 && s.begin == -1 && s.end == -1);
    assert_false(s.add_begin || s.add_end);
    for (int32_t id = FIRST; id < PAD; id++) {
        float score;
        const char *text = hpc_tokenizer_piece(t, id, NULL);
        assert_int_equal(hpc_tokenizer_piece_type(&score, t, id), types[id - FIRST]);
        assert_string_equal(text, g.piece[id].text);
    }
    are(t, "int 12 in", 0, (const int32_t[]){FIRST + 1, ' ', '1', '2', FIRST + 2}, 5);
    are(t, "a<end>", HPC_ENCODE_SPECIALS, (const int32_t[]){'a', END}, 2);
    are(t, "a<unk>", HPC_ENCODE_SPECIALS, (const int32_t[]){'a', UNK}, 2);
    are(t, "<end>", 0, (const int32_t[]){'<', 'e', 'n', 'd', '>'}, 5);
    are(t, "a  b", 0, (const int32_t[]){'a', BLANKS, 'b'}, 3);
    are(t, "abc", 0, (const int32_t[]){AB, 'c'}, 2);
    hpc_tokenizer_close(t);
}

/* The token that looks like a byte stands for its letter, and never for that byte. */
static void a_token_spelled_like_a_byte_is_none(void **state)
{
    (void)state;
    given g;
    hpc_buf text = {0};
    make(&g);
    hpc_tokenizer *t = opened(&g);
    are(t, "\xC3\xB5", 0, (const int32_t[]){LETTER}, 1);
    are(t, "\xF5", 0, (const int32_t[]){0xEF, 0xBF, 0xBD}, 3);
    test_ok(hpc_tokenizer_decode(&text, t, (const int32_t[]){LETTER}, 1, false));
    assert_string_equal(text.data, "\xC3\xB5");
    hpc_buf_release(&text);
    hpc_tokenizer_close(t);
}

static bool in_vocab(const given *g, const char *piece)
{
    hpc_buf file = {0};
    hpc_json *root;
    test_ok(hpc_tokenizer_make_json(&file, &g->p));
    test_ok(hpc_json_parse(&root, file.data, file.n, "t"));
    bool is = hpc_json_get(hpc_json_get(hpc_json_get(root, "model"), "vocab"), piece);
    hpc_json_free(root);
    hpc_buf_release(&file);
    return is;
}

/* The tokenizers library numbers added tokens that are not in the vocabulary itself,
 * following it. */
static void added_tokens_get_their_ids_elsewhere(void **state)
{
    (void)state;
    given g;
    make(&g);
    assert_true(in_vocab(&g, "ab")); /* produced by a merge */
    assert_true(in_vocab(&g, "<end>") && in_vocab(&g, "  "));
    assert_false(in_vocab(&g, "\xC3\xB5"));
    g.merge[2] = "i n";
    g.p.merges_n = 2;
    assert_false(in_vocab(&g, "<end>") || in_vocab(&g, "ab") || in_vocab(&g, "\xC3\xB5"));
    g.piece[UNK].type = NORMAL;
    assert_true(in_vocab(&g, "<end>") && in_vocab(&g, "  "));
    assert_false(in_vocab(&g, "ab") || in_vocab(&g, "[PAD]"));
    g.piece[UNK].type = UNUSED; /* a gap */
    assert_true(in_vocab(&g, "<end>") && in_vocab(&g, "ab"));
    assert_false(in_vocab(&g, "<unk>") || in_vocab(&g, "[PAD]"));
}

static void flags_and_ids_are_kept(void **state)
{
    (void)state;
    given g;
    make(&g);
    g.p.special = (hpc_tokenizer_special){
        .unknown = UNK, .begin = END, .end = END, .pad = -1, .add_begin = true};
    hpc_tokenizer *t = opened(&g);
    hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    assert_true(s.unknown == UNK && s.begin == END);
    assert_true(s.add_begin && !s.add_end);
    hpc_tokenizer_close(t);
    g.p.special.add_end = true;
    t = opened(&g);
    s = hpc_tokenizer_specials(t);
    assert_true(s.begin == END && s.end == END && s.add_begin && s.add_end);
    hpc_tokenizer_close(t);
    g.p.special.add_begin = false;
    g.p.special.end = FIRST;
    t = opened(&g);
    s = hpc_tokenizer_specials(t);
    assert_true(s.end == FIRST && !s.add_begin && s.add_end);
    hpc_tokenizer_close(t);
    make(&g);
    t = opened(&g);
    are(t, "abc", 0, (const int32_t[]){AB, 'c'}, 2);
    are(t, "xabc", 0, (const int32_t[]){'x', AB, 'c'}, 3);
    hpc_tokenizer_close(t);
    g.piece[AB].type = NORMAL;
    t = opened(&g);
    are(t, "abc", 0, (const int32_t[]){AB, 'c'}, 2);
    hpc_tokenizer_close(t);
    g.p.whole_words = true;
    t = opened(&g);
    are(t, "abc", 0, (const int32_t[]){FIRST + 3}, 1);
    hpc_tokenizer_close(t);
}

static void steps_are_taken(void **state)
{
    (void)state;
    given g;
    make(&g);
    g.step[0] = (hpc_tokenizer_step){HPC_STEP_SPLIT, "[ab]"};
    g.step[1] = (hpc_tokenizer_step){HPC_STEP_BYTES, NULL};
    g.piece[AB].type = NORMAL;
    hpc_tokenizer *t = opened(&g);
    are(t, "ab in", 0, (const int32_t[]){'a', 'b', FIRST + 2}, 3);
    hpc_tokenizer_close(t);
    g.step[0] = g.step[1];
    g.step[1].kind = HPC_STEP_END;
    t = opened(&g);
    are(t, "ab in12", 0, (const int32_t[]){AB, FIRST + 2, '1', '2'}, 4);
    hpc_tokenizer_close(t);
}

static void what_does_not_fit_is_named(void **state)
{
    (void)state;
    hpc_buf file = {0};
    given g;
    make(&g);
    g.piece[FIRST + 1].text = "in";
    test_fails(hpc_tokenizer_make_json(&file, &g.p), HPC_E_FORMAT,
               "x.gguf: tokens 256 and 257 have the same text");
    make(&g);
    g.piece[FIRST + 1].text = "\xFF";
    test_fails(hpc_tokenizer_make_json(&file, &g.p), HPC_E_FORMAT, "token 257 is not UTF-8");
    make(&g);
    g.piece[FIRST + 1].type = 9;
    test_fails(hpc_tokenizer_make_json(&file, &g.p), HPC_E_FORMAT, "token 257 is of type 9");
    make(&g);
    g.p.special.begin = N;
    test_fails(hpc_tokenizer_make_json(&file, &g.p), HPC_E_FORMAT,
               "special token 266 is not one of");
    static const struct {
        const char *merge, *says;
    } cases[] = {{"", "merge 1 is not a pair of tokens with a blank between them"},
                 {" ", "merge 1 is not a pair"},
                 {"in", "merge 1 is not a pair"},
                 {" in", "merge 1 is not a pair"},
                 {"in ", "the second part of merge 1 is not a token"},
                 {"in t t", "merge 1 is not a pair"},
                 {"xx t", "the first part of merge 1"},
                 {"t i", "the result of merge 1"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        make(&g);
        g.merge[1] = cases[k].merge;
        test_fails(hpc_tokenizer_make_json(&file, &g.p), HPC_E_FORMAT, cases[k].says);
    }
    hpc_buf_release(&file);
}

static int make_once(void *given_pieces)
{
    const given *g = given_pieces;
    hpc_buf file = {0};
    int rc = hpc_tokenizer_make_json(&file, &g->p);
    hpc_buf_release(&file);
    return rc;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    given g;
    make(&g);
    assert_true(hpc_test_each_alloc(make_once, &g) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(says_what_was_given, setup),
        cmocka_unit_test_setup(a_token_spelled_like_a_byte_is_none, setup),
        cmocka_unit_test_setup(added_tokens_get_their_ids_elsewhere, setup),
        cmocka_unit_test_setup(flags_and_ids_are_kept, setup),
        cmocka_unit_test_setup(steps_are_taken, setup),
        cmocka_unit_test_setup(what_does_not_fit_is_named, setup),
        cmocka_unit_test_setup(each_allocation_may_fail, setup),
    };
    return cmocka_run_group_tests_name("tokenizer/pieces_json", tests, NULL, NULL);
}

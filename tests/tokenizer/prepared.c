/*
 * Tests of tokenizer/prepared.c: the prepared form has the contents of the file; damaged or
 * inconsistent forms are rejected. byte_level.c compares ids.
 */
/* tsan: left out, starts no thread. */
#include <stdlib.h>

#include "runtime/base/bytes.h"
#include "tests/support/fault.h"
#include "tests/tokenizer/small.h"

enum { REST = 24, PIECES = 28, MERGES = 32, TEXT = 36, HEAD = 40 };

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static hpc_buf form_of(const char *family)
{
    hpc_buf text = {0}, form = {0};
    small_text(&text, family, NULL, NULL);
    assert_int_equal(hpc_tokenizer_prepare(&form, text.data, text.n, "t.json"), 0);
    hpc_buf_release(&text);
    return form;
}

static void check_pieces(const hpc_tokenizer *a, const hpc_tokenizer *b)
{
    assert_int_equal(hpc_tokenizer_n(a), hpc_tokenizer_n(b));
    for (int32_t id = 0; id < hpc_tokenizer_n(a); id++) {
        size_t n, m;
        float score;
        const char *x = hpc_tokenizer_piece(a, id, &n), *y = hpc_tokenizer_piece(b, id, &m);
        assert_true(!x == !y && n == m);
        if (!x) continue;
        assert_string_equal(x, y);
        assert_int_equal(hpc_tokenizer_piece_type(&score, a, id),
                         hpc_tokenizer_piece_type(&score, b, id));
        assert_int_equal(hpc_tokenizer_find(a, x), hpc_tokenizer_find(b, x));
    }
}

static void test_says_what_the_file_says(void **state)
{
    (void)state;
    static const char *const families[] = {"classes", "gpt2",  "llama3", "qwen2",      "starcoder2",
                                           "empty",   "strip", "o200k",  "deepseek_v3"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        hpc_tokenizer *a = small_open(families[f], NULL, NULL), *b;
        b = small_open_prepared(families[f]);
        hpc_hash128 x = hpc_tokenizer_hash(a), y = hpc_tokenizer_hash(b);
        hpc_tokenizer_special s = hpc_tokenizer_specials(a), t = hpc_tokenizer_specials(b);
        assert_true(x.low == y.low && x.high == y.high);
        assert_string_equal(hpc_tokenizer_kind(a), hpc_tokenizer_kind(b));
        assert_true(s.begin == t.begin && s.end == t.end && s.pad == t.pad &&
                    s.unknown == t.unknown && s.add_begin == t.add_begin && s.add_end == t.add_end);
        check_pieces(a, b);
        hpc_tokenizer_close(a);
        hpc_tokenizer_close(b);
    }
}

static void test_what_is_no_tokenizer_is_not_prepared(void **state)
{
    (void)state;
    hpc_buf form = {0};
    assert_int_equal(hpc_tokenizer_prepare(&form, "{}", 2, "t.json"), HPC_E_FORMAT);
    assert_string_equal(hpc_error_get()->text, "t.json: no model");
    assert_int_equal(form.n, 0);
    hpc_buf_release(&form);
}

/* ---- lies ------------------------------------------------------------------------------------ */

/* No byte longer than it is. */
static int open_form(const hpc_buf *form, size_t n)
{
    hpc_tokenizer *t;
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, form->data, n);
    int rc = hpc_tokenizer_open_prepared(&t, copy, n, "t.packed");
    free(copy);
    assert_int_equal(rc < 0, t == NULL);
    if (rc >= 0) small_use(t);
    return rc;
}

/* The number at `at`, little-endian, as another one. */
static void check_lie(const hpc_buf *form, size_t at, uint32_t number, const char *message)
{
    uint8_t *p = (uint8_t *)form->data + at;
    uint32_t was = hpc_get32(p);
    hpc_put32(p, number);
    assert_int_equal(open_form(form, form->n), HPC_E_FORMAT);
    if (!strstr(hpc_error_get()->text, message))
        fail_msg("gave   %s\nwanted %s", hpc_error_get()->text, message);
    hpc_error_clear();
    hpc_put32(p, was);
}

static void test_lies_are_refused(void **state)
{
    (void)state;
    hpc_buf form = form_of("llama3");
    uint8_t *p = (uint8_t *)form.data;
    const uint32_t rest = hpc_get32(p + REST), pieces = hpc_get32(p + PIECES),
                   merges = hpc_get32(p + MERGES), text = hpc_get32(p + TEXT);
    const size_t lengths = HEAD + 4 * pieces, pair = HEAD + 8 * pieces, json = pair + 12 * merges,
                 texts = json + rest;
    static const char damaged[] = "t.packed: the prepared tokenizer is damaged: ";
    assert_true(pieces > 900 && merges > 500 && texts + text == form.n);
    check_lie(&form, 0, 0, damaged);
    check_lie(&form, 0, 0, "its header is wrong");
    check_lie(&form, REST, rest + 1, "its parts exceed its size");
    check_lie(&form, PIECES, UINT32_MAX, "its parts exceed its size");
    check_lie(&form, MERGES, UINT32_MAX, "its parts exceed its size");
    check_lie(&form, TEXT, UINT32_MAX, "its parts exceed its size");
    check_lie(&form, HEAD + 4, 0, "token ids do not ascend");
    check_lie(&form, HEAD + 4 * (pieces - 1), INT32_MAX, "token ids do not ascend");
    check_lie(&form, HEAD + 4 * (pieces - 1), INT32_MAX - 1, "id 2147483646, but only");
    check_lie(&form, lengths, UINT32_MAX, "its tokens are longer than their text");
    check_lie(&form, lengths + 4 * (pieces - 1), 0, "its tokens are shorter than their text");
    check_lie(&form, texts, 0, "a token is not UTF-8");
    check_lie(&form, texts, 0xff, "a token is not UTF-8");
    size_t twice = texts, k = 0; /* two pieces of one byte */
    while (hpc_get32(p + lengths + 4 * k) != 1 || hpc_get32(p + lengths + 4 * k + 4) != 1)
        twice += hpc_get32(p + lengths + 4 * k++);
    const uint32_t letters = hpc_get32(p + twice);
    check_lie(&form, twice, (letters & ~0xff00u) | (letters & 0xff) << 8, "a token occurs twice");
    check_lie(&form, pair, UINT32_MAX, "a merge does not match its token");
    check_lie(&form, pair + 4, INT32_MAX, "a merge does not match its token");
    check_lie(&form, pair + 8, pieces + 100000, "a merge does not match its token");
    check_lie(&form, pair + 8, 0, "a merge does not match its token");
    check_lie(&form, json, 0x20202020, "t.packed:");
    memcpy(p + pair + 12, p + pair, 12);
    check_lie(&form, pair, hpc_get32(p + pair), "model.merges[1]: duplicate pair");
    hpc_buf_release(&form);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    hpc_buf form = form_of("qwen2");
    for (size_t n = 0; n < form.n; n += n < 100 ? 1 : 97) {
        assert_int_equal(open_form(&form, n), HPC_E_FORMAT);
        hpc_error_clear();
    }
    hpc_buf_release(&form);
}

static void test_flipped_bytes(void **state)
{
    (void)state;
    static const char *const families[] = {"strip", "classes", "llama3"};
    int rounds = getenv("HPC_TEST_LONG") ? 5000 : 150;
    uint32_t seed = 1;
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        hpc_buf form = form_of(families[f]);
        for (int i = 0; i < rounds; i++) {
            size_t at = small_random(&seed) % (i % 8 ? form.n : HEAD);
            char old = form.data[at];
            form.data[at] = (char)(old ^ (1 << small_random(&seed) % 8));
            if (open_form(&form, form.n) < 0) assert_true(strlen(hpc_error_get()->text) > 8);
            hpc_error_clear();
            form.data[at] = old;
        }
        hpc_buf_release(&form);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int prepare_and_open(void *user)
{
    const hpc_buf *text = user;
    hpc_buf form = {0};
    hpc_tokenizer *t = NULL;
    int rc = hpc_tokenizer_prepare(&form, text->data, text->n, "t.json");
    if (rc >= 0) rc = hpc_tokenizer_open_prepared(&t, form.data, form.n, "t.packed");
    hpc_tokenizer_close(t);
    hpc_buf_release(&form);
    return rc;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    hpc_buf text = {0};
    small_text(&text, "strip", NULL, NULL);
    assert_true(hpc_test_each_alloc(prepare_and_open, &text) > 40);
    hpc_buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_says_what_the_file_says, setup),
        cmocka_unit_test_setup(test_what_is_no_tokenizer_is_not_prepared, setup),
        cmocka_unit_test_setup(test_lies_are_refused, setup),
        cmocka_unit_test_setup(test_every_cut_is_refused, setup),
        cmocka_unit_test_setup(test_flipped_bytes, setup),
        cmocka_unit_test_setup(test_every_allocation_may_fail, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

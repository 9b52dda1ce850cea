/*
 * Tests of tokenizer/byte_level.c: ids compared with the `tokenizers` package for the same files
 * and texts (tests/fixtures/make_byte_level.py), decoding, invalid UTF-8, cuts, memory.
 */
/* tsan: left out, starts no thread. */
#include <stdlib.h>
#include "tests/support/expect.h"
#include "tests/support/fault.h"
#include "tests/tokenizer/small.h"
#include "tokenizer/byte_level.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static hpc_tokenizer *open_family(const char *family)
{
    hpc_tokenizer *t = small_open(family, NULL, NULL);
    if (!t) fail_msg("%s", hpc_error_get()->text);
    return t;
}

static hpc_json *expected(void)
{
    return hpc_test_json(SMALL_FOLDER "expected.json.zst");
}

typedef struct coding { /* a tokenizer, its scratch, and what came out last */
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
    hpc_ids ids;
    hpc_buf back;
} coding;

static void coding_open(coding *c, hpc_tokenizer *t)
{
    *c = (coding){.t = t};
    assert_int_equal(hpc_tokenizer_scratch_create(&c->s, t), 0);
}

static void coding_close(coding *c)
{
    hpc_tokenizer_scratch_free(c->s);
    hpc_free(c->ids.id);
    hpc_buf_release(&c->back);
    hpc_tokenizer_close(c->t);
}

static void encode(coding *c, const char *text, size_t n, unsigned flags)
{
    c->ids.n = 0;
    if (hpc_tokenizer_encode(&c->ids, c->t, c->s, text, n, flags) < 0) {
        fail_msg("%s", hpc_error_get()->text);
    }
}

static void assert_back(coding *c, const char *text, size_t n)
{
    c->back.n = 0;
    assert_int_equal(hpc_tokenizer_decode(&c->back, c->t, c->ids.id, c->ids.n, false), 0);
    assert_int_equal(c->back.n, n);
    if (n > 0) assert_memory_equal(c->back.data, text, n);
}

/* ---- the package's ids --------------------------------------------------------------- */

static void assert_ids(const coding *c, const hpc_json *want, const char *family, const char *text)
{
    bool same = c->ids.n == hpc_json_n(want);
    for (int64_t i = 0; same && i < c->ids.n; i++) {
        int64_t id = -1;
        assert_int_equal(hpc_json_int(&id, hpc_json_at(want, i), "id"), 0);
        same = id == c->ids.id[i];
    }
    if (!same) fail_msg("%s: other ids for \"%s\"", family, text);
}

/* These change text, so that it does not come back: NFC, a space before it, parts removed. */
static bool comes_back(const char *family)
{
    static const char *const changing[] = {"qwen2", "strip", "merge_previous", "inverted"};
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
        if (strcmp(changing[i], family) == 0) return false;
    }
    return true;
}

static void check_family(const char *family, bool prepared, const hpc_json *texts,
                         const hpc_json *want)
{
    coding c;
    coding_open(&c, prepared ? small_open_prepared(family) : open_family(family));
    for (int64_t i = 0; i < hpc_json_n(texts); i++) {
        const char *text;
        char key[24];
        assert_int_equal(hpc_json_text(&text, hpc_json_at(texts, i), "text"), 0);
        const hpc_json *specials = hpc_json_at(hpc_json_get(want, "specials"), i);
        snprintf(key, sizeof key, "%lld", (long long)i);
        const hpc_json *plain = hpc_json_get(hpc_json_get(want, "text"), key);
        for (int pass = 0; pass < 2; pass++) { /* the second time words come from the cache */
            encode(&c, text, strlen(text), HPC_ENCODE_SPECIALS);
            assert_ids(&c, specials, family, text);
            if (comes_back(family)) assert_back(&c, text, strlen(text));
            encode(&c, text, strlen(text), 0);
            assert_ids(&c, plain ? plain : specials, family, text);
            if (comes_back(family)) assert_back(&c, text, strlen(text));
        }
    }
    coding_close(&c);
}

static void test_ids_are_the_packages(void **state)
{
    (void)state;
    hpc_json *root = expected();
    const hpc_json *families = hpc_json_get(root, "families");
    assert_true(hpc_json_n(families) >= 14);
    for (int64_t i = 0; i < hpc_json_n(families); i++) {
        const hpc_json *want;
        const char *family = hpc_json_key(families, i, &want);
        check_family(family, false, hpc_json_get(root, "texts"), want);
        check_family(family, true, hpc_json_get(root, "texts"), want);
    }
    hpc_json_free(root);
}

/* ---- begin, end, names ---------------------------------------------------------------- */

static void test_specials(void **state)
{
    (void)state;
    coding c;
    coding_open(&c, open_family("llama3"));
    hpc_tokenizer_special s = hpc_tokenizer_specials(c.t);
    assert_string_equal(hpc_tokenizer_kind(c.t), "byte-level");
    assert_int_equal(s.begin, hpc_tokenizer_find(c.t, "<|begin_of_text|>"));
    assert_int_equal(s.end, hpc_tokenizer_find(c.t, "<|end_of_text|>"));
    assert_int_equal(s.unknown, -1);
    assert_true(s.add_begin);
    assert_false(s.add_end);
    encode(&c, "x", 1, HPC_ENCODE_BEGIN | HPC_ENCODE_END);
    assert_int_equal(c.ids.n, 3);
    assert_int_equal(c.ids.id[0], s.begin);
    assert_int_equal(c.ids.id[2], s.end);
    assert_int_equal(hpc_tokenizer_decode(&c.back, c.t, c.ids.id, 3, true), 0);
    assert_string_equal(c.back.data, "x");
    coding_close(&c);

    coding_open(&c, open_family("gpt2"));
    s = hpc_tokenizer_specials(c.t);
    assert_int_equal(s.end, hpc_tokenizer_find(c.t, "<|endoftext|>"));
    assert_false(s.add_begin);
    assert_int_equal(hpc_tokenizer_find(c.t, "\xc4\xa0the") >= 0, 1); /* as the file spells it */
    encode(&c, "<|endoftext|>", 13, HPC_ENCODE_SPECIALS);
    assert_int_equal(c.ids.n, 1);
    assert_int_equal(hpc_tokenizer_decode(&c.back, c.t, &s.end, 1, false), 0);
    assert_string_equal(c.back.data, "<|endoftext|>");
    coding_close(&c);
}

static void test_a_space_before_the_text_is_taken_off(void **state)
{
    (void)state;
    coding c;
    coding_open(&c, open_family("strip"));
    encode(&c, "int x", 5, 0);
    assert_back(&c, "int x", 5);
    int64_t first = c.ids.id[0];
    encode(&c, "int x", 5, HPC_ENCODE_INNER);
    assert_int_not_equal(c.ids.id[0], first);
    encode(&c, " int x", 6, HPC_ENCODE_INNER);
    assert_int_equal(c.ids.id[0], first);
    coding_close(&c);
}

/* ---- bytes that are not UTF-8 ------------------------------------------------------------ */

static void test_any_bytes_come_back(void **state)
{
    (void)state;
    static const char *const families[] = {"gpt2",  "starcoder2", "deepseek_v3", "llama3",
                                           "qwen2", "o200k",      "empty"};
    uint32_t seed = 7;
    char text[96];
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        coding c;
        coding_open(&c, open_family(families[f]));
        for (int i = 0; i < 3000; i++) {
            size_t n = small_random(&seed) % sizeof text;
            for (size_t k = 0; k < n; k++) {
                uint32_t r = small_random(&seed);
                text[k] = (char)(r & 0x100 ? r : r % 96 + 32);
            }
            /* NFC changes random bytes that are UTF-8; Latin-1 has no marks or jamo */
            bool changed = strcmp(families[f], "qwen2") == 0;
            for (size_t k = 0; k < n && changed; k++) {
                if ((uint8_t)text[k] >= 0xcc) text[k] = (char)0xff;
            }
            encode(&c, text, n, HPC_ENCODE_SPECIALS);
            if (getenv("DBG")) fprintf(stderr, "%s %.*s\n", families[f], (int)n, text);
            assert_back(&c, text, n);
        }
        coding_close(&c);
    }
}

/* Of bytes that UTF-8 never has, a vocabulary may lack some: U+FFFD stands for them. */
static void test_a_byte_without_piece(void **state)
{
    (void)state;
    coding c;
    coding_open(&c, small_open("gpt2", "\"\xc3\x80\":", "\"no such byte\":")); /* spells 0xc0 */
    encode(&c, "a\xc0z", 3, 0);
    assert_int_equal(hpc_tokenizer_decode(&c.back, c.t, c.ids.id, c.ids.n, false), 0);
    assert_string_equal(c.back.data, "a\xef\xbf\xbdz");
    coding_close(&c);
    coding_open(&c, small_open("gpt2", "\"\xc4\x84\":", "\"no such byte\":")); /* spells 0x04 */
    encode(&c, "a\x04z", 3, 0);
    assert_int_equal(hpc_tokenizer_decode(&c.back, c.t, c.ids.id, c.ids.n, false), 0);
    assert_string_equal(c.back.data, "az");
    coding_close(&c);
}

/* ---- cutting ----------------------------------------------------------------------------- */

/* At the place that cut() finds in the first `seen` bytes, the ids of the parts are those of the
 * whole; where it finds none, it finds the same later as at once. */
static void check_cut(coding *c, const char *text, size_t n, size_t seen, size_t lo,
                      const hpc_ids *whole, unsigned flags)
{
    size_t p, later;
    if (!c->t->family->cut(&p, c->t, text, seen, lo)) {
        assert_in_range(p, lo, seen);
        bool found = c->t->family->cut(&later, c->t, text, n, p);
        assert_int_equal(c->t->family->cut(&p, c->t, text, n, lo), found);
        assert_int_equal(p, later);
        return;
    }
    assert_true(p >= lo && p < seen);
    encode(c, text, p, flags);
    flags |= HPC_ENCODE_INNER;
    assert_int_equal(hpc_tokenizer_encode(&c->ids, c->t, c->s, text + p, n - p, flags), 0);
    assert_int_equal(c->ids.n, whole->n);
    assert_memory_equal(c->ids.id, whole->id, (size_t)whole->n * sizeof *whole->id);
}

static void check_cuts(coding *c, const char *text, size_t n, unsigned flags, int64_t *places)
{
    hpc_ids whole = {0};
    encode(c, text, n, flags);
    assert_int_equal(tokenizer_ids_append(&whole, c->ids.id, c->ids.n), 0);
    for (size_t lo = 1, p, before = 0; lo < n; lo++, before = p) {
        check_cut(c, text, n, n, lo, &whole, flags);
        check_cut(c, text, n, lo + (n - lo) / 2, lo, &whole, flags);
        *places += c->t->family->cut(&p, c->t, text, n, lo) && p != before;
    }
    hpc_free(whole.id);
}

static void test_cuts_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *family;
        bool cuts;
    } cases[] = {{"gpt2", true},         {"starcoder2", true},  {"deepseek_coder", true},
                 {"deepseek_llm", true}, {"deepseek_v3", true}, {"qwen2", true},
                 {"llama3", true},       {"o200k", false},      {"strip", false},
                 {"merge_next", false},  {"inverted", false}};
    static const char *const parts[] = {"\n",
                                        "\n",
                                        "\r\n",
                                        "\r",
                                        " ",
                                        "\t",
                                        "a",
                                        "Z",
                                        "0",
                                        "12345",
                                        ";",
                                        "'s",
                                        "'",
                                        "\xc3\xa9",
                                        "e\xcc\x81",
                                        "\xe4\xb8\xad",
                                        "_",
                                        "#include",
                                        "}",
                                        "<|EOT|>",
                                        "<|endoftext|>",
                                        "\xff",
                                        "\xc2\xa0",
                                        "\xcc\x81",
                                        "if(x)",
                                        "\xc2\xb2"};
    uint32_t seed = 11;
    for (size_t f = 0; f < sizeof cases / sizeof *cases; f++) {
        coding c;
        int64_t places = 0;
        coding_open(&c, open_family(cases[f].family));
        for (int i = 0; i < 1500; i++) {
            char text[512] = "";
            size_t n = small_random(&seed) % 24 + 2;
            for (size_t k = 0; k < n; k++) {
                strcat(text, parts[small_random(&seed) % (sizeof parts / sizeof *parts)]);
            }
            check_cuts(&c, text, strlen(text), i % 2 ? HPC_ENCODE_SPECIALS : 0, &places);
        }
        assert_int_equal(places > 500, cases[f].cuts);
        coding_close(&c);
    }
}

/* ---- memory ------------------------------------------------------------------------------- */

static const char sample[] =
    "for (int i = 0; i < n; i++) a\xcc\x81 = b's * 2.50 \xe4\xb8\xad <mask>;\n";

static int encode_once(void *user)
{
    hpc_tokenizer *t = user;
    hpc_tokenizer_scratch *s = NULL;
    hpc_ids ids = {0};
    hpc_buf back = {0};
    int rc = 0;
    TRY(hpc_tokenizer_scratch_create(&s, t));
    TRY(hpc_tokenizer_encode(&ids, t, s, sample, strlen(sample), HPC_ENCODE_SPECIALS));
    TRY(hpc_tokenizer_decode(&back, t, ids.id, ids.n, false));
out:
    hpc_tokenizer_scratch_free(s);
    hpc_free(ids.id);
    hpc_buf_release(&back);
    return rc;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const families[] = {"qwen2", "strip", "o200k", "llama3"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        hpc_tokenizer *t = open_family(families[f]);
        assert_true(hpc_test_each_alloc(encode_once, t) > 4);
        hpc_tokenizer_close(t);
    }
}

static void test_steady_state_allocates_nothing(void **state)
{
    (void)state;
    static const char *const families[] = {"gpt2", "qwen2", "deepseek_coder", "o200k", "strip"};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        coding c;
        coding_open(&c, open_family(families[f]));
        encode(&c, sample, strlen(sample), HPC_ENCODE_SPECIALS);
        hpc_test_fault_reset();
        for (int i = 0; i < 100; i++) encode(&c, sample, strlen(sample), HPC_ENCODE_SPECIALS);
        assert_int_equal(hpc_test_alloc_count(), 0);
        coding_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_ids_are_the_packages, setup),
        cmocka_unit_test_setup(test_specials, setup),
        cmocka_unit_test_setup(test_a_space_before_the_text_is_taken_off, setup),
        cmocka_unit_test_setup(test_any_bytes_come_back, setup),
        cmocka_unit_test_setup(test_a_byte_without_piece, setup),
        cmocka_unit_test_setup(test_cuts_change_nothing, setup),
        cmocka_unit_test_setup(test_every_allocation_may_fail, setup),
        cmocka_unit_test_setup(test_steady_state_allocates_nothing, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

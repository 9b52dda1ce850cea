/*
 * Tests of tokenizer/pretokenize.c, pattern.c, split_words.c and split_runs.c: behaviours for
 * matches, hand-written splitters compared with PCRE2, rejected patterns, and cuts.
 */
/* tsan: left out, starts no thread. */
#include <stdlib.h>

#include "tests/support/fault.h"
#include "tests/tokenizer/small.h"
#include "tokenizer/priv.h"

typedef struct fixture {
    hpc_arena *arena;
    tokenizer_unicode unicode;
    bool *agrees; /* by code point: our table and PCRE2's know the same Unicode */
} fixture;

typedef struct pieces {
    hpc_buf text; /* with a | between */
} pieces;

static int collect(void *user, const char *text, size_t n)
{
    pieces *p = user;
    assert_true(n > 0);
    if (p->text.n > 0) hpc_buf_add(&p->text, "|", 1);
    return hpc_buf_add(&p->text, text, n);
}

static void run(pieces *out, const tokenizer_split *s, const char *text, size_t n)
{
    tokenizer_split_work *w;
    out->text.n = 0;
    assert_int_equal(tokenizer_split_work_create(&w, s), 0);
    if (tokenizer_split_run(s, w, text, n, collect, out) < 0) {
        fail_msg("%s", hpc_error_get()->text);
    }
    tokenizer_split_work_free(w);
}

/* ---- behaviours ---------------------------------------------------------------------- */

static void assert_pieces(const fixture *f, const char *pattern, split_behaviour behaviour,
                          bool invert, const char *text, const char *want)
{
    for (int known = 0; known < 2; known++) {
        tokenizer_split s = {.unicode = &f->unicode, .known = known};
        pieces got = {0};
        if (tokenizer_split_regex(&s, pattern, behaviour, invert, "t") < 0) {
            fail_msg("%s", hpc_error_get()->text);
        }
        run(&got, &s, text, strlen(text));
        assert_string_equal(got.text.data ? got.text.data : "", want);
        hpc_buf_release(&got.text);
        tokenizer_split_release(&s);
    }
}

static void test_behaviours(void **state)
{
    const fixture *f = *state;
    const char *text = "the-final--countdown-";
    assert_pieces(f, "-", SPLIT_ISOLATED, false, text, "the|-|final|-|-|countdown|-");
    assert_pieces(f, "-", SPLIT_REMOVED, false, text, "the|final|countdown");
    assert_pieces(f, "-", SPLIT_REMOVED, true, text, "-|-|-|-");
    assert_pieces(f, "-", SPLIT_CONTIGUOUS, false, text, "the|-|final|--|countdown|-");
    assert_pieces(f, "-", SPLIT_MERGED_PREVIOUS, false, text, "the-|final-|-|countdown-");
    assert_pieces(f, "-", SPLIT_MERGED_NEXT, false, text, "the|-final|-|-countdown|-");
    assert_pieces(f, "[^-]+", SPLIT_MERGED_NEXT, true, text, "the|-final|--countdown|-");
    assert_pieces(f, "x*", SPLIT_ISOLATED, false, "axxb", "a|xx|b");
}

static void test_patterns_by_hand(void **state)
{
    const fixture *f = *state;
    const char *gpt2 =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    assert_pieces(f, gpt2, SPLIT_ISOLATED, false, "it's  12ab\n\n  x+=1; ",
                  "it|'s| | 12|ab|\n\n | x|+=|1|;| ");
    assert_pieces(f, "\\s?\\p{L}+", SPLIT_ISOLATED, false, "a  b1\xc2\xa0z", "a| | b|1|\xc2\xa0z");
    assert_pieces(f, "\\p{N}{1,3}", SPLIT_ISOLATED, false, "x1234567", "x|123|456|7");
    assert_pieces(f, "[\r\n]", SPLIT_ISOLATED, false, "a\r\n\nb", "a|\r|\n|\n|b");
}

static void test_steps_follow_each_other(void **state)
{
    const fixture *f = *state;
    tokenizer_split s = {.unicode = &f->unicode, .known = true};
    pieces got = {0};
    assert_int_equal(tokenizer_split_class(&s, UNI_NEW_NUMBER, SPLIT_CONTIGUOUS, "t"), 0);
    assert_int_equal(tokenizer_split_literal(&s, ".*", SPLIT_REMOVED, false, "t"), 0);
    assert_int_equal(tokenizer_split_class(&s, UNI_OLD_PUNCT, SPLIT_ISOLATED, "t"), 0);
    run(&got, &s, "ab.*c12.3+", 10);
    assert_string_equal(got.text.data, "ab|c|12|.|3|+");
    hpc_buf_release(&got.text);
    while (s.n < SPLIT_STEPS_MAX) {
        assert_int_equal(tokenizer_split_class(&s, UNI_SPACE, SPLIT_ISOLATED, "t"), 0);
    }
    assert_int_equal(tokenizer_split_class(&s, UNI_SPACE, SPLIT_ISOLATED, "t"), HPC_E_UNSUPPORTED);
    hpc_error_clear();
    tokenizer_split_release(&s);
}

/* ---- by hand as PCRE2 ---------------------------------------------------------------- */

#define QWEN_BEGIN "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|"
#define QWEN_END   "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
static const char *const by_hand[] = {
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    QWEN_BEGIN "\\p{N}" QWEN_END,
    QWEN_BEGIN "\\p{N}{1,3}" QWEN_END,
    QWEN_BEGIN "\\p{N}+" QWEN_END,
    "[!\"#$%&'()*+,\\-./"
    ":;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    "[\r\n]",
    "\\s?\\p{L}+",
    "\\s?\\p{P}+",
    "\\p{N}",
    "\\p{N}+",
    "\\p{N}{1,3}",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\xed\x9f\xbf]+",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
};

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) return out[0] = (char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
    return n;
}

static bool is_point(uint32_t c)
{
    return c < 0x110000 && (c < 0xd800 || c > 0xdfff);
}

/* Skips code points whose class differs between tables: they are newer than this PCRE2. */
static void compare_tables(fixture *f)
{
    static const char *const patterns[] = {"\\p{L}", "\\p{N}", "\\s", "\\p{M}", "\\p{P}", "\\p{S}"};
    for (uint32_t c = 0; c < 0x110000; c++) f->agrees[c] = is_point(c);
    for (unsigned k = 0; k < 6; k++) {
        tokenizer_split s = {.unicode = &f->unicode};
        void *work;
        assert_int_equal(tokenizer_split_regex(&s, patterns[k], SPLIT_ISOLATED, false, "t"), 0);
        assert_int_equal(tokenizer_pattern_work_create(&work), 0);
        for (uint32_t c = 0; c < 0x110000; c++) {
            char text[4];
            size_t begin, end;
            if (!is_point(c)) continue;
            size_t n = put_utf8(text, c);
            bool has = s.step[0].find(&begin, &end, &s.step[0], text, n, 0, work) == 1;
            bool ours = tokenizer_class(&f->unicode, c) & 1u << k;
            if (has != ours) f->agrees[c] = false;
        }
        tokenizer_pattern_work_free(work);
        tokenizer_split_release(&s);
    }
}

static void test_most_of_unicode_is_the_same(void **state)
{
    const fixture *f = *state;
    int64_t others = 0;
    for (uint32_t c = 0; c < 0x110000; c++) others += is_point(c) && !f->agrees[c];
    assert_true(others < 30000); /* what some versions of Unicode have added */
    for (uint32_t c = 0; c < 0x800; c++) assert_true(f->agrees[c]);
}

static uint32_t draw(const fixture *f, uint32_t *seed)
{
    static const uint32_t common[] = {
        'a',  'Z',     'e',    's',    'l',    't',    '\'',   ' ',    ' ',    ' ',
        '\n', '\r',    '\t',   '0',    '7',    '.',    ',',    '_',    '(',    '+',
        0xa0, 0x85,    0x3000, 0x2003, 0xe9,   0x17f,  0x301,  0x4e2d, 0xac00, 0x663,
        0xbd, 0x1f469, 0x200d, 0x180e, 0x2028, 0x20ac, 0x212a, 0x3042, 0x30fb, 0x1d49c};
    for (;;) {
        uint32_t kind = small_random(seed) % 8, r = small_random(seed);
        uint32_t c = kind < 5    ? common[r % (sizeof common / sizeof *common)]
                     : kind == 5 ? r % 0x300
                     : kind == 6 ? r % 0x11000
                                 : r % 0x110000;
        if (f->agrees[c]) return c;
    }
}

static void compare(const fixture *f, const char *pattern, const char *text, size_t n,
                    tokenizer_split *hand, tokenizer_split *pcre)
{
    pieces a = {0}, b = {0};
    (void)f;
    run(&a, hand, text, n);
    run(&b, pcre, text, n);
    if (a.text.n != b.text.n || memcmp(a.text.data, b.text.data, a.text.n) != 0) {
        fail_msg("%s\nby hand %s\nPCRE2   %s", pattern, a.text.data, b.text.data);
    }
    hpc_buf_release(&a.text);
    hpc_buf_release(&b.text);
}

static void test_by_hand_as_pcre(void **state)
{
    const fixture *f = *state;
    uint32_t seed = 5;
    int rounds = getenv("HPC_TEST_LONG") ? 200000 : 4000;
    hpc_buf code = {0};
    assert_int_equal(hpc_file_read(&code, "tests/tokenizer/pretokenize.c", 1 << 20), 0);
    for (size_t k = 0; k < sizeof by_hand / sizeof *by_hand; k++) {
        tokenizer_split hand = {.unicode = &f->unicode, .known = true};
        tokenizer_split pcre = {.unicode = &f->unicode};
        assert_int_equal(tokenizer_split_regex(&hand, by_hand[k], SPLIT_ISOLATED, false, "t"), 0);
        assert_int_equal(tokenizer_split_regex(&pcre, by_hand[k], SPLIT_ISOLATED, false, "t"), 0);
        assert_null(hand.step[0].code);
        for (int i = 0; i < rounds; i++) {
            char text[128];
            size_t n = 0, points = small_random(&seed) % 24 + 1;
            while (points-- > 0) n += put_utf8(text + n, draw(f, &seed));
            compare(f, by_hand[k], text, n, &hand, &pcre);
        }
        compare(f, by_hand[k], code.data, code.n, &hand, &pcre);
        tokenizer_split_release(&hand);
        tokenizer_split_release(&pcre);
    }
    hpc_buf_release(&code);
}

/* ---- patterns ------------------------------------------------------------------------- */

static void assert_refused(const fixture *f, const char *pattern, const char *what)
{
    tokenizer_split s = {.unicode = &f->unicode, .known = true};
    assert_true(tokenizer_split_regex(&s, pattern, SPLIT_ISOLATED, false, "f.json: here") < 0);
    if (!strstr(hpc_error_get()->text, what) || !strstr(hpc_error_get()->text, "f.json: here")) {
        fail_msg("%s: %s", pattern, hpc_error_get()->text);
    }
    assert_int_equal(s.n, 0);
    hpc_error_clear();
}

static void test_patterns_refused(void **state)
{
    const fixture *f = *state;
    static const char *const cases[][2] = {
        {"a\\b", "character 2 of the pattern: \\b"},
        {"\\w+", "\\w"},
        {"[a[bc]]", "a class within a class"},
        {"[[:alpha:]]", "a class within a class"},
        {"[a&&b]", "&&"},
        {"[]a]", "]"},
        {"[a", "without end"},
        {"(?x: a)", "this kind of group"},
        {"(?i)a", "this kind of group"},
        {"(?m:.)", "this kind of group"},
        {"(?<name>a)", "this kind of group"},
        {"(*FAIL)", "(*"},
        {"(a)\\1", "\\1"},
        {"a{,3}", "{"},
        {"a{2}+", "}+"},
        {"a{2}?", "}+ or {n}?"},
        {"\\p{Emoji}", "this class of characters"},
        {"\\pL", "\\p without {}"},
        {"\\xff", "\\x"},
        {"\\h", "\\h"},
        {"\\", "\\?"},
        {"a)", "not a regular expression"},
        {"(a", "not a regular expression"},
        {"", "the pattern is empty"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_refused(f, cases[i][0], cases[i][1]);
    }
    hpc_buf big = {0};
    for (int i = 0; i <= SPLIT_PATTERN_MAX; i++) assert_int_equal(hpc_buf_add(&big, "a", 1), 0);
    assert_refused(f, big.data, "at most");
    hpc_buf_release(&big);
}

/* Where Oniguruma and PCRE2 differ, Oniguruma is right. */
static void test_patterns_rewritten(void **state)
{
    const fixture *f = *state;
    const char *mongolian = "a\xe1\xa0\x8e"
                            "b c";
    assert_pieces(f, "\\s", SPLIT_REMOVED, false, mongolian,
                  "a\xe1\xa0\x8e"
                  "b|c");
    assert_pieces(f, "[\\s]", SPLIT_REMOVED, false, mongolian,
                  "a\xe1\xa0\x8e"
                  "b|c");
    assert_pieces(f, "\\S+", SPLIT_ISOLATED, false, mongolian,
                  "a\xe1\xa0\x8e"
                  "b| |c");
    assert_pieces(f, "[\\S]+", SPLIT_ISOLATED, false, mongolian,
                  "a\xe1\xa0\x8e"
                  "b| |c");
    assert_pieces(f, "\\v", SPLIT_REMOVED, false,
                  "a\x0b"
                  "b\nc",
                  "a|b\nc");
    assert_pieces(f, "^b|a$", SPLIT_ISOLATED, false, "aba\nbab\n", "ab|a|\n|b|ab\n");
    assert_pieces(f, ".+", SPLIT_ISOLATED, false, "a\rb\nc", "a\rb|\n|c");
    assert_pieces(f, "\\u00e9|\\x41|\\x{4e2d}", SPLIT_REMOVED, false, "x\u00e9yAz\u4e2dw",
                  "x|y|z|w");
    assert_pieces(f, "\\p{Han}", SPLIT_REMOVED, false, "a\u3007b\u3001c", "a|b\u3001c");
    assert_pieces(f, "\\d\\P{^Lu}", SPLIT_REMOVED, false, "1a2Bc", "1a|c");
}

/* A pattern that backtracks without end gives an error and no hang. */
static void test_a_hostile_pattern(void **state)
{
    const fixture *f = *state;
    tokenizer_split s = {.unicode = &f->unicode};
    tokenizer_split_work *w;
    pieces got = {0};
    char text[60];
    memset(text, 'a', sizeof text);
    assert_int_equal(tokenizer_split_regex(&s, "(?:a+)+b|(?:a|a)+c", SPLIT_ISOLATED, false, "t"),
                     0);
    assert_int_equal(tokenizer_split_work_create(&w, &s), 0);
    /* PCRE2 sees that there is no b and no c unless one comes, too late. */
    text[58] = 'd';
    text[59] = 'b';
    int rc = tokenizer_split_run(&s, w, text, sizeof text, collect, &got);
    assert_int_equal(rc, HPC_E_UNSUPPORTED);
    assert_non_null(strstr(hpc_error_get()->text, "cannot split this text"));
    hpc_error_clear();
    tokenizer_split_work_free(w);
    tokenizer_split_release(&s);
    hpc_buf_release(&got.text);
}

static void test_cut(void **state)
{
    const fixture *f = *state;
    static const struct {
        const char *pattern;
        split_behaviour behaviour;
        bool cut;
    } cases[] = {{"[\r\n]", SPLIT_ISOLATED, true},
                 {"[\r\n]", SPLIT_REMOVED, false},
                 {"\\s?\\p{L}+", SPLIT_ISOLATED, false},
                 {"\\p{N}", SPLIT_ISOLATED, false},
                 {".", SPLIT_ISOLATED, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tokenizer_split s = {.unicode = &f->unicode, .known = true};
        assert_int_equal(
            tokenizer_split_regex(&s, cases[i].pattern, cases[i].behaviour, false, "t"), 0);
        assert_int_equal(tokenizer_split_cut(&s), cases[i].cut);
        /* what keeps the place is followed by what always cuts there */
        assert_int_equal(tokenizer_split_regex(&s, by_hand[0], SPLIT_ISOLATED, false, "t"), 0);
        assert_int_equal(tokenizer_split_cut(&s), cases[i].cut || i == 3);
        tokenizer_split_release(&s);
    }
}

static int split_once(void *user)
{
    const fixture *f = user;
    tokenizer_split s = {.unicode = &f->unicode};
    tokenizer_split_work *w = NULL;
    pieces got = {0};
    int rc = 0;
    TRY(tokenizer_split_regex(&s, "\\s?[a-z\\s]+(?=b)|\\p{Lu}", SPLIT_ISOLATED, false, "t"));
    TRY(tokenizer_split_literal(&s, "x", SPLIT_CONTIGUOUS, false, "t"));
    TRY(tokenizer_split_work_create(&w, &s));
    TRY(tokenizer_split_run(&s, w, "abABxx", 6, collect, &got));
out:
    tokenizer_split_work_free(w);
    tokenizer_split_release(&s);
    hpc_buf_release(&got.text);
    return rc;
}

static void test_every_allocation_may_fail(void **state)
{
    assert_true(hpc_test_each_alloc(split_once, *state) > 5);
}

static int begin(void **state)
{
    fixture *f = hpc_alloc(1, sizeof *f);
    *state = f;
    f->arena = hpc_arena_create(0);
    f->agrees = hpc_alloc(0x110000, sizeof *f->agrees);
    assert_int_equal(tokenizer_unicode_init(&f->unicode, f->arena), 0);
    compare_tables(f);
    return 0;
}

static int end(void **state)
{
    fixture *f = *state;
    hpc_arena_free(f->arena);
    hpc_free(f->agrees);
    hpc_free(f);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_behaviours),
        cmocka_unit_test(test_patterns_by_hand),
        cmocka_unit_test(test_steps_follow_each_other),
        cmocka_unit_test(test_most_of_unicode_is_the_same),
        cmocka_unit_test(test_by_hand_as_pcre),
        cmocka_unit_test(test_patterns_refused),
        cmocka_unit_test(test_patterns_rewritten),
        cmocka_unit_test(test_a_hostile_pattern),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, begin, end);
}

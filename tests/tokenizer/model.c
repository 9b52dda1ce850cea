/*
 * model.c: reading a tokenizer.model: its contents, errors that name unsupported features, and
 * one-line errors for damage.
 */
/* tsan: left out, starts no thread. */
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

static void says_what_it_has(void **state)
{
    (void)state;
    hpc_tokenizer *t = spm_fixture("ours");
    hpc_tokenizer_special s = hpc_tokenizer_specials(t);
    size_t n;
    assert_string_equal(hpc_tokenizer_kind(t), "sentencepiece");
    assert_int_equal(hpc_tokenizer_n(t), 1000);
    assert_int_equal(s.unknown, 0);
    assert_int_equal(s.begin, 1);
    assert_int_equal(s.end, 2);
    assert_int_equal(s.pad, -1);
    assert_false(s.dummy_prefix || s.normalises);
    assert_string_equal(hpc_tokenizer_piece(t, 1, &n), "<s>");
    assert_int_equal(n, 3);
    assert_null(hpc_tokenizer_piece(t, 1000, &n));
    assert_null(hpc_tokenizer_piece(t, -1, NULL));
    assert_int_equal(hpc_tokenizer_find(t, "<fim_prefix>"), 3);
    assert_int_equal(hpc_tokenizer_find(t, "\xE2\x96\x81\xE2\x96\x81"), 6);
    assert_int_equal(hpc_tokenizer_find(t, "no such piece"), -1);
    assert_true(hpc_tokenizer_find(t, "<0x0A>") > 0);
    hpc_tokenizer_close(t);
    hpc_tokenizer_close(NULL);
    t = spm_fixture("llama");
    assert_true(hpc_tokenizer_specials(t).dummy_prefix);
    hpc_tokenizer_close(t);
    t = spm_fixture("nfkc");
    assert_true(hpc_tokenizer_specials(t).normalises);
    hpc_tokenizer_close(t);
}

/* Every piece by the text that the file spells it with; and no characters, which are no pieces. */
static void finds_its_pieces(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "<unk>", "ab", "\xE2\x96\x81 b", "c d", "\xE2\x96\x81x", "ef", "gh", "<s>", "\xFFz"};
    static const int types[] = {SPM_UNKNOWN, SPM_NORMAL, SPM_NORMAL,  SPM_USER,  SPM_NORMAL,
                                SPM_USER,    SPM_UNUSED, SPM_CONTROL, SPM_NORMAL};
    static const char *const none[] = {"a",
                                       "x",
                                       " x",
                                       "\xE2\x96\x81",
                                       "",
                                       "  b",
                                       ("c\xE2\x96\x81"
                                        "d")};
    hpc_buf m = {0};
    hpc_tokenizer *t;
    for (int i = 0; i < 9; i++) spm_piece(&m, texts[i], (float)-i, types[i]);
    spm_end(&m, (spm_spec){.bytes = true});
    test_ok(hpc_tokenizer_open_model(&t, m.data, m.n, "m"));
    for (int i = 0; i < 9; i++) {
        float score;
        assert_int_equal(hpc_tokenizer_find(t, texts[i]), i);
        assert_int_equal(hpc_tokenizer_piece_type(&score, t, i), types[i]);
        assert_true(score == (float)-i);
    }
    assert_int_equal(hpc_tokenizer_piece_type(&(float){1}, t, -1), 0);
    assert_int_equal(hpc_tokenizer_piece_type(&(float){1}, t, (int32_t)hpc_tokenizer_n(t)), 0);
    for (int i = 0; i < 7; i++) assert_int_equal(hpc_tokenizer_find(t, none[i]), -1);
    hpc_tokenizer_close(t);
    hpc_buf_release(&m);
    t = spm_fixture("ours");
    for (int32_t id = 0; id < hpc_tokenizer_n(t); id++)
        assert_int_equal(hpc_tokenizer_find(t, hpc_tokenizer_piece(t, id, NULL)), id);
    hpc_tokenizer_close(t);
}

static void hashes_its_content(void **state)
{
    (void)state;
    hpc_tokenizer *a = spm_fixture("ours"), *b = spm_fixture("ours"), *c = spm_fixture("llama");
    hpc_hash128 x = hpc_tokenizer_hash(a), y = hpc_tokenizer_hash(b), z = hpc_tokenizer_hash(c);
    assert_true(x.low == y.low && x.high == y.high);
    assert_false(x.low == z.low && x.high == z.high);
    hpc_tokenizer_close(a);
    hpc_tokenizer_close(b);
    hpc_tokenizer_close(c);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void opens_or_says(const hpc_buf *model, int code, const char *part)
{
    hpc_tokenizer *t = NULL;
    if (code == 0) {
        test_ok(hpc_tokenizer_open_model(&t, model->data, model->n, "m"));
        hpc_tokenizer_close(t);
    } else {
        test_fails(hpc_tokenizer_open_model(&t, model->data, model->n, "m"), code, part);
        assert_null(t);
    }
}

static void refused(spm_spec spec, int code, const char *part)
{
    hpc_buf m = {0};
    spm_piece(&m, "<unk>", 0, SPM_UNKNOWN);
    spm_piece(&m, "a", -1, SPM_NORMAL);
    spm_end(&m, spec);
    opens_or_says(&m, code, part);
    hpc_buf_release(&m);
}

static void names_what_it_cannot(void **state)
{
    (void)state;
    refused((spm_spec){.bytes = true}, 0, "");
    refused((spm_spec){.type = 1}, HPC_E_UNSUPPORTED, "unigram");
    refused((spm_spec){.type = 3}, HPC_E_UNSUPPORTED, "word");
    refused((spm_spec){.type = 4}, HPC_E_UNSUPPORTED, "char");
    refused((spm_spec){.type = 9}, HPC_E_UNSUPPORTED, "unknown type");
}

/* A part appended to a valid model that overrides it. */
static void overruled(unsigned part, unsigned field, uint64_t value, const char *text)
{
    hpc_buf m = {0}, extra = {0};
    spm_piece(&m, "<unk>", 0, SPM_UNKNOWN);
    spm_end(&m, (spm_spec){.bytes = false});
    spm_number(&extra, field, value);
    spm_bytes(&m, part, extra.data, extra.n);
    opens_or_says(&m, HPC_E_UNSUPPORTED, text);
    hpc_buf_release(&m);
    hpc_buf_release(&extra);
}

static void names_options_it_cannot(void **state)
{
    (void)state;
    hpc_buf m = {0}, extra = {0};
    overruled(2, 24, 1, "treat_whitespace_as_suffix");
    overruled(3, 5, 0, "escape_whitespaces");
    spm_piece(&m, "<unk>", 0, SPM_UNKNOWN);
    spm_end(&m, (spm_spec){.bytes = false});
    spm_bytes(&extra, 2, "rules", 5);
    spm_bytes(&m, 5, extra.data, extra.n);
    opens_or_says(&m, HPC_E_UNSUPPORTED, "denormalizer");
    hpc_buf_release(&m);
    hpc_buf_release(&extra);
}

/* One piece in addition to <unk>, and its error. */
static void wrong_piece(const char *text, float score, int type, bool bytes, const char *part)
{
    hpc_buf m = {0};
    spm_piece(&m, "<unk>", 0, SPM_UNKNOWN);
    spm_piece(&m, "ab", -1, SPM_NORMAL);
    spm_piece(&m, text, score, type);
    spm_end(&m, (spm_spec){.bytes = bytes});
    opens_or_says(&m, HPC_E_FORMAT, part);
    hpc_buf_release(&m);
}

static void refuses_wrong_pieces(void **state)
{
    (void)state;
    char lengthy[1100];
    hpc_buf m = {0};
    memset(lengthy, 'x', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = '\0';
    wrong_piece("", 0, SPM_NORMAL, true, "empty token");
    wrong_piece("ab", 0, SPM_USER, true, "token 2, 'ab', occurs twice");
    wrong_piece("ab", 0, SPM_NORMAL, true, "token 2, 'ab', occurs twice");
    wrong_piece("ab", -2, SPM_UNUSED, true, "token 2, 'ab', occurs twice");
    wrong_piece("<unk>", 0, SPM_CONTROL, true, "twice");
    wrong_piece("<unk2>", 0, SPM_UNKNOWN, true, "two unknown tokens");
    wrong_piece("x", 0.0F / 0.0F, SPM_NORMAL, true, "score");
    wrong_piece("x", 0, 7, true, "unknown type");
    wrong_piece("<0x41>", 0, SPM_BYTE, false, "byte_fallback is off");
    wrong_piece("<0x4g>", 0, SPM_BYTE, true, "byte token");
    wrong_piece(lengthy, 0, SPM_NORMAL, true, "1024");
    spm_piece(&m, "a", 0, SPM_NORMAL);
    spm_end(&m, (spm_spec){.bytes = true});
    opens_or_says(&m, HPC_E_FORMAT, "no unknown token");
    m.n = 0;
    spm_piece(&m, "<unk>", 0, SPM_UNKNOWN);
    hpc_buf on = {0};
    spm_number(&on, 3, 2);
    spm_number(&on, 35, 1);
    spm_bytes(&m, 2, on.data, on.n);
    opens_or_says(&m, HPC_E_FORMAT, "byte 0 has no token");
    m.n = 0;
    opens_or_says(&m, HPC_E_FORMAT, "no pieces");
    hpc_buf_release(&m);
    hpc_buf_release(&on);
}

static void refuses_what_is_no_model(void **state)
{
    (void)state;
    hpc_tokenizer *t = NULL;
    test_fails(hpc_tokenizer_open(&t, SPM_FOLDER "none.model"), HPC_E_IO, "none.model");
    test_fails(hpc_tokenizer_open(&t, SPM_FOLDER), HPC_E_ARG, "neither");
    test_fails(hpc_tokenizer_open(&t, "tests/fixtures/make_tokenizer.py"), HPC_E_FORMAT, "byte");
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Small enough to be cut at every byte. */
static void small_model(hpc_buf *m)
{
    static const char *const piece[] = {"\xE2\x96\x81",         "a",       "b", "ab",
                                        "\xE2\x96\x81\x61\x62", "\xC3\xA4"};
    spm_piece(m, "<unk>", 0, SPM_UNKNOWN);
    spm_piece(m, "<s>", 0, SPM_CONTROL);
    spm_piece(m, "==", 0, SPM_USER);
    for (int i = 0; i < 6; i++) spm_piece(m, piece[i], (float)-i, SPM_NORMAL);
    spm_end(m, (spm_spec){.prefix = true});
}

/* Whatever opens can be used. */
static void use(const void *data, size_t n)
{
    static const char text[] = "ab  ab == \xC3\xA4\xE2\x96\x81\xFFx<s>";
    hpc_tokenizer *t = NULL;
    hpc_tokenizer_scratch *s = NULL;
    hpc_ids ids = {0};
    hpc_buf back = {0};
    int rc = hpc_tokenizer_open_model(&t, data, n, "m");
    if (rc < 0) {
        assert_null(t);
        assert_true(strlen(hpc_error_get()->text) > 5);
        assert_null(strchr(hpc_error_get()->text, '\n'));
        hpc_error_clear();
        return;
    }
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, sizeof text - 1, HPC_ENCODE_SPECIALS));
    for (int64_t i = 0; i < ids.n; i++) assert_in_range(ids.id[i], 0, hpc_tokenizer_n(t) - 1);
    test_ok(hpc_tokenizer_decode(&back, t, ids.id, ids.n, false));
    hpc_buf_release(&back);
    hpc_free(ids.id);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
}

static void survives_truncation(void **state)
{
    (void)state;
    hpc_buf m = {0};
    small_model(&m);
    for (size_t n = 0; n <= m.n; n++) {
        /* Of exactly that size, so that reading further shows. */
        char *copy = hpc_alloc(n, 1);
        if (n > 0) memcpy(copy, m.data, n);
        use(copy, n);
        hpc_free(copy);
    }
    hpc_buf_release(&m);
}

static void survives_changes(void **state)
{
    (void)state;
    hpc_buf m = {0};
    uint32_t seed = 3;
    small_model(&m);
    for (size_t at = 0; at < m.n; at++) {
        char before = m.data[at];
        for (int bit = 0; bit < 8; bit++) {
            m.data[at] = (char)(before ^ 1 << bit);
            use(m.data, m.n);
        }
        for (int k = 0; k < 4; k++) {
            m.data[at] = (char)spm_random(&seed);
            use(m.data, m.n);
        }
        m.data[at] = before;
    }
    hpc_buf_release(&m);
}

/* The compiled normaliser, cut and changed anywhere. */
static void survives_damaged_rules(void **state)
{
    (void)state;
    hpc_buf m = {0};
    uint32_t seed = 5;
    spm_file(&m, "nfkc.model");
    for (int round = 0; round < 60; round++) {
        size_t at = m.n - 1 - spm_random(&seed) % (m.n * 9 / 10), n = 1 + spm_random(&seed) % 64;
        char before[64];
        if (n > m.n - at) n = m.n - at;
        memcpy(before, m.data + at, n);
        for (size_t i = 0; i < n; i++) m.data[at + i] = (char)spm_random(&seed);
        use(m.data, m.n);
        memcpy(m.data + at, before, n);
    }
    hpc_buf_release(&m);
}

static int open_and_encode(void *user)
{
    const hpc_buf *m = user;
    hpc_tokenizer *t = NULL;
    hpc_tokenizer_scratch *s = NULL;
    hpc_ids ids = {0};
    hpc_buf back = {0};
    int rc = HPC_OK;
    TRY(hpc_tokenizer_open_model(&t, m->data, m->n, "m"));
    TRY(hpc_tokenizer_scratch_create(&s, t));
    TRY(hpc_tokenizer_encode(&ids, t, s, "ab ab\xFF", 6, HPC_ENCODE_SPECIALS));
    TRY(hpc_tokenizer_decode(&back, t, ids.id, ids.n, false));
out:
    hpc_buf_release(&back);
    hpc_free(ids.id);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
    return rc;
}

static void survives_failures(void **state)
{
    (void)state;
    hpc_buf m = {0};
    small_model(&m);
    assert_true(hpc_test_each_alloc(open_and_encode, &m) > 10);
    hpc_buf_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(says_what_it_has, setup),
        cmocka_unit_test_setup(finds_its_pieces, setup),
        cmocka_unit_test_setup(hashes_its_content, setup),
        cmocka_unit_test_setup(names_what_it_cannot, setup),
        cmocka_unit_test_setup(names_options_it_cannot, setup),
        cmocka_unit_test_setup(refuses_wrong_pieces, setup),
        cmocka_unit_test_setup(refuses_what_is_no_model, setup),
        cmocka_unit_test_setup(survives_truncation, setup),
        cmocka_unit_test_setup(survives_changes, setup),
        cmocka_unit_test_setup(survives_damaged_rules, setup),
        cmocka_unit_test_setup(survives_failures, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * spm.c: SentencePiece models: ids and texts of the fixtures and of the library, on random texts
 * and models and on this repository's sources; exact round trips; any cut; no allocation once
 * warm.
 */
/* tsan: left out, starts no thread. */
#include "tests/tokenizer/spm_model.h"

#include <stdlib.h>

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

static hpc_ids encode(const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text, size_t n,
                      unsigned flags)
{
    hpc_ids ids = {0};
    test_ok(hpc_tokenizer_encode(&ids, t, s, text, n, flags));
    return ids;
}

/* Hexadecimal, for messages and fixtures. */
static const char *hex(char out[200], const char *text, size_t n)
{
    size_t k = 0;
    for (; k < n && k < 99; k++) snprintf(out + 2 * k, 3, "%02x", (unsigned char)text[k]);
    out[2 * k] = '\0';
    return out;
}

static void same_ids(const hpc_ids *ids, const int32_t *wanted, size_t n, const char *text,
                     size_t text_n)
{
    char shown[200];
    size_t at = 0;
    while (at < n && at < (size_t)ids->n && ids->id[at] == wanted[at]) at++;
    if (at == n && at == (size_t)ids->n) return;
    fail_msg("id %zu is %d, not %d; %lld ids, not %zu; text %s", at,
             at < (size_t)ids->n ? ids->id[at] : -1, at < n ? wanted[at] : -1, (long long)ids->n, n,
             hex(shown, text, text_n));
}

/* ---- fixtures ------------------------------------------------------------------------------- */

static void from_hex(hpc_buf *out, const hpc_json *v)
{
    const char *text;
    unsigned byte;
    test_ok(hpc_json_text(&text, v, "text"));
    out->n = 0;
    test_ok(hpc_buf_add(out, "", 0));
    for (; *text; text += 2) {
        assert_int_equal(sscanf(text, "%2x", &byte), 1);
        test_ok(hpc_buf_add(out, &(char){(char)byte}, 1));
    }
}

static void check_case(const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const hpc_json *item)
{
    hpc_buf text = {0}, back = {0}, decoded = {0};
    int32_t wanted[4096];
    const hpc_json *list = hpc_json_get(item, "ids"), *other = hpc_json_get(item, "decoded");
    int64_t n = hpc_json_n(list), id;
    assert_true(n <= 4096);
    for (int64_t i = 0; i < n; i++) {
        test_ok(hpc_json_int(&id, hpc_json_at(list, i), "id"));
        wanted[i] = (int32_t)id;
    }
    from_hex(&text, hpc_json_get(item, "text"));
    from_hex(&decoded, other ? other : hpc_json_get(item, "text"));
    hpc_ids ids = encode(t, s, text.data ? text.data : "", text.n, 0);
    same_ids(&ids, wanted, (size_t)n, text.data, text.n);
    test_ok(hpc_tokenizer_decode(&back, t, wanted, n, true));
    assert_int_equal(back.n, decoded.n);
    if (back.n > 0) assert_memory_equal(back.data, decoded.data, back.n);
    hpc_free(ids.id);
    hpc_buf_release(&text);
    hpc_buf_release(&back);
    hpc_buf_release(&decoded);
}

static void ids_of_the_fixtures(void **state)
{
    (void)state;
    hpc_json *root = hpc_test_json(SPM_FOLDER "cases.json.zst");
    int64_t checked = 0;
    for (int64_t k = 0; k < hpc_json_n(root); k++) {
        const hpc_json *model = hpc_json_at(root, k), *cases = hpc_json_get(model, "cases");
        const char *name;
        hpc_tokenizer_scratch *s;
        test_ok(hpc_json_text(&name, hpc_json_get(model, "model"), "model"));
        hpc_tokenizer *t = spm_fixture(name);
        test_ok(hpc_tokenizer_scratch_create(&s, t));
        for (int64_t i = 0; i < hpc_json_n(cases); i++, checked++)
            check_case(t, s, hpc_json_at(cases, i));
        hpc_tokenizer_scratch_free(s);
        hpc_tokenizer_close(t);
    }
    assert_true(checked > 150);
    hpc_json_free(root);
}

/* ---- the library ---------------------------------------------------------------------------- */

typedef struct pair { /* the same model, twice */
    const hpc_spm *library;
    hpc_spm_model *theirs;
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
} pair;

static void open_pair(pair *p, const hpc_spm *library, const hpc_buf *model)
{
    char error[HPC_SPM_ERROR_BYTES] = "";
    p->library = library;
    if (library->open(&p->theirs, model->data, model->n, error) != 0) fail_msg("%s", error);
    test_ok(hpc_tokenizer_open_model(&p->t, model->data, model->n, "m"));
    test_ok(hpc_tokenizer_scratch_create(&p->s, p->t));
}

static void close_pair(pair *p)
{
    p->library->close(p->theirs);
    hpc_tokenizer_scratch_free(p->s);
    hpc_tokenizer_close(p->t);
}

/* Of valid UTF-8 without U+2581. */
static void compare(const pair *p, const char *text, size_t n)
{
    char error[HPC_SPM_ERROR_BYTES] = "", *back;
    int32_t *wanted;
    size_t wanted_n, back_n;
    hpc_buf ours = {0};
    if (p->library->encode(&wanted, &wanted_n, p->theirs, text, n, error)) fail_msg("%s", error);
    hpc_ids ids = encode(p->t, p->s, text, n, 0);
    same_ids(&ids, wanted, wanted_n, text, n);
    if (p->library->decode(&back, &back_n, p->theirs, wanted, wanted_n, error))
        fail_msg("%s", error);
    test_ok(hpc_tokenizer_decode(&ours, p->t, wanted, (int64_t)wanted_n, true));
    if (ours.n != back_n || (back_n > 0 && memcmp(ours.data, back, back_n) != 0)) {
        char a[200], b[200];
        fail_msg("decoded to %s, not %s", hex(a, ours.data, ours.n), hex(b, back, back_n));
    }
    hpc_free(ids.id);
    hpc_buf_release(&ours);
    p->library->release(wanted);
    p->library->release(back);
}

static size_t put_character(char out[4], uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t n = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, point >>= 6) out[i] = (char)(0x80 | (point & 0x3F));
    out[0] = (char)((n == 2 ? 0xC0u : n == 3 ? 0xE0u : 0xF0u) | point);
    return n;
}

/* Characters of all kinds; `any`: also U+2581. */
static uint32_t draw_character(uint32_t *seed, bool any)
{
    static const uint32_t odd[] = {' ',    ' ',    '\n',   '\t',   '\r',     0,      1,      0x7F,
                                   0x85,   0xA0,   0xFFFD, 0xFFFF, 0x10FFFF, 0xD7FF, 0xE000, 0x2585,
                                   0x3000, 0xFB01, 0xFEFF, 0x2047, 0x1F600,  0x301,  0x2581};
    for (;;) {
        uint32_t point, kind = spm_random(seed) % 16;
        if (kind < 9)
            point = ' ' + spm_random(seed) % 95;
        else if (kind < 12)
            point = odd[spm_random(seed) % (sizeof odd / sizeof *odd)];
        else
            point = spm_random(seed) % (kind == 12 ? 0x800 : kind == 13 ? 0x10000 : 0x110000);
        if (point >= 0xD800 && point < 0xE000) continue;
        if (point == 0x2581 && !any) continue;
        return point;
    }
}

static size_t draw_text(char *out, size_t most, uint32_t *seed, bool any)
{
    size_t n = 0, wanted = spm_random(seed) % most;
    while (n + 4 < wanted) n += put_character(out + n, draw_character(seed, any));
    return n;
}

/* ---- models drawn at random: ties, overlaps, unused pieces, characters without a piece ------ */

static const char *const letters[] = {"a", "b", "c", "\xC3\xA4", " ", "\xE2\x82\xAC"};
enum { LETTERS = sizeof letters / sizeof *letters };

/* n letters; escaped: as a model spells them. */
static size_t draw_letters(char *out, int n, uint32_t *seed, bool escaped)
{
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        const char *letter = letters[spm_random(seed) % LETTERS];
        if (escaped && *letter == ' ') letter = "\xE2\x96\x81";
        memcpy(out + at, letter, strlen(letter));
        at += strlen(letter);
    }
    out[at] = '\0';
    return at;
}

static void draw_model(hpc_buf *m, uint32_t *seed)
{
    char piece[64];
    hpc_map *seen = hpc_map_create();
    spm_spec spec = {.bytes = spm_random(seed) % 2,
                     .prefix = spm_random(seed) % 2,
                     .squeeze = spm_random(seed) % 4 == 0};
    bool unused = spm_random(seed) % 3 == 0, user = spm_random(seed) % 2;
    spm_piece(m, "<unk>", 0, SPM_UNKNOWN);
    spm_piece(m, "<s>", 0, SPM_CONTROL);
    for (int i = 0; i < 70; i++) {
        size_t n = draw_letters(piece, 1 + (int)(spm_random(seed) % 5), seed, true);
        if (hpc_map_get(seen, piece, n, NULL)) continue;
        test_ok(hpc_map_put(seen, piece, n, 1));
        uint32_t draw = spm_random(seed) % 12;
        spm_piece(m, piece, -(float)(spm_random(seed) % 24),
                  unused && draw < 3           ? SPM_UNUSED
                  : user && draw == 3 && n > 1 ? SPM_USER
                                               : SPM_NORMAL);
    }
    spm_end(m, spec);
    hpc_map_free(seen);
}

static void ids_of_the_library_for_any_model(void **state)
{
    (void)state;
    SPM_NEED(library)
    uint32_t seed = 11;
    char text[400];
    int rounds = getenv("HPC_TEST_LONG") ? 20000 : 300;
    for (int round = 0; round < rounds; round++) {
        pair p;
        hpc_buf m = {0};
        draw_model(&m, &seed);
        open_pair(&p, library, &m);
        for (int i = 0; i < 40; i++) {
            size_t n = draw_letters(text, (int)(spm_random(&seed) % 90), &seed, false);
            compare(&p, text, n);
        }
        close_pair(&p);
        hpc_buf_release(&m);
    }
}

static void ids_of_the_library_for_any_text(void **state)
{
    (void)state;
    SPM_NEED(library)
    static const char *const models[] = {"ours", "llama", "nfkc", "unused"};
    uint32_t seed = 13;
    char text[600];
    for (int k = 0; k < 4; k++) {
        pair p;
        char name[32];
        hpc_buf m = {0};
        snprintf(name, sizeof name, "%s.model", models[k]);
        spm_file(&m, name);
        open_pair(&p, library, &m);
        for (int i = 0; i < (getenv("HPC_TEST_LONG") ? 100000 : 1500); i++)
            compare(&p, text, draw_text(text, sizeof text, &seed, false));
        close_pair(&p);
        hpc_buf_release(&m);
    }
}

/* Real text, unchanged and with ASCII bytes changed. */
static void compare_file(const pair *p, const char *path, uint32_t *seed)
{
    hpc_buf text = {0};
    test_ok(hpc_file_read(&text, path, 1 << 20));
    compare(p, text.data, text.n);
    for (size_t i = 0; i < text.n; i += 1 + spm_random(seed) % 40)
        if ((unsigned char)text.data[i] < 128)
            text.data[i] = (char)draw_character(seed, false) & 0x7F;
    compare(p, text.data, text.n);
    hpc_buf_release(&text);
}

static void ids_of_the_library_for_sources(void **state)
{
    (void)state;
    SPM_NEED(library)
    static const char *const models[] = {"ours.model", "llama.model", "nfkc.model", "unused.model"};
    hpc_buf list = {0};
    int64_t n;
    uint32_t seed = 17;
    test_ok(hpc_file_list(&list, &n, "runtime/base"));
    for (int k = 0; k < 4; k++) {
        pair p;
        hpc_buf m = {0};
        const char *name = list.data;
        spm_file(&m, models[k]);
        open_pair(&p, library, &m);
        for (int64_t i = 0; i < n; i++, name += strlen(name) + 1) {
            char path[300];
            snprintf(path, sizeof path, "runtime/base/%s", name);
            if (name[strlen(name) - 1] != '/') compare_file(&p, path, &seed);
        }
        close_pair(&p);
        hpc_buf_release(&m);
    }
    hpc_buf_release(&list);
}

/* A file and a model of the caller, also part by part. */
static void ids_of_the_library_for_much_code(void **state)
{
    (void)state;
    const char *path = getenv("HPC_TEST_CODE"), *model = getenv("HPC_TEST_MODEL");
    if (!path || !model) {
        print_message("SKIP: HPC_TEST_CODE names no file of code, HPC_TEST_MODEL no model\n");
        skip();
    }
    SPM_NEED(library)
    pair p;
    hpc_buf text = {0}, m = {0};
    test_ok(hpc_file_read(&text, path, SIZE_MAX));
    test_ok(hpc_file_read(&m, model, SIZE_MAX));
    open_pair(&p, library, &m);
    for (size_t at = 0, n; at < text.n; at += n) {
        const char *end = NULL;
        if (text.n - at > 1 << 16) end = memrchr(text.data + at, '\n', 1 << 16);
        n = end ? (size_t)(end + 1 - text.data) - at : text.n - at;
        compare(&p, text.data + at, n);
    }
    close_pair(&p);
    hpc_buf_release(&text);
    hpc_buf_release(&m);
}

/* ---- round trips ---------------------------------------------------------------------------- */

static void comes_back(const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text, size_t n,
                       unsigned flags)
{
    hpc_buf back = {0};
    char shown[200];
    hpc_ids ids = encode(t, s, text, n, flags);
    test_ok(hpc_tokenizer_decode(&back, t, ids.id, ids.n, false));
    if (back.n != n || (n > 0 && memcmp(back.data, text, n) != 0))
        fail_msg("%s did not come back", hex(shown, text, n));
    hpc_free(ids.id);
    hpc_buf_release(&back);
}

/* Llama's as well: its dummy prefix is taken off again. */
static void every_text_comes_back(void **state)
{
    (void)state;
    static const char *const models[] = {"ours", "llama", "unused"};
    static const char marks[] = "\xE2\x96\x81 \xE2\x96\x81\xE2\x96\x81  a\xE2\x96\x81"
                                "b\xE2\x96";
    uint32_t seed = 19;
    char text[800];
    for (int k = 0; k < 3; k++) {
        hpc_tokenizer *t = spm_fixture(models[k]);
        hpc_tokenizer_scratch *s;
        test_ok(hpc_tokenizer_scratch_create(&s, t));
        for (size_t n = 0; n < sizeof marks; n++) comes_back(t, s, marks, n, 0);
        for (int i = 0; i < 1500; i++) {
            size_t n = draw_text(text, sizeof text, &seed, true);
            comes_back(t, s, text, n, 0);
            comes_back(t, s, text, n, HPC_ENCODE_SPECIALS);
            /* Not UTF-8 any more. */
            for (size_t at = 0; at < n; at += 1 + spm_random(&seed) % 30)
                text[at] = (char)spm_random(&seed);
            comes_back(t, s, text, n, 0);
        }
        hpc_tokenizer_scratch_free(s);
        hpc_tokenizer_close(t);
    }
}

static void marks_are_text_unless_asked_for(void **state)
{
    (void)state;
    static const char text[] = "a<fim_prefix>b</s>";
    hpc_tokenizer *t = spm_fixture("ours");
    hpc_tokenizer_scratch *s;
    hpc_buf back = {0};
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    hpc_ids plain = encode(t, s, text, sizeof text - 1, 0);
    for (int64_t i = 0; i < plain.n; i++) assert_true(plain.id[i] > 5);
    hpc_ids marked = encode(t, s, text, sizeof text - 1,
                            HPC_ENCODE_SPECIALS | HPC_ENCODE_BEGIN | HPC_ENCODE_END);
    assert_int_equal(marked.n, 6);
    const int32_t wanted[] = {1, hpc_tokenizer_find(t, "a"), 3, hpc_tokenizer_find(t, "b"), 2, 2};
    assert_memory_equal(marked.id, wanted, sizeof wanted);
    test_ok(hpc_tokenizer_decode(&back, t, marked.id, marked.n, false));
    assert_string_equal(back.data, "<s>a<fim_prefix>b</s></s>");
    back.n = 0;
    test_ok(hpc_tokenizer_decode(&back, t, marked.id, marked.n, true));
    assert_string_equal(back.data, "ab");
    marked.id[1] = 1000;
    test_fails(hpc_tokenizer_decode(&back, t, marked.id, marked.n, true), HPC_E_ARG, "1000");
    test_fails(hpc_tokenizer_encode(&marked, t, s, "a", 1, 64), HPC_E_ARG, "flags");
    hpc_buf_release(&back);
    hpc_free(plain.id);
    hpc_free(marked.id);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* Some text much longer than the parts that workers take. */
static void long_text(hpc_buf *out, size_t bytes, uint32_t *seed)
{
    char text[400];
    hpc_buf code = {0};
    test_ok(hpc_file_read(&code, "runtime/base/json.c", 1 << 20));
    while (out->n < bytes) {
        size_t n = draw_text(text, sizeof text, seed, true), at = spm_random(seed) % (code.n - 500);
        test_ok(hpc_buf_add(out, text, n));
        test_ok(hpc_buf_add(out, code.data + at, spm_random(seed) % 500));
        if (spm_random(seed) % 8 == 0) test_ok(hpc_buf_text(out, "<fim_prefix><s>"));
        if (spm_random(seed) % 8 == 0) test_ok(hpc_buf_text(out, "        \xFF\xE2\x96   "));
    }
    hpc_buf_release(&code);
}

/* Both parts of a text, cut where the family finds a position in its first `seen` bytes, have the
 * ids of the whole. If it finds none, it finds the same position later as at once. */
static void check_cut(const hpc_tokenizer *t, hpc_tokenizer_scratch *s, const char *text, size_t n,
                      size_t seen, size_t lo, int64_t *cuts)
{
    size_t p, later;
    if (!t->family->cut(&p, t, text, seen, lo)) {
        assert_in_range(p, lo, seen);
        bool found = t->family->cut(&p, t, text, n, p),
             at_once = t->family->cut(&later, t, text, n, lo);
        assert_int_equal(found, at_once);
        assert_int_equal(p, later);
        return;
    }
    assert_true(p >= lo && p < seen);
    ++*cuts;
    hpc_ids whole = encode(t, s, text, n, 0), parts = encode(t, s, text, p, 0);
    test_ok(hpc_tokenizer_encode(&parts, t, s, text + p, n - p, HPC_ENCODE_INNER));
    same_ids(&parts, whole.id, (size_t)whole.n, text, n);
    hpc_free(whole.id);
    hpc_free(parts.id);
}

static void any_cut(void **state)
{
    (void)state;
    uint32_t seed = 29;
    char text[400];
    int64_t cuts = 0;
    for (int round = 0; round < 300; round++) {
        hpc_buf m = {0};
        hpc_tokenizer *t;
        hpc_tokenizer_scratch *s;
        draw_model(&m, &seed);
        test_ok(hpc_tokenizer_open_model(&t, m.data, m.n, "m"));
        test_ok(hpc_tokenizer_scratch_create(&s, t));
        for (int i = 0; i < 40; i++) {
            size_t n = draw_letters(text, (int)(spm_random(&seed) % 60), &seed, false);
            if (n > 0 && i % 4 == 0) text[spm_random(&seed) % n] = (char)spm_random(&seed);
            if (n < 2) continue;
            size_t seen = i % 2 ? n : 1 + spm_random(&seed) % n, back = spm_random(&seed) % 6;
            size_t lo = i % 3 ? 1 + spm_random(&seed) % seen : seen > back ? seen - back : 1;
            check_cut(t, s, text, n, seen, lo, &cuts);
        }
        hpc_tokenizer_scratch_free(s);
        hpc_tokenizer_close(t);
        hpc_buf_release(&m);
    }
    assert_true(cuts > 500);
}

static void allocates_nothing_once_warm(void **state)
{
    (void)state;
    uint32_t seed = 31;
    hpc_tokenizer *t = spm_fixture("ours");
    hpc_tokenizer_scratch *s;
    hpc_buf text = {0};
    long_text(&text, 300000, &seed);
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    hpc_ids ids = encode(t, s, text.data, text.n, 0);
    int64_t before = hpc_test_alloc_count(), n = ids.n;
    ids.n = 0;
    test_ok(hpc_tokenizer_encode(&ids, t, s, text.data, text.n, 0));
    assert_int_equal(ids.n, n);
    assert_int_equal(hpc_test_alloc_count(), before);
    hpc_free(ids.id);
    hpc_buf_release(&text);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(ids_of_the_fixtures, setup),
        cmocka_unit_test_setup(ids_of_the_library_for_any_model, setup),
        cmocka_unit_test_setup(ids_of_the_library_for_any_text, setup),
        cmocka_unit_test_setup(ids_of_the_library_for_sources, setup),
        cmocka_unit_test_setup(ids_of_the_library_for_much_code, setup),
        cmocka_unit_test_setup(every_text_comes_back, setup),
        cmocka_unit_test_setup(marks_are_text_unless_asked_for, setup),
        cmocka_unit_test_setup(any_cut, setup),
        cmocka_unit_test_setup(allocates_nothing_once_warm, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

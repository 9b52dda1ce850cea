/*
 * near.c: near-duplicates by planted edits, compared with exact similarity.
 */
/* tsan: left out, starts no thread. */
#include "tests/corpus/edits.h"

#include <stdio.h>

#include "corpus/near.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* ---- texts as items --------------------------------------------------------------------- */

enum { MOST = 12000 };
typedef struct shelf {
    hpc_buf text[MOST];
    int64_t n;
    int64_t original[MOST];
    corpus_near *near;
} shelf;

static shelf *open_shelf(int64_t expected)
{
    shelf *s = calloc(1, sizeof *s);
    assert_non_null(s);
    assert_int_equal(corpus_near_create(&s->near, expected), 0);
    return s;
}

static void close_shelf(shelf *s)
{
    corpus_near_free(s->near);
    for (int64_t i = 0; i < s->n; i++) hpc_buf_release(&s->text[i]);
    free(s);
}

/* The text was put into s->text[s->n] before. Returns the original. */
static int64_t add_item(shelf *s)
{
    corpus_code c = {0};
    corpus_signature sign;
    code_of(&c, &s->text[s->n]);
    corpus_sign(&sign, &c);
    corpus_code_release(&c);
    if (corpus_near_add(&s->original[s->n], s->near, s->n, &sign) < 0)
        fail_msg("%s", hpc_error_get()->text);
    return s->original[s->n++];
}

static double exact(const shelf *s, int64_t a, int64_t b)
{
    corpus_code x = {0}, y = {0};
    code_of(&x, &s->text[a]);
    code_of(&y, &s->text[b]);
    double j = exact_similarity_of(&x, &y);
    corpus_code_release(&x);
    corpus_code_release(&y);
    return j;
}

static bool together(const shelf *s, int64_t a, int64_t b)
{
    return corpus_near_component(s->near, a) == corpus_near_component(s->near, b);
}

/* ---- planted edits ----------------------------------------------------------------------- */

static const edit edits[] = {
    {.comment = 0.3, .licence = true},
    {.reindent = true},
    {.reindent = true, .comment = 0.5, .licence = true},
    {.rename = 0.01},
    {.rename = 0.03},
    {.rename = 0.06, .comment = 0.2},
    {.rename = 0.12},
    {.rename = 0.3, .reindent = true},
    {.rename = 1},
    {.insert = 0.03},
    {.insert = 0.1, .comment = 0.1},
    {.drop = 0.02, .reindent = true},
    {.drop = 0.08},
    {.drop = 0.05, .insert = 0.05, .rename = 0.02},
    {.drop = 0.3, .insert = 0.3},
};
enum { EDITS = sizeof edits / sizeof *edits };

typedef struct tally {
    int64_t pairs, alike, found, same, half, wrong;
} tally;

static void judge_pair(tally *t, const shelf *s, int64_t base, int64_t copy, const edit *e)
{
    double j = exact(s, base, copy);
    bool found = together(s, base, copy);
    t->pairs++;
    t->alike += j >= 0.85;
    t->found += j >= 0.85 && found;
    t->half += j < 0.5;
    if (s->original[copy] >= 0 && exact(s, s->original[copy], copy) < 0.5) t->wrong++;
    if (j < 0.5 && s->original[copy] == base) t->wrong++;
    if (e->rename + e->insert + e->drop > 0) return;
    t->same++; /* not a token is different */
    if (!found || s->original[copy] < 0 || j != 1) fail_msg("an identical text was not found");
}

/* Every program once, then every edit of every program. */
static void planted_edits_of(tally *t, int64_t length, int programs, uint64_t seed)
{
    shelf *s = open_shelf(0);
    for (int k = 0; k < programs; k++) {
        make_program(&s->text[s->n], seed + (uint64_t)k, length);
        add_item(s);
    }
    for (int k = 0; k < programs; k++) {
        for (int e = 0; e < EDITS; e++) {
            edit_program(&s->text[s->n], &s->text[k], &edits[e],
                         seed * 31 + (uint64_t)(k * EDITS + e));
            add_item(s);
            judge_pair(t, s, k, s->n - 1, &edits[e]);
        }
    }
    close_shelf(s);
}

static void planted_edits(void **state)
{
    (void)state;
    static const int64_t length[] = {20, 35, 60, 100, 200, 500, 1000, 2000};
    bool thorough = getenv("HPC_TEST_LONG") != NULL;
    for (size_t k = 0; k < sizeof length / sizeof *length; k++) {
        tally t = {0};
        int programs = thorough ? 700 : length[k] > 500 ? 25 : 60;
        planted_edits_of(&t, length[k], programs, 1000 * (k + 1));
        print_message("length %lld: %lld pairs, %lld of >= 0.85: %lld found; %lld under 0.5: %lld "
                      "wrong\n",
                      (long long)length[k], (long long)t.pairs, (long long)t.alike,
                      (long long)t.found, (long long)t.half, (long long)t.wrong);
        assert_int_equal(t.same, 3 * programs);
        assert_true(t.alike >= 5 * programs && t.half >= programs);
        assert_true(t.found >= 0.995 * (double)t.alike);
        assert_int_equal(t.wrong, 0);
    }
}

/* Against the definition, over all pairs of a small set: whoever has a kept one of 0.85 before it
 * is dropped, whoever has none of 0.5 is kept, and originals are kept ones. */
static void against_all_pairs(void **state)
{
    (void)state;
    shelf *s = open_shelf(0);
    for (uint32_t k = 0; k < 25; k++) {
        make_program(&s->text[s->n], 77 + k, 30 + 25 * k);
        add_item(s);
        int64_t base = s->n - 1;
        for (uint32_t v = 0; v < 9; v++) { /* of the first, or each of the one before */
            int64_t from = k % 2 ? base : s->n - 1;
            edit e = {.drop = 0.02 * (v % 3), .insert = 0.03 * (v % 2), .rename = 0.02 * (v % 5)};
            edit_program(&s->text[s->n], &s->text[from], &e, 100 * k + v);
            add_item(s);
        }
    }
    for (int64_t i = 0; i < s->n; i++) {
        double best = 0;
        for (int64_t j = 0; j < i; j++) {
            double x = exact(s, i, j);
            if (x >= 0.85) assert_true(together(s, i, j));
            if (s->original[j] < 0 && x > best) best = x;
        }
        int64_t o = s->original[i];
        if (best >= 0.85) assert_true(o >= 0);
        if (best < 0.5) assert_int_equal(o, -1);
        if (o >= 0) assert_true(o < i && s->original[o] == -1 && together(s, o, i));
        assert_true(corpus_near_component(s->near, i) <= i);
    }
    close_shelf(s);
}

/* ---- signatures alone ---------------------------------------------------------------------- */

static void random_lanes(corpus_signature *s, dice *d, int from)
{
    for (int i = from; i < CORPUS_LANES; i++) s->lane[i] = (uint16_t)(roll_dice(d, 1 << 15) << 1);
    s->shingles = 2000;
}

static corpus_near *open_near(int64_t expected)
{
    corpus_near *x;
    assert_int_equal(corpus_near_create(&x, expected), 0);
    return x;
}

static int64_t add_signature(corpus_near *x, int64_t item, const corpus_signature *s)
{
    int64_t original;
    if (corpus_near_add(&original, x, item, s) < 0) fail_msg("%s", hpc_error_get()->text);
    return original;
}

/* A history: each version is close to the one before, the last shares nothing with the first. */
static void a_history_is_one_component(void **state)
{
    (void)state;
    enum { VERSIONS = 500, FILES = 20 };
    corpus_near *x = open_near(VERSIONS * FILES);
    dice d = {5, 0};
    int64_t kept = 0;
    for (int64_t f = 0; f < FILES; f++) {
        corpus_signature s;
        random_lanes(&s, &d, 0);
        for (int64_t v = 0; v < VERSIONS; v++) {
            if (v > 0) s.lane[roll_dice(&d, CORPUS_LANES)] ^= 0x5550;
            int64_t o = add_signature(x, f * VERSIONS + v, &s);
            kept += o < 0;
            if (v == 0) assert_int_equal(o, -1);
            if (o >= 0) assert_true(o >= f * VERSIONS && o < f * VERSIONS + v);
        }
        for (int64_t v = 0; v < VERSIONS; v++)
            assert_int_equal(corpus_near_component(x, f * VERSIONS + v), f * VERSIONS);
    }
    assert_true(kept > FILES && kept < FILES * VERSIONS / 4);
    corpus_near_free(x);
}

/* Thousands that have one band in common and nothing else, and thousands that are half alike:
 * neither is near, and the twin of any of them is found all the same. */
static void crowded_bands(void **state)
{
    (void)state;
    enum { N = 20000 };
    corpus_near *x = open_near(0);
    corpus_signature *all = malloc(2 * N * sizeof *all), band, boiler;
    dice d = {9, 0};
    random_lanes(&band, &d, 0);
    random_lanes(&boiler, &d, 0);
    for (int64_t i = 0; i < 2 * N; i++) {
        all[i] = i < N ? band : boiler;
        random_lanes(&all[i], &d, i < N ? 6 : 66);
        assert_int_equal(add_signature(x, i, &all[i]), -1);
    }
    int64_t item = 2 * N;
    for (int64_t i = 0; i < 2 * N; i += 13) assert_int_equal(add_signature(x, item++, &all[i]), i);
    int64_t near = 0, asked = 0;
    for (int64_t i = 0; i < 2 * N; i += 17) { /* 12 lanes of 128 */
        for (int k = 0; k < 12; k++) all[i].lane[10 * k + 3] ^= 0x1230;
        near += add_signature(x, item++, &all[i]) == i;
        asked++;
    }
    assert_true(near >= asked - asked / 50);
    free(all);
    corpus_near_free(x);
}

/* Of 100000 entries of one key, the first ones and a sample of the rest that follows the newest
 * ones stay; a probe never sees more than a bucket. */
static void full_buckets(void **state)
{
    (void)state;
    near_table t = {0};
    near_bucket b;
    assert_int_equal(corpus_near_table_reserve(&t, 1000), 0);
    for (uint32_t id = 0; id < 100000; id++) {
        corpus_near_table_find(&b, &t, UINT64_C(0x8000000000000077), (uint32_t)hpc_mix(id));
        assert_int_equal(b.n, id < NEAR_BUCKET ? id : NEAR_BUCKET);
        corpus_near_table_put(&t, &b, id);
    }
    assert_int_equal(t.n, NEAR_BUCKET);
    int64_t recent = 0;
    corpus_near_table_find(&b, &t, UINT64_C(0x8000000000000077), 0);
    for (uint32_t i = 0; i < NEAR_OLDEST; i++) assert_int_equal(b.id[i], i);
    for (uint32_t i = NEAR_OLDEST; i < NEAR_BUCKET; i++) recent += b.id[i] >= 100000 - 300;
    assert_true(recent > (NEAR_BUCKET - NEAR_OLDEST) * 9 / 10);
    corpus_near_table_release(&t);
}

/* Where every bucket of an item is full, it gives way in all of them, and its twin is found. */
static void twins_are_always_found(void **state)
{
    (void)state;
    enum { N = 20000, KINDS = 8 };
    corpus_near *x = open_near(0);
    corpus_signature kind[KINDS], *all = malloc(N * sizeof *all);
    dice d = {31, 0};
    for (int k = 0; k < KINDS; k++) random_lanes(&kind[k], &d, 0);
    for (int64_t i = 0; i < N; i++) {
        random_lanes(&all[i], &d, 0);
        for (int l = 0; l < NEAR_BANDS * NEAR_ROWS; l += NEAR_ROWS)
            memcpy(&all[i].lane[l], &kind[roll_dice(&d, KINDS)].lane[l], NEAR_ROWS * 2);
        add_signature(x, i, &all[i]);
    }
    for (int64_t i = 0; i < N; i += 7) {
        int64_t original = add_signature(x, N + i, &all[i]);
        assert_true(original >= 0 && original <= i);
        assert_int_equal(corpus_near_component(x, N + i), corpus_near_component(x, i));
    }
    free(all);
    corpus_near_free(x);
}

/* Near to two kept ones that are not near each other: it is the first one's, and joins them. */
static void the_first_is_the_original(void **state)
{
    (void)state;
    corpus_near *x = open_near(0);
    corpus_signature a, b, c;
    dice d = {8, 0};
    random_lanes(&a, &d, 0);
    b = c = a;
    for (int l = 0; l < 48; l++) b.lane[l] ^= 0x2220;
    for (int l = 0; l < 24; l++) c.lane[l] ^= 0x2220;
    assert_int_equal(add_signature(x, 1, &a), -1);
    assert_int_equal(add_signature(x, 0, &b), -1);
    assert_int_equal(corpus_near_component(x, 1), 1);
    assert_int_equal(add_signature(x, 2, &c), 1);
    for (int l = 0; l < 48; l++) c.lane[l] = l < 24 ? a.lane[l] : b.lane[l];
    assert_int_equal(add_signature(x, 3, &c), 1); /* found in the other order */
    for (int64_t i = 0; i < 4; i++) assert_int_equal(corpus_near_component(x, i), 0);
    corpus_near_free(x);
}

/* Items come in order of precedence, which need not be that of their numbers. */
static void components_are_called_by_their_least(void **state)
{
    (void)state;
    corpus_near *x = open_near(0);
    corpus_signature s, far;
    dice d = {3, 0};
    random_lanes(&s, &d, 0);
    random_lanes(&far, &d, 0);
    assert_int_equal(add_signature(x, 40, &s), -1);
    assert_int_equal(add_signature(x, 7, &far), -1);
    s.lane[0] ^= 0x40;
    assert_int_equal(add_signature(x, 100000, &s), 40);
    assert_int_equal(corpus_near_component(x, 100000), 40);
    s.lane[1] ^= 0x40;
    assert_int_equal(add_signature(x, 3, &s), 40);
    assert_int_equal(corpus_near_component(x, 100000), 3);
    assert_int_equal(corpus_near_component(x, 40), 3);
    assert_int_equal(corpus_near_component(x, 7), 7);
    assert_int_equal(corpus_near_component(x, 8), 8); /* never added */
    assert_int_equal(corpus_near_component(x, -5), -5);
    corpus_near_free(x);
}

static void wrong_items(void **state)
{
    (void)state;
    corpus_near *x = open_near(0);
    corpus_signature s;
    dice d = {3, 0};
    int64_t original;
    random_lanes(&s, &d, 0);
    add_signature(x, 5, &s);
    assert_int_equal(corpus_near_add(&original, x, 5, &s), HPC_E_STATE);
    hpc_error_clear();
    assert_int_equal(corpus_near_add(&original, x, -1, &s), HPC_E_UNSUPPORTED);
    hpc_error_clear();
    assert_int_equal(corpus_near_add(&original, x, INT64_C(1) << 32, &s), HPC_E_UNSUPPORTED);
    assert_int_equal(add_signature(x, 6, &s), 5);
    corpus_near_free(x);
    corpus_near_free(NULL);
}

/* Tables that had to grow hold what tables of the right size hold. */
static void growing_changes_nothing(void **state)
{
    (void)state;
    enum { N = 30000 };
    corpus_near *small = open_near(0), *large = open_near(N);
    dice d = {21, 0};
    corpus_signature *all = malloc(N * sizeof *all);
    for (int64_t i = 0; i < N; i++) {
        if (i < 5000 || i % 3 == 0) {
            random_lanes(&all[i], &d, 0);
        } else {
            all[i] = all[roll_dice(&d, (uint32_t)i)];
            random_lanes(&all[i], &d, 100 + (int)roll_dice(&d, 28));
        }
        assert_int_equal(add_signature(small, i, &all[i]), add_signature(large, i, &all[i]));
    }
    for (int64_t i = 0; i < N; i++)
        assert_int_equal(corpus_near_component(small, i), corpus_near_component(large, i));
    free(all);
    corpus_near_free(small);
    corpus_near_free(large);
}

/* ---- what goes wrong ------------------------------------------------------------------------ */

static int fill_near(void *user)
{
    corpus_near *x;
    const corpus_signature *all = user;
    int64_t original;
    int rc = corpus_near_create(&x, 0);
    for (int64_t i = 0; rc >= 0 && i < 2500; i++) rc = corpus_near_add(&original, x, i, &all[i]);
    corpus_near_free(x);
    return rc;
}

static void out_of_memory(void **state)
{
    (void)state;
    dice d = {2, 0};
    corpus_signature *all = malloc(2500 * sizeof *all);
    for (int i = 0; i < 2500; i++) random_lanes(&all[i], &d, 0);
    assert_true(hpc_test_each_alloc(fill_near, all) > 80); /* among them all that grow */
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(planted_edits, setup),
        cmocka_unit_test_setup(against_all_pairs, setup),
        cmocka_unit_test_setup(a_history_is_one_component, setup),
        cmocka_unit_test_setup(crowded_bands, setup),
        cmocka_unit_test_setup(full_buckets, setup),
        cmocka_unit_test_setup(twins_are_always_found, setup),
        cmocka_unit_test_setup(the_first_is_the_original, setup),
        cmocka_unit_test_setup(components_are_called_by_their_least, setup),
        cmocka_unit_test_setup(wrong_items, setup),
        cmocka_unit_test_setup(growing_changes_nothing, setup),
        cmocka_unit_test_setup(out_of_memory, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * passage.c, sketch_read.c: windows that identify a text, samples of them, and keys.
 */
/* tsan: left out, starts no thread. */
#include "tests/corpus/sources.h"

#include "corpus/sketch.h"
#include "tests/corpus/edits.h"

/* ---- keys ---------------------------------------------------------------------------------- */

static void keys_are_sorted(void **state)
{
    (void)state;
    enum { N = 3000 };
    for (int n = 0; n < N; n = 2 * n + 1) {
        corpus_keys k = {0};
        uint64_t *all = calloc(N, sizeof *all);
        int64_t distinct = 0;
        for (int i = 0; i < n; i++) {
            all[i] = hpc_mix((uint64_t)(i % 700)) >> (i % 9);
            assert_int_equal(corpus_keys_add(&k, all[i]), 0);
        }
        assert_int_equal(corpus_keys_sort(&k), 0);
        qsort(all, (size_t)n, sizeof *all, by_hash);
        for (int i = 0; i < n; i++) {
            if (i > 0 && all[i] == all[i - 1]) continue;
            assert_true(distinct < k.n && k.key[distinct++] == all[i]);
        }
        assert_int_equal(k.n, distinct);
        hpc_free(k.key);
        free(all);
    }
}

/* ---- windows ------------------------------------------------------------------------------- */

static int64_t windows_of(const char *text)
{
    corpus_code c = {0};
    corpus_passage p;
    int64_t n = 0;
    int more;
    uint64_t key[CORPUS_PASSAGE_MOST];
    code_of_text(&c, text, strlen(text));
    corpus_passage_start(&p, &c);
    while ((more = corpus_passage_next(key, &p)) >= 0) n += more;
    corpus_code_release(&c);
    return n;
}

static void windows_that_count(void **state)
{
    (void)state;
    hpc_buf b = {0};
    hpc_buf_text(&b, "double t[] = {");
    for (int k = 0; k < 200; k++) hpc_buf_printf(&b, "%d.%d,", k, 7 * k % 97);
    assert_int_equal(windows_of(b.data), 0); /* a table */
    b.n = 0;
    for (int k = 0; k < 50; k++) hpc_buf_printf(&b, "#include <h%d.h>\n", k);
    assert_int_equal(windows_of(b.data), 0);
    b.n = 0;
    for (int k = 0; k < 50; k++) hpc_buf_text(&b, "a b c d e ");
    assert_int_equal(windows_of(b.data), 250 - 49);
    b.n = 0;
    for (int k = 0; k < 50; k++) hpc_buf_text(&b, "a b c d d ");
    assert_int_equal(windows_of(b.data), 0);
    hpc_buf_release(&b);
}

/* Each pair is two consecutive windows of the text, in order, by either way of hashing. Returns how
 * many windows no pair begins with. */
static int64_t expect_pairs(const uint64_t *pair, int64_t n, const uint64_t *all, int64_t all_n)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++, at++) {
        while (at < all_n && all[at] != pair[2 * i]) at++;
        assert_true(at + 1 < all_n);
        assert_true(all[at + 1] == pair[2 * i + 1]);
    }
    return all_n - n;
}

static void samples_are_pairs_of_windows(void **state)
{
    (void)state;
    hpc_buf b = {0};
    corpus_code c = {0};
    corpus_passage p;
    make_program(&b, 3, 2000);
    for (int k = 0; k < 300; k++) hpc_buf_printf(&b, "%d, ", k); /* where none counts */
    code_of(&c, &b);
    uint64_t *all = malloc((size_t)c.n * sizeof *all),
             *some = malloc((size_t)c.n * 2 * sizeof *some);
    int64_t all_n = 0, windows = c.n - CORPUS_HELD_OUT_SHINGLE + 1;
    corpus_passage_start(&p, &c);
    for (int n; (n = corpus_passage_next(all + all_n, &p)) >= 0; all_n += n) continue;
    assert_true(all_n > 1500 && all_n < windows - 300);
    static const int64_t size[] = {1, 7, 100, 800};
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        int64_t n = corpus_passage_sample(some, &c, size[k]);
        assert_true(labs((long)(n - size[k] * all_n / windows)) <= size[k] / 50 + 1);
        expect_pairs(some, n, all, all_n);
    }
    int64_t n = corpus_passage_sample(some, &c, windows - 1);
    assert_in_range(expect_pairs(some, n, all, all_n), 1, 10); /* the last of each stretch */
    free(all);
    free(some);
    corpus_code_release(&c);
    hpc_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_sorted),
        cmocka_unit_test(windows_that_count),
        cmocka_unit_test(samples_are_pairs_of_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

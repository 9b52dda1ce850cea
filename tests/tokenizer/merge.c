/*
 * merge.c: merging compared with its definition, long and short words, frozen symbols, failures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fault.h"
#include "tokenizer/priv.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

typedef struct rule {
    int32_t left, right, rank, merged;
} rule;

static const rule *rule_of(const rule *r, int n, int32_t left, int32_t right)
{
    const rule *best = NULL;
    for (int i = 0; i < n; i++)
        if (r[i].left == left && r[i].right == right && (!best || r[i].rank < best->rank))
            best = &r[i];
    return best;
}

/* The definition: the pair of least rank, of equals the leftmost, until none is left. */
static void merge_plainly(int32_t *symbol, int64_t *n, const rule *r, int rules)
{
    for (;;) {
        const rule *best = NULL;
        int64_t at = 0;
        for (int64_t i = 0; i + 1 < *n; i++) {
            const rule *here = rule_of(r, rules, symbol[i], symbol[i + 1]);
            if (!here || (best && best->rank <= here->rank)) continue;
            best = here;
            at = i;
        }
        if (!best) return;
        symbol[at] = best->merged;
        memmove(symbol + at + 1, symbol + at + 2, (size_t)(*n - at - 2) * sizeof *symbol);
        --*n;
    }
}

enum { RULES = 60, LONGEST = 300 };

/* A few symbols, few ranks, so that ties and overlaps are common; rules may go round in circles
 * of symbols, because each merge shortens the word. */
static void draw_rules(rule *r, uint32_t *seed)
{
    for (int i = 0; i < RULES; i++)
        r[i] = (rule){(int32_t)(next_random(seed) % 12), (int32_t)(next_random(seed) % 12),
                      (int32_t)(next_random(seed) % 20), (int32_t)(next_random(seed) % 12)};
    /* Equal pairs of equal rank would be a contradiction. */
    for (int i = 0; i < RULES; i++)
        for (int k = 0; k < i; k++)
            if (r[i].left == r[k].left && r[i].right == r[k].right) r[i].merged = r[k].merged;
}

static void as_it_is_defined(void **state)
{
    (void)state;
    uint32_t seed = 7;
    hpc_tokenizer_scratch s = {0};
    for (int round = 0; round < 400; round++) {
        rule r[RULES];
        int32_t word[LONGEST], expected[LONGEST];
        tokenizer_merges *m;
        draw_rules(r, &seed);
        assert_int_equal(tokenizer_merges_create(&m, round % 3 * 50), 0);
        for (int i = 0; i < RULES; i++)
            assert_int_equal(tokenizer_merges_add(m, r[i].left, r[i].right, r[i].rank, r[i].merged),
                             0);
        int64_t n = next_random(&seed) % (round % 2 ? LONGEST : 40), wanted = n, got = n;
        for (int64_t i = 0; i < n; i++) {
            word[i] = (int32_t)(next_random(&seed) % 12);
            if (next_random(&seed) % 16 == 0) word[i] = -1 - (int32_t)(next_random(&seed) % 3);
            expected[i] = word[i];
        }
        merge_plainly(expected, &wanted, r, RULES);
        assert_int_equal(tokenizer_merge(word, &got, m, &s), 0);
        assert_int_equal(got, wanted);
        assert_memory_equal(word, expected, (size_t)got * sizeof *word);
        tokenizer_merges_free(m);
    }
    hpc_buf_release(&s.heap);
}

static void tracks_the_last_candidate(void **state)
{
    (void)state;
    /* 0 1 2: (0 1) first, then (3 2) into 5; (1 2) was a candidate for 5 before. */
    tokenizer_merges *m;
    hpc_tokenizer_scratch s = {0};
    tokenizer_pair last[6];
    int32_t word[] = {0, 1, 2};
    int64_t n = 3;
    memset(last, -1, sizeof last);
    assert_int_equal(tokenizer_merges_create(&m, 0), 0);
    assert_int_equal(tokenizer_merges_add(m, 0, 1, 0, 3), 0);
    assert_int_equal(tokenizer_merges_add(m, 1, 2, 1, 5), 0);
    assert_int_equal(tokenizer_merges_add(m, 3, 2, 1, 5), 0);
    assert_int_equal(tokenizer_merge_tracked(word, &n, m, &s, last), 0);
    assert_int_equal(n, 1);
    assert_int_equal(word[0], 5);
    assert_int_equal(last[5].left, 3);
    assert_int_equal(last[5].right, 2);
    assert_int_equal(last[3].left, 0);
    assert_int_equal(last[4].left, -1);
    for (n = 0; n < 2; n++) {
        int64_t left = n;
        assert_int_equal(tokenizer_merge_tracked(word, &left, m, &s, last), 0);
        assert_int_equal(left, n);
    }
    tokenizer_merges_free(m);
    hpc_buf_release(&s.heap);
}

/* A million equal symbols: a merge that looked everywhere each time would take hours. */
static void long_words_take_no_longer(void **state)
{
    (void)state;
    enum { N = 1 << 20 };
    tokenizer_merges *m;
    hpc_tokenizer_scratch s = {0};
    int32_t *word = hpc_alloc(N, sizeof *word);
    int64_t n = N;
    assert_int_equal(tokenizer_merges_create(&m, 0), 0);
    for (int32_t i = 0; i < 10; i++) assert_int_equal(tokenizer_merges_add(m, i, i, i, i + 1), 0);
    assert_int_equal(tokenizer_merge(word, &n, m, &s), 0);
    assert_int_equal(n, N >> 10);
    for (int64_t i = 0; i < n; i++) assert_int_equal(word[i], 10);
    hpc_free(word);
    hpc_buf_release(&s.heap);
    tokenizer_merges_free(m);
}

static int make_and_merge(void *user)
{
    (void)user;
    int rc;
    int32_t word[100] = {0};
    int64_t n = 100;
    tokenizer_merges *m = NULL;
    hpc_tokenizer_scratch s = {0};
    TRY(tokenizer_merges_create(&m, 0));
    for (int32_t i = 0; i < 100; i++) TRY(tokenizer_merges_add(m, i, i, i, i + 1));
    TRY(tokenizer_merge(word, &n, m, &s));
out:
    tokenizer_merges_free(m);
    hpc_buf_release(&s.heap);
    return rc;
}

static void survives_failures(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(make_and_merge, NULL) >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(as_it_is_defined, setup),
        cmocka_unit_test_setup(tracks_the_last_candidate, setup),
        cmocka_unit_test_setup(long_words_take_no_longer, setup),
        cmocka_unit_test_setup(survives_failures, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

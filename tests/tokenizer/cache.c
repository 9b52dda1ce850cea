/*
 * cache.c: lookups return what was stored; entries may be evicted but never confused; no
 * allocation.
 */
/* tsan: left out, starts no thread. */
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

static void finds_what_was_put(void **state)
{
    (void)state;
    tokenizer_cache *c;
    const int32_t ids[] = {5, 0, INT32_MAX};
    int64_t n = -1;
    assert_int_equal(tokenizer_cache_create(&c), 0);
    assert_null(tokenizer_cache_get(&n, c, "word", 4));
    tokenizer_cache_put(c, "word", 4, ids, 3);
    assert_null(tokenizer_cache_get(&n, c, "wor", 3));
    assert_null(tokenizer_cache_get(&n, c, "wore", 4));
    assert_null(tokenizer_cache_get(&n, c, "word\0", 5));
    const int32_t *got = tokenizer_cache_get(&n, c, "word", 4);
    assert_non_null(got);
    assert_int_equal(n, 3);
    assert_memory_equal(got, ids, sizeof ids);
    tokenizer_cache_put(c, "none", 4, NULL, 0);
    assert_non_null(tokenizer_cache_get(&n, c, "none", 4));
    assert_int_equal(n, 0);
    tokenizer_cache_free(c);
    tokenizer_cache_free(NULL);
}

/* A word whose ids follow from it, so that any mistake shows. */
static size_t word_of(char *word, int32_t *id, int64_t *n, uint32_t number)
{
    size_t bytes = number % 7 ? number % 60 : number % 300;
    for (size_t i = 0; i < bytes; i++) word[i] = (char)(number >> i % 4 * 8);
    *n = number % 23;
    for (int64_t i = 0; i < *n; i++) id[i] = (int32_t)(number ^ (uint32_t)i) & INT32_MAX;
    return bytes;
}

static void forgets_but_never_mistakes(void **state)
{
    (void)state;
    tokenizer_cache *c;
    char word[300];
    int32_t id[32];
    int64_t n, got_n, hits = 0, asked = 0;
    assert_int_equal(tokenizer_cache_create(&c), 0);
    int64_t before = hpc_test_alloc_count();
    for (uint32_t i = 0; i < 200000; i++) {
        /* Frequent words among rare ones. */
        uint32_t number = i % 4 == 0 ? i : i * 2654435761u % 5000;
        size_t bytes = word_of(word, id, &n, number);
        const int32_t *got = tokenizer_cache_get(&got_n, c, word, bytes);
        asked += i % 4 != 0;
        hits += got && i % 4 != 0;
        if (got) {
            /* Words of few bytes are the same for many numbers: those are put again below. */
            if (bytes >= 4) {
                assert_int_equal(got_n, n);
                assert_memory_equal(got, id, (size_t)n * sizeof *id);
            }
        } else {
            tokenizer_cache_put(c, word, bytes, id, n);
        }
    }
    assert_int_equal(hpc_test_alloc_count(), before);
    assert_true(hits > asked / 3);
    tokenizer_cache_free(c);
}

static int create(void *user)
{
    (void)user;
    tokenizer_cache *c;
    int rc = tokenizer_cache_create(&c);
    tokenizer_cache_free(c);
    return rc;
}

static void survives_failures(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(create, NULL) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_what_was_put, setup),
        cmocka_unit_test_setup(forgets_but_never_mistakes, setup),
        cmocka_unit_test_setup(survives_failures, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* arena.c: alignment, zeroing, reuse after rewinding, and failing allocations. */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

static bool zeroed(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0) return false;
    return true;
}

/* Objects of sizes around the block size; each is checked and dirtied. Returns 0 or an error. */
static int make_objects(hpc_arena *a, size_t shift)
{
    for (size_t i = 0; i < 40; i++) {
        size_t n = (i * 37 + shift) % 300;
        unsigned char *p = hpc_arena_alloc(a, n, 1);
        if (!p) return HPC_E_NOMEM;
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_true(zeroed(p, n));
        memset(p, 0xa5, n);
    }
    return 0;
}

static void objects_do_not_overlap(void **state)
{
    (void)state;
    hpc_arena *a = hpc_arena_create(128);
    unsigned char *p[50];
    for (int i = 0; i < 50; i++) {
        p[i] = hpc_arena_alloc(a, (size_t)i, 1);
        assert_non_null(p[i]);
        memset(p[i], i, (size_t)i);
    }
    for (int i = 0; i < 50; i++) {
        for (int j = 0; j < i; j++) {
            assert_int_equal(p[i][j], i);
            assert_ptr_not_equal(p[i], p[j]);
        }
    }
    hpc_arena_free(a);
    hpc_arena_free(NULL);
}

static void rewinding_reuses_blocks_and_zeroes(void **state)
{
    (void)state;
    hpc_arena *a = hpc_arena_create(256);
    assert_int_equal(hpc_arena_bytes(a), 0);
    hpc_arena_mark start = hpc_arena_here(a);
    assert_int_equal(make_objects(a, 0), 0);
    size_t bytes = hpc_arena_bytes(a);
    int64_t count = hpc_test_alloc_count();
    assert_true(bytes > 0);
    for (int i = 0; i < 5; i++) {
        hpc_arena_rewind(a, start);
        assert_int_equal(make_objects(a, 0), 0);
    }
    assert_int_equal(hpc_arena_bytes(a), bytes);
    assert_int_equal(hpc_test_alloc_count(), count);

    /* Other sequences may add blocks, but of each size never more than a run has objects. */
    for (size_t i = 0; i < 3000; i++) {
        hpc_arena_rewind(a, start);
        assert_int_equal(make_objects(a, i), 0);
    }
    assert_in_range(hpc_arena_bytes(a), bytes, 40 * (256 + 512));
    hpc_arena_free(a);
}

static void marks_nest(void **state)
{
    (void)state;
    hpc_arena *a = hpc_arena_create(128);
    char *kept = hpc_arena_text(a, "kept");
    hpc_arena_mark mark = hpc_arena_here(a);
    char *lost = hpc_arena_alloc(a, 16, 1);
    hpc_arena_mark inner = hpc_arena_here(a);
    assert_non_null(hpc_arena_alloc(a, 1000, 1));
    hpc_arena_rewind(a, inner);
    strcpy(lost, "lost");
    hpc_arena_rewind(a, mark);
    char *again = hpc_arena_alloc(a, 16, 1);
    assert_ptr_equal(again, lost);
    assert_string_equal(again, "");
    assert_string_equal(kept, "kept");
    hpc_arena_free(a);
}

static void text_is_formatted(void **state)
{
    (void)state;
    hpc_arena *a = hpc_arena_create(0);
    assert_string_equal(hpc_arena_text(a, "%s-%d", "x", 42), "x-42");
    assert_string_equal(hpc_arena_text(a, "%s", ""), "");
    char *wide = hpc_arena_text(a, "%100000d", 7);
    assert_int_equal(strlen(wide), 100000);
    assert_int_equal(wide[99999], '7');
    hpc_arena_free(a);
}

static void overflow_is_out_of_memory(void **state)
{
    (void)state;
    hpc_arena *a = hpc_arena_create(0);
    const size_t huge[][2] = {{SIZE_MAX, 2}, {SIZE_MAX, 1}, {PTRDIFF_MAX, 1}};
    for (size_t i = 0; i < 3; i++) {
        assert_null(hpc_arena_alloc(a, huge[i][0], huge[i][1]));
        assert_int_equal(hpc_error_get()->code, HPC_E_NOMEM);
        hpc_error_clear();
    }
    assert_int_equal(hpc_arena_bytes(a), 0);
    assert_non_null(hpc_arena_alloc(a, 1, 1));
    hpc_arena_free(a);
}

static int use(void *user)
{
    (void)user;
    int rc = HPC_E_NOMEM;
    hpc_arena *a = hpc_arena_create(512);
    if (!a) goto out;
    TRY(make_objects(a, 5));
    rc = hpc_arena_text(a, "%s", "text") ? 0 : HPC_E_NOMEM;
out:
    hpc_arena_free(a);
    return rc;
}

static void every_allocation_fails_in_turn(void **state)
{
    (void)state;
    assert_in_range(hpc_test_each_alloc(use, NULL), 3, 60);
}

/* After a failure the arena is as it was, and the next attempt succeeds. */
static void a_failure_changes_nothing(void **state)
{
    (void)state;
    hpc_arena *a = hpc_arena_create(64);
    char *text = hpc_arena_text(a, "here");
    hpc_arena_mark mark = hpc_arena_here(a);
    hpc_test_fail_alloc(1);
    assert_null(hpc_arena_alloc(a, 4096, 1));
    hpc_arena_mark now = hpc_arena_here(a);
    assert_memory_equal(&now, &mark, sizeof mark);
    assert_non_null(hpc_arena_alloc(a, 4096, 1));
    assert_string_equal(text, "here");
    hpc_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(objects_do_not_overlap, setup),
        cmocka_unit_test_setup(rewinding_reuses_blocks_and_zeroes, setup),
        cmocka_unit_test_setup(marks_nest, setup),
        cmocka_unit_test_setup(text_is_formatted, setup),
        cmocka_unit_test_setup(overflow_is_out_of_memory, setup),
        cmocka_unit_test_setup(every_allocation_fails_in_turn, setup),
        cmocka_unit_test_setup(a_failure_changes_nothing, setup),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}

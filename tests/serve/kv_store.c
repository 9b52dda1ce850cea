/*
 * Tests of KV cache files: found again after a restart, kept within the quota, removed when
 * damaged.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <utime.h>

#include "infer/serve/kv_store.h"
#include "tests/support/expect.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

enum { SEGMENT = 32, DATA = 1000, TEXT = 4 * SEGMENT };

typedef struct text {
    int32_t token[TEXT];
} text;

static text text_of(int32_t seed)
{
    text t;
    for (int k = 0; k < TEXT; k++) t.token[k] = k < SEGMENT ? k : seed * 100 + k;
    return t;
}

static hpc_kv_store *open_store(const hpc_test_folder *f, int64_t quota, int64_t expire_s,
                                uint64_t model)
{
    char path[PATH_MAX];
    hpc_kv_store *s;
    test_ok(hpc_kv_store_open(&s, &(hpc_kv_store_options){.folder = hpc_test_path(path, f, "kv"),
                                                          .identity = {.low = model},
                                                          .bytes = quota,
                                                          .expire_s = expire_s,
                                                          .segment = SEGMENT}));
    return s;
}

static hpc_kv_store *open_default(const hpc_test_folder *f)
{
    return open_store(f, 1 << 20, 3600, 1);
}

/* Data that belongs to the tokens up to n. */
static void fill(char data[DATA], const text *t, int64_t n)
{
    uint64_t h = hpc_hash(t->token, (size_t)n * sizeof *t->token, 9);
    for (int k = 0; k < DATA; k++) data[k] = (char)(h >> (k % 8 * 8));
}

static void put(hpc_kv_store *s, const text *t, int64_t n)
{
    char data[DATA];
    fill(data, t, n);
    test_ok(hpc_kv_store_put(s, t->token, n, data, DATA));
}

static bool get(hpc_kv_store *s, const text *t, int64_t n)
{
    char data[DATA];
    hpc_buf b = {0};
    bool found;
    fill(data, t, n);
    test_ok(hpc_kv_store_get(&b, &found, s, t->token, n));
    if (found) {
        assert_int_equal(b.n, DATA);
        assert_memory_equal(b.data, data, DATA);
    }
    hpc_buf_release(&b);
    return found;
}

/* The file of the only segment. */
static void only_file(char path[PATH_MAX], const hpc_test_folder *f)
{
    char folder[PATH_MAX];
    hpc_buf names = {0};
    int64_t n;
    test_ok(hpc_file_list(&names, &n, hpc_test_path(folder, f, "kv")));
    assert_int_equal(n, 1);
    snprintf(path, PATH_MAX, "%.2000s/%.200s", folder, names.data);
    hpc_buf_release(&names);
}

static void segments_are_found_after_a_restart(void **state)
{
    const text a = text_of(1), b = text_of(2);
    hpc_kv_store *s = open_default(*state);
    put(s, &a, SEGMENT);
    put(s, &a, 2 * SEGMENT);
    put(s, &b, 2 * SEGMENT);
    put(s, &b, SEGMENT); /* the same beginning: nothing is written */
    assert_int_equal(hpc_kv_store_files(s), 3);
    hpc_kv_store_close(s);
    s = open_default(*state);
    assert_int_equal(hpc_kv_store_files(s), 3);
    assert_true(get(s, &a, SEGMENT));
    assert_true(get(s, &a, 2 * SEGMENT));
    assert_true(get(s, &b, SEGMENT));
    assert_true(get(s, &b, 2 * SEGMENT));
    assert_false(get(s, &a, 3 * SEGMENT));
    assert_false(hpc_kv_store_has(s, a.token, 3 * SEGMENT));
    hpc_kv_store_close(s);
    s = open_store(*state, 1 << 20, 3600, 2); /* another model */
    assert_false(get(s, &a, SEGMENT));
    hpc_kv_store_close(s);
}

static void files_are_for_their_owner_alone(void **state)
{
    const text a = text_of(1);
    char path[PATH_MAX];
    struct stat st;
    hpc_kv_store *s = open_default(*state);
    put(s, &a, SEGMENT);
    hpc_kv_store_close(s);
    only_file(path, *state);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(hpc_test_path(path, *state, "kv"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
}

static void folder_that_others_may_write_to_is_rejected(void **state)
{
    char path[PATH_MAX];
    hpc_kv_store *s;
    hpc_test_path(path, *state, "shared");
    test_ok(hpc_file_mkdir(path));
    assert_int_equal(chmod(path, 0777), 0);
    test_fails(hpc_kv_store_open(&s, &(hpc_kv_store_options){.folder = path, .segment = SEGMENT}),
               HPC_E_ARG, "others may write to it");
}

static void quota_evicts_the_least_recently_used(void **state)
{
    const int64_t file = 64 + SEGMENT * 4 + DATA;
    text t[4];
    for (int k = 0; k < 4; k++) {
        t[k] = text_of(k);
        t[k].token[0] = 1000 + k;
    }
    hpc_kv_store *s = open_store(*state, 3 * file, 3600, 1);
    for (int k = 0; k < 3; k++) put(s, &t[k], SEGMENT);
    assert_int_equal(hpc_kv_store_bytes(s), 3 * file);
    assert_true(get(s, &t[0], SEGMENT));
    put(s, &t[3], SEGMENT);
    assert_int_equal(hpc_kv_store_files(s), 3);
    assert_true(get(s, &t[0], SEGMENT));
    assert_false(get(s, &t[1], SEGMENT));
    hpc_kv_store_close(s);
    s = open_store(*state, file, 3600, 1); /* a smaller quota */
    assert_int_equal(hpc_kv_store_files(s), 1);
    hpc_kv_store_close(s);
    s = open_store(*state, file - 1, 3600, 1);
    put(s, &t[0], SEGMENT); /* exceeds the quota alone */
    assert_int_equal(hpc_kv_store_files(s), 0);
    hpc_kv_store_close(s);
}

static void eviction_takes_the_end_of_a_text_before_its_beginning(void **state)
{
    const int64_t file = 64 + SEGMENT * 4 + DATA;
    const text a = text_of(1);
    text b = text_of(2);
    b.token[0] = 77;
    hpc_kv_store *s = open_store(*state, 3 * file, 3600, 1);
    for (int k = 1; k <= 3; k++) put(s, &a, k * SEGMENT);
    put(s, &b, SEGMENT);
    assert_true(get(s, &a, SEGMENT));
    assert_true(get(s, &a, 2 * SEGMENT));
    assert_false(get(s, &a, 3 * SEGMENT));
    hpc_kv_store_close(s);
}

static void unused_segments_expire(void **state)
{
    const text a = text_of(1);
    char path[PATH_MAX];
    hpc_kv_store *s = open_default(*state);
    put(s, &a, SEGMENT);
    hpc_kv_store_close(s);
    only_file(path, *state);
    assert_int_equal(utime(path, &(struct utimbuf){.actime = 1000, .modtime = 1000}), 0);
    s = open_default(*state);
    assert_int_equal(hpc_kv_store_files(s), 0);
    assert_false(hpc_file_exists(path));
    hpc_kv_store_close(s);
}

/* Each byte of the file in turn, and each length. */
static void damaged_file_is_ignored_and_removed(void **state)
{
    const text a = text_of(1);
    char path[PATH_MAX];
    hpc_buf whole = {0};
    hpc_kv_store *s = open_default(*state);
    put(s, &a, SEGMENT);
    hpc_kv_store_close(s);
    only_file(path, *state);
    test_ok(hpc_file_read(&whole, path, 1 << 20));
    for (size_t k = 0; k < whole.n; k += k < 64 ? 1 : 97)
        for (int cut = 0; cut < 2; cut++) {
            if (!cut) whole.data[k] ^= 4;
            test_ok(hpc_file_save(path, whole.data, cut ? k : whole.n));
            if (!cut) whole.data[k] ^= 4;
            s = open_default(*state);
            assert_int_equal(hpc_kv_store_files(s), 1);
            assert_false(get(s, &a, SEGMENT));
            assert_int_equal(hpc_kv_store_files(s), 0);
            assert_false(hpc_file_exists(path));
            hpc_kv_store_close(s);
        }
    hpc_buf_release(&whole);
}

static void other_files_and_lost_ones_do_no_harm(void **state)
{
    const text a = text_of(1);
    char path[PATH_MAX], folder[PATH_MAX];
    hpc_kv_store *s = open_default(*state);
    hpc_test_path(folder, *state, "kv");
    snprintf(path, sizeof path, "%.2000s/notes.txt", folder);
    test_ok(hpc_file_save(path, "mine", 4));
    hpc_kv_store_close(s);
    s = open_store(*state, 1, 0, 1);
    assert_int_equal(hpc_kv_store_files(s), 0);
    assert_true(hpc_file_exists(path));
    hpc_kv_store_close(s);
    test_ok(hpc_file_remove(path));
    s = open_default(*state);
    put(s, &a, SEGMENT);
    only_file(path, *state);
    test_ok(hpc_file_remove(path)); /* by another process */
    assert_false(get(s, &a, SEGMENT));
    hpc_kv_store_close(s);
}

/* The number in the name and in the file is the end of the segment in the tokens. */
static void file_with_another_number_of_tokens_is_not_taken(void **state)
{
    const text a = text_of(1);
    const int64_t number = -1000000;
    char path[PATH_MAX], other[PATH_MAX + 32];
    hpc_buf file = {0};
    hpc_kv_store *s = open_default(*state);
    put(s, &a, SEGMENT);
    hpc_kv_store_close(s);
    only_file(path, *state);
    test_ok(hpc_file_read(&file, path, 1 << 20));
    memcpy(file.data + 16, &number, sizeof number); /* after the magic, version and segment */
    test_ok(hpc_file_remove(path));
    *strrchr(path, '-') = '\0';
    snprintf(other, sizeof other, "%s-%lld.kv", path, (long long)number);
    test_ok(hpc_file_save(other, file.data, file.n));
    hpc_buf_release(&file);
    s = open_default(*state);
    assert_int_equal(hpc_kv_store_files(s), 1);
    assert_false(hpc_kv_store_has(s, a.token, SEGMENT));
    assert_false(get(s, &a, SEGMENT));
    hpc_kv_store_close(s);
}

static int put_one(void *user)
{
    const text a = text_of(1);
    char data[DATA] = {0}, path[PATH_MAX];
    hpc_kv_store *s = NULL;
    hpc_buf b = {0};
    bool found = false;
    int rc;
    TRY(hpc_kv_store_open(&s, &(hpc_kv_store_options){.folder = hpc_test_path(path, user, "kv"),
                                                      .bytes = 1 << 20,
                                                      .expire_s = 3600,
                                                      .segment = SEGMENT}));
    TRY(hpc_kv_store_put(s, a.token, SEGMENT, data, DATA));
    TRY(hpc_kv_store_get(&b, &found, s, a.token, SEGMENT));
    rc = found ? rc : HPC_E_NOMEM; /* a file that cannot be read counts as damaged */
    if (!found) hpc_fail(HPC_E_NOMEM, "not found");
out:
    hpc_kv_store_close(s);
    hpc_buf_release(&b);
    return rc;
}

static void memory_may_be_short_anywhere(void **state)
{
    hpc_test_each_alloc(put_one, *state);
}

int main(void)
{
#define TEST(name)                                                                                 \
    cmocka_unit_test_setup_teardown(name, hpc_test_folder_setup, hpc_test_folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST(segments_are_found_after_a_restart),
        TEST(files_are_for_their_owner_alone),
        TEST(folder_that_others_may_write_to_is_rejected),
        TEST(quota_evicts_the_least_recently_used),
        TEST(eviction_takes_the_end_of_a_text_before_its_beginning),
        TEST(unused_segments_expire),
        TEST(damaged_file_is_ignored_and_removed),
        TEST(other_files_and_lost_ones_do_no_harm),
        TEST(file_with_another_number_of_tokens_is_not_taken),
        TEST(memory_may_be_short_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests of runtime/base/file_write.c and file_folder.c: atomic writing in pieces, folders, locks
 * between processes.
 */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

static void expect_content(const char *path, const char *text)
{
    hpc_buf b = {0};
    assert_int_equal(hpc_file_read(&b, path, 1 << 20), 0);
    assert_string_equal(b.data ? b.data : "", text);
    hpc_buf_release(&b);
}

static void test_pieces(void **state)
{
    char path[PATH_MAX];
    hpc_file_writer *w = NULL;
    hpc_test_path(path, *state, "data");
    assert_int_equal(hpc_file_save(path, "old", 3), 0);
    assert_int_equal(hpc_file_create(&w, path), 0);
    assert_int_equal(hpc_file_write(w, "....", 4), 0);
    assert_int_equal(hpc_file_write(w, "tail", 4), 0);
    assert_int_equal(hpc_file_write_at(w, 0, "head", 4), 0);
    assert_int_equal(hpc_file_write(w, "!", 1), 0);
    assert_int_equal(hpc_file_written(w), 9);
    expect_content(path, "old");
    assert_int_equal(hpc_file_commit(w), 0);
    hpc_file_close_writer(w);
    expect_content(path, "headtail!");
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 1);
}

static void test_without_commit(void **state)
{
    char path[PATH_MAX];
    hpc_file_writer *w = NULL;
    hpc_test_path(path, *state, "data");
    assert_int_equal(hpc_file_create(&w, path), 0);
    assert_int_equal(hpc_file_write(w, "abc", 3), 0);
    hpc_file_close_writer(w);
    hpc_file_close_writer(NULL);
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 0);
}

/* A failed write may be overlooked by the caller, but never by the commit. */
static void test_failed_write_fails_commit(void **state)
{
    char path[PATH_MAX];
    hpc_file_writer *w = NULL;
    hpc_test_path(path, *state, "data");
    assert_int_equal(hpc_file_create(&w, path), 0);
    hpc_test_fail_io(1);
    assert_int_equal(hpc_file_write(w, "abc", 3), HPC_E_IO);
    assert_true(hpc_test_io_failed());
    hpc_error_clear();
    assert_int_equal(hpc_file_write(w, "def", 3), HPC_E_IO);
    assert_int_equal(hpc_file_commit(w), HPC_E_IO);
    hpc_file_close_writer(w);
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 0);
}

static void test_append(void **state)
{
    char path[PATH_MAX];
    hpc_file_writer *w = NULL;
    hpc_test_path(path, *state, "log");
    for (int k = 0; k < 2; k++) {
        assert_int_equal(hpc_file_append(&w, path), 0);
        assert_int_equal(hpc_file_write(w, "one\n", 4), 0);
        expect_content(path, k ? "one\ntwo\none\n" : "one\n"); /* before it is closed */
        assert_int_equal(hpc_file_write(w, "two\n", 4), 0);
        assert_int_equal(hpc_file_written(w), 8);
        hpc_file_close_writer(w);
    }
    expect_content(path, "one\ntwo\none\ntwo\n");
    assert_int_equal(hpc_file_append(&w, ((hpc_test_folder *)*state)->root), HPC_E_ARG);
    assert_null(w);
    hpc_error_clear();
    hpc_test_fail_io(1);
    assert_int_equal(hpc_file_append(&w, path), HPC_E_IO);
    assert_non_null(strstr(hpc_error_get()->text, "cannot append to "));
    hpc_error_clear();
    assert_int_equal(hpc_test_entries(((hpc_test_folder *)*state)->root), 1);
}

static int write_three(void *user)
{
    hpc_file_writer *w = NULL;
    int rc = 0;
    TRY(hpc_file_create(&w, user));
    for (int k = 0; k < 3; k++) TRY(hpc_file_write(w, "abc", 3));
    TRY(hpc_file_write_at(w, 3, "ABC", 3));
    TRY(hpc_file_commit(w));
out:
    hpc_file_close_writer(w);
    return rc;
}

static void test_each_failure(void **state)
{
    char path[PATH_MAX];
    const char *root = ((hpc_test_folder *)*state)->root;
    hpc_test_path(path, *state, "data");
    for (int n = 1;; n++) { /* until none is left to fail; the closing of the folder has no say */
        hpc_test_fail_io(n);
        int rc = write_three(path);
        bool failed = hpc_test_io_failed(), kept = hpc_file_exists(path);
        bool synced = strstr(hpc_error_get()->text, "is saved, but") != NULL;
        hpc_test_fault_reset();
        hpc_error_clear();
        assert_true(rc == 0 || (failed && rc == HPC_E_IO));
        assert_int_equal(kept, rc == 0 || synced);
        assert_int_equal(hpc_test_entries(root), kept);
        assert_int_equal(hpc_file_remove(path), 0);
        assert_true(failed || n > 9);
        if (!failed) break;
    }
    assert_true(hpc_test_each_alloc(write_three, path) >= 1);
    hpc_test_fault_reset();
    expect_content(path, "abcABCabc");
    assert_int_equal(hpc_test_entries(root), 1);
}

static void test_list_and_sweep(void **state)
{
    static const char *const made[] = {"b", "a b", "\xc3\xa4", ".hpc-1-0.tmp", ".hidden", "a"};
    static const char expected[] = ".hidden\0a\0a b\0b\0sub/\0\xc3\xa4";
    const char *root = ((hpc_test_folder *)*state)->root;
    char path[PATH_MAX];
    hpc_buf names = {0};
    int64_t n = -1;
    for (size_t k = 0; k < sizeof made / sizeof *made; k++)
        assert_int_equal(hpc_file_save(hpc_test_path(path, *state, made[k]), "", 0), 0);
    assert_int_equal(hpc_file_mkdir(hpc_test_path(path, *state, "sub")), 0);
    assert_int_equal(hpc_file_list(&names, &n, root), 0);
    assert_int_equal(n, 6);
    assert_int_equal(names.n, sizeof expected);
    assert_memory_equal(names.data, expected, sizeof expected);
    assert_int_equal(hpc_test_entries(root), 7);
    assert_int_equal(hpc_file_sweep(root), 0);
    assert_int_equal(hpc_test_entries(root), 6);
    hpc_buf_release(&names);
    assert_int_equal(hpc_file_list(&names, &n, hpc_test_path(path, *state, "none")), HPC_E_IO);
    hpc_error_clear();
    assert_int_equal(hpc_file_sweep(path), HPC_E_IO);
    assert_int_equal(hpc_file_remove(path), 0);
    hpc_buf_release(&names);
}

/* Held by another process: not waited for when not asked; gone when that process is killed. */
static void test_lock(void **state)
{
    char path[PATH_MAX], byte = 0;
    int ready[2], lock = -1;
    hpc_test_path(path, *state, "lock");
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int mine = -1;
        if (hpc_file_lock(&mine, path, true) < 0 || write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(hpc_file_lock(&lock, path, false), 0);
    assert_int_equal(lock, -1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(hpc_file_lock(&lock, path, true), 0);
    assert_true(lock >= 0);
    hpc_file_unlock(lock);
    hpc_file_unlock(-1);
    close(ready[0]);
    close(ready[1]);
}

typedef struct waiter {
    const char *path;
    int lock, done; /* done: atomic */
} waiter;

static void *take_lock(void *user)
{
    waiter *w = user;
    if (hpc_file_lock(&w->lock, w->path, true) >= 0)
        __atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* One process waits for the lock, its owner removes the file, and a third one locks a new file. */
static void lock_of_a_removed_file_is_not_taken(void **state)
{
    const struct timespec pause = {0, 100 * 1000000L};
    char path[PATH_MAX];
    int first = -1, third = -1;
    pthread_t thread;
    waiter w = {.path = hpc_test_path(path, *state, "lock"), .lock = -1};
    assert_int_equal(hpc_file_lock(&first, path, true), 0);
    assert_int_equal(pthread_create(&thread, NULL, take_lock, &w), 0);
    nanosleep(&pause, NULL); /* it waits */
    assert_int_equal(hpc_file_remove(path), 0);
    assert_int_equal(hpc_file_lock(&third, path, false), 0);
    assert_true(third >= 0);
    hpc_file_unlock(first);
    nanosleep(&pause, NULL);
    assert_false(__atomic_load_n(&w.done, __ATOMIC_ACQUIRE));
    hpc_file_unlock(third);
    pthread_join(thread, NULL);
    assert_true(w.lock >= 0);
    hpc_file_unlock(w.lock);
}

/* Whatever the umask allows. */
static void private_files_and_folders_are_for_their_owner(void **state)
{
    char folder[PATH_MAX], path[PATH_MAX];
    struct stat st;
    hpc_test_path(folder, *state, "own/inner");
    hpc_test_path(path, *state, "own/inner/file");
    mode_t before = umask(0);
    assert_int_equal(hpc_file_mkdir_private(folder), 0);
    assert_int_equal(hpc_file_mkdir_private(folder), 0); /* existing is fine */
    assert_int_equal(hpc_file_save_private(path, "x", 1), 0);
    umask(before);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(chmod(folder, 0720), 0);
    assert_int_equal(hpc_file_mkdir_private(folder), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "others may write to it"));
    hpc_error_clear();
    if (geteuid() != 0) return;
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(chown(folder, 12345, 12345), 0);
    assert_int_equal(hpc_file_mkdir_private(folder), HPC_E_ARG);
    hpc_error_clear();
}

static void touch_sets_the_time_of_the_last_change(void **state)
{
    char path[PATH_MAX];
    struct stat st;
    hpc_test_path(path, *state, "file");
    assert_int_equal(hpc_file_save(path, "x", 1), 0);
    assert_int_equal(utime(path, &(struct utimbuf){.actime = 1000, .modtime = 1000}), 0);
    assert_int_equal(hpc_file_touch(path), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_mtime > 1000000);
    assert_int_equal(hpc_file_touch(hpc_test_path(path, *state, "none")), HPC_E_IO);
    hpc_error_clear();
}

/* Values that any implementation of XXH3 gives: data sets on disk depend on them. */
static void test_hash(void **state)
{
    (void)state;
    assert_true(hpc_hash("", 0, 0) == UINT64_C(0x2d06800538d394c2));
    assert_true(hpc_hash(NULL, 0, 0) == UINT64_C(0x2d06800538d394c2));
    hpc_hash128 wide = hpc_hash_wide("", 0);
    assert_true(wide.high == UINT64_C(0x99aa06d3014798d8));
    assert_true(wide.low == UINT64_C(0x6001c324468d497f));
    assert_true(hpc_hash("a", 1, 0) != hpc_hash("a", 1, 1));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pieces),
        TEST(test_without_commit),
        TEST(test_append),
        TEST(test_failed_write_fails_commit),
        TEST(test_each_failure),
        TEST(test_list_and_sweep),
        TEST(test_lock),
        TEST(lock_of_a_removed_file_is_not_taken),
        cmocka_unit_test(test_hash),
        TEST(private_files_and_folders_are_for_their_owner),
        TEST(touch_sets_the_time_of_the_last_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

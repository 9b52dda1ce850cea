/*
 * Tests of runtime/base/file.c: reading, mapping, atomic saving, creating folders; short and
 * failing system calls; no leftover files.
 */
/* tsan: left out, starts no thread. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/base.h"
#include "tests/support/fault.h"

typedef struct folder {
    char root[64];
    char path[128]; /* of the file under test */
} folder;

static int setup(void **state)
{
    folder *f = calloc(1, sizeof *f);
    snprintf(f->root, sizeof f->root, "/tmp/hpc-file-XXXXXX");
    if (!mkdtemp(f->root)) return -1;
    snprintf(f->path, sizeof f->path, "%s/data", f->root);
    hpc_error_clear();
    hpc_test_fault_reset();
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    folder *f = *state;
    char command[128];
    hpc_test_fault_reset();
    snprintf(command, sizeof command, "rm -rf '%s'", f->root);
    int rc = system(command);
    free(f);
    return rc;
}

static int entries(const char *path)
{
    int n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    while (readdir(d)) n++;
    closedir(d);
    return n - 2;
}

static int open_descriptors(void)
{
    return entries("/proc/self/fd");
}

static void assert_content(const char *path, const void *data, size_t bytes)
{
    hpc_buf b = {0};
    assert_int_equal(hpc_file_read(&b, path, SIZE_MAX), 0);
    assert_int_equal(b.n, bytes);
    if (bytes > 0) assert_memory_equal(b.data, data, bytes);
    hpc_buf_release(&b);
}

static void assert_error(int rc, int code, const char *part)
{
    assert_int_equal(rc, code);
    assert_int_equal(hpc_error_get()->code, code);
    if (!strstr(hpc_error_get()->text, part)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
}

/* ---- reading ---- */

static void test_read_appends_and_keeps_bytes(void **state)
{
    folder *f = *state;
    hpc_buf b = {0};
    assert_int_equal(hpc_file_save(f->path, "a\0b\n", 4), 0);
    assert_int_equal(hpc_buf_text(&b, "before "), 0);
    assert_int_equal(hpc_file_read(&b, f->path, 4), 0);
    assert_int_equal(b.n, 11);
    assert_memory_equal(b.data, "before a\0b\n", 12);
    hpc_buf_release(&b);
}

static void test_read_limit(void **state)
{
    folder *f = *state;
    hpc_buf b = {0};
    char expected[200];
    assert_int_equal(hpc_file_save(f->path, "12345", 5), 0);
    assert_int_equal(hpc_buf_text(&b, "x"), 0);
    snprintf(expected, sizeof expected, "%s is larger than the limit of 4 bytes", f->path);
    assert_error(hpc_file_read(&b, f->path, 4), HPC_E_FORMAT, expected);
    assert_string_equal(b.data, "x");
    assert_error(hpc_file_read(&b, f->path, 0), HPC_E_FORMAT, "limit of 0 bytes");
    assert_int_equal(hpc_file_read(&b, f->path, 5), 0);
    assert_string_equal(b.data, "x12345");
    hpc_buf_release(&b);
}

static void test_read_what_has_no_size(void **state)
{
    (void)state;
    hpc_buf b = {0};
    int ends[2];
    char path[32];
    assert_int_equal(hpc_file_read(&b, "/proc/self/stat", 1 << 20), 0);
    assert_true(b.n > 10);
    hpc_buf_release(&b);

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "through a pipe", 14), 14);
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(hpc_file_read(&b, path, 100), 0);
    assert_string_equal(b.data, "through a pipe");
    close(ends[0]);
    hpc_buf_release(&b);
}

/* The first tick interrupts the reading, the second brings the data. */
static volatile sig_atomic_t ticks;
static int late_end;

static void tick(int signal)
{
    (void)signal;
    if (++ticks != 2) return;
    ssize_t n = write(late_end, "late", 4);
    (void)n;
    close(late_end);
}

static void test_read_goes_on_after_a_signal(void **state)
{
    (void)state;
    const struct sigaction catch = {.sa_handler = tick}; /* without SA_RESTART */
    const struct itimerval every = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
    struct sigaction before;
    hpc_buf b = {0};
    int ends[2];
    char path[32];
    assert_int_equal(pipe(ends), 0);
    late_end = ends[1];
    ticks = 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    assert_int_equal(sigaction(SIGALRM, &catch, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
    int rc = hpc_file_read(&b, path, 100);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, NULL);
    close(ends[0]);
    assert_int_equal(rc, 0);
    assert_true(ticks >= 2);
    assert_string_equal(b.data, "late");
    hpc_buf_release(&b);
}

static void test_read_missing_and_folder(void **state)
{
    folder *f = *state;
    hpc_buf b = {0};
    char expected[200];
    snprintf(expected, sizeof expected, "cannot open %s: No such file or directory", f->path);
    assert_error(hpc_file_read(&b, f->path, 10), HPC_E_IO, expected);
    snprintf(expected, sizeof expected, "cannot read %s: Is a directory", f->root);
    assert_error(hpc_file_read(&b, f->root, 10), HPC_E_IO, expected);
    assert_error(hpc_file_read(&b, "", 10), HPC_E_IO, "No such file or directory");
    assert_null(b.data);
}

static void test_long_path_keeps_the_reason(void **state)
{
    (void)state;
    char path[6000];
    hpc_buf b = {0};
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_error(hpc_file_read(&b, path, 10), HPC_E_IO, "x: File name too long");
    assert_error(hpc_file_save(path, "", 0), HPC_E_IO, "x': File name too long");
    assert_error(hpc_file_mkdir(path), HPC_E_IO, "x': File name too long");
}

static int read_body(void *user)
{
    hpc_buf b = {0};
    int rc = hpc_file_read(&b, user, 1 << 20);
    if (rc < 0) assert_int_equal(b.n, 0);
    hpc_buf_release(&b);
    return rc;
}

static void test_read_fails_at_every_step(void **state)
{
    folder *f = *state;
    char data[100000];
    memset(data, 'd', sizeof data);
    assert_int_equal(hpc_file_save(f->path, data, sizeof data), 0);
    int before = open_descriptors();
    assert_true(hpc_test_each_alloc(read_body, f->path) >= 2);
    for (int64_t n = 1; n <= 4; n++) { /* open, two or more reads; not close, which has no say */
        hpc_test_fail_io(n);
        assert_error(read_body(f->path), HPC_E_IO, f->path);
        assert_true(hpc_test_io_failed());
    }
    hpc_test_fault_reset();
    assert_int_equal(open_descriptors(), before);
    hpc_test_short_io(7);
    assert_content(f->path, data, sizeof data);
}

/* ---- mapping ---- */

static void test_open_maps(void **state)
{
    folder *f = *state;
    hpc_file_view v;
    assert_int_equal(hpc_file_save(f->path, "mapped", 6), 0);
    int before = open_descriptors();
    assert_int_equal(hpc_file_open(&v, f->path), 0);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(v.bytes, 6);
    assert_memory_equal(v.data, "mapped", 6);
    struct stat st;
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(v.changed_ns, (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    assert_int_equal(hpc_file_save(f->path, "new", 3), 0);
    assert_memory_equal(v.data, "mapped", 6); /* a save replaces, it does not write into */
    hpc_file_close(&v);
    assert_null(v.data);
    hpc_file_close(&v);
}

/* How many pages of [at, at + pages * page) this process has in its tables. */
static int pages_in_memory(const void *at, size_t page, int pages)
{
    int n = 0;
    FILE *f = fopen("/proc/self/pagemap", "rb");
    assert_non_null(f);
    for (int k = 0; k < pages; k++) {
        uint64_t entry = 0;
        long place = (long)(((uintptr_t)at / page + (size_t)k) * sizeof entry);
        assert_int_equal(fseek(f, place, SEEK_SET), 0);
        assert_int_equal(fread(&entry, sizeof entry, 1, f), 1);
        n += entry >> 63 != 0;
    }
    fclose(f);
    return n;
}

static void test_drop(void **state)
{
    enum { PAGES = 40 };
    folder *f = *state;
    hpc_file_view v;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = PAGES * page - page / 2;
    uint8_t *data = malloc(bytes);
    unsigned sum[2] = {0, 0};
    for (size_t k = 0; k < bytes; k++) data[k] = (uint8_t)(k * 2654435761u >> 11);
    assert_int_equal(hpc_file_save(f->path, data, bytes), 0);
    assert_int_equal(hpc_file_open(&v, f->path), 0);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t k = 0; k < bytes; k++) sum[turn] += v.data[k];
        assert_int_equal(pages_in_memory(v.data, page, PAGES), PAGES);
        hpc_file_drop(&v, v.data + 1, 3 * page - 1); /* whole pages: not the first */
        assert_int_equal(pages_in_memory(v.data, page, PAGES), PAGES - 2);
        hpc_file_drop(&v, v.data + 2 * page, page - 1);
        hpc_file_drop(&v, v.data + 9 * page, 0);
        assert_int_equal(pages_in_memory(v.data, page, PAGES), PAGES - 2);
        hpc_file_drop(&v, v.data + 8 * page, bytes - 8 * page); /* to the end of the file */
        assert_int_equal(pages_in_memory(v.data, page, PAGES), 6);
        hpc_file_drop(&v, v.data, bytes);
        assert_int_equal(pages_in_memory(v.data, page, PAGES), 0);
    }
    assert_int_equal(sum[0], sum[1]);
    hpc_file_close(&v);
    v = (hpc_file_view){.data = data, .bytes = bytes}; /* memory that is not a mapped file stays */
    hpc_file_drop(&v, data, bytes);
    for (size_t k = 0; k < bytes; k++) sum[1] -= data[k];
    assert_int_equal(sum[1], 0);
    free(data);
}

static void test_open_empty(void **state)
{
    folder *f = *state;
    hpc_file_view v;
    assert_int_equal(hpc_file_save(f->path, NULL, 0), 0);
    assert_int_equal(hpc_file_open(&v, f->path), 0);
    assert_int_equal(v.bytes, 0);
    hpc_file_close(&v);
}

static void test_open_refuses(void **state)
{
    folder *f = *state;
    hpc_file_view v;
    char expected[200];
    snprintf(expected, sizeof expected, "cannot open %s: No such file or directory", f->path);
    assert_error(hpc_file_open(&v, f->path), HPC_E_IO, expected);
    snprintf(expected, sizeof expected, "cannot map %s: Is a directory", f->root);
    assert_error(hpc_file_open(&v, f->root), HPC_E_IO, expected);
    assert_int_equal(mkfifo(f->path, 0600), 0);
    snprintf(expected, sizeof expected, "cannot map %s: it is not a regular file", f->path);
    assert_error(hpc_file_open(&v, f->path), HPC_E_ARG, expected); /* at once */
    assert_null(v.data);
}

static int open_body(void *user)
{
    hpc_file_view v;
    int rc = hpc_file_open(&v, user);
    if (rc < 0) assert_null(v.data);
    hpc_file_close(&v);
    return rc;
}

static void test_open_fails_at_every_step(void **state)
{
    folder *f = *state;
    assert_int_equal(hpc_file_save(f->path, "mapped", 6), 0);
    int before = open_descriptors();
    for (int64_t n = 1; n <= 3; n++) { /* open, fstat, mmap */
        hpc_test_fail_io(n);
        assert_error(open_body(f->path), HPC_E_IO, f->path);
        assert_true(hpc_test_io_failed());
    }
    hpc_test_fault_reset();
    assert_int_equal(open_descriptors(), before);
}

/* ---- saving ---- */

static void test_save_replaces(void **state)
{
    folder *f = *state;
    struct stat st;
    assert_int_equal(hpc_file_save(f->path, "old and long", 12), 0);
    assert_int_equal(chmod(f->path, 0640), 0);
    assert_int_equal(hpc_file_save(f->path, "new", 3), 0);
    assert_content(f->path, "new", 3);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(entries(f->root), 1);
}

static void test_save_new_file_honours_umask(void **state)
{
    folder *f = *state;
    struct stat st;
    mode_t before = umask(027);
    assert_int_equal(hpc_file_save(f->path, "x", 1), 0);
    umask(before);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
}

static void test_save_in_working_folder(void **state)
{
    folder *f = *state;
    char back[4096];
    assert_non_null(getcwd(back, sizeof back));
    assert_int_equal(chdir(f->root), 0);
    int rc = hpc_file_save("bare", "name", 4);
    bool there = hpc_file_exists("bare");
    assert_int_equal(chdir(back), 0);
    assert_int_equal(rc, 0);
    assert_true(there);
    assert_int_equal(entries(f->root), 1);
}

static void test_save_longest_name(void **state)
{
    folder *f = *state;
    char path[400];
    int n = snprintf(path, sizeof path, "%s/", f->root);
    memset(path + n, 'n', 255);
    path[n + 255] = '\0';
    assert_int_equal(hpc_file_save(path, "fits", 4), 0);
    assert_content(path, "fits", 4);
}

static void test_save_through_link(void **state)
{
    folder *f = *state;
    char link[128];
    struct stat st;
    snprintf(link, sizeof link, "%s/link", f->root);
    assert_int_equal(hpc_file_save(f->path, "old", 3), 0);
    assert_int_equal(symlink("data", link), 0);
    assert_int_equal(hpc_file_save(link, "new", 3), 0);
    assert_content(f->path, "new", 3);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void test_save_refuses(void **state)
{
    folder *f = *state;
    char path[160], expected[300];
    struct stat st;
    snprintf(expected, sizeof expected, "cannot save %s: it is not a regular file", f->root);
    assert_error(hpc_file_save(f->root, "x", 1), HPC_E_ARG, expected);
    assert_error(hpc_file_save("/dev/null", "x", 1), HPC_E_ARG, "cannot save /dev/null: it is not");
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    snprintf(path, sizeof path, "%s/missing/file", f->root);
    snprintf(expected, sizeof expected,
             "cannot create a temporary file next to %s: No such file or directory", path);
    assert_error(hpc_file_save(path, "x", 1), HPC_E_IO, expected);
    assert_error(hpc_file_save("", "x", 1), HPC_E_IO, "cannot save ''");
    assert_int_equal(entries(f->root), 0);
}

static void test_save_beside_stale_temporary(void **state)
{
    folder *f = *state;
    char stale[160];
    snprintf(stale, sizeof stale, "%s/.hpc-%ld-0.tmp", f->root, (long)gettid());
    FILE *out = fopen(stale, "w");
    assert_non_null(out);
    fputs("another's", out);
    fclose(out);
    assert_int_equal(hpc_file_save(f->path, "mine", 4), 0);
    assert_content(f->path, "mine", 4);
    assert_content(stale, "another's", 9);
}

/* Whatever fails, a reader sees one of the two files, whole, and no third one. */
static void test_save_fails_at_every_step(void **state)
{
    folder *f = *state;
    char fresh[1000];
    memset(fresh, 'n', sizeof fresh);
    int before = open_descriptors(), failures = 0, whole_new = 0;
    for (int64_t n = 1;; n++) {
        hpc_test_fault_reset();
        assert_int_equal(hpc_file_save(f->path, "old", 3), 0);
        hpc_test_short_io(400); /* three writes */
        hpc_test_fail_io(n);
        int rc = hpc_file_save(f->path, fresh, sizeof fresh);
        bool failed = hpc_test_io_failed();
        hpc_test_fault_reset();
        assert_int_equal(entries(f->root), 1);
        assert_int_equal(open_descriptors(), before);
        if (!failed) {
            assert_int_equal(rc, 0);
            break;
        }
        bool synced = rc == 0; /* only the closing of the folder has no say */
        if (synced || strstr(hpc_error_get()->text, "is saved, but")) {
            assert_content(f->path, fresh, sizeof fresh);
            whole_new++;
        } else {
            assert_content(f->path, "old", 3);
        }
        if (!synced) assert_error(rc, HPC_E_IO, f->path);
        failures++;
    }
    assert_int_equal(failures, 10); /* open, 3 write, fsync, close, open, rename, fsync, close */
    assert_int_equal(whole_new, 2);
    assert_content(f->path, fresh, sizeof fresh);
}

static void test_save_failure_leaves_no_new_file(void **state)
{
    folder *f = *state;
    for (int64_t n = 1; n <= 6; n++) { /* up to the rename */
        hpc_test_fail_io(n);
        assert_error(hpc_file_save(f->path, "new", 3), HPC_E_IO, f->path);
        assert_int_equal(entries(f->root), 0);
    }
}

static void test_save_short_writes(void **state)
{
    folder *f = *state;
    char data[999];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (char)(i * 7);
    hpc_test_short_io(10);
    assert_int_equal(hpc_file_save(f->path, data, sizeof data), 0);
    hpc_test_short_io(0);
    assert_content(f->path, data, sizeof data);
}

/* ---- folders ---- */

static void test_mkdir(void **state)
{
    folder *f = *state;
    char path[200], expected[300];
    snprintf(path, sizeof path, "%s/a//b/c/", f->root);
    assert_int_equal(hpc_file_mkdir(path), 0);
    assert_true(hpc_file_exists(path));
    assert_int_equal(hpc_file_mkdir(path), 0);
    assert_int_equal(hpc_file_mkdir("/"), 0);
    assert_int_equal(hpc_file_mkdir("."), 0);
    assert_error(hpc_file_mkdir(""), HPC_E_IO, "cannot create the folder ''");

    assert_int_equal(hpc_file_save(f->path, "x", 1), 0);
    snprintf(path, sizeof path, "%s/below", f->path);
    snprintf(expected, sizeof expected, "cannot create the folder %s: Not a directory", path);
    assert_error(hpc_file_mkdir(path), HPC_E_IO, expected);
    assert_error(hpc_file_mkdir(f->path), HPC_E_IO, "Not a directory");
    assert_false(hpc_file_exists(path));

    snprintf(path, sizeof path, "%s/x/y", f->root);
    int depth = 0;
    for (const char *p = path + 1; *p; p++) depth += *p == '/';
    hpc_test_fail_io(depth + 1); /* the last folder */
    assert_error(hpc_file_mkdir(path), HPC_E_IO, "cannot create the folder");
    assert_false(hpc_file_exists(path));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(test_read_appends_and_keeps_bytes),
        CASE(test_read_limit),
        CASE(test_read_what_has_no_size),
        CASE(test_read_goes_on_after_a_signal),
        CASE(test_read_missing_and_folder),
        CASE(test_long_path_keeps_the_reason),
        CASE(test_read_fails_at_every_step),
        CASE(test_open_maps),
        CASE(test_drop),
        CASE(test_open_empty),
        CASE(test_open_refuses),
        CASE(test_open_fails_at_every_step),
        CASE(test_save_replaces),
        CASE(test_save_new_file_honours_umask),
        CASE(test_save_in_working_folder),
        CASE(test_save_longest_name),
        CASE(test_save_through_link),
        CASE(test_save_refuses),
        CASE(test_save_beside_stale_temporary),
        CASE(test_save_fails_at_every_step),
        CASE(test_save_failure_leaves_no_new_file),
        CASE(test_save_short_writes),
        CASE(test_mkdir),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}

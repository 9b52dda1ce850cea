/*
 * Tests of runtime/base/file_edit.c: attributes of a file that survive replacement of its
 * contents.
 */
/* tsan: left out, starts no thread. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

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

/* The code of an edit; `lost` as the caller finds it. */
static int edit(char lost[256], const char *path, const char *from, const char *to, bool force)
{
    hpc_buf l = {0}, f = {0}, t = {0};
    hpc_buf_text(&f, from);
    hpc_buf_text(&t, to);
    int rc = hpc_file_edit(&l, path, &f, &t, force);
    snprintf(lost, 256, "%s", l.n > 0 ? l.data : "");
    hpc_buf_release(&l);
    hpc_buf_release(&f);
    hpc_buf_release(&t);
    return rc;
}

static char path[PATH_MAX], other[PATH_MAX], lost[256];

static void make(void **state, const char *text)
{
    hpc_test_path(path, *state, "a.c");
    hpc_test_path(other, *state, "b.c");
    assert_int_equal(hpc_file_save(path, text, strlen(text)), 0);
}

static int entries(void **state)
{
    return hpc_test_entries(((hpc_test_folder *)*state)->root);
}

static void read_only_file_is_refused_and_named(void **state)
{
    struct stat st;
    make(state, "old");
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(hpc_file_check_edit(path, false), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "a.c: it is read-only (mode 0444)"));
    assert_non_null(strstr(hpc_error_get()->text, "--force"));
    hpc_error_clear();
    assert_int_equal(edit(lost, path, "old", "new", false), HPC_E_ARG);
    hpc_error_clear();
    expect_content(path, "old");
    assert_int_equal(edit(lost, path, "old", "new", true), 0);
    expect_content(path, "new");
    assert_string_equal(lost, "");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0444);
    assert_int_equal(entries(state), 1);
}

static void file_changed_meanwhile_is_refused(void **state)
{
    make(state, "theirs");
    assert_int_equal(edit(lost, path, "old", "new", true), HPC_E_ARG);
    assert_non_null(strstr(hpc_error_get()->text, "changed it in the meantime"));
    hpc_error_clear();
    expect_content(path, "theirs");
}

static void hard_links_and_symbolic_links_stay(void **state)
{
    struct stat a, b;
    char third[PATH_MAX];
    make(state, "old and long");
    assert_int_equal(link(path, other), 0);
    assert_int_equal(symlink("a.c", hpc_test_path(third, *state, "s.c")), 0);
    assert_int_equal(edit(lost, third, "old and long", "new", false), 0);
    assert_string_equal(lost, "");
    expect_content(other, "new");
    expect_content(path, "new");
    assert_int_equal(lstat(third, &a), 0);
    assert_true(S_ISLNK(a.st_mode));
    assert_int_equal(stat(path, &a), 0);
    assert_int_equal(stat(other, &b), 0);
    assert_true(a.st_ino == b.st_ino && a.st_nlink == 2);
    assert_int_equal(entries(state), 3);
}

/* user::rw- user:1:r-- group::r-- mask::r-- other::---, as the kernel stores it. */
static const unsigned char acl[] = {2, 0, 0,   0,   1,   0,   6,  0, 255, 255, 255, 255, 2,   0,  4,
                                    0, 1, 0,   0,   0,   4,   0,  4, 0,   255, 255, 255, 255, 16, 0,
                                    4, 0, 255, 255, 255, 255, 32, 0, 0,   0,   255, 255, 255, 255};

static void owner_mode_acl_and_attributes_stay(void **state)
{
    struct stat st;
    char value[64];
    make(state, "old");
    if (geteuid() != 0 || setxattr(path, "user.origin", "lab", 3, 0) < 0 ||
        setxattr(path, "system.posix_acl_access", acl, sizeof acl, 0) < 0)
    {
        print_message("SKIP: needs root and a file system with attributes and ACLs\n");
        skip();
    }
    assert_int_equal(chown(path, 12, 34), 0);
    assert_int_equal(edit(lost, path, "old", "new", false), 0);
    assert_string_equal(lost, "");
    expect_content(path, "new");
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_uid == 12 && st.st_gid == 34);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_int_equal(getxattr(path, "user.origin", value, sizeof value), 3);
    assert_memory_equal(value, "lab", 3);
    assert_int_equal(getxattr(path, "system.posix_acl_access", value, sizeof value), sizeof acl);
    assert_memory_equal(value, acl, sizeof acl);
}

/* The new file would inherit the folder's ACL. */
static void default_acl_of_the_folder_is_not_added(void **state)
{
    char value[64];
    const char *root = ((hpc_test_folder *)*state)->root;
    make(state, "old");
    if (setxattr(root, "system.posix_acl_default", acl, sizeof acl, 0) < 0) {
        print_message("SKIP: needs a file system with ACLs\n");
        skip();
    }
    assert_int_equal(edit(lost, path, "old", "new", false), 0);
    assert_string_equal(lost, "");
    assert_int_equal(getxattr(path, "system.posix_acl_access", value, sizeof value), -1);
}

/* In a child that is another user: 0 if all is as it should be. */
static int edit_as_other(void)
{
    struct stat st;
    hpc_buf l = {0}, f = {0}, t = {0};
    if (setgid(34) < 0 || setuid(12) < 0) return 1;
    hpc_buf_text(&f, "old");
    hpc_buf_text(&t, "new");
    if (hpc_file_edit(&l, path, &f, &t, false) < 0 || l.n > 0) return 2;
    if (stat(path, &st) < 0 || st.st_uid != 0) return 3;
    if (chmod(other, 0) == 0) return 4;
    if (hpc_file_edit(&l, other, &f, &t, false) != HPC_E_ARG) return 5;
    hpc_error_clear();
    if (hpc_file_edit(&l, other, &f, &t, true) < 0 || l.n == 0) return 6;
    if (strcmp(l.data, "its owner or group") != 0) return 7;
    return 0;
}

static void file_of_another_user_keeps_its_owner(void **state)
{
    int status = 0;
    const char *root = ((hpc_test_folder *)*state)->root;
    make(state, "old");
    if (geteuid() != 0) {
        print_message("SKIP: needs root, to become another user\n");
        skip();
    }
    assert_int_equal(hpc_file_save(other, "old", 3), 0);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(other, 0644), 0);
    assert_int_equal(chmod(root, 0777), 0);
    pid_t child = fork();
    if (child == 0) _exit(edit_as_other());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_content(path, "new");
    expect_content(other, "new");
}

static int edit_once(void *user)
{
    (void)user;
    return edit(lost, path, "old and long", "new", false);
}

/* With a hard link the file is overwritten in place: a failure restores it. */
static void each_failure_leaves_the_old_text(void **state)
{
    for (int links = 1; links <= 2; links++) {
        make(state, "old and long");
        if (links == 2) assert_int_equal(link(path, other), 0);
        for (int64_t n = 1;; n++) {
            hpc_test_fault_reset();
            hpc_test_fail_io(n);
            int rc = edit_once(NULL);
            bool failed = hpc_test_io_failed();
            hpc_test_fault_reset();
            if (!failed) {
                assert_int_equal(rc, 0);
                break;
            }
            bool saved = rc == 0 || strstr(hpc_error_get()->text, "is saved"); /* but not synced */
            hpc_error_clear();
            assert_int_equal(entries(state), links);
            expect_content(path, saved ? "new" : "old and long");
            assert_int_equal(hpc_file_remove(path), 0);
            make(state, "old and long");
            if (links == 2) {
                assert_int_equal(hpc_file_remove(other), 0);
                assert_int_equal(link(path, other), 0);
            }
        }
        expect_content(path, "new");
        assert_int_equal(entries(state), links);
    }
}

#define T(test)                                                                                    \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(read_only_file_is_refused_and_named),    T(file_changed_meanwhile_is_refused),
        T(hard_links_and_symbolic_links_stay),     T(owner_mode_acl_and_attributes_stay),
        T(default_acl_of_the_folder_is_not_added), T(file_of_another_user_keeps_its_owner),
        T(each_failure_leaves_the_old_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

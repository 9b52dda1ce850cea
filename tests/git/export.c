/*
 * Tests of runtime/git/export.c: a commit's files in a folder, compared with a git checkout.
 */
/* tsan: left out, starts no thread. */
#include <sys/stat.h>

#include "tests/git/repository.h"

static void assert_same_as_git(place *p, const char *repository, const char *what, int64_t files)
{
    char folder[256], command[512];
    hpc_git_exported x;
    hpc_git *g = opened(p, repository);
    hpc_git_id id = parsed(p, repository, what);
    snprintf(folder, sizeof folder, "%s", in(p, "out"));
    script(p, "rm -rf out; mkdir out");
    if (hpc_git_export(&x, g, &id, folder) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(x.files, files);
    assert_int_equal(x.missing, 0);
    hpc_git_exported_release(&x);
    hpc_git_close(g);
    /* Names, kinds, modes, contents and where links lead. */
    snprintf(
        command, sizeof command,
        "rm -rf theirs; mkdir theirs; git -C %s -c tar.umask=0022 archive %s | tar xf - -C theirs; "
        "for d in out theirs; do (cd $d; find . -printf '%%P %%y %%m %%l\\n' | sort; "
        "find . -type f -exec md5sum {} + | sort -k2) > $d.list; done; "
        "diff out.list theirs.list",
        repository, what);
    script(p, command);
}

#define FILES                                                                                      \
    "umask 022; new r; mkdir -p d/e 'a b'; echo 1 > a.c; printf 'x\\r\\ny\\0z' > d/e/binary; "     \
    "echo '#!/bin/sh' > d/run; chmod +x d/run; ln -s ../a.c d/link; ln -s nowhere gone; "          \
    ": > 'a b/empty'; seq 100000 > d/large; save; echo 2 > a.c; git rm -qr d/e; save; "

static void files_are_as_git_checks_them_out(void **state)
{
    place *p = *state;
    script(p, FILES);
    umask(022);
    assert_same_as_git(p, "r", "HEAD~1", 5);
    assert_same_as_git(p, "r", "HEAD", 4);
    script(p, "cd r; git gc -q");
    assert_same_as_git(p, "r", "HEAD~1", 5);
}

/* The user's repository has no byte changed, its times of change included. */
static void the_repository_stays_as_it_is(void **state)
{
    place *p = *state;
    script(p, FILES "echo dirty >> a.c; echo new > new.c; git add new.c; cd ..; "
                    "find r -printf '%P %s %T@ %C@\\n' | sort > before");
    assert_same_as_git(p, "r", "HEAD~1", 5);
    script(p, "find r -printf '%P %s %T@ %C@\\n' | sort > after; diff before after");
}

static void submodules_come_from_their_clones(void **state)
{
    place *p = *state;
    hpc_git_exported x;
    char folder[256];
    script(p, "(new inner; echo 1 > in.c; save; echo 2 > in.c; save); "
              "new r; echo 1 > a.c; git -c protocol.file.allow=always submodule --quiet add "
              "../inner lib/deep; git -C lib/deep checkout -q HEAD~1; save; "
              "git -c protocol.file.allow=always submodule --quiet add ../inner other; save; "
              "rm -rf .git/modules/other");
    hpc_git *g = opened(p, "r");
    hpc_git_id id = parsed(p, "r", "HEAD");
    snprintf(folder, sizeof folder, "%s", in(p, "out"));
    script(p, "mkdir out");
    if (hpc_git_export(&x, g, &id, folder) < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(x.files, 3); /* a.c, .gitmodules, in.c */
    assert_int_equal(x.modules, 1);
    assert_int_equal(x.missing, 1);
    assert_string_equal(x.paths.data, "other");
    script(p, "[ $(cat out/lib/deep/in.c) = 1 ]; [ -d out/other ]; [ ! -e out/other/in.c ]");
    hpc_git_exported_release(&x);
    hpc_git_close(g);
}

static void put_entry(hpc_buf *tree, const char *mode_and_name, const hpc_git_id *id)
{
    assert_int_equal(hpc_buf_add(tree, mode_and_name, strlen(mode_and_name) + 1), 0);
    assert_int_equal(hpc_buf_add(tree, id->byte, sizeof id->byte), 0);
}

/* Trees that git would never make: names that lead out, or into its own folder, and a folder in the
 * place of a link. */
static void names_that_lead_out_are_refused(void **state)
{
    static const char *const entry[] = {"100644 ..", "40000 .git", "100644 .GIT", "40000 a"};
    place *p = *state;
    char folder[256];
    script(
        p,
        "mkdir away; to=$PWD/away; new r; echo x > x; save; printf %s \"$to\" | "
        "git hash-object -w --stdin; git tag link $(printf %s \"$to\" | git hash-object --stdin)");
    hpc_git_id tree = parsed(p, "r", "HEAD^{tree}"), blob = parsed(p, "r", "HEAD:x");
    hpc_git_id link = parsed(p, "r", "link");
    snprintf(folder, sizeof folder, "%s", in(p, "out"));
    for (int k = 0; k < 4; k++) {
        hpc_git_exported x;
        hpc_buf b = {0};
        if (k == 3) put_entry(&b, "120000 a", &link);
        put_entry(&b, entry[k], k % 2 ? &tree : &blob);
        put(p, "tree", b.data, b.n);
        hpc_buf_release(&b);
        script(p, "rm -rf out; mkdir out; cd r; git update-ref HEAD $(git commit-tree -m m "
                  "$(git hash-object -w -t tree --literally ../tree))");
        hpc_git *g = opened(p, "r");
        hpc_git_id id = parsed(p, "r", "HEAD");
        int rc = hpc_git_export(&x, g, &id, folder);
        if (k < 3)
            assert_refused(rc, HPC_E_FORMAT, "not a valid file name in git");
        else
            assert_refused(rc, HPC_E_IO, "cannot write a");
        script(p, "[ ! -e x ]; [ ! -e away/x ]");
        hpc_git_close(g);
    }
}

typedef struct asked {
    hpc_git *g;
    hpc_git_id id;
    place *p;
    int turn;
} asked;

static int ask(void *user)
{
    asked *a = user;
    hpc_git_exported x;
    char folder[256];
    snprintf(folder, sizeof folder, "%s/out%d", a->p->root, a->turn++);
    assert_int_equal(mkdir(folder, 0777), 0);
    int rc = hpc_git_export(&x, a->g, &a->id, folder);
    if (rc == HPC_OK) hpc_git_exported_release(&x);
    return rc;
}

static void memory_running_out_is_told(void **state)
{
    place *p = *state;
    script(p, FILES);
    asked a = {.g = opened(p, "r"), .id = parsed(p, "r", "HEAD~1"), .p = p};
    assert_true(hpc_test_each_alloc(ask, &a) > 3);
    hpc_git_close(a.g);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, place_setup, place_teardown)
    const struct CMUnitTest tests[] = {
        TEST(files_are_as_git_checks_them_out), TEST(the_repository_stays_as_it_is),
        TEST(submodules_come_from_their_clones), TEST(names_that_lead_out_are_refused),
        TEST(memory_running_out_is_told)};
    return cmocka_run_group_tests_name("git/export", tests, NULL, NULL);
}

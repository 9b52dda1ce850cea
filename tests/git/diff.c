/*
 * Tests of runtime/git/diff.c: differences between two commits, compared with git's.
 */
#include "tests/git/repository.h"

static hpc_git_id commit_of(const place *p, const char *name)
{
    hpc_git_id id;
    hpc_buf text = {0};
    char path[128], command[256];
    snprintf(command, sizeof command, "git -C r rev-parse %s > id", name);
    script(p, command);
    snprintf(path, sizeof path, "%s/id", p->root);
    assert_int_equal(hpc_file_read(&text, path, 100), 0);
    text.data[40] = '\0';
    assert_true(hpc_git_id_parse(&id, text.data));
    hpc_buf_release(&text);
    return id;
}

/* "A path", "D path" or "M path" on a line each, as `git diff --no-renames --name-status`. */
static void describe(hpc_buf *out, const hpc_git_changes *c)
{
    const hpc_git_id zero = {{0}};
    out->n = 0;
    hpc_buf_text(out, "");
    for (int64_t k = 0; k < c->n; k++) {
        bool base = memcmp(&c->item[k].base, &zero, sizeof zero) != 0;
        bool head = memcmp(&c->item[k].head, &zero, sizeof zero) != 0;
        assert_true(base || head);
        hpc_buf_printf(out, "%c\t%s\n",
                       !base   ? 'A'
                       : !head ? 'D'
                               : 'M',
                       c->paths.data + c->item[k].path);
    }
    assert_int_equal(out->failed, 0);
}

static void test_ids(void **state)
{
    hpc_git_id id;
    char text[41];
    (void)state;
    assert_true(hpc_git_id_parse(&id, "0123456789abcdef0123456789abcdef01234567"));
    hpc_git_id_text(text, &id);
    assert_string_equal(text, "0123456789abcdef0123456789abcdef01234567");
    assert_false(hpc_git_id_parse(&id, "0123456789abcdef0123456789abcdef0123456"));
    assert_false(hpc_git_id_parse(&id, "0123456789abcdef0123456789abcdef012345678"));
    assert_false(hpc_git_id_parse(&id, "0123456789abcdef0123456789abcdef0123456g"));
    assert_false(hpc_git_id_parse(&id, ""));
}

/* Files added, changed, removed, moved; a folder in place of a file and the other way round; a
 * link, a mode and a name that sorts between a folder and its files. */
static void test_as_git_tells_it(void **state)
{
    place *p = *state;
    hpc_git_changes c = {0};
    hpc_buf ours = {0}, theirs = {0};
    char path[128];
    script(p,
           "new r; mkdir -p a/b/c d e; echo 1 > a/b/c/x.c; echo 2 > a/b/y.c; echo 3 > a.c; "
           "echo 4 > a-b; echo 5 > d/f; echo 6 > e/f; echo 7 > same; mkdir keep; echo 8 > keep/k;"
           "echo 9 > file; ln -s a.c link; save one;"
           "echo 10 > a/b/c/x.c; rm a/b/y.c; git mv a.c z.c; echo 40 > a-b; rm -r d; echo 5 > d; "
           "rm file; mkdir file; echo 9 > file/g; echo new > a/b/n.c; chmod +x same; "
           "ln -sf z.c link; save two; git checkout -q --orphan empty; git rm -qrf .; "
           "git commit -q --allow-empty -m none; git checkout -q main");
    hpc_git *g = opened(p, "r");
    const char *const names[] = {"main~1", "main", "empty"};
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            char command[256];
            hpc_git_id base = commit_of(p, names[from]), head = commit_of(p, names[to]);
            assert_int_equal(hpc_git_diff(&c, g, &base, &head, NULL, NULL, 100), HPC_GIT_READ);
            describe(&ours, &c);
            /* links, and changes of nothing but the mode, are not ours */
            snprintf(command, sizeof command,
                     "git -C r diff --no-renames --name-status %s %s | grep -v 'link$' | "
                     "grep -v 'M.same' | LC_ALL=C sort -t '\t' -k 2 > expected",
                     names[from], names[to]);
            script(p, command);
            snprintf(path, sizeof path, "%s/expected", p->root);
            theirs.n = 0;
            assert_int_equal(hpc_file_read(&theirs, path, 1 << 16), 0);
            hpc_buf_text(&theirs, "");
            assert_string_equal(ours.data, theirs.data);
        }
    hpc_git_changes_release(&c);
    hpc_buf_release(&ours);
    hpc_buf_release(&theirs);
    hpc_git_close(g);
}

static bool wants_c(const char *path, void *user)
{
    size_t n = strlen(path);
    ++*(int *)user;
    return n > 2 && strcmp(path + n - 2, ".c") == 0;
}

static void test_wanted_and_limited(void **state)
{
    place *p = *state;
    hpc_git_changes c = {0};
    int asked = 0;
    script(p, "new r; echo 1 > a.c; save one; for k in 1 2 3; do echo $k > $k.c; echo $k > $k.f; "
              "done; save two");
    hpc_git *g = opened(p, "r");
    hpc_git_id base = commit_of(p, "main~1"), head = commit_of(p, "main");
    assert_int_equal(hpc_git_diff(&c, g, &base, &head, wants_c, &asked, 3), HPC_GIT_READ);
    assert_int_equal(c.n, 3);
    assert_int_equal(asked, 6);
    assert_int_equal(hpc_git_diff(&c, g, &base, &head, wants_c, &asked, 2), HPC_E_UNSUPPORTED);
    assert_string_equal(hpc_error_get()->text, "more than 2 files differ, which is not supported");
    assert_int_equal(c.n, 0);
    hpc_error_clear();
    hpc_git_changes_release(&c);
    hpc_git_close(g);
}

static void test_what_is_not_there(void **state)
{
    place *p = *state;
    hpc_git_changes c = {0};
    hpc_git_id absent, head;
    script(p, "new r; mkdir d; echo 1 > d/a.c; save one; echo 2 > d/a.c; save two");
    hpc_git *g = opened(p, "r");
    head = commit_of(p, "main");
    assert_true(hpc_git_id_parse(&absent, "0123456789abcdef0123456789abcdef01234567"));
    assert_int_equal(hpc_git_diff(&c, g, &absent, &head, NULL, NULL, 9), HPC_GIT_ABSENT);
    hpc_git_close(g);
    /* a tree instead of a commit; then a folder's tree is lost */
    g = opened(p, "r");
    hpc_git_id tree = commit_of(p, "main^{tree}"), base = commit_of(p, "main~1");
    assert_int_equal(hpc_git_diff(&c, g, &tree, &head, NULL, NULL, 9), HPC_GIT_CORRUPT);
    assert_true(c.paths.n > 0);
    hpc_git_close(g);
    script(p, "cd r; id=$(git rev-parse main:d); "
              "rm -f .git/objects/$(echo $id | cut -c 1-2)/$(echo $id | cut -c 3-)");
    g = opened(p, "r");
    assert_int_equal(hpc_git_diff(&c, g, &base, &head, NULL, NULL, 9), HPC_GIT_ABSENT);
    assert_int_equal(c.n, 0);
    hpc_git_changes_release(&c);
    hpc_git_close(g);
}

/* Before the first commit there was nothing; submodules are counted and not listed. */
static void test_nothing_and_modules(void **state)
{
    place *p = *state;
    hpc_git_changes c = {0};
    const hpc_git_id none = {{0}};
    hpc_buf text = {0};
    script(p, "new r; mkdir d; echo 1 > d/a.c; echo 2 > b.c; ln -s b.c l; git add -A; "
              "lib() { git update-index --add --cacheinfo 160000,$1,lib; git commit -q -m m; }; "
              "lib 0123456789abcdef0123456789abcdef01234567; "
              "lib 1123456789abcdef0123456789abcdef01234567");
    hpc_git *g = opened(p, "r");
    hpc_git_id first = commit_of(p, "main~1"), head = commit_of(p, "main");
    assert_int_equal(hpc_git_diff(&c, g, &none, &head, NULL, NULL, 9), HPC_GIT_READ);
    describe(&text, &c);
    assert_string_equal(text.data, "A\tb.c\nA\td/a.c\n");
    assert_int_equal(c.modules_n, 1);
    assert_int_equal(hpc_git_diff(&c, g, &head, &none, NULL, NULL, 9), HPC_GIT_READ);
    describe(&text, &c);
    assert_string_equal(text.data, "D\tb.c\nD\td/a.c\n");
    assert_int_equal(hpc_git_diff(&c, g, &first, &head, NULL, NULL, 9), HPC_GIT_READ);
    assert_int_equal(c.n, 0);
    assert_int_equal(c.modules_n, 1);
    assert_int_equal(hpc_git_diff(&c, g, &head, &head, NULL, NULL, 9), HPC_GIT_READ);
    assert_int_equal(c.modules_n, 0);
    assert_int_equal(hpc_git_diff(&c, g, &none, &none, NULL, NULL, 9), HPC_GIT_READ);
    assert_int_equal(c.n, 0);
    hpc_git_changes_release(&c);
    hpc_buf_release(&text);
    hpc_git_close(g);
}

typedef struct pair {
    hpc_git *g;
    hpc_git_id base, head;
} pair;

static int diff_body(void *user)
{
    pair *x = user;
    hpc_git_changes c = {0};
    int rc = hpc_git_diff(&c, x->g, &x->base, &x->head, NULL, NULL, 100);
    hpc_git_changes_release(&c);
    return rc;
}

static void test_every_allocation_fails(void **state)
{
    place *p = *state;
    pair x = {0};
    script(p, "new r; mkdir -p d/e; echo 1 > d/e/a.c; save one; echo 2 > d/e/a.c; echo 3 > b; "
              "save two; git repack -adq");
    x.g = opened(p, "r");
    x.base = commit_of(p, "main~1");
    x.head = commit_of(p, "main");
    assert_int_equal(diff_body(&x), HPC_GIT_READ);
    assert_true(hpc_test_each_alloc(diff_body, &x) >= 5);
    hpc_git_close(x.g);
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),          IN_A_PLACE(test_as_git_tells_it),
        IN_A_PLACE(test_wanted_and_limited), IN_A_PLACE(test_nothing_and_modules),
        IN_A_PLACE(test_what_is_not_there),  IN_A_PLACE(test_every_allocation_fails),
    };
    return cmocka_run_group_tests_name("git/diff", tests, NULL, NULL);
}

/*
 * Tests of runtime/git/recent.c: files changed by the newest commits.
 */
#include "tests/git/repository.h"

/* "AGE: path path", a line for each commit. */
static char *told(const hpc_git_commits *c)
{
    hpc_buf b = {0};
    hpc_buf_text(&b, "");
    for (int64_t k = 0; k < c->n; k++) {
        hpc_buf_printf(&b, "%lld:", (long long)c->item[k].age);
        for (int64_t i = 0; i < c->item[k].path_n; i++)
            hpc_buf_printf(&b, " %s", c->paths.data + c->path[c->item[k].first + i]);
        hpc_buf_text(&b, "\n");
    }
    assert_int_equal(b.failed, 0);
    return b.data;
}

static void assert_told(const hpc_git_commits *c, const char *expected)
{
    char *text = told(c);
    assert_string_equal(text, expected);
    hpc_free(text);
}

#define LINE                                                                                       \
    "new r; echo 1 > a.c; echo 1 > b.c; mkdir d; echo 1 > d/c.c; save first; "                     \
    "echo 2 > a.c; echo 2 > d/c.c; save; git commit -q --allow-empty -m none; "                    \
    "git mv b.c d/b.c; save; for k in 1 2 3 4; do echo $k > n$k; done; save; echo 3 > a.c; save; "

/* Newest first; what changes nothing or too much is left out but counted; the first has no parent.
 */
static void tells_the_newest_first(void **state)
{
    place *p = *state;
    hpc_git_commits c = {0};
    script(p, LINE);
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_recent(&c, g, 100, 3), HPC_GIT_READ);
    assert_told(&c, "0: a.c\n2: b.c d/b.c\n4: a.c d/c.c\n");
    assert_int_equal(c.walked, 5);
    assert_int_equal(c.missing_n, 0);
    assert_false(c.cut);
    hpc_git_id head = parsed(p, "r", "HEAD"), third = parsed(p, "r", "HEAD~2");
    assert_memory_equal(&c.head, &head, sizeof head);
    assert_memory_equal(&c.item[0].id, &head, sizeof head);
    assert_memory_equal(&c.item[1].id, &third, sizeof third);
    hpc_git_commits_release(&c);
    assert_int_equal(hpc_git_recent(&c, g, 3, 4), HPC_GIT_READ);
    assert_told(&c, "0: a.c\n1: n1 n2 n3 n4\n2: b.c d/b.c\n");
    hpc_git_commits_release(&c);
    hpc_git_close(g);
}

/* A merge brings all of its branch at once. */
static void follows_first_parents(void **state)
{
    place *p = *state;
    hpc_git_commits c = {0};
    script(p, "new r; echo 1 > a; save; echo 2 > a; save; git checkout -q -b side; "
              "echo 1 > s; save; echo 1 > t; save; git checkout -q main; echo 3 > a; save; "
              "git merge -q -m m side");
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_recent(&c, g, 100, 9), HPC_GIT_READ);
    assert_told(&c, "0: s t\n1: a\n2: a\n");
    hpc_git_commits_release(&c);
    hpc_git_close(g);
}

/* Nothing is read again while HEAD stays; all is when it moves. */
static void notices_when_head_moves(void **state)
{
    place *p = *state;
    hpc_git_commits c = {0};
    script(p, LINE);
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_recent(&c, g, 100, 3), HPC_GIT_READ);
    c.item[0].age = 77; /* a second read would restore it */
    assert_int_equal(hpc_git_recent(&c, g, 100, 3), HPC_GIT_READ);
    assert_int_equal(c.item[0].age, 77);
    script(p, "cd r; git reset -q --hard HEAD~1");
    assert_int_equal(hpc_git_recent(&c, g, 100, 3), HPC_GIT_READ);
    assert_told(&c, "1: b.c d/b.c\n3: a.c d/c.c\n");
    hpc_git_commits_release(&c);
    hpc_git_close(g);
}

static void knows_where_histories_end(void **state)
{
    place *p = *state;
    hpc_git_commits c = {0};
    script(p, LINE "cd ..; git clone -q --depth 3 \"file://$PWD/r\" shallow; new empty; cd ..; "
                   "git init -q -b main one; cd one; echo 1 > a; save; cd ..; cp -r r bad; "
                   "echo zzz > bad/.git/refs/heads/main");
    hpc_git *g = opened(p, "shallow");
    assert_int_equal(hpc_git_recent(&c, g, 100, 9), HPC_GIT_READ);
    assert_told(&c, "0: a.c\n1: n1 n2 n3 n4\n");
    assert_true(c.cut);
    assert_int_equal(c.missing_n, 1);
    hpc_git_close(g);
    g = opened(p, "one");
    assert_int_equal(hpc_git_recent(&c, g, 100, 9), HPC_GIT_READ);
    assert_told(&c, "");
    assert_false(c.cut);
    hpc_git_close(g);
    g = opened(p, "empty");
    assert_int_equal(hpc_git_recent(&c, g, 100, 9), HPC_GIT_ABSENT);
    assert_int_equal(c.n, 0);
    hpc_git_close(g);
    g = opened(p, "bad");
    assert_int_equal(hpc_git_recent(&c, g, 100, 9), HPC_GIT_CORRUPT);
    hpc_git_commits_release(&c);
    hpc_git_close(g);
}

/* A tree that is lost costs the commits that need it, and no others. */
static void goes_on_behind_what_is_lost(void **state)
{
    place *p = *state;
    hpc_git_commits c = {0};
    script(p, LINE "id=$(git rev-parse HEAD~2:d); "
                   "rm -f .git/objects/$(echo $id | cut -c 1-2)/$(echo $id | cut -c 3-)");
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_recent(&c, g, 100, 9), HPC_GIT_READ);
    assert_told(&c, "0: a.c\n1: n1 n2 n3 n4\n4: a.c d/c.c\n");
    assert_int_equal(c.missing_n, 1);
    assert_false(c.cut);
    hpc_git_commits_release(&c);
    hpc_git_close(g);
}

/* Two trees of 1.6 MiB in turns, so that each commit changes one file and has two trees to read. */
static void stops_when_it_has_read_much(void **state)
{
    place *p = *state;
    hpc_git_commits c = {0};
    script(p, "new r; git config core.compression 1; parent=; "
              "tree() { awk -v n=$1 'BEGIN { for (k = 0; k < n; k++) "
              "printf \"100644 blob 00000000000000000000000000000000000000ff\\tname-of-%06d\\n\", "
              "k }' | git mktree --missing; }; one=$(tree 40000); two=$(tree 40001); "
              "for k in 1 2 3 4 5 6 7 8 9 10 11 12; do for t in $one $two; do "
              "head=$(git commit-tree $parent -m m $t); parent=\"-p $head\"; done; done; "
              "git update-ref HEAD $head");
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_recent(&c, g, 100, 9), HPC_GIT_READ);
    assert_true(c.cut);
    assert_int_equal(c.n, c.walked);
    /* 48 MiB of 2 x 40,000 entries of 42 bytes */
    assert_in_range(c.walked, 15, 16);
    hpc_git_commits_release(&c);
    hpc_git_close(g);
}

static int recent_body(void *user)
{
    hpc_git_commits c = {0};
    int rc = hpc_git_recent(&c, user, 100, 3);
    if (rc == HPC_GIT_READ) assert_int_equal(c.n, 3);
    if (rc < 0) assert_int_equal(c.n, 0);
    hpc_git_commits_release(&c);
    return rc;
}

static void each_allocation_fails(void **state)
{
    place *p = *state;
    script(p, LINE "git gc -q");
    hpc_git *g = opened(p, "r");
    assert_true(hpc_test_each_alloc(recent_body, g) >= 10);
    hpc_git_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
        TEST(tells_the_newest_first),      TEST(follows_first_parents),
        TEST(notices_when_head_moves),     TEST(knows_where_histories_end),
        TEST(goes_on_behind_what_is_lost), TEST(stops_when_it_has_read_much),
        TEST(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests of runtime/git/index.c: paths of the index, compared with `git ls-files`.
 */
/* tsan: left out, starts no thread. */
#include <unistd.h>

#include "tests/git/repository.h"

/* Paths a line each. */
static char *lines_of(const hpc_git_index *x)
{
    hpc_buf b = {0};
    hpc_buf_text(&b, "");
    const char *path = x->paths.data;
    for (int64_t k = 0; k < x->n; k++, path += strlen(path) + 1)
        hpc_buf_printf(&b, "%s%s", k > 0 ? "\n" : "", path);
    assert_int_equal(b.failed, 0);
    assert_int_equal(x->n > 0 ? path - x->paths.data : 0, x->paths.n);
    return b.data;
}

static void assert_as_git_tells(place *p, const hpc_git_index *x, const char *repository)
{
    char text[512];
    snprintf(text, sizeof text,
             "git -C %s ls-files -s | grep '^100' | cut -f 2 | LC_ALL=C uniq >expected",
             repository);
    script(p, text);
    char *ours = lines_of(x), *theirs = text_of(p, "expected");
    assert_string_equal(ours, theirs ? theirs : "");
    hpc_free(ours);
    hpc_free(theirs);
}

#define FILES                                                                                      \
    "new r; mkdir -p a/b a/b-c a.d; echo 1 > a/b/x.c; echo 1 > a/b/xy.c; echo 1 > a/b-c/f; "       \
    "echo 1 > a.d/f; echo 1 > z; chmod +x z; ln -s z link; echo 1 > a/b/xyzxyzxyzxyzxyz.h; "

static void tells_what_git_tells(void **state)
{
    place *p = *state;
    static const char *const versions[] = {"2", "3", "4"};
    for (int k = 0; k < 3; k++) {
        hpc_git_index x = {0};
        char text[640];
        snprintf(text, sizeof text,
                 "rm -rf r; " FILES "git config index.version %s; git update-index --index-version "
                 "%s; save; echo 1 > new.c; git add new.c; echo 1 > untracked; "
                 "%s git update-index --index-version %s",
                 versions[k], versions[k], k == 1 ? "git add -N untracked;" : "", versions[k]);
        script(p, text);
        hpc_git *g = opened(p, "r");
        assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
        assert_int_equal(x.n, k == 1 ? 8 : 7);
        assert_as_git_tells(p, &x, "r");
        hpc_git_index_release(&x);
        hpc_git_close(g);
    }
}

/* A file in conflict is there three times, and is one. */
static void conflicts_and_worktrees(void **state)
{
    place *p = *state;
    hpc_git_index x = {0};
    script(p, "new r; echo 1 > a; echo 1 > b; save; git checkout -q -b side; echo 2 > a; save; "
              "git checkout -q main; echo 3 > a; save; git merge -q side || true; "
              "git worktree add -q ../w side; cd ../w; echo 1 > only-there; git add only-there");
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
    assert_int_equal(x.n, 2);
    assert_as_git_tells(p, &x, "r");
    hpc_git_close(g);
    g = opened(p, "w");
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
    assert_int_equal(x.n, 3);
    assert_as_git_tells(p, &x, "w");
    hpc_git_index_release(&x);
    hpc_git_close(g);
}

static void reads_again_what_has_changed(void **state)
{
    place *p = *state;
    hpc_git_index x = {0};
    script(p, "new r");
    hpc_git *g = opened(p, "r");
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_ABSENT);
    assert_int_equal(x.n, 0);
    script(p, "cd r; echo 1 > a; git add a");
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
    int64_t version = x.version;
    assert_int_equal(x.n, 1);
    x.paths.data[0] = 'X'; /* a second read would restore it */
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
    assert_string_equal(x.paths.data, "X");
    assert_int_equal(x.version, version);
    script(p, "cd r; echo 1 > bc; git add bc");
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
    assert_as_git_tells(p, &x, "r");
    assert_true(x.version > version);
    script(p, "rm r/.git/index");
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_ABSENT);
    assert_int_equal(x.n, 0);
    hpc_git_index_release(&x);
    hpc_git_close(g);
}

/* An entry of version 2 or, where cut >= 0, 4. */
static void add_entry(hpc_buf *b, uint8_t kind, const char *path, int cut)
{
    uint8_t head[62] = {0};
    size_t begin = b->n, n = strlen(path);
    head[26] = kind;
    hpc_buf_add(b, head, sizeof head);
    if (cut >= 0) hpc_buf_add(b, &(uint8_t){(uint8_t)cut}, 1);
    hpc_buf_add(b, path, n + 1);
    while (cut < 0 && (b->n - begin) % 8 != 0) hpc_buf_add(b, "", 1);
}

static void begin_index(hpc_buf *b, uint8_t version, uint8_t entries)
{
    const uint8_t head[12] = {'D', 'I', 'R', 'C', 0, 0, 0, version, 0, 0, 0, entries};
    b->n = 0;
    hpc_buf_add(b, head, sizeof head);
}

static void put_index(place *p, const hpc_buf *b)
{
    assert_int_equal(b->failed, 0);
    unlink(in(p, "r/.git/index"));
    put(p, "r/.git/index", b->data, b->n);
}

/* Paths that leave the work tree or enter .git are ignored. */
static void odd_paths_are_left_out(void **state)
{
    place *p = *state;
    hpc_git_index x = {0};
    hpc_buf b = {0};
    static const char *const paths[] = {"/etc/passwd", "../x",   "a/../../x", "a//b",
                                        "a/./b",       ".git/x", "a/.GIT/x",  "good/..x"};
    script(p, "new r");
    hpc_git *g = opened(p, "r");
    begin_index(&b, 2, 8);
    for (int k = 0; k < 8; k++) add_entry(&b, 0x81, paths[k], -1);
    put_index(p, &b);
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
    assert_int_equal(x.n, 1);
    assert_string_equal(x.paths.data, "good/..x");
    /* links, submodules, sparse folders */
    begin_index(&b, 2, 4);
    add_entry(&b, 0xa0, "link", -1);
    add_entry(&b, 0xe0, "module", -1);
    add_entry(&b, 0x40, "folder/", -1);
    add_entry(&b, 0x81, "file", -1);
    put_index(p, &b);
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
    assert_int_equal(x.n, 1);
    assert_string_equal(x.paths.data, "file");
    hpc_buf_release(&b);
    hpc_git_index_release(&x);
    hpc_git_close(g);
}

static void refuses(place *p, hpc_git *g, const hpc_buf *b)
{
    hpc_git_index x = {0};
    put_index(p, b);
    assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_CORRUPT);
    assert_int_equal(x.n, 0);
    assert_int_equal(x.paths.n, 0);
    hpc_git_index_release(&x);
}

static void damage_is_noticed(void **state)
{
    place *p = *state;
    hpc_buf b = {0}, whole = {0};
    script(p, "new r");
    hpc_git *g = opened(p, "r");
    for (int version = 2; version <= 4; version += 2) { /* cut off anywhere */
        begin_index(&whole, (uint8_t)version, 2);
        add_entry(&whole, 0x81, "folder/one", version == 4 ? 0 : -1);
        add_entry(&whole, 0x81, version == 4 ? "two" : "folder/two", version == 4 ? 3 : -1);
        hpc_git_index x = {0};
        put_index(p, &whole);
        assert_int_equal(hpc_git_read_index(&x, g), HPC_GIT_READ);
        assert_string_equal(x.paths.data + 11, "folder/two");
        hpc_git_index_release(&x);
        for (size_t n = 0; n < whole.n; n++) {
            b.n = 0;
            hpc_buf_add(&b, whole.data, n);
            refuses(p, g, &b);
        }
    }
    begin_index(&b, 5, 0);
    refuses(p, g, &b);
    begin_index(&b, 1, 0);
    refuses(p, g, &b);
    begin_index(&b, 4, 1);
    add_entry(&b, 0x81, "a", 1); /* cuts more than there was */
    refuses(p, g, &b);
    begin_index(&b, 4, 1);
    add_entry(&b, 0x81, "\xff\xff\xff\xff\xff\xff", 0xff);
    refuses(p, g, &b);
    char name[5000];
    memset(name, 'a', sizeof name);
    name[sizeof name - 1] = 0;
    begin_index(&b, 2, 1);
    add_entry(&b, 0x81, name, -1);
    refuses(p, g, &b);
    hpc_buf_release(&b);
    hpc_buf_release(&whole);
    hpc_git_close(g);
}

static int index_body(void *user)
{
    hpc_git_index x = {0};
    int rc = hpc_git_read_index(&x, user);
    assert_int_equal(x.n, rc == HPC_GIT_READ ? 6 : 0);
    hpc_git_index_release(&x);
    return rc;
}

static void each_allocation_fails(void **state)
{
    place *p = *state;
    script(p, FILES "save");
    hpc_git *g = opened(p, "r");
    assert_true(hpc_test_each_alloc(index_body, g) >= 2);
    hpc_git_close(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)
        TEST(tells_what_git_tells),
        TEST(conflicts_and_worktrees),
        TEST(reads_again_what_has_changed),
        TEST(odd_paths_are_left_out),
        TEST(damage_is_noticed),
        TEST(each_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

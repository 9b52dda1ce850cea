/*
 * Tests of runtime/git/list.c and set.c: the list of blobs compared with the git program's, for
 * any number of workers.
 */
#include "tests/git/listing.h"

/* ---- against the git program -------------------------------------------------- */

/* Branches, merges, renames, deletions, executables, and a commit that nothing but a tag of a tag
 * reaches. */
#define BUSY                                                                                       \
    "new a; mkdir -p src/deep/er doc; "                                                            \
    "for i in 1 2 3 4 5 6 7 8; do echo $i >src/f$i.c; echo $i $i >src/deep/er/g$i.h; save; "       \
    "echo v$i >doc/log; save; done; "                                                              \
    "git checkout -q -b side HEAD~5; echo side >src/side.c; chmod +x src/side.c; save; "           \
    "git mv src/f1.c src/moved.c; save; git checkout -q main; git merge -q -m m side; "            \
    "git rm -q src/f2.c; save; git checkout -q --detach; echo lost >lost.c; save; "                \
    "git tag -a -m t one; git tag -a -m t two one; git checkout -q main; "                         \
    "git tag tree main^{tree}; git tag blob main:doc/log; git branch -q -D side; cd ..; "

static const char history_of_a[] =
    /* ids of all blobs, by the program's own walk */
    "git -C a log --all --root -m --raw --no-abbrev --no-renames --format= HEAD | "
    "awk '{print $4}' | grep -v '^0*$' | sort -u >expected";

static void assert_ids(place *p, const listing *x, const char *file)
{
    char *expected = text_of(p, file);
    hpc_map *ids = hpc_map_create();
    for (int64_t k = 0; k < x->l.n; k++) {
        char hex[41];
        hpc_git_id_text(hex, &x->l.entry[k].id);
        assert_int_equal(hpc_map_put(ids, hex, 40, 1), 0);
    }
    assert_int_equal(hpc_map_n(ids), x->l.n); /* one entry a blob */
    assert_int_equal(strlen(expected) + 1, 41 * x->l.n);
    for (int64_t k = 0; k < x->l.n; k++) {
        uint64_t value;
        if (!hpc_map_get(ids, expected + 41 * k, 40, &value))
            fail_msg("not listed: %.40s", expected + 41 * k);
    }
    hpc_map_free(ids);
    hpc_free(expected);
}

static void lists_all_of_a_history(void **state)
{
    place *p = *state;
    script(p, BUSY);
    script(p, history_of_a);
    script(p, "git -C a rev-list --all --count >commits; cp -r a b; git -C b gc -q --aggressive");
    char *commits = text_of(p, "commits");
    listing first = listed(p, "a", 1, &whole);
    char *text = shown(&first);
    assert_ids(p, &first, "expected");
    assert_int_equal(first.l.commits_n, atoi(commits));
    assert_int_equal(first.l.missing_n, 0);
    assert_string_equal(first.l.first_miss.data, "");
    assert_non_null(strstr(text, "lost.c 0 "));
    assert_non_null(strstr(text, "src/side.c 1 "));
    assert_lists(p, "a", &whole, text);
    assert_lists(p, "b", &whole, text); /* packed or loose is the same */
    hpc_free(text);
    hpc_free(commits);
    done(&first);
}

static void lists_head_alone(void **state)
{
    place *p = *state;
    script(p, BUSY "git -C a ls-tree -r HEAD | awk '{print $3}' | sort -u >expected");
    listing x = listed(p, "a", 2, &head_only);
    assert_ids(p, &x, "expected");
    assert_int_equal(x.l.commits_n, 1);
    for (int64_t k = 0; k < x.l.n; k++) assert_int_equal(x.l.entry[k].head, 1);
    done(&x);
    script(p, "git -C a checkout -q one"); /* detached, and via two tags */
    x = listed(p, "a", 1, &head_only);
    char *text = shown(&x);
    assert_non_null(strstr(text, "lost.c 1 "));
    hpc_free(text);
    done(&x);
}

static void one_path_stands_for_a_blob(void **state)
{
    place *p = *state;
    /* "same" was at b, a and z/y; in HEAD at z/x and z/y. "old" was at d, then at c. */
    script(p, "new a; echo same >b; echo old >d; save; git mv b a; git mv d c; save; mkdir z; "
              "git mv a z/y; git rm -q c; cp z/y z/x; save; git rev-parse HEAD:z/x >../same; "
              "git rev-parse HEAD~1:c >../old");
    char expected[256], *same = text_of(p, "same"), *old = text_of(p, "old");
    snprintf(expected, sizeof expected, "c 0 %s\nz/x 1 %s\n", old, same);
    assert_lists(p, "a", &whole, expected);
    snprintf(expected, sizeof expected, "z/x 1 %s\n", same);
    assert_lists(p, "a", &head_only, expected);
    hpc_free(same);
    hpc_free(old);
}

/* ---- what the caller wants ---------------------------------------------------------- */

static bool ends_in_c(const char *path, void *user)
{
    size_t n = strlen(path);
    __atomic_add_fetch((int64_t *)user, 1, __ATOMIC_RELAXED);
    return n > 2 && strcmp(path + n - 2, ".c") == 0;
}

static void note(int64_t commits, void *user)
{
    ((int64_t *)user)[1] = commits;
}

static void wanted_paths_alone(void **state)
{
    place *p = *state;
    script(p, BUSY "git -C a log --all --root -m --raw --no-abbrev --no-renames --format= -- "
                   "'*.c' | awk '{print $4}' | grep -v '^0*$' | sort -u >expected");
    for (int workers = 1; workers <= 3; workers++) {
        int64_t seen[2] = {0};
        hpc_git_list_options o = {
            .history = true, .want = ends_in_c, .progress = note, .user = seen};
        listing x = listed(p, "a", workers, &o);
        assert_ids(p, &x, "expected");
        assert_int_equal(x.l.other_n, 8 + 8); /* g1.h ... and eight logs */
        assert_true(seen[0] <= 3 * 20);       /* paths, not files: 19 of them, once a walker */
        assert_true(seen[1] >= x.l.commits_n - 1);
        done(&x);
    }
}

/* ---- links and odd names ---------------------------------------------------------------- */

static void links_are_counted(void **state)
{
    place *p = *state;
    script(p, "new a; echo f >f; mkdir d; ln -s ../d d/loop; ln -s self self; "
              "ln -s /etc/passwd out; git init -q sub; (cd sub; echo s >s; save); save; "
              "git rev-parse HEAD:f >../f");
    char expected[64], *f = text_of(p, "f");
    snprintf(expected, sizeof expected, "f 1 %s\n", f);
    assert_lists(p, "a", &head_only, expected);
    listing x = listed(p, "a", 2, &whole);
    assert_int_equal(x.l.links_n, 4);
    done(&x);
    hpc_free(f);
}

static void names_are_bytes(void **state)
{
    place *p = *state;
    script(p, "new a; printf 1 >'line\nend'; printf 2 >\"$(printf 'caf\\351')\"; "
              "printf 3 >'tab\tquote\"'; printf 4 >' '; save");
    listing x = listed(p, "a", 1, &head_only);
    assert_int_equal(x.l.n, 4);
    assert_string_equal(path_of(&x, 0), " ");
    assert_string_equal(path_of(&x, 1), "caf\351");
    assert_string_equal(path_of(&x, 2), "line\nend");
    assert_string_equal(path_of(&x, 3), "tab\tquote\"");
    done(&x);
}

static void nothing_is_an_empty_list(void **state)
{
    place *p = *state;
    script(p, "git init -q --bare a");
    assert_lists(p, "a", &head_only, "");
    assert_lists(p, "a", &whole, "");
    listing x = listed(p, "a", 2, &whole);
    assert_int_equal(x.l.commits_n, 0);
    assert_int_equal(x.l.missing_n, 0);
    done(&x);
}

typedef struct body {
    const char *path;
    int workers;
} body;

static int list_once(void *user)
{
    const body *b = user;
    hpc_git *g = NULL;
    hpc_pool *pool = NULL;
    hpc_git_list l = {0};
    int rc = hpc_git_open(&g, b->path);
    if (rc >= 0) rc = hpc_pool_create(&pool, b->workers);
    if (rc >= 0) rc = hpc_git_list_blobs(&l, g, pool, &whole);
    if (rc >= 0) assert_int_equal(l.n, 26);
    hpc_git_list_release(&l);
    hpc_pool_free(pool);
    hpc_git_close(g);
    return rc;
}

static void survives_lack_of_memory(void **state)
{
    place *p = *state;
    script(p, BUSY);
    for (int workers = 1; workers <= 2; workers++) {
        body b = {in(p, "a"), workers};
        assert_true(hpc_test_each_alloc(list_once, &b) > 20);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(lists_all_of_a_history),     TEST(lists_head_alone),
        TEST(one_path_stands_for_a_blob), TEST(wanted_paths_alone),
        TEST(links_are_counted),          TEST(names_are_bytes),
        TEST(nothing_is_an_empty_list),   TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Tests of runtime/git/list.c, walk.c and set.c: the list of blobs against what
 * the git program tells, whatever the number of workers; hostile and broken trees.
 */
#include "tests/git/repository.h"

typedef struct listing {
    hpc_git_list l;
    hpc_pool *pool;
    hpc_git *g;
} listing;

static listing listed(place *p, const char *name, int workers, const hpc_git_list_options *o)
{
    listing x = {.g = opened(p, name)};
    assert_int_equal(hpc_pool_create(&x.pool, workers), 0);
    if (hpc_git_list_blobs(&x.l, x.g, x.pool, o) < 0) fail_msg("%s", hpc_error_get()->text);
    return x;
}

static void done(listing *x)
{
    hpc_git_list_release(&x->l);
    hpc_pool_free(x->pool);
    hpc_git_close(x->g);
}

static const char *path_of(const listing *x, int64_t k)
{
    return x->l.paths.data + x->l.entry[k].path;
}

/* "PATH HEAD ID\n" of every entry, and the order that the header promises. */
static char *shown(const listing *x)
{
    hpc_buf b = {0};
    assert_int_equal(hpc_buf_text(&b, ""), 0);
    for (int64_t k = 0; k < x->l.n; k++) {
        char hex[41];
        hpc_git_id_text(hex, &x->l.entry[k].id);
        assert_int_equal(hpc_buf_printf(&b, "%s %u %s\n", path_of(x, k), x->l.entry[k].head, hex),
                         0);
        if (k == 0) continue;
        int order = strcmp(path_of(x, k - 1), path_of(x, k));
        if (order == 0) order = memcmp(&x->l.entry[k - 1].id, &x->l.entry[k].id, 20);
        assert_true(order < 0);
    }
    return b.data;
}

static void assert_lists(place *p, const char *name, const hpc_git_list_options *o,
                         const char *expected)
{
    for (int workers = 1; workers <= 3; workers++) {
        listing x = listed(p, name, workers, o);
        char *text = shown(&x);
        assert_string_equal(text, expected);
        hpc_free(text);
        done(&x);
    }
}

static const hpc_git_list_options head_only, whole = {.history = true};

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
    script(p, "git -C a checkout -q one"); /* detached, and behind two tags */
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

/* ---- links, odd names, hostile trees --------------------------------------------------- */

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

/* Trees that the program refuses to make, literally. $1: name; $2: mode. */
#define FORGE                                                                                      \
    "forge() { { printf '%s %s\\0' \"$2\" \"$1\"; perl -e 'print pack(\"H*\", shift)' $blob; } | " \
    "git hash-object -t tree --literally -w --stdin; }; "                                          \
    "commit() { git update-ref refs/heads/$1 $(git commit-tree -m m $2); }; "

static void malformed_trees_are_told(void **state)
{
    place *p = *state;
    script(p, "new a; echo f >f; save; blob=$(git rev-parse HEAD:f); " FORGE
              "commit slash $(forge a/b 100644); commit name $(forge '' 100644); "
              "commit mode $(forge x abc); commit none $(forge x ''); "
              "commit cut $(printf '100644 x\\0abc' | "
              "git hash-object -t tree --literally -w --stdin); "
              "commit end $(printf '100644 x' | git hash-object -t tree --literally -w --stdin); "
              "commit long $(forge x 10064410064410064); "
              "commit dots $(forge .. 100644); commit group $(forge g.c 100664)");
    listing x = listed(p, "a", 2, &whole);
    assert_int_equal(x.l.missing_n, 7);
    assert_non_null(strstr(x.l.first_miss.data, "is malformed"));
    assert_int_equal(x.l.n, 1); /* the same blob: "f" in HEAD */
    assert_string_equal(path_of(&x, 0), "f");
    done(&x);
}

static void depth_and_length_are_bounded(void **state)
{
    place *p = *state;
    script(p, "new a; echo f >f; save; blob=$(git rev-parse HEAD:f); " FORGE
              "t=$(git rev-parse HEAD^{tree}); k=0; while [ $k -lt 300 ]; do "
              "t=$(printf '040000 tree %s\\td\\n' $t | git mktree); k=$((k+1)); done; "
              "commit deep $t; n=$(head -c 3000 /dev/zero | tr '\\0' n); "
              "t=$(printf '040000 tree %s\\t%s\\n' $(git rev-parse HEAD^{tree}) $n | git mktree); "
              "commit long $(printf '040000 tree %s\\t%s\\n' $t $n | git mktree)");
    listing x = listed(p, "a", 1, &whole);
    assert_int_equal(x.l.missing_n, 2);
    assert_int_equal(x.l.n, 1);
    assert_non_null(strstr(x.l.first_miss.data, "too "));
    done(&x);
}

/* Nine trees in each tree, seven deep: nearly five million files of one blob. */
static void more_paths_than_can_be_are_refused(void **state)
{
    place *p = *state;
    if (!getenv("HPC_TEST_LONG")) {
        print_message("SKIP: takes a minute; set HPC_TEST_LONG=1\n");
        skip();
    }
    script(p, "new a; for i in 1 2 3 4 5 6 7 8 9; do echo f >f$i; done; save; "
              "t=$(git rev-parse HEAD^{tree}); for k in 1 2 3 4 5 6; do t=$(for i in 1 2 3 4 5 6 "
              "7 8 9; do printf '040000 tree %s\\t%s\\n' $t d$i; done | git mktree); done; "
              "git update-ref refs/heads/main $(git commit-tree -m m $t)");
    hpc_git *g = opened(p, "a");
    for (int workers = 1; workers <= 2; workers++) {
        hpc_pool *pool;
        hpc_git_list l;
        assert_int_equal(hpc_pool_create(&pool, workers), 0);
        int rc = hpc_git_list_blobs(&l, g, pool, workers == 1 ? &head_only : &whole);
        assert_refused(rc, HPC_E_UNSUPPORTED, "paths: refused");
        hpc_pool_free(pool);
    }
    hpc_git_close(g);
}

/* ---- what is not there -------------------------------------------------------------------- */

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

static void the_rest_is_listed(void **state)
{
    place *p = *state;
    script(p, "new a; mkdir x y; echo 1 >x/1; echo 2 >y/2; echo 3 >3; save; "
              "gone() { f=$(git rev-parse $1 | sed 's,^..,.git/objects/&/,'); rm -f $f; }; "
              "git rev-parse HEAD:x >../id; gone HEAD:x");
    char *id = text_of(p, "id");
    listing x = listed(p, "a", 2, &whole);
    assert_int_equal(x.l.n, 2);
    assert_string_equal(path_of(&x, 0), "3");
    assert_string_equal(path_of(&x, 1), "y/2");
    assert_int_equal(x.l.missing_n, 1);
    assert_memory_equal(x.l.first_miss.data, "tree ", 5);
    assert_non_null(strstr(x.l.first_miss.data, id));
    done(&x);
    hpc_free(id);
}

static void histories_are_cut_off(void **state)
{
    place *p = *state;
    script(p, "new a; echo 1 >f; save; echo 2 >f; save; echo 3 >f; save; cd ..; "
              "git clone -q --depth 2 file://$PWD/a b; git -C a rev-parse HEAD~2 >gone");
    char *gone = text_of(p, "gone");
    for (int workers = 1; workers <= 2; workers++) {
        listing x = listed(p, "b", workers, &whole);
        assert_int_equal(x.l.n, 2);
        assert_int_equal(x.l.commits_n, 2);
        assert_int_equal(x.l.missing_n, 1);
        assert_memory_equal(x.l.first_miss.data, "commit ", 7);
        assert_non_null(strstr(x.l.first_miss.data, gone));
        done(&x);
    }
    hpc_free(gone);
}

static void head_itself_may_be_missing(void **state)
{
    place *p = *state;
    script(p, "new a; echo 1 >f; save; "
              "rm -f $(git rev-parse HEAD | sed 's,^..,.git/objects/&/,')");
    listing x = listed(p, "a", 2, &whole);
    assert_int_equal(x.l.n, 0);
    assert_int_equal(x.l.missing_n, 1);
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
        TEST(lists_all_of_a_history),
        TEST(lists_head_alone),
        TEST(one_path_stands_for_a_blob),
        TEST(wanted_paths_alone),
        TEST(links_are_counted),
        TEST(names_are_bytes),
        TEST(malformed_trees_are_told),
        TEST(depth_and_length_are_bounded),
        TEST(more_paths_than_can_be_are_refused),
        TEST(nothing_is_an_empty_list),
        TEST(the_rest_is_listed),
        TEST(histories_are_cut_off),
        TEST(head_itself_may_be_missing),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

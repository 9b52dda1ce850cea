/*
 * Tests of runtime/git/walk*.c and shallow.c: malicious and broken trees and histories, and
 * stopping.
 */
#include "tests/git/listing.h"

/* ---- hostile trees ------------------------------------------------------------------------- */

/* Trees that the git program does not make, written literally. $1: name; $2: mode. */
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

/* ---- trees that name more than could be read --------------------------------------------- */

static bool count_and_refuse(const char *path, void *user)
{
    (void)path;
    __atomic_add_fetch((int64_t *)user, 1, __ATOMIC_RELAXED);
    return false;
}

/* Each tree has ten times the one below, $1 times above $t; the last one is HEAD's. */
#define NEST                                                                                       \
    "nest() { for k in $(seq $1); do t=$(for i in 0 1 2 3 4 5 6 7 8 9; do "                        \
    "printf '040000 tree %s\\td%s\\n' $t $i; done | git mktree); done; "                           \
    "git update-ref refs/heads/main $(git commit-tree -m m $t); }; "

static void assert_too_many(place *p)
{
    hpc_git *g = opened(p, "a");
    for (int k = 0; k < 4; k++) {
        hpc_pool *pool;
        hpc_git_list l;
        int64_t paths = 0;
        hpc_git_list_options o = {.history = k & 1, .want = count_and_refuse, .user = &paths};
        assert_int_equal(hpc_pool_create(&pool, 1 + k / 2), 0);
        assert_refused(hpc_git_list_blobs(&l, g, pool, &o), HPC_E_UNSUPPORTED,
                       "paths, which is not supported");
        assert_true(paths < 300000); /* found out long before all were visited */
        hpc_pool_free(pool);
    }
    hpc_git_close(g);
}

static void more_paths_than_can_be_are_refused(void **state)
{
    place *p = *state;
    script(p, "new a; for i in 0 1 2 3 4 5 6 7 8 9; do echo f >f$i; done; save; "
              "t=$(git rev-parse HEAD^{tree}); " NEST "nest 7");
    assert_too_many(p);
    script(p, "cd a; git repack -adq");
    assert_too_many(p);
}

static void folders_and_links_are_paths(void **state)
{
    place *p = *state;
    script(p, "new a; t=$(git mktree </dev/null); " NEST "nest 8");
    assert_too_many(p);
    script(p, "rm -rf a; new a; ln -s x l; save; t=$(git rev-parse HEAD^{tree}); " NEST "nest 7");
    assert_too_many(p);
}

/* The same, hidden in a branch that HEAD does not have. */
static void all_commits_are_counted(void **state)
{
    place *p = *state;
    script(p, "new a; echo f >f; save; t=$(git rev-parse HEAD^{tree}); " NEST
              "nest 7; git update-ref refs/heads/other main; git update-ref refs/heads/main "
              "$(git commit-tree -m m $(git rev-parse main:d0/d0/d0/d0/d0/d0))");
    hpc_git *g = opened(p, "a");
    for (int workers = 1; workers <= 3; workers++) {
        hpc_pool *pool;
        hpc_git_list l;
        assert_int_equal(hpc_pool_create(&pool, workers), 0);
        assert_refused(hpc_git_list_blobs(&l, g, pool, &whole), HPC_E_UNSUPPORTED,
                       "which is not supported");
        assert_int_equal(hpc_git_list_blobs(&l, g, pool, &head_only), 0);
        assert_int_equal(l.n, 1);
        hpc_git_list_release(&l);
        hpc_pool_free(pool);
    }
    hpc_git_close(g);
}

/* 300 copies of a folder with 1000 files: many, and no more than can be. */
static void copies_are_listed(void **state)
{
    place *p = *state;
    script(p, "new a; b=$(echo f | git hash-object -w --stdin); "
              "t=$(for i in $(seq 1000); do printf '100644 blob %s\tf%s\\n' $b $i; done | "
              "git mktree); t=$(for i in $(seq 300); do printf '040000 tree %s\td%s\\n' $t $i; "
              "done | git mktree); git update-ref refs/heads/main $(git commit-tree -m m $t)");
    int64_t paths = 0;
    hpc_git_list_options o = {.want = count_and_refuse, .user = &paths};
    listing x = listed(p, "a", 1, &o);
    assert_int_equal(x.l.other_n, 300000);
    assert_int_equal(paths, 300000);
    done(&x);
}

/* ---- what is not there -------------------------------------------------------------------- */

/* The loose object that $1 names. */
#define GONE                                                                                       \
    "file() { git rev-parse $1 | sed 's,^..,.git/objects/&/,'; }; gone() { rm -f $(file $1); }; "

static void the_rest_is_listed(void **state)
{
    place *p = *state;
    script(p, "new a; mkdir x y; echo 1 >x/1; echo 2 >y/2; echo 3 >3; save; " GONE
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
    script(p,
           "new a; for i in 1 2 3 4; do echo $i >f; save; done; cd ..; "
           "git clone -q --depth 3 file://$PWD/a b; git clone -q --depth 3 file://$PWD/a c; "
           "rm c/.git/shallow; cp -r b d; cd d; git unpack-objects -q <$(mv .git/objects/pack "
           "../packs; echo ../packs/*.pack); " GONE "gone HEAD~1; git rev-parse HEAD~1 >../gone");
    char *gone = text_of(p, "gone");
    for (int workers = 1; workers <= 2; workers++) {
        listing x = listed(p, "b", workers, &whole); /* on purpose: nothing is missing */
        assert_int_equal(x.l.n, 3);
        assert_int_equal(x.l.commits_n, 3);
        assert_int_equal(x.l.missing_n, 0);
        assert_string_equal(x.l.first_miss.data, "");
        done(&x);
        x = listed(p, "c", workers, &whole); /* nothing says that it should be */
        assert_int_equal(x.l.n, 3);
        assert_int_equal(x.l.missing_n, 1);
        assert_memory_equal(x.l.first_miss.data, "commit ", 7);
        done(&x);
        x = listed(p, "d", workers, &whole); /* above the cut */
        assert_int_equal(x.l.n, 1);
        assert_int_equal(x.l.missing_n, 1);
        assert_non_null(strstr(x.l.first_miss.data, gone));
        done(&x);
    }
    hpc_free(gone);
}

/* The file of shallow boundaries may contain anything. */
static void boundaries_may_be_nonsense(void **state)
{
    place *p = *state;
    script(p, "new a; for i in 1 2 3; do echo $i >f; save; done; "
              "a=$(git rev-parse HEAD~2); b=$(git rev-parse HEAD~1); "
              "printf '\nxyz\n%.39s\n%sa\n%s\n%s' $a $b $a $b >.git/shallow");
    listing x = listed(p, "a", 1, &whole);
    assert_int_equal(x.l.commits_n, 2);
    assert_int_equal(x.l.missing_n, 0);
    done(&x);
}

static void assert_unlisted(place *p, const char *name, const char *part)
{
    hpc_git *g = opened(p, name);
    for (int k = 0; k < 4; k++) {
        hpc_pool *pool;
        hpc_git_list l;
        assert_int_equal(hpc_pool_create(&pool, 1 + k / 2), 0);
        int rc = hpc_git_list_blobs(&l, g, pool, k & 1 ? &whole : &head_only);
        assert_refused(rc, HPC_E_FORMAT, part);
        assert_int_equal(l.n, 0);
        hpc_pool_free(pool);
    }
    hpc_git_close(g);
}

/* A repository is damaged, not empty, when nothing of HEAD can be listed. */
static void head_itself_may_be_missing(void **state)
{
    place *p = *state;
    static const struct {
        const char *damage, *part;
    } form[] = {
        {"gone HEAD", "nothing of HEAD can be read: commit "},
        {"gone HEAD^{tree}", "nothing of HEAD can be read: tree "},
        {"gone HEAD:d", "nothing of HEAD can be read: tree "}, /* all that there is */
        {"f=$(file HEAD); chmod u+w $f; printf garbage >$f", "does not inflate"},
        {"f=$(file HEAD^{tree}); chmod u+w $f; : >$f", "does not inflate"},
        {"f=$(file HEAD^{tree}); cp $(file HEAD:d/f) x; chmod u+w $f; cp x $f", "is a blob"},
        {"printf 'tree x\\n\\nm' | git hash-object -t commit --literally -w --stdin >../id; "
         "cp ../id .git/refs/heads/main",
         "has no tree"},
        {": >.git/refs/heads/main", "HEAD cannot be read: corrupted loose reference"},
        {"echo nonsense >.git/HEAD", "HEAD cannot be read: "},
        /* Licences and what counts as today's come from HEAD: other branches do not stand in. */
        {"git branch other HEAD~1; gone HEAD", "nothing of HEAD can be read: commit "},
    };
    script(p, "new whole; mkdir d; echo 1 >d/f; save; echo 2 >d/f; save");
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        char text[1024];
        snprintf(text, sizeof text, "rm -rf a; cp -r whole a; cd a; " GONE "%s", form[k].damage);
        script(p, text);
        assert_unlisted(p, "a", form[k].part);
    }
}

/* Nor is it empty when HEAD's branch is not there yet and no other can be read. */
static void all_may_be_missing(void **state)
{
    place *p = *state;
    script(p, "new a; echo 1 >f; save; " GONE "gone HEAD; git symbolic-ref HEAD refs/heads/new");
    hpc_git *g = opened(p, "a");
    hpc_pool *pool;
    hpc_git_list l;
    assert_int_equal(hpc_pool_create(&pool, 2), 0);
    assert_refused(hpc_git_list_blobs(&l, g, pool, &whole), HPC_E_FORMAT, "nothing can be read: ");
    assert_int_equal(hpc_git_list_blobs(&l, g, pool, &head_only), 0);
    assert_int_equal(l.n + l.missing_n, 0);
    hpc_git_list_release(&l);
    hpc_pool_free(pool);
    hpc_git_close(g);
}

/* The tree of nothing is known to everybody and need not be stored. */
static void nothing_is_not_missing(void **state)
{
    place *p = *state;
    script(p, "new a; git commit -q --allow-empty -m m; " GONE "f=$(file HEAD^{tree}); rm -f $f");
    assert_lists(p, "a", &head_only, "");
    listing x = listed(p, "a", 1, &whole);
    assert_int_equal(x.l.missing_n, 0);
    done(&x);
}

/* ---- stopping ------------------------------------------------------------------------------- */

typedef struct stopper {
    int stop;
    int64_t left, later; /* calls until it stops; calls after that */
} stopper;

static void count_call(stopper *s)
{
    int64_t left = __atomic_sub_fetch(&s->left, 1, __ATOMIC_RELAXED);
    if (left < 0) __atomic_add_fetch(&s->later, 1, __ATOMIC_RELAXED);
    if (left <= 0) __atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
}

static bool stop_at_path(const char *path, void *user)
{
    (void)path;
    count_call(user);
    return true;
}

static void stop_at_commit(int64_t commits, void *user)
{
    (void)commits;
    count_call(user);
}

static void assert_stops(hpc_git *g, hpc_git_list_options o, int workers, int64_t calls)
{
    hpc_pool *pool;
    stopper s = {.stop = calls == 0, .left = calls};
    hpc_git_list l;
    memset(&l, 1, sizeof l);
    o.stop = &s.stop;
    o.user = &s;
    assert_int_equal(hpc_pool_create(&pool, workers), 0);
    assert_int_equal(hpc_git_list_blobs(&l, g, pool, &o), HPC_GIT_STOPPED);
    assert_int_equal(hpc_error_get()->code, 0);
    assert_true(s.later < workers); /* each may have passed its last check */
    assert_null(l.entry);
    assert_int_equal(l.n, 0);
    hpc_pool_free(pool);
}

/* HEAD has 400 files, each of 150 other commits one of its own, the same one again below. */
static void stops_where_it_is(void **state)
{
    place *p = *state;
    script(p,
           "new a; b=$(echo f | git hash-object -w --stdin); for i in $(seq 400); do "
           "printf '100644 blob %s\tf%s\n' $b $i; done | git mktree >head; for i in $(seq 150); "
           "do t=$(printf '100644 blob %s\tg%s\n' $b $i | git mktree); "
           "c=$(git commit-tree -m $i ${c+-p $c} $t); c=$(git commit-tree -m $i -p $c $t); done; "
           "git update-ref refs/heads/main $(git commit-tree -m m -p $c $(cat head))");
    hpc_git *g = opened(p, "a");
    hpc_git_list_options paths = {.want = stop_at_path}, commits = {.progress = stop_at_commit};
    for (int workers = 1; workers <= 3; workers++) {
        paths.history = false;
        assert_stops(g, paths, workers, 0);
        assert_stops(g, paths, workers, 10);
        paths.history = true;
        assert_stops(g, paths, workers, 0);
        assert_stops(g, paths, workers, 399);
        assert_stops(g, paths, workers, 450);
    }
    commits.history = true;
    assert_stops(g, commits, 1, 1);
    hpc_git_close(g);
    int no = 0;
    hpc_git_list_options o = {.history = true, .stop = &no};
    listing x = listed(p, "a", 2, &o);
    assert_int_equal(x.l.commits_n, 301);
    done(&x);
}

/* ---- memory ------------------------------------------------------------------------------ */

static int list_once(void *user)
{
    hpc_git *g = NULL;
    hpc_pool *pool = NULL;
    hpc_git_list l = {0};
    int rc = hpc_git_open(&g, user);
    if (rc >= 0) rc = hpc_pool_create(&pool, 1);
    if (rc >= 0) rc = hpc_git_list_blobs(&l, g, pool, &whole);
    if (rc >= 0) assert_int_equal(l.n * 10 + l.commits_n, 22);
    hpc_git_list_release(&l);
    hpc_pool_free(pool);
    hpc_git_close(g);
    return rc;
}

/* Of trees that are met again, and of a shallow clone. */
static void survives_lack_of_memory(void **state)
{
    place *p = *state;
    script(p, "new a; mkdir x; echo f >x/f; save; for i in 1 2 3 4; do cp -r x y$i; done; save; "
              "echo 2 >g; save; cd ..; git clone -q --depth 2 file://$PWD/a b");
    assert_true(hpc_test_each_alloc(list_once, (void *)(uintptr_t)in(p, "b")) > 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(malformed_trees_are_told),
        TEST(depth_and_length_are_bounded),
        TEST(more_paths_than_can_be_are_refused),
        TEST(folders_and_links_are_paths),
        TEST(all_commits_are_counted),
        TEST(copies_are_listed),
        TEST(the_rest_is_listed),
        TEST(histories_are_cut_off),
        TEST(boundaries_may_be_nonsense),
        TEST(head_itself_may_be_missing),
        TEST(all_may_be_missing),
        TEST(nothing_is_not_missing),
        TEST(stops_where_it_is),
        TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

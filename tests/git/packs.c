/*
 * Tests of runtime/git/pack.c, pack_read.c and cache.c: objects of all kinds in packs of all
 * kinds, compared with libgit2; handles, memory.
 */
#include "tests/git/packed.h"

/* How many of all objects are read without libgit2; each as libgit2 reads it. */
static int read_all(place *p, const char *repository, const ids *all)
{
    hpc_git *g = opened(p, repository), *plain = opened_plain(p, repository);
    char why[200] = "";
    int ours = 0;
    for (int k = 0; k < all->n; k++) {
        git_raw a, b, c;
        int rc = git_get_packed(&a, g, &all->id[k], GIT_OBJECT_ANY, LIMIT, why);
        assert_int_equal(git_get(&b, g, &all->id[k], GIT_OBJECT_ANY, LIMIT, why), HPC_GIT_READ);
        assert_int_equal(git_get(&c, plain, &all->id[k], GIT_OBJECT_ANY, LIMIT, why), HPC_GIT_READ);
        assert_non_null(c.packed);
        assert_same(&b, &c);
        ours += rc == HPC_GIT_READ;
        if (rc == HPC_GIT_READ)
            assert_same(&a, &c);
        else
            assert_int_equal(rc, HPC_GIT_ABSENT);
        git_raw_release(&a);
        git_raw_release(&b);
        git_raw_release(&c);
    }
    hpc_git_close(g);
    hpc_git_close(plain);
    return ours;
}

/* Versions of some files, long and short, and a tag. */
#define HISTORY                                                                                    \
    "new a; : >empty; head -c 100000 /dev/urandom >noise; mkdir -p d/e; "                          \
    "for k in $(seq 30); do seq $k $((k * 100)) >d/long; seq $k 60 >d/e/short; "                   \
    "{ seq 5000; echo $k; seq 5000; } >turn; save $k; done; git tag -a -m tag t; "

static void packs_of_all_kinds(void **state)
{
    place *p = *state;
    static const char *const form[] = {
        "git gc -q --aggressive",
        "git -c repack.useDeltaBaseOffset=false repack -q -a -d -f",
        "git -c core.compression=0 repack -q -a -d -F",
        "git -c core.compression=9 repack -q -a -d -F --depth=200 --window=50",
        "git -c pack.packSizeLimit=1m repack -q -a -d -F",
        ("git repack -q -a -d -F; cd .git/objects/pack; "
         "git index-pack --index-version=2,0x40 -o new *.pack; mv -f new *.idx"),
        "cd .git/objects/pack; git index-pack --index-version=1 -o new *.pack; mv -f new *.idx",
    };
    ids *all = calloc(1, sizeof *all);
    assert_non_null(all);
    script(p, HISTORY "git repack -q -a -d -f");
    list_ids(all, p, "a");
    assert_true(all->n > 150);
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        char text[256];
        snprintf(text, sizeof text, "cd a; rm -f .git/objects/pack/*.rev; %s", form[k]);
        script(p, text);
        assert_int_equal(read_all(p, "a", all), all->n);
    }
    free(all);
}

/* Versions that each differ from the one before in a line of their own, so that a delta to any
 * other would be longer. */
static void chains_of_any_depth(void **state)
{
    place *p = *state;
    script(p, "git init -q -b main a; perl -e 'srand 3; "
              "sub noise { join \"\", map { chr(33 + int rand 90) } 1 .. 60 } "
              "@line = map { noise() } 1 .. 40; for $k (1 .. 700) { $line[$k % 40] = noise(); "
              "$text = join(\"\\n\", @line) . \"\\n\"; "
              "print \"commit refs/heads/main\\ncommitter a <a\\@b> $k +0000\\ndata 1\\nm\\n\", "
              "\"M 100644 inline f\\ndata \", length $text, \"\\n$text\\n\" }' "
              "| git -C a fast-import --quiet --depth=4000; cd a; "
              "git -c pack.threads=1 repack -q -a -d -f --depth=4000 --window=2; "
              "git verify-pack -v .git/objects/pack/*.idx | awk '$2 == \"blob\" { d = $6 + 0; "
              "if (d > most) { most = d; id = $1 } } END { print id, most }' >../deepest");
    char *deepest = text_of(p, "deepest");
    hpc_git_id id = id_of(deepest);
    if (atoi(deepest + 41) <= 512) fail_msg("not deep: %s", deepest);
    hpc_free(deepest);
    char why[200];
    git_raw raw;
    hpc_git *g = opened(p, "a");
    assert_int_equal(git_get_packed(&raw, g, &id, GIT_OBJECT_BLOB, LIMIT, why), HPC_GIT_ABSENT);
    assert_int_equal(git_get(&raw, g, &id, GIT_OBJECT_BLOB, LIMIT, why), HPC_GIT_READ);
    git_raw_release(&raw);
    hpc_git_close(g);
    ids *all = calloc(1, sizeof *all);
    assert_non_null(all);
    list_ids(all, p, "a");
    assert_true(read_all(p, "a", all) > 1500);
    free(all);
}

static void sizes_and_types_are_told_first(void **state)
{
    place *p = *state;
    script(p, "new a; for k in 1 2 3 4 5 6; do { seq 9000; echo $k; seq 9000; } >f; save; done; "
              "git gc -q --aggressive");
    hpc_git *g = opened(p, "a");
    for (int k = 0; k < 6; k++) {
        enum { N = 87788 };
        char spec[32], why[200];
        git_raw raw;
        snprintf(spec, sizeof spec, "HEAD~%d:f", k);
        hpc_git_id id = parsed(p, "a", spec);
        int rc = git_get_packed(&raw, g, &id, GIT_OBJECT_BLOB, N - 1, why);
        assert_int_equal(rc, HPC_GIT_TOO_LARGE);
        assert_string_equal(why, "has 87788 bytes; the limit is 87787");
        assert_int_equal(raw.n, N);
        assert_null(raw.data);
        rc = git_get_packed(&raw, g, &id, GIT_OBJECT_TREE, LIMIT, why);
        assert_int_equal(rc, HPC_GIT_CORRUPT);
        assert_string_equal(why, "is a blob, not a tree");
        assert_null(raw.data);
    }
    hpc_git_close(g);
}

/* ---- handles ---------------------------------------------------------------------------- */

static void handles_share_packs(void **state)
{
    place *p = *state;
    script(p, "new a; for k in $(seq 9); do seq $k $((k * 50)) >f; save; done; git gc -q; cd ..; "
              "git clone -q --bare --shared a b; cd b; seq 7 >g; git hash-object -w g; "
              "git hash-object g | git pack-objects -q objects/pack/pack; git prune-packed");
    hpc_git_id id = parsed(p, "b", "HEAD~4:f"), own = parsed(p, "b", "HEAD^{tree}");
    hpc_git *g = opened(p, "b"), *other;
    assert_int_equal(g->packs->n, 2); /* its own, and that of a */
    assert_int_equal(hpc_git_share(&other, g), 0);
    assert_ptr_equal(other->packs, g->packs);
    hpc_git_close(g);
    /* They are gone, and can still be read. */
    script(p, "rm -rf a/.git/objects/* b/objects/pack/*");
    char why[200];
    for (int round = 0; round < 2; round++) {
        git_raw raw;
        assert_int_equal(git_get(&raw, other, round ? &own : &id, GIT_OBJECT_ANY, LIMIT, why),
                         HPC_GIT_READ);
        if (round == 0) assert_memory_equal(raw.data, "5\n6\n", 4);
        git_raw_release(&raw);
    }
    git_packs_touch(other->packs, (size_t)1 << 30); /* forgets what is mapped, not the maps */
    git_raw raw;
    assert_int_equal(git_get_packed(&raw, other, &id, GIT_OBJECT_ANY, LIMIT, why), HPC_GIT_READ);
    git_raw_release(&raw);
    assert_int_equal(other->packs->touched < 1 << 30, 1);
    hpc_git_close(other);
}

static void the_cache_is_bounded(void **state)
{
    (void)state;
    enum { OBJECTS = 500, ROOM = 100000, BYTES = 1000 };
    git_pack pack[2];
    git_cache *c = git_cache_create();
    assert_non_null(c);
    git_held *first = NULL;
    for (int k = 0; k < OBJECTS; k++) {
        git_held *h = git_held_create(GIT_OBJECT_BLOB, BYTES);
        assert_non_null(h);
        memset(h->data, k, BYTES);
        git_cache_put(c, h, &pack[k & 1], (uint64_t)k, ROOM);
        if (k == 0)
            first = h;
        else
            git_held_release(h);
        /* Entries in use stay in the cache. */
        git_held *used = git_cache_get(c, &pack[1], 1);
        if (k >= 1) {
            assert_non_null(used);
            assert_int_equal(used->data[BYTES - 1], 1);
        }
        git_held_release(used);
    }
    int there = 0;
    for (int k = 0; k < OBJECTS; k++) {
        assert_null(git_cache_get(c, &pack[~k & 1], (uint64_t)k));
        git_held *h = git_cache_get(c, &pack[k & 1], (uint64_t)k);
        if (h) assert_int_equal(h->data[0], k & 255);
        there += h != NULL;
        git_held_release(h);
    }
    assert_true(there > ROOM / (BYTES + 500) - 10 && there < ROOM / BYTES);
    assert_int_equal(first->data[0], 0); /* long gone from the cache */
    git_held_release(first);
    git_held *large = git_held_create(GIT_OBJECT_BLOB, ROOM / 2);
    git_cache_put(c, large, &pack[0], 9999, ROOM);
    assert_null(git_cache_get(c, &pack[0], 9999)); /* would push out too much */
    git_held_release(large);
    git_cache_free(c);
}

typedef struct body {
    const char *path;
    hpc_git_id id;
} body;

static int read_once(void *user)
{
    body *b = user;
    hpc_git *g = NULL, *other = NULL;
    char why[200];
    git_raw raw = {0};
    int rc = hpc_git_open(&g, b->path);
    if (rc >= 0) rc = hpc_git_share(&other, g);
    if (rc >= 0) rc = git_get(&raw, other, &b->id, GIT_OBJECT_BLOB, LIMIT, why);
    if (rc >= 0) assert_non_null(raw.held);
    git_raw_release(&raw);
    hpc_git_close(other);
    hpc_git_close(g);
    return rc;
}

static void survives_lack_of_memory(void **state)
{
    place *p = *state;
    script(p, "new a; for k in $(seq 9); do seq $k $((k * 50)) >f; save; done; "
              "git gc -q --aggressive");
    body b = {.id = parsed(p, "a", "HEAD~8:f")};
    b.path = in(p, "a");
    assert_true(hpc_test_each_alloc(read_once, &b) > 12);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(packs_of_all_kinds),  TEST(chains_of_any_depth),  TEST(sizes_and_types_are_told_first),
        TEST(handles_share_packs), TEST(the_cache_is_bounded), TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

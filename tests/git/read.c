/*
 * Tests of runtime/git/read.c and object.c: contents of blobs, reports of too large, missing or
 * damaged ones, and a concurrent repack.
 */
#include "tests/git/repository.h"

static int read_id(hpc_buf *out, size_t *bytes, hpc_git *g, const hpc_git_id *id, size_t limit)
{
    int rc = hpc_git_read(out, bytes, g, id, limit);
    if (rc < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(hpc_error_get()->code, 0);
    return rc;
}

static void contents_are_as_committed(void **state)
{
    place *p = *state;
    script(p, "new a; : >empty; printf 'no end' >noend; printf 'a\\0b\\377\\r\\n' >binary; "
              "head -c 300000 /dev/urandom >large; save; "
              "for k in 1 2 3 4 5 6 7 8 9; do { head -c 20000 /dev/urandom | od; } >>delta; save; "
              "done; cp large delta ..");
    static const char *const name[] = {"empty", "noend", "binary", "large", "delta"};
    for (int packed = 0; packed < 2; packed++) {
        hpc_git *g = opened(p, "a");
        hpc_buf out = {0};
        size_t bytes;
        for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
            char spec[64], path[64];
            hpc_buf expected = {0};
            snprintf(spec, sizeof spec, "HEAD:%s", name[k]);
            snprintf(path, sizeof path, "a/%s", name[k]);
            hpc_git_id id = parsed(p, "a", spec);
            assert_int_equal(hpc_file_read(&expected, in(p, path), 1 << 24), 0);
            assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 24), HPC_GIT_READ);
            assert_int_equal(bytes, expected.n);
            assert_int_equal(out.n, expected.n);
            assert_non_null(out.data);
            assert_int_equal(out.data[out.n], '\0');
            if (out.n > 0) assert_memory_equal(out.data, expected.data, out.n);
            /* Exactly at the limit, and one below. */
            assert_int_equal(read_id(&out, &bytes, g, &id, expected.n), HPC_GIT_READ);
            if (expected.n > 0) {
                assert_int_equal(read_id(&out, &bytes, g, &id, expected.n - 1), HPC_GIT_TOO_LARGE);
                assert_int_equal(bytes, expected.n);
                assert_int_equal(out.n, 0);
            }
            hpc_buf_release(&expected);
        }
        hpc_buf_release(&out);
        hpc_git_close(g);
        script(p, "git -C a gc -q --aggressive --prune=now");
    }
}

static void absent_is_told_from_corrupt(void **state)
{
    place *p = *state;
    script(p, "new a; seq 1000 >gone; seq 2000 >broken; seq 3000 >cut; echo 4 >whole; save; "
              "at() { git rev-parse HEAD:$1 | sed 's,^..,.git/objects/&/,'; }; "
              "chmod -R u+w .git/objects; rm -f $(at gone); truncate -s -9 $(at cut); "
              "printf XXXX | dd of=$(at broken) bs=1 seek=900 conv=notrunc");
    hpc_git *g = opened(p, "a");
    hpc_buf out = {0};
    size_t bytes;
    hpc_git_id id = parsed(p, "a", "HEAD:gone");
    assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 20), HPC_GIT_ABSENT);
    assert_int_equal(out.n, 0);
    static const char *const damaged[] = {"HEAD:broken", "HEAD:cut"};
    for (int k = 0; k < 2; k++) {
        id = parsed(p, "a", damaged[k]);
        assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 20), HPC_GIT_CORRUPT);
        assert_true(out.n > 0);
        assert_null(strchr(out.data, '\n'));
    }
    id = parsed(p, "a", "HEAD^{tree}");
    assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 20), HPC_GIT_CORRUPT);
    assert_string_equal(out.data, "is a tree, not a blob");
    memset(&id, 0, sizeof id);
    assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 20), HPC_GIT_ABSENT);
    id = parsed(p, "a", "HEAD:whole");
    assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 20), HPC_GIT_READ);
    hpc_buf_release(&out);
    hpc_git_close(g);
}

static void partial_clones_lack_blobs(void **state)
{
    place *p = *state;
    script(p, "new a; for k in 1 2 3; do echo $k >$k; done; save; "
              "git config uploadpack.allowFilter true; cd ..; "
              "git clone -q --bare --filter=blob:none file://$PWD/a b");
    hpc_git *g = opened(p, "b");
    hpc_git_list l;
    hpc_pool *pool;
    hpc_git_list_options o = {.history = true};
    hpc_buf out = {0};
    assert_int_equal(hpc_pool_create(&pool, 1), 0);
    assert_int_equal(hpc_git_list_blobs(&l, g, pool, &o), 0);
    assert_int_equal(l.n, 3);
    assert_int_equal(l.missing_n, 0);
    for (int64_t k = 0; k < l.n; k++) {
        size_t bytes;
        assert_int_equal(read_id(&out, &bytes, g, &l.entry[k].id, 100), HPC_GIT_ABSENT);
    }
    hpc_buf_release(&out);
    hpc_git_list_release(&l);
    hpc_pool_free(pool);
    hpc_git_close(g);
}

/* Flips every byte of a pack: either the committed contents are read, or the damage is reported. */
static void no_flipped_byte_goes_unseen(void **state)
{
    place *p = *state;
    script(p, "new a; for k in 1 2 3 4; do seq $((k * 3)) 60 >f; save; done; "
              "git gc -q --aggressive --prune=now; chmod u+w .git/objects/pack/*; "
              "mv .git/objects/pack/*.pack ../pack; "
              "ln -s ../../../../live .git/objects/pack/$(basename .git/objects/pack/*.idx .idx)"
              ".pack; cp ../pack ../live");
    hpc_git_id id[4];
    hpc_buf text[4] = {{0}}, pack = {0}, out = {0};
    size_t bytes;
    hpc_git *g = opened(p, "a");
    for (int k = 0; k < 4; k++) {
        char spec[32];
        snprintf(spec, sizeof spec, "HEAD~%d:f", k);
        id[k] = parsed(p, "a", spec);
        assert_int_equal(read_id(&text[k], &bytes, g, &id[k], 1 << 20), HPC_GIT_READ);
    }
    hpc_git_close(g);
    assert_int_equal(hpc_file_read(&pack, in(p, "pack"), 1 << 20), 0);
    int64_t told = 0, wrong = 0;
    for (size_t at = 12; at + 20 < pack.n; at++) {
        pack.data[at] ^= 0x55;
        put(p, "live", pack.data, pack.n);
        pack.data[at] ^= 0x55;
        g = opened(p, "a");
        for (int k = 0; k < 4; k++) {
            int rc = read_id(&out, &bytes, g, &id[k], 1 << 20);
            if (rc != HPC_GIT_READ)
                told++;
            else
                wrong += out.n != text[k].n || memcmp(out.data, text[k].data, out.n) != 0;
        }
        hpc_git_close(g);
    }
    assert_true(told > (int64_t)pack.n / 4);
    assert_int_equal(wrong, 0);
    for (int k = 0; k < 4; k++) hpc_buf_release(&text[k]);
    hpc_buf_release(&pack);
    hpc_buf_release(&out);
}

static void a_repack_is_survived(void **state)
{
    place *p = *state;
    script(p, "new a; for k in $(seq 40); do seq $k $((k * 50)) >f; save; done; git gc -q");
    hpc_git *g = opened(p, "a");
    hpc_buf out = {0};
    for (int round = 0; round < 4; round++) {
        for (int k = round; k < 40; k += 9) {
            char spec[32], first[32];
            size_t bytes;
            snprintf(spec, sizeof spec, "HEAD~%d:f", 39 - k);
            hpc_git_id id = parsed(p, "a", spec);
            assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 20), HPC_GIT_READ);
            snprintf(first, sizeof first, "%d\n", k + 1);
            assert_memory_equal(out.data, first, strlen(first));
        }
        script(p, round % 2 ? "cd a; git repack -q -a -d -f --depth=1"
                            : "cd a; mv .git/objects/pack/*.pack ../p; "
                              "rm -f .git/objects/pack/*; git unpack-objects -q <../p");
    }
    hpc_buf_release(&out);
    hpc_git_close(g);
}

static void a_large_blob_is_not_inflated(void **state)
{
    place *p = *state;
    const char *wide = getenv("HPC_TEST_LONG") ? "5G" : "9M";
    int64_t expected = getenv("HPC_TEST_LONG") ? INT64_C(5) << 30 : 9 << 20;
    char text[512];
    snprintf(text, sizeof text,
             "new a; git config core.bigFileThreshold 4m; git config core.compression 1; "
             "truncate -s %s wide; echo x >narrow; save; cd ..; cp -r a b; git -C b gc -q",
             wide);
    script(p, text);
    hpc_git_id id = parsed(p, "a", "HEAD:wide");
    static const char *const form[] = {"a", "b"}; /* loose, packed */
    for (int k = 0; k < 2; k++) {
        hpc_git *g = opened(p, form[k]);
        hpc_buf out = {0};
        size_t bytes;
        assert_int_equal(read_id(&out, &bytes, g, &id, 1 << 20), HPC_GIT_TOO_LARGE);
        assert_int_equal(bytes, expected);
        assert_true(out.cap < 1 << 20);
        hpc_buf_release(&out);
        hpc_git_close(g);
    }
}

static void files_of_head_by_path(void **state)
{
    place *p = *state;
    script(p, "new a; mkdir -p d/e; echo 1 >LICENSE; echo 2 >d/e/f; ln -s LICENSE link; "
              "ln -s d way; : >zero; save; rm -rf d LICENSE; echo other >LICENSE");
    static const struct {
        const char *path;
        int outcome;
        const char *text;
    } form[] = {
        {"LICENSE", HPC_GIT_READ, "1\n"}, {"d/e/f", HPC_GIT_READ, "2\n"},
        {"d//e/f", HPC_GIT_READ, "2\n"},  {"zero", HPC_GIT_READ, ""},
        {"LICENS", HPC_GIT_ABSENT, ""},   {"LICENSE2", HPC_GIT_ABSENT, ""},
        {"d", HPC_GIT_ABSENT, ""},        {"d/e", HPC_GIT_ABSENT, ""},
        {"d/e/f/g", HPC_GIT_ABSENT, ""},  {"link", HPC_GIT_ABSENT, ""},
        {"way/e/f", HPC_GIT_ABSENT, ""},  {"", HPC_GIT_ABSENT, ""},
        {"/d/e/f", HPC_GIT_ABSENT, ""},   {"../a/LICENSE", HPC_GIT_ABSENT, ""},
    };
    hpc_git *g = opened(p, "a");
    hpc_buf out = {0};
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        assert_int_equal(hpc_git_read_path(&out, g, form[k].path, 100), form[k].outcome);
        assert_string_equal(out.data ? out.data : "", form[k].text);
    }
    assert_int_equal(hpc_git_read_path(&out, g, "LICENSE", 1), HPC_GIT_TOO_LARGE);
    int64_t n;
    static const char root[] = "LICENSE\0d/\0link\0way\0zero";
    assert_int_equal(hpc_git_list_folder(&out, &n, g, ""), HPC_GIT_READ);
    assert_int_equal(n, 5);
    assert_int_equal(out.n, sizeof root);
    assert_memory_equal(out.data, root, sizeof root);
    assert_int_equal(hpc_git_list_folder(&out, &n, g, "d/e"), HPC_GIT_READ);
    assert_int_equal(n, 1);
    assert_string_equal(out.data, "f");
    static const char *const none[] = {"d/x", "LICENSE", "way", "d/e/f"};
    for (int k = 0; k < 4; k++) {
        assert_int_equal(hpc_git_list_folder(&out, &n, g, none[k]), HPC_GIT_ABSENT);
        assert_int_equal(n, 0);
    }
    hpc_git_close(g);
    script(p, "git init -q b");
    g = opened(p, "b");
    assert_int_equal(hpc_git_read_path(&out, g, "LICENSE", 100), HPC_GIT_ABSENT);
    assert_int_equal(hpc_git_list_folder(&out, &n, g, ""), HPC_GIT_ABSENT);
    hpc_buf_release(&out);
    hpc_git_close(g);
}

typedef struct body {
    const char *path;
    hpc_git_id id;
} body;

static int read_once(void *user)
{
    body *b = user;
    hpc_git *g = NULL;
    hpc_buf out = {0};
    size_t bytes;
    int64_t n;
    int rc = hpc_git_open(&g, b->path);
    if (rc >= 0) rc = hpc_git_read(&out, &bytes, g, &b->id, 1 << 20);
    if (rc >= 0) rc = hpc_git_read_path(&out, g, "f", 100);
    if (rc >= 0) rc = hpc_git_list_folder(&out, &n, g, "");
    hpc_buf_release(&out);
    hpc_git_close(g);
    return rc;
}

static void survives_lack_of_memory(void **state)
{
    place *p = *state;
    script(p, "new a; echo x >f; save");
    body b = {.id = parsed(p, "a", "HEAD:f")};
    b.path = in(p, "a");
    assert_true(hpc_test_each_alloc(read_once, &b) > 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(contents_are_as_committed), TEST(absent_is_told_from_corrupt),
        TEST(partial_clones_lack_blobs), TEST(no_flipped_byte_goes_unseen),
        TEST(a_repack_is_survived),      TEST(a_large_blob_is_not_inflated),
        TEST(files_of_head_by_path),     TEST(survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

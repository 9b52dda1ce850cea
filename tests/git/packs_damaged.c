/*
 * Tests of runtime/git/pack_read.c: truncated or damaged packs and indexes give the same result as
 * libgit2 alone, or an error where libgit2 crashes.
 */
/* tsan: left out, starts no thread. */
#include "tests/git/packed.h"

/* A repository of a few objects, some of them deltas; its pack and index are links to files that
 * come and go. */
#define SMALL                                                                                      \
    "new a; for k in 1 2 3 4; do seq $((k * 3)) 60 >f; save; done; "                               \
    "git %s repack -q -a -d -f; cd .git/objects/pack; chmod u+w *; rm -f *.rev; "                  \
    "for s in pack idx; do mv *.$s ../../../../live.$s; "                                          \
    "ln -s ../../../../live.$s pack-0000000000000000000000000000000000000000.$s; done; "           \
    "cd ../../../..; cp live.pack pack; cp live.idx idx"

typedef struct damage {
    place *p;
    ids all;
    hpc_buf pack, index;
    int64_t refused, told, ours, lost, cut, rings; /* repositories, objects */
} damage;

/* What libgit2 must not be asked, for it would crash or not return. */
static bool told_by_us(damage *d, int rc, const char *why)
{
    if (rc != HPC_GIT_CORRUPT) return false;
    bool lost = strstr(why, "without a proper header"), cut = strstr(why, "a delta that does not"),
         ring = strstr(why, "in a ring");
    d->lost += lost;
    d->cut += cut;
    d->rings += ring;
    return lost || cut || ring;
}

/* Whatever is there now: as with libgit2 alone. */
static void compare(damage *d)
{
    hpc_git *g;
    if (hpc_git_open(&g, in(d->p, "a")) < 0) {
        assert_int_equal(hpc_error_get()->code, HPC_E_FORMAT);
        hpc_error_clear();
        d->refused++;
        return;
    }
    hpc_git *plain = opened_plain(d->p, "a");
    for (int k = 0; k < d->all.n; k++) {
        char why[200] = "", said[200] = "";
        git_raw a, b;
        int rc = git_get(&a, g, &d->all.id[k], GIT_OBJECT_ANY, LIMIT, why);
        if (told_by_us(d, rc, why)) continue;
        int expected = git_get(&b, plain, &d->all.id[k], GIT_OBJECT_ANY, LIMIT, said);
        assert_int_equal(rc, expected);
        assert_int_equal(hpc_error_get()->code, 0);
        if (rc == HPC_GIT_READ) {
            assert_same(&a, &b);
            d->ours += a.held != NULL;
        } else {
            assert_string_equal(why, said);
            d->told++;
        }
        git_raw_release(&a);
        git_raw_release(&b);
    }
    hpc_git_close(g);
    hpc_git_close(plain);
}

static damage *damage_begins(place *p, const char *setting)
{
    damage *d = calloc(1, sizeof *d);
    char text[1024];
    assert_non_null(d);
    d->p = p;
    snprintf(text, sizeof text, "rm -rf a; " SMALL, setting);
    script(p, text);
    list_ids(&d->all, p, "a");
    assert_int_equal(hpc_file_read(&d->pack, in(p, "pack"), 1 << 20), 0);
    assert_int_equal(hpc_file_read(&d->index, in(p, "idx"), 1 << 20), 0);
    compare(d);
    assert_int_equal(d->ours, d->all.n);
    d->ours = 0;
    return d;
}

static void damage_ends(damage *d)
{
    hpc_buf_release(&d->pack);
    hpc_buf_release(&d->index);
    free(d);
}

static const char *const settings[] = {"", "-c repack.useDeltaBaseOffset=false"};

static void damaged_packs(void **state)
{
    static const char change[] = {0x01, 0x10, (char)0x80, (char)0xff};
    for (int form = 0; form < 2; form++) {
        damage *d = damage_begins(*state, settings[form]);
        for (size_t at = 0; at < d->pack.n; at++) {
            d->pack.data[at] ^= change[at % 4];
            put(d->p, "live.pack", d->pack.data, d->pack.n);
            compare(d);
            d->pack.data[at] ^= change[at % 4];
        }
        assert_true(d->refused >= 12 + 20 - 1); /* version 3 is as good as 2 */
        assert_true(d->cut > 10);
        assert_true(d->told + d->lost + d->cut > (int64_t)d->pack.n);
        assert_true(d->ours > (int64_t)d->pack.n);
        damage_ends(d);
    }
}

/* Cut anywhere, with an index that believes in what is then the end. */
static void cut_packs(void **state)
{
    for (int form = 0; form < 2; form++) {
        damage *d = damage_begins(*state, settings[form]);
        for (size_t n = 32; n <= d->pack.n; n++) {
            memcpy(d->index.data + d->index.n - 40, d->pack.data + n - 20, 20);
            put(d->p, "live.idx", d->index.data, d->index.n);
            put(d->p, "live.pack", d->pack.data, n);
            compare(d);
        }
        assert_int_equal(d->refused, 0);
        assert_true(d->lost > (int64_t)d->pack.n && d->cut > 10 && d->told > 500);
        assert_true(d->ours > (int64_t)d->pack.n);
        damage_ends(d);
    }
}

static void damaged_indexes(void **state)
{
    static const char change[] = {0x01, 0x10, (char)0x80, (char)0xff};
    for (int form = 0; form < 2; form++) {
        damage *d = damage_begins(*state, settings[form]);
        for (size_t at = 0; at < d->index.n; at += at >= 8 && at < 1000 ? 7 : 1) {
            d->index.data[at] ^= change[(at + at / 4) % 4];
            put(d->p, "live.idx", d->index.data, d->index.n);
            compare(d);
            d->index.data[at] ^= change[(at + at / 4) % 4];
        }
        assert_true(d->refused > 100 && d->lost > 20 && d->ours > 1000);
        damage_ends(d);
    }
}

/* Deltas to any base in the pack, themselves among them. */
static void rings_of_deltas(void **state)
{
    damage *d = damage_begins(*state, settings[1]);
    uint8_t *data = (uint8_t *)d->pack.data;
    int bases = 0;
    for (size_t at = 12; at + 40 < d->pack.n; at++) {
        hpc_git_id is;
        memcpy(is.byte, data + at, 20);
        int k = 0;
        while (k < d->all.n && memcmp(&is, &d->all.id[k], 20) != 0) k++;
        if (k == d->all.n) continue;
        bases++;
        for (k = 0; k < d->all.n; k++) {
            memcpy(data + at, d->all.id[k].byte, 20);
            put(d->p, "live.pack", data, d->pack.n);
            compare(d);
        }
        memcpy(data + at, is.byte, 20);
    }
    assert_true(bases >= 3);
    assert_true(d->rings >= bases);
    assert_true(d->told > 0);
    assert_true(d->ours > 10);
    damage_ends(d);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(damaged_packs),
        TEST(cut_packs),
        TEST(damaged_indexes),
        TEST(rings_of_deltas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

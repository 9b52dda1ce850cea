/*
 * Tests of runtime/git/loose.c and store.c: loose objects as git writes them at every compression
 * level, damaged objects, and alternates.
 */
/* tsan: left out, starts no thread. */
#include "tests/git/repository.h"

#include "runtime/git/priv.h"

static int read_id(hpc_buf *out, hpc_git *g, const hpc_git_id *id)
{
    size_t bytes;
    int rc = hpc_git_read(out, &bytes, g, id, 1 << 24);
    if (rc < 0) fail_msg("%s", hpc_error_get()->text);
    assert_int_equal(hpc_error_get()->code, 0);
    return rc;
}

/* Nothing to compress, much, long distances, every length of a copy, all bytes. */
#define SAMPLES                                                                                    \
    ": >empty; printf x >one; seq 20000 >numbers; head -c 70000 /dev/urandom >noise; "             \
    "head -c 300000 /dev/zero >zeros; "                                                            \
    "perl -e 'for $n (1 .. 300) { print chr($n % 251) x $n, \"\\n\" }' >runs; "                    \
    "perl -e 'srand 1; $s = join \"\", map { chr int rand 256 } 1 .. 32000; "                      \
    "print $s, substr($s, 0, 300), $s' >far; "                                                     \
    "perl -e 'srand 2; print map { chr int(rand(12) ** 2) } 1 .. 50000' >skewed; "                 \
    "perl -e '$n = 1; for $c (1 .. 17) { print chr($c) x $n; $n *= 2 }' >deep; "                   \
    "cat numbers noise runs skewed >mixed; "

static void every_level_of_compression(void **state)
{
    place *p = *state;
    static const char *const name[] = {"empty", "one", "numbers", "noise", "zeros",
                                       "runs",  "far", "skewed",  "deep",  "mixed"};
    script(p, "mkdir s; cd s; " SAMPLES "cd ..; for k in 0 1 2 3 4 5 6 7 8 9; do (new a$k; "
              "git config core.looseCompression $k; cp ../s/* .; git add .); done");
    for (int level = 0; level <= 9; level++) {
        char folder[16], text[64];
        snprintf(folder, sizeof folder, "a%d", level);
        hpc_git *g = opened(p, folder);
        for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
            hpc_buf out = {0}, expected = {0};
            snprintf(text, sizeof text, ":%s", name[k]);
            hpc_git_id id = parsed(p, folder, text);
            snprintf(text, sizeof text, "s/%s", name[k]);
            assert_int_equal(hpc_file_read(&expected, in(p, text), 1 << 24), 0);
            assert_int_equal(read_id(&out, g, &id), HPC_GIT_READ);
            assert_int_equal(out.n, expected.n);
            if (out.n > 0) assert_memory_equal(out.data, expected.data, out.n);
            hpc_buf_release(&out);
            hpc_buf_release(&expected);
        }
        hpc_git_close(g);
    }
}

typedef struct victim {
    place *p;
    hpc_buf file, text, out;
    hpc_git_id id;
    hpc_git *g;
    int64_t told, wrong;
} victim;

static void try_once(victim *v, size_t n)
{
    put(v->p, "live", v->file.data, n);
    int rc = read_id(&v->out, v->g, &v->id);
    if (rc == HPC_GIT_READ)
        v->wrong += v->out.n != v->text.n || memcmp(v->out.data, v->text.data, v->out.n) != 0;
    else {
        assert_int_equal(rc, HPC_GIT_CORRUPT);
        assert_true(v->out.n > 0);
        v->told++;
    }
}

/* At every length, and with every byte changed in three ways. */
static void damage_is_told_and_never_hangs(void **state)
{
    place *p = *state;
    static const int level[] = {0, 1, 9};
    for (int k = 0; k < 3; k++) {
        char text[512];
        victim v = {.p = p};
        snprintf(text, sizeof text,
                 "rm -rf a; new a; git config core.looseCompression %d; "
                 "{ seq 1 90; head -c 200 /dev/zero; seq 1 60; } >f; git add f; cp f ../text; "
                 "o=$(git rev-parse :f | sed 's,^..,.git/objects/&/,'); mv $o ../live; "
                 "chmod u+w ../live; ln -s ../../../../live $o",
                 level[k]);
        script(p, text);
        v.id = parsed(p, "a", ":f");
        v.g = opened(p, "a");
        assert_int_equal(hpc_file_read(&v.text, in(p, "text"), 1 << 20), 0);
        assert_int_equal(hpc_file_read(&v.file, in(p, "live"), 1 << 20), 0);
        try_once(&v, v.file.n);
        assert_int_equal(v.told, 0);
        for (size_t n = 0; n < v.file.n; n++) try_once(&v, n);
        assert_int_equal(v.told, v.file.n);
        for (size_t at = 0; at < v.file.n; at++) {
            static const char change[] = {0x01, (char)0x80, (char)0xff};
            for (int c = 0; c < 3; c++) {
                v.file.data[at] ^= change[c];
                try_once(&v, v.file.n);
                v.file.data[at] ^= change[c];
            }
        }
        assert_int_equal(v.wrong, 0);
        assert_true(v.told > 3 * (int64_t)v.file.n);
        hpc_git_close(v.g);
        hpc_buf_release(&v.file);
        hpc_buf_release(&v.text);
        hpc_buf_release(&v.out);
    }
}

/* Headers that lie, in streams that are whole. */
static void headers_are_not_trusted(void **state)
{
    place *p = *state;
    static const struct {
        const char *raw, *says;
    } form[] = {
        {"blob 3\\0abcd", "a size different from its header"},
        {"blob 0\\0abcd", "a size different from its header"},
        {"blob 5\\0abcd", "a size different from its header"},
        {"blob 99999999999999999999\\0abcd", "proper header"},
        {"blob 4abcd", "proper header"},
        {"blob  4\\0abcd", "proper header"},
        {"blob -4\\0abcd", "proper header"},
        {"blob \\0abcd", "proper header"},
        {"blub 4\\0abcd", "proper header"},
        {"ofs-delta 4\\0abcd", "proper header"},
        {"tree 4\\0abcd", "is a tree"},
        {"", "proper header"},
        {"blob", "proper header"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "proper header"},
    };
    script(p, "new a; echo x >f; git add f");
    hpc_git_id id = parsed(p, "a", ":f");
    for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
        char text[512];
        hpc_buf out = {0};
        snprintf(text, sizeof text,
                 "o=a/.git/objects/$(git -C a rev-parse :f | sed 's,^..,&/,'); rm -f $o; "
                 "printf '%s' | perl -e 'use Compress::Zlib; local $/; print compress(<STDIN> // "
                 "\"\")' >$o",
                 form[k].raw);
        script(p, text);
        hpc_git *g = opened(p, "a");
        assert_int_equal(read_id(&out, g, &id), HPC_GIT_CORRUPT);
        if (!strstr(out.data, form[k].says)) fail_msg("%s: %s", form[k].raw, out.data);
        hpc_buf_release(&out);
        hpc_git_close(g);
    }
}

static void objects_may_be_borrowed(void **state)
{
    place *p = *state;
    script(p, "new a; echo 1 >one; save; git gc -q; echo 2 >two; git add two; cd ..; "
              "git clone -q --bare --shared a b; git clone -q --bare --shared b c; "
              "mkdir d; cp -r c d/c; printf '# x\\n\\n../../../b/objects/\\n/nowhere\\n' "
              ">d/c/objects/info/alternates; ls c/objects/pack >held");
    hpc_git_id one = parsed(p, "a", "HEAD:one"), two = parsed(p, "a", ":two");
    static const char *const form[] = {"b", "c", "d/c"};
    for (int k = 0; k < 3; k++) {
        hpc_git *g = opened(p, form[k]);
        hpc_buf out = {0};
        assert_int_equal(read_id(&out, g, &one), HPC_GIT_READ); /* in a pack of a */
        assert_string_equal(out.data, "1\n");
        assert_int_equal(read_id(&out, g, &two), HPC_GIT_READ); /* loose in a */
        assert_string_equal(out.data, "2\n");
        assert_int_equal(hpc_git_read_path(&out, g, "one", 10), HPC_GIT_READ);
        hpc_buf_release(&out);
        hpc_git_close(g);
    }
    script(p, "chmod u+w a/.git/objects/pack/*; truncate -s -7 a/.git/objects/pack/*.pack");
    hpc_git *g;
    int rc = hpc_git_open(&g, in(p, "c"));
    assert_refused(rc, HPC_E_FORMAT, "truncated or damaged");
    script(p, "rm -rf a; for k in $(seq 20); do git init -q --bare e$k; "
              "[ $k = 1 ] || echo $PWD/e$((k-1))/objects >e$k/objects/info/alternates; done; "
              "echo $PWD/e12/objects >e1/objects/info/alternates");
    hpc_git_close(opened(p, "c"));   /* its alternate is gone: absent, without an error */
    hpc_git_close(opened(p, "e12")); /* a ring of twelve */
    rc = hpc_git_open(&g, in(p, "e20"));
    assert_refused(rc, HPC_E_UNSUPPORTED, "borrows");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, place_setup, place_teardown)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(every_level_of_compression),
        TEST(damage_is_told_and_never_hangs),
        TEST(headers_are_not_trusted),
        TEST(objects_may_be_borrowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

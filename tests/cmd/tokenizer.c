/*
 * Tests of `hpccoder tokenizer train|encode|decode|rename`: files, output, round trips and errors.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/command.h"
#include "tests/support/expect.h"
#include "tokenizer/tokenizer.h"

#define MODEL  "tests/fixtures/tokenizer/ours.model"
#define SOURCE "runtime/base/map.c"

typedef struct place {
    char folder[PATH_MAX];
    hpc_test_outcome o;
} place;

static int setup(void **state)
{
    const char *temporary = getenv("TMPDIR");
    place *p = hpc_alloc(1, sizeof *p);
    *state = p;
    if (!p) return -1;
    snprintf(p->folder, sizeof p->folder, "%s/hpc-tokenizer-XXXXXX",
             temporary ? temporary : "/tmp");
    hpc_error_clear();
    return mkdtemp(p->folder) ? 0 : -1;
}

static int teardown(void **state)
{
    place *p = *state;
    hpc_buf list = {0};
    char path[PATH_MAX + 300];
    static const char *const inside[] = {"model/tokenizer.model", "model/tokenizer.json",
                                         "model/tokenizer_config.json",
                                         "model/special_tokens_map.json"};
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", p->folder, inside[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/model", p->folder);
    rmdir(path);
    int64_t n = 0;
    if (hpc_file_list(&list, &n, p->folder) == 0) {
        const char *name = list.data;
        for (int64_t i = 0; i < n; i++, name += strlen(name) + 1) {
            snprintf(path, sizeof path, "%s/%s", p->folder, name);
            unlink(path);
        }
    }
    hpc_buf_release(&list);
    int rc = rmdir(p->folder);
    hpc_free(p);
    return rc;
}

/* '@' stands for the temporary folder. */
static const char *in_folder(char out[1024], const place *p, const char *words)
{
    size_t n = 0;
    for (; *words; words++) {
        int k = *words == '@' ? snprintf(out + n, 1024 - n, "%s", p->folder)
                              : snprintf(out + n, 1024 - n, "%c", *words);
        n += (size_t)k;
        assert_true(n < 1024);
    }
    return out;
}

static void wants(place *p, const char *words, int code)
{
    char all[1024];
    hpc_test_command(&p->o, in_folder(all, p, words));
    if (p->o.code != code)
        fail_msg("hpccoder %s: exit code %d\n%s%s", words, p->o.code, p->o.out, p->o.err);
}

static void refuses(place *p, const char *words, int code, const char *part)
{
    wants(p, words, code);
    size_t n = strlen(p->o.err);
    if (!strstr(p->o.err, part)) fail_msg("hpccoder %s: %s", words, p->o.err);
    assert_ptr_equal(strchr(p->o.err, '\n'), p->o.err + n - 1);
    assert_int_equal(p->o.out[0], 0);
}

static void read_file(hpc_buf *out, const place *p, const char *name)
{
    char path[1024];
    out->n = 0;
    test_ok(hpc_file_read(out, in_folder(path, p, name), 1 << 24));
}

static void write_file(const place *p, const char *name, const char *data, size_t n)
{
    char path[1024];
    test_ok(hpc_file_save(in_folder(path, p, name), data, n));
}

/* ---- encode and decode ---------------------------------------------------------------------- */

static void prints_the_ids(void **state)
{
    place *p = *state;
    hpc_tokenizer *t;
    hpc_tokenizer_scratch *s;
    hpc_ids ids = {0};
    hpc_buf text = {0}, wanted = {0};
    test_ok(hpc_tokenizer_open(&t, MODEL));
    test_ok(hpc_tokenizer_scratch_create(&s, t));
    test_ok(hpc_file_read(&text, SOURCE, 1 << 20));
    test_ok(hpc_tokenizer_encode(&ids, t, s, text.data, text.n, 0));
    for (int64_t i = 0; i < ids.n; i++)
        test_ok(hpc_buf_printf(&wanted, "%d%s", (int)ids.id[i], i + 1 < ids.n ? " " : "\n"));
    wants(p, "tokenizer encode " SOURCE " --model " MODEL, 0);
    assert_string_equal(p->o.out, wanted.data);
    wants(p, "tokenizer encode " SOURCE " --threads 3 -m " MODEL, 0);
    assert_string_equal(p->o.out, wanted.data);
    wants(p, "tokenizer encode " SOURCE " --count --model " MODEL, 0);
    assert_int_equal(atoll(p->o.out), ids.n);
    hpc_free(ids.id);
    hpc_buf_release(&text);
    hpc_buf_release(&wanted);
    hpc_tokenizer_scratch_free(s);
    hpc_tokenizer_close(t);
}

static void bytes_come_back(void **state)
{
    place *p = *state;
    static const char text[] = "\t if (a)\r\n\xFF\xE2\x96\x81 \0 <fim_prefix>\xC3\xA4 no newline";
    hpc_buf back = {0};
    write_file(p, "@/text", text, sizeof text - 1);
    wants(p, "tokenizer encode @/text --model " MODEL, 0);
    write_file(p, "@/ids", p->o.out, strlen(p->o.out));
    wants(p, "tokenizer decode @/ids --model " MODEL, 0);
    /* The text continues after the NUL. */
    assert_memory_equal(p->o.out, text, sizeof text);
    write_file(p, "@/ids", "", 0);
    wants(p, "tokenizer decode @/ids --model " MODEL, 0);
    assert_string_equal(p->o.out, "");
    wants(p, "tokenizer encode @/ids --model " MODEL, 0);
    assert_string_equal(p->o.out, "\n");
    hpc_buf_release(&back);
}

static void special_tokens(void **state)
{
    place *p = *state;
    write_file(p, "@/text", "a<fim_prefix>b", 14);
    wants(p, "tokenizer encode @/text --specials --begin --end --pieces --model " MODEL, 0);
    assert_non_null(strstr(p->o.out, "1\t<s>\n"));
    assert_non_null(strstr(p->o.out, "\n3\t<fim_prefix>\n"));
    assert_non_null(strstr(p->o.out, "\n2\t</s>\n"));
    wants(p, "tokenizer encode @/text --model " MODEL, 0);
    assert_null(strstr(p->o.out, " 3 "));
    write_file(p, "@/ids", "[1, 3,\n2]", 9);
    wants(p, "tokenizer decode @/ids --model " MODEL, 0);
    assert_string_equal(p->o.out, "<s><fim_prefix></s>");
    wants(p, "tokenizer decode @/ids --skip-specials --model " MODEL, 0);
    assert_string_equal(p->o.out, "");
}

static int64_t number(const hpc_json *object, const char *key)
{
    int64_t x = -1;
    const hpc_json *v = hpc_json_get(object, key);
    if (!v || hpc_json_int(&x, v, key) < 0) fail_msg("'%s' is no number", key);
    return x;
}

static void reports_json(void **state)
{
    place *p = *state;
    hpc_json *root = NULL;
    const char *piece;
    write_file(p, "@/text", "\n\t\x01", 3);
    wants(p, "tokenizer encode @/text --json --pieces --model " MODEL, 0);
    test_ok(hpc_json_parse(&root, p->o.out, strlen(p->o.out), "stdout"));
    assert_int_equal(number(root, "bytes"), 3);
    assert_int_equal(number(root, "tokens"), 3);
    assert_int_equal(hpc_json_n(hpc_json_get(root, "ids")), 3);
    test_ok(hpc_json_text(&piece, hpc_json_at(hpc_json_get(root, "pieces"), 0), "piece"));
    assert_string_equal(piece, "\\n");
    hpc_json_free(root);
}

static void refuses_bad_requests(void **state)
{
    place *p = *state;
    refuses(p, "tokenizer encode " SOURCE, 2, "--model");
    refuses(p, "tokenizer encode --model " MODEL, 2, "one FILE");
    refuses(p, "tokenizer encode " SOURCE " --model " SOURCE, 2, "byte");
    refuses(p, "tokenizer encode " SOURCE " --model @", 2, "neither");
    refuses(p, "tokenizer encode @/none --model " MODEL, 2, "none");
    refuses(p, "tokenizer decode a b --model " MODEL, 2, "one file");
    write_file(p, "@/ids", "1 2 x", 5);
    refuses(p, "tokenizer decode @/ids --model " MODEL, 2, "byte 4");
    write_file(p, "@/ids", "1 99999999999", 13);
    refuses(p, "tokenizer decode @/ids --model " MODEL, 2, "byte 2");
    write_file(p, "@/ids", "1 1000", 6);
    refuses(p, "tokenizer decode @/ids --model " MODEL, 2, "1000");
    refuses(p, "tokenizer train", 2, "name a corpus");
    refuses(p, "tokenizer train " SOURCE, 2, "--out");
    refuses(p, "tokenizer train @ --out @/model", 2, "not a corpus");
}

/* Renamed tokens keep their ids; all other texts give the same ids. */
static void renames_special_tokens(void **state)
{
    place *p = *state;
    hpc_buf before = {0};
    wants(p,
          "tokenizer rename --model tests/fixtures/byte_level/llama3.json --out @/model "
          "<|begin_of_text|>=<fim_prefix> <|end_of_text|>=<fim_suffix>",
          0);
    write_file(p, "@/text", "<fim_prefix>a<fim_suffix>", 25);
    wants(p, "tokenizer encode @/text --specials --model @/model", 0);
    assert_non_null(strstr(p->o.out, "1000 "));
    assert_non_null(strstr(p->o.out, " 1001\n"));
    wants(p, "tokenizer encode " SOURCE " --model tests/fixtures/byte_level/llama3.json", 0);
    test_ok(hpc_buf_text(&before, p->o.out));
    wants(p, "tokenizer encode " SOURCE " --model @/model", 0);
    assert_string_equal(p->o.out, before.data);
    refuses(p, "tokenizer rename --model @/model --out @/x a=b", 2, "no special token a");
    refuses(p, "tokenizer rename --model @/model --out @/x <fim_prefix>=<fim_suffix>", 2,
            "has a token <fim_suffix> already");
    refuses(p, "tokenizer rename --model @/model --out @/x <fim_prefix>", 2, "OLD=NEW");
    refuses(p, "tokenizer rename --model " MODEL " --out @/x <s>=<t>", 2, "cannot be renamed");
    hpc_buf_release(&before);
}

/* By the shell, which stops at the first failure, in the temporary folder: $e encodes, $d decodes,
 * with the model of the fixtures, and `text` is longer than a few of the parts in which a text goes
 * through. */
static void script(place *p, const char *text)
{
    char program[PATH_MAX], all[3 * PATH_MAX];
    hpc_buf code = {0}, longer = {0};
    test_ok(hpc_file_read(&code, SOURCE, 1 << 20));
    while (longer.n < 700000) test_ok(hpc_buf_add(&longer, code.data, code.n));
    write_file(p, "@/text", longer.data, longer.n);
    int n = snprintf(all, sizeof all,
                     "set -e; m=$PWD/" MODEL "; cd '%s'; p='%s'; e=\"$p tokenizer encode -m $m\"; "
                     "d=\"$p tokenizer decode -m $m\"; %s",
                     p->folder, hpc_test_built(program, "hpccoder"), text);
    assert_true(n < (int)sizeof all);
    if (system(all) != 0) fail_msg("%s", all);
    hpc_buf_release(&code);
    hpc_buf_release(&longer);
}

/* The same for any number of threads and from wherever the text comes. */
static void many_parts(void **state)
{
    script(*state,
           "$e text --threads 1 >ids; $d ids | cmp - text; mkfifo pipe; for n in 1 2 5; do "
           "$e text --threads $n | cmp - ids; $e - --threads $n <text | cmp - ids; "
           "cat text | $e - --threads $n | cmp - ids; "
           "cat text >pipe & $e pipe --threads $n | cmp - ids; "
           "test $($e text --threads $n --count) = $(wc -w <ids); "
           "$e text --threads $n --pieces | cut -f 1 | tr '\\n' ' ' | sed 's/ $//' >column; "
           "tr -d '\\n' <ids | cmp - column; "
           "$e text --threads $n --json | sed 's/.*\\[//; s/\\].*//; s/,/ /g' | cmp - ids; "
           "done");
}

static void nowhere_to_write(void **state)
{
    script(*state,
           "for n in 1 3; do for out in /dev/full '&-'; do for o in '' --pieces --count; do "
           "r=0; eval \"$e text --threads $n $o >$out 2>err\" || r=$?; test $r = 3; "
           "test \"$(cat err)\" = "
           "'hpccoder tokenizer encode: cannot write to standard output'; done; done; "
           "{ r=0; $e text --threads $n || r=$?; echo $r >code; } | head -c 1 >one; "
           "test $(cat code) = 141; done; "
           "r=0; $e - <&- 2>err || r=$?; test $r = 2; grep -q 'standard input' err");
}

/* ---- train ---------------------------------------------------------------------------------- */

#define FILES "runtime/base/map.c runtime/base/json.c runtime/base/file.c runtime/base/pool.c"

static void need_library(void)
{
    char path[PATH_MAX];
    if (hpc_file_exists(hpc_test_built(path, "hpccoder-spm.so"))) return;
    print_message("SKIP: hpccoder-spm.so was not built (libsentencepiece-dev)\n");
    skip();
}

static void trains(void **state)
{
    place *p = *state;
    hpc_json *root = NULL;
    hpc_buf a = {0}, b = {0};
    need_library();
    wants(p, "tokenizer train " FILES " --vocab 900 --out @/model --json -q", 0);
    assert_int_equal(p->o.err[0], 0);
    test_ok(hpc_json_parse(&root, p->o.out, strlen(p->o.out), "stdout"));
    assert_int_equal(number(root, "pieces"), 900);
    assert_int_equal(number(root, "files"), 4);
    read_file(&a, p, "@/model/tokenizer.json");
    read_file(&a, p, "@/model/tokenizer_config.json");
    assert_non_null(strstr(a.data, "\"eos_token\": \"<end>\"")); /* which ends texts in training */
    assert_non_null(strstr(a.data, "\"add_prefix_space\": false"));
    read_file(&a, p, "@/model/special_tokens_map.json");
    read_file(&a, p, "@/model/tokenizer.model");
    wants(p, "tokenizer train " FILES " --vocab 900 -o @/again.model -q", 0);
    assert_string_equal(p->o.err, "");
    assert_non_null(strstr(p->o.out, "again.model: 900 pieces, from 4 files"));
    read_file(&b, p, "@/again.model");
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);

    /* The folder is a tokenizer, with the marks of samples. */
    write_file(p, "@/text", "<fim_prefix>", 12);
    wants(p, "tokenizer encode @/text --specials --count --model @/model", 0);
    assert_string_equal(p->o.out, "1\n");
    wants(p, "tokenizer encode " SOURCE " --model @/model", 0);
    write_file(p, "@/ids", p->o.out, strlen(p->o.out));
    wants(p, "tokenizer decode @/ids --model @/model", 0);
    a.n = 0;
    test_ok(hpc_file_read(&a, SOURCE, 1 << 20));
    assert_string_equal(p->o.out, a.data);
    hpc_json_free(root);
    hpc_buf_release(&a);
    hpc_buf_release(&b);
}

static int64_t used_of(place *p, int64_t bytes, int seed, hpc_buf *model)
{
    hpc_json *root = NULL;
    char words[400];
    snprintf(words, sizeof words,
             "tokenizer train " FILES " --vocab 760 --bytes %lld --seed %d --json -q "
             "--out @/some.model",
             (long long)bytes, seed);
    wants(p, words, 0);
    test_ok(hpc_json_parse(&root, p->o.out, strlen(p->o.out), "stdout"));
    int64_t used = number(root, "bytes"), all = number(root, "bytes_in_all");
    assert_true(used <= all);
    hpc_json_free(root);
    read_file(model, p, "@/some.model");
    return used;
}

/* About as much as asked for, by another seed something else, by the same the same. */
static void uses_a_part(void **state)
{
    place *p = *state;
    hpc_buf a = {0}, b = {0}, c = {0};
    need_library();
    assert_in_range(used_of(p, 11000, 1, &a), 3000, 18000);
    used_of(p, 11000, 1, &b);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    int seed = 2;
    do used_of(p, 11000, seed, &c);
    while (c.n == a.n && memcmp(c.data, a.data, a.n) == 0 && ++seed < 20);
    assert_true(seed < 20);
    hpc_buf_release(&a);
    hpc_buf_release(&b);
    hpc_buf_release(&c);
}

static void refuses_bad_training(void **state)
{
    place *p = *state;
    need_library();
    refuses(p, "tokenizer train " SOURCE " --vocab 10 -q --out @/x.model", 2, "vocabulary of 10");
    refuses(p, "tokenizer train @/none -q --out @/x.model", 2, "none");
    write_file(p, "@/empty", "", 0);
    refuses(p, "tokenizer train @/empty -q --out @/x.model", 2, "no text");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(prints_the_ids), TEST(bytes_come_back),      TEST(special_tokens),
        TEST(reports_json),   TEST(refuses_bad_requests), TEST(renames_special_tokens),
        TEST(trains),         TEST(uses_a_part),          TEST(refuses_bad_training),
        TEST(many_parts),     TEST(nowhere_to_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

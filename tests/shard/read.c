/*
 * Tests of runtime/shard/read.c and index.c: opening folders and single shards, and errors of
 * invalid ones.
 */
/* tsan: left out, starts no thread. */
#include <unistd.h>

#include "tests/shard/data.h"

static const char *at(char out[160], const char *folder, const char *name)
{
    snprintf(out, 160, "%s/%s", folder, name);
    return out;
}

static void refuses(const char *path, int code, const char *part)
{
    hpc_shards *s = NULL;
    assert_error(hpc_shards_open(&s, path, NULL), code, part);
    assert_null(s);
}

static void test_one_shard(void **state)
{
    place *p = *state;
    char path[160];
    hpc_shards *all = NULL, *one = NULL;
    int64_t first = 0;
    assert_int_equal(hpc_shards_open(&all, p->whole, NULL), 0);
    for (int k = 0;; k++) {
        char name[32];
        snprintf(name, sizeof name, "%05d.shard", k);
        if (!hpc_file_exists(at(path, p->whole, name))) break;
        assert_int_equal(hpc_shards_open(&one, path, NULL), 0);
        for (int64_t i = 0; i < hpc_shards_n(one); i++) {
            hpc_document a = hpc_shards_document(one, i), b = hpc_shards_document(all, first + i);
            assert_int_equal(a.n, b.n);
            assert_memory_equal(a.token, b.token, (size_t)a.n * 2);
            assert_int_equal(a.shard, 0);
            assert_int_equal(b.shard, k);
            assert_true(hpc_shards_value(one, 1, i) == hpc_shards_value(all, 1, first + i));
        }
        first += hpc_shards_n(one);
        hpc_shards_close(one);
    }
    assert_int_equal(first, DOCUMENTS);
    hpc_shards_close(all);
}

static void test_another_tokenizer(void **state)
{
    place *p = *state;
    char path[160];
    hpc_shards *s = NULL;
    hpc_hash128 right = small_spec(1).tokenizer, wrong = {.low = 1, .high = 2};
    const char *const part = "was packed with tokenizer 99aabbccddeeff001122334455667788, not with "
                             "00000000000000020000000000000001";
    assert_error(hpc_shards_open(&s, p->whole, &wrong), HPC_E_ARG, part);
    assert_error(hpc_shards_open(&s, at(path, p->whole, "00000.shard"), &wrong), HPC_E_ARG, part);
    assert_int_equal(hpc_shards_open(&s, path, &right), 0);
    hpc_shards_close(s);
    assert_int_equal(hpc_shards_open(&s, p->whole, &right), 0);
    assert_int_equal(hpc_shards_spec(s)->seed, -7);
    assert_string_equal(hpc_shards_spec(s)->task, "pragma");
    hpc_shards_close(s);
}

static void test_what_is_not_there(void **state)
{
    place *p = *state;
    char path[160];
    refuses(p->other, HPC_E_IO, "other: No such file or directory");
    refuses(p->root, HPC_E_ARG, "has no token shards: create them with `hpccoder corpus pack`");
    assert_int_equal(unlink(at(path, p->whole, "index.json")), 0);
    refuses(p->whole, HPC_E_FORMAT, "has no index.json: it is incomplete, resume writing it");
}

static void test_shards_that_the_index_does_not_mean(void **state)
{
    place *p = *state;
    char path[160], other[160];
    /* another vocabulary has other tokens, but as many shards */
    assert_int_equal(small_make(p->other, 999, false), 0);
    at(path, p->whole, "00001.shard");
    assert_int_equal(rename(at(other, p->other, "00001.shard"), path), 0);
    refuses(p->whole, HPC_E_FORMAT, "00001.shard is not the shard that its index lists");
    assert_int_equal(unlink(path), 0);
    refuses(p->whole, HPC_E_FORMAT, "/whole is damaged, resume writing the data set: /");
    refuses(p->whole, HPC_E_FORMAT, "00001.shard is missing");
    assert_int_equal(hpc_file_save(path, NULL, 0), 0);
    refuses(p->whole, HPC_E_FORMAT, "00001.shard is not a token shard");
}

static void replace(hpc_buf *text, const char *from, const char *to)
{
    char *found = strstr(text->data, from);
    hpc_buf b = {0};
    assert_non_null(found);
    hpc_buf_add(&b, text->data, (size_t)(found - text->data));
    hpc_buf_text(&b, to);
    assert_int_equal(hpc_buf_text(&b, found + strlen(from)), 0);
    hpc_buf_release(text);
    *text = b;
}

static void test_bad_indexes(void **state)
{
    place *p = *state;
    char path[160];
    const struct {
        const char *from, *to, *part;
    } edit[] = {
        {"\"version\": 1", "\"version\": 2", "version 2 from a newer hpccoder"},
        {"\"version\": 1", "\"version\": \"1\"", "index.json: version: expected"},
        {"hpccoder token shards", "something", "not an index of token shards"},
        {"\"vocabulary\": 1000", "\"vocabulary\": 0", "vocabulary is 0"},
        {"\"tokenizer\": \"99", "\"tokenizer\": \"9", "tokenizer is not a checksum"},
        {"\"tokenizer\": \"99", "\"tokenizer\": \"+9", "tokenizer is not a checksum"},
        {"\"task\": \"pragma\"", "\"task\": \"\"", "no proper name"},
        {"\"task\": \"pragma\"", "\"task\": \"a task that is far too long\"", "task is too long"},
        {"\"f32\"", "\"f16\"", "unknown column type 'f16'"},
        {"\"seed\": -7", "\"seed\": -8", "has seed -7, not -8"},
        {"\"hash\": \"", "\"hash\": \"0", "hash is not a checksum"},
        {"\"shards\": [", "\"shards\": [ {},", "documents"},
        {"\"columns\": [", "\"columns\": {}, \"x\": [", "columns: expected a list"},
        {"\"shards\": [", "\"shards\": 7, \"x\": [", "shards: expected a list"},
        {"\"shards\": [", "\"shards\": [ [1],", "\"documents\" is missing"},
        {"\"shards\": [", "\"shards\": [ 7,", "\"documents\" is missing"},
        {"\"shards\"", "\"shard\"", "\"shards\" is missing"},
        {"{", "[", "index.json:"},
    };
    hpc_buf was = {0};
    at(path, p->whole, "index.json");
    assert_int_equal(hpc_file_read(&was, path, SIZE_MAX), 0);
    for (size_t k = 0; k < sizeof edit / sizeof *edit; k++) {
        hpc_buf text = {0};
        assert_int_equal(hpc_buf_add(&text, was.data, was.n), 0);
        replace(&text, edit[k].from, edit[k].to);
        assert_int_equal(hpc_file_save(path, text.data, text.n), 0);
        int code = k == 0 ? HPC_E_UNSUPPORTED : k == 9 ? HPC_E_ARG : HPC_E_FORMAT;
        refuses(p->whole, code, edit[k].part);
        hpc_buf_release(&text);
    }
    for (size_t n = 0; n + 2 < was.n; n += 5) { /* cut off: never taken for whole */
        assert_int_equal(hpc_file_save(path, was.data, n), 0);
        refuses(p->whole, HPC_E_FORMAT, "index.json");
    }
    hpc_buf_release(&was);
}

static void test_facts_are_kept(void **state)
{
    place *p = *state;
    char path[160];
    hpc_json *root = NULL;
    const char *made = NULL;
    int64_t n = 0;
    assert_int_equal(hpc_json_read(&root, at(path, p->whole, "index.json")), 0);
    assert_int_equal(
        hpc_json_text(&made, hpc_json_get(hpc_json_get(root, "facts"), "made"), "made"), 0);
    assert_string_equal(made, "by a test");
    assert_int_equal(hpc_json_int(&n, hpc_json_get(root, "documents"), "documents"), 0);
    assert_int_equal(n, DOCUMENTS);
    hpc_json_free(root);
}

static int open_body(void *user)
{
    hpc_shards *s = NULL;
    int rc = hpc_shards_open(&s, user, NULL);
    if (rc < 0) assert_null(s);
    hpc_shards_close(s);
    return rc;
}

static void test_every_failure(void **state)
{
    place *p = *state;
    assert_true(hpc_test_each_alloc(open_body, p->whole) > 10);
    for (int64_t n = 1;; n++) { /* closing has no say */
        hpc_test_fail_io(n);
        int rc = open_body(p->whole);
        if (rc < 0) assert_error(rc, HPC_E_IO, "whole");
        if (!hpc_test_io_failed()) break;
    }
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(test_one_shard),         IN_A_PLACE(test_another_tokenizer),
        IN_A_PLACE(test_what_is_not_there), IN_A_PLACE(test_shards_that_the_index_does_not_mean),
        IN_A_PLACE(test_bad_indexes),       IN_A_PLACE(test_facts_are_kept),
        IN_A_PLACE(test_every_failure),
    };
    return cmocka_run_group_tests_name("shard/read", tests, NULL, NULL);
}

/*
 * Tests of runtime/shard/write.c: round trips; resumed writing gives the same bytes; errors name
 * differences; every failure leaves only complete shards.
 */
/* tsan: left out, starts no thread. */
#include <sys/stat.h>
#include <unistd.h>

#include "tests/shard/data.h"

static void assert_content(const char *folder, int64_t vocabulary, int64_t documents)
{
    hpc_shards *s = NULL;
    int64_t tokens = 0;
    assert_int_equal(hpc_shards_open(&s, folder, NULL), 0);
    assert_int_equal(hpc_shards_n(s), documents);
    for (int64_t i = 0; i < documents; i++) {
        int32_t token[LONGEST];
        double value[3];
        int64_t n = small_document(token, value, i, vocabulary);
        hpc_document d = hpc_shards_document(s, i);
        assert_int_equal(d.n, n);
        assert_int_equal(d.width, vocabulary <= 65536 ? 2 : 4);
        for (int64_t k = 0; k < n; k++) {
            int64_t begin = -1;
            assert_int_equal(hpc_document_token(&d, k), token[k]);
            assert_int_equal(hpc_shards_find(&begin, s, tokens + k), i);
            assert_int_equal(begin, tokens);
        }
        for (int64_t c = 0; c < 3; c++) assert_true(hpc_shards_value(s, c, i) == value[c]);
        tokens += n;
    }
    assert_int_equal(hpc_shards_tokens_n(s), tokens);
    hpc_shards_close(s);
}

static void test_written_is_read(void **state)
{
    place *p = *state;
    const int64_t vocabularies[] = {1, 1000, 65536, 65537, INT32_MAX};
    for (int k = 0; k < 5; k++) {
        place_clear(p->other);
        assert_int_equal(small_make(p->other, vocabularies[k], false), 0);
        assert_content(p->other, vocabularies[k], DOCUMENTS);
    }
}

/* More than one block of tokens, with an odd length. */
static void test_long_documents(void **state)
{
    place *p = *state;
    enum { N = 3 * SHARD_BLOCK / 4 + 1237 };
    hpc_shard_spec spec = small_spec(100000);
    hpc_shard_writer *w = NULL;
    hpc_shards *s = NULL;
    int64_t done = -1;
    double value[3] = {0};
    int32_t *token = malloc(N * sizeof *token);
    spec.columns_n = 0;
    for (int k = 0; k < N; k++) token[k] = k % 100000;
    assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, 0, false), 0);
    assert_int_equal(done, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(hpc_shard_add(w, token, N - i, value), 0);
    assert_int_equal(hpc_shard_finish(w, NULL), 0);
    hpc_shard_counts c = hpc_shard_written(w);
    hpc_shard_discard(w);
    assert_int_equal(c.documents, 3);
    assert_int_equal(c.tokens, 3 * N - 3);
    assert_int_equal(c.shards, 1);
    assert_true(c.bytes >= 4 * c.tokens && c.bytes < 4 * c.tokens + 2000);
    assert_int_equal(hpc_shards_open(&s, p->other, &spec.tokenizer), 0);
    for (int i = 0; i < 3; i++) {
        hpc_document d = hpc_shards_document(s, i);
        assert_int_equal(d.n, N - i);
        assert_memory_equal(d.token, token, (size_t)(N - i) * 4);
    }
    hpc_shards_close(s);
    free(token);
}

static void test_empty_data_set(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(10);
    hpc_shard_writer *w = NULL;
    hpc_shards *s = NULL;
    int64_t done = -1;
    assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, 0, true), 0);
    assert_int_equal(hpc_shard_finish(w, "{}"), 0);
    hpc_shard_discard(w);
    assert_int_equal(hpc_shards_open(&s, p->other, NULL), 0);
    assert_int_equal(hpc_shards_n(s), 0);
    assert_int_equal(hpc_shards_tokens_n(s), 0);
    assert_int_equal(hpc_shards_column(s, "change"), 2);
    assert_int_equal(hpc_shards_column(s, "chang"), -1);
    hpc_shards_close(s);
}

/* ---- resuming ------------------------------------------------------------------ */

static void test_resume_at_every_document(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    for (int64_t stop = 0; stop <= DOCUMENTS; stop++) {
        hpc_shard_writer *w = NULL;
        int64_t done = -1;
        place_clear(p->other);
        assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, false), 0);
        assert_int_equal(small_add(w, 0, stop, 1000), 0);
        hpc_shard_discard(w); /* as after a stop: incomplete shards are removed */
        assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, true), 0);
        assert_true(done <= stop);
        hpc_shard_discard(w);
        assert_int_equal(small_make(p->other, 1000, true), 0);
        assert_same_files(p->whole, p->other);
    }
    assert_int_equal(small_make(p->other, 1000, true), 0); /* of a complete data set */
    assert_same_files(p->whole, p->other);
}

/* The process ends between a shard and the index, and leaves a temporary. */
static void test_resume_without_an_index(void **state)
{
    place *p = *state;
    char path[128];
    assert_int_equal(small_make(p->other, 1000, false), 0);
    snprintf(path, sizeof path, "%s/index.json", p->other);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/.hpc-77-0.tmp", p->other);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("half a shard", f);
    fclose(f);
    assert_int_equal(small_make(p->other, 1000, true), 0);
    assert_false(hpc_file_exists(path));
    assert_same_files(p->whole, p->other);
}

static void test_more_documents_than_before(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    hpc_shard_writer *w = NULL;
    int64_t done = -1;
    assert_int_equal(hpc_shard_create(&w, &done, p->whole, &spec, SHARD_OF, true), 0);
    assert_int_equal(done, DOCUMENTS);
    assert_error(small_add(w, 0, 1, 1000), HPC_E_STATE, "there are more documents");
    hpc_shard_discard(w);
}

static void refuses(const place *p, const hpc_shard_spec *spec, int64_t tokens, const char *part)
{
    hpc_shard_writer *w = NULL;
    int64_t done = -1;
    int rc = hpc_shard_create(&w, &done, p->whole, spec, tokens, true);
    assert_error(rc, HPC_E_ARG, part);
    assert_null(w);
}

static void test_what_differs_is_named(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    hpc_shard_writer *w = NULL;
    int64_t done;
    assert_error(hpc_shard_create(&w, &done, p->whole, &spec, SHARD_OF, false), HPC_E_ARG,
                 "whole contains a data set: resume it, or choose another folder");
    refuses(p, &spec, SHARD_OF + 1, "shards of 40 tokens, not of 41");
    spec.tokenizer.low++;
    refuses(
        p, &spec, SHARD_OF,
        "tokenizer 99aabbccddeeff001122334455667788, not with 99aabbccddeeff001122334455667789");
    spec = small_spec(1001);
    refuses(p, &spec, SHARD_OF, "vocabulary 1000, not 1001");
    spec = small_spec(1000);
    spec.seed = 8;
    refuses(p, &spec, SHARD_OF, "seed -7, not 8");
    spec = small_spec(1000);
    strcpy(spec.task, "code");
    refuses(p, &spec, SHARD_OF, "task pragma, not code");
    spec = small_spec(1000);
    spec.columns_n = 2;
    refuses(p, &spec, SHARD_OF, "columns 3, not 2");
    spec = small_spec(1000);
    spec.column[2].type = HPC_SHARD_I32;
    refuses(p, &spec, SHARD_OF, "column change of f32, not change of i32");
}

/* ---- what is damaged or gone ------------------------------------------------------ */

static void shell(const place *p, const char *text)
{
    char command[512];
    snprintf(command, sizeof command, "cd '%s' && { %s; } >/dev/null 2>&1", p->other, text);
    if (system(command) != 0) fail_msg("%s", command);
}

/* Everything from the damage on is rebuilt, with the same bytes. */
static void test_damage_is_made_good(void **state)
{
    static const struct {
        const char *script, *says;
        bool resumed; /* by documents: not all of them are kept */
    } all[] = {
        {"rm 00001.shard", "00001.shard is missing", true},
        {"rm 0000[1-9].shard", "00001.shard is missing", true}, /* the index lists it */
        {"rm *.shard", "00000.shard is missing", true},
        {"truncate -s -1 00001.shard", "00001.shard is truncated", true},
        {"printf X | dd of=00000.shard bs=1 seek=1300 conv=notrunc", "00000.shard: its ", true},
        {": >00001.shard", "00001.shard is not a token shard", true},
        {"cp 00000.shard 00001.shard", "00001.shard does not follow the previous shard", true},
        {"cp 00001.shard 00017.shard", "more shards than its index lists", false},
        {"echo '{' >index.json", "index.json:2:1: ", false},
        {"sed -i 's/\"hash\": \"/&0/' index.json", "index.json: hash is not a checksum", false},
        {"sed -i '0,/\"documents\": /s/\"documents\": /&1/; s/\"hash\": \"./\"hash\": \"0/' "
         "index.json",
         "index.json does not match the existing shards", false},
        {"truncate -s -1 00001.shard; echo '{' >index.json", "00001.shard is truncated", true},
    };
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    assert_int_equal(small_make(p->other, 1000, false), 0);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        hpc_shard_writer *w = NULL;
        int64_t done = -1;
        shell(p, all[k].script);
        if (hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, true) < 0)
            fail_msg("%s: %s", all[k].script, hpc_error_get()->text);
        const char *said = hpc_shard_damage(w);
        if (!said || !strstr(said, all[k].says))
            fail_msg("%s: \"%s\"", all[k].script, said ? said : "");
        assert_int_equal(done < DOCUMENTS, all[k].resumed);
        hpc_shard_discard(w);
        assert_int_equal(small_make(p->other, 1000, true), 0);
        assert_same_files(p->whole, p->other);
        assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, true), 0);
        assert_null(hpc_shard_damage(w));
        assert_int_equal(done, DOCUMENTS);
        hpc_shard_discard(w);
    }
}

/* Of another data set, of another format, or a newer one's: nothing there is ours to replace. */
static void test_what_is_not_ours_stays(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    hpc_shard_writer *w = NULL;
    int64_t done;
    assert_int_equal(small_make(p->other, 999, false), 0);
    shell(p, ": >00000.shard; cp -r . ../kept");
    assert_error(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, true), HPC_E_ARG,
                 "vocabulary 999, not 1000"); /* as the index tells */
    shell(p, "cp ../whole/* .; : >00000.shard");
    assert_error(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF + 1, true), HPC_E_ARG,
                 "shards of 40 tokens, not of 41");
    shell(p, "cp ../whole/* .; printf '\\2' | dd of=00001.shard bs=1 seek=8 conv=notrunc");
    assert_error(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, true), HPC_E_UNSUPPORTED,
                 "from a newer hpccoder");
    shell(p, "cp ../whole/* .; sed -i 's/\"version\": 1/\"version\": 2/' index.json");
    assert_error(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, true), HPC_E_UNSUPPORTED,
                 "from a newer hpccoder");
    assert_null(w);
}

static void test_one_writer_at_a_time(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    hpc_shard_writer *w = NULL, *second = NULL;
    int64_t done;
    assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, false), 0);
    assert_error(hpc_shard_create(&second, &done, p->other, &spec, SHARD_OF, true), HPC_E_STATE,
                 "another process is writing it");
    hpc_shard_discard(w);
    assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, false), 0);
    hpc_shard_discard(w);
}

/* ---- what cannot be written ------------------------------------------------------ */

static void test_bad_documents(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    hpc_shard_writer *w = NULL;
    int64_t done;
    int32_t token[] = {0, 999};
    double value[] = {2147483647, 9007199254740992.0, 0.5};
    assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, false), 0);
    assert_int_equal(hpc_shard_add(w, token, 2, value), 0);
    const double wrong[][3] = {{2147483648.0, 0, 0}, {0.5, 0, 0},           {0, 1e17, 0},
                               {0, 0.5, 0},          {0, 0, 0.1},           {0.0 / 0.0, 0, 0},
                               {0, 0.0 / 0.0, 0},    {-2147483649.0, 0, 0}, {0, 0, 1e39}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
        assert_error(hpc_shard_add(w, token, 2, wrong[k]), HPC_E_ARG, "cannot hold");
    value[2] = 0.0 / 0.0;
    assert_int_equal(hpc_shard_add(w, token, 2, value), 0);
    token[1] = 1000;
    assert_error(hpc_shard_add(w, token, 2, value), HPC_E_ARG, "token 1000 is not in a vocabulary");
    token[1] = -1;
    assert_error(hpc_shard_add(w, token, 2, value), HPC_E_ARG, "token -1 is not in a vocabulary");
    assert_int_equal(hpc_shard_add(w, token, 1, value), 0);
    assert_error(hpc_shard_finish(w, "[1]"), HPC_E_ARG, "not a JSON object");
    assert_error(hpc_shard_finish(w, "{"), HPC_E_FORMAT, "the properties of a data set:1:");
    assert_int_equal(hpc_shard_finish(w, NULL), 0);
    assert_int_equal(hpc_shard_written(w).documents, 3);
    hpc_shard_discard(w);
}

static void test_bad_specifications(void **state)
{
    place *p = *state;
    hpc_shard_writer *w = NULL;
    int64_t done;
    const struct {
        int64_t vocabulary, columns;
        const char *name, *part;
    } wrong[] = {
        {0, 3, "label", "vocabulary of 0"}, {1ll << 31, 3, "label", "vocabulary of 2147483648"},
        {10, 17, "label", "17 columns"},    {10, 3, "loop", "two columns 'loop'"},
        {10, 3, "", "no proper name"},      {10, 3, "a b", "no proper name"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        hpc_shard_spec spec = small_spec(wrong[k].vocabulary);
        spec.columns_n = wrong[k].columns;
        strcpy(spec.column[0].name, wrong[k].name);
        memset(spec.column[0].name + strlen(wrong[k].name), 0, 8);
        assert_error(hpc_shard_create(&w, &done, p->other, &spec, 1, false), HPC_E_ARG,
                     wrong[k].part);
    }
    assert_false(hpc_file_exists(p->other));
}

/* ---- failures -------------------------------------------------------------------- */

static void count_whole(const char *folder)
{
    char path[128];
    for (int64_t k = 0;; k++) {
        hpc_shards *s = NULL;
        snprintf(path, sizeof path, "%s/%05d.shard", folder, (int)k);
        if (!hpc_file_exists(path)) return;
        assert_int_equal(hpc_shards_open(&s, path, NULL), 0);
        hpc_shards_close(s);
    }
}

/* After every possible failure: shards that are there are whole, and resuming gives the same. */
static void walk_failures(const place *p, void (*arm)(int64_t n), bool (*failed)(void), int code)
{
    for (int64_t n = 1;; n++) {
        place_clear(p->other);
        arm(n);
        int rc = small_make(p->other, 1000, false);
        bool hit = failed();
        hpc_test_fault_reset();
        if (rc < 0) assert_error(rc, code, "");
        if (!hit) {
            assert_int_equal(rc, 0);
            assert_true(n > 20);
            return;
        }
        if (rc < 0 && hpc_file_exists(p->other)) count_whole(p->other);
        assert_int_equal(small_make(p->other, 1000, true), 0);
        assert_same_files(p->whole, p->other);
    }
}

static void test_every_allocation_fails(void **state)
{
    walk_failures(*state, hpc_test_fail_alloc, hpc_test_alloc_failed, HPC_E_NOMEM);
}

static void test_every_call_on_files_fails(void **state)
{
    walk_failures(*state, hpc_test_fail_io, hpc_test_io_failed, HPC_E_IO);
}

/* A write of the second shard finds no space: one line, the first stays, nothing else is left. */
static void test_full_disk(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    hpc_shard_writer *w = NULL;
    int64_t done, i = 0, n = 0;
    hpc_buf names = {0};
    assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, SHARD_OF, false), 0);
    while (hpc_shard_written(w).shards < 1) assert_int_equal(small_add(w, i, i + 1, 1000), 0), i++;
    hpc_test_fail_io(2); /* the file is opened, its header is not written */
    int rc = small_add(w, i, i + 1, 1000);
    hpc_test_fault_reset();
    assert_error(rc, HPC_E_IO, "00001.shard: No space left on device");
    assert_error(small_add(w, i, i + 1, 1000), HPC_E_IO, "an earlier document");
    assert_error(hpc_shard_finish(w, NULL), HPC_E_IO, "an earlier document");
    hpc_shard_discard(w);
    assert_int_equal(hpc_file_list(&names, &n, p->other), 0);
    assert_int_equal(n, 2);
    assert_string_equal(names.data, ".lock");
    assert_string_equal(names.data + 6, "00000.shard");
    hpc_buf_release(&names);
    assert_int_equal(small_make(p->other, 1000, true), 0);
    assert_same_files(p->whole, p->other);
}

static void test_steady_state_allocates_nothing(void **state)
{
    place *p = *state;
    hpc_shard_spec spec = small_spec(1000);
    hpc_shard_writer *w = NULL;
    int32_t token[LONGEST];
    double value[3];
    int64_t done;
    assert_int_equal(hpc_shard_create(&w, &done, p->other, &spec, 1 << 20, false), 0);
    assert_int_equal(small_add(w, 0, 1000, 1000), 0);
    hpc_test_fault_reset();
    int64_t n = small_document(token, value, 7, 1000);
    for (int k = 0; k < 8; k++) assert_int_equal(hpc_shard_add(w, token, n, value), 0);
    assert_int_equal(hpc_test_alloc_count(), 0);
    hpc_shard_discard(w);
}

#define IN_A_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_PLACE(test_written_is_read),
        IN_A_PLACE(test_long_documents),
        IN_A_PLACE(test_empty_data_set),
        IN_A_PLACE(test_resume_at_every_document),
        IN_A_PLACE(test_resume_without_an_index),
        IN_A_PLACE(test_more_documents_than_before),
        IN_A_PLACE(test_what_differs_is_named),
        IN_A_PLACE(test_damage_is_made_good),
        IN_A_PLACE(test_what_is_not_ours_stays),
        IN_A_PLACE(test_one_writer_at_a_time),
        IN_A_PLACE(test_bad_documents),
        IN_A_PLACE(test_bad_specifications),
        IN_A_PLACE(test_every_allocation_fails),
        IN_A_PLACE(test_every_call_on_files_fails),
        IN_A_PLACE(test_full_disk),
        IN_A_PLACE(test_steady_state_allocates_nothing),
    };
    return cmocka_run_group_tests_name("shard/write", tests, NULL, NULL);
}

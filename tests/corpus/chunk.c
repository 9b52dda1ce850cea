/*
 * Tests of corpus/chunk_*.c: round trips, deterministic bytes, and rejection of damaged or
 * malicious files.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>

#include "corpus/chunk.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

enum { FILES = 60, HUGE_FILE = 17, HUGE_BYTES = 3 << 20 };

typedef struct sample {
    corpus_record record;
    char path[64], detail[64];
    char *text;
} sample;

static uint32_t draw(uint32_t k, uint32_t n)
{
    return hpc_random_bits(7, 1, k, 0) % n;
}

/* Reasons, lengths and shared strings of all kinds; one text is larger than a block. */
static int make_sample(sample *s, uint32_t k)
{
    memset(s, 0, sizeof *s);
    size_t n = k == HUGE_FILE ? HUGE_BYTES : k == 20 ? 0 : draw(k, 40000);
    snprintf(s->path, sizeof s->path, "src/folder%u/file.c", k / 7);
    s->record = (corpus_record){.bytes = k == 3 ? (uint64_t)5 << 30 : n + 3,
                                .hash = {k, k + 1},
                                .path = s->path,
                                .licence = k % 3 ? "MIT" : "",
                                .detail = s->detail,
                                .stored_bytes = (uint32_t)n,
                                .lines = k,
                                .tokens = 3 * k,
                                .parallel = 1u << k % 11,
                                .masked = k % 2,
                                .language = (uint8_t)(k % HPC_LANGUAGE_N),
                                .head = k % 2};
    memset(s->record.id.byte, (int)k, sizeof s->record.id.byte);
    if (k % 5 == 4) {
        s->record.reason = (uint8_t)(1 + draw(k, HPC_REASON_N - 1));
        s->record.stored_bytes = 0;
        snprintf(s->detail, sizeof s->detail, "because of %u", k);
        return 0;
    }
    for (int i = 0; i < CORPUS_LANES; i++)
        s->record.signature.lane[i] = (uint16_t)hpc_random_bits(9, k, (uint32_t)i, 0);
    s->record.signature.shingles = k;
    s->text = hpc_alloc(n + 1, 1);
    if (!s->text) return HPC_E_NOMEM;
    for (size_t i = 0; i < n; i++) s->text[i] = (char)('a' + hpc_random_bits(3, k, 0, i / 9) % 20);
    return 0;
}

static int write_chunk(const char *path, uint32_t files)
{
    corpus_chunk_writer *w = NULL;
    sample s = {0};
    int rc = corpus_chunk_create(&w, path, (hpc_hash128){5, 6});
    for (uint32_t k = 0; k < files && rc == 0; k++) {
        rc = make_sample(&s, k);
        if (rc == 0) rc = corpus_chunk_add(w, &s.record, s.text, s.record.stored_bytes);
        hpc_free(s.text);
    }
    if (rc == 0) rc = corpus_chunk_commit(w);
    corpus_chunk_free(w);
    return rc;
}

static void assert_slot(corpus_chunk *c, uint32_t k)
{
    corpus_record r;
    sample s;
    hpc_buf text = {0};
    assert_int_equal(make_sample(&s, k), 0);
    assert_int_equal(corpus_chunk_record(&r, c, k), 0);
    assert_memory_equal(&r.id, &s.record.id, sizeof r.id);
    assert_int_equal(r.hash.low, s.record.hash.low);
    assert_int_equal(r.hash.high, s.record.hash.high);
    assert_int_equal(r.bytes, s.record.bytes);
    assert_string_equal(r.path, s.record.path);
    assert_string_equal(r.licence, s.record.licence);
    assert_string_equal(r.detail, s.record.detail);
    assert_int_equal(r.stored_bytes, s.record.stored_bytes);
    assert_int_equal(r.lines, s.record.lines);
    assert_int_equal(r.tokens, s.record.tokens);
    assert_int_equal(r.parallel, s.record.parallel);
    assert_int_equal(r.masked, s.record.masked);
    assert_int_equal(r.language, s.record.language);
    assert_int_equal(r.head, s.record.head);
    assert_int_equal(r.reason, s.record.reason);
    assert_memory_equal(&r.signature, &s.record.signature, sizeof r.signature);
    if (s.record.reason == HPC_REASON_KEPT) {
        assert_int_equal(corpus_chunk_text(&text, c, k), 0);
        assert_int_equal(text.n, s.record.stored_bytes);
        assert_memory_equal(text.data, s.text, text.n);
    } else {
        assert_int_equal(corpus_chunk_text(&text, c, k), HPC_E_ARG);
        hpc_error_clear();
    }
    hpc_buf_release(&text);
    hpc_free(s.text);
}

static void test_round_trip(void **state)
{
    char path[PATH_MAX], again[PATH_MAX];
    corpus_chunk *c = NULL;
    hpc_buf a = {0}, b = {0};
    hpc_test_path(path, *state, "a");
    hpc_test_path(again, *state, "b");
    assert_int_equal(write_chunk(path, FILES), 0);
    assert_int_equal(write_chunk(again, FILES), 0);
    assert_int_equal(hpc_file_read(&a, path, SIZE_MAX), 0);
    assert_int_equal(hpc_file_read(&b, again, SIZE_MAX), 0);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    assert_int_equal(corpus_chunk_open(&c, path), 0);
    assert_int_equal(corpus_chunk_n(c), FILES);
    assert_int_equal(corpus_chunk_key(c).low, 5);
    assert_int_equal(corpus_chunk_key(c).high, 6);
    for (uint32_t k = 0; k < FILES; k++) assert_slot(c, k);
    for (uint32_t k = 0; k < FILES; k++) assert_slot(c, draw(k, FILES)); /* and in no order */
    corpus_record r;
    assert_int_equal(corpus_chunk_record(&r, c, FILES), HPC_E_ARG);
    hpc_error_clear();
    assert_int_equal(corpus_chunk_record(&r, c, -1), HPC_E_ARG);
    corpus_chunk_close(c);
    hpc_buf_release(&a);
    hpc_buf_release(&b);
}

static void test_empty(void **state)
{
    char path[PATH_MAX];
    corpus_chunk *c = NULL;
    hpc_test_path(path, *state, "empty");
    assert_int_equal(write_chunk(path, 0), 0);
    assert_int_equal(corpus_chunk_open(&c, path), 0);
    assert_int_equal(corpus_chunk_n(c), 0);
    corpus_chunk_close(c);
}

/* Opens what is in b, and reads all of it when it opens. */
static int read_bytes(const char *path, const hpc_buf *b, size_t n)
{
    corpus_chunk *c = NULL;
    corpus_record r;
    hpc_buf text = {0};
    FILE *f = fopen(path, "wb"); /* without waiting for the disk */
    assert_non_null(f);
    assert_int_equal(fwrite(b->data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    int rc = corpus_chunk_open(&c, path);
    for (int64_t k = 0; rc == 0 && k < corpus_chunk_n(c); k++) {
        rc = corpus_chunk_record(&r, c, k);
        if (rc == 0 && r.reason == HPC_REASON_KEPT) rc = corpus_chunk_text(&text, c, k);
    }
    corpus_chunk_close(c);
    hpc_buf_release(&text);
    return rc;
}

static void load_small(hpc_buf *out, char path[PATH_MAX], void **state)
{
    hpc_test_path(path, *state, "small");
    assert_int_equal(write_chunk(path, 8), 0);
    assert_int_equal(hpc_file_read(out, path, SIZE_MAX), 0);
}

static void test_damage(void **state)
{
    char path[PATH_MAX];
    hpc_buf b = {0};
    load_small(&b, path, state);
    assert_int_equal(read_bytes(path, &b, b.n), 0);
    int rounds = getenv("HPC_TEST_LONG") ? 20000 : 300;
    for (int k = 0; k < rounds; k++) {
        size_t at = hpc_random_bits(1, 0, 0, (uint64_t)k) % b.n;
        if (k < CHUNK_HEADER) at = (size_t)k;
        b.data[at] = (char)(b.data[at] ^ 1 << k % 8);
        assert_int_equal(read_bytes(path, &b, b.n), HPC_E_FORMAT);
        assert_non_null(strstr(hpc_error_get()->text, path));
        hpc_error_clear();
        b.data[at] = (char)(b.data[at] ^ 1 << k % 8);
        assert_int_equal(read_bytes(path, &b, at), HPC_E_FORMAT); /* cut there */
        hpc_error_clear();
    }
    hpc_buf_release(&b);
}

static void test_version(void **state)
{
    char path[PATH_MAX];
    hpc_buf b = {0};
    load_small(&b, path, state);
    hpc_put32((uint8_t *)b.data + CHUNK_AT_VERSION, 2);
    assert_int_equal(read_bytes(path, &b, b.n), HPC_E_FORMAT);
    assert_non_null(
        strstr(hpc_error_get()->text, "format version 2; this program knows version 1"));
    hpc_error_clear();
    hpc_buf_release(&b);
}

/* With right checksums, as somebody with intent would write it. */
static void test_misleading(void **state)
{
    static const struct {
        int at, bytes; /* of the first record */
        uint32_t value;
    } lie[] = {{RECORD_AT_PATH, 4, 1 << 20},   {RECORD_AT_LICENCE, 4, UINT32_MAX},
               {RECORD_AT_DETAIL, 4, 1 << 20}, {RECORD_AT_STORED, 4, UINT32_MAX},
               {RECORD_AT_BLOCK, 4, 7},        {RECORD_AT_BLOCK, 4, UINT32_MAX},
               {RECORD_AT_OFFSET, 4, 1 << 30}, {RECORD_AT_SIGNATURE, 4, 1000},
               {RECORD_AT_LANGUAGE, 1, 200},   {RECORD_AT_LANGUAGE + 1, 1, 2},
               {RECORD_AT_LANGUAGE + 2, 1, 2}, {RECORD_AT_LANGUAGE + 3, 1, HPC_REASON_N},
               {RECORD_AT_LANGUAGE + 3, 1, 1}};
    char path[PATH_MAX];
    hpc_buf b = {0};
    load_small(&b, path, state);
    uint8_t *h = (uint8_t *)b.data;
    size_t table = hpc_get64(h + CHUNK_AT_TABLE);
    uint8_t *record = h + table + (size_t)hpc_get32(h + CHUNK_AT_BLOCKS) * CHUNK_BLOCK;
    for (size_t k = 0; k < sizeof lie / sizeof *lie; k++) {
        uint8_t was[4];
        memcpy(was, record + lie[k].at, 4);
        if (lie[k].bytes == 4)
            hpc_put32(record + lie[k].at, lie[k].value);
        else
            record[lie[k].at] = (uint8_t)lie[k].value;
        hpc_put_hash(h + CHUNK_AT_HASH,
                     corpus_chunk_digest(h, hpc_hash_wide(b.data + table, b.n - table)));
        assert_int_equal(read_bytes(path, &b, b.n), HPC_E_FORMAT);
        hpc_error_clear();
        memcpy(record + lie[k].at, was, 4);
    }
    hpc_buf_release(&b);
}

static int write_and_read(void *user)
{
    const char *path = user;
    corpus_chunk *c = NULL;
    corpus_record r;
    hpc_buf text = {0};
    int rc = write_chunk(path, 3);
    if (rc == 0) rc = corpus_chunk_open(&c, path);
    for (int64_t k = 0; rc == 0 && k < 3; k++) {
        rc = corpus_chunk_record(&r, c, k);
        if (rc == 0) rc = corpus_chunk_text(&text, c, k);
    }
    corpus_chunk_close(c);
    hpc_buf_release(&text);
    return rc;
}

static void test_faults(void **state)
{
    char path[PATH_MAX];
    const hpc_test_folder *f = *state;
    hpc_test_path(path, f, "fault");
    assert_true(hpc_test_each_alloc(write_and_read, path) > 10);
    for (int n = 1;; n++)
    { /* until none is left to fail; the closing of what was read has no say */
        hpc_test_fail_io(n);
        int rc = write_and_read(path);
        bool failed = hpc_test_io_failed();
        hpc_test_fault_reset();
        hpc_error_clear();
        assert_true(rc == 0 || (failed && rc == HPC_E_IO));
        assert_int_equal(hpc_test_entries(f->root), 1); /* no temporaries */
        assert_true(failed || n > 10);
        if (!failed) break;
    }
}

static void test_paths(void **state)
{
    (void)state;
    hpc_buf b = {0};
    assert_int_equal(corpus_chunk_path(&b, "D", "a-b/c.d", 7), 0);
    assert_string_equal(b.data, "D/content/a-b+c.d/00007.chunk");
    assert_int_equal(corpus_chunk_path(&b, "D", "g/h/i", -1), 0);
    assert_string_equal(b.data, "D/content/g+h+i");
    assert_int_equal(corpus_chunk_path(&b, "D", "gtk+/100%", -1), 0);
    assert_string_equal(b.data, "D/content/gtk%2B+100%25");
    static const char *const bad[] = {"", ".", "..", "../x", "/x", "x/", "a\nb", "\xff"};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(corpus_chunk_path(&b, "D", bad[k], 0), HPC_E_FORMAT);
        hpc_error_clear();
    }
    hpc_buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_empty, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_damage, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_version, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_misleading, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_faults, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

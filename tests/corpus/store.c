/*
 * Tests of corpus/store.c and corpus/corpus.c: round trips of rows, deterministic bytes, and
 * rejection of foreign databases and chunks.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <limits.h>
#include <sqlite3.h>

#include "corpus/harvest.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"

enum { SOURCES = 3, FILES = 40 };
static const char settings[] = "{\"version\": 1, \"held-out\": \"none\"}";
static const char *const names[SOURCES] = {"a/first", "b/second", "c/third"};

/* File k of source s: every reason, language and split occurs. */
static corpus_record record_of(int s, int k, char path[64], char text[256])
{
    corpus_record r = {.hash = {(uint64_t)k + 1, (uint64_t)s},
                       .bytes = (uint64_t)(100 + k),
                       .path = path,
                       .licence = k % 2 ? "MIT" : "",
                       .detail = k % 3 ? "" : "a detail",
                       .lines = (uint32_t)k,
                       .tokens = (uint32_t)(2 * k),
                       .parallel = 1u << k % HPC_PARALLEL_N,
                       .language = (uint8_t)(1 + k % (HPC_LANGUAGE_N - 1)),
                       .fixed = k % 2,
                       .head = k < 30,
                       .reason = (uint8_t)(k % 4 == 3 ? 1 + k % HPC_REASON_LICENCE : 0)};
    snprintf(path, 64, "src/%d/%02d.c", s, k);
    snprintf(text, 256, "int text_%d_%d(void);\n", s, k);
    memset(r.id.byte, 16 * s + k, sizeof r.id.byte);
    if (r.reason == HPC_REASON_KEPT) r.stored_bytes = (uint32_t)strlen(text);
    return r;
}

static corpus_item item_of(int s, int k, const corpus_record *r)
{
    corpus_item i = {.original = -1,
                     .component = s * FILES + k,
                     .source = (uint32_t)s,
                     .stored_bytes = r->stored_bytes,
                     .reason = r->reason,
                     .head = r->head,
                     .split = (uint8_t)s};
    if (k == 5 || k == 9) { /* duplicates keep their texts */
        i.reason = k == 5 ? HPC_REASON_DUPLICATE : HPC_REASON_NEAR_DUPLICATE;
        i.original = i.component = s * FILES;
    }
    return i;
}

static int write_source(corpus_store *out, const char *folder, int s)
{
    char path[64], text[256];
    hpc_buf chunk = {0};
    corpus_chunk_writer *w = NULL;
    corpus_chunk *c = NULL;
    corpus_store_repository row = {.name = names[s],
                                   .licence = "MIT",
                                   .first = s * FILES + 1,
                                   .files_n = FILES,
                                   .chunks_n = 1,
                                   .split = (hpc_split)s};
    int rc = HPC_OK;
    TRY(corpus_chunk_path(&chunk, folder, names[s], -1));
    TRY(hpc_file_mkdir(chunk.data));
    TRY(corpus_chunk_path(&chunk, folder, names[s], 0));
    TRY(corpus_chunk_create(&w, chunk.data, (hpc_hash128){0}));
    for (int k = 0; k < FILES; k++) {
        corpus_record r = record_of(s, k, path, text);
        TRY(corpus_chunk_add(w, &r, text, r.stored_bytes));
    }
    TRY(corpus_chunk_commit(w));
    TRY(corpus_chunk_open(&c, chunk.data));
    TRY(corpus_store_add_repository(out, s + 1, &row));
    TRY(corpus_store_add_chunk(out, s + 1, 0, corpus_chunk_hash(c), row.first, FILES));
    for (int k = 0; k < FILES; k++) {
        corpus_record r = record_of(s, k, path, text);
        corpus_item i = item_of(s, k, &r);
        TRY(corpus_store_add_file(out, s * FILES + k + 1, &r, &i, 0, k));
    }
out:
    corpus_chunk_close(c);
    corpus_chunk_free(w);
    hpc_buf_release(&chunk);
    return rc;
}

static int write_corpus(const char *folder)
{
    corpus_store *out = NULL;
    int rc = HPC_OK;
    TRY(hpc_file_mkdir(folder));
    TRY(corpus_store_create(&out, folder));
    TRY(corpus_store_meta(out, "settings", settings));
    for (int s = 0; s < SOURCES; s++) TRY(write_source(out, folder, s));
    TRY(corpus_store_commit(out));
out:
    corpus_store_free(out);
    return rc;
}

static hpc_corpus *opened(const char *folder)
{
    hpc_corpus *c = NULL;
    if (hpc_corpus_open(&c, folder) < 0) fail_msg("%s", hpc_error_get()->text);
    return c;
}

static void assert_row(const hpc_corpus_file *f, hpc_corpus *c)
{
    char path[64], text[256];
    hpc_buf b = {0};
    int s = (int)(f->id - 1) / FILES, k = (int)(f->id - 1) % FILES;
    corpus_record r = record_of(s, k, path, text);
    corpus_item i = item_of(s, k, &r);
    assert_string_equal(f->repository, names[s]);
    assert_string_equal(f->path, path);
    assert_string_equal(f->licence, r.licence);
    assert_string_equal(f->detail, r.detail);
    assert_memory_equal(&f->git_id, &r.id, sizeof r.id);
    assert_int_equal(f->bytes, r.bytes);
    assert_int_equal(f->stored_bytes, r.stored_bytes);
    assert_int_equal(f->lines, r.lines);
    assert_int_equal(f->tokens, r.tokens);
    assert_int_equal(f->language, r.language);
    assert_int_equal(f->fixed, r.fixed);
    assert_int_equal(f->head, r.head);
    assert_int_equal(f->parallel, r.parallel);
    assert_int_equal(f->reason, i.reason);
    assert_int_equal(f->split, s);
    assert_int_equal(f->original, i.original + 1);
    assert_int_equal(f->component, i.component + 1);
    bool stored = r.reason == HPC_REASON_KEPT;
    assert_int_equal(f->chunk, stored ? 0 : -1);
    assert_int_equal(f->slot, stored ? k : -1);
    assert_int_equal(hpc_corpus_read(&b, c, f), stored ? 0 : HPC_E_ARG);
    hpc_error_clear();
    if (stored) assert_string_equal(b.data, text);
    hpc_buf_release(&b);
}

static int64_t count_rows(hpc_corpus *c, const hpc_corpus_filter *filter)
{
    hpc_corpus_file f;
    int64_t n = 0, last = 0;
    int rc;
    assert_int_equal(hpc_corpus_select(c, filter), 0);
    while ((rc = hpc_corpus_next(&f, c)) == 1) {
        assert_true(f.id > last);
        last = f.id;
        n++;
        assert_row(&f, c);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(hpc_corpus_next(&f, c), 0); /* and stays there */
    return n;
}

static void test_rows(void **state)
{
    char folder[PATH_MAX];
    hpc_test_path(folder, *state, "corpus");
    assert_int_equal(write_corpus(folder), 0);
    hpc_corpus *c = opened(folder);
    unsigned all = (1u << HPC_REASON_N) - 1;
    assert_int_equal(count_rows(c, &(hpc_corpus_filter){.reasons = all}), SOURCES * FILES);
    assert_int_equal(count_rows(c, &(hpc_corpus_filter){.reasons = all, .after = 50}),
                     SOURCES * FILES - 50);
    assert_int_equal(count_rows(c, &(hpc_corpus_filter){0}), SOURCES * 28); /* kept */
    assert_int_equal(count_rows(c, NULL), SOURCES * 28);
    assert_int_equal(
        count_rows(c, &(hpc_corpus_filter){.reasons = 1u << HPC_REASON_NEAR_DUPLICATE}), SOURCES);
    assert_int_equal(count_rows(c, &(hpc_corpus_filter){.splits = 1u << HPC_SPLIT_TEST}), 28);
    int64_t by_language = 0;
    for (int l = 0; l < HPC_LANGUAGE_N; l++)
        by_language += count_rows(c, &(hpc_corpus_filter){.reasons = all, .languages = 1u << l});
    assert_int_equal(by_language, SOURCES * FILES);
    hpc_hash128 sketch;
    assert_false(hpc_corpus_used_sketch(c, &sketch));
    hpc_corpus_close(c);
    assert_int_equal(hpc_test_entries(folder), 2); /* corpus.db and content */
}

static void assert_same_file(const char *one, const char *two)
{
    hpc_buf a = {0}, b = {0};
    assert_int_equal(hpc_file_read(&a, one, SIZE_MAX), 0);
    assert_int_equal(hpc_file_read(&b, two, SIZE_MAX), 0);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    hpc_buf_release(&a);
    hpc_buf_release(&b);
}

static void test_same_bytes(void **state)
{
    char a[PATH_MAX], b[PATH_MAX];
    hpc_test_path(a, *state, "a");
    hpc_test_path(b, *state, "another/place");
    assert_int_equal(write_corpus(a), 0);
    assert_int_equal(write_corpus(b), 0);
    hpc_corpus *one = opened(a), *two = opened(b);
    assert_int_equal(hpc_corpus_hash(one).low, hpc_corpus_hash(two).low);
    hpc_corpus_close(one);
    hpc_corpus_close(two);
    hpc_test_path(a, *state, "a/corpus.db");
    hpc_test_path(b, *state, "another/place/corpus.db");
    assert_same_file(a, b);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void tamper(const char *folder, const char *sql)
{
    char path[PATH_MAX];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%.4000s/corpus.db", folder);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* Reads all rows and texts; the first failure, or 0. */
static int read_all(const char *folder)
{
    hpc_corpus *c = NULL;
    hpc_corpus_file f;
    hpc_buf text = {0};
    int rc = HPC_OK;
    TRY(hpc_corpus_open(&c, folder));
    TRY(hpc_corpus_select(c, &(hpc_corpus_filter){.reasons = (1u << HPC_REASON_N) - 1}));
    for (;;) {
        TRY(hpc_corpus_next(&f, c));
        if (rc == 0) break;
        if (f.chunk >= 0) TRY(hpc_corpus_read(&text, c, &f));
    }
out:
    hpc_corpus_close(c);
    hpc_buf_release(&text);
    return rc;
}

static void assert_refused(int rc, int code, const char *part)
{
    assert_int_equal(rc, code);
    if (!strstr(hpc_error_get()->text, part)) fail_msg("%s", hpc_error_get()->text);
    hpc_error_clear();
}

static void test_refused(void **state)
{
    static const struct {
        const char *sql, *says;
    } lie[] = {
        {"PRAGMA user_version = 2", "format version 2; this program knows version 1"},
        {"PRAGMA application_id = 7", "is not a corpus"},
        {"DROP TABLE chunk", "no such table"},
        {"DELETE FROM meta", "settings are missing"},
        {"UPDATE meta SET value = '{'", "corpus.db"},
        {"UPDATE meta SET value = '{\"held-out\": \"x\"}'", "not the hash of a sketch"},
        {"UPDATE meta SET value = '{\"held-out\": 3}'", "lack the held-out content"},
        {"UPDATE meta SET value = '{}'", "lack the held-out content; harvest again"},
        {"UPDATE meta SET value = '[]'", "lack the held-out content"},
        {"UPDATE file SET git_id = x'00' WHERE id = 7", "out of range"},
        {"UPDATE file SET bytes = -1 WHERE id = 7", "out of range"},
        {"UPDATE file SET language = -64 WHERE id = 7", "out of range"},
        {"UPDATE file SET slot = 4000 WHERE id = 7", "no slot 4000"},
        {"UPDATE file SET slot = 4 WHERE id = 7", "differs from its chunk"},
        {"UPDATE file SET chunk = 9 WHERE id = 7", "00009.chunk"},
        {"UPDATE file SET chunk = -1 WHERE id = 7", "out of range"},
        {"UPDATE repository SET name = '../../x' WHERE id = 1", "is not a valid name"},
        {"UPDATE chunk SET hash = x'00' WHERE repository = 1", "is not the chunk"},
    };
    char folder[PATH_MAX], name[32];
    for (size_t k = 0; k < sizeof lie / sizeof *lie; k++) {
        snprintf(name, sizeof name, "lie%zu", k);
        hpc_test_path(folder, *state, name);
        assert_int_equal(write_corpus(folder), 0);
        assert_int_equal(read_all(folder), 0);
        tamper(folder, lie[k].sql);
        int rc = read_all(folder);
        if (rc == 0) fail_msg("%s is not noticed", lie[k].sql);
        int code = k == 0 ? HPC_E_UNSUPPORTED : HPC_E_FORMAT; /* a newer one is not damaged */
        assert_refused(rc, rc == HPC_E_IO || rc == HPC_E_ARG ? rc : code, lie[k].says);
    }
}

static void test_absent_and_damaged(void **state)
{
    char folder[PATH_MAX], path[PATH_MAX];
    hpc_buf b = {0};
    hpc_test_path(folder, *state, "corpus");
    assert_refused(read_all(folder), HPC_E_IO, "has no complete corpus");
    assert_int_equal(write_corpus(folder), 0);
    hpc_test_path(path, *state, "corpus/corpus.db");
    assert_int_equal(hpc_file_read(&b, path, SIZE_MAX), 0);
    int rounds = getenv("HPC_TEST_LONG") ? 5000 : 150, refused = 0;
    for (int k = 0; k < rounds; k++) { /* never a crash; often, nothing to notice */
        size_t at = hpc_random_bits(4, 0, 0, (uint64_t)k) % b.n;
        b.data[at] = (char)(b.data[at] ^ 1 << k % 8);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(b.data, 1, k % 3 ? b.n : at, f), k % 3 ? b.n : at);
        fclose(f);
        refused += read_all(folder) < 0;
        hpc_error_clear();
        b.data[at] = (char)(b.data[at] ^ 1 << k % 8);
    }
    assert_true(refused > rounds / 4); /* at least the truncated ones */
    hpc_buf_release(&b);
}

/* ---- faults --------------------------------------------------------------------------------- */

static int write_and_read(void *user)
{
    int rc = write_corpus(user);
    return rc < 0 ? rc : read_all(user);
}

static void test_faults(void **state)
{
    char folder[PATH_MAX], path[PATH_MAX], content[PATH_MAX];
    hpc_test_path(folder, *state, "corpus");
    hpc_test_path(path, *state, "corpus/corpus.db");
    hpc_test_path(content, *state, "corpus/content");
    for (int64_t n = 1;; n += getenv("HPC_TEST_LONG") ? 1 : 7) {
        hpc_test_fail_io(n);
        int rc = write_and_read(folder);
        bool failed = hpc_test_io_failed();
        hpc_test_fault_reset();
        hpc_error_clear();
        assert_true(rc == 0 || (failed && rc == HPC_E_IO));
        assert_true(hpc_test_entries(folder) <= 2); /* content, corpus.db */
        if (!failed) break;
    }
    assert_int_equal(read_all(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, hpc_test_folder_setup, hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_same_bytes, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_refused, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_absent_and_damaged, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
        cmocka_unit_test_setup_teardown(test_faults, hpc_test_folder_setup,
                                        hpc_test_folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

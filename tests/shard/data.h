/*
 * data.h: a small data set for tests of shards, and byte-wise comparison of folders.
 */
#ifndef HPC_TESTS_SHARD_DATA_H
#define HPC_TESTS_SHARD_DATA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/shard/priv.h"
#include "tests/support/fault.h"

enum { DOCUMENTS = 23, SHARD_OF = 40, LONGEST = 16 };

static inline hpc_shard_spec small_spec(int64_t vocabulary)
{
    return (hpc_shard_spec){
        .vocabulary = vocabulary,
        .tokenizer = {.low = 0x1122334455667788, .high = 0x99aabbccddeeff00},
        .task = "pragma",
        .seed = -7,
        .columns_n = 3,
        .column = {{"label", HPC_SHARD_I32}, {"loop", HPC_SHARD_I64}, {"change", HPC_SHARD_F32}}};
}

/* Document i: 0 to LONGEST tokens, every eighth empty. Returns their number. */
static inline int64_t small_document(int32_t *token, double value[3], int64_t i, int64_t vocabulary)
{
    int64_t n = i % 8 == 3 ? 0 : hpc_random_bits(1, 0, 0, (uint64_t)i) % (LONGEST + 1);
    for (int64_t k = 0; k < n; k++)
        token[k] = (int32_t)(hpc_random_bits(2, (uint32_t)i, 0, (uint64_t)k) % vocabulary);
    value[0] = (double)(i % 3) - 1;
    value[1] = (double)i * 1e12;
    value[2] = (double)i / 8;
    return n;
}

/* Adds documents from..to-1; returns an error of adding. */
static inline int small_add(hpc_shard_writer *w, int64_t from, int64_t to, int64_t vocabulary)
{
    int rc = HPC_OK;
    for (int64_t i = from; i < to && rc >= 0; i++) {
        int32_t token[LONGEST];
        double value[3];
        int64_t n = small_document(token, value, i, vocabulary);
        rc = hpc_shard_add(w, token, n, value);
    }
    return rc;
}

/* Makes the whole data set, or the remaining part. */
static inline int small_make(const char *folder, int64_t vocabulary, bool resume)
{
    hpc_shard_spec spec = small_spec(vocabulary);
    hpc_shard_writer *w = NULL;
    int64_t done = 0;
    int rc = HPC_OK;
    TRY(hpc_shard_create(&w, &done, folder, &spec, SHARD_OF, resume));
    TRY(small_add(w, done, DOCUMENTS, vocabulary));
    TRY(hpc_shard_finish(w, "{\"made\": \"by a test\"}"));
out:
    hpc_shard_discard(w);
    return rc;
}

typedef struct place {
    char root[64];
    char whole[96], other[96]; /* two data sets in it; `whole` is complete */
} place;

static inline int place_setup(void **state)
{
    place *p = calloc(1, sizeof *p);
    const char *tmp = getenv("TMPDIR");
    snprintf(p->root, sizeof p->root, "%.30s/hpc-shard-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(p->root)) return -1;
    snprintf(p->whole, sizeof p->whole, "%s/whole", p->root);
    snprintf(p->other, sizeof p->other, "%s/other", p->root);
    hpc_error_clear();
    hpc_test_fault_reset();
    *state = p;
    return small_make(p->whole, 1000, false);
}

static inline void place_clear(const char *path)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

static inline int place_teardown(void **state)
{
    place *p = *state;
    hpc_test_fault_reset();
    place_clear(p->root);
    free(p);
    return 0;
}

static inline void assert_error(int rc, int code, const char *part)
{
    assert_int_equal(rc, code);
    assert_int_equal(hpc_error_get()->code, code);
    if (!strstr(hpc_error_get()->text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, hpc_error_get()->text);
    assert_null(strchr(hpc_error_get()->text, '\n'));
    hpc_error_clear();
}

static inline void assert_same_files(const char *a, const char *b)
{
    hpc_buf names[2] = {{0}, {0}}, path = {0};
    int64_t n[2];
    assert_int_equal(hpc_file_list(&names[0], &n[0], a), 0);
    assert_int_equal(hpc_file_list(&names[1], &n[1], b), 0);
    assert_int_equal(n[0], n[1]);
    assert_int_equal(names[0].n, names[1].n);
    assert_memory_equal(names[0].data, names[1].data, names[0].n);
    const char *name = names[0].data;
    for (int64_t k = 0; k < n[0]; k++, name += strlen(name) + 1) {
        hpc_buf text[2] = {{0}, {0}};
        for (int side = 0; side < 2; side++) {
            path.n = 0;
            assert_int_equal(hpc_buf_printf(&path, "%s/%s", side ? b : a, name), 0);
            assert_int_equal(hpc_file_read(&text[side], path.data, SIZE_MAX), 0);
        }
        assert_int_equal(text[0].n, text[1].n);
        if (text[0].n) assert_memory_equal(text[0].data, text[1].data, text[0].n);
        hpc_buf_release(&text[0]);
        hpc_buf_release(&text[1]);
    }
    for (int side = 0; side < 2; side++) hpc_buf_release(&names[side]);
    hpc_buf_release(&path);
}

#endif

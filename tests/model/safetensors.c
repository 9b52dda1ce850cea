/*
 * safetensors.c: round trips of files, damage of every kind that the format allows, and failures
 * of memory and disk.
 */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "model/priv.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

static const float matrix[6] = {1, 2, 3, -4, 5, 0.5f};
static const uint16_t halves[3] = {0x3F80, 0xC000, 0x0000};

static const hpc_stored_tensor list[] = {
    {"model.\"q\".weight", HPC_F32, 2, {2, 3}, NULL, sizeof matrix},
    {"bias", HPC_BF16, 1, {3}, NULL, sizeof halves},
    {"nothing", HPC_F64, 2, {0, 7}, NULL, 0},
    {"one", HPC_I64, 0, {0}, NULL, 8},
};
enum { N = sizeof list / sizeof *list };

static int give(hpc_file_writer *w, int64_t i, void *user)
{
    (void)user;
    const int64_t one = -1;
    const void *data[] = {matrix, halves, "", &one};
    return hpc_file_write(w, data[i], list[i].bytes);
}

static void save(const char *path)
{
    const char *const metadata[] = {"format", "pt", NULL};
    test_ok(hpc_safetensors_save(path, list, N, metadata, give, NULL));
}

static void what_is_written_is_read(void **state)
{
    char path[PATH_MAX];
    hpc_safetensors *s;
    hpc_stored_tensor t;
    save(hpc_test_path(path, *state, "a.safetensors"));
    test_ok(hpc_safetensors_open(&s, path));
    assert_int_equal(hpc_safetensors_n(s), N);
    for (int64_t i = 0; i < N; i++) {
        test_ok(hpc_safetensors_find(&t, s, list[i].name));
        assert_int_equal(t.dtype, list[i].dtype);
        assert_int_equal(t.rank, list[i].rank);
        assert_int_equal(t.bytes, list[i].bytes);
        for (int k = 0; k < t.rank; k++) assert_int_equal(t.extent[k], list[i].extent[k]);
    }
    test_ok(hpc_safetensors_find(&t, s, "bias"));
    assert_memory_equal(t.data, halves, sizeof halves);
    test_ok(hpc_safetensors_find(&t, s, list[0].name));
    assert_memory_equal(t.data, matrix, sizeof matrix);
    assert_int_equal((uintptr_t)t.data % 8, 0);
    test_fails(hpc_safetensors_find(&t, s, "other"), HPC_E_FORMAT, "there is no tensor other");
    hpc_safetensors_close(s);
}

/* ---- damage --------------------------------------------------------------------------------- */

static int parse(const char *header, size_t data_bytes)
{
    char file[1024] = {0};
    uint64_t n = strlen(header);
    hpc_safetensors *s = NULL;
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    int rc = model_safetensors_parse(&s, file, 8 + n + data_bytes, "FILE");
    hpc_safetensors_close(s);
    return rc;
}

#define ENTRY(dtype, shape, from, to)                                                              \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

static void damage_is_named(void **state)
{
    (void)state;
    const struct {
        const char *header;
        size_t data;
        const char *says;
    } bad[] = {
        {"[]", 0, "FILE: its header is not an object"},
        {"{\"a\":3}", 0, "tensor a: its entry is not an object"},
        {"{\"a\":{}}", 0, "tensor a: it has no dtype"},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"a\":" ENTRY("F32", "[1]", "4", "8") "}", 8,
         "duplicate"},
        {"{\"a\":" ENTRY("F32", "3", "0", "4") "}", 4, "tensor a: its shape"},
        {"{\"a\":" ENTRY("F32", "[-1]", "0", "4") "}", 4, "tensor a: its shape"},
        {"{\"a\":" ENTRY("F32", "[1,1,1,1,1,1,1,1,1]", "0", "4") "}", 4, "tensor a: its shape"},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "-4") "}", 4, "its data_offsets"},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 3,
         "bytes 0 to 4 of 3: the file is truncated"},
        {"{\"a\":" ENTRY("F32", "[1]", "4", "0") "}", 4, "bytes 4 to 0 of 4"},
        {"{\"a\":" ENTRY("F32", "[2]", "0", "4") "}", 4, "does not match its shape"},
        {"{\"a\":" ENTRY("F32", "[4611686018427387904,4]", "0", "0") "}", 0, "does not match"},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"b\":" ENTRY("F32", "[1]", "2", "6") "}", 6,
         "tensor b: it overlaps"},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") ",\"b\":" ENTRY("F32", "[1]", "5", "9") "}", 9,
         "tensor b: there is a gap"},
        {"{\"a\":" ENTRY("F32", "[1]", "0", "4") "}", 7, "3 bytes after the last"},
        {"{\"a\":", 0, "FILE:1:"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        test_fails(parse(bad[k].header, bad[k].data), HPC_E_FORMAT, bad[k].says);
    test_ok(parse("{}", 0));
    test_ok(parse("{\"__metadata__\":{\"format\":\"pt\"}}  ", 0));
}

static void lengths_are_checked(void **state)
{
    (void)state;
    hpc_safetensors *s;
    uint8_t file[16] = {9};
    test_fails(model_safetensors_parse(&s, file, 7, "FILE"), HPC_E_FORMAT, "7 bytes are not a");
    test_fails(model_safetensors_parse(&s, file, 16, "FILE"), HPC_E_FORMAT,
               "a header of 9 bytes in a file of 16");
    memset(file, 0xFF, 8);
    test_fails(model_safetensors_parse(&s, file, 16, "FILE"), HPC_E_FORMAT,
               "a header of 18446744073709551615 bytes");
}

static void other_types_are_refused_when_asked_for(void **state)
{
    (void)state;
    static const char header[] = "{\"a\":" ENTRY("F8_E5M2", "[3]", "0", "3") ",\"b\":" ENTRY(
        "F4", "[6]", "3", "6") ",\"c\":" ENTRY("I32", "[]", "6", "10") "}";
    char file[256] = {0};
    uint64_t n = strlen(header);
    hpc_safetensors *s;
    hpc_stored_tensor t;
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    test_ok(model_safetensors_parse(&s, file, 8 + n + 10, "FILE"));
    test_fails(hpc_safetensors_find(&t, s, "a"), HPC_E_UNSUPPORTED,
               "FILE: tensor a has dtype F8_E5M2, which is not read; F32, F16, BF16");
    test_fails(hpc_safetensors_find(&t, s, "b"), HPC_E_UNSUPPORTED, "has dtype F4");
    test_ok(hpc_safetensors_find(&t, s, "c"));
    hpc_safetensors_close(s);
}

/* ---- failures ------------------------------------------------------------------------------- */

static int read_back(void *user)
{
    hpc_safetensors *s = NULL;
    int rc = hpc_safetensors_open(&s, user);
    hpc_safetensors_close(s);
    return rc;
}

static int write_one(void *user)
{
    return hpc_safetensors_save(user, list, N, NULL, give, NULL);
}

static void failures_leave_nothing(void **state)
{
    const hpc_test_folder *f = *state;
    char path[PATH_MAX], other[PATH_MAX];
    save(hpc_test_path(path, f, "a.safetensors"));
    hpc_test_path(other, f, "b.safetensors");
    assert_true(hpc_test_each_alloc(read_back, path) > 3);
    hpc_test_fail_io(1);
    test_fails(read_back(path), HPC_E_IO, "cannot open");
    assert_true(hpc_test_each_alloc(write_one, other) > 1);
    assert_int_equal(hpc_test_entries(f->root), 2);
    test_ok(hpc_file_remove(other));
    int64_t failed = hpc_test_whole_or_none(write_one, read_back, other, f->root, 1);
    assert_true(failed >= N + 4); /* open, the header, the data, fsync, rename */
}

#define IN_FOLDER(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_written_is_read),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(lengths_are_checked),
        cmocka_unit_test(other_types_are_refused_when_asked_for),
        IN_FOLDER(failures_leave_nothing),
    };
    return cmocka_run_group_tests_name("model/safetensors", tests, NULL, NULL);
}

/*
 * files.c: an open model gives the same results as its path, even after the path is removed;
 * errors leave nothing open.
 */
/* tsan: left out, other tests start the same threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "model/files.h"
#include "model/priv.h"
#include "tests/support/fault.h"
#include "tests/support/folder.h"
#include "tests/support/expect.h"

#define PILOT "share/pilot.gguf"
#define LLAMA "tests/fixtures/families/llama"

static void copy_pilot(char path[PATH_MAX], void **state)
{
    hpc_file_view v;
    test_ok(hpc_file_open(&v, PILOT));
    test_ok(hpc_file_save(hpc_test_path(path, *state, "model.gguf"), v.data, v.bytes));
    hpc_file_close(&v);
}

static void pack_pilot(char path[PATH_MAX], void **state)
{
    const hpc_packed_options o = {.dtype = HPC_DTYPE_N, .tokenizer = PILOT};
    hpc_model_config c;
    hpc_weights *w;
    test_ok(hpc_model_config_read(&c, PILOT));
    test_ok(hpc_weights_open(&w, PILOT, &c));
    test_ok(hpc_packed_save(hpc_test_path(path, *state, "model.packed"), w, &c, &o));
    hpc_weights_close(w);
}

static void check_tokenizer(const hpc_tokenizer *a, const hpc_tokenizer *b)
{
    const hpc_tokenizer_special x = hpc_tokenizer_specials(a), y = hpc_tokenizer_specials(b);
    assert_true(hpc_tokenizer_n(a) > 1000);
    assert_int_equal(hpc_tokenizer_n(a), hpc_tokenizer_n(b));
    for (int32_t k = 0; k < hpc_tokenizer_n(a); k++)
        assert_string_equal(hpc_tokenizer_piece(a, k, NULL), hpc_tokenizer_piece(b, k, NULL));
    assert_true(x.begin == y.begin && x.end == y.end && x.pad == y.pad);
    assert_true(x.add_begin == y.add_begin && x.add_end == y.add_end);
}

static void check_weights(const hpc_weights *a, const hpc_weights *b, const hpc_model_config *c)
{
    hpc_model_tensor *list;
    int64_t n;
    test_ok(hpc_model_tensors(&list, &n, c));
    for (int64_t k = 0; k < n; k++) {
        size_t count = (size_t)model_tensor_n(&list[k]);
        float *x[2];
        for (int i = 0; i < 2; i++) {
            x[i] = hpc_alloc(count, sizeof *x[i]);
            assert_non_null(x[i]);
            test_ok(hpc_weights_read(x[i], i ? b : a, &list[k]));
        }
        assert_memory_equal(x[0], x[1], count * sizeof *x[0]);
        hpc_free(x[0]);
        hpc_free(x[1]);
    }
    hpc_free(list);
}

static void a_gguf_is_opened_once(void **state)
{
    char path[PATH_MAX];
    hpc_model_files *f;
    hpc_model_config c;
    hpc_tokenizer *t[2];
    hpc_weights *w[2];
    double a, b;
    copy_pilot(path, state);
    test_ok(hpc_model_files_open(&f, path));
    assert_int_equal(unlink(path), 0);
    test_ok(hpc_model_config_read(&c, PILOT));
    assert_null(model_config_difference(&a, &b, &c, hpc_model_files_config(f)));
    assert_null(hpc_model_files_packed(f));
    test_ok(hpc_model_tokenizer(&t[0], PILOT));
    test_ok(hpc_model_files_tokenizer(&t[1], f));
    check_tokenizer(t[0], t[1]);
    test_ok(hpc_weights_open(&w[0], PILOT, &c));
    test_ok(hpc_model_files_weights(&w[1], f));
    check_weights(w[0], w[1], &c);
    for (int k = 0; k < 2; k++) {
        hpc_tokenizer_close(t[k]);
        hpc_weights_close(w[k]);
    }
    hpc_model_files_close(f);
}

static void so_is_a_packed_file(void **state)
{
    char path[PATH_MAX];
    hpc_model_files *f;
    hpc_model_config c;
    hpc_tokenizer *t[2];
    hpc_weights *w;
    double a, b;
    pack_pilot(path, state);
    test_ok(hpc_model_files_open(&f, path));
    assert_int_equal(unlink(path), 0);
    test_ok(hpc_model_config_read(&c, PILOT));
    assert_null(model_config_difference(&a, &b, &c, hpc_model_files_config(f)));
    test_ok(hpc_model_tokenizer(&t[0], PILOT));
    test_ok(hpc_model_files_tokenizer(&t[1], f));
    check_tokenizer(t[0], t[1]);
    test_ok(hpc_packed_verify(hpc_model_files_packed(f)));
    test_fails(hpc_model_files_weights(&w, f), HPC_E_UNSUPPORTED, "can only be run");
    assert_null(w);
    for (int k = 0; k < 2; k++) hpc_tokenizer_close(t[k]);
    hpc_model_files_close(f);
}

static void of_a_directory_each_is_read_in_turn(void **state)
{
    hpc_model_files *f;
    hpc_tokenizer *t;
    hpc_weights *w[2];
    (void)state;
    test_ok(hpc_model_files_open(&f, LLAMA));
    const hpc_model_config *c = hpc_model_files_config(f);
    test_ok(hpc_weights_open(&w[0], LLAMA, c));
    test_ok(hpc_model_files_weights(&w[1], f));
    check_weights(w[0], w[1], c);
    for (int k = 0; k < 2; k++) hpc_weights_close(w[k]);
    test_fails(hpc_model_files_tokenizer(&t, f), HPC_E_ARG, LLAMA " contains neither");
    assert_null(t);
    hpc_model_files_close(f);
    test_fails(hpc_model_files_open(&f, "/nowhere"), HPC_E_IO, "/nowhere");
    assert_null(f);
    test_fails(hpc_model_files_open(&f, "/nowhere.gguf"), HPC_E_IO, "/nowhere.gguf");
    assert_null(f);
    test_fails(hpc_model_files_open(&f, "/nowhere.packed"), HPC_E_IO, "/nowhere.packed");
}

static int whole_life(void *path)
{
    hpc_model_files *f;
    hpc_tokenizer *t = NULL;
    hpc_weights *w = NULL;
    int rc;
    TRY(hpc_model_files_open(&f, path));
    if (!hpc_model_files_packed(f)) TRY(hpc_model_files_weights(&w, f));
    TRY(hpc_model_files_tokenizer(&t, f));
out:
    hpc_tokenizer_close(t);
    hpc_weights_close(w);
    hpc_model_files_close(f);
    return rc;
}

static void faults_leave_nothing_open(void **state)
{
    char path[PATH_MAX];
    pack_pilot(path, state);
    char *const paths[] = {PILOT, path};
    for (int k = 0; k < 2; k++) {
        assert_true(hpc_test_each_alloc(whole_life, paths[k]) > 20);
        hpc_test_fault_reset();
        test_ok(whole_life(paths[k]));
        assert_int_equal(hpc_test_io_count(), 4); /* open, fstat, mmap, close */
        for (int n = 1; n < 4; n++) {
            hpc_test_fail_io(n);
            test_fails(whole_life(paths[k]), HPC_E_IO, paths[k]);
            assert_true(hpc_test_io_failed());
        }
    }
}

#define TEST(test)                                                                                 \
    cmocka_unit_test_setup_teardown(test, hpc_test_folder_setup, hpc_test_folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gguf_is_opened_once),
        TEST(so_is_a_packed_file),
        TEST(of_a_directory_each_is_read_in_turn),
        TEST(faults_leave_nothing_open),
    };
    return cmocka_run_group_tests_name("model/files", tests, NULL, NULL);
}

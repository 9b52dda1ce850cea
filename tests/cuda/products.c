/*
 * products.c: products by cuBLASLt, through its stub in the shim: a row has the same bits for every
 * number of rows in inference; training takes the fastest algorithm, which a record names again.
 * The real library is opened and has every function, if it is installed.
 */
/* tsan: left out, it knows nothing of the stacks of the shim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

#include "runtime/device/cuda/cuda.h"
#include "tests/support/command.h"
#include "tests/support/values.h"

enum { N = 24, K = 40, ROWS = 9 };

static hpc_device *open_shim(void)
{
    char library[PATH_MAX];
    hpc_device *d;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    test_ok(hpc_device_open(
        &d,
        &(hpc_device_options){.backend = "cuda-shim", .library = library, .isa = "lt-permuted"}));
    return d;
}

/* y [m,N] = a b^T + bias, with the same a in every row; returns the first row in `row`. */
static void multiply(double row[N], hpc_device *d, hpc_dtype type, int64_t m, int products)
{
    double a[ROWS * K], y[ROWS * N];
    hpc_program *p = hpc_program_create();
    hpc_exec *e;
    const int64_t extents[3][2] = {{m, K}, {N, K}, {N, 0}};
    hpc_value in[3];
    for (int k = 0; k < 3; k++)
        in[k] = hpc_program_input(p, (const char *[]){"a", "b", "bias"}[k],
                                  hpc_type_of(type, k < 2 ? 2 : 1, extents[k]));
    const int segment = hpc_program_segment(p, HPC_FORWARD, 0);
    const hpc_matmul_attr attr = {.trans_b = true, .alpha = 1};
    hpc_value operand[] = {HPC_NEW, HPC_NONE, in[0], in[1], in[2], HPC_NONE};
    hpc_emit(p, &hpc_op_matmul, operand, &attr);
    hpc_program_keep(p, operand[0]);
    test_ok(hpc_program_check(p));
    test_ok(hpc_exec_open(&e, p, d, NULL, &(hpc_exec_options){.poison = 1, .products = products}));
    hpc_test_draw(a, K, 1, 1);
    for (int64_t r = 1; r < m; r++) memcpy(a + r * K, a, K * sizeof *a);
    hpc_test_write(e, 0, in[0], a);
    hpc_test_feed(e, 0, in[1], 2, 1);
    hpc_test_feed(e, 0, in[2], 3, 1);
    test_ok(hpc_exec_run(e, segment, 0));
    hpc_test_read(e, 0, operand[0], y);
    memcpy(row, y, N * sizeof *y);
    for (int64_t r = 1; r < m; r++) assert_memory_equal(y + r * N, row, N * sizeof *y);
    hpc_exec_close(e);
    hpc_program_free(p);
}

/* How many numbers of rows have other bits than one row has. */
static int count_others(hpc_dtype type, int products)
{
    hpc_device *d = open_shim();
    double one[N], row[N];
    int others = 0;
    multiply(one, d, type, 1, products);
    for (int64_t m = 2; m <= ROWS; m++) {
        multiply(row, d, type, m, products);
        others += memcmp(row, one, sizeof row) != 0;
    }
    hpc_device_close(d);
    return others;
}

static void a_row_of_inference_has_the_same_bits_for_every_number_of_rows(void **state)
{
    (void)state;
    assert_int_equal(count_others(HPC_F32, HPC_PRODUCTS_FIXED), 0);
    assert_int_equal(count_others(HPC_BF16, HPC_PRODUCTS_FIXED), 0);
    /* The stub's algorithms have different bits, so that the zeros above say something. */
    assert_true(count_others(HPC_F32, HPC_PRODUCTS_BY_SHAPE) > 0);
}

static void read_products(hpc_buf *out, hpc_device *d)
{
    test_ok(hpc_device_products(out, d));
    test_ok(hpc_buf_add(out, "", 1));
    out->n--;
}

/* The stub has three algorithms. Kind (0 in order, 1 by fours, 2 in halves) takes
 * 1 + (kind + m / 2) % 3 microseconds. */
static void training_takes_the_fastest_algorithm(void **state)
{
    hpc_device *d = open_shim();
    hpc_buf text = {0};
    double row[N];
    (void)state;
    multiply(row, d, HPC_F32, 4, HPC_PRODUCTS_MEASURED);
    read_products(&text, d);
    assert_non_null(strstr(text.data, "\"algorithm\": \"0000000000000002"));
    assert_non_null(strstr(text.data, "\"ns\": 1000"));
    hpc_buf_release(&text);
    hpc_device_close(d);
}

static void a_record_gives_the_same_algorithms(void **state)
{
    hpc_device *d = open_shim(), *other = open_shim();
    hpc_buf text = {0}, again = {0};
    double row[N], same[N], first[N];
    bool taken;
    (void)state;
    multiply(row, d, HPC_F32, 5, HPC_PRODUCTS_MEASURED);
    read_products(&text, d);
    multiply(first, other, HPC_F32, 5, HPC_PRODUCTS_BY_SHAPE);
    assert_memory_not_equal(first, row, sizeof row);
    hpc_device_close(other);
    other = open_shim();
    test_ok(hpc_device_products_set(&taken, other, text.data, text.n, "record"));
    assert_true(taken);
    multiply(same, other, HPC_F32, 5, HPC_PRODUCTS_BY_SHAPE);
    assert_memory_equal(same, row, sizeof row);
    read_products(&again, other);
    assert_string_equal(again.data, text.data);
    hpc_buf_release(&text);
    hpc_buf_release(&again);
    hpc_device_close(d);
    hpc_device_close(other);
}

static void a_record_of_another_device_or_a_damaged_one_is_not_taken(void **state)
{
    static const char another[] = "{\"library\": \"cuBLASLt 1.0.0\", \"device\": \"a GPU\"}";
    static const char damaged[] = "{\"library\": \"a stub of cuBLASLt\", \"device\": \"the CPU, as "
                                  "threads of a GPU\", \"products\": [{\"shape\": [1]}]}";
    hpc_device *d = open_shim();
    bool taken;
    (void)state;
    test_ok(hpc_device_products_set(&taken, d, another, strlen(another), "record"));
    assert_false(taken);
    assert_int_equal(hpc_device_products_set(&taken, d, damaged, strlen(damaged), "record"),
                     HPC_E_FORMAT);
    assert_non_null(strstr(hpc_error_get()->text, "record: "));
    hpc_error_clear();
    hpc_device_close(d);
}

static void the_real_library_has_every_function(void **state)
{
    char path[PATH_MAX], text[64] = "";
    (void)state;
    if (!hpc_file_exists(hpc_test_built(path, "hpccoder-cuda.so"))) {
        print_message("SKIP: hpccoder-cuda.so was not built (nvcc)\n");
        skip();
    }
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(object);
    const hpc_cuda_library *library = dlsym(object, HPC_CUDA_SYMBOL);
    assert_non_null(library);
    assert_int_equal(library->version, HPC_CUDA_VERSION);
    if (library->find_products(text) != 0) {
        assert_non_null(strstr(text, "is missing"));
        print_message("SKIP: %s\n", text);
        skip();
    }
    assert_true(strncmp(text, "cuBLASLt 13.", 12) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_of_inference_has_the_same_bits_for_every_number_of_rows),
        cmocka_unit_test(training_takes_the_fastest_algorithm),
        cmocka_unit_test(a_record_gives_the_same_algorithms),
        cmocka_unit_test(a_record_of_another_device_or_a_damaged_one_is_not_taken),
        cmocka_unit_test(the_real_library_has_every_function),
    };
    return cmocka_run_group_tests_name("cuda/products", tests, NULL, NULL);
}

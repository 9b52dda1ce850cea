/*
 * primitives.c: each primitive of simt.cuh gives what its definition says: on the shim and, if
 * there is one, on a GPU. `primitives DEVICE FILE` writes the words that cuda or cuda-shim gives,
 * for tests/fixtures/cuda_primitives.txt, which the shim is compared with once a GPU has made it.
 */
/* tsan: left out, it knows nothing of the shim's stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device/cuda/cuda.h"
#include "tests/cuda/primitives.h"
#include "tests/support/command.h"
#include "tests/support/expect.h"

enum { LANES = 32, TILE = 128 };

/* ---- definitions ---------------------------------------------------------------------- */

static int whole(uint32_t bf16)
{
    float x;
    uint16_t half = (uint16_t)bf16;
    hpc_to_f32(&x, &half, HPC_BF16, 1);
    return (int)x;
}

static uint32_t half_at(const uint32_t *x, int row, int col)
{
    return x[row * 4 + col / 2] >> col % 2 * 16 & 0xffff;
}

/* Element (row, col) of the sum of products, of bf16 [16,16] by [16,8]. */
static int product(const uint32_t *x, int row, int col)
{
    int sum = 0;
    for (int k = 0; k < 16; k++) {
        uint32_t a = x[(row % 8 * 4 + k % 8 / 2) * 4 + row / 8 + k / 8 * 2];
        uint32_t b = x[TILE + (col * 4 + k % 8 / 2) * 2 + k / 8];
        sum += whole(a >> k % 2 * 16) * whole(b >> k % 2 * 16);
    }
    return sum;
}

static int byte_of(uint32_t x, int k)
{
    return (int8_t)(x >> 8 * k);
}

static int product_of_bytes(const uint32_t *x, int row, int col)
{
    int sum = 0;
    for (int k = 0; k < 16; k++)
        sum += byte_of(x[(row % 8 * 4 + k / 4) * 2 + row / 8], k % 4) *
               byte_of(x[TILE + col * 4 + k / 4], k % 4);
    return sum;
}

static uint32_t word_of(const uint32_t *x, int l, int k)
{
    uint32_t u = x[l], v = x[l + LANES], select = x[l + 2 * LANES], out = 0;
    int sum = 7;
    for (int i = 0; i < 4; i++) sum += byte_of(u, i) * byte_of(v, i);
    for (int i = 0; i < 4; i++) {
        uint32_t at = select >> 4 * i & 7;
        out |= ((at < 4 ? u : v) >> at % 4 * 8 & 255) << 8 * i;
    }
    if (k < 2) return k == 0 ? (uint32_t)sum : out;
    if (k == 2) return x[l ^ 5];
    for (int i = (int)(out = 0); i < LANES; i++) out |= (x[i] & 1) << i;
    return out;
}

/* Word k of lane l. */
static uint32_t wanted(primitive kind, const uint32_t *x, int l, int k)
{
    const int row = l / 4 + k / 2 * 8, col = l % 4 * 2 + k % 2, up = k * 8 + l % 4 * 2;
    switch (kind) {
    case PRIMITIVE_COPY: return x[(l + 1) % LANES * 4 + k];
    case PRIMITIVE_LOAD: return x[(k * 8 + l / 4) * 4 + l % 4];
    case PRIMITIVE_TRANSPOSED: return half_at(x, up, l / 4) | half_at(x, up + 1, l / 4) << 16;
    case PRIMITIVE_MULTIPLY: return (uint32_t)(product(x, row, col) + k);
    case PRIMITIVE_BYTES: return (uint32_t)(product_of_bytes(x, row, col) + k);
    default: return word_of(x, l, k);
    }
}

/* ---- runs ----------------------------------------------------------------------------- */

typedef struct launching {
    primitive_args args;
    hpc_cuda_launcher *launcher;
} launching;

static int run_primitive(const hpc_launch *l, const void *args)
{
    const launching *g = args;
    return hpc_cuda_run(l, g->launcher, &g->args);
}

/* Random words; of MULTIPLY, pairs of small whole numbers in bf16. */
static void draw(uint32_t *x, primitive kind)
{
    for (int k = 0; k < PRIMITIVES_IN; k++) {
        uint32_t bits = hpc_random_bits(7, (uint32_t)kind, 0, (uint64_t)k);
        float two[2] = {(float)(bits % 17) - 8, (float)(bits / 32 % 17) - 8};
        uint16_t half[2];
        hpc_from_f32(half, HPC_BF16, two, 2);
        x[k] = kind == PRIMITIVE_MULTIPLY ? half[0] | (uint32_t)half[1] << 16 : bits;
    }
}

typedef uint32_t outputs[PRIMITIVES][PRIMITIVES_OUT];

static void run_all(outputs y, hpc_device *d, const char *library)
{
    uint32_t x[PRIMITIVES_IN];
    void *in, *out, *object = dlopen(library, RTLD_NOW);
    assert_non_null(object);
    launching g = {.launcher = (hpc_cuda_launcher *)dlsym(object, "hpc_cuda_primitive")};
    assert_non_null(g.launcher);
    test_ok(hpc_device_alloc(&in, d, sizeof x));
    test_ok(hpc_device_alloc(&out, d, sizeof *y));
    for (int kind = 0; kind < PRIMITIVES; kind++) {
        draw(x, (primitive)kind);
        g.args = (primitive_args){.y = out, .x = in, .kind = kind};
        test_ok(hpc_device_copy(d, HPC_COMPUTE, in, x, sizeof x, HPC_TO_DEVICE));
        test_ok(hpc_device_backend(d)->launch(d, HPC_COMPUTE, &(hpc_plan){.run = run_primitive},
                                              &(hpc_signature){.name = "primitive"}, &g, NULL, NULL,
                                              (hpc_origin){"test", 0, "one"}));
        test_ok(hpc_device_copy(d, HPC_COMPUTE, y[kind], out, sizeof *y, HPC_TO_HOST));
        test_ok(hpc_device_fence(d));
    }
    hpc_device_free(d, in);
    hpc_device_free(d, out);
}

static void check_all(outputs y)
{
    uint32_t x[PRIMITIVES_IN];
    for (int kind = 0; kind < PRIMITIVES; kind++) {
        draw(x, (primitive)kind);
        for (int k = 0; k < PRIMITIVES_OUT; k++)
            if (y[kind][k] != wanted((primitive)kind, x, k / 4, k % 4))
                fail_msg("primitive %d, lane %d, word %d: %#x, expected %#x", kind, k / 4, k % 4,
                         y[kind][k], wanted((primitive)kind, x, k / 4, k % 4));
    }
}

/* One line for each primitive. */
static void print_all(hpc_buf *out, outputs y)
{
    for (int kind = 0; kind < PRIMITIVES; kind++)
        for (int k = 0; k < PRIMITIVES_OUT; k++)
            hpc_buf_printf(out, "%08x%s", y[kind][k], k + 1 < PRIMITIVES_OUT ? " " : "\n");
    assert_false(out->failed);
}

/* The shim against the words that a GPU gave. */
static void check_fixture(outputs y)
{
    static const char path[] = "tests/fixtures/cuda_primitives.txt";
    hpc_buf want = {0}, got = {0};
    if (!hpc_file_exists(path)) return;
    test_ok(hpc_file_read(&want, path, 1 << 16));
    print_all(&got, y);
    assert_int_equal(got.n, want.n);
    assert_memory_equal(got.data, want.data, want.n);
    hpc_buf_release(&want);
    hpc_buf_release(&got);
}

static void shim_gives_what_is_defined(void **state)
{
    static const char *const schedules[] = {"ascending", "descending", "permuted"};
    char library[PATH_MAX];
    outputs y;
    (void)state;
    hpc_test_built(library, "tests/cuda/primitives.so");
    for (int k = 0; k < 3; k++) {
        hpc_device *d;
        test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "cuda-shim",
                                                          .isa = schedules[k],
                                                          .library = library}));
        run_all(y, d, library);
        check_all(y);
        check_fixture(y);
        hpc_device_close(d);
    }
}

static void gpu_gives_what_is_defined(void **state)
{
    char library[PATH_MAX];
    hpc_device *d;
    outputs y;
    (void)state;
    if (!hpc_file_exists(hpc_test_built(library, "tests/cuda/primitives-gpu.so"))) {
        print_message("SKIP: tests/cuda/primitives-gpu.so was not built (make check-gpu)\n");
        skip();
    }
    if (hpc_device_open(&d, &(hpc_device_options){.backend = "cuda", .library = library}) < 0) {
        print_message("SKIP: %s\n", hpc_error_get()->text);
        skip();
    }
    run_all(y, d, library);
    check_all(y);
    hpc_device_close(d);
}

static int write_outputs(const char *device, const char *path)
{
    char library[PATH_MAX];
    outputs y;
    hpc_buf text = {0};
    hpc_device *d;
    const bool gpu = strcmp(device, "cuda") == 0;
    hpc_test_built(library, gpu ? "tests/cuda/primitives-gpu.so" : "tests/cuda/primitives.so");
    if (hpc_device_open(&d, &(hpc_device_options){.backend = device, .library = library}) < 0) {
        (void)fprintf(stderr, "%s\n", hpc_error_get()->text);
        return 1;
    }
    run_all(y, d, library);
    hpc_device_close(d);
    print_all(&text, y);
    const int rc = hpc_file_save(path, text.data, text.n);
    if (rc < 0) (void)fprintf(stderr, "%s\n", hpc_error_get()->text);
    hpc_buf_release(&text);
    return rc < 0;
}

int main(int argc, char **argv)
{
    if (argc == 3) return write_outputs(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shim_gives_what_is_defined),
        cmocka_unit_test(gpu_gives_what_is_defined),
    };
    return cmocka_run_group_tests_name("cuda/primitives", tests, NULL, NULL);
}

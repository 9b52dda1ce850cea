/*
 * open.c: opening and closing devices: errors, accounting of memory, out of memory, and leaks that
 * close must report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device/kernel/backend.h"
#include "tests/support/fault.h"

static hpc_device *open_cpu(const char *isa, int threads)
{
    hpc_device *d = NULL;
    hpc_device_options o = {.backend = "cpu", .isa = isa, .threads = threads};
    assert_int_equal(hpc_device_open(&d, &o), 0);
    return d;
}

static void defaults(void **state)
{
    (void)state;
    hpc_device *d = NULL;
    assert_int_equal(hpc_device_open(&d, NULL), 0);
    hpc_device_info info = hpc_device_about(d);
    assert_string_equal(info.backend, "cpu");
    assert_string_equal(info.isa, hpc_device_isas()[0]);
    assert_true(info.host_memory);
    assert_true(info.threads >= 1 && info.threads <= sysconf(_SC_NPROCESSORS_CONF));
    assert_int_equal(hpc_pool_n(hpc_device_pool(d)), info.threads);
    assert_string_equal(hpc_device_backend(d)->name, "cpu");
    assert_non_null(hpc_device_kernels(d, true)->matmul);
    assert_non_null(hpc_device_kernels(d, false)->nop);
    assert_ptr_not_equal(hpc_device_kernels(d, true), hpc_device_kernels(d, false));
    hpc_device_close(d);
    hpc_device_close(NULL);
}

static void every_isa(void **state)
{
    (void)state;
    const char *const *isa = hpc_device_isas();
    const hpc_kernels *before = NULL;
    assert_non_null(isa[0]);
    for (int i = 0; isa[i]; i++) {
        hpc_device *d = open_cpu(isa[i], 1);
        assert_string_equal(hpc_device_about(d).isa, isa[i]);
        assert_ptr_not_equal(hpc_device_kernels(d, false), before);
        before = hpc_device_kernels(d, false);
        hpc_device_close(d);
    }
}

static void refused(const hpc_device_options *o, int code, const char *text)
{
    hpc_device *d = (hpc_device *)&code;
    assert_int_equal(hpc_device_open(&d, o), code);
    assert_null(d);
    if (!strstr(hpc_error_get()->text, text)) fail_msg("'%s'", hpc_error_get()->text);
    hpc_error_clear();
}

static void refusals(void **state)
{
    (void)state;
    assert_string_equal(hpc_device_backends()[0], "cpu");
    assert_string_equal(hpc_device_backends()[1], "mock");
    assert_string_equal(hpc_device_backends()[2], "cuda");
    assert_null(hpc_device_backends()[3]);
    refused(&(hpc_device_options){.backend = "cuda"}, HPC_E_UNSUPPORTED,
            "hpccoder-cuda.so is missing: install the CUDA toolkit and rebuild");
    refused(&(hpc_device_options){.backend = "cuda", .library = "absent.so"}, HPC_E_UNSUPPORTED,
            "hpccoder-cuda.so is missing: install the CUDA toolkit and rebuild");
    refused(&(hpc_device_options){.backend = "cpu", .library = "absent.so"}, HPC_E_ARG,
            "backend 'cpu' has no library");
    refused(&(hpc_device_options){.isa = "sse9"}, HPC_E_UNSUPPORTED,
            "this build has no instruction set 'sse9'; this one runs ");
    refused(&(hpc_device_options){.isa = "sse9"}, HPC_E_UNSUPPORTED, hpc_device_isas()[0]);
    refused(&(hpc_device_options){.threads = -2}, HPC_E_ARG, "a device cannot have -2 threads");
#if defined(__x86_64__)
    refused(&(hpc_device_options){.isa = "neon"}, HPC_E_UNSUPPORTED, "'neon'");
#endif
}

static void accounting(void **state)
{
    (void)state;
    hpc_device *d = open_cpu(NULL, 2);
    void *a, *b, *c;
    assert_int_equal(hpc_device_alloc(&a, d, 1000), 0);
    assert_int_equal(hpc_device_alloc(&b, d, 24), 0);
    assert_int_equal((uintptr_t)a % HPC_ALIGN, 0);
    assert_int_equal((uintptr_t)b % HPC_ALIGN, 0);
    memset(a, 1, 1000);
    assert_int_equal(hpc_device_about(d).alloc_bytes, 1024);
    hpc_device_free(d, a);
    assert_int_equal(hpc_device_about(d).alloc_bytes, 24);
    assert_int_equal(hpc_device_about(d).peak_bytes, 1024);
    assert_int_equal(hpc_device_alloc(&c, d, 0), 0); /* nothing, but a pointer of its own */
    assert_true(c && c != b);
    assert_int_equal(hpc_device_about(d).alloc_n, 3);
    assert_int_equal(hpc_device_about(d).peak_bytes, 1024);

    hpc_test_fail_alloc(1);
    assert_int_equal(hpc_device_alloc(&a, d, 64), HPC_E_NOMEM);
    assert_null(a);
    assert_int_equal(hpc_error_get()->code, HPC_E_NOMEM);
    hpc_error_clear();
    assert_int_equal(hpc_device_about(d).alloc_n, 3);
    assert_int_equal(hpc_device_about(d).alloc_bytes, 24);
    hpc_device_free(d, b);
    hpc_device_free(d, c);
    hpc_device_free(d, NULL);
    assert_int_equal(hpc_device_about(d).alloc_bytes, 0);
    hpc_device_close(d);
}

static void copies(void **state)
{
    (void)state;
    hpc_device *d = open_cpu(NULL, 1);
    const char text[] = "over and back";
    char back[sizeof text] = "";
    void *a, *b;
    assert_int_equal(hpc_device_alloc(&a, d, sizeof text), 0);
    assert_int_equal(hpc_device_alloc(&b, d, sizeof text), 0);
    assert_int_equal(hpc_device_copy(d, HPC_COMPUTE, a, text, sizeof text, HPC_TO_DEVICE), 0);
    assert_int_equal(hpc_device_copy(d, HPC_COPY, b, a, sizeof text, HPC_ON_DEVICE), 0);
    assert_int_equal(hpc_device_copy(d, HPC_COMM, back, b, sizeof text, HPC_TO_HOST), 0);
    assert_int_equal(hpc_device_copy(d, HPC_COPY, NULL, NULL, 0, HPC_TO_HOST), 0);
    assert_int_equal(hpc_device_fence(d), 0);
    assert_string_equal(back, text);
    hpc_device_free(d, a);
    hpc_device_free(d, b);
    hpc_device_close(d);
}

/* Opens, allocates and closes; releases everything either way. */
static int life(void *user)
{
    (void)user;
    int rc = 0;
    hpc_device *d = NULL;
    void *a = NULL;
    hpc_device_options o = {.threads = 2};
    TRY(hpc_device_open(&d, &o));
    TRY(hpc_device_alloc(&a, d, 256));
out:
    if (d) hpc_device_free(d, a);
    hpc_device_close(d);
    return rc;
}

static void out_of_memory(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(life, NULL) >= 4);
}

static void leak(hpc_device *d)
{
    void *a;
    hpc_device_alloc(&a, d, 8);
    hpc_device_close(d);
}

static void free_foreign(hpc_device *d)
{
    int mine;
    hpc_device_free(d, &mine);
}

/* Does `broken` end its process by a failed assertion? */
static bool aborts(void (*broken)(hpc_device *d))
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hpc_device *d;
        close(STDERR_FILENO); /* the report is expected */
        if (hpc_device_open(&d, &(hpc_device_options){.threads = 1}) == 0) broken(d);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void broken_contracts(void **state)
{
    (void)state;
    assert_true(aborts(leak));
    assert_true(aborts(free_foreign));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),         cmocka_unit_test(every_isa),
        cmocka_unit_test(refusals),         cmocka_unit_test(accounting),
        cmocka_unit_test(copies),           cmocka_unit_test(out_of_memory),
        cmocka_unit_test(broken_contracts),
    };
    return cmocka_run_group_tests_name("device/open", tests, NULL, NULL);
}

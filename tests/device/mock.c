/*
 * mock.c: detection of planted faults: a host dereference, a missing fence, a read of an unwritten
 * value, an aliased output, a use of released memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/device/kernel/backend.h"
#include "tests/support/values.h"

enum { N = 64, BYTES = N * 4 };

typedef struct bench {
    hpc_device *d;
    const hpc_backend *b;
    float *x, *y; /* device addresses */
    float host[N];
} bench;

static bench open_mock(void)
{
    bench t = {0};
    void *x, *y;
    test_ok(hpc_device_open(&t.d, &(hpc_device_options){.backend = "mock"}));
    t.b = hpc_device_backend(t.d);
    test_ok(hpc_device_alloc(&x, t.d, 4 * BYTES));
    test_ok(hpc_device_alloc(&y, t.d, 4 * BYTES));
    t.x = x;
    t.y = y;
    for (int k = 0; k < N; k++) t.host[k] = (float)k;
    return t;
}

static void close_mock(bench *t)
{
    hpc_device_free(t->d, t->x);
    hpc_device_free(t->d, t->y);
    hpc_device_close(t->d);
}

static hpc_tensor tensor(float *data, uint32_t id)
{
    return (hpc_tensor){
        .data = data, .extent = {N}, .rank = 1, .ragged = -1, .dtype = HPC_F32, .id = id};
}

/* y = x + x on a queue; what the mock thinks of it comes at the fence. */
static void launch_add(bench *t, hpc_queue q, hpc_tensor y, hpc_tensor a, hpc_tensor b)
{
    hpc_binary_args args = {.y = y, .a = a, .b = b, .attr = {HPC_ADD}};
    hpc_plan plan = {0};
    test_ok(hpc_device_kernels(t->d, false)->binary(&plan, 1, &args));
    test_ok(t->b->launch(t->d, q, &plan, &hpc_op_binary.sig, &args, NULL, NULL,
                         (hpc_origin){.segment = "forward[0]", .insn = 3}));
}

static void feed(bench *t, float *to, hpc_queue q)
{
    test_ok(hpc_device_copy(t->d, q, to, t->host, BYTES, HPC_TO_DEVICE));
}

static void right_use_passes(void **state)
{
    (void)state;
    bench t = open_mock();
    float back[N];
    feed(&t, t.x, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1));
    test_ok(hpc_device_copy(t.d, HPC_COMPUTE, back, t.y, BYTES, HPC_TO_HOST));
    assert_true(back[3] != back[3]); /* not yet: the host's buffer is spoiled until the fence */
    test_ok(hpc_device_fence(t.d));
    for (int k = 0; k < N; k++) assert_true(back[k] == 2 * (float)k);
    close_mock(&t);
}

static void host_dereference(void **state)
{
    (void)state;
    bench t = open_mock();
    feed(&t, t.x, HPC_COMPUTE);
    test_ok(hpc_device_fence(t.d));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        volatile float seen = *(volatile float *)t.x;
        _exit(seen == seen ? 0 : 0);
    }
    int status = 0;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    close_mock(&t);
}

static void missing_fence(void **state)
{
    (void)state;
    bench t = open_mock();
    feed(&t, t.x, HPC_COPY);
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "a fence or join is missing");

    int event; /* the same with a join */
    feed(&t, t.x, HPC_COPY);
    test_ok(t.b->record(t.d, HPC_COPY, &event));
    test_ok(t.b->wait(t.d, HPC_COMPUTE, event));
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1));
    test_ok(hpc_device_fence(t.d));

    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1));
    feed(&t, t.x, HPC_COPY); /* written over while it may still be read */
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "may still use it");
    close_mock(&t);
}

static void unwritten_value(void **state)
{
    (void)state;
    bench t = open_mock();
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "where nothing was written");
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "forward[0] #3 binary");
    test_ok(hpc_device_fence(t.d)); /* reported once */
    close_mock(&t);
}

static void aliased_output(void **state)
{
    (void)state;
    bench t = open_mock();
    feed(&t, t.x, HPC_COMPUTE);
    feed(&t, t.x + N, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, tensor(t.x, 2), tensor(t.x, 1), tensor(t.y, 1)); /* b unwritten */
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "where nothing was written");
    feed(&t, t.y, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, tensor(t.x, 2), tensor(t.x, 1),
               tensor(t.y, 1)); /* in place: fine */
    test_ok(hpc_device_fence(t.d));
    feed(&t, t.x, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, tensor(t.x + N / 2, 2), tensor(t.x, 1), tensor(t.y, 1));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "output y lies over operand a");
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.y, 1));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "output y lies over operand b");
    close_mock(&t);
}

static void memory_given_away(void **state)
{
    (void)state;
    bench t = open_mock();
    feed(&t, t.x, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1));
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 3), tensor(t.x, 1), tensor(t.x, 1));
    launch_add(&t, HPC_COMPUTE, tensor(t.x, 4), tensor(t.y, 2), tensor(t.y, 2));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "its memory holds %2 by now");
    close_mock(&t);
}

static void outside_of_memory(void **state)
{
    (void)state;
    bench t = open_mock();
    feed(&t, t.x, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.host, 1));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "are not memory of this device");
    close_mock(&t);
}

/* An input that was never written, named by its instruction. */
static void forgotten_input(void **state)
{
    (void)state;
    hpc_device *d;
    hpc_exec *e;
    hpc_program *p = hpc_program_create();
    hpc_value x = hpc_program_input(p, "x", hpc_type_of(HPC_F32, 1, (int64_t[]){N}));
    hpc_program_segment(p, HPC_FORWARD, 0);
    hpc_value y = hpc_activate(p, x, HPC_SILU);
    hpc_program_keep(p, y);
    test_ok(hpc_device_open(&d, &(hpc_device_options){.backend = "mock"}));
    test_ok(hpc_exec_open(&e, p, d, NULL, NULL));
    test_fails(hpc_exec_run(e, 0, 0), HPC_E_FAULT, "forward[0] #0 act: x is read at byte 0");
    hpc_test_feed(e, 0, x, 1, 1);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_exec_close(e);
    hpc_device_close(d);
    hpc_program_free(p);
}

/* A fault stops computation, not the queues; later joins still report the first fault. */
static void a_fault_before_a_join(void **state)
{
    (void)state;
    bench t = open_mock();
    int event;
    feed(&t, t.y, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, tensor(t.y, 2), tensor(t.x, 1), tensor(t.x, 1)); /* x unwritten */
    test_ok(t.b->record(t.d, HPC_COMPUTE, &event));
    test_ok(t.b->wait(t.d, HPC_COPY, event));
    feed(&t, t.x, HPC_COPY);
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "where nothing was written");
    test_ok(hpc_device_fence(t.d));
    close_mock(&t);
}

/* An output's run-time extent is read as well, unless the launch makes it. */
static void an_unwritten_count(void **state)
{
    (void)state;
    bench t = open_mock();
    hpc_tensor y = tensor(t.y, 2);
    y.ragged = 0;
    y.count = (const int32_t *)(t.x + 2 * N);
    feed(&t, t.x, HPC_COMPUTE);
    launch_add(&t, HPC_COMPUTE, y, tensor(t.x, 1), tensor(t.x, 1));
    test_fails(hpc_device_fence(t.d), HPC_E_FAULT, "a count is read");
    close_mock(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_use_passes),      cmocka_unit_test(host_dereference),
        cmocka_unit_test(missing_fence),         cmocka_unit_test(unwritten_value),
        cmocka_unit_test(aliased_output),        cmocka_unit_test(memory_given_away),
        cmocka_unit_test(outside_of_memory),     cmocka_unit_test(forgotten_input),
        cmocka_unit_test(a_fault_before_a_join), cmocka_unit_test(an_unwritten_count),
    };
    return cmocka_run_group_tests_name("device/mock", tests, NULL, NULL);
}

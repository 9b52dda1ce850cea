/*
 * update_memory.c: the memory that AdamW's update takes beside its operands: an f32 tile of bf16
 * gradients for each worker, on its stack, for any number of parameters.
 */
/* asan: left out, frames have other sizes. */
/* tsan: left out, starts no thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "tests/support/values.h"

enum {
    TILE = 256,       /* elements */
    FRAMES = 6 << 10, /* of the calls from the executor to the kernel */
    STACK = 128 << 10,
    OWN = 1 << 10, /* of the frame that paints */
    PAINT = 0xA5
};

typedef struct update {
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
} update;

static hpc_value kept(hpc_program *p, const char *name, hpc_dtype dtype, int64_t n)
{
    return hpc_program_state(p, name, hpc_type_of(dtype, n > 0, &n), false);
}

/* n parameters of bf16, with masters and moments. */
static void open_update(update *u, int64_t n, hpc_dtype gradients)
{
    hpc_device_options o = {.threads = 1};
    hpc_adamw_attr attr = {.beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8};
    hpc_program *p = u->p = hpc_program_create();
    hpc_value param = kept(p, "param", HPC_F32, n), half = kept(p, "half", HPC_BF16, n);
    hpc_value m = kept(p, "m", HPC_F32, n), v = kept(p, "v", HPC_F32, n);
    hpc_value grad = kept(p, "grad", gradients, n), lr = kept(p, "lr", HPC_F32, 0);
    hpc_value step = kept(p, "step", HPC_I32, 0);
    assert_int_equal(hpc_program_segment(p, HPC_UPDATE, 0), 0);
    hpc_adamw(p, param, m, v, half, grad, lr, step, HPC_NONE, attr);
    test_ok(hpc_program_status(p));
    test_ok(hpc_device_open(&u->d, &o));
    test_ok(hpc_exec_open(&u->e, p, u->d, NULL, NULL));
    hpc_test_feed(u->e, 0, grad, 3, 1);
    hpc_test_write_i32(u->e, 0, step, &(int32_t){1});
}

static void close_update(update *u)
{
    hpc_exec_close(u->e);
    hpc_device_close(u->d);
    hpc_program_free(u->p);
}

typedef struct measured {
    update *u;
    uint8_t stack[STACK];
    int64_t bytes; /* of the stack, below the frame that starts the update */
} measured;

/* Runs on m->stack, which is painted first below this frame. */
static void *run_update(void *user)
{
    measured *m = user;
    uint8_t here = 0;
    uint8_t *volatile frame = &here;
    int64_t n = frame - m->stack - OWN, k = 0;
    if (hpc_exec_run(m->u->e, 0, 0) < 0) return NULL; /* binds symbols */
    memset(m->stack, PAINT, (size_t)n);
    if (hpc_exec_run(m->u->e, 0, 0) < 0) return NULL;
    while (k < n && m->stack[k] == PAINT) k++;
    m->bytes = frame - m->stack - k;
    return NULL;
}

static int64_t stack_of(update *u)
{
    measured *m = hpc_alloc(1, sizeof *m);
    pthread_attr_t attr;
    pthread_t thread;
    assert_non_null(m);
    m->u = u;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstack(&attr, m->stack, sizeof m->stack), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_update, m), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    int64_t bytes = m->bytes;
    hpc_free(m);
    return bytes;
}

/* Not in the arena either: an executor's arena has no temporary and no workspace of the update. */
static double arena_of(const update *u)
{
    const hpc_placement *place = hpc_exec_placement(u->e);
    double bytes = 0;
    for (hpc_value v = 0; v < u->p->value_n; v++)
        if (u->p->value[v].kind == HPC_VALUE_TEMP && u->p->value[v].base < 0)
            bytes += (double)hpc_type_bytes(&u->p->value[v].type);
    for (int64_t k = 0; k < u->p->segment[0].insn_n; k++) bytes += (double)place->workspace[0][k];
    return bytes;
}

static void temporary_is_one_tile_for_any_number_of_parameters(void **state)
{
    static const int64_t n[] = {TILE, 1000, 1 << 16, (1 << 20) + 3};
    int64_t first = 0;
    (void)state;
    for (size_t k = 0; k < sizeof n / sizeof *n; k++) {
        update u;
        open_update(&u, n[k], HPC_BF16);
        int64_t bytes = stack_of(&u);
        if (k == 0) first = bytes;
        assert_in_range(bytes, 4 * TILE, 4 * TILE + FRAMES);
        assert_int_equal(bytes, first);
        assert_true(arena_of(&u) == 0);
        close_update(&u);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(temporary_is_one_tile_for_any_number_of_parameters),
    };
    return cmocka_run_group_tests_name("program/update_memory", tests, NULL, NULL);
}

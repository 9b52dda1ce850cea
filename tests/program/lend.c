/*
 * lend.c: lent state: read in place, even from read-only memory, with the same results and no
 * memory of its own; and errors for state that cannot be lent.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/fault.h"
#include "tests/support/values.h"

enum { R = 24, C = 64, PAGES = 1 << 14 };

typedef struct lending {
    hpc_program *p;
    hpc_value x, w, half, own, y, z;
    float *there; /* a mapping that is only read */
    hpc_device *d;
} lending;

/* y = silu(x) w^T; z of the same and the later half of w's rows; `own` is written. */
static void open_lending(lending *l, const char *backend, int threads)
{
    hpc_device_options o = {.backend = backend, .threads = threads};
    *l = (lending){.p = hpc_program_create()};
    l->x = hpc_program_input(l->p, "x", hpc_type_of(HPC_F32, 2, (int64_t[]){R, C}));
    l->w = hpc_program_state(l->p, "w", hpc_type_of(HPC_F32, 2, (int64_t[]){2 * R, C}), false);
    l->own = hpc_program_state(l->p, "own", hpc_type_of(HPC_F32, 1, (int64_t[]){C}), false);
    hpc_program_segment(l->p, HPC_FORWARD, 0);
    l->half = hpc_slice(l->p, l->w, R, R);
    hpc_value s = hpc_activate(l->p, l->x, HPC_SILU);
    l->y = hpc_linear(l->p, s, l->w, HPC_NONE, HPC_NONE);
    l->z = hpc_binary(l->p, HPC_ADD, s, l->half);
    hpc_program_keep(l->p, l->y);
    hpc_program_keep(l->p, l->z);
    hpc_fill(l->p, l->own, 3);
    test_ok(hpc_program_status(l->p));
    test_ok(hpc_device_open(&l->d, &o));
    l->there = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(l->there != MAP_FAILED);
    for (int k = 0; k < 2 * R * C; k++) l->there[k] = (float)(k * 7 % 31) / 8 - 2;
    assert_int_equal(mprotect(l->there, PAGES, PROT_READ), 0);
}

static void close_lending(lending *l)
{
    hpc_device_close(l->d);
    hpc_program_free(l->p);
    munmap(l->there, PAGES);
}

static hpc_exec_options lent(const lending *l, hpc_lent *out)
{
    *out = (hpc_lent){.state = l->w, .data = l->there, .bytes = (size_t)2 * R * C * sizeof(float)};
    return (hpc_exec_options){.lent = out, .lent_n = 1, .slots = 2};
}

static void run(double *y, double *z, hpc_exec *e, const lending *l)
{
    double own[C];
    hpc_test_feed(e, 1, l->x, 5, 1);
    test_ok(hpc_exec_run(e, 0, 1));
    hpc_test_read(e, 1, l->y, y);
    hpc_test_read(e, 1, l->z, z);
    hpc_test_read(e, 0, l->own, own);
    assert_true(own[0] == 3 && own[C - 1] == 3);
}

static void it_is_read_where_it_lies(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        static double y[2][R * 2 * R], z[2][R * C], w[2 * R * C];
        lending l;
        hpc_lent what;
        hpc_exec *e;
        open_lending(&l, "cpu", threads);
        size_t bytes = (size_t)2 * R * C * sizeof *l.there;
        test_ok(hpc_exec_open(&e, l.p, l.d, NULL, &(hpc_exec_options){.slots = 2}));
        size_t before = hpc_exec_placement(e)->bytes[HPC_SPACE_STATE];
        test_ok(hpc_exec_write(e, 0, l.w, l.there, bytes));
        run(y[0], z[0], e, &l);
        hpc_exec_close(e);
        hpc_exec_options o = lent(&l, &what);
        test_ok(hpc_exec_open(&e, l.p, l.d, NULL, &o));
        what = (hpc_lent){0}; /* it was needed for opening alone */
        assert_int_equal(hpc_exec_placement(e)->bytes[HPC_SPACE_STATE], before - bytes);
        assert_ptr_equal(hpc_exec_address(e, 0, l.w), l.there);
        assert_ptr_equal(hpc_exec_address(e, 1, l.half), l.there + R * C);
        run(y[1], z[1], e, &l);
        assert_memory_equal(y[0], y[1], sizeof y[0]);
        assert_memory_equal(z[0], z[1], sizeof z[0]);
        hpc_test_read(e, 0, l.w, w);
        assert_true(w[0] == l.there[0] && w[2 * R * C - 1] == l.there[2 * R * C - 1]);
        test_fails(hpc_exec_write(e, 0, l.w, w, bytes), HPC_E_ARG, "(w) is lent");
        hpc_exec_close(e);
        close_lending(&l);
    }
}

static void refuses(const lending *l, hpc_lent what, int code, const char *part)
{
    hpc_exec *e;
    hpc_exec_options o = {.lent = &what, .lent_n = 1};
    test_fails(hpc_exec_open(&e, l->p, l->d, NULL, &o), code, part);
    assert_null(e);
}

static void what_cannot_be_lent_is_named(void **state)
{
    (void)state;
    lending l;
    hpc_exec *e;
    hpc_lent two[2];
    open_lending(&l, "cpu", 1);
    hpc_exec_options o = lent(&l, two);
    const hpc_lent w = two[0], own = {.state = l.own, .data = l.there, .bytes = C * sizeof(float)};
    hpc_lent bad = w;
    refuses(&l, own, HPC_E_ARG, "fill (block -1) writes %2 (own), which is lent");
    bad.state = l.x;
    refuses(&l, bad, HPC_E_ARG, "(x): only state");
    bad.state = l.half;
    refuses(&l, bad, HPC_E_ARG, "only state");
    bad.state = (hpc_value)l.p->value_n;
    refuses(&l, bad, HPC_E_ARG, "there is no value");
    bad.state = HPC_NONE;
    refuses(&l, bad, HPC_E_ARG, "there is no value");
    bad = w, bad.bytes -= 4;
    refuses(&l, bad, HPC_E_SHAPE, "(w) is f32[48,64], 12288 bytes; 12284 were lent");
    bad = w, bad.data = l.there + 1;
    refuses(&l, bad, HPC_E_ARG, "not aligned to 32 bytes");
    bad.data = NULL;
    refuses(&l, bad, HPC_E_ARG, "not aligned");
    two[1] = w;
    o.lent_n = 2;
    test_fails(hpc_exec_open(&e, l.p, l.d, NULL, &o), HPC_E_ARG, "(w) is lent twice");
    close_lending(&l);
    open_lending(&l, "mock", 1);
    bad = w, bad.data = l.there;
    refuses(&l, bad, HPC_E_UNSUPPORTED, "backend mock does not read the host's memory");
    close_lending(&l);
}

static int open_once(void *user)
{
    hpc_lent what;
    hpc_exec *e;
    hpc_exec_options o = lent(user, &what);
    int rc = hpc_exec_open(&e, ((lending *)user)->p, ((lending *)user)->d, NULL, &o);
    hpc_exec_close(e);
    return rc;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    lending l;
    open_lending(&l, "cpu", 2);
    assert_true(hpc_test_each_alloc(open_once, &l) > 5);
    close_lending(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_where_it_lies),
        cmocka_unit_test(what_cannot_be_lent_is_named),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("program/lend", tests, NULL, NULL);
}

/*
 * graphs.c: segments that are recorded once and replayed give the bits of separate launches, with
 * run-time extents and guards that change between runs, several queues and several slots. The shim
 * rejects recordings that a GPU would reject.
 */
/* tsan: left out, it knows nothing of the shim's stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device/kernel/backend.h"
#include "tests/support/command.h"
#include "tests/support/ops.h"

enum { ROWS = 6, COLS = 40, RUNS = 6, SLOTS = 2, N = ROWS * COLS };

static hpc_device *open_shim(const char *settings)
{
    char library[PATH_MAX];
    hpc_device *d;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    test_ok(hpc_device_open(
        &d, &(hpc_device_options){.backend = "cuda-shim", .library = library, .isa = settings}));
    return d;
}

/* ---- a program ------------------------------------------------------------------------------ */

typedef struct fixture {
    hpc_program *p;
    hpc_value x, count, open, sum, twice, out;
} fixture;

/* sum += 3 x and twice = 2 sum under the guard; out = x + its copy through another queue. */
static void emit(fixture *f)
{
    const hpc_type rows = test_type(HPC_F32, ROWS, COLS);
    f->p = hpc_program_create();
    test_ok(hpc_program_segment(f->p, HPC_FORWARD, 0));
    f->count = hpc_program_input(f->p, "count", hpc_type_of(HPC_I32, 0, NULL));
    f->open = hpc_program_input(f->p, "open", hpc_type_of(HPC_I32, 0, NULL));
    f->x = hpc_program_input(f->p, "x", hpc_type_ragged(rows, 0, f->count));
    f->sum = hpc_program_state(f->p, "sum", test_type(HPC_F32, COLS), false);
    f->twice = hpc_program_state(f->p, "twice", test_type(HPC_F32, COLS), false);
    hpc_value all = hpc_reduce(f->p, HPC_NEW, f->x, HPC_SUM, HPC_OVER_ROWS);
    f->p->tags.guard = f->open;
    hpc_scale(f->p, f->sum, all, HPC_NONE, 3);
    hpc_fill(f->p, f->twice, 0);
    hpc_scale(f->p, f->twice, f->sum, HPC_NONE, 2);
    f->p->tags.guard = HPC_NONE;
    hpc_value y = hpc_activate(f->p, f->x, HPC_SILU);
    f->p->tags.queue = HPC_COPY;
    hpc_value copy = hpc_copy(f->p, y, HPC_F32);
    f->p->tags.queue = HPC_COMPUTE;
    f->out = hpc_binary(f->p, HPC_ADD, y, copy);
    hpc_program_keep(f->p, f->out);
    test_ok(hpc_program_check(f->p));
}

typedef struct results {
    float sum[RUNS][SLOTS][COLS], twice[RUNS][SLOTS][COLS], out[RUNS][SLOTS][N];
} results;

static void run_slot(results *r, hpc_exec *e, const fixture *f, int k, int slot)
{
    const int32_t count = 1 + (k + slot) % ROWS, open = (k >> slot) % 2;
    float out[N];
    hpc_test_feed(e, slot, f->x, (uint32_t)(7 * k + slot + 1), 1);
    test_ok(hpc_exec_write(e, slot, f->count, &count, sizeof count));
    test_ok(hpc_exec_write(e, slot, f->open, &open, sizeof open));
    test_ok(hpc_exec_enqueue(e, 0, slot));
    test_ok(hpc_exec_fetch(e, slot, f->sum, r->sum[k][slot], sizeof r->sum[k][slot]));
    test_ok(hpc_exec_fetch(e, slot, f->twice, r->twice[k][slot], sizeof r->twice[k][slot]));
    test_ok(hpc_exec_read(e, slot, f->out, out, sizeof out));
    memcpy(r->out[k][slot], out, (size_t)count * COLS * sizeof *out);
}

static void run_all(results *r, hpc_device *d)
{
    fixture f;
    hpc_exec *e;
    emit(&f);
    memset(r, 0, sizeof *r);
    test_ok(hpc_exec_open(&e, f.p, d, NULL, &(hpc_exec_options){.slots = SLOTS}));
    for (int k = 0; k < RUNS; k++)
        for (int slot = 0; slot < SLOTS; slot++) run_slot(r, e, &f, k, slot);
    hpc_exec_close(e);
    hpc_program_free(f.p);
}

/* ---- bits ----------------------------------------------------------------------------------- */

/* The shim's backend, with counts. */
typedef struct counted {
    hpc_backend backend;
    const hpc_backend *own;
    int captures, branches, replays;
} counted;

static counted *counted_of(hpc_device *d)
{
    return (counted *)(uintptr_t)d->backend;
}

static int count_capture(hpc_device *d)
{
    counted_of(d)->captures++;
    return counted_of(d)->own->capture(d);
}

static int count_branch(hpc_device *d, const int32_t *guard)
{
    counted_of(d)->branches++;
    return counted_of(d)->own->branch(d, guard);
}

static int count_replay(hpc_device *d, void *graph)
{
    counted_of(d)->replays++;
    return counted_of(d)->own->replay(d, graph);
}

static void count_graphs(counted *c, hpc_device *d)
{
    *c = (counted){.backend = *d->backend, .own = d->backend};
    c->backend.capture = count_capture;
    c->backend.branch = count_branch;
    c->backend.replay = count_replay;
    d->backend = &c->backend;
}

static void replays_have_the_bits_of_launches(void **state)
{
    static const char *const settings[] = {"ascending", "descending", "permuted"};
    static results one, graphs;
    (void)state;
    hpc_device *d = open_shim("graphs=off");
    run_all(&one, d);
    hpc_device_close(d);
    for (int k = 0; k < 3; k++) {
        counted c;
        d = open_shim(settings[k]);
        count_graphs(&c, d);
        run_all(&graphs, d);
        assert_memory_equal(&graphs, &one, sizeof one);
        assert_int_equal(c.captures, SLOTS);
        assert_int_equal(c.branches, 2 * SLOTS); /* begins and ends */
        assert_int_equal(c.replays, (RUNS - 1) * SLOTS);
        d->backend = c.own;
        hpc_device_close(d);
    }
}

/* ---- rules ---------------------------------------------------------------------------------- */

static void recordings_follow_the_rules_of_gpus(void **state)
{
    hpc_device *d = open_shim("ascending");
    const hpc_backend *b = d->backend;
    uint8_t host = 0;
    void *p, *graph;
    int event;
    (void)state;
    test_ok(hpc_device_alloc(&p, d, 64));
    test_ok(b->capture(d));
    test_fails(hpc_device_fence(d), HPC_E_FAULT, "a fence while a graph is captured");
    test_fails(hpc_device_copy(d, HPC_COMPUTE, &host, p, 1, HPC_TO_HOST), HPC_E_FAULT,
               "a copy of host memory while a graph is captured");
    test_fails(b->wait(d, HPC_COPY, 0), HPC_E_FAULT, "an event that was not recorded");
    test_ok(b->record(d, HPC_COMPUTE, &event));
    test_ok(b->wait(d, HPC_COPY, event));
    test_ok(hpc_device_fill(d, HPC_COPY, p, 1, 64));
    test_fails(b->captured(d, &graph), HPC_E_FAULT, "a graph has queues that are not joined");
    test_ok(b->capture(d));
    test_ok(hpc_device_fill(d, HPC_COMPUTE, p, 5, 64));
    test_ok(b->captured(d, &graph));
    test_ok(hpc_device_fill(d, HPC_COMPUTE, p, 7, 64)); /* recording has run nothing */
    test_ok(hpc_device_copy(d, HPC_COMPUTE, &host, p, 1, HPC_TO_HOST));
    test_ok(hpc_device_fence(d));
    assert_int_equal(host, 7);
    test_ok(b->replay(d, graph));
    test_ok(hpc_device_copy(d, HPC_COMPUTE, &host, p, 1, HPC_TO_HOST));
    test_ok(hpc_device_fence(d));
    assert_int_equal(host, 5);
    b->discard(d, graph);
    hpc_device_free(d, p);
    hpc_device_close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replays_have_the_bits_of_launches),
        cmocka_unit_test(recordings_follow_the_rules_of_gpus),
    };
    return cmocka_run_group_tests_name("cuda/graphs", tests, NULL, NULL);
}

/*
 * faults.c: an index, a page, a target, a step or a group out of range: the CUDA kernels fail with
 * the CPU's message, in every schedule and type, and run again once the input is valid.
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

#include "tests/support/command.h"
#include "tests/support/ops.h"

enum { TEXT = 256, INTS = 3, MOST = 8 };

/* Integer operands of an op, of one or two extents, with one element that is out of range. */
typedef struct integers {
    int64_t rows, cols; /* cols 0: a vector; rows 0 too: a scalar */
    int32_t wrong[MOST], right[MOST];
} integers;

typedef struct values { /* emitted, in the order of `integers` */
    hpc_value v[INTS];
} values;

typedef struct bad_run {
    const char *name;
    void (*emit)(hpc_program *p, const values *in, hpc_dtype d);
    integers in[INTS];
    const char *part; /* of the message */
} bad_run;

static hpc_value real(hpc_program *p, const char *name, hpc_type t)
{
    return hpc_program_input(p, name, t);
}

/* ---- ops --------------------------------------------------------------------------------- */

static void gather(hpc_program *p, const values *in, hpc_dtype d)
{
    hpc_program_keep(p, hpc_gather(p, real(p, "x", test_type(d, 7, 5)), in->v[0]));
}

static void scatter(hpc_program *p, const values *in, hpc_dtype d)
{
    hpc_value x = real(p, "x", test_type(d, 4, 5));
    hpc_program_keep(p, hpc_scatter(p, HPC_NEW, x, in->v[0], (hpc_scatter_attr){.rows = 7}));
}

static void pick(hpc_program *p, const values *in, hpc_dtype d)
{
    (void)d;
    hpc_value x = real(p, "x", test_type(HPC_F32, 3, 4));
    hpc_program_keep(p, hpc_pick(p, HPC_NEW, x, in->v[0], x));
}

static void spread(hpc_program *p, const values *in, hpc_dtype d)
{
    (void)d;
    hpc_value x = real(p, "x", test_type(HPC_F32, 4)),
              like = real(p, "l", test_type(HPC_F32, 3, 4));
    hpc_program_keep(p, hpc_spread(p, HPC_NEW, x, in->v[0], like));
}

static void route(hpc_program *p, const values *in, hpc_dtype d)
{
    hpc_value count;
    (void)d;
    hpc_program_keep(p, hpc_route(p, in->v[0], 7, 2, &count));
}

static void dispatch(hpc_program *p, const values *in, hpc_dtype d)
{
    (void)d;
    hpc_program_keep(p, hpc_dispatch(p, in->v[0], (hpc_dispatch_attr){.experts = 5}).slot);
}

static void head(hpc_program *p, const values *in, hpc_dtype d)
{
    hpc_value x = real(p, "x", test_type(d, 4, 16)), w = real(p, "w", test_type(d, 9, 16));
    hpc_program_keep(p, hpc_head_loss(p, x, w, in->v[0]));
}

static void attend(hpc_program *p, const values *in, hpc_dtype d)
{
    const bool paged = in->v[1] >= 0;
    hpc_value q = real(p, "q", test_type(d, 3, 2, 16));
    hpc_value kv = real(p, "k", paged ? test_type(d, 2, 2, 1, 16) : test_type(d, 3, 1, 16));
    hpc_program_keep(p, hpc_attention(p, q, kv, kv, in->v[0], in->v[1], in->v[2],
                                      (hpc_attention_attr){.causal = true}));
}

typedef struct updated {
    hpc_value m, v, slope;
} updated;

static updated update(hpc_program *p)
{
    hpc_type t = test_type(HPC_F32, 5);
    return (updated){hpc_program_state(p, "m", t, false), hpc_program_state(p, "v", t, false),
                     real(p, "slope", t)};
}

static void adam(hpc_program *p, const values *in, hpc_dtype d)
{
    updated u = update(p);
    (void)d;
    hpc_program_keep(p, hpc_adam(p, HPC_NEW, u.m, u.v, u.slope, HPC_NONE, in->v[0], HPC_NONE,
                                 (hpc_adamw_attr){.eps = 1}));
}

static void adamw(hpc_program *p, const values *in, hpc_dtype d)
{
    updated u = update(p);
    hpc_value param = hpc_program_state(p, "param", test_type(HPC_F32, 5), true);
    hpc_value rate = real(p, "rate", hpc_type_of(HPC_F32, 0, NULL));
    (void)d;
    hpc_adamw(p, param, u.m, u.v, HPC_NONE, u.slope, rate, in->v[0], HPC_NONE,
              (hpc_adamw_attr){.eps = 1});
}

static void graph(hpc_program *p, const values *in, hpc_dtype d)
{
    const hpc_graph g = {in->v[0], in->v[1], HPC_NONE, HPC_NONE, HPC_NONE};
    hpc_value x = real(p, "x", test_type(d, 3, 4));
    hpc_program_keep(p, hpc_graph_reduce(p, HPC_NEW, x, HPC_NONE, &g, HPC_GRAPH_SUM));
}

static const bad_run runs[] = {
    {"gather", gather, {{4, 0, {0, 1, 7, 2}, {0, 1, 6, 2}}}, "index 7 at 2 is past the 7 rows"},
    {"scatter", scatter, {{4, 0, {0, 1, 9, 2}, {0, 1, 6, 2}}}, "index 9 at 2 is past the 7 rows"},
    {"pick", pick, {{4, 0, {0, 1, 2, 12}, {0, 1, 2, 11}}}, "12 at 3 is past the 12 elements"},
    {"spread", spread, {{4, 0, {0, 1, 2, 13}, {0, 1, 2, 3}}}, "13 at 3 is past the 12 elements"},
    {"route", route, {{4, 0, {0, 1, 7, 2}, {0, 1, 6, 2}}}, "token 2 goes to group 7 of 7"},
    {"full", route, {{4, 0, {3, 3, 1, 3}, {3, 3, 1, 2}}}, "group 3 has more than 2 tokens"},
    {"dispatch",
     dispatch,
     {{3, 2, {0, 1, 2, 5, 3, 4}, {0, 1, 2, 4, 3, 0}}},
     "token 1 goes to expert 5 of 5"},
    {"head_loss", head, {{4, 0, {0, 9, -1, 2}, {0, 8, -1, 2}}}, "row 1 is 9, of a vocabulary of 9"},
    {"starts", attend, {{3, 0, {0, 2, 4}, {0, 2, 3}}}, "sequence 1 has rows 2 to 4 of 3"},
    {"order", attend, {{3, 0, {0, 2, 1}, {0, 2, 3}}}, "sequence 1 has rows 2 to 1 of 3"},
    {"keys",
     attend,
     {{3, 0, {0, 1, 3}, {0, 1, 3}}, {2, 0, {1, 5}, {1, 4}}, {2, 2, {1, 0, 0, 1}, {1, 0, 0, 1}}},
     "sequence 1 has 5 keys, its pages hold 4"},
    {"page",
     attend,
     {{3, 0, {0, 1, 3}, {0, 1, 3}}, {2, 0, {3, 2}, {3, 2}}, {2, 2, {1, 9, 0, 1}, {1, 0, 0, 1}}},
     "page 1 of sequence 0 is 9, of 2"},
    {"adam", adam, {{0, 0, {0}, {1}}}, "step is 0, steps count from 1"},
    {"adamw", adamw, {{0, 0, {-3}, {1}}}, "step is -3, steps count from 1"},
    {"edges",
     graph,
     {{5, 0, {0, 2, 1, 5, 6}, {0, 2, 2, 5, 6}}, {6, 0, {0, 1, 2, 0, 0, 2}, {0, 1, 2, 0, 0, 2}}},
     "start[2] is 1, after 2, of 6 edges"},
    {"source",
     graph,
     {{5, 0, {0, 2, 2, 5, 6}, {0, 2, 2, 5, 6}}, {6, 0, {0, 1, 3, 0, 0, 2}, {0, 1, 2, 0, 0, 2}}},
     "index 3 at 2 is not one of 3 rows"},
};
enum { RUNS = sizeof runs / sizeof *runs };

/* ---- running ------------------------------------------------------------------------------ */

static hpc_program *emit(values *in, const bad_run *b, hpc_dtype d)
{
    hpc_program *p = hpc_program_create();
    test_ok(hpc_program_segment(p, HPC_FORWARD, 0));
    for (int k = 0; k < INTS; k++) {
        const integers *i = &b->in[k];
        const char name[] = {(char)('0' + k), 0};
        const bool given = k == 0 || i->rows > 0;
        in->v[k] = given ? hpc_program_input(p, name,
                                             hpc_type_of(HPC_I32, (i->rows > 0) + (i->cols > 0),
                                                         (int64_t[]){i->rows, i->cols}))
                         : HPC_NONE;
    }
    b->emit(p, in, d);
    test_ok(hpc_program_check(p));
    return p;
}

static void write_integers(hpc_exec *e, const values *in, const bad_run *b, bool right)
{
    for (int k = 0; k < INTS; k++)
        if (in->v[k] >= 0)
            hpc_test_write_i32(e, 0, in->v[k], right ? b->in[k].right : b->in[k].wrong);
}

/* The message of the run, without the position in front, and its code. */
static int message_of(char text[TEXT], const bad_run *b, hpc_dtype d, hpc_device *device)
{
    values in;
    hpc_exec *e;
    hpc_program *p = emit(&in, b, d);
    test_ok(hpc_exec_open(&e, p, device, NULL, NULL));
    for (hpc_value v = 0; v < p->value_n; v++)
        if (p->value[v].kind != HPC_VALUE_TEMP && p->value[v].type.dtype != HPC_I32)
            hpc_test_feed(e, 0, v, 1, 1);
    write_integers(e, &in, b, false);
    const int rc = hpc_exec_run(e, 0, 0);
    const char *all = hpc_error_get()->text, *colon = strstr(all, ": ");
    if (rc == HPC_OK) fail_msg("%s on %s: no fault", b->name, hpc_device_about(device).backend);
    assert_true(strncmp(all, "forward[0] #0", 13) == 0);
    snprintf(text, TEXT, "%s", colon + 2);
    hpc_error_clear();
    write_integers(e, &in, b, true);
    test_ok(hpc_exec_run(e, 0, 0));
    hpc_exec_close(e);
    hpc_program_free(p);
    return rc;
}

static void compare(const bad_run *b, hpc_dtype d, hpc_device *cpu, hpc_device *shim)
{
    char want[TEXT], got[TEXT];
    const int code = message_of(want, b, d, cpu);
    assert_non_null(strstr(want, b->part));
    assert_int_equal(message_of(got, b, d, shim), code);
    assert_string_equal(got, want);
}

static void faults_have_the_cpus_messages(void **state)
{
    static const char *const schedules[] = {"ascending", "descending", "permuted"};
    char library[PATH_MAX];
    hpc_device *cpu, *shim;
    (void)state;
    hpc_test_built(library, "hpccoder-cuda-shim.so");
    test_ok(hpc_device_open(&cpu, &(hpc_device_options){.threads = 1}));
    for (int s = 0; s < 3; s++) {
        test_ok(hpc_device_open(&shim, &(hpc_device_options){.backend = "cuda-shim",
                                                             .library = library,
                                                             .isa = schedules[s]}));
        for (int k = 0; k < RUNS; k++) {
            compare(&runs[k], HPC_F32, cpu, shim);
            compare(&runs[k], HPC_BF16, cpu, shim);
        }
        hpc_device_close(shim);
    }
    hpc_device_close(cpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(faults_have_the_cpus_messages)};
    return cmocka_run_group_tests_name("cuda/faults", tests, NULL, NULL);
}

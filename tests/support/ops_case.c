/*
 * ops_case.c: builds cases of ops.h and transfers their values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/ops.h"

/* ---- building a case ---------------------------------------------------------------- */

void hpc_test_case_begin(hpc_test_case *c, void **state, const char *name, ...)
{
    va_list list;
    *c = (hpc_test_case){.bench = *state, .same = {HPC_NONE, HPC_NONE}};
    va_start(list, name);
    vsnprintf(c->name, sizeof c->name, name, list);
    va_end(list);
    hpc_test_bench_hold(c->bench, 1);
    c->p = hpc_program_create();
    assert_non_null(c->p);
    test_ok(hpc_program_segment(c->p, HPC_FORWARD, 0));
}

void hpc_test_round(double *x, hpc_dtype d, int64_t n)
{
    if (!hpc_dtype_get(d)->real || hpc_dtype_get(d)->quantised || d == HPC_F64) return;
    float *f = hpc_alloc((size_t)n + 1, sizeof *f);
    void *narrow = hpc_alloc((size_t)n + 1, sizeof *f);
    for (int64_t i = 0; i < n; i++) f[i] = (float)x[i];
    hpc_from_f32(narrow, d, f, n);
    hpc_to_f32(f, narrow, d, n);
    for (int64_t i = 0; i < n; i++) x[i] = (double)f[i];
    hpc_free(narrow);
    hpc_free(f);
}

static hpc_test_given *add_given(hpc_test_case *c, hpc_value v)
{
    test_ok(hpc_program_status(c->p));
    assert_true(c->given_n < HPC_TEST_GIVEN_MOST);
    hpc_test_given *g = &c->given[c->given_n++];
    g->value = v;
    g->n = hpc_test_n(c->p, v);
    g->data = hpc_alloc((size_t)g->n + 1, sizeof *g->data);
    assert_non_null(g->data);
    return g;
}

static const char *next_name(char out[16], const hpc_test_case *c)
{
    snprintf(out, 16, "v%d", c->given_n);
    return out;
}

static void quantise(hpc_test_given *g, const hpc_type *t)
{
    float *f = hpc_alloc((size_t)g->n + 1, sizeof *f);
    g->raw = hpc_alloc(hpc_type_bytes(t), 1);
    for (int64_t i = 0; i < g->n; i++) f[i] = (float)g->data[i];
    hpc_from_f32(g->raw, (hpc_dtype)t->dtype, f, g->n);
    hpc_to_f32(f, g->raw, (hpc_dtype)t->dtype, g->n);
    for (int64_t i = 0; i < g->n; i++) g->data[i] = (double)f[i];
    hpc_free(f);
}

static hpc_value draw(hpc_test_case *c, hpc_value v, double scale)
{
    const hpc_type *t = &c->p->value[v].type;
    hpc_test_given *g = add_given(c, v);
    hpc_test_draw(g->data, g->n, (uint32_t)c->given_n, scale);
    if (hpc_dtype_get((hpc_dtype)t->dtype)->quantised)
        quantise(g, t);
    else
        hpc_test_round(g->data, (hpc_dtype)t->dtype, g->n);
    return v;
}

hpc_value hpc_test_input(hpc_test_case *c, hpc_type t, double scale)
{
    char name[16];
    return draw(c, hpc_program_input(c->p, next_name(name, c), t), scale);
}

hpc_value hpc_test_state(hpc_test_case *c, hpc_type t, double scale, bool trainable)
{
    char name[16];
    return draw(c, hpc_program_state(c->p, next_name(name, c), t, trainable), scale);
}

hpc_value hpc_test_input_of(hpc_test_case *c, hpc_type t, const double *data)
{
    char name[16];
    hpc_test_given *g = add_given(c, hpc_program_input(c->p, next_name(name, c), t));
    memcpy(g->data, data, (size_t)g->n * sizeof *data);
    hpc_test_round(g->data, (hpc_dtype)t.dtype, g->n);
    return g->value;
}

hpc_value hpc_test_indices(hpc_test_case *c, hpc_type t, const int32_t *data)
{
    char name[16];
    hpc_test_given *g = add_given(c, hpc_program_input(c->p, next_name(name, c), t));
    for (int64_t i = 0; i < g->n; i++) g->data[i] = data[i];
    return g->value;
}

hpc_value hpc_test_scalar(hpc_test_case *c, hpc_dtype d, double x)
{
    return hpc_test_input_of(c, hpc_type_of(d, 0, NULL), &x);
}

void hpc_test_zeros(hpc_test_case *c, hpc_value v)
{
    add_given(c, v)->constant = true;
}

hpc_test_given *hpc_test_given_of(hpc_test_case *c, hpc_value v)
{
    for (int k = 0; k < c->given_n; k++)
        if (c->given[k].value == v) return &c->given[k];
    fail();
    return NULL;
}

hpc_value hpc_test_temporary(hpc_test_case *c, hpc_value x)
{
    return hpc_copy(c->p, x, (hpc_dtype)c->p->value[x].type.dtype);
}

void hpc_test_want(hpc_test_case *c, hpc_value v, hpc_test_bound bound)
{
    test_ok(hpc_program_status(c->p));
    assert_true(c->wanted_n < HPC_TEST_WANTED_MOST);
    c->wanted[c->wanted_n++] =
        (hpc_test_wanted){.value = v, .bound = bound, .terms = c->terms, .exponent = c->exponent};
    hpc_program_keep(c->p, v);
    hpc_program_keep(c->p, c->p->value[v].type.count);
}

void hpc_test_in_place(hpc_test_case *c, hpc_value y, hpc_value x)
{
    c->same[0] = y;
    c->same[1] = x;
}

void hpc_test_case_free(hpc_test_case *c)
{
    for (int k = 0; k < c->given_n; k++) {
        hpc_free(c->given[k].data);
        hpc_free(c->given[k].raw);
    }
    for (int k = 0; k < c->wanted_n; k++) {
        hpc_free(c->wanted[k].correct);
        hpc_free(c->wanted[k].live);
    }
    hpc_program_free(c->p);
    hpc_test_bench_hold(c->bench, -1);
}

/* ---- values in and out --------------------------------------------------------------- */

double *hpc_test_fetch(hpc_exec *e, const hpc_program *p, hpc_value v, int64_t *n)
{
    const hpc_type *t = &p->value[v].type;
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)t->dtype);
    size_t bytes = hpc_type_bytes(t);
    *n = (int64_t)(bytes / info->block_bytes) * info->block;
    void *raw = hpc_alloc(bytes + 1, 1);
    double *x = hpc_alloc((size_t)*n + 1, sizeof *x);
    float *f = hpc_alloc((size_t)*n + 1, sizeof *f);
    test_ok(hpc_exec_read(e, 0, v, raw, bytes));
    switch (t->dtype) {
    case HPC_F64: memcpy(x, raw, bytes); break;
    case HPC_I32:
        for (int64_t i = 0; i < *n; i++) x[i] = ((const int32_t *)raw)[i];
        break;
    case HPC_I64:
        for (int64_t i = 0; i < *n; i++) x[i] = (double)((const int64_t *)raw)[i];
        break;
    default:
        hpc_to_f32(f, raw, (hpc_dtype)t->dtype, *n);
        for (int64_t i = 0; i < *n; i++) x[i] = (double)f[i];
    }
    hpc_free(f);
    hpc_free(raw);
    return x;
}

bool *hpc_test_live(hpc_exec *e, const hpc_program *p, hpc_value v, int64_t n)
{
    const hpc_type *t = &p->value[v].type;
    bool *live = hpc_alloc((size_t)n + 1, sizeof *live);
    int64_t counts = 0, inner = 1;
    memset(live, true, (size_t)n);
    if (t->ragged < 0) return live;
    double *count = hpc_test_fetch(e, p, t->count, &counts);
    for (int d = t->ragged + 1; d < t->rank; d++) inner *= t->extent[d];
    int64_t extent = t->extent[t->ragged];
    for (int64_t i = 0; i < n; i++)
        live[i] = (double)(i / inner % extent) < count[i / inner / extent];
    hpc_free(count);
    return live;
}

/* Counts come first in the list of what is given, for they are named by types that follow. */
void hpc_test_give(hpc_exec *e, const hpc_program *p, const hpc_test_case *c)
{
    for (int k = 0; k < c->given_n; k++) {
        const hpc_test_given *g = &c->given[k];
        const hpc_type *t = &p->value[g->value].type;
        if (g->raw && t->dtype != HPC_F64) {
            test_ok(hpc_exec_write(e, 0, g->value, g->raw, hpc_type_bytes(t)));
            continue;
        }
        bool made = t->ragged >= 0 && p->value[t->count].kind == HPC_VALUE_TEMP;
        double *x = hpc_alloc((size_t)g->n + 1, sizeof *x);
        memcpy(x, g->data, (size_t)g->n * sizeof *x);
        if (t->ragged >= 0 && !made) {
            bool *live = hpc_test_live(e, p, g->value, g->n);
            double spoiled = t->dtype == HPC_I32 ? INT32_MAX : (double)NAN;
            for (int64_t i = 0; i < g->n; i++)
                if (!live[i]) x[i] = spoiled;
            hpc_free(live);
        }
        hpc_test_write(e, 0, g->value, x);
        hpc_free(x);
    }
}

/*
 * values.c: see values.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "runtime/program/run/priv.h"
#include "tests/support/values.h"

int64_t hpc_test_n(const hpc_program *p, hpc_value v)
{
    int64_t n = 1;
    for (int k = 0; k < p->value[v].type.rank; k++) n *= p->value[v].type.extent[k];
    return n;
}

static const hpc_program *program_of(const hpc_exec *e)
{
    return e->p;
}

static void convert_to(void *dst, hpc_dtype d, const double *x, int64_t n)
{
    float *f = NULL;
    switch (d) {
    case HPC_F64: memcpy(dst, x, (size_t)n * 8); return;
    case HPC_I32:
        for (int64_t i = 0; i < n; i++) ((int32_t *)dst)[i] = (int32_t)x[i];
        return;
    case HPC_I64:
        for (int64_t i = 0; i < n; i++) ((int64_t *)dst)[i] = (int64_t)x[i];
        return;
    default: break;
    }
    f = hpc_alloc((size_t)n + 1, sizeof *f);
    for (int64_t i = 0; i < n; i++) f[i] = (float)x[i];
    hpc_from_f32(dst, d, f, n);
    hpc_free(f);
}

static void convert_from(double *x, const void *src, hpc_dtype d, int64_t n)
{
    float *f = NULL;
    switch (d) {
    case HPC_F64: memcpy(x, src, (size_t)n * 8); return;
    case HPC_I32:
        for (int64_t i = 0; i < n; i++) x[i] = ((const int32_t *)src)[i];
        return;
    case HPC_I64:
        for (int64_t i = 0; i < n; i++) x[i] = (double)((const int64_t *)src)[i];
        return;
    default: break;
    }
    f = hpc_alloc((size_t)n + 1, sizeof *f);
    hpc_to_f32(f, src, d, n);
    for (int64_t i = 0; i < n; i++) x[i] = f[i];
    hpc_free(f);
}

void hpc_test_write(hpc_exec *e, int slot, hpc_value v, const double *x)
{
    const hpc_program *p = program_of(e);
    size_t bytes = hpc_type_bytes(&p->value[v].type);
    void *data = hpc_alloc(bytes + 1, 1);
    convert_to(data, (hpc_dtype)p->value[v].type.dtype, x, hpc_test_n(p, v));
    test_ok(hpc_exec_write(e, slot, v, data, bytes));
    hpc_free(data);
}

void hpc_test_read(hpc_exec *e, int slot, hpc_value v, double *x)
{
    const hpc_program *p = program_of(e);
    size_t bytes = hpc_type_bytes(&p->value[v].type);
    void *data = hpc_alloc(bytes + 1, 1);
    test_ok(hpc_exec_read(e, slot, v, data, bytes));
    convert_from(x, data, (hpc_dtype)p->value[v].type.dtype, hpc_test_n(p, v));
    hpc_free(data);
}

void hpc_test_write_i32(hpc_exec *e, int slot, hpc_value v, const int32_t *x)
{
    test_ok(hpc_exec_write(e, slot, v, x, hpc_type_bytes(&program_of(e)->value[v].type)));
}

void hpc_test_write_scalar(hpc_exec *e, int slot, hpc_value v, double x)
{
    hpc_test_write(e, slot, v, &x);
}

void hpc_test_draw(double *x, int64_t n, uint32_t seed, double scale)
{
    float *f = hpc_alloc((size_t)n + 1, sizeof *f);
    hpc_random_fill_normal(f, n, 99, seed, 0, 0);
    for (int64_t i = 0; i < n; i++) x[i] = scale * f[i];
    hpc_free(f);
}

void hpc_test_feed(hpc_exec *e, int slot, hpc_value v, uint32_t seed, double scale)
{
    int64_t n = hpc_test_n(program_of(e), v);
    double *x = hpc_alloc((size_t)n + 1, sizeof *x);
    hpc_test_draw(x, n, seed, scale);
    hpc_test_write(e, slot, v, x);
    hpc_free(x);
}

double hpc_test_error(const double *a, const double *b, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]) / (1 + fabs(b[i]));
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

/*
 * lab.h: one matrix under an optimizer, for tests of updates and roots.
 */
#ifndef HPC_TEST_TRAIN_LAB_H
#define HPC_TEST_TRAIN_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/support/values.h"
#include "train/update_priv.h"

enum { MOST = 96 * 96 };

/* One matrix under an optimizer. */
typedef struct lab {
    hpc_optimizer_config o;
    hpc_program *p;
    hpc_device *d;
    hpc_exec *e;
    hpc_step io;
    target t;
    int refresh, update;
} lab;

static inline hpc_value scalar_input(lab *l, const char *name, hpc_dtype d)
{
    return hpc_program_input(l->p, name, hpc_type_of(d, 0, NULL));
}

static inline void begin_states(lab *l)
{
    static float data[MOST];
    static double wide[MOST];
    hpc_model_config c = HPC_MODEL_CONFIG_DEFAULTS;
    for (hpc_value v = 0; v < l->p->value_n; v++) {
        if (l->p->value[v].kind != HPC_VALUE_STATE || v == l->t.param || v == l->t.grad) continue;
        int64_t n = hpc_test_n(l->p, v);
        assert_true(n <= MOST);
        hpc_step_initial(data, &l->io, v, &l->p->value[v].type, &c);
        for (int64_t k = 0; k < n; k++) wide[k] = (double)data[k];
        hpc_test_write(l->e, 0, v, wide);
    }
}

/* batch 0: a matrix alone. */
static inline void open_batch(lab *l, int64_t batch, int64_t m, int64_t n, bool wide)
{
    update u = {.o = &l->o, .io = &l->io, .clip = HPC_NONE};
    const int64_t extent[] = {batch, m, n};
    hpc_type type = hpc_type_of(HPC_F32, batch ? 3 : 2, batch ? extent : extent + 1);
    l->p = u.p = hpc_program_create();
    l->io.model.freq = HPC_NONE;
    l->t = (target){.name = "w",
                    .half = HPC_NONE,
                    .index = HPC_NONE,
                    .batch = batch,
                    .m = m,
                    .n = n,
                    .decay = l->o.decay};
    l->t.param = hpc_program_state(l->p, "w", type, true);
    l->t.grad = hpc_program_input(l->p, "g", type);
    l->io.lr = scalar_input(l, "lr", HPC_F32);
    l->io.model.step = scalar_input(l, "step", HPC_I32);
    l->refresh = hpc_program_segment(l->p, HPC_REFRESH, 0);
    if (l->o.kind > HPC_OPT_MUON) refresh_preconditioned(&u, &l->t);
    l->update = hpc_program_segment(l->p, HPC_UPDATE, 1);
    l->o.kind == HPC_OPT_MUON ? update_muon(&u, &l->t) : update_preconditioned(&u, &l->t);
    test_ok(hpc_program_status(l->p));
    if (wide) test_ok(hpc_to_double(l->p));
    test_ok(hpc_program_check(l->p));
    test_ok(hpc_device_open(&l->d, &(hpc_device_options){.threads = 2}));
    test_ok(hpc_exec_open(&l->e, l->p, l->d, NULL, &(hpc_exec_options){.poison = 1}));
    begin_states(l);
    hpc_test_write_scalar(l->e, 0, l->io.lr, 0.1);
    hpc_test_write_scalar(l->e, 0, l->io.model.step, 1);
}

static inline void open_lab(lab *l, int64_t m, int64_t n, bool wide)
{
    open_batch(l, 0, m, n, wide);
}

static inline void close_lab(lab *l)
{
    hpc_exec_close(l->e);
    hpc_device_close(l->d);
    hpc_program_free(l->p);
}

static inline void refresh(lab *l, const double *g)
{
    hpc_test_write(l->e, 0, l->t.grad, g);
    test_ok(hpc_exec_run(l->e, l->refresh, 0));
}

static inline void read_state(lab *l, const char *name, double *out)
{
    hpc_value v = hpc_program_find(l->p, name);
    assert_true(v >= 0);
    hpc_test_read(l->e, 0, v, out);
}

/* c [m,n] = op(a) [m,k] op(b) [k,n]. */
static inline void times(double *c, const double *a, bool ta, const double *b, bool tb, int m,
                         int k, int n)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int h = 0; h < k; h++)
                sum += a[ta ? h * m + i : i * k + h] * b[tb ? j * k + h : h * n + j];
            c[i * n + j] = sum;
        }
}

#endif

/*
 * model.c: see model.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "tests/support/model.h"

static hpc_dtype real_of(const hpc_test_model *m)
{
    return m->c.dtype == HPC_F64 ? HPC_F64 : HPC_F32;
}

static hpc_value moment(hpc_test_model *m, const char *kind, hpc_value param)
{
    char name[160];
    hpc_type t = m->p->value[param].type;
    t.dtype = (uint8_t)real_of(m);
    snprintf(name, sizeof name, "%s.%s", kind, m->p->value[param].name);
    return hpc_program_state(m->p, name, t, false);
}

static void emit_update(hpc_test_model *m, hpc_test_steps steps)
{
    hpc_program *p = m->p;
    m->update = hpc_program_segment(p, HPC_UPDATE, 0);
    m->lr = hpc_program_input(p, "lr", hpc_type_of(real_of(m), 0, NULL));
    for (int64_t k = 0; k < m->list_n; k++) {
        hpc_value v = hpc_program_find(p, m->list[k].name), grad = p->value[v].grad;
        if (grad < 0) continue;
        hpc_value first = moment(m, "m", v);
        if (steps == HPC_TEST_SGD)
            hpc_sgd(p, v, first, grad, m->lr, (hpc_sgd_attr){.momentum = 0.9, .decay = 0.01});
        else
            hpc_adamw(p, v, first, moment(m, "v", v), HPC_NONE, grad, m->lr, m->io.step, HPC_NONE,
                      (hpc_adamw_attr){0.9, 0.95, 1e-8, m->list[k].decay ? 0.1 : 0});
        hpc_fill(p, grad, 0);
    }
}

static void emit_backward(hpc_test_model *m)
{
    hpc_type t = m->p->value[m->io.loss].type;
    if (m->io.targets >= 0) t.layout[HPC_AXIS_DATA] = HPC_SPLIT(0);
    m->weight = hpc_program_input(m->p, "weight", t);
    m->backward = hpc_program_segment(m->p, HPC_BACKWARD, 0);
    hpc_diff_options d = {.forward = m->io.forward,
                          .backward = m->backward,
                          .accumulate = -1,
                          .seed_of = &m->io.loss,
                          .seed = &m->weight,
                          .seed_n = 1};
    test_ok(hpc_differentiate(m->p, &d));
}

void hpc_test_model_emit(hpc_test_model *m, const hpc_model_config *c, int64_t tokens,
                         int64_t sequences, hpc_test_steps steps)
{
    *m = (hpc_test_model){.c = *c, .backward = -1, .update = -1, .weight = -1, .lr = -1};
    m->p = hpc_program_create();
    test_ok(hpc_model_emit(&m->io, m->p, c,
                           &(hpc_model_emission){.tokens = tokens,
                                                 .sequences = sequences,
                                                 .logits = steps == HPC_TEST_LOGITS}));
    test_ok(hpc_model_tensors(&m->list, &m->list_n, c));
    if (steps >= HPC_TEST_GRADIENT) emit_backward(m);
    if (steps > HPC_TEST_GRADIENT) emit_update(m, steps);
    test_ok(hpc_program_status(m->p));
    test_ok(hpc_program_check(m->p));
}

void hpc_test_model_begin(hpc_test_model *m, hpc_grid *grid)
{
    const hpc_model_config *c = &m->c;
    float freq[256];
    double wide[256];
    test_ok(hpc_device_open(&m->d, &(hpc_device_options){.backend = "cpu", .threads = 1}));
    test_ok(hpc_exec_open(&m->e, m->p, m->d, grid, &(hpc_exec_options){.poison = 1}));
    if (m->io.first >= 0) hpc_test_write_scalar(m->e, 0, m->io.first, 0);
    if (m->io.freq < 0) return;
    assert_true(hpc_rope_frequencies_n(c) <= 256);
    hpc_rope_frequencies(freq, c);
    for (int64_t i = 0; i < hpc_rope_frequencies_n(c); i++) wide[i] = freq[i];
    hpc_test_write(m->e, 0, m->io.freq, wide);
    if (m->io.local_freq < 0) return;
    hpc_rope_local_frequencies(freq, c);
    for (int64_t i = 0; i < hpc_rope_frequencies_n(c); i++) wide[i] = freq[i];
    hpc_test_write(m->e, 0, m->io.local_freq, wide);
}

void hpc_test_model_open(hpc_test_model *m, const hpc_model_config *c, int64_t tokens,
                         int64_t sequences, hpc_test_steps steps)
{
    hpc_test_model_emit(m, c, tokens, sequences, steps);
    hpc_test_model_begin(m, NULL);
}

void hpc_test_model_close(hpc_test_model *m)
{
    hpc_exec_close(m->e);
    hpc_device_close(m->d);
    hpc_program_free(m->p);
    hpc_free(m->list);
}

int64_t hpc_test_model_tensor_n(const hpc_model_tensor *t)
{
    return hpc_model_tensor_n(t);
}

void hpc_test_model_draw(hpc_test_model *m, uint32_t seed, double scale)
{
    for (int64_t k = 0; k < m->list_n; k++) {
        const hpc_model_tensor *t = &m->list[k];
        int64_t n = hpc_test_model_tensor_n(t);
        double *x = hpc_alloc((size_t)n, sizeof *x);
        hpc_test_draw(x, n, seed + (uint32_t)k, scale);
        for (int64_t i = 0; i < n && t->role == HPC_ROLE_NORM; i++) x[i] += 1;
        hpc_test_write(m->e, 0, hpc_program_find(m->p, t->name), x);
        hpc_free(x);
    }
}

static void feed_weights(hpc_test_model *m, const int32_t *target, int64_t counted)
{
    int64_t n = hpc_test_n(m->p, m->weight);
    double *x = hpc_alloc((size_t)n, sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = m->io.targets >= 0 ? (target[i] < 0 ? 0 : 1.0 / (double)counted) : 1.0 / (double)n;
    hpc_test_write(m->e, 0, m->weight, x);
    hpc_free(x);
}

int64_t hpc_test_model_feed(hpc_test_model *m, const int32_t *token, const int32_t *length,
                            int documents)
{
    enum { MOST = 512 };
    int32_t target[MOST], pos[MOST], start[64] = {0}, n = 0;
    int64_t counted = 0;
    assert_true(documents < 64);
    for (int d = 0; d < documents; d++) {
        assert_true(n + length[d] <= MOST);
        for (int32_t i = 0; i < length[d]; i++) {
            pos[n + i] = i;
            target[n + i] = i + 1 < length[d] ? token[n + i + 1] : -1;
        }
        n += length[d];
        counted += length[d] - 1;
        start[d + 1] = n;
    }
    assert_int_equal(n, hpc_test_n(m->p, m->io.tokens));
    hpc_test_write_i32(m->e, 0, m->io.tokens, token);
    hpc_test_write_i32(m->e, 0, m->io.pos, pos);
    hpc_test_write_i32(m->e, 0, m->io.start, start);
    hpc_test_write_scalar(m->e, 0, m->io.start_n, documents + 1);
    if (m->io.targets >= 0) hpc_test_write_i32(m->e, 0, m->io.targets, target);
    if (m->weight >= 0) feed_weights(m, target, counted);
    return counted;
}

static double weighted_loss(hpc_test_model *m)
{
    double loss[512], weight[512], sum = 0;
    int64_t n = hpc_test_n(m->p, m->io.loss);
    assert_true(n <= 512);
    hpc_test_read(m->e, 0, m->io.loss, loss);
    for (int64_t i = 0; i < n; i++) weight[i] = 1;
    if (m->weight >= 0) hpc_test_read(m->e, 0, m->weight, weight);
    for (int64_t i = 0; i < n; i++) sum += weight[i] * loss[i];
    return sum;
}

double hpc_test_model_step(hpc_test_model *m, int step, double lr)
{
    hpc_test_write_scalar(m->e, 0, m->io.step, step);
    if (m->lr >= 0) hpc_test_write_scalar(m->e, 0, m->lr, lr);
    for (int s = 0; s < m->p->segment_n; s++) test_ok(hpc_exec_run(m->e, s, 0));
    return m->io.loss >= 0 ? weighted_loss(m) : 0;
}

/*
 * family.c: see family.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/family.h"
#include "tests/support/folder.h"
#include "tests/support/stream.h"

enum { MOST = HPC_TEST_FAMILY_MOST, EACH = HPC_TEST_PROJECTIONS + 1 };

const char *hpc_test_family_path(char *out, const char *fixture, const char *file)
{
    snprintf(out, PATH_MAX, "tests/fixtures/families/%s%s", fixture, file);
    return out;
}

int64_t hpc_test_family_expected(double *out, const char *fixture, const char *tensor)
{
    char path[PATH_MAX];
    hpc_safetensors *s;
    hpc_stored_tensor t;
    float f[MOST];
    hpc_test_family_path(path, fixture, "/expected.safetensors");
    test_ok(hpc_safetensors_open(&s, path));
    test_ok(hpc_safetensors_find(&t, s, tensor));
    int64_t n = (int64_t)(t.bytes / hpc_dtype_get(t.dtype)->block_bytes);
    assert_true(n <= MOST);
    hpc_to_f32(f, t.data, t.dtype, n);
    for (int64_t i = 0; i < n; i++) out[i] = f[i];
    hpc_safetensors_close(s);
    return n;
}

double hpc_test_distance(const double *a, const double *b, int64_t n, double least)
{
    double most = least, apart = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);
        if (!(d <= apart)) apart = d; /* NaN too, and it stays */
        if (fabs(b[i]) > most) most = fabs(b[i]);
    }
    return most > 0 ? apart / most : apart;
}

void hpc_test_family_load(hpc_test_model *m, const char *dir)
{
    float f[MOST];
    double x[MOST];
    hpc_weights *w;
    test_ok(hpc_weights_open(&w, dir, &m->c));
    for (int64_t k = 0; k < m->list_n; k++) {
        int64_t n = hpc_test_model_tensor_n(&m->list[k]);
        assert_true(n <= MOST);
        assert_true(hpc_weights_has(w, &m->list[k]));
        test_ok(hpc_weights_read(f, w, &m->list[k]));
        for (int64_t i = 0; i < n; i++) x[i] = f[i];
        hpc_test_write(m->e, 0, hpc_program_find(m->p, m->list[k].name), x);
    }
    hpc_weights_close(w);
}

void hpc_test_family_feed(hpc_test_model *m, const char *fixture)
{
    double token[64], length[8];
    int32_t tokens[64], lengths[8];
    int64_t n = hpc_test_family_expected(token, fixture, "tokens");
    int64_t d = hpc_test_family_expected(length, fixture, "lengths");
    assert_true(n <= 64 && d <= 8);
    for (int64_t i = 0; i < n; i++) tokens[i] = (int32_t)token[i];
    for (int64_t i = 0; i < d; i++) lengths[i] = (int32_t)length[i];
    hpc_test_model_feed(m, tokens, lengths, (int)d);
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* Families that store weights of norms minus 1 also subtract 1 from these gradients. */
static int read_gradient(float *out, const hpc_model_tensor *t, void *user)
{
    const hpc_test_model *m = user;
    double x[MOST];
    hpc_value grad = m->p->value[hpc_program_find(m->p, t->name)].grad;
    bool shifted = strncmp(m->c.family, "gemma", 5) == 0 && t->role == HPC_ROLE_NORM;
    assert_true(grad >= 0);
    assert_true(hpc_test_model_tensor_n(t) <= MOST);
    hpc_test_read(m->e, 0, grad, x);
    for (int64_t i = 0; i < hpc_test_model_tensor_n(t); i++) out[i] = (float)(x[i] + shifted);
    return HPC_OK;
}

static int64_t first_after(const hpc_safetensors *s, const char *name)
{
    int64_t found = -1;
    hpc_stored_tensor t, best = {0};
    for (int64_t i = 0; i < hpc_safetensors_n(s); i++) {
        test_ok(hpc_safetensors_at(&t, s, i));
        if (name && strcmp(t.name, name) <= 0) continue;
        if (found < 0 || strcmp(t.name, best.name) < 0) found = i, best = t;
    }
    return found;
}

void hpc_test_family_gradients(hpc_test_model *m, const char *fixture, double bound)
{
    void *folder;
    char path[PATH_MAX];
    double want[MOST], got[EACH];
    hpc_safetensors *s;
    hpc_stored_tensor t = {0};
    hpc_weights_save_options o = {.dtype = HPC_F32, .read = read_gradient, .user = m};
    hpc_test_folder_setup(&folder);
    test_ok(hpc_weights_save(hpc_test_path(path, folder, "gradient"), &m->c, &o));
    test_ok(hpc_safetensors_open(&s, hpc_test_path(path, folder, "gradient/model.safetensors")));
    int64_t n = hpc_test_family_expected(want, fixture, "gradient") / EACH, at;
    assert_int_equal(n, hpc_safetensors_n(s));
    for (int64_t k = 0; k < n; k++) {
        assert_true((at = first_after(s, t.name)) >= 0);
        test_ok(hpc_safetensors_at(&t, s, at));
        hpc_test_projections(got, t.name, t.data, (int64_t)(t.bytes / sizeof(float)));
        double length = want[k * EACH + EACH - 1];
        double apart = hpc_test_distance(got, want + k * EACH, EACH, length);
        if (!(apart <= bound))
            print_error("%s: gradient of %s apart by %.3g\n", fixture, t.name, apart);
        assert_true(length > 0 && apart <= bound);
    }
    hpc_safetensors_close(s);
    hpc_test_folder_teardown(&folder);
}

/*
 * torch.c: see torch.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/expect.h"
#include "tests/support/torch.h"

enum { WANT_MOST = 8 };
/* The fixtures' own rounding is 5e-11 at most. */
static const double BOUND_F64 = 1e-10;

/* ---- numbers -------------------------------------------------------------------- */

hpc_json *hpc_test_torch_file(const char *family)
{
    char path[64];
    snprintf(path, sizeof path, "tests/fixtures/torch/%s.json.zst", family);
    return hpc_test_json(path);
}

const hpc_json *hpc_test_torch_find(const hpc_json *root, const char *name)
{
    const hpc_json *item = hpc_json_get(hpc_json_get(root, "cases"), name);
    if (!item) print_error("the fixture has no case %s\n", name);
    assert_non_null(item);
    return item;
}

bool hpc_test_torch_has(const hpc_json *item, const char *section, const char *name)
{
    const hpc_json *s = hpc_json_get(item, section);
    return s && hpc_json_get(s, name);
}

hpc_test_numbers hpc_test_torch_read(const hpc_json *item, const char *section, const char *name)
{
    hpc_test_numbers t = {.n = 1};
    const hpc_json *at = hpc_json_get(item, section);
    if (at && name) at = hpc_json_get(at, name);
    if (!at) print_error("the fixture has no %s %s\n", section, name ? name : "");
    assert_non_null(at);
    const hpc_json *shape = hpc_json_get(at, "shape"), *data = hpc_json_get(at, "data");
    bool f32 = !strcmp(section, "given") || !strcmp(section, "seed");
    assert_true(hpc_json_n(shape) <= HPC_RANK_MAX);
    t.rank = (int)hpc_json_n(shape);
    for (int k = 0; k < t.rank; k++) {
        test_ok(hpc_json_int(&t.extent[k], hpc_json_at(shape, k), "shape"));
        t.n *= t.extent[k];
    }
    assert_int_equal(hpc_json_n(data), t.n);
    t.data = hpc_alloc((size_t)t.n + 1, sizeof *t.data);
    assert_non_null(t.data);
    for (int64_t i = 0; i < t.n; i++) {
        test_ok(hpc_json_real(&t.data[i], hpc_json_at(data, i), "data"));
        if (f32) t.data[i] = (float)t.data[i];
    }
    return t;
}

double hpc_test_torch_attr(const hpc_json *item, const char *name, double if_absent)
{
    const hpc_json *v = hpc_json_get(hpc_json_get(item, "attr"), name);
    double x = if_absent;
    bool yes;
    if (!v) return if_absent;
    if (hpc_json_kind_of(v) == HPC_JSON_BOOL) {
        test_ok(hpc_json_bool(&yes, v, name));
        return yes;
    }
    test_ok(hpc_json_real(&x, v, name));
    return x;
}

/* ---- ways to compute ------------------------------------------------------------- */

hpc_test_way hpc_test_way_at(int i)
{
    const char *const *isas = hpc_device_isas(); /* best first */
    int last = 0;
    while (isas[last + 1]) last++;
    const hpc_test_way ways[HPC_TEST_WAY_N] = {
        {"best", {.backend = "cpu", .isa = isas[0], .threads = 2}, HPC_F32},
        {"plainest", {.backend = "cpu", .isa = isas[last], .threads = 2}, HPC_F32},
        {"f64", {.backend = "cpu", .threads = 1}, HPC_F64},
        {"mock", {.backend = "mock", .threads = 1}, HPC_F32},
    };
    return ways[i];
}

static double distance(const double *a, const double *b, int64_t n)
{
    double most = 0, apart = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);
        if (!(d <= apart)) apart = d; /* NaN too, and it stays */
        if (fabs(b[i]) > most) most = fabs(b[i]);
    }
    return most > 0 ? apart / most : apart;
}

void hpc_test_torch_open(hpc_test_torch_run *r)
{
    test_ok(hpc_program_status(r->p));
    test_ok(hpc_program_check(r->p));
    test_ok(hpc_device_open(&r->d, &r->way.device));
    test_ok(hpc_exec_open(&r->e, r->p, r->d, NULL, &(hpc_exec_options){.poison = 1}));
}

void hpc_test_torch_close(hpc_test_torch_run *r)
{
    hpc_exec_close(r->e);
    hpc_device_close(r->d);
    hpc_program_free(r->p);
}

void hpc_test_torch_near(const hpc_test_torch_run *r, const double *got, int64_t n,
                         const char *section, const char *name, int64_t first)
{
    hpc_test_numbers want = hpc_test_torch_read(r->item, section, name);
    assert_true(first >= 0 && n > 0 && first + n <= want.n && want.n % n == 0);
    double bound = r->way.dtype == HPC_F64 ? BOUND_F64 : r->bound;
    double apart = distance(got, want.data + first, n);
    hpc_free(want.data);
    if (!(apart <= bound))
        print_error("%s: %s %s from %lld on: apart by %.3g, bound %.3g\n", r->way.name, section,
                    name, (long long)first, apart, bound);
    assert_true(apart <= bound);
}

void hpc_test_torch_value_near(const hpc_test_torch_run *r, hpc_value v, const char *section,
                               const char *name, int64_t first)
{
    int64_t n = hpc_test_n(r->p, v);
    double *got = hpc_alloc((size_t)n + 1, sizeof *got);
    assert_non_null(got);
    hpc_test_read(r->e, 0, v, got);
    hpc_test_torch_near(r, got, n, section, name, first);
    hpc_free(got);
}

/* ---- a case ---------------------------------------------------------------------- */

static hpc_type type_of(const hpc_test_torch *t, const char *name)
{
    bool index = !hpc_test_torch_has(t->item, "given", name);
    hpc_test_numbers x = hpc_test_torch_read(t->item, index ? "index" : "given", name);
    hpc_free(x.data);
    return hpc_type_of(index ? HPC_I32 : t->dtype, x.rank, x.extent);
}

hpc_value hpc_test_torch_input(hpc_test_torch *t, const char *name)
{
    return hpc_program_input(t->p, name, type_of(t, name));
}

hpc_value hpc_test_torch_param(hpc_test_torch *t, const char *name)
{
    return hpc_program_state(t->p, name, type_of(t, name), true);
}

static hpc_value seed_of(hpc_test_torch *t)
{
    hpc_test_numbers x = hpc_test_torch_read(t->item, "seed", NULL);
    hpc_free(x.data);
    return hpc_program_input(t->p, "seed", hpc_type_of(t->dtype, x.rank, x.extent));
}

/* grad[i]: the gradient of the fixture's i-th. */
static void differentiate(hpc_test_torch *t, hpc_value y, hpc_value grad[WANT_MOST])
{
    const hpc_json *all = hpc_json_get(t->item, "grad");
    hpc_value seed = seed_of(t), want[WANT_MOST], want_grad[WANT_MOST];
    int64_t want_n = 0, n = hpc_json_n(all);
    hpc_diff_options o = {.accumulate = -1, .seed_of = &y, .seed = &seed, .seed_n = 1};
    assert_true(n > 0 && n <= WANT_MOST);
    for (int64_t i = 0; i < n; i++) {
        hpc_value v = hpc_program_find(t->p, hpc_json_key(all, i, NULL));
        assert_true(v >= 0);
        if (t->p->value[v].kind == HPC_VALUE_INPUT) want[want_n++] = v;
    }
    o.backward = hpc_program_segment(t->p, HPC_BACKWARD, 0);
    o.want = want, o.want_grad = want_grad, o.want_n = want_n;
    test_ok(hpc_differentiate(t->p, &o));
    want_n = 0;
    for (int64_t i = 0; i < n; i++) {
        hpc_value v = hpc_program_find(t->p, hpc_json_key(all, i, NULL));
        bool input = t->p->value[v].kind == HPC_VALUE_INPUT;
        grad[i] = input ? want_grad[want_n++] : t->p->value[v].grad;
        assert_true(grad[i] >= 0);
        if (input) hpc_program_keep(t->p, grad[i]);
    }
}

static void write_all(hpc_exec *e, const hpc_test_torch *t)
{
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        const char *name = t->p->value[v].name;
        hpc_test_numbers x;
        if (!name) continue;
        if (!strcmp(name, "seed"))
            x = hpc_test_torch_read(t->item, "seed", NULL);
        else if (hpc_test_torch_has(t->item, "given", name))
            x = hpc_test_torch_read(t->item, "given", name);
        else if (hpc_test_torch_has(t->item, "index", name))
            x = hpc_test_torch_read(t->item, "index", name);
        else
            continue; /* an accumulator */
        hpc_test_write(e, 0, v, x.data);
        hpc_free(x.data);
    }
}

static void check_one_way(hpc_test_torch_run *r, const hpc_test_torch_case *c)
{
    const hpc_json *all = hpc_json_get(r->item, "grad");
    hpc_test_torch t = {.item = r->item, .p = hpc_program_create(), .dtype = r->way.dtype};
    hpc_value grad[WANT_MOST];
    hpc_program_segment(t.p, HPC_FORWARD, 0);
    hpc_value y = c->emit(&t);
    test_ok(hpc_program_status(t.p));
    hpc_program_keep(t.p, y);
    differentiate(&t, y, grad);
    r->p = t.p;
    hpc_test_torch_open(r);
    write_all(r->e, &t);
    for (int s = 0; s < t.p->segment_n; s++) test_ok(hpc_exec_run(r->e, s, 0));
    hpc_test_torch_value_near(r, y, "wanted", "y", 0);
    for (int64_t i = 0; i < hpc_json_n(all); i++)
        hpc_test_torch_value_near(r, grad[i], "grad", hpc_json_key(all, i, NULL), 0);
    hpc_test_torch_close(r);
}

void hpc_test_torch_check(const char *family, const hpc_test_torch_case *c)
{
    hpc_json *root = hpc_test_torch_file(family);
    for (int i = 0; i < HPC_TEST_WAY_N; i++) {
        hpc_test_torch_run r = {.item = hpc_test_torch_find(root, c->name),
                                .way = hpc_test_way_at(i),
                                .bound = c->bound};
        check_one_way(&r, c);
    }
    hpc_json_free(root);
}

void hpc_test_torch_covers(const char *family, const hpc_test_torch_case *c, int n)
{
    hpc_json *root = hpc_test_torch_file(family);
    assert_int_equal(hpc_json_n(hpc_json_get(root, "cases")), n);
    for (int i = 0; i < n; i++) hpc_test_torch_find(root, c[i].name);
    hpc_json_free(root);
}

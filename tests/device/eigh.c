/*
 * eigh.c: eigenvalues and eigenvectors of difficult matrices, by every instruction set and the
 * reference: bounds, order, signs, known spectra, and a batch with one matrix that is not finite.
 */
#include "tests/device/kernels.h"

#include "runtime/device/priv.h"

typedef enum kind {
    UNIT,
    ZEROS,
    REPEATED,  /* 1 and 2 only */
    CLUSTERED, /* 1 + k 1e-6 */
    GRADED,    /* 1 .. 1e-10 */
    RANK_ONE,
    SECOND_DIFFERENCE, /* tridiagonal already */
    HUGE_ONES,         /* squares overflow f32 */
    TINY_ONES,         /* squares are zero in f32 */
    DRAWN,
    WITH_NAN,
    WITH_INFINITY,
    KINDS
} kind;

/* What f32 can hold a millionth of, so that rounding of the input is far below the bound. */
static double known(kind k, int64_t i, int64_t n)
{
    switch (k) {
    case UNIT: return 1;
    case REPEATED: return i < n / 2 ? 1 : 2;
    case CLUSTERED: return 1 + 1e-6 * (double)i;
    case GRADED: return n > 1 ? pow(10, -10 + 10.0 * (double)i / (double)(n - 1)) : 1;
    case RANK_ONE: return i == n - 1 ? (double)n : 0;
    case SECOND_DIFFERENCE: return 2 - 2 * cos(M_PI * (double)(i + 1) / (double)(n + 1));
    case HUGE_ONES: return 1e30 * ((double)i - (double)n / 3);
    case TINY_ONES: return 1e-30 * ((double)i - (double)n / 3);
    default: return 0;
    }
}

/* a = H a H, H = I - 2 v v' / v'v of a drawn v. */
static void reflect(double *a, int64_t n, uint32_t seed)
{
    double *v = hpc_alloc((size_t)n, sizeof *v), *p = hpc_alloc((size_t)n, sizeof *p);
    double square = 0, half = 0;
    for (int64_t i = 0; i < n; i++) {
        v[i] = sin((double)(seed + 1) * (double)(i * i + 3 * i + 1));
        square += v[i] * v[i];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) p[i] += 2 / square * a[i * n + j] * v[j];
    for (int64_t i = 0; i < n; i++) half += p[i] * v[i] / square;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            a[i * n + j] -= v[i] * (p[j] - half * v[j]) + (p[i] - half * v[i]) * v[j];
    hpc_free(v);
    hpc_free(p);
}

static void make(double *a, kind k, int64_t n)
{
    for (int64_t i = 0; i < n; i++) a[i * n + i] = known(k, i, n);
    if (k == REPEATED || k == CLUSTERED || k == GRADED || k == HUGE_ONES || k == TINY_ONES)
        for (uint32_t seed = 0; seed < 3; seed++) reflect(a, n, seed);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            double far = fabs((double)(i - j));
            if (k == RANK_ONE) a[i * n + j] = (i + j) % 2 ? -1 : 1;
            if (k == SECOND_DIFFERENCE) a[i * n + j] = far == 0 ? 2 : far == 1 ? -1 : 0;
            if (k >= DRAWN) a[i * n + j] = sin((double)((i + 1) * (i + 2 * j + 3)));
            a[j * n + i] = a[i * n + j];
        }
    if (k == WITH_NAN) a[(n - 1) * n] = NAN;
    if (k == WITH_INFINITY) a[n / 2 * n + n / 2] = -INFINITY;
}

static double frobenius(const double *a, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * a[i];
    return sqrt(sum);
}

typedef struct matrix { /* and what is claimed of it */
    const double *x, *values, *vectors;
    int64_t n;
    double most; /* of both errors */
} matrix;

/* |x V' - V' D| / |x| and |V V' - I|. */
static void check_bounds(const matrix *m, const char *what)
{
    double off = 0, skew = 0, norm = frobenius(m->x, m->n * m->n);
    for (int64_t i = 0; i < m->n; i++) {
        const double *v = m->vectors + i * m->n;
        for (int64_t r = 0; r < m->n; r++) {
            const double *x = m->x + r * m->n, *w = m->vectors + r * m->n;
            double image = -m->values[i] * v[r], product = r == i ? -1 : 0;
            for (int64_t k = 0; k < m->n; k++) {
                image += x[k] * v[k];
                product += w[k] * v[k];
            }
            off += norm > 0 ? image / norm * (image / norm) : image * image;
            skew += product * product;
        }
    }
    if (sqrt(off) <= m->most && sqrt(skew) <= m->most) return;
    fail_msg("%s: the residual is %.3g |x|, V V' is off by %.3g", what, sqrt(off), sqrt(skew));
}

static void check_order_and_signs(const matrix *m)
{
    for (int64_t i = 0; i < m->n; i++) {
        const double *v = m->vectors + i * m->n;
        double most = 0;
        int64_t at = 0;
        if (i > 0) assert_true(m->values[i - 1] <= m->values[i]);
        for (int64_t k = 0; k < m->n; k++) most = fmax(most, fabs(v[k]));
        while (fabs(v[at]) < 0.9991 * most) at++; /* a little more: v has been rounded */
        if (fabs(fabs(v[at]) - 0.999 * most) > 1e-6) assert_true(v[at] > 0 || most > v[at]);
        for (int64_t k = 0; k < at; k++)
            if (fabs(v[k]) > 0.9989 * most) return; /* too close to tell */
        assert_true(v[at] > 0);
    }
}

static void check_matrix(const matrix *m, kind k, const char *isa)
{
    char what[96];
    snprintf(what, sizeof what, "kind %d, n %lld, %s", (int)k, (long long)m->n, isa);
    if (k >= WITH_NAN) {
        for (int64_t i = 0; i < m->n; i++) assert_true(isnan(m->values[i]));
        for (int64_t i = 0; i < m->n * m->n; i++) assert_true(isnan(m->vectors[i]));
        return;
    }
    check_bounds(m, what);
    check_order_and_signs(m);
    double norm = frobenius(m->x, m->n * m->n);
    for (int64_t i = 0; i < m->n && k != DRAWN; i++)
        if (!(fabs(m->values[i] - known(k, i, m->n)) <= 1e-6 * norm))
            fail_msg("%s: value %lld is %.9g, wanted %.9g", what, (long long)i, m->values[i],
                     known(k, i, m->n));
}

static int select_eigh(hpc_plan *p, const hpc_kernels *k, int workers, const void *args)
{
    const hpc_eigh_args *a = args;
    return (a->x.dtype == HPC_F64 ? &hpc_ref_kernels : k)->eigh(p, workers, a);
}

/* One of each kind, as one batch; above the diagonal there is nothing to be read. */
static hpc_eigh_args batch_of(hpc_test_heap *h, hpc_dtype in, hpc_dtype out, int64_t n, double **x)
{
    hpc_eigh_args a = {.values = hpc_test_tensor(h, out, 2, KINDS, n, 0, 0),
                       .vectors = hpc_test_tensor(h, out, 3, KINDS, n, n, 0),
                       .x = hpc_test_tensor(h, in, 3, KINDS, n, n, 0)};
    *x = hpc_test_heap_doubles(h, KINDS * n * n);
    memset(*x, 0, (size_t)(KINDS * n * n) * sizeof **x);
    for (int k = 0; k < KINDS; k++) make(*x + k * n * n, (kind)k, n);
    hpc_test_tensor_set(&a.x, *x);
    hpc_test_tensor_get(*x, &a.x); /* as rounded */
    double *lower = hpc_test_tensor_doubles(h, &a.x);
    for (int64_t i = 0; i < KINDS * n * n; i++)
        if (i % n > i / n % n) lower[i] = NAN;
    hpc_test_tensor_set(&a.x, lower);
    return a;
}

static void check_kinds(hpc_dtype in, int64_t n, const char *isa)
{
    hpc_test_heap h = {0};
    double *x;
    hpc_eigh_args a = batch_of(&h, in, in == HPC_F64 ? HPC_F64 : HPC_F32, n, &x);
    assert_int_equal(hpc_test_launch(select_eigh, isa, 1, &a), 0);
    hpc_tensor values = hpc_test_twin(&h, &a.values), vectors = hpc_test_twin(&h, &a.vectors);
    const double *d = hpc_test_tensor_doubles(&h, &values);
    const double *v = hpc_test_tensor_doubles(&h, &vectors);
    for (int k = 0; k < KINDS; k++)
        check_matrix(
            &(matrix){x + k * n * n, d + k * n, v + k * n * n, n, in == HPC_F64 ? 1e-12 : 1e-5},
            (kind)k, isa ? isa : "the reference");
    for (int workers = 2; workers <= 7; workers += 5) {
        assert_int_equal(hpc_test_launch(select_eigh, isa, workers, &a), 0);
        assert_memory_equal(a.values.data, values.data, hpc_tensor_bytes(&values));
        assert_memory_equal(a.vectors.data, vectors.data, hpc_tensor_bytes(&vectors));
    }
    hpc_test_heap_free(&h);
}

static void small(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 33; n += n < 9 ? 1 : 8)
        for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
            check_kinds(HPC_F32, n, *isa);
        }
}

static void as_large_as_blocks(void **state)
{
    (void)state;
    for (const char *const *isa = hpc_test_isas(); *isa; isa++) {
        check_kinds(HPC_F32, 127, *isa);
        check_kinds(HPC_F32, 256, *isa);
    }
}

static void by_the_reference(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 65; n += n < 5 ? 1 : 30) check_kinds(HPC_F64, n, NULL);
}

/* Nothing to do, and what is not taken. */
static void no_matrices(void **state)
{
    hpc_test_heap h = {0};
    (void)state;
    hpc_eigh_args a = {.values = hpc_test_tensor(&h, HPC_F32, 2, 3, 0, 0, 0),
                       .vectors = hpc_test_tensor(&h, HPC_F32, 3, 3, 0, 0, 0),
                       .x = hpc_test_tensor(&h, HPC_F32, 3, 3, 0, 0, 0)};
    for (const char *const *isa = hpc_test_isas(); *isa; isa++)
        assert_int_equal(hpc_test_launch(select_eigh, *isa, 2, &a), 0);
    a.vectors = hpc_test_tensor(&h, HPC_BF16, 3, 3, 2, 2, 0);
    check_fails(select_eigh, &a, HPC_E_UNSUPPORTED,
                "eigh_%s does not take bf16[3,2,2] as its operand vectors");
    hpc_test_heap_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small),
        cmocka_unit_test(as_large_as_blocks),
        cmocka_unit_test(by_the_reference),
        cmocka_unit_test(no_matrices),
    };
    return cmocka_run_group_tests_name("device/eigh", tests, NULL, NULL);
}

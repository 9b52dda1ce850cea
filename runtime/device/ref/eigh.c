/*
 * eigh.c: eigenvalues and eigenvectors by Jacobi's method: each rotation makes one off-diagonal
 * element zero, until all are negligible.
 */
#include "runtime/device/ref/priv.h"

enum { SWEEPS_MOST = 60 }; /* ten are many: it converges quadratically */

/* A matrix, scaled to elements of at most 1, and the rotations so far, each [n,n]. */
typedef struct jacobi {
    double *a, *v, scale;
    int64_t n;
} jacobi;

static size_t jacobi_bytes(int64_t n)
{
    return 2 * (size_t)n * (size_t)n * sizeof(double);
}

static bool read_matrix(jacobi *j, const hpc_tensor *x, int64_t matrix)
{
    int64_t n = j->n, base = matrix * n * n;
    j->scale = 0;
    for (int64_t r = 0; r < n; r++)
        for (int64_t c = 0; c <= r; c++) {
            double value = hpc_ref_get(x, base + r * n + c);
            if (!isfinite(value)) return false;
            j->scale = fmax(j->scale, fabs(value));
            j->a[r * n + c] = j->a[c * n + r] = value;
        }
    if (j->scale == 0) j->scale = 1;
    for (int64_t i = 0; i < n * n; i++) {
        j->a[i] /= j->scale;
        j->v[i] = i % (n + 1) == 0;
    }
    return true;
}

static void rotate(double *x, double *y, int64_t step, int64_t n, double c, double s)
{
    for (int64_t k = 0; k < n; k++) {
        double p = x[k * step], q = y[k * step];
        x[k * step] = c * p - s * q;
        y[k * step] = s * p + c * q;
    }
}

/* a = J' a J, v = J' v, such that a[p][q] becomes 0. */
static void eliminate(jacobi *j, int64_t p, int64_t q)
{
    int64_t n = j->n;
    double x = j->a[p * n + q];
    if (x == 0) return;
    double ratio = (j->a[q * n + q] - j->a[p * n + p]) / (2 * x);
    double tangent = copysign(1, ratio) / (fabs(ratio) + hypot(ratio, 1));
    double c = 1 / hypot(tangent, 1), s = tangent * c;
    rotate(j->a + p * n, j->a + q * n, 1, n, c, s);
    rotate(j->a + p, j->a + q, n, n, c, s);
    rotate(j->v + p * n, j->v + q * n, 1, n, c, s);
    j->a[p * n + q] = j->a[q * n + p] = 0;
}

static void diagonalise(jacobi *j)
{
    int64_t n = j->n;
    for (int k = 0; k < SWEEPS_MOST; k++) {
        double off = 0, all = 0;
        for (int64_t i = 0; i < n * n; i++) {
            all += j->a[i] * j->a[i];
            off += i % (n + 1) == 0 ? 0 : j->a[i] * j->a[i];
        }
        if (off <= 1e-32 * all) return;
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) eliminate(j, p, q);
    }
}

/* The smallest eigenvalue that has not been taken yet: then its place on the diagonal is NaN. */
static int64_t take_smallest(jacobi *j)
{
    int64_t n = j->n, at = -1;
    for (int64_t i = 0; i < n; i++) {
        double value = j->a[i * n + i];
        if (!isnan(value) && (at < 0 || value < j->a[at * n + at])) at = i;
    }
    return at;
}

/* 1, or -1 to make the first of v's elements that are largest, but for 0.1%, positive. */
static double sign_of(const double *v, int64_t n)
{
    double most = 0;
    int64_t i = 0;
    for (int64_t k = 0; k < n; k++) most = fmax(most, fabs(v[k]));
    while (i < n - 1 && fabs(v[i]) < 0.999 * most) i++;
    return v[i] < 0 ? -1 : 1;
}

static void write_results(jacobi *j, const hpc_eigh_args *g, int64_t matrix)
{
    int64_t n = j->n;
    for (int64_t i = 0; i < n; i++) {
        int64_t from = take_smallest(j);
        const double *v = j->v + from * n;
        double sign = sign_of(v, n);
        hpc_ref_set(&g->values, matrix * n + i, j->a[from * n + from] * j->scale);
        j->a[from * n + from] = NAN;
        for (int64_t k = 0; k < n; k++)
            hpc_ref_set(&g->vectors, (matrix * n + i) * n + k, sign * v[k]);
    }
}

static int eigh_run(const hpc_launch *l, const void *args)
{
    const hpc_eigh_args *g = args;
    int64_t n = hpc_tensor_cols(&g->x), batch = g->x.rank == 3 ? g->x.extent[0] : 1, lo, hi;
    double *own = (double *)((char *)l->workspace + (size_t)l->worker * jacobi_bytes(n));
    jacobi j = {.a = own, .v = own + n * n, .n = n};
    hpc_share(&lo, &hi, n > 0 ? batch : 0, 1, l->worker, l->workers);
    for (int64_t k = lo; k < hi; k++) {
        if (read_matrix(&j, &g->x, k)) {
            diagonalise(&j);
            write_results(&j, g, k);
            continue;
        }
        for (int64_t i = 0; i < n; i++) hpc_ref_set(&g->values, k * n + i, NAN);
        for (int64_t i = 0; i < n * n; i++) hpc_ref_set(&g->vectors, k * n * n + i, NAN);
    }
    return 0;
}

int hpc_ref_eigh(hpc_plan *p, int workers, const hpc_eigh_args *a)
{
    int rc = ref_plan(p, eigh_run, "ref_eigh");
    p->workspace = (size_t)workers * jacobi_bytes(hpc_tensor_cols(&a->x));
    return rc;
}

/*
 * eigh.c: eigenvalues and eigenvectors of batches of small symmetric matrices,
 * one matrix at a time by one worker.
 *
 * Householder's reduction to a tridiagonal T = Q' x Q, then implicit QL with Wilkinson's shifts,
 * whose rotations turn Q' into V. Everything is in f64: some 800 rotations pass over each row at
 * n = 256, and in f32 they would cost V its orthogonality (2e-5, where 1e-5 is promised). So no
 * element of f32 is scaled either: its square, and the square of that, is a normal f64.
 *
 * Neither the reduction nor the rotations are blocked: a matrix of n <= 362 lies in 1 MiB of L2.
 * At n = 128, half of the time is the latency of the rotations' own numbers.
 */
#include <math.h>

#include "runtime/device/cpu/kernels/priv.h"

#if defined(__AVX512F__)
enum { LANES = 8 };
#elif defined(__AVX__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif

typedef double vec __attribute__((vector_size(LANES * sizeof(double))));
typedef double vec_any __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

static inline vec_any *at(double *x)
{
    return (vec_any *)x;
}

/* Of a symmetric matrix, blocks of PAD by PAD elements are kept whole, those above the diagonal
 * not at all. Rows are as many elements as blocks, whatever the set. */
enum { PAD = 8 };

/* Relative to the matrix: off-diagonal elements of T that are zero, as input in f32 says no more;
 * and noise, which would be taken for columns to reflect, and its square for a normal number. */
static const double negligible = 0x1p-32, noise = 0x1p-60;
enum { SWEEPS_MOST = 60 }; /* for each eigenvalue; two are usual */

/* A worker's own memory. */
typedef struct scratch {
    double *a;      /* [n,ld]: x; then reflections, row by row; then V */
    double *d, *e;  /* T's diagonal; e[i] couples i and i + 1 */
    double *p, *w;  /* of the reduction */
    double *tau;    /* reflection i is I - tau[i] u u', u being row i of a */
    int32_t *order; /* of eigenvalues */
    double size;    /* Frobenius norm of x, or 1 */
    int64_t n, ld;
} scratch;

static int64_t padded(int64_t n)
{
    return (n + PAD - 1) / PAD * PAD;
}

static size_t scratch_bytes(int64_t n)
{
    return ((size_t)(n + 6) * (size_t)padded(n) + PAD) * sizeof(double);
}

static scratch scratch_of(void *own, int64_t n)
{
    int64_t ld = padded(n);
    double *a = own, *v = a + n * ld;

    return (scratch){.a = a,
                     .d = v,
                     .e = v + ld,
                     .p = v + 2 * ld,
                     .w = v + 3 * ld,
                     .tau = v + 4 * ld,
                     .order = (int32_t *)(v + 5 * ld),
                     .n = n,
                     .ld = ld};
}

/* Reads the lower triangle and completes the blocks on the diagonal. False if it is not finite. */
static bool read_matrix(scratch *s, const hpc_tensor *x, int64_t matrix)
{
    float buffer[CHUNK];
    double square = 0;

    memset(s->a, 0, (size_t)(s->n * s->ld) * sizeof *s->a);
    for (int64_t r = 0; r < s->n; r++)
        for (int64_t c = 0, n; c <= r; c += n) {
            n = least(CHUNK, r + 1 - c);
            const float *in = load(buffer, x, (matrix * s->n + r) * s->n + c, n);
            for (int64_t i = 0; i < n; i++) {
                double value = (double)in[i];
                square += (c + i < r ? 2 : 1) * value * value;
                s->a[r * s->ld + c + i] = value;
            }
        }
    for (int64_t r = 0; r < s->n; r++)
        for (int64_t c = r / PAD * PAD; c < r; c++) s->a[c * s->ld + r] = s->a[r * s->ld + c];
    s->size = square > 0 ? sqrt(square) : 1;
    return isfinite(square);
}

/* ---- vectors -------------------------------------------------------------------------------- */

static inline double sum_of(vec x)
{
    double sum = 0;

    for (int k = 0; k < LANES; k++) sum += x[k];
    return sum;
}

static double dot(double *x, double *y, int64_t n)
{
    vec sum = {0};

    for (int64_t j = 0; j < n; j += LANES) sum += *at(x + j) * *at(y + j);
    return sum_of(sum);
}

/* y -= a x + b z */
static void subtract(double *y, double a, double *x, double b, double *z, int64_t n)
{
    for (int64_t j = 0; j < n; j += LANES) *at(y + j) -= a * *at(x + j) + b * *at(z + j);
}

/* ---- to tridiagonal form -------------------------------------------------------------------- */

enum { ROWS = 4 }; /* treated at once; PAD is a multiple */

/* `rows` rows from r on of the last reflection's update a -= u w' + w u', and in the same pass
 * what they, and the columns that they stand for, add to the product p with the next one's v. */
static inline void update_rows(const scratch *s, int64_t r, int rows, double *u, double *v)
{
    double *a = s->a + r * s->ld, *w = s->w;
    int64_t block = r / PAD * PAD, j = 0;
    vec sum[ROWS] = {{0}};

    for (; j < block; j += LANES) {
        vec wj = *at(w + j), uj = *at(u + j), vj = *at(v + j), p = *at(s->p + j);
        for (int k = 0; k < rows; k++) {
            vec x = *at(a + k * s->ld + j) - u[r + k] * wj - w[r + k] * uj;
            *at(a + k * s->ld + j) = x;
            sum[k] += x * vj;
            p += x * v[r + k];
        }
        *at(s->p + j) = p;
    }
    for (; j < block + PAD; j += LANES)
        for (int k = 0; k < rows; k++) {
            double *x = a + k * s->ld + j;
            *at(x) -= u[r + k] * *at(w + j) + w[r + k] * *at(u + j);
            sum[k] += *at(x) * *at(v + j);
        }
    for (int k = 0; k < rows; k++) s->p[r + k] += sum_of(sum[k]);
}

/* The reflection that takes v = a[i][0..i-1] to (0, .., 0, e): v becomes its u, padded. */
static void make_reflection(const scratch *s, int64_t i)
{
    double *v = s->a + i * s->ld, last = v[i - 1];

    s->d[i] = v[i];
    s->e[i - 1] = last;
    s->tau[i] = 0;
    memset(v + i, 0, (size_t)(s->ld - i) * sizeof *v);
    v[i - 1] = 0;
    double rest = dot(v, v, padded(i));
    if (rest <= noise * s->size * noise * s->size) {
        memset(v, 0, (size_t)i * sizeof *v); /* all done here, and u is zero */
        return;
    }
    double e = copysign(sqrt(rest + last * last), -last);
    v[i - 1] = last - e;
    s->e[i - 1] = e;
    s->tau[i] = 1 / (e * e - e * last);
}

/* From the last row to the first, so that what is left is always the leading part. */
static void reduce(const scratch *s)
{
    double *u = s->w; /* none yet: zero, as w */

    memset(s->w, 0, (size_t)s->ld * sizeof *s->w);
    for (int64_t i = s->n - 1; i > 0; i--) {
        double *v = s->a + i * s->ld, tau;
        int64_t r = 0;
        subtract(v, u[i], s->w, s->w[i], u, padded(i + 1));
        make_reflection(s, i);
        tau = s->tau[i];
        memset(s->p, 0, (size_t)s->ld * sizeof *s->p);
        for (; r + ROWS <= i; r += ROWS) update_rows(s, r, ROWS, u, v);
        for (; r < i; r++) update_rows(s, r, 1, u, v);
        memset(s->p + i, 0, (size_t)(s->ld - i) * sizeof *s->p);
        double half = 0.5 * tau * tau * dot(s->p, v, padded(i));
        for (int64_t j = 0; j < s->ld; j++) s->w[j] = tau * s->p[j] - half * v[j];
        u = v;
    }
    s->d[0] = s->a[0];
}

/* ---- Q' from the reflections ---------------------------------------------------------------- */

enum { BLOCK = 8 }; /* reflections, with ROWS rows in L1; a multiple of ROWS */

/* Rows a.. of `rows` -= tau (row . u) u. */
static inline void reflect_rows(double *a, int64_t ld, int rows, double tau, double *u, int64_t n)
{
    vec sum[ROWS] = {{0}};
    double f[ROWS];

    for (int64_t j = 0; j < n; j += LANES)
        for (int k = 0; k < rows; k++) sum[k] += *at(a + k * ld + j) * *at(u + j);
    for (int k = 0; k < rows; k++) f[k] = tau * sum_of(sum[k]);
    for (int64_t j = 0; j < n; j += LANES)
        for (int k = 0; k < rows; k++) *at(a + k * ld + j) -= f[k] * *at(u + j);
}

/* Reflection i changes the leading i rows and columns of Q' alone, so Q' grows, row by row, where
 * reflections have been used up. */
static void accumulate(const scratch *s)
{
    for (int64_t from = 0; from < s->n; from += BLOCK) {
        int64_t end = least(from + BLOCK, s->n);
        for (int64_t r = 0; r < from; r += ROWS)
            for (int64_t i = from; i < end; i++)
                reflect_rows(s->a + r * s->ld, s->ld, ROWS, s->tau[i], s->a + i * s->ld, padded(i));
        for (int64_t i = from; i < end; i++) {
            double *u = s->a + i * s->ld;
            for (int64_t r = from; r < i; r++)
                reflect_rows(s->a + r * s->ld, s->ld, 1, s->tau[i], u, padded(i));
            memset(u, 0, (size_t)s->ld * sizeof *u);
            u[i] = 1;
        }
    }
}

/* ---- QL ------------------------------------------------------------------------------------- */

/* Rows x and y = c x - s y and s x + c y. */
static inline void rotate(double *restrict x, double *restrict y, double c, double s, int64_t n)
{
    for (int64_t j = 0; j < n; j += LANES) {
        vec a = *at(x + j), b = *at(y + j);
        *at(x + j) = c * a - s * b;
        *at(y + j) = s * a + c * b;
    }
}

/* One implicit step on rows l..m of T, chased from m up to l; V's rows turn with it. */
static void sweep(const scratch *s, int64_t l, int64_t m)
{
    double *d = s->d, *e = s->e;
    double g = (d[l + 1] - d[l]) / (2 * e[l]), sine = 1, cosine = 1, shift = 0;

    g = d[m] - d[l] + e[l] / (g + copysign(hypot(g, 1), g));
    for (int64_t i = m - 1; i >= l; i--) {
        double f = sine * e[i], b = cosine * e[i], r2 = f * f + g * g;
        if (r2 <= noise * s->size * noise * s->size)
        { /* T has come apart between i + 1 and i + 2 */
            d[i + 1] -= shift;
            e[i + 1] = e[m] = 0;
            e[i] = b;
            return;
        }
        double r = sqrt(r2), inverse = 1 / r;
        e[i + 1] = r;
        sine = f * inverse;
        cosine = g * inverse;
        g = d[i + 1] - shift;
        r = (d[i] - g) * sine + 2 * cosine * b;
        shift = sine * r;
        d[i + 1] = g + shift;
        g = cosine * r - b;
        rotate(s->a + i * s->ld, s->a + (i + 1) * s->ld, cosine, sine, s->ld);
    }
    d[l] -= shift;
    e[l] = g;
    e[m] = 0;
}

/* T's eigenvalues into d; false if it does not converge. */
static bool solve(const scratch *s)
{
    s->e[s->n - 1] = 0;
    for (int64_t l = 0; l < s->n; l++)
        for (int k = 0;; k++) {
            int64_t m = l;
            while (m < s->n - 1 && fabs(s->e[m]) > negligible * s->size) m++;
            if (m == l) break;
            if (k == SWEEPS_MOST) return false;
            s->e[m] = 0;
            sweep(s, l, m);
        }
    return true;
}

/* ---- results -------------------------------------------------------------------------------- */

static void sort(const scratch *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        int64_t k = i;
        for (; k > 0 && s->d[s->order[k - 1]] > s->d[i]; k--) s->order[k] = s->order[k - 1];
        s->order[k] = (int32_t)i;
    }
}

/* -1 if the first of v's elements that are largest, but for 0.1%, is negative. */
static double sign_of(const double *v, int64_t n)
{
    double most[PAD] = {0};
    int64_t i = 0;

    for (int64_t j = 0; j < n; j += PAD)
        for (int64_t k = 0; k < PAD; k++)
            most[k] = fabs(v[j + k]) > most[k] ? fabs(v[j + k]) : most[k];
    for (int k = 1; k < PAD; k++) most[0] = fmax(most[0], most[k]);
    while (i < n - 1 && fabs(v[i]) < 0.999 * most[0]) i++;
    return v[i] < 0 ? -1 : 1;
}

static void write_results(const scratch *s, const hpc_eigh_args *a, int64_t matrix)
{
    float *values = (float *)a->values.data + matrix * s->n;
    float *vectors = (float *)a->vectors.data + matrix * s->n * s->n;

    sort(s);
    for (int64_t i = 0; i < s->n; i++) {
        const double *v = s->a + s->order[i] * s->ld;
        double sign = sign_of(v, s->n);
        values[i] = (float)s->d[s->order[i]];
#pragma omp simd
        for (int64_t j = 0; j < s->n; j++) vectors[i * s->n + j] = (float)(sign * v[j]);
    }
}

static void write_nan(const hpc_eigh_args *a, int64_t matrix, int64_t n)
{
    float *values = (float *)a->values.data + matrix * n;
    float *vectors = (float *)a->vectors.data + matrix * n * n;

    for (int64_t i = 0; i < n; i++) values[i] = NAN;
    for (int64_t i = 0; i < n * n; i++) vectors[i] = NAN;
}

static int eigh_run(const hpc_launch *l, const void *args)
{
    const hpc_eigh_args *a = args;
    int64_t n = hpc_tensor_cols(&a->x), batch = a->x.rank == 3 ? a->x.extent[0] : 1, lo, hi;
    scratch s = scratch_of(l->cpu.worker, n);

    if (n == 0) return 0;
    hpc_share(&lo, &hi, batch, 1, l->worker, l->workers);
    for (int64_t k = lo; k < hi; k++) {
        bool good = read_matrix(&s, &a->x, k);
        if (good) {
            reduce(&s);
            accumulate(&s);
            good = solve(&s);
        }
        if (good)
            write_results(&s, a, k);
        else
            write_nan(a, k, n);
    }
    return 0;
}

int HPC_WIDTH(cpu_eigh)(hpc_plan *p, int workers, const hpc_eigh_args *a)
{
    (void)workers;
    return accept(p,
                  (hpc_plan){.run = eigh_run,
                             .cpu.worker_bytes = scratch_bytes(hpc_tensor_cols(&a->x)),
                             .name = "eigh_" HPC_ISA_TEXT},
                  (const operand_check[]){{"values", &a->values, TAKES_F32},
                                          {"vectors", &a->vectors, TAKES_F32},
                                          {"x", &a->x, TAKES_REAL},
                                          {0}});
}

/*
 * watched.c: loops with and without conflicts between iterations. A comment above each loop gives
 * the witness's evidence, or `clean`, and the verdict where it matters.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 };
typedef struct particle {
    double x, v;
    int cell;
} particle;

void far_put(double *a, int i, double x);
double far_get(const double *a, int i);

static double total;
static int grid[N][8];
static short flags[N];
static char letters[2 * N];
static particle swarm[N];

/* ---- one array after another --------------------------------------------------------------- */

static void flow(double *a, int n)
{
    // WITNESS iteration i = 1 writes a[1] at line @0, iteration i = 2 reads it at line @0
    for (int i = 1; i < n; i++) a[i] = 0.5 * a[i - 1];
}

static void anti(double *a, int n)
{
    // WITNESS iteration i = 0 reads a[1] at line @0, iteration i = 1 writes it at line @0
    for (int i = 0; i < n - 1; i++) a[i] = a[i + 1] + 1;
}

static void output(double *a, int n)
{
    // WITNESS iteration i = 0 writes a[0] at line @0, iteration i = 1 writes it at line @0
    for (int i = 0; i < n; i++) a[i / 2] = i;
}

static void two_lines(double *a, double *b, int n)
{
    // WITNESS iteration i = 3 writes a[3] at line @1, iteration i = 5 reads it at line @2
    for (int i = 3; i < n; i++) {
        a[i] = i;
        b[i] = a[i - 2];
    }
}

/* Dependences on scratch memory alone are reported after those on other memory. */
static void scratch_too(double *a, int n)
{
    double t[3], last = 0;
    // WITNESS iteration i = 0 writes last at line @5, iteration i = 1 reads it at line @4
    for (int i = 0; i < n; i++) {
        t[0] = i;
        t[1] = 2 * i;
        t[2] = 3 * i;
        a[i] = last + t[0] + t[1] + t[2];
        last = a[i];
    }
}

static void apart(double *a, int n)
{
    // CLEAN
    for (int i = 0; i < n / 2; i++) a[2 * i] = a[2 * i + 1];
}

static void downwards(float *f, int n)
{
    // WITNESS iteration i = 38 writes f[38] at line @0, iteration i = 37 reads it at line @0
    for (int i = n - 2; i >= 0; i--) f[i] = f[i + 1] + 1.0f;
}

static void stencil(const double *restrict from, double *restrict to, int n)
{
    // CLEAN
    for (int i = 1; i < n - 1; i++) to[i] = from[i - 1] + from[i + 1];
}

static void rows(void)
{
    // WITNESS iteration i = 0 writes grid[1][0] at line @2, iteration i = 1 reads it at line @2
    for (int i = 0; i < N - 1; i++)
        // CLEAN
        for (int j = 0; j < 8; j++) grid[i + 1][j] = grid[i][j] + 1;
}

/* ---- small elements, fields ----------------------------------------------------------------- */

static void shorts(int n)
{
    // CLEAN
    for (int i = 0; i < n; i++) flags[i] = (short)i;
}

static void chars(int n)
{
    // WITNESS iteration i = 0 writes letters[1] at line @2, iteration i = 1 writes it at line @1
    for (int i = 0; i < n; i++) {
        letters[i] = 'a';
        letters[i + 1] = 'b';
    }
}

static void fields(int n)
{
    // CLEAN
    for (int i = 0; i < n; i++) swarm[i].x += swarm[i].v * 0.1;
}

static void neighbours(int n)
{
    // WITNESS iteration i = 0 writes swarm[1] at line @0, iteration i = 1 reads it at line @0
    for (int i = 0; i < n - 1; i++) swarm[i + 1].v = swarm[i].v + 1;
}

/* ---- indirect -------------------------------------------------------------------------------- */

static void scatter(double *a, const int *index, int n)
{
    // WITNESS iteration i = 7 writes a[3] at line @0, iteration i = 9 writes it at line @0
    for (int i = 0; i < n; i++) a[index[i]] = i;
}

static void scatter_apart(double *a, const int *index, int n)
{
    // CLEAN
    for (int i = 0; i < n; i++) a[index[i]] = i;
}

/* ---- aliases, calls -------------------------------------------------------------------------- */

void shifted(int n, const double *x, double *y);
void shifted(int n, const double *x, double *y)
{
    // WITNESS iteration i = 0 writes y[0] at line @0, iteration i = 1 reads it at line @0
    // UNSAFE
    for (int i = 0; i < n; i++) y[i] = x[i] + 1;
}

static void not_shifted(int n, const double *x, double *y)
{
    // CLEAN
    for (int i = 0; i < n; i++) y[i] = x[i] + 1;
}

static void put(double *a, int i, double x)
{
    a[i] = x; // @put
}

static void through_calls(double *a, int n)
{
    // WITNESS iteration i = 0 writes a[1] at line @-6, iteration i = 1 reads it at line @0
    for (int i = 0; i < n - 1; i++) put(a, i + 1, a[i] + 1);
}

static void through_far_calls(double *a, int n)
{
    // WITNESS iteration i = 0 writes a[1] at far.c:9, iteration i = 1 reads it at far.c:14
    for (int i = 0; i < n - 1; i++) far_put(a, i + 1, far_get(a, i) + 1);
}

static void far_apart(double *a, int n)
{
    // CLEAN
    for (int i = 0; i < n; i++) far_put(a, i, far_get(a, i) + 1);
}

static void copies(double (*to)[4], int n)
{
    // WITNESS iteration i = 0 writes to[1][0] at line @0, iteration i = 1 reads it at line @0
    for (int i = 0; i < n - 1; i++) memcpy(to[i + 1], to[i], sizeof *to);
}

/* ---- scalars ----------------------------------------------------------------------------------
 */

static double sum(const double *a, int n)
{
    double s = 0;
    // CLEAN reduction(+:s)
    for (int i = 0; i < n; i++) s += a[i];
    return s;
}

static double recurrence(const double *a, int n)
{
    double s = 1;
    // WITNESS iteration i = 0 writes s at line @0, iteration i = 1 reads it at line @0
    for (int i = 0; i < n; i++) s = a[i] - 0.5 * s;
    return s;
}

static void global(const double *a, int n)
{
    // CLEAN reduction(+:total)
    for (int i = 0; i < n; i++) total += a[i];
}

static void through_pointer(const double *a, double *out, int n)
{
    double s = 0, *p = &s;
    // WITNESS iteration i = 0 writes p[0] at line @0, iteration i = 1 reads it at line @0
    for (int i = 0; i < n; i++) *p = *p / 2 + a[i];
    *out = s;
}

static double last(const double *a, int n)
{
    double t = 0;
    // CLEAN lastprivate(t)
    for (int i = 0; i < n; i++) {
        t = 2 * a[i];
        grid[i][0] = (int)t;
    }
    return t;
}

static double temporary(double *a, int n)
{
    double t;
    int j;
    // CLEAN private(t, j)
    for (int i = 0; i < n; i++) {
        t = a[i];
        // CLEAN
        for (j = 0; j < 8; j++) grid[i][j] = (int)t;
        a[i] = t + j;
    }
    return a[0];
}

static void not_private(double *a, int n)
{
    double t;
    // AS #pragma omp parallel for
    // WITNESS iteration i = 0 writes t at line @1, iteration i = 1 writes it at line @1
    // UNSAFE
    for (int i = 0; i < n; i++) {
        t = a[i];
        a[i] = t + 1;
    }
}

static double not_reduced(const double *a, int n)
{
    double s = 0;
    // AS #pragma omp parallel for private(s)
    // WITNESS iteration i = 0 writes s at line @0, iteration i = 1 reads it at line @0
    // UNSAFE
    for (int i = 0; i < n; i++) s += a[i];
    return s;
}

static void histogram(int *count, const int *index, int n)
{
    // AS #pragma omp parallel for reduction(+:count[:N])
    // CLEAN reduction(+:count[:N])
    for (int i = 0; i < n; i++) count[index[i]]++;
    // AS #pragma omp parallel for reduction(+:count[:2])
    // WITNESS iteration i = 7 writes count[3] at line @0, iteration i = 9 reads it at line @0
    // UNSAFE
    for (int i = 0; i < n; i++) count[index[i]]++;
}

/* ---- arrays of one iteration --------------------------------------------------------------------
 */

static void private_array(double *a, int n)
{
    double w[4];
    // CLEAN private(w)
    for (int i = 0; i < n; i++) {
        // CLEAN
        for (int k = 0; k < 4; k++) w[k] = i * k;
        a[i] = w[1] + w[3];
    }
}

/* More lines conflict on the array than the report lists; the important one is listed. */
static void scratch_and_neighbour(double *a, int n)
{
    double w[4];
    // WITNESS iteration i = 0 reads a[1] at line @5, iteration i = 1 writes it at line @5
    for (int i = 0; i + 1 < n; i++) {
        w[0] = 0.5 * i;
        w[1] = w[0] + 1;
        w[2] = w[1] * w[0];
        w[3] = w[2] - w[1];
        a[i] = w[3] + a[i + 1];
    }
}

static void kept_array(double *a, int n)
{
    double w[4] = {0};
    // WITNESS iteration i = 0 writes w[0] at line @0, iteration i = 4 reads it at line @0
    for (int i = 0; i < n; i++) a[i] = w[i % 4] += i;
}

static void fresh_memory(double *a, int n)
{
    // CLEAN
    for (int i = 0; i < n; i++) {
        double *w = malloc(4 * sizeof *w);
        w[0] = i;
        a[i] = w[0] + 1;
        free(w);
    }
}

static int ways_out(const double *a, double *b, int n)
{
    // CLEAN
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
        if (a[i] > 1e300) return i;
    }
    return n;
}

static int first_of(const double *a, int n)
{
    // CLEAN
    for (int i = 0; i < n; i++)
        if (a[i] == 0) return i;
    return -1;
}

static int found_again(double *a, int n)
{
    int k = first_of(a, n); // the loop is left by return; what comes here is none of its iterations
    a[0] = 5;
    k += first_of(a, n);
    return k;
}

static void collapsed(double *a, int n)
{
    int i, j;
    // AS #pragma omp parallel for collapse(2)
    // WITNESS iteration 1 writes a[0] at line @2, iteration 2 writes it at line @2
    // UNSAFE
    for (i = 0; i < n / 8; i++)
        // WITNESS iteration j = 0 writes a[0] at line @0, iteration j = 1 writes it at line @0
        for (j = 0; j < 8; j++) a[i] = j;
}

static int place;
static _Thread_local double scratch[4];

static void by_global(double *a, int n)
{
    // CLEAN
    for (place = 0; place < n; place++) a[place] = place;
}

static void by_thread(double *a, int n)
{
    // CLEAN
    for (int i = 0; i < n; i++) {
        scratch[1] = i;
        errno = 0;
        a[i] = scratch[1] + errno;
    }
    // WITNESS iteration i = 0 writes scratch[2] at line @1, iteration i = 1 reads it at line @1
    for (int i = 0; i < n; i++) {
        scratch[2] += a[i];
        a[i] = scratch[2];
    }
}

static void counted(double x)
{
    if (x > 2) {
#pragma omp atomic
        total += x;
    }
}

static void guarded(const double *a, int n)
{
    // GUARDED
    for (int i = 0; i < n; i++) counted(a[i] + 3);
}

static void whole(particle *p, int n)
{
    // WITNESS iteration i = 1 writes p[1] at line @0, iteration i = 2 reads it at line @0
    for (int i = 1; i < n; i++) p[i] = p[i - 1];
}

static void never(double *a, int n)
{
    // NEVER
    for (int i = 0; i < n; i++) a[i] = 0;
}

int main(int argc, char **argv)
{
    static double a[N + 1], b[N + 1], rows_of[N][4];
    static float f[N];
    int twice[N], once[N], counts[N] = {0};
    // CLEAN
    for (int i = 0; i < N; i++) {
        a[i] = 1 + i % 3;
        once[i] = N - 1 - i;
        twice[i] = i == 9 ? 3 : i == 7 ? 3 : N - 1 - i % 20;
    }
    (void)argv;
    flow(a, N);
    anti(a, N);
    output(a, N);
    two_lines(a, b, N);
    scratch_too(a, N);
    apart(a, N);
    downwards(f, N);
    stencil(a, b, N);
    rows();
    shorts(N);
    chars(N);
    fields(N);
    neighbours(N);
    scatter(a, twice, 12);
    scatter_apart(a, once, N);
    void (*hidden)(int, const double *, double *) = argc > 5 ? not_shifted : shifted;
    hidden(N, a, a + 1);
    not_shifted(N, a, b);
    through_calls(a, N);
    through_far_calls(a, N);
    far_apart(a, N);
    copies(rows_of, N);
    global(a, N);
    through_pointer(a, b, N);
    not_private(a, N);
    histogram(counts, twice, 12);
    double s = not_reduced(a, N) + sum(a, N) + recurrence(a, N) + last(a, N) + temporary(a, N);
    private_array(a, N);
    scratch_and_neighbour(a, N);
    kept_array(a, N);
    fresh_memory(a, N);
    s += ways_out(a, b, N) + found_again(a, N);
    collapsed(a, N);
    by_global(a, N);
    by_thread(a, N);
    guarded(a, N);
    whole(swarm, N);
    if (argc > 5) never(a, N);
    printf("%g %g %g %d %d\n", s, a[3], b[4], grid[3][2], flags[2] + letters[3]);
    return 0;
}

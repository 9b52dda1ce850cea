/*
 * calls.c: calls in loops: functions that are pure by attribute, by name or by their body,
 * functions with a state, and functions that this file only declares. Labels: README.md.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SQUARE(x)        ((x) * (x))
#define LARGER(x, y)     ((x) > (y) ? (x) : (y))
#define KEEP(into, x)    ((into) = (x))
#define STORE_NEXT(p, x) (*(p)++ = (x))

__attribute__((const)) double weight(double x);
__attribute__((pure)) double looked_up(const double *table, int i);
double elsewhere(double x);
void consume(double x);

static double cube(double x)
{
    return x * x * x;
}

static double norm(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static void scale_one(double *x, double by)
{
    *x *= by;
}

static void exchange(double *x, double *y)
{
    double t = *x;
    *x = *y;
    *y = t;
}

static int calls_n;

static double counted(double x)
{
    calls_n++;
    return x + 1.0;
}

static double decayed(double x)
{
    static double last = 0.0;
    last = 0.5 * last + x;
    return last;
}

static double constant_table(int i)
{
    static const double table[4] = {1.0, 2.0, 4.0, 8.0};
    return table[i & 3];
}

static int steps(int x)
{
    return x < 2 ? 0 : 1 + steps(x / 2);
}

static double traced(double x)
{
    printf("%g\n", x);
    return x;
}

static double *cache;

static double cached(double x)
{
    if (!cache) cache = calloc(1, sizeof *cache);
    return cache ? *cache = x : x;
}

static double through(double x)
{
    return cube(x) + constant_table((int)x);
}

static double through_counted(double x)
{
    return cube(x) + counted(x);
}

static double next_seed(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 33);
}

void declared_const(int n, double *restrict b, const double *restrict a)
{
    // loop declared_const: safe
    for (int i = 0; i < n; i++) {
        b[i] = weight(a[i]);
    }
}

void declared_pure(int n, double *restrict b, const double *restrict table)
{
    // loop declared_pure: safe
    for (int i = 0; i < n; i++) {
        b[i] = looked_up(table, i);
    }
}

void declared_pure_in_place(int n, double *table)
{
    // loop declared_pure_in_place: unknown looked_up may read elements that others write
    for (int i = 0; i < n; i++) {
        table[i] = looked_up(table, i);
    }
}

void declared_only(int n, double *restrict b, const double *restrict a)
{
    // loop declared_only: unknown what elsewhere() keeps is not known
    for (int i = 0; i < n; i++) {
        b[i] = elsewhere(a[i]);
    }
}

void given_away(int n, const double *a)
{
    // loop given_away: unknown what consume() does is not known
    for (int i = 0; i < n; i++) {
        consume(a[i]);
    }
}

void mathematics(int n, double *restrict b, const double *restrict a)
{
    // loop mathematics: safe
    for (int i = 0; i < n; i++) {
        b[i] = sin(a[i]) * exp(-a[i]) + sqrt(fabs(a[i]));
    }
}

void mathematics_two_results(int n, double *restrict b, const double *restrict a)
{
    int exponent;
    // loop mathematics_two_results: safe private(exponent)
    for (int i = 0; i < n; i++) {
        double m = frexp(a[i], &exponent);
        b[i] = m * exponent;
    }
}

void mathematics_one_exponent(int n, double *restrict b, const double *restrict a)
{
    int exponent = 0;
    // loop mathematics_one_exponent: carried +3 +2 each uses the exponent of the one before
    for (int i = 0; i < n; i++) {
        double x = ldexp(a[i], exponent);
        frexp(x, &exponent);
        b[i] = x;
    }
}

void mathematics_kept(int n, double *restrict m, double *restrict whole, const double *restrict a)
{
    // loop mathematics_kept: safe
    for (int i = 0; i < n; i++) {
        m[i] = modf(a[i], &whole[i]);
    }
}

void hours(int n, int *restrict hour, const time_t *restrict t)
{
    // loop hours: carried order gmtime has one result for all
    for (int i = 0; i < n; i++) {
        const struct tm *parts = gmtime(&t[i]);
        hour[i] = parts ? parts->tm_hour : -1;
    }
}

void callee_in_file(int n, double *restrict b, const double *restrict a)
{
    // loop callee_in_file: safe
    for (int i = 0; i < n; i++) {
        b[i] = cube(a[i]);
    }
}

void callee_of_callee(int n, double *restrict b, const double *restrict a)
{
    // loop callee_of_callee: safe
    for (int i = 0; i < n; i++) {
        b[i] = through(a[i]);
    }
}

void callee_counts(int n, double *restrict b, const double *restrict a)
{
    // loop callee_counts: carried order the callee counts its calls in a global
    for (int i = 0; i < n; i++) {
        b[i] = counted(a[i]);
    }
}

void callee_of_callee_counts(int n, double *restrict b, const double *restrict a)
{
    // loop callee_of_callee_counts: carried order two calls down, a global is counted up
    for (int i = 0; i < n; i++) {
        b[i] = through_counted(a[i]);
    }
}

void callee_keeps(int n, double *restrict b, const double *restrict a)
{
    // loop callee_keeps: carried order the callee has a static
    for (int i = 0; i < n; i++) {
        b[i] = decayed(a[i]);
    }
}

void callee_static_const(int n, double *b)
{
    // loop callee_static_const: safe
    for (int i = 0; i < n; i++) {
        b[i] += constant_table(i);
    }
}

void callee_recursive(int n, int *restrict b, const int *restrict a)
{
    // loop callee_recursive: safe
    for (int i = 0; i < n; i++) {
        b[i] = steps(a[i]);
    }
}

void callee_prints(int n, double *restrict b, const double *restrict a)
{
    // loop callee_prints: carried io the callee prints
    for (int i = 0; i < n; i++) {
        b[i] = traced(a[i]);
    }
}

void callee_caches(int n, double *restrict b, const double *restrict a)
{
    // loop callee_caches: carried order the callee fills a global on its first call and writes it
    for (int i = 0; i < n; i++) {
        b[i] = cached(a[i]);
    }
}

void callee_writes_one(int n, double *a)
{
    // loop callee_writes_one: safe
    for (int i = 0; i < n; i++) {
        scale_one(&a[i], 2.0);
    }
}

void callee_writes_same(int n, double *restrict s, const double *restrict a)
{
    // loop callee_writes_same: carried +2 +2 s[0] is multiplied in each (a product, by a callee)
    for (int i = 0; i < n; i++) {
        scale_one(s, 1.0 + a[i]);
        s[i + 1] = s[0];
    }
}

void callee_exchanges(int n, double *restrict a, double *restrict b)
{
    // loop callee_exchanges: safe
    for (int i = 0; i < n; i++) {
        exchange(&a[i], &b[i]);
    }
}

void callee_exchanges_next(int n, double *a)
{
    // loop callee_exchanges_next: carried +2 +2
    for (int i = 0; i < n - 1; i++) {
        exchange(&a[i], &a[i + 1]);
    }
}

void callee_exchanges_pairs(int n, double *a)
{
    // loop callee_exchanges_pairs: safe
    for (int i = 0; i < n - 1; i += 2) {
        exchange(&a[i], &a[i + 1]);
    }
}

void callee_reads_three(int n, double *restrict b, const double *restrict a)
{
    // loop callee_reads_three: safe
    for (int i = 0; i < n; i++) {
        b[i] = norm(a + 3 * i);
    }
}

void callee_reads_ahead(int n, double *a)
{
    // loop callee_reads_ahead: carried +2 +2 norm reads a[i + 1], which the next iteration writes
    for (int i = 0; i < n; i++) {
        a[i] = norm(a + i);
    }
}

void random_numbers(int n, double *a)
{
    // loop random_numbers: carried order rand has one state for all
    for (int i = 0; i < n; i++) {
        a[i] = rand() / (double)RAND_MAX;
    }
}

void random_shared_seed(int n, double *a, uint64_t seed)
{
    // loop random_shared_seed: carried +2 +2
    for (int i = 0; i < n; i++) {
        a[i] = next_seed(&seed);
    }
}

void random_own_seed(int n, double *a, uint64_t seed)
{
    // loop random_own_seed: safe
    for (int i = 0; i < n; i++) {
        uint64_t s = seed + (uint64_t)i;
        a[i] = next_seed(&s);
    }
}

void prints(int n, const double *a)
{
    // loop prints: carried io
    for (int i = 0; i < n; i++) {
        printf("%d %g\n", i, a[i]);
    }
}

void prints_on_error(int n, double *restrict b, const double *restrict a)
{
    // loop prints_on_error: carried io
    for (int i = 0; i < n; i++) {
        b[i] = sqrt(a[i]);
        if (a[i] < 0.0) fprintf(stderr, "negative: %d\n", i);
    }
}

int reads_numbers(FILE *f, int n, double *a)
{
    int got = 0;
    // loop reads_numbers: carried io
    for (int i = 0; i < n; i++) {
        got += fscanf(f, "%lf", &a[i]);
    }
    return got;
}

void writes_numbers(FILE *f, int n, const double *a)
{
    // loop writes_numbers: carried io
    for (int i = 0; i < n; i++) {
        fwrite(&a[i], sizeof a[i], 1, f);
    }
}

void prints_to_memory(int n, char (*restrict text)[16], const int *restrict a)
{
    // loop prints_to_memory: safe
    for (int i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "%d", a[i]);
    }
}

void prints_to_one_buffer(int n, int *restrict sizes, const int *restrict a)
{
    char text[16];
    // loop prints_to_one_buffer: safe private(text)
    for (int i = 0; i < n; i++) {
        snprintf(text, sizeof text, "%d", a[i]);
        sizes[i] = (int)strlen(text);
    }
}

int numbers_with_errno(int n, double *restrict v, char *const *restrict text)
{
    int bad = 0;
    // loop numbers_with_errno: safe reduction(+:bad)
    for (int i = 0; i < n; i++) {
        errno = 0;
        v[i] = strtod(text[i], NULL);
        if (errno) bad++;
    }
    return bad;
}

int numbers_errno_after(int n, double *restrict b, const double *restrict a)
{
    errno = 0;
    // loop numbers_errno_after: carried order errno is read after the loop; each thread has its own
    for (int i = 0; i < n; i++) {
        b[i] = log(a[i]);
    }
    return errno;
}

void allocates(int n, double **restrict rows, int m)
{
    // loop allocates: safe
    for (int i = 0; i < n; i++) {
        rows[i] = calloc((size_t)m, sizeof *rows[i]);
    }
}

void allocates_scratch(int n, double *restrict b, const double *restrict a)
{
    // loop allocates_scratch: safe
    for (int i = 0; i < n; i++) {
        double *t = malloc(2 * sizeof *t);
        if (t) {
            t[0] = a[i];
            t[1] = a[i] * a[i];
            b[i] = t[0] + t[1];
        }
        free(t);
    }
}

void grows(int n, double **a, int *size)
{
    // loop grows: carried +4 +2 realloc moves what the iteration before made
    for (int i = 0; i < n; i++) {
        double *more = realloc(*a, (size_t)(*size + 1) * sizeof **a);
        if (more) {
            *a = more;
            more[(*size)++] = i;
        }
    }
}

void tokens(char *text, int n, char **restrict token)
{
    // loop tokens: carried order strtok keeps its place in a static
    for (int i = 0; i < n; i++) {
        token[i] = strtok(i ? NULL : text, " ");
    }
}

void upper_case(int n, char *s)
{
    // loop upper_case: safe
    for (int i = 0; i < n; i++) {
        s[i] = (char)toupper((unsigned char)s[i]);
    }
}

void copies_rows(int n, int m, double *restrict b, const double *restrict a)
{
    if (m < 0) return;
    // loop copies_rows: safe
    for (int i = 0; i < n; i++) {
        memcpy(b + i * m, a + i * m, (size_t)m * sizeof *b);
    }
}

void copies_rows_up(int n, int m, double *a)
{
    if (m < 0) return;
    // loop copies_rows_up: carried +2 +2 a row is copied on before the next is copied to it
    for (int i = 0; i < n; i++) {
        memcpy(a + i * m, a + (i + 1) * m, (size_t)m * sizeof *a);
    }
}

void clears_rows_overlapping(int n, int m, double *a)
{
    if (m < 0) return;
    // loop clears_rows_overlapping: carried +3 +2 the last element of a row is marked, then cleared
    for (int i = 0; i < n; i++) {
        memset(a + i * m, 0, (size_t)(m + 1) * sizeof *a);
        a[i * m + m] = 1.0;
    }
}

void callback(int n, double *restrict b, const double *restrict a, double (*f)(double))
{
    // loop callback: unknown f may be any function
    for (int i = 0; i < n; i++) {
        b[i] = f(a[i]);
    }
}

void callback_known(int n, double *restrict b, const double *restrict a)
{
    double (*const f)(double) = cube;
    // loop callback_known: safe
    for (int i = 0; i < n; i++) {
        b[i] = f(a[i]);
    }
}

void macro_pure(int n, double *restrict b, const double *restrict a)
{
    // loop macro_pure: safe
    for (int i = 0; i < n; i++) {
        b[i] = SQUARE(a[i]) + LARGER(a[i], 0.0);
    }
}

void macro_assigns(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop macro_assigns: carried +3 +2 KEEP assigns to t
    for (int i = 0; i < n; i++) {
        b[i] = a[i] - t;
        KEEP(t, a[i]);
    }
}

void macro_assigns_first(int n, double *restrict b, const double *restrict a)
{
    double t;
    // loop macro_assigns_first: safe private(t)
    for (int i = 0; i < n; i++) {
        KEEP(t, a[i]);
        b[i] = a[i] - 0.5 * t;
    }
}

void macro_moves(int n, double *restrict b, const double *restrict a)
{
    // loop macro_moves: carried +2 +2 the macro counts b up where a[i] is positive
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) STORE_NEXT(b, a[i]);
    }
}

void sorts_rows(int n, int m, double *a, int (*order)(const void *, const void *))
{
    // loop sorts_rows: unknown what order() does is not known
    for (int i = 0; i < n; i++) {
        qsort(a + i * m, (size_t)m, sizeof *a, order);
    }
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void sorts_own_rows(int n, int m, double *a)
{
    if (m < 0) return;
    // loop sorts_own_rows: safe
    for (int i = 0; i < n; i++) {
        qsort(a + i * m, (size_t)m, sizeof *a, ascending);
    }
}

void lengths(int n, size_t *restrict size, char *const *restrict text)
{
    // loop lengths: safe
    for (int i = 0; i < n; i++) {
        size[i] = strlen(text[i]);
    }
}

void length_in_head(char *restrict out, const char *s)
{
    // loop length_in_head: safe
    for (size_t i = 0; i < strlen(s); i++) {
        out[i] = (char)toupper((unsigned char)s[i]);
    }
}

void length_changes(char *s)
{
    // loop length_changes: carried control the body cuts the text short ; noncanonical
    for (size_t i = 0; i < strlen(s); i++) {
        s[i] = s[i] == ' ' ? '\0' : 'x';
    }
}

/*
 * alias.c: may two names be the same memory? By restrict, type, declaration, allocation, what the
 * callers in the file pass, and pointers that are copied, moved and exchanged. Labels: README.md.
 */
#include <stdint.h>
#include <stdlib.h>

struct scaled {
    double factor;
    int n;
};

double *elsewhere(int n);
__attribute__((malloc)) double *made_elsewhere(int n);
void keep(double *p);

void copy(int n, double *b, const double *a)
{
    // loop copy: if distinct(b, a)
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void copy_restrict(int n, double *restrict b, const double *restrict a)
{
    // loop copy_restrict: safe
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void copy_restrict_to(int n, double *restrict b, const double *a)
{
    // loop copy_restrict_to: safe
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void copy_restrict_from(int n, double *b, const double *restrict a)
{
    // loop copy_restrict_from: safe
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void copy_restrict_array(int n, double b[restrict n], const double a[n])
{
    // loop copy_restrict_array: safe
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void copy_static_array(int n, double b[static 8], const double a[static 8])
{
    // loop copy_static_array: if distinct(b, a)
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void copy_const_pointers(int n, double *const b, const double *const a)
{
    // loop copy_const_pointers: if distinct(b, a)
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void add(int n, double *c, const double *a, const double *b)
{
    // loop add: if distinct(c, a) distinct(c, b)
    for (int i = 0; i < n; i++) {
        c[i] = a[i] + b[i];
    }
}

void add_to(int n, double *restrict c, const double *a, const double *b)
{
    // loop add_to: safe
    for (int i = 0; i < n; i++) {
        c[i] = a[i] + b[i];
    }
}

void add_one_restrict(int n, double *c, const double *restrict a, const double *b)
{
    // loop add_one_restrict: if distinct(c, b)
    for (int i = 0; i < n; i++) {
        c[i] = a[i] + b[i];
    }
}

void read_only(int n, double *sum, const double *a, const double *b)
{
    double s = 0.0;
    // loop read_only: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += a[i] * b[n - 1 - i];
    }
    *sum = s;
}

void to_double(int n, double *b, const int *a)
{
    // loop to_double: safe ; types
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void to_unsigned(int n, unsigned *b, const int *a)
{
    // loop to_unsigned: if distinct(b, a)
    for (int i = 0; i < n; i++) {
        b[i] = (unsigned)a[i];
    }
}

void to_float_bits(int n, float *b, const uint32_t *a)
{
    // loop to_float_bits: safe ; types
    for (int i = 0; i < n; i++) {
        b[i] = (float)(a[i] >> 8);
    }
}

void to_long(int n, long long *b, const long *a)
{
    // loop to_long: safe ; types
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void to_bytes(int n, unsigned char *b, const int *a)
{
    // loop to_bytes: if distinct(b, a)
    for (int i = 0; i < n; i++) {
        b[i] = (unsigned char)(a[i] & 255);
    }
}

void from_bytes(int n, int *b, const uint8_t *a)
{
    // loop from_bytes: if distinct(b, a)
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void from_bytes_restrict(int n, int *restrict b, const uint8_t *restrict a)
{
    // loop from_bytes_restrict: safe
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void from_void(int n, void *to, const void *from)
{
    double *b = to;
    const double *a = from;
    // loop from_void: if distinct(to, from)
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void by_factor(int n, double *a, const double *factor)
{
    // loop by_factor: if distinct(a, factor)
    for (int i = 0; i < n; i++) {
        a[i] *= *factor;
    }
}

void by_factor_of_other_type(int n, double *a, const int *factor)
{
    // loop by_factor_of_other_type: safe ; types
    for (int i = 0; i < n; i++) {
        a[i] *= *factor;
    }
}

void by_member(int n, double *a, const struct scaled *s)
{
    // loop by_member: if distinct(a, &s->factor)
    for (int i = 0; i < n; i++) {
        a[i] *= s->factor;
    }
}

void by_member_copied(double *a, const struct scaled *s)
{
    int n = s->n;
    double factor = s->factor;
    // loop by_member_copied: safe
    for (int i = 0; i < n; i++) {
        a[i] *= factor;
    }
}

void bound_of_same_type(const int *n, int *a)
{
    // loop bound_of_same_type: if distinct(a, n)
    for (int i = 0; i < *n; i++) {
        a[i] = 7;
    }
}

static double here[100], there[100];

void globals(int n)
{
    // loop globals: safe
    for (int i = 0; i < n; i++) {
        here[i] = there[i] + 1.0;
    }
}

void global_itself(int n)
{
    // loop global_itself: carried +2 +2
    for (int i = 0; i < n - 1; i++) {
        here[i] = here[i + 1] + 1.0;
    }
}

void global_and_parameter(int n, const double *a)
{
    // loop global_and_parameter: if distinct(here, a)
    for (int i = 0; i < n; i++) {
        here[i] = a[i];
    }
}

double *whole_file;

void global_pointer(int n, double *a)
{
    // loop global_pointer: if distinct(a, whole_file) ; types
    for (int i = 0; i < n; i++) {
        a[i] = whole_file[i];
    }
}

void give_here(double **p)
{
    *p = here;
}

void locals(int n, double *out)
{
    double x[64], y[64];
    // loop locals.set: safe
    for (int i = 0; i < 64; i++) {
        x[i] = n - i;
    }
    // loop locals.y: safe
    for (int i = 0; i < 63; i++) {
        y[i] = x[i + 1];
    }
    *out = y[5];
}

void local_and_parameter(int n, double *a)
{
    double x[64] = {0.0};
    // loop local_and_parameter: safe
    for (int i = 0; i < n % 64; i++) {
        x[i] = a[i + 1];
        a[i + 64] = x[i];
    }
}

void local_given_away(int n, double *out)
{
    double x[64] = {0.0};
    keep(x);
    double *shared = elsewhere(n);
    // loop local_given_away: if distinct(x, shared)
    for (int i = 0; i < 63; i++) {
        x[i] = shared[i + 1];
    }
    *out = x[5];
}

int allocated(int n, double *restrict out)
{
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    if (!x || !y) {
        free(x);
        free(y);
        return -1;
    }
    // loop allocated.x: safe
    for (int i = 0; i < n; i++) {
        x[i] = i;
    }
    // loop allocated.y: safe
    for (int i = 0; i < n; i++) {
        y[i] = x[n - 1 - i];
    }
    // loop allocated.out: safe
    for (int i = 0; i < n; i++) {
        out[i] = y[i];
    }
    free(x);
    free(y);
    return 0;
}

int allocated_once(int n, double *restrict out)
{
    double *x = malloc(((size_t)n + 1) * sizeof *x), *y = x + 1;
    if (!x) return -1;
    // loop allocated_once.x: safe
    for (int i = 0; i <= n; i++) {
        x[i] = i;
    }
    // loop allocated_once.y: carried +2 +2 y is x, one further
    for (int i = 0; i < n; i++) {
        y[i] = x[i];
    }
    // loop allocated_once.out: safe
    for (int i = 0; i < n; i++) {
        out[i] = y[i];
    }
    free(x);
    return 0;
}

int allocated_and_parameter(int n, double *a)
{
    double *x = malloc(((size_t)n + 1) * sizeof *x);
    if (!x) return -1;
    // loop allocated_and_parameter.x: safe
    for (int i = 0; i < n; i++) {
        x[i] = a[i + 1];
    }
    // loop allocated_and_parameter.a: safe
    for (int i = 0; i < n; i++) {
        a[i] = x[i];
    }
    free(x);
    return 0;
}

void got_elsewhere(int n)
{
    double *x = elsewhere(n), *y = elsewhere(n);
    // loop got_elsewhere: if distinct(x, y)
    for (int i = 0; i < n; i++) {
        x[i] = y[i + 1];
    }
}

void made_by_attribute(int n)
{
    double *x = made_elsewhere(n), *y = made_elsewhere(n);
    // loop made_by_attribute: safe
    for (int i = 0; i < n; i++) {
        x[i] = y[i];
    }
}

void same_by_copy(int n, double *a)
{
    const double *p = a;
    // loop same_by_copy: carried +2 +2 p is a
    for (int i = 0; i < n; i++) {
        a[i] = p[i + 1];
    }
}

void same_by_copy_of_restrict(int n, double *restrict a)
{
    double *p = a + 1;
    // loop same_by_copy_of_restrict: carried +2 +2 p is based on a: restrict does not part them
    for (int i = 0; i < n; i++) {
        p[i] = a[i] + 1.0;
    }
}

void halves_by_pointer(int n, double *a)
{
    double *p = a, *q = a + n;
    // loop halves_by_pointer: safe
    for (int i = 0; i < n; i++) {
        p[i] = q[i];
    }
}

void halves_meet(int n, double *a)
{
    double *p = a, *q = a + n - 1;
    // loop halves_meet: carried +2 +2
    for (int i = 0; i < n; i++) {
        p[i] = q[i] + 1.0;
    }
}

void pointer_inside(int n, double *a)
{
    double *p = &a[4];
    // loop pointer_inside: carried +2 +2 ; safelen(4)
    for (int i = 0; i < n; i++) {
        p[i] = a[i] + 1.0;
    }
}

void pointer_same_place(int n, double *a)
{
    double *p = &a[4];
    // loop pointer_same_place: safe
    for (int i = 0; i < n; i++) {
        p[i] = a[i + 4] + 1.0;
    }
}

void rows_of_one(int n, int row, double *a)
{
    double *up = a + row * n, *down = a + (row + 1) * n;
    // loop rows_of_one: safe
    for (int i = 0; i < n; i++) {
        down[i] += up[i];
    }
}

void rows_anywhere(int n, int p, int q, double *a)
{
    double *x = a + p * n, *y = a + q * n;
    // loop rows_anywhere: safe
    for (int i = 0; i < n; i++) {
        x[i] += y[i];
    }
}

void parts_anywhere(int n, int p, int q, double *a)
{
    double *x = a + p, *y = a + q;
    // loop parts_anywhere: if range(p == q || p - q >= n || q - p >= n)
    for (int i = 0; i < n; i++) {
        x[i] += y[i];
    }
}

void exchanged(int n, int steps, double *u, double *v)
{
    // loop exchanged.t: carried +4 +4 the next step reads what this one wrote
    for (int t = 0; t < steps; t++) {
        // loop exchanged.i: if distinct(u, v)
        for (int i = 1; i < n - 1; i++) {
            v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        }
        double *w = u;
        u = v;
        v = w;
    }
}

void chosen(int n, int odd, double *out)
{
    double x[64] = {1.0}, y[64] = {2.0};
    double *from = odd ? x : y, *to = odd ? y : x;
    // loop chosen: safe
    for (int i = 0; i < 63; i++) {
        to[i] = from[i + 1] + n;
    }
    *out = x[7] + y[9];
}

void chosen_alike(int n, int odd, double *out)
{
    double x[64] = {1.0}, y[64] = {2.0};
    double *from = odd ? x : y, *to = x;
    // loop chosen_alike: if range(!odd)
    for (int i = 0; i < 63; i++) {
        to[i] = from[i + 1] + n;
    }
    *out = x[7] + y[9];
}

static void smooth_apart(int n, double *b, const double *a)
{
    // loop smooth_apart: safe
    for (int i = 1; i < n - 1; i++) {
        b[i] = 0.5 * (a[i - 1] + a[i + 1]);
    }
}

void calls_apart(int n)
{
    smooth_apart(n, here, there);
    smooth_apart(n, there, here);
}

static void smooth_same(int n, double *b, const double *a)
{
    // loop smooth_same: carried +2 +2 its one caller passes the same array twice
    for (int i = 1; i < n - 1; i++) {
        b[i] = 0.5 * (a[i - 1] + a[i + 1]);
    }
}

void calls_same(int n)
{
    smooth_same(n, here, here);
}

static void smooth_through(int n, double *b, const double *a)
{
    // loop smooth_through: if distinct(b, a)
    for (int i = 1; i < n - 1; i++) {
        b[i] = 0.5 * (a[i - 1] + a[i + 1]);
    }
}

void calls_through(int n, double *x, double *y)
{
    smooth_through(n, here, there);
    smooth_through(n, x, y);
}

void block_restrict(int n, double *a, double *b)
{
    double *restrict p = a;
    const double *restrict q = b;
    // loop block_restrict: safe
    for (int i = 0; i < n; i++) {
        p[i] = q[i + 1];
    }
}

void write_once(int n, double *a, double *count)
{
    // loop write_once: carried +3 +3
    for (int i = 0; i < n; i++) {
        a[i] = i;
        *count = *count * 0.5 + i;
    }
}

void pointer_from_number(int n, double *a, uintptr_t address)
{
    const double *b = (const double *)address;
    // loop pointer_from_number: if distinct(a, b)
    for (int i = 0; i < n; i++) {
        a[i] = b[i];
    }
}

void three_restrict(int n, double *restrict a, double *restrict b, double *c)
{
    // loop three_restrict: carried +2 +3 one array, two places
    for (int i = 0; i < n; i++) {
        c[i + 1] = a[i];
        b[i] = c[i];
    }
}

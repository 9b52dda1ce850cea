/*
 * reductions.c: sums, products and the like, and what looks like them but needs its order. Labels:
 * README.md.
 */
#include <stdint.h>

double sum(int n, const double *a)
{
    double s = 0.0;
    // loop sum: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += a[i];
    }
    return s;
}

double sum_long_form(int n, const double *a)
{
    double s = 0.0;
    // loop sum_long_form: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s = a[i] + s;
    }
    return s;
}

double sum_of_two(int n, const double *a, const double *b)
{
    double s = 0.0;
    // loop sum_of_two: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += a[i];
        s += 2.0 * b[i];
    }
    return s;
}

double sum_plus_minus(int n, const double *a)
{
    double s = 1.0;
    // loop sum_plus_minus: safe reduction(+:s)
    for (int i = 0; i < n - 1; i++) {
        s += a[i];
        s -= 3.0 * a[i + 1];
    }
    return s;
}

double difference(int n, const double *a)
{
    double s = 100.0;
    // loop difference: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s = s - a[i];
    }
    return s;
}

double difference_turned(int n, const double *a)
{
    double s = 100.0;
    // loop difference_turned: carried +2 +2 the sign of s changes each time
    for (int i = 0; i < n; i++) {
        s = a[i] - s;
    }
    return s;
}

double product(int n, const double *a)
{
    double p = 1.0;
    // loop product: safe reduction(*:p)
    for (int i = 0; i < n; i++) {
        p *= a[i];
    }
    return p;
}

double sum_times(int n, const double *a)
{
    double s = 1.0;
    // loop sum_times: carried +3 +2 sums and products of one variable do not commute
    for (int i = 0; i < n; i++) {
        s += a[i];
        s *= 0.5;
    }
    return s;
}

double horner(int n, const double *c, double x)
{
    double s = 0.0;
    // loop horner: carried +2 +2
    for (int i = 0; i < n; i++) {
        s = s * x + c[i];
    }
    return s;
}

double halved(int n, const double *a)
{
    double s = 0.0;
    // loop halved: carried +2 +2
    for (int i = 0; i < n; i++) {
        s = (s + a[i]) / 2.0;
    }
    return s;
}

double sum_with_itself(int n, const double *a)
{
    double s = 1.0;
    // loop sum_with_itself: carried +2 +2
    for (int i = 0; i < n; i++) {
        s += a[i] * s;
    }
    return s;
}

double dot(int n, const double *x, const double *y)
{
    double s = 0.0;
    // loop dot: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

double sum_positive(int n, const double *a)
{
    double s = 0.0;
    // loop sum_positive: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) s += a[i];
    }
    return s;
}

double sum_while_small(int n, const double *a)
{
    double s = 0.0;
    // loop sum_while_small: carried +2 +2 what is added depends on the sum so far
    for (int i = 0; i < n; i++) {
        if (s < 1.0) s += a[i];
    }
    return s;
}

int sum_over_limit(int n, const double *a)
{
    double s = 0.0;
    int over = 0;
    // loop sum_over_limit: carried +2 +2 the sum is read in the middle
    for (int i = 0; i < n; i++) {
        s += a[i];
        if (s > 1.0) over++;
    }
    return over;
}

double prefix(int n, double *restrict b, const double *restrict a)
{
    double s = 0.0;
    // loop prefix: carried +2 +2
    for (int i = 0; i < n; i++) {
        s += a[i];
        b[i] = s;
    }
    return s;
}

double sum_two(int n, const double *a, double *squares)
{
    double s = 0.0, q = 0.0;
    // loop sum_two: safe reduction(+:s, q)
    for (int i = 0; i < n; i++) {
        s += a[i];
        q += a[i] * a[i];
    }
    *squares = q;
    return s;
}

double sum_two_chained(int n, const double *a)
{
    double s = 0.0, q = 0.0;
    // loop sum_two_chained: carried +2 +2 q adds up sums so far
    for (int i = 0; i < n; i++) {
        s += a[i];
        q += s;
    }
    return q;
}

double mean(int n, const double *a)
{
    double m = 0.0;
    // loop mean: carried +2 +2
    for (int i = 0; i < n; i++) {
        m += (a[i] - m) / (i + 1);
    }
    return m;
}

double kahan(int n, const double *a)
{
    double s = 0.0, c = 0.0;
    // loop kahan: carried +4 +2 the compensation and the sum go together
    for (int i = 0; i < n; i++) {
        double y = a[i] - c;
        double t = s + y;
        c = (t - s) - y;
        s = t;
    }
    return s + 1024.0 * c;
}

double quotient(int n, const double *a)
{
    double q = 1.0;
    // loop quotient: safe reduction(*:q)
    for (int i = 0; i < n; i++) {
        q /= a[i];
    }
    return q;
}

unsigned quotient_of_integers(int n, unsigned q, const unsigned char *a)
{
    // loop quotient_of_integers: carried +2 +2 each division rounds
    for (int i = 0; i < n; i++) {
        q = (q + 7u) / (a[i] + 1u);
    }
    return q;
}

int truncated(int n, const double *a)
{
    int s = 0;
    // loop truncated: carried +2 +2 the sum is cut to an integer each time
    for (int i = 0; i < n; i++) {
        s += 5.5 * a[i];
    }
    return s;
}

int truncated_first(int n, const double *a)
{
    int s = 0;
    // loop truncated_first: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += (int)(5.5 * a[i]);
    }
    return s;
}

unsigned char checksum(int n, const unsigned char *a)
{
    unsigned char c = 0;
    // loop checksum: safe reduction(+:c)
    for (int i = 0; i < n; i++) {
        c += a[i];
    }
    return c;
}

uint32_t hash(int n, const unsigned char *a)
{
    uint32_t h = 5381;
    // loop hash: carried +2 +2
    for (int i = 0; i < n; i++) {
        h = h * 33 + a[i];
    }
    return h;
}

uint32_t hash_by_place(int n, const unsigned char *a)
{
    uint32_t h = 5381;
    // loop hash_by_place: safe reduction(^:h)
    for (int i = 0; i < n; i++) {
        h ^= (a[i] + 1u) * (2654435761u * (uint32_t)i + 1u);
    }
    return h;
}

uint32_t hash_shifted(int n, const unsigned char *a)
{
    uint32_t h = 1;
    // loop hash_shifted: carried +2 +2
    for (int i = 0; i < n; i++) {
        h ^= (h << 5) + a[i];
    }
    return h;
}

unsigned union_of_bits(int n, const unsigned *a)
{
    unsigned u = 0;
    // loop union_of_bits: safe reduction(|:u)
    for (int i = 0; i < n; i++) {
        u |= a[i];
    }
    return u;
}

unsigned common_bits(int n, const unsigned *a)
{
    unsigned u = ~0u;
    // loop common_bits: safe reduction(&:u)
    for (int i = 0; i < n; i++) {
        u = u & (a[i] | 0xffffff00u);
    }
    return u;
}

unsigned new_bits(int n, const unsigned *a)
{
    unsigned u = 0, fresh = 0;
    // loop new_bits: carried +3 +2 what is new depends on what came before
    for (int i = 0; i < n; i++) {
        fresh += a[i] & ~u;
        u |= a[i];
    }
    return fresh;
}

int all_positive(int n, const double *a)
{
    int all = 1;
    // loop all_positive: safe reduction(&&:all)
    for (int i = 0; i < n; i++) {
        all = all && a[i] > -0.9;
    }
    return all;
}

int any_large(int n, const double *a)
{
    int any = 0;
    // loop any_large: safe reduction(||:any)
    for (int i = 0; i < n; i++) {
        any = any || a[i] > 0.9;
    }
    return any;
}

int parity(int n, const double *a)
{
    int odd = 0;
    // loop parity: safe reduction(^:odd)
    for (int i = 0; i < n; i++) {
        odd ^= a[i] > 0.0;
    }
    return odd;
}

int alternate(int n, const double *a)
{
    int state = 0;
    // loop alternate: carried +2 +2 the state is compared, not only turned over
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) state = state == 2 ? 0 : state + 1;
    }
    return state;
}

double saturating(int n, const double *a)
{
    double s = 0.0;
    // loop saturating: carried +2 +2
    for (int i = 0; i < n; i++) {
        s += a[i];
        if (s > 1.0) s = 1.0;
    }
    return s;
}

void bins_of_four(int n, double *restrict out, const double *restrict a)
{
    double h[4] = {0.0, 0.0, 0.0, 0.0};
    // loop bins_of_four: safe reduction(+:h)
    for (int i = 0; i < n; i++) {
        h[i % 4] += a[i];
    }
    // loop bins_of_four.out: safe ; small
    for (int k = 0; k < 4; k++) {
        out[k] = h[k];
    }
}

void bins_read(int n, double *restrict out, const double *restrict a)
{
    double h[4] = {0.0, 0.0, 0.0, 0.0};
    // loop bins_read: carried +2 +2 a bin is read while it grows
    for (int i = 0; i < n; i++) {
        h[i % 4] += a[i];
        out[i] = h[i % 4];
    }
}

void bins_doubled(int n, double *restrict out, const double *restrict a)
{
    double h[4] = {1.0, 1.0, 1.0, 1.0};
    // loop bins_doubled: carried +2 +2
    for (int i = 0; i < n; i++) {
        h[i % 4] = 0.5 * h[i % 4] + a[i];
    }
    // loop bins_doubled.out: safe ; small
    for (int k = 0; k < 4; k++) {
        out[k] = h[k];
    }
}

void into_pointer(int n, double *restrict out, const double *restrict a)
{
    // loop into_pointer: safe reduction(+:out[:1])
    for (int i = 0; i < n; i++) {
        *out += a[i];
    }
}

void into_pointer_open(int n, double *out, const double *a)
{
    // loop into_pointer_open: if distinct(out, a) reduction(+:out[:1])
    for (int i = 0; i < n; i++) {
        *out += a[i];
    }
}

void into_section(int n, double *restrict bin, const double *restrict a)
{
    // loop into_section: safe reduction(+:bin[:8])
    for (int i = 0; i < n; i++) {
        bin[i % 8] += a[i];
    }
}

double nested_sum(int n, int m, const double *a)
{
    double s = 0.0;
    // loop nested_sum.i: safe reduction(+:s) ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop nested_sum.j: safe reduction(+:s)
        for (int j = 0; j < m; j++) {
            s += a[i * m + j];
        }
    }
    return s;
}

double nested_rows(int n, int m, const double *a)
{
    double s = 0.0, row;
    // loop nested_rows.i: safe private(row) reduction(+:s)
    for (int i = 0; i < n; i++) {
        row = 0.0;
        // loop nested_rows.j: safe reduction(+:row)
        for (int j = 0; j < m; j++) {
            row += a[i * m + j];
        }
        s += row * row;
    }
    return s;
}

double nested_decay(int n, int m, const double *a)
{
    double s = 0.0;
    // loop nested_decay.i: carried +6 +4 s is scaled between the rows
    for (int i = 0; i < n; i++) {
        // loop nested_decay.j: safe reduction(+:s)
        for (int j = 0; j < m; j++) {
            s += a[i * m + j];
        }
        s *= 0.9;
    }
    return s;
}

void rows_in_place(int n, int m, double *restrict y, const double *restrict a)
{
    // loop rows_in_place.i: safe
    for (int i = 0; i < n; i++) {
        // loop rows_in_place.j: safe reduction(+:y[i:1])
        for (int j = 0; j < m; j++) {
            y[i] += a[i * m + j];
        }
    }
}

void columns_in_place(int n, int m, double *restrict y, const double *restrict a)
{
    // loop columns_in_place.i: safe reduction(+:y[:m])
    for (int i = 0; i < n; i++) {
        // loop columns_in_place.j: safe
        for (int j = 0; j < m; j++) {
            y[j] += a[i * m + j];
        }
    }
}

double complete;

void into_global(int n, const double *restrict a)
{
    // loop into_global: safe reduction(+:complete)
    for (int i = 0; i < n; i++) {
        complete += a[i];
    }
}

double _Complex phases(int n, const double *a)
{
    double _Complex s = 0.0;
    // loop phases: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += a[i] * (1.0 + 2.0 * __builtin_complex(0.0, 1.0));
    }
    return s;
}

int until_enough(int n, const int *a)
{
    int budget = n;
    // loop until_enough: carried control the bound is what the body changes ; noncanonical
    for (int i = 0; i < budget; i++) {
        budget -= a[i] > 3;
    }
    return budget;
}

struct moments {
    double sum, square;
};

void into_members(int n, struct moments *restrict m, const double *restrict a)
{
    // loop into_members: safe reduction(+:m->sum) reduction(+:m->square) ; local
    for (int i = 0; i < n; i++) {
        m->sum += a[i];
        m->square += a[i] * a[i];
    }
}

void into_members_read(int n, struct moments *restrict m, const double *restrict a)
{
    // loop into_members_read: carried +2 +2
    for (int i = 0; i < n; i++) {
        m->sum += a[i];
        m->square += a[i] * m->sum;
    }
}

double scaled_sum(int n, const double *a, double w)
{
    double s = 0.0;
    // loop scaled_sum: carried +3 +2
    for (int i = 0; i < n; i++) {
        s += w * a[i];
        w *= 0.5;
    }
    return s;
}

double stale_sum(int n, double *restrict b, const double *restrict a)
{
    double s = 0.0;
    // loop stale_sum: carried +3 +2 b[i] takes the sum of the iterations before
    for (int i = 0; i < n; i++) {
        b[i] = a[i] + s;
        s += a[i];
    }
    return s;
}

double overwritten_sum(int n, const double *a)
{
    double s = 0.0;
    // loop overwritten_sum: carried +3 +2 an assignment in the middle of a sum
    for (int i = 0; i < n; i++) {
        s += a[i];
        if (a[i] < -0.5) s = 0.0;
    }
    return s;
}

/*
 * minmax.c: maxima and minima as `if`, as a choice, as a call; with their places; and what looks
 * like one but needs its order. Labels: README.md.
 */
#include <float.h>
#include <limits.h>
#include <math.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))

struct candidate {
    double distance;
    int id;
};

double max_if(int n, const double *a)
{
    double m = a[0];
    // loop max_if: safe reduction(max:m)
    for (int i = 1; i < n; i++) {
        if (a[i] > m) m = a[i];
    }
    return m;
}

double max_if_turned(int n, const double *a)
{
    double m = a[0];
    // loop max_if_turned: safe reduction(max:m)
    for (int i = 1; i < n; i++) {
        if (m < a[i]) m = a[i];
    }
    return m;
}

double min_if(int n, const double *a)
{
    double m = DBL_MAX;
    // loop min_if: safe reduction(min:m)
    for (int i = 0; i < n; i++) {
        if (a[i] <= m) m = a[i];
    }
    return m;
}

double max_choice(int n, const double *a)
{
    double m = -DBL_MAX;
    // loop max_choice: safe reduction(max:m)
    for (int i = 0; i < n; i++) {
        m = a[i] > m ? a[i] : m;
    }
    return m;
}

double max_choice_reset(int n, const double *a)
{
    double m = -DBL_MAX;
    // loop max_choice_reset: carried +2 +2 where a[i] is smaller, m falls back to 0
    for (int i = 0; i < n; i++) {
        m = a[i] > m ? a[i] : 0.0;
    }
    return m;
}

double max_call(int n, const double *a)
{
    double m = -DBL_MAX;
    // loop max_call: safe reduction(max:m)
    for (int i = 0; i < n; i++) {
        m = fmax(m, fabs(a[i]));
    }
    return m;
}

double max_call_decayed(int n, const double *a)
{
    double m = 0.0;
    // loop max_call_decayed: carried +2 +2
    for (int i = 0; i < n; i++) {
        m = fmax(0.9 * m, a[i]);
    }
    return m;
}

double max_macro(int n, const double *a, const double *b)
{
    double m = 0.0;
    // loop max_macro: safe reduction(max:m)
    for (int i = 0; i < n; i++) {
        m = MAX(m, a[i] - b[i]);
    }
    return m;
}

double max_subarray(int n, const double *a)
{
    double here = 0.0, best = 0.0;
    // loop max_subarray: carried +2 +2 the best sum that ends here goes on
    for (int i = 0; i < n; i++) {
        here = MAX(0.0, here + a[i]);
        best = MAX(best, here);
    }
    return best;
}

int max_integer(int n, const int *a)
{
    int m = INT_MIN;
    // loop max_integer: safe reduction(max:m)
    for (int i = 0; i < n; i++) {
        if (a[i] > m) {
            m = a[i];
        }
    }
    return m;
}

int max_counted(int n, const int *a)
{
    int m = INT_MIN, rises = 0;
    // loop max_counted: carried +4 +2 the count of new maxima depends on the order
    for (int i = 0; i < n; i++) {
        if (a[i] > m) {
            rises++;
            m = a[i];
        }
    }
    return rises + m;
}

int max_place(int n, const double *a)
{
    double m = -DBL_MAX;
    int at = -1;
    // loop max_place: carried +3 +2 value and place belong together: only an own reduction does
    for (int i = 0; i < n; i++) {
        if (a[i] > m) {
            m = a[i];
            at = i;
        }
    }
    return at;
}

void max_so_far(int n, double *restrict b, const double *restrict a)
{
    double m = -DBL_MAX;
    // loop max_so_far: carried +2 +3
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m = a[i];
        b[i] = m;
    }
}

double max_then_other(int n, const double *a, const double *b)
{
    double m = 0.0;
    // loop max_then_other: carried +2 +2 a is compared, b is kept
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m = b[i];
    }
    return m;
}

double max_plus(int n, const double *a)
{
    double m = 0.0;
    // loop max_plus: carried +2 +2
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m = a[i] + 0.125;
    }
    return m;
}

double max_step(int n, const double *a)
{
    double m = -1.0;
    // loop max_step: carried +2 +2 m is counted up, not replaced
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m += 0.25;
    }
    return m;
}

double range(int n, const double *a)
{
    double hi = a[0], lo = a[0];
    // loop range: safe reduction(max:hi) reduction(min:lo)
    for (int i = 1; i < n; i++) {
        if (a[i] > hi) hi = a[i];
        if (a[i] < lo) lo = a[i];
    }
    return hi - lo;
}

double range_else(int n, const double *a)
{
    double hi = a[0], lo = a[0];
    // loop range_else: carried +3 +2 what is a new maximum of a part never meets lo
    for (int i = 1; i < n; i++) {
        if (a[i] > hi) {
            hi = a[i];
        } else if (a[i] < lo) {
            lo = a[i];
        }
    }
    return hi - lo;
}

double largest_change(int n, double *restrict v, const double *restrict u)
{
    double change = 0.0;
    // loop largest_change: safe reduction(max:change)
    for (int i = 1; i < n - 1; i++) {
        v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        double d = fabs(v[i] - u[i]);
        if (d > change) change = d;
    }
    return change;
}

double largest_change_relaxed(int n, double *u)
{
    double change = 0.0;
    // loop largest_change_relaxed: carried +4 +2 u is updated in place
    for (int i = 1; i < n - 1; i++) {
        double v = 0.5 * (u[i - 1] + u[i + 1]);
        change = fmax(change, fabs(v - u[i]));
        u[i] = v;
    }
    return change;
}

double second_largest(int n, const double *a)
{
    double first = -DBL_MAX, second = -DBL_MAX;
    // loop second_largest: carried +4 +3 what was first becomes second
    for (int i = 0; i < n; i++) {
        if (a[i] > first) {
            second = first;
            first = a[i];
        } else if (a[i] > second) {
            second = a[i];
        }
    }
    return second;
}

struct candidate nearest(int n, const struct candidate *c)
{
    struct candidate best = {DBL_MAX, -1};
    // loop nearest: carried +2 +2 a whole structure is kept
    for (int i = 0; i < n; i++) {
        if (c[i].distance < best.distance) best = c[i];
    }
    return best;
}

double nearest_distance(int n, const struct candidate *c)
{
    double best = DBL_MAX;
    // loop nearest_distance: safe reduction(min:best)
    for (int i = 0; i < n; i++) {
        if (c[i].distance < best) best = c[i].distance;
    }
    return best;
}

int first_negative(int n, const double *a)
{
    int first = n;
    // loop first_negative: safe reduction(min:first)
    for (int i = 0; i < n; i++) {
        if (a[i] < 0.0 && i < first) first = i;
    }
    return first;
}

int last_negative(int n, const double *a)
{
    int last = -1;
    // loop last_negative: safe lastprivate(conditional: last)
    for (int i = 0; i < n; i++) {
        if (a[i] < 0.0) last = i;
    }
    return last;
}

void clamp(int n, double *a, double lo, double hi)
{
    // loop clamp: safe
    for (int i = 0; i < n; i++) {
        if (a[i] < lo) a[i] = lo;
        if (a[i] > hi) a[i] = hi;
    }
}

void rows_max(int n, int m, double *restrict top, const double *restrict a)
{
    double t;
    // loop rows_max.i: safe private(t)
    for (int i = 0; i < n; i++) {
        t = -DBL_MAX;
        // loop rows_max.j: safe reduction(max:t)
        for (int j = 0; j < m; j++) {
            t = MAX(t, a[i * m + j]);
        }
        top[i] = t;
    }
}

void rows_max_unreset(int n, int m, double *restrict top, const double *restrict a)
{
    double t = -DBL_MAX;
    // loop rows_max_unreset.i: carried +4 +4 the maximum goes on from row to row
    for (int i = 0; i < n; i++) {
        // loop rows_max_unreset.j: safe reduction(max:t)
        for (int j = 0; j < m; j++) {
            t = MAX(t, a[i * m + j]);
        }
        top[i] = t;
    }
}

void columns_max(int n, int m, double *restrict top, const double *restrict a)
{
    // loop columns_max.i: safe reduction(max:top[:m])
    for (int i = 0; i < n; i++) {
        // loop columns_max.j: safe
        for (int j = 0; j < m; j++) {
            if (a[i * m + j] > top[j]) top[j] = a[i * m + j];
        }
    }
}

double max_above(int n, const double *a, double least)
{
    double m = -DBL_MAX;
    // loop max_above: safe reduction(max:m)
    for (int i = 0; i < n; i++) {
        if (a[i] > least && a[i] > m) m = a[i];
    }
    return m;
}

double max_or_first(int n, const double *a)
{
    double m = -0.5;
    // loop max_or_first: carried +2 +2 a negative m is replaced by whatever comes first
    for (int i = 0; i < n; i++) {
        if (a[i] > m || m < 0.0) m = a[i];
    }
    return m;
}

double max_and_min_of_one(int n, const double *a, const double *b)
{
    double m = 0.0;
    // loop max_and_min_of_one: carried +2 +3 a maximum, then a minimum of the same variable
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m = a[i];
        if (b[i] < m) m = b[i];
    }
    return m;
}

/* ---- conversions ---- */

int unsigned_against_int(int n, const unsigned *restrict a)
{
    int m = 0;
    // loop unsigned_against_int: carried +2 +2 the least int is a large unsigned
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m = a[i];
    }
    return m;
}

unsigned char into_byte(int n, const int *restrict a)
{
    unsigned char m = 0;
    // loop into_byte: carried +2 +2 values above 255 wrap
    for (int i = 0; i < n; i++) {
        m = a[i] > m ? a[i] : m;
    }
    return m;
}

int from_short(int n, const short *restrict a)
{
    int m = 0;
    // loop from_short: safe reduction(max:m)
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m = a[i];
    }
    return m;
}

unsigned both_unsigned(int n, const int *restrict a)
{
    unsigned m = 0;
    // loop both_unsigned: safe reduction(max:m)
    for (int i = 0; i < n; i++) {
        if (a[i] > m) m = a[i];
    }
    return m;
}

_Bool sum_of_truth(int n, const int *restrict a)
{
    _Bool any = 0;
    // loop sum_of_truth: safe reduction(||:any) gcc adds the bytes of two _Bool
    for (int i = 0; i < n; i++) {
        any += a[i] > 3;
    }
    return any;
}

_Bool sum_into_bool(int n, const int *restrict a)
{
    _Bool any = 0;
    // loop sum_into_bool: carried +2 +2 a sum of zero
    for (int i = 0; i < n; i++) {
        any += a[i];
    }
    return any;
}

_Bool parity_of_values(int n, const int *restrict a)
{
    _Bool odd = 0;
    // loop parity_of_values: carried +2 +2 each step converts to 0 or 1
    for (int i = 0; i < n; i++) {
        odd ^= a[i];
    }
    return odd;
}

_Bool parity_of_truth(int n, const int *restrict a)
{
    _Bool odd = 0;
    // loop parity_of_truth: safe reduction(^:odd)
    for (int i = 0; i < n; i++) {
        odd ^= a[i] > 3;
    }
    return odd;
}

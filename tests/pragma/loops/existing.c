/*
 * existing.c: loops that carry a directive already. The verdict is about the loop, `existing=`
 * about the directive. Labels: README.md; lines count from the label, so the head is +2.
 */
#include <stdio.h>
#include <stdlib.h>

void right(int n, double *a)
{
    // loop right: safe ; existing=ok
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        a[i] *= 2.0;
    }
}

void recurrence(int n, double *a)
{
    // loop recurrence: carried +3 +3 ; existing=racy
#pragma omp parallel for
    for (int i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

void shifted(int n, double *a)
{
    // loop shifted: carried +3 +3 ; existing=racy
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n - 1; i++) {
        a[i] = a[i + 1];
    }
}

void private_missing(int n, double *restrict b, const double *restrict a)
{
    double t;
    // loop private_missing: safe private(t) ; existing=private
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = t * t;
    }
}

void private_given(int n, double *restrict b, const double *restrict a)
{
    double t;
    // loop private_given: safe private(t) ; existing=ok
#pragma omp parallel for private(t)
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = t * t;
    }
}

void private_inner_counter(int n, int m, double *a)
{
    int i, j;
    // loop private_inner_counter.i: safe private(j) ; existing=private, collapse(2)
#pragma omp parallel for
    for (i = 0; i < n; i++) {
        // loop private_inner_counter.j: safe
        for (j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
    }
}

void private_collapsed_counter(int n, int m, double *a)
{
    int i, j;
    // loop private_collapsed_counter.i: safe private(j) ; existing=ok, collapse(2)
#pragma omp parallel for collapse(2)
    for (i = 0; i < n; i++) {
        // loop private_collapsed_counter.j: safe
        for (j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
    }
}

double private_but_used_after(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop private_but_used_after: safe lastprivate(t) ; existing=private
#pragma omp parallel for private(t)
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = t * t;
    }
    return t;
}

void private_but_read(int n, double *restrict b, const double *restrict a)
{
    double w = 3.0;
    // loop private_but_read: safe ; existing=private
#pragma omp parallel for private(w)
    for (int i = 0; i < n; i++) {
        b[i] = w * a[i];
    }
}

void firstprivate_read(int n, double *restrict b, const double *restrict a)
{
    double w = 3.0;
    // loop firstprivate_read: safe ; existing=harmless
#pragma omp parallel for firstprivate(w)
    for (int i = 0; i < n; i++) {
        b[i] = w * a[i];
    }
}

double sum_missing(int n, const double *a)
{
    double s = 0.0;
    // loop sum_missing: safe reduction(+:s) ; existing=reduction
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        s += a[i];
    }
    return s;
}

double sum_given(int n, const double *a)
{
    double s = 0.0;
    // loop sum_given: safe reduction(+:s) ; existing=ok
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) {
        s += a[i];
    }
    return s;
}

double sum_wrong_operator(int n, const double *a)
{
    double s = 0.0;
    // loop sum_wrong_operator: safe reduction(+:s) ; existing=reduction
#pragma omp parallel for reduction(* : s)
    for (int i = 0; i < n; i++) {
        s += a[i];
    }
    return s;
}

double min_as_max(int n, const double *a)
{
    double m = a[0];
    // loop min_as_max: safe reduction(min:m) ; existing=reduction
#pragma omp parallel for reduction(max : m)
    for (int i = 0; i < n; i++) {
        if (a[i] < m) m = a[i];
    }
    return m;
}

double sum_firstprivate(int n, const double *a)
{
    double s = 1.0;
    // loop sum_firstprivate: safe reduction(+:s) ; existing=reduction
#pragma omp parallel for firstprivate(s)
    for (int i = 0; i < n; i++) {
        s += a[i];
    }
    return s;
}

double sum_one_of_two(int n, const double *a)
{
    double s = 0.0, q = 0.0;
    // loop sum_one_of_two: safe reduction(+:s, q) ; existing=reduction
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) {
        s += a[i];
        q += a[i] * a[i];
    }
    return s + q;
}

double sum_read_inside(int n, double *restrict b, const double *restrict a)
{
    double s = 0.0;
    // loop sum_read_inside: carried +3 +3 ; existing=racy
#pragma omp parallel for reduction(+ : s)
    for (int i = 0; i < n; i++) {
        s += a[i];
        b[i] = s;
    }
    return s;
}

long sum_critical(int n, const int *a)
{
    long s = 0;
    // loop sum_critical: safe ; existing=ok
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp critical
        s += a[i];
    }
    return s;
}

long sum_atomic(int n, const int *a)
{
    long s = 0;
    // loop sum_atomic: safe ; existing=ok
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        s += a[i];
    }
    return s;
}

long sum_half_atomic(int n, const int *a)
{
    long s = 0, limit = 0;
    // loop sum_half_atomic: carried +4 +5 s is read beside the atomic ; existing=racy
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        s += a[i];
        if (s > 100) limit = i;
    }
    return s + limit;
}

void bins_atomic(int n, int *restrict bin, const int *restrict key)
{
    // loop bins_atomic: safe ; existing=ok
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp atomic
        bin[key[i]]++;
    }
}

void shared_said(int n, double *restrict b, const double *restrict a)
{
    // loop shared_said: safe ; existing=redundant
#pragma omp parallel for shared(a, b, n)
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
    }
}

void counter_said(int n, double *a)
{
    int i;
    // loop counter_said: safe ; existing=redundant
#pragma omp parallel for private(i)
    for (i = 0; i < n; i++) {
        a[i] += 1.0;
    }
}

void none_said(int n, double *restrict b, const double *restrict a)
{
    double t;
    // loop none_said: safe private(t) ; existing=ok
#pragma omp parallel for default(none) shared(n, a, b) private(t)
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = t + 1.0;
    }
}

double unused_private(int n, double *a)
{
    double spare = 1.0;
    // loop unused_private: safe ; existing=harmless
#pragma omp parallel for private(spare)
    for (int i = 0; i < n; i++) {
        a[i] += 1.0;
    }
    return spare;
}

void last_not_used(int n, double *restrict b, const double *restrict a)
{
    double t;
    // loop last_not_used: safe private(t) ; existing=harmless
#pragma omp parallel for lastprivate(t)
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = t * t;
    }
}

void scratch_shared(int n, double *restrict b, const double *restrict a)
{
    double t[4];
    // loop scratch_shared.i: safe private(t) ; existing=private
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        // loop scratch_shared.k: safe ; small
        for (int k = 0; k < 4; k++) {
            t[k] = a[i] * k;
        }
        b[i] = t[1] + t[3];
    }
}

void counter_shared(int n, double *restrict b, const double *restrict a)
{
    int k = 0;
    // loop counter_shared: safe private(k) ; induction(k = k0 + i), existing=racy
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        b[k++] = a[i];
    }
}

void collapsed_recurrence(int n, int m, double *a)
{
    // loop collapsed_recurrence.i: safe ; existing=racy
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++) {
        // loop collapsed_recurrence.j: carried +2 +2
        for (int j = 1; j < m; j++) {
            a[i * m + j] += a[i * m + j - 1];
        }
    }
}

void vector_right(int n, double *a)
{
    // loop vector_right: carried +3 +3 ; safelen(4), existing=ok
#pragma omp simd safelen(4)
    for (int i = 0; i < n; i++) {
        a[i + 4] = a[i] + 1.0;
    }
}

void vector_too_long(int n, double *a)
{
    // loop vector_too_long: carried +3 +3 ; safelen(4), existing=racy
#pragma omp simd safelen(8)
    for (int i = 0; i < n; i++) {
        a[i + 4] = a[i] + 1.0;
    }
}

void printed_in_order(int n, const double *a)
{
    // loop printed_in_order: carried io ; existing=ok
#pragma omp parallel for ordered
    for (int i = 0; i < n; i++) {
#pragma omp ordered
        printf("%g\n", a[i]);
    }
}

void printed_in_any_order(int n, const double *a)
{
    // loop printed_in_any_order: carried io ; existing=racy
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        printf("%g\n", a[i]);
    }
}

void random_shared(int n, double *a)
{
    // loop random_shared: carried order ; existing=racy
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        a[i] = rand();
    }
}

void two_loops(int n, double *restrict b, double *restrict a)
{
#pragma omp parallel
    {
        // loop two_loops.a: safe ; existing=ok
#pragma omp for
        for (int i = 0; i < n; i++) {
            a[i] = i;
        }
        // loop two_loops.b: safe ; existing=ok
#pragma omp for
        for (int i = 0; i < n; i++) {
            b[i] = a[n - 1 - i];
        }
    }
}

void two_loops_not_waiting(int n, double *restrict b, double *restrict a)
{
#pragma omp parallel
    {
        // loop two_loops_not_waiting.a: safe ; existing=racy
#pragma omp for nowait
        for (int i = 0; i < n; i++) {
            a[i] = i;
        }
        // loop two_loops_not_waiting.b: safe ; existing=ok
#pragma omp for
        for (int i = 0; i < n; i++) {
            b[i] = a[n - 1 - i];
        }
    }
}

void one_thread(int n, double *a)
{
    // loop one_thread: carried +3 +3 ; existing=harmless
#pragma omp parallel for num_threads(1)
    for (int i = 1; i < n; i++) {
        a[i] += a[i - 1];
    }
}

void bins_reduced(int n, double *restrict bin, const double *restrict a)
{
    // loop bins_reduced: safe reduction(+:bin[:8]) ; existing=ok
#pragma omp parallel for reduction(+ : bin[:8])
    for (int i = 0; i < n; i++) {
        bin[i % 8] += a[i];
    }
}

void bins_racing(int n, double *restrict bin, const double *restrict a)
{
    // loop bins_racing: safe reduction(+:bin[:8]) ; existing=reduction
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        bin[i % 8] += a[i];
    }
}

void outer_says_it(int n, int m, double *a)
{
    // loop outer_says_it.i: safe ; existing=ok, collapse(2)
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        // loop outer_says_it.j: safe ; existing=ok
#pragma omp simd
        for (int j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
    }
}

void private_collapsed_both(int n, int m, double *a)
{
    int i, j;
    // loop private_collapsed_both.i: safe private(j) ; existing=redundant, collapse(2)
#pragma omp parallel for collapse(2) private(i, j)
    for (i = 0; i < n; i++) {
        // loop private_collapsed_both.j: safe
        for (j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
    }
}

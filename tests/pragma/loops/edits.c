/*
 * Loops that an edit makes parallel, at least in part, and loops like them that no such edit does.
 * "edit: ..." in the comment of a function names the edit; "no edit" is a claim too.
 * tests/pragma/edits.py applies the edits, and runs functions of (n, a, b, c) before and after.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct count {
    int n;
    double scale;
};

/* ---- a recurrence and other work ---- */

/* edit: split the loop after line +1: the second loop is parallel */
double recurrence_first(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double r = 1.0;
    // loop recurrence_first: carried +2 +2
    for (int i = 0; i < n; i++) {
        r = r * 0.5 + c[i];
        a[i] = sqrt(c[i]) + b[i];
    }
    return r;
}

/* edit: split the loop after line +1: the first loop is parallel */
double recurrence_last(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double r = 1.0;
    // loop recurrence_last: carried +3 +3
    for (int i = 0; i < n; i++) {
        a[i] = sqrt(c[i]) + b[i];
        r = r * 0.5 + a[i];
    }
    return r;
}

/* edit: split the loop after lines +1 and +2: the first and the third loop are parallel */
double recurrence_between(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double r = 1.0;
    // loop recurrence_between: carried +3 +3
    for (int i = 0; i < n; i++) {
        a[i] = sqrt(c[i]);
        r = r * 0.5 + a[i];
        b[i] = a[i] * 3.0;
    }
    return r;
}

/* edit: split the loop after line +1 */
void prefix_sum(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop prefix_sum: carried +2 +2
    for (int i = 1; i < n; i++) {
        a[i] = a[i - 1] + c[i];
        b[i] = c[i] * c[i];
    }
}

/* edit: split the loop after line +2 and repeat line +1 */
void common_temporary(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop common_temporary: carried +3 +3
    for (int i = 1; i < n; i++) {
        const double t = c[i] * 2.0;
        a[i] = a[i - 1] + t;
        b[i] = t * 3.0;
    }
}

/* edit: split the loop after line +3 and repeat lines +1 and +2 */
void two_temporaries(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop two_temporaries: carried +4 +4
    for (int i = 1; i < n; i++) {
        const int k = n - i;
        const double t = c[k] + k;
        a[i] = a[i - 1] * 0.5 + t;
        b[k] = t * 3.0 + k;
    }
}

/* edit: split the loop after line +2 */
void one_counter(int n, double *restrict a, double *restrict b, double *restrict c)
{
    int j;
    // loop one_counter: carried +3 +3
    for (int i = 1; i < n / 8; i++) {
        // loop one_counter.j: safe ; small
        for (j = 0; j < 8; j++) a[8 * i + j] = a[8 * i + j - 8] + c[i];
        // loop one_counter.k: safe ; small
        for (j = 0; j < 8; j++) b[8 * i + j] = c[i] * j;
    }
}

/* edit: split the loop after line +1 */
void downwards(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop downwards: carried +2 +3
    for (int i = n - 2; i >= 0; i--) {
        a[i] = c[i] * 2.0;
        b[i] = a[i + 1];
    }
}

/* edit: split the loop after line +1 */
double random_numbers(int n, double *restrict a, double *restrict b, double *restrict c)
{
    srand(n);
    // loop random_numbers: carried order
    for (int i = 0; i < n; i++) {
        a[i] = rand();
        b[i] = sqrt(a[i]) + c[i];
    }
    return a[0];
}

/* edit: split the loop after line +1 */
void prints_results(int n, double *restrict a, const double *restrict c)
{
    // loop prints_results: carried io
    for (int i = 0; i < n; i++) {
        a[i] = exp(c[i]);
        printf("%d %g\n", i, a[i]);
    }
}

/* ---- loops that must stay one ---- */

/* no edit: the second statement writes what the first one reads later */
void reads_what_follows(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop reads_what_follows: carried +3 +2
    for (int i = 1; i < n; i++) {
        b[i] = a[i - 1] + c[i];
        a[i] = c[i] * 2.0;
    }
}

/* no edit: a circle of two statements */
void circle(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop circle: carried +2 +3
    for (int i = 1; i < n; i++) {
        a[i] = b[i - 1] + c[i];
        b[i] = a[i - 1] * 0.5;
    }
}

/* no edit: downwards, the source follows the sink */
void downwards_back(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop downwards_back: carried +3 +2
    for (int i = n - 2; i >= 0; i--) {
        b[i] = a[i + 1] + c[i];
        a[i] = c[i] * 2.0;
    }
}

/* no edit: the statements pass a value of one iteration */
double passes_scalar(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double t = 0.0;
    // loop passes_scalar: carried +3 +3 ; small
    for (int i = 1; i < n; i++) {
        t = c[i] * 2.0;
        a[i] = a[i - 1] + t;
        b[i] = t * 3.0;
    }
    return t;
}

/* clang-format off */
/* no edit: the line of the declaration has another statement, which must not run twice */
double shares_its_line(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double s = 0.0;
    // loop shares_its_line: carried +2 +2
    for (int i = 1; i < n; i++) {
        double t = c[i] * 2.0; s = s * 0.5 + t;
        a[i] = s;
        b[i] = t + 1.0;
    }
    return s;
}
/* clang-format on */

/* no edit: a private array passes values */
void passes_array(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double w[2];
    // loop passes_array: carried +4 +4
    for (int i = 1; i < n; i++) {
        w[0] = c[i];
        w[1] = b[i];
        a[i] = a[i - 1] + w[0];
        b[i] = w[0] * w[1];
    }
}

/* no edit: a repeated declaration would read what the other loop has written */
void temporary_of_changed(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop temporary_of_changed: carried +3 +3
    for (int i = 1; i < n; i++) {
        const double t = c[i] * 2.0;
        a[i] = a[i - 1] + t;
        c[i] = 1.0;
        b[i] = t * 3.0;
    }
}

/* no edit: a condition of the recurrence decides about the rest */
double skips_rest(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double r = 1.0;
    // loop skips_rest: carried +2 +2
    for (int i = 0; i < n; i++) {
        r = r * 0.5 + c[i];
        if (r > 1.0) continue;
        a[i] = b[i] + 1.0;
    }
    return r;
}

/* no edit: the order of random numbers changes */
void two_random_numbers(int n, double *restrict a, double *restrict b)
{
    // loop two_random_numbers: carried order
    for (int i = 0; i < n; i++) {
        a[i] = rand();
        b[i] = rand() + a[i];
    }
}

/* no edit: the text that it prints changes in between */
void prints_text(int n, char *restrict text, double *restrict a, const double *restrict c)
{
    // loop prints_text: carried io
    for (int i = 0; i < n; i++) {
        a[i] = c[i];
        text[0] = (char)('a' + i % 26);
        printf("%s\n", text);
    }
}

/* no edit: it depends on the inner counter which of the two comes first */
void row_and_next(int n, int m, double *restrict a, double *restrict b)
{
    // loop row_and_next: carried +4 +6
    for (int i = 1; i < n; i++) {
        // loop row_and_next.j: safe
        for (int j = 0; j < m; j++) a[i + j] = j;
        // loop row_and_next.k: safe
        for (int j = 1; j < m; j++) b[m * i + j] = a[i + 2 * j];
    }
}

/* ---- stores of one value ---- */

/* edit: move line +1 before the loop, if the loop has an iteration */
void one_value(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop one_value: carried +2 +2
    for (int i = 1; i < n; i++) {
        b[0] = n * 2.0;
        a[i] = c[i] + b[0];
    }
}

/* edit: move line +2 before the loop */
void one_value_always(struct count *restrict s, double *restrict a, const double *restrict c)
{
    // loop one_value_always: carried +3 +3
    for (int i = 0; i < 4000; i++) {
        a[i] = c[i] * 2.0;
        s->n = 3;
    }
}

/* edit: split the loop after line +1 */
void other_value(int n, struct count *restrict s, double *restrict a, const double *restrict c)
{
    // loop other_value: carried +2 +2
    for (int i = 0; i < n; i++) {
        s->scale = c[i];
        a[i] = c[i] * 2.0;
    }
}

/* no edit: the first iteration reads the old value */
void read_before(int n, struct count *restrict s, double *restrict a, const double *restrict c)
{
    // loop read_before: carried +3 +2
    for (int i = 0; i < n; i++) {
        a[i] = c[i] * s->scale;
        s->scale = 2.0;
    }
}

/* edit: split the loop after line +1 */
void sometimes(int n, struct count *restrict s, double *restrict a, const double *restrict c)
{
    // loop sometimes: carried +2 +2
    for (int i = 0; i < n; i++) {
        if (c[i] > 1.0) s->n = 1;
        a[i] = c[i] * 2.0;
    }
}

/* no edit: the loop changes the stored value */
void value_of_changed(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop value_of_changed: carried +2 +2
    for (int i = 0; i < n; i++) {
        b[0] = a[3];
        a[i] = c[i] * 2.0;
    }
}

/* no edit: another statement stores there */
void stored_twice(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop stored_twice: carried +2 +3
    for (int i = 0; i < n; i++) {
        b[0] = 1.0;
        b[i] = c[i];
        a[i] = c[i] * 2.0;
    }
}

/* ---- declarations ---- */

static void halve(double x, double *half)
{
    *half = x / 2.0;
}

static int positive(double x, double *is)
{
    if (x <= 0.0) return 0;
    *is = x;
    return 1;
}

static void advance(double x, double *sum)
{
    *sum += x;
}

/* edit: declare half in the loop */
void declared_outside(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double half;
    // loop declared_outside: safe private(half)
    for (int i = 0; i < n; i++) {
        halve(c[i], &half);
        a[i] = half * half + b[i];
    }
}

/* edit: declare half and quarter in the loop */
void two_declared_outside(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double half;
    double quarter;
    // loop two_declared_outside: safe private(half, quarter)
    for (int i = 0; i < n; i++) {
        halve(c[i], &half);
        halve(half, &quarter);
        a[i] = half * quarter + b[i];
    }
}

/* no edit: the function does not always assign it */
void keeps_older(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double last = 0.0;
    // loop keeps_older: carried +3 +3
    for (int i = 0; i < n; i++) {
        const int is = positive(c[i], &last);
        a[i] = last + is + b[i];
    }
}

/* no edit: the function reads it */
void advances(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double sum = 0.0;
    // loop advances: carried +2 +2
    for (int i = 0; i < n; i++) {
        advance(c[i], &sum);
        a[i] = sum + b[i];
    }
}

/* no edit: some iterations use an older value */
void assigned_sometimes(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double half = 0.0;
    // loop assigned_sometimes: carried +2 +3
    for (int i = 0; i < n; i++) {
        if (c[i] > 1.0) halve(c[i], &half);
        a[i] = half + b[i];
    }
}

/* no edit: the value of the last iteration is a result */
double result_after(int n, double *restrict a, double *restrict b, double *restrict c)
{
    double half = 0.0;
    // loop result_after: safe lastprivate(half)
    for (int i = 0; i < n; i++) {
        halve(c[i], &half);
        a[i] = half + b[i];
    }
    return half;
}

/* edit: remove static from the declaration of t */
void static_temporary(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop static_temporary: carried +3 +4
    for (int i = 0; i < n; i++) {
        static double t;
        t = c[i] * 2.0;
        a[i] = t * t + b[i];
    }
}

/* no edit: the static variable carries a value */
void static_sum(int n, double *restrict a, double *restrict b, double *restrict c)
{
    // loop static_sum: carried +4 +3
    for (int i = 0; i < n; i++) {
        static double t;
        a[i] = t * t + b[i];
        t = c[i] * 2.0;
    }
}

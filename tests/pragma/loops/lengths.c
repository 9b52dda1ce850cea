/*
 * lengths.c: parts of an array with a fixed distance and lengths from another array, heads that
 * step several variables, and assertions. Labels: README.md.
 */
#include <assert.h>

enum { PLACES = 64 };
struct boxes {
    int n;
    int *length;
};
struct particles {
    double (*force)[3];
    double *energy;
};

void fills_parts(int n, const int *length, double *restrict a)
{
    // loop fills_parts: if range(no length exceeds the distance)
    for (int i = 0; i < n; i++) {
        // loop fills_parts.k: safe
        for (int k = 0; k < length[i]; k++) a[PLACES * i + k] = i;
    }
}

void fills_parts_by_offset(const struct boxes *b, double *restrict a)
{
    // loop fills_parts_by_offset: if range(no length exceeds the distance)
    for (int i = 0; i < b->n; i++) {
        int m = b->length[i];
        // loop fills_parts_by_offset.k: safe
        for (int k = PLACES * i; k < PLACES * i + m; k++) a[k] += i;
    }
}

void fills_symbolic_parts(int n, int width, const int *length, double *restrict a)
{
    // loop fills_symbolic_parts: if range(no length exceeds the distance)
    for (int i = 0; i < n; i++) {
        // loop fills_symbolic_parts.k: safe
        for (int k = 0; k < length[i]; k++) a[width * i + k] = i;
    }
}

void steps_two(int n, const int *length, double *restrict a)
{
    // loop steps_two: if range(no length exceeds the distance)
    for (int i = 0; i < n; i++) {
        // loop steps_two.k: safe ; noncanonical
        for (int at = PLACES * i, k = 0; k < length[i]; k++, at++) a[at] = k;
    }
}

void steps_two_rows(int n, int m, double *restrict a)
{
    // loop steps_two_rows: safe
    for (int i = 0; i < n; i++) {
        // loop steps_two_rows.k: safe ; noncanonical
        for (int at = 64 * i, k = 0; k < 64; k++, at++) a[at] = m;
    }
}

void steps_down_and_up(int n, double *restrict a)
{
    // loop steps_down_and_up: safe
    for (int i = 0; i < n; i++) {
        int k, at;
        // loop steps_down_and_up.k: safe lastprivate(k, at) ; noncanonical
        for (k = 7, at = 8 * i; k >= 0; k--, at++) a[at] = k;
    }
}

void steps_too_far(int n, double *restrict a)
{
    // loop steps_too_far: carried 3 3
    for (int i = 0; i < n; i++) {
        // loop steps_too_far.k: safe ; noncanonical
        for (int at = 8 * i, k = 0; k < 8; k++, at += 2) a[at] = k;
    }
}

void steps_in_the_body(int n, double *restrict a)
{
    // loop steps_in_the_body: carried 3 3
    for (int i = 0; i < n; i++) {
        // loop steps_in_the_body.k: carried 1 1 ; noncanonical
        for (int at = 8 * i, k = 0; k < 8; k++, at++) a[at++] = k;
    }
}

static void parts_overlap(int n, const int *length, double *restrict a)
{
    // loop parts_overlap: carried 3 3 the caller passes lengths of 80 ; violates(length)
    for (int i = 0; i < n; i++) {
        // loop parts_overlap.k: safe
        for (int k = 0; k < length[i]; k++) a[PLACES * i + k] = i;
    }
}

void calls_parts_overlap(double *restrict a)
{
    const int length[2] = {80, 80};
    parts_overlap(2, length, a);
}

void parts_from_a_list(double *restrict a)
{
    static const int length[3] = {80, 80, 3};
    // loop parts_from_a_list: carried 3 3 ; small
    for (int i = 0; i < 3; i++) {
        // loop parts_from_a_list.k: safe
        for (int k = 0; k < length[i]; k++) a[PLACES * i + k] = i;
    }
}

void parts_backwards(int n, const int *length, double *restrict a)
{
    // loop parts_backwards: if range(length[i] <= 32)
    for (int i = 0; i < n; i++) {
        // loop parts_backwards.k: safe
        for (int k = 0; k < length[i]; k++) a[PLACES * i - 2 * k] = i;
    }
}

static void clear3(double *x)
{
    x[0] = x[1] = x[2] = 0;
}

void clears_rows(int n, struct particles *p)
{
    // loop clears_rows: if distinct(force, energy)
    for (int i = 0; i < n; i++) {
        clear3(p->force[i]);
        p->energy[i] = 0;
    }
}

struct list {
    int *item;
    int n;
};

void replaces_pointer(int n, struct list *s, const struct list *other)
{
    // loop replaces_pointer: carried 2 3 each iteration replaces s->item
    for (int i = 0; i < n; i++) {
        s[0] = other[i];
        s->item[i] = i;
    }
}

void asserts_in_loop(int n, const int *k, double *restrict a)
{
    // loop asserts_in_loop: carried control ; violates(assertions)
    for (int i = 0; i < n; i++) {
        assert(k[i] >= 0);
        a[i] = k[i];
    }
}

static double checked(double x)
{
    assert(x > 0);
    return 1 / x;
}

void asserts_in_call(int n, double *a)
{
    // loop asserts_in_call: carried control ; violates(assertions)
    for (int i = 0; i < n; i++) a[i] = checked(a[i]);
}

void asserts_and_depends(int n, double *a)
{
    // loop asserts_and_depends: carried 3 3
    for (int i = 1; i < n; i++) {
        assert(n > 0);
        a[i] = a[i - 1] + 1;
    }
}

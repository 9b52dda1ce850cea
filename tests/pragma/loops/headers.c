/*
 * headers.c: which heads OpenMP takes (5.2, 4.4.1) and which not, whatever is in the body.
 * Labels: README.md.
 */
#include <stddef.h>
#include <stdint.h>

void less(int n, double *a)
{
    // loop less: safe
    for (int i = 0; i < n; ++i) {
        a[i] = i;
    }
}

void less_equal(int n, double *a)
{
    // loop less_equal: safe
    for (int i = 1; i <= n; i += 1) {
        a[i] = i;
    }
}

void bound_first(int n, double *a)
{
    // loop bound_first: safe
    for (int i = 0; n > i; i++) {
        a[i] = i;
    }
}

void greater(int n, double *a)
{
    // loop greater: safe
    for (int i = n; i > 0; --i) {
        a[i] = i;
    }
}

void long_step(int n, double *a)
{
    // loop long_step: safe
    for (int i = 0; i < n; i = i + 3) {
        a[i] = i;
    }
}

void step_first(int n, double *a)
{
    // loop step_first: safe
    for (int i = 0; i < n; i = 2 + i) {
        a[i] = i;
    }
}

void step_back(int n, double *a)
{
    // loop step_back: safe
    for (int i = n - 1; i >= 0; i = i - 2) {
        a[i] = i;
    }
}

void turned(int n, double *a)
{
    // loop turned: safe ; noncanonical
    for (int i = 0; i < n; i = 2 * i + 1) {
        a[i] += 1.0;
    }
}

void step_variable(int n, int step, double *a)
{
    // loop step_variable: safe
    for (int i = 0; i < n; i += step) {
        a[i] = i;
    }
}

void step_changes(int n, double *a)
{
    int step = 1;
    // loop step_changes: carried control ; noncanonical
    for (int i = 0; i < n; i += step) {
        a[i] = i;
        step++;
    }
}

void not_equal(int n, double *a)
{
    // loop not_equal: safe
    for (int i = 0; i != n; i++) {
        a[i] = i;
    }
}

void not_equal_by_two(int n, double *a)
{
    // loop not_equal_by_two: safe ; noncanonical
    for (int i = 0; i != 2 * n; i += 2) {
        a[i] = i;
    }
}

void equal(int n, double *a)
{
    // loop equal: safe ; noncanonical, small
    for (int i = n; i == n; i++) {
        a[i] = i;
    }
}

void unsigned_counter(unsigned n, double *a)
{
    // loop unsigned_counter: safe
    for (unsigned i = 0; i < n; i++) {
        a[i] = i;
    }
}

void size_counter(size_t n, double *a)
{
    // loop size_counter: safe
    for (size_t i = 0; i < n; i++) {
        a[i] = (double)i;
    }
}

void wide_counter(int64_t n, double *a)
{
    // loop wide_counter: safe
    for (int64_t i = 0; i < n; i++) {
        a[i] = (double)i;
    }
}

void narrow_counter(double *a)
{
    // loop narrow_counter: safe ; small
    for (signed char i = 0; i < 100; i++) {
        a[i] = i;
    }
}

void pointer_counter(int n, double *a)
{
    // loop pointer_counter: safe
    for (double *p = a; p < a + n; p++) {
        *p *= 2.0;
    }
}

void pointer_counter_not_equal(double *begin, double *end)
{
    // loop pointer_counter_not_equal: safe
    for (double *p = begin; p != end; ++p) {
        *p *= 2.0;
    }
}

void pointer_counter_before(int n, double *a)
{
    // loop pointer_counter_before: carried +2 +2
    for (double *p = a + 1; p < a + n; p++) {
        *p *= 0.5 * p[-1];
    }
}

void floating_counter(double *restrict b, double x1)
{
    // loop floating_counter: safe ; noncanonical
    for (double x = 0.0; x < x1; x += 1.0) {
        b[(int)x] = x;
    }
}

void doubling(int n, double *a)
{
    // loop doubling: safe ; noncanonical
    for (int i = 1; i < n; i *= 2) {
        a[i] = i;
    }
}

void shifting(double *a)
{
    // loop shifting: safe ; noncanonical, small
    for (unsigned i = 1u << 10; i > 0; i >>= 1) {
        a[i] = i;
    }
}

void two_conditions(int n, int m, double *a)
{
    // loop two_conditions: safe ; noncanonical
    for (int i = 0; i < n && i < m; i++) {
        a[i] = i;
    }
}

void smaller_bound(int n, int m, double *a)
{
    // loop smaller_bound: safe
    for (int i = 0; i < (n < m ? n : m); i++) {
        a[i] = i;
    }
}

void no_first(int n, double *a)
{
    int i = 2;
    // loop no_first: safe ; noncanonical, rewrite
    for (; i < n; i++) {
        a[i] = i;
    }
}

void step_in_body(int n, double *a)
{
    // loop step_in_body: safe ; noncanonical, rewrite
    for (int i = 0; i < n;) {
        a[i] = i;
        i++;
    }
}

void step_in_body_too(int n, double *a)
{
    // loop step_in_body_too: safe ; noncanonical
    for (int i = 0; i < n; i++) {
        a[i] = i;
        i++;
    }
}

void square_in_condition(int n, double *a)
{
    // loop square_in_condition: safe ; noncanonical
    for (int i = 0; i * i < n; i++) {
        a[i] = i;
    }
}

void sum_in_condition(int n, double *a)
{
    // loop sum_in_condition: safe ; noncanonical
    for (int i = 0; i + 1 < n; i++) {
        a[i] = i;
    }
}

void bound_shrinks(int n, double *a)
{
    // loop bound_shrinks: carried control ; noncanonical
    for (int i = 0; i < n; i++) {
        a[i] = i;
        if (i % 4 == 0) n--;
    }
}

void bound_by_pointer(const int *n, double *restrict a)
{
    // loop bound_by_pointer: safe
    for (int i = 0; i < *n; i++) {
        a[i] = i;
    }
}

void bound_in_array(int *a)
{
    // loop bound_in_array: carried control a[0] is the bound ; noncanonical
    for (int i = 0; i < a[0]; i++) {
        a[i] = 8 - i;
    }
}

struct cursor {
    int at, end;
};

void member_counter(struct cursor *c, double *restrict a)
{
    // loop member_counter: safe ; noncanonical
    for (c->at = 0; c->at < c->end; c->at++) {
        a[c->at] = 1.0;
    }
}

int place;

void global_counter(int n, double *restrict a)
{
    // loop global_counter: safe lastprivate(place)
    for (place = 0; place < n; place++) {
        a[place] = 1.0;
    }
}

static void mark_place(double *a)
{
    a[place] += 1.0;
}

void global_counter_read(int n, double *restrict a)
{
    // loop global_counter_read: carried +1 +2 the callee reads the global, not a private copy
    for (place = 0; place < n; place++) {
        mark_place(a);
    }
}

void volatile_counter(int n, double *a)
{
    volatile int i;
    // loop volatile_counter: carried order each access of i is to happen, in order
    for (i = 0; i < n; i++) {
        a[i] = 1.0;
    }
}

void boolean_end(int n, double *a)
{
    int more = n > 0;
    // loop boolean_end: safe ; noncanonical
    for (int i = 0; more; i++) {
        a[i] = i;
        more = i + 1 < n;
    }
}

void comma_in_step(int n, double *a, int *count)
{
    int k = 0;
    // loop comma_in_step: safe reduction(+:k) ; noncanonical
    for (int i = 0; i < n; i++, k++) {
        a[i] = i;
    }
    *count = k;
}

void unbraced(int n, double *a)
{
    // loop unbraced: safe
    for (int i = 0; i < n; i++) a[i] = i;
}

void unbraced_nest(int n, int m, double *a)
{
    // loop unbraced_nest.i: safe ; collapse(2)
    for (int i = 0; i < n; i++)
        // loop unbraced_nest.j: safe
        for (int j = 0; j < m; j++) a[i * m + j] = i;
}

#define FOR(i, n) for (int i = 0; i < (n); i++)

void macro_head(int n, double *a)
{
    // loop macro_head: safe
    FOR(i, n)
    {
        a[i] = i;
    }
}

void macro_head_before(int n, double *a)
{
    // loop macro_head_before: carried +3 +3
    FOR(i, n)
    {
        a[i + 1] = a[i] * 0.5;
    }
}

void split_head(int first_element, int last_element, int step_between, double *destination)
{
    // loop split_head: safe
    for (int element_number = first_element; element_number <= last_element;
         element_number += step_between)
    {
        destination[element_number] = element_number;
    }
}

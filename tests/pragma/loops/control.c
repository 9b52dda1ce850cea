/*
 * control.c: ways out of a loop and around in it: break, return, goto, exit, continue, switch.
 * Labels: README.md.
 */
#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>

int find(int n, const int *a, int key)
{
    int at = -1;
    // loop find: carried control
    for (int i = 0; i < n; i++) {
        if (a[i] == key) {
            at = i;
            break;
        }
    }
    return at;
}

int find_return(int n, const int *a, int key)
{
    // loop find_return: carried control
    for (int i = 0; i < n; i++) {
        if (a[i] == key) return i;
    }
    return -1;
}

int find_last(int n, const int *a, int key)
{
    int at = -1;
    // loop find_last: safe reduction(max:at)
    for (int i = 0; i < n; i++) {
        if (a[i] == key && i > at) at = i;
    }
    return at;
}

int find_goto(int n, const int *a, int key)
{
    int i;
    // loop find_goto: carried control
    for (i = 0; i < n; i++) {
        if (a[i] == key) goto found;
    }
    return -1;
found:
    return i;
}

int in_condition(int n, const int *a, int key)
{
    int i;
    // loop in_condition: carried control ; noncanonical
    for (i = 0; i < n && a[i] != key; i++) {
    }
    return i;
}

void stops_at_low(int n, double *restrict b, const double *restrict a)
{
    // loop stops_at_low: carried control
    for (int i = 0; i < n; i++) {
        if (a[i] < -0.9) break;
        b[i] = 1.0 / a[i];
    }
}

void leaves_out_low(int n, double *restrict b, const double *restrict a)
{
    // loop leaves_out_low: safe
    for (int i = 0; i < n; i++) {
        if (a[i] < -0.9) continue;
        b[i] = 1.0 / a[i];
    }
}

void goes_on(int n, double *restrict b, const double *restrict a)
{
    // loop goes_on: safe
    for (int i = 0; i < n; i++) {
        if (a[i] < 0.0) goto next;
        b[i] = a[i] * 2.0;
    next:;
    }
}

void exits(int n, double *restrict b, const double *restrict a)
{
    // loop exits: carried control
    for (int i = 0; i < n; i++) {
        if (a[i] == 0.0) exit(1);
        b[i] = 1.0 / a[i];
    }
}

static _Noreturn void fail(int code)
{
    exit(code);
}

void fails(int n, double *restrict b, const double *restrict a)
{
    // loop fails: carried control fail does not come back
    for (int i = 0; i < n; i++) {
        if (a[i] == 0.0) fail(2);
        b[i] = 1.0 / a[i];
    }
}

static double checked(double x)
{
    if (x == 0.0) abort();
    return 1.0 / x;
}

void fails_below(int n, double *restrict b, const double *restrict a)
{
    // loop fails_below: carried control the callee may abort
    for (int i = 0; i < n; i++) {
        b[i] = checked(a[i]);
    }
}

void jumps(int n, double *restrict b, const double *restrict a, jmp_buf *env)
{
    // loop jumps: carried control
    for (int i = 0; i < n; i++) {
        if (a[i] == 0.0) longjmp(*env, 1);
        b[i] = 1.0 / a[i];
    }
}

void switch_breaks(int n, double *restrict b, const int *restrict kind)
{
    // loop switch_breaks: safe
    for (int i = 0; i < n; i++) {
        switch (kind[i]) {
        case 0: b[i] = 0.0; break;
        case 1: b[i] *= 2.0; break;
        default: break;
        }
    }
}

void switch_returns(int n, double *restrict b, const int *restrict kind)
{
    // loop switch_returns: carried control
    for (int i = 0; i < n; i++) {
        switch (kind[i]) {
        case 0: b[i] = 0.0; break;
        case 1: b[i] *= 2.0; break;
        default: return;
        }
    }
}

void switch_continues(int n, double *restrict b, const int *restrict kind)
{
    // loop switch_continues: safe
    for (int i = 0; i < n; i++) {
        switch (kind[i]) {
        case 0: continue;
        case 1: b[i] = 1.0; /* fall through */
        default: b[i] += 1.0; break;
        }
        b[i] *= 0.5;
    }
}

void inner_break(int n, int m, int *restrict first, const int *restrict a)
{
    // loop inner_break.i: safe
    for (int i = 0; i < n; i++) {
        first[i] = m;
        // loop inner_break.j: carried control
        for (int j = 0; j < m; j++) {
            if (a[i * m + j] > 3) {
                first[i] = j;
                break;
            }
        }
    }
}

int inner_break_then_outer(int n, int m, const int *a)
{
    int rows = 0, j;
    // loop inner_break_then_outer.i: carried control
    for (int i = 0; i < n; i++) {
        // loop inner_break_then_outer.j: carried control
        for (j = 0; j < m; j++) {
            if (a[i * m + j] > 3) break;
        }
        if (j == m) break;
        rows++;
    }
    return rows;
}

int inner_break_counted(int n, int m, const int *a)
{
    int rows = 0, j;
    // loop inner_break_counted.i: safe private(j) reduction(+:rows)
    for (int i = 0; i < n; i++) {
        // loop inner_break_counted.j: carried control
        for (j = 0; j < m; j++) {
            if (a[i * m + j] > 3) break;
        }
        if (j == m) rows++;
    }
    return rows;
}

int leaves_both(int n, int m, const int *a, int key)
{
    int at = -1;
    // loop leaves_both.i: carried control
    for (int i = 0; i < n; i++) {
        // loop leaves_both.j: carried control
        for (int j = 0; j < m; j++) {
            if (a[i * m + j] == key) {
                at = i * m + j;
                goto done;
            }
        }
    }
done:
    return at;
}

int inner_return(int n, int m, const double *a)
{
    // loop inner_return.i: carried control
    for (int i = 0; i < n; i++) {
        // loop inner_return.j: carried control
        for (int j = 0; j < m; j++) {
            if (a[i * m + j] < -0.99) return 0;
        }
    }
    return 1;
}

void inner_while(int n, int *restrict b, const int *restrict a)
{
    // loop inner_while.i: safe
    for (int i = 0; i < n; i++) {
        int x = a[i], bits = 0;
        // loop inner_while.x: carried control ; noncanonical
        while (x > 0) {
            bits += x & 1;
            x >>= 1;
        }
        b[i] = bits;
    }
}

void inner_endless(int n, int *restrict b, const int *restrict a)
{
    // loop inner_endless.i: safe
    for (int i = 0; i < n; i++) {
        int x = a[i] + 1;
        // loop inner_endless.x: carried control ; noncanonical
        for (;;) {
            x = x / 2;
            if (x < 5) break;
        }
        b[i] = x;
    }
}

void flag_stops(int n, double *restrict b, const double *restrict a)
{
    int stopped = 0;
    // loop flag_stops: carried +3 +2
    for (int i = 0; i < n; i++) {
        if (stopped) continue;
        if (a[i] < -0.9) stopped = 1;
        b[i] = a[i] * 2.0;
    }
}

int flag_and_break(int n, const double *a)
{
    int ok = 1;
    // loop flag_and_break: carried control
    for (int i = 0; i < n; i++) {
        if (a[i] < -0.9) ok = 0;
        if (!ok) break;
    }
    return ok;
}

int flag_no_break(int n, const double *a)
{
    int ok = 1;
    // loop flag_no_break: safe reduction(&&:ok)
    for (int i = 0; i < n; i++) {
        if (a[i] < -0.9) ok = 0;
    }
    return ok;
}

void conditional_work(int n, double *restrict b, const double *restrict a, int squared)
{
    // loop conditional_work: safe
    for (int i = 0; i < n; i++) {
        if (squared) {
            b[i] = a[i] * a[i];
        } else if (a[i] > 0.0) {
            b[i] = a[i];
        }
    }
}

void conditional_neighbour(int n, double *a, int squared)
{
    // loop conditional_neighbour: if range(squared != 0)
    for (int i = 1; i < n; i++) {
        if (squared) {
            a[i] = a[i] * a[i];
        } else {
            a[i] = a[i - 1] * 0.5;
        }
    }
}

void asserts(int n, double *restrict b, const double *restrict a)
{
    // loop asserts: carried control assert may abort ; violates(assertions)
    for (int i = 0; i < n; i++) {
        assert(a[i] < 2.0);
        b[i] = a[i];
    }
}

void changes_counter(int n, double *restrict b, const double *restrict a)
{
    // loop changes_counter: carried control the counter is moved where a[i] is large ; noncanonical
    for (int i = 0; i < n; i++) {
        b[i] = a[i];
        if (a[i] > 0.5) i++;
    }
}

void jumps_backward(int n, double *a)
{
    // loop jumps_backward: safe
    for (int i = 0; i < n; i++) {
        int tries = 0;
    again:
        a[i] *= 0.5;
        if (a[i] > 0.1 && ++tries < 8) goto again;
    }
}

/*
 * scalars.c: variables that are written in a loop: private ones, those whose last value counts, and
 * those that bring a value from one iteration to the next. Sums are in reductions.c.
 */

struct point {
    double x, y;
};

void inside(int n, double *restrict b, const double *restrict a)
{
    // loop inside: safe
    for (int i = 0; i < n; i++) {
        double t = a[i] + 1.0;
        b[i] = t * t;
    }
}

void outside(int n, double *restrict b, const double *restrict a)
{
    double t;
    // loop outside: safe private(t)
    for (int i = 0; i < n; i++) {
        t = a[i] + 1.0;
        b[i] = t * t;
    }
}

double used_after(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop used_after: safe lastprivate(t)
    for (int i = 0; i < n; i++) {
        t = a[i] + 1.0;
        b[i] = t * t;
    }
    return t;
}

void counter_outside(int n, double *a)
{
    int i;
    // loop counter_outside: safe
    for (i = 0; i < n; i++) {
        a[i] += 1.0;
    }
}

int counter_after(int n, double *a)
{
    int i;
    // loop counter_after: safe lastprivate(i)
    for (i = 0; i < n; i++) {
        a[i] += 1.0;
    }
    return i;
}

void sometimes_set(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop sometimes_set: carried +2 +3 where a[i] is not positive, t is of an earlier iteration
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) t = a[i];
        b[i] = t;
    }
}

void always_set(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop always_set: safe private(t)
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) {
            t = a[i];
        } else {
            t = -a[i];
        }
        b[i] = t;
    }
}

void set_and_used_alike(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop set_and_used_alike: safe private(t)
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) {
            t = a[i] * 2.0;
            b[i] = t;
        }
    }
}

void used_before_set(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop used_before_set: carried +3 +2
    for (int i = 0; i < n; i++) {
        b[i] = t;
        t = a[i];
    }
}

void difference(int n, double *restrict b, const double *restrict a)
{
    double before = 0.0;
    // loop difference: carried +3 +2
    for (int i = 0; i < n; i++) {
        b[i] = a[i] - before;
        before = a[i];
    }
}

void difference_read(int n, double *restrict b, const double *restrict a)
{
    double before;
    // loop difference_read: safe private(before)
    for (int i = 1; i < n; i++) {
        before = a[i - 1];
        b[i] = a[i] - before;
    }
}

void set_in_switch(int n, double *restrict b, const int *restrict kind)
{
    double w = 0.0;
    // loop set_in_switch: safe private(w)
    for (int i = 0; i < n; i++) {
        switch (kind[i]) {
        case 0: w = 1.0; break;
        case 1: w = 0.5; break;
        default: w = 0.0; break;
        }
        b[i] *= w;
    }
}

void forgotten_in_switch(int n, double *restrict b, const int *restrict kind)
{
    double w = 0.0;
    // loop forgotten_in_switch: carried +3 +7 for other kinds w is of an earlier iteration
    for (int i = 0; i < n; i++) {
        switch (kind[i]) {
        case 0: w = 1.0; break;
        case 1: w = 0.5; break;
        default: break;
        }
        b[i] *= w;
    }
}

double last_positive(int n, const double *a)
{
    double last = 0.0;
    // loop last_positive: safe lastprivate(conditional: last)
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) last = a[i];
    }
    return last;
}

int any_negative(int n, const double *a)
{
    int any = 0;
    // loop any_negative: safe reduction(||:any)
    for (int i = 0; i < n; i++) {
        if (a[i] < 0.0) any = 1;
    }
    return any;
}

int any_negative_read(int n, double *restrict b, const double *restrict a)
{
    int any = 0;
    // loop any_negative_read: carried +2 +3
    for (int i = 0; i < n; i++) {
        if (a[i] < 0.0) any = 1;
        b[i] = any ? 0.0 : a[i];
    }
    return any;
}

int pack(int n, double *restrict out, const double *restrict a)
{
    int k = 0;
    // loop pack: carried +2 +2 where an element goes depends on how many went before it
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) out[k++] = a[i];
    }
    return k;
}

int count(int n, const double *a)
{
    int k = 0;
    // loop count: safe reduction(+:k)
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) k++;
    }
    return k;
}

void scratch(int n, double *restrict b, const double *restrict a)
{
    double t[3];
    // loop scratch: safe private(t)
    for (int i = 0; i < n; i++) {
        t[0] = a[i];
        t[1] = t[0] * a[i];
        t[2] = t[1] * a[i];
        b[i] = t[0] + t[1] + t[2];
    }
}

void scratch_half_set(int n, double *restrict b, const double *restrict a)
{
    double t[3] = {0.0, 0.0, 0.0};
    // loop scratch_half_set: carried +3 +4 t[1] may be of an earlier iteration
    for (int i = 0; i < n; i++) {
        t[0] = a[i];
        if (a[i] > 0.0) t[1] = a[i];
        b[i] = t[0] + t[1];
    }
}

void scratch_first(int n, double *restrict b, const double *restrict a)
{
    double t[3] = {4.0, 2.0, 0.0};
    // loop scratch_first: safe firstprivate(t)
    for (int i = 0; i < n; i++) {
        t[2] = a[i];
        b[i] = t[0] + t[1] * t[2];
    }
}

void scratch_loop(int n, int m, double *restrict b, const double *restrict a)
{
    double t[64];
    int j;
    // loop scratch_loop.i: safe private(t, j)
    for (int i = 0; i < n; i++) {
        // loop scratch_loop.set: safe
        for (j = 0; j < 64; j++) {
            t[j] = a[i] * j;
        }
        // loop scratch_loop.use: safe
        for (j = 0; j < m; j++) {
            b[i * m + j] = t[j % 64];
        }
    }
}

void scratch_loop_short(int n, int m, double *restrict b, const double *restrict a)
{
    double t[64] = {0.0};
    // loop scratch_loop_short.i: carried +4 +8 elements behind i are those of an earlier iteration
    for (int i = 0; i < n; i++) {
        // loop scratch_loop_short.set: safe
        for (int j = 0; j < (n - i) % 64; j++) {
            t[j] = a[i] + j;
        }
        // loop scratch_loop_short.use: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = t[j % 64];
        }
    }
}

void point(int n, double *restrict b, const double *restrict a)
{
    struct point p;
    // loop point: safe private(p)
    for (int i = 0; i < n; i++) {
        p.x = a[i];
        p.y = 2.0 * a[i];
        b[i] = p.x * p.y;
    }
}

void point_half_set(int n, double *restrict b, const double *restrict a)
{
    struct point p = {0.0, 0.0};
    // loop point_half_set: carried +4 +3 p.y is of the iteration before
    for (int i = 0; i < n; i++) {
        p.x = a[i];
        b[i] = p.x * p.y;
        p.y = p.x;
    }
}

void walker(int n, double *a)
{
    double *p;
    // loop walker: safe private(p)
    for (int i = 0; i < n; i++) {
        p = a + i;
        *p += 1.0;
    }
}

void watched(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    const double *p = &t;
    // loop watched: carried +3 +2 *p is t: a private copy would not be seen through p
    for (int i = 0; i < n; i++) {
        t = a[i];
        b[i] = *p + 1.0;
    }
}

void sign_changes(int n, double *restrict b, const double *restrict a)
{
    double sign = 1.0;
    // loop sign_changes: carried +3 +2
    for (int i = 0; i < n; i++) {
        b[i] = sign * a[i];
        sign = -sign;
    }
}

void sign_by_parity(int n, double *restrict b, const double *restrict a)
{
    double sign;
    // loop sign_by_parity: safe private(sign)
    for (int i = 0; i < n; i++) {
        sign = i % 2 ? -1.0 : 1.0;
        b[i] = sign * a[i];
    }
}

double work;

void global_scratch(int n, double *restrict b, const double *restrict a)
{
    // loop global_scratch: safe lastprivate(work)
    for (int i = 0; i < n; i++) {
        work = a[i] * a[i];
        b[i] = work + 1.0;
    }
}

static double twice_work(void)
{
    return 2.0 * work;
}

void global_argument(int n, double *restrict b, const double *restrict a)
{
    // loop global_argument: carried +3 +2 the callee reads the one work that all share
    for (int i = 0; i < n; i++) {
        work = a[i] * a[i];
        b[i] = twice_work();
    }
}

void static_scratch(int n, double *restrict b, const double *restrict a)
{
    static double t;
    // loop static_scratch: safe private(t)
    for (int i = 0; i < n; i++) {
        t = a[i] * a[i];
        b[i] = t + 1.0;
    }
}

void static_counter(int n, double *b)
{
    static int calls;
    // loop static_counter: safe private(calls) ; induction(calls = calls0 + i)
    for (int i = 0; i < n; i++) {
        calls = calls + 1;
        b[i] = calls;
    }
}

void fibonacci(int n, double *a)
{
    double x = 0.0, y = 1.0, t;
    // loop fibonacci: carried +4 +2 x and y go from iteration to iteration
    for (int i = 0; i < n; i++) {
        t = x + y;
        a[i] = x;
        x = y;
        y = t * 0.5;
    }
}

void nested_counter_outside(int n, int m, double *a)
{
    int i, j;
    // loop nested_counter_outside.i: safe private(j) ; collapse(2)
    for (i = 0; i < n; i++) {
        // loop nested_counter_outside.j: safe
        for (j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
    }
}

int inner_counter_used(int n, int m, double *a)
{
    int i, j = 0;
    // loop inner_counter_used.i: safe lastprivate(j)
    for (i = 0; i < n; i++) {
        // loop inner_counter_used.j: safe lastprivate(j)
        for (j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
    }
    return j;
}

void same_value(int n, double *restrict b, double v)
{
    double t;
    // loop same_value: safe private(t)
    for (int i = 0; i < n; i++) {
        t = v * 2.0;
        b[i] += t;
    }
}

void parameter_changed(int n, double *restrict b, double v)
{
    // loop parameter_changed: carried +3 +2
    for (int i = 0; i < n; i++) {
        b[i] += v;
        v *= 0.5;
    }
}

void compound_set(int n, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop compound_set: carried +4 +2 += reads what the iteration before left in t
    for (int i = 0; i < n; i++) {
        t += a[i];
        b[i] = t;
        t = 0.25 * t;
    }
}

void reset_each(int n, int m, double *restrict b, const double *restrict a)
{
    double t;
    // loop reset_each.i: safe private(t)
    for (int i = 0; i < n; i++) {
        t = 0.0;
        // loop reset_each.j: safe reduction(+:t)
        for (int j = 0; j < m; j++) {
            t += a[i * m + j];
        }
        b[i] = t;
    }
}

void never_reset(int n, int m, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop never_reset.i: carried +4 +4 t goes on from row to row
    for (int i = 0; i < n; i++) {
        // loop never_reset.j: safe reduction(+:t)
        for (int j = 0; j < m; j++) {
            t += a[i * m + j];
        }
        b[i] = t;
    }
}

void counter_before_return(int n, double *a, int twice)
{
    int i;
    if (twice) {
        // loop counter_before_return.first: safe
        for (i = 0; i < n; i++) {
            a[i] *= 2.0;
        }
        return;
    }
    // loop counter_before_return.second: safe
    for (i = 0; i < n; i++) {
        a[i] += 1.0;
    }
}

int counter_before_return_of_it(int n, double *a, int twice)
{
    int i = 0;
    if (twice) {
        // loop counter_before_return_of_it: safe lastprivate(i)
        for (i = 0; i < n; i++) {
            a[i] *= 2.0;
        }
        return i;
    }
    return -1;
}

int counter_past_jump(int n, double *a, int twice)
{
    int i = 0;
    // loop counter_past_jump.k: carried control break and return
    for (int k = 0; k < 2; k++) {
        // loop counter_past_jump.i: safe lastprivate(i)
        for (i = 0; i < n; i++) {
            a[i] *= 2.0;
        }
        if (twice) break;
        return 0;
    }
    return i;
}

void counter_of_later_rows(int n, int m, double *a)
{
    int j;
    // loop counter_of_later_rows.first: safe
    for (j = 0; j < m; j++) {
        a[j] *= 2.0;
    }
    // loop counter_of_later_rows.i: safe private(j)
    for (int i = 0; i < n; i++) {
        // loop counter_of_later_rows.j: safe
        for (j = 0; j < m; j++) {
            a[i * m + j] += 1.0;
        }
    }
}

int counter_behind_later_rows(int n, int m, double *a)
{
    int j;
    // loop counter_behind_later_rows.first: safe lastprivate(j)
    for (j = 0; j < m; j++) {
        a[j] *= 2.0;
    }
    // loop counter_behind_later_rows.i: safe lastprivate(conditional: j)
    for (int i = 0; i < n; i++) {
        // loop counter_behind_later_rows.j: safe lastprivate(j)
        for (j = 0; j < m; j++) {
            a[i * m + j] += 1.0;
        }
    }
    return j;
}

double value_in_later_branch(int n, int m, double *a)
{
    double t = 0.0;
    // loop value_in_later_branch.first: safe lastprivate(t)
    for (int i = 0; i < n; i++) {
        t = a[i];
        a[i] = t * t;
    }
    // loop value_in_later_branch.second: carried +3 +2
    for (int i = 0; i < m; i++) {
        if (a[i] > 0.0) t = a[i];
        a[i] = t;
    }
    return a[0];
}

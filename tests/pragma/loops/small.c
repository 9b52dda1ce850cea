/*
 * small.c: loops that may run in parallel and are not worth it: few iterations, nothing in them.
 * Labels: README.md.
 */

void three(double *restrict v, const double *restrict w)
{
    // loop three: safe ; small
    for (int k = 0; k < 3; k++) {
        v[k] += w[k];
    }
}

double dot_of_four(const double *v, const double *w)
{
    double s = 0.0;
    // loop dot_of_four: safe reduction(+:s) ; small
    for (int k = 0; k < 4; k++) {
        s += v[k] * w[k];
    }
    return s;
}

void three_by_three(double c[restrict 3][3], double a[restrict 3][3])
{
    // loop three_by_three.i: safe ; small, collapse(2)
    for (int i = 0; i < 3; i++) {
        // loop three_by_three.j: safe ; small
        for (int j = 0; j < 3; j++) {
            c[i][j] = a[j][i];
        }
    }
}

enum { corners = 8 };

void corners_of_each(int n, double *restrict out, const double *restrict a)
{
    // loop corners_of_each.i: safe
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        // loop corners_of_each.k: safe reduction(+:s) ; small
        for (int k = 0; k < corners; k++) {
            s += a[corners * i + k];
        }
        out[i] = s;
    }
}

void once_only(double *a)
{
    // loop once_only: safe ; small
    for (int i = 0; i < 1; i++) {
        a[i] = 1.0;
    }
}

void never(double *a)
{
    // loop never: safe ; small
    for (int i = 5; i < 5; i++) {
        a[0] = a[0] * 0.5 + i;
    }
}

void bounded_by_mask(int n, double *a)
{
    // loop bounded_by_mask: safe ; small
    for (int i = 0; i < (n & 7); i++) {
        a[i] *= 2.0;
    }
}

void sixteen_steps(double *a)
{
    // loop sixteen_steps: safe ; small
    for (int i = 0; i < 4096; i += 256) {
        a[i] = i;
    }
}

void many(double *a)
{
    // loop many: safe
    for (int i = 0; i < 100000; i++) {
        a[i] = i * 0.5;
    }
}

static void heavy(double *x)
{
    // loop heavy: carried +2 +2
    for (int k = 0; k < 1000000; k++) {
        *x = *x * 0.999 + 0.5;
    }
}

void few_but_heavy(double *a)
{
    // loop few_but_heavy: safe
    for (int i = 0; i < 8; i++) {
        heavy(&a[i]);
    }
}

void small_and_carried(double *a)
{
    // loop small_and_carried: carried +2 +2 ; small
    for (int k = 1; k < 4; k++) {
        a[k] += a[k - 1];
    }
}

void sizes_known(double *restrict b, const double *restrict a)
{
    const int n = 6;
    // loop sizes_known.i: safe ; small, collapse(2)
    for (int i = 0; i < n; i++) {
        // loop sizes_known.j: safe ; small
        for (int j = 0; j < n; j++) {
            b[i * n + j] = a[j * n + i];
        }
    }
}

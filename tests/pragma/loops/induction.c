/*
 * induction.c: secondary counters. A counter that is a formula of the first can be recomputed
 * in each iteration (`induction(...)`); the others carry a value along. Labels: README.md.
 */

void by_two(int n, double *restrict b, const double *restrict a)
{
    int k = 0;
    // loop by_two: safe private(k) ; induction(k = k0 + 2 * i)
    for (int i = 0; i < n; i++) {
        b[k] = a[i];
        k += 2;
    }
}

void by_two_computed(int n, double *restrict b, const double *restrict a)
{
    int k;
    // loop by_two_computed: safe private(k)
    for (int i = 0; i < n; i++) {
        k = 2 * i;
        b[k] = a[i];
    }
}

void by_two_sometimes(int n, double *restrict b, const double *restrict a)
{
    int k = 0;
    // loop by_two_sometimes: carried +3 +2 k moves only where a[i] is positive
    for (int i = 0; i < n; i++) {
        b[k] = a[i];
        if (a[i] > 0.0) k += 2;
    }
}

void downward(int n, double *restrict b, const double *restrict a)
{
    int k = n;
    // loop downward: safe private(k) ; induction(k = k0 - i)
    for (int i = 0; i < n; i++) {
        k--;
        b[k] = a[i];
    }
}

int used_after(int n, double *restrict b, const double *restrict a)
{
    int k = 3;
    // loop used_after: safe lastprivate(k) ; induction(k = k0 + i)
    for (int i = 0; i < n; i++) {
        b[k] = a[i];
        k++;
    }
    return k;
}

void parameter(int n, int k, double *restrict b, const double *restrict a)
{
    // loop parameter: safe private(k) ; induction(k = k0 + i)
    for (int i = 0; i < n; i++) {
        b[k++] = a[i];
    }
}

void twice_in_body(int n, double *restrict b, const double *restrict a)
{
    int k = 0;
    // loop twice_in_body: safe private(k) ; induction(k = k0 + 2 * i)
    for (int i = 0; i < n; i++) {
        b[k++] = a[i];
        b[k++] = -a[i];
    }
}

void twice_or_once(int n, double *restrict b, const double *restrict a)
{
    int k = 0;
    // loop twice_or_once: carried +2 +2 how far k moves depends on a[i]
    for (int i = 0; i < n; i++) {
        b[k++] = a[i];
        if (a[i] < 0.0) b[k++] = -a[i];
    }
}

void not_far_enough(int n, double *restrict b, const double *restrict a)
{
    int k = 0;
    // loop not_far_enough: carried +3 +2 b[k + 1] is written again as the next b[k]
    for (int i = 0; i < n; i++) {
        b[k] = a[i];
        b[k + 1] = -a[i];
        k++;
    }
}

void standing(int n, int k, double *restrict b, const double *restrict a)
{
    // loop standing: carried +2 +2 k does not move
    for (int i = 0; i < n; i++) {
        b[k] = 0.5 * b[k] + a[i];
    }
}

void pointers(int n, double *restrict b, const double *restrict a)
{
    double *p = b;
    // loop pointers: safe private(p) ; induction(p = p0 + i)
    for (int i = 0; i < n; i++) {
        *p++ = 2.0 * a[i];
    }
}

void two_pointers(int n, double *restrict b, const double *restrict a)
{
    // loop two_pointers: safe private(a, b) ; induction(a = a0 + i), induction(b = b0 + i)
    for (int i = 0; i < n; i++) {
        *b++ = *a++ + 1.0;
    }
}

void pointer_sometimes(int n, double *restrict b, const double *restrict a)
{
    double *p = b;
    // loop pointer_sometimes: carried +2 +2
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) *p++ = a[i];
    }
}

void pointer_and_before(int n, double *b)
{
    double *p = b + 1;
    // loop pointer_and_before: carried +2 +2 p[-1] is what the iteration before wrote
    for (int i = 0; i < n; i++) {
        *p = p[-1] * 0.5;
        p++;
    }
}

void arithmetic(int n, double *b, double x, double h)
{
    // loop arithmetic: safe private(x) ; induction(x = x0 + i * h)
    for (int i = 0; i < n; i++) {
        b[i] = x * x;
        x += h;
    }
}

void geometric(int n, double *b, double x)
{
    // loop geometric: carried +3 +2
    for (int i = 0; i < n; i++) {
        b[i] = x;
        x *= 0.875;
    }
}

void changing_step(int n, double *restrict b, const double *restrict a)
{
    double x = 0.0;
    // loop changing_step: carried +3 +2
    for (int i = 0; i < n; i++) {
        b[i] = x;
        x += a[i];
    }
}

void quadratic(int n, double *restrict b, const double *restrict a)
{
    int k = 0;
    // loop quadratic: safe private(k) ; induction(k = k0 + i * (i + 1) / 2)
    for (int i = 0; i < n; i++) {
        b[k] = a[i];
        k += i + 1;
    }
}

void wrapped(int n, double *restrict b, const double *restrict w)
{
    int k = 0;
    // loop wrapped: safe private(k) ; induction(k = i % 8)
    for (int i = 0; i < n; i++) {
        b[i] = w[k];
        k = (k + 1) % 8;
    }
}

void wrapped_by_if(int n, double *restrict b, const double *restrict w)
{
    int k = 0;
    // loop wrapped_by_if: safe private(k) ; induction(k = i % 5)
    for (int i = 0; i < n; i++) {
        b[i] = w[k];
        if (++k == 5) k = 0;
    }
}

void wrapped_written(int n, double *restrict w, const double *restrict a)
{
    int k = 0;
    // loop wrapped_written: carried +2 +2 eight iterations later the same element is written
    for (int i = 0; i < n; i++) {
        w[k] = 0.5 * w[k] + a[i];
        k = (k + 1) % 8;
    }
}

void derived(int n, double *restrict b, const double *restrict a)
{
    // loop derived: safe
    for (int i = 0; i < n; i++) {
        int k = n - 1 - i;
        b[k] = a[i];
    }
}

void derived_meets(int n, double *a)
{
    // loop derived_meets: carried +3 +3
    for (int i = 0; i < n; i++) {
        int k = n - 1 - i;
        a[k] = a[i] + 1.0;
    }
}

void over_rows(int rows, int m, double *b)
{
    int k = 0;
    // loop over_rows.i: safe private(k) ; induction(k = k0 + i * m)
    for (int i = 0; i < rows; i++) {
        // loop over_rows.j: safe lastprivate(k) ; induction(k = k0 + j)
        for (int j = 0; j < m; j++) {
            b[k++] = i - j;
        }
    }
}

void over_triangle(int n, double *b)
{
    int k = 0;
    // loop over_triangle.i: safe private(k) ; induction(k = k0 + i * (i + 1) / 2)
    for (int i = 0; i < n; i++) {
        // loop over_triangle.j: safe lastprivate(k) ; induction(k = k0 + j)
        for (int j = 0; j <= i; j++) {
            b[k++] = i - j;
        }
    }
}

void over_lists(int rows, double *restrict b, const int *restrict length)
{
    int k = 0;
    // loop over_lists.i: carried +4 +4 where a row begins depends on the lengths before it
    for (int i = 0; i < rows; i++) {
        // loop over_lists.j: safe lastprivate(k) ; induction(k = k0 + j)
        for (int j = 0; j < length[i]; j++) {
            b[k++] = i - j;
        }
    }
}

void row_start(int rows, int m, double *b)
{
    int row = 0;
    // loop row_start.i: safe private(row) ; induction(row = row0 + i * m)
    for (int i = 0; i < rows; i++) {
        // loop row_start.j: safe
        for (int j = 0; j < m; j++) {
            b[row + j] = i - j;
        }
        row += m;
    }
}

void row_start_too_short(int rows, int m, double *b)
{
    int row = 0;
    // loop row_start_too_short.i: carried +4 +4 rows begin m - 1 apart
    for (int i = 0; i < rows; i++) {
        // loop row_start_too_short.j: safe
        for (int j = 0; j < m; j++) {
            b[row + j] = i - j;
        }
        row += m - 1;
    }
}

void two_counters(int n, double *restrict b, const double *restrict a)
{
    int i, j;
    // loop two_counters: safe private(j) ; noncanonical, rewrite, induction(j = n - 1 - i)
    for (i = 0, j = n - 1; i < n; i++, j--) {
        b[j] = a[i];
    }
}

void two_counters_meet(int n, double *a)
{
    int i, j;
    // loop two_counters_meet: safe private(j) ; noncanonical
    for (i = 0, j = n - 1; i < j; i++, j--) {
        double t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

void previous(int n, double *restrict b, const double *restrict a)
{
    int before = n - 1;
    // loop previous: carried +3 +2 a wrap-around variable: only peeling the first one helps
    for (int i = 0; i < n; i++) {
        b[i] = a[i] - a[before];
        before = i;
    }
}

void chained(int n, double *restrict b, const int *restrict next)
{
    int k = 0;
    // loop chained: carried +3 +2
    for (int i = 0; i < n; i++) {
        b[i] += k;
        k = next[k];
    }
}

int kept_without_braces(int n, int *restrict b, const int *restrict a)
{
    int k = 0;
    // loop kept_without_braces: carried +2 +2 k moves only where a[i] is positive
    for (int i = 0; i < n; i++)
        if (a[i] > 0) b[k++] = a[i];
    return k;
}

int nested_without_braces(int n, int m, int *restrict b, const int *restrict a)
{
    int k = 0;
    // loop nested_without_braces.i: carried +3 +3 how far k moves depends on a[i]
    for (int i = 0; i < n; i++)
        // loop nested_without_braces.j: safe private(k) ; induction(k = k0 + j)
        for (int j = 0; j < a[i] % m; j++) b[k++] = i;
    return k;
}

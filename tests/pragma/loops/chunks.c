/*
 * chunks.c: each iteration takes its part of a range: of equal size or nearly so, or rows of a
 * sparse matrix, or layers of an array of more than one dimension.
 */

void chunk_of_each(int *x, int n, int parts)
{
    int i, first, last, size, rest;
    // loop chunk_of_each.j: safe private(i, first, last, size, rest)
    for (int j = 0; j < parts; j++) {
        size = n / parts;
        rest = n - size * parts;
        if (j < rest) {
            first = j * size + j;
            last = (j + 1) * size + j + 1;
        } else {
            first = j * size + rest;
            last = (j + 1) * size + rest;
        }
        // loop chunk_of_each.i: safe
        for (i = first; i < last; i++) x[i] += 1;
    }
}

void chunk_one_too_long(int *x, int n, int parts)
{
    // loop chunk_one_too_long.j: carried +11 +11
    for (int j = 0; j < parts; j++) {
        int first, last, size = n / parts, rest = n - size * parts;
        if (j < rest) {
            first = j * size + j;
            last = (j + 1) * size + j + 1;
        } else {
            first = j * size + rest;
            last = (j + 1) * size + rest + 1;
        }
        // loop chunk_one_too_long.i: safe
        for (int i = first; i < last; i++) x[i] += 1;
    }
}

void chunk_other_case(int *x, int n, int parts)
{
    // loop chunk_other_case.j: safe
    for (int j = 0; j < parts; j++) {
        int first, last, size = n / parts, rest = n - size * parts;
        if (j > rest) {
            first = j * size + j;
            last = (j + 1) * size + j + 1;
        } else {
            first = j * size + rest;
            last = (j + 1) * size + rest;
        }
        // loop chunk_other_case.i: safe
        for (int i = first; i < last; i++) x[i] += 1;
    }
}

void last_chunk_shorter(double *x, long n, long block)
{
    // loop last_chunk_shorter.b: safe
    for (long b = 0; b < n; b += block) {
        long end = b + block;
        if (end > n) end = n;
        // loop last_chunk_shorter.i: safe
        for (long i = b; i < end; i++) x[i] *= 2.0;
    }
}

void last_chunk_longer(double *x, long n, long block)
{
    // loop last_chunk_longer.b: carried +5 +5
    for (long b = 0; b < n; b += block) {
        long end = b + block;
        if (end < n) end = n;
        // loop last_chunk_longer.i: safe
        for (long i = b; i < end; i++) x[i] *= 2.0;
    }
}

void one_of_two_halves(double *x, int n)
{
    // loop one_of_two_halves: safe
    for (int i = 0; i < n; i++) {
        int at = i;
        if (i % 2) at = n + i;
        x[at] = 1.0;
    }
}

void one_of_two_meeting(double *x, int n)
{
    // loop one_of_two_meeting: carried +4 +4
    for (int i = 0; i < n; i++) {
        int at = i;
        if (i % 2) at = i + 1;
        x[at] = i;
    }
}

void rows_of_matrix(const int *begin, double *value, const double *scale, int n)
{
    // loop rows_of_matrix.i: if range(begin[i] <= begin[i + 1]) distinct(value, scale) ; types
    for (int i = 0; i < n; i++) {
        double f = scale[i];
        // loop rows_of_matrix.k: safe ; types
        for (int k = begin[i]; k < begin[i + 1]; k++) value[k] *= f;
    }
}

void rows_and_next(const int *begin, double *value, int n)
{
    // loop rows_and_next.i: carried +3 +3
    for (int i = 0; i < n; i++) {
        // loop rows_and_next.k: safe
        for (int k = begin[i]; k <= begin[i + 1]; k++) value[k] *= 2.0;
    }
}

void rows_backward(const int *begin, double *value, int n)
{
    // loop rows_backward.i: carried +3 +3
    for (int i = 0; i < n; i++) {
        // loop rows_backward.k: safe
        for (int k = begin[i]; k < begin[i + 2]; k++) value[k] *= 2.0;
    }
}

void column_of_each(double *a, int n, int m)
{
    // loop column_of_each.i: safe
    for (int i = 0; i < n; i++) {
        // loop column_of_each.j: safe
        for (int j = 0; j < m; j++) a[i + j * n] = i - j;
    }
}

void column_too_wide(double *a, int n, int m)
{
    // loop column_too_wide.i: carried +3 +3
    for (int i = 0; i <= n; i++) {
        // loop column_too_wide.j: if range(n != 0)
        for (int j = 0; j < m; j++) a[i + j * n] = i - j;
    }
}

void middle_of_three(double *a, int nx, int ny, int nz)
{
    // loop middle_of_three.j: safe
    for (int j = 0; j < ny; j++) {
        // loop middle_of_three.i: safe
        for (int i = 0; i < nx; i++) {
            // loop middle_of_three.k: safe
            for (int k = 0; k < nz; k++) a[(i * ny + j) * nz + k] = 0.0;
        }
    }
}

void five_planes(double *v, int n)
{
    // loop five_planes.i: safe
    for (int i = 0; i < n; i++) {
        // loop five_planes.j: safe
        for (int j = 0; j < 5; j++) v[i + j * n] = 1.0;
    }
}

void interleaved_by_five(double *v, int n)
{
    // loop interleaved_by_five.j: safe ; small
    for (int j = 0; j < 5; j++) {
        // loop interleaved_by_five.i: safe
        for (int i = 0; i < n; i++) v[i * 5 + j] = 1.0;
    }
}

void interleaved_by_four(double *v, int n)
{
    // loop interleaved_by_four.j: carried +3 +3
    for (int j = 0; j < 5; j++) {
        // loop interleaved_by_four.i: safe
        for (int i = 0; i < n; i++) v[i * 4 + j] = j;
    }
}

void same_or_apart(double *y, const double *x, int n)
{
    // loop same_or_apart: if distinct(x, y)
    for (int i = 0; i < n; i++) y[i] = 2.0 * x[i];
}

static void shifted_by_caller(double *y, const double *x, int n)
{
    // loop shifted_by_caller: carried +1 +1 its only caller hands it parts that overlap
    for (int i = 0; i < n; i++) y[i] = 2.0 * x[i];
}

void shifts(double *a, int n)
{
    shifted_by_caller(a + 1, a, n - 1);
}

static void in_place_by_caller(double *y, const double *x, int n)
{
    // loop in_place_by_caller: if distinct(x, y)
    for (int i = 0; i < n; i++) y[i] = 2.0 * x[i];
}

void in_place(double *a, int n)
{
    in_place_by_caller(a, a, n);
}

/*
 * collapse.c: nests that may be one loop, and nests that may not, with what is proposed for each
 * outer loop ("plain:"). A `collapse(...)` that is absent here is a claim too, as in nests.c.
 * Labels: README.md.
 */

void few_rows(int m, double *restrict b, const double *restrict a)
{
    // loop few_rows.i: safe ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 0; i < 8; i++) {
        // loop few_rows.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = a[i * m + j] + 1.0;
        }
    }
}

void few_and_known(double b[8][512], double a[8][512])
{
    // loop few_and_known.i: if distinct(b, a) ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 0; i < 8; i++)
        // loop few_and_known.j: if distinct(b, a)
        for (int j = 0; j < 512; j++) b[i][j] = 0.5 * a[i][j];
}

void many_rows(double b[restrict 512][8], const double a[restrict 512][8])
{
    // loop many_rows.i: safe ; collapse(2)
    // plain: parallel for
    for (int i = 0; i < 512; i++) {
        // loop many_rows.j: safe ; small
        for (int j = 0; j < 8; j++) {
            b[i][j] = a[i][j] + 1.0;
        }
    }
}

void unknown_rows(int n, int m, double *restrict b, const double *restrict a)
{
    // loop unknown_rows.i: safe ; collapse(2)
    // plain: parallel for
    for (int i = 0; i < n; i++) {
        // loop unknown_rows.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = a[i * m + j] + 1.0;
        }
    }
}

void three_loops(int nx, int ny, int nz, double *restrict b, const double *restrict a)
{
    // loop three_loops.i: safe ; collapse(3)
    // plain: parallel for collapse(2)
    for (int i = 0; i < nx; i++) {
        // loop three_loops.j: safe ; collapse(2)
        for (int j = 0; j < ny; j++) {
            // loop three_loops.k: safe
            for (int k = 0; k < nz; k++) {
                b[(i * ny + j) * nz + k] = 2.0 * a[(i * ny + j) * nz + k];
            }
        }
    }
}

void three_short(double b[restrict 4][6][4096], double a[restrict 4][6][4096])
{
    // loop three_short.i: safe ; collapse(3)
    // plain: parallel for collapse(3)
    for (int i = 0; i < 4; i++) {
        // loop three_short.j: safe ; collapse(2)
        for (int j = 0; j < 6; j++) {
            // loop three_short.k: safe
            for (int k = 0; k < 4096; k++) {
                b[i][j][k] = a[i][j][k] * a[i][j][k];
            }
        }
    }
}

void product(int n, double *restrict c, const double *restrict a, const double *restrict b)
{
    // loop product.i: safe ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 0; i < n; i++) {
        // loop product.j: safe
        for (int j = 0; j < n; j++) {
            double s = 0.0;
            // loop product.k: safe reduction(+:s)
            for (int k = 0; k < n; k++) {
                s += a[i * n + k] * b[k * n + j];
            }
            c[i * n + j] = s;
        }
    }
}

void triangular(double a[16][16])
{
    // loop triangular.i: safe
    // plain: parallel for schedule(dynamic)
    for (int i = 0; i < 16; i++) {
        // loop triangular.j: safe
        for (int j = i; j < 16; j++) {
            a[i][j] = i - j + a[i][j] / (1.0 + a[i][j] * a[i][j]) + 3.0 * a[i][j];
        }
    }
}

void statement_before(int m, double *restrict b, const double *restrict a)
{
    // loop statement_before.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        double w = a[i];
        // loop statement_before.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = w * j;
        }
    }
}

void statement_after(int m, double *restrict b, double *restrict s)
{
    // loop statement_after.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        // loop statement_after.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = i - j;
        }
        s[i] = i;
    }
}

void sum_of_row(int m, double *restrict s, const double *restrict a)
{
    // loop sum_of_row.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        // loop sum_of_row.j: safe reduction(+:s[i:1])
        for (int j = 0; j < m; j++) {
            s[i] += a[i * m + j];
        }
    }
}

void sum_of_columns(int n, int m, double *restrict s, const double *restrict a)
{
    // loop sum_of_columns.i: safe reduction(+:s[:m]) ; collapse(2)
    // plain: parallel for reduction(+:s[:m])
    for (int i = 0; i < n; i++) {
        // loop sum_of_columns.j: safe
        for (int j = 0; j < m; j++) {
            s[j] += a[i * m + j];
        }
    }
}

void recurrence_inside(int m, double *a)
{
    // loop recurrence_inside.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        // loop recurrence_inside.j: carried +2 +2
        for (int j = 1; j < m; j++) {
            a[i * m + j] += a[i * m + j - 1];
        }
    }
}

void recurrence_outside(int m, double *a)
{
    // loop recurrence_outside.i: carried +4 +4
    for (int i = 1; i < 8; i++) {
        // loop recurrence_outside.j: safe
        for (int j = 0; j < m; j++) {
            a[i * m + j] += a[(i - 1) * m + j];
        }
    }
}

void recurrence_innermost(int nx, int ny, int nz, double *a)
{
    // loop recurrence_innermost.i: safe ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 0; i < nx; i++) {
        // loop recurrence_innermost.j: safe
        for (int j = 0; j < ny; j++) {
            // loop recurrence_innermost.k: carried +2 +2
            for (int k = 1; k < nz; k++) {
                a[(i * ny + j) * nz + k] += a[(i * ny + j) * nz + k - 1];
            }
        }
    }
}

void scalar_of_row(int m, double *restrict b, const double *restrict a)
{
    double t;
    // loop scalar_of_row.i: safe private(t)
    // plain: parallel for private(t)
    for (int i = 0; i < 8; i++) {
        t = a[i];
        // loop scalar_of_row.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = t + j;
        }
    }
}

void scalar_of_pair(int m, double *restrict b, const double *restrict a)
{
    double t;
    int j;
    // loop scalar_of_pair.i: safe private(t, j) ; collapse(2)
    // plain: parallel for collapse(2) private(j, t)
    for (int i = 0; i < 8; i++) {
        // loop scalar_of_pair.j: safe private(t)
        for (j = 0; j < m; j++) {
            t = a[i * m + j];
            b[i * m + j] = t * t;
        }
    }
}

void carried_from_first(int m, double *restrict b, const double *restrict a)
{
    double t = 0.0;
    // loop carried_from_first.i: safe private(t)
    for (int i = 0; i < 8; i++) {
        // loop carried_from_first.j: carried +2 +3 the first of each row sets t
        for (int j = 0; j < m; j++) {
            if (j == 0) t = a[i];
            b[i * m + j] = t + j;
        }
    }
}

double sum_of_all(int m, const double *a)
{
    double s = 0.0;
    // loop sum_of_all.i: safe reduction(+:s) ; collapse(2)
    // plain: parallel for collapse(2) reduction(+:s)
    for (int i = 0; i < 8; i++) {
        // loop sum_of_all.j: safe reduction(+:s)
        for (int j = 0; j < m; j++) {
            s += a[i * m + j];
        }
    }
    return s;
}

int counter_is_read(int m, double *restrict b)
{
    int j = 0;
    // loop counter_is_read.i: safe lastprivate(j)
    for (int i = 0; i < 8; i++) {
        // loop counter_is_read.j: safe lastprivate(j)
        for (j = 0; j < m; j++) {
            b[i * m + j] = i - j;
        }
    }
    return j;
}

int outer_counter_is_read(int m, double *restrict b)
{
    int i;
    // loop outer_counter_is_read.i: safe lastprivate(i)
    // plain: parallel for lastprivate(i)
    for (i = 0; i < 8; i++) {
        // loop outer_counter_is_read.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = i - j;
        }
    }
    return i;
}

void ragged_rows(double b[restrict 8][1000], const int *restrict length)
{
    // loop ragged_rows.i: safe
    // plain: parallel for schedule(dynamic)
    for (int i = 0; i < 8; i++) {
        // loop ragged_rows.j: safe
        for (int j = 0; j < length[i]; j++) {
            b[i][j] = i - j;
        }
    }
}

void bound_behind_pointer(const int *restrict m, double *restrict b)
{
    // loop bound_behind_pointer.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        // loop bound_behind_pointer.j: safe
        for (int j = 0; j < *m; j++) {
            b[i * 1000 + j % 1000] = i;
        }
    }
}

void bound_is_divided(int m, int k, double *restrict b)
{
    // loop bound_is_divided.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        // loop bound_is_divided.j: safe
        for (int j = 0; j < m / k; j++) {
            b[i * (m / k) + j] = i;
        }
    }
}

void under_a_condition(int m, double *restrict b, const int *restrict use)
{
    // loop under_a_condition.i: safe
    // plain: parallel for schedule(dynamic)
    for (int i = 0; i < 8; i++) {
        if (use[i] > 3)
            // loop under_a_condition.j: safe
            for (int j = 0; j < m; j++) {
                b[i * m + j] += 1.0;
            }
    }
}

void directive_between(int m, double *restrict b, const double *restrict a)
{
    // loop directive_between.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
// loop directive_between.j: safe ; existing=ok
#pragma omp simd
        for (int j = 0; j < m; j++) {
            b[i * m + j] = a[i * m + j] + 1.0;
        }
    }
}

void steps_of_two(int m, float *restrict b, const float *restrict a)
{
    // loop steps_of_two.i: safe ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 14; i >= 0; i -= 2) {
        // loop steps_of_two.j: safe
        for (int j = 1; j <= m; j += 3) {
            b[i * (m + 1) + j] = a[i * (m + 1) + j];
        }
    }
}

void left_early(int m, double *restrict b, const double *restrict a)
{
    // loop left_early.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        // loop left_early.j: carried control
        for (int j = 0; j < m; j++) {
            if (a[j] < 0.0) break;
            b[i * m + j] = a[j];
        }
    }
}

void goes_on_early(int m, double *restrict b, const double *restrict a)
{
    // loop goes_on_early.i: safe ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 0; i < 8; i++) {
        // loop goes_on_early.j: safe
        for (int j = 0; j < m; j++) {
            if (a[j] < 0.0) continue;
            b[i * m + j] = a[j];
        }
    }
}

void row_overwritten(int m, double *restrict b, const double *restrict a)
{
    // loop row_overwritten.i: safe
    // plain: parallel for
    for (int i = 0; i < 8; i++) {
        // loop row_overwritten.j: carried +2 +2
        for (int j = 0; j < m; j++) {
            b[i] = a[i * m + j];
        }
    }
}

void scratch_of_row(int m, double *restrict b, const double *restrict a)
{
    double t[16];
    // loop scratch_of_row.i: safe private(t)
    for (int i = 0; i < 8; i++) {
        // loop scratch_of_row.j: carried +3 +2 what one leaves in t the next one reads
        for (int j = 0; j < m; j++) {
            b[i * m + j] = j > 0 ? t[(j - 1) % 16] : 0.0;
            t[j % 16] = a[i * m + j];
        }
    }
}

void transposed(int m, double *restrict b, const double *restrict a)
{
    // loop transposed.i: safe ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 0; i < 8; i++) {
        // loop transposed.j: safe
        for (int j = 0; j < m; j++) {
            b[j * 8 + i] = a[i * m + j];
        }
    }
}

double greatest(int m, const float *a)
{
    float most = 0;
    int found = 0;
    // loop greatest.i: safe reduction(max:most) reduction(+:found) ; collapse(2)
    // plain: parallel for collapse(2) reduction(max:most) reduction(+:found)
    for (int i = 0; i < 8; i++) {
        // loop greatest.j: safe reduction(max:most) reduction(+:found)
        for (int j = 0; j < m; j++) {
            if (a[i * m + j] > most) most = a[i * m + j];
            if (a[i * m + j] > 0) found++;
        }
    }
    return most + found;
}

/*
 * nests.c: which loop of a nest, and whether two may be one (collapse). A `collapse(...)` that is
 * absent here is a claim too: not perfectly nested, not rectangular, or not independent. Labels:
 * README.md.
 */

void perfect(int n, int m, double *restrict b, const double *restrict a)
{
    // loop perfect.i: safe ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop perfect.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = a[i * m + j] + 1.0;
        }
    }
}

void work_before(int n, int m, double *restrict b, const double *restrict a)
{
    // loop work_before.i: safe
    for (int i = 0; i < n; i++) {
        double w = a[i];
        // loop work_before.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = w * j;
        }
    }
}

void work_after(int n, int m, double *restrict b, double *restrict s)
{
    // loop work_after.i: safe
    for (int i = 0; i < n; i++) {
        // loop work_after.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] = i - j;
        }
        s[i] = m > 0 ? b[i * m] : 0.0;
    }
}

void triangle(int n, double *a)
{
    // loop triangle.i: safe
    for (int i = 0; i < n; i++) {
        // loop triangle.j: safe
        for (int j = i; j < n; j++) {
            a[i * n + j] = i - j;
        }
    }
}

void ragged(int n, int m, double *restrict a, const int *restrict length)
{
    // loop ragged.i: safe
    for (int i = 0; i < n; i++) {
        int end = length[i] < m ? length[i] : m;
        // loop ragged.j: safe
        for (int j = 0; j < end; j++) {
            a[i * m + j] = i - j;
        }
    }
}

void outer_only(int n, int m, double *a)
{
    // loop outer_only.i: safe
    for (int i = 0; i < n; i++) {
        // loop outer_only.j: carried +2 +2
        for (int j = 1; j < m; j++) {
            a[i * m + j] += a[i * m + j - 1];
        }
    }
}

void inner_only(int n, int m, double *a)
{
    // loop inner_only.i: carried +4 +4
    for (int i = 1; i < n; i++) {
        // loop inner_only.j: safe
        for (int j = 0; j < m; j++) {
            a[i * m + j] += a[(i - 1) * m + j];
        }
    }
}

void neither(int n, int m, double *a)
{
    // loop neither.i: carried +4 +4
    for (int i = 1; i < n; i++) {
        // loop neither.j: carried +2 +2
        for (int j = 1; j < m; j++) {
            a[i * m + j] = 0.5 * (a[(i - 1) * m + j] + a[i * m + j - 1]);
        }
    }
}

void skewed(int n, int m, double *a)
{
    // loop skewed.d: carried +6 +6 a diagonal is made of the one before
    for (int d = 2; d < n + m - 1; d++) {
        int low = d - m + 1 > 1 ? d - m + 1 : 1;
        int high = d - 1 < n - 1 ? d - 1 : n - 1;
        // loop skewed.i: safe
        for (int i = low; i <= high; i++) {
            a[i * m + d - i] = 0.5 * (a[(i - 1) * m + d - i] + a[i * m + d - i - 1]);
        }
    }
}

void inner_sum(int n, int m, double *restrict s, const double *restrict a)
{
    // loop inner_sum.i: safe
    for (int i = 0; i < n; i++) {
        s[i] = 0.0;
        // loop inner_sum.j: safe reduction(+:s[i:1])
        for (int j = 0; j < m; j++) {
            s[i] += a[i * m + j];
        }
    }
}

void inner_scalar(int n, int m, double *restrict b, const double *restrict a)
{
    double t;
    int j;
    // loop inner_scalar.i: safe private(j, t) ; collapse(2)
    for (int i = 0; i < n; i++) {
        // loop inner_scalar.j: safe private(t)
        for (j = 0; j < m; j++) {
            t = a[i * m + j];
            b[i * m + j] = t * t;
        }
    }
}

void carried_through_scalar(int n, int m, double *restrict b, const double *restrict a)
{
    // loop carried_through_scalar.i: safe
    for (int i = 0; i < n; i++) {
        double t = 0.0;
        // loop carried_through_scalar.j: carried +3 +2
        for (int j = 0; j < m; j++) {
            b[i * m + j] = t;
            t = 0.5 * t + a[i * m + j];
        }
    }
}

void three_deep(int nx, int ny, int nz, double *restrict b, const double *restrict a)
{
    // loop three_deep.i: safe ; collapse(3)
    for (int i = 0; i < nx; i++) {
        // loop three_deep.j: safe ; collapse(2)
        for (int j = 0; j < ny; j++) {
            // loop three_deep.k: safe
            for (int k = 0; k < nz; k++) {
                b[(i * ny + j) * nz + k] = a[(k * ny + j) * nx + i];
            }
        }
    }
}

void middle_carries(int nx, int ny, int nz, double *a)
{
    // loop middle_carries.i: safe
    for (int i = 0; i < nx; i++) {
        // loop middle_carries.j: carried +4 +4
        for (int j = 1; j < ny; j++) {
            // loop middle_carries.k: safe
            for (int k = 0; k < nz; k++) {
                a[(i * ny + j) * nz + k] += 0.5 * a[(i * ny + j - 1) * nz + k];
            }
        }
    }
}

void reset_outside(int n, int m, double *restrict b, const double *restrict a)
{
    double best = 0.0;
    // loop reset_outside.i: carried +4 +6 best is never reset
    for (int i = 0; i < n; i++) {
        // loop reset_outside.j: safe reduction(max:best)
        for (int j = 0; j < m; j++) {
            if (a[i * m + j] > best) best = a[i * m + j];
        }
        b[i] = best;
    }
}

void steps_and_points(int steps, int n, double *restrict v, double *restrict u)
{
    // loop steps_and_points.t: carried +8 +4 time goes on
    for (int t = 0; t < steps; t++) {
        // loop steps_and_points.v: safe
        for (int i = 1; i < n - 1; i++) {
            v[i] = 0.5 * (u[i - 1] + u[i + 1]);
        }
        // loop steps_and_points.u: safe
        for (int i = 1; i < n - 1; i++) {
            u[i] = v[i];
        }
    }
}

void bound_by_outer(int n, double *a)
{
    // loop bound_by_outer.i: carried +4 +4 each adds to the elements before it
    for (int i = 0; i < n; i++) {
        // loop bound_by_outer.j: safe
        for (int j = 0; j < i; j++) {
            a[j] = 0.5 * a[j] + i;
        }
    }
}

void row_by_outer(int n, double *a)
{
    // loop row_by_outer.i: carried +4 +4 row i is read by the iterations below
    for (int i = 1; i < n; i++) {
        // loop row_by_outer.j: safe
        for (int j = 0; j < n; j++) {
            a[i * n + j] -= a[(i / 2) * n + j];
        }
    }
}

void same_inner_element(int n, int m, double *restrict b, const double *restrict a)
{
    // loop same_inner_element.i: safe
    for (int i = 0; i < n; i++) {
        // loop same_inner_element.j: carried +2 +2 all write b[i]
        for (int j = 0; j < m; j++) {
            b[i] = a[i * m + j];
        }
    }
}

void collapsed_by_hand(int n, int m, double *restrict b, const double *restrict a)
{
    // loop collapsed_by_hand: safe
    for (int ij = 0; ij < n * m; ij++) {
        int i = ij / m, j = ij % m;
        b[j * n + i] = a[i * m + j];
    }
}

void collapsed_wrongly(int n, int m, double *restrict b, const double *restrict a)
{
    // loop collapsed_wrongly: carried +3 +3 the same i for m iterations
    for (int ij = 0; ij < n * m; ij++) {
        int i = ij / m;
        b[i] = 0.5 * b[i] + a[ij];
    }
}

void guarded_inner(int n, int m, double *restrict b, const int *restrict use)
{
    // loop guarded_inner.i: safe
    for (int i = 0; i < n; i++) {
        if (use[i] < 4) continue;
        // loop guarded_inner.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] += 1.0;
        }
    }
}

void order_exchanged(int n, int m, double *a)
{
    // loop order_exchanged.j: safe ; collapse(2)
    for (int j = 0; j < m; j++) {
        // loop order_exchanged.i: safe
        for (int i = 0; i < n; i++) {
            a[i * m + j] = 0.5 * a[i * m + j] + j;
        }
    }
}

void columns_summed(int n, int m, double *a)
{
    // loop columns_summed.j: safe
    for (int j = 0; j < m; j++) {
        // loop columns_summed.i: carried +2 +2
        for (int i = 1; i < n; i++) {
            a[i * m + j] += a[(i - 1) * m + j];
        }
    }
}

/*
 * Sparse matrix-vector product with rows of their own allocation.
 */
void spmv(int n, const int *count, double *const *vals, int *const *inds, const double *x,
          double *y);

void spmv(int n, const int *count, double *const *vals, int *const *inds, const double *x,
          double *y)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < count[i]; j++) sum += vals[i][j] * x[inds[i][j]];
        y[i] = sum;
    }
}

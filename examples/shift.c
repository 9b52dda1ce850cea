/* The second statement reads what the first one wrote in the iteration before. */
void shift(int n, double *restrict a, double *restrict b, const double *restrict c);
void shift(int n, double *restrict a, double *restrict b, const double *restrict c)
{
    for (int i = 1; i < n; i++) {
        a[i] = 2 * c[i];
        b[i] = a[i - 1] + c[i];
    }
}

/*
 * far.c: accesses of watched.c's loops from another file.
 */
void far_put(double *a, int i, double x);
double far_get(const double *a, int i);

void far_put(double *a, int i, double x)
{
    a[i] = x;
}

double far_get(const double *a, int i)
{
    return a[i];
}

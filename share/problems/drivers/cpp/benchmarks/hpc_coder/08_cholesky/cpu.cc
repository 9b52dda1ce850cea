#include "problem.hpp"

#include "generated-code.hpp"

/* B * B^T + N * I, with B of random numbers. */
static std::vector<double> matrix(size_t n)
{
    std::vector<double> b(n * n), a(n * n);
    fill(b);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = i == j ? n : 0;
            for (size_t k = 0; k < n; k++) a[i * n + j] += b[i * n + k] * b[j * n + k];
        }
    return a;
}

static bool is_right(size_t n)
{
    std::vector<double> a = matrix(n), l = a, product(n * n);
    cholesky(l, n);
    bool lower = true;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            lower = lower && (j <= i || l[i * n + j] == 0);
            for (size_t k = 0; k < n; k++) product[i * n + j] += l[i * n + k] * l[j * n + k];
        }
    return lower && near(product, a);
}

bool validate()
{
    return is_right(1) && is_right(5) && is_right(40);
}

static const std::vector<double> start = matrix(DRIVER_PROBLEM_SIZE);
static std::vector<double> a;
static void factorize(bool generated)
{
    const size_t n = DRIVER_PROBLEM_SIZE;
    a = start;
    if (generated) return cholesky(a, n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            for (size_t k = 0; k < j; k++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? std::sqrt(a[i * n + j]) : a[i * n + j] / a[j * n + j];
        }
}
void compute()
{
    factorize(true);
}
void best()
{
    factorize(false);
}

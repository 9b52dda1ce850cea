#include "problem.hpp"

#include "generated-code.hpp"

static void product(std::vector<float> const &a, std::vector<float> const &b, std::vector<float> &c,
                    size_t m, size_t n, size_t k)
{
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++)
            for (size_t j = 0; j < n; j++) c[i * n + j] += a[i * k + l] * b[l * n + j];
}

static bool is_right(size_t m, size_t n, size_t k)
{
    std::vector<float> a(m * k), b(k * n), c(m * n), want;
    fill(a), fill(b), fill(c);
    want = c;
    sgemm(a, b, c, m, n, k);
    product(a, b, want, m, n, k);
    return near(c, want);
}

bool validate()
{
    return is_right(1, 1, 1) && is_right(3, 5, 7) && is_right(32, 16, 24);
}

static const size_t N = DRIVER_PROBLEM_SIZE;
static std::vector<float> a(N *N), b(N *N), c(N *N);
void compute()
{
    sgemm(a, b, c, N, N, N);
}
void best()
{
    product(a, b, c, N, N, N);
}

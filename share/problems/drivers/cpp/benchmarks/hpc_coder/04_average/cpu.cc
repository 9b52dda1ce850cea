#include "problem.hpp"

#include "generated-code.hpp"

static bool is_right(size_t n)
{
    std::vector<double> x(n);
    double want = 0;
    fill(x);
    for (double v : x) want += v;
    return std::fabs(average(x) - want / n) < 1e-9 * n;
}

bool validate()
{
    return is_right(1) && is_right(7) && is_right(10000);
}

static std::vector<double> x(DRIVER_PROBLEM_SIZE, 1.0);
static volatile double kept;
void compute()
{
    kept = average(x);
}
void best()
{
    double sum = 0;
    for (double v : x) sum += v;
    kept = sum;
}

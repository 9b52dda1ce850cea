#include "problem.hpp"

#include "generated-code.hpp"

static void expect(size_t n, bool &same)
{
    std::vector<float> x(n), y(n), want(n);
    fill(x), fill(y);
    for (size_t i = 0; i < n; i++) want[i] = 2 * x[i] + y[i];
    ompSaxpy((float)2, x, y);
    same = same && near(y, want);
}

bool validate()
{
    bool same = true;
    for (size_t n : {0, 1, 5, 1024}) expect(n, same);
    return same;
}

static std::vector<float> x(DRIVER_PROBLEM_SIZE), y(DRIVER_PROBLEM_SIZE);
void compute()
{
    ompSaxpy((float)2, x, y);
}
void best()
{
    for (size_t i = 0; i < x.size(); i++) y[i] += 2 * x[i];
}

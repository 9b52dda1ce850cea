#include "problem.hpp"

#include "generated-code.hpp"

bool validate()
{
    std::vector<double> x(100), want;
    fill(x);
    want = x;
    if (rank_of() != 0) x.assign(100, 0);
    if (ranks() < 2) return false;
    pingPong(x);
    for (double &v : want) v += 1;
    return rank_of() != 0 || near(x, want);
}

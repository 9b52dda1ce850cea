// What the drivers of all problems share: random inputs, comparisons, and ranks.
#pragma once
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <numeric>
#include <random>
#include <vector>

#if defined(USE_MPI)
#include <mpi.h>
#endif

#define NO_INLINE __attribute__((noinline))

// In [-1, 1), the same on all ranks.
template <typename T> static void fill(std::vector<T> &x)
{
    static std::mt19937 random(7);
    std::uniform_real_distribution<double> share(-1, 1);
    for (T &v : x) v = (T)share(random);
}

template <typename T> static bool near(std::vector<T> const &a, std::vector<T> const &b)
{
    const double bound = sizeof(T) == 4 ? 1e-4 : 1e-9;
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); i++)
        if (!(std::fabs((double)a[i] - (double)b[i]) <= bound * (1 + std::fabs((double)b[i]))))
            return false;
    return true;
}

#if defined(USE_MPI)
static inline int rank_of()
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static inline int ranks()
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}
#endif

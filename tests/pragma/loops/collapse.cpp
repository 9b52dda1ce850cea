/*
 * collapse.cpp: nests of C++ that may be one loop, and such that may not. Labels: README.md.
 */
#include <cstddef>
#include <vector>

void few(std::vector<double> &b, const std::vector<double> &a, std::size_t m)
{
    // loop few.i: safe ; collapse(2)
    // plain: parallel for collapse(2)
    for (int i = 0; i < 8; i++) {
        // loop few.j: safe
        for (std::size_t j = 0; j < m; j++) {
            b[i * m + j] = a[i * m + j] + 1.0;
        }
    }
}

void lines(std::vector<std::vector<double>> &b, std::size_t m)
{
    // loop lines.i: safe ; collapse(2)
    for (std::size_t i = 0; i < b.size(); i++) {
        // loop lines.j: safe
        for (std::size_t j = 0; j < m; j++) {
            b[i][j] += 1.0;
        }
    }
}

void lines_of_their_own(std::vector<std::vector<double>> &b)
{
    // loop lines_of_their_own.i: safe
    // plain: parallel for schedule(dynamic)
    for (std::size_t i = 0; i < b.size(); i++) {
        // loop lines_of_their_own.j: safe
        for (std::size_t j = 0; j < b[i].size(); j++) {
            b[i][j] += 1.0;
        }
    }
}

template <typename T, int N>
void rows(T *b, int m)
{
    // loop rows.i: safe ; collapse(2)
    // plain: parallel for
    for (int i = 0; i < N; i++) {
        // loop rows.j: safe
        for (int j = 0; j < m; j++) {
            b[i * m + j] += T(1);
        }
    }
}
template void rows<double, 8>(double *, int);
template void rows<float, 4096>(float *, int);

struct field {
    double v[8][300];
    int m;
    void halve()
    {
        // loop halve.i: safe ; collapse(2)
        // plain: parallel for collapse(2)
        for (int i = 0; i < 8; i++) {
            // loop halve.j: safe
            for (int j = 0; j < m; j++) {
                v[i][j] *= 0.5;
            }
        }
    }
};

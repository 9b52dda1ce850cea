#include "problem.hpp"

#include "generated-code.hpp"

typedef std::vector<std::complex<double>> signal;

static void transform(signal &x)
{
    signal y(x.size());
    for (size_t k = 0; k < x.size(); k++)
        for (size_t n = 0; n < x.size(); n++)
            y[k] += x[n] * std::polar(1.0, -2 * M_PI * (double)(k * n % x.size()) / x.size());
    x = y;
}

static bool is_right(size_t n)
{
    std::vector<double> real(n), imaginary(n);
    signal x(n);
    fill(real), fill(imaginary);
    for (size_t i = 0; i < n; i++) x[i] = {real[i], imaginary[i]};
    signal want = x;
    fft(x);
    transform(want);
    double worst = 0;
    for (size_t i = 0; i < n; i++) worst = std::max(worst, std::abs(x[i] - want[i]));
    return x.size() == n && worst < 1e-9 * n;
}

bool validate()
{
    return is_right(1) && is_right(2) && is_right(128);
}

static signal x(DRIVER_PROBLEM_SIZE, 1.0);
void compute()
{
    fft(x);
}
void best()
{
    transform(x);
}

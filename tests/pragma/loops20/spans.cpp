/*
 * spans.cpp: std::span and iterators of C++20, whose comparisons the compiler writes. Labels:
 * ../loops/README.md.
 */
#include <cstddef>
#include <span>
#include <vector>

void by_iterator(std::vector<double> &a)
{
    // loop by_iterator: safe
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it *= 2.0;
    }
}

void by_less(std::vector<double> &a)
{
    // loop by_less: safe
    for (auto it = a.begin(); it < a.end(); it += 2) {
        *it *= 2.0;
    }
}

void by_less_before(std::vector<double> &a)
{
    // loop by_less_before: carried +2 +2
    for (auto it = a.begin() + 1; it < a.end(); ++it) {
        *it *= it[-1];
    }
}

void doubled(std::span<double> a)
{
    // loop doubled: safe
    for (double &x : a) {
        x *= 2.0;
    }
}

double sum(std::span<const double> a)
{
    double s = 0.0;
    // loop sum: safe reduction(+:s)
    for (double x : a) {
        s += x;
    }
    return s;
}

void running(std::span<double> a)
{
    double s = 0.0;
    // loop running: carried +2 +3
    for (double &x : a) {
        s += x;
        x = s;
    }
}

void by_index(std::span<double> a, std::span<const double> b)
{
    // loop by_index: if distinct(a, b)
    for (std::size_t i = 0; i < a.size(); i++) {
        a[i] = b[i + 1];
    }
}

void shift(std::span<double> a)
{
    // loop shift: carried +2 +2
    for (std::size_t i = 1; i < a.size(); i++) {
        a[i] = a[i - 1];
    }
}

void by_span_iterator(std::span<double> a)
{
    // loop by_span_iterator: safe
    for (auto it = a.begin(); it != a.end(); ++it) {
        *it = 1.0;
    }
}

void by_span_data(std::span<double> a)
{
    double *p = a.data();
    // loop by_span_data: carried +2 +2
    for (std::size_t i = 1; i < a.size(); i++) {
        p[i] = a[i - 1];
    }
}

void of_one_pointer(double *p, std::size_t n)
{
    std::span<double> a(p, n), b(p + 1, n);
    // loop of_one_pointer: carried +2 +2
    for (std::size_t i = 0; i < n; i++) {
        a[i] = b[i];
    }
}

void of_one_vector(std::vector<double> &v)
{
    std::span<double> a{v}, b = a;
    // loop of_one_vector: carried +2 +2
    for (std::size_t i = 1; i < a.size(); i++) {
        a[i] = b[i - 1];
    }
}

void of_a_vector(std::vector<double> &v)
{
    std::span<double> a{v};
    // loop of_a_vector: carried +2 +2
    for (std::size_t i = 1; i < a.size(); i++) {
        a[i] = v[i - 1];
    }
}

void of_an_array(double (&x)[100])
{
    std::span<double> a(x);
    // loop of_an_array: carried +2 +2
    for (std::size_t i = 1; i < a.size(); i++) {
        a[i] = x[i - 1];
    }
}

void of_a_local_array(double *y)
{
    double x[100];
    std::span<double> a(x);
    // loop of_a_local_array: carried +2 +2
    for (int i = 1; i < 100; i++) {
        a[i] = x[i - 1] + y[i];
    }
    y[0] = x[99];
}

void halves(std::span<double> a, std::size_t n)
{
    auto low = a.first(n), high = a.subspan(n);
    // loop halves: carried +2 +2 unless n is the trip count
    for (std::size_t i = 0; i + 1 < a.size(); i++) {
        low[i] = high[i + 1];
    }
}

void rows(std::span<double> a, std::size_t n, std::size_t m)
{
    // loop rows.i: safe
    for (std::size_t i = 0; i < n; i++) {
        std::span<double> row = a.subspan(i * m, m);
        // loop rows.j: safe
        for (std::size_t j = 0; j < m; j++) {
            row[j] = 0.0;
        }
    }
}

void rows_and_next(std::span<double> a, std::size_t n, std::size_t m)
{
    // loop rows_and_next.i: carried +5 +5
    for (std::size_t i = 0; i + 1 < n; i++) {
        std::span<double> row = a.subspan(i * m, 2 * m);
        // loop rows_and_next.j: safe
        for (std::size_t j = 0; j < m; j++) {
            row[j] = row[j + m];
        }
    }
}

void advanced(std::span<double> a)
{
    // loop advanced: carried +2 +3 ; rewrite
    for (std::size_t i = 0, n = a.size(); i < n; i++) {
        a[0] = 1.0;
        a = a.subspan(1);
    }
}

struct field {
    std::span<double> values;
};

void of_member(field &f)
{
    // loop of_member: safe
    for (std::size_t i = 0; i < f.values.size(); i++) {
        f.values[i] = 1.0;
    }
}

void of_member_before(field &f)
{
    // loop of_member_before: carried +2 +2
    for (std::size_t i = 1; i < f.values.size(); i++) {
        f.values[i] = f.values[i - 1];
    }
}

static double total(std::span<const double> v)
{
    double s = 0.0;
    // loop total: safe reduction(+:s)
    for (double x : v) s += x;
    return s;
}

void totals(std::span<double> v)
{
    // loop totals: carried +2 +2 the function reads all elements
    for (std::size_t i = 0; i < v.size(); i++) {
        v[i] = total(v);
    }
}

void totals_of_vector(std::vector<double> &v)
{
    // loop totals_of_vector: carried +2 +2 the function reads all elements
    for (std::size_t i = 0; i < v.size(); i++) {
        v[i] = total(v);
    }
}

void total_of_other(std::span<double> v, std::span<const double> u)
{
    // loop total_of_other: if distinct(v, u)
    for (std::size_t i = 0; i < v.size(); i++) {
        v[i] = total(u);
    }
}

/*
 * templates.cpp: loops in templates: types that parameters leave open, and instances of them.
 */
#include <cstddef>
#include <vector>

namespace backend {
template <class M> std::size_t rows(const M &m);
template <class M> int row_begin(const M &m, long row);
template <class V> void push(V &to, double what);
} // namespace backend

// ---- elements ----

template <class V> void scale(double a, const V &x, V &y, long n)
{
    // loop scale: if distinct(x, y) open(y)
    for (long i = 0; i < n; i++) {
        y[i] = a * x[i];
    }
}

template <class V> void shift(const V &x, V &y, long n)
{
    // loop shift: carried +2 +2
    for (long i = 1; i < n; i++) {
        y[i] = y[i - 1] + x[i];
    }
}

template <class V> void first(const V &x, V &y, long n)
{
    // loop first: carried +2 +2
    for (long i = 0; i < n; i++) {
        y[0] = x[i];
    }
}

template <class V, class I> void gather(const V &x, V &y, const I &index, long n)
{
    // loop gather: if distinct(x, y) distinct(index, y) open(y)
    for (long i = 0; i < n; i++) {
        y[i] = x[index[i]];
    }
}

template <class V, class I> void scatter(const V &x, V &y, const I &index, long n)
{
    // loop scatter: carried +2 +2 ; violates(index)
    for (long i = 0; i < n; i++) {
        y[index[i]] = x[i];
    }
}

template <class V> void own_row(V &y, long n)
{
    // loop own_row: carried +2 +2 what row_begin reads of y
    for (long i = 0; i < n; i++) {
        y[i] = backend::row_begin(y, i);
    }
}

template <class V> void handle(const V &x, V &y, long n)
{
    V z = y;
    // loop handle: carried +2 +2 a copy may share its elements
    for (long i = 1; i < n; i++) {
        z[i] = y[i - 1] + x[i];
    }
}

template <class V> void handle_inside(V &y, long n)
{
    // loop handle_inside: carried +3 +3 a copy may share its elements
    for (long i = 1; i < n; i++) {
        auto z = y;
        z[i] = z[i - 1];
    }
}

template <class V> void pointers(V x, V y, long n)
{
    // loop pointers: carried +2 +2 ; violates(x, y)
    for (long i = 1; i < n; i++) {
        y[i] = x[i - 1];
    }
}

template <class V> void element_reference(V &y, long n)
{
    // loop element_reference: carried +4 +4
    for (long i = 1; i < n; i++) {
        auto &z = y;
        z[i] = z[i - 1];
    }
}

template <class M> void matrix_sum(const M &a, const M &b, M &c, long n)
{
    // loop matrix_sum.i: if distinct(a, c) distinct(b, c) open(c)
    for (long i = 0; i < n; i++) {
        // loop matrix_sum.j: if distinct(a, c) distinct(b, c) open(c)
        for (long j = 0; j < n; j++) {
            c(i, j) = a(i, j) + b(i, j);
        }
    }
}

template <class M> void matrix_column(const M &a, M &c, long n)
{
    // loop matrix_column.i: carried +4 +4
    for (long i = 0; i < n; i++) {
        // loop matrix_column.j: if distinct(a, c) open(c)
        for (long j = 0; j < n; j++) {
            c(0, j) = a(i, j);
        }
    }
}

// ---- calls ----

template <class M, class V> void product(const M &a, const V &x, V &y)
{
    const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(backend::rows(a));
    // loop product.i: if distinct(x, y) open(row_begin, y)
    for (std::ptrdiff_t i = 0; i < n; i++) {
        double sum = 0;
        // loop product.j: unknown the type of its variable
        for (auto k = backend::row_begin(a, i); k; ++k) {
            sum += k.value() * x[k.col()];
        }
        y[i] = sum;
    }
}

template <class M, class V> void product_transposed(const M &a, const V &x, V &y)
{
    const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(backend::rows(a));
    // loop product_transposed.i: carried +4 +4
    for (std::ptrdiff_t i = 0; i < n; i++) {
        // loop product_transposed.j: unknown the type of its variable
        for (auto k = backend::row_begin(a, i); k; ++k) {
            y[k.col()] += k.value() * x[i];
        }
    }
}

template <class V> void collect(const V &x, V &y, long n)
{
    // loop collect: carried order
    for (long i = 0; i < n; i++) {
        backend::push(y, x[i]);
    }
}

template <class F> void apply_assigned(long n, double *__restrict a, F f)
{
    // loop apply_assigned: carried +2 +2
    for (long i = 1; i < n; i++) {
        a[i] = f(a[i - 1]);
    }
}

// ---- sums ----

template <class T> T dot(const T *x, const T *y, long n)
{
    T s = T();
    // loop dot: if open(s) reduction(+:s)
    for (long i = 0; i < n; i++) {
        s += x[i] * y[i];
    }
    return s;
}

template <class T> T prefix(const T *__restrict x, T *__restrict y, long n)
{
    T s = T();
    // loop prefix: carried +2 +3
    for (long i = 0; i < n; i++) {
        s += x[i];
        y[i] = s;
    }
    return s;
}

template <class T> T horner(const T *x, T at, long n)
{
    T s = T();
    // loop horner: carried +2 +2
    for (long i = 0; i < n; i++) {
        s = s * at + x[i];
    }
    return s;
}

template <class T> T mixed(const T *x, long n)
{
    T s = T();
    // loop mixed: carried +3 +2
    for (long i = 0; i < n; i++) {
        s += x[i];
        s *= x[i];
    }
    return s;
}

// ---- instances ----

template <class V> void fill_typed(V &v, long n)
{
    // loop fill_typed: safe
    for (long i = 0; i < n; i++) {
        v[i] = 1;
    }
}
template void fill_typed<std::vector<double>>(std::vector<double> &, long);

template <class V> void fill_bits(V &v, long n)
{
    // loop fill_bits: carried +2 +2 the bits of a byte
    for (long i = 0; i < n; i++) {
        v[i] = 1;
    }
}
template void fill_bits<std::vector<bool>>(std::vector<bool> &, long);
template void fill_bits<std::vector<int>>(std::vector<int> &, long);

struct counter {
    int *next;
    int operator()(double) const { return (*next)++; }
};
struct square {
    double operator()(double x) const { return x * x; }
};

template <class F> void apply_typed(long n, double *__restrict a, F f)
{
    // loop apply_typed: safe
    for (long i = 0; i < n; i++) {
        a[i] = f(a[i]);
    }
}
template void apply_typed<square>(long, double *__restrict, square);

template <class F> void apply_counter(long n, double *__restrict a, F f)
{
    // loop apply_counter: carried order
    for (long i = 0; i < n; i++) {
        a[i] = f(a[i]);
    }
}
template void apply_counter<square>(long, double *__restrict, square);
template void apply_counter<counter>(long, double *__restrict, counter);

// ---- counters of an open type ----

template <class I> void open_counter(double *y, I n)
{
    // loop open_counter: if open(i)
    for (I i = 0; i < n; i++) {
        y[i] = 0;
    }
}

template <class I> void open_counter_down(double *y, I n)
{
    // loop open_counter_down: if open(i)
    for (I i = n - 1; i >= 0; --i) {
        y[i] = 2 * y[i];
    }
}

template <class I> void open_counter_shift(double *y, I n)
{
    // loop open_counter_shift: carried +2 +2
    for (I i = 1; i < n; i++) {
        y[i] = y[i - 1];
    }
}

template <class I> void open_counter_first(double *y, const double *x, I n)
{
    // loop open_counter_first: carried +2 +2
    for (I i = 0; i < n; i++) {
        y[0] = x[i];
    }
}

template <class I> void open_counter_half(double *y, I n)
{
    // loop open_counter_half: carried +2 +2
    for (I i = 0; i < n; i++) {
        y[i / 2] = 1.0 * i;
    }
}

template <class I> void open_counter_nest(double *a, I n, I m)
{
    // loop open_counter_nest.i: if open(i, j)
    for (I i = 0; i < n; i++) {
        // loop open_counter_nest.j: if open(j)
        for (I j = 0; j < m; j++) {
            a[i * m + j] = 0;
        }
    }
}

template <class I> void open_counter_column(double *a, I n, I m)
{
    // loop open_counter_column.i: carried +4 +4
    for (I i = 0; i < n; i++) {
        // loop open_counter_column.j: if open(j)
        for (I j = 0; j < m; j++) {
            a[j] = 1.0 * i;
        }
    }
}

template <class I> void open_counter_scatter(double *y, const int *k, I n)
{
    // loop open_counter_scatter: carried +2 +2 ; violates(k)
    for (I i = 0; i < n; i++) {
        y[k[i]] = 1.0 * i;
    }
}

template <class I> void open_counter_sum(const double *x, double &sum, I n)
{
    double s = 0;
    // loop open_counter_sum: if open(i) reduction(+:s)
    for (I i = 0; i < n; ++i) {
        s += x[i];
    }
    sum = s;
}

template <class I> void open_counter_changed(double *y, I n)
{
    // loop open_counter_changed: carried +3 +2 the body changes the counter
    for (I i = 0; i < n; i++) {
        y[i] = 0;
        i += y[i] > 0;
    }
}

template <class I> void open_iterator(I first, I last)
{
    // loop open_iterator: unknown what the iterator leads to
    for (I i = first; i != last; ++i) {
        *i = 0;
    }
}

template <class I> void open_iterator_fold(I first, I last, double *sum)
{
    // loop open_iterator_fold: carried +2 +2
    for (I i = first; i != last; ++i) {
        sum[0] = sum[0] * 2 + *i;
    }
}

/*
 * watched.cpp: as watched.c, in C++: containers, references, lambdas, methods, templates.
 */
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <vector>

struct field {
    std::vector<double> now, next;
    int n;
    explicit field(int size) : now(size, 1.0), next(size, 0.0), n(size) {}
    double &at(int i) { return now[i]; }
    void step()
    {
        // CLEAN
        for (int i = 1; i < n - 1; i++) next[i] = 0.5 * (now[i - 1] + now[i + 1]);
    }
    void smear()
    {
        // WITNESS iteration i = 1 writes now[i] at line @0, iteration i = 2 reads it at line @0
        for (int i = 1; i < n; i++) now[i] += now[i - 1];
    }
    void through_method()
    {
        // WITNESS iteration i = 1 writes the same memory at line @0, iteration i = 2 reads it at
        // line @0
        for (int i = 1; i < n; i++) at(i) = at(i - 1) + 1;
    }
};

static void carried(std::vector<double> &v)
{
    // WITNESS iteration i = 1 writes v[1] at line @0, iteration i = 2 reads it at line @0
    for (std::size_t i = 1; i < v.size(); i++) v[i] = v[i - 1] * 0.5;
}

static void apart(const std::vector<double> &from, std::vector<double> &to)
{
    // CLEAN
    for (std::size_t i = 0; i < to.size(); i++) to[i] = from[i] + 1;
}

static double summed(const std::vector<double> &v)
{
    double s = 0;
    // CLEAN reduction(+:s)
    for (double x : v) s += x;
    return s;
}

static void each(std::vector<double> &v)
{
    // CLEAN
    for (double &x : v) x *= 2;
}

static double carried_range(std::vector<double> &v)
{
    double before = 0;
    // WITNESS iteration 1 writes before at line @2, iteration 2 reads it at line @1
    for (double &x : v) {
        x += before;
        before = x;
    }
    return before;
}

static void growing(std::vector<double> &v, int n)
{
    // WITNESS iteration i = 0 writes the same memory at vector.tcc:
    for (int i = 0; i < n; i++) v.push_back(i);
}

static void local_vector(std::vector<double> &v)
{
    // CLEAN
    for (std::size_t i = 0; i < v.size(); i++) {
        std::vector<double> w(8, static_cast<double>(i));
        v[i] = std::accumulate(w.begin(), w.end(), 0.0);
    }
}

static void by_lambda(std::vector<double> &v)
{
    double seen = 0;
    auto note = [&](double x) { seen = seen / 2 + x; };
    // WITNESS iteration i = 0 writes seen at line @-2, iteration i = 1 reads it at line @-2
    for (std::size_t i = 0; i < v.size(); i++) note(v[i]);
    v[0] = seen;
}

static void in_lambda(std::vector<double> &v)
{
    auto work = [&v](int n) {
        // CLEAN
        for (int i = 0; i < n; i++) v[i] = i;
    };
    work(static_cast<int>(v.size()));
}

template <class T> static void generic(T *a, int n)
{
    // WITNESS iteration i = 0 writes a[1] at line @0, iteration i = 1 reads it at line @0
    for (int i = 0; i < n - 1; i++) a[i + 1] = a[i];
}

static void throwing(const std::vector<double> &v)
{
    // CLEAN
    for (std::size_t i = 0; i < v.size(); i++)
        if (v[i] > -1e300) throw 1;
}

static void sorted(std::vector<std::vector<double>> &v)
{
    // CLEAN
    for (std::size_t i = 0; i < v.size(); i++) std::sort(v[i].begin(), v[i].end());
}

int main()
{
    std::vector<double> v(50, 1.0), w(50, 2.0);
    std::vector<std::vector<double>> many(10, std::vector<double>{3, 1, 2});
    field f(40);
    f.step();
    f.smear();
    f.through_method();
    carried(v);
    apart(v, w);
    double s = summed(v);
    each(v);
    s += carried_range(v);
    growing(w, 20);
    local_vector(v);
    by_lambda(v);
    in_lambda(v);
    generic(v.data(), 50);
    try {
        throwing(v);
    } catch (int) {
        v[0] = v[1] = 7;
    }
    sorted(many);
    std::printf("%g %g %g %zu\n", s, v[3], many[2][1], w.size());
    return 0;
}

/*
 * Structured bindings of records, pairs, arrays and tuples, and references to parts of objects.
 */
#include <tuple>
#include <utility>
#include <vector>

struct point {
    double a, b;
};

void parts_of_each(int n, point *__restrict p, double *__restrict y)
{
    // loop parts_of_each: safe
    for (int i = 0; i < n; i++) {
        auto &[a, b] = p[i];
        a = b * 2.0;
        y[i] = a + b;
    }
}

void parts_of_next(int n, point *__restrict p)
{
    // loop parts_of_next: carried +4 +4
    for (int i = 0; i < n - 1; i++) {
        auto &[a, b] = p[i];
        const auto &[c, d] = p[i + 1];
        a = c + b * d;
    }
}

void other_part_of_next(int n, point *__restrict p)
{
    // loop other_part_of_next: safe
    for (int i = 0; i < n - 1; i++) {
        auto &[a, b] = p[i];
        const auto &[c, d] = p[i + 1];
        a = b + d;
    }
}

void copies_of_next(int n, point *__restrict p)
{
    // loop copies_of_next: carried +4 +2
    for (int i = 0; i < n - 1; i++) {
        auto [a, b] = p[i + 1];
        a += b;
        p[i].a = a;
    }
}

void copies_of_each(int n, const point *__restrict p, double *__restrict y)
{
    // loop copies_of_each: safe
    for (int i = 0; i < n; i++) {
        auto [a, b] = p[i];
        a += b;
        y[i] = a * b;
    }
}

double bound_before(int n, double *__restrict y)
{
    point t{0.0, 1.0};
    auto &[a, b] = t;
    // loop bound_before: carried +3 +2
    for (int i = 0; i < n; i++) {
        y[i] = a * b;
        t.a = i;
    }
    return t.a;
}

void assigned_then_bound(int n, double *__restrict y)
{
    point t{0.0, 1.0};
    auto &[a, b] = t;
    // loop assigned_then_bound: carried +2 +3 no clause for t reaches a
    for (int i = 0; i < n; i++) {
        t.a = i;
        y[i] = a * b;
    }
}

void read_before(int n, double *__restrict y)
{
    point t{3.0, 1.0};
    const auto &[a, b] = t;
    // loop read_before: safe
    for (int i = 0; i < n; i++) {
        y[i] = a * i + b;
    }
}

void copied_before(int n, double *__restrict y)
{
    point t{3.0, 1.0};
    const auto [a, b] = t;
    // loop copied_before: carried +2 +2 all iterations write t.a
    for (int i = 0; i < n; i++) {
        t.a = i;
        y[i] = a + b + t.b;
    }
}

void in_head(std::vector<point> &p)
{
    // loop in_head: safe
    for (auto &[a, b] : p) {
        a = b * 2.0;
    }
}

double sum_in_head(const std::vector<std::pair<double, double>> &p)
{
    double s = 0.0;
    // loop sum_in_head: safe reduction(+:s)
    for (const auto &[a, b] : p) {
        s += a * b;
    }
    return s;
}

double last_in_head(std::vector<point> &p)
{
    double last = 0.0;
    // loop last_in_head: carried +2 +3
    for (auto &[a, b] : p) {
        a = last;
        last = b;
    }
    return last;
}

void pointers(int n, double *x, double *y)
{
    const std::pair<double *, double *> both{x, y};
    auto [to, from] = both;
    // loop pointers: if distinct(to, from)
    for (int i = 0; i < n - 1; i++) {
        to[i] = from[i + 1];
    }
}

void part_of_array(int n, double *__restrict y)
{
    double w[2] = {1.0, 2.0};
    auto &[a, b] = w;
    // loop part_of_array: carried +3 +2
    for (int i = 0; i < n; i++) {
        y[i] = a + b;
        w[0] = i;
    }
}

void parts_of_tuple(int n, std::tuple<double, double> *__restrict p)
{
    // loop parts_of_tuple: carried +4 +4
    for (int i = 0; i < n - 1; i++) {
        auto &[a, b] = p[i];
        auto &[c, d] = p[i + 1];
        a = c + b * d;
    }
}

/* ---- references ---- */

void reference_to_member(int n, double *__restrict y)
{
    point t{1.0, 2.0};
    double &a = t.a;
    // loop reference_to_member: carried +3 +2
    for (int i = 0; i < n; i++) {
        y[i] = a;
        t.a = i;
    }
}

void reference_to_other_member(int n, double *__restrict y)
{
    point t{1.0, 2.0};
    point &u = t;
    const double &b = u.b;
    // loop reference_to_other_member: carried +3 +3 all iterations write t.a
    for (int i = 0; i < n; i++) {
        y[i] = b;
        t.a = i;
    }
}

class machine {
    int s, o;

public:
    void by_reference(int n, int *__restrict a)
    {
        const machine &q = *this;
        // loop machine.by_reference: safe lastprivate(o) ; types
        for (int i = 0; i < n; i++) {
            a[i] = q.s;
            o = i;
        }
    }
    void by_reference_carried(int n, int *__restrict a)
    {
        const machine &q = *this;
        // loop machine.by_reference_carried: carried +3 +2
        for (int i = 0; i < n; i++) {
            a[i] = q.s;
            s = i;
        }
    }
    void by_pointer_carried(int n, int *__restrict a)
    {
        const machine *q = this;
        // loop machine.by_pointer_carried: carried +3 +2
        for (int i = 0; i < n; i++) {
            a[i] = q->s;
            s = i;
        }
    }
};

/* ---- clauses, which take no structured binding ---- */

void last_of_binding(int n, point &p, double *__restrict y)
{
    auto &[a, b] = p;
    // loop last_of_binding: carried +2 +2 all iterations write p.a, and no clause takes a
    for (int i = 0; i < n; i++) {
        a = i;
        y[i] = b;
    }
}

double sum_in_binding(int n, point p, const double *__restrict y)
{
    auto [a, b] = p;
    // loop sum_in_binding: safe reduction(+:a) ; local
    for (int i = 0; i < n; i++) {
        a += y[i];
    }
    return a + b;
}

struct few_bits {
    unsigned low : 4, high : 4;
};

void bits_of_binding(int n, few_bits &p)
{
    auto &[low, high] = p;
    // loop bits_of_binding: carried +2 +2 all iterations write p.low
    for (int i = 0; i < n; i++) {
        low = high + i;
    }
}

/*
 * lambdas.cpp: loops that call local lambdas. Labels: README.md.
 */
#include <vector>

void axpy(int n, double a, const double *__restrict__ x, double *__restrict__ y)
{
    auto body = [=](int i) {
        double t = a * x[i];
        y[i] += t;
    };
    // loop axpy: safe
    for (int i = 0; i < n; i++) {
        body(i);
    }
}

void axpy_value(int n, double a, const double *__restrict__ x, double *__restrict__ y)
{
    auto product = [=](int i) { return a * x[i]; };
    // loop axpy_value: safe
    for (int i = 0; i < n; i++) {
        y[i] += product(i);
    }
}

void recurrence(int n, double *y)
{
    auto body = [=](int i) { y[i] = 0.5 * y[i - 1]; };
    // loop recurrence: carried -2 -2
    for (int i = 1; i < n; i++) {
        body(i);
    }
}

double sum_by_reference(int n, const double *x)
{
    double sum = 0;
    auto add = [&](int i) { sum += x[i]; };
    // loop sum_by_reference: carried -2 -2 a clause does not reach what the lambda captured
    for (int i = 0; i < n; i++) {
        add(i);
    }
    return sum;
}

double sum_with_directive(int n, const double *x)
{
    double sum = 0;
    auto add = [&](int i) { sum += x[i]; };
    // loop sum_with_directive: carried -2 -2 threads update the variable that the lambda captured
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < n; i++) {
        add(i);
    }
    return sum;
}

double sum_of_values(int n, const double *x, const double *y)
{
    double sum = 0;
    auto product = [=](int i) { return x[i] * y[i]; };
    // loop sum_of_values: safe reduction(+:sum)
    for (int i = 0; i < n; i++) {
        sum += product(i);
    }
    return sum;
}

void scratch_by_reference(int n, const double *__restrict__ x, double *__restrict__ y)
{
    double t;
    auto body = [&](int i) {
        t = 2 * x[i];
        y[i] = t * t;
    };
    // loop scratch_by_reference: carried -4 -3 all threads share t
    for (int i = 0; i < n; i++) {
        body(i);
    }
}

void array_by_reference(int n, const double *__restrict__ x, double *__restrict__ y)
{
    double t[2];
    auto body = [&](int i) {
        t[0] = 2 * x[i];
        t[1] = 3 * x[i];
        y[i] = t[0] * t[1];
    };
    // loop array_by_reference: carried -5 -3 all threads share t
    for (int i = 0; i < n; i++) {
        body(i);
    }
}

void nested(int n, int m, const double *__restrict__ x, double *__restrict__ y)
{
    auto at = [=](int i, int j) { return i * m + j; };
    auto body = [=](int i, int j) { y[at(i, j)] = x[at(i, j)]; };
    // loop nested.i: safe
    for (int i = 0; i < n; i++) {
        // loop nested.j: safe
        for (int j = 0; j < m; j++) {
            body(i, j);
        }
    }
}

void nested_down(int n, int m, double *y)
{
    auto body = [=](int i, int j) { y[i * m + j] = y[(i - 1) * m + j]; };
    // loop nested_down.i: carried -2 -2
    for (int i = 1; i < n; i++) {
        // loop nested_down.j: safe
        for (int j = 0; j < m; j++) {
            body(i, j);
        }
    }
}

void loop_within(int n, int m, const double *__restrict__ x, double *__restrict__ y)
{
    auto row = [=](int i) {
        double sum = 0;
        // loop loop_within.row: safe reduction(+:sum)
        for (int j = 0; j < m; j++) sum += x[i * m + j];
        y[i] = sum;
    };
    // loop loop_within: safe
    for (int i = 0; i < n; i++) {
        row(i);
    }
}

void copy_of_changed(int n, const double *__restrict__ x, double *__restrict__ y)
{
    int k = 0;
    auto body = [=](int i) { y[i * k] = x[i]; };
    k = 1;
    // loop copy_of_changed: carried -3 -3 the copy of k is 0
    for (int i = 0; i < n; i++) {
        body(i);
    }
    y[0] += k;
}

void counted(int n, const double *__restrict__ x, double *__restrict__ y)
{
    int k = 0;
    auto put = [&](int i) {
        if (x[i] > 0) y[k++] = x[i];
    };
    // loop counted: carried -3 -3
    for (int i = 0; i < n; i++) {
        put(i);
    }
}

void parameter_is_stepped(int n, const double *__restrict__ x, double *__restrict__ y)
{
    auto body = [=](int i) {
        i = i / 2;
        y[i] = x[i];
    };
    // loop parameter_is_stepped: carried -3 -3
    for (int i = 0; i < n; i++) {
        body(i);
    }
}

void by_reference(int n, double *__restrict__ y)
{
    auto twice = [](double &v) { v *= 2; };
    // loop by_reference: safe
    for (int i = 0; i < n; i++) {
        twice(y[i]);
    }
}

void first_by_reference(int n, const double *__restrict__ x, double *__restrict__ y)
{
    auto put = [](double &v, double w) { v = w; };
    // loop first_by_reference: carried -2 -2
    for (int i = 0; i < n; i++) {
        put(y[0], x[i]);
    }
}

void returns_early(int n, const double *__restrict__ x, double *__restrict__ y)
{
    auto body = [=](int i) {
        if (x[i] < 0) return;
        y[i] = x[i];
    };
    // loop returns_early: safe
    for (int i = 0; i < n; i++) {
        body(i);
    }
}

void elements(std::vector<double> &y)
{
    auto body = [&](int i) { y[i] = 2 * y[i]; };
    // loop elements: safe
    for (int i = 0; i < (int)y.size(); i++) {
        body(i);
    }
}

void elements_before(std::vector<double> &y)
{
    auto body = [&](int i) { y[i] = 2 * y[i - 1]; };
    // loop elements_before: carried -2 -2
    for (int i = 1; i < (int)y.size(); i++) {
        body(i);
    }
}

double read_by_later_call(int n, double *__restrict__ y)
{
    double s = 0;
    auto get = [&] { return s; };
    // loop read_by_later_call: safe lastprivate(s)
    for (int i = 0; i < n; i++) {
        s = i;
        y[i] = s * 2;
    }
    return get();
}

double read_by_later_call_of_one(int n, double *__restrict__ y)
{
    double s = 0;
    auto get = [&s](double x) { return s + x; };
    // loop read_by_later_call_of_one: safe lastprivate(s)
    for (int i = 0; i < n; i++) {
        s = i;
        y[i] = s * 2;
    }
    return get(1);
}

double copied_before(int n, double *__restrict__ y)
{
    double s = 0;
    auto get = [s] { return s; };
    // loop copied_before: safe private(s)
    for (int i = 0; i < n; i++) {
        s = i;
        y[i] = s * 2;
    }
    return get();
}

double array_read_by_later_call(int n, double *__restrict__ y)
{
    double w[8] = {};
    auto get = [&](int k) { return w[k]; };
    // loop array_read_by_later_call.i: safe lastprivate(w)
    for (int i = 0; i < n; i++) {
        // loop array_read_by_later_call.j: safe ; small
        for (int j = 0; j < 8; j++) {
            w[j] = i + j;
        }
        y[i] = w[3];
    }
    return get(2);
}

double assigned_in_lambda(int n, double *__restrict__ y)
{
    double s = 0;
    auto fill = [&] {
        // loop assigned_in_lambda: safe lastprivate(s)
        for (int i = 0; i < n; i++) {
            s = i;
            y[i] = s * 2;
        }
    };
    fill();
    return s;
}

double caught_later(int n, double *__restrict__ y, double (*f)(double))
{
    double s = 0;
    try {
        // loop caught_later: safe lastprivate(s)
        for (int i = 0; i < n; i++) {
            s = i;
            y[i] = s * 2;
        }
        y[0] = f(y[0]);
        s = 0;
    } catch (int) {
    }
    return s;
}

/*
 * functions.cpp: references, lambdas, templates, exceptions, what is shared between threads: C++
 * around and in loops over plain arrays. Labels: README.md.
 */
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

double elsewhere(double x);
double promised(double x) noexcept;

void sum_by_reference(int n, double &sum, const double *__restrict a)
{
    // loop sum_by_reference: safe reduction(+:sum)
    for (int i = 0; i < n; i++) {
        sum += a[i];
    }
}

void sum_by_reference_open(int n, double &sum, const double *a)
{
    // loop sum_by_reference_open: if distinct(sum, a) reduction(+:sum)
    for (int i = 0; i < n; i++) {
        sum += a[i];
    }
}

void factor_by_reference(int n, double *a, const double &factor)
{
    // loop factor_by_reference: if distinct(factor, a)
    for (int i = 0; i < n; i++) {
        a[i] *= factor;
    }
}

void factor_by_value(int n, double *a, double factor)
{
    // loop factor_by_value: safe
    for (int i = 0; i < n; i++) {
        a[i] *= factor;
    }
}

void last_by_reference(int n, double &last, const double *__restrict a)
{
    // loop last_by_reference: safe lastprivate(last)
    for (int i = 0; i < n; i++) {
        last = a[i];
    }
}

void local_reference(int n, double *a)
{
    // loop local_reference: safe
    for (int i = 0; i < n; i++) {
        double &x = a[i];
        x = x * x;
    }
}

void reference_to_first(int n, double *a)
{
    double &first = a[0];
    // loop reference_to_first: carried +2 +2 first is a[0], which iteration 0 changes
    for (int i = 0; i < n; i++) {
        a[i] += 2.0 * first;
    }
}

void reference_before_range(int n, double *a)
{
    double &first = a[0];
    // loop reference_before_range: safe
    for (int i = 1; i < n; i++) {
        a[i] += 2.0 * first;
    }
}

void reference_to_scalar(int n, double *__restrict b, const double *__restrict a)
{
    double t = 0.0;
    double &r = t;
    // loop reference_to_scalar: carried +3 +2 r is t
    for (int i = 0; i < n; i++) {
        b[i] = t;
        r = a[i];
    }
}

void range_of_array(double (&a)[50])
{
    // loop range_of_array: safe
    for (double &x : a) {
        x = 3.0 * x;
    }
}

void lambda_pure(int n, double *__restrict b, const double *__restrict a, double w)
{
    auto f = [w](double x) { return w * x + 1.0; };
    // loop lambda_pure: safe
    for (int i = 0; i < n; i++) {
        b[i] = f(a[i]);
    }
}

void lambda_counts(int n, double *__restrict b, const double *__restrict a)
{
    int calls = 0;
    auto f = [&calls](double x) { return x + calls++; };
    // loop lambda_counts: carried -1 -1 the lambda counts its calls
    for (int i = 0; i < n; i++) {
        b[i] = f(a[i]);
    }
}

void lambda_mutable(int n, double *__restrict b, const double *__restrict a)
{
    double last = 0.0;
    auto f = [last](double x) mutable { return last = 0.5 * last + x; };
    // loop lambda_mutable: carried -1 -1 the lambda keeps a value of its own
    for (int i = 0; i < n; i++) {
        b[i] = f(a[i]);
    }
}

void lambda_by_reference_reads(int n, double *__restrict b, const double *__restrict a)
{
    double w = 2.0;
    auto f = [&](double x) { return w * x; };
    // loop lambda_by_reference_reads: safe
    for (int i = 0; i < n; i++) {
        b[i] = f(a[i]);
    }
}

void lambda_by_reference_sees(int n, double *__restrict b, const double *__restrict a)
{
    double w = 2.0;
    auto f = [&](double x) { return w * x; };
    // loop lambda_by_reference_sees: carried +3 +2 w is changed where the lambda reads it
    for (int i = 0; i < n; i++) {
        b[i] = f(a[i]);
        w = a[i];
    }
}

void lambda_writes_element(int n, double *__restrict b, const double *__restrict a)
{
    auto put = [b](int i, double x) { b[i] = x; };
    // loop lambda_writes_element: safe
    for (int i = 0; i < n; i++) {
        put(i, a[i]);
    }
}

void lambda_writes_next(int n, double *b)
{
    auto put = [b](int i) { b[i + 1] = 0.5 * b[i] + i; };
    // loop lambda_writes_next: carried -1 -1
    for (int i = 0; i < n; i++) {
        put(i);
    }
}

void loop_in_lambda(int n, double *a)
{
    auto all = [n, a](double w) {
        // loop loop_in_lambda: safe
        for (int i = 0; i < n; i++) {
            a[i] *= w;
        }
    };
    all(2.0);
}

void any_function(int n, double *__restrict a, const std::function<double(double)> &f)
{
    // loop any_function: unknown
    for (int i = 0; i < n; i++) {
        a[i] = f(a[i]);
    }
}

void not_in_file(int n, double *__restrict a)
{
    // loop not_in_file: unknown
    for (int i = 0; i < n; i++) {
        a[i] = elsewhere(a[i]);
    }
}

void not_in_file_noexcept(int n, double *__restrict a)
{
    // loop not_in_file_noexcept: unknown it does not throw, but may keep a state
    for (int i = 0; i < n; i++) {
        a[i] = promised(a[i]);
    }
}

template <typename T> void template_axpy(int n, T w, const T *__restrict x, T *__restrict y)
{
    // loop template_axpy: safe
    for (int i = 0; i < n; i++) {
        y[i] += w * x[i];
    }
}
template void template_axpy<double>(int, double, const double *, double *);

template <typename T> void template_open(int n, T w, const T *x, T *y)
{
    // loop template_open: if distinct(y, x)
    for (int i = 0; i < n; i++) {
        y[i] += w * x[i];
    }
}
template void template_open<double>(int, double, const double *, double *);

template <typename T> void template_index_inside(int n, double *__restrict a, const T *__restrict b)
{
    // loop template_index_inside: carried +3 +3 a type that is left open: i - j may come twice
    for (int i = 0; i < n; i++) {
        T j = b[i];
        a[i - j] = i;
    }
}

template <typename T>
void template_index_assigned(int n, double *__restrict a, const T *__restrict b)
{
    // loop template_index_assigned: carried +4 +4 i + j may come twice
    for (int i = 0; i < n; i++) {
        T j;
        j = b[i];
        a[i + j] = i;
    }
}

template <typename T> void template_offset(int n, double *__restrict a, const T *__restrict b, T k)
{
    // loop template_offset: safe
    for (int i = 0; i < n; i++) {
        a[i + k] = b[i];
    }
}

template <typename T> void template_reference(int n, T *__restrict a, typename T::value w)
{
    // loop template_reference: carried +3 +3 what T::element is may be a reference
    for (int i = 0; i < n; i++) {
        typename T::element x = a[0];
        x = w;
    }
}

template <typename T> T template_sum_open(int n, const T *a)
{
    T s = 0;
    // loop template_sum_open: if open(s) reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += a[i];
    }
    return s;
}

template <typename T>
void template_rows(int n, const T *__restrict p, const T *__restrict q, T *__restrict a)
{
    // loop template_rows.i: unknown where rows begin and end
    for (int i = 0; i < n; i++) {
        // loop template_rows.j: if open(j)
        for (T j = p[i]; j < p[i + 1]; j++) {
            a[j] = q[j];
        }
    }
}

template <typename T> void template_recurrence(int n, T *y)
{
    // loop template_recurrence: carried +2 +2
    for (int i = 1; i < n; i++) {
        y[i] += y[i - 1];
    }
}
template void template_recurrence<double>(int, double *);

template <typename F> void template_apply(int n, double *__restrict a, F f)
{
    // loop template_apply: if open(f)
    for (int i = 0; i < n; i++) {
        a[i] = f(a[i]);
    }
}

template <int N> void template_rows(int rows, double *a)
{
    // loop template_rows.i: safe ; collapse(2)
    for (int i = 0; i < rows; i++) {
        // loop template_rows.j: safe ; small
        for (int j = 0; j < N; j++) {
            a[i * N + j] = i - j;
        }
    }
}
template void template_rows<3>(int, double *);

template <typename T> T template_sum(int n, const T *a)
{
    T s{};
    // loop template_sum: safe reduction(+:s)
    for (int i = 0; i < n; i++) {
        s += a[i];
    }
    return s;
}
template double template_sum<double>(int, const double *);

void throws(int n, double *__restrict b, const double *__restrict a)
{
    // loop throws: carried control
    for (int i = 0; i < n; i++) {
        if (a[i] < 0.0) throw std::domain_error("negative");
        b[i] = std::sqrt(a[i]);
    }
}

static double checked(double x)
{
    if (x < 0.0) throw std::domain_error("negative");
    return std::sqrt(x);
}

void throws_below(int n, double *__restrict b, const double *__restrict a)
{
    // loop throws_below: carried control the callee throws
    for (int i = 0; i < n; i++) {
        b[i] = checked(a[i]);
    }
}

void catches_inside(int n, double *__restrict b, const double *__restrict a)
{
    // loop catches_inside: safe
    for (int i = 0; i < n; i++) {
        try {
            b[i] = checked(a[i]);
        } catch (const std::domain_error &) {
            b[i] = 0.0;
        }
    }
}

int catches_outside(int n, double *__restrict b, const double *__restrict a)
{
    try {
        // loop catches_outside: carried control
        for (int i = 0; i < n; i++) {
            b[i] = checked(a[i]);
        }
    } catch (const std::domain_error &) {
        return -1;
    }
    return 0;
}

void counts_atomically(int n, std::atomic<int> &count, const double *__restrict a)
{
    // loop counts_atomically: safe
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) count++;
    }
}

void counts_in_two_steps(int n, std::atomic<int> &count, const double *__restrict a)
{
    // loop counts_in_two_steps: carried +2 +2 between load and store another may count
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) count = count + 1;
    }
}

void places_atomically(int n, std::atomic<int> &k, double *__restrict b, const double *__restrict a)
{
    // loop places_atomically: carried order places are given in order of arrival
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) b[k.fetch_add(1)] = a[i];
    }
}

void last_atomically(int n, std::atomic<double> &last, const double *__restrict a)
{
    // loop last_atomically: carried order the last store must be the last iteration's
    for (int i = 0; i < n; i++) {
        last.store(a[i]);
    }
}

void counts_locked(int n, std::mutex &lock, long &count, const int *__restrict a)
{
    // loop counts_locked: safe
    for (int i = 0; i < n; i++) {
        std::lock_guard<std::mutex> guard(lock);
        count += a[i];
    }
}

void sums_unlocked(int n, std::mutex &lock, long &count, const int *__restrict a)
{
    // loop sums_unlocked: carried +4 +2 the sum is read without the lock
    for (int i = 0; i < n; i++) {
        long before = count;
        std::lock_guard<std::mutex> guard(lock);
        count = before + a[i];
    }
}

void lock_and_order(int n, std::mutex &lock, long &state, const int *__restrict a)
{
    // loop lock_and_order: carried +3 +3 one at a time, but in any order
    for (int i = 0; i < n; i++) {
        std::lock_guard<std::mutex> guard(lock);
        state = (state * 31 + a[i]) % 65521;
    }
}

thread_local double kept;

void scratch_of_thread(int n, double *__restrict b, const double *__restrict a)
{
    // loop scratch_of_thread: carried order which thread's kept is left with the last value
    for (int i = 0; i < n; i++) {
        kept = a[i] * a[i];
        b[i] = kept + 1.0;
    }
}

void value_of_thread(int n, double *__restrict b, const double *__restrict a)
{
    // loop value_of_thread: carried order each thread would read a kept of its own
    for (int i = 0; i < n; i++) {
        b[i] = kept * a[i];
    }
}

static double squared_by_thread(double x)
{
    static thread_local double t;
    t = x * x;
    return t + 1.0;
}

void scratch_of_thread_in_callee(int n, double *__restrict b, const double *__restrict a)
{
    // loop scratch_of_thread_in_callee: safe
    for (int i = 0; i < n; i++) {
        b[i] = squared_by_thread(a[i]);
    }
}

static double decayed_by_thread(double x)
{
    static thread_local double t = 0.0;
    t = 0.5 * t + x;
    return t;
}

void state_of_thread_in_callee(int n, double *__restrict b, const double *__restrict a)
{
    // loop state_of_thread_in_callee: carried order each thread would go on from its own last value
    for (int i = 0; i < n; i++) {
        b[i] = decayed_by_thread(a[i]);
    }
}

constexpr double polynomial(double x)
{
    return (x + 2.0) * x + 1.0;
}

void calls_constexpr(int n, double *a)
{
    // loop calls_constexpr: safe
    for (int i = 0; i < n; i++) {
        a[i] = polynomial(a[i]);
    }
}

static int once(int seed)
{
    static const int first = seed;
    return first;
}

void initialises_once(int n, int *__restrict a)
{
    // loop initialises_once: carried order who comes first sets the static
    for (int i = 0; i < n; i++) {
        a[i] = once(i) + i;
    }
}

void makes_objects(int n, double *__restrict b, const double *__restrict a)
{
    // loop makes_objects: safe
    for (int i = 0; i < n; i++) {
        auto p = std::make_unique<double>(a[i]);
        *p += 1.0;
        b[i] = *p;
    }
}

void new_and_delete(int n, double *__restrict b, const double *__restrict a)
{
    // loop new_and_delete: safe
    for (int i = 0; i < n; i++) {
        double *t = new double[2];
        t[0] = a[i];
        t[1] = 2.0 * t[0];
        b[i] = t[1];
        delete[] t;
    }
}

static const double *held_number;

static void hold_number(const double &x)
{
    held_number = &x;
}

void read_through_held_number(int n, double *__restrict out)
{
    double s = 0.0;
    hold_number(s);
    // loop read_through_held_number: carried +2 +3 *held_number is the shared s ; violates(held_number, s)
    for (int i = 0; i < n; i++) {
        s = i;
        out[i] = *held_number;
    }
    held_number = nullptr;
}

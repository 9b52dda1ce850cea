/*
 * Loops that call objects as functions: classes of the file, local classes, members by value, by
 * reference and of pointers.
 */
#include <cmath>
#include <cstdio>

struct scaled {
    double *y;
    const double *x;
    double factor;
    void operator()(int i) const
    {
        const double t = x[i] * factor;
        y[i] = t + std::sqrt(t);
    }
};

struct neighbour {
    double *y;
    void operator()(int i) const
    {
        const double t = y[i - 1];
        y[i] = t * 0.5;
    }
};

struct counting {
    double *y;
    int calls;
    void operator()(int i)
    {
        calls++;
        y[i] = calls;
    }
};

struct adding {
    double &sum;
    const double *x;
    void operator()(int i) const
    {
        const double t = x[i];
        sum += t * t;
    }
};

struct sequence {
    double *y;
    double last;
    void operator()(int i)
    {
        last = last * 0.5 + i;
        y[i] = last;
    }
};

struct remembering {
    double *y;
    mutable double seen;
    void operator()(int i) const
    {
        y[i] = seen;
        seen = i;
    }
};

struct printing {
    const double *x;
    void operator()(int i) const
    {
        const double t = x[i];
        std::printf("%g\n", t);
    }
};

struct shifted {
    double *y;
    int by;
    void operator()(int i, double v) const
    {
        const int k = i + by;
        y[k] = v;
    }
};

struct constructed {
    double *y;
    const double *x;
    constructed(double *to, const double *from) : y(to), x(from) {}
    void operator()(int i) const
    {
        const double t = x[i];
        y[i] = t * t;
    }
};

struct helped {
    double *y;
    int n;
    void note() { n++; }
    void operator()(int i)
    {
        note();
        y[i] = n;
    }
};

void class_of_the_file(int n, double *__restrict y, const double *__restrict x)
{
    scaled s{y, x, 2.0};
    // loop class_of_the_file: safe
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void reads_neighbour(int n, double *__restrict y)
{
    neighbour s{y};
    // loop reads_neighbour: carried +2 +2
    for (int i = 1; i < n; i++) {
        s(i);
    }
}

void neighbour_of_other(int n, double *__restrict y, double *__restrict x)
{
    shifted s{y, 1};
    // loop neighbour_of_other: safe
    for (int i = 1; i < n; i++) {
        s(i, x[i] + x[i - 1]);
    }
}

void neighbour_of_same(int n, double *__restrict y)
{
    shifted s{y, 1};
    // loop neighbour_of_same: carried +2 +2
    for (int i = 1; i < n; i++) {
        s(i, y[i]);
    }
}

void may_overlap(int n, double *y, const double *x)
{
    scaled s{y, x, 2.0};
    // loop may_overlap: if distinct(y, x)
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void overlaps(int n, double *y)
{
    scaled s{y + 1, y, 2.0};
    // loop overlaps: carried +2 +2
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void member_counts(int n, double *__restrict y)
{
    counting s{y, 0};
    // loop member_counts: carried +2 +2
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

double reference_to_sum(int n, const double *__restrict x)
{
    double sum = 0.0;
    adding s{sum, x};
    // loop reference_to_sum: carried +2 +2 no clause reaches the reference
    for (int i = 0; i < n; i++) {
        s(i);
    }
    return sum;
}

void member_carries(int n, double *__restrict y)
{
    sequence s{y, 0.0};
    // loop member_carries: carried +2 +2
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void mutable_member(int n, double *__restrict y)
{
    remembering s{y, 0.0};
    // loop mutable_member: carried +2 +2
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void output_in_order(int n, const double *__restrict x)
{
    printing s{x};
    // loop output_in_order: carried io
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void by_constructor(int n, double *y, const double *x)
{
    constructed s(y, x);
    // loop by_constructor: if distinct(y, x)
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void by_constructor_same(int n, double *y)
{
    constructed s(y + 1, y);
    // loop by_constructor_same: carried +2 +2 ; violates(s.y, s.x)
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void method_of_the_object(int n, double *__restrict y)
{
    helped s{y, 0};
    // loop method_of_the_object: carried +2 +2
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void of_a_parameter(int n, const scaled &s)
{
    // loop of_a_parameter: if distinct(s.y, s.x)
    for (int i = 0; i < n; i++) {
        s(i);
    }
}

void member_set_later(int n, double *__restrict y, double *__restrict z)
{
    shifted s{y, 0};
    s.y = z;
    // loop member_set_later: carried +2 +2 y is not the member's value ; violates(z, s.y)
    for (int i = 1; i < n; i++) {
        s(i, z[i - 1]);
    }
}

void pointer_moves_later(int n, double *y)
{
    shifted s{y, 0};
    y++;
    // loop pointer_moves_later: carried +2 +2 s.y[i] is y[i - 1] ; violates(y, s.y)
    for (int i = 2; i < n; i++) {
        s(i, y[i - 2]);
    }
}

void local_class(int n, double *__restrict y, const double *__restrict x)
{
    struct squares {
        double *y;
        const double *x;
        void operator()(int i) const
        {
            const double t = x[i];
            y[i] = t * t;
        }
    } f{y, x};
    // loop local_class: safe
    for (int i = 0; i < n; i++) {
        f(i);
    }
}

void local_class_of_one_line(int n, double *__restrict y, const double *__restrict x)
{
    struct twice {
        const double *x;
        double operator()(int i) const { return x[i] * 2.0; }
    } f{x};
    // loop local_class_of_one_line: safe
    for (int i = 0; i < n; i++) {
        y[i] = f(i);
    }
}

void local_class_with_condition(int n, double *__restrict y, const double *__restrict x)
{
    struct positive {
        double *y;
        const double *x;
        double least;
        void operator()(int i) const
        {
            double t = x[i];
            if (t < least) t = least;
            y[i] = t;
        }
    };
    const positive f{y, x, 1.0};
    // loop local_class_with_condition: safe
    for (int i = 0; i < n; i++) {
        f(i);
    }
}

void local_class_carries(int n, double *__restrict y)
{
    struct chain {
        double *y;
        void operator()(int i) const
        {
            const double t = y[i + 1];
            y[i] = t * 0.5;
        }
    } f{y};
    // loop local_class_carries: carried +2 +2
    for (int i = 0; i < n - 1; i++) {
        f(i);
    }
}

void local_class_counts(int n, double *__restrict y)
{
    struct counter {
        int next;
        void operator()(double *to)
        {
            *to = next;
            next += 2;
        }
    } f{0};
    // loop local_class_counts: carried +2 +2
    for (int i = 0; i < n; i++) {
        f(y + i);
    }
}

void temporary_in_member(int n, double *__restrict y, const double *__restrict x)
{
    struct staged {
        double *y;
        double stage;
        void operator()(double v, int i)
        {
            stage = v * 2.0;
            y[i] = stage * stage;
        }
    } f{y, 0.0};
    // loop temporary_in_member: carried +2 +2 all threads write f.stage
    for (int i = 0; i < n; i++) {
        f(x[i], i);
    }
}

class grid {
    double *values_;
    int n_;

public:
    void fill(int n, double *__restrict x)
    {
        struct store {
            double *x;
            void operator()(int i, double v) const
            {
                const int k = i;
                x[k] = v;
            }
        } f{x};
        // loop grid.fill: if distinct(x, values_)
        for (int i = 0; i < n; i++) {
            f(i, this->values_[i]);
        }
    }
};

void sum_by_local_class(int n, double *__restrict y, const double *__restrict x)
{
    struct prefix {
        double *y;
        const double *x;
        void operator()(int i) const
        {
            double s = 0.0;
            // (a loop of a local class is not judged by itself)
            s += x[i];
            s += x[i + 1];
            y[i] = s;
        }
    } f{y, x};
    // loop sum_by_local_class: safe
    for (int i = 0; i < n - 1; i++) {
        f(i);
    }
}

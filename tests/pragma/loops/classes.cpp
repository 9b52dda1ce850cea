/*
 * classes.cpp: members and methods, operators of one's own, virtual calls, what constructors and
 * destructors do unseen. Labels: README.md.
 */
#include <cstddef>
#include <utility>
#include <vector>

struct vec3 {
    double x, y, z;
    vec3 operator+(const vec3 &o) const { return {x + o.x, y + o.y, z + o.z}; }
    vec3 operator*(double w) const { return {w * x, w * y, w * z}; }
    vec3 &operator+=(const vec3 &o)
    {
        x += o.x;
        y += o.y;
        z += o.z;
        return *this;
    }
    double dot(const vec3 &o) const { return x * o.x + y * o.y + z * o.z; }
};

class field {
  public:
    field(int n, int m) : n_(n), m_(m), value_(static_cast<std::size_t>(n) * m) {}
    double &operator()(int i, int j) { return value_[static_cast<std::size_t>(i) * m_ + j]; }
    double operator()(int i, int j) const { return value_[static_cast<std::size_t>(i) * m_ + j]; }
    int rows() const { return n_; }
    int columns() const { return m_; }

    void fill(double v)
    {
        // loop field.fill: safe
        for (std::size_t k = 0; k < value_.size(); k++) {
            value_[k] = v;
        }
    }

    void scale_rows(const std::vector<double> &w)
    {
        // loop field.scale_rows.i: safe ; collapse(2)
        for (int i = 0; i < n_; i++) {
            // loop field.scale_rows.j: safe
            for (int j = 0; j < m_; j++) {
                (*this)(i, j) *= w[i];
            }
        }
    }

    void accumulate_rows()
    {
        // loop field.accumulate_rows.i: carried +4 +4
        for (int i = 1; i < n_; i++) {
            // loop field.accumulate_rows.j: safe
            for (int j = 0; j < m_; j++) {
                (*this)(i, j) += (*this)(i - 1, j);
            }
        }
    }

    double total() const
    {
        double s = 0.0;
        // loop field.total: safe reduction(+:s)
        for (double v : value_) {
            s += v;
        }
        return s;
    }

  private:
    int n_, m_;
    std::vector<double> value_;
};

void set_field(field &f)
{
    // loop set_field.i: safe ; collapse(2)
    for (int i = 0; i < f.rows(); i++) {
        // loop set_field.j: safe
        for (int j = 0; j < f.columns(); j++) {
            f(i, j) = i - j;
        }
    }
}

void smooth_field(field &g, const field &f)
{
    // loop smooth_field.i: if distinct(g, f)
    for (int i = 1; i < f.rows() - 1; i++) {
        // loop smooth_field.j: safe
        for (int j = 0; j < f.columns(); j++) {
            g(i, j) = 0.5 * (f(i - 1, j) + f(i + 1, j));
        }
    }
}

void smooth_field_in_place(field &f)
{
    // loop smooth_field_in_place.i: carried +4 +4
    for (int i = 1; i < f.rows() - 1; i++) {
        // loop smooth_field_in_place.j: safe
        for (int j = 0; j < f.columns(); j++) {
            f(i, j) = 0.5 * (f(i - 1, j) + f(i + 1, j));
        }
    }
}

class recorder {
  public:
    double seen(double x)
    {
        n_++;
        return x;
    }
    double looked(double x) const { return factor_ * x; }
    double remembered(double x) const
    {
        last_ = x;
        return last_ * factor_;
    }

    void sum_into_member(int n, const double *__restrict a)
    {
        // loop recorder.sum_into_member: safe reduction(+:sum_)
        for (int i = 0; i < n; i++) {
            sum_ += a[i];
        }
    }

    void prefix_in_member(int n, double *__restrict a)
    {
        // loop recorder.prefix_in_member: carried +2 +3
        for (int i = 0; i < n; i++) {
            sum_ += a[i];
            a[i] = sum_;
        }
    }

    void member_scratch(int n, double *__restrict b, const double *__restrict a)
    {
        // loop recorder.member_scratch: safe lastprivate(last_)
        for (int i = 0; i < n; i++) {
            last_ = a[i];
            b[i] = last_ * last_;
        }
    }

    void member_factor(int n, double *a)
    {
        // loop recorder.member_factor: if distinct(a, &this->factor_)
        for (int i = 0; i < n; i++) {
            a[i] *= factor_;
        }
    }

    void members_only()
    {
        // loop recorder.members_only: safe ; small
        for (int i = 0; i < 16; i++) {
            table_[i] = factor_ * i;
        }
    }

    void member_pointers(int n)
    {
        // loop recorder.member_pointers: if distinct(to_, from_) ; types
        for (int i = 0; i < n; i++) {
            to_[i] = from_[i];
        }
    }

    static int made;

  private:
    int n_ = 0;
    double factor_ = 2.0, sum_ = 0.0;
    mutable double last_ = 0.0;
    double table_[16] = {};
    double *to_ = nullptr, *from_ = nullptr;
};

int recorder::made = 0;

void method_counts(int n, double *__restrict b, const double *__restrict a, recorder &r)
{
    // loop method_counts: carried order seen() counts in the object that all share
    for (int i = 0; i < n; i++) {
        b[i] = r.seen(a[i]);
    }
}

void method_const(int n, double *__restrict b, const double *__restrict a, const recorder &r)
{
    // loop method_const: safe
    for (int i = 0; i < n; i++) {
        b[i] = r.looked(a[i]);
    }
}

void method_const_with_cache(int n, double *__restrict b, const double *__restrict a,
                             const recorder &r)
{
    // loop method_const_with_cache: carried order const, but it writes a mutable member
    for (int i = 0; i < n; i++) {
        b[i] = r.remembered(a[i]);
    }
}

void method_of_own(int n, double *__restrict b, const double *__restrict a)
{
    // loop method_of_own: safe
    for (int i = 0; i < n; i++) {
        recorder r;
        b[i] = r.seen(a[i]) + r.looked(1.0);
    }
}

void method_of_each(int n, recorder *__restrict r, double *__restrict a)
{
    // loop method_of_each: safe
    for (int i = 0; i < n; i++) {
        a[i] = r[i].seen(a[i]);
    }
}

void static_member(int n, const double *__restrict a)
{
    // loop static_member: safe reduction(+:recorder::made)
    for (int i = 0; i < n; i++) {
        if (a[i] > 0.0) recorder::made++;
    }
}

struct shape {
    virtual ~shape() = default;
    virtual double area() const = 0;
};

struct square final : shape {
    double side = 1.0;
    double area() const override { return side * side; }
};

void virtual_calls(int n, double *__restrict b, const shape *const *s)
{
    // loop virtual_calls: unknown area() of a class that is not in this file
    for (int i = 0; i < n; i++) {
        b[i] = s[i]->area();
    }
}

void final_calls(int n, double *__restrict b, const square *s)
{
    // loop final_calls: safe
    for (int i = 0; i < n; i++) {
        b[i] = s[i].area();
    }
}

static int alive;

struct counted {
    double v;
    explicit counted(double x) : v(x) { alive++; }
    ~counted() { alive--; }
};

void counted_objects(int n, double *__restrict b, const double *__restrict a)
{
    // loop counted_objects: carried order constructor and destructor count in a global
    for (int i = 0; i < n; i++) {
        counted c(a[i]);
        b[i] = c.v * 2.0;
    }
}

struct plain {
    double v;
    explicit plain(double x) : v(x) {}
};

void plain_objects(int n, double *__restrict b, const double *__restrict a)
{
    // loop plain_objects: safe
    for (int i = 0; i < n; i++) {
        plain p(a[i]);
        b[i] = p.v * 2.0;
    }
}

void operators(int n, vec3 *__restrict q, const vec3 *__restrict p)
{
    // loop operators: safe
    for (int i = 0; i < n - 1; i++) {
        q[i] = p[i] + p[i + 1] * 0.5;
    }
}

void operators_in_place(int n, vec3 *p)
{
    // loop operators_in_place: carried +2 +2
    for (int i = 0; i < n - 1; i++) {
        p[i] = p[i] + p[i + 1] * 0.5;
    }
}

void added_to_each(int n, vec3 *__restrict p, const vec3 &d)
{
    // loop added_to_each: safe
    for (int i = 0; i < n; i++) {
        p[i] += d;
    }
}

void added_to_each_open(int n, vec3 *p, const vec3 &d)
{
    // loop added_to_each_open: if distinct(d, p)
    for (int i = 0; i < n; i++) {
        p[i] += d;
    }
}

vec3 sum_of_class(int n, const vec3 *p)
{
    vec3 s{0.0, 0.0, 0.0};
    // loop sum_of_class: carried +2 +2 a class: only with a reduction that is declared
    for (int i = 0; i < n; i++) {
        s += p[i];
    }
    return s;
}

double sum_of_dots(int n, const vec3 *p)
{
    double s = 0.0;
    // loop sum_of_dots: safe reduction(+:s)
    for (int i = 0; i < n - 1; i++) {
        s += p[i].dot(p[i + 1]);
    }
    return s;
}

class counter {
  public:
    counter &operator++()
    {
        ++n_;
        return *this;
    }
    bool operator<(int n) const { return n_ < n; }
    operator int() const { return n_; }

  private:
    int n_ = 0;
};

void class_as_counter(int n, double *a)
{
    // loop class_as_counter: safe ; noncanonical
    for (counter i; i < n; ++i) {
        a[i] = 1.0;
    }
}

class span {
  public:
    span(double *p, int n) : p_(p), n_(n) {}
    double *begin() const { return p_; }
    double *end() const { return p_ + n_; }
    double &operator[](int i) const { return p_[i]; }
    int size() const { return n_; }

  private:
    double *p_;
    int n_;
};

void over_span(double *p, int n)
{
    span s(p, n);
    // loop over_span: safe
    for (double &x : s) {
        x += 1.0;
    }
}

void over_spans(double *p, int n)
{
    span s(p, n), next(p + 1, n);
    // loop over_spans: carried +2 +2 both look at one array
    for (int i = 0; i < s.size(); i++) {
        next[i] = s[i] * 0.5;
    }
}

void over_halves(double *p, int n)
{
    span low(p, n), high(p + n, n);
    // loop over_halves: safe
    for (int i = 0; i < low.size(); i++) {
        high[i] = low[i] * 0.5;
    }
}

// ---- members that are references ----

struct bound_number {
    double &number;
    void set(double x)
    {
        double t = 2 * x;
        number = t;
    }
};

void reads_bound(double *x, int n)
{
    bound_number b{x[0]};
    // loop reads_bound: carried +2 +2 the member is x[0] ; violates(b, x)
    for (int i = 0; i < n; i++) {
        x[i] = b.number + 1;
    }
}

void writes_bound(bound_number *b, const double *__restrict x, int n)
{
    // loop writes_bound: carried +2 +2 members may be one number ; violates(b)
    for (int i = 0; i < n; i++) {
        b[i].number = x[i];
    }
}

void sets_bound(bound_number *b, const double *__restrict x, int n)
{
    // loop sets_bound: carried +2 +2 members may be one number ; violates(b)
    for (int i = 0; i < n; i++) {
        b[i].set(x[i]);
    }
}

void scales_by_bound(const bound_number &b, double *y, int n)
{
    // loop scales_by_bound: if distinct(b, y)
    for (int i = 0; i < n; i++) {
        y[i] *= b.number;
    }
}

class keeper {
  public:
    void read_by_method(int n, double *__restrict a)
    {
        // loop keeper.read_by_method: carried +2 +3 last() reads the member and not a copy
        for (int i = 0; i < n; i++) {
            value_ = i;
            a[i] = value_ + last();
        }
    }

    void read_by_longer_method(int n, double *__restrict a)
    {
        // loop keeper.read_by_longer_method: carried +2 +3
        for (int i = 0; i < n; i++) {
            value_ = i;
            a[i] = twice();
        }
    }

    void read_through_itself(int n, double *__restrict a)
    {
        // loop keeper.read_through_itself: carried +2 +3
        for (int i = 0; i < n; i++) {
            value_ = i;
            a[i] = self().value_;
        }
    }

    void updated_by_method(int n, const double *__restrict a)
    {
        // loop keeper.updated_by_method: carried +2 +2
        for (int i = 0; i < n; i++) {
            place() += a[i];
        }
    }

    void named_alone(int n, double *__restrict a)
    {
        // loop keeper.named_alone: safe lastprivate(value_)
        for (int i = 0; i < n; i++) {
            double &v = value_;
            v = i;
            a[i] = value_ * v;
        }
    }

  private:
    double last() const { return value_; }
    double twice() const
    {
        double v = value_;
        return v + v;
    }
    keeper &self() { return *this; }
    double &place() { return value_; }

    double value_ = 0.0;
};

struct reader {
    double &from;
    double read() const { return from; }
};

struct built_reader {
    double &from;
    explicit built_reader(double &x) : from(x) {}
};

void read_through_member(int n, double *__restrict a)
{
    double s = 0.0;
    reader r = {s};
    // loop read_through_member: carried +2 +3 r.from is the shared s
    for (int i = 0; i < n; i++) {
        s = i;
        a[i] = r.from;
    }
}

void read_through_method(int n, double *__restrict a)
{
    double s = 0.0;
    reader r{s};
    // loop read_through_method: carried +2 +3
    for (int i = 0; i < n; i++) {
        s = i;
        a[i] = r.read();
    }
}

double read_later_through_member(int n, double *__restrict a)
{
    double s = 0.0;
    built_reader r(s);
    // loop read_later_through_member: safe lastprivate(s)
    for (int i = 0; i < n; i++) {
        s = i;
        a[i] = s * 2.0;
    }
    return r.from;
}

double copied_to_member(int n, double *__restrict a)
{
    double s = 0.0;
    plain p(s);
    // loop copied_to_member: safe private(s)
    for (int i = 0; i < n; i++) {
        s = i;
        a[i] = s * 2.0;
    }
    return p.v;
}

static void assign(double &to, double v)
{
    to = v;
}

void assigned_by_function(int n, double *__restrict a)
{
    double s = 0.0;
    // loop assigned_by_function: safe private(s)
    for (int i = 0; i < n; i++) {
        assign(s, i);
        a[i] = s;
    }
}

void first_assigned_by_function(int n, double *__restrict b, const double *__restrict a)
{
    // loop first_assigned_by_function: carried +2 +2
    for (int i = 0; i < n; i++) {
        assign(b[0], a[i]);
    }
}

void each_assigned_by_function(int n, double *__restrict b, const double *__restrict a)
{
    // loop each_assigned_by_function: safe
    for (int i = 0; i < n; i++) {
        assign(b[i], a[i]);
    }
}

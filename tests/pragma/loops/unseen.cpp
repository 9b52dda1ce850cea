/*
 * Code that the text of a loop does not show: default arguments, initialisers of members and
 * destructors.
 */

static int created;
static int limit;

static int next_number()
{
    return created++;
}

/* ---- default arguments ---- */

static int plus_number(int i, int k = next_number())
{
    return i + k;
}

static int plus_limit(int i, int k = limit)
{
    return i + k;
}

static int plus_four(int i, int k = 4)
{
    return i + k;
}

static int plus_twice(int i)
{
    return 2 * plus_number(i);
}

void default_calls(int n, int *__restrict a)
{
    // loop default_calls: carried order
    for (int i = 0; i < n; i++) a[i] = plus_number(i);
}

void default_calls_below(int n, int *__restrict a)
{
    // loop default_calls_below: carried order
    for (int i = 0; i < n; i++) a[i] = plus_twice(i);
}

void default_reads(int n, int *__restrict a)
{
    // loop default_reads: carried +3 +2
    for (int i = 0; i < n; i++) {
        a[i] = plus_limit(i);
        limit = i;
    }
}

void default_constant(int n, int *__restrict a)
{
    // loop default_constant: safe
    for (int i = 0; i < n; i++) a[i] = plus_four(i);
}

void default_of_operator(int n, int *__restrict a)
{
    struct adder {
        int operator()(int i, int k = next_number()) const { return i + k; }
    };
    adder f;
    // loop default_of_operator: carried order
    for (int i = 0; i < n; i++) a[i] = f(i);
}

/* ---- objects ---- */

struct numbered {
    int number = next_number();
};

struct holder {
    numbered inner;
};

struct counted {
    int v;
    ~counted() { created++; }
};

struct quiet {
    int v = 3;
    ~quiet() {}
};

void member_initialiser(int n, int *__restrict a)
{
    // loop member_initialiser: carried order
    for (int i = 0; i < n; i++) {
        numbered x;
        a[i] = x.number;
    }
}

void member_of_member(int n, int *__restrict a)
{
    // loop member_of_member: carried order
    for (int i = 0; i < n; i++) {
        holder x{};
        a[i] = x.inner.number;
    }
}

void destructor_counts(int n, int *__restrict a)
{
    // loop destructor_counts: carried order
    for (int i = 0; i < n; i++) {
        counted x{i};
        a[i] = x.v;
    }
}

static int through_object(int i)
{
    counted x{i};
    return x.v + 1;
}

void destructor_in_function(int n, int *__restrict a)
{
    // loop destructor_in_function: carried order
    for (int i = 0; i < n; i++) a[i] = through_object(i);
}

void destructor_without_statements(int n, int *__restrict a)
{
    // loop destructor_without_statements: safe
    for (int i = 0; i < n; i++) {
        quiet x;
        a[i] = x.v + i;
    }
}

/* ---- constructors ---- */

struct opened {
    int v;
    opened() : v(created++) {}
};

struct has_opened {
    opened inner;
};

struct is_opened : opened {
    int u;
};

struct zeroed {
    double x, y;
    zeroed() : x(0.0), y(0.0) {}
};

struct has_zeroed {
    zeroed z;
};

static int open_one()
{
    opened x;
    return x.v;
}

void constructor_in_function(int n, int *__restrict a)
{
    // loop constructor_in_function: carried order
    for (int i = 0; i < n; i++) {
        a[i] = open_one();
    }
}

void constructor_of_member(int n, int *__restrict a)
{
    // loop constructor_of_member: carried order
    for (int i = 0; i < n; i++) {
        has_opened x;
        a[i] = x.inner.v;
    }
}

void constructor_of_base(int n, int *__restrict a)
{
    // loop constructor_of_base: carried order
    for (int i = 0; i < n; i++) {
        is_opened x;
        a[i] = x.v;
    }
}

void constructor_of_local_class(int n, int *__restrict a)
{
    int x = 0;
    struct steps {
        int &r;
        explicit steps(int &to) : r(to) { r++; }
    };
    // loop constructor_of_local_class: carried order
    for (int i = 0; i < n; i++) {
        steps s(x);
        a[i] = x;
    }
}

void constructor_of_plain_member(int n, double *__restrict a)
{
    // loop constructor_of_plain_member: safe
    for (int i = 0; i < n; i++) {
        has_zeroed x;
        a[i] = x.z.x + i;
    }
}

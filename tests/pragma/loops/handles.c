/*
 * handles.c: calls that follow pointers within their arguments. Labels: README.md.
 */

struct handle {
    double *values;
    int n;
};

static double value_of(const struct handle *h, int i)
{
    double v = h->values[i];
    return v;
}

void reads_own_handle(double *p, int n)
{
    struct handle h = {p, n};
    // loop reads_own_handle: carried +2 +2 h leads to p ; violates(p)
    for (int i = 1; i < n; i++) {
        p[i] = value_of(&h, i - 1);
    }
}

void reads_handle(const struct handle *h, double *p, int n)
{
    // loop reads_handle: if distinct(value_of, p) distinct(h, p)
    for (int i = 1; i < n; i++) {
        p[i] = value_of(h, i - 1);
    }
}

void reads_same_handle(struct handle *h, int n)
{
    // loop reads_same_handle: carried +2 +2 ; violates(h)
    for (int i = 1; i < n; i++) {
        h->values[i] = value_of(h, i - 1);
    }
}

static double copy_of(struct handle h, int i)
{
    double v = h.values[i];
    return v;
}

void reads_copied_handle(struct handle h, double *p, int n)
{
    // loop reads_copied_handle: if distinct(copy_of, p)
    for (int i = 1; i < n; i++) {
        p[i] = copy_of(h, i - 1);
    }
}

static double local_of(const struct handle *h, int i)
{
    const double *values = h->values;
    double v = values[i];
    return v;
}

void reads_by_local_pointer(double *p, int n)
{
    struct handle h = {p, n};
    // loop reads_by_local_pointer: carried +2 +2 h leads to p ; violates(p)
    for (int i = 1; i < n; i++) {
        p[i] = local_of(&h, i - 1);
    }
}

static void set_value(struct handle *h, double x)
{
    double v = 2 * x;
    h->values[0] = v;
}

void sets_of_handles(struct handle *h, const double *restrict x, int n)
{
    // loop sets_of_handles: carried +2 +2 handles may share their values ; violates(h)
    for (int i = 0; i < n; i++) {
        set_value(&h[i], x[i]);
    }
}

static int number_of(const struct handle *h)
{
    int n = h->n;
    return n;
}

void reads_member(const struct handle *h, double *restrict p, int n)
{
    // loop reads_member: safe
    for (int i = 0; i < n; i++) {
        p[i] = number_of(&h[i]);
    }
}

static double corner(double **rows, int i)
{
    double v = rows[i][0];
    return v;
}

void reads_rows(double **rows, int n)
{
    // loop reads_rows: carried +2 +2 ; violates(rows)
    for (int i = 1; i < n; i++) {
        rows[i][0] = corner(rows, i - 1);
    }
}

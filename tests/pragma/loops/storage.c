/*
 * Fields that share their memory, and variables that each thread has for itself.
 */
#include <stdlib.h>

/* ---- unions ---- */

struct variant {
    union {
        int a;
        float b;
    };
    int kind;
};

struct tagged {
    union {
        int a, b;
    } u;
    int kind;
};

struct vector2 {
    union {
        struct {
            int x, y;
        };
        int at[2];
    };
};

struct apart2 {
    struct {
        int x, y;
    };
    int at[2];
};

void unnamed_union(int n, struct variant *restrict p)
{
    // loop unnamed_union: carried +3 +2
    for (int i = 1; i < n; i++) {
        p[i - 1].a = i;
        p[i].b = 2.0f;
    }
}

void union_without_tag(int n, struct tagged *restrict p)
{
    // loop union_without_tag: carried +3 +2
    for (int i = 1; i < n; i++) {
        p[i - 1].u.a = i;
        p[i].u.b = 2;
    }
}

void struct_in_union(int n, struct vector2 *restrict p)
{
    // loop struct_in_union: carried +3 +2
    for (int i = 1; i < n; i++) {
        p[i - 1].x = i;
        p[i].at[0] = 2;
    }
}

void beside_the_union(int n, struct variant *restrict p)
{
    // loop beside_the_union: safe
    for (int i = 1; i < n; i++) {
        p[i - 1].kind = i;
        p[i].b = 2.0f;
    }
}

void struct_without_name(int n, struct apart2 *restrict p)
{
    // loop struct_without_name: safe
    for (int i = 1; i < n; i++) {
        p[i - 1].x = i;
        p[i].at[0] = 2;
    }
}

/* ---- threadprivate ---- */

static int base, count;
static int shares[64];
#pragma omp threadprivate(base, count)
#pragma omp threadprivate(shares)

void reads_threadprivate(int n, int *restrict a)
{
    base = n;
    // loop reads_threadprivate: unknown other threads have values of their own
    for (int i = 0; i < n; i++) a[i] = base + i;
}

void assigns_threadprivate(int n, int *restrict a)
{
    // loop assigns_threadprivate: unknown no clause takes the variable
    for (int i = 0; i < n; i++) {
        base = i;
        a[i] = base;
    }
}

int sums_threadprivate(int n, const int *restrict a)
{
    // loop sums_threadprivate: unknown no clause takes the variable
    for (int i = 0; i < n; i++) count += a[i];
    return count;
}

void fills_threadprivate(const int *restrict a)
{
    // loop fills_threadprivate: unknown each thread would fill a part of its own array
    for (int i = 0; i < 64; i++) shares[i] = a[i];
}

static int get_base(void)
{
    return base;
}

void calls_threadprivate(int n, int *restrict a)
{
    base = n;
    // loop calls_threadprivate: unknown other threads have values of their own
    for (int i = 0; i < n; i++) a[i] = get_base() + i;
}

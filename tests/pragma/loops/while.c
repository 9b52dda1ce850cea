/*
 * while.c: `while` and `do` that are a `for` in other words, and those that are not.
 * Labels: README.md.
 */
#include <stddef.h>

struct node {
    struct node *next;
    double value;
};

void counts(int n, double *a)
{
    int i = 0;
    // loop counts: safe ; noncanonical, rewrite
    while (i < n) {
        a[i] *= 2.0;
        i++;
    }
}

void counts_and_reads_back(int n, double *a)
{
    int i = 1;
    // loop counts_and_reads_back: carried +2 +2 ; noncanonical
    while (i < n) {
        a[i] += 0.5 * a[i - 1];
        i++;
    }
}

void counts_first(int n, double *a)
{
    int i = -1;
    // loop counts_first: safe ; noncanonical, rewrite
    while (++i < n) {
        a[i] *= 2.0;
    }
}

void counts_down(int n, double *a)
{
    // loop counts_down: safe ; noncanonical, rewrite
    while (n-- > 0) {
        a[n] *= 2.0;
    }
}

void counts_sometimes(int n, double *a)
{
    int i = 0;
    // loop counts_sometimes: carried control an element may be halved several times ; noncanonical
    while (i < n) {
        a[i] *= 0.5;
        if (a[i] < 0.1) i++;
    }
}

void at_least_once(int n, double *a)
{
    int i = 0;
    // loop at_least_once: safe ; noncanonical
    do {
        a[i] *= 2.0;
        i++;
    } while (i < n);
}

double sums(int n, const double *a)
{
    double s = 0.0;
    int i = 0;
    // loop sums: safe reduction(+:s) ; noncanonical, rewrite
    while (i < n) {
        s += a[i];
        i += 1;
    }
    return s;
}

double sums_until(int n, const double *a, double enough)
{
    double s = 0.0;
    int i = 0;
    // loop sums_until: carried control ; noncanonical
    while (i < n && s < enough) {
        s += a[i];
        i++;
    }
    return s;
}

void list(struct node *p)
{
    // loop list: carried control the next node is known only from this one ; noncanonical
    while (p) {
        p->value *= 2.0;
        p = p->next;
    }
}

double list_as_for(const struct node *first)
{
    double s = 0.0;
    // loop list_as_for: carried control ; noncanonical
    for (const struct node *p = first; p != NULL; p = p->next) {
        s += p->value;
    }
    return s;
}

void text(char *s)
{
    // loop text: carried control where it ends is known only by reading on ; noncanonical
    while (*s) {
        if (*s == '\t') *s = ' ';
        s++;
    }
}

int length(const char *s)
{
    int n = 0;
    // loop length: carried control ; noncanonical
    while (s[n]) {
        n++;
    }
    return n;
}

int divisor(int a, int b)
{
    // loop divisor: carried control ; noncanonical
    while (b > 0) {
        int t = a % b;
        a = b;
        b = t;
    }
    return a;
}

double root(double x)
{
    double y = x;
    // loop root: carried control ; noncanonical
    while (y * y - x > 1e-9 * x) {
        y = 0.5 * (y + x / y);
    }
    return y;
}

int search(int n, const int *a, int key)
{
    int lo = 0, hi = n;
    // loop search: carried control ; noncanonical
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (a[mid] < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

void pointers(double *p, const double *end)
{
    // loop pointers: safe ; noncanonical, rewrite
    while (p < end) {
        *p *= 2.0;
        p++;
    }
}

void copies(char *restrict to, const char *restrict from)
{
    // loop copies: carried control ; noncanonical
    while ((*to++ = *from++)) {
    }
}

int merge(int n, int m, int *restrict out, const int *restrict a, const int *restrict b)
{
    int i = 0, j = 0, k = 0;
    // loop merge: carried control which side goes on depends on what was taken ; noncanonical
    while (i < n && j < m) {
        out[k++] = a[i] <= b[j] ? a[i++] : b[j++];
    }
    return k;
}

void outer_while(int n, int m, double *a)
{
    int i = 0;
    // loop outer_while.i: safe ; noncanonical, rewrite
    while (i < n) {
        // loop outer_while.j: safe
        for (int j = 0; j < m; j++) {
            a[i * m + j] = i - j;
        }
        i++;
    }
}

void relaxed(int n, double *restrict v, double *restrict u, double tolerance)
{
    double change = 2.0 * tolerance;
    // loop relaxed.t: carried control ; noncanonical
    while (change > tolerance) {
        change = 0.0;
        // loop relaxed.i: safe reduction(+:change)
        for (int i = 1; i < n - 1; i++) {
            v[i] = 0.25 * (u[i - 1] + 2.0 * u[i] + u[i + 1]);
            change += (v[i] - u[i]) * (v[i] - u[i]);
        }
        // loop relaxed.copy: safe
        for (int i = 1; i < n - 1; i++) {
            u[i] = v[i];
        }
    }
}

/*
 * Array accesses, and whether the innermost loop reads contiguous memory: its variable is in the
 * last index in C, in the first one in Fortran, and is not multiplied.
 */
#include "infer/perf/scan.h"

typedef struct use { /* of a variable in one index */
    bool there, multiplied, indirect;
} use;

/* Tokens [lo, hi); terms are what stands between sums. */
static use use_of(const perf_scan *x, int64_t lo, int64_t hi, uint32_t variable)
{
    use u = {0};
    bool in_term = false, product = false;
    int64_t inner = lo; /* before it: inside another index */
    for (int64_t i = lo; i <= hi; i++) {
        bool ends = i == hi || PERF_IS(x, i, "+") || PERF_IS(x, i, "-");
        if (ends) {
            u.multiplied |= in_term && product;
            in_term = product = false;
            continue;
        }
        const hpc_token *t = perf_token(x, i);
        bool index = t->kind == HPC_TOKEN_NAME && i + 1 < hi && x->mate[i + 1] > i + 1 &&
                     (PERF_IS(x, i + 1, "[") || (x->fortran && PERF_IS(x, i + 1, "(")));
        if (index && x->mate[i + 1] > inner) inner = x->mate[i + 1];
        if (PERF_IS(x, i, "*") || PERF_IS(x, i, "/") || PERF_IS(x, i, "<<") || PERF_IS(x, i, "%"))
            product = true;
        if (PERF_IS(x, i, "(") && x->mate[i] > i && x->mate[i] < hi && i >= inner) {
            use part = use_of(x, i + 1, x->mate[i] < hi ? x->mate[i] : hi, variable);
            u.there |= part.there;
            u.indirect |= part.indirect;
            u.multiplied |= part.multiplied;
            in_term |= part.there;
            i = x->mate[i];
            continue;
        }
        if (t->kind != HPC_TOKEN_NAME || t->hash != variable) continue;
        u.there = true;
        u.indirect |= i < inner;
        in_term |= i >= inner;
    }
    return u;
}

static uint32_t innermost(const perf_scan *x)
{
    for (int32_t k = x->open_n - 1; k >= 0; k--)
        if (x->region[x->open[k]].variable) return x->region[x->open[k]].variable;
    return 0;
}

static bool is_thread(const perf_scan *x, int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi && i < lo + 8; i++)
        if (PERF_IS(x, i, "tid") || PERF_IS(x, i, "thread_id") || PERF_IS(x, i, "threadId") ||
            PERF_IS(x, i, "omp_get_thread_num") || PERF_IS(x, i, "thread_num") ||
            PERF_IS(x, i, "ithread") || PERF_IS(x, i, "my_thread"))
            return true;
    return false;
}

/* What follows an access: 0: it is read, 1: written, 2: both. */
static int written(const perf_scan *x, int64_t i)
{
    while ((PERF_IS(x, i, ".") || PERF_IS(x, i, "->") || PERF_IS(x, i, "%")) && i + 1 < x->n &&
           perf_token(x, i + 1)->kind == HPC_TOKEN_NAME && !(PERF_IS(x, i, "%") && !x->fortran))
        i += 2;
    if (i >= x->n) return 0;
    const hpc_token *t = perf_token(x, i);
    const char *p = x->s->text.data + t->at;
    if (t->kind != HPC_TOKEN_PUNCT) return 0;
    if (t->n == 1) return p[0] == '=';
    if (t->n == 2 && (p[0] == p[1]) && (p[0] == '+' || p[0] == '-')) return 2;
    bool compares = p[0] == '=' || p[0] == '!' || p[0] == '<' || p[0] == '>';
    return t->n == 2 && p[1] == '=' && !compares ? 2 : 0;
}

enum { SEEN = 96 }; /* tokens of an index that are looked at: work and nesting stay bounded */
typedef struct access {
    bool near, far, indirect, thread;
} access;

static void see_index(access *a, const perf_scan *x, int64_t lo, int64_t hi, uint32_t variable,
                      bool fastest)
{
    if (hi > lo + SEEN) hi = lo + SEEN;
    use u = variable ? use_of(x, lo, hi, variable) : (use){0};
    a->indirect |= u.indirect;
    if (u.there && !u.indirect) {
        a->near |= fastest && !u.multiplied;
        a->far |= !fastest || u.multiplied;
    }
    a->thread |= is_thread(x, lo, hi);
}

static int add(perf_scan *x, const access *a, int64_t behind, int64_t i)
{
    int how = written(x, behind), rc = HPC_OK;
    if (how != 1) TRY(perf_event_add(x, HPC_PERF_LOAD, i));
    if (how != 0) TRY(perf_event_add(x, HPC_PERF_STORE, i));
    if (a->far && !a->near) TRY(perf_event_add(x, HPC_PERF_STRIDED, i));
    if (a->indirect) TRY(perf_event_add(x, HPC_PERF_GATHER, i));
    if (a->thread && how != 0) TRY(perf_event_add(x, HPC_PERF_THREAD_INDEX, i));
out:
    return rc;
}

/* a(i, j, k): the first index is the fastest. */
static void see_fortran(access *a, const perf_scan *x, int64_t open, uint32_t variable)
{
    int64_t lo = open + 1, close = x->mate[open];
    bool first = true;
    for (int64_t k = lo; k <= close; k++) {
        if (k < close && x->mate[k] > k && x->mate[k] < close) {
            k = x->mate[k];
            continue;
        }
        if (k < close && !PERF_IS(x, k, ",")) continue;
        see_index(a, x, lo, k, variable, first);
        first = false;
        lo = k + 1;
    }
}

int perf_scan_index(perf_scan *x, int64_t *behind, int64_t i)
{
    uint32_t variable = innermost(x);
    access a = {0};
    int64_t k = i + 1;
    if (x->fortran) {
        see_fortran(&a, x, k, variable);
        k = x->mate[k] + 1;
    } else {
        while (PERF_IS(x, k, "[") && x->mate[k] > k) {
            int64_t next = x->mate[k] + 1;
            see_index(&a, x, k + 1, next - 1, variable, !PERF_IS(x, next, "["));
            k = next;
        }
    }
    *behind = k;
    return add(x, &a, k, i);
}

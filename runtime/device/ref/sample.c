/*
 * sample.c: a token from each row of logits, by its definition: weights are exp in double, and the
 * next token in order is found by looking at all of them.
 */
#include "runtime/device/kernel/sample.h"
#include "runtime/device/ref/priv.h"

typedef struct row {
    const hpc_sample_args *a;
    const hpc_sample_how *how;
    int64_t first, n; /* element of the first logit; tokens */
    double top;
} row;

static double logit_of(const row *r, int64_t t)
{
    return hpc_ref_get(&r->a->logits, r->first + t);
}

static double weight_of(const row *r, int64_t t)
{
    return exp((logit_of(r, t) - r->top) * r->how->inverse);
}

/* The next token after `last` in order (-1: the first), or -1. */
static int64_t next_of(const row *r, int64_t last)
{
    double bound = last < 0 ? INFINITY : logit_of(r, last);
    int64_t best = -1;
    for (int64_t t = 0; t < r->n; t++) {
        double x = logit_of(r, t);
        bool after = x < bound || (x == bound && t > last);
        if (after && x > -INFINITY && (best < 0 || x > logit_of(r, best))) best = t;
    }
    return best;
}

/* The next token that may be drawn: in order, or by number. */
static int64_t next_drawn(const row *r, int64_t last)
{
    if (!hpc_sample_is_unordered(r->how)) return next_of(r, last);
    for (int64_t t = last + 1; t < r->n; t++)
        if (weight_of(r, t) >= exp(r->how->least) && logit_of(r, t) > -INFINITY) return t;
    return -1;
}

/* Weights of the first `most` tokens. */
static double sum_of(const row *r, int64_t most)
{
    double sum = 0;
    for (int64_t k = 0, t = next_drawn(r, -1); k < most && t >= 0; k++, t = next_drawn(r, t))
        sum += weight_of(r, t);
    return sum;
}

static int64_t count_kept(const row *r)
{
    int64_t most = r->how->top_k > 0 ? r->how->top_k : r->n, k = 0;
    if (hpc_sample_is_unordered(r->how)) return r->n;
    double sum = sum_of(r, most), reached = 0;
    for (int64_t t = next_of(r, -1); k < most && t >= 0; k++, t = next_of(r, t)) {
        bool enough = r->how->top_p < 1 && reached >= r->how->top_p * sum;
        if (k > 0 && (enough || weight_of(r, t) < exp(r->how->least))) break;
        reached += weight_of(r, t);
    }
    return k;
}

static int64_t draw(const row *r)
{
    int64_t kept = count_kept(r), drawn = -1;
    double limit = r->how->uniform * sum_of(r, kept), passed = 0;
    for (int64_t k = 0, t = next_drawn(r, -1); k < kept && t >= 0; k++, t = next_drawn(r, t)) {
        passed += weight_of(r, t);
        drawn = t;
        if (limit < passed) break;
    }
    return drawn;
}

static bool is_sound(const row *r)
{
    for (int64_t t = 0; t < r->n; t++)
        if (!(logit_of(r, t) < INFINITY)) return false;
    return true;
}

static void sample_row(const hpc_sample_args *a, int64_t at)
{
    row r = {.a = a,
             .how = (const hpc_sample_how *)a->how.data + at,
             .n = extent_from_end(&a->logits, 1)};
    double sum = 0;
    r.first = at * r.n;
    int64_t best = is_sound(&r) ? next_of(&r, -1) : -1;
    hpc_ref_set(&a->token, at, -1);
    hpc_ref_set(&a->logprob, at, 0);
    if (best < 0) return;
    r.top = logit_of(&r, best);
    int64_t t = hpc_sample_is_greedy(r.how) ? best : draw(&r);
    for (int64_t k = 0; k < r.n; k++) sum += exp(logit_of(&r, k) - r.top);
    hpc_ref_set(&a->token, at, (double)t);
    hpc_ref_set(&a->logprob, at, logit_of(&r, t) - r.top - log(sum));
}

static int sample_run(const hpc_launch *l, const void *args)
{
    const hpc_sample_args *a = args;
    int64_t lo, hi;
    share_rows(&lo, &hi, &a->logits, l);
    for (int64_t r = lo; r < hi; r++)
        if (hpc_ref_live_cols(&a->logits, r) > 0) sample_row(a, r);
    return 0;
}

int hpc_ref_sample(hpc_plan *p, int workers, const hpc_sample_args *a)
{
    (void)workers, (void)a;
    return ref_plan(p, sample_run, "ref_sample");
}

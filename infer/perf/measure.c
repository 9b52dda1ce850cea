/*
 * Measurement of commits that a prediction leaves open, and bisection of changes.
 *
 * It decides which commits are measured. corpus/history/history.h measures them and compare.h
 * judges pairs of them.
 */
#include "infer/perf/measure.h"

#include <math.h>
#include <string.h>

#include "corpus/history/compare.h"

typedef struct search {
    hpc_perf_measured *m;
    const hpc_perf_prediction *p;
    hpc_history_options h;
    char base[41], head[41];
} search;

void hpc_perf_measured_release(hpc_perf_measured *m)
{
    hpc_free(m->point);
    hpc_free(m->state);
    hpc_free(m->item);
    *m = (hpc_perf_measured){0};
}

const hpc_perf_change_prediction *hpc_perf_measured_commit(const hpc_perf_measured *m,
                                                           const hpc_perf_prediction *p, int64_t k)
{
    return k >= m->first ? &p->commit[k - m->first] : NULL;
}

/* ---- points ---------------------------------------------------------------------------------- */

static int find_points(search *s)
{
    const hpc_git_id none = {0};
    hpc_perf_measured *m = s->m;
    int rc = HPC_OK;
    m->first = memcmp(&s->p->commit[0].base, &none, sizeof none) != 0;
    m->points_n = s->p->n + m->first;
    m->point = hpc_alloc((size_t)m->points_n, sizeof *m->point);
    m->state = hpc_alloc((size_t)m->points_n, sizeof *m->state);
    TRY(m->point && m->state ? HPC_OK : HPC_E_NOMEM);
    if (m->first) m->point[0] = s->p->commit[0].base;
    for (int64_t k = 0; k < s->p->n; k++) m->point[k + m->first] = s->p->commit[k].head;
    hpc_git_id_text(s->base, &m->point[0]);
    hpc_git_id_text(s->head, &m->point[m->points_n - 1]);
    s->h.base = m->first ? s->base : NULL;
    s->h.head = s->head;
out:
    return rc;
}

/* True if the change that leads to point k is predicted to be the same. */
static bool is_same(const search *s, int64_t k)
{
    return hpc_perf_measured_commit(s->m, s->p, k)->result.verdict == HPC_PERF_SAME;
}

/* An end of the range, or of a stretch that is predicted to be the same. */
static bool is_end(const search *s, int64_t k)
{
    return k == 0 || k == s->m->points_n - 1 || !is_same(s, k) || !is_same(s, k + 1);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Measures the wanted points, none of which has samples; points that get none have failed. */
static int measure(search *s, const bool *wanted)
{
    hpc_perf_measured *m = s->m;
    hpc_history_result r;
    hpc_git_id *only = hpc_alloc((size_t)m->points_n, sizeof *only);
    bool *has = hpc_alloc((size_t)m->points_n, sizeof *has);
    int rc = HPC_E_NOMEM;
    if (!only || !has) goto out;
    s->h.only = only;
    s->h.only_n = 0;
    for (int64_t k = 0; k < m->points_n; k++)
        if (wanted[k]) only[s->h.only_n++] = m->point[k];
    TRY(hpc_history_collect(&r, &s->h));
    m->now += r.measured;
    m->seconds += r.build_s + r.run_s;
    m->stopped = m->stopped || r.stopped;
    TRY(hpc_history_has(has, m->point, m->points_n, &s->h));
    for (int64_t k = 0; k < m->points_n; k++)
        if (wanted[k])
            m->state[k] = has[k]      ? HPC_PERF_POINT_MEASURED
                          : r.stopped ? HPC_PERF_POINT_LEFT
                                      : HPC_PERF_POINT_FAILED;
out:
    hpc_free(only);
    hpc_free(has);
    return rc;
}

static int measure_ends(search *s)
{
    bool *wanted = hpc_alloc((size_t)s->m->points_n, sizeof *wanted);
    int rc = HPC_E_NOMEM;
    if (!wanted) goto out;
    for (int64_t k = 0; k < s->m->points_n; k++) wanted[k] = is_end(s, k);
    TRY(measure(s, wanted));
out:
    hpc_free(wanted);
    return rc;
}

/* Measures point k together with its measured neighbours, so that noise affects all three. */
static int measure_between(search *s, int64_t from, int64_t k, int64_t to)
{
    bool *wanted = hpc_alloc((size_t)s->m->points_n, sizeof *wanted);
    int rc = HPC_E_NOMEM;
    if (!wanted) goto out;
    wanted[from] = wanted[k] = wanted[to] = true;
    TRY(measure(s, wanted));
out:
    hpc_free(wanted);
    return rc;
}

/* ---- bisection ------------------------------------------------------------------------------- */

static bool is_change(const hpc_history_comparison *x)
{
    return x->label == HPC_HISTORY_SLOWER || x->label == HPC_HISTORY_FASTER;
}

static int add(search *s, int64_t from, int64_t to, const hpc_history_comparison *x, bool bisected)
{
    hpc_perf_measured *m = s->m;
    int rc = hpc_grow(&m->item, &m->cap, m->n + 1, sizeof *m->item);
    if (rc < 0) return rc;
    m->item[m->n++] = (hpc_perf_culprit){.from = from,
                                         .to = to,
                                         .label = x->label,
                                         .change = x->change,
                                         .metric = x->metric,
                                         .bisected = bisected};
    return HPC_OK;
}

/* The point nearest to the middle that has not failed; -1: none. */
static int64_t middle_of(const search *s, int64_t from, int64_t to)
{
    int64_t middle = from + (to - from) / 2;
    for (int64_t d = 0; d < to - from; d++)
        for (int side = -1; side <= 1; side += 2) {
            int64_t k = middle + side * d;
            if (k > from && k < to && s->m->state[k] != HPC_PERF_POINT_FAILED) return k;
        }
    return -1;
}

/* found: the change between the two points, which are measured. */
static int bisect(search *s, int64_t from, int64_t to, const hpc_history_comparison *found)
{
    hpc_perf_measured *m = s->m;
    hpc_history_comparison x = *found;
    int rc = HPC_OK;
    for (;;) {
        int64_t k = middle_of(s, from, to);
        if (k < 0 || m->stopped) return add(s, from, to, &x, true);
        if (m->state[k] == HPC_PERF_POINT_LEFT) TRY(measure_between(s, from, k, to));
        if (m->state[k] != HPC_PERF_POINT_MEASURED) continue;
        hpc_history_comparison half[2] = {{.base = m->point[from], .head = m->point[k]},
                                          {.base = m->point[k], .head = m->point[to]}};
        TRY(hpc_history_compare(half, 2, &s->h));
        if (!is_change(&half[0]) && !is_change(&half[1])) return add(s, from, to, &x, true);
        if (is_change(&half[0])) TRY(bisect(s, from, k, &half[0]));
        if (!is_change(&half[1])) return HPC_OK;
        from = k;
        x = half[1];
    }
out:
    return rc;
}

/* Compares each measured point with the next one. */
static int compare_ends(search *s)
{
    hpc_perf_measured *m = s->m;
    hpc_history_comparison *pair = hpc_alloc((size_t)m->points_n, sizeof *pair);
    int64_t *from = hpc_alloc((size_t)m->points_n, sizeof *from);
    int64_t *to = hpc_alloc((size_t)m->points_n, sizeof *to), n = 0, last = -1;
    int rc = HPC_E_NOMEM;
    if (!pair || !from || !to) goto out;
    for (int64_t k = 0; k < m->points_n; k++) {
        if (m->state[k] != HPC_PERF_POINT_MEASURED) continue;
        if (last >= 0) {
            pair[n] = (hpc_history_comparison){.base = m->point[last], .head = m->point[k]};
            from[n] = last;
            to[n++] = k;
        }
        last = k;
    }
    TRY(hpc_history_compare(pair, n, &s->h));
    for (int64_t k = 0; k < n; k++) {
        m->undecided += pair[k].label == HPC_HISTORY_UNDECIDED;
        if (!is_change(&pair[k])) continue;
        if (to[k] == from[k] + 1)
            TRY(add(s, from[k], to[k], &pair[k], false));
        else
            TRY(bisect(s, from[k], to[k], &pair[k]));
    }
out:
    hpc_free(pair);
    hpc_free(from);
    hpc_free(to);
    return rc;
}

int hpc_perf_measure(hpc_perf_measured *out, const hpc_perf_prediction *p,
                     const hpc_history_options *h)
{
    search s = {.m = out, .p = p, .h = *h};
    int rc = HPC_OK;
    if (p->n == 0) return rc;
    TRY(find_points(&s));
    TRY(measure_ends(&s));
    if (!out->stopped) TRY(compare_ends(&s));
    for (int64_t k = 0; k < out->points_n; k++) {
        out->left += out->state[k] == HPC_PERF_POINT_LEFT;
        out->failed += out->state[k] == HPC_PERF_POINT_FAILED;
        out->measured += out->state[k] == HPC_PERF_POINT_MEASURED;
    }
out:
    return rc;
}

/* ---- results -------------------------------------------------------------------------------- */

bool hpc_perf_measured_slower(const hpc_perf_measured *m, const hpc_perf_prediction *p)
{
    for (int64_t k = 0; k < m->n; k++) {
        const hpc_perf_culprit *c = &m->item[k];
        if (c->label != HPC_HISTORY_SLOWER) continue;
        for (int64_t i = c->from + 1; i <= c->to; i++)
            if (!hpc_perf_measured_commit(m, p, i)->result.acknowledged) return true;
    }
    return false;
}

double hpc_perf_seconds_saved(const hpc_perf_measured *m)
{
    return m->now > 0 ? m->seconds / (double)m->now * (double)m->left : NAN;
}

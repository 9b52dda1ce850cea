/*
 * perf_pairs.c: which commits made a program slower or faster than their parents, by medians and
 * their noise.
 *
 * It knows nothing of what the commits changed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/perf.h"

const char *perf_label_name(perf_label l)
{
    static const char *const name[] = {"slower", "same", "faster", "undecided"};
    return name[l];
}

/* ---- one series --------------------------------------------------------------------- */

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int64_t n)
{
    qsort(v, (size_t)n, sizeof *v, compare_values);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The median of distances from m, without room for them: v is sorted, so the distances fall to m
 * from both ends, and the k largest are taken off from whichever end is farther. */
static double deviation(const double *v, int64_t n, double m)
{
    int64_t lo = 0, hi = n - 1;
    double last = 0, before = 0;
    for (int64_t k = 0; k < n / 2 + 1; k++) {
        before = last;
        last = m - v[lo] > v[hi] - m ? m - v[lo++] : v[hi--] - m;
    }
    return n % 2 ? last : (last + before) / 2;
}

/* Variance of the median of n samples: 1.4826 makes a deviation a standard deviation, and
 * pi / 2 / n is what a median of normal samples has of their variance. */
static double median_variance(double mad, int64_t n)
{
    double s = 1.4826 * mad;
    return s * s * 1.5707963267948966 / (double)n;
}

perf_label perf_judge(double *change, double *base, int64_t base_n, double *head, int64_t head_n)
{
    *change = 0;
    if (base_n < PERF_RUNS || head_n < PERF_RUNS) return PERF_UNDECIDED;
    double a = median(base, base_n), b = median(head, head_n);
    double noise = sqrt(median_variance(deviation(base, base_n, a), base_n) +
                        median_variance(deviation(head, head_n, b), head_n)) /
                   a;
    *change = (b - a) / a;
    double size = fabs(*change);
    if (size > PERF_THRESHOLD && size > PERF_SIGMAS * noise)
        return *change > 0 ? PERF_SLOWER : PERF_FASTER;
    return size + 2 * noise <= PERF_THRESHOLD ? PERF_SAME : PERF_UNDECIDED;
}

/* ---- all series of a pair --------------------------------------------------------------- */

typedef struct commit {
    char id[PERF_ID], parent[PERF_ID]; /* "" for none */
    int64_t time;
    int64_t first, n; /* its samples in the series at hand */
    int64_t decided[PERF_UNDECIDED];
    int64_t seen; /* series that it and its parent have */
    double change[PERF_UNDECIDED];
} commit;
typedef struct history {
    commit *item; /* by id */
    int64_t n, cap;
    double *value; /* of the series at hand */
    int64_t values_n, values_cap;
    int64_t *touched; /* commits that have some of them */
    int64_t touched_n, touched_cap;
} history;

static commit *find(const history *h, const char *id)
{
    int64_t lo = 0, hi = h->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (strcmp(h->item[mid].id, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < h->n && strcmp(h->item[lo].id, id) == 0 ? &h->item[lo] : NULL;
}

static void judge_series(history *h)
{
    for (int64_t k = 0; k < h->touched_n; k++) {
        commit *c = &h->item[h->touched[k]];
        const commit *parent = c->parent[0] ? find(h, c->parent) : NULL;
        double change;
        if (!parent || parent == c || parent->n == 0) continue;
        perf_label l =
            perf_judge(&change, h->value + parent->first, parent->n, h->value + c->first, c->n);
        c->seen++;
        if (l == PERF_UNDECIDED) continue;
        if (c->decided[l]++ == 0 || fabs(change) > fabs(c->change[l])) c->change[l] = change;
    }
    for (int64_t k = 0; k < h->touched_n; k++) h->item[h->touched[k]].n = 0;
    h->touched_n = h->values_n = 0;
}

static int load_commits(history *h, perf_db *d)
{
    const char *id, *parent;
    int64_t time;
    int rc = HPC_OK;
    for (;;) {
        TRY(perf_next_commit(&id, &parent, &time, d));
        if (rc == 0) break;
        TRY(hpc_grow(&h->item, &h->cap, h->n + 1, sizeof *h->item));
        commit *c = &h->item[h->n++];
        *c = (commit){.time = time};
        memcpy(c->id, id, PERF_ID);
        if (parent) memcpy(c->parent, parent, PERF_ID);
    }
out:
    return rc;
}

static int add_sample(history *h, const char *id, double value)
{
    commit *c = find(h, id);
    int rc = HPC_OK;
    if (!c) return HPC_OK; /* of a commit that nobody told of: it has no parent either */
    if (c->n >= PERF_RUNS_MOST) return HPC_OK;
    if (c->n == 0) {
        TRY(hpc_grow(&h->touched, &h->touched_cap, h->touched_n + 1, sizeof *h->touched));
        h->touched[h->touched_n++] = c - h->item;
        c->first = h->values_n;
    }
    TRY(hpc_grow(&h->value, &h->values_cap, h->values_n + 1, sizeof *h->value));
    h->value[h->values_n++] = value;
    c->n++;
out:
    return rc;
}

static int load_samples(history *h, perf_db *d)
{
    int64_t series = 0, last = 0;
    const char *id;
    double value;
    int rc = HPC_OK;
    for (bool first = true;; first = false) {
        TRY(perf_next_sample(&series, &id, &value, d));
        if (!first && (rc == 0 || series != last)) judge_series(h);
        if (rc == 0) break;
        last = series;
        TRY(add_sample(h, id, value));
    }
out:
    return rc;
}

static perf_label label_of(const commit *c)
{
    const int64_t *n = c->decided;
    if (n[PERF_SLOWER] && !n[PERF_FASTER]) return PERF_SLOWER;
    if (n[PERF_FASTER] && !n[PERF_SLOWER]) return PERF_FASTER;
    return n[PERF_SAME] && !n[PERF_SLOWER] ? PERF_SAME : PERF_UNDECIDED;
}

static int compare_pairs(const void *a, const void *b)
{
    const perf_pair *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return strcmp(x->head, y->head);
}

static int collect(perf_pairs *out, const history *h)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < h->n; k++) {
        const commit *c = &h->item[k];
        perf_label l = label_of(c);
        if (c->seen == 0) continue;
        out->undecided_n += l == PERF_UNDECIDED;
        if (l == PERF_UNDECIDED) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        perf_pair *p = &out->item[out->n++];
        *p = (perf_pair){.time = c->time, .label = l, .change = c->change[l]};
        memcpy(p->base, c->parent, PERF_ID);
        memcpy(p->head, c->id, PERF_ID);
    }
    if (out->n > 1) qsort(out->item, (size_t)out->n, sizeof *out->item, compare_pairs);
out:
    return rc;
}

int perf_pairs_load(perf_pairs *out, perf_db *d)
{
    history h = {0};
    int rc = HPC_OK;
    *out = (perf_pairs){0};
    TRY(load_commits(&h, d));
    TRY(load_samples(&h, d));
    TRY(collect(out, &h));
out:
    hpc_free(h.item);
    hpc_free(h.value);
    hpc_free(h.touched);
    if (rc < 0) perf_pairs_release(out);
    return rc;
}

void perf_pairs_release(perf_pairs *p)
{
    hpc_free(p->item);
    *p = (perf_pairs){0};
}

hpc_split perf_split(int64_t k, int64_t n)
{
    int64_t train = n - n / 10, validation = n - n / 20;
    return k < train ? HPC_SPLIT_TRAIN : k < validation ? HPC_SPLIT_VALIDATION : HPC_SPLIT_TEST;
}

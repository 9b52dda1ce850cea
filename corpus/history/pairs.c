/*
 * Commits that made a program slower or faster than their predecessors, over all series.
 *
 * It does not know what the commits changed; label.c decides what counts as a change.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/line.h"

typedef struct commit { /* of the same place in the line */
    int64_t base;       /* of its pair */
    int64_t first, n;   /* its samples in the current series */
    int64_t decided[HPC_HISTORY_UNDECIDED];
    int64_t seen; /* series that it and its base have */
    double change[HPC_HISTORY_UNDECIDED];
} commit;
typedef struct history {
    perf_line line;
    commit *item;
    bool *measured;  /* in the current series */
    int64_t *base;   /* by commit, in the current series */
    int64_t *source; /* by commit: the commit with its samples */
    double *value;   /* of the series */
    int64_t values_n, values_cap;
    perf_samples *side[2]; /* of its pairs: base, head; before that, [0] of all its commits */
    perf_effect *effect;
    int64_t *paired; /* the commit of each */
    const hpc_history_pairs_rule *rule;
    double threshold; /* of the series */
    hpc_buf metric;
    int64_t series_n;
} history;

static perf_samples samples_of(const history *h, const commit *c)
{
    return (perf_samples){h->value + c->first, c->n};
}

static int measure_noise(perf_noise *out, history *h)
{
    int64_t n = 0;
    for (int64_t k = 0; k < h->line.n; k++)
        if (h->item[k].n > 0) h->side[0][n++] = samples_of(h, &h->item[k]);
    return perf_noise_measure(out, h->side[0], n);
}

static void decide(commit *c, hpc_history_label l, double change)
{
    if (c->decided[l]++ == 0 || fabs(change) > fabs(c->change[l])) c->change[l] = change;
}

/* All series of a commit speak of the same pair: of the first one's. Those that are the same bytes
 * are decided, and those that were measured are left to be: as many are returned. */
static int64_t find_pairs(history *h)
{
    int64_t n = 0;
    for (int64_t k = 0; k < h->line.n; k++) h->measured[k] = h->item[k].n > 0;
    perf_line_bases(h->base, h->source, &h->line, h->measured);
    for (int64_t k = 0; k < h->line.n; k++) {
        commit *c = &h->item[k];
        int64_t base = h->base[k];
        if (base < 0 || (c->seen > 0 && c->base != base)) continue;
        bool same = perf_line_same(&h->line, base, k);
        if (!same && c->n == 0) continue;
        c->base = base;
        c->seen++;
        if (same) {
            decide(c, HPC_HISTORY_SAME, 0);
            continue;
        }
        h->side[0][n] = samples_of(h, &h->item[h->source[base]]);
        h->side[1][n] = samples_of(h, c);
        h->paired[n++] = k;
    }
    return n;
}

static int judge_series(history *h)
{
    perf_rule rule = PERF_RULE_DEFAULTS;
    perf_noise noise;
    int rc = HPC_OK;
    rule.threshold = h->threshold;
    h->series_n++;
    TRY(measure_noise(&noise, h));
    int64_t n = find_pairs(h);
    TRY(perf_effects(h->effect, h->side[0], h->side[1], n, &noise, &rule));
    for (int64_t k = 0; k < n; k++)
        if (h->effect[k].label != HPC_HISTORY_UNDECIDED)
            decide(&h->item[h->paired[k]], h->effect[k].label, h->effect[k].change);
    for (int64_t k = 0; k < h->line.n; k++) h->item[k].n = 0;
    h->values_n = 0;
out:
    return rc;
}

static int load_commits(history *h, hpc_history_db *d)
{
    int rc = HPC_OK;
    TRY(perf_line_load(&h->line, d));
    size_t n = (size_t)h->line.n + 1;
    h->item = hpc_alloc(n, sizeof *h->item);
    h->measured = hpc_alloc(n, sizeof *h->measured);
    h->base = hpc_alloc(n, sizeof *h->base);
    h->source = hpc_alloc(n, sizeof *h->source);
    for (int side = 0; side < 2; side++) h->side[side] = hpc_alloc(n, sizeof *h->side[side]);
    h->effect = hpc_alloc(n, sizeof *h->effect);
    h->paired = hpc_alloc(n, sizeof *h->paired);
    bool memory = h->item && h->measured && h->base && h->source && h->side[0] && h->side[1];
    TRY(memory && h->effect && h->paired ? HPC_OK : HPC_E_NOMEM);
out:
    return rc;
}

static int add_sample(history *h, const char *id, double value)
{
    int64_t at = perf_line_find(&h->line, id);
    int rc = HPC_OK;
    if (at < 0) return HPC_OK; /* not recorded, without a parent */
    commit *c = &h->item[at];
    if (c->n >= PERF_RUNS_MOST) return HPC_OK;
    if (c->n == 0) c->first = h->values_n;
    TRY(hpc_grow(&h->value, &h->values_cap, h->values_n + 1, sizeof *h->value));
    h->value[h->values_n++] = value;
    c->n++;
out:
    return rc;
}

/* Sets *wanted if the rule includes the series, and resets the samples. */
static int begin_series(bool *wanted, history *h, hpc_history_db *d, int64_t series)
{
    const hpc_history_pairs_rule *r = h->rule;
    int rc = HPC_OK;
    TRY(hpc_history_db_metric(&h->metric, d, series));
    *wanted = !r || r->metrics == 0;
    for (int64_t k = 0; r && k < r->metrics; k++)
        *wanted = *wanted || strcmp(r->metric[k], h->metric.data) == 0;
    h->threshold = r && r->threshold > 0 ? r->threshold : perf_metric_threshold(h->metric.data);
out:
    return rc;
}

static int load_samples(history *h, hpc_history_db *d)
{
    int64_t series = 0, last = 0;
    const char *id;
    double value;
    bool wanted = false;
    int rc = HPC_OK;
    for (bool first = true, more = true;; first = false) {
        TRY(perf_next_sample(&series, &id, &value, d));
        more = rc == 1;
        bool another = first || !more || series != last;
        if (another && wanted) TRY(judge_series(h));
        if (!more) break;
        if (another) TRY(begin_series(&wanted, h, d, series));
        last = series;
        if (wanted) TRY(add_sample(h, id, value));
    }
out:
    return rc;
}

static hpc_history_label label_of(const commit *c)
{
    const int64_t *n = c->decided;
    if (n[HPC_HISTORY_SLOWER] && !n[HPC_HISTORY_FASTER]) return HPC_HISTORY_SLOWER;
    if (n[HPC_HISTORY_FASTER] && !n[HPC_HISTORY_SLOWER]) return HPC_HISTORY_FASTER;
    return n[HPC_HISTORY_SAME] && !n[HPC_HISTORY_SLOWER] ? HPC_HISTORY_SAME : HPC_HISTORY_UNDECIDED;
}

static int compare_pairs(const void *a, const void *b)
{
    const hpc_history_pair *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return strcmp(x->head, y->head);
}

static int collect(hpc_history_pairs *out, const history *h)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < h->line.n; k++) {
        const commit *c = &h->item[k];
        hpc_history_label l = label_of(c);
        if (c->seen == 0) continue;
        out->undecided_n += l == HPC_HISTORY_UNDECIDED;
        if (l == HPC_HISTORY_UNDECIDED) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        hpc_history_pair *p = &out->item[out->n++];
        *p = (hpc_history_pair){.time = h->line.item[k].time, .label = l, .change = c->change[l]};
        memcpy(p->base, h->line.item[c->base].id, HPC_HISTORY_ID);
        memcpy(p->head, h->line.item[k].id, HPC_HISTORY_ID);
    }
    if (out->n > 1) qsort(out->item, (size_t)out->n, sizeof *out->item, compare_pairs);
out:
    return rc;
}

int hpc_history_pairs_load(hpc_history_pairs *out, hpc_history_db *d,
                           const hpc_history_pairs_rule *rule)
{
    history h = {.rule = rule};
    int rc = HPC_OK;
    *out = (hpc_history_pairs){0};
    TRY(load_commits(&h, d));
    TRY(load_samples(&h, d));
    TRY(collect(out, &h));
    out->series_n = h.series_n;
out:
    hpc_buf_release(&h.metric);
    perf_line_release(&h.line);
    hpc_free(h.item);
    hpc_free(h.measured);
    hpc_free(h.base);
    hpc_free(h.source);
    hpc_free(h.value);
    hpc_free(h.side[0]);
    hpc_free(h.side[1]);
    hpc_free(h.effect);
    hpc_free(h.paired);
    if (rc < 0) hpc_history_pairs_release(out);
    return rc;
}

void hpc_history_pairs_release(hpc_history_pairs *p)
{
    hpc_free(p->item);
    *p = (hpc_history_pairs){0};
}

/*
 * Pairs of commits, judged by their samples in a performance history.
 */
#include <math.h>
#include <string.h>

#include "corpus/history/compare.h"
#include "corpus/history/database_priv.h"

typedef struct series {
    hpc_map *place; /* of a commit's id in `commit` */
    perf_samples *commit;
    int64_t n, cap;
    double *value;
    int64_t values_n, values_cap;
} series;

static void release(series *s)
{
    hpc_map_free(s->place);
    hpc_free(s->commit);
    hpc_free(s->value);
}

/* The rows of one commit follow one another. */
static int add(series *s, const char *id, double value)
{
    uint64_t at;
    int rc = HPC_OK;
    if (!(isfinite(value) && value > 0)) return rc;
    if (!hpc_map_get(s->place, id, strlen(id), &at)) {
        at = (uint64_t)s->n;
        TRY(hpc_grow(&s->commit, &s->cap, s->n + 1, sizeof *s->commit));
        TRY(hpc_map_put(s->place, id, strlen(id), at));
        s->n++;
    }
    hpc_assert(s->commit);
    if (s->commit[at].n == PERF_RUNS_MOST) return rc;
    TRY(hpc_grow(&s->value, &s->values_cap, s->values_n + 1, sizeof *s->value));
    s->value[s->values_n++] = value;
    s->commit[at].n++;
out:
    return rc;
}

static int load(series *s, hpc_history_db *d, const perf_way *way, const char *metric)
{
    static const char sql[] = "SELECT commit_id, value FROM sample, series s WHERE series = s.id"
                              " AND s.build = ?1 AND s.command = ?2 AND s.machine = ?3"
                              " AND s.metric = ?4 ORDER BY commit_id, run";
    const char *const text[] = {way->build, way->command, way->machine, metric};
    sqlite3_stmt *q = NULL;
    int code, rc;
    *s = (series){.place = hpc_map_create()};
    TRY(s->place ? HPC_OK : HPC_E_NOMEM);
    TRY(perf_prepare(d, &q, sql));
    for (int k = 0; k < 4; k++) sqlite3_bind_text(q, k + 1, text[k], -1, SQLITE_STATIC);
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        const char *id = (const char *)sqlite3_column_text(q, 0);
        if (id) TRY(add(s, id, sqlite3_column_double(q, 1)));
    }
    if (code != SQLITE_DONE) TRY(perf_refused(d, code));
    int64_t at = 0; /* now that the values do not move any more */
    for (int64_t k = 0; k < s->n; at += s->commit[k++].n) s->commit[k].value = s->value + at;
out:
    sqlite3_finalize(q);
    return rc;
}

static perf_samples samples_of(const series *s, const hpc_git_id *id)
{
    char hex[41];
    uint64_t at;
    hpc_git_id_text(hex, id);
    if (!hpc_map_get(s->place, hex, strlen(hex), &at)) return (perf_samples){0};
    hpc_assert(s->commit);
    return s->commit[at];
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* What one metric says is put to what others said: `first` begins. */
static void join(hpc_history_comparison *p, const perf_effect *e, const char *metric, bool first)
{
    hpc_history_label now = e->label, before = p->label;
    bool changed = now == HPC_HISTORY_SLOWER || now == HPC_HISTORY_FASTER;
    bool was = before == HPC_HISTORY_SLOWER || before == HPC_HISTORY_FASTER;
    if (!first && was && changed && now != before) {
        p->label = HPC_HISTORY_UNDECIDED;
        return;
    }
    if (first || (changed && !was) || (changed && fabs(e->change) > fabs(p->change))) {
        p->label = now;
        p->change = e->change;
        p->metric = metric;
    } else if (!was && now == HPC_HISTORY_UNDECIDED) {
        p->label = HPC_HISTORY_UNDECIDED;
    }
}

typedef struct sides {
    perf_samples *base, *head;
    perf_effect *effect;
} sides;

static int compare_by(hpc_history_comparison *pair, int64_t n, sides *x, const series *s,
                      const char *metric, bool first)
{
    perf_rule rule = PERF_RULE_DEFAULTS;
    perf_noise noise;
    int rc;
    rule.threshold = perf_metric_threshold(metric);
    for (int64_t k = 0; k < n; k++) {
        x->base[k] = samples_of(s, &pair[k].base);
        x->head[k] = samples_of(s, &pair[k].head);
        pair[k].measured = (first || pair[k].measured) && x->base[k].n > 0 && x->head[k].n > 0;
    }
    TRY(perf_noise_measure(&noise, s->commit, s->n));
    TRY(perf_effects(x->effect, x->base, x->head, n, &noise, &rule));
    for (int64_t k = 0; k < n; k++) join(&pair[k], &x->effect[k], metric, first);
out:
    return rc;
}

static int open_series(hpc_history_db **d, hpc_buf *machine, const hpc_history_options *o)
{
    int rc;
    TRY(o->machine ? hpc_buf_text(machine, o->machine) : history_machine(machine));
    TRY(hpc_history_db_open(d, o->database));
out:
    return rc;
}

int hpc_history_compare(hpc_history_comparison *pair, int64_t n, const hpc_history_options *o)
{
    sides x = {0};
    hpc_history_db *d = NULL;
    hpc_buf machine = {0};
    int rc;
    TRY(open_series(&d, &machine, o));
    perf_way way = history_way(o, machine.data);
    x.base = hpc_alloc((size_t)n + 1, sizeof *x.base);
    x.head = hpc_alloc((size_t)n + 1, sizeof *x.head);
    x.effect = hpc_alloc((size_t)n + 1, sizeof *x.effect);
    TRY(x.base && x.head && x.effect ? HPC_OK : HPC_E_NOMEM);
    for (int m = 0; m < o->metrics; m++) {
        series s;
        rc = load(&s, d, &way, o->metric[m].name);
        if (rc >= 0) rc = compare_by(pair, n, &x, &s, o->metric[m].name, m == 0);
        release(&s);
        TRY(rc);
    }
    for (int64_t k = 0; k < n; k++) {
        if (!pair[k].measured) pair[k].label = HPC_HISTORY_UNDECIDED;
        if (pair[k].label != HPC_HISTORY_UNDECIDED) continue;
        pair[k].change = 0;
        pair[k].metric = NULL;
    }
out:
    hpc_free(x.base);
    hpc_free(x.head);
    hpc_free(x.effect);
    hpc_history_db_close(d);
    hpc_buf_release(&machine);
    return rc;
}

int hpc_history_has(bool *out, const hpc_git_id *commit, int64_t n, const hpc_history_options *o)
{
    hpc_history_db *d = NULL;
    hpc_buf machine = {0};
    int rc;
    TRY(open_series(&d, &machine, o));
    perf_way way = history_way(o, machine.data);
    for (int64_t k = 0; k < n; k++) out[k] = true;
    for (int m = 0; m < o->metrics; m++) {
        series s;
        rc = load(&s, d, &way, o->metric[m].name);
        for (int64_t k = 0; rc >= 0 && k < n; k++)
            out[k] = out[k] && samples_of(&s, &commit[k]).n > 0;
        release(&s);
        TRY(rc);
    }
out:
    hpc_history_db_close(d);
    hpc_buf_release(&machine);
    return rc;
}

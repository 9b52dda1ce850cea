/*
 * Series of a history, read and judged: each separately, with all its commits.
 *
 * label.c decides which pairs are changes, and steps.c finds where the level changed.
 */
#include "corpus/history/curve.h"

#include <math.h>
#include <string.h>

typedef struct loading {
    perf_curves *out;
    const perf_curves_options *o;
    int64_t *id; /* of each series to load */
    int64_t cap;
    int64_t *first; /* of the current series: start of each commit's samples */
    double *value;  /* of the current series */
    int64_t values_n, values_cap;
} loading;

/* ---- series ---------------------------------------------------------------------------------- */

static int load_series(loading *l, hpc_history_db *d)
{
    perf_curves *out = l->out;
    perf_series s;
    int rc = HPC_OK;
    for (;; out->all_n++) {
        TRY(perf_next_series(&s, d));
        if (rc == 0) break;
        if (l->o->wants && !l->o->wants(&s, l->o->user)) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        TRY(hpc_grow(&l->id, &l->cap, out->n + 1, sizeof *l->id));
        l->id[out->n] = s.id;
        perf_curve *c = &out->item[out->n++];
        *c = (perf_curve){.way = {.build = hpc_arena_text(out->arena, "%s", s.way.build),
                                  .command = hpc_arena_text(out->arena, "%s", s.way.command),
                                  .machine = hpc_arena_text(out->arena, "%s", s.way.machine)},
                          .metric = hpc_arena_text(out->arena, "%s", s.metric)};
        c->point = hpc_arena_alloc(out->arena, (size_t)out->line.n + 1, sizeof *c->point);
        TRY(c->way.build && c->way.command && c->way.machine ? HPC_OK : HPC_E_NOMEM);
        TRY(c->metric && c->point ? HPC_OK : HPC_E_NOMEM);
        c->threshold = l->o->threshold > 0 ? l->o->threshold : perf_metric_threshold(c->metric);
    }
out:
    return rc;
}

static int load_failures(perf_curves *out, hpc_history_db *d)
{
    char words[PERF_WORDS];
    perf_attempt a;
    const char *id;
    int rc = HPC_OK;
    for (;;) {
        TRY(perf_next_failure(&id, &a, d));
        if (rc == 0) break;
        int64_t at = perf_line_find(&out->line, id);
        if (at < 0) continue;
        TRY(hpc_grow(&out->failure, &out->failures_cap, out->failures_n + 1, sizeof *out->failure));
        perf_last_words(words, a.log);
        perf_failure *f = &out->failure[out->failures_n++];
        *f = (perf_failure){.commit = at,
                            .stage = hpc_arena_text(out->arena, "%s", a.stage),
                            .command = hpc_arena_text(out->arena, "%s", a.command),
                            .machine = hpc_arena_text(out->arena, "%s", a.machine),
                            .build = hpc_arena_text(out->arena, "%s", a.build),
                            .outcome = hpc_arena_text(out->arena, "%s", a.outcome),
                            .words = hpc_arena_text(out->arena, "%s", words)};
        TRY(f->stage && f->command && f->machine && f->build ? HPC_OK : HPC_E_NOMEM);
        TRY(f->outcome && f->words ? HPC_OK : HPC_E_NOMEM);
    }
out:
    return rc;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int add_sample(loading *l, perf_curve *c, const char *id, double value)
{
    int64_t at = perf_line_find(&l->out->line, id);
    int rc = HPC_OK;
    if (at < 0) return HPC_OK;
    perf_samples *s = &c->point[at].samples;
    if (s->n >= PERF_RUNS_MOST) return HPC_OK;
    TRY(hpc_grow(&l->value, &l->values_cap, l->values_n + 1, sizeof *l->value));
    if (s->n++ == 0) l->first[at] = l->values_n;
    l->value[l->values_n++] = value;
out:
    return rc;
}

/* Copies the samples of the current series, which is complete, into the arena. */
static int keep_samples(loading *l, perf_curve *c)
{
    double *value = hpc_arena_alloc(l->out->arena, (size_t)l->values_n + 1, sizeof *value);
    if (!value) return HPC_E_NOMEM;
    if (l->values_n > 0) memcpy(value, l->value, (size_t)l->values_n * sizeof *value);
    for (int64_t k = 0; k < l->out->line.n; k++)
        if (c->point[k].samples.n > 0) c->point[k].samples.value = value + l->first[k];
    l->values_n = 0;
    return HPC_OK;
}

/* Series and samples come by the same ids. */
static int load_samples(loading *l, hpc_history_db *d)
{
    perf_curves *out = l->out;
    int64_t series, at = 0;
    const char *id;
    double value;
    int rc = HPC_OK;
    for (;;) {
        TRY(perf_next_sample(&series, &id, &value, d));
        if (rc == 0) break;
        if (!l->id) continue; /* samples of no series */
        for (; at < out->n && l->id[at] < series; at++) TRY(keep_samples(l, &out->item[at]));
        if (at < out->n && l->id[at] == series) TRY(add_sample(l, &out->item[at], id, value));
    }
    if (at < out->n) TRY(keep_samples(l, &out->item[at]));
out:
    return rc;
}

/* ---- one series ------------------------------------------------------------------------------ */

typedef struct work { /* one series after the other, all of so many commits */
    bool *measured;
    int64_t *base, *source, *place;
    perf_samples *side[2];
    perf_effect *effect;
} work;

static int work_create(work *w, hpc_arena *a, int64_t commits)
{
    size_t n = (size_t)commits + 1;
    w->measured = hpc_arena_alloc(a, n, sizeof *w->measured);
    w->base = hpc_arena_alloc(a, n, sizeof *w->base);
    w->source = hpc_arena_alloc(a, n, sizeof *w->source);
    w->place = hpc_arena_alloc(a, n, sizeof *w->place);
    for (int k = 0; k < 2; k++) w->side[k] = hpc_arena_alloc(a, n, sizeof *w->side[k]);
    w->effect = hpc_arena_alloc(a, n, sizeof *w->effect);
    bool memory = w->measured && w->base && w->source && w->place && w->side[0] && w->side[1];
    return memory && w->effect ? HPC_OK : HPC_E_NOMEM;
}

static void put_costs(perf_curve *c, const perf_line *l)
{
    double v[PERF_RUNS_MOST];
    for (int64_t k = 0; k < l->n; k++) {
        perf_point *p = &c->point[k];
        p->median = p->low = p->high = NAN;
        if (p->source < 0) continue;
        if (p->source != k) {
            const perf_point *of = &c->point[p->source];
            p->median = of->median;
            p->low = of->low;
            p->high = of->high;
            continue;
        }
        memcpy(v, p->samples.value, (size_t)p->samples.n * sizeof *v);
        p->median = perf_median(v, p->samples.n);
        if (c->noise.freedom == 0) continue;
        perf_level at = perf_level_of(&p->samples, &c->noise, 0);
        double reach = sqrt(at.variance) * perf_student_limit(perf_normal_limit(0.05), at.freedom);
        p->low = fmin(p->median, exp(at.value - reach));
        p->high = fmax(p->median, exp(at.value + reach));
    }
}

static int put_effects(perf_curve *c, const perf_line *l, work *w)
{
    perf_rule rule = PERF_RULE_DEFAULTS;
    int64_t n = 0;
    int rc = HPC_OK;
    rule.threshold = c->threshold;
    for (int64_t k = 0; k < l->n; k++) {
        perf_point *p = &c->point[k];
        p->effect =
            (perf_effect){.change = NAN, .p = NAN, .q = NAN, .label = HPC_HISTORY_UNDECIDED};
        if (p->base < 0) continue;
        p->same = perf_line_same(l, p->base, k);
        if (p->same)
            p->effect = (perf_effect){.p = NAN, .q = NAN, .label = HPC_HISTORY_SAME};
        else if (p->samples.n > 0) {
            w->side[0][n] = c->point[c->point[p->base].source].samples;
            w->side[1][n] = p->samples;
            w->place[n++] = k;
        }
    }
    TRY(perf_effects(w->effect, w->side[0], w->side[1], n, &c->noise, &rule));
    for (int64_t k = 0; k < n; k++) c->point[w->place[k]].effect = w->effect[k];
out:
    return rc;
}

/* Not measured, because it is what its parent is: the cost cannot have changed there. */
static bool is_no_suspect(const perf_point *p)
{
    return p->same && p->samples.n == 0;
}

static int put_steps(perf_curve *c, const perf_line *l, work *w, double threshold)
{
    perf_steps_rule rule = PERF_STEPS_DEFAULTS;
    int64_t n = 0;
    int rc = HPC_OK;
    if (threshold > 0) rule.threshold = threshold;
    for (int64_t k = 0; k < l->n; k++) {
        if (!l->item[k].main || is_no_suspect(&c->point[k])) continue;
        w->side[0][n] = c->point[k].samples;
        w->place[n++] = k;
    }
    TRY(perf_steps_find(&c->steps, w->side[0], n, &rule));
    for (int64_t k = 0; k < c->steps.n; k++) {
        perf_step *s = &c->steps.item[k];
        s->at = w->place[s->at];
        s->first = w->place[s->first];
        s->last = w->place[s->last];
    }
    for (int64_t k = 0; k < c->steps.stretches_n; k++) {
        perf_stretch *s = &c->steps.stretch[k];
        s->first = w->place[s->first];
        s->last = w->place[s->last];
    }
out:
    return rc;
}

/* Series of version 1 do not record their build: any failed build may be the reason. */
static bool concerns(const perf_failure *f, const perf_curve *c)
{
    const perf_way *w = &c->way;
    if (strcmp(f->machine, w->machine) != 0) return false;
    if (strcmp(f->stage, "run") == 0)
        return strcmp(f->command, w->command) == 0 && strcmp(f->build, w->build) == 0;
    return !w->build[0] || strcmp(f->command, w->build) == 0;
}

static void count(perf_curve *c, const perf_curves *all)
{
    for (int64_t k = 0; k < all->failures_n; k++) {
        perf_point *p = &c->point[all->failure[k].commit];
        if (p->source < 0 && concerns(&all->failure[k], c)) p->failure = &all->failure[k];
    }
    for (int64_t k = 0; k < all->line.n; k++) {
        const perf_point *p = &c->point[k];
        c->measured_n += p->samples.n > 0;
        c->same_n += is_no_suspect(p);
        c->failed_n += p->failure != NULL;
        c->beside_n += p->samples.n > 0 && !all->line.item[k].main;
    }
}

static int judge(perf_curve *c, const perf_curves *all, work *w, double threshold)
{
    const perf_line *l = &all->line;
    int64_t n = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < l->n; k++) {
        w->measured[k] = c->point[k].samples.n > 0;
        if (w->measured[k]) w->side[0][n++] = c->point[k].samples;
    }
    TRY(perf_noise_measure(&c->noise, w->side[0], n));
    perf_line_bases(w->base, w->source, l, w->measured);
    for (int64_t k = 0; k < l->n; k++) {
        c->point[k].base = w->base[k];
        c->point[k].source = w->source[k];
    }
    put_costs(c, l);
    TRY(put_effects(c, l, w));
    TRY(put_steps(c, l, w, threshold));
    count(c, all);
out:
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

int perf_curves_load(perf_curves *out, hpc_history_db *d, const perf_curves_options *o)
{
    loading l = {.out = out, .o = o};
    work w;
    int rc = HPC_OK;
    *out = (perf_curves){.arena = hpc_arena_create(0)};
    TRY(out->arena ? HPC_OK : HPC_E_NOMEM);
    TRY(perf_line_load(&out->line, d));
    l.first = hpc_alloc((size_t)out->line.n + 1, sizeof *l.first);
    TRY(l.first ? HPC_OK : HPC_E_NOMEM);
    TRY(load_series(&l, d));
    TRY(load_failures(out, d));
    TRY(load_samples(&l, d));
    TRY(work_create(&w, out->arena, out->line.n));
    for (int64_t k = 0; k < out->n; k++) TRY(judge(&out->item[k], out, &w, o->threshold));
out:
    hpc_free(l.id);
    hpc_free(l.first);
    hpc_free(l.value);
    if (rc < 0) perf_curves_release(out);
    return rc;
}

void perf_curves_release(perf_curves *c)
{
    for (int64_t k = 0; k < c->n; k++) perf_steps_release(&c->item[k].steps);
    hpc_free(c->item);
    hpc_free(c->failure);
    perf_line_release(&c->line);
    hpc_arena_free(c->arena);
    *c = (perf_curves){0};
}

int64_t perf_curve_suspects(int64_t *first, int64_t *last, const perf_curve *c, const perf_line *l,
                            const perf_step *s)
{
    int64_t n = 0;
    for (int64_t k = s->first; k <= s->last; k++) {
        if (!l->item[k].main || is_no_suspect(&c->point[k])) continue;
        if (n++ == 0 && first) *first = k;
        if (last) *last = k;
    }
    return n;
}

/*
 * Change points of a series of commits: the optimal segmentation into levels.
 *
 * noise.c computes the levels of commits and their noise.
 */
#include <math.h>
#include <string.h>

#include "corpus/history/steps.h"

enum { NEIGHBOURS_LEAST = 8 }; /* distances, to know noise by them */
enum { LINE_LEAST = 16 };      /* commits: what rises within fewer is a step */
enum { BLOCK_MOST = 32 };      /* commits whose mean tells of slow noise */
#define SMALLEST 1e-6          /* noise: costs are no more exact than that */
#define OUTLIER  4.0           /* standard deviations */
#define LIKELY   2.0           /* times the penalty: a step, if noise is independent */
#define CLEAR    6.0           /* and if it is not */

typedef struct sums { /* up to a point: of weights, and of what they weigh; x: places */
    double w, y, yy, x, xx, xy;
} sums;
typedef struct fit { /* of a level: value at a place = y + slope * (place - x) */
    double w, y, x, slope, xx;
} fit;
typedef struct series { /* of the commits that were measured */
    int64_t n;
    int64_t *at;                 /* in the caller's series */
    double *value, *share, *var; /* logarithms; share of one sample's variance; variance */
    double *raw;                 /* before outliers are left out; then scratch */
    double *scratch;             /* n + BLOCK_MOST */
    sums *upto;                  /* n + 1 */
    double *best;                /* n + 1: the least cost of the first k */
    int64_t *from;               /* and where their last level begins */
    bool *line;                  /* and whether that drifts */
    double freedom, middle;      /* middle: from which logarithms are taken */
    perf_noise noise;
} series;

static void series_release(series *s)
{
    hpc_free(s->at);
    hpc_free(s->value);
    hpc_free(s->upto);
    hpc_free(s->line);
}

static int series_create(series *s, const perf_samples *commit, int64_t n)
{
    size_t room = (size_t)n + BLOCK_MOST;
    int rc = HPC_OK;
    *s = (series){0};
    s->at = hpc_alloc(room, 2 * sizeof *s->at);
    s->value = hpc_alloc(room, 6 * sizeof *s->value);
    s->upto = hpc_alloc(room, sizeof *s->upto);
    s->line = hpc_alloc(room, sizeof *s->line);
    if (!s->at || !s->value || !s->upto || !s->line) TRY(HPC_E_NOMEM);
    s->from = s->at + room;
    s->share = s->value + room;
    s->var = s->share + room;
    s->raw = s->var + room;
    s->scratch = s->raw + room;
    s->best = s->scratch + room;
    for (int64_t k = 0; k < n; k++)
        if (commit[k].n > 0) s->at[s->n++] = k;
out:
    return rc;
}

/* ---- noise ----------------------------------------------------------------------------------- */

/* Of one sample, by neighbouring commits. */
static perf_noise neighbour_noise(const series *s)
{
    perf_noise out = {0};
    int64_t m = 0;
    for (int64_t k = 1; k < s->n; k++)
        s->scratch[m++] =
            fabs(s->value[k] - s->value[k - 1]) / sqrt((s->share[k] + s->share[k - 1]) / 2);
    perf_noise_of(&out, s->scratch, m, 0.97);
    out.freedom = 0.35 * (double)m; /* by simulation: 0.33 for heavy tails, 0.43 for none */
    return out;
}

/* How far a variance by n distances may be above 1 by chance: 2.5 standard errors. */
static double chance(int64_t n)
{
    return 5.0 / sqrt((double)n);
}

static int put_noise(perf_steps *out, series *s, const perf_samples *commit, int64_t n,
                     const perf_steps_rule *rule)
{
    double floor = fmax(rule->floor, SMALLEST);
    perf_noise near = {0};
    int rc = HPC_OK;
    TRY(perf_noise_measure(&s->noise, commit, n));
    bool repeats = s->noise.freedom > 0;
    for (int64_t k = 0; k < s->n; k++) {
        perf_level l = perf_level_of(&commit[s->at[k]], &s->noise, floor);
        s->value[k] = l.value;
        s->share[k] = l.share;
        s->var[k] = l.variance;
    }
    if (s->n > NEIGHBOURS_LEAST) near = neighbour_noise(s);
    double more = near.sd / fmax(s->noise.sd, floor);
    if (!repeats || more * more > 1 + chance(s->n)) s->noise = near;
    if (s->noise.freedom == 0) goto out;
    out->noise = fmax(s->noise.sd, floor);
    for (int64_t k = 0; k < s->n; k++) {
        double sd = fmax(commit[s->at[k]].n < 5 ? s->noise.wide : s->noise.sd, floor);
        double common = s->share[k] * sd * sd;
        s->var[k] = repeats ? fmax(s->var[k], common) : common;
    }
out:
    return rc;
}

/* ---- outliers ----------------------------------------------------------------------------------
 */

/* What a commit's level is compared with: both neighbours', or, where it is of so few samples that
 * outliers come in twos, the median of two commits before to two after. */
static void around(double *lo, double *hi, const series *s, int64_t k, bool few)
{
    int64_t a = k < 2 ? 0 : k - 2, b = k + 3 < s->n ? k + 3 : s->n;
    double v[5], left = s->raw[k > 0 ? k - 1 : b - 1], right = s->raw[k + 1];
    *lo = fmin(left, right);
    *hi = fmax(left, right);
    if (!few || k + 2 == s->n) return; /* a new level may have begun there */
    memcpy(v, s->raw + a, (size_t)(b - a) * sizeof *v);
    *lo = *hi = perf_median(v, b - a);
}

/* Logarithms are taken from the middle one, so that squares lose nothing. */
static void leave_out_outliers(series *s, const perf_samples *commit)
{
    double lo, hi;
    int64_t kept = 0;
    memcpy(s->raw, s->value, (size_t)s->n * sizeof *s->raw);
    s->middle = perf_median(s->raw, s->n);
    for (int64_t k = 0; k < s->n; k++) s->raw[k] = s->value[k] - s->middle;
    for (int64_t k = 0; k < s->n; k++) {
        double reach = OUTLIER * sqrt(s->var[k]), v = s->raw[k];
        if (k + 1 < s->n) {
            around(&lo, &hi, s, k, commit[s->at[k]].n < 3);
            if (v < lo - reach || v > hi + reach) continue;
        }
        s->value[kept] = v;
        s->at[kept] = s->at[k];
        s->var[kept++] = s->var[k];
    }
    s->n = kept;
}

/* ---- levels ------------------------------------------------------------------------------------
 */

static void put_sums(series *s)
{
    for (int64_t k = 0; k < s->n; k++) {
        double w = 1 / s->var[k], y = s->value[k], x = (double)(k - s->n / 2);
        const sums *u = &s->upto[k];
        s->upto[k + 1] = (sums){u->w + w,     u->y + w * y,      u->yy + w * y * y,
                                u->x + w * x, u->xx + w * x * x, u->xy + w * x * y};
    }
}

static sums between(const series *s, int64_t a, int64_t b)
{
    const sums *u = &s->upto[a], *v = &s->upto[b];
    return (sums){v->w - u->w, v->y - u->y,   v->yy - u->yy,
                  v->x - u->x, v->xx - u->xx, v->xy - u->xy};
}

/* A level has two commits at least, but for the last one. One that drifts costs as much as two. */
static void cut(series *s, double penalty)
{
    s->best[0] = -penalty;
    for (int64_t k = 1; k <= s->n; k++) {
        s->best[k] = INFINITY;
        for (int64_t a = k - (k < s->n ? 2 : 1); a >= 0; a--) {
            sums m = between(s, a, k);
            double cost = s->best[a] + penalty + m.yy - m.y * m.y / m.w, slope = 0;
            if (k - a >= LINE_LEAST) {
                double xy = m.xy - m.x * m.y / m.w;
                slope = xy * xy / (m.xx - m.x * m.x / m.w) - penalty;
            }
            if (slope > 0) cost -= slope;
            if (cost >= s->best[k]) continue;
            s->best[k] = cost;
            s->from[k] = a;
            s->line[k] = slope > 0;
        }
    }
}

static fit fit_of(const series *s, int64_t a, int64_t b)
{
    sums m = between(s, a, b);
    fit f = {.w = m.w, .y = m.y / m.w, .x = m.x / m.w};
    if (!s->line[b]) return f;
    f.xx = m.xx - m.x * f.x;
    f.slope = (m.xy - m.x * f.y) / f.xx;
    return f;
}

static double fit_at(const fit *f, double place)
{
    return f->y + f->slope * (place - f->x);
}

static double fit_variance(const fit *f, double place)
{
    double off = place - f->x;
    return 1 / f->w + (f->xx > 0 ? off * off / f->xx : 0);
}

/* By simulation of 3 million commits of normal noise, within a fifth of the alarms from 0.006 to
 * 0.00005; then for noise that is known by so many degrees of freedom. */
static double penalty_of(const series *s, double alarms)
{
    double normal = -0.4 - 1.25 * log(alarms), t = perf_student_limit(sqrt(normal), s->freedom);
    return t * t;
}

/* The factor by which the variance of means of 4 to 32 commits exceeds that of independent noise,
 * after subtracting the levels of the last cut: the largest significant factor. */
static double waves_left(const series *s)
{
    double *left = s->raw, most = 1;
    for (int64_t b = s->n; b > 0; b = s->from[b]) {
        fit f = fit_of(s, s->from[b], b);
        for (int64_t k = s->from[b]; k < b; k++)
            left[k] = (s->value[k] - fit_at(&f, (double)(k - s->n / 2))) / sqrt(s->var[k]);
    }
    for (int64_t size = 4; size <= BLOCK_MOST && s->n >= 8 * size; size *= 2) {
        double sum = 0;
        perf_noise block = {0};
        for (int64_t k = 0; k < s->n; k++) {
            sum += left[k] - (k >= size ? left[k - size] : 0);
            if (k >= size - 1) s->scratch[k - size + 1] = fabs(sum) * sqrt(2 / (double)size);
        }
        perf_noise_of(&block, s->scratch, s->n - size + 1, 0.75);
        double factor = block.sd * block.sd;
        if (factor > 1 + chance(s->n / size) && factor > most) most = factor;
    }
    return most;
}

/* Steps that independent noise would not make are taken for steps first. If waves are left then,
 * noise is slow, and may have made most of these: only the clearest are taken out to measure it. */
static double find_waves(series *s, double penalty)
{
    cut(s, LIKELY * penalty);
    if (waves_left(s) == 1) return 1;
    cut(s, CLEAR * penalty);
    double waves = waves_left(s);
    for (int64_t k = 0; k < s->n; k++) s->var[k] *= waves;
    return waves;
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Of the best of n - 1 places for a step at this score: Worsley's approximation of the largest
 * standardised difference, or Bonferroni's bound if that is lower, as of few places. */
static double chance_of(double score, int64_t n)
{
    double all = (double)(n - 1) * perf_normal_tail(score), z = score * score;
    double worsley = score * exp(-z / 2) / sqrt(2 * 3.141592653589793) *
                     (2 * log((double)(n - 1)) * (1 - 1 / z) + 4 / z);
    if (n > 2 && score > 1) all = fmin(all, worsley);
    return fmin(1, all);
}

/* The last level, if it is of 1 or 2 samples: as likely as the tail of the noise allows. */
static double tail_chance(const series *s, const perf_samples *commit, int64_t b, double off)
{
    int64_t samples = 0;
    for (int64_t k = b; k < s->n && samples < 3; k++) samples += commit[s->at[k]].n;
    double beyond = s->noise.tail / off;
    return samples < 3 ? beyond * beyond / 2 / (double)samples : 0;
}

/* The places of the step in [a, c) by their likelihood between the two fits: from the likeliest on
 * always the likelier neighbour, until the confidence is reached. */
static void put_range(perf_step *out, const series *s, int64_t a, int64_t b, int64_t c,
                      const fit side[2], double confidence)
{
    double *likely = s->scratch, all = 0, most = 0, sum = 0;
    int64_t lo = b, hi = b;
    likely[a] = 0;
    for (int64_t k = a; k + 1 < c; k++) { /* if the step is at k + 1, k is before it */
        double x = (double)(k - s->n / 2);
        double l = s->value[k] - fit_at(&side[0], x), r = s->value[k] - fit_at(&side[1], x);
        likely[k + 1] = likely[k] + (r * r - l * l) / 2 / s->var[k];
        if (likely[k + 1] > most) most = likely[k + 1];
    }
    for (int64_t k = a + 1; k < c; k++) all += likely[k] = exp(likely[k] - most);
    for (sum = likely[b]; sum < confidence * all;) {
        double left = lo > a + 1 ? likely[lo - 1] : -1, right = hi < c - 1 ? likely[hi + 1] : -1;
        if (left < 0 && right < 0) break;
        sum += left > right ? likely[--lo] : likely[++hi];
    }
    out->first = s->at[lo - 1] + 1;
    out->last = s->at[hi];
}

/* The first commit at the new level. This may be an outlier that is closer to the new level than to
 * the old one, if all outliers after it are closer. */
static int64_t first_of(const series *s, const perf_samples *commit, int64_t b, double before,
                        double after)
{
    int64_t at = s->at[b];
    for (int64_t k = at - 1; k > s->at[b - 1]; k--) {
        if (commit[k].n == 0) continue;
        double v = perf_level_of(&commit[k], &s->noise, SMALLEST).value - s->middle;
        if (fabs(v - after) > fabs(v - before)) break;
        at = k;
    }
    return at;
}

/* The step between levels [a, b) and [b, c). False: two drifting levels join without a step. */
static bool step_between(perf_step *out, const series *s, const perf_samples *commit, int64_t a,
                         int64_t b, int64_t c, const perf_steps_rule *rule)
{
    const fit side[2] = {fit_of(s, a, b), fit_of(s, b, c)};
    double x = (double)(b - s->n / 2) - 0.5, y = fit_at(&side[0], x), off = fit_at(&side[1], x) - y;
    double error = sqrt(fit_variance(&side[0], x) + fit_variance(&side[1], x));
    double reach = error * perf_student_limit(perf_normal_limit(1 - rule->confidence), s->freedom);
    bool drifts = s->line[b] || s->line[c];
    if (drifts && off * off < error * error * penalty_of(s, rule->alarms)) return false;
    *out = (perf_step){.at = first_of(s, commit, b, y, y + off), .change = expm1(off)};
    out->low = expm1(off - reach);
    out->high = expm1(off + reach);
    out->p = chance_of(perf_student_score(fabs(off) / error, s->freedom), c - a);
    out->p = fmin(1, fmax(out->p, tail_chance(s, commit, b, off)));
    put_range(out, s, a, b, c, side, rule->confidence);
    return fabs(out->change) >= rule->threshold && out->p <= 1 - rule->confidence;
}

static int put_stretch(perf_steps *out, const series *s, int64_t a, int64_t b, double confidence)
{
    const int64_t end[2] = {a, b - 1};
    fit f = fit_of(s, a, b);
    double t = perf_student_limit(perf_normal_limit(1 - confidence), s->freedom);
    int rc = HPC_OK;
    TRY(hpc_grow(&out->stretch, &out->stretches_cap, out->stretches_n + 1, sizeof *out->stretch));
    perf_stretch *p = &out->stretch[out->stretches_n++];
    *p = (perf_stretch){.first = s->at[a], .last = s->at[b - 1]};
    for (int k = 0; k < 2; k++) {
        double x = (double)(end[k] - s->n / 2), y = s->middle + fit_at(&f, x);
        double reach = t * sqrt(fit_variance(&f, x));
        p->value[k] = exp(y);
        p->low[k] = exp(y - reach);
        p->high[k] = exp(y + reach);
    }
out:
    return rc;
}

/* From the last to the first, as `from` leads. */
static int put_steps(perf_steps *out, const series *s, const perf_samples *commit,
                     const perf_steps_rule *rule)
{
    int rc = HPC_OK;
    for (int64_t c = s->n, b = s->from[c]; c > 0; c = b, b = s->from[b]) {
        perf_step step;
        out->drifts_n += s->line[c];
        TRY(put_stretch(out, s, b, c, rule->confidence));
        if (b == 0 || !step_between(&step, s, commit, s->from[b], b, c, rule)) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        out->item[out->n++] = step;
    }
    for (int64_t k = 0; k < out->n / 2; k++) {
        perf_step t = out->item[k];
        out->item[k] = out->item[out->n - 1 - k];
        out->item[out->n - 1 - k] = t;
    }
    for (int64_t k = 0; k < out->stretches_n / 2; k++) {
        perf_stretch t = out->stretch[k];
        out->stretch[k] = out->stretch[out->stretches_n - 1 - k];
        out->stretch[out->stretches_n - 1 - k] = t;
    }
out:
    return rc;
}

int perf_steps_find(perf_steps *out, const perf_samples *commit, int64_t n,
                    const perf_steps_rule *rule)
{
    series s;
    int rc = HPC_OK;
    *out = (perf_steps){.waves = 1};
    TRY(series_create(&s, commit, n));
    TRY(put_noise(out, &s, commit, n, rule));
    if (s.n < 2 || out->noise == 0) goto out;
    s.freedom = s.noise.freedom;
    leave_out_outliers(&s, commit);
    put_sums(&s);
    out->waves = find_waves(&s, penalty_of(&s, rule->alarms));
    if (out->waves > 1) put_sums(&s);
    cut(&s, penalty_of(&s, rule->alarms));
    TRY(put_steps(out, &s, commit, rule));
out:
    series_release(&s);
    if (rc < 0) perf_steps_release(out);
    return rc;
}

void perf_steps_release(perf_steps *s)
{
    hpc_free(s->item);
    hpc_free(s->stretch);
    *s = (perf_steps){0};
}

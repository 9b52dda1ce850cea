/*
 * Prediction of a model for a feature vector: probabilities, abstention, and the weight of each
 * feature.
 */
#include <math.h>
#include <string.h>

#include "infer/perf/learn_priv.h"

const char *hpc_perf_verdict_name(hpc_perf_verdict v)
{
    static const char *const names[] = {"slower", "same", "faster", "unknown"};
    return names[v];
}

/* ---- a score -----------------------------------------------------------------------------------
 */

double perf_score(const perf_scorer *s, perf_question q, const perf_view *v)
{
    double line = perf_line_value(&s->line, v), trees = s->base;
    for (int t = 0; t < s->trees; t++)
        trees +=
            q == PERF_SIZE
                ? perf_tree_value(&s->tree[t], v, 1)
                : (perf_tree_value(&s->tree[t], v, 1) - perf_tree_value(&s->tree[t], v, -1)) / 2;
    return v->firm * ((1 - s->share) * line + s->share * trees);
}

static void explain_score(double *contribution, const perf_scorer *s, perf_question q,
                          const perf_view *v)
{
    for (int i = 0; i < PERF_WIDTH; i++)
        contribution[i] += v->firm * (1 - s->share) * s->line.weight[i] * v->z[i];
    for (int t = 0; t < s->trees; t++) {
        double half = v->firm * (q == PERF_SIZE ? s->share : s->share / 2);
        perf_tree_explain(contribution, &s->tree[t], v, 1, half);
        if (q == PERF_SIDE) perf_tree_explain(contribution, &s->tree[t], v, -1, -half);
    }
}

/* ---- whether it is sure ------------------------------------------------------------------------
 */

/* Of examples that are not of the label (or, `low`, that are), the share that score as high (as
 * low); each and the new one by the member that did not see the example. */
static double share_beyond(const hpc_perf_model *m, hpc_perf_verdict label, bool low,
                           const double score[PERF_FOLDS])
{
    int64_t beyond = 0, n = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const perf_scored *s = &m->scored[i];
        double its = label == HPC_PERF_FASTER ? s->faster : s->slower;
        if ((s->label == label) != low) continue;
        n++;
        beyond += low ? its <= score[s->fold] : its >= score[s->fold];
    }
    return (double)(1 + beyond) / (double)(1 + n);
}

/* A verdict is likely among three outcomes, whatever the limits of the model allow. A limit of 0.5
 * would give up 2 of 46 planted changes that are predicted right. */
static const double LIKELY = 0.45;

static bool is_sure(double p, double error, double most)
{
    return error <= most && p >= LIKELY;
}

static hpc_perf_verdict verdict_of(const hpc_perf_estimate *e, const hpc_perf_model *m)
{
    const double *p = e->p;
    bool up = is_sure(p[HPC_PERF_SLOWER], e->alarm_slower, m->alarm) &&
              p[HPC_PERF_SLOWER] >= p[HPC_PERF_FASTER];
    bool down = is_sure(p[HPC_PERF_FASTER], e->alarm_faster, m->alarm) &&
                p[HPC_PERF_FASTER] > p[HPC_PERF_SLOWER];
    bool most = p[HPC_PERF_SAME] >= LIKELY;
    if (e->outside) return HPC_PERF_UNKNOWN;
    if (up || down) return up ? HPC_PERF_SLOWER : HPC_PERF_FASTER;
    return most && e->miss_slower <= m->miss ? HPC_PERF_SAME : HPC_PERF_UNKNOWN;
}

static void look_outside(hpc_perf_estimate *e, const hpc_perf_model *m, const hpc_perf_vector *x)
{
    double most = m->allowance;
    e->outside_feature = -1;
    for (int f = 0; f < HPC_PERF_FEATURES; f++) {
        double beyond = fabs(perf_view_scaled(f, x->value[f])) - m->reach[f];
        if (!(beyond > most)) continue;
        most = beyond;
        e->outside_feature = f;
    }
    e->outside = e->outside_feature >= 0;
}

/* Where nothing that is compiled differs: as sure as can be without a proof. */
static void set_nothing_differs(hpc_perf_estimate *e)
{
    e->p[HPC_PERF_SLOWER] = e->p[HPC_PERF_FASTER] = 0.005;
    e->p[HPC_PERF_SAME] = 0.99;
    e->verdict = HPC_PERF_SAME;
    e->outside_feature = -1;
    e->alarm_slower = e->alarm_faster = 1;
}

/* Where the cost is tells nothing to a model that did not learn it. */
static const hpc_perf_vector *as_learnt(hpc_perf_vector *room, const hpc_perf_model *m,
                                        const hpc_perf_vector *x)
{
    if (m->reach[hpc_perf_feature_named("heat_known")] > 0) return x;
    *room = *x;
    hpc_perf_heat_forget(room);
    return room;
}

void hpc_perf_estimate_find(hpc_perf_estimate *out, const hpc_perf_model *m,
                            const hpc_perf_vector *x)
{
    hpc_perf_vector room;
    double score[PERF_QUESTIONS][PERF_FOLDS], mean[PERF_QUESTIONS] = {0};
    double slower[PERF_FOLDS], faster[PERF_FOLDS], p[PERF_QUESTIONS];
    double contribution[PERF_QUESTIONS][PERF_WIDTH] = {{0}};
    memset(out, 0, sizeof *out);
    x = as_learnt(&room, m, x);
    if (hpc_perf_nothing_differs(x)) {
        set_nothing_differs(out);
        return;
    }
    for (int q = 0; q < PERF_QUESTIONS; q++) {
        perf_view v;
        perf_view_find(&v, (perf_question)q, x);
        for (int k = 0; k < m->folds; k++) {
            score[q][k] = perf_score(&m->member[k][q], (perf_question)q, &v);
            mean[q] += score[q][k] / m->folds;
            explain_score(contribution[q], &m->member[k][q], (perf_question)q, &v);
        }
        p[q] = perf_sigmoid(m->intercept[q] + m->slope[q] * mean[q]);
    }
    for (int k = 0; k < m->folds; k++) {
        double changed = perf_sigmoid(score[PERF_SIZE][k]);
        double side = perf_sigmoid(score[PERF_SIDE][k]);
        slower[k] = changed * side;
        faster[k] = changed * (1 - side);
    }
    out->p[HPC_PERF_SLOWER] = p[PERF_SIZE] * p[PERF_SIDE];
    out->p[HPC_PERF_FASTER] = p[PERF_SIZE] * (1 - p[PERF_SIDE]);
    out->p[HPC_PERF_SAME] = 1 - p[PERF_SIZE];
    out->alarm_slower = share_beyond(m, HPC_PERF_SLOWER, false, slower);
    out->alarm_faster = share_beyond(m, HPC_PERF_FASTER, false, faster);
    out->miss_slower = share_beyond(m, HPC_PERF_SLOWER, true, slower);
    look_outside(out, m, x);
    out->verdict = verdict_of(out, m);
    for (int q = 0; q < PERF_QUESTIONS; q++) {
        double turn = q == PERF_SIZE ? 2 * p[PERF_SIDE] - 1 : 1;
        for (int i = 0; i < PERF_WIDTH; i++) contribution[q][i] *= turn * m->slope[q] / m->folds;
        perf_view_weights(out->weight, (perf_question)q, x, contribution[q]);
    }
}

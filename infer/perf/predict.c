/*
 * Prediction for a range: its commits in order, the range as a whole, and the resulting level.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/predict_priv.h"

enum { ACKS_BYTES = 1 << 20 };

const char *hpc_perf_level_name(hpc_perf_level l)
{
    static const char *const name[] = {"none", "warn", "fail"};
    return name[l];
}

void hpc_perf_prediction_release(hpc_perf_prediction *p)
{
    hpc_free(p->commit);
    hpc_free(p->remark);
    hpc_arena_free(p->arena);
    *p = (hpc_perf_prediction){0};
}

/* ---- which commits --------------------------------------------------------------------------- */

static int cut_off(const hpc_git_id *id)
{
    char hex[41];
    hpc_git_id_text(hex, id);
    return hpc_fail(HPC_E_ARG,
                    "the history before commit %.12s is not in this clone, so the start of the "
                    "range is unknown: run git fetch --unshallow, or clone with history",
                    hex);
}

/* The latest first-parent ancestor of base that is also an ancestor of head. */
static int find_parting(hpc_git_id *out, hpc_git *g, const hpc_git_id *base, const hpc_git_id *head,
                        const hpc_perf_predict_options *o)
{
    const hpc_git_range_options first = {.first_parent = true};
    hpc_git_range r = {0};
    int rc;
    TRY(hpc_git_range_find(&r, g, head, base, &first));
    *out = *base;
    if (r.n > 0 && r.item[0].cut) TRY(cut_off(&r.item[0].id));
    if (r.n > 0 && r.item[0].parents == 0)
        TRY(hpc_fail(HPC_E_ARG, "%.100s and %.100s have no commit in common", o->base, o->head));
    if (r.n > 0) *out = r.item[0].parent;
out:
    hpc_git_range_release(&r);
    return rc;
}

/* A head before base is a mistake, but base itself gives an empty range. */
static int check_order(const hpc_git_range *r, const hpc_git_id *base, const hpc_git_id *head,
                       const hpc_perf_predict_options *o)
{
    if (r->n > 0 || memcmp(base, head, sizeof *head) == 0) return HPC_OK;
    return hpc_fail(HPC_E_ARG,
                    "%.100s..%.100s has no commits, because %.100s is an ancestor of %.100s: the "
                    "range is BASE..HEAD, as in %.100s..%.100s",
                    o->base, o->head, o->head, o->base, o->head, o->base);
}

static int find_range(hpc_git_range *out, hpc_perf_change_prediction *range, hpc_git *g,
                      const hpc_perf_predict_options *o)
{
    const hpc_git_range_options options = {.first_parent = !o->all};
    hpc_git_id base;
    int rc;
    TRY(hpc_git_resolve(&range->head, g, o->head));
    if (o->file_n > 0) {
        range->base = range->head;
        range->head = (hpc_git_id){0};
        return HPC_OK;
    }
    if (o->base) {
        TRY(hpc_git_resolve(&base, g, o->base));
        TRY(find_parting(&range->base, g, &base, &range->head, o));
    }
    TRY(hpc_git_range_find(out, g, o->base ? &base : NULL, &range->head, &options));
    if (o->base) TRY(check_order(out, &base, &range->head, o));
    for (int64_t k = 0; k < out->n; k++)
        if (out->item[k].cut) TRY(cut_off(&out->item[k].id));
out:
    return rc;
}

/* ---- what they say --------------------------------------------------------------------------- */

static int read_message(hpc_perf_change_prediction *c, hpc_perf_prediction *p, hpc_git *g,
                        hpc_buf *room)
{
    int rc;
    TRY(hpc_git_message(room, g, &c->head));
    const char *text = rc == HPC_GIT_READ && room->data ? room->data : "";
    TRY(perf_acks_trailer(c, p, text));
    c->subject = perf_clean(p->arena, text, strcspn(text, "\n"));
    TRY(c->subject ? HPC_OK : HPC_E_NOMEM);
out:
    return rc;
}

static int find_commits(hpc_perf_prediction *p, const hpc_git_range *r)
{
    p->commit = hpc_alloc((size_t)r->n + 1, sizeof *p->commit);
    if (!p->commit) return HPC_E_NOMEM;
    for (int64_t k = 0; k < r->n; k++) {
        const hpc_git_step *s = &r->item[k];
        p->commit[k] =
            (hpc_perf_change_prediction){.base = s->parent, .head = s->id, .time = s->time};
        p->commit[k].parents = s->parents;
    }
    return HPC_OK;
}

/* The language model classifies functions in batches, so all commits are added before the first
 * prediction. */
static int read_language(hpc_perf_prediction *p, perf_predictor *t, int64_t commits,
                         const hpc_perf_model *m, const hpc_perf_predict_options *o)
{
    hpc_perf_model_facts facts;
    int rc = HPC_OK;
    hpc_perf_model_describe(&facts, m);
    if (!facts.language && o->language)
        TRY(hpc_fail(HPC_E_ARG,
                     "the model was trained without a language model: use perf train --language"));
    if (facts.language && !o->language)
        TRY(perf_remark(p, "the model was trained with a language model, but --language is not "
                           "given: predictions are less certain"));
    if (facts.heat && !o->heat)
        TRY(perf_remark(p, "the model was trained with line profiles, but no history with one is "
                           "given (--db): predictions are less certain"));
    if (!o->language) goto out;
    t->language = o->language;
    hpc_perf_language_clear(t->language);
    for (int64_t k = 0; k < commits; k++) TRY(perf_predictor_add(&p->commit[k], t));
    TRY(perf_predictor_add(&p->range, t));
    TRY(hpc_perf_language_run(t->language));
out:
    return rc;
}

static int predict_commits(hpc_perf_prediction *p, perf_predictor *t, hpc_git *g,
                           const hpc_git_range *r, const hpc_perf_predict_options *o)
{
    hpc_buf room = {0};
    int rc = HPC_OK;
    for (; p->n < r->n; p->n++) {
        hpc_perf_change_prediction *c = &p->commit[p->n];
        TRY(read_message(c, p, g, &room));
        TRY(perf_predict_change(c, t));
        if (o->progress) o->progress(o->user, p->n + 1, r->n);
    }
out:
    hpc_buf_release(&room);
    return rc;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void set_level(hpc_perf_result *s, const hpc_perf_predict_options *o, hpc_perf_level most)
{
    double p = s->p[HPC_PERF_SLOWER];
    s->level = HPC_PERF_NONE;
    if (isnan(p) || s->verdict == HPC_PERF_UNKNOWN) return;
    if (p >= o->warn) s->level = HPC_PERF_WARN;
    if (p >= o->fail) s->level = HPC_PERF_FAIL;
    if (s->level > most) s->level = most;
}

static void set_levels(hpc_perf_change_prediction *t, const hpc_perf_predict_options *o)
{
    set_level(&t->result, o, HPC_PERF_FAIL);
    for (int64_t k = 0; k < t->n; k++) set_level(&t->function[k].result, o, t->result.level);
}

static void raise_level(hpc_perf_prediction *p, const hpc_perf_result *s)
{
    if (!s->acknowledged && s->level > p->level) p->level = s->level;
}

static void limit_level(hpc_perf_change_prediction *t, hpc_perf_level most)
{
    if (t->result.level > most) t->result.level = most;
    for (int64_t k = 0; k < t->n; k++)
        if (t->function[k].result.level > most) t->function[k].result.level = most;
}

/* Where no change that decides fails, the others are at most warnings. */
static void decide(hpc_perf_prediction *p, const hpc_perf_predict_options *o)
{
    bool each = o->each || p->range.result.verdict == HPC_PERF_UNKNOWN;
    bool fails = !o->each && p->range.result.level == HPC_PERF_FAIL;
    p->level = HPC_PERF_NONE;
    if (!o->each) raise_level(p, &p->range.result);
    for (int64_t k = 0; k < p->n && each; k++) {
        raise_level(p, &p->commit[k].result);
        fails |= p->commit[k].result.level == HPC_PERF_FAIL;
    }
    if (fails) return;
    limit_level(&p->range, HPC_PERF_WARN);
    for (int64_t k = 0; k < p->n; k++) limit_level(&p->commit[k], HPC_PERF_WARN);
}

/* ---- acknowledgements ------------------------------------------------------------------------ */

static bool is_acks(const char *path, void *user)
{
    (void)user;
    return strcmp(path, HPC_PERF_ACKS) == 0;
}

/* The file in head; "": absent. */
static int read_acks(hpc_buf *out, hpc_git *g, const hpc_git_id *head)
{
    const hpc_git_id nothing = {0};
    hpc_git_changes c = {0};
    size_t bytes;
    int rc;
    TRY(hpc_git_diff(&c, g, &nothing, head, is_acks, NULL, 1));
    if (rc == HPC_GIT_READ && c.n == 1)
        TRY(hpc_git_read(out, &bytes, g, &c.item[0].head, ACKS_BYTES));
    if (rc != HPC_GIT_READ || c.n == 0) out->n = 0;
    TRY(hpc_buf_text(out, ""));
out:
    hpc_git_changes_release(&c);
    return rc;
}

static int acknowledge(hpc_perf_prediction *p, hpc_git *g, const hpc_perf_predict_options *o)
{
    const char *text = o->acks, *name = o->acks ? o->acks_name : HPC_PERF_ACKS;
    perf_acks acks = {0};
    hpc_buf file = {0};
    int rc = HPC_OK;
    if (!text) TRY(read_acks(&file, g, o->file_n > 0 ? &p->range.base : &p->range.head));
    if (!text) text = file.n > 0 ? file.data : "";
    TRY(perf_acks_read(&acks, p, name, text));
    TRY(perf_acks_apply(&acks, p, g));
out:
    hpc_free(acks.item);
    hpc_buf_release(&file);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int hpc_perf_predict(hpc_perf_prediction *out, hpc_git *g, const hpc_perf_model *m,
                     const hpc_perf_predict_options *o)
{
    hpc_git_range r = {0};
    perf_predictor t = {0};
    int rc = HPC_E_NOMEM;
    *out = (hpc_perf_prediction){.arena = hpc_arena_create(0), .range = {.subject = ""}};
    if (!out->arena) goto out;
    TRY(find_range(&r, &out->range, g, o));
    TRY(perf_predictor_open(&t, g, m, o, out->arena));
    TRY(find_commits(out, &r));
    TRY(read_language(out, &t, r.n, m, o));
    TRY(predict_commits(out, &t, g, &r, o));
    TRY(perf_predict_change(&out->range, &t));
    for (int64_t k = 0; k < out->n; k++) set_levels(&out->commit[k], o);
    set_levels(&out->range, o);
    TRY(acknowledge(out, g, o));
    decide(out, o);
out:
    perf_predictor_close(&t);
    hpc_git_range_release(&r);
    if (rc < 0) hpc_perf_prediction_release(out);
    return rc;
}

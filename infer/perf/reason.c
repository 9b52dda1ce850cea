/*
 * Reasons of a prediction: the features with the largest scores, with a phrase and a line.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/perf/feature_priv.h"

static const char *const nouns[HPC_PERF_EVENTS] = {
    [HPC_PERF_LOOP] = "loop",
    [HPC_PERF_SAME_BOUND] = "loop over the same bound as one around it",
    [HPC_PERF_CALL] = "call of",
    [HPC_PERF_ALLOCATE] = "allocation",
    [HPC_PERF_FREE] = "release of memory",
    [HPC_PERF_COPY] = "copy of memory",
    [HPC_PERF_BY_VALUE] = "copy of an object of type",
    [HPC_PERF_REFERENCE] = "reference to an object of type",
    [HPC_PERF_IO] = "input or output",
    [HPC_PERF_LOCK] = "lock",
    [HPC_PERF_ATOMIC] = "atomic operation",
    [HPC_PERF_MATH] = "costly function",
    [HPC_PERF_INDIRECT] = "indirect call or cast",
    [HPC_PERF_INSERT] = "insertion into a container",
    [HPC_PERF_LOOKUP] = "look-up in a container",
    [HPC_PERF_SCAN] = "linear scan",
    [HPC_PERF_SORT] = "sort",
    [HPC_PERF_MESSAGE] = "message",
    [HPC_PERF_COLLECTIVE] = "collective operation",
    [HPC_PERF_SYNCHRONISE] = "synchronisation",
    [HPC_PERF_LAUNCH] = "launch",
    [HPC_PERF_DIVIDE] = "division",
    [HPC_PERF_ARITHMETIC] = "arithmetic",
    [HPC_PERF_LOAD] = "read of array",
    [HPC_PERF_STORE] = "write of array",
    [HPC_PERF_STRIDED] = "access that strides through array",
    [HPC_PERF_GATHER] = "access through an index to array",
    [HPC_PERF_BRANCH] = "branch",
    [HPC_PERF_EXIT] = "early exit",
    [HPC_PERF_RECURSE] = "recursion",
    [HPC_PERF_THROW] = "exception",
    [HPC_PERF_WAIT] = "wait",
    [HPC_PERF_THREAD_INDEX] = "write by a thread's number (false sharing) to array",
    [HPC_PERF_PADDING] = "alignment",
    [HPC_PERF_PARALLEL] = "parallel region",
    [HPC_PERF_WORKSHARE] = "loop shared among threads",
    [HPC_PERF_SIMD] = "vector directive",
    [HPC_PERF_COLLAPSE] = "clause",
    [HPC_PERF_DYNAMIC] = "schedule",
    [HPC_PERF_STATIC] = "schedule",
    [HPC_PERF_REDUCTION] = "clause",
    [HPC_PERF_SERIAL] = "region for one thread at a time",
    [HPC_PERF_TARGET] = "region for a device",
    [HPC_PERF_UNROLL] = "directive",
    [HPC_PERF_NOWAIT] = "clause",
    [HPC_PERF_DOUBLE] = "use of type",
    [HPC_PERF_SINGLE] = "use of type",
    [HPC_PERF_HALF] = "use of type",
    [HPC_PERF_WIDE] = "use of type",
    [HPC_PERF_NARROW] = "use of type",
    [HPC_PERF_INTEGER] = "use of type",
    [HPC_PERF_CONST] = "qualifier",
    [HPC_PERF_RESTRICT] = "qualifier",
    [HPC_PERF_INLINE] = "qualifier",
    [HPC_PERF_NOINLINE] = "qualifier",
    [HPC_PERF_VOLATILE] = "qualifier",
    [HPC_PERF_FLAG_O0... HPC_PERF_FLAG_SLOW] = "flag",
};

void hpc_perf_reasons_release(hpc_perf_reasons *r)
{
    hpc_free(r->item);
    hpc_buf_release(&r->text);
    *r = (hpc_perf_reasons){0};
}

/* ---- events -----------------------------------------------------------------------------------
 */

/* The shifts of one function and kind: [*lo, *hi). */
static void shifts_of(int64_t *lo, int64_t *hi, const hpc_perf_features *f, int64_t function,
                      int kind)
{
    int64_t a = 0, b = f->shifts_n;
    while (a < b) {
        int64_t mid = a + (b - a) / 2;
        const hpc_perf_shift *s = &f->shift[mid];
        bool before = s->function < function || (s->function == function && s->kind < kind);
        if (before)
            a = mid + 1;
        else
            b = mid;
    }
    *lo = a;
    while (a < f->shifts_n && f->shift[a].function == function && f->shift[a].kind == kind) a++;
    *hi = a;
}

/* Those that go the way of the value, the deepest first; -1: none does. */
static int64_t main_shift(int64_t *others, const hpc_perf_features *f, int64_t lo, int64_t hi,
                          bool more)
{
    int64_t best = -1, n = 0;
    int depth = -1;
    for (int64_t k = lo; k < hi; k++) {
        const hpc_perf_shift *s = &f->shift[k];
        if (more ? s->head_depth <= s->base_depth : s->base_depth <= s->head_depth) continue;
        int mine = more ? s->head_depth : s->base_depth;
        n++;
        if (mine <= depth) continue;
        depth = mine;
        best = k;
    }
    *others = n - 1;
    return best;
}

static const char *loop_of(int depth)
{
    return depth > 1 ? "an inner loop" : "a loop";
}

/* A keyword or an operator only repeats what the noun says. */
static bool is_named(int kind, const char *word)
{
    unsigned char c = (unsigned char)word[0];
    bool flag = c == '-' && isalnum((unsigned char)word[1]);
    bool name = c == '_' || flag || c >= 0x80 || isalnum(c);
    return name && kind != HPC_PERF_LOOP && kind != HPC_PERF_BRANCH && kind != HPC_PERF_EXIT &&
           kind != HPC_PERF_SAME_BOUND;
}

static int put_shift(hpc_buf *out, const hpc_perf_features *f, const hpc_perf_shift *s)
{
    const char *noun = nouns[s->kind], *word = f->words.data + s->word;
    int base = s->base_depth, head = s->head_depth;
    int rc = HPC_OK;
    TRY(is_named(s->kind, word) ? hpc_buf_printf(out, "%s '%s' ", noun, word)
                                : hpc_buf_printf(out, "%s ", noun));
    if (base < 0 && head == 0) return hpc_buf_text(out, "added");
    if (base < 0) return hpc_buf_printf(out, "added in %s", loop_of(head));
    if (head < 0 && base == 0) return hpc_buf_text(out, "removed");
    if (head < 0) return hpc_buf_printf(out, "removed from %s", loop_of(base));
    if (head > base) return hpc_buf_printf(out, "moved into %s", loop_of(head));
    if (head == 0) return hpc_buf_printf(out, "moved out of %s", loop_of(base));
    return hpc_buf_text(out, "moved out of an inner loop");
out:
    return rc;
}

static int put_feature(hpc_buf *out, const hpc_perf_reason *r)
{
    return perf_feature_put(out, r->feature, r->value);
}

static int put_event(hpc_perf_reasons *out, hpc_perf_reason *r, const hpc_perf_features *f)
{
    int64_t lo = 0, hi = 0, others = 0;
    int rc = HPC_OK;
    shifts_of(&lo, &hi, f, r->function, hpc_perf_feature_at(r->feature)->event);
    int64_t k = main_shift(&others, f, lo, hi, r->value > 0);
    if (k < 0) return put_feature(&out->text, r);
    r->base = f->shift[k].head_line == 0;
    r->line = r->base ? f->shift[k].base_line : f->shift[k].head_line;
    TRY(put_shift(&out->text, f, &f->shift[k]));
    if (others > 0) TRY(hpc_buf_printf(&out->text, ", and %lld more", (long long)others));
out:
    return rc;
}

/* ---- what is no event ---------------------------------------------------------------------------
 */

static int put_constant(hpc_perf_reasons *out, hpc_perf_reason *r, const hpc_perf_features *f)
{
    const hpc_perf_constant *best = NULL;
    int rc = HPC_OK;
    for (int64_t k = 0; k < f->constants_n; k++) {
        const hpc_perf_constant *c = &f->constant[k];
        if (c->function == r->function && (!best || c->depth > best->depth)) best = c;
    }
    if (!best) return put_feature(&out->text, r);
    r->line = best->head_line;
    TRY(hpc_buf_printf(&out->text, "constant %s became %s", f->words.data + best->base,
                       f->words.data + best->head));
    if (best->depth > 0) TRY(hpc_buf_printf(&out->text, " in %s", loop_of(best->depth)));
out:
    return rc;
}

static int put_location(hpc_perf_reasons *out, hpc_perf_reason *r, const hpc_perf_features *f)
{
    const struct hpc_perf_touched *t = r->function >= 0 ? &f->touched[r->function] : NULL;
    if (!t || t->line == 0) return put_feature(&out->text, r);
    r->line = t->line;
    r->base = t->gone;
    if (t->depth == 0) return hpc_buf_text(&out->text, "code outside of loops changed");
    return hpc_buf_printf(&out->text, "code in %s changed", loop_of(t->depth));
}

static int put_heat(hpc_perf_reasons *out, const hpc_perf_reason *r, double parts)
{
    double percent = 100 * (exp2(r->value) - 1) / parts;
    return hpc_buf_printf(&out->text, "%.2g %% of the cost measured before is in %s", percent,
                          parts > 1000 ? "one of these lines" : "these lines");
}

static int put_special(hpc_perf_reasons *out, hpc_perf_reason *r, const hpc_perf_features *f,
                       perf_special which)
{
    switch (which) {
    case PERF_CONSTANTS:
    case PERF_CONSTANTS_GROWTH: return put_constant(out, r, f);
    case PERF_CHANGED_DEPTH:
    case PERF_CHANGED_WORK:
    case PERF_CHANGED_INNER: return put_location(out, r, f);
    case PERF_LANGUAGE_CHANGED:
        return hpc_buf_printf(&out->text,
                              "a language model gives a change of the cost a probability of %.2f",
                              1 - exp2(-r->value));
    case PERF_LANGUAGE_SLOWER:
        return hpc_buf_printf(&out->text,
                              "a language model considers %s %.3g times as probable as %s",
                              r->value > 0 ? "slower" : "faster", exp2(fabs(r->value)),
                              r->value > 0 ? "faster" : "slower");
    case PERF_HEAT: return put_heat(out, r, 1000);
    case PERF_HEAT_NEAR: return put_heat(out, r, 10000);
    case PERF_COLD:
        return hpc_buf_text(&out->text, "none of the changed lines ran in earlier measurements");
    case PERF_NO_EFFECT: return hpc_buf_text(&out->text, "only comments and white space changed");
    case PERF_ONLY_NAMES: return hpc_buf_text(&out->text, "only local names changed");
    case PERF_ONLY_STRINGS: return hpc_buf_text(&out->text, "only strings changed");
    case PERF_ONLY_ORDER: return hpc_buf_text(&out->text, "the same code in another order");
    default: return put_feature(&out->text, r);
    }
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

/* Features that share one reason. */
static int group_of(int feature)
{
    perf_special which;
    if (!perf_feature_is_special(feature, &which))
        return PERF_SPECIALS + hpc_perf_feature_at(feature)->event;
    if (which == PERF_CHANGED_WORK || which == PERF_CHANGED_INNER) return PERF_CHANGED_DEPTH;
    if (which == PERF_CONSTANTS_GROWTH) return PERF_CONSTANTS;
    if (which > PERF_HEAT && which <= PERF_HEAT_COST) return PERF_HEAT;
    if (which == PERF_LANGUAGE_SLOWER) return PERF_LANGUAGE_CHANGED;
    return (int)which;
}

static bool is_of_commit(int feature)
{
    perf_special which;
    if (!perf_feature_is_special(feature, &which)) return false;
    return which == PERF_MODULES || which == PERF_SKIPPED || which == PERF_OTHER_FILES ||
           which == PERF_BUILD_FILES;
}

/* How much changed is no reason that anybody could do something about. */
static bool is_size(int feature)
{
    perf_special which;
    return perf_feature_is_special(feature, &which) &&
           (which <= PERF_FILES || which == PERF_WORK_SHARE || which == PERF_HEADERS);
}

/* What says something by itself, not only how much changed. */
static double usual_weight(int feature)
{
    perf_special which;
    if (!perf_feature_is_special(feature, &which)) return 1;
    return which == PERF_CONSTANTS || which == PERF_CONSTANTS_GROWTH || which == PERF_MODULES ||
           (which >= PERF_NO_EFFECT && which <= PERF_ONLY_ORDER);
}

static int gather(hpc_perf_reasons *out, const hpc_perf_vector *v, int64_t function,
                  const double *weight)
{
    enum { GROUPS = PERF_SPECIALS + HPC_PERF_EVENTS };
    int best[GROUPS];
    double score[GROUPS] = {0};
    int rc = HPC_OK;
    for (int i = 0; i < HPC_PERF_FEATURES; i++) {
        double mine = v->value[i] * (weight ? weight[i] : usual_weight(i));
        int group = group_of(i);
        if (is_size(i) || (function < 0 && !is_of_commit(i))) continue;
        if (fabs(mine) <= fabs(score[group])) continue;
        score[group] = mine;
        best[group] = i;
    }
    for (int g = 0; g < GROUPS; g++) {
        if (score[g] == 0) continue;
        TRY(hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item));
        out->item[out->n++] = (hpc_perf_reason){.feature = best[g],
                                                .value = v->value[best[g]],
                                                .score = score[g],
                                                .function = function};
    }
out:
    return rc;
}

static int by_score(const void *a, const void *b)
{
    const hpc_perf_reason *x = a, *y = b;
    if (fabs(x->score) != fabs(y->score)) return fabs(x->score) > fabs(y->score) ? -1 : 1;
    if (x->function != y->function) return x->function < y->function ? -1 : 1;
    return (x->feature > y->feature) - (x->feature < y->feature);
}

int hpc_perf_reasons_find(hpc_perf_reasons *out, const hpc_perf_features *f, int64_t function,
                          const double *weight, int64_t most)
{
    int rc = HPC_OK;
    out->n = 0;
    out->text.n = 0;
    out->text.failed = 0;
    for (int64_t k = 0; k < f->n; k++)
        if (function < 0 || function == k) TRY(gather(out, &f->function[k], k, weight));
    if (function < 0) TRY(gather(out, &f->commit, -1, weight));
    if (out->n > 1) qsort(out->item, (size_t)out->n, sizeof *out->item, by_score);
    if (out->n > most) out->n = most;
    for (int64_t k = 0; k < out->n; k++) {
        hpc_perf_reason *r = &out->item[k];
        perf_special which;
        r->text = out->text.n;
        bool special = perf_feature_is_special(r->feature, &which);
        TRY(special ? put_special(out, r, f, which) : put_event(out, r, f));
        TRY(hpc_buf_add(&out->text, "", 1));
    }
out:
    if (rc < 0) out->n = 0;
    return rc;
}

/*
 * propose.c: choice of the directive: threads if they pay, with collapsed inner loops; vectors and
 * a device on request.
 */
#include "infer/pragma/propose.h"

#include <string.h>

#include "infer/pragma/nest.h"
#include "infer/pragma/profit.h"
#include "infer/pragma/target.h"
#include "infer/pragma/vector.h"

typedef struct proposal {
    int collapse;       /* number of loops to collapse; 1: none */
    bool threads, simd; /* neither: no proposal */
    bool target;
    hpc_buf maps; /* map clauses */
} proposal;

/* ---- its text -----------------------------------------------------------------------------------
 */

static void clause(hpc_buf *b, const char *name, const hpc_buf *names)
{
    if (names->n > 0) hpc_buf_printf(b, " %s(%s)", name, names->data);
}

/* A step is for all variables of its clause, so each variable that has one gets its own. */
static void linear_clauses(hpc_buf *b, const hpc_buf *names)
{
    hpc_buf plain = {0};
    for (size_t at = 0; at < names->n;) {
        const char *item = names->data + at, *end = strstr(item, ", ");
        const size_t n = end ? (size_t)(end - item) : names->n - at;
        const char *step = memchr(item, ':', n);
        while (step && step[1] == ':') /* "ns::k" */
            step = memchr(step + 2, ':', n - (size_t)(step + 2 - item));
        if (step)
            hpc_buf_printf(b, " linear(%.*s)", (int)n, item);
        else
            hpc_buf_printf(&plain, "%s%.*s", plain.n > 0 ? ", " : "", (int)n, item);
        at += n + 2;
    }
    clause(b, "linear", &plain);
    if (plain.failed) b->failed = plain.failed;
    hpc_buf_release(&plain);
}

static const char *name_of(const proposal *p)
{
    if (p->target) return "target teams distribute parallel for";
    if (!p->threads) return "simd";
    return p->simd ? "parallel for simd" : "parallel for";
}

/* Dealt out one by one, iterations of a collapsed nest would cost more than they balance. */
static const char *schedule_of(const walk *w, const proposal *p)
{
    if (!w->loop->cost.uneven || p->target || !p->threads) return "";
    return p->collapse > 1 ? " schedule(guided)" : " schedule(dynamic)";
}

static const char *directive(walk *w, const proposal *p, bool none)
{
    const clauses *c = &w->answer->clauses;
    hpc_buf b = {0};
    hpc_buf_printf(&b, "#pragma omp %s", name_of(p));
    if (p->collapse > 1) hpc_buf_printf(&b, " collapse(%d)", p->collapse);
    if (p->threads) {
        if (none) hpc_buf_text(&b, " default(none)");
        clause(&b, "shared", &c->shared);
    }
    clause(&b, "private", &c->privates);
    clause(&b, "lastprivate", &c->last);
    if (c->conditional.n > 0)
        hpc_buf_printf(&b, " lastprivate(conditional: %s)", c->conditional.data);
    linear_clauses(&b, &c->linear);
    for (int k = 0; k < c->n; k++)
        hpc_buf_printf(&b, " reduction(%s:%s)", reduction_name(c->reduction[k].op),
                       c->reduction[k].names.data);
    hpc_buf_text(&b, schedule_of(w, p));
    if (p->target && p->maps.n > 0) hpc_buf_text(&b, p->maps.data);
    const char *kept = b.failed ? NULL : hpc_arena_text(w->loop->p->out, "%s", b.data);
    if (!kept) answer_fail(w->answer, HPC_E_NOMEM);
    hpc_buf_release(&b);
    return kept;
}

/* ---- what it costs ------------------------------------------------------------------------------
 */

enum { SMALL_OPERATIONS = 4000 };

static bool is_small(walk *w)
{
    double trips = trips_of(w->prover, &w->loop->head);
    return trips >= 0 && trips * (w->loop->cost.operations + 2) < SMALL_OPERATIONS;
}

static void say_small(walk *w)
{
    answer_note(w->answer, "cost", w->loop->node,
                "%.0f iterations of about %.0f operations are too few to pay",
                trips_of(w->prover, &w->loop->head), w->loop->cost.operations + 2);
}

/* Why iterations are dealt out as threads ask for them. */
static void say_uneven(walk *w)
{
    if (!w->loop->cost.uneven || !w->loop->cost.uneven_why) return;
    answer_note(w->answer, "cost", w->loop->cost.uneven_at, "iterations differ in cost: %s",
                w->loop->cost.uneven_why);
}

/* ---- the choice ---------------------------------------------------------------------------------
 */

static void choose(proposal *p, walk *w, const hpc_pragma_options *o, bool *small)
{
    if (*small && w->loop->cost.guessed) { /* with many iterations inside, they do pay as one */
        p->collapse = nest_collapse(w, false);
        *small = p->collapse == 1;
    }
    if (*small) {
        say_small(w);
        p->threads = !(o->simd && vector_fits(w->answer, w->loop, w->prover));
        p->simd = !p->threads;
        return;
    }
    p->target = o->target && target_maps(&p->maps, w);
    if (p->collapse == 1 || p->target) p->collapse = nest_collapse(w, p->target);
    p->simd = o->simd && !p->target && vector_fits(w->answer, w->loop, w->prover);
}

/* Vectors for a reduction for which threads do not pay. Adds no evidence. */
static void propose_vector(hpc_pragma_loop *out, walk *w)
{
    const proposal vector = {.collapse = 1, .simd = true};
    if (!out->idle || w->answer->clauses.n == 0) return;
    bool was = answer_mute(w->answer, true);
    if (vector_fits(w->answer, w->loop, w->prover)) out->vector = directive(w, &vector, false);
    answer_mute(w->answer, was);
}

/* A kernel, or a lambda in one. */
static bool runs_on_gpu(const walk *w)
{
    for (int32_t i = w->loop->function; i > 0; i = function_around(w->t, i)) {
        const int32_t symbol = w->t->node[i].symbol;
        if (symbol >= 0 && (w->t->symbol[symbol].flags & HPC_SYMBOL_DEVICE)) return true;
    }
    return false;
}

void propose(hpc_pragma_loop *out, walk *w, const hpc_pragma_options *o)
{
    const proposal plain = {.collapse = 1, .threads = true};
    proposal p = plain;
    out->small = is_small(w);
    if (w->answer->evidence_n == 0 && (!out->small || w->loop->cost.guessed))
        answer_note(w->answer, "dependence", w->loop->node,
                    w->answer->assumptions_n > 0
                        ? "iterations do not conflict in memory if the assumptions hold"
                        : "iterations do not conflict in memory");
    if (runs_on_gpu(w)) {
        out->pragma = directive(w, &plain, o->default_none);
        out->idle = "each thread of a GPU runs it";
        return;
    }
    say_uneven(w);
    choose(&p, w, o, &out->small);
    if (p.collapse > 1 || p.simd || p.target) out->plain = directive(w, &plain, o->default_none);
    out->pragma = directive(w, &p, o->default_none);
    out->vectors = !p.threads;
    if (!p.target) {
        profit_of(out, w);
        propose_vector(out, w);
    }
    hpc_buf_release(&p.maps);
}

/*
 * propose.c: the directive of a loop whose iterations are independent: threads where they pay, with
 * the loops inside that become one with it; vectors and a device where they are asked for.
 */
#include <string.h>

#include "infer/pragma/profit.h"

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
static const char *schedule_of(const study *s, const proposal *p)
{
    if (!s->uneven || p->target || !p->threads) return "";
    return p->collapse > 1 ? " schedule(guided)" : " schedule(dynamic)";
}

static const char *directive(study *s, const clauses *c, const proposal *p, bool none)
{
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
    hpc_buf_text(&b, schedule_of(s, p));
    if (p->target && p->maps.n > 0) hpc_buf_text(&b, p->maps.data);
    const char *kept = b.failed ? NULL : hpc_arena_text(s->program->out, "%s", b.data);
    if (!kept) answer_fail(s->answer, HPC_E_NOMEM);
    hpc_buf_release(&b);
    return kept;
}

/* ---- what it costs ------------------------------------------------------------------------------
 */

enum { SMALL_OPERATIONS = 4000 };

static bool is_small(study *s)
{
    double trips = nest_trips(s, &s->head);
    return trips >= 0 && trips * (s->cost + 2) < SMALL_OPERATIONS;
}

static void say_small(study *s)
{
    answer_note(s->answer, "cost", s->loop,
                "%.0f iterations of about %.0f operations are too few to pay",
                nest_trips(s, &s->head), s->cost + 2);
}

/* Why iterations are dealt out as threads ask for them. */
static void say_uneven(study *s)
{
    if (!s->uneven || !s->uneven_why) return;
    answer_note(s->answer, "cost", s->uneven_at, "iterations differ in cost: %s", s->uneven_why);
}

/* ---- bodies -------------------------------------------------------------------------------------
 */

static const char *plain_call(const study *s, int32_t call)
{
    const hpc_tree_node *n = &s->t->node[call];
    call_known k = call_known_of(s->t, n->symbol);
    bool element = k == CALL_METHOD_PLACE && (n->flags & HPC_TREE_OPERATOR);
    if (k == CALL_VALUE || k == CALL_METHOD_READ || element) return NULL;
    return hpc_arena_text(s->program->out, "%s is called",
                          n->symbol >= 0 ? symbol_name(s->t, n->symbol) : "something");
}

static const char *plain_node(const study *s, int32_t i, bool vectors)
{
    const hpc_tree_node *n = &s->t->node[i];
    uint8_t flags = n->type >= 0 ? s->t->type[n->type].flags : 0;
    if (flags & (HPC_TYPE_VOLATILE | HPC_TYPE_ATOMIC)) return "it is volatile or atomic";
    switch (n->kind) {
    case HPC_TREE_CALL: return plain_call(s, i);
    case HPC_TREE_SWITCH: return vectors ? "a switch cannot be vectorized" : NULL;
    case HPC_TREE_OTHER:
    case HPC_TREE_TRY:
    case HPC_TREE_ASM:
    case HPC_TREE_GOTO:
    case HPC_TREE_LABEL:
    case HPC_TREE_THROW:
    case HPC_TREE_NEW:
    case HPC_TREE_DELETE:
    case HPC_TREE_CONSTRUCT:
    case HPC_TREE_STRING:
    case HPC_TREE_LAMBDA: return "it is not plain arithmetic";
    default: return NULL;
    }
}

bool propose_is_plain(const char **why, int32_t *node, const study *s, bool vectors)
{
    const hpc_tree_node *l = &s->t->node[s->loop];
    *node = s->loop;
    *why = NULL;
    for (size_t i = l->at; i < l->to && i < s->program->text_n; i++)
        if (s->program->text[i] == '#' ||
            (l->to - i > 7 && memcmp(s->program->text + i, "_Pragma", 7) == 0))
            *why = "it contains other directives";
    for (int32_t i = s->loop + 1; i < l->end && !*why; i++) {
        *why = plain_node(s, i, vectors);
        *node = i;
    }
    return *why == NULL;
}

/* ---- the choice ---------------------------------------------------------------------------------
 */

static void choose(proposal *p, study *s, const clauses *c, const hpc_pragma_options *o,
                   bool *small)
{
    if (*small && s->guessed) { /* with many iterations inside, they do pay as one */
        p->collapse = nest_collapse(s, c, false);
        *small = p->collapse == 1;
    }
    if (*small) {
        say_small(s);
        p->threads = !(o->simd && vector_fits(s, c));
        p->simd = !p->threads;
        return;
    }
    p->target = o->target && target_maps(&p->maps, s, c);
    if (p->collapse == 1 || p->target) p->collapse = nest_collapse(s, c, p->target);
    p->simd = o->simd && !p->target && vector_fits(s, c);
}

/* Vectors for a reduction for which threads do not pay. Adds no evidence. */
static void propose_vector(hpc_pragma_loop *out, study *s, const clauses *c)
{
    const proposal vector = {.collapse = 1, .simd = true};
    if (!out->idle || c->n == 0) return;
    bool was = answer_mute(s->answer, true);
    if (vector_fits(s, c)) out->vector = directive(s, c, &vector, false);
    answer_mute(s->answer, was);
}

/* A kernel, or a lambda in one. */
static bool runs_on_gpu(const study *s)
{
    for (int32_t i = s->function; i > 0; i = function_around(s->t, i)) {
        const int32_t symbol = s->t->node[i].symbol;
        if (symbol >= 0 && (s->t->symbol[symbol].flags & HPC_SYMBOL_DEVICE)) return true;
    }
    return false;
}

void propose(hpc_pragma_loop *out, study *s, const clauses *c, const hpc_pragma_options *o)
{
    const proposal plain = {.collapse = 1, .threads = true};
    proposal p = plain;
    out->small = is_small(s);
    if (s->answer->evidence_n == 0 && (!out->small || s->guessed))
        answer_note(s->answer, "dependence", s->loop,
                    s->answer->assumptions_n > 0
                        ? "iterations do not conflict in memory if the assumptions hold"
                        : "iterations do not conflict in memory");
    if (runs_on_gpu(s)) {
        out->pragma = directive(s, c, &plain, o->default_none);
        out->idle = "each thread of a GPU runs it";
        return;
    }
    say_uneven(s);
    choose(&p, s, c, o, &out->small);
    if (p.collapse > 1 || p.simd || p.target) out->plain = directive(s, c, &plain, o->default_none);
    out->pragma = directive(s, c, &p, o->default_none);
    out->vectors = !p.threads;
    if (!p.target) {
        profit_of(out, s);
        propose_vector(out, s, c);
    }
    hpc_buf_release(&p.maps);
}

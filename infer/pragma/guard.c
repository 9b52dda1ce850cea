/*
 * guard.c: the if clause under which all assumptions about a loop hold.
 */
#include "infer/pragma/spell.h"

#include <string.h>

/* "n > 0 && ", in front of checks that read what the loop reads only where it runs; false: that
 * cannot be said. */
static bool put_runs(hpc_buf *b, walk *w)
{
    spelling x = {.w = w, .wide = true};
    const poly *count =
        poly_plus(w->prover, poly_less(w->prover, w->loop->head.hi, w->loop->head.lo), 1);
    if (!w->answer->reads_loop || prove_positive(w->prover, count, w->loop->before)) return true;
    if (!count) return false;
    spell_compare(&x, poly_plus(w->prover, w->loop->head.hi, 1), ">", w->loop->head.lo);
    if (x.text.failed) answer_fail(w->answer, x.text.failed);
    bool ok = !x.failed && !x.runs && !x.text.failed;
    if (ok) hpc_buf_text(b, x.text.data);
    hpc_buf_release(&x.text);
    return ok;
}

/* True if an assumption needs no test, or one before it has the same check. */
static bool is_left_out(const hpc_pragma_loop *l, int64_t k)
{
    if (l->assumption[k].trusted) return true;
    for (int64_t i = 0; i < k; i++)
        if (!l->assumption[i].trusted &&
            strcmp(l->assumption[i].check, l->assumption[k].check) == 0)
            return true;
    return false;
}

const char *guard_of(walk *w, const hpc_pragma_loop *l)
{
    const char *out = NULL;
    hpc_buf b = {0};
    int64_t n = 0;
    if (l->untested) return NULL;
    for (int64_t k = 0; k < l->assumptions_n; k++) n += !is_left_out(l, k);
    if (n > 0 && put_runs(&b, w)) {
        const bool several = n > 1 || b.n > 0;
        for (int64_t k = 0; k < l->assumptions_n; k++) {
            if (is_left_out(l, k)) continue;
            hpc_buf_printf(&b, several ? "%s(%s)" : "%s%s", b.n > 0 ? " && " : "",
                           l->assumption[k].check);
        }
        out = b.failed ? NULL : hpc_arena_text(w->loop->p->out, "%s", b.data);
        if (!out) answer_fail(w->answer, HPC_E_NOMEM);
    }
    hpc_buf_release(&b);
    return out;
}

/* The condition of an if clause that a directive has, without a modifier; *n: its bytes. NULL: it
 * has none. */
static const char *condition_of(const char *directive, size_t *n)
{
    static const char open[] = " if(";
    const char *p = strstr(directive, open), *q;
    int depth = 1;
    if (!p) return NULL;
    p += sizeof open - 1;
    for (q = p; *q && depth > 0; q++) depth += *q == '(' ? 1 : *q == ')' ? -1 : 0;
    *n = (size_t)(q - p) - 1;
    return p;
}

static const char *both_of(hpc_arena *a, const char *x, const char *y)
{
    return x && y ? hpc_arena_text(a, "(%s) && (%s)", x, y) : x ? x : y;
}

/* Adds conditions for threads and for vectors; NULL: none. Before OpenMP 5.0 an if clause of
 * `parallel for simd` applies to threads alone, so each of the two has its own. */
static const char *with_clauses(hpc_arena *a, const char *directive, const char *threads,
                                const char *vectors)
{
    static const char both[] = "#pragma omp parallel for simd", modifier[] = "parallel: ";
    size_t n;
    const char *other = condition_of(directive, &n); /* a directive has at most one if clause */
    if (other) {
        const size_t skip =
            strncmp(other, modifier, sizeof modifier - 1) == 0 ? sizeof modifier - 1 : 0;
        const char *had = hpc_arena_text(a, "%.*s", (int)(n - skip), other + skip);
        if (!had) return NULL;
        threads = both_of(a, had, threads);
        if (skip == 0) vectors = both_of(a, had, vectors);
        directive =
            hpc_arena_text(a, "%.*s%s", (int)(other - directive) - 4, directive, other + n + 1);
        if (!threads || !directive) return NULL;
    }
    if (strncmp(directive, both, sizeof both - 1) != 0)
        return hpc_arena_text(a, "%s if(%s)", directive, threads);
    directive = hpc_arena_text(a, "%s if(parallel: %s)", directive, threads);
    if (!directive || !vectors) return directive;
    return hpc_arena_text(a, "%s if(simd: %s)", directive, vectors);
}

int hpc_pragma_guard(hpc_pragma_loops *l)
{
    for (int64_t k = 0; k < l->n; k++) {
        hpc_pragma_loop *x = &l->item[k];
        if (!x->guard || !x->pragma) continue;
        x->pragma = with_clauses(l->arena, x->pragma, x->guard, x->guard);
        if (!x->pragma) return HPC_E_NOMEM;
    }
    return HPC_OK;
}

int hpc_pragma_limit(hpc_pragma_loops *l)
{
    for (int64_t k = 0; k < l->n; k++) {
        hpc_pragma_loop *x = &l->item[k];
        if (x->existing) continue;
        if (x->idle && x->vector && x->pragma) {
            x->pragma = x->vector;
            x->vectors = true;
        }
        if (!x->least || !x->pragma || x->vectors || x->idle) continue;
        x->pragma = with_clauses(l->arena, x->pragma, x->least, NULL);
        if (!x->pragma) return HPC_E_NOMEM;
    }
    return HPC_OK;
}

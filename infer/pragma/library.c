/*
 * library.c: see library.h. The calls are found by their tokens, so the headers of the libraries
 * may be missing. Names without their namespace are not found.
 */
#include "infer/pragma/library.h"

#include <string.h>

static const struct {
    const char *space, *name; /* NULL: any name, with a parallel execution policy */
} functions[] = {{"Kokkos", "parallel_for"},  {"Kokkos", "parallel_reduce"},
                 {"Kokkos", "parallel_scan"}, {"RAJA", "forall"},
                 {"RAJA", "kernel"},          {"RAJA", "kernel_param"},
                 {"RAJA", "launch"},          {"std", NULL}};

static bool is_token(const directives *d, int64_t k, const char *text)
{
    const size_t n = strlen(text);
    if (k < 0 || k >= d->tokens.n) return false;
    const hpc_token *t = &d->tokens.item[k];
    return t->n == n && memcmp(d->text + t->at, text, n) == 0;
}

/* The token after the bracket that opens at k; -1: it does not close. >> closes two, -> none. */
static int64_t after_bracket(const directives *d, int64_t k, char open, char close)
{
    const bool angle = open == '<';
    int64_t depth = 0;
    for (; k < d->tokens.n; k++) {
        const hpc_token *t = &d->tokens.item[k];
        if (angle && (is_token(d, k, ";") || is_token(d, k, "{"))) return -1;
        if (t->n != 1 && !(angle && is_token(d, k, ">>"))) continue;
        const int64_t n = t->n;
        depth += n * (d->text[t->at] == open) - n * (d->text[t->at] == close);
        if (depth <= 0) return k + 1;
    }
    return -1;
}

/* The opening parenthesis of the call of a name at k; -1: no call. */
static int64_t call_of(const directives *d, int64_t k)
{
    k++;
    if (is_token(d, k, "<")) k = after_bracket(d, k, '<', '>');
    return is_token(d, k, "(") ? k : -1;
}

/* True if an argument is execution::par or execution::par_unseq. */
static bool has_policy(const directives *d, int64_t from, int64_t to)
{
    for (int64_t k = from; k + 2 < to; k++)
        if (is_token(d, k, "execution") && is_token(d, k + 1, "::") &&
            (is_token(d, k + 2, "par") || is_token(d, k + 2, "par_unseq")))
            return true;
    return false;
}

/* The end of the call that begins at token k with a namespace; -1: another expression. */
static int64_t end_of_call(const directives *d, int64_t k)
{
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        if (!is_token(d, k, functions[f].space) || !is_token(d, k + 1, "::")) continue;
        if (functions[f].name && !is_token(d, k + 2, functions[f].name)) continue;
        const int64_t open = call_of(d, k + 2);
        const int64_t end = open < 0 ? -1 : after_bracket(d, open, '(', ')');
        if (end < 0) continue;
        if (functions[f].name || has_policy(d, open, end)) return end;
    }
    return -1;
}

static int add_call(hpc_pragma_loops *out, int64_t *cap, const directives *d, int64_t k,
                    int64_t end)
{
    const hpc_token *first = &d->tokens.item[k], *name = first + 2,
                    *last = &d->tokens.item[end - 1];
    uint32_t begin = first->at;
    int rc;
    while (begin > 0 && d->text[begin - 1] != '\n') begin--;
    hpc_evidence *why = hpc_arena_alloc(out->arena, 1, sizeof *why);
    const char *called = hpc_arena_text(out->arena, "%.*s", (int)(name->at + name->n - first->at),
                                        d->text + first->at);
    if (!why || !called) return HPC_E_NOMEM;
    *why = (hpc_evidence){.kind = "form",
                          .line = first->line,
                          .text = hpc_arena_text(out->arena, "%s runs in parallel", called),
                          .alone = HPC_VERDICT_PARALLEL};
    if (!why->text) return HPC_E_NOMEM;
    TRY(hpc_grow(&out->item, cap, out->n + 1, sizeof *out->item));
    out->item[out->n++] = (hpc_pragma_loop){.line = first->line,
                                            .column = first->at - begin + 1,
                                            .end_line = last->line,
                                            .at = first->at,
                                            .end = last->at + last->n,
                                            .outer = -1,
                                            .node = -1,
                                            .function = "",
                                            .already = called,
                                            .fixed = why->text,
                                            .likely = -1,
                                            .evidence = why,
                                            .evidence_n = 1};
out:
    return rc;
}

int library_find(hpc_pragma_loops *out, int64_t *cap, const directives *d)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k + 3 < d->tokens.n && d->language != HPC_LANGUAGE_FORTRAN; k++) {
        if (d->tokens.item[k].flags & HPC_TOKEN_IN_DIRECTIVE) continue;
        const int64_t end = end_of_call(d, k);
        if (end < 0) continue;
        TRY(add_call(out, cap, d, k, end));
    }
out:
    return rc;
}

/*
 * Pragmas as events. Other preprocessor lines are skipped, except the replacement text of macros.
 */
#include <string.h>
#include <strings.h>

#include "infer/perf/scan.h"

static int kind_of(const char *word, size_t n)
{
    static const struct {
        const char *word;
        hpc_perf_event_kind kind;
    } words[] = {
        {"parallel", HPC_PERF_PARALLEL},
        {"kernels", HPC_PERF_PARALLEL},
        {"for", HPC_PERF_WORKSHARE},
        {"do", HPC_PERF_WORKSHARE},
        {"distribute", HPC_PERF_WORKSHARE},
        {"taskloop", HPC_PERF_WORKSHARE},
        {"loop", HPC_PERF_WORKSHARE},
        {"sections", HPC_PERF_WORKSHARE},
        {"simd", HPC_PERF_SIMD},
        {"ivdep", HPC_PERF_SIMD},
        {"vector", HPC_PERF_SIMD},
        {"vectorize", HPC_PERF_SIMD},
        {"collapse", HPC_PERF_COLLAPSE},
        {"dynamic", HPC_PERF_DYNAMIC},
        {"guided", HPC_PERF_DYNAMIC},
        {"static", HPC_PERF_STATIC},
        {"reduction", HPC_PERF_REDUCTION},
        {"critical", HPC_PERF_SERIAL},
        {"ordered", HPC_PERF_SERIAL},
        {"single", HPC_PERF_SERIAL},
        {"master", HPC_PERF_SERIAL},
        {"masked", HPC_PERF_SERIAL},
        {"atomic", HPC_PERF_ATOMIC},
        {"barrier", HPC_PERF_SYNCHRONISE},
        {"taskwait", HPC_PERF_SYNCHRONISE},
        {"nowait", HPC_PERF_NOWAIT},
        {"target", HPC_PERF_TARGET},
        {"unroll", HPC_PERF_UNROLL},
        {"unroll_and_jam", HPC_PERF_UNROLL},
        {"noinline", HPC_PERF_NOINLINE},
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (strlen(words[k].word) == n && strncasecmp(words[k].word, word, n) == 0)
            return words[k].kind;
    return -1;
}

static bool is_word(const perf_scan *x, int64_t i, const char *word)
{
    const hpc_token *t = perf_token(x, i);
    return t->n == strlen(word) && strncasecmp(x->s->text.data + t->at, word, t->n) == 0;
}

/* Tokens [lo, hi) of a pragma; "end ..." of Fortran adds only nowait. */
static int read_pragma(perf_scan *x, int64_t lo, int64_t hi)
{
    bool closes = false;
    int rc = HPC_OK;
    for (int64_t i = lo; i < hi; i++) {
        const hpc_token *t = perf_token(x, i);
        if (t->kind != HPC_TOKEN_NAME) continue;
        closes |= x->fortran && i <= lo + 1 && t->n >= 3 &&
                  strncasecmp(x->s->text.data + t->at, "end", 3) == 0;
        int kind = kind_of(x->s->text.data + t->at, t->n);
        bool counts = kind >= 0 && (!closes || kind == HPC_PERF_NOWAIT);
        if (counts) TRY(perf_event_add(x, (hpc_perf_event_kind)kind, i));
    }
out:
    return rc;
}

int perf_scan_directive(perf_scan *x)
{
    int64_t i = x->i, end = i + 1;
    bool line = PERF_IS(x, i, "#");
    while (end < x->n && (perf_token(x, end)->flags & HPC_TOKEN_IN_DIRECTIVE) &&
           perf_token(x, end)->kind != HPC_TOKEN_SENTINEL)
        end++;
    int64_t last = end - 1;
    if (line && i + 2 < end && is_word(x, i + 1, "define")) last = i + 2;
    memset(x->depth + i, x->depth[i], (size_t)(last + 1 - i));
    x->i = last;
    if (line && (i + 1 >= end || !is_word(x, i + 1, "pragma"))) return HPC_OK;
    return read_pragma(x, line ? i + 2 : i + 1, end);
}

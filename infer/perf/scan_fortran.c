/*
 * Events of Fortran functions. A call and an array access look alike; a name indexed by a loop
 * variable is an array.
 */
#include <string.h>
#include <strings.h>

#include "infer/perf/scan.h"

static bool is(const perf_scan *x, int64_t i, const char *word)
{
    if (i < 0 || i >= x->n) return false;
    const hpc_token *t = perf_token(x, i);
    return t->n == strlen(word) && strncasecmp(x->s->text.data + t->at, word, t->n) == 0;
}

static bool is_one_of(const perf_scan *x, int64_t i, const char *const *words)
{
    for (; *words; words++)
        if (is(x, i, *words)) return true;
    return false;
}

static bool begins_statement(const perf_scan *x, int64_t i)
{
    int64_t k = ((const int64_t *)(const void *)x->code.data)[i] - 1;
    while (k >= 0 && x->s->t.item[k].kind == HPC_TOKEN_COMMENT) k--;
    if (k < 0) return true;
    uint8_t kind = x->s->t.item[k].kind;
    return kind == HPC_TOKEN_NEWLINE || kind == HPC_TOKEN_LABEL || kind == HPC_TOKEN_END_DIRECTIVE;
}

/* A statement of its own, or what `if (...)` does. */
static bool is_statement(const perf_scan *x, int64_t i)
{
    if (begins_statement(x, i)) return true;
    int64_t open = is(x, i - 1, ")") ? x->mate[i - 1] : -1;
    return open > 0 && is(x, open - 1, "if");
}

/* ---- types ------------------------------------------------------------------------------------
 */

/* A real of eight bytes: real(8), real*8, real(kind=dp). */
static bool is_wide(const perf_scan *x, int64_t i)
{
    static const char *const wide[] = {"8",     "dp",     "real64", "r8",        "wp", "double",
                                       "int64", "c_long", "i8",     "rkind",     "d",  "c_double",
                                       "rk",    "real_8", "dbl",    "c_int64_t", NULL};
    if (is(x, i + 1, "*")) return is(x, i + 2, "8");
    if (!is(x, i + 1, "(") || x->mate[i + 1] < i) return false;
    for (int64_t k = i + 2; k < x->mate[i + 1] && k < i + 8; k++)
        if (is_one_of(x, k, wide)) return true;
    return false;
}

static int type(perf_scan *x, int64_t i, bool *taken)
{
    bool real = is(x, i, "real") || is(x, i, "complex");
    *taken = real || is(x, i, "integer");
    if (!*taken) return HPC_OK;
    bool wide = is_wide(x, i);
    hpc_perf_event_kind kind = wide ? HPC_PERF_WIDE : HPC_PERF_INTEGER;
    if (real) kind = wide ? HPC_PERF_DOUBLE : HPC_PERF_SINGLE;
    return perf_event_add(x, kind, i);
}

/* ---- names -------------------------------------------------------------------------------------
 */

static int call(perf_scan *x, int64_t i)
{
    int message = perf_scan_message(x, i);
    perf_word w = perf_word_find(x->words->fortran, perf_token(x, i)->hash);
    hpc_perf_event_kind kind = HPC_PERF_CALL;
    if (message >= 0)
        kind = (hpc_perf_event_kind)message;
    else if ((w.how & PERF_WORD_CALLED) && w.kind < HPC_PERF_EVENTS)
        kind = (hpc_perf_event_kind)w.kind;
    else if (perf_scan_is_itself(x, i))
        kind = HPC_PERF_RECURSE;
    return perf_event_add(x, kind, i);
}

static int statement(perf_scan *x, int64_t i, bool *taken)
{
    static const char *const jumps[] = {"return", "exit", "cycle", "goto", "stop", NULL};
    static const char *const io[] = {"write", "print", "read", "open", "close", "flush", NULL};
    *taken = true;
    if (is(x, i, "call") && i + 1 < x->n) {
        x->depth[i + 1] = x->depth[i];
        x->i++;
        return call(x, i + 1);
    }
    if (is_one_of(x, i, jumps)) {
        bool last = is(x, i, "return") && is(x, i + 1, "end");
        return last ? HPC_OK : perf_event_add(x, HPC_PERF_EXIT, i);
    }
    if (is_one_of(x, i, io) && (is(x, i, "print") || is(x, i + 1, "(")))
        return perf_event_add(x, HPC_PERF_IO, i);
    if (begins_statement(x, i)) return type(x, i, taken);
    *taken = false;
    return HPC_OK;
}

static bool counts(const perf_scan *x, uint32_t hash)
{
    for (int32_t k = 0; k < x->open_n; k++)
        if (x->region[x->open[k]].variable == hash) return true;
    return false;
}

static bool is_indexed(const perf_scan *x, int64_t open)
{
    enum { SEEN = 64 };
    for (int64_t k = open + 1; k < x->mate[open] && k < open + SEEN; k++)
        if (perf_token(x, k)->kind == HPC_TOKEN_NAME && counts(x, perf_token(x, k)->hash))
            return true;
    return false;
}

static int name(perf_scan *x, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    bool taken = false, opens = i + 1 < x->n && is(x, i + 1, "(") && x->mate[i + 1] > i;
    int rc = HPC_OK;
    if (is_statement(x, i)) TRY(statement(x, i, &taken));
    if (taken) return rc;
    bool choice = is(x, i, "if") || is(x, i, "elseif") || is(x, i, "where");
    if (choice && opens && !is(x, i - 1, "end")) return perf_event_add(x, HPC_PERF_BRANCH, i);
    if (is(x, i, "select") && !is(x, i - 1, "end")) return perf_event_add(x, HPC_PERF_BRANCH, i);
    perf_word w = perf_word_find(x->words->fortran, t->hash);
    bool counts = (w.how & PERF_WORD_ALONE) || ((w.how & PERF_WORD_CALLED) && opens);
    if (w.how & PERF_WORD_MEMBER) counts = false;
    if (counts && w.kind < HPC_PERF_EVENTS)
        return perf_event_add(x, (hpc_perf_event_kind)w.kind, i);
    if ((w.how & PERF_WORD_KEYWORD) || !opens || !is_indexed(x, i + 1)) return rc;
    int64_t behind;
    return perf_scan_index(x, &behind, i);
out:
    return rc;
}

int perf_scan_fortran(perf_scan *x)
{
    int64_t i = x->i;
    const hpc_token *t = perf_token(x, i);
    if (t->kind == HPC_TOKEN_NAME) return name(x, i);
    if (t->kind != HPC_TOKEN_PUNCT || i == 0) return HPC_OK;
    uint8_t before = perf_token(x, i - 1)->kind;
    bool value = before == HPC_TOKEN_NAME || before == HPC_TOKEN_NUMBER || is(x, i - 1, ")");
    if (!value) return HPC_OK;
    if (is(x, i, "/")) return perf_event_add(x, HPC_PERF_DIVIDE, i);
    if (is(x, i, "**")) return perf_event_add(x, HPC_PERF_MATH, i);
    bool sum = is(x, i, "+") || is(x, i, "-") || is(x, i, "*");
    return sum ? perf_event_add(x, HPC_PERF_ARITHMETIC, i) : HPC_OK;
}

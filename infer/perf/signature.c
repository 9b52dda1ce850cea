/*
 * Avoidable copies: parameters by value, and elements of a container in a loop.
 *
 * The cost of a type is unknown. Numbers, enumerations named in capitals and C types count as
 * cheap.
 */
#include "infer/perf/scan.h"

static bool is_cheap(const perf_scan *x, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    const char *p = x->s->text.data + t->at;
    bool capitals = true;
    for (uint32_t k = 0; k < t->n; k++) capitals &= !(p[k] >= 'a' && p[k] <= 'z');
    return capitals || (t->n > 2 && p[t->n - 2] == '_' && p[t->n - 1] == 't');
}

typedef struct declared { /* by tokens [lo, hi) */
    int64_t type;         /* the name of it, or -1 */
    int64_t names;
    bool reference, pointer, scalar;
} declared;

static declared read_declaration(const perf_scan *x, int64_t lo, int64_t hi)
{
    declared d = {.type = -1};
    for (int64_t i = lo; i < hi && !PERF_IS(x, i, "="); i++) {
        const hpc_token *t = perf_token(x, i);
        if (PERF_IS(x, i, "<")) { /* what a template is of does not matter */
            int64_t open = 0, k = i;
            for (; k < hi; k++) {
                if (PERF_IS(x, k, "<")) open++;
                if (PERF_IS(x, k, ">") && --open == 0) break;
                if (PERF_IS(x, k, ">>") && (open -= 2) <= 0) break;
            }
            i = k;
            continue;
        }
        d.reference |= PERF_IS(x, i, "&") || PERF_IS(x, i, "&&");
        d.pointer |= PERF_IS(x, i, "*") || PERF_IS(x, i, "[") || PERF_IS(x, i, "(");
        if (t->kind != HPC_TOKEN_NAME || PERF_IS(x, i + 1, "::")) continue;
        perf_word w = perf_word_find(x->words->c, t->hash);
        bool qualifier = w.how && !(w.how & (PERF_WORD_TYPE | PERF_WORD_SCALAR));
        if (qualifier && !(w.how & PERF_WORD_CALLED)) continue;
        d.scalar |= (w.how & PERF_WORD_SCALAR) && !PERF_IS(x, i, "auto");
        if (d.type < 0) d.type = i;
        d.names++;
    }
    return d;
}

static int add(perf_scan *x, const declared *d)
{
    if (d->type < 0 || d->names < 2 || d->pointer || d->scalar || is_cheap(x, d->type))
        return HPC_OK;
    return perf_event_add(x, d->reference ? HPC_PERF_REFERENCE : HPC_PERF_BY_VALUE, d->type);
}

int perf_scan_signature(perf_scan *x)
{
    const hpc_function *f = &x->s->f.item[x->function];
    int64_t i = 0;
    int rc = HPC_OK;
    if (!x->cpp) return rc;
    while (i < x->n && perf_token(x, i)->at < f->name_at + f->name_n) i++;
    if (!PERF_IS(x, i, "(") || x->mate[i] < i) return rc;
    int64_t close = x->mate[i], lo = i + 1, angle = 0;
    for (int64_t k = lo; k <= close; k++) {
        if (k < close && x->mate[k] > k && x->mate[k] < close) {
            k = x->mate[k];
            continue;
        }
        if (PERF_IS(x, k, "<")) angle++;
        if (PERF_IS(x, k, ">") && angle > 0) angle--;
        if (PERF_IS(x, k, ">>")) angle -= angle < 2 ? angle : 2;
        if (k < close && (angle > 0 || !PERF_IS(x, k, ","))) continue;
        declared d = read_declaration(x, lo, k);
        TRY(add(x, &d));
        lo = k + 1;
    }
out:
    return rc;
}

/* for (T x : container) */
int perf_scan_element(perf_scan *x, int64_t i)
{
    int64_t most = i + 32, k = i + 2;
    if (!x->cpp || !PERF_IS(x, i + 1, "(")) return HPC_OK;
    while (k < x->n && k < most && !PERF_IS(x, k, ":") && !PERF_IS(x, k, ";") &&
           !PERF_IS(x, k, ")"))
        k++;
    if (!PERF_IS(x, k, ":")) return HPC_OK;
    declared d = read_declaration(x, i + 2, k);
    int64_t n = x->events_n;
    int rc = add(x, &d);
    if (rc == HPC_OK && x->events_n > n && x->event[n].depth < PERF_DEPTH) x->event[n].depth++;
    return rc;
}

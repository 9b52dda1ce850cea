/*
 * split.c: see split.h. The statements keep their order; a new loop begins where no value passes
 * from a later statement to an iteration of an earlier one. A statement that stores the same value
 * in each iteration can run before the loop.
 */
#include "infer/pragma/split.h"

#include "infer/pragma/parts.h"

enum { LOOPS_MOST = 3, ASSUMPTIONS_MOST = 3, REPEATED_MOST = 3 };

typedef struct loops { /* the new loops: ranges of statements */
    int first[LOOPS_MOST], last[LOOPS_MOST];
    bool parallel[LOOPS_MOST];
    int n;
} loops;

/* ---- where to split ---- */

static bool is_parallel(const parts *p, int first, int last)
{
    for (int k = first; k <= last; k++)
        for (int l = k; l <= last; l++)
            if (p->blocks[k][l]) return false;
    return true;
}

/* A loop can begin with a statement. */
static bool may_begin(const parts *p, const walk *w, int at)
{
    for (int k = 0; k < at; k++)
        for (int l = at; l < p->n; l++)
            if (p->joined[k][l]) return false;
    return parts_last_line(p, w, at - 1) < parts_first_line(p, w, at);
}

static bool has_work(const parts *p, int first, int last)
{
    for (int k = first; k <= last; k++)
        if (p->writes[k]) return true;
    return false;
}

/* The fewest loops from the left; false: they are too many. */
static bool find_loops(loops *x, const parts *p, const walk *w)
{
    *x = (loops){.n = 1, .parallel = {true}};
    for (int at = 0, next; at < p->n; at = next) {
        int now = x->n - 1;
        for (next = at + 1; next < p->n && !may_begin(p, w, next);) next++;
        const bool parallel = is_parallel(p, at, next - 1);
        const bool alike = !has_work(p, x->first[now], at - 1) ||
                           (x->parallel[now] ? is_parallel(p, x->first[now], next - 1) : !parallel);
        if (at > 0 && !alike) {
            if (x->n == LOOPS_MOST) return false;
            now = x->n++;
            x->first[now] = at;
        }
        x->parallel[now] = is_parallel(p, x->first[now], next - 1);
        x->last[now] = next - 1;
    }
    return x->n > 1;
}

static int parallel_n(const loops *x)
{
    int n = 0;
    for (int k = 0; k < x->n; k++) n += x->parallel[k];
    return n;
}

static bool is_useful(const loops *x, const parts *p)
{
    bool any = false;
    for (int k = 0; k < x->n; k++) {
        if (x->n == LOOPS_MOST && !has_work(p, x->first[k], x->last[k])) return false;
        any |= x->parallel[k] && has_work(p, x->first[k], x->last[k]);
    }
    return any;
}

/* ---- text ---- */

static void put_assumptions(hpc_buf *b, const answer *a)
{
    for (int64_t k = 0; k < a->assumptions_n; k++)
        hpc_buf_printf(b, "%s%s", k == 0 ? " if " : " and ", a->assumption[k].text);
}

static void put_parallel(hpc_buf *b, const loops *x)
{
    static const char *const names[LOOPS_MOST] = {"first", "second", "third"};
    int done = 0;
    const int n = parallel_n(x);
    if (n == x->n) {
        hpc_buf_printf(b, "each of the %s loops is parallel", n == 2 ? "two" : "three");
        return;
    }
    hpc_buf_text(b, "the ");
    for (int k = 0; k < x->n && k < LOOPS_MOST; k++)
        if (x->parallel[k]) hpc_buf_printf(b, "%s%s", done++ ? " and the " : "", names[k]);
    hpc_buf_text(b, n == 1 ? " loop is parallel" : " loop are parallel");
}

/* A loop after the one that contains declaration k needs it. */
static bool is_needed_later(const parts *p, const loops *x, int k)
{
    for (int i = 1; i < x->n; i++)
        for (int l = x->first[i]; l <= x->last[i] && k < x->first[i]; l++)
            if (p->uses[k][l]) return true;
    return false;
}

/* " and repeat lines 5 and 6"; false: there are too many. */
static bool put_repeated(hpc_buf *b, const walk *w, const parts *p, const loops *x)
{
    int line[PARTS_MOST], n = 0;
    for (int k = 0; k < p->n; k++)
        if (is_needed_later(p, x, k)) line[n++] = (int)parts_first_line(p, w, k);
    for (int k = 0; k < n; k++)
        hpc_buf_printf(b, "%s%d",
                       k == 0 ? (n == 1 ? " and repeat line " : " and repeat lines ")
                              : (k + 1 == n ? " and " : ", "),
                       line[k]);
    return n <= REPEATED_MOST;
}

static const char *split(walk *w, const parts *p)
{
    loops x;
    hpc_buf b = {0};
    if (!find_loops(&x, p, w) || !is_useful(&x, p)) return NULL;
    hpc_buf_printf(&b, "split the loop after line%s %u", x.n > 2 ? "s" : "",
                   parts_last_line(p, w, x.last[0]));
    if (x.n > 2) hpc_buf_printf(&b, " and %u", parts_last_line(p, w, x.last[1]));
    bool ok = put_repeated(&b, w, p, &x);
    hpc_buf_text(&b, ": ");
    put_parallel(&b, &x);
    put_assumptions(&b, w->answer);
    const char *out = b.failed || !ok ? NULL : hpc_arena_text(w->answer->p->out, "%s", b.data);
    hpc_buf_release(&b);
    return out;
}

/* ---- before the loop ---- */

/* The statement that takes part in all dependences; -1: no statement does. */
static int only_blocker(const parts *p)
{
    for (int s = 0; s < p->n; s++) {
        bool only = true;
        for (int k = 0; k < p->n; k++)
            for (int l = k; l < p->n; l++) only &= !p->blocks[k][l] || k == s || l == s;
        if (only) return s;
    }
    return -1;
}

static const char *hoist(walk *w, const parts *p)
{
    const loop_head *h = &w->loop->head;
    const int s = only_blocker(p);
    hpc_buf b = {0};
    if (s < 0 || !parts_stores_one_value(p, w, s)) return NULL;
    const bool runs =
        prove_not_negative(w->prover, poly_less(w->prover, h->hi, h->lo), w->loop->before);
    hpc_buf_printf(&b, "move line %u before the loop%s: it stores the same value in each iteration",
                   parts_first_line(p, w, s), runs ? "" : ", if the loop has an iteration");
    put_assumptions(&b, w->answer);
    const char *out = b.failed ? NULL : hpc_arena_text(w->answer->p->out, "%s", b.data);
    hpc_buf_release(&b);
    return out;
}

split_edits split_of(walk *w)
{
    parts p;
    if (!parts_read(&p, w) || w->answer->assumptions_n > ASSUMPTIONS_MOST) return (split_edits){0};
    return (split_edits){.hoist = hoist(w, &p), .split = split(w, &p)};
}

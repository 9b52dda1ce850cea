/*
 * Repeated regions of a function: loops that runtime/source finds, `while` and `do`, and bodies of
 * parallel_for and similar calls.
 *
 * Trip counts come from the spelling of loop bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/perf/scan.h"

static int64_t code_at(const perf_scan *x, uint32_t at)
{
    int64_t lo = 0, hi = x->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (perf_token(x, mid)->at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t end_of(const perf_scan *x, int64_t i)
{
    if (i >= x->n) i = x->n - 1;
    const hpc_token *t = perf_token(x, i);
    return t->at + t->n;
}

static int add(perf_scan *x, perf_region r)
{
    int rc = hpc_grow(&x->region, &x->regions_cap, x->regions_n + 1, sizeof *x->region);
    if (rc < 0) return rc;
    if (r.trips == 0) r.trips = PERF_TRIPS;
    x->region[x->regions_n++] = r;
    return HPC_OK;
}

/* ---- heads ------------------------------------------------------------------------------------
 */

/* The hash of tokens [lo, hi) but for one name: how far a loop goes, whatever it counts with. */
static uint64_t hash_bound(const perf_scan *x, int64_t lo, int64_t hi, uint32_t but)
{
    uint64_t all[2] = {0, 0};
    for (int64_t i = lo; i < hi && i < lo + 64; i++) {
        uint32_t h = perf_token(x, i)->hash;
        if (h == but) continue;
        all[1] = h;
        all[0] = hpc_hash(all, sizeof all, 0);
    }
    return all[0];
}

/* What the name or number at i stands for, if that is known. */
static bool number_at(double *out, const perf_scan *x, int64_t i)
{
    const hpc_token *t = i >= 0 && i < x->n ? perf_token(x, i) : NULL;
    char text[32] = "";
    int64_t lo = 0, hi = x->numbers_n;
    if (!t) return false;
    if (t->kind == HPC_TOKEN_NAME) {
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2;
            if (x->number[mid].name < t->hash)
                lo = mid + 1;
            else
                hi = mid;
        }
        if (lo == x->numbers_n || x->number[lo].name != t->hash) return false;
        *out = x->number[lo].value;
        return true;
    }
    if (t->kind != HPC_TOKEN_NUMBER || t->n >= sizeof text) return false;
    memcpy(text, x->s->text.data + t->at, t->n);
    *out = strtod(text, NULL);
    return true;
}

/* Of tokens [lo, hi): numbers that are added, subtracted, multiplied or divided, from left to
 * right: near enough. */
static bool value_of(double *out, const perf_scan *x, int64_t lo, int64_t hi)
{
    double v;
    while (hi - lo > 2 && PERF_IS(x, lo, "(") && x->mate[lo] == hi - 1) lo++, hi--;
    if (lo >= hi || !number_at(out, x, lo)) return false;
    for (lo++; lo + 1 < hi; lo += 2) {
        if (!number_at(&v, x, lo + 1)) return false;
        if (PERF_IS(x, lo, "*"))
            *out *= v;
        else if (PERF_IS(x, lo, "/") && v != 0)
            *out /= v;
        else if (PERF_IS(x, lo, "+"))
            *out += v;
        else if (PERF_IS(x, lo, "-"))
            *out -= v;
        else
            return false;
    }
    return lo == hi;
}

/* Of `i = 2; i < 100; i += 2`, whose semicolons are at part: 49. 0: not all are known. */
static float trips_of(const perf_scan *x, int64_t open, const int64_t part[2], int64_t close)
{
    enum { MOST = 1000000 };
    int64_t is = open + 1, than = part[0] + 1;
    double from, to, step = 1, trips;
    while (is < part[0] && !PERF_IS(x, is, "=")) is++;
    while (than < part[1] && !PERF_IS(x, than, "<") && !PERF_IS(x, than, ">") &&
           !PERF_IS(x, than, "<=") && !PERF_IS(x, than, ">=") && !PERF_IS(x, than, "!="))
        than++;
    if (!value_of(&from, x, is + 1, part[0]) || !value_of(&to, x, than + 1, part[1])) return 0;
    bool steps = PERF_IS(x, part[1] + 2, "+=") || PERF_IS(x, part[1] + 2, "-=");
    bool by_one = PERF_IS(x, part[1] + 1, "++") || PERF_IS(x, part[1] + 2, "++") ||
                  PERF_IS(x, part[1] + 1, "--") || PERF_IS(x, part[1] + 2, "--");
    if (!by_one && !(steps && value_of(&step, x, part[1] + 3, close))) return 0;
    trips = (to > from ? to - from : from - to) / (step > 1 ? step : 1);
    return (float)(trips < 1 ? 1 : trips > MOST ? MOST : trips);
}

/* for (init; condition; step): the variable is what the step changes. */
static void read_for(perf_scan *x, perf_region *r, int64_t i)
{
    int64_t open = i + 1, close = open < x->n ? x->mate[open] : -1, part[2], parts = 0;
    if (!PERF_IS(x, open, "(") || close < 0) return;
    for (int64_t k = open + 1; k < close && parts < 2; k++) {
        if (x->mate[k] > k) k = x->mate[k];
        if (PERF_IS(x, k, ";")) part[parts++] = k;
    }
    if (parts < 2) { /* over a container: the name before the colon */
        r->from = perf_token(x, open)->at;
        for (int64_t k = open + 1; k < close; k++)
            if (PERF_IS(x, k, ":")) {
                r->variable = perf_token(x, k - 1)->hash;
                r->bound = hash_bound(x, k, close, 0);
                break;
            }
        return;
    }
    r->from = perf_token(x, part[0])->at;
    for (int64_t k = part[1] + 1; k < close && !r->variable; k++)
        if (perf_token(x, k)->kind == HPC_TOKEN_NAME) r->variable = perf_token(x, k)->hash;
    r->bound = hash_bound(x, part[0] + 1, part[1], r->variable);
    r->trips = trips_of(x, open, part, close);
}

/* do [label] i = first, last; do concurrent (i = first:last) */
static void read_do(perf_scan *x, perf_region *r, int64_t i, bool concurrent)
{
    int64_t k = i;
    while (k < x->n && k < i + 6 && !PERF_IS(x, k + 1, "=")) k++;
    if (!PERF_IS(x, k + 1, "=")) return;
    int64_t lo = k + 2, hi = lo;
    r->variable = perf_token(x, k)->hash;
    while (hi < x->n && hi < lo + 64 && perf_token(x, hi)->at < r->from &&
           !(concurrent && PERF_IS(x, hi, ")")))
        hi++;
    r->bound = hash_bound(x, lo, hi, 0);
}

/* ---- loops ------------------------------------------------------------------------------------
 */

/* Replaces x->own by the tokens of the function, comments too, without those of functions inside
 * it. */
static int own_tokens(perf_scan *x)
{
    const hpc_functions *f = &x->s->f;
    const hpc_token *item = x->s->t.item;
    int64_t k = x->function, inner = k + 1, n = x->s->t.n;
    int64_t i = hpc_token_at(&x->s->t, f->item[k].at);
    int rc = HPC_OK;
    x->own.n = 0;
    while (i < n && item[i].at < f->item[k].end) {
        uint32_t end = f->item[k].end;
        bool cut = inner < f->n && f->item[inner].at < end;
        if (cut) end = f->item[inner].at;
        int64_t behind = i;
        while (behind < n && item[behind].at < end) behind++;
        TRY(hpc_grow(&x->own.item, &x->own.cap, x->own.n + behind - i, sizeof *item));
        if (behind > i)
            memcpy(x->own.item + x->own.n, item + i, (size_t)(behind - i) * sizeof *item);
        x->own.n += behind - i;
        i = behind;
        if (!cut) break;
        int64_t next = hpc_token_at(&x->s->t, f->item[inner].end);
        if (next > i) i = next;
        inner = hpc_function_behind(f, inner);
    }
out:
    return rc;
}

static int find_loops(perf_scan *x, const hpc_tokens *t)
{
    hpc_function one = x->s->f.item[x->function];
    const hpc_functions alone = {.item = &one, .n = 1, .cap = 1};
    int rc = HPC_OK;
    one.outer = -1;
    TRY(hpc_loops_find(&x->loops, t, x->s->text.data, x->s->language, &alone));
    for (int64_t k = 0; k < x->loops.n; k++) {
        const hpc_loop *l = &x->loops.item[k];
        perf_region r = {.from = l->body_at, .end = l->end, .at = l->at, .line = l->line};
        int64_t i = code_at(x, l->at);
        if (i >= x->n) continue;
        if (x->fortran)
            read_do(x, &r, i, l->concurrent);
        else
            read_for(x, &r, i);
        TRY(add(x, r));
    }
out:
    return rc;
}

typedef struct ending { /* of the statement that was asked for last */
    int64_t at, behind;
} ending;

/* End of the statement at i, approximately: matching brace, or semicolon. Calls come in falling
 * order of i, so `last` saves the search of nested statements. */
static int64_t behind_statement(const perf_scan *x, ending *last, int64_t i)
{
    int64_t at = i;
    for (; i < x->n; i++) {
        if (i == last->at) {
            i = last->behind;
            break;
        }
        bool brace = PERF_IS(x, i, "{");
        if (x->mate[i] > i) i = x->mate[i];
        if (brace || PERF_IS(x, i, ";") || PERF_IS(x, i, "}")) break;
    }
    *last = (ending){at, i};
    return i;
}

static bool never_again(const perf_scan *x, int64_t open)
{
    return PERF_IS(x, open + 2, ")") &&
           (PERF_IS(x, open + 1, "0") || PERF_IS(x, open + 1, "false"));
}

/* `while (x) ...`, unless it ends a `do`. */
static int add_while(perf_scan *x, ending *last, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    perf_region r = {.from = t->at, .at = t->at, .line = t->line};
    if (!PERF_IS(x, i + 1, "(") || x->mate[i + 1] < i) return HPC_OK;
    bool behind_block = i > 0 && PERF_IS(x, i - 1, "}") && x->mate[i - 1] > 0;
    if (behind_block && PERF_IS(x, x->mate[i - 1] - 1, "do")) return HPC_OK;
    r.bound = hash_bound(x, i + 2, x->mate[i + 1], 0);
    r.end = end_of(x, behind_statement(x, last, x->mate[i + 1] + 1));
    return add(x, r);
}

/* `do { } while (x)`; one that is never done again is no loop. */
static int add_do(perf_scan *x, int64_t i)
{
    const hpc_token *t = perf_token(x, i);
    perf_region r = {.from = t->at, .at = t->at, .line = t->line};
    if (!PERF_IS(x, i + 1, "{") || x->mate[i + 1] < i) return HPC_OK;
    int64_t close = x->mate[i + 1];
    if (!PERF_IS(x, close + 1, "while") || !PERF_IS(x, close + 2, "(")) return HPC_OK;
    if (never_again(x, close + 2)) return HPC_OK;
    int64_t end = x->mate[close + 2];
    r.end = end_of(x, end > 0 ? end : close + 2);
    return add(x, r);
}

static int find_whiles(perf_scan *x)
{
    ending last = {-1, -1};
    int rc = HPC_OK;
    for (int64_t i = x->n - 1; i >= 0; i--) {
        const hpc_token *t = perf_token(x, i);
        if (t->kind != HPC_TOKEN_NAME || (t->flags & HPC_TOKEN_IN_DIRECTIVE)) continue;
        if (PERF_IS(x, i, "do")) TRY(add_do(x, i));
        if (PERF_IS(x, i, "while")) TRY(add_while(x, &last, i));
    }
out:
    return rc;
}

static bool runs_again(const perf_scan *x, int64_t i)
{
    static const char *const names[] = {
        "parallel_for", "parallel_reduce", "parallel_scan", "forall",
        "for_each",     "for_each_n",      "ParallelFor",   "transform",
        "RAJA_forall",  "mfem_forall",     "forall_3D",     "forall_2D",
        "for_all",      "parallelFor",     "MFEM_FORALL",   "parallel_for_each"};
    const hpc_token *t = perf_token(x, i);
    const char *word = x->s->text.data + t->at;
    if (t->n < 6 || t->n > 20) return false;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strlen(names[k]) == t->n && memcmp(word, names[k], t->n) == 0) return true;
    return false;
}

enum { SEEN = 512 }; /* tokens before the braces of what is handed over */

/* parallel_for(..., [=](int i) { ... }): the braces are a loop over the first parameter. */
static int find_lambdas(perf_scan *x)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i + 1 < x->n; i++) {
        const hpc_token *t = perf_token(x, i);
        if (t->kind != HPC_TOKEN_NAME || !runs_again(x, i)) continue;
        int64_t open = i + 1, most = i + 64;
        if (PERF_IS(x, open, "<"))
            while (open < x->n && open < most && !PERF_IS(x, open, "(")) open++;
        if (!PERF_IS(x, open, "(") || x->mate[open] < open) continue;
        for (int64_t k = open + 1; k < x->mate[open] && k < open + SEEN; k++) {
            if (!PERF_IS(x, k, "{") || x->mate[k] < k) continue;
            perf_region r = {.from = perf_token(x, k)->at,
                             .end = end_of(x, x->mate[k]),
                             .at = t->at,
                             .line = t->line};
            if (PERF_IS(x, k - 1, ")") && x->mate[k - 1] >= 0 &&
                perf_token(x, k - 2)->kind == HPC_TOKEN_NAME)
                r.variable = perf_token(x, k - 2)->hash;
            TRY(add(x, r));
            break;
        }
    }
out:
    return rc;
}

/* `do while` and a `do` without an end: statements that close again and are no loops of source.h.
 */
static int find_do_whiles(perf_scan *x)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < x->brackets.n; k++) {
        const hpc_bracket *b = &x->brackets.item[k];
        if (b->closes || b->kind != HPC_BRACKET_BLOCK || b->partner < 0) continue;
        int64_t i = code_at(x, b->at);
        while (i < x->n && perf_token(x, i)->at < b->end && PERF_IS(x, i + 1, ":")) i += 2;
        if (i >= x->n || perf_token(x, i)->at >= b->end) continue;
        const hpc_token *t = perf_token(x, i);
        if (t->hash != hpc_token_hash("do", 2)) continue;
        if (hpc_loops_at(&x->loops, t->at) >= 0 || hpc_loops_at(&x->loops, b->at) >= 0) continue;
        perf_region r = {
            .from = t->at, .at = t->at, .line = t->line, .end = x->brackets.item[b->partner].end};
        TRY(add(x, r));
    }
out:
    return rc;
}

/* ---- the whole ----------------------------------------------------------------------------------
 */

static int by_start(const void *a, const void *b)
{
    const perf_region *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Which brackets belong together, by code token. */
static int find_mates(perf_scan *x, const hpc_tokens *t)
{
    const hpc_brackets *b = &x->brackets;
    int64_t *index = NULL;
    int rc = HPC_OK;
    TRY(hpc_brackets_find(&x->brackets, t, x->s->text.data, x->s->language));
    index = hpc_alloc((size_t)b->n + 1, sizeof *index);
    if (!index) TRY(HPC_E_NOMEM);
    for (int64_t k = 0, i = 0; k < b->n; k++) {
        while (i < x->n && perf_token(x, i)->at < b->item[k].at) i++;
        bool here = i < x->n && perf_token(x, i)->at == b->item[k].at;
        int32_t partner = b->item[k].partner;
        const hpc_bracket *opens = &b->item[b->item[k].closes && partner >= 0 ? partner : k];
        bool plain = !x->fortran || opens->kind <= HPC_BRACKET_SQUARE;
        index[k] = here && plain ? i : -1;
    }
    for (int64_t k = 0; k < b->n; k++) {
        int32_t partner = b->item[k].partner;
        if (partner >= 0 && index[k] >= 0 && index[partner] >= 0)
            x->mate[index[k]] = (int32_t)index[partner];
    }
out:
    hpc_free(index);
    return rc;
}

static void mark_inner(perf_scan *x)
{
    for (int64_t k = 0; k < x->regions_n; k++)
        x->region[k].inner = k + 1 == x->regions_n || x->region[k + 1].from >= x->region[k].end;
}

int perf_scan_regions(perf_scan *x)
{
    int rc = HPC_OK;
    x->regions_n = 0;
    if (x->function < 0 || x->n == 0) return rc;
    TRY(own_tokens(x));
    TRY(find_mates(x, &x->own));
    TRY(find_loops(x, &x->own));
    TRY(x->fortran ? find_do_whiles(x) : find_whiles(x));
    if (!x->fortran) TRY(find_lambdas(x));
    if (x->regions_n > 1) qsort(x->region, (size_t)x->regions_n, sizeof *x->region, by_start);
    mark_inner(x);
out:
    return rc;
}

/*
 * clause.c: see clause.h.
 */
#include "infer/pragma/clause.h"

#include <stdlib.h>
#include <string.h>

typedef struct span {
    const char *at, *end;
} span;

static bool in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static span trimmed(span s)
{
    while (s.at < s.end && *s.at == ' ') s.at++;
    while (s.end > s.at && s.end[-1] == ' ') s.end--;
    return s;
}

static bool is(span s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s.end - s.at) == n && memcmp(s.at, word, n) == 0;
}

/* Where a character stands outside of brackets, "::" aside; `end` when it does not. */
static const char *outside(span s, char what)
{
    int depth = 0;
    for (const char *p = s.at; p < s.end; p++) {
        bool pair = *p == ':' && ((p + 1 < s.end && p[1] == ':') || (p > s.at && p[-1] == ':'));
        if (depth == 0 && *p == what && !pair) return p;
        depth += *p == '(' || *p == '[' || *p == '{';
        depth -= *p == ')' || *p == ']' || *p == '}';
    }
    return s.end;
}

/* ---- lists of variables ------------------------------------------------------------------------
 */

/* "x", "ns::x", "x[0:n]", "val(x)", "this->x". */
static int add_item(clause_list *l, int64_t *cap, clause_item like, span s)
{
    int rc = HPC_OK;
    s = trimmed(s);
    if (s.end - s.at > 6 && memcmp(s.at, "this->", 6) == 0) s.at += 6;
    const char *open = outside(s, '(');
    if (open < s.end && s.end[-1] == ')')
        s = trimmed((span){open + 1, s.end - 1}); /* how it is linear */
    const char *p = s.at;
    while (p < s.end && (in_name(*p) || *p == ':')) p++;
    const char *from = p;
    while (from > s.at && in_name(from[-1])) from--;
    like.section = p < s.end && *p == '[';
    like.name = from;
    like.n = (size_t)(p - from);
    if (like.n == 0 || (p < s.end && !like.section)) {
        l->odd = true;
        return HPC_OK;
    }
    TRY(hpc_grow(&l->item, cap, l->n + 1, sizeof *l->item));
    l->item[l->n++] = like;
out:
    return rc;
}

static int add_list(clause_list *l, int64_t *cap, clause_item like, span s)
{
    int rc = HPC_OK;
    while (s.at < s.end) {
        const char *comma = outside(s, ',');
        TRY(add_item(l, cap, like, (span){s.at, comma}));
        s.at = comma < s.end ? comma + 1 : comma;
    }
out:
    return rc;
}

static uint8_t op_of(span s)
{
    static const uint8_t ops[] = {'+', '*', '&', '|', '^', HPC_OP_AND, HPC_OP_OR, OP_MIN, OP_MAX};
    for (size_t k = 0; k < sizeof ops; k++)
        if (is(s, reduction_name(ops[k]))) return ops[k];
    return is(s, "-") ? '+' : 0;
}

/* "+:x", "task, max:x, y" */
static int add_reduction(clause_list *l, int64_t *cap, span s)
{
    const char *colon = outside(s, ':');
    span how = trimmed((span){s.at, colon});
    for (const char *c = outside(how, ','); c < how.end; c = outside(how, ',')) {
        if (is(trimmed((span){how.at, c}), "inscan")) l->odd = true;
        how = trimmed((span){c + 1, how.end});
    }
    if (colon == s.end) {
        l->odd = true;
        return HPC_OK;
    }
    clause_item like = {.kind = CLAUSE_REDUCTION, .op = op_of(how)};
    if (!like.op) l->odd = true;
    return add_list(l, cap, like, (span){colon + 1, s.end});
}

/* ---- clauses -----------------------------------------------------------------------------------
 */

static int64_t number(span s)
{
    char *end;
    long long n = strtoll(s.at, &end, 10);
    s = trimmed(s);
    return s.at < s.end && end == s.end && n > 0 ? n : -1;
}

static int take(clause_list *l, int64_t *cap, span name, span in)
{
    static const char *const lists[CLAUSE_KIND_N] = {
        [CLAUSE_PRIVATE] = "private",     [CLAUSE_FIRST] = "firstprivate",
        [CLAUSE_LAST] = "lastprivate",    [CLAUSE_LINEAR] = "linear",
        [CLAUSE_REDUCTION] = "reduction", [CLAUSE_SHARED] = "shared"};
    if (is(name, "reduction") || is(name, "task_reduction") || is(name, "in_reduction"))
        return add_reduction(l, cap, in);
    for (int k = 0; k < CLAUSE_KIND_N; k++) {
        if (!is(name, lists[k])) continue;
        clause_item like = {.kind = k};
        const char *colon = outside(in, ':');
        if (k == CLAUSE_LAST && colon < in.end) {
            like.conditional = true;
            in.at = colon + 1;
        } else if (k == CLAUSE_LINEAR) {
            in.end = colon;
        }
        return add_list(l, cap, like, in);
    }
    if (is(name, "collapse")) l->collapse = number(in);
    if (is(name, "num_threads")) l->threads = number(in);
    if (is(name, "ordered")) l->ordered = true;
    if (is(name, "nowait")) l->nowait = true;
    if (is(name, "if")) l->has_if = true;
    if (is(name, "default")) {
        l->none = is(in, "none");
        l->privates = is(in, "private") || is(in, "firstprivate");
    }
    return HPC_OK;
}

/* Words of directives, and clauses that do not list variables. Any other word may be a macro. */
static bool is_known(span s)
{
    static const char *const words[] = {"pragma",
                                        "omp",
                                        "parallel",
                                        "for",
                                        "simd",
                                        "target",
                                        "teams",
                                        "distribute",
                                        "taskloop",
                                        "loop",
                                        "masked",
                                        "master",
                                        "sections",
                                        "nowait",
                                        "ordered",
                                        "untied",
                                        "mergeable",
                                        "nogroup",
                                        "do",
                                        "private",
                                        "firstprivate",
                                        "lastprivate",
                                        "linear",
                                        "shared",
                                        "reduction",
                                        "in_reduction",
                                        "task_reduction",
                                        "collapse",
                                        "num_threads",
                                        "if",
                                        "default",
                                        "schedule",
                                        "proc_bind",
                                        "copyin",
                                        "safelen",
                                        "simdlen",
                                        "aligned",
                                        "nontemporal",
                                        "order",
                                        "dist_schedule",
                                        "map",
                                        "device",
                                        "is_device_ptr",
                                        "has_device_addr",
                                        "defaultmap",
                                        "depend",
                                        "num_teams",
                                        "thread_limit",
                                        "grainsize",
                                        "num_tasks",
                                        "priority",
                                        "final",
                                        "allocate",
                                        "bind",
                                        "use_device_ptr",
                                        "filter",
                                        "copyprivate",
                                        "hint",
                                        "uses_allocators"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (is(s, words[k])) return true;
    return false;
}

int clauses_read(clause_list *out, const char *text, hpc_arena *a)
{
    clause_list l = {.collapse = 1};
    int64_t cap = 0;
    int rc = HPC_OK;
    const char *end = text + strlen(text);
    for (const char *p = text; p < end;) {
        span name = {p, p};
        while (name.end < end && in_name(*name.end)) name.end++;
        if (name.end == p) {
            p++;
            continue;
        }
        p = name.end;
        while (p < end && *p == ' ') p++;
        if (!is_known(name)) l.odd = true;
        span in = {p, p};
        if (p < end && *p == '(') {
            in = (span){p + 1, end};
            in.end = outside(in, ')');
            p = in.end < end ? in.end + 1 : end;
        }
        TRY(take(&l, &cap, name, trimmed(in)));
    }
    *out = l;
    out->item = hpc_arena_alloc(a, (size_t)l.n + 1, sizeof *l.item);
    if (!out->item) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < l.n; k++) out->item[k] = l.item[k];
out:
    hpc_free(l.item);
    return rc;
}

bool clause_names(const clause_item *c, const char *name)
{
    return strlen(name) == c->n && memcmp(c->name, name, c->n) == 0;
}

const clause_item *clause_of(const clause_list *l, clause_kind kind, const char *name)
{
    for (int64_t k = 0; k < l->n; k++)
        if (l->item[k].kind == kind && clause_names(&l->item[k], name)) return &l->item[k];
    return NULL;
}

/*
 * gbnf_parse.c: the text of a GBNF grammar, as a tree for each rule, and then as nodes. Trees are
 * compiled from their end: each part knows the node that follows it.
 */
#include "infer/engine/gbnf_priv.h"

#include <string.h>

enum {
    DEPTH_MOST = 64,
    TREES_MOST = 1 << 16,
    RULES_MOST = 512,
    REPEATS_MOST = 4096,
    REPEATS_NESTED = 8,
    WORK_MOST = 1 << 20
};
static const uint32_t POINT_MOST = 0x10ffff;

typedef enum tree_kind { EMPTY, POINTS, RULE, SEQUENCE, CHOICE, REPEAT } tree_kind;

typedef struct tree {
    tree_kind kind;
    int32_t a, b;     /* parts; -1: none. RULE: its number */
    int32_t from, to; /* of `range`; REPEAT: times, to -1: any number */
    bool negated;     /* POINTS: all others */
} tree;

typedef struct range {
    uint32_t lo, hi;
} range;

typedef struct parsing {
    const char *text;
    size_t n, at;
    int64_t line;
    int depth;
    tree *tree;
    int64_t tree_n, tree_cap;
    range *range;
    int64_t range_n, range_cap;
    int64_t work; /* parts that were compiled */
    gbnf_nodes *out;
} parsing;

/* ---- characters ------------------------------------------------------------------------------ */

static char peek(const parsing *p)
{
    return p->at < p->n ? p->text[p->at] : '\0';
}

static int fail(const parsing *p, const char *expected)
{
    const size_t left = p->n - p->at;
    if (p->at >= p->n)
        return hpc_fail(HPC_E_ARG, "the grammar ends in line %lld: expected %s", (long long)p->line,
                        expected);
    return hpc_fail(HPC_E_ARG, "the grammar, line %lld: expected %s at \"%.*s\"",
                    (long long)p->line, expected, left < 12 ? (int)left : 12, p->text + p->at);
}

static void skip(parsing *p, bool lines)
{
    for (; p->at < p->n; p->at++) {
        const char c = p->text[p->at];
        if (c == '#') {
            while (p->at + 1 < p->n && p->text[p->at + 1] != '\n') p->at++;
        } else if (c == '\n' || c == '\r') {
            if (!lines) return;
            p->line += c == '\n';
        } else if (c != ' ' && c != '\t') {
            return;
        }
    }
}

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

/* Bytes of the name here. */
static size_t name_n(const parsing *p)
{
    size_t n = 0;
    while (p->at + n < p->n && is_of_name(p->text[p->at + n])) n++;
    return n;
}

static int read_hex(uint32_t *out, parsing *p, int digits)
{
    *out = 0;
    for (int k = 0; k < digits; k++, p->at++) {
        const char c = peek(p), low = (char)(c | 0x20);
        const bool decimal = c >= '0' && c <= '9', letter = low >= 'a' && low <= 'f';
        if (!decimal && !letter) return fail(p, "hexadecimal digits");
        *out = *out * 16 + (uint32_t)(decimal ? c - '0' : low - 'a' + 10);
    }
    return *out <= POINT_MOST ? HPC_OK : fail(p, "a code point of at most 10FFFF before this");
}

static int read_escape(uint32_t *out, parsing *p)
{
    static const char letters[] = "nrt\\\"[]-^", values[] = "\n\r\t\\\"[]-^";
    const char c = peek(p);
    p->at++;
    if (c == 'x') return read_hex(out, p, 2);
    if (c == 'u') return read_hex(out, p, 4);
    if (c == 'U') return read_hex(out, p, 8);
    const char *known = c ? strchr(letters, c) : NULL;
    p->at -= known == NULL;
    if (!known) return fail(p, "an escape");
    *out = (uint32_t)values[known - letters];
    return HPC_OK;
}

/* One character of a literal or a class. */
static int read_point(uint32_t *out, parsing *p)
{
    const uint8_t c = (uint8_t)peek(p);
    if (p->at >= p->n || c == '\n') return fail(p, "the end of the text or class");
    p->at++;
    *out = c;
    if (c == '\\') return read_escape(out, p);
    const int more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    if (more > 0) *out = c & (0x3fu >> more);
    for (int k = 0; k < more; k++) {
        const uint8_t next = (uint8_t)peek(p);
        if ((next & 0xc0) != 0x80) return fail(p, "UTF-8");
        *out = *out << 6 | (next & 0x3f);
        p->at++;
    }
    return *out <= POINT_MOST ? HPC_OK : fail(p, "UTF-8 before this");
}

/* ---- trees ----------------------------------------------------------------------------------- */

static int add_tree(int32_t *out, parsing *p, tree x)
{
    if (p->tree_n == TREES_MOST) return hpc_fail(HPC_E_ARG, "the grammar is too large");
    const int rc = hpc_grow(&p->tree, &p->tree_cap, p->tree_n + 1, sizeof *p->tree);
    if (rc < 0) return rc;
    *out = (int32_t)p->tree_n;
    p->tree[p->tree_n++] = x;
    return HPC_OK;
}

static int add_range(parsing *p, uint32_t lo, uint32_t hi)
{
    const int rc = hpc_grow(&p->range, &p->range_cap, p->range_n + 1, sizeof *p->range);
    if (rc >= 0) p->range[p->range_n++] = (range){lo, hi};
    return rc;
}

static int join(int32_t *out, parsing *p, int32_t next)
{
    if (*out < 0) {
        *out = next;
        return HPC_OK;
    }
    return add_tree(out, p, (tree){.kind = SEQUENCE, .a = *out, .b = next});
}

static int add_points(int32_t *out, parsing *p, int64_t from, bool negated)
{
    return add_tree(
        out, p,
        (tree){
            .kind = POINTS, .from = (int32_t)from, .to = (int32_t)p->range_n, .negated = negated});
}

static int read_literal(int32_t *out, parsing *p)
{
    int rc;
    *out = -1;
    p->at++;
    while (peek(p) != '"') {
        uint32_t c;
        int32_t one;
        TRY(read_point(&c, p));
        TRY(add_range(p, c, c));
        TRY(add_points(&one, p, p->range_n - 1, false));
        TRY(join(out, p, one));
    }
    p->at++;
    if (*out < 0) TRY(add_tree(out, p, (tree){.kind = EMPTY}));
    return HPC_OK;
out:
    return rc;
}

static int read_class(int32_t *out, parsing *p)
{
    const int64_t from = p->range_n;
    int rc;
    p->at++;
    const bool negated = peek(p) == '^';
    p->at += negated;
    while (peek(p) != ']') {
        uint32_t lo, hi;
        TRY(read_point(&lo, p));
        hi = lo;
        if (peek(p) == '-' && p->at + 1 < p->n && p->text[p->at + 1] != ']') {
            p->at++;
            TRY(read_point(&hi, p));
        }
        if (hi < lo) TRY(fail(p, "an ascending range before this"));
        TRY(add_range(p, lo, hi));
    }
    p->at++;
    rc = add_points(out, p, from, negated);
out:
    return rc;
}

static int find_rule(int32_t *out, parsing *p, const char *name, size_t n)
{
    gbnf_nodes *g = p->out;
    int rc;
    for (int64_t k = 0; k < g->rule_n; k++)
        if (strlen(g->rule[k].name) == n && memcmp(g->rule[k].name, name, n) == 0) {
            *out = (int32_t)k;
            return HPC_OK;
        }
    if (g->rule_n == RULES_MOST)
        TRY(hpc_fail(HPC_E_ARG, "the grammar has more than %d rules", RULES_MOST));
    TRY(hpc_grow(&g->rule, &g->rule_cap, g->rule_n + 1, sizeof *g->rule));
    gbnf_rule *r = &g->rule[g->rule_n];
    *r = (gbnf_rule){.name = hpc_alloc(n + 1, 1), .entry = -1, .line = p->line};
    if (!r->name) TRY(HPC_E_NOMEM);
    memcpy(r->name, name, n);
    *out = (int32_t)g->rule_n++;
    return HPC_OK;
out:
    return rc;
}

static int read_number(int32_t *out, parsing *p)
{
    *out = 0;
    if (peek(p) < '0' || peek(p) > '9') return fail(p, "a number");
    for (; peek(p) >= '0' && peek(p) <= '9'; p->at++) {
        *out = 10 * *out + (peek(p) - '0');
        if (*out > REPEATS_MOST) return fail(p, "at most 4096 repetitions");
    }
    return HPC_OK;
}

/* {2} {2,} {2,4} */
static int read_counts(int32_t *from, int32_t *to, parsing *p)
{
    int rc;
    skip(p, false);
    TRY(read_number(from, p));
    skip(p, false);
    *to = *from;
    if (peek(p) == ',') {
        p->at++;
        skip(p, false);
        *to = -1;
        if (peek(p) != '}') TRY(read_number(to, p));
        skip(p, false);
    }
    if (peek(p) != '}' || (*to >= 0 && *to < *from)) TRY(fail(p, "the end of a repetition"));
    p->at++;
out:
    return rc;
}

/* * + ? {2,4} after the item, at most REPEATS_NESTED of them. */
static int read_repeats(int32_t *item, parsing *p)
{
    int rc = HPC_OK;
    for (int k = 0;; k++) {
        int32_t from = 0, to = -1;
        const char c = peek(p);
        if (c != '*' && c != '+' && c != '?' && c != '{') return HPC_OK;
        if (k == REPEATS_NESTED) TRY(fail(p, "no further repetition"));
        p->at++;
        if (c == '+') from = 1;
        if (c == '?') to = 1;
        if (c == '{') TRY(read_counts(&from, &to, p));
        TRY(add_tree(item, p, (tree){.kind = REPEAT, .a = *item, .from = from, .to = to}));
    }
out:
    return rc;
}

static int read_choice(int32_t *out, parsing *p, bool nested);

static int read_item(int32_t *out, parsing *p)
{
    const char c = peek(p);
    int32_t rule;
    int rc;
    if (c == '"') return read_literal(out, p);
    if (c == '[') return read_class(out, p);
    if (c == '.') {
        p->at++;
        TRY(add_range(p, 0, POINT_MOST));
        return add_points(out, p, p->range_n - 1, false);
    }
    if (c == '(') {
        p->at++;
        TRY(read_choice(out, p, true));
        if (peek(p) != ')') TRY(fail(p, ")"));
        p->at++;
        return HPC_OK;
    }
    const size_t n = name_n(p);
    if (n == 0) return fail(p, "a text, a class, a rule or (");
    TRY(find_rule(&rule, p, p->text + p->at, n));
    p->at += n;
    return add_tree(out, p, (tree){.kind = RULE, .a = rule});
out:
    return rc;
}

static bool begins_item(const parsing *p)
{
    const char c = peek(p);
    return c == '"' || c == '[' || c == '(' || c == '.' || is_of_name(c);
}

static int read_sequence(int32_t *out, parsing *p, bool nested)
{
    int rc = HPC_OK;
    *out = -1;
    skip(p, nested);
    while (begins_item(p)) {
        int32_t item = -1;
        TRY(read_item(&item, p));
        TRY(read_repeats(&item, p));
        TRY(join(out, p, item));
        skip(p, nested);
    }
    if (*out < 0) TRY(add_tree(out, p, (tree){.kind = EMPTY}));
out:
    return rc;
}

static int read_choice(int32_t *out, parsing *p, bool nested)
{
    int rc;
    if (++p->depth > DEPTH_MOST) return fail(p, "at most 64 nested groups");
    TRY(read_sequence(out, p, nested));
    while (peek(p) == '|') {
        int32_t other;
        p->at++;
        skip(p, true);
        TRY(read_sequence(&other, p, nested));
        TRY(add_tree(out, p, (tree){.kind = CHOICE, .a = *out, .b = other}));
    }
    p->depth--;
out:
    return rc;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* All code points outside the ranges: the gaps between them, found from below. */
static int32_t compile_others(parsing *p, const tree *t, int32_t next)
{
    int32_t to = -1;
    for (uint32_t lo = 0; lo <= POINT_MOST && p->out->failed >= 0;) {
        uint32_t hi = POINT_MOST, beyond = lo;
        for (int32_t k = t->from; k < t->to; k++) {
            const range r = p->range[k];
            if (r.lo <= lo && r.hi >= beyond && r.hi >= lo) beyond = r.hi + 1;
            if (r.lo > lo && r.lo - 1 < hi) hi = r.lo - 1;
        }
        if (beyond == lo) to = gbnf_add_points(p->out, lo, hi, next, to);
        lo = beyond > lo ? beyond : hi + 1;
    }
    return to;
}

static int32_t split(parsing *p, int32_t next, int32_t other)
{
    return gbnf_add(p->out, (gbnf_node){.kind = GBNF_SPLIT, .next = next, .other = other});
}

/* A class without members: nothing follows. */
static int32_t or_nothing(parsing *p, int32_t node)
{
    return node >= 0 ? node : split(p, -1, -1);
}

static int32_t compile_points(parsing *p, const tree *t, int32_t next)
{
    int32_t to = -1;
    if (t->negated) return or_nothing(p, compile_others(p, t, next));
    for (int32_t k = t->from; k < t->to; k++)
        to = gbnf_add_points(p->out, p->range[k].lo, p->range[k].hi, next, to);
    return or_nothing(p, to);
}

static int32_t compile(parsing *p, int32_t at, int32_t next);

static int32_t compile_repeat(parsing *p, const tree *t, int32_t next)
{
    int32_t to = next;
    if (t->to < 0) {
        to = split(p, -1, next);
        const int32_t body = compile(p, t->a, to);
        if (p->out->failed >= 0) p->out->node[to].next = body;
    }
    for (int32_t k = t->from; k < t->to && p->out->failed >= 0; k++)
        to = split(p, compile(p, t->a, to), next);
    for (int32_t k = 0; k < t->from && p->out->failed >= 0; k++) to = compile(p, t->a, to);
    return to;
}

static int32_t compile_choice(parsing *p, int32_t at, int32_t next)
{
    int32_t to = -1;
    for (; p->tree[at].kind == CHOICE && p->out->failed >= 0; at = p->tree[at].a)
        to = split(p, compile(p, p->tree[at].b, next), to);
    return split(p, compile(p, at, next), to);
}

/* The way to a part, and then to `next`. Recursion is as deep as the text is nested: sequences and
 * choices are chains. */
static int32_t compile(parsing *p, int32_t at, int32_t next)
{
    while (p->tree[at].kind == SEQUENCE && p->out->failed >= 0) {
        next = compile(p, p->tree[at].b, next);
        at = p->tree[at].a;
    }
    const tree t = p->tree[at];
    if (p->out->failed < 0) return 0;
    if (++p->work > WORK_MOST) {
        p->out->failed = hpc_fail(HPC_E_ARG, "the grammar is too large");
        return 0;
    }
    switch (t.kind) {
    case POINTS: return compile_points(p, &t, next);
    case RULE: return gbnf_add(p->out, (gbnf_node){.kind = GBNF_CALL, .next = next, .other = t.a});
    case CHOICE: return compile_choice(p, at, next);
    case REPEAT: return compile_repeat(p, &t, next);
    default: return next;
    }
}

/* ---- rules ----------------------------------------------------------------------------------- */

static int read_rule(parsing *p)
{
    const size_t n = name_n(p);
    int32_t rule, body;
    int rc;
    if (n == 0) return fail(p, "the name of a rule");
    TRY(find_rule(&rule, p, p->text + p->at, n));
    p->at += n;
    skip(p, false);
    if (p->n - p->at < 3 || memcmp(p->text + p->at, "::=", 3) != 0) TRY(fail(p, "::="));
    p->at += 3;
    skip(p, true);
    p->tree_n = p->range_n = p->depth = 0;
    TRY(read_choice(&body, p, false));
    if (p->at < p->n && peek(p) != '\n' && peek(p) != '\r') TRY(fail(p, "the end of the rule"));
    if (p->out->rule[rule].entry >= 0)
        TRY(hpc_fail(HPC_E_ARG, "the grammar defines the rule %.40s twice",
                     p->out->rule[rule].name));
    p->out->rule[rule].entry = compile(p, body, 0);
    rc = p->out->failed;
out:
    return rc;
}

static int check_rules(const gbnf_nodes *g)
{
    for (int64_t k = 0; k < g->rule_n; k++) {
        const gbnf_rule *r = &g->rule[k];
        if (r->entry >= 0) continue;
        if (k == 0) return hpc_fail(HPC_E_ARG, "the grammar has no rule \"root\"");
        return hpc_fail(HPC_E_ARG, "the grammar, line %lld: the rule %.40s is not defined",
                        (long long)r->line, r->name);
    }
    return HPC_OK;
}

int gbnf_nodes_parse(gbnf_nodes *out, const char *text, size_t n)
{
    parsing p = {.text = text, .n = n, .line = 1, .out = out};
    int32_t root;
    int rc;
    *out = (gbnf_nodes){0};
    gbnf_add(out, (gbnf_node){.kind = GBNF_RETURN});
    TRY(out->failed);
    TRY(find_rule(&root, &p, "root", 4));
    for (skip(&p, true); p.at < n; skip(&p, true)) TRY(read_rule(&p));
    rc = check_rules(out);
out:
    hpc_free(p.tree);
    hpc_free(p.range);
    return rc;
}

void gbnf_nodes_release(gbnf_nodes *g)
{
    for (int64_t k = 0; k < g->rule_n; k++) hpc_free(g->rule[k].name);
    hpc_free(g->rule);
    hpc_free(g->node);
    *g = (gbnf_nodes){0};
}

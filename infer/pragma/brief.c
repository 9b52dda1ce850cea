/*
 * brief.c: the evidence of a loop in few lines for a reader: first what decides the verdict, pairs
 * of accesses that may overlap by the pointers they use, last the edit that would help.
 */
#include <stdio.h>
#include <string.h>

#include "infer/pragma/directives.h"

enum { BASES = 24, BASE_BYTES = 64, FEW_PAIRS = 2, PARTNERS_SHOWN = 4 };

/* ---- base pointers ---- */

typedef struct bases { /* of the accesses in pairs that may overlap */
    char name[BASES][BASE_BYTES];
    int n;
    int64_t pairs;
} bases;

typedef struct group { /* the pairs of one base */
    uint8_t partner[BASES];
    int n;
    int64_t pairs;
    uint32_t first, last; /* lines */
} group;

/* "A->vals[j]" and "u(i, j)" without the subscripts at the end, "*p" without the star. */
static void base_text(char out[BASE_BYTES], const char *access)
{
    while (*access == '*' || *access == '&') access++;
    size_t n = strlen(access);
    while (n > 1 && (access[n - 1] == ']' || access[n - 1] == ')')) {
        const char close = access[n - 1], open = close == ']' ? '[' : '(';
        size_t at = n;
        for (int depth = 0; at > 0; at--) {
            depth += (access[at - 1] == close) - (access[at - 1] == open);
            if (depth == 0) break;
        }
        if (at < 2) break; /* "(x)" */
        n = at - 1;
    }
    if (access[n] == '\0') n = strcspn(access, "[("); /* shortened, or without a subscript */
    snprintf(out, BASE_BYTES, "%.*s", (int)n, access);
}

/* The index of a base; BASES - 1 stands for all that do not fit. */
static int base_of(bases *b, const char *access)
{
    char text[BASE_BYTES];
    base_text(text, access);
    for (int k = 0; k < b->n; k++)
        if (strcmp(b->name[k], text) == 0) return k;
    if (b->n == BASES - 1) strcpy(text, "others");
    if (b->n == BASES) return BASES - 1;
    memcpy(b->name[b->n], text, BASE_BYTES);
    return b->n++;
}

static group group_of(bases *b, const hpc_pragma_loop *l, int base, const bool done[BASES])
{
    group g = {.first = UINT32_MAX};
    for (int64_t k = 0; k < l->evidence_n; k++) {
        const hpc_evidence *e = &l->evidence[k];
        if (!e->access[0]) continue;
        const int x = base_of(b, e->access[0]), y = base_of(b, e->access[1]);
        if ((x != base && y != base) || done[x] || done[y]) continue;
        const int other = x == base ? y : x;
        g.pairs++;
        if (e->line < g.first) g.first = e->line;
        if (e->line > g.last) g.last = e->line;
        if (!memchr(g.partner, other, (size_t)g.n)) g.partner[g.n++] = (uint8_t)other;
    }
    return g;
}

/* ---- lines ---- */

static hpc_brief_line *add_line(hpc_brief *out, const char *kind, uint32_t line)
{
    hpc_brief_line *x = &out->item[out->n++];
    *x = (hpc_brief_line){.kind = kind, .line = line};
    return x;
}

static void put_group(hpc_brief *out, const bases *b, int base, const group *g)
{
    hpc_brief_line *x = add_line(out, "alias", g->first);
    hpc_buf text = {0};
    hpc_buf_printf(&text, "%s may overlap ", b->name[base]);
    for (int k = 0; k < g->n && k < PARTNERS_SHOWN; k++)
        hpc_buf_printf(&text, "%s%s",
                       k == 0          ? ""
                       : k + 1 == g->n ? " and "
                                       : ", ",
                       g->partner[k] == base ? "itself" : b->name[g->partner[k]]);
    if (g->n > PARTNERS_SHOWN) hpc_buf_printf(&text, " and %d more", g->n - PARTNERS_SHOWN);
    if (g->pairs > 1) {
        hpc_buf_printf(&text, " (%lld pairs of accesses", (long long)g->pairs);
        if (g->first < g->last) hpc_buf_printf(&text, " to line %u", g->last);
        hpc_buf_text(&text, ")");
    }
    snprintf(x->text, sizeof x->text, "%s", text.failed ? "" : text.data);
    hpc_buf_release(&text);
}

static bool has_room(const hpc_brief *out, int lines)
{
    const int verify = out->verify < HPC_BRIEF_VERIFY ? out->verify : HPC_BRIEF_VERIFY;
    return out->n - verify < lines;
}

/* A line for each base, that with the most pairs first. */
static void put_groups(hpc_brief *out, const hpc_pragma_loop *l, int lines, int64_t pairs)
{
    bases b = {.pairs = pairs};
    bool done[BASES] = {false};
    while (pairs > 0 && has_room(out, lines)) {
        int best = -1;
        group most = {0};
        for (int64_t k = 0; k < l->evidence_n; k++)
            for (int side = 0; l->evidence[k].access[0] && side < 2; side++) {
                const int base = base_of(&b, l->evidence[k].access[side]);
                const group g = group_of(&b, l, base, done);
                if (g.pairs > most.pairs) {
                    most = g;
                    best = base;
                }
            }
        if (best < 0) break;
        put_group(out, &b, best, &most);
        done[best] = true;
        pairs -= most.pairs;
    }
    out->left += pairs;
}

/* Results of --verify are few, and asked for. */
static bool is_of_verify(const hpc_evidence *e)
{
    static const char *const kinds[] = {"compile", "witness", "run", "race", NULL};
    for (const char *const *k = kinds; *k; k++)
        if (strcmp(*k, e->kind) == 0) return true;
    return false;
}

static void put_evidence(hpc_brief *out, const hpc_evidence *e)
{
    hpc_brief_line *x = add_line(out, e->kind, e->line);
    snprintf(x->text, sizeof x->text, "%s", e->text);
}

static void put_weight(hpc_brief *out, const hpc_pragma_loop *l, hpc_verdict weight, int lines,
                       int64_t pairs)
{
    const bool join = pairs > FEW_PAIRS;
    bool grouped = false;
    for (int64_t k = 0; k < l->evidence_n; k++) {
        const hpc_evidence *e = &l->evidence[k];
        if (e->alone != weight || strcmp(e->kind, "existing") == 0) continue;
        if (is_of_verify(e)) {
            if (out->verify < HPC_BRIEF_VERIFY) put_evidence(out, e);
            out->verify++;
        } else if (join && e->access[0]) {
            if (!grouped) put_groups(out, l, lines, pairs);
            grouped = true;
        } else if (has_room(out, lines)) {
            put_evidence(out, e);
        } else {
            out->left++;
        }
    }
}

void hpc_pragma_brief(hpc_brief *out, const hpc_pragma_loop *l)
{
    static const hpc_verdict weights[] = {HPC_VERDICT_UNSAFE, HPC_VERDICT_UNKNOWN,
                                          HPC_VERDICT_CONDITIONAL, HPC_VERDICT_PARALLEL};
    int64_t pairs = 0;
    const int lines = HPC_BRIEF_LINES - (l->edit != NULL);
    out->n = out->verify = 0;
    out->left = 0;
    for (int64_t k = 0; k < l->evidence_n; k++) pairs += l->evidence[k].access[0] != NULL;
    for (size_t k = 0; k < sizeof weights / sizeof *weights; k++)
        put_weight(out, l, weights[k], lines, pairs);
    if (!l->edit) return;
    hpc_brief_line *x = add_line(out, "edit", 0);
    snprintf(x->text, sizeof x->text, "%s", l->edit);
}

/*
 * gbnf.c: states of a GBNF grammar as sets of stacks, computed when they are first reached.
 *
 * A stack is a node with the stack to return to. Stacks and sets are kept once each. A call
 * at the end of a rule adds no stack, so that right recursion does not grow them.
 */
#include "infer/engine/gbnf_priv.h"

#include <stdlib.h>
#include <string.h>

enum {
    STACKS_MOST = 1 << 20,
    SET_MOST = 4096,
    SEEN_MOST = 1 << 15, /* stacks in a search */
    STATES_MOST = 1 << 14,
    TABLE = 1 << 12, /* of hashes, at first; a power of two */
    UNKNOWN = -2,
    NONE = -1
};

typedef struct stack {
    int32_t node, below; /* below: a stack; NONE: the end of the text */
} stack;

typedef struct state {
    int64_t from, n; /* stacks of it, in `member`; each waits for a byte */
    uint64_t hash;
    bool may_end;
    int32_t next[256];
} state;

/* Numbers by hash, open addressing. */
typedef struct table {
    int32_t *slot; /* [n]; NONE: empty */
    int64_t n, used;
} table;

struct hpc_gbnf {
    gbnf_nodes nodes;
    stack *stack;
    uint32_t *mark; /* [stack_cap]: the search that saw it last */
    int64_t stack_n, stack_cap, mark_cap;
    table stacks, states;
    int32_t *member;
    int64_t member_n, member_cap;
    state *state;
    int64_t state_n, state_cap;
    uint32_t search;
    int32_t *todo; /* stacks to look at */
    int64_t todo_n, todo_cap, seen_n;
    bool may_end; /* of the set that is being made */
};

/* ---- tables ---------------------------------------------------------------------------------- */

static uint64_t hash_of_stack(stack s)
{
    return hpc_hash(&s, sizeof s, 0);
}

static int grow_table(table *t, const hpc_gbnf *g, bool stacks)
{
    table more = {.n = t->n > 0 ? 2 * t->n : TABLE, .used = t->used};
    more.slot = hpc_alloc((size_t)more.n, sizeof *more.slot);
    if (!more.slot) return HPC_E_NOMEM;
    for (int64_t k = 0; k < more.n; k++) more.slot[k] = NONE;
    for (int64_t k = 0; k < t->n; k++) {
        if (t->slot[k] == NONE) continue;
        const int32_t i = t->slot[k];
        int64_t at = (int64_t)((stacks ? hash_of_stack(g->stack[i]) : g->state[i].hash) &
                               (uint64_t)(more.n - 1));
        while (more.slot[at] != NONE) at = (at + 1) & (more.n - 1);
        more.slot[at] = i;
    }
    hpc_free(t->slot);
    *t = more;
    return HPC_OK;
}

/* The number of the stack. */
static int find_stack(int32_t *out, hpc_gbnf *g, stack s)
{
    table *t = &g->stacks;
    int rc = HPC_OK;
    if (2 * t->used >= t->n) TRY(grow_table(t, g, true));
    int64_t at = (int64_t)(hash_of_stack(s) & (uint64_t)(t->n - 1));
    for (; t->slot[at] != NONE; at = (at + 1) & (t->n - 1)) {
        const stack *x = &g->stack[t->slot[at]];
        if (x->node != s.node || x->below != s.below) continue;
        *out = t->slot[at];
        return HPC_OK;
    }
    if (g->stack_n == STACKS_MOST) TRY(hpc_fail(HPC_E_ARG, "the grammar needs too many stacks"));
    TRY(hpc_grow(&g->stack, &g->stack_cap, g->stack_n + 1, sizeof *g->stack));
    TRY(hpc_grow(&g->mark, &g->mark_cap, g->stack_n + 1, sizeof *g->mark));
    g->stack[g->stack_n] = s;
    g->mark[g->stack_n] = 0;
    t->slot[at] = *out = (int32_t)g->stack_n++;
    t->used++;
out:
    return rc;
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* To look at, if the search has not seen it. */
static int visit(hpc_gbnf *g, int32_t node, int32_t below)
{
    int32_t s;
    int rc;
    if (node == NONE) return HPC_OK;
    TRY(find_stack(&s, g, (stack){node, below}));
    if (g->mark[s] == g->search) return HPC_OK;
    g->mark[s] = g->search;
    if (++g->seen_n > SEEN_MOST) TRY(hpc_fail(HPC_E_ARG, "the grammar is too ambiguous"));
    TRY(hpc_grow(&g->todo, &g->todo_cap, g->todo_n + 1, sizeof *g->todo));
    g->todo[g->todo_n++] = s;
out:
    return rc;
}

static int call(hpc_gbnf *g, const gbnf_node *x, int32_t below)
{
    int32_t home = below;
    int rc = HPC_OK;
    if (g->nodes.node[x->next].kind != GBNF_RETURN)
        TRY(find_stack(&home, g, (stack){x->next, below}));
    rc = visit(g, g->nodes.rule[x->other].entry, home);
out:
    return rc;
}

/* Follows what takes no byte; stacks that wait for one become members of the set. */
static int close_set(hpc_gbnf *g, int64_t from)
{
    int rc = HPC_OK;
    while (g->todo_n > 0) {
        const int32_t s = g->todo[--g->todo_n];
        const stack at = g->stack[s];
        const gbnf_node x = g->nodes.node[at.node];
        if (x.kind == GBNF_BYTES) {
            if (g->member_n - from == SET_MOST)
                TRY(hpc_fail(HPC_E_ARG, "the grammar is too ambiguous"));
            TRY(hpc_grow(&g->member, &g->member_cap, g->member_n + 1, sizeof *g->member));
            g->member[g->member_n++] = s;
        } else if (x.kind == GBNF_SPLIT) {
            TRY(visit(g, x.next, at.below));
            TRY(visit(g, x.other, at.below));
        } else if (x.kind == GBNF_CALL) {
            TRY(call(g, &x, at.below));
        } else if (at.below == NONE) {
            g->may_end = true;
        } else {
            TRY(visit(g, g->stack[at.below].node, g->stack[at.below].below));
        }
    }
out:
    g->todo_n = 0;
    return rc;
}

static int compare(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The state of the members from `from` on, which are dropped if it is known. */
static int find_state(int32_t *out, hpc_gbnf *g, int64_t from)
{
    const int64_t n = g->member_n - from;
    table *t = &g->states;
    int rc = HPC_OK;
    if (n > 0) qsort(g->member + from, (size_t)n, sizeof *g->member, compare);
    const uint64_t hash =
        hpc_hash(g->member ? g->member + from : NULL, (size_t)n * sizeof *g->member, g->may_end);
    if (2 * t->used >= t->n) TRY(grow_table(t, g, false));
    int64_t at = (int64_t)(hash & (uint64_t)(t->n - 1));
    for (; t->slot[at] != NONE; at = (at + 1) & (t->n - 1)) {
        const state *x = &g->state[t->slot[at]];
        if (x->hash != hash || x->n != n || x->may_end != g->may_end) continue;
        if (n > 0 && memcmp(g->member + x->from, g->member + from, (size_t)n * 4) != 0) continue;
        g->member_n = from;
        *out = t->slot[at];
        return HPC_OK;
    }
    if (g->state_n == STATES_MOST) TRY(hpc_fail(HPC_E_ARG, "the grammar needs too many states"));
    TRY(hpc_grow(&g->state, &g->state_cap, g->state_n + 1, sizeof *g->state));
    state *x = &g->state[g->state_n];
    *x = (state){.from = from, .n = n, .hash = hash, .may_end = g->may_end};
    for (int k = 0; k < 256; k++) x->next[k] = UNKNOWN;
    t->slot[at] = *out = (int32_t)g->state_n++;
    t->used++;
out:
    if (rc < 0) g->member_n = from;
    return rc;
}

static void begin_set(hpc_gbnf *g)
{
    g->search++;
    g->seen_n = 0;
    g->may_end = false;
}

static int32_t advance(hpc_gbnf *g, int32_t number, uint8_t byte)
{
    const int64_t from = g->state[number].from, n = g->state[number].n, begin = g->member_n;
    int32_t to = NONE;
    int rc = HPC_OK;
    begin_set(g);
    for (int64_t k = 0; k < n; k++) {
        const stack s = g->stack[g->member[from + k]];
        const gbnf_node *x = &g->nodes.node[s.node];
        if (byte >= x->lo && byte <= x->hi) TRY(visit(g, x->next, s.below));
    }
    if (g->todo_n == 0) return NONE;
    TRY(close_set(g, begin));
    if (g->member_n == begin && !g->may_end) return NONE;
    TRY(find_state(&to, g, begin));
out:
    g->todo_n = 0;
    if (rc < 0) g->member_n = begin;
    return rc < 0 ? NONE : to;
}

/* ---- left recursion -------------------------------------------------------------------------- */

/* Rules that may be empty, or whose first part is another rule: found by following nodes that take
 * no byte. A rule that reaches itself would add stacks for ever. */
typedef struct recursion {
    const gbnf_nodes *g;
    uint8_t *empty; /* [rule_n] */
    int32_t *seen;  /* [n]: the search that saw the node */
    int32_t *todo;  /* [2 * n + 2] */
} recursion;

/* Follows the nodes of a rule. Calls `first` rules in `found`, [rule_n]. Returns whether it may be
 * empty, as far as is known. */
static bool follow(recursion *x, int64_t rule, int32_t search, uint8_t *found)
{
    int64_t n = 0;
    bool empty = false;
    x->todo[n++] = x->g->rule[rule].entry;
    while (n > 0) {
        const int32_t at = x->todo[--n];
        if (at < 0 || x->seen[at] == search) continue;
        x->seen[at] = search;
        const gbnf_node *p = &x->g->node[at];
        empty = empty || p->kind == GBNF_RETURN;
        if (p->kind == GBNF_SPLIT) x->todo[n++] = p->next, x->todo[n++] = p->other;
        if (p->kind != GBNF_CALL) continue;
        if (found) found[p->other] = 1;
        if (x->empty[p->other]) x->todo[n++] = p->next;
    }
    return empty;
}

static int check_recursion(const gbnf_nodes *g)
{
    const size_t rules = (size_t)g->rule_n, nodes = (size_t)g->n;
    recursion x = {.g = g};
    uint8_t *first = hpc_alloc(rules * rules, 1);
    int32_t search = 0;
    bool changed = true;
    int rc = HPC_OK;
    x.empty = hpc_alloc(rules, 1);
    x.seen = hpc_alloc(nodes, sizeof *x.seen);
    x.todo = hpc_alloc(2 * nodes + 2, sizeof *x.todo);
    if (!first || !x.empty || !x.seen || !x.todo) TRY(HPC_E_NOMEM);
    while (changed) {
        changed = false;
        for (size_t k = 0; k < rules; k++) {
            const bool empty = follow(&x, (int64_t)k, ++search, NULL);
            changed = changed || (empty && !x.empty[k]);
            x.empty[k] = x.empty[k] || empty;
        }
    }
    for (size_t k = 0; k < rules; k++) follow(&x, (int64_t)k, ++search, first + k * rules);
    for (size_t m = 0; m < rules; m++)
        for (size_t a = 0; a < rules; a++)
            for (size_t b = 0; first[a * rules + m] && b < rules; b++)
                first[a * rules + b] |= first[m * rules + b];
    for (size_t k = 0; k < rules; k++)
        if (first[k * rules + k])
            TRY(hpc_fail(HPC_E_ARG, "the rule %.40s of the grammar begins with itself",
                         g->rule[k].name));
out:
    hpc_free(first);
    hpc_free(x.empty);
    hpc_free(x.seen);
    hpc_free(x.todo);
    return rc;
}

/* ---- calls ----------------------------------------------------------------------------------- */

int hpc_gbnf_parse(hpc_gbnf **out, const char *text, size_t n)
{
    hpc_gbnf *g = hpc_alloc(1, sizeof *g);
    int32_t first;
    int rc;
    *out = NULL;
    if (!g) return HPC_E_NOMEM;
    TRY(gbnf_nodes_parse(&g->nodes, text, n));
    TRY(check_recursion(&g->nodes));
    begin_set(g);
    TRY(visit(g, g->nodes.rule[0].entry, NONE));
    TRY(close_set(g, 0));
    TRY(find_state(&first, g, 0));
    *out = g;
    g = NULL;
out:
    hpc_gbnf_free(g);
    return rc;
}

void hpc_gbnf_free(hpc_gbnf *g)
{
    if (!g) return;
    gbnf_nodes_release(&g->nodes);
    hpc_free(g->stack);
    hpc_free(g->mark);
    hpc_free(g->stacks.slot);
    hpc_free(g->states.slot);
    hpc_free(g->member);
    hpc_free(g->state);
    hpc_free(g->todo);
    hpc_free(g);
}

int32_t hpc_gbnf_start(const hpc_gbnf *g)
{
    (void)g;
    return 0;
}

int32_t hpc_gbnf_step(hpc_gbnf *g, int32_t number, uint8_t byte)
{
    if (number < 0) return NONE;
    const int32_t known = g->state[number].next[byte];
    if (known != UNKNOWN) return known;
    const int32_t to = advance(g, number, byte);
    hpc_error_clear();
    return g->state[number].next[byte] = to;
}

bool hpc_gbnf_may_end(const hpc_gbnf *g, int32_t number)
{
    return number >= 0 && g->state[number].may_end;
}

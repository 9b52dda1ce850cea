/*
 * review_slot.c: review of the variables that a loop assigns, and of those that clauses name.
 */
#include "infer/pragma/review.h"
#include "infer/pragma/scalar.h"

/* ---- reads after the loop ----------------------------------------------------------------------
 */

/* True if evaluating `up` always reads its operand `c`. */
static bool reads_through(const hpc_tree *t, int32_t up, int32_t c)
{
    const hpc_tree_node *n = &t->node[up];
    switch (n->kind) {
    case HPC_TREE_RETURN:
    case HPC_TREE_DECLARE:
    case HPC_TREE_VARIABLE:
    case HPC_TREE_CALL:
    case HPC_TREE_INDEX:
    case HPC_TREE_CAST:
    case HPC_TREE_LIST: return true;
    case HPC_TREE_UNARY: return n->op != '&';
    case HPC_TREE_ASSIGN: return hpc_tree_first(t, up) != c;
    case HPC_TREE_BINARY:
        return (n->op != HPC_OP_AND && n->op != HPC_OP_OR) || hpc_tree_first(t, up) == c;
    case HPC_TREE_IF:
    case HPC_TREE_CHOOSE: return hpc_tree_first(t, up) == c;
    default: return false;
    }
}

static bool is_exit(uint8_t kind)
{
    return kind == HPC_TREE_RETURN || kind == HPC_TREE_GOTO || kind == HPC_TREE_BREAK ||
           kind == HPC_TREE_CONTINUE || kind == HPC_TREE_LABEL || kind == HPC_TREE_CASE ||
           kind == HPC_TREE_THROW;
}

/* True if every path after the loop reads a local variable. */
static bool is_always_read(const review *r, int32_t symbol)
{
    const hpc_tree *t = r->p->t;
    int32_t loop = r->l->node, block = t->node[loop].parent;
    if (t->node[block].kind != HPC_TREE_BLOCK) return false;
    for (int32_t i = t->node[loop].end; i < t->node[block].end; i++) {
        if (t->node[i].kind == HPC_TREE_NAME && t->node[i].symbol == symbol) {
            int32_t c = i, up = t->node[i].parent;
            for (; up > block; c = up, up = t->node[up].parent)
                if (!reads_through(t, up, c)) return false;
            return up == block;
        }
        if (is_exit(t->node[i].kind) &&
            !(t->node[i].kind == HPC_TREE_RETURN && t->node[i].parent == block))
            return false;
    }
    return false;
}

/* ---- variables that the loop assigns -----------------------------------------------------------
 */

static void review_head(review *r, const loop_facts *l, int32_t symbol, const char *name)
{
    if (clause_of(&r->clauses, CLAUSE_PRIVATE, name)) r->redundant = true;
    if (r->simd || clause_of(&r->clauses, CLAUSE_LAST, name) ||
        clause_of(&r->clauses, CLAUSE_LINEAR, name) || !is_live(l, symbol))
        return;
    if (review_shares(r, symbol) && is_always_read(r, symbol))
        review_wrong(r, HPC_EXISTING_CLAUSE, r->l->node,
                     "%s is read after the loop, but does not have the value from the last "
                     "iteration: lastprivate is missing",
                     name);
    else
        r->unproven = true;
}

static void review_fold(review *r, const slot *x, const char *name)
{
    const clause_item *c = clause_of(&r->clauses, CLAUSE_REDUCTION, name),
                      *up = clause_of(&r->around, CLAUSE_REDUCTION, name);
    if (c && c->op == x->update) return;
    if (c && review_ops_differ(c->op, x->update))
        review_wrong(r, HPC_EXISTING_REDUCTION, x->update_write,
                     "the operator that updates %s here differs from that of its reduction", name);
    else if (c || (up && !r->binds && up->op != x->update))
        r->unproven = true;
    else if (up && !r->binds)
        return;
    else if (review_lists(&r->clauses, name)) {
        if (is_always_read(r, x->symbol) && !clause_of(&r->clauses, CLAUSE_LINEAR, name))
            review_wrong(
                r, HPC_EXISTING_REDUCTION, x->update_write,
                "each thread updates its own %s, and the results are lost: a reduction is missing",
                name);
        else
            r->unproven = true;
    } else if (review_shares(r, x->symbol) && !review_under_condition(r, x->update_write, true)) {
        review_wrong(r, HPC_EXISTING_REDUCTION, x->update_write,
                     "all threads update %s at once: a reduction is missing", name);
    } else {
        r->unproven = true;
    }
}

/* A variable that is assigned before it is read. */
static void review_plain(review *r, const loop_facts *l, const slot *x, const char *name)
{
    bool own = clause_of(&r->clauses, CLAUSE_PRIVATE, name) ||
               clause_of(&r->clauses, CLAUSE_FIRST, name),
         last = clause_of(&r->clauses, CLAUSE_LAST, name) != NULL, live = is_live(l, x->symbol);
    if (clause_of(&r->clauses, CLAUSE_REDUCTION, name) ||
        clause_of(&r->clauses, CLAUSE_LINEAR, name)) {
        r->unproven = true;
    } else if (last) {
        if (live && !x->always) r->unproven = true;
        if (!live) r->harmless = true;
    } else if (own || !review_shares(r, x->symbol)) {
        if (own && live && is_always_read(r, x->symbol) && x->always)
            review_wrong(r, HPC_EXISTING_CLAUSE, x->write,
                         "%s is read after the loop, but the value assigned here is lost: use "
                         "lastprivate instead of private",
                         name);
        else if (live)
            r->unproven = true;
    } else if (review_under_condition(r, x->write, false)) {
        r->unproven = true;
    } else {
        review_wrong(r, HPC_EXISTING_CLAUSE, x->write,
                     live && x->always ? "all threads assign %s: lastprivate is missing"
                                       : "all threads assign %s: private is missing",
                     name);
    }
}

static void review_step(review *r, const slot *x, const char *name)
{
    const clause_item *sum = clause_of(&r->clauses, CLAUSE_REDUCTION, name);
    bool count = x->plain_read < 0 && x->exposed < 0;
    if (clause_of(&r->clauses, CLAUSE_LINEAR, name)) return;
    if (sum && count && sum->op == '+') return;
    if (review_lists(&r->clauses, name) || !review_shares(r, x->symbol))
        r->unproven = true;
    else if (count)
        review_wrong(r, HPC_EXISTING_REDUCTION, x->step_node,
                     "all threads increment %s: a reduction is missing", name);
    else
        review_wrong(
            r, HPC_EXISTING_CLAUSE, x->step_node,
            "all threads increment %s, and each iteration needs its value: linear is missing",
            name);
}

static void review_slot(review *r, const loop_facts *l, const slot *x)
{
    const hpc_symbol *v = &r->p->t->symbol[x->symbol];
    const char *name = r->p->t->name + v->name;
    uint8_t flags = v->type >= 0 ? r->p->t->type[v->type].flags : 0;
    bool listed = review_lists(&r->clauses, name), shared = review_shares(r, x->symbol);
    if (review_is_head(r, x->symbol)) {
        review_head(r, l, x->symbol, name);
    } else if (flags & (HPC_TYPE_VOLATILE | HPC_TYPE_ATOMIC) || v->flags & HPC_SYMBOL_THREAD) {
        r->unproven = true;
    } else if (x->stride) {
        review_step(r, x, name);
    } else if (x->exposed >= 0 && x->write >= 0) {
        if (listed || !shared || review_under_condition(r, x->write, false))
            r->unproven = true;
        else
            review_wrong(
                r, HPC_EXISTING_RACY, x->exposed,
                "%s is read here before this iteration assigns it, and all threads share it", name);
    } else if (x->update == 0 && x->write >= 0) {
        review_plain(r, l, x, name);
    } else if (x->update == OP_MIXED || (x->update && x->write >= 0)) {
        if (listed || !shared || review_under_condition(r, x->update_write, false))
            r->unproven = true;
        else
            review_wrong(r, HPC_EXISTING_RACY, x->update_write,
                         "all threads update %s here with different operators", name);
    } else if (x->update && x->plain_read >= 0) {
        const clause_item *c = clause_of(&r->clauses, CLAUSE_REDUCTION, name);
        bool sum = c && c->op == x->update && (c->op == '+' || c->op == '*');
        if ((listed || !shared || review_under_condition(r, x->plain_read, false)) && !sum)
            r->unproven = true;
        else
            review_wrong(r, HPC_EXISTING_RACY, x->plain_read,
                         "%s is read here while other threads still update it", name);
    } else if (x->update) {
        review_fold(r, x, name);
    } else if (x->escaped && !listed) {
        r->unproven = true;
    }
}

/* ---- variables that the loop only reads, and those of clauses that it does not use -------------
 */

/* A use of a variable in the loop's body; 0. */
static int32_t used_at(const review *r, const loop_facts *l, const clause_item *c)
{
    const hpc_tree *t = r->p->t;
    int32_t body = l->head.body;
    for (int32_t i = body; i > 0 && i < t->node[body].end; i++) {
        int32_t v = t->node[i].symbol;
        bool names =
            (t->node[i].kind == HPC_TREE_NAME || t->node[i].kind == HPC_TREE_MEMBER) && v >= 0;
        if (names && clause_names(c, t->name + t->symbol[v].name)) return i;
    }
    return 0;
}

static bool is_declared(const review *r, const clause_item *c)
{
    const hpc_tree *t = r->p->t;
    for (int64_t v = 0; v < t->symbols_n; v++) {
        uint8_t k = t->symbol[v].kind;
        if ((k == HPC_SYMBOL_VARIABLE || k == HPC_SYMBOL_PARAMETER || k == HPC_SYMBOL_FIELD) &&
            clause_names(c, t->name + t->symbol[v].name))
            return true;
    }
    return false;
}

static void review_item(review *r, const loop_facts *l, const clause_item *c, const char *named)
{
    const hpc_tree *t = r->p->t;
    if (c->kind == CLAUSE_SHARED) {
        if (!r->clauses.none) r->redundant = true;
        return;
    }
    int32_t use = used_at(r, l, c), v = use ? t->node[use].symbol : -1;
    if (use == 0) {
        bool head = false;
        for (int32_t k = 0; k < l->slots_n; k++)
            head |= clause_names(c, t->name + t->symbol[l->slots[k].symbol].name);
        if (!head) r->harmless = true;
        return;
    }
    if (slot_index(l, v) >= 0 || c->section) return; /* of a section, its accesses tell */
    if (review_is_head(r, v)) return; /* the counter of a loop around, which collapse takes too */
    uint8_t k = kind_of(t, t->symbol[v].type);
    bool simple =
        k == HPC_TYPE_INTEGER || k == HPC_TYPE_FLOAT || k == HPC_TYPE_BOOL || k == HPC_TYPE_POINTER;
    if (c->kind == CLAUSE_FIRST && simple) {
        r->harmless = true;
    } else if (c->kind == CLAUSE_PRIVATE && simple && t->node[use].kind == HPC_TREE_NAME &&
               !r->p->use[v].addressed)
    {
        if (clause_of(&r->clauses, CLAUSE_FIRST, named) ||
            clause_of(&r->clauses, CLAUSE_LAST, named))
            r->unproven = true;
        else
            review_wrong(
                r, HPC_EXISTING_CLAUSE, use,
                "%s is private and has no value when it is read here: use shared or firstprivate",
                named);
    } else if (simple) {
        r->unproven = true;
    }
}

int review_variables(review *r, const loop_facts *l)
{
    for (int64_t k = 0; k < r->clauses.n; k++)
        if (!is_declared(r, &r->clauses.item[k])) /* a macro's name */
            r->unproven = r->clauses.odd = true;
    for (int32_t k = 0; k < l->slots_n; k++)
        if (!l->slots[k].inside) review_slot(r, l, &l->slots[k]);
    for (int64_t k = 0; k < r->clauses.n; k++) {
        const clause_item *c = &r->clauses.item[k];
        const char *named = hpc_arena_text(r->p->out, "%.*s", (int)c->n, c->name);
        if (!named) return HPC_E_NOMEM;
        review_item(r, l, c, named);
    }
    return HPC_OK;
}

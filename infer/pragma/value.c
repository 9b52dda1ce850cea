/*
 * value.c: evaluation of expressions, with the accesses that they make.
 */
#include <string.h>

#include "infer/pragma/inline.h"

enum { ACCESSES_MOST = 4000, VISITS_MOST = 1 << 15, RESOLVE_MOST = 8, SHIFT_MOST = 30 };

/* ---- variables ------------------------------------------------------------------------------- */

/* True if the value of an expression is unused. */
static bool is_statement(const hpc_tree *t, int32_t i)
{
    uint8_t up = t->node[t->node[i].parent].kind;
    return up == HPC_TREE_BLOCK || up == HPC_TREE_FOR || up == HPC_TREE_RANGE;
}

const poly *slot_read(walk *w, int32_t k, int32_t node)
{
    slot *x = &w->loop->slots[k];
    if (w->now[k].refers) return load_from(w, w->now[k].refers, node);
    if (kind_of(w->t, w->t->symbol[x->symbol].type) == HPC_TYPE_REFERENCE) {
        access_everything(w, node);
        return poly_atom(w->prover, atom_opaque(w->prover, node));
    }
    if (!w->answer->muted) {
        if (!w->now[k].assigned && !x->inside && x->exposed < 0) x->exposed = node;
        bool steps = x->step_node >= 0 && node > x->step_node &&
                     node < w->t->node[x->step_node].end && is_statement(w->t, x->step_node);
        if (x->plain_read < 0 && !steps) x->plain_read = node;
    }
    if (!w->now[k].is) w->now[k].is = poly_atom(w->prover, atom_opaque(w->prover, node));
    return w->now[k].is;
}

void slot_write(walk *w, int32_t k, int32_t node, const poly *v)
{
    slot *x = &w->loop->slots[k];
    int32_t type = w->t->symbol[x->symbol].type;
    int64_t c;
    if (kind_of(w->t, type) == HPC_TYPE_REFERENCE) access_everything(w, node);
    bool narrow = kind_of(w->t, type) == HPC_TYPE_INTEGER && w->t->type[type].bytes < 4 &&
                  !(poly_is_number(v, &c) && c >= 0 && c < 128);
    w->now[k].is = narrow ? NULL : v;
    w->now[k].assigned = true;
    x->writes_n++;
    if (x->write < 0) x->write = node;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int32_t last_field(const place *p)
{
    for (int32_t k = p->n - 1; k >= 0; k--)
        if (p->step[k].field >= 0) return p->step[k].field;
    return -1;
}

/* The variable at the root of a place. */
static int32_t place_root(const walk *w, const place *p)
{
    for (int depth = 0; p && p->base >= 0 && depth < 16; depth++) {
        const atom *a = &w->prover->atoms[atom_untyped(w->prover, p->base)];
        if (a->kind == ATOM_OBJECT || a->kind == ATOM_SYMBOL) return a->symbol;
        p = a->place;
    }
    return -1;
}

/* A store of one type leaves an object of the other unchanged. */
static bool is_other_kind(const walk *w, int32_t a, int32_t b)
{
    const uint8_t x = kind_of(w->t, a), y = kind_of(w->t, b);
    if (x == HPC_TYPE_UNKNOWN || x == HPC_TYPE_RECORD || x == HPC_TYPE_ARRAY) return false;
    return y != HPC_TYPE_UNKNOWN && x != y;
}

/* Stores through other variables are checked like any pair of accesses. */
bool is_stored(const walk *w, const place *p)
{
    int32_t root = place_root(w, p), field = last_field(p);
    for (int64_t i = 0; i < w->loop->stores_n; i++) {
        const store *x = &w->loop->stores[i];
        if (x->root >= 0 && root >= 0 && x->root != root) continue;
        if (x->field >= 0 && field >= 0 && x->field != field) continue;
        if (is_other_kind(w, x->type, p->type)) continue;
        return true;
    }
    return false;
}

const poly *load_from(walk *w, const place *p, int32_t node)
{
    access_add(w, p, node, false, 0);
    if (kind_of(w->t, p->type) == HPC_TYPE_ARRAY) {
        place first = *p;
        if (p->base < 0 || p->n == PLACE_STEPS)
            return poly_atom(w->prover, atom_opaque(w->prover, node));
        first.step[first.n++] =
            (place_step){.field = STEP_INDEX, .index = poly_number(w->prover, 0)};
        first.type = w->t->type[p->type].to;
        return poly_atom(w->prover, atom_point(w->prover, &first));
    }
    if (p->base < 0 || !is_plain_number(w->t, p->type) || is_stored(w, p))
        return poly_atom(w->prover, atom_opaque(w->prover, node));
    return poly_atom(w->prover, atom_load(w->prover, p));
}

const poly *settled_member(walk *w, const place *p)
{
    if (p->base < 0 || is_stored(w, p)) return NULL;
    const int32_t load = atom_load(w->prover, p);
    return load < 0 || w->prover->atoms[load].varies ? NULL : poly_atom(w->prover, load);
}

static bool base_is_private(const walk *w, const place *p)
{
    if (p->base < 0) return false;
    const atom *a = &w->prover->atoms[p->base];
    if (a->kind == ATOM_OPAQUE && a->op == 'F') return true;
    if (a->kind != ATOM_OBJECT || !is_inside(w->loop, a->symbol)) return false;
    return kind_of(w->t, w->t->symbol[a->symbol].type) != HPC_TYPE_REFERENCE;
}

/* "auto x" declares an object, "auto &x" a reference. */
static bool is_auto_value(const program *p, int32_t variable)
{
    const hpc_tree_node *n = &p->t->node[variable];
    size_t at = n->at;
    if ((n->flags & (HPC_TREE_MACRO | HPC_TREE_ELSEWHERE)) || n->to > p->text_n) return false;
    if (n->to - at > 6 && memcmp(p->text + at, "const ", 6) == 0) at += 6;
    if (n->to - at < 6 || memcmp(p->text + at, "auto ", 5) != 0) return false;
    for (at += 5; at < n->to && p->text[at] == ' ';) at++;
    return at < n->to && p->text[at] != '&' && p->text[at] != '[';
}

/* A variable of a type that a template leaves open, made from an lvalue: it may be a reference. */
static bool may_refer(const walk *w, const place *p)
{
    const hpc_tree *t = w->t;
    const atom *a = p->base < 0 ? NULL : &w->prover->atoms[p->base];
    if (!a || a->kind != ATOM_OBJECT || !is_inside(w->loop, a->symbol)) return false;
    const hpc_symbol *v = &t->symbol[a->symbol];
    if (kind_of(t, v->type) != HPC_TYPE_UNKNOWN) return false;
    int32_t first = t->node[v->node].kind == HPC_TREE_VARIABLE ? hpc_tree_first(t, v->node) : 0;
    uint8_t kind = first ? t->node[first].kind : HPC_TREE_NUMBER;
    if (kind == HPC_TREE_CALL && is_auto_value(w->loop->p, v->node)) return false;
    return kind != HPC_TREE_NUMBER && kind != HPC_TREE_FLOAT && kind != HPC_TREE_BINARY &&
           kind != HPC_TREE_CONSTRUCT && kind != HPC_TREE_LIST;
}

static bool is_volatile(const walk *w, const place *p)
{
    return p->type >= 0 && (w->t->type[p->type].flags & HPC_TYPE_VOLATILE);
}

/* A whole array is no access: its elements are. */
void access_add(walk *w, const place *p, int32_t node, bool write, uint8_t update)
{
    if (w->answer->muted || kind_of(w->t, p->type) == HPC_TYPE_ARRAY) return;
    if (is_volatile(w, p))
        answer_unsafe(w->answer, "memory", node,
                      "%s is volatile: its accesses must keep their order",
                      node_text(w->loop->p, node));
    if (write && may_refer(w, p)) access_everything(w, node);
    if (base_is_private(w, p)) return;
    const atom *base = p->base < 0 ? NULL : &w->prover->atoms[p->base];
    int32_t k =
        base && base->kind == ATOM_OBJECT && p->n == 0 ? slot_index(w->loop, base->symbol) : -1;
    if (k >= 0) {
        if (write)
            slot_write(w, k, node, NULL);
        else
            slot_read(w, k, node);
        return;
    }
    if (w->loop->n == ACCESSES_MOST)
        answer_unknown(w->answer, "form", w->loop->node,
                       "the loop is too large: more than %d accesses", ACCESSES_MOST);
    if (w->loop->n >= ACCESSES_MOST) return;
    if (hpc_grow(&w->loop->item, &w->loop->cap, w->loop->n + 1, sizeof *w->loop->item) < 0) {
        w->rc = HPC_E_NOMEM;
        return;
    }
    w->loop->item[w->loop->n++] = (access){.place = *p,
                                           .node = w->inlining ? w->inlined_at : node,
                                           .depth = w->depth,
                                           .update = update,
                                           .write = write,
                                           .order = w->order++,
                                           .facts = w->facts};
}

void access_everything(walk *w, int32_t node)
{
    if (!w->answer->muted)
        answer_unknown(w->answer, "memory", node, "the memory that %s reads or writes is unknown",
                       node_text(w->loop->p, node));
}

static void store_to(walk *w, int32_t lvalue, const poly *v, int32_t node)
{
    place p;
    int32_t k = w->t->node[lvalue].kind == HPC_TREE_NAME
                    ? slot_index(w->loop, w->t->node[lvalue].symbol)
                    : -1;
    if (k >= 0 && !w->now[k].refers) {
        slot_write(w, k, node, v);
        return;
    }
    place_of(&p, w, lvalue);
    access_add(w, &p, lvalue, true, 0);
}

/* Target of an update, evaluated once because its side effects happen once. */
typedef struct target {
    place place;
    bool named; /* a variable: `place` is unused */
} target;

static const poly *load_target(target *out, walk *w, int32_t lvalue)
{
    out->named = w->t->node[lvalue].kind == HPC_TREE_NAME;
    if (out->named) return value_of(w, lvalue);
    place_of(&out->place, w, lvalue);
    w->loop->cost.operations += 1;
    return load_from(w, &out->place, lvalue);
}

static void store_target(walk *w, const target *to, int32_t lvalue, const poly *v, int32_t node)
{
    if (to->named)
        store_to(w, lvalue, v, node);
    else
        access_add(w, &to->place, lvalue, true, 0);
}

/* ---- variables that the loop does not change ------------------------------------------------- */

/* True if an expression consists of numbers and variables that never change. */
static bool is_settled(const walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        bool plain = n->kind == HPC_TREE_NUMBER || n->kind == HPC_TREE_BINARY ||
                     n->kind == HPC_TREE_THIS || n->kind == HPC_TREE_CAST ||
                     (n->kind == HPC_TREE_UNARY && (n->op == '-' || n->op == '+')) ||
                     (n->kind == HPC_TREE_NAME && n->symbol >= 0);
        if (n->kind == HPC_TREE_UNARY && n->op == '&') plain = true;
        if (n->kind == HPC_TREE_INDEX && t->node[n->parent].kind == HPC_TREE_UNARY &&
            t->node[n->parent].op == '&')
            plain = true;
        if (!plain) return false;
        if (n->kind != HPC_TREE_NAME) continue;
        const hpc_symbol *v = &t->symbol[n->symbol];
        const symbol_use *u = &w->loop->p->use[n->symbol];
        if (v->kind == HPC_SYMBOL_CONSTANT || (v->flags & HPC_SYMBOL_KNOWN)) continue;
        if (kind_of(t, v->type) == HPC_TYPE_ARRAY) continue;
        if (u->writes_n > 0 || u->addressed || !(v->flags & HPC_SYMBOL_LOCAL)) return false;
        if (kind_of(t, v->type) == HPC_TYPE_REFERENCE) return false;
    }
    return true;
}

/* The one expression that a local variable ever gets its value from; 0. */
static int32_t only_value(const walk *w, int32_t v)
{
    const hpc_tree *t = w->t;
    const hpc_symbol *x = &t->symbol[v];
    const symbol_use *u = &w->loop->p->use[v];
    if (x->kind != HPC_SYMBOL_VARIABLE || !(x->flags & HPC_SYMBOL_LOCAL) || u->addressed) return 0;
    if (x->node < 0 || t->node[x->node].kind != HPC_TREE_VARIABLE) return 0;
    int32_t initial = hpc_tree_first(t, x->node);
    if (u->writes_n == 0) return initial;
    if (u->writes_n > 1 || initial || u->write >= w->loop->node) return 0;
    if (t->node[u->write].kind != HPC_TREE_ASSIGN || t->node[u->write].op != '=') return 0;
    int32_t up = t->node[u->write].parent; /* at the top of the function, so that it always runs */
    if (t->node[up].kind != HPC_TREE_BLOCK || t->node[t->node[up].parent].kind != HPC_TREE_FUNCTION)
        return 0;
    return hpc_tree_child(t, u->write, 1);
}

const poly *settled_value(walk *w, int32_t v)
{
    int32_t type = w->t->symbol[v].type, e = 0;
    bool wide = kind_of(w->t, type) == HPC_TYPE_POINTER ||
                (kind_of(w->t, type) == HPC_TYPE_INTEGER && w->t->type[type].bytes >= 4);
    if (wide && w->resolving < RESOLVE_MOST) e = only_value(w, v);
    if (!e || !is_settled(w, e)) return poly_atom(w->prover, atom_symbol(w->prover, v));
    bool quiet = answer_mute(w->answer, true);
    w->resolving++;
    const poly *p = value_of(w, e);
    w->resolving--;
    answer_mute(w->answer, quiet);
    return p ? p : poly_atom(w->prover, atom_symbol(w->prover, v));
}

static const poly *value_of_name(walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    int32_t v = t->node[e].symbol;
    const binding *bound = w->bindings ? binding_of(w, v) : NULL;
    if (bound && bound->by_place) return load_from(w, &bound->place, e);
    if (bound) return bound->is;
    if (v < 0) return poly_atom(w->prover, atom_opaque(w->prover, e));
    const hpc_symbol *x = &t->symbol[v];
    if (x->kind == HPC_SYMBOL_CONSTANT || (x->flags & HPC_SYMBOL_KNOWN))
        return poly_number(w->prover, x->value);
    if (x->kind == HPC_SYMBOL_FUNCTION) return poly_atom(w->prover, atom_opaque(w->prover, e));
    int32_t k = slot_index(w->loop, v);
    if (k >= 0 && w->inlining && !w->answer->muted)
        answer_unsafe(w->answer, "call", w->inlined_at, "%s reads %s, which the loop assigns",
                      node_text(w->loop->p, w->inlined_at), symbol_name(w->t, v));
    if (k >= 0) return slot_read(w, k, e);
    place p = {.base = atom_object(w->prover, v), .type = bare_type(t, x->type)};
    uint8_t kind = kind_of(t, x->type);
    if (kind == HPC_TYPE_REFERENCE || kind == HPC_TYPE_ARRAY || kind == HPC_TYPE_RECORD)
        return load_from(w, &p, e);
    bool changes = is_inside(w->loop, v) || w->loop->p->use[v].writes_n > 0;
    if (kind == HPC_TYPE_UNKNOWN && (changes || w->loop->p->use[v].addressed))
        return load_from(w, &p, e); /* its type depends on a template: it has no slot */
    bool seen = !(x->flags & HPC_SYMBOL_LOCAL) || w->loop->p->use[v].addressed;
    if (seen && x->type >= 0 && !(t->type[x->type].flags & HPC_TYPE_CONST))
        access_add(w, &p, e, false, 0);
    return settled_value(w, v);
}

/* True if a product of an unsigned or an open type may wrap around. For an index the analysis
 * assumes that it does not, and records the assumption. */
static bool may_wrap(walk *w, int32_t e)
{
    if (w->indexing == 0) return false;
    const bool open = is_open_type(w->t, w->t->node[e].type);
    const char *text = hpc_arena_text(w->loop->p->out, "%s stays within its %stype",
                                      node_text(w->loop->p, e), open ? "" : "unsigned ");
    if (text && !w->answer->muted) answer_assume(w->answer, text, NULL);
    return text != NULL;
}

/* ---- sums and products ----------------------------------------------------------------------- */

static const poly *arithmetic(walk *w, uint8_t op, const poly *a, const poly *b, int32_t e)
{
    int64_t x, y;
    bool n = poly_is_number(b, &y), both = n && poly_is_number(a, &x);
    int32_t type = w->t->node[e].type;
    bool wraps = (w->loop->open && is_open_type(w->t, type)) ||
                 (kind_of(w->t, type) == HPC_TYPE_INTEGER &&
                  (w->t->type[type].flags & HPC_TYPE_UNSIGNED) && w->t->type[type].bytes <= 4);
    const poly *p = NULL;
    switch (op) {
    case '+': return poly_sum(w->prover, a, b);
    case '-': return poly_less(w->prover, a, b);
    case '*':
        if (wraps && !both && !may_wrap(w, e)) break;
        return poly_product(w->prover, a, b);
    case HPC_OP_SHIFT_LEFT:
        if (n && y >= 0 && y <= SHIFT_MOST && (!wraps || may_wrap(w, e)))
            p = poly_scaled(w->prover, a, INT64_C(1) << y);
        break;
    case '/':
        if (both && y != 0) p = poly_number(w->prover, x / y);
        break;
    case '%':
        if (both && y != 0) p = poly_number(w->prover, x % y);
        break;
    default: break;
    }
    return p ? p : poly_atom(w->prover, atom_function(w->prover, op, a, b, w->facts));
}

static bool is_arithmetic(uint8_t op)
{
    return op == '+' || op == '-' || op == '*' || op == '/' || op == '%' || op == '&' ||
           op == '|' || op == '^' || op == HPC_OP_SHIFT_LEFT || op == HPC_OP_SHIFT_RIGHT;
}

/* An operand that may not be looked at. */
static const poly *value_if(walk *w, int32_t e, int32_t condition, bool holds)
{
    var_state *before = state_copy(w, w->now);
    const fact *facts = w->facts;
    w->depth++;
    w->facts = facts_of(w, facts, condition, holds);
    const poly *p = value_of(w, e);
    w->facts = facts;
    w->depth--;
    state_join(w, w->now, before);
    return p;
}

static const poly *value_of_binary(walk *w, int32_t e)
{
    const hpc_tree_node *n = &w->t->node[e];
    int32_t left = hpc_tree_child(w->t, e, 0), right = hpc_tree_child(w->t, e, 1);
    if (!left || !right) return NULL;
    const poly *a = value_of(w, left);
    if (n->op == HPC_OP_AND || n->op == HPC_OP_OR) {
        value_if(w, right, left, n->op == HPC_OP_AND);
        return poly_atom(w->prover, atom_opaque(w->prover, e));
    }
    const poly *b = value_of(w, right);
    w->loop->cost.operations += 1;
    if (n->op == ',') return b;
    if (!is_arithmetic(n->op) || kind_of(w->t, n->type) == HPC_TYPE_FLOAT ||
        kind_of(w->t, n->type) == HPC_TYPE_RECORD)
        return poly_atom(w->prover, atom_opaque(w->prover, e));
    return arithmetic(w, n->op, a, b, e);
}

static const poly *value_of_unary(walk *w, int32_t e)
{
    const hpc_tree_node *n = &w->t->node[e];
    int32_t c = hpc_tree_first(w->t, e);
    place p;
    if (!c) return NULL;
    switch (n->op) {
    case '-': return poly_scaled(w->prover, value_of(w, c), -1);
    case '+': return value_of(w, c);
    case '*': place_of(&p, w, e); return load_from(w, &p, e);
    case '&':
        place_of(&p, w, c);
        return p.base < 0 ? poly_atom(w->prover, atom_opaque(w->prover, e))
                          : poly_atom(w->prover, atom_point(w->prover, &p));
    case HPC_OP_PRE_INCREMENT:
    case HPC_OP_POST_INCREMENT:
    case HPC_OP_PRE_DECREMENT:
    case HPC_OP_POST_DECREMENT: {
        bool down = n->op == HPC_OP_PRE_DECREMENT || n->op == HPC_OP_POST_DECREMENT;
        bool before = n->op == HPC_OP_POST_INCREMENT || n->op == HPC_OP_POST_DECREMENT;
        target to;
        const poly *old = load_target(&to, w, c), *new = poly_plus(w->prover, old, down ? -1 : 1);
        store_target(w, &to, c, new, e);
        return before ? old : new;
    }
    default: value_of(w, c); return poly_atom(w->prover, atom_opaque(w->prover, e));
    }
}

static const poly *value_of_assign(walk *w, int32_t e)
{
    const hpc_tree_node *n = &w->t->node[e];
    int32_t left = hpc_tree_child(w->t, e, 0), right = hpc_tree_child(w->t, e, 1);
    if (!left || !right) return NULL;
    const poly *v = value_of(w, right);
    if (n->op != '=') {
        target to;
        const poly *old = load_target(&to, w, left);
        bool number = is_plain_number(w->t, w->t->node[left].type) && is_arithmetic(n->op);
        v = number ? arithmetic(w, n->op, old, v, e) : NULL;
        w->loop->cost.operations += 1;
        store_target(w, &to, left, v, e);
        return v;
    }
    if (kind_of(w->t, w->t->node[left].type) == HPC_TYPE_INTEGER &&
        kind_of(w->t, w->t->node[right].type) == HPC_TYPE_FLOAT)
        v = NULL;
    store_to(w, left, v, e);
    return v;
}

/* a < b ? a : b is not above either, and a > b ? a : b is not below. */
static void value_is_least(walk *w, const poly *v, const poly *a, const poly *b)
{
    w->facts = fact_add(w->prover, fact_add(w->prover, w->facts, poly_less(w->prover, a, v)),
                        poly_less(w->prover, b, v));
}

static void value_is_greatest(walk *w, const poly *v, const poly *a, const poly *b)
{
    w->facts = fact_add(w->prover, fact_add(w->prover, w->facts, poly_less(w->prover, v, a)),
                        poly_less(w->prover, v, b));
}

static void bound_choice(walk *w, const poly *v, int32_t condition, int32_t yes, int32_t no,
                         const poly *a, const poly *b)
{
    const hpc_tree *t = w->t;
    const hpc_tree_node *n = &t->node[condition];
    int32_t left = hpc_tree_child(t, condition, 0), right = hpc_tree_child(t, condition, 1);
    if (n->kind != HPC_TREE_BINARY || !left || !right) return;
    bool less = n->op == '<' || n->op == HPC_OP_LESS_EQUAL,
         more = n->op == '>' || n->op == HPC_OP_GREATER_EQUAL;
    bool straight = tree_equal(t, left, yes) && tree_equal(t, right, no),
         turned = tree_equal(t, left, no) && tree_equal(t, right, yes);
    if ((less && straight) || (more && turned)) value_is_least(w, v, a, b);
    if ((more && straight) || (less && turned)) value_is_greatest(w, v, a, b);
}

static const poly *value_of_choice(walk *w, int32_t e)
{
    int32_t condition = hpc_tree_child(w->t, e, 0), yes = hpc_tree_child(w->t, e, 1),
            no = hpc_tree_child(w->t, e, 2);
    if (!no) return NULL;
    value_of(w, condition);
    const poly *a = value_if(w, yes, condition, true), *b = value_if(w, no, condition, false);
    if (poly_equal(a, b)) return a;
    const poly *v = poly_atom(w->prover, atom_opaque(w->prover, e));
    bound_choice(w, v, condition, yes, no, a, b);
    return v;
}

/* Pointers keep their meaning only while what they point to has the same size. */
static const poly *value_of_cast(walk *w, int32_t e)
{
    const hpc_tree *t = w->t;
    int32_t c = hpc_tree_first(t, e);
    if (!c) return NULL;
    for (int32_t k = c; hpc_tree_next(t, c); c = hpc_tree_next(t, c), k = c) (void)k;
    const poly *v = value_of(w, c);
    int32_t to = bare_type(t, t->node[e].type), from = bare_type(t, t->node[c].type);
    uint8_t a = kind_of(t, to), b = kind_of(t, from);
    if (a == HPC_TYPE_INTEGER && (b == HPC_TYPE_INTEGER || b == HPC_TYPE_BOOL))
        return t->type[to].bytes >= 4 ? v : poly_atom(w->prover, atom_opaque(w->prover, e));
    if (a == HPC_TYPE_POINTER && (b == HPC_TYPE_POINTER || b == HPC_TYPE_ARRAY)) {
        int32_t x = t->type[to].to, y = t->type[from].to;
        if (kind_of(t, y) == HPC_TYPE_VOID && v && v->n == 1) return v;
        bool number = kind_of(t, x) == HPC_TYPE_INTEGER || kind_of(t, x) == HPC_TYPE_FLOAT;
        if (is_same_type(t, x, y) ||
            (number && t->type[x].bytes == t->type[y].bytes && t->type[x].kind == t->type[y].kind))
            return v;
    }
    return poly_atom(w->prover, atom_opaque(w->prover, e));
}

static const poly *value_of_parts(walk *w, int32_t e)
{
    for (int32_t c = hpc_tree_first(w->t, e); c; c = hpc_tree_next(w->t, c)) value_of(w, c);
    return poly_atom(w->prover, atom_opaque(w->prover, e));
}

/* Calls are looked into wherever they stand, and so on within them. */
static bool is_too_much(walk *w)
{
    if (++w->visits == VISITS_MOST) answer_too_large(w->answer, w->loop->node);
    return w->visits >= VISITS_MOST;
}

const poly *value_of(walk *w, int32_t e)
{
    const hpc_tree_node *n = &w->t->node[e];
    place p;
    if (is_too_much(w)) return NULL;
    switch (n->kind) {
    case HPC_TREE_NUMBER: return poly_number(w->prover, n->value);
    case HPC_TREE_STRING: return poly_atom(w->prover, atom_fresh(w->prover, e)); /* read-only */
    case HPC_TREE_NAME: return value_of_name(w, e);
    case HPC_TREE_THIS:
        return poly_atom(w->prover,
                         w->self ? atom_point(w->prover, w->self) : atom_this(w->prover));
    case HPC_TREE_MEMBER:
    case HPC_TREE_INDEX:
        place_of(&p, w, e);
        w->loop->cost.operations += 1;
        return load_from(w, &p, e);
    case HPC_TREE_UNARY: return value_of_unary(w, e);
    case HPC_TREE_BINARY: return value_of_binary(w, e);
    case HPC_TREE_ASSIGN: return value_of_assign(w, e);
    case HPC_TREE_CHOOSE: return value_of_choice(w, e);
    case HPC_TREE_CAST: return value_of_cast(w, e);
    case HPC_TREE_CALL: return call_value(w, e);
    case HPC_TREE_NEW: value_of_parts(w, e); return poly_atom(w->prover, atom_fresh(w->prover, e));
    case HPC_TREE_CONSTRUCT: return call_value(w, e);
    case HPC_TREE_LAMBDA:
        answer_unknown(w->answer, "call", e, "the body of a lambda is not analysed");
        return NULL;
    case HPC_TREE_DELETE:
        answer_unknown(w->answer, "memory", e, "memory is freed");
        return value_of_parts(w, e);
    case HPC_TREE_THROW:
        answer_unsafe(w->answer, "control", e, "an exception may leave the loop");
        return value_of_parts(w, e);
    case HPC_TREE_OTHER:
    case HPC_TREE_ASM:
        answer_unknown(w->answer, "form", e, "%s is not analysed", node_text(w->loop->p, e));
        return value_of_parts(w, e);
    default: return value_of_parts(w, e);
    }
}

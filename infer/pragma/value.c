/*
 * value.c: what expressions are worth, as far as it can be said, and what is read and written on
 * the way.
 */
#include <string.h>

#include "infer/pragma/inline.h"

enum { ACCESSES_MOST = 4000, VISITS_MOST = 1 << 15, RESOLVE_MOST = 8, SHIFT_MOST = 30 };

int32_t slot_index(const study *s, int32_t symbol)
{
    return symbol < 0 ? -1 : s->slot_of[symbol];
}

bool is_inside(const study *s, int32_t symbol)
{
    const hpc_symbol *v = &s->t->symbol[symbol];
    return v->node > s->loop && v->node < s->t->node[s->loop].end &&
           !(v->flags & (HPC_SYMBOL_STATIC | HPC_SYMBOL_THREAD));
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Whether nothing uses the value of an expression. */
static bool is_statement(const hpc_tree *t, int32_t i)
{
    uint8_t up = t->node[t->node[i].parent].kind;
    return up == HPC_TREE_BLOCK || up == HPC_TREE_FOR || up == HPC_TREE_RANGE;
}

const poly *slot_read(study *s, int32_t k, int32_t node)
{
    slot *x = &s->slots[k];
    if (s->now[k].refers) return load_from(s, s->now[k].refers, node);
    if (kind_of(s->t, s->t->symbol[x->symbol].type) == HPC_TYPE_REFERENCE) {
        access_everything(s, node);
        return poly_atom(s->prover, atom_opaque(s->prover, node));
    }
    if (!s->answer->muted) {
        if (!s->now[k].assigned && !x->inside && x->exposed < 0) x->exposed = node;
        bool steps = x->step_node >= 0 && node > x->step_node &&
                     node < s->t->node[x->step_node].end && is_statement(s->t, x->step_node);
        if (x->plain_read < 0 && !steps) x->plain_read = node;
    }
    if (!s->now[k].is) s->now[k].is = poly_atom(s->prover, atom_opaque(s->prover, node));
    return s->now[k].is;
}

void slot_write(study *s, int32_t k, int32_t node, const poly *v)
{
    slot *x = &s->slots[k];
    int32_t type = s->t->symbol[x->symbol].type;
    int64_t c;
    if (kind_of(s->t, type) == HPC_TYPE_REFERENCE) access_everything(s, node);
    bool narrow = kind_of(s->t, type) == HPC_TYPE_INTEGER && s->t->type[type].bytes < 4 &&
                  !(poly_is_number(v, &c) && c >= 0 && c < 128);
    s->now[k].is = narrow ? NULL : v;
    s->now[k].assigned = true;
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
static int32_t place_root(const study *s, const place *p)
{
    for (int depth = 0; p && p->base >= 0 && depth < 16; depth++) {
        const atom *a = &s->prover->atoms[atom_untyped(s->prover, p->base)];
        if (a->kind == ATOM_OBJECT || a->kind == ATOM_SYMBOL) return a->symbol;
        p = a->place;
    }
    return -1;
}

/* Whether the loop may store where this lies, by way of the same variable. What it stores by way
 * of another one is judged as any two accesses are. */
static bool is_stored(const study *s, const place *p)
{
    int32_t root = place_root(s, p), field = last_field(p);
    for (int64_t i = 0; i < s->stores_n; i++) {
        const store *x = &s->stores[i];
        if (x->root >= 0 && root >= 0 && x->root != root) continue;
        if (x->field >= 0 && field >= 0 && x->field != field) continue;
        if (x->type >= 0 && p->type >= 0 && kind_of(s->t, x->type) != kind_of(s->t, p->type))
            continue;
        return true;
    }
    return false;
}

const poly *load_from(study *s, const place *p, int32_t node)
{
    access_add(s, p, node, false, 0);
    if (kind_of(s->t, p->type) == HPC_TYPE_ARRAY) {
        place first = *p;
        if (p->base < 0 || p->n == PLACE_STEPS)
            return poly_atom(s->prover, atom_opaque(s->prover, node));
        first.step[first.n++] =
            (place_step){.field = STEP_INDEX, .index = poly_number(s->prover, 0)};
        first.type = s->t->type[p->type].to;
        return poly_atom(s->prover, atom_point(s->prover, &first));
    }
    if (p->base < 0 || !is_plain_number(s->t, p->type) || is_stored(s, p))
        return poly_atom(s->prover, atom_opaque(s->prover, node));
    return poly_atom(s->prover, atom_load(s->prover, p));
}

static bool base_is_private(const study *s, const place *p)
{
    if (p->base < 0) return false;
    const atom *a = &s->prover->atoms[p->base];
    if (a->kind == ATOM_OPAQUE && a->op == 'F') return true;
    if (a->kind != ATOM_OBJECT || !is_inside(s, a->symbol)) return false;
    return kind_of(s->t, s->t->symbol[a->symbol].type) != HPC_TYPE_REFERENCE;
}

/* A variable of a type that a template leaves open, made from an lvalue: it may be a reference. */
static bool may_refer(const study *s, const place *p)
{
    const hpc_tree *t = s->t;
    const atom *a = p->base < 0 ? NULL : &s->prover->atoms[p->base];
    if (!a || a->kind != ATOM_OBJECT || !is_inside(s, a->symbol)) return false;
    const hpc_symbol *v = &t->symbol[a->symbol];
    if (kind_of(t, v->type) != HPC_TYPE_UNKNOWN) return false;
    int32_t first = t->node[v->node].kind == HPC_TREE_VARIABLE ? hpc_tree_first(t, v->node) : 0;
    uint8_t kind = first ? t->node[first].kind : HPC_TREE_NUMBER;
    return kind != HPC_TREE_NUMBER && kind != HPC_TREE_FLOAT && kind != HPC_TREE_BINARY &&
           kind != HPC_TREE_CONSTRUCT && kind != HPC_TREE_LIST;
}

static bool is_volatile(const study *s, const place *p)
{
    return p->type >= 0 && (s->t->type[p->type].flags & HPC_TYPE_VOLATILE);
}

/* A whole array is no access: its elements are. */
void access_add(study *s, const place *p, int32_t node, bool write, uint8_t update)
{
    if (s->answer->muted || kind_of(s->t, p->type) == HPC_TYPE_ARRAY) return;
    if (is_volatile(s, p))
        answer_unsafe(s->answer, "memory", node,
                      "%s is volatile: its accesses must keep their order",
                      node_text(s->program, node));
    if (write && may_refer(s, p)) access_everything(s, node);
    if (base_is_private(s, p)) return;
    const atom *base = p->base < 0 ? NULL : &s->prover->atoms[p->base];
    int32_t k = base && base->kind == ATOM_OBJECT && p->n == 0 ? slot_index(s, base->symbol) : -1;
    if (k >= 0) {
        if (write)
            slot_write(s, k, node, NULL);
        else
            slot_read(s, k, node);
        return;
    }
    if (s->n == ACCESSES_MOST)
        answer_unknown(s->answer, "form", s->loop, "the loop is too large: more than %d accesses",
                       ACCESSES_MOST);
    if (s->n >= ACCESSES_MOST || hpc_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item) < 0) return;
    s->item[s->n++] = (access){.place = *p,
                               .node = s->inlining ? s->inlined_at : node,
                               .depth = s->depth,
                               .update = update,
                               .write = write,
                               .order = s->order++,
                               .facts = s->facts};
}

void access_everything(study *s, int32_t node)
{
    if (!s->answer->muted)
        answer_unknown(s->answer, "memory", node, "the memory that %s reads or writes is unknown",
                       node_text(s->program, node));
}

void store_to(study *s, int32_t lvalue, const poly *v, int32_t node)
{
    place p;
    int32_t k =
        s->t->node[lvalue].kind == HPC_TREE_NAME ? slot_index(s, s->t->node[lvalue].symbol) : -1;
    if (k >= 0 && !s->now[k].refers) {
        slot_write(s, k, node, v);
        return;
    }
    place_of(&p, s, lvalue);
    access_add(s, &p, lvalue, true, 0);
}

/* What is read and written in one: looked at once, as what stands within it happens once. */
typedef struct target {
    place place;
    bool named; /* a variable: it has no place here */
} target;

static const poly *load_target(target *out, study *s, int32_t lvalue)
{
    out->named = s->t->node[lvalue].kind == HPC_TREE_NAME;
    if (out->named) return value_of(s, lvalue);
    place_of(&out->place, s, lvalue);
    s->cost += 1;
    return load_from(s, &out->place, lvalue);
}

static void store_target(study *s, const target *to, int32_t lvalue, const poly *v, int32_t node)
{
    if (to->named)
        store_to(s, lvalue, v, node);
    else
        access_add(s, &to->place, lvalue, true, 0);
}

/* ---- variables that the loop does not change ------------------------------------------------- */

/* Whether an expression holds nothing but numbers and variables that never change. */
static bool is_settled(const study *s, int32_t e)
{
    const hpc_tree *t = s->t;
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        bool plain = n->kind == HPC_TREE_NUMBER || n->kind == HPC_TREE_BINARY ||
                     n->kind == HPC_TREE_CAST ||
                     (n->kind == HPC_TREE_UNARY && (n->op == '-' || n->op == '+')) ||
                     (n->kind == HPC_TREE_NAME && n->symbol >= 0);
        if (n->kind == HPC_TREE_UNARY && n->op == '&') plain = true;
        if (n->kind == HPC_TREE_INDEX && t->node[n->parent].kind == HPC_TREE_UNARY &&
            t->node[n->parent].op == '&')
            plain = true;
        if (!plain) return false;
        if (n->kind != HPC_TREE_NAME) continue;
        const hpc_symbol *v = &t->symbol[n->symbol];
        const symbol_use *u = &s->program->use[n->symbol];
        if (v->kind == HPC_SYMBOL_CONSTANT || (v->flags & HPC_SYMBOL_KNOWN)) continue;
        if (kind_of(t, v->type) == HPC_TYPE_ARRAY) continue;
        if (u->writes_n > 0 || u->addressed || !(v->flags & HPC_SYMBOL_LOCAL)) return false;
        if (kind_of(t, v->type) == HPC_TYPE_REFERENCE) return false;
    }
    return true;
}

/* The one expression that a local variable ever gets its value from; 0. */
static int32_t only_value(const study *s, int32_t v)
{
    const hpc_tree *t = s->t;
    const hpc_symbol *x = &t->symbol[v];
    const symbol_use *u = &s->program->use[v];
    if (x->kind != HPC_SYMBOL_VARIABLE || !(x->flags & HPC_SYMBOL_LOCAL) || u->addressed) return 0;
    if (x->node < 0 || t->node[x->node].kind != HPC_TREE_VARIABLE) return 0;
    int32_t initial = hpc_tree_first(t, x->node);
    if (u->writes_n == 0) return initial;
    if (u->writes_n > 1 || initial || u->write >= s->loop) return 0;
    if (t->node[u->write].kind != HPC_TREE_ASSIGN || t->node[u->write].op != '=') return 0;
    int32_t up = t->node[u->write].parent; /* at the top of the function, so that it always runs */
    if (t->node[up].kind != HPC_TREE_BLOCK || t->node[t->node[up].parent].kind != HPC_TREE_FUNCTION)
        return 0;
    return hpc_tree_child(t, u->write, 1);
}

const poly *settled_value(study *s, int32_t v)
{
    int32_t type = s->t->symbol[v].type, e = 0;
    bool wide = kind_of(s->t, type) == HPC_TYPE_POINTER ||
                (kind_of(s->t, type) == HPC_TYPE_INTEGER && s->t->type[type].bytes >= 4);
    if (wide && s->resolving < RESOLVE_MOST) e = only_value(s, v);
    if (!e || !is_settled(s, e)) return poly_atom(s->prover, atom_symbol(s->prover, v));
    bool quiet = answer_mute(s->answer, true);
    s->resolving++;
    const poly *p = value_of(s, e);
    s->resolving--;
    answer_mute(s->answer, quiet);
    return p ? p : poly_atom(s->prover, atom_symbol(s->prover, v));
}

static const poly *value_of_name(study *s, int32_t e)
{
    const hpc_tree *t = s->t;
    int32_t v = t->node[e].symbol;
    const binding *bound = s->bindings ? binding_of(s, v) : NULL;
    if (bound && bound->by_place) return load_from(s, &bound->place, e);
    if (bound) return bound->is;
    if (v < 0) return poly_atom(s->prover, atom_opaque(s->prover, e));
    const hpc_symbol *x = &t->symbol[v];
    if (x->kind == HPC_SYMBOL_CONSTANT || (x->flags & HPC_SYMBOL_KNOWN))
        return poly_number(s->prover, x->value);
    if (x->kind == HPC_SYMBOL_FUNCTION) return poly_atom(s->prover, atom_opaque(s->prover, e));
    int32_t k = slot_index(s, v);
    if (k >= 0 && s->inlining && !s->answer->muted)
        answer_unsafe(s->answer, "call", s->inlined_at, "%s reads %s, which the loop assigns",
                      node_text(s->program, s->inlined_at), symbol_name(s->t, v));
    if (k >= 0) return slot_read(s, k, e);
    place p = {.base = atom_object(s->prover, v), .type = bare_type(t, x->type)};
    uint8_t kind = kind_of(t, x->type);
    if (kind == HPC_TYPE_REFERENCE || kind == HPC_TYPE_ARRAY || kind == HPC_TYPE_RECORD)
        return load_from(s, &p, e);
    bool changes = is_inside(s, v) || s->program->use[v].writes_n > 0;
    if (kind == HPC_TYPE_UNKNOWN && (changes || s->program->use[v].addressed))
        return load_from(s, &p, e); /* a template leaves its type open: it is no slot */
    bool seen = !(x->flags & HPC_SYMBOL_LOCAL) || s->program->use[v].addressed;
    if (seen && x->type >= 0 && !(t->type[x->type].flags & HPC_TYPE_CONST))
        access_add(s, &p, e, false, 0);
    return settled_value(s, v);
}

/* A product of unsigned numbers may come round to small ones again. Of an index it is assumed that
 * it does not, and that is said. */
static bool may_wrap(study *s, int32_t e)
{
    if (s->indexing == 0) return false;
    const char *text = hpc_arena_text(s->program->out, "%s stays within its unsigned type",
                                      node_text(s->program, e));
    if (text && !s->answer->muted) answer_assume(s->answer, text, NULL);
    return text != NULL;
}

/* ---- sums and products ----------------------------------------------------------------------- */

static const poly *arithmetic(study *s, uint8_t op, const poly *a, const poly *b, int32_t e)
{
    int64_t x, y;
    bool n = poly_is_number(b, &y), both = n && poly_is_number(a, &x);
    int32_t type = s->t->node[e].type;
    bool wraps = kind_of(s->t, type) == HPC_TYPE_INTEGER &&
                 (s->t->type[type].flags & HPC_TYPE_UNSIGNED) && s->t->type[type].bytes <= 4;
    const poly *p = NULL;
    switch (op) {
    case '+': return poly_sum(s->prover, a, b);
    case '-': return poly_less(s->prover, a, b);
    case '*':
        if (wraps && !both && !may_wrap(s, e)) break;
        return poly_product(s->prover, a, b);
    case HPC_OP_SHIFT_LEFT:
        if (n && y >= 0 && y <= SHIFT_MOST && (!wraps || may_wrap(s, e)))
            p = poly_scaled(s->prover, a, INT64_C(1) << y);
        break;
    case '/':
        if (both && y != 0) p = poly_number(s->prover, x / y);
        break;
    case '%':
        if (both && y != 0) p = poly_number(s->prover, x % y);
        break;
    default: break;
    }
    return p ? p : poly_atom(s->prover, atom_function(s->prover, op, a, b, s->facts));
}

static bool is_arithmetic(uint8_t op)
{
    return op == '+' || op == '-' || op == '*' || op == '/' || op == '%' || op == '&' ||
           op == '|' || op == '^' || op == HPC_OP_SHIFT_LEFT || op == HPC_OP_SHIFT_RIGHT;
}

/* An operand that may not be looked at. */
static const poly *value_if(study *s, int32_t e, int32_t condition, bool holds)
{
    var_state *before = state_copy(s, s->now);
    const fact *facts = s->facts;
    s->depth++;
    s->facts = facts_of(s, facts, condition, holds);
    const poly *p = value_of(s, e);
    s->facts = facts;
    s->depth--;
    state_join(s, s->now, before);
    return p;
}

static const poly *value_of_binary(study *s, int32_t e)
{
    const hpc_tree_node *n = &s->t->node[e];
    int32_t left = hpc_tree_child(s->t, e, 0), right = hpc_tree_child(s->t, e, 1);
    if (!left || !right) return NULL;
    const poly *a = value_of(s, left);
    if (n->op == HPC_OP_AND || n->op == HPC_OP_OR) {
        value_if(s, right, left, n->op == HPC_OP_AND);
        return poly_atom(s->prover, atom_opaque(s->prover, e));
    }
    const poly *b = value_of(s, right);
    s->cost += 1;
    if (n->op == ',') return b;
    if (!is_arithmetic(n->op) || kind_of(s->t, n->type) == HPC_TYPE_FLOAT ||
        kind_of(s->t, n->type) == HPC_TYPE_RECORD)
        return poly_atom(s->prover, atom_opaque(s->prover, e));
    return arithmetic(s, n->op, a, b, e);
}

static const poly *value_of_unary(study *s, int32_t e)
{
    const hpc_tree_node *n = &s->t->node[e];
    int32_t c = hpc_tree_first(s->t, e);
    place p;
    if (!c) return NULL;
    switch (n->op) {
    case '-': return poly_scaled(s->prover, value_of(s, c), -1);
    case '+': return value_of(s, c);
    case '*': place_of(&p, s, e); return load_from(s, &p, e);
    case '&':
        place_of(&p, s, c);
        return p.base < 0 ? poly_atom(s->prover, atom_opaque(s->prover, e))
                          : poly_atom(s->prover, atom_point(s->prover, &p));
    case HPC_OP_PRE_INCREMENT:
    case HPC_OP_POST_INCREMENT:
    case HPC_OP_PRE_DECREMENT:
    case HPC_OP_POST_DECREMENT: {
        bool down = n->op == HPC_OP_PRE_DECREMENT || n->op == HPC_OP_POST_DECREMENT;
        bool before = n->op == HPC_OP_POST_INCREMENT || n->op == HPC_OP_POST_DECREMENT;
        target to;
        const poly *old = load_target(&to, s, c), *new = poly_plus(s->prover, old, down ? -1 : 1);
        store_target(s, &to, c, new, e);
        return before ? old : new;
    }
    default: value_of(s, c); return poly_atom(s->prover, atom_opaque(s->prover, e));
    }
}

static const poly *value_of_assign(study *s, int32_t e)
{
    const hpc_tree_node *n = &s->t->node[e];
    int32_t left = hpc_tree_child(s->t, e, 0), right = hpc_tree_child(s->t, e, 1);
    if (!left || !right) return NULL;
    const poly *v = value_of(s, right);
    if (n->op != '=') {
        target to;
        const poly *old = load_target(&to, s, left);
        bool number = is_plain_number(s->t, s->t->node[left].type) && is_arithmetic(n->op);
        v = number ? arithmetic(s, n->op, old, v, e) : NULL;
        s->cost += 1;
        store_target(s, &to, left, v, e);
        return v;
    }
    if (kind_of(s->t, s->t->node[left].type) == HPC_TYPE_INTEGER &&
        kind_of(s->t, s->t->node[right].type) == HPC_TYPE_FLOAT)
        v = NULL;
    store_to(s, left, v, e);
    return v;
}

/* a < b ? a : b is not above either, and a > b ? a : b is not below. */
static void value_is_least(study *s, const poly *v, const poly *a, const poly *b)
{
    s->facts = fact_add(s->prover, fact_add(s->prover, s->facts, poly_less(s->prover, a, v)),
                        poly_less(s->prover, b, v));
}

static void value_is_greatest(study *s, const poly *v, const poly *a, const poly *b)
{
    s->facts = fact_add(s->prover, fact_add(s->prover, s->facts, poly_less(s->prover, v, a)),
                        poly_less(s->prover, v, b));
}

static void bound_choice(study *s, const poly *v, int32_t condition, int32_t yes, int32_t no,
                         const poly *a, const poly *b)
{
    const hpc_tree *t = s->t;
    const hpc_tree_node *n = &t->node[condition];
    int32_t left = hpc_tree_child(t, condition, 0), right = hpc_tree_child(t, condition, 1);
    if (n->kind != HPC_TREE_BINARY || !left || !right) return;
    bool less = n->op == '<' || n->op == HPC_OP_LESS_EQUAL,
         more = n->op == '>' || n->op == HPC_OP_GREATER_EQUAL;
    bool straight = tree_equal(t, left, yes) && tree_equal(t, right, no),
         turned = tree_equal(t, left, no) && tree_equal(t, right, yes);
    if ((less && straight) || (more && turned)) value_is_least(s, v, a, b);
    if ((more && straight) || (less && turned)) value_is_greatest(s, v, a, b);
}

static const poly *value_of_choice(study *s, int32_t e)
{
    int32_t condition = hpc_tree_child(s->t, e, 0), yes = hpc_tree_child(s->t, e, 1),
            no = hpc_tree_child(s->t, e, 2);
    if (!no) return NULL;
    value_of(s, condition);
    const poly *a = value_if(s, yes, condition, true), *b = value_if(s, no, condition, false);
    if (poly_equal(a, b)) return a;
    const poly *v = poly_atom(s->prover, atom_opaque(s->prover, e));
    bound_choice(s, v, condition, yes, no, a, b);
    return v;
}

/* Pointers keep their meaning only while what they point to has the same size. */
static const poly *value_of_cast(study *s, int32_t e)
{
    const hpc_tree *t = s->t;
    int32_t c = hpc_tree_first(t, e);
    if (!c) return NULL;
    for (int32_t k = c; hpc_tree_next(t, c); c = hpc_tree_next(t, c), k = c) (void)k;
    const poly *v = value_of(s, c);
    int32_t to = bare_type(t, t->node[e].type), from = bare_type(t, t->node[c].type);
    uint8_t a = kind_of(t, to), b = kind_of(t, from);
    if (a == HPC_TYPE_INTEGER && (b == HPC_TYPE_INTEGER || b == HPC_TYPE_BOOL))
        return t->type[to].bytes >= 4 ? v : poly_atom(s->prover, atom_opaque(s->prover, e));
    if (a == HPC_TYPE_POINTER && (b == HPC_TYPE_POINTER || b == HPC_TYPE_ARRAY)) {
        int32_t x = t->type[to].to, y = t->type[from].to;
        if (kind_of(t, y) == HPC_TYPE_VOID && v && v->n == 1) return v;
        bool number = kind_of(t, x) == HPC_TYPE_INTEGER || kind_of(t, x) == HPC_TYPE_FLOAT;
        if (is_same_type(t, x, y) ||
            (number && t->type[x].bytes == t->type[y].bytes && t->type[x].kind == t->type[y].kind))
            return v;
    }
    return poly_atom(s->prover, atom_opaque(s->prover, e));
}

static const poly *value_of_parts(study *s, int32_t e)
{
    for (int32_t c = hpc_tree_first(s->t, e); c; c = hpc_tree_next(s->t, c)) value_of(s, c);
    return poly_atom(s->prover, atom_opaque(s->prover, e));
}

/* Calls are looked into wherever they stand, and so on within them. */
static bool is_too_much(study *s)
{
    if (++s->visits == VISITS_MOST) answer_too_large(s->answer, s->loop);
    return s->visits >= VISITS_MOST;
}

const poly *value_of(study *s, int32_t e)
{
    const hpc_tree_node *n = &s->t->node[e];
    place p;
    if (is_too_much(s)) return NULL;
    switch (n->kind) {
    case HPC_TREE_NUMBER: return poly_number(s->prover, n->value);
    case HPC_TREE_STRING:
        return poly_atom(s->prover, atom_fresh(s->prover, e)); /* nobody writes to it */
    case HPC_TREE_NAME: return value_of_name(s, e);
    case HPC_TREE_THIS:
        return poly_atom(s->prover,
                         s->self ? atom_point(s->prover, s->self) : atom_this(s->prover));
    case HPC_TREE_MEMBER:
    case HPC_TREE_INDEX:
        place_of(&p, s, e);
        s->cost += 1;
        return load_from(s, &p, e);
    case HPC_TREE_UNARY: return value_of_unary(s, e);
    case HPC_TREE_BINARY: return value_of_binary(s, e);
    case HPC_TREE_ASSIGN: return value_of_assign(s, e);
    case HPC_TREE_CHOOSE: return value_of_choice(s, e);
    case HPC_TREE_CAST: return value_of_cast(s, e);
    case HPC_TREE_CALL: return call_value(s, e);
    case HPC_TREE_NEW: value_of_parts(s, e); return poly_atom(s->prover, atom_fresh(s->prover, e));
    case HPC_TREE_CONSTRUCT: return call_value(s, e);
    case HPC_TREE_LAMBDA:
        answer_unknown(s->answer, "call", e, "the body of a lambda is not analysed");
        return NULL;
    case HPC_TREE_DELETE:
        answer_unknown(s->answer, "memory", e, "memory is freed");
        return value_of_parts(s, e);
    case HPC_TREE_THROW:
        answer_unsafe(s->answer, "control", e, "an exception may leave the loop");
        return value_of_parts(s, e);
    case HPC_TREE_OTHER:
    case HPC_TREE_ASM:
        answer_unknown(s->answer, "form", e, "%s is not analysed", node_text(s->program, e));
        return value_of_parts(s, e);
    default: return value_of_parts(s, e);
    }
}

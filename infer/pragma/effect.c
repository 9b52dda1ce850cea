/*
 * effect.c: effects of the file's functions, found in their bodies: accesses through arguments,
 * changes of state, and constructs that are not analysed.
 */
#include "infer/pragma/program.h"

static void worse(effect *f, uint8_t kind, uint32_t line, const char *why)
{
    if (kind <= f->kind) return;
    f->kind = kind;
    f->line = line;
    f->why = why;
}

/* Which parameter a symbol is; -1. */
static int argument_of(const hpc_tree *t, int32_t function, int32_t symbol)
{
    int k = 0;
    for (int32_t c = hpc_tree_first(t, function); c; c = hpc_tree_next(t, c)) {
        if (t->node[c].kind != HPC_TREE_VARIABLE) return -1;
        if (t->node[c].symbol == symbol) return k < EFFECT_ARGUMENTS ? k : -1;
        k++;
    }
    return -1;
}

static bool is_mutable_global(const hpc_tree *t, int32_t v)
{
    const hpc_symbol *x = &t->symbol[v];
    if (x->kind != HPC_SYMBOL_VARIABLE || (x->flags & HPC_SYMBOL_KNOWN)) return false;
    if ((x->flags & HPC_SYMBOL_LOCAL) && !(x->flags & (HPC_SYMBOL_STATIC | HPC_SYMBOL_THREAD)))
        return false;
    for (int32_t type = x->type; type >= 0; type = t->type[type].to) {
        if (t->type[type].flags & HPC_TYPE_CONST) return false;
        if (t->type[type].kind != HPC_TYPE_ARRAY) break;
    }
    return true;
}

static bool is_reference_member(const hpc_tree *t, int32_t e)
{
    const int32_t v = t->node[e].symbol;
    return t->node[e].kind == HPC_TREE_MEMBER && v >= 0 &&
           kind_of(t, t->symbol[v].type) == HPC_TYPE_REFERENCE;
}

/* True if an lvalue dereferences a pointer or a reference, itself or in a part of its path. */
static bool dereferences(const hpc_tree *t, int32_t e)
{
    for (;;) {
        const hpc_tree_node *n = &t->node[e];
        int32_t c = hpc_tree_first(t, e);
        if (n->kind == HPC_TREE_NAME)
            return n->symbol >= 0 && kind_of(t, t->symbol[n->symbol].type) == HPC_TYPE_REFERENCE;
        if (n->kind == HPC_TREE_MEMBER && n->op == '.' && c && !is_reference_member(t, e)) {
            e = c;
            continue;
        }
        if (n->kind == HPC_TREE_INDEX && c && kind_of(t, t->node[c].type) == HPC_TYPE_ARRAY) {
            e = c;
            continue;
        }
        return true;
    }
}

/* The parameter or local array that a pointer comes from, through local pointers that are only
 * initialised; -1: not known. */
static int32_t origin(const program *p, int32_t v)
{
    const hpc_tree *t = p->t;
    for (int k = 0; k < 8 && v >= 0; k++) {
        const hpc_symbol *x = &t->symbol[v];
        if (x->kind == HPC_SYMBOL_PARAMETER || kind_of(t, x->type) != HPC_TYPE_POINTER) return v;
        if (!(x->flags & HPC_SYMBOL_LOCAL) || p->use[v].writes_n > 0 || x->node < 0) return -1;
        int32_t first = hpc_tree_first(t, x->node);
        v = first ? root_of(t, first) : -1;
    }
    return -1;
}

/* ---- memory that an argument leads to by way of other pointers ---- */

enum { LEVELS_MOST = 8, LEVELS_UNKNOWN = 64 };

static int level_of(const program *p, int32_t e, int left);

/* That of a pointer's value: one less than that of what it points to. */
static int level_of_value(const program *p, int32_t e, int left)
{
    return level_of(p, e, left) - (kind_of(p->t, p->t->node[e].type) == HPC_TYPE_ARRAY);
}

static int level_of_name(const program *p, int32_t v, int left)
{
    const hpc_symbol *x = v < 0 ? NULL : &p->t->symbol[v];
    if (!x) return LEVELS_UNKNOWN;
    if (kind_of(p->t, x->type) == HPC_TYPE_REFERENCE) return 1;
    const bool made = x->kind == HPC_SYMBOL_VARIABLE && kind_of(p->t, x->type) == HPC_TYPE_POINTER;
    const int32_t first = made && x->node >= 0 ? hpc_tree_first(p->t, x->node) : 0;
    return first ? level_of_value(p, first, left - 1) : 0;
}

/* v[i], v.begin() */
static int level_of_call(const program *p, int32_t e, int left)
{
    const hpc_tree *t = p->t;
    const int32_t object = object_of_call(t, e);
    if (!object) return LEVELS_UNKNOWN;
    const bool points = kind_of(t, t->node[e].type) == HPC_TYPE_POINTER;
    if (is_view(t, t->node[object].type)) return level_of(p, object, left) + !points;
    if (container_of(t, t->node[object].type) == CONTAINER_NONE) return LEVELS_UNKNOWN;
    const int own = t->node[object].kind == HPC_TREE_NAME ? 0 : 1; /* of a member: as a pointer's */
    return level_of(p, object, left) + own - points;
}

/* How many pointers and references are followed from the variable at the root of an lvalue. The
 * elements of a container belong to the variable that it is. */
static int level_of(const program *p, int32_t e, int left)
{
    const hpc_tree *t = p->t;
    const hpc_tree_node *n = &t->node[e];
    int32_t c = hpc_tree_first(t, e);
    if (n->kind == HPC_TREE_NAME)
        return left > 0 ? level_of_name(p, n->symbol, left) : LEVELS_UNKNOWN;
    if (n->kind == HPC_TREE_THIS) return 0;
    if (!c) return LEVELS_UNKNOWN;
    switch (n->kind) {
    case HPC_TREE_MEMBER:
        return (n->op == '>' ? level_of_value(p, c, left) + 1 : level_of(p, c, left)) +
               is_reference_member(t, e);
    case HPC_TREE_INDEX:
        if (kind_of(t, bare_type(t, t->node[c].type)) == HPC_TYPE_ARRAY)
            return level_of(p, c, left);
        return level_of_value(p, c, left) + 1;
    case HPC_TREE_UNARY:
        if (n->op == '&') return level_of(p, c, left) - 1;
        return n->op == '*' ? level_of_value(p, c, left) + 1 : LEVELS_UNKNOWN;
    case HPC_TREE_BINARY:
        if (kind_of(t, t->node[c].type) == HPC_TYPE_INTEGER) c = hpc_tree_next(t, c);
        return c ? level_of_value(p, c, left) : LEVELS_UNKNOWN;
    case HPC_TREE_CAST:
        while (hpc_tree_next(t, c)) c = hpc_tree_next(t, c);
        return level_of_value(p, c, left);
    case HPC_TREE_CALL: return level_of_call(p, e, left);
    default: return LEVELS_UNKNOWN;
    }
}

/* The argument is, or leads to, an object that holds a pointer, and that is followed as well: the
 * caller does not see which memory that is. Fortran's components do not overlap other variables. */
static bool is_deep(const program *p, int32_t parameter, int level)
{
    const uint8_t k = kind_of(p->t, p->t->symbol[parameter].type);
    const int most = k == HPC_TYPE_POINTER || k == HPC_TYPE_REFERENCE || k == HPC_TYPE_ARRAY;
    return p->language != HPC_LANGUAGE_FORTRAN && level > most;
}

static void reach_deep(effect *f, bool write, int32_t type, uint32_t line)
{
    if (write) worse(f, EFFECT_UNKNOWN, line, "writes to memory that its arguments lead to");
    f->hidden_type = !f->hidden || f->hidden_type == type ? type : -1;
    f->hidden = true;
    worse(f, EFFECT_READS, line, "");
}

/* Through *p, p->x and p[0] nothing but what p points to is reached. */
static bool reaches_one(const hpc_tree *t, int32_t e)
{
    const hpc_tree_node *n = &t->node[e];
    int32_t c = hpc_tree_first(t, e), i = c ? hpc_tree_next(t, c) : 0;
    if (n->kind == HPC_TREE_MEMBER && n->op == '>') return t->node[c].kind == HPC_TREE_NAME;
    if (n->kind == HPC_TREE_MEMBER && c) return reaches_one(t, c);
    if (n->kind == HPC_TREE_UNARY && n->op == '*' && c) return t->node[c].kind == HPC_TREE_NAME;
    if (n->kind == HPC_TREE_INDEX && i && t->node[c].kind == HPC_TREE_NAME)
        return t->node[i].kind == HPC_TREE_NUMBER && t->node[i].value == 0;
    return n->kind == HPC_TREE_NAME;
}

/* 1: an lvalue is part of the method's object; -1: of memory that the object points to; else 0. */
static int reaches_object(const hpc_tree *t, int32_t e)
{
    for (;;) {
        const hpc_tree_node *n = &t->node[e];
        int32_t c = hpc_tree_first(t, e);
        if (is_reference_member(t, e)) return 0;
        if (n->kind == HPC_TREE_MEMBER && c && t->node[c].kind == HPC_TREE_THIS) return 1;
        bool within =
            (n->kind == HPC_TREE_MEMBER && n->op == '.') ||
            (n->kind == HPC_TREE_INDEX && c && kind_of(t, t->node[c].type) == HPC_TYPE_ARRAY);
        if (!within || !c) return 0;
        e = c;
    }
}

/* Notes that the function writes an object of a type through an argument. */
static void write_through(effect *f, int k, int32_t type)
{
    const bool first = !(f->arg[k] & ARG_WRITE);
    f->type[k] = first || f->type[k] == type ? type : -1;
    f->arg[k] |= ARG_WRITE;
}

/* An access to memory that is reached through the pointers of an expression. */
static void touch_through(effect *f, const program *p, int32_t function, int32_t e, int level,
                          bool write)
{
    const hpc_tree *t = p->t;
    uint32_t line = t->node[e].line;
    int32_t root = root_of(t, e), from = origin(p, root);
    int k = from < 0 ? -1 : argument_of(t, function, from);
    if (from >= 0 && k < 0 && kind_of(t, t->symbol[from].type) == HPC_TYPE_ARRAY) {
        if (write && is_mutable_global(t, from))
            worse(f, EFFECT_BAD, line, "changes a variable that outlives it");
        return;
    }
    if (k < 0) {
        worse(f, EFFECT_UNKNOWN, line,
              write ? "writes to unknown memory" : "reads from unknown memory");
        return;
    }
    if (is_deep(p, from, level)) reach_deep(f, write, bare_type(t, t->node[e].type), line);
    bool one = from == root && reaches_one(t, e) && p->use[from].writes_n == 0;
    uint8_t before = f->arg[k];
    if (write)
        write_through(f, k, bare_type(t, t->node[e].type));
    else
        f->arg[k] |= ARG_READ;
    if (before == 0 && one) f->arg[k] |= ARG_ONE;
    if (!one) f->arg[k] &= (uint8_t)~ARG_ONE;
    worse(f, write ? EFFECT_WRITES : EFFECT_READS, line, "");
}

static void touch(effect *f, const program *p, int32_t function, int32_t e, bool write)
{
    const hpc_tree *t = p->t;
    uint32_t line = t->node[e].line;
    if (t->node[e].type >= 0 && (t->type[t->node[e].type].flags & HPC_TYPE_VOLATILE))
        worse(f, EFFECT_BAD, line, "accesses a volatile object");
    int mine = reaches_object(t, e);
    if (mine > 0) {
        f->object |= write ? ARG_WRITE : ARG_READ;
        worse(f, write ? EFFECT_WRITES : EFFECT_READS, line, "");
    } else if (dereferences(t, e)) {
        touch_through(f, p, function, e, level_of(p, e, LEVELS_MOST), write);
    } else {
        const int32_t root = root_of(t, e);
        if (write && root >= 0 && is_mutable_global(t, root))
            worse(f, EFFECT_BAD, line, "changes a variable that outlives it");
    }
}

/* Reads elements of a view that an expression names. */
static void read_view(effect *f, const program *p, int32_t function, int32_t e)
{
    if (!e || !is_view(p->t, p->t->node[e].type)) return;
    touch_through(f, p, function, e, level_of_value(p, e, LEVELS_MOST) + 1, false);
    const int k = argument_of(p->t, function, origin(p, root_of(p->t, e)));
    if (k >= 0) f->arg[k] &= (uint8_t)~ARG_ONE;
}

/* What a call within does through the arguments that are handed on. */
static void pass_on(effect *f, const program *p, int32_t function, int32_t call, const effect *g)
{
    const hpc_tree *t = p->t;
    int32_t c = hpc_tree_child(t, call, 1);
    for (int k = 0; k < EFFECT_ARGUMENTS && c; k++, c = hpc_tree_next(t, c)) {
        if (!(g->arg[k] & (ARG_READ | ARG_WRITE))) continue;
        int32_t v = root_of(t, c), from = origin(p, v);
        int mine = from < 0 ? -1 : argument_of(t, function, from);
        bool write = g->arg[k] & ARG_WRITE;
        bool bound = t->node[c].flags & HPC_TREE_BY_REFERENCE;
        if (mine >= 0 &&
            is_deep(p, from,
                    bound ? level_of(p, c, LEVELS_MOST) : level_of_value(p, c, LEVELS_MOST) + 1))
            reach_deep(f, write, -1, t->node[call].line);
        if (mine >= 0) {
            if (write) write_through(f, mine, g->type[k]);
            f->arg[mine] = (uint8_t)((f->arg[mine] | g->arg[k]) & ~ARG_ONE);
            worse(f, write ? EFFECT_WRITES : EFFECT_READS, t->node[call].line, "");
        } else if (from < 0 || is_mutable_global(t, from)) {
            worse(f, EFFECT_UNKNOWN, t->node[call].line, "passes on an unknown pointer");
        }
    }
}

static void look_at_known(effect *f, const program *p, int32_t function, int32_t call,
                          call_known is)
{
    uint32_t line = p->t->node[call].line;
    effect g = {.state = 2};
    for (int k = 0; k < EFFECT_ARGUMENTS; k++) g.type[k] = -1;
    switch (is) {
    case CALL_VALUE:
    case CALL_METHOD_READ: return;
    case CALL_METHOD_PLACE:
        if (kind_of(p->t, p->t->node[call].type) != HPC_TYPE_POINTER)
            read_view(f, p, function, object_of_call(p->t, call));
        return;
    case CALL_READS: g.arg[0] = g.arg[1] = ARG_READ; break;
    case CALL_STORES: g.arg[1] = g.arg[2] = ARG_WRITE; break;
    case CALL_COPIES:
        g.arg[0] = ARG_WRITE;
        g.arg[1] = ARG_READ;
        break;
    case CALL_STATE: worse(f, EFFECT_BAD, line, "calls a function with hidden state"); return;
    case CALL_IO: worse(f, EFFECT_BAD, line, "reads or writes files"); return;
    case CALL_ASSERTS: f->asserts = true; return;
    case CALL_LEAVES: worse(f, EFFECT_BAD, line, "may terminate the program"); return;
    case CALL_ALLOCATES:
    case CALL_FREES: worse(f, EFFECT_UNKNOWN, line, "allocates or frees memory"); return;
    case CALL_LOCK: worse(f, EFFECT_UNKNOWN, line, "takes a lock"); return;
    default: worse(f, EFFECT_UNKNOWN, line, "calls an unknown function"); return;
    }
    pass_on(f, p, function, call, &g);
}

/* Records the read of a global variable; the analysis of the loop looks for writes to it. */
static void read_global(effect *f, const hpc_tree *t, int32_t v, uint32_t line)
{
    for (int k = 0; k < f->globals_n; k++)
        if (f->global[k] == v) return;
    uint8_t flags = t->symbol[v].type >= 0 ? t->type[t->symbol[v].type].flags : 0;
    bool shared = !(t->symbol[v].flags & (HPC_SYMBOL_THREAD | HPC_SYMBOL_LOCAL));
    if (f->globals_n == EFFECT_GLOBALS || !shared || (flags & HPC_TYPE_VOLATILE)) {
        worse(f, EFFECT_UNKNOWN, line, "reads a variable that others may change");
        return;
    }
    f->global[f->globals_n++] = v;
    worse(f, EFFECT_READS, line, "");
}

static void look_at_call(effect *f, const program *p, int32_t function, int32_t call)
{
    const hpc_tree *t = p->t;
    int32_t v = t->node[call].symbol;
    call_known is = call_known_at(t, call);
    if (is == CALL_METHOD_OWN && inline_arguments(t, call) == 0) is = CALL_VALUE;
    if (is != CALL_UNKNOWN || v < 0) {
        look_at_known(f, p, function, call, is);
        return;
    }
    const effect *g = effect_of(p, v);
    if (g->state == 1) { /* recursion: the analysis of this function is in progress */
        if (g != f) worse(f, EFFECT_UNKNOWN, t->node[call].line, "calls a function that calls it");
        return;
    }
    if (g->kind == EFFECT_BAD || g->kind == EFFECT_UNKNOWN)
        worse(f, g->kind, t->node[call].line, g->why);
    int32_t callee = hpc_tree_first(t, call), object = callee ? hpc_tree_first(t, callee) : 0;
    bool own = object && t->node[object].kind == HPC_TREE_THIS;
    if (g->object && !own)
        worse(f, EFFECT_UNKNOWN, t->node[call].line, "calls a method of another object");
    for (int k = 0; k < g->globals_n; k++) read_global(f, t, g->global[k], t->node[call].line);
    f->asserts |= g->asserts;
    if (g->hidden)
        f->hidden_type = !f->hidden || f->hidden_type == g->hidden_type ? g->hidden_type : -1;
    f->hidden |= g->hidden;
    if (g->hidden) worse(f, EFFECT_READS, t->node[call].line, "");
    if (own && g->object) {
        f->object |= g->object;
        worse(f, g->object & ARG_WRITE ? EFFECT_WRITES : EFFECT_READS, 0, "");
    }
    pass_on(f, p, function, call, g);
}

static bool is_step(uint8_t op)
{
    return op >= HPC_OP_PRE_INCREMENT && op <= HPC_OP_POST_DECREMENT;
}

static bool is_lvalue(uint8_t kind, uint8_t op)
{
    return kind == HPC_TREE_NAME || kind == HPC_TREE_INDEX || kind == HPC_TREE_MEMBER ||
           (kind == HPC_TREE_UNARY && op == '*');
}

/* *this, which return hands back. */
static bool is_returned_object(const hpc_tree *t, int32_t i)
{
    const hpc_tree_node *n = &t->node[i];
    int32_t c = hpc_tree_first(t, i);
    return n->kind == HPC_TREE_UNARY && n->op == '*' && c && t->node[c].kind == HPC_TREE_THIS &&
           t->node[n->parent].kind == HPC_TREE_RETURN;
}

/* return *this; */
static bool returns_object(const hpc_tree *t, int32_t i)
{
    int32_t up = t->node[i].parent;
    return t->node[up].kind == HPC_TREE_UNARY && t->node[up].op == '*' &&
           t->node[t->node[up].parent].kind == HPC_TREE_RETURN;
}

static bool is_constant(const hpc_tree *t, int32_t e)
{
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        if (n->kind == HPC_TREE_CALL || n->kind == HPC_TREE_CONSTRUCT || n->kind == HPC_TREE_OTHER)
            return false;
        if (n->kind == HPC_TREE_NAME && n->symbol >= 0 &&
            t->symbol[n->symbol].kind != HPC_SYMBOL_CONSTANT &&
            !(t->symbol[n->symbol].flags & HPC_SYMBOL_KNOWN))
            return false;
    }
    return true;
}

static void look_at_node(effect *f, const program *p, int32_t function, int32_t i)
{
    const hpc_tree *t = p->t;
    const hpc_tree_node *n = &t->node[i];
    int32_t c = hpc_tree_first(t, i);
    if (makes_active_object(t, i))
        worse(f, EFFECT_UNKNOWN, n->line, "makes an object of a class that runs code by itself");
    switch (n->kind) {
    case HPC_TREE_ASSIGN: touch(f, p, function, c, true); break;
    case HPC_TREE_CALL: look_at_call(f, p, function, i); break;
    case HPC_TREE_RANGE: read_view(f, p, function, hpc_tree_child(t, i, 1)); break;
    case HPC_TREE_CONSTRUCT:
        if (c || is_own_constructor(t, i))
            worse(f, EFFECT_UNKNOWN, n->line, "constructs an object of a class");
        break;
    case HPC_TREE_VARIABLE:
        if (n->symbol >= 0 && is_mutable_global(t, n->symbol))
            worse(f, EFFECT_BAD, n->line, "keeps a static variable");
        else if (n->symbol >= 0 && (t->symbol[n->symbol].flags & HPC_SYMBOL_STATIC) && c &&
                 !is_constant(t, c))
            worse(f, EFFECT_BAD, n->line, "initialises a static variable in its first call");
        break;
    case HPC_TREE_THROW: worse(f, EFFECT_BAD, n->line, "may throw"); break;
    case HPC_TREE_THIS:
        if (t->node[n->parent].kind != HPC_TREE_MEMBER && !returns_object(t, i))
            worse(f, EFFECT_UNKNOWN, n->line, "passes on its object");
        break;
    case HPC_TREE_LAMBDA:
    case HPC_TREE_NEW:
    case HPC_TREE_DELETE:
    case HPC_TREE_ASM:
    case HPC_TREE_OTHER:
        if (is_assertion(t, i)) break;
        worse(f, EFFECT_UNKNOWN, n->line, "contains a construct that is not analysed");
        break;
    default:
        if (n->kind == HPC_TREE_UNARY && is_step(n->op) && c) touch(f, p, function, c, true);
        if (n->kind == HPC_TREE_NAME && n->symbol >= 0 && is_mutable_global(t, n->symbol))
            read_global(f, t, n->symbol, n->line);
        if (is_lvalue(n->kind, n->op) && !is_returned_object(t, i) &&
            !(n->parent >= 0 && t->node[n->parent].kind == HPC_TREE_MEMBER))
            touch(f, p, function, i, false);
    }
}

/* A pure function may read its arguments, its object and all variables that it can name. Pure
 * procedures of Fortran read no variable that their caller's unit assigns (runtime/source/flang).
 */
static void promise_pure(effect *f, const program *p, const hpc_symbol *v)
{
    *f = (effect){.state = 1, .kind = EFFECT_NONE};
    if ((v->flags & HPC_SYMBOL_CONST) && !(v->flags & HPC_SYMBOL_METHOD)) return;
    f->kind = EFFECT_READS;
    for (int k = 0; k < EFFECT_ARGUMENTS; k++) f->arg[k] = ARG_READ;
    if (v->flags & HPC_SYMBOL_METHOD) f->object = ARG_READ;
    f->hidden = p->language != HPC_LANGUAGE_FORTRAN;
    f->hidden_type = -1;
}

static void look_at_body(effect *f, const program *p, const hpc_symbol *v)
{
    const hpc_tree *t = p->t;
    const bool absent = v->node < 0 || t->node[v->node].kind != HPC_TREE_FUNCTION;
    if (absent && v->why) {
        worse(f, EFFECT_UNKNOWN, v->line, t->name + v->why);
    } else if (absent) {
        worse(f, EFFECT_UNKNOWN, v->line, "is not defined in this file");
    } else if (v->flags & HPC_SYMBOL_VIRTUAL) {
        worse(f, EFFECT_UNKNOWN, v->line, "is virtual");
    } else if (t->node[v->node].flags & HPC_TREE_ERRORS) {
        worse(f, EFFECT_UNKNOWN, v->line, "does not compile");
    } else {
        for (int32_t i = v->node + 1; i < t->node[v->node].end; i++) look_at_node(f, p, v->node, i);
    }
}

const effect *effect_of(const program *p, int32_t symbol)
{
    effect *f = &p->effect[symbol];
    const hpc_symbol *v = &p->t->symbol[symbol];
    if (f->state != 0) return f;
    f->state = 1;
    look_at_body(f, p, v);
    if ((v->flags & HPC_SYMBOL_PURE) && f->kind > EFFECT_READS) promise_pure(f, p, v);
    f->state = 2;
    return f;
}

bool has_effects(const program *p, int32_t e)
{
    const hpc_tree *t = p->t;
    for (int32_t i = e; i < t->node[e].end; i++) {
        const hpc_tree_node *n = &t->node[i];
        const bool steps = n->kind == HPC_TREE_UNARY && is_step(n->op);
        if (n->kind == HPC_TREE_ASSIGN || steps) return true;
        if (n->kind != HPC_TREE_CALL || call_known_at(t, i) == CALL_VALUE) continue;
        if (n->symbol >= 0 && effect_of(p, n->symbol)->kind > EFFECT_READS) return true;
    }
    return false;
}

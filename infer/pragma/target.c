/*
 * target.c: map clauses. A section is mapped only if it is known: every run accesses its first and
 * its last element. A section that is not written completely is copied in both directions.
 *
 * Without a device, the loop runs on the host. If an inner loop does not run at all, a section
 * would have a negative length, so an if clause keeps the loop on the host.
 */
#include "infer/pragma/target.h"

#include <string.h>

#include "infer/pragma/relate.h"
#include "infer/pragma/nest.h"
#include "infer/pragma/vector.h"

enum { MAPPED_MOST = 24 };

typedef struct mapped {
    int32_t base;        /* an atom */
    const poly *lo, *hi; /* of a pointer: the elements; NULL: the whole variable */
    bool read, written;  /* read: or written in part alone */
    int32_t node;        /* where it is touched first */
} mapped;
typedef struct mapping {
    walk *w;
    mapped item[MAPPED_MOST];
    int n;
    hpc_buf runs; /* that all loops run: "n > 0 && m > 0" */
    bool failed;
} mapping;

static bool refuse(mapping *m, int32_t node, const char *what, const char *name)
{
    if (!m->failed)
        answer_note(m->w->answer, "memory", node, "no target: %s%s%s", name ? name : "",
                    name ? " " : "", what);
    m->failed = true;
    return false;
}

static const char *base_name(const walk *w, int32_t base)
{
    hpc_buf b = {0};
    atom_text(&b, w->prover, w->loop->p, base);
    const char *kept = b.failed || !b.n ? NULL : hpc_arena_text(w->loop->p->out, "%s", b.data);
    hpc_buf_release(&b);
    return kept ? kept : "something";
}

/* ---- whether all runs touch it ------------------------------------------------------------------
 */

/* "n > 2": that a loop runs. */
static void add_runs(mapping *m, const poly *count)
{
    walk *w = m->w;
    hpc_buf one = {0};
    int64_t c;
    if (poly_is_number(count, &c)) return;
    const poly *less = poly_number(w->prover, 0);
    for (int32_t i = 0; i < count->n; i++) {
        if (count->t[i].c > 0) continue;
        const poly *p = poly_number(w->prover, -count->t[i].c);
        for (int k = 0; k < TERM_ATOMS && count->t[i].atom[k] >= 0; k++)
            p = poly_product(w->prover, p, poly_atom(w->prover, count->t[i].atom[k]));
        less = poly_sum(w->prover, less, p);
    }
    poly_text(&one, w->prover, w->loop->p, poly_sum(w->prover, count, less));
    hpc_buf_text(&one, " > ");
    poly_text(&one, w->prover, w->loop->p, less);
    if (!one.failed && !(m->runs.n && strstr(m->runs.data, one.data)))
        hpc_buf_printf(&m->runs, "%s%s", m->runs.n ? " && " : "", one.data);
    hpc_buf_release(&one);
}

static bool is_by_one(const poly *stride)
{
    int64_t c;
    return poly_is_number(stride, &c) && (c == 1 || c == -1);
}

/* True if an access is unconditional, in loops whose bounds do not vary. */
static bool is_certain(mapping *m, const access *a)
{
    walk *w = m->w;
    const hpc_tree *t = w->t;
    if (a->depth > 0) return false;
    for (int32_t up = t->node[a->node].parent; up > w->loop->node; up = t->node[up].parent) {
        loop_head h;
        if (!is_loop(t->node[up].kind) || a->node < hpc_tree_child(t, up, 3)) continue;
        answer_mute(w->answer, true);
        head_read(&h, w, up);
        answer_mute(w->answer, false);
        if (h.reason || h.symbol < 0 || !is_by_one(h.stride) || !nest_is_settled(w, &h))
            return false;
        const poly *count = poly_plus(w->prover, poly_less(w->prover, h.hi, h.lo), 1);
        if (!count || poly_varies(w->prover, count)) return false;
        add_runs(m, count);
    }
    return true;
}

/* ---- sections -----------------------------------------------------------------------------------
 */

static int32_t target_type(const walk *w, int32_t base)
{
    int32_t type = w->t->symbol[w->prover->atoms[base].symbol].type;
    return type < 0 ? -1 : w->t->type[type].to;
}

/* Types of which a copy is the same thing. */
static bool is_copied(const walk *w, int32_t type)
{
    const hpc_tree *t = w->t;
    while (kind_of(t, type) == HPC_TYPE_ARRAY) type = t->type[type].to;
    uint8_t k = kind_of(t, type);
    if (k == HPC_TYPE_RECORD) return w->loop->p->language == HPC_LANGUAGE_C;
    return k == HPC_TYPE_INTEGER || k == HPC_TYPE_FLOAT || k == HPC_TYPE_BOOL;
}

static bool is_variable(const walk *w, const atom *a)
{
    const hpc_symbol *v = &w->t->symbol[a->symbol];
    uint8_t k = kind_of(w->t, v->type);
    bool sized = v->type >= 0 && (w->t->type[v->type].bytes > 0 || (v->flags & HPC_SYMBOL_LOCAL));
    return (k == HPC_TYPE_ARRAY || k == HPC_TYPE_RECORD) && sized && is_copied(w, v->type);
}

/* Each number in a section is no wider than what the loop itself computes the index in. */
static bool is_narrow(const walk *w, const access *a, const poly *p)
{
    const hpc_tree *t = w->t;
    int32_t index = t->node[a->node].kind == HPC_TREE_INDEX ? hpc_tree_child(t, a->node, 1) : 0;
    int32_t type = index ? bare_type(t, t->node[index].type) : -1;
    if (type >= 0 && t->type[type].bytes <= 4) return true;
    for (int32_t i = 0; i < p->n; i++) {
        bool product = p->t[i].atom[0] >= 0 && (p->t[i].atom[1] >= 0 || p->t[i].c > 1);
        for (int k = 0; product && k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++) {
            const atom *x = &w->prover->atoms[p->t[i].atom[k]];
            int32_t of = x->kind == ATOM_SYMBOL ? w->t->symbol[x->symbol].type : -1;
            if (of < 0 || t->type[of].bytes < 8) return false;
        }
    }
    return true;
}

/* True if another variable of the function before the loop has the same name, which may hide it. */
static bool is_ambiguous(const walk *w, int32_t symbol)
{
    const hpc_tree *t = w->t;
    for (int64_t v = 0; v < t->symbols_n; v++) {
        const hpc_symbol *x = &t->symbol[v];
        if (v == symbol || x->kind > HPC_SYMBOL_PARAMETER || x->node < w->loop->function ||
            x->node > w->loop->node || strcmp(t->name + x->name, symbol_name(w->t, symbol)) != 0)
            continue;
        return true;
    }
    return false;
}

/* True if the value consists of numbers and variables that are visible at the loop. */
static bool is_named(const walk *w, const poly *p)
{
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++) {
            const atom *a = &w->prover->atoms[p->t[i].atom[k]];
            if (a->kind != ATOM_SYMBOL || is_inside(w->loop, a->symbol) ||
                is_ambiguous(w, a->symbol))
                return false;
        }
    return true;
}

static mapped *item_of(mapping *m, int32_t base, int32_t node)
{
    for (int k = 0; k < m->n; k++)
        if (m->item[k].base == base) return &m->item[k];
    if (m->n == MAPPED_MOST) return NULL;
    m->item[m->n] = (mapped){.base = base, .node = node};
    return &m->item[m->n++];
}

static bool bounds_of(const poly **lo, const poly **hi, walk *w, const access *a)
{
    const place *p = &a->place;
    if (p->n < 1 || p->step[0].field != STEP_INDEX) return false;
    *lo = poly_extreme(w->prover, p->step[0].index, false, a->facts);
    *hi = poly_extreme(w->prover, p->step[0].index, true, a->facts);
    return *lo && *hi;
}

/* Widens what is mapped of a pointer by a certain access. */
static bool widen(mapping *m, mapped *x, const access *a)
{
    walk *w = m->w;
    const poly *lo, *hi;
    if (!bounds_of(&lo, &hi, w, a) || !is_named(w, lo) || !is_named(w, hi)) return false;
    if (!is_narrow(w, a, lo) || !is_narrow(w, a, hi)) return false;
    if (!x->lo || prove_not_negative(w->prover, poly_less(w->prover, x->lo, lo), a->facts))
        x->lo = lo;
    else if (!prove_not_negative(w->prover, poly_less(w->prover, lo, x->lo), a->facts))
        return false;
    if (!x->hi || prove_not_negative(w->prover, poly_less(w->prover, hi, x->hi), a->facts))
        x->hi = hi;
    else if (!prove_not_negative(w->prover, poly_less(w->prover, x->hi, hi), a->facts))
        return false;
    return true;
}

static bool is_covered(walk *w, const mapped *x, const access *a)
{
    const poly *lo, *hi;
    return x->lo && x->hi && bounds_of(&lo, &hi, w, a) &&
           prove_not_negative(w->prover, poly_less(w->prover, lo, x->lo), a->facts) &&
           prove_not_negative(w->prover, poly_less(w->prover, x->hi, hi), a->facts);
}

/* True if a write overwrites every element of the section. */
static bool fills_section(mapping *m, const mapped *x, const access *a)
{
    walk *w = m->w;
    const poly *lo, *hi, *c, *rest;
    int64_t one;
    if (!a->write || a->update || a->place.n != 1 || !is_by_one(w->loop->head.stride)) return false;
    if (!bounds_of(&lo, &hi, w, a) || !poly_equal(lo, x->lo) || !poly_equal(hi, x->hi))
        return false;
    return poly_split(w->prover, a->place.step[0].index, w->loop->iteration, &c, &rest) &&
           poly_is_number(c, &one) && (one == 1 || one == -1) && !poly_varies(w->prover, rest) &&
           is_certain(m, a);
}

/* ---- what is touched ----------------------------------------------------------------------------
 */

static bool is_listed(const hpc_buf *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = names->data; p && names->n > 0;) {
        if (strncmp(p, name, n) == 0 && (p[n] == '\0' || p[n] == ',')) return true;
        p = strstr(p, ", ");
        if (p) p += 2;
    }
    return false;
}

static bool is_private(const clauses *c, const char *name)
{
    return is_listed(&c->privates, name);
}

static bool is_summed(const clauses *c, const char *name)
{
    for (int k = 0; k < c->n; k++)
        if (is_listed(&c->reduction[k].names, name)) return true;
    return false;
}

/* Variables of simple types travel by value. */
static bool is_simple(const walk *w, const atom *a)
{
    uint8_t k = a->kind == ATOM_OBJECT ? kind_of(w->t, w->t->symbol[a->symbol].type) : 0;
    return k == HPC_TYPE_INTEGER || k == HPC_TYPE_FLOAT || k == HPC_TYPE_BOOL;
}

static bool add_base(mapping *m, const clauses *c, const access *a)
{
    walk *w = m->w;
    if (a->place.base < 0)
        return refuse(m, a->node, "has an unknown address", node_text(w->loop->p, a->node));
    const atom base = w->prover->atoms[a->place.base];
    bool pointer = base.kind == ATOM_SYMBOL && !base.varies &&
                   kind_of(w->t, w->t->symbol[base.symbol].type) == HPC_TYPE_POINTER &&
                   !is_view(w->t, w->t->symbol[base.symbol].type);
    if (is_simple(w, &base) && !a->write) return true;
    if (base.kind == ATOM_OBJECT && is_private(c, symbol_name(w->t, base.symbol))) return true;
    if (!pointer && !(base.kind == ATOM_OBJECT && is_variable(w, &base)))
        return refuse(m, a->node,
                      "is neither a pointer variable nor an array, so its section is unknown",
                      base_name(w, a->place.base));
    if (pointer && !is_copied(w, target_type(w, a->place.base)))
        return refuse(m, a->node, "points to objects that cannot be copied bytewise",
                      base_name(w, a->place.base));
    if (is_summed(c, symbol_name(w->t, base.symbol)))
        return refuse(m, a->node, "is reduced, but is not a scalar variable",
                      base_name(w, a->place.base));
    if (is_ambiguous(w, base.symbol))
        return refuse(m, a->node, "names several variables", base_name(w, a->place.base));
    mapped *x = item_of(m, a->place.base, a->node);
    if (!x) return refuse(m, a->node, "too many memory regions are accessed", NULL);
    x->written |= a->write;
    x->read |= !a->write;
    if (pointer && is_certain(m, a) && !widen(m, x, a))
        return refuse(m, a->node, "has a section that names at the loop cannot express",
                      base_name(w, a->place.base));
    return true;
}

/* Checks that each access lies in its mapped section. A section that the loop does not fill is
 * copied to the device, so that its other elements keep their values. */
static bool check_sections(mapping *m)
{
    walk *w = m->w;
    for (int k = 0; k < m->n; k++) {
        mapped *x = &m->item[k];
        bool pointer = w->prover->atoms[x->base].kind == ATOM_SYMBOL, filled = false;
        for (int64_t i = 0; i < w->loop->n; i++) {
            const access *a = &w->loop->item[i];
            if (!pointer || a->place.base != x->base) continue;
            if (!is_covered(w, x, a))
                return refuse(m, a->node,
                              "is accessed at positions that depend on conditions or other loops",
                              base_name(w, x->base));
            filled |= fills_section(m, x, a);
        }
        if (!filled) x->read = true;
    }
    return true;
}

/* ---- names --------------------------------------------------------------------------------------
 */

static bool is_mapped(const mapping *m, int32_t symbol)
{
    for (int k = 0; k < m->n; k++)
        if (m->w->prover->atoms[m->item[k].base].symbol == symbol) return true;
    return false;
}

/* Checks one name in the loop: the device has variables and mapped pointers, but no members. */
static bool check_name(mapping *m, const clauses *c, int32_t i)
{
    const walk *w = m->w;
    const hpc_tree *t = w->t;
    int32_t v = t->node[i].symbol;
    if (t->node[i].kind == HPC_TREE_THIS)
        return refuse(m, i, "members of an object are used", NULL);
    if (t->node[i].kind != HPC_TREE_NAME) return true;
    if (v < 0) return refuse(m, i, "a name is unknown", NULL);
    const hpc_symbol *x = &t->symbol[v];
    if (x->kind > HPC_SYMBOL_PARAMETER || is_inside(w->loop, v) || v == w->loop->head.symbol)
        return true;
    if (x->node > w->loop->node && x->node < t->node[w->loop->node].end) return true;
    if (x->flags & HPC_SYMBOL_THREAD) return refuse(m, i, "is thread-local", symbol_name(w->t, v));
    switch (kind_of(t, x->type)) {
    case HPC_TYPE_INTEGER:
    case HPC_TYPE_FLOAT:
    case HPC_TYPE_BOOL: return true;
    case HPC_TYPE_POINTER:
    case HPC_TYPE_ARRAY:
    case HPC_TYPE_RECORD:
        if (is_mapped(m, v) || is_private(c, symbol_name(w->t, v))) return true;
        return refuse(m, i, "is not the pointer by which its memory is mapped",
                      symbol_name(w->t, v));
    default: return refuse(m, i, "is a reference or has an unknown type", symbol_name(w->t, v));
    }
}

/* Two sections that overlap, but are not the same, cannot both be mapped. */
static void assume_maps_apart(mapping *m)
{
    walk *w = m->w;
    for (int k = 0; k < m->n; k++)
        for (int i = 0; i < k; i++) {
            const mapped *x = &m->item[i], *y = &m->item[k];
            place p = {.base = x->base, .type = -1}, q = {.base = y->base, .type = -1};
            if (w->prover->atoms[x->base].kind == ATOM_SYMBOL) p.n = 1;
            if (w->prover->atoms[y->base].kind == ATOM_SYMBOL) q.n = 1;
            p.step[0] = q.step[0] = (place_step){.field = STEP_INDEX};
            if (relate(w->loop->p, w->prover, &p, &q) == RELATION_APART) continue;
            const char *text = hpc_arena_text(w->loop->p->out, "%s and %s do not overlap",
                                              base_name(w, x->base), base_name(w, y->base)),
                       *weak =
                           text ? hpc_arena_text(w->loop->p->out, "%s, or are equal", text) : NULL;
            if (weak) answer_assume_instead(w->answer, &(premise){.text = text}, text, weak);
        }
}

/* ---- the clauses --------------------------------------------------------------------------------
 */

static void add_item(hpc_buf *b, walk *w, const mapped *x)
{
    hpc_buf_text(b, b->n ? ", " : "");
    hpc_buf_text(b, symbol_name(w->t, w->prover->atoms[x->base].symbol));
    if (w->prover->atoms[x->base].kind != ATOM_SYMBOL) return;
    hpc_buf_text(b, "[");
    poly_text(b, w->prover, w->loop->p, x->lo);
    hpc_buf_text(b, ":");
    poly_text(b, w->prover, w->loop->p,
              poly_plus(w->prover, poly_less(w->prover, x->hi, x->lo), 1));
    hpc_buf_text(b, "]");
}

static void put_maps(hpc_buf *out, const mapping *m, const clauses *c)
{
    static const char *const names[] = {"to", "from", "tofrom"};
    for (int kind = 0; kind < 3; kind++) {
        hpc_buf b = {0};
        for (int k = 0; k < m->n; k++) {
            const mapped *x = &m->item[k];
            int is = !x->written ? 0 : x->read ? 2 : 1;
            if (is == kind) add_item(&b, m->w, x);
        }
        for (int k = 0; kind == 2 && k < c->n; k++)
            hpc_buf_printf(&b, "%s%s", b.n ? ", " : "", c->reduction[k].names.data);
        if (b.n > 0) hpc_buf_printf(out, " map(%s: %s)", names[kind], b.data);
        if (b.failed) answer_fail(m->w->answer, HPC_E_NOMEM);
        hpc_buf_release(&b);
    }
    if (m->runs.n > 0) hpc_buf_printf(out, " if(target: %s)", m->runs.data);
    if (out->failed || m->runs.failed) answer_fail(m->w->answer, HPC_E_NOMEM);
}

static bool is_fit(mapping *m, const clauses *c)
{
    walk *w = m->w;
    const char *why;
    int32_t node;
    if (w->t->node[w->loop->node].kind != HPC_TREE_FOR || w->loop->head.symbol < 0 ||
        !w->loop->head.hi)
        return refuse(m, w->loop->node, "it is not a for loop with a loop variable", NULL);
    if (!vector_is_plain(&why, &node, w->loop, false)) return refuse(m, node, why, NULL);
    if (!is_by_one(w->loop->head.stride))
        return refuse(m, w->loop->node, "its step is not 1", NULL);
    if (c->last.n + c->conditional.n + c->linear.n > 0)
        return refuse(m, w->loop->node, "a value from its last iteration is kept", NULL);
    for (int k = 0; k < c->n; k++)
        if (strpbrk(c->reduction[k].names.data, "[:"))
            return refuse(m, w->loop->node, "an array is reduced", NULL);
    return true;
}

bool target_maps(hpc_buf *maps, walk *w)
{
    const clauses *c = &w->answer->clauses;
    mapping m = {.w = w};
    const poly *count =
        poly_plus(w->prover, poly_less(w->prover, w->loop->head.hi, w->loop->head.lo), 1);
    bool ok = is_fit(&m, c);
    if (ok && (!count || !is_named(w, count)))
        ok = refuse(&m, w->loop->node, "names at the loop cannot express its trip count", NULL);
    if (ok) add_runs(&m, count);
    for (int64_t i = 0; i < w->loop->n && ok; i++) ok = add_base(&m, c, &w->loop->item[i]);
    ok = ok && check_sections(&m);
    for (int32_t i = w->loop->node + 1; i < w->t->node[w->loop->node].end && ok; i++)
        ok = check_name(&m, c, i);
    if (ok) assume_maps_apart(&m);
    if (ok) put_maps(maps, &m, c);
    hpc_buf_release(&m.runs);
    return ok;
}

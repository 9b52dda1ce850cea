/*
 * target.c: what a loop must take to a device and back. A section of memory is mapped only where it
 * is known: its first and last element are touched in every run, so none but these are copied. What
 * is not written altogether travels both ways.
 *
 * Without a device the same loop runs on the host, and where a loop around an access never runs an
 * if clause keeps it there: a section would have a length below 0.
 */
#include <string.h>

#include "infer/pragma/propose.h"

enum { MAPPED_MOST = 24 };

typedef struct mapped {
    int32_t base;        /* an atom */
    const poly *lo, *hi; /* of a pointer: the elements; NULL: the whole variable */
    bool read, written;  /* read: or written in part alone */
    int32_t node;        /* where it is touched first */
} mapped;
typedef struct mapping {
    study *s;
    mapped item[MAPPED_MOST];
    int n;
    hpc_buf runs; /* that all loops run: "n > 0 && m > 0" */
    bool failed;
} mapping;

static bool refuse(mapping *m, int32_t node, const char *what, const char *name)
{
    if (!m->failed)
        answer_note(m->s->answer, "memory", node, "no target: %s%s%s", name ? name : "",
                    name ? " " : "", what);
    m->failed = true;
    return false;
}

static const char *base_name(const study *s, int32_t base)
{
    hpc_buf b = {0};
    atom_text(&b, s->prover, s->program, base);
    const char *kept = b.failed || !b.n ? NULL : hpc_arena_text(s->program->out, "%s", b.data);
    hpc_buf_release(&b);
    return kept ? kept : "something";
}

/* ---- whether all runs touch it ------------------------------------------------------------------
 */

/* "n > 2": that a loop runs. */
static void add_runs(mapping *m, const poly *count)
{
    study *s = m->s;
    hpc_buf one = {0};
    int64_t c;
    if (poly_is_number(count, &c)) return;
    const poly *less = poly_number(s->prover, 0);
    for (int32_t i = 0; i < count->n; i++) {
        if (count->t[i].c > 0) continue;
        const poly *p = poly_number(s->prover, -count->t[i].c);
        for (int k = 0; k < TERM_ATOMS && count->t[i].atom[k] >= 0; k++)
            p = poly_product(s->prover, p, poly_atom(s->prover, count->t[i].atom[k]));
        less = poly_sum(s->prover, less, p);
    }
    poly_text(&one, s->prover, s->program, poly_sum(s->prover, count, less));
    hpc_buf_text(&one, " > ");
    poly_text(&one, s->prover, s->program, less);
    if (!one.failed && !(m->runs.n && strstr(m->runs.data, one.data)))
        hpc_buf_printf(&m->runs, "%s%s", m->runs.n ? " && " : "", one.data);
    hpc_buf_release(&one);
}

static bool is_by_one(const poly *stride)
{
    int64_t c;
    return poly_is_number(stride, &c) && (c == 1 || c == -1);
}

/* Whether an access happens in each iteration of loops that have the same bounds every time. */
static bool is_certain(mapping *m, const access *a)
{
    study *s = m->s;
    const hpc_tree *t = s->t;
    if (a->depth > 0) return false;
    for (int32_t up = t->node[a->node].parent; up > s->loop; up = t->node[up].parent) {
        loop_head h;
        if (!is_loop(t->node[up].kind) || a->node < hpc_tree_child(t, up, 3)) continue;
        answer_mute(s->answer, true);
        head_read(&h, s, up);
        answer_mute(s->answer, false);
        if (h.reason || h.symbol < 0 || !is_by_one(h.stride) || !nest_is_settled(s, &h))
            return false;
        const poly *count = poly_plus(s->prover, poly_less(s->prover, h.hi, h.lo), 1);
        if (!count || poly_varies(s->prover, count)) return false;
        add_runs(m, count);
    }
    return true;
}

/* ---- sections -----------------------------------------------------------------------------------
 */

static int32_t target_type(const study *s, int32_t base)
{
    int32_t type = s->t->symbol[s->prover->atoms[base].symbol].type;
    return type < 0 ? -1 : s->t->type[type].to;
}

/* Types of which a copy is the same thing. */
static bool is_copied(const study *s, int32_t type)
{
    const hpc_tree *t = s->t;
    while (kind_of(t, type) == HPC_TYPE_ARRAY) type = t->type[type].to;
    uint8_t k = kind_of(t, type);
    if (k == HPC_TYPE_RECORD) return s->program->language == HPC_LANGUAGE_C;
    return k == HPC_TYPE_INTEGER || k == HPC_TYPE_FLOAT || k == HPC_TYPE_BOOL;
}

static bool is_variable(const study *s, const atom *a)
{
    const hpc_symbol *v = &s->t->symbol[a->symbol];
    uint8_t k = kind_of(s->t, v->type);
    bool sized = v->type >= 0 && (s->t->type[v->type].bytes > 0 || (v->flags & HPC_SYMBOL_LOCAL));
    return (k == HPC_TYPE_ARRAY || k == HPC_TYPE_RECORD) && sized && is_copied(s, v->type);
}

/* Each number in a section is no wider than what the loop itself computes the index in. */
static bool is_narrow(const study *s, const access *a, const poly *p)
{
    const hpc_tree *t = s->t;
    int32_t index = t->node[a->node].kind == HPC_TREE_INDEX ? hpc_tree_child(t, a->node, 1) : 0;
    int32_t type = index ? bare_type(t, t->node[index].type) : -1;
    if (type >= 0 && t->type[type].bytes <= 4) return true;
    for (int32_t i = 0; i < p->n; i++) {
        bool product = p->t[i].atom[0] >= 0 && (p->t[i].atom[1] >= 0 || p->t[i].c > 1);
        for (int k = 0; product && k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++) {
            const atom *x = &s->prover->atoms[p->t[i].atom[k]];
            int32_t of = x->kind == ATOM_SYMBOL ? s->t->symbol[x->symbol].type : -1;
            if (of < 0 || t->type[of].bytes < 8) return false;
        }
    }
    return true;
}

/* Whether another variable of the function has the name, so that it may say something else. */
static bool is_ambiguous(const study *s, int32_t symbol)
{
    const hpc_tree *t = s->t;
    for (int64_t v = 0; v < t->symbols_n; v++) {
        const hpc_symbol *x = &t->symbol[v];
        if (v == symbol || x->kind > HPC_SYMBOL_PARAMETER || x->node < s->function ||
            x->node > s->loop || strcmp(t->name + x->name, symbol_name(s->t, symbol)) != 0)
            continue;
        return true;
    }
    return false;
}

/* Whether names that exist at the loop say it: numbers and whole variables. */
static bool is_named(const study *s, const poly *p)
{
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++) {
            const atom *a = &s->prover->atoms[p->t[i].atom[k]];
            if (a->kind != ATOM_SYMBOL || is_inside(s, a->symbol) || is_ambiguous(s, a->symbol))
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

static bool bounds_of(const poly **lo, const poly **hi, study *s, const access *a)
{
    const place *p = &a->place;
    if (p->n < 1 || p->step[0].field != STEP_INDEX) return false;
    *lo = poly_extreme(s->prover, p->step[0].index, false, a->facts);
    *hi = poly_extreme(s->prover, p->step[0].index, true, a->facts);
    return *lo && *hi;
}

/* Widens what is mapped of a pointer by a certain access. */
static bool widen(mapping *m, mapped *x, const access *a)
{
    study *s = m->s;
    const poly *lo, *hi;
    if (!bounds_of(&lo, &hi, s, a) || !is_named(s, lo) || !is_named(s, hi)) return false;
    if (!is_narrow(s, a, lo) || !is_narrow(s, a, hi)) return false;
    if (!x->lo || prove_not_negative(s->prover, poly_less(s->prover, x->lo, lo), a->facts))
        x->lo = lo;
    else if (!prove_not_negative(s->prover, poly_less(s->prover, lo, x->lo), a->facts))
        return false;
    if (!x->hi || prove_not_negative(s->prover, poly_less(s->prover, hi, x->hi), a->facts))
        x->hi = hi;
    else if (!prove_not_negative(s->prover, poly_less(s->prover, x->hi, hi), a->facts))
        return false;
    return true;
}

static bool is_covered(study *s, const mapped *x, const access *a)
{
    const poly *lo, *hi;
    return x->lo && x->hi && bounds_of(&lo, &hi, s, a) &&
           prove_not_negative(s->prover, poly_less(s->prover, lo, x->lo), a->facts) &&
           prove_not_negative(s->prover, poly_less(s->prover, x->hi, hi), a->facts);
}

/* Whether a write leaves no element of the section as it was. */
static bool fills(mapping *m, const mapped *x, const access *a)
{
    study *s = m->s;
    const poly *lo, *hi, *c, *rest;
    int64_t one;
    if (!a->write || a->update || a->place.n != 1 || !is_by_one(s->head.stride)) return false;
    if (!bounds_of(&lo, &hi, s, a) || !poly_equal(lo, x->lo) || !poly_equal(hi, x->hi))
        return false;
    return poly_split(s->prover, a->place.step[0].index, s->iteration, &c, &rest) &&
           poly_is_number(c, &one) && (one == 1 || one == -1) && !poly_varies(s->prover, rest) &&
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
static bool is_simple(const study *s, const atom *a)
{
    uint8_t k = a->kind == ATOM_OBJECT ? kind_of(s->t, s->t->symbol[a->symbol].type) : 0;
    return k == HPC_TYPE_INTEGER || k == HPC_TYPE_FLOAT || k == HPC_TYPE_BOOL;
}

static bool add_base(mapping *m, const clauses *c, const access *a)
{
    study *s = m->s;
    if (a->place.base < 0)
        return refuse(m, a->node, "has an unknown address", node_text(s->program, a->node));
    const atom base = s->prover->atoms[a->place.base];
    bool pointer = base.kind == ATOM_SYMBOL && !base.varies &&
                   kind_of(s->t, s->t->symbol[base.symbol].type) == HPC_TYPE_POINTER;
    if (is_simple(s, &base) && !a->write) return true;
    if (base.kind == ATOM_OBJECT && is_private(c, symbol_name(s->t, base.symbol))) return true;
    if (!pointer && !(base.kind == ATOM_OBJECT && is_variable(s, &base)))
        return refuse(m, a->node,
                      "is neither a pointer variable nor an array, so its section is unknown",
                      base_name(s, a->place.base));
    if (pointer && !is_copied(s, target_type(s, a->place.base)))
        return refuse(m, a->node, "points to objects that cannot be copied bytewise",
                      base_name(s, a->place.base));
    if (is_summed(c, symbol_name(s->t, base.symbol)))
        return refuse(m, a->node, "is reduced, but is not a scalar variable",
                      base_name(s, a->place.base));
    if (is_ambiguous(s, base.symbol))
        return refuse(m, a->node, "names several variables", base_name(s, a->place.base));
    mapped *x = item_of(m, a->place.base, a->node);
    if (!x) return refuse(m, a->node, "too many memory regions are accessed", NULL);
    x->written |= a->write;
    x->read |= !a->write;
    if (pointer && is_certain(m, a) && !widen(m, x, a))
        return refuse(m, a->node, "has a section that names at the loop cannot express",
                      base_name(s, a->place.base));
    return true;
}

/* Every access lies in what is mapped, and what is only written in part is read as well. */
static bool check_sections(mapping *m)
{
    study *s = m->s;
    for (int k = 0; k < m->n; k++) {
        mapped *x = &m->item[k];
        bool pointer = s->prover->atoms[x->base].kind == ATOM_SYMBOL, filled = false;
        for (int64_t i = 0; i < s->n; i++) {
            const access *a = &s->item[i];
            if (!pointer || a->place.base != x->base) continue;
            if (!is_covered(s, x, a))
                return refuse(m, a->node,
                              "is accessed at positions that depend on conditions or other loops",
                              base_name(s, x->base));
            filled |= fills(m, x, a);
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
        if (m->s->prover->atoms[m->item[k].base].symbol == symbol) return true;
    return false;
}

/* What is named must be there: pointers that are mapped themselves, not by way of others. */
static bool check_name(mapping *m, const clauses *c, int32_t i)
{
    const study *s = m->s;
    const hpc_tree *t = s->t;
    int32_t v = t->node[i].symbol;
    if (t->node[i].kind == HPC_TREE_THIS)
        return refuse(m, i, "members of an object are used", NULL);
    if (t->node[i].kind != HPC_TREE_NAME) return true;
    if (v < 0) return refuse(m, i, "a name is unknown", NULL);
    const hpc_symbol *x = &t->symbol[v];
    if (x->kind > HPC_SYMBOL_PARAMETER || is_inside(s, v) || v == s->head.symbol) return true;
    if (x->node > s->loop && x->node < t->node[s->loop].end) return true;
    if (x->flags & HPC_SYMBOL_THREAD) return refuse(m, i, "is thread-local", symbol_name(s->t, v));
    switch (kind_of(t, x->type)) {
    case HPC_TYPE_INTEGER:
    case HPC_TYPE_FLOAT:
    case HPC_TYPE_BOOL: return true;
    case HPC_TYPE_POINTER:
    case HPC_TYPE_ARRAY:
    case HPC_TYPE_RECORD:
        if (is_mapped(m, v) || is_private(c, symbol_name(s->t, v))) return true;
        return refuse(m, i, "is not the pointer by which its memory is mapped",
                      symbol_name(s->t, v));
    default: return refuse(m, i, "is a reference or has an unknown type", symbol_name(s->t, v));
    }
}

/* Two sections that overlap, but are not the same, cannot both be mapped. */
static void assume_maps_apart(mapping *m)
{
    study *s = m->s;
    for (int k = 0; k < m->n; k++)
        for (int i = 0; i < k; i++) {
            const mapped *x = &m->item[i], *y = &m->item[k];
            place p = {.base = x->base, .type = -1}, q = {.base = y->base, .type = -1};
            if (s->prover->atoms[x->base].kind == ATOM_SYMBOL) p.n = 1;
            if (s->prover->atoms[y->base].kind == ATOM_SYMBOL) q.n = 1;
            p.step[0] = q.step[0] = (place_step){.field = STEP_INDEX};
            if (relate(s, &p, &q) == RELATION_APART) continue;
            const char *text = hpc_arena_text(s->program->out, "%s and %s do not overlap",
                                              base_name(s, x->base), base_name(s, y->base)),
                       *weak =
                           text ? hpc_arena_text(s->program->out, "%s, or are equal", text) : NULL;
            if (weak) answer_assume_instead(s->answer, text, NULL, text, weak);
        }
}

/* ---- the clauses --------------------------------------------------------------------------------
 */

static void add_item(hpc_buf *b, study *s, const mapped *x)
{
    hpc_buf_text(b, b->n ? ", " : "");
    hpc_buf_text(b, symbol_name(s->t, s->prover->atoms[x->base].symbol));
    if (s->prover->atoms[x->base].kind != ATOM_SYMBOL) return;
    hpc_buf_text(b, "[");
    poly_text(b, s->prover, s->program, x->lo);
    hpc_buf_text(b, ":");
    poly_text(b, s->prover, s->program,
              poly_plus(s->prover, poly_less(s->prover, x->hi, x->lo), 1));
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
            if (is == kind) add_item(&b, m->s, x);
        }
        for (int k = 0; kind == 2 && k < c->n; k++)
            hpc_buf_printf(&b, "%s%s", b.n ? ", " : "", c->reduction[k].names.data);
        if (b.n > 0) hpc_buf_printf(out, " map(%s: %s)", names[kind], b.data);
        if (b.failed) answer_fail(m->s->answer, HPC_E_NOMEM);
        hpc_buf_release(&b);
    }
    if (m->runs.n > 0) hpc_buf_printf(out, " if(target: %s)", m->runs.data);
    if (out->failed || m->runs.failed) answer_fail(m->s->answer, HPC_E_NOMEM);
}

static bool is_fit(mapping *m, const clauses *c)
{
    study *s = m->s;
    const char *why;
    int32_t node;
    if (s->t->node[s->loop].kind != HPC_TREE_FOR || s->head.symbol < 0 || !s->head.hi)
        return refuse(m, s->loop, "it is not a for loop with a loop variable", NULL);
    if (!propose_is_plain(&why, &node, s, false)) return refuse(m, node, why, NULL);
    if (!is_by_one(s->head.stride)) return refuse(m, s->loop, "its step is not 1", NULL);
    if (c->last.n + c->conditional.n + c->linear.n > 0)
        return refuse(m, s->loop, "a value from its last iteration is kept", NULL);
    for (int k = 0; k < c->n; k++)
        if (strpbrk(c->reduction[k].names.data, "[:"))
            return refuse(m, s->loop, "an array is reduced", NULL);
    return true;
}

bool target_maps(hpc_buf *maps, study *s, const clauses *c)
{
    mapping m = {.s = s};
    const poly *count = poly_plus(s->prover, poly_less(s->prover, s->head.hi, s->head.lo), 1);
    bool ok = is_fit(&m, c);
    if (ok && (!count || !is_named(s, count)))
        ok = refuse(&m, s->loop, "names at the loop cannot express its trip count", NULL);
    if (ok) add_runs(&m, count);
    for (int64_t i = 0; i < s->n && ok; i++) ok = add_base(&m, c, &s->item[i]);
    ok = ok && check_sections(&m);
    for (int32_t i = s->loop + 1; i < s->t->node[s->loop].end && ok; i++) ok = check_name(&m, c, i);
    if (ok) assume_maps_apart(&m);
    if (ok) put_maps(maps, &m, c);
    hpc_buf_release(&m.runs);
    return ok;
}

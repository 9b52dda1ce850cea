/*
 * disjoint.c: see disjoint.h. Each pair of arrays needs one of three edits: a local copy of a
 * number, restrict in the declaration of a pointer, or a local pointer with restrict.
 */
#include "infer/pragma/disjoint.h"

#include <string.h>

#include "infer/pragma/relate.h"

enum { NAMES_MOST = 4 };

typedef enum side_kind {
    SIDE_OTHER,
    SIDE_OBJECT,  /* a variable, no reference */
    SIDE_POINTER, /* what a variable points to that is never assigned */
    SIDE_LOAD,    /* what a pointer in memory points to */
    SIDE_VALUE    /* one number in memory */
} side_kind;
typedef struct side {
    const char *name;
    const place *place;
    side_kind kind;
    int32_t symbol; /* of a pointer; -1 */
} side;

typedef struct names {
    const char *item[NAMES_MOST];
    int n;
    bool full;
} names;

typedef struct edits {
    names copied, restored, declared, loaded;
} edits;

static void add_name(names *x, const char *name)
{
    for (int k = 0; k < x->n; k++)
        if (strcmp(x->item[k], name) == 0) return;
    x->full |= x->n == NAMES_MOST;
    if (x->n < NAMES_MOST) x->item[x->n++] = name;
}

static void put_names(hpc_buf *b, const names *x)
{
    for (int k = 0; k < x->n; k++)
        hpc_buf_printf(b, "%s%s", k == 0 ? "" : k + 1 == x->n ? " and " : ", ", x->item[k]);
}

/* ---- the two sides of an assumption ---- */

static bool has_step(const walk *w, const place *p)
{
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field == STEP_INDEX &&
            (!p->step[k].index || poly_varies(w->prover, p->step[k].index)))
            return true;
    return false;
}

/* The loop itself names a place, and not a function that it calls. */
static bool is_named(const walk *w, const place *p, const char *name)
{
    for (int64_t i = 0; i < w->loop->n; i++)
        if (place_equal(&w->loop->item[i].place, p) &&
            strcmp(node_text(w->loop->p, w->loop->item[i].node), name) == 0)
            return true;
    return false;
}

/* A number that the loop always accesses at one place, under its own name. */
static bool is_value(const walk *w, const place *p, const char *name)
{
    const uint8_t kind = kind_of(w->t, p->type);
    const bool number = kind == HPC_TYPE_INTEGER || kind == HPC_TYPE_FLOAT || kind == HPC_TYPE_BOOL;
    return number && !has_step(w, p) && !strchr(name, '[') && !strchr(name, '*') &&
           is_named(w, p, name);
}

static side side_of(const walk *w, const place *p, const char *name)
{
    side s = {.name = name, .place = p, .symbol = -1};
    const atom *x = p && p->base >= 0 ? &w->prover->atoms[p->base] : NULL;
    if (!x || x->varies || is_container_place(p) || is_open_base(w->prover, p->base)) return s;
    if (x->kind == ATOM_THIS) {
        if (p->n == 2 && is_value(w, p, name)) s.kind = SIDE_VALUE;
    } else if (x->kind == ATOM_OBJECT) {
        const bool reference = kind_of(w->t, w->t->symbol[x->symbol].type) == HPC_TYPE_REFERENCE;
        const bool whole = p->n == 0 || (p->n == 1 && p->step[0].field >= 0);
        if (whole && reference && is_value(w, p, name)) s.kind = SIDE_VALUE;
        if (!reference && strcmp(name, symbol_name(w->t, x->symbol)) == 0) s.kind = SIDE_OBJECT;
    } else if (x->kind == ATOM_SYMBOL && strcmp(name, symbol_name(w->t, x->symbol)) != 0) {
        if (p->n == 2 && p->step[1].field >= 0 && is_value(w, p, name)) s.kind = SIDE_VALUE;
    } else if (x->kind == ATOM_SYMBOL || x->kind == ATOM_LOAD) {
        const int32_t type = x->kind == ATOM_SYMBOL ? w->t->symbol[x->symbol].type : x->place->type;
        if (kind_of(w->t, type) != HPC_TYPE_POINTER || is_view(w->t, type)) return s;
        if (x->kind == ATOM_LOAD) {
            if (is_named(w, x->place, name)) s.kind = SIDE_LOAD;
        } else if (w->loop->p->use[x->symbol].writes_n == 0) {
            s.kind = SIDE_POINTER;
            s.symbol = x->symbol;
        }
    }
    return s;
}

static bool has_restrict(const walk *w, const side *s)
{
    const int32_t type = s->symbol < 0 ? -1 : w->t->symbol[s->symbol].type;
    return type >= 0 && (w->t->type[type].flags & HPC_TYPE_RESTRICT);
}

/* ---- edits ---- */

static void copy(edits *e, const walk *w, const side *s)
{
    bool written = false;
    for (int64_t i = 0; i < w->loop->n; i++)
        written |= w->loop->item[i].write && place_equal(&w->loop->item[i].place, s->place);
    add_name(written ? &e->restored : &e->copied, s->name);
}

static bool is_done(const names *x, const char *name)
{
    for (int k = 0; k < x->n; k++)
        if (strcmp(x->item[k], name) == 0) return true;
    return false;
}

static bool separate(edits *e, const walk *w, const side *a, const side *b)
{
    if (a->kind == SIDE_VALUE || b->kind == SIDE_VALUE) {
        copy(e, w, a->kind == SIDE_VALUE ? a : b);
        return true;
    }
    if (a->kind == SIDE_OTHER || b->kind == SIDE_OTHER) return false;
    if (a->kind == SIDE_OBJECT && b->kind == SIDE_OBJECT) return false;
    const bool load = a->kind == SIDE_LOAD || b->kind == SIDE_LOAD;
    if (!load && has_restrict(w, a) && has_restrict(w, b)) return false;
    add_name(load ? &e->loaded : &e->declared, a->name);
    add_name(load ? &e->loaded : &e->declared, b->name);
    return true;
}

static bool find_edits(edits *e, const walk *w)
{
    const answer *a = w->answer;
    for (int64_t k = 0; k < a->assumptions_n; k++) {
        const premise *p = &a->assumption[k];
        const bool apart = p->form == ASSUME_APART || p->form == ASSUME_APART_OR_EQUAL;
        if (!apart || !p->one || !p->two || !p->place_one || !p->place_two) return false;
        const side one = side_of(w, p->place_one, p->one), two = side_of(w, p->place_two, p->two);
        if (!separate(e, w, &one, &two)) return false;
    }
    for (int k = 0; e->loaded.n > 0 && k < e->declared.n; k++)
        if (!is_done(&e->loaded, e->declared.item[k])) add_name(&e->loaded, e->declared.item[k]);
    return a->assumptions_n > 0 &&
           !(e->copied.full || e->restored.full || e->declared.full || e->loaded.full);
}

static void put_edit(hpc_buf *b, const char *before, const names *x, const char *after)
{
    if (x->n == 0) return;
    hpc_buf_printf(b, "%s%s", b->n > 0 ? "; " : "", before);
    put_names(b, x);
    hpc_buf_text(b, after);
}

static const char *fortran(walk *w)
{
    hpc_buf b = {0};
    names x = {0};
    for (int64_t k = 0; k < w->answer->assumptions_n; k++) {
        const premise *p = &w->answer->assumption[k];
        if (p->form != ASSUME_APART || !p->one || !p->two) return NULL;
        add_name(&x, p->one);
        add_name(&x, p->two);
    }
    if (x.n < 2 || x.full) return NULL;
    put_edit(&b, "without POINTER and TARGET, Fortran excludes an overlap of ", &x, "");
    const char *out = b.failed ? NULL : hpc_arena_text(w->answer->p->out, "%s", b.data);
    hpc_buf_release(&b);
    return out;
}

const char *disjoint_of(walk *w)
{
    edits e = {0};
    hpc_buf b = {0};
    if (w->answer->unknown || w->answer->unsafe) return NULL;
    if (w->answer->p->language == HPC_LANGUAGE_FORTRAN) return fortran(w);
    if (!find_edits(&e, w)) return NULL;
    put_edit(&b, "copy ", &e.copied, " to a local variable before the loop");
    put_edit(&b, "copy ", &e.restored, " to a local variable before the loop, and back after it");
    if (e.loaded.n > 0)
        put_edit(&b, "load into local pointers with restrict before the loop: ", &e.loaded, "");
    else
        put_edit(&b, "restrict in the declarations excludes an overlap of ", &e.declared, "");
    const char *out = b.failed || b.n == 0 ? NULL : hpc_arena_text(w->answer->p->out, "%s", b.data);
    hpc_buf_release(&b);
    return out;
}

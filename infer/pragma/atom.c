/*
 * atom.c: what numbers and places are made of. Two that mean the same are one atom, so that equal
 * numbers look equal; only the opaque ones are never alike.
 */
#include <string.h>

#include "infer/pragma/priv.h"

enum { ATOMS_MOST = 4096 };

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    return hpc_hash(data, n, h);
}

static uint64_t hash_poly(uint64_t h, const poly *p)
{
    return p ? mix(h, p->t, (size_t)p->n * sizeof p->t[0]) : mix(h, "?", 1);
}

static uint64_t hash_place(uint64_t h, const place *p)
{
    if (!p) return h;
    h = mix(h, &p->base, sizeof p->base);
    for (int32_t k = 0; k < p->n; k++) {
        h = mix(h, &p->step[k].field, sizeof p->step[k].field);
        h = hash_poly(h, p->step[k].index);
    }
    return h;
}

bool place_equal(const place *a, const place *b)
{
    if (a->base < 0 || a->base != b->base || a->n != b->n) return false;
    for (int32_t k = 0; k < a->n; k++) {
        if (a->step[k].field != b->step[k].field) return false;
        if (a->step[k].field == STEP_INDEX && !poly_equal(a->step[k].index, b->step[k].index))
            return false;
    }
    return true;
}

static bool same(const atom *a, const atom *b)
{
    if (a->hash != b->hash || a->kind != b->kind || a->op != b->op || a->symbol != b->symbol)
        return false;
    if (a->node != b->node || a->of != b->of || !a->place != !b->place) return false;
    if (a->place && !place_equal(a->place, b->place)) return false;
    if (a->a && !poly_equal(a->a, b->a)) return false;
    if (a->b && !poly_equal(a->b, b->b)) return false;
    return !a->a == !b->a && !a->b == !b->b;
}

int32_t atom_new(study *s, const atom *a)
{
    atom x = *a;
    int32_t key[4] = {x.kind | x.op << 8, x.symbol, x.node, x.of};
    x.hash = hash_poly(hash_poly(hash_place(mix(0, key, sizeof key), x.place), x.a), x.b);
    for (int64_t i = 0; i < s->atoms_n; i++)
        if (same(&s->atoms[i], &x)) return (int32_t)i;
    if (s->atoms_n >= ATOMS_MOST) { /* each new one is held against all */
        bool quiet = s->quiet;
        s->quiet = false;
        say_unknown(s, "form", s->loop, "the loop is too large");
        s->quiet = quiet;
        return -1;
    }
    if (hpc_grow(&s->atoms, &s->atoms_cap, s->atoms_n + 1, sizeof *s->atoms) < 0) {
        s->rc = HPC_E_NOMEM;
        return -1;
    }
    if (x.place) {
        place *kept = hpc_arena_alloc(s->arena, 1, sizeof *kept);
        if (!kept) {
            s->rc = HPC_E_NOMEM;
            return -1;
        }
        *kept = *x.place;
        x.place = kept;
    }
    s->atoms[s->atoms_n] = x;
    return (int32_t)s->atoms_n++;
}

bool is_same_type(const hpc_tree *t, int32_t a, int32_t b)
{
    if (a < 0 || b < 0) return false;
    const hpc_tree_type *x = &t->type[a], *y = &t->type[b];
    return a == b || (x->kind == y->kind && x->bytes == y->bytes && x->name == y->name &&
                      x->to == y->to && x->n == y->n && !((x->flags ^ y->flags) & ~HPC_TYPE_CONST));
}

bool poly_varies(const study *s, const poly *p)
{
    if (!p) return true;
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++)
            if (s->atoms[p->t[i].atom[k]].varies) return true;
    return false;
}

bool place_varies(const study *s, const place *p)
{
    if (p->base < 0 || s->atoms[p->base].varies) return true;
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field == STEP_INDEX && poly_varies(s, p->step[k].index)) return true;
    return false;
}

static bool is_unsigned(const study *s, int32_t type)
{
    return type >= 0 && s->t->type[type].kind == HPC_TYPE_INTEGER &&
           (s->t->type[type].flags & HPC_TYPE_UNSIGNED);
}

int32_t atom_symbol(study *s, int32_t symbol)
{
    return atom_new(s,
                    &(atom){
                        .kind = ATOM_SYMBOL,
                        .symbol = symbol,
                        .node = -1,
                        .of = -1,
                        .lo = is_unsigned(s, s->t->symbol[symbol].type) ? poly_number(s, 0) : NULL,
                    });
}

int32_t atom_object(study *s, int32_t symbol)
{
    return atom_new(s, &(atom){.kind = ATOM_OBJECT, .symbol = symbol, .node = -1, .of = -1});
}

int32_t atom_this(study *s)
{
    return atom_new(s, &(atom){.kind = ATOM_THIS, .symbol = -1, .node = -1, .of = -1});
}

int32_t atom_opaque(study *s, int32_t node)
{
    return atom_new(s, &(atom){.kind = ATOM_OPAQUE,
                               .symbol = (int32_t)s->atoms_n,
                               .node = node,
                               .of = -1,
                               .varies = true});
}

int32_t atom_fresh(study *s, int32_t node)
{
    return atom_new(
        s,
        &(atom){
            .kind = ATOM_OPAQUE, .op = 'F', .symbol = -1, .node = node, .of = -1, .varies = true});
}

int32_t atom_load(study *s, const place *p)
{
    return atom_new(s, &(atom){
                           .kind = ATOM_LOAD,
                           .symbol = -1,
                           .node = -1,
                           .of = -1,
                           .place = p,
                           .varies = place_varies(s, p),
                           .lo = is_unsigned(s, p->type) ? poly_number(s, 0) : NULL,
                       });
}

int32_t atom_point(study *s, const place *p)
{
    return atom_new(s, &(atom){.kind = ATOM_POINT,
                               .symbol = -1,
                               .node = -1,
                               .of = -1,
                               .place = p,
                               .varies = place_varies(s, p)});
}

/* The type as the first of those that differ from it in const alone. */
static int32_t plain_type(const hpc_tree *t, int32_t type)
{
    for (int32_t k = 0; k < type; k++)
        if (is_same_type(t, k, type)) return k;
    return type;
}

int32_t atom_as(study *s, int32_t pointer, int32_t type)
{
    return atom_new(s, &(atom){.kind = ATOM_AS,
                               .symbol = -1,
                               .node = plain_type(s->t, type),
                               .of = pointer,
                               .varies = s->atoms[pointer].varies});
}

int32_t atom_untyped(const study *s, int32_t i)
{
    return i >= 0 && s->atoms[i].kind == ATOM_AS ? s->atoms[i].of : i;
}

int32_t atom_size(study *s, const place *p)
{
    return atom_new(s, &(atom){.kind = ATOM_SIZE,
                               .symbol = -1,
                               .node = -1,
                               .of = -1,
                               .place = p,
                               .varies = place_varies(s, p),
                               .lo = poly_number(s, 0)});
}

/* i % n lies between 0 and n - 1 where both are known not to be negative. */
static void bound_function(study *s, atom *x)
{
    int64_t n;
    bool number = poly_is_number(x->b, &n);
    bool positive = prove_not_negative(s, x->a, s->facts);
    if (x->op == '%' && number && n > 0) x->hi = poly_number(s, n - 1); /* -7 % 4 is -3 */
    if (x->op == '%' && positive && (number ? n > 0 : prove_positive(s, x->b, s->facts))) {
        x->lo = poly_number(s, 0);
        x->hi = poly_plus(s, x->b, -1);
    } else if ((x->op == '/' || x->op == HPC_OP_SHIFT_RIGHT) && positive && number && n > 0) {
        x->lo = poly_number(s, 0);
        x->hi = x->a;
    } else if (x->op == '&' && number && n >= 0) {
        x->lo = poly_number(s, 0);
        x->hi = x->b;
    }
}

int32_t atom_choice(study *s, const atom *c)
{
    atom x = *c;
    x.kind = ATOM_CHOICE;
    x.varies = true;
    x.symbol = x.node = -1;
    return x.a && x.b ? atom_new(s, &x) : -1;
}

int32_t atom_function(study *s, uint8_t op, const poly *a, const poly *b)
{
    if (!a || !b) return atom_opaque(s, -1);
    atom x = {.kind = ATOM_FUNCTION,
              .op = op,
              .symbol = -1,
              .node = -1,
              .of = -1,
              .a = a,
              .b = b,
              .varies = poly_varies(s, a) || poly_varies(s, b)};
    bound_function(s, &x);
    x.of = x.lo ? -2 : -1; /* bounds may hold only where it was met */
    return atom_new(s, &x);
}

/* ---- text ------------------------------------------------------------------------------------ */

const char *symbol_name(const study *s, int32_t symbol)
{
    return symbol < 0 ? "?" : s->t->name + s->t->symbol[symbol].name;
}

static void base_text(hpc_buf *b, const study *s, int32_t base)
{
    if (base < 0)
        hpc_buf_text(b, "unknown memory");
    else
        atom_text(b, s, base);
}

static bool is_zero(const poly *p)
{
    int64_t c;
    return poly_is_number(p, &c) && c == 0;
}

/* "s->x[i]": an index 0 directly after a pointer and before a field is the arrow. Anonymous structs
 * and unions have no name. */
void place_text(hpc_buf *b, const study *s, const place *p)
{
    bool follows = p->base >= 0 && s->atoms[p->base].kind != ATOM_OBJECT;
    bool member = follows && p->n > 1 && p->step[1].field >= 0;
    bool own = member && s->atoms[p->base].kind == ATOM_THIS;
    bool arrow = member && p->step[0].field == STEP_INDEX && is_zero(p->step[0].index);
    const char *before = own ? "" : arrow ? "->" : ".";
    if (!own) base_text(b, s, p->base);
    for (int32_t k = own || arrow ? 1 : 0; k < p->n; k++) {
        const place_step *e = &p->step[k];
        if (e->field >= 0 && *symbol_name(s, e->field)) {
            hpc_buf_printf(b, "%s%s", before, symbol_name(s, e->field));
            before = ".";
        } else if (e->field == STEP_INDEX) {
            hpc_buf_text(b, "[");
            poly_text(b, s, e->index);
            hpc_buf_text(b, "]");
        }
    }
}

void atom_text(hpc_buf *b, const study *s, int32_t i)
{
    static const char *const names[32] = {[HPC_OP_SHIFT_LEFT] = "<<", [HPC_OP_SHIFT_RIGHT] = ">>"};
    if (i < 0) {
        hpc_buf_text(b, "?");
        return;
    }
    const atom *a = &s->atoms[i];
    switch (a->kind) {
    case ATOM_SYMBOL:
    case ATOM_OBJECT:
    case ATOM_ITERATION:
    case ATOM_INNER:
        hpc_buf_text(b, a->symbol >= 0 ? symbol_name(s, a->symbol) : "its location");
        break;
    case ATOM_THIS: hpc_buf_text(b, "this"); break;
    case ATOM_LOAD: place_text(b, s, a->place); break;
    case ATOM_POINT:
        if (a->place->n > 0 && a->place->step[a->place->n - 1].field == STEP_INDEX &&
            is_zero(a->place->step[a->place->n - 1].index))
        {
            place whole = *a->place;
            whole.n--;
            place_text(b, s, &whole);
        } else {
            hpc_buf_text(b, "&");
            place_text(b, s, a->place);
        }
        break;
    case ATOM_SIZE:
        place_text(b, s, a->place);
        hpc_buf_text(b, ".size()");
        break;
    case ATOM_CHOICE:
        hpc_buf_text(b, "(");
        poly_text(b, s, a->a);
        hpc_buf_text(b, " or ");
        poly_text(b, s, a->b);
        hpc_buf_text(b, ")");
        break;
    case ATOM_FUNCTION:
        hpc_buf_text(b, "(");
        poly_text(b, s, a->a);
        if (a->op < 32)
            hpc_buf_printf(b, " %s ", names[a->op] ? names[a->op] : "?");
        else
            hpc_buf_printf(b, " %c ", a->op);
        poly_text(b, s, a->b);
        hpc_buf_text(b, ")");
        break;
    case ATOM_OPAQUE: hpc_buf_text(b, a->node >= 0 ? node_text(s, a->node) : "?"); break;
    default: atom_text(b, s, a->of); break;
    }
}

/*
 * atom.c: the table of atoms. Atoms with the same meaning share one entry, so equal numbers have
 * equal polynomials; opaque atoms are always distinct.
 */
#include <string.h>

#include "infer/pragma/prover.h"

enum { ATOMS_MOST = 4096 };

/* ---- the table ---- */

void prover_release(prover *pr)
{
    hpc_free(pr->atoms);
}

prover_mark prover_here(const prover *pr)
{
    return (prover_mark){pr->atoms_n, hpc_arena_here(pr->arena)};
}

void prover_rewind(prover *pr, prover_mark mark)
{
    pr->atoms_n = mark.atoms_n;
    hpc_arena_rewind(pr->arena, mark.arena);
}

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

int32_t atom_new(prover *pr, const atom *a)
{
    atom x = *a;
    int32_t key[4] = {x.kind | x.op << 8, x.symbol, x.node, x.of};
    x.hash = hash_poly(hash_poly(hash_place(mix(0, key, sizeof key), x.place), x.a), x.b);
    for (int64_t i = 0; i < pr->atoms_n; i++)
        if (same(&pr->atoms[i], &x)) return (int32_t)i;
    if (pr->atoms_n >= ATOMS_MOST) { /* each new atom is compared with all */
        pr->full(pr->user);
        return -1;
    }
    if (hpc_grow(&pr->atoms, &pr->atoms_cap, pr->atoms_n + 1, sizeof *pr->atoms) < 0) {
        pr->rc = HPC_E_NOMEM;
        return -1;
    }
    if (x.place) {
        place *kept = hpc_arena_alloc(pr->arena, 1, sizeof *kept);
        if (!kept) {
            pr->rc = HPC_E_NOMEM;
            return -1;
        }
        *kept = *x.place;
        x.place = kept;
    }
    pr->atoms[pr->atoms_n] = x;
    return (int32_t)pr->atoms_n++;
}

bool poly_varies(const prover *pr, const poly *p)
{
    if (!p) return true;
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < TERM_ATOMS && p->t[i].atom[k] >= 0; k++)
            if (pr->atoms[p->t[i].atom[k]].varies) return true;
    return false;
}

static bool place_varies(const prover *pr, const place *p)
{
    if (p->base < 0 || pr->atoms[p->base].varies) return true;
    for (int32_t k = 0; k < p->n; k++)
        if (p->step[k].field == STEP_INDEX && poly_varies(pr, p->step[k].index)) return true;
    return false;
}

static bool is_unsigned(const prover *pr, int32_t type)
{
    return type >= 0 && pr->t->type[type].kind == HPC_TYPE_INTEGER &&
           (pr->t->type[type].flags & HPC_TYPE_UNSIGNED);
}

int32_t atom_symbol(prover *pr, int32_t symbol)
{
    return atom_new(
        pr, &(atom){
                .kind = ATOM_SYMBOL,
                .symbol = symbol,
                .node = -1,
                .of = -1,
                .lo = is_unsigned(pr, pr->t->symbol[symbol].type) ? poly_number(pr, 0) : NULL,
            });
}

int32_t atom_object(prover *pr, int32_t symbol)
{
    return atom_new(pr, &(atom){.kind = ATOM_OBJECT, .symbol = symbol, .node = -1, .of = -1});
}

int32_t atom_this(prover *pr)
{
    return atom_new(pr, &(atom){.kind = ATOM_THIS, .symbol = -1, .node = -1, .of = -1});
}

int32_t atom_opaque(prover *pr, int32_t node)
{
    return atom_new(pr, &(atom){.kind = ATOM_OPAQUE,
                                .symbol = (int32_t)pr->atoms_n,
                                .node = node,
                                .of = -1,
                                .varies = true});
}

int32_t atom_fresh(prover *pr, int32_t node)
{
    return atom_new(
        pr,
        &(atom){
            .kind = ATOM_OPAQUE, .op = 'F', .symbol = -1, .node = node, .of = -1, .varies = true});
}

int32_t atom_load(prover *pr, const place *p)
{
    return atom_new(pr, &(atom){
                            .kind = ATOM_LOAD,
                            .symbol = -1,
                            .node = -1,
                            .of = -1,
                            .place = p,
                            .varies = place_varies(pr, p),
                            .lo = is_unsigned(pr, p->type) ? poly_number(pr, 0) : NULL,
                        });
}

int32_t atom_point(prover *pr, const place *p)
{
    return atom_new(pr, &(atom){.kind = ATOM_POINT,
                                .symbol = -1,
                                .node = -1,
                                .of = -1,
                                .place = p,
                                .varies = place_varies(pr, p)});
}

/* The first type that differs at most in const: one representative for all of them. */
static int32_t plain_type(const hpc_tree *t, int32_t type)
{
    for (int32_t k = 0; k < type; k++)
        if (is_same_type(t, k, type)) return k;
    return type;
}

int32_t atom_as(prover *pr, int32_t pointer, int32_t type)
{
    return atom_new(pr, &(atom){.kind = ATOM_AS,
                                .symbol = -1,
                                .node = plain_type(pr->t, type),
                                .of = pointer,
                                .varies = pr->atoms[pointer].varies});
}

int32_t atom_untyped(const prover *pr, int32_t i)
{
    return i >= 0 && pr->atoms[i].kind == ATOM_AS ? pr->atoms[i].of : i;
}

int32_t atom_size(prover *pr, const place *p)
{
    return atom_new(pr, &(atom){.kind = ATOM_SIZE,
                                .symbol = -1,
                                .node = -1,
                                .of = -1,
                                .place = p,
                                .varies = place_varies(pr, p),
                                .lo = poly_number(pr, 0)});
}

/* i % n lies between 0 and n - 1 if i >= 0 and n > 0. */
static void bound_function(prover *pr, atom *x, const fact *facts)
{
    int64_t n;
    bool number = poly_is_number(x->b, &n);
    bool positive = prove_not_negative(pr, x->a, facts);
    if (x->op == '%' && number && n > 0) x->hi = poly_number(pr, n - 1); /* -7 % 4 is -3 */
    if (x->op == '%' && positive && (number ? n > 0 : prove_positive(pr, x->b, facts))) {
        x->lo = poly_number(pr, 0);
        x->hi = poly_plus(pr, x->b, -1);
    } else if ((x->op == '/' || x->op == HPC_OP_SHIFT_RIGHT) && positive && number && n > 0) {
        x->lo = poly_number(pr, 0);
        x->hi = x->a;
    } else if (x->op == '&' && number && n >= 0) {
        x->lo = poly_number(pr, 0);
        x->hi = x->b;
    }
}

int32_t atom_choice(prover *pr, const atom *c)
{
    atom x = *c;
    x.kind = ATOM_CHOICE;
    x.varies = true;
    x.symbol = x.node = -1;
    return x.a && x.b ? atom_new(pr, &x) : -1;
}

int32_t atom_function(prover *pr, uint8_t op, const poly *a, const poly *b, const fact *facts)
{
    if (!a || !b) return atom_opaque(pr, -1);
    atom x = {.kind = ATOM_FUNCTION,
              .op = op,
              .symbol = -1,
              .node = -1,
              .of = -1,
              .a = a,
              .b = b,
              .varies = poly_varies(pr, a) || poly_varies(pr, b)};
    bound_function(pr, &x, facts);
    x.of = x.lo ? -2 : -1; /* the bounds may hold only here */
    return atom_new(pr, &x);
}

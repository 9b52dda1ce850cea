/*
 * text.c: see text.h.
 */
#include "infer/pragma/text.h"

static void term_text(hpc_buf *b, const prover *pr, const program *f, const term *t, bool first)
{
    int64_t c = t->c < 0 ? -t->c : t->c;
    if (!first)
        hpc_buf_text(b, t->c < 0 ? " - " : " + ");
    else if (t->c < 0)
        hpc_buf_text(b, "-");
    bool plain = t->atom[0] < 0;
    if (plain || c != 1) hpc_buf_printf(b, "%lld", (long long)c);
    for (int k = 0; k < TERM_ATOMS && t->atom[k] >= 0; k++) {
        if (k > 0 || c != 1) hpc_buf_text(b, "*");
        atom_text(b, pr, f, t->atom[k]);
    }
}

/* Positive terms come first, and numbers last. */
void poly_text(hpc_buf *b, const prover *pr, const program *f, const poly *a)
{
    bool first = true;
    if (!a) {
        hpc_buf_text(b, "?");
        return;
    }
    for (int pass = 0; pass < 3; pass++)
        for (int32_t i = 0; i < a->n; i++) {
            bool number = a->t[i].atom[0] < 0;
            int when = number ? 2 : a->t[i].c < 0;
            if (when != pass) continue;
            term_text(b, pr, f, &a->t[i], first);
            first = false;
        }
    if (first) hpc_buf_text(b, "0");
}

/* ---- places and atoms ---- */

static void base_text(hpc_buf *b, const prover *pr, const program *f, int32_t base)
{
    if (base < 0)
        hpc_buf_text(b, "unknown memory");
    else
        atom_text(b, pr, f, base);
}

static bool is_zero(const poly *p)
{
    int64_t c;
    return poly_is_number(p, &c) && c == 0;
}

/* "s->x[i]": an index 0 directly after a pointer and before a field is the arrow. Anonymous structs
 * and unions have no name. */
void place_text(hpc_buf *b, const prover *pr, const program *f, const place *p)
{
    bool follows = p->base >= 0 && pr->atoms[p->base].kind != ATOM_OBJECT;
    bool member = follows && p->n > 1 && p->step[1].field >= 0;
    bool own = member && pr->atoms[p->base].kind == ATOM_THIS;
    bool arrow = member && p->step[0].field == STEP_INDEX && is_zero(p->step[0].index);
    const char *before = own ? "" : arrow ? "->" : ".";
    if (!own) base_text(b, pr, f, p->base);
    for (int32_t k = own || arrow ? 1 : 0; k < p->n; k++) {
        const place_step *e = &p->step[k];
        if (e->field >= 0 && *symbol_name(f->t, e->field)) {
            hpc_buf_printf(b, "%s%s", before, symbol_name(f->t, e->field));
            before = ".";
        } else if (e->field == STEP_INDEX) {
            hpc_buf_text(b, "[");
            poly_text(b, pr, f, e->index);
            hpc_buf_text(b, "]");
        }
    }
}

void atom_text(hpc_buf *b, const prover *pr, const program *f, int32_t i)
{
    static const char *const names[32] = {[HPC_OP_SHIFT_LEFT] = "<<", [HPC_OP_SHIFT_RIGHT] = ">>"};
    if (i < 0) {
        hpc_buf_text(b, "?");
        return;
    }
    const atom *a = &pr->atoms[i];
    switch (a->kind) {
    case ATOM_SYMBOL:
    case ATOM_OBJECT:
    case ATOM_ITERATION:
    case ATOM_INNER:
        hpc_buf_text(b, a->symbol >= 0 ? symbol_name(f->t, a->symbol) : "its location");
        break;
    case ATOM_THIS: hpc_buf_text(b, "this"); break;
    case ATOM_LOAD: place_text(b, pr, f, a->place); break;
    case ATOM_POINT:
        if (a->place->n > 0 && a->place->step[a->place->n - 1].field == STEP_INDEX &&
            is_zero(a->place->step[a->place->n - 1].index))
        {
            place whole = *a->place;
            whole.n--;
            place_text(b, pr, f, &whole);
        } else {
            hpc_buf_text(b, "&");
            place_text(b, pr, f, a->place);
        }
        break;
    case ATOM_SIZE:
        place_text(b, pr, f, a->place);
        hpc_buf_text(b, ".size()");
        break;
    case ATOM_CHOICE:
        hpc_buf_text(b, "(");
        poly_text(b, pr, f, a->a);
        hpc_buf_text(b, " or ");
        poly_text(b, pr, f, a->b);
        hpc_buf_text(b, ")");
        break;
    case ATOM_FUNCTION:
        hpc_buf_text(b, "(");
        poly_text(b, pr, f, a->a);
        if (a->op < 32)
            hpc_buf_printf(b, " %s ", names[a->op] ? names[a->op] : "?");
        else
            hpc_buf_printf(b, " %c ", a->op);
        poly_text(b, pr, f, a->b);
        hpc_buf_text(b, ")");
        break;
    case ATOM_OPAQUE: hpc_buf_text(b, a->node >= 0 ? node_text(f, a->node) : "?"); break;
    default: atom_text(b, pr, f, a->of); break;
    }
}

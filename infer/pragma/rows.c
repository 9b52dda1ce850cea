/*
 * rows.c: assumptions about rows, which are arrays that the loop reaches through pointers in
 * memory: a[i][j] with an array of pointers a. No expression tests them.
 */
#include "infer/pragma/memory.h"

enum { LEVELS_MOST = 6 };

static int32_t last_field(const place *p)
{
    for (int32_t k = p->n - 1; k >= 0; k--)
        if (p->step[k].field >= 0) return p->step[k].field;
    return -1;
}

/* The place of the pointer that leads to an access; NULL: no pointer in memory does. */
static const place *row_of(const walk *w, const place *p)
{
    const atom *x = p->base < 0 ? NULL : &w->prover->atoms[p->base];
    return x && x->kind == ATOM_LOAD ? x->place : NULL;
}

static bool varies(const walk *w, const place *p)
{
    return p->base >= 0 && w->prover->atoms[p->base].varies;
}

void owner_text(hpc_buf *b, const walk *w, const place *p)
{
    place head = *p;
    int32_t k = 0;
    while (k < p->n && p->step[k].field != STEP_INDEX) k++;
    head.n = k;
    if (k < p->n && k == 0 && p->n > 1 && p->step[1].field >= 0) head.n = 2;
    place_text(b, w->prover, w->loop->p, &head);
}

/* "s->" of s->vals[i]: a pointer to one object. */
static bool has_arrow(const place *p)
{
    int64_t c;
    return p->n > 1 && p->step[0].field == STEP_INDEX && p->step[1].field >= 0 &&
           poly_is_number(p->step[0].index, &c) && c == 0;
}

void array_text(hpc_buf *b, const walk *w, const place *p)
{
    const place *row = varies(w, p) ? row_of(w, p) : NULL;
    place head = *p;
    const bool arrow = has_arrow(p);
    if (row)
        array_text(b, w, row);
    else if (arrow || p->n == 0 || p->step[0].field != STEP_INDEX)
        owner_text(b, w, p);
    else
        head.n = 0, place_text(b, w->prover, w->loop->p, &head);
    bool indexed = row != NULL;
    for (int32_t k = row || !arrow ? 0 : 2; k < p->n; k++) {
        const bool after = k > 0 && p->step[k - 1].field >= 0;
        if (indexed && p->step[k].field >= 0)
            hpc_buf_printf(b, "%s%s",
                           row && arrow && k == 1 ? "[]->"
                           : after                ? "."
                                                  : "[].",
                           symbol_name(w->t, p->step[k].field));
        indexed |= p->step[k].field == STEP_INDEX;
    }
}

static void assume_rows(walk *w, const place *array, bool limited)
{
    hpc_buf text = {0}, one = {0};
    array_text(&one, w, array);
    if (one.data) hpc_buf_printf(&text, "the rows of %s do not overlap", one.data);
    if (text.data && !text.failed)
        answer_assume_form(w->answer, &(premise){.text = text.data,
                                                 .form = ASSUME_ROWS,
                                                 .one = one.data,
                                                 .limited = limited});
    hpc_buf_release(&text);
    hpc_buf_release(&one);
}

/* ---- rows of one array ---- */

static bool equal_fields(const place *p, const place *q, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        if (p->step[k].field != q->step[k].field) return false;
    return true;
}

/* All steps from the variable to an access, through the pointers in memory between: u[k][j][i].
 * *pointers: the number of steps to the last pointer. */
static bool flatten(place *out, int32_t *pointers, const walk *w, const place *p)
{
    const place *level[LEVELS_MOST] = {p};
    int32_t n = 1;
    while (varies(w, level[n - 1])) {
        const place *up = row_of(w, level[n - 1]);
        if (!up || n == LEVELS_MOST) return false;
        level[n++] = up;
    }
    *out = (place){.base = level[n - 1]->base, .type = p->type};
    if (out->base < 0) return false;
    *pointers = 0;
    while (n-- > 0) {
        if (n == 0) *pointers = out->n;
        for (int32_t k = 0; k < level[n]->n; k++) {
            if (out->n == PLACE_STEPS) return false;
            out->step[out->n++] = level[n]->step[k];
        }
    }
    return true;
}

/* c[i]->parent->sum: the pointer of the last level is a field, so objects probably share it. */
static bool row_has_field(const walk *w, const place *p)
{
    const place *row = row_of(w, p);
    return row && last_field(row) >= 0;
}

/* Rows of several levels: distinct if an index of any level differs. */
static bool levels_apart(walk *w, const access *a, const access *b)
{
    access x = *a, y = *b;
    int32_t n, m;
    int64_t by;
    if (!flatten(&x.place, &n, w, &a->place) || !flatten(&y.place, &m, w, &b->place)) return false;
    if (n == 0 || n != m || x.place.base != y.place.base) return false;
    if (!equal_fields(&x.place, &y.place, n)) return false;
    if ((a->update || b->update) && row_has_field(w, &a->place)) return false;
    if (places_meet(&by, w->loop, w->prover, w->answer, &x, &y) != MEETING_NEVER) return false;
    assume_rows(w, row_of(w, &a->place), true);
    return true;
}

bool rows_apart(walk *w, const access *a, const access *b)
{
    const place *p = row_of(w, &a->place), *q = row_of(w, &b->place);
    int64_t by;
    if (!p || !q || p->base < 0) return false;
    if (p->base != q->base || p->n != q->n || !equal_fields(p, q, p->n) || varies(w, p))
        return levels_apart(w, a, b);
    access x = *a, y = *b;
    x.place = *p;
    y.place = *q;
    bool other_rows = places_meet(&by, w->loop, w->prover, w->answer, &x, &y) == MEETING_NEVER;
    if (!other_rows) { /* then the column indices must differ, whatever the row is */
        bool same = a->place.n == b->place.n &&
                    places_meet(&by, w->loop, w->prover, w->answer, a, b) == MEETING_NEVER;
        if (!same) return false;
        if (a->place.base == b->place.base && !varies(w, &a->place)) return true;
    }
    assume_rows(w, p, false);
    return true;
}

/* ---- rows and another array ---- */

/* The variable from which pointers in memory lead to a place, and the last field on the way. */
typedef struct way {
    int32_t base, field;
} way;
static bool find_way(way *out, const walk *w, const place *p)
{
    *out = (way){.base = -1, .field = -1};
    for (int32_t n = 0; n < LEVELS_MOST; n++) {
        if (out->field < 0) out->field = last_field(p);
        out->base = p->base;
        if (!varies(w, p)) return p->base >= 0;
        p = row_of(w, p);
        if (!p) return false;
    }
    return false;
}

static void side_text(hpc_buf *b, const walk *w, const place *p)
{
    const place *row = varies(w, p) ? row_of(w, p) : NULL;
    if (row) hpc_buf_text(b, "the rows of ");
    if (row)
        array_text(b, w, row);
    else
        owner_text(b, w, p);
}

bool assume_rows_apart(walk *w, const access *a, const access *b)
{
    way x, y;
    if (!varies(w, &a->place) && !varies(w, &b->place)) return false;
    if (!find_way(&x, w, &a->place) || !find_way(&y, w, &b->place)) return false;
    if (x.base == y.base && x.field == y.field) return false; /* neighbours of one kind */
    if (same_origin(w->loop, w->prover, &a->place, &b->place) != KIN_NONE) return false;
    hpc_buf one = {0}, two = {0}, text = {0};
    side_text(&one, w, &a->place);
    side_text(&two, w, &b->place);
    bool ok = one.data && two.data && !one.failed && !two.failed;
    if (ok) hpc_buf_printf(&text, "%s and %s do not overlap", one.data, two.data);
    if (ok && !text.failed)
        answer_assume_form(w->answer, &(premise){.text = text.data,
                                                 .form = ASSUME_APART,
                                                 .one = one.data,
                                                 .two = two.data,
                                                 .limited = true});
    hpc_buf_release(&one);
    hpc_buf_release(&two);
    hpc_buf_release(&text);
    return ok;
}

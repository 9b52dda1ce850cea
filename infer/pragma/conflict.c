/*
 * conflict.c: see conflict.h.
 */
#include "infer/pragma/conflict.h"

static void note_base(conflicts *c, int32_t base, int32_t other)
{
    for (int k = 0; k < c->bases_n; k++)
        if (c->base[k] == base && base == other) return;
    if (base < 0 || base != other || c->bases_n == CONFLICT_BASES)
        c->elsewhere = true;
    else
        c->base[c->bases_n++] = base;
}

void conflict_note(walk *w, const access *write, const access *other, bool sure, bool fresh)
{
    conflicts *c = &w->answer->conflicts;
    if (w->answer->muted) return;
    c->memory++;
    c->n += fresh;
    note_base(c, write->place.base, other->place.base);
    if (!sure && write->update && write->update == other->update)
        c->update = write->node;
    else
        c->plain = true;
}

/*
 * compare.c: see compare.h.
 */
#include "model/compare.h"

#include <string.h>

enum { LEAD_SHARE = 8 }; /* a lead has at most this fraction of a side's tokens */

static int64_t find(const int32_t *token, int64_t from, int64_t n, int32_t mark)
{
    while (from < n && token[from] != mark) from++;
    return from;
}

bool hpc_compare_find(hpc_compare *out, const int32_t *token, int64_t n, const hpc_compare_marks *m)
{
    int64_t base = find(token, 0, n, m->base), head = find(token, base, n, m->head);
    int64_t label = find(token, head, n, m->label);
    if (base == 0 || label == n) return false;
    *out = (hpc_compare){{0, base}, {{base + 1, head - base - 1}, {head + 1, label - head - 1}}};
    return true;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t same_at_start(const hpc_compare *c, const int32_t *token)
{
    int64_t n = 0, most = least(c->side[0].n, c->side[1].n);
    while (n < most && token[c->side[0].at + n] == token[c->side[1].at + n]) n++;
    return n;
}

static int64_t same_at_end(const hpc_compare *c, const int32_t *token, int64_t from)
{
    int64_t a = c->side[0].at + c->side[0].n, b = c->side[1].at + c->side[1].n;
    int64_t n = 0, most = least(c->side[0].n, c->side[1].n) - from;
    while (n < most && token[a - 1 - n] == token[b - 1 - n]) n++;
    return n;
}

/* The difference alone exceeds `room`: each side gets half, plus what the other does not use. */
static void cut_difference(hpc_compare *c, int64_t before, int64_t after, int64_t room)
{
    int64_t n[2] = {c->side[0].n - before - after, c->side[1].n - before - after};
    for (int k = 0; k < 2; k++) {
        int64_t left = room - n[1 - k];
        c->side[k].at += before;
        c->side[k].n = least(n[k], left > room / 2 ? left : room / 2);
    }
}

void hpc_compare_fit(hpc_compare *c, const int32_t *token, int64_t room)
{
    int64_t texts = c->side[0].n + c->side[1].n, lead = room / 2 / LEAD_SHARE;
    hpc_assert(room >= 2);
    if (2 * c->lead.n + texts <= room) return;
    lead = least(c->lead.n, lead > 0 ? lead : 1);
    c->lead.at += c->lead.n - lead;
    c->lead.n = lead;
    room -= 2 * lead;
    if (texts <= room) return;
    int64_t before = same_at_start(c, token), after = same_at_end(c, token, before);
    int64_t left = room - (texts - 2 * (before + after)), around = left / 2; /* of each side */
    if (left < 0) {
        cut_difference(c, before, after, room);
        return;
    }
    int64_t ahead = least(before, around - least(after, around / 2));
    int64_t behind = least(after, around - ahead);
    for (int k = 0; k < 2; k++) {
        c->side[k].at += before - ahead;
        c->side[k].n += ahead + behind - before - after;
    }
}

int64_t hpc_compare_write(int32_t *out, const hpc_compare *c, const int32_t *token, int k)
{
    memcpy(out, token + c->lead.at, (size_t)c->lead.n * sizeof *out);
    if (c->side[k].n > 0)
        memcpy(out + c->lead.n, token + c->side[k].at, (size_t)c->side[k].n * sizeof *out);
    return c->lead.n + c->side[k].n;
}

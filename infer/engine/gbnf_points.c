/*
 * gbnf_points.c: ranges of code points as nodes that take the bytes of their UTF-8 form.
 */
#include "infer/engine/gbnf_priv.h"

enum { NODES_MOST = 1 << 17 };

int32_t gbnf_add(gbnf_nodes *g, gbnf_node x)
{
    if (g->failed < 0) return 0;
    if (g->n == NODES_MOST)
        g->failed = hpc_fail(HPC_E_ARG, "the grammar is too large: it needs more than %d nodes",
                             NODES_MOST);
    else
        g->failed = hpc_grow(&g->node, &g->cap, g->n + 1, sizeof *g->node);
    if (g->failed < 0) return 0;
    g->node[g->n] = x;
    return (int32_t)g->n++;
}

static int bytes_of(uint8_t out[4], uint32_t c)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    const int n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int k = n - 1; k > 0; k--, c >>= 6) out[k] = (uint8_t)(0x80 | (c & 0x3f));
    out[0] = (uint8_t)(lead[n] | c);
    return n;
}

/* Each byte between those of lo and hi. */
static int32_t add_sequence(gbnf_nodes *g, uint32_t lo, uint32_t hi, int32_t next)
{
    uint8_t a[4], b[4];
    bytes_of(b, hi);
    for (int k = bytes_of(a, lo) - 1; k >= 0; k--)
        next = gbnf_add(g, (gbnf_node){.kind = GBNF_BYTES, .next = next, .lo = a[k], .hi = b[k]});
    return next;
}

/* The end of the longest part from lo on in which each byte varies on its own. */
static uint32_t part_end(uint32_t lo, uint32_t hi)
{
    static const uint32_t lengths[] = {0x7f, 0x7ff, 0xffff};
    for (int k = 0; k < 3; k++)
        if (lo <= lengths[k] && hi > lengths[k]) hi = lengths[k];
    if (hi < 0x80) return hi;
    for (int bits = 6; bits <= 18; bits += 6) {
        const uint32_t block = (1u << bits) - 1;
        if (lo >> bits == hi >> bits) continue;
        if ((lo & block) != 0) return lo | block;
        if ((hi & block) != block) hi = (hi >> bits << bits) - 1;
    }
    return hi;
}

int32_t gbnf_add_points(gbnf_nodes *g, uint32_t lo, uint32_t hi, int32_t next, int32_t otherwise)
{
    const uint32_t before = 0xd7ff, after = 0xe000;
    int32_t to = otherwise;
    while (lo <= hi && g->failed >= 0) {
        if (lo > before && lo < after) lo = after;
        if (lo > hi) break;
        const uint32_t end = part_end(lo, lo <= before && hi > before ? before : hi);
        const int32_t way = add_sequence(g, lo, end, next);
        to =
            to == -1 ? way : gbnf_add(g, (gbnf_node){.kind = GBNF_SPLIT, .next = way, .other = to});
        lo = end + 1;
    }
    return to;
}

/*
 * place.c: memory placement: lifetimes of values, then offsets in a few arenas. A lifetime is a
 * range of instructions over all segments, in the order in which a slot runs them. Each block goes
 * into the tightest gap among the blocks alive at the same time. Several orders of placement are
 * tried, the best is improved further, and the smallest arena wins. Instructions are not reordered.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/program/priv.h"

/* What needs memory: a value, values that share by running in place, or a workspace. */
typedef struct block {
    int64_t bytes, offset;
    int64_t first, last; /* instructions, inclusive */
    int32_t next;        /* the block that took this one over, or -1 */
    uint8_t space;
} block;

typedef struct placer {
    const hpc_program *p;
    int slots;
    int64_t *start; /* of each segment, in instructions */
    int64_t total;  /* instructions */
    block *block;   /* values first, then workspaces */
    int64_t block_n;
    int32_t *segment; /* by value: the only segment that uses it; -1 none yet, -2 several */
    bool *suspends;   /* by segment */
    int32_t *order, *placed;
} placer;

static int64_t round_up(int64_t n)
{
    return (n + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
}

static void use(placer *w, hpc_value v, int32_t segment, int64_t at)
{
    hpc_value root = hpc_value_root(w->p, v);
    if (root < 0) return;
    block *b = &w->block[root];
    if (b->last < 0) b->first = at;
    if (at > b->last) b->last = at;
    w->segment[root] = w->segment[root] == -1 || w->segment[root] == segment ? segment : -2;
    if (w->p->value[root].type.ragged >= 0) use(w, w->p->value[root].type.count, segment, at);
}

/* A received value may arrive from the start of its segment on. A sent one may be in flight until
 * its slot sends again: if its memory were received into, two peers would each wait for the other.
 */
static void use_message(placer *w, const hpc_insn *i, int32_t s)
{
    hpc_value v = i->operand[0];
    if (i->op->comm == HPC_RECV) use(w, v, s, w->start[s]);
    if (i->op->comm != HPC_SEND || w->p->value[hpc_value_root(w->p, v)].kind != HPC_VALUE_TEMP)
        return;
    block *b = &w->block[hpc_value_root(w->p, v)];
    b->first = 0;
    b->last = w->total;
}

/* Operands, their counts and the guard. A view keeps its base alive. */
static void find_lifetimes(placer *w)
{
    const hpc_program *p = w->p;
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            const hpc_insn *i = &p->segment[s].insn[k];
            if (i->op->comm >= 0) w->suspends[s] = true;
            if (i->op->comm == HPC_RECV) use_message(w, i, (int32_t)s);
            for (int a = 0; a < i->op->sig.operand_n; a++) {
                if (i->operand[a] < 0) continue;
                use(w, i->operand[a], (int32_t)s, w->start[s] + k);
                hpc_value count = p->value[i->operand[a]].type.count;
                if (p->value[i->operand[a]].type.ragged >= 0)
                    use(w, count, (int32_t)s, w->start[s] + k);
            }
            use(w, i->tags.guard, (int32_t)s, w->start[s] + k);
            if (i->op->comm == HPC_SEND) use_message(w, i, (int32_t)s);
        }
}

/* The first read of a received value, or the end of the segment. */
static int64_t landing(const hpc_program *p, const hpc_segment *s, int64_t k)
{
    hpc_value y = hpc_value_root(p, s->insn[k].operand[0]);
    for (int64_t n = k + 1; n < s->insn_n; n++) {
        const hpc_insn *i = &s->insn[n];
        if (i->op->view || i->tags.idle) continue;
        if (i->tags.guard >= 0 && hpc_value_root(p, i->tags.guard) == y) return n;
        for (int a = 0; a < i->op->sig.operand_n; a++)
            if (i->operand[a] >= 0 && hpc_value_root(p, i->operand[a]) == y) return n;
    }
    return s->insn_n - 1;
}

/* A collective is in flight until its result is read: its operand may not be overwritten without a
 * wait. */
static void hold_sent(placer *w)
{
    const hpc_program *p = w->p;
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++) {
            const hpc_insn *i = &p->segment[s].insn[k];
            if (i->op->comm < 0 || i->op->comm == HPC_SEND || i->op->comm == HPC_RECV) continue;
            int64_t end = landing(p, &p->segment[s], k);
            for (int a = 0; a < i->op->sig.operand_n; a++)
                use(w, i->operand[a], (int32_t)s, w->start[s] + end);
        }
}

static hpc_space space_of(const placer *w, hpc_value v)
{
    const hpc_value_info *info = &w->p->value[v];
    if (info->kind == HPC_VALUE_STATE) return HPC_SPACE_STATE;
    if (w->slots == 1 || info->kind == HPC_VALUE_INPUT || info->kept) return HPC_SPACE_SLOT;
    int32_t s = w->segment[v];
    return s >= 0 && !w->suspends[s] ? HPC_SPACE_LOCAL : HPC_SPACE_SLOT;
}

static void make_value_blocks(placer *w, const void *const *elsewhere)
{
    for (int64_t v = 0; v < w->p->value_n; v++) {
        const hpc_value_info *info = &w->p->value[v];
        block *b = &w->block[v];
        b->space = (uint8_t)space_of(w, (hpc_value)v);
        bool needs = info->base < 0 && !info->absent && !info->outside &&
                     !(elsewhere && elsewhere[v]);
        b->bytes = needs ? round_up((int64_t)hpc_type_bytes(&info->type)) : 0;
        if (info->kind != HPC_VALUE_TEMP) {
            b->first = 0;
            b->last = w->total;
        }
        if (info->kept) b->last = w->total;
    }
}

static int32_t owner(const placer *w, int32_t b)
{
    while (w->block[b].next >= 0) b = w->block[b].next;
    return b;
}

static bool shares_with_others(const placer *w, const hpc_insn *i, int k)
{
    int32_t mine = owner(w, hpc_value_root(w->p, i->operand[k]));
    for (int a = 1; a < i->op->sig.operand_n; a++)
        if (a != k && i->operand[a] >= 0 && owner(w, hpc_value_root(w->p, i->operand[a])) == mine)
            return true;
    return false;
}

/* The first output takes over the memory of a marked input that dies here. */
static void run_in_place(placer *w, const hpc_insn *i, int64_t at)
{
    hpc_value y = i->operand[0];
    if (y < 0 || w->p->value[y].kind != HPC_VALUE_TEMP) return;
    for (int k = 1; k < i->op->sig.operand_n; k++) {
        hpc_value x = i->operand[k];
        if (x < 0 || !(i->op->sig.operand[k].flags & HPC_INPLACE)) continue;
        x = hpc_value_root(w->p, x);
        int32_t from = owner(w, x);
        block *a = &w->block[from], *b = &w->block[y];
        if (w->p->value[x].kind != HPC_VALUE_TEMP || w->p->value[i->operand[k]].base_element ||
            a->last != at || b->first != at || a->space != b->space || a->bytes != b->bytes ||
            w->p->value[x].type.dtype != w->p->value[y].type.dtype || shares_with_others(w, i, k))
            continue;
        b->next = from;
        a->last = b->last;
        return;
    }
}

/* The last block is what workers have for themselves. */
static void make_workspace_blocks(placer *w, const size_t *const *bytes, size_t own_bytes)
{
    int64_t n = w->p->value_n;
    for (int64_t s = 0; s < w->p->segment_n; s++)
        for (int64_t k = 0; k < w->p->segment[s].insn_n; k++, n++) {
            block *b = &w->block[n];
            b->bytes = bytes ? round_up((int64_t)bytes[s][k]) : 0;
            b->first = b->last = w->start[s] + k;
            b->space = w->slots == 1 ? HPC_SPACE_SLOT : HPC_SPACE_LOCAL;
        }
    w->block[n] = (block){.bytes = round_up((int64_t)own_bytes),
                          .last = w->total,
                          .next = -1,
                          .space = w->slots == 1 ? HPC_SPACE_SLOT : HPC_SPACE_LOCAL};
    w->block_n = n + 1;
}

/* ---- offsets ----------------------------------------------------------------- */

static bool needs_memory(const block *b, hpc_space space)
{
    return b->space == space && b->next < 0 && b->bytes > 0 && b->last >= b->first;
}

static bool meet(const block *a, const block *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Bytes alive at each instruction, at their largest. */
static int64_t live_peak(const placer *w, hpc_space space)
{
    int64_t peak = 0, *change = hpc_alloc((size_t)w->total + 2, sizeof *change);
    if (!change) return -1;
    for (int64_t k = 0; k < w->block_n; k++) {
        const block *b = &w->block[k];
        if (!needs_memory(b, space)) continue;
        change[b->first] += b->bytes;
        change[b->last + 1] -= b->bytes;
    }
    for (int64_t k = 0, live = 0; k <= w->total; k++) {
        live += change[k];
        if (live > peak) peak = live;
    }
    hpc_free(change);
    return peak;
}

/* placed is sorted by offset; the tightest gap that holds b, else the end. */
static int64_t find_offset(const placer *w, int64_t placed_n, const block *b)
{
    int64_t end = 0, best = -1, best_gap = INT64_MAX;
    for (int64_t k = 0; k < placed_n; k++) {
        const block *o = &w->block[w->placed[k]];
        if (!meet(o, b)) continue;
        int64_t gap = o->offset - end;
        if (gap >= b->bytes && gap < best_gap) {
            best_gap = gap;
            best = end;
        }
        if (o->offset + o->bytes > end) end = o->offset + o->bytes;
    }
    return best >= 0 ? best : end;
}

static int64_t place_in_order(placer *w, int64_t n)
{
    int64_t bytes = 0;
    for (int64_t k = 0; k < n; k++) {
        block *b = &w->block[w->order[k]];
        b->offset = find_offset(w, k, b);
        int64_t at = k;
        while (at > 0 && w->block[w->placed[at - 1]].offset > b->offset) {
            w->placed[at] = w->placed[at - 1];
            at--;
        }
        w->placed[at] = w->order[k];
        if (b->offset + b->bytes > bytes) bytes = b->offset + b->bytes;
    }
    return bytes;
}

typedef struct key {
    double weight;
    int32_t block;
} key;

static int compare_keys(const void *a, const void *b)
{
    const key *x = a, *y = b;
    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

enum { BY_SIZE, BY_AREA, BY_SPAN, BY_START, ORDERS };

static double weight(const block *b, int order)
{
    double span = (double)(b->last - b->first + 1);
    switch (order) {
    case BY_SIZE: return (double)b->bytes;
    case BY_AREA: return (double)b->bytes * span;
    case BY_SPAN: return span;
    default: return -(double)b->first;
    }
}

static int64_t sort_blocks(placer *w, key *keys, hpc_space space, int order)
{
    int64_t n = 0;
    for (int64_t k = 0; k < w->block_n; k++)
        if (needs_memory(&w->block[k], space))
            keys[n++] = (key){weight(&w->block[k], order), (int32_t)k};
    qsort(keys, (size_t)n, sizeof *keys, compare_keys);
    for (int64_t k = 0; k < n; k++) w->order[k] = keys[k].block;
    return n;
}

typedef struct attempt { /* the best order so far */
    int32_t *order;
    int64_t bytes;
} attempt;

static int64_t keep_best(const placer *w, attempt *best, int64_t n, int64_t bytes)
{
    if (bytes < best->bytes) {
        best->bytes = bytes;
        memcpy(best->order, w->order, (size_t)n * sizeof *best->order);
    }
    return bytes;
}

/* What ended up on top comes first in the next order. */
static void raise_top(placer *w, int64_t bytes)
{
    int64_t top = 0;
    while (w->block[w->order[top]].offset + w->block[w->order[top]].bytes < bytes) top++;
    int32_t moved = w->order[top];
    memmove(w->order + 1, w->order, (size_t)top * sizeof *w->order);
    w->order[0] = moved;
}

/* A few blocks of the best order trade places; the same ones in every build. */
static void shake(placer *w, const attempt *best, int64_t n, uint64_t at)
{
    enum { TRADES = 3 };
    memcpy(w->order, best->order, (size_t)n * sizeof *w->order);
    for (uint32_t t = 0; t < TRADES; t++) {
        int64_t a = hpc_random_bits(at, t, 0, 0) % n, b = hpc_random_bits(at, t, 0, 1) % n;
        int32_t first = w->order[a];
        w->order[a] = w->order[b];
        w->order[b] = first;
    }
}

/* Searching is bounded by work, not by time, so that every run places alike. */
enum { WORK = 100 * 1000 * 1000 };

static void improve(placer *w, attempt *best, int64_t n, int64_t live)
{
    enum { PATIENCE = 12 };
    int64_t tries = n ? WORK / (n * n) : 0, stuck = 0;
    memcpy(w->order, best->order, (size_t)n * sizeof *w->order);
    int64_t bytes = place_in_order(w, n);
    for (int64_t t = 0; t < tries && best->bytes > live + live / 100; t++) {
        int64_t before = best->bytes;
        if (stuck < PATIENCE)
            raise_top(w, bytes);
        else
            shake(w, best, n, (uint64_t)t);
        stuck = stuck < PATIENCE ? stuck + 1 : 0;
        bytes = keep_best(w, best, n, place_in_order(w, n));
        if (best->bytes < before) stuck = 0;
    }
}

static int place_space(placer *w, hpc_placement *out, hpc_space space)
{
    int rc = HPC_E_NOMEM;
    int64_t live = live_peak(w, space), n = 0;
    key *keys = hpc_alloc((size_t)w->block_n + 1, sizeof *keys);
    attempt best = {.order = hpc_alloc((size_t)w->block_n + 1, sizeof *best.order),
                    .bytes = INT64_MAX};
    if (live < 0 || !keys || !best.order) goto out;
    for (int order = 0; order < ORDERS && best.bytes > live; order++) {
        if (order && n * n > WORK) break; /* a giant is placed once */
        n = sort_blocks(w, keys, space, order);
        keep_best(w, &best, n, place_in_order(w, n));
    }
    if (best.bytes > live) improve(w, &best, n, live);
    memcpy(w->order, best.order, (size_t)n * sizeof *w->order);
    out->bytes[space] = (size_t)place_in_order(w, n);
    out->live[space] = (size_t)live;
    rc = HPC_OK;
out:
    hpc_free(keys);
    hpc_free(best.order);
    return rc;
}

/* ---- results ------------------------------------------------------------------ */

static int64_t element_bytes(const hpc_type *t, int64_t n)
{
    const hpc_dtype_info *d = hpc_dtype_get((hpc_dtype)t->dtype);
    return n / d->block * (int64_t)d->block_bytes;
}

static int write_out(const placer *w, hpc_placement *out, hpc_arena *a)
{
    const hpc_program *p = w->p;
    out->space = hpc_arena_alloc(a, (size_t)p->value_n + 1, sizeof *out->space);
    out->offset = hpc_arena_alloc(a, (size_t)p->value_n + 1, sizeof *out->offset);
    out->workspace = hpc_arena_alloc(a, (size_t)p->segment_n + 1, sizeof *out->workspace);
    out->workspace_space =
        hpc_arena_alloc(a, (size_t)p->segment_n + 1, sizeof *out->workspace_space);
    if (!out->space || !out->offset || !out->workspace || !out->workspace_space) return HPC_E_NOMEM;
    for (int64_t v = 0; v < p->value_n; v++) {
        hpc_value root = hpc_value_root(p, (hpc_value)v);
        const block *b = &w->block[owner(w, root)];
        out->space[v] = b->space;
        out->offset[v] = b->offset + element_bytes(&p->value[v].type, p->value[v].base_element);
    }
    int64_t n = p->value_n;
    for (int64_t s = 0; s < p->segment_n; s++) {
        out->workspace_space[s] = w->slots == 1 ? HPC_SPACE_SLOT : HPC_SPACE_LOCAL;
        out->workspace[s] =
            hpc_arena_alloc(a, (size_t)p->segment[s].insn_n + 1, sizeof **out->workspace);
        if (!out->workspace[s]) return HPC_E_NOMEM;
        for (int64_t k = 0; k < p->segment[s].insn_n; k++, n++)
            out->workspace[s][k] = w->block[n].offset;
    }
    out->own = w->block[n].offset;
    return HPC_OK;
}

static int reserve(placer *w)
{
    const hpc_program *p = w->p;
    w->start = hpc_alloc((size_t)p->segment_n + 1, sizeof *w->start);
    w->suspends = hpc_alloc((size_t)p->segment_n + 1, sizeof *w->suspends);
    if (!w->start || !w->suspends) return HPC_E_NOMEM;
    for (int64_t s = 0; s < p->segment_n; s++) {
        w->start[s] = w->total;
        w->total += p->segment[s].insn_n;
    }
    size_t n = (size_t)(p->value_n + w->total + 1);
    w->block = hpc_alloc(n, sizeof *w->block);
    w->segment = hpc_alloc(n, sizeof *w->segment);
    w->order = hpc_alloc(n, sizeof *w->order);
    w->placed = hpc_alloc(n, sizeof *w->placed);
    if (!w->block || !w->segment || !w->order || !w->placed) return HPC_E_NOMEM;
    for (size_t k = 0; k < n; k++) {
        w->block[k] = (block){.last = -1, .next = -1};
        w->segment[k] = -1;
    }
    return HPC_OK;
}

int hpc_place(hpc_placement *out, hpc_arena *a, const hpc_program *p, const void *const *elsewhere,
              const size_t *const *workspace_bytes, size_t own_bytes, int slots)
{
    int rc = HPC_OK;
    placer w = {.p = p, .slots = slots < 1 ? 1 : slots};
    *out = (hpc_placement){0};
    TRY(reserve(&w));
    find_lifetimes(&w);
    hold_sent(&w);
    make_value_blocks(&w, elsewhere);
    make_workspace_blocks(&w, workspace_bytes, own_bytes);
    for (int64_t s = 0; s < p->segment_n; s++)
        for (int64_t k = 0; k < p->segment[s].insn_n; k++)
            run_in_place(&w, &p->segment[s].insn[k], w.start[s] + k);
    for (int s = 0; s < HPC_SPACE_N; s++) TRY(place_space(&w, out, (hpc_space)s));
    TRY(write_out(&w, out, a));
out:
    hpc_free(w.start);
    hpc_free(w.suspends);
    hpc_free(w.block);
    hpc_free(w.segment);
    hpc_free(w.order);
    hpc_free(w.placed);
    return rc;
}

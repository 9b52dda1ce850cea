/*
 * order.c: proves that ranks do not deadlock: all start the same collectives in the same order.
 * Whole programs are compared: if ranks agree on the order of all collectives, they agree on that
 * of each link's.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/program/priv.h"
#include "runtime/program/prove/priv.h"

static const hpc_insn *next_comm(const hpc_program *p, int s, int64_t *at)
{
    const hpc_segment *g = &p->segment[s];
    while (*at < g->insn_n && g->insn[*at].op->comm < 0) ++*at;
    return *at < g->insn_n ? &g->insn[*at] : NULL;
}

static void axes_text(char out[64], int64_t axes)
{
    out[0] = '\0';
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (!(axes >> a & 1)) continue;
        if (out[0]) strcat(out, "+");
        strcat(out, hpc_axis_name((hpc_axis)a));
    }
}

/* "backward[0] #17 all_reduce (block 3) over row of %33, f32[64,128]" */
static void describe(char out[512], const hpc_program *p, int s, int64_t at)
{
    const hpc_insn *i = &p->segment[s].insn[at];
    const hpc_comm_attr *c = i->attr;
    char where[96], axes[64], type[128];
    int k = i->op->sig.operand_n - 1; /* the operand, or for RECV the result */
    axes_text(axes, c->axes);
    hpc_value v = i->operand[k];
    const char *name = p->value[v].name;
    snprintf(out, 512, "%s over %s of %%%d%s%s, %s", hpc_insn_where(where, p, s, at), axes, v,
             name ? " " : "", name ? name : "", hpc_type_text(type, &p->value[v].type));
}

static int64_t elements(const hpc_program *p, hpc_value v)
{
    int64_t n = 1;
    for (int d = 0; v >= 0 && d < p->value[v].type.rank; d++) n *= p->value[v].type.extent[d];
    return n;
}

/* What differs, or NULL. */
static const char *difference(const hpc_program *p, const hpc_insn *a, const hpc_program *q,
                              const hpc_insn *b)
{
    const hpc_comm_attr *x = a->attr, *y = b->attr;
    if (a->op != b->op) return "another operation";
    if (x->axes != y->axes) return "another link";
    if (x->reduce != y->reduce) return "another reduction";
    if (x->peer != y->peer || x->tag != y->tag) return "another peer";
    if (x->ranks != y->ranks) return "another number of ranks";
    for (int k = 0; k < a->op->sig.operand_n; k++) {
        if (p->value[a->operand[k]].type.dtype != q->value[b->operand[k]].type.dtype)
            return "another type";
        if (elements(p, a->operand[k]) != elements(q, b->operand[k])) return "another size";
    }
    if (a->tags.guard != b->tags.guard) return "another guard";
    return NULL;
}

static int compare_segment(hpc_proof *out, const hpc_prove *w, int r, int s)
{
    const hpc_program *p = w->program[0], *q = w->program[r];
    for (int64_t i = 0, j = 0;; i++, j++) {
        const hpc_insn *a = next_comm(p, s, &i), *b = next_comm(q, s, &j);
        char first[512], other[512];
        if (!a && !b) return HPC_OK;
        const char *what = a && b ? difference(p, a, q, b) : "nothing to go with it";
        if (a) describe(first, p, s, i);
        if (b) describe(other, q, s, j);
        if (!what && a->op->comm >= HPC_SEND)
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "%s: messages have no rule by which it could be "
                            "proven",
                            first);
        if (what)
            return hpc_fail(HPC_E_STATE, "rank %d starts %s, where rank 0 has %s: %s; neither ends",
                            w->rank[r], b ? other : "no more", a ? first : "no more", what);
        out->collectives += r == 1;
    }
}

/* A collective over axes of the grid, of as many ranks as it says. */
static int check_link(const hpc_prove *w, int s, int64_t at)
{
    const hpc_insn *i = &w->program[0]->segment[s].insn[at];
    const hpc_comm_attr *c = i->attr;
    char text[512];
    int64_t n = 1;
    for (int a = 0; a < HPC_AXIS_N; a++)
        if (c->axes >> a & 1) n *= prove_extent_of(w->shape, a);
    bool counts = i->op->comm == HPC_ALL_GATHER || i->op->comm == HPC_REDUCE_SCATTER;
    if (c->axes != 0 && (!counts || n == c->ranks)) return HPC_OK;
    describe(text, w->program[0], s, at);
    return hpc_fail(HPC_E_STATE, "%s is for %lld ranks, and its axes have %lld", text,
                    (long long)c->ranks, (long long)n);
}

int hpc_prove_order(hpc_proof *out, const hpc_prove *w)
{
    int rc = HPC_OK;
    *out = (hpc_proof){0};
    for (int r = 1; r < w->n; r++)
        if (w->program[r]->segment_n != w->program[0]->segment_n)
            TRY(hpc_fail(HPC_E_STATE, "rank %d has %lld segments, rank 0 has %lld", w->rank[r],
                         (long long)w->program[r]->segment_n, (long long)w->program[0]->segment_n));
    for (int s = 0; s < w->program[0]->segment_n; s++) {
        for (int r = 1; r < w->n; r++) TRY(compare_segment(out, w, r, s));
        for (int64_t k = 0; next_comm(w->program[0], s, &k); k++) TRY(check_link(w, s, k));
    }
out:
    return rc;
}

int hpc_prove_ranks(int *rank, int most, const hpc_grid_shape *shape)
{
    int n = 0, all = hpc_grid_size(shape), last[HPC_AXIS_N];
    if (all <= most) {
        for (; n < all; n++) rank[n] = n;
        return n;
    }
    rank[n++] = 0;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        int extent = prove_extent_of(shape, a), c[HPC_AXIS_N] = {0};
        last[a] = extent - 1;
        for (int at = 1; at<extent; at += extent> 3 && at == 2 ? extent - 3 : 1) {
            c[a] = at;
            rank[n++] = hpc_grid_rank(shape, c);
        }
    }
    int corner = hpc_grid_rank(shape, last);
    if (rank[n - 1] != corner) rank[n++] = corner;
    return n;
}

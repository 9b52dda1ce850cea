/*
 * stage.c: proves that the stages of a pipeline together run the program that they were cut from:
 * every instruction on every rank that needs it, with the values that it reads, and every message
 * once. A send and its receive rename nothing: both name the same value.
 */
#include <string.h>

#include "runtime/program/priv.h"
#include "runtime/program/prove/prove.h"

typedef struct post { /* a message under way */
    int from, to;
    int64_t edge;
    hpc_value value;
    bool taken;
} post;

typedef struct staged {
    const hpc_prove_stages *w;
    bool *has; /* [rank][value]: a temporary that the rank has */
    int *ran;  /* by instruction of the segment: ranks that ran it */
    bool *by;  /* [rank][instruction] of the segment */
    post *post;
    int64_t post_n, post_cap;
} staged;

static bool *has_of(const staged *s, int rank, hpc_value v)
{
    return &s->has[(int64_t)rank * s->w->whole[0]->value_n + v];
}

static bool is_partial(const hpc_value_info *v)
{
    return v->type.layout[HPC_AXIS_PIPE] == HPC_PARTIAL;
}

/* ---- messages -------------------------------------------------------------------------------- */

static int send_value(staged *s, int rank, const hpc_insn *i)
{
    const hpc_comm_attr *a = i->attr;
    hpc_value v = i->operand[0];
    int rc = HPC_OK;
    if (!*has_of(s, rank, v))
        return hpc_fail(HPC_E_STATE, "stage %d sends %%%d, which it does not have", rank, v);
    for (int64_t k = 0; k < s->post_n; k++)
        if (s->post[k].from == rank && s->post[k].to == a->peer && s->post[k].edge == a->tag)
            return hpc_fail(HPC_E_STATE,
                            "stage %d sends %%%d to stage %lld as edge %lld, as it "
                            "has sent %%%d",
                            rank, v, (long long)a->peer, (long long)a->tag, s->post[k].value);
    TRY(hpc_grow(&s->post, &s->post_cap, s->post_n + 1, sizeof *s->post));
    s->post[s->post_n++] = (post){rank, (int)a->peer, a->tag, v, false};
out:
    return rc;
}

static int take_value(staged *s, int rank, const hpc_insn *i)
{
    const hpc_comm_attr *a = i->attr;
    hpc_value v = i->operand[0];
    post *p = NULL;
    for (int64_t k = 0; k < s->post_n; k++)
        if (s->post[k].from == a->peer && s->post[k].to == rank && s->post[k].edge == a->tag)
            p = &s->post[k];
    if (!p)
        return hpc_fail(HPC_E_STATE,
                        "stage %d receives %%%d from stage %lld as edge %lld, which "
                        "no stage has sent by then",
                        rank, v, (long long)a->peer, (long long)a->tag);
    if (p->taken)
        return hpc_fail(HPC_E_STATE, "stage %d receives edge %lld of stage %lld twice", rank,
                        (long long)a->tag, (long long)a->peer);
    const hpc_type *x = &s->w->program[p->from]->value[p->value].type;
    const hpc_type *y = &s->w->program[rank]->value[v].type;
    if (p->value != v || x->dtype != y->dtype || hpc_type_bytes(x) != hpc_type_bytes(y))
        return hpc_fail(HPC_E_STATE, "stage %d receives %%%d, and stage %d sends %%%d", rank, v,
                        p->from, p->value);
    p->taken = true;
    *has_of(s, rank, v) = true;
    return HPC_OK;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static bool same_insn(const hpc_insn *a, const hpc_insn *b)
{
    size_t bytes = a->op->sig.attr_bytes;
    if (a->op != b->op || a->tags.guard != b->tags.guard || a->tags.anew != b->tags.anew ||
        a->tags.idle != b->tags.idle)
        return false;
    for (int k = 0; k < a->op->sig.operand_n; k++)
        if (a->operand[k] != b->operand[k]) return false;
    return bytes == 0 || memcmp(a->attr, b->attr, bytes) == 0;
}

static int check_operands(const staged *s, int rank, const hpc_insn *i)
{
    const hpc_program *p = s->w->program[rank];
    for (int k = 0; k <= i->op->sig.operand_n; k++) {
        bool guard = k == i->op->sig.operand_n;
        hpc_value v = guard ? i->tags.guard : i->operand[k];
        if (v < 0) continue;
        const hpc_value_info *root = &p->value[hpc_value_root(p, v)];
        if (root->absent)
            return hpc_fail(HPC_E_STATE, "stage %d uses %s, which another stage holds", rank,
                            root->name);
        bool read = guard || hpc_insn_role(p, i, k) & HPC_IN;
        if (read && p->value[v].kind == HPC_VALUE_TEMP && !*has_of(s, rank, v))
            return hpc_fail(HPC_E_STATE,
                            "stage %d reads %%%d, which it neither computes nor "
                            "receives",
                            rank, v);
    }
    return HPC_OK;
}

/* Runs one instruction of a rank; *at: where the search for its counterpart continues. */
static int run_insn(staged *s, int rank, const hpc_segment *whole, const hpc_insn *i, int64_t *at)
{
    const hpc_program *p = s->w->program[rank];
    int rc;
    if (i->op->comm == HPC_SEND) return send_value(s, rank, i);
    if (i->op->comm == HPC_RECV) return take_value(s, rank, i);
    TRY(check_operands(s, rank, i));
    while (*at < whole->insn_n && !same_insn(&whole->insn[*at], i)) ++*at;
    if (*at == whole->insn_n)
        TRY(hpc_fail(HPC_E_STATE, "stage %d runs what no stage should, or out of order", rank));
    s->ran[*at]++;
    s->by[(int64_t)rank * whole->insn_n + (*at)++] = true;
    for (int k = 0; k < i->op->sig.operand_n; k++)
        if (hpc_insn_role(p, i, k) & HPC_OUT && p->value[i->operand[k]].kind == HPC_VALUE_TEMP)
            *has_of(s, rank, i->operand[k]) = true;
out:
    return rc;
}

/* Messages that a segment begins with, before it receives or computes anything. */
static int64_t leading_sends(const hpc_segment *g)
{
    int64_t n = 0;
    while (n < g->insn_n && g->insn[n].op->comm == HPC_SEND) n++;
    return n;
}

/* Instructions `from` to `end` - 1 of a rank's segment, which is a part of the given one. */
static int run_part(staged *s, int rank, int segment, int whole, int64_t from, int64_t end)
{
    const hpc_program *p = s->w->program[rank];
    const hpc_segment *g = &s->w->whole[rank]->segment[whole];
    int64_t at = 0;
    for (int64_t k = from; k < end; k++)
        if (run_insn(s, rank, g, &p->segment[segment].insn[k], &at) < 0) {
            char where[96];
            return hpc_error_where("%s", hpc_insn_where(where, p, segment, k));
        }
    return HPC_OK;
}

static int run_segment(staged *s, int rank, int segment, int whole)
{
    return run_part(s, rank, segment, whole, 0, s->w->program[rank]->segment[segment].insn_n);
}

/* All ranks run a segment together: each sends its leading messages before any rank receives. */
static int run_together(staged *s, int segment, int whole)
{
    int rc = HPC_OK;
    for (int r = 0; r < s->w->ranks; r++) {
        const hpc_segment *g = &s->w->program[r]->segment[segment];
        TRY(run_part(s, r, segment, whole, 0, leading_sends(g)));
    }
    for (int r = 0; r < s->w->ranks; r++) {
        const hpc_segment *g = &s->w->program[r]->segment[segment];
        TRY(run_part(s, r, segment, whole, leading_sends(g), g->insn_n));
    }
out:
    return rc;
}

/* A shared segment: ranks other than `keeper` have no memory of the microbatch there. */
static int run_shared(staged *s, int segment, int whole, int keeper)
{
    size_t n = (size_t)s->w->whole[0]->value_n, all = n * (size_t)s->w->ranks;
    bool *kept = hpc_alloc(all + 1, sizeof *kept);
    int rc;
    if (!kept) return HPC_E_NOMEM;
    memcpy(kept, s->has, all * sizeof *kept);
    for (int r = 0; r < s->w->ranks; r++)
        if (r != keeper) memset(has_of(s, r, 0), 0, n * sizeof *kept);
    TRY(run_together(s, segment, whole));
    for (int r = 0; r < s->w->ranks; r++)
        if (r != keeper) memcpy(has_of(s, r, 0), kept + (size_t)r * n, n * sizeof *kept);
out:
    hpc_free(kept);
    return rc;
}

/* ---- what is complete ------------------------------------------------------------------------ */

/* Adds a whole to sums of which each rank has a part. */
static bool adds_once(const hpc_program *p, const hpc_insn *i)
{
    bool adds = false, whole = false;
    for (int k = 0; k < i->op->sig.operand_n; k++) {
        hpc_value v = hpc_value_root(p, i->operand[k]);
        if (v < 0) continue;
        int role = hpc_insn_role(p, i, k);
        adds = adds || (role == HPC_INOUT && is_partial(&p->value[v]));
        whole =
            whole || (role == HPC_IN && p->value[v].type.layout[HPC_AXIS_PIPE] == HPC_REPLICATED);
    }
    return adds && whole;
}

/* Ranks along pipe wait for each other in a collective: all start it. */
static int check_collective(const staged *s, const hpc_segment *whole, int64_t k)
{
    const hpc_insn *i = &whole->insn[k];
    const hpc_comm_attr *a = i->attr;
    if (i->op->comm < 0 || !(a->axes >> HPC_AXIS_PIPE & 1)) return HPC_OK;
    for (int r = 0; r < s->w->ranks; r++)
        if (!s->by[(int64_t)r * whole->insn_n + k])
            return hpc_fail(HPC_E_STATE, "stage %d does not start it, and others wait for it", r);
    return HPC_OK;
}

static int check_insn(const staged *s, const hpc_segment *whole, int64_t k)
{
    const hpc_insn *i = &whole->insn[k];
    const hpc_program *g = s->w->whole[0];
    bool once = adds_once(g, i);
    if (s->ran[k] == 0) return hpc_fail(HPC_E_STATE, "no stage runs it");
    int rc = check_collective(s, whole, k);
    if (rc < 0) return rc;
    if (once && s->ran[k] > 1)
        return hpc_fail(HPC_E_STATE, "%d stages add the same to a sum over stages", s->ran[k]);
    for (int a = 0; a < i->op->sig.operand_n && !once; a++) {
        hpc_value v = i->operand[a];
        if (v < 0 || !(hpc_insn_role(g, i, a) & HPC_OUT) || g->value[v].kind != HPC_VALUE_STATE)
            continue;
        for (int r = 0; r < s->w->ranks; r++)
            if (!s->w->program[r]->value[v].absent && !s->by[(int64_t)r * whole->insn_n + k])
                return hpc_fail(HPC_E_STATE, "stage %d holds %s, and does not write it", r,
                                g->value[v].name);
    }
    return HPC_OK;
}

static int check_segment(const staged *s, int segment)
{
    const hpc_segment *whole = &s->w->whole[0]->segment[segment];
    for (int64_t k = 0; k < whole->insn_n; k++)
        if (check_insn(s, whole, k) < 0) {
            char where[96];
            return hpc_error_where("%s", hpc_insn_where(where, s->w->whole[0], segment, k));
        }
    return HPC_OK;
}

static int begin_segment(staged *s, const hpc_segment *whole)
{
    size_t n = (size_t)whole->insn_n + 1;
    hpc_free(s->ran);
    hpc_free(s->by);
    s->ran = hpc_alloc(n, sizeof *s->ran);
    s->by = hpc_alloc(n * (size_t)s->w->ranks, sizeof *s->by);
    return s->ran && s->by ? HPC_OK : HPC_E_NOMEM;
}

/* The stages of forward or backward. */
static int prove_stages(staged *s, int segment, bool backward)
{
    const hpc_prove_stages *w = s->w;
    int stages = w->ranks * w->chunks, first = w->moved[segment] + w->interlaced, rc = HPC_OK;
    for (int k = 0; k < stages; k++) {
        int stage = backward ? stages - 1 - k : k, chunk = stage / w->ranks;
        int at = first + (backward ? w->chunks - 1 - chunk : chunk);
        TRY(run_segment(s, stage % w->ranks, at, segment));
    }
out:
    return rc;
}

/* A microbatch passes the stages up in forward and down in backward. */
static int prove_segment(staged *s, int segment)
{
    const hpc_prove_stages *w = s->w;
    bool forward = segment == w->forward, backward = segment == w->backward;
    int at = w->moved[segment], rc;
    TRY(begin_segment(s, &w->whole[0]->segment[segment]));
    if (!forward && !backward) {
        TRY(run_together(s, at, segment));
    } else {
        if (w->interlaced) TRY(run_shared(s, at, segment, forward ? 0 : w->ranks - 1));
        TRY(prove_stages(s, segment, backward));
        if (w->interlaced && backward) TRY(run_shared(s, at + 1 + w->chunks, segment, 0));
    }
    TRY(check_segment(s, segment));
out:
    return rc;
}

static int check_posts(const staged *s)
{
    for (int64_t k = 0; k < s->post_n; k++)
        if (!s->post[k].taken)
            return hpc_fail(HPC_E_STATE, "stage %d sends %%%d to stage %d, which never receives it",
                            s->post[k].from, s->post[k].value, s->post[k].to);
    return HPC_OK;
}

int hpc_prove_stages_of(hpc_proof *out, const hpc_prove_stages *w)
{
    staged s = {.w = w};
    int rc = HPC_OK;
    *out = (hpc_proof){0};
    for (int r = 0; r < w->ranks; r++)
        if (w->program[r]->value_n != w->whole[0]->value_n)
            TRY(hpc_fail(HPC_E_STATE, "stage %d has %lld values, not %lld", r,
                         (long long)w->program[r]->value_n, (long long)w->whole[0]->value_n));
    s.has = hpc_alloc((size_t)w->ranks * (size_t)w->whole[0]->value_n + 1, sizeof *s.has);
    if (!s.has) TRY(HPC_E_NOMEM);
    for (int k = 0; k < w->whole[0]->segment_n; k++) {
        TRY(prove_segment(&s, k));
        out->instructions += w->whole[0]->segment[k].insn_n;
    }
    TRY(check_posts(&s));
    out->moves = s.post_n;
out:
    hpc_free(s.has);
    hpc_free(s.ran);
    hpc_free(s.by);
    hpc_free(s.post);
    return rc;
}

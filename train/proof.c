/*
 * proof.c: see proof.h.
 */
#include "train/proof.h"

#include <stdio.h>
#include <string.h>

#include "train/plan.h"
#include "train/update_priv.h"

/* ---- programs ------------------------------------------------------------------------------- */

/* first: ranks along pipe have one program, from which stages are cut. */
static int ranks_of(int *rank, int most, const hpc_parallel *q, bool first)
{
    int all = hpc_prove_ranks(rank, most, &q->grid), n = 0;
    for (int r = 0; r < all; r++) {
        int coord[HPC_AXIS_N];
        hpc_grid_coords(coord, &q->grid, rank[r]);
        if (!first || coord[HPC_AXIS_PIPE] == 0) rank[n++] = rank[r];
    }
    return n;
}

int hpc_step_ranks_init(hpc_step_ranks *out, const hpc_program *serial, const hpc_step *io,
                        const hpc_parallel *q, int most)
{
    int rc = HPC_OK;
    hpc_step one = *io;
    *out = (hpc_step_ranks){.serial = hpc_program_copy(serial), .q = q};
    if (!out->serial) return HPC_E_NOMEM;
    const bool cut = io->stage.chunks > 0;
    if (q->overlap && !cut) TRY(plan_splice(&one, out->serial));
    out->n = ranks_of(out->rank, most ? most : HPC_STEP_RANKS, q, cut && !io->stage.interlaced);
    for (int r = 0; r < out->n; r++) {
        int coord[HPC_AXIS_N];
        hpc_grid_coords(coord, &q->grid, out->rank[r]);
        out->io = *io;
        out->program[r] = hpc_program_copy(serial);
        if (!out->program[r]) TRY(HPC_E_NOMEM);
        TRY(cut ? hpc_step_shard_whole(&out->io, out->program[r], q, coord, false)
                : hpc_step_shard(&out->io, out->program[r], q, coord));
    }
out:
    if (rc < 0) hpc_step_ranks_release(out);
    return rc;
}

void hpc_step_ranks_release(hpc_step_ranks *r)
{
    for (int k = 0; k < r->n; k++) hpc_program_free(r->program[k]);
    hpc_program_free(r->serial);
    r->serial = NULL;
    r->n = 0;
}

/* Segments that a step may omit: the separate loss, and refresh. */
static uint64_t optional(const hpc_step *io)
{
    uint64_t set = 0;
    if (io->model.forward_head >= 0) set |= (uint64_t)1 << io->model.forward_head;
    if (io->refresh >= 0) set |= (uint64_t)1 << io->refresh;
    return set;
}

hpc_prove hpc_step_ranks_prove(const hpc_step_ranks *r)
{
    return (hpc_prove){.optional = optional(&r->io),
                       .serial = r->serial,
                       .shape = &r->q->grid,
                       .program = (const hpc_program *const *)r->program,
                       .rank = r->rank,
                       .n = r->n};
}

/* The stages in one place of the grid. */
typedef struct stages {
    hpc_program *whole[HPC_STAGES], *program[HPC_STAGES]; /* before and after the cut */
    bool own;                                             /* of `whole` */
    int moved[HPC_STEP_SEGMENTS], n;
} stages;

static void free_stages(stages *s)
{
    for (int k = 0; k < s->n; k++) {
        hpc_program_free(s->program[k]);
        if (s->own) hpc_program_free(s->whole[k]);
    }
}

/* Stages are cut from the first rank's program, or with parts of the vocabulary from their own. */
static int whole_of(hpc_program **out, const hpc_step_ranks *r, int stage)
{
    hpc_step io = r->io;
    int coord[HPC_AXIS_N] = {[HPC_AXIS_PIPE] = stage};
    *out = r->program[0];
    if (!io.stage.interlaced) return HPC_OK;
    *out = hpc_program_copy(r->serial);
    return *out ? hpc_step_shard_whole(&io, *out, r->q, coord, true) : HPC_E_NOMEM;
}

/* The caller frees them, also after a failure. */
static int cut_stages(stages *s, const hpc_step_ranks *r)
{
    int rc = HPC_OK;
    *s = (stages){.own = r->io.stage.interlaced};
    for (int k = 0; k < r->io.stage.ranks; k++) {
        hpc_step io = r->io;
        s->n = k + 1;
        TRY(whole_of(&s->whole[k], r, k));
        s->program[k] = hpc_program_copy(s->whole[k]);
        if (!s->program[k]) return HPC_E_NOMEM;
        TRY(hpc_step_cut(&io, s->program[k], k, s->moved));
    }
out:
    return rc;
}

int hpc_step_prove_stages(hpc_proof *out, const hpc_step_ranks *r)
{
    stages *s;
    int rc;
    *out = (hpc_proof){0};
    if (r->io.stage.chunks == 0) return HPC_OK;
    s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    TRY(cut_stages(s, r));
    TRY(hpc_prove_stages_of(out,
                            &(hpc_prove_stages){.whole = (const hpc_program *const *)s->whole,
                                                .program = (const hpc_program *const *)s->program,
                                                .ranks = s->n,
                                                .chunks = r->io.stage.chunks,
                                                .interlaced = r->io.stage.interlaced,
                                                .forward = r->io.model.forward,
                                                .backward = r->io.backward,
                                                .moved = s->moved}));
out:
    free_stages(s);
    hpc_free(s);
    return rc;
}

int hpc_step_prove(char unproven[160], const hpc_program *serial, const hpc_step *io,
                   const hpc_parallel *q)
{
    enum { FEW = 32 };
    hpc_step_ranks *r = hpc_alloc(1, sizeof *r);
    hpc_proof proof;
    int rc = HPC_E_NOMEM;
    unproven[0] = '\0';
    if (!r) return rc;
    TRY(hpc_step_ranks_init(r, serial, io, q, FEW));
    hpc_prove w = hpc_step_ranks_prove(r);
    rc = hpc_prove_order(&proof, &w);
    if (rc >= 0) rc = hpc_step_prove_stages(&proof, r);
    if (rc >= 0) rc = hpc_prove_layouts(&proof, &w);
    if (rc == HPC_E_UNSUPPORTED) {
        snprintf(unproven, 160, "%.159s", hpc_error_get()->text);
        hpc_error_clear();
        rc = HPC_OK;
    }
    if (rc < 0) hpc_error_where("the programs of this grid's ranks are inconsistent");
out:
    hpc_step_ranks_release(r);
    hpc_free(r);
    return rc;
}

/* ---- memory --------------------------------------------------------------------------------- */

enum { OPTIMIZER, PARAMETER, GRADIENT };

/* What each state is for, by value. */
static int sort_state(uint8_t *kind, const hpc_program *p, const hpc_step *io,
                      const hpc_model_config *c)
{
    hpc_model_tensor *tensor = NULL;
    int64_t n = 0;
    int rc = hpc_model_tensors(&tensor, &n, c);
    if (rc < 0) return rc;
    for (int64_t k = 0; k < n; k++) {
        hpc_value v = hpc_program_find(p, tensor[k].name);
        hpc_value m = v >= 0 ? p->value[v].master : HPC_NONE;
        if (v >= 0) kind[v] = PARAMETER;
        if (m >= 0) kind[m] = PARAMETER;
        if (v >= 0 && p->value[v].whole >= 0) kind[p->value[v].whole] = PARAMETER;
        for (hpc_value g = v; g >= 0 && p->value[g].grad >= 0;) /* and its rounded copy */
            kind[g = p->value[g].grad] = GRADIENT;
    }
    if (io->model.freq >= 0) kind[io->model.freq] = PARAMETER;
    if (io->model.local_freq >= 0) kind[io->model.local_freq] = PARAMETER;
    hpc_free(tensor);
    return HPC_OK;
}

int hpc_step_memory_of(hpc_step_memory *out, const hpc_program *p, const hpc_step *io,
                       const hpc_model_config *c, hpc_device *device, int slots)
{
    hpc_arena *a = hpc_arena_create(0);
    uint8_t *kind = hpc_alloc((size_t)p->value_n + 1, sizeof *kind);
    hpc_placement place;
    int rc = HPC_E_NOMEM;
    *out = (hpc_step_memory){0};
    if (!a || !kind) goto out;
    TRY(sort_state(kind, p, io, c));
    TRY(device ? hpc_exec_place(&place, a, p, device, slots)
               : hpc_place(&place, a, p, NULL, NULL, 0, slots));
    for (hpc_value v = 0; v < p->value_n; v++) {
        const hpc_value_info *info = &p->value[v];
        if (info->kind != HPC_VALUE_STATE || info->base >= 0 || info->absent) continue;
        double bytes = (double)hpc_type_bytes(&info->type);
        *(info->outside          ? &out->outside
          : kind[v] == PARAMETER ? &out->parameters
          : kind[v] == GRADIENT  ? &out->gradients
                                 : &out->optimizer) += bytes;
    }
    for (int s = 0; s < HPC_SPACE_N; s++) {
        double n = s == HPC_SPACE_SLOT ? slots : 1;
        out->all += n * (double)(place.bytes[s] ? place.bytes[s] : HPC_ALIGN);
        if (s != HPC_SPACE_STATE) out->activations += n * (double)place.bytes[s];
    }
out:
    hpc_arena_free(a);
    hpc_free(kind);
    return rc;
}

/* Memory of a rank's program, with state outside if r->offload is set. */
static int measure(hpc_step_memory *out, const hpc_program *rank, const hpc_step *io,
                   const hpc_step_ranks *r, const hpc_model_config *c, hpc_device *device,
                   int slots)
{
    int rc;
    if (r->offload == 0) return hpc_step_memory_of(out, rank, io, c, device, slots);
    hpc_program *p = hpc_program_copy(rank);
    if (!p) return HPC_E_NOMEM;
    TRY(hpc_step_offload(&(hpc_offload_options){.bucket = r->offload}, io, p));
    TRY(hpc_step_memory_of(out, p, io, c, device, slots));
out:
    hpc_program_free(p);
    return rc;
}

/* Ranks' programs differ in few instructions, if at all, and equal ones need equal memory. */
static bool alike(const hpc_program *p, const hpc_program *q)
{
    for (int64_t s = 0; s < p->segment_n; s++) {
        const hpc_segment *a = &p->segment[s], *b = &q->segment[s];
        if (a->insn_n != b->insn_n) return false;
        for (int64_t k = 0; k < a->insn_n; k++)
            if (a->insn[k].op != b->insn[k].op ||
                memcmp(a->insn[k].operand, b->insn[k].operand, sizeof a->insn[k].operand) != 0)
                return false;
    }
    return true;
}

/* Stages in one place of the grid: those of the others are alike. */
static int most_of_stages(hpc_step_memory *out, int *rank, const hpc_step_ranks *r,
                          const hpc_model_config *c, hpc_device *device)
{
    int rc, coord[HPC_AXIS_N] = {0};
    int64_t microbatches = r->microbatches ? r->microbatches : r->io.stage.ranks;
    stages *s = hpc_alloc(1, sizeof *s);
    if (!s) return HPC_E_NOMEM;
    TRY(cut_stages(s, r));
    hpc_step io = r->io;
    io.update = s->moved[r->io.update];
    for (int k = 0; k < s->n; k++) {
        hpc_step_memory m;
        hpc_plan_list l;
        TRY(hpc_plan_tasks(&l, &r->q->pipe, s->n, k, microbatches));
        hpc_free(l.task);
        TRY(measure(&m, s->program[k], &io, r, c, device, l.slots));
        if (k > 0 && m.all <= out->all) continue;
        *out = m;
        coord[HPC_AXIS_PIPE] = k;
        *rank = hpc_grid_rank(&r->q->grid, coord);
    }
out:
    free_stages(s);
    hpc_free(s);
    return rc;
}

int hpc_step_memory_most(hpc_step_memory *out, int *rank, const hpc_step_ranks *r,
                         const hpc_model_config *c, hpc_device *device)
{
    int rc = HPC_OK;
    *rank = r->rank[0];
    if (r->io.stage.chunks > 0) return most_of_stages(out, rank, r, c, device);
    for (int k = 0; k < r->n; k++) {
        hpc_step_memory m;
        int before = 0;
        while (before < k && !alike(r->program[before], r->program[k])) before++;
        if (before < k) continue;
        TRY(measure(&m, r->program[k], &r->io, r, c, device, 1));
        if (k > 0 && m.all <= out->all) continue;
        *out = m;
        *rank = r->rank[k];
    }
out:
    return rc;
}

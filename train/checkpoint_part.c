/*
 * checkpoint_part.c: assigns the rows of tensors to ranks for writing, from the layouts alone, so
 * every rank computes the same assignment.
 */
#include <string.h>

#include "train/checkpoint_priv.h"

enum {
    PART_BYTES = 4 << 20, /* default unit of hashing and reading */
    WORTH = 64            /* tiles below 1/64 of a unit are not divided */
};

/* ---- who holds it ---------------------------------------------------------------------------- */

/* Index of this rank among those with the same tile of v, and their number. Partial sums differ
 * between ranks: the first rank's are saved, as loading expects. */
static bool find_copy(int64_t *copy, int64_t *copies, const hpc_type *local,
                      const hpc_grid_shape *s, const int *coord)
{
    *copy = 0;
    *copies = 1;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        int extent = s->extent[a] > 1 ? s->extent[a] : 1;
        if (local->layout[a] == HPC_PARTIAL && coord[a] != 0) return false;
        int at = hpc_layout_at(local->layout[a]);
        if (at >= 0 && coord[a] != at) return false;
        if (local->layout[a] != HPC_REPLICATED) continue;
        *copy = *copy * extent + coord[a];
        *copies *= extent;
    }
    return true;
}

/* ---- what is cut of it ----------------------------------------------------------------------- */

typedef struct list {
    checkpoint_part *part;
    int64_t n, cap;
    uint64_t at;
    int file;
} list;

static size_t row_bytes(const hpc_type *local)
{
    size_t n = hpc_dtype_get((hpc_dtype)local->dtype)->block_bytes;
    for (int d = 1; d < local->rank; d++) n *= (size_t)local->extent[d];
    return n;
}

static int add(list *l, hpc_value v, const hpc_type *local, int64_t lo, int64_t hi,
               const hpc_grid_shape *s, const int *coord)
{
    int rc = hpc_grow(&l->part, &l->cap, l->n + 1, sizeof *l->part);
    if (rc < 0) return rc;
    checkpoint_part *p = &l->part[l->n++];
    *p = (checkpoint_part){.tensor = v, .file = l->file, .rank = local->rank, .at = l->at};
    for (int d = 0; d < local->rank; d++) {
        p->first[d] = hpc_type_first(local, d, s, coord) + (d == 0 ? lo : 0);
        p->extent[d] = d == 0 ? hi - lo : local->extent[d];
    }
    p->bytes = row_bytes(local) * (size_t)(hi - lo);
    l->at += p->bytes;
    return HPC_OK;
}

static int add_value(list *l, const hpc_trainer *t, hpc_value v, const int *coord)
{
    const hpc_type tile = trainer_tile(t, v), *local = &tile;
    const hpc_grid_shape *s = trainer_shape(t);
    size_t most = t->o.part_bytes ? t->o.part_bytes : PART_BYTES, row = row_bytes(local);
    int64_t rows = local->rank ? local->extent[0] : 1, lo = 0, hi = rows, copy, copies;
    int rc = HPC_OK;
    if (!find_copy(&copy, &copies, local, s, coord)) return HPC_OK;
    if (rows == 0 || row == 0) return copy == 0 ? add(l, v, local, 0, rows, s, coord) : HPC_OK;
    if (rows >= copies && row * (size_t)rows >= most / WORTH) {
        lo = rows * copy / copies;
        hi = rows * (copy + 1) / copies;
    } else if (copy != v % copies) {
        return HPC_OK;
    }
    int64_t step = row < most ? (int64_t)(most / row) : 1;
    for (; lo < hi; lo += step)
        TRY(add(l, v, local, lo, lo + step < hi ? lo + step : hi, s, coord));
out:
    return rc;
}

/* One after the other on the ranks, which all have them. */
static int add_masks(list *l, const hpc_trainer *t, const hpc_masks *m, int rank)
{
    int ranks = hpc_grid_size(trainer_shape(t)), rc = HPC_OK;
    for (int64_t k = 0; m && k < m->mask_n; k++) {
        if (k % ranks != rank) continue;
        TRY(hpc_grow(&l->part, &l->cap, l->n + 1, sizeof *l->part));
        checkpoint_part *p = &l->part[l->n++];
        *p = (checkpoint_part){.tensor = t->p->value_n + k, .file = rank, .rank = 1, .at = l->at};
        p->extent[0] = m->mask[k].kept;
        p->bytes = (size_t)m->mask[k].kept * sizeof(int32_t);
        l->at += p->bytes;
    }
out:
    return rc;
}

int checkpoint_parts(checkpoint_part **out, int64_t *n, const hpc_trainer *t,
                     const hpc_masks *masks, int rank)
{
    list l = {.file = rank};
    int coord[HPC_AXIS_N], rc = HPC_OK;
    hpc_grid_coords(coord, trainer_shape(t), rank);
    for (hpc_value v = 0; v < t->p->value_n; v++)
        if (trainer_stores(t, v)) TRY(add_value(&l, t, v, coord));
    TRY(add_masks(&l, t, masks, rank));
out:
    *out = l.part;
    *n = l.n;
    return rc;
}

int64_t checkpoint_part_elements(const checkpoint_part *p)
{
    int64_t n = 1;
    for (int d = 0; d < p->rank; d++) n *= p->extent[d];
    return n;
}

size_t checkpoint_part_place(const hpc_trainer *t, const checkpoint_part *p)
{
    const hpc_type tile = trainer_tile(t, (hpc_value)p->tensor), *local = &tile;
    int coord[HPC_AXIS_N];
    if (p->rank == 0) return 0;
    trainer_coord(coord, t);
    return row_bytes(local) *
           (size_t)(p->first[0] - hpc_type_first(local, 0, trainer_shape(t), coord));
}

/*
 * ranks.c: converts a trainer's state between whole tensors and the tiles of ranks.
 */
#include <string.h>

#include "train/plan.h"
#include "train/run_priv.h"

static size_t element_bytes(const hpc_type *t)
{
    return hpc_dtype_get((hpc_dtype)t->dtype)->block_bytes;
}

static int64_t elements_of(const hpc_type *t)
{
    return (int64_t)(hpc_type_bytes(t) / element_bytes(t));
}

/* ---- tiles ---------------------------------------------------------------------------------- */

/* Copies between a contiguous tile and its place in the whole. */
static void move_tile(uint8_t *tile, uint8_t *all, bool put, const hpc_type *local,
                      const hpc_type *whole, size_t element, const hpc_grid_shape *s,
                      const int *coord)
{
    int last = whole->rank - 1;
    int64_t first[HPC_RANK_MAX] = {0}, rows = 1;
    size_t run = element;
    for (int d = 0; d < whole->rank; d++) first[d] = hpc_type_first(local, d, s, coord);
    for (int d = 0; d < last; d++) rows *= local->extent[d];
    if (last >= 0) run *= (size_t)local->extent[last];
    for (int64_t r = 0; r < rows; r++) {
        int64_t left = r, at = 0, stride = 1;
        for (int d = last; d >= 0; d--) {
            int64_t i = 0;
            if (d < last) i = left % local->extent[d], left /= local->extent[d];
            at += (first[d] + i) * stride;
            stride *= whole->extent[d];
        }
        uint8_t *there = all + (size_t)at * element, *here = tile + (size_t)r * run;
        memcpy(put ? there : here, put ? here : there, run);
    }
}

static const hpc_grid_shape one_rank;

const hpc_grid_shape *trainer_shape(const hpc_trainer *t)
{
    return t->o.grid ? hpc_grid_shape_of(t->o.grid) : &one_rank;
}

void trainer_coord(int coord[HPC_AXIS_N], const hpc_trainer *t)
{
    for (int a = 0; a < HPC_AXIS_N; a++)
        coord[a] = t->o.grid ? hpc_grid_coord(t->o.grid, (hpc_axis)a) : 0;
}

hpc_type trainer_tile(const hpc_trainer *t, hpc_value v)
{
    hpc_value dense = trainer_dense_of(t, v);
    hpc_type tile = t->p->value[dense >= 0 ? dense : v].type;
    tile.dtype = t->p->value[v].type.dtype;
    return tile;
}

void trainer_first(int64_t first[HPC_RANK_MAX], const hpc_trainer *t, hpc_value v)
{
    hpc_type tile = trainer_tile(t, v);
    int coord[HPC_AXIS_N];
    trainer_coord(coord, t);
    for (int d = 0; d < t->whole[v].rank; d++)
        first[d] = hpc_type_first(&tile, d, trainer_shape(t), coord);
}

/* Does another rank have all of the sum v, of which each rank has a part? */
static bool is_others(const hpc_trainer *t, hpc_value v)
{
    for (int a = 0; t->o.grid && a < HPC_AXIS_N; a++)
        if (t->p->value[v].type.layout[a] == HPC_PARTIAL &&
            hpc_grid_coord(t->o.grid, (hpc_axis)a) > 0)
            return true;
    return false;
}

int trainer_put_tile(hpc_trainer *t, hpc_value v, uint8_t *tile)
{
    const hpc_type *type = &t->p->value[v].type;
    size_t element = element_bytes(type);
    int rc = HPC_OK;
    if (trainer_dense_of(t, v) >= 0) return trainer_write_picked(t, v, tile, element);
    if (is_others(t, v)) memset(tile, 0, hpc_type_bytes(type));
    if (t->p->value[v].index >= 0) TRY(trainer_zero_others(t, v, tile, element));
    TRY(hpc_exec_write(t->exec, 0, v, tile, hpc_type_bytes(type)));
    for (hpc_value k = 0; t->p->value[v].index >= 0 && k < t->p->value_n; k++)
        if (trainer_dense_of(t, k) == v && trainer_derives(t, k) &&
            t->p->value[k].type.dtype == type->dtype)
            TRY(trainer_write_picked(t, k, tile, element));
out:
    return rc;
}

int trainer_put(hpc_trainer *t, hpc_value v, const void *all)
{
    hpc_type type = trainer_tile(t, v);
    int coord[HPC_AXIS_N];
    if (t->p->value[v].absent) return HPC_OK;
    uint8_t *tile = hpc_alloc(hpc_type_bytes(&type) + 1, 1);
    if (!tile) return HPC_E_NOMEM;
    trainer_coord(coord, t);
    move_tile(tile, (uint8_t *)(uintptr_t)all, false, &type, &t->whole[v], element_bytes(&type),
              trainer_shape(t), coord);
    int rc = trainer_put_tile(t, v, tile);
    hpc_free(tile);
    return rc;
}

bool trainer_shares(const hpc_trainer *t, hpc_value v)
{
    return trainer_dense_of(t, v) >= 0 && t->p->value[v].type.layout[HPC_AXIS_DATA] > 0;
}

int trainer_get_tile(uint8_t *tile, const hpc_trainer *t, hpc_value v)
{
    if (trainer_dense_of(t, v) >= 0) return trainer_read_picked(tile, t, v);
    return hpc_exec_read(t->exec, 0, v, tile, hpc_type_bytes(&t->p->value[v].type));
}

/* ---- whole tensors ----------------------------------------------------------------------------
 */

/* Axes whose ranks do not all have the same of v. */
static hpc_axes split_axes(const hpc_trainer *t, hpc_value v)
{
    hpc_axes axes = 0;
    for (int a = 0; t->o.grid && a < HPC_AXIS_N; a++)
        if (t->p->value[v].type.layout[a] > 0 || hpc_layout_at(t->p->value[v].type.layout[a]) >= 0)
            axes |= 1u << a;
    return axes;
}

/* The tiles of the ranks of a link over `axes`, in their order, to their places. */
static void put_tiles(uint8_t *out, const hpc_trainer *t, hpc_value v, uint8_t *tiles,
                      hpc_axes axes, size_t element)
{
    const hpc_grid_shape *s = trainer_shape(t);
    const hpc_type *local = &t->p->value[v].type;
    size_t bytes = (size_t)elements_of(local) * element;
    int n = hpc_grid_size(s), k = 0;
    for (int r = 0; r < n; r++) {
        int coord[HPC_AXIS_N];
        bool ours = true;
        hpc_grid_coords(coord, s, r);
        for (int a = 0; a < HPC_AXIS_N; a++)
            ours = ours && (axes >> a & 1 || coord[a] == hpc_grid_coord(t->o.grid, (hpc_axis)a));
        if (!ours) continue;
        int tile = k++, at = hpc_layout_at(local->layout[HPC_AXIS_PIPE]);
        if (at >= 0 && coord[HPC_AXIS_PIPE] != at) continue;
        move_tile(tiles + (size_t)tile * bytes, out, true, local, &t->whole[v], element, s, coord);
    }
}

/* Collective. out: all of v. */
static int gather(uint8_t *out, const hpc_trainer *t, hpc_value v)
{
    hpc_value dense = trainer_dense_of(t, v), held = dense >= 0 ? dense : v;
    hpc_dtype dtype = (hpc_dtype)t->p->value[v].type.dtype;
    size_t element = hpc_dtype_get(dtype)->block_bytes;
    int64_t n = elements_of(&t->p->value[held].type);
    hpc_axes axes = split_axes(t, held);
    uint8_t *tile = NULL, *tiles = NULL;
    hpc_link *link = NULL;
    int rc = HPC_OK;
    if (axes) TRY(hpc_grid_link(&link, t->o.grid, axes));
    tile = hpc_alloc((size_t)n * element + 1, 1);
    tiles = axes ? hpc_alloc((size_t)n * element * (size_t)hpc_link_size(link) + 1, 1) : NULL;
    if (!tile || (axes && !tiles)) TRY(HPC_E_NOMEM);
    if (!t->p->value[held].absent) TRY(trainer_get_tile(tile, t, v));
    if (!axes) {
        memcpy(out, tile, (size_t)n * element);
        goto out;
    }
    TRY(hpc_link_run(
        link,
        &(hpc_comm){.kind = HPC_ALL_GATHER, .dtype = dtype, .n = n, .send = tile, .recv = tiles}));
    put_tiles(out, t, held, tiles, axes, element);
out:
    hpc_free(tile);
    hpc_free(tiles);
    return rc;
}

/* ---- the first rank and the others --------------------------------------------------------- */

bool trainer_leads(const hpc_trainer *t)
{
    return !t->o.grid || hpc_link_rank(hpc_grid_world(t->o.grid)) == 0;
}

int trainer_tell(const hpc_trainer *t, int64_t *word)
{
    if (!t->o.grid) return HPC_OK;
    int64_t heard = *word;
    int rc = hpc_link_run(
        hpc_grid_world(t->o.grid),
        &(hpc_comm){.kind = HPC_BROADCAST, .dtype = HPC_I64, .n = 1, .send = word, .recv = &heard});
    *word = heard;
    return rc;
}

int trainer_any(const hpc_trainer *t, int64_t *word, int n)
{
    int64_t mine[4];
    if (!t->o.grid) return HPC_OK;
    hpc_assert(n <= 4);
    memcpy(mine, word, (size_t)n * sizeof *word);
    return hpc_link_run(hpc_grid_world(t->o.grid), &(hpc_comm){.kind = HPC_ALL_REDUCE,
                                                               .dtype = HPC_I64,
                                                               .reduce = HPC_COMM_MAX,
                                                               .n = n,
                                                               .send = mine,
                                                               .recv = word});
}

int trainer_agree(const hpc_trainer *t, int rc)
{
    return t->o.grid ? hpc_link_agree(hpc_grid_world(t->o.grid), rc) : rc;
}

int trainer_gather(void *out, const hpc_trainer *t, hpc_value v)
{
    return gather(out, t, v);
}

int trainer_fetch(void *out, const hpc_trainer *t, hpc_value v)
{
    int64_t word = v;
    int rc = trainer_tell(t, &word);
    return rc < 0 ? rc : gather(out, t, v);
}

int trainer_dismiss(const hpc_trainer *t)
{
    int64_t word = HPC_NONE;
    return trainer_tell(t, &word);
}

int trainer_attend(const hpc_trainer *t)
{
    uint8_t *room = NULL;
    int64_t word = HPC_NONE;
    int rc;
    for (;;) {
        TRY(trainer_tell(t, &word));
        if (word == HPC_NONE) break;
        hpc_free(room);
        room = hpc_alloc(hpc_type_bytes(&t->whole[word]) + 1, 1);
        if (!room) TRY(HPC_E_NOMEM);
        TRY(gather(room, t, (hpc_value)word));
    }
out:
    hpc_free(room);
    return rc;
}

int trainer_sum(double *x, int n, const hpc_trainer *t)
{
    hpc_link *link;
    double mine[TRAINER_SUMS];
    hpc_assert(n <= TRAINER_SUMS);
    if (!t->o.grid) return HPC_OK;
    memcpy(mine, x, (size_t)n * sizeof *x);
    int rc = hpc_grid_link(&link, t->o.grid, HPC_ROW_AXES | 1u << HPC_AXIS_PIPE);
    if (rc < 0) return rc;
    return hpc_link_run(
        link,
        &(hpc_comm){.kind = HPC_ALL_REDUCE, .dtype = HPC_F64, .n = n, .send = mine, .recv = x});
}

int trainer_written(const hpc_trainer *t)
{
    return t->io.gather < 0 ? HPC_OK : hpc_exec_run(t->exec, t->io.gather, 0);
}

int64_t trainer_sent(const hpc_trainer *t)
{
    int64_t sum = 0;
    if (!t->o.grid) return 0;
    for (hpc_axes axes = 1; axes < 1u << HPC_AXIS_N; axes++) {
        bool real = true; /* with an axis of one rank a set is the same as without */
        for (int a = 0; a < HPC_AXIS_N; a++)
            real = real && (!(axes >> a & 1) || hpc_grid_shape_of(t->o.grid)->extent[a] > 1);
        hpc_traffic x = hpc_grid_traffic(t->o.grid, axes);
        for (int k = 0; real && k < HPC_COMM_KIND_N; k++) sum += x.bytes[k];
    }
    return sum;
}

/* Inputs that no batch changes: the rows of repeated keys and values, and of trained tokens. */
static int write_slots(hpc_trainer *t, hpc_value v, const int32_t *data, size_t bytes)
{
    int rc = HPC_OK;
    for (int slot = 0; slot < t->value->list[trainer_stage(t)].slots; slot++)
        TRY(hpc_exec_write(t->exec, slot, v, data, bytes));
out:
    return rc;
}

int trainer_write_row_indices(hpc_trainer *t)
{
    const hpc_adapter_config *adapter = &t->o.model.adapter;
    hpc_value v = t->io.model.kv_rows, tokens = t->io.model.token_rows;
    int coord[HPC_AXIS_N];
    if (tokens >= 0) {
        int rc = write_slots(t, tokens, adapter->token,
                             (size_t)adapter->token_n * sizeof *adapter->token);
        if (rc < 0) return rc;
    }
    if (v < 0) return HPC_OK;
    for (int a = 0; a < HPC_AXIS_N; a++) coord[a] = hpc_grid_coord(t->o.grid, (hpc_axis)a);
    const hpc_type *type = &t->p->value[v].type;
    int64_t heads = t->whole[v].extent[0] / hpc_model_config_head_dim(&t->o.model);
    int32_t *rows = hpc_alloc((size_t)type->extent[0], sizeof *rows);
    if (!rows) return HPC_E_NOMEM;
    hpc_model_kv_rows(rows, &t->o.model, heads,
                      hpc_type_first(type, 0, hpc_grid_shape_of(t->o.grid), coord),
                      type->extent[0]);
    int rc = write_slots(t, v, rows, hpc_type_bytes(type));
    hpc_free(rows);
    return rc;
}

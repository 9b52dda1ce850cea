/*
 * picked.c: converts a pruned trainer's picked state from and to dense tensors.
 *
 * Checkpoints and models contain dense tensors, zeros included, because they are independent of
 * grids; a checkpoint stores a mask as a separate list.
 */
#include <string.h>

#include "train/run_priv.h"

hpc_value trainer_dense_of(const hpc_trainer *t, hpc_value v)
{
    hpc_value index = t->p->value[v].type.picked - 1;
    if (index < 0 || index == v || t->p->value[v].kind != HPC_VALUE_STATE) return HPC_NONE;
    for (hpc_value k = 0; k < t->p->value_n; k++)
        if (t->p->value[k].index == index) return k;
    return HPC_NONE;
}

/* bf16 copies for the model, and masters with the parameter's type. */
bool trainer_derives(const hpc_trainer *t, hpc_value v)
{
    hpc_value dense = trainer_dense_of(t, v);
    if (dense < 0) return false;
    if (t->p->value[v].type.dtype == HPC_BF16) return true;
    return t->p->value[v].param >= 0 && t->p->value[v].type.dtype == t->p->value[dense].type.dtype;
}

int trainer_find_kept(hpc_trainer *t)
{
    const hpc_program *p = t->p;
    t->keeps = hpc_alloc((size_t)p->value_n + 1, sizeof *t->keeps);
    t->from_base = hpc_alloc((size_t)p->value_n + 1, sizeof *t->from_base);
    if (!t->keeps || !t->from_base) return HPC_E_NOMEM;
    for (hpc_value v = 0; v < p->value_n; v++)
        t->keeps[v] = p->value[v].kind == HPC_VALUE_STATE && p->value[v].base < 0 &&
                      !p->value[v].buffer;
    for (hpc_value v = 0; v < p->value_n; v++)
        if (p->value[v].kind == HPC_VALUE_STATE) {
            if (p->value[v].grad >= 0) t->keeps[p->value[v].grad] = false;
            if (p->value[v].whole >= 0) t->keeps[p->value[v].whole] = false;
            if (p->value[v].index >= 0) t->keeps[p->value[v].index] = false;
            if (trainer_derives(t, v)) t->keeps[v] = false;
        }
    return HPC_OK;
}

/* The elements of this rank's part that learn; *n: how many. */
static int list_part(int32_t **out, int64_t *n, const hpc_trainer *t, hpc_value param)
{
    const hpc_type *local = &t->p->value[param].type;
    const hpc_mask *m = hpc_masks_find(t->o.masks, t->p->value[param].name);
    int coord[HPC_AXIS_N];
    hpc_assert(m);
    trainer_coord(coord, t);
    *out =
        hpc_alloc((size_t)t->p->value[t->p->value[param].index].type.extent[0] + 1, sizeof **out);
    if (!*out) return HPC_E_NOMEM;
    *n = hpc_mask_part(*out, m, local, &t->whole[param], trainer_shape(t), coord);
    return HPC_OK;
}

/* Where this rank's share of the picked elements begins; all begin at 0 unless ZeRO shares them. */
static int64_t first_of(const hpc_trainer *t, hpc_value v)
{
    const hpc_type *type = &t->p->value[v].type;
    int data = t->o.grid ? hpc_grid_coord(t->o.grid, HPC_AXIS_DATA) : 0;
    return type->layout[HPC_AXIS_DATA] > 0 ? data * type->extent[0] : 0;
}

int trainer_write_picked(hpc_trainer *t, hpc_value v, const uint8_t *tile, size_t element)
{
    int64_t n = 0, first = first_of(t, v), mine = t->p->value[v].type.extent[0];
    int32_t *list = NULL;
    uint8_t *room = hpc_alloc((size_t)mine, element);
    int rc;
    if (!room) return HPC_E_NOMEM;
    TRY(list_part(&list, &n, t, trainer_dense_of(t, v)));
    for (int64_t k = 0; k < mine && first + k < n; k++)
        memcpy(room + (size_t)k * element, tile + (size_t)list[first + k] * element, element);
    TRY(hpc_exec_write(t->exec, 0, v, room, (size_t)mine * element));
out:
    hpc_free(list);
    hpc_free(room);
    return rc;
}

int trainer_read_picked(uint8_t *tile, const hpc_trainer *t, hpc_value v)
{
    const hpc_type *type = &t->p->value[v].type;
    hpc_value param = trainer_dense_of(t, v);
    size_t element = hpc_dtype_get((hpc_dtype)type->dtype)->block_bytes;
    int64_t n = 0, all = t->p->value[t->p->value[param].index].type.extent[0];
    int64_t mine = type->extent[0];
    uint8_t *room = hpc_alloc((size_t)all, element), *part = hpc_alloc((size_t)mine, element);
    int32_t *list = NULL;
    hpc_link *link;
    int rc;
    if (!room || !part) TRY(HPC_E_NOMEM);
    TRY(list_part(&list, &n, t, param));
    TRY(hpc_exec_read(t->exec, 0, v, part, (size_t)mine * element));
    if (mine < all) {
        TRY(hpc_grid_link(&link, t->o.grid, 1u << HPC_AXIS_DATA));
        TRY(hpc_link_run(link, &(hpc_comm){.kind = HPC_ALL_GATHER,
                                           .dtype = (hpc_dtype)type->dtype,
                                           .n = mine,
                                           .send = part,
                                           .recv = room}));
    }
    const uint8_t *from = mine < all ? room : part;
    memset(tile, 0,
           hpc_type_bytes(&t->p->value[param].type) /
               hpc_dtype_get((hpc_dtype)t->p->value[param].type.dtype)->block_bytes * element);
    for (int64_t k = 0; k < n; k++)
        memcpy(tile + (size_t)list[k] * element, from + (size_t)k * element, element);
out:
    hpc_free(list);
    hpc_free(room);
    hpc_free(part);
    return rc;
}

int trainer_zero_others(const hpc_trainer *t, hpc_value param, uint8_t *tile, size_t element)
{
    int64_t n = 0, at = 0, k = 0;
    int64_t all = t->p->value[param].type.extent[0] * t->p->value[param].type.extent[1];
    int32_t *list = NULL;
    int rc = list_part(&list, &n, t, param);
    for (; rc >= 0 && k <= n; k++) {
        int64_t end = k < n ? list[k] : all;
        memset(tile + (size_t)at * element, 0, (size_t)(end - at) * element);
        at = end + 1;
    }
    hpc_free(list);
    return rc;
}

int trainer_write_indices(hpc_trainer *t)
{
    int rc = HPC_OK;
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        hpc_value index = t->p->value[v].index;
        int32_t *list = NULL;
        int64_t n = 0;
        if (index < 0 || t->p->value[index].absent) continue;
        int64_t all = t->p->value[index].type.extent[0];
        rc = list_part(&list, &n, t, v);
        for (int64_t k = n; rc >= 0 && k < all; k++) list[k] = -1;
        if (rc >= 0) rc = hpc_exec_write(t->exec, 0, index, list, (size_t)all * sizeof *list);
        hpc_free(list);
        if (rc < 0) break;
    }
    return rc;
}

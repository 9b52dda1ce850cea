/*
 * checkpoint_masks.c: reads the pruning state of a checkpoint before a trainer exists.
 */
#include "train/checkpoint_priv.h"

/* Checks a sharded checkpoint completely (a single file's hash was checked at open). Loading would
 * skip a damaged one and use an earlier one, which may not be pruned. */
static int check_whole(const char *folder, int64_t step)
{
    checkpoint_state *s = NULL;
    hpc_json *root = NULL;
    hpc_checkpoint c;
    int rc;
    TRY(checkpoint_record_read(&root, &c, folder, step));
    if (!hpc_json_get(root, "prune")) goto out;
    TRY(checkpoint_state_open(&s, folder, step, root));
    TRY(checkpoint_state_check(s));
out:
    checkpoint_state_close(s);
    hpc_json_free(root);
    return rc;
}

/* step: -1: no intact checkpoint, which loading reports. */
static int newest_whole(int64_t *step, const char *folder)
{
    int64_t *list = NULL, n = 0;
    int rc;
    *step = -1;
    TRY(checkpoint_steps(&list, &n, folder, "json"));
    for (int64_t k = n - 1; k >= 0 && *step < 0; k--) {
        rc = check_whole(folder, list[k]);
        if (rc >= 0) *step = list[k];
        if (rc < 0 && rc != HPC_E_FORMAT && rc != HPC_E_IO) goto out;
        if (rc < 0) hpc_error_clear();
    }
    rc = HPC_OK;
out:
    hpc_free(list);
    return rc;
}

static int read_mask(hpc_mask *m, checkpoint_state *s)
{
    static const int64_t origin[HPC_RANK_MAX];
    char name[CHECKPOINT_MASK];
    hpc_stored_tensor x;
    int32_t *list = NULL;
    int rc;
    checkpoint_mask_name(name, m);
    if (!checkpoint_state_find(&x, s, name))
        return hpc_fail(HPC_E_FORMAT, "it is pruned, but has no %s", name);
    if (x.dtype != HPC_I32 || x.rank != 1 || x.extent[0] > m->n)
        return hpc_fail(HPC_E_FORMAT, "%s is not a list of elements", name);
    list = hpc_alloc((size_t)x.extent[0] + 1, sizeof *list);
    if (!list) return HPC_E_NOMEM;
    TRY(checkpoint_state_read(list, s, name, origin, x.extent));
    TRY(hpc_mask_set(m, list, x.extent[0]));
out:
    hpc_free(list);
    return rc;
}

static int read_masks(hpc_checkpoint *c, hpc_masks **masks, const char *folder, int64_t step,
                      const hpc_model_config *model)
{
    checkpoint_state *s = NULL;
    hpc_json *root = NULL;
    int rc;
    TRY(checkpoint_record_read(&root, c, folder, step));
    if (!hpc_json_get(root, "prune")) goto out;
    TRY(checkpoint_state_open(&s, folder, step, root));
    TRY(hpc_masks_create(masks, model));
    (*masks)->kept = 0;
    for (int64_t k = 0; k < (*masks)->mask_n; k++) {
        rc = read_mask(&(*masks)->mask[k], s);
        if (rc < 0) {
            hpc_error_where("%s, step %lld", folder, (long long)step);
            goto out;
        }
        (*masks)->kept += (*masks)->mask[k].kept;
    }
out:
    checkpoint_state_close(s);
    hpc_json_free(root);
    return rc;
}

int hpc_checkpoint_masks(hpc_checkpoint *c, hpc_masks **masks, const char *folder,
                         const hpc_model_config *model, hpc_grid *grid)
{
    hpc_link *world = grid ? hpc_grid_world(grid) : NULL;
    int64_t mine = -1, step = -1;
    int rc = HPC_OK;
    *masks = NULL;
    *c = (hpc_checkpoint){0};
    if (!world || hpc_link_rank(world) == 0) rc = newest_whole(&mine, folder);
    if (world) rc = hpc_link_agree(world, rc);
    if (rc < 0) return rc;
    step = mine;
    if (world)
        TRY(hpc_link_run(
            world,
            &(hpc_comm){
                .kind = HPC_BROADCAST, .dtype = HPC_I64, .n = 1, .send = &mine, .recv = &step}));
    if (step < 0) goto out;
    rc = read_masks(c, masks, folder, step, model);
    if (world) rc = hpc_link_agree(world, rc);
out:
    if (rc < 0) {
        hpc_masks_free(*masks);
        *masks = NULL;
    }
    return rc;
}

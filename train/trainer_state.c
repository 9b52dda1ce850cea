/*
 * trainer_state.c: a trainer's initial state, frozen parameters included, and the export of its
 * parameters.
 */
#include <stdio.h>
#include <string.h>

#include "model/peft.h"
#include "model/serve.h"
#include "model/upcycle.h"
#include "train/run_priv.h"

static size_t largest_state(const hpc_trainer *t)
{
    size_t most = 0;
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        if (!trainer_keeps(t, v)) continue;
        hpc_type type = t->whole[v];
        type.dtype = HPC_F32;
        if (hpc_type_bytes(&type) > most) most = hpc_type_bytes(&type);
    }
    return most;
}

static int64_t elements_of(const hpc_type *t)
{
    const hpc_dtype_info *info = hpc_dtype_get((hpc_dtype)t->dtype);
    return (int64_t)(hpc_type_bytes(t) / info->block_bytes) * info->block;
}

hpc_dtype trainer_frozen_type(const hpc_model_tensor *row, void *user)
{
    const hpc_trainer *t = user;
    const int *ranks = t->o.parallel.grid.extent;
    bool split = t->o.parallel.zero == 3 || ranks[HPC_AXIS_DEPTH] > 1 || ranks[HPC_AXIS_PIPE] > 1;
    if ((t->o.grid && split) || !trainer_is_base(t->base, row)) return t->o.model.dtype;
    return hpc_serve_frozen(t->base, row, t->o.model.dtype);
}

/* Is v a frozen matrix in the type of its file? */
static bool is_stored_type(const hpc_trainer *t, hpc_value v)
{
    const hpc_value_info *info = &t->p->value[v];
    return t->from_base[v] && !info->trainable && info->type.dtype != t->o.model.dtype;
}

static int write_stored(hpc_trainer *t, hpc_value v, const hpc_model_tensor *row, void *room)
{
    const hpc_type *type = &t->p->value[v].type;
    int rc;
    TRY(hpc_serve_read(room, type, t->base, row));
    TRY(hpc_exec_write(t->exec, 0, v, room, hpc_type_bytes(type)));
out:
    return rc;
}

/* Writes v from the whole tensor in f32. */
static int write_real(hpc_trainer *t, hpc_value v, const float *data, void *room)
{
    hpc_dtype dtype = (hpc_dtype)t->whole[v].dtype;
    if (dtype == HPC_F32) return trainer_put(t, v, data);
    hpc_from_f32(room, dtype, data, elements_of(&t->whole[v]));
    return trainer_put(t, v, room);
}

const hpc_model_tensor *trainer_tensor_of(const hpc_model_tensor *tensor, int64_t n,
                                          const hpc_program *p, hpc_value v)
{
    const char *name = p->value[p->value[v].param >= 0 ? p->value[v].param : v].name;
    for (int64_t k = 0; k < n; k++)
        if (strcmp(tensor[k].name, name) == 0) return &tensor[k];
    return NULL;
}

/* The first values of a tensor of the model, in f32. */
static int read_first(float *out, const hpc_trainer *t, const hpc_peft *peft,
                      const hpc_model_tensor *row, int64_t n)
{
    bool copies = t->o.single && row->batch > 0;
    const hpc_upcycle_options o = {.zeros = t->o.zeros, .seed = t->o.seed};
    if (peft && row->adapter) return hpc_peft_read(out, peft, t->base, row);
    if (copies) return hpc_weights_read_copies(out, t->base, t->o.single, row, &o);
    if (t->o.single && row->part == HPC_PART_ROUTER) {
        hpc_model_init(out, row, 0, n, t->o.seed);
        return HPC_OK;
    }
    if (t->base && hpc_weights_has(t->base, row)) return hpc_weights_read(out, t->base, row);
    hpc_model_init(out, row, 0, n, t->o.seed);
    return HPC_OK;
}

static int open_peft(hpc_peft **out, const hpc_trainer *t)
{
    hpc_model_config c = t->o.model;
    if (!t->o.adapter) return HPC_OK;
    int rc = hpc_peft_open(out, t->o.adapter, &c);
    if (rc < 0 || !hpc_peft_replaces_any(*out)) return rc;
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "%s replaces whole tensors (modules_to_save): import it with --adapter, and "
                    "train the result",
                    t->o.adapter);
}

int trainer_write_state(hpc_trainer *t)
{
    size_t most = largest_state(t);
    float *data = hpc_alloc(most ? most : 1, 1);
    void *room = hpc_alloc(most ? most : 1, 2); /* as f64 */
    hpc_model_tensor *tensor = NULL;
    hpc_hash128 *hash = NULL; /* of the base's tensors */
    hpc_peft *peft = NULL;
    int64_t n = 0;
    int rc = HPC_OK;
    if (!data || !room) TRY(HPC_E_NOMEM);
    TRY(open_peft(&peft, t));
    TRY(hpc_model_tensors(&tensor, &n, &t->o.model));
    hash = hpc_alloc((size_t)n + 1, sizeof *hash);
    if (!hash) TRY(HPC_E_NOMEM);
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        if (!trainer_keeps(t, v)) continue;
        const hpc_model_tensor *row = trainer_tensor_of(tensor, n, t->p, v);
        if (row)
            TRY(read_first(data, t, peft, row, elements_of(&t->whole[v])));
        else
            hpc_step_initial(data, &t->io, v, &t->whole[v], &t->o.model);
        size_t bytes = (size_t)elements_of(&t->whole[v]) * sizeof *data;
        t->begun = hpc_hash(data, bytes, t->begun);
        t->from_base[v] = row && trainer_is_base(t->base, row);
        if (t->from_base[v]) hash[row - tensor] = hpc_hash_wide(data, bytes);
        TRY(is_stored_type(t, v) ? write_stored(t, v, row, room) : write_real(t, v, data, room));
    }
    t->base_hash = trainer_base_hash(hash, n);
    TRY(trainer_write_indices(t));
    TRY(trainer_written(t));
out:
    hpc_peft_close(peft);
    hpc_free(hash);
    hpc_free(tensor);
    hpc_free(data);
    hpc_free(room);
    return rc;
}

/* ---- export --------------------------------------------------------------------------------- */

/* A frozen matrix, with the values that the run computed with. */
static int read_stored(float *out, const hpc_trainer *t, hpc_value v, void *room)
{
    const hpc_type *type = &t->p->value[v].type;
    int64_t n = elements_of(type);
    int rc = hpc_exec_read(t->exec, 0, v, room, hpc_type_bytes(type));
    if (rc < 0) return rc;
    hpc_to_f32(out, room, (hpc_dtype)type->dtype, n);
    if (t->o.model.dtype != HPC_BF16) return HPC_OK;
    hpc_from_f32(room, HPC_BF16, out, n);
    hpc_to_f32(out, room, HPC_BF16, n);
    return HPC_OK;
}

static int read_parameter(float *out, const hpc_model_tensor *tensor, void *user)
{
    const hpc_trainer *t = user;
    hpc_value v = hpc_program_find(t->p, tensor->name);
    if (v < 0) return hpc_fail(HPC_E_STATE, "the program has no %s", tensor->name);
    if (t->p->value[v].master >= 0) v = t->p->value[v].master;
    hpc_type type = t->whole[v];
    if (type.dtype == HPC_F32) return trainer_fetch(out, t, v);
    void *room = hpc_alloc((size_t)elements_of(&type) + 1, sizeof(double)); /* for any type */
    if (!room) return HPC_E_NOMEM;
    int rc = is_stored_type(t, v) ? read_stored(out, t, v, room) : trainer_fetch(room, t, v);
    if (rc >= 0 && !is_stored_type(t, v))
        hpc_to_f32(out, room, (hpc_dtype)type.dtype, elements_of(&type));
    hpc_free(room);
    return rc;
}

int hpc_trainer_export(const hpc_trainer *t, const char *dir)
{
    hpc_weights_save_options s = {
        .dtype = HPC_F32, .read = read_parameter, .user = (void *)(uintptr_t)t};
    if (!trainer_leads(t)) return trainer_attend(t);
    int rc = hpc_weights_save(dir, &t->o.model, &s);
    return rc < 0 ? rc : trainer_dismiss(t);
}

/*
 * checkpoint_export.c: reads the model in a checkpoint, single-file or sharded, without a trainer.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/checkpoint_priv.h"

struct hpc_saved {
    checkpoint_state *state;
    hpc_weights *base; /* the base for omitted tensors; NULL: none */
    hpc_json *record;
    hpc_checkpoint at;
    hpc_model_config model;
    char folder[CHECKPOINT_PATH];
};

/* The trained tokens; records of older versions have none. */
static int read_tokens(hpc_adapter_config *out, const hpc_json *list)
{
    int64_t id = 0;
    int rc = HPC_OK;
    for (int64_t k = 0; k < hpc_json_n(list) && k < HPC_ADAPTER_TOKENS; k++) {
        TRY(hpc_json_int(&id, hpc_json_at(list, k), "token"));
        out->token[out->token_n++] = (int32_t)id;
    }
out:
    return rc;
}

static int read_config(hpc_saved *s)
{
    const hpc_json *model = hpc_json_get(s->record, "model");
    const hpc_json *adapter = hpc_json_get(s->record, "adapter");
    const char *alpha;
    int64_t rank = 0, targets = 0;
    int rc;
    if (!model || !adapter)
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "%s, step %lld: the checkpoint does not describe the model; run train "
                        "--resume for one more step to write a new one",
                        s->folder, (long long)s->at.step);
    TRY(hpc_model_config_load(&s->model, model));
    TRY(hpc_json_int(&rank, hpc_json_get(adapter, "rank"), "rank"));
    TRY(hpc_json_int(&targets, hpc_json_get(adapter, "targets"), "targets"));
    TRY(hpc_json_text(&alpha, hpc_json_get(adapter, "alpha"), "alpha"));
    s->model.adapter = (hpc_adapter_config){
        .rank = rank, .alpha = strtod(alpha, NULL), .targets = (uint32_t)targets};
    TRY(read_tokens(&s->model.adapter, hpc_json_get(adapter, "tokens")));
    TRY(hpc_model_config_check(&s->model));
out:
    return rc;
}

/* "10, 20, 30", the newest ones where there are many. */
static int list_steps(hpc_buf *text, const char *folder)
{
    enum { SHOWN = 12 };
    int64_t *step = NULL, n = 0;
    int rc;
    TRY(checkpoint_steps(&step, &n, folder, "json"));
    if (n > SHOWN) TRY(hpc_buf_text(text, "..., "));
    for (int64_t k = n > SHOWN ? n - SHOWN : 0; k < n; k++)
        TRY(hpc_buf_printf(text, "%lld%s", (long long)step[k], k + 1 < n ? ", " : ""));
out:
    hpc_free(step);
    return rc;
}

/* step < 0: the newest. */
static int find_step(int64_t *step, const char *folder)
{
    char path[CHECKPOINT_PATH], name[CHECKPOINT_NAME];
    hpc_buf steps = {0};
    int64_t newest;
    int rc;
    TRY(hpc_checkpoint_newest(&newest, folder));
    if (newest < 0) TRY(hpc_fail(HPC_E_ARG, "%s has no checkpoint yet", folder));
    if (*step < 0) *step = newest;
    checkpoint_name(name, *step, "json");
    TRY(checkpoint_path(path, folder, name));
    if (hpc_file_exists(path)) goto out;
    TRY(list_steps(&steps, folder));
    TRY(hpc_fail(HPC_E_ARG, "%s: there is no checkpoint of step %lld; available steps: %s", folder,
                 (long long)*step, steps.data));
out:
    hpc_buf_release(&steps);
    return rc;
}

static int open_base(hpc_saved *s, const char *path)
{
    checkpoint_base b;
    int rc = checkpoint_base_read(&b, s->record);
    if (rc < 0) return rc;
    if (!b.path && path)
        return hpc_fail(HPC_E_ARG,
                        "--base %s: the checkpoint of step %lld holds all parameters; leave it out",
                        path, (long long)s->at.step);
    if (!b.path) return HPC_OK;
    return checkpoint_base_open(&s->base, &b, path, &s->model, "--base");
}

int hpc_saved_open(hpc_saved **out, const char *run, int64_t step, const char *base)
{
    hpc_saved *s = hpc_alloc(1, sizeof *s);
    int rc = s ? HPC_OK : HPC_E_NOMEM;
    *out = NULL;
    TRY(rc);
    TRY(checkpoint_path(s->folder, run, "checkpoints"));
    TRY(find_step(&step, s->folder));
    TRY(checkpoint_record_read(&s->record, &s->at, s->folder, step));
    TRY(read_config(s));
    TRY(checkpoint_state_open(&s->state, s->folder, step, s->record));
    TRY(open_base(s, base));
    *out = s;
    s = NULL;
out:
    hpc_saved_close(s);
    return rc;
}

void hpc_saved_close(hpc_saved *s)
{
    if (!s) return;
    checkpoint_state_close(s->state);
    hpc_weights_close(s->base);
    hpc_json_free(s->record);
    hpc_free(s);
}

const hpc_model_config *hpc_saved_config(const hpc_saved *s)
{
    return &s->model;
}

int64_t hpc_saved_step(const hpc_saved *s)
{
    return s->at.step;
}

/* The master where there is one, which has more digits than the parameter. */
static bool find(hpc_stored_tensor *x, const hpc_saved *s, const char *name)
{
    char master[HPC_TENSOR_NAME + 16];
    snprintf(master, sizeof master, "master.%s", name);
    return checkpoint_state_find(x, s->state, master) || checkpoint_state_find(x, s->state, name);
}

/* As the run held it: in the type that it computes in. */
static int read_base(float *out, const hpc_saved *s, const hpc_model_tensor *t)
{
    int64_t n = hpc_model_tensor_n(t);
    void *room;
    int rc = hpc_weights_read(out, s->base, t);
    if (rc < 0 || s->model.dtype == HPC_F32) return rc;
    room = hpc_alloc((size_t)n + 1, hpc_dtype_get(s->model.dtype)->block_bytes);
    if (!room) return HPC_E_NOMEM;
    hpc_from_f32(room, s->model.dtype, out, n);
    hpc_to_f32(out, room, s->model.dtype, n);
    hpc_free(room);
    return rc;
}

int hpc_saved_read(float *out, const hpc_model_tensor *t, void *saved)
{
    static const int64_t origin[HPC_RANK_MAX];
    hpc_saved *s = saved;
    hpc_stored_tensor x;
    int64_t n = hpc_model_tensor_n(t), extent[3];
    void *room = NULL;
    int rc, rank = hpc_model_tensor_extents(extent, t);
    if (s->base && trainer_is_base(s->base, t)) return read_base(out, s, t);
    if (!find(&x, s, t->name))
        return hpc_fail(HPC_E_FORMAT, "%s, step %lld: it has no %s", s->folder,
                        (long long)s->at.step, t->name);
    if (x.rank != rank || memcmp(x.extent, extent, (size_t)rank * sizeof *extent) != 0)
        return hpc_fail(HPC_E_FORMAT, "%s, step %lld: its %s has another shape", s->folder,
                        (long long)s->at.step, t->name);
    room = hpc_alloc((size_t)n + 1, hpc_dtype_get(x.dtype)->block_bytes);
    if (!room) TRY(HPC_E_NOMEM);
    TRY(checkpoint_state_read(room, s->state, x.name, origin, x.extent));
    hpc_to_f32(out, room, x.dtype, n);
out:
    hpc_free(room);
    return rc;
}

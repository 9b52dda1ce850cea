/*
 * offload.c: optimizer state in a mapped file or in pinned memory: which state, the pass over a
 * step, and the memory.
 */
#include "train/plan.h"
#include "train/run_priv.h"

enum { DEFAULT_BUCKET = 1 << 20 };

const char *const hpc_offload_names[] = {[HPC_OFFLOAD_AUTO] = "auto",
                                         [HPC_OFFLOAD_NONE] = "none",
                                         [HPC_OFFLOAD_OPTIMIZER] = "optimizer",
                                         NULL};

int hpc_step_offload(hpc_offload_options *o, const hpc_step *io, hpc_program *p)
{
    int64_t bytes = hpc_offload_choose(p, io->update);
    if (bytes < 0) return (int)bytes;
    if (bytes == 0)
        return hpc_fail(HPC_E_ARG,
                        "offload: the optimizer has no moments or masters that only element-wise "
                        "updates use; use adamw without adama, or offload=none");
    return hpc_offload(p, o);
}

static bool is_outside(const hpc_trainer *t, hpc_value v)
{
    return t->p->value[v].outside && t->p->value[v].base < 0;
}

static size_t aligned(size_t bytes)
{
    return (bytes + HPC_ALIGN - 1) / HPC_ALIGN * HPC_ALIGN;
}

int64_t trainer_offload_bucket(const hpc_trainer_options *o)
{
    if (o->offload.policy != HPC_OFFLOAD_OPTIMIZER) return 0;
    return o->offload.bucket > 0 ? o->offload.bucket : DEFAULT_BUCKET;
}

int trainer_offload(hpc_trainer *t)
{
    trainer_outside *x;
    int rc;
    if (t->o.offload.policy != HPC_OFFLOAD_OPTIMIZER) return HPC_OK;
    hpc_offload_options o = {.bucket = t->value->offload};
    TRY(hpc_step_offload(&o, &t->io, t->p));
    x = t->outside = hpc_alloc(1, sizeof *x);
    if (!x) TRY(HPC_E_NOMEM);
    x->lent = hpc_alloc((size_t)t->p->value_n, sizeof *x->lent);
    if (!x->lent) TRY(HPC_E_NOMEM);
    for (hpc_value v = 0; v < t->p->value_n; v++) {
        if (!is_outside(t, v)) continue;
        size_t bytes = hpc_type_bytes(&t->p->value[v].type);
        x->lent[x->lent_n++] = (hpc_lent){.state = v, .bytes = bytes, .writable = true};
        x->bytes += aligned(bytes);
        t->plan.outside_bytes += (double)bytes;
    }
    t->plan.moved_bytes = (double)o.moved_bytes;
out:
    return rc;
}

int trainer_offload_open(hpc_trainer *t)
{
    trainer_outside *x = t->outside;
    size_t at = 0;
    if (!x) return HPC_OK;
    const hpc_device_info about = hpc_device_about(t->device);
    if (!hpc_exec_lends(t->device))
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "offload: device %s cannot read a mapped file or pinned memory; use "
                        "device=cpu, or offload=none",
                        about.backend);
    if (t->dry) return HPC_OK;
    x->pinned = !about.host_memory;
    int rc = x->pinned ? hpc_device_host_alloc(&x->data, t->device, x->bytes)
                       : hpc_file_scratch(&x->data, t->o.offload.folder, x->bytes);
    if (rc < 0) return hpc_error_where("offload");
    for (int64_t k = 0; k < x->lent_n; k++) {
        x->lent[k].data = (uint8_t *)x->data + at;
        at += aligned(x->lent[k].bytes);
    }
    return HPC_OK;
}

void trainer_offload_close(hpc_trainer *t)
{
    if (!t->outside) return;
    if (t->outside->pinned)
        hpc_device_host_free(t->device, t->outside->data);
    else
        hpc_file_scratch_close(t->outside->data, t->outside->bytes);
    hpc_free(t->outside->lent);
    hpc_free(t->outside);
}

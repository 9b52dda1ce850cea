/*
 * shard_keep.c: copies of parameters that ranks keep gathered between uses, and their gathering.
 */
#include "runtime/program/shard_priv.h"

/* State for it, where it is split on axes of `keep`. */
static int keep_whole(sharder *w, hpc_value v, hpc_axes keep)
{
    hpc_program *p = w->p;
    hpc_type t = w->global[v];
    bool split = false;
    for (int a = 0; a < HPC_AXIS_N; a++) {
        if (shard_extent(w, a) == 1 || t.layout[a] <= 0 || !(keep >> a & 1)) continue;
        split = true;
        t.layout[a] = HPC_REPLICATED;
    }
    if (!split) return HPC_OK;
    int rc = shard_set_local(w, v, &t);
    if (rc < 0) return rc;
    char *name = hpc_arena_text(p->arena, "whole.%s", p->value[v].name);
    hpc_value whole = name ? hpc_value_add(p, name, HPC_VALUE_STATE, t) : HPC_NONE;
    if (whole < 0) return HPC_E_NOMEM;
    p->value[v].whole = whole;
    return HPC_OK;
}

int shard_keep_all(sharder *w, hpc_axes keep)
{
    for (hpc_value v = 0; v < w->global_n; v++) {
        int rc = w->p->value[v].trainable ? keep_whole(w, v, keep) : HPC_OK;
        if (rc < 0) return rc;
    }
    return HPC_OK;
}

int shard_gather_all(sharder *w, hpc_shard_options *o)
{
    hpc_program *p = w->p;
    int rc = HPC_OK;
    for (hpc_value v = 0; v < w->global_n; v++) {
        if (p->value[v].whole == HPC_NONE) continue;
        if (o->gather < 0) TRY(o->gather = hpc_program_segment(p, HPC_UPDATE, 2));
        TRY(shard_gather_into(w, p->value[v].whole, v));
    }
out:
    return rc;
}

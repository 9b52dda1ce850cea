/*
 * engine_memory.c: the message for a model that does not fit into a device's memory: its sizes, and
 * the weights and the length of a cache that fit.
 */
#include <stdio.h>
#include <string.h>

#include "infer/engine/priv.h"

/* Bytes. */
typedef struct needs {
    double weights, cache, rest; /* rest: activations and workspaces */
    double smaller;              /* the weights in q4_K */
    double tokens;               /* that the cache holds */
    double available;            /* 0: unknown */
} needs;

static int measure_smaller(needs *n, const engine_model *m)
{
    hpc_model_tensor *list = NULL;
    int64_t count = 0;
    int rc;

    TRY(hpc_model_tensors(&list, &count, &m->c));
    for (int64_t k = 0; k < count; k++) {
        const hpc_dtype_info *d = hpc_dtype_get(
            list[k].rank == 2 ? hpc_serve_choose(m->from, &list[k], HPC_Q4_K) : HPC_F32);
        double elements =
            (double)list[k].extent[0] * (double)(list[k].rank == 2 ? list[k].extent[1] : 1);
        n->smaller += elements / (double)d->block * (double)d->block_bytes;
    }
out:
    hpc_free(list);
    return rc;
}

static int measure(needs *n, const engine_model *m)
{
    hpc_arena *a = hpc_arena_create(0);
    hpc_placement place;
    int rc = a ? HPC_OK : HPC_E_NOMEM;

    *n = (needs){.tokens = (double)m->shape.pages * (double)m->shape.page,
                 .available = (double)hpc_device_available(m->d)};
    TRY(rc);
    for (hpc_value v = 0; v < m->p->value_n; v++) {
        const hpc_value_info *i = &m->p->value[v];
        bool is_cache = i->name && strncmp(i->name, "cache.", 6) == 0;
        if (i->kind == HPC_VALUE_STATE && i->base < 0)
            *(is_cache ? &n->cache : &n->weights) += (double)hpc_type_bytes(&i->type);
    }
    TRY(measure_smaller(n, m));
    if (n->available > 0) {
        TRY(hpc_exec_place(&place, a, m->p, m->d, 1));
        for (int s = 0; s < HPC_SPACE_N; s++)
            if (s != HPC_SPACE_STATE) n->rest += (double)place.bytes[s];
    }
out:
    hpc_arena_free(a);
    return rc;
}

/* Tokens of a cache that fits with weights of so many bytes, in whole pages. */
static double fitting(const needs *n, double weights)
{
    const double page = ENGINE_PAGE * n->cache / n->tokens;
    const double pages = (n->available - weights - n->rest) / page;
    return pages < 1 ? 0 : ENGINE_PAGE * (double)(int64_t)pages;
}

static void print_fitting(char *out, size_t size, const needs *n)
{
    const double now = fitting(n, n->weights), all = fitting(n, n->smaller),
                 then = all < n->tokens ? all : n->tokens;
    const int at = snprintf(out, size, "; %.1f MiB are available, where ", n->available / 0x1p20);
    if (now > 0 && then > now)
        snprintf(out + at, size - (size_t)at,
                 "a cache of %.0f tokens fits, or one of %.0f with --weights q4_K", now, then);
    else if (now > 0)
        snprintf(out + at, size - (size_t)at, "a cache of %.0f tokens fits", now);
    else if (then > 0)
        snprintf(out + at, size - (size_t)at, "--weights q4_K with a cache of %.0f tokens fits",
                 then);
    else
        snprintf(out + at, size - (size_t)at, "not even --weights q4_K fits");
}

int engine_memory_explain(const engine_model *m, int rc)
{
    const double mib = 0x1p20;
    needs n;
    hpc_error failed = *hpc_error_get();
    char choice[96] = "", fits[160] = "";

    if (rc != HPC_E_NOMEM || !m->p || m->packed) return rc;
    hpc_error_clear();
    if (measure(&n, m) >= 0) {
        if (n.smaller < 0.9 * n.weights)
            snprintf(choice, sizeof choice, " (%.0f MiB with --weights q4_K)", n.smaller / mib);
        if (n.available > 0) print_fitting(fits, sizeof fits, &n);
    }
    hpc_error_clear();
    hpc_error_adopt(&failed);
    return hpc_error_where("device %s cannot hold weights of %.0f MiB%s and a key-value cache of "
                           "%.0f MiB, which has fewer tokens or --cache bf16 makes smaller%s",
                           hpc_device_about(m->d).backend, n.weights / mib, choice, n.cache / mib,
                           fits);
}

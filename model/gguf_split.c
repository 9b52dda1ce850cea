/*
 * gguf_split.c: models that llama-gguf-split cut into files NAME-00001-of-0000N.gguf.
 *
 * The first file has the keys, each file has the tensors of its own. Any of them opens the model.
 */
#include <stdio.h>
#include <string.h>

#include "model/gguf_priv.h"

enum { SUFFIX = 64, PATH = 4096 };

/* How the name of file `no`, counted from 0, of `n` ends. */
static void suffix_of(char out[SUFFIX], int64_t no, int64_t n)
{
    snprintf(out, SUFFIX, "-%05lld-of-%05lld.gguf", (long long)no + 1, (long long)n);
}

/* The path of another part, from the path of `g`. */
static int path_of(char out[PATH], const hpc_gguf *g, const char *path, int64_t no)
{
    char own[SUFFIX], other[SUFFIX];
    suffix_of(own, g->split_no, g->split_n);
    suffix_of(other, no, g->split_n);
    size_t n = strlen(path), end = strlen(own);
    if (n < end || strcmp(path + n - end, own) != 0)
        return hpc_fail(HPC_E_FORMAT,
                        "%s: the file is part %lld of %lld of a split model, so its name must end "
                        "in %s; rename it",
                        g->path, (long long)g->split_no + 1, (long long)g->split_n, own);
    if (n - end + strlen(other) >= PATH) return hpc_fail(HPC_E_ARG, "%s: too long", g->path);
    snprintf(out, PATH, "%.*s%s", (int)(n - end), path, other);
    return HPC_OK;
}

static int open_part(hpc_gguf **out, const hpc_gguf *g, const char *path, int64_t no)
{
    char part[PATH];
    int rc = HPC_OK;
    TRY(path_of(part, g, path, no));
    if (!hpc_file_exists(part))
        TRY(hpc_fail(HPC_E_IO, "%s: part %lld of %lld is missing; all parts must be in one folder",
                     part, (long long)no + 1, (long long)g->split_n));
    TRY(model_gguf_open_file(out, part));
    if ((*out)->split_n != g->split_n || (*out)->split_no != no)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%s: its keys call it part %lld of %lld; its name, part %lld of %lld", part,
                     (long long)(*out)->split_no + 1, (long long)(*out)->split_n, (long long)no + 1,
                     (long long)g->split_n));
out:
    return rc;
}

/* Sorts the opened file into its place and opens the others. `all` has split_n files. */
static int open_parts(hpc_gguf **all, hpc_gguf *g, const char *path)
{
    int rc = HPC_OK;
    all[g->split_no] = g;
    for (int64_t k = 0; k < g->split_n; k++)
        if (k != g->split_no) TRY(open_part(&all[k], g, path, k));
out:
    return rc;
}

static int add_entries(gguf_entry *list, hpc_gguf *g, int64_t first, const hpc_gguf *part)
{
    int rc = HPC_OK;
    for (int64_t k = 0; k < part->n; k++) {
        const char *name = part->entry[k].name;
        if (first > 0 && hpc_map_get(g->names, name, strlen(name), NULL))
            TRY(hpc_fail(HPC_E_FORMAT, "%s: tensor %s is also in another part of the model",
                         part->path, name));
        if (first > 0) TRY(hpc_map_put(g->names, name, strlen(name), (uint64_t)(first + k)));
        list[first + k] = part->entry[k];
    }
out:
    return rc;
}

/* The first file gets the tensors of all, and keeps the others open. */
static int merge(hpc_gguf *const *all)
{
    hpc_gguf *g = all[0];
    int64_t n = 0, written, parts = g->split_n;
    int rc = HPC_OK;
    for (int64_t k = 0; k < parts; k++) n += all[k]->n;
    TRY(model_gguf_int(&written, g, "split.tensors.count", n));
    if (written != n)
        TRY(hpc_fail(HPC_E_FORMAT,
                     "%s: the parts have %lld tensors, split.tensors.count is %lld: parts of "
                     "different models",
                     g->path, (long long)n, (long long)written));
    gguf_entry *list = hpc_arena_alloc(g->arena, (size_t)n + 1, sizeof *list);
    if (!list) TRY(HPC_E_NOMEM);
    n = 0;
    for (int64_t k = 0; k < parts; k++) {
        TRY(add_entries(list, g, n, all[k]));
        n += all[k]->n;
    }
    g->entry = list;
    g->n = n;
out:
    return rc;
}

int model_gguf_join(hpc_gguf **g, const char *path)
{
    hpc_gguf **all;
    int64_t n = (*g)->split_n;
    int rc = HPC_OK;
    if (n <= 1) return HPC_OK;
    all = hpc_alloc((size_t)n, sizeof *all);
    if (!all) TRY(HPC_E_NOMEM);
    TRY(open_parts(all, *g, path));
    TRY(merge(all));
    all[0]->part = all;
    all[0]->part_n = n;
    *g = all[0];
    return HPC_OK;
out:
    if (!all) hpc_gguf_close(*g);
    for (int64_t k = 0; all && k < n; k++) hpc_gguf_close(all[k]);
    hpc_free(all);
    *g = NULL;
    return rc;
}

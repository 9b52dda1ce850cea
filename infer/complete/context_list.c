/*
 * context_list.c: lists the source files of a repository: those in its index, by name, and those on
 * disk in one folder.
 */
#include <stdlib.h>
#include <string.h>

#include "infer/complete/context_priv.h"
#include "runtime/base/path.h"

enum { CHAIN_MOST = 4096 }; /* files of one name that are looked at */

/* Case is ignored, as in Fortran modules. */
uint32_t context_stem(const char *path)
{
    const char *name = context_name_of(path);
    char lower[64];
    size_t n = 0;
    for (; name[n] && (name[n] != '.' || n == 0) && n < sizeof lower; n++)
        lower[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] + ('a' - 'A') : name[n]);
    return (uint32_t)hpc_hash(lower, n, 0);
}

static int choose_paths(context_list *l)
{
    const char *path = l->index.paths.data;
    int rc = HPC_OK;
    l->n = 0;
    for (int64_t k = 0; k < l->index.n; k++, path += strlen(path) + 1) {
        hpc_language language = hpc_language_of_path(path);
        if (language == HPC_LANGUAGE_NONE) continue;
        TRY(hpc_grow(&l->path, &l->cap, l->n + 1, sizeof *l->path));
        TRY(hpc_grow(&l->language, &l->language_cap, l->n + 1, sizeof *l->language));
        l->language[l->n] = (uint8_t)language;
        l->path[l->n++] = path;
    }
out:
    return rc;
}

/* Chains are in the list's order, so they are made from its end. */
static int make_table(context_list *l)
{
    int rc = HPC_OK;
    uint32_t heads = 64;
    while (heads < l->n) heads *= 2;
    hpc_free(l->head);
    l->heads = 0;
    l->head = hpc_alloc(heads, sizeof *l->head);
    if (!l->head) return HPC_E_NOMEM;
    TRY(hpc_grow(&l->next, &l->next_cap, l->n, sizeof *l->next));
    l->heads = heads;
    for (uint32_t k = 0; k < heads; k++) l->head[k] = -1;
    for (int64_t k = l->n - 1; k >= 0; k--) {
        int32_t *head = &l->head[context_stem(l->path[k]) & (heads - 1)];
        l->next[k] = *head;
        *head = (int32_t)k;
    }
out:
    return rc;
}

int context_list_refresh(context_list *l, hpc_git *g)
{
    int rc = HPC_OK;
    if (!g) return rc;
    rc = hpc_git_read_index(&l->index, g);
    if (rc == HPC_E_NOMEM) return rc;
    if (rc < 0) hpc_error_clear(); /* it may not be opened: as if there were none */
    if (l->version == l->index.version && l->heads > 0) return HPC_OK;
    l->heads = 0;
    TRY(choose_paths(l));
    TRY(make_table(l));
    l->version = l->index.version;
out:
    return rc;
}

int context_list_folder(context_list *l, const char *root, const char *folder)
{
    hpc_buf names = {0}, path = {0};
    int64_t n = 0;
    int rc;
    l->folder.n = 0;
    l->folder_n = 0;
    TRY(hpc_buf_printf(&path, "%s/%s", root, folder));
    rc = hpc_file_list(&names, &n, path.data);
    if (rc < 0 && rc != HPC_E_NOMEM) {
        hpc_error_clear();
        rc = HPC_OK;
    }
    TRY(rc);
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        if (hpc_language_of_path(name) == HPC_LANGUAGE_NONE) continue;
        TRY(hpc_buf_text(&l->folder, folder));
        TRY(hpc_buf_add(&l->folder, name, strlen(name) + 1));
        l->folder_n++;
    }
out:
    hpc_buf_release(&names);
    hpc_buf_release(&path);
    return rc;
}

void context_list_release(context_list *l)
{
    hpc_git_index_release(&l->index);
    hpc_free(l->path);
    hpc_free(l->language);
    hpc_free(l->head);
    hpc_free(l->next);
    hpc_buf_release(&l->folder);
    *l = (context_list){0};
}

int32_t context_list_first(const context_list *l, uint32_t stem)
{
    return l->heads > 0 ? l->head[stem & (l->heads - 1)] : -1;
}

const char *context_list_ending(const context_list *l, const char *name, const char *from)
{
    const char *best = NULL;
    int nearest = 0, met = 0;
    while (strncmp(name, "../", 3) == 0 || strncmp(name, "./", 2) == 0)
        name = strchr(name, '/') + 1;
    int32_t k = context_list_first(l, context_stem(name));
    for (; k >= 0 && met < CHAIN_MOST; k = l->next[k], met++) {
        if (!hpc_path_ends(l->path[k], name)) continue;
        int distance = context_distance(from, l->path[k]);
        if (best && distance >= nearest) continue;
        best = l->path[k];
        nearest = distance;
    }
    return best;
}

/*
 * describe.c: a repository's name, completeness and references.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

static int order_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int no_memory(void)
{
    return hpc_fail(HPC_E_NOMEM, "out of memory while listing references");
}

static int add_line(hpc_buf *lines, const hpc_git *g, const git_reference *ref)
{
    const git_oid *id = g->lib.reference_target(ref);
    hpc_git_id own;
    char hex[41] = "";
    if (id) memcpy(own.byte, id->id, sizeof own.byte);
    if (id) hpc_git_id_text(hex, &own);
    int rc = hpc_buf_printf(lines, "%s %s", g->lib.reference_name(ref),
                            id ? hex : g->lib.reference_symbolic_target(ref));
    return rc < 0 ? rc : hpc_buf_add(lines, "", 1);
}

/* A hash over "NAME TARGET" of all references, sorted: files and packed ones come in no fixed
 * order. References that cannot be read are left out. */
static int hash_refs(uint64_t *out, int64_t *n, hpc_git *g)
{
    git_reference_iterator *it = NULL;
    git_reference *ref = NULL;
    hpc_buf lines = {0}, sorted = {0};
    const char **line = NULL;
    int rc = HPC_OK;
    *n = 0;
    if (g->lib.reference_iterator_new(&it, g->repository) < 0) {
        char why[200];
        rc = hpc_fail(git_ran_out(&g->lib) ? HPC_E_NOMEM : HPC_E_FORMAT,
                      SHOWN ": its references cannot be read: %s", g->path,
                      git_reason(&g->lib, why));
        goto out;
    }
    while (g->lib.reference_next(&ref, it) == 0) {
        rc = add_line(&lines, g, ref);
        g->lib.reference_free(ref);
        if (rc < 0) goto out;
        ++*n;
    }
    line = hpc_alloc((size_t)*n + 1, sizeof *line);
    TRY(line ? 0 : no_memory());
    const char *at = lines.data;
    for (int64_t k = 0; k < *n; k++, at += strlen(at) + 1) line[k] = at;
    qsort(line, (size_t)*n, sizeof *line, order_texts);
    for (int64_t k = 0; k < *n; k++) TRY(hpc_buf_add(&sorted, line[k], strlen(line[k]) + 1));
    *out = hpc_hash(sorted.data, sorted.n, 0);
out:
    g->lib.reference_iterator_free(it);
    hpc_free(line);
    hpc_buf_release(&lines);
    hpc_buf_release(&sorted);
    return rc;
}

/* True if any reference leads to a commit that exists. */
static int any_commit(bool *out, hpc_git *g)
{
    git_reference_iterator *it = NULL;
    git_reference *ref = NULL;
    int rc = HPC_OK;
    *out = false;
    if (g->lib.reference_iterator_new(&it, g->repository) < 0) return HPC_OK;
    while (rc >= 0 && !*out && g->lib.reference_next(&ref, it) == 0) {
        const git_oid *target = g->lib.reference_target(ref);
        git_object_t type = GIT_OBJECT_INVALID;
        hpc_git_id id;
        if (target) {
            memcpy(id.byte, target->id, sizeof id.byte);
            rc = git_peel(&id, &type, g);
        }
        *out = type == GIT_OBJECT_COMMIT;
        g->lib.reference_free(ref);
    }
    g->lib.reference_iterator_free(it);
    return rc;
}

int hpc_git_describe(hpc_git_facts *out, hpc_git *g)
{
    git_facts_of_config config;
    hpc_buf shallow = {0};
    int64_t refs_n;
    char why[200];
    int rc;
    memset(out, 0, sizeof *out);
    TRY(git_read_config(&config, g));
    memcpy(out->name, config.name, sizeof out->name);
    out->partial = config.partial;
    TRY(git_head(&out->head, g, why));
    if (rc == HPC_GIT_CORRUPT)
        TRY(hpc_fail(HPC_E_FORMAT, SHOWN ": HEAD cannot be read: %s", g->path, why));
    bool found = rc == HPC_GIT_READ;
    if (!found) TRY(any_commit(&found, g));
    out->empty = !found;
    TRY(hpc_buf_printf(&shallow, "%sshallow", g->lib.repository_commondir(g->repository)));
    out->shallow = hpc_file_exists(shallow.data);
    for (int k = 0; k < g->folders_n && !out->partial; k++)
        TRY(git_has_promised(&out->partial, g->folder[k]));
    TRY(hash_refs(&out->refs, &refs_n, g));
    /* A detached HEAD is no reference of the list, yet decides what HEAD lists. */
    out->refs = hpc_hash(out->head.byte, sizeof out->head.byte, out->refs);
out:
    hpc_buf_release(&shallow);
    return rc;
}

/*
 * store.c: the object folders of a repository: its own, and those that it borrows from
 * (objects/info/alternates). Packed and loose objects are read here; unusual packs are left to
 * libgit2.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/git/priv.h"

enum { ALTERNATES_BYTES = 1 << 20 };

static int add_folder(hpc_git *g, const char *folder, size_t n)
{
    git_odb_backend *packs = NULL;
    while (n > 1 && folder[n - 1] == '/') n--;
    for (int k = 0; k < g->folders_n; k++)
        if (strlen(g->folder[k]) == n && memcmp(g->folder[k], folder, n) == 0) return HPC_OK;
    if (g->folders_n == GIT_FOLDERS)
        return hpc_fail(HPC_E_UNSUPPORTED, SHOWN ": borrows objects from more than %d others",
                        g->path, GIT_FOLDERS - 1);
    char *own = hpc_alloc(n + 1, 1);
    if (!own) return HPC_E_NOMEM;
    memcpy(own, folder, n);
    g->folder[g->folders_n++] = own;
    int code = g->lib.odb_backend_pack(&packs, own);
    if (code == 0 && (code = g->lib.odb_add_backend(g->odb, packs, 1)) < 0) packs->free(packs);
    if (code == 0) return HPC_OK;
    char why[200];
    return hpc_fail(git_ran_out(&g->lib) ? HPC_E_NOMEM : HPC_E_FORMAT, SHOWN ": %s", g->path,
                    git_reason(&g->lib, why));
}

/* The lines of one alternates file; relative ones count from the folder that it belongs to. */
static int add_alternates(hpc_git *g, int of)
{
    hpc_buf path = {0}, text = {0};
    int rc;
    TRY(hpc_buf_printf(&path, "%s/info/alternates", g->folder[of]));
    if (!hpc_file_exists(path.data)) goto out;
    TRY(hpc_file_read(&text, path.data, ALTERNATES_BYTES));
    for (char *line = text.data; line && *line;) {
        size_t n = strcspn(line, "\n");
        char *next = line + n + (line[n] == '\n');
        line[n] = '\0';
        path.n = 0;
        if (line[0] == '/')
            TRY(hpc_buf_text(&path, line));
        else
            TRY(hpc_buf_printf(&path, "%s/%s", g->folder[of], line));
        /* As in git, a folder that no longer exists is skipped; its objects are then absent. */
        if (n > 0 && line[0] != '#' && hpc_file_exists(path.data))
            TRY(add_folder(g, path.data, path.n));
        line = next;
    }
out:
    hpc_buf_release(&path);
    hpc_buf_release(&text);
    return rc;
}

int git_store_open(hpc_git *g)
{
    hpc_buf own = {0};
    int rc;
    g->inflater = git_inflater_create();
    g->cache = git_cache_create();
    if (!g->inflater || !g->cache) return HPC_E_NOMEM;
    if (g->lib.odb_new(&g->odb) < 0)
        return hpc_fail(HPC_E_NOMEM, "out of memory while opening " SHOWN, g->path);
    TRY(hpc_buf_printf(&own, "%sobjects", g->lib.repository_commondir(g->repository)));
    TRY(add_folder(g, own.data, own.n));
    for (int k = 0; k < g->folders_n; k++) TRY(add_alternates(g, k)); /* those of alternates too */
    TRY(git_find_loose(g));
out:
    hpc_buf_release(&own);
    return rc;
}

void git_store_close(hpc_git *g)
{
    if (g->odb) g->lib.odb_free(g->odb);
    git_cache_free(g->cache);
    git_inflater_free(g->inflater);
    for (int k = 0; k < g->folders_n; k++) hpc_free(g->folder[k]);
}

int git_fits(const git_raw *raw, git_object_t want, size_t limit, char why[200])
{
    if (want != GIT_OBJECT_ANY && raw->type != want) {
        snprintf(why, 200, "is a %s, not a %s", git_type_name(raw->type), git_type_name(want));
        return HPC_GIT_CORRUPT;
    }
    if (raw->n <= limit) return HPC_GIT_READ;
    snprintf(why, 200, "has %zu bytes; the limit is %zu", raw->n, limit);
    return HPC_GIT_TOO_LARGE;
}

static int outcome_of(const git_library *l, int code, char why[200])
{
    if (git_ran_out(l)) return hpc_fail(HPC_E_NOMEM, "out of memory while reading a git object");
    git_reason(l, why);
    return code == GIT_ENOTFOUND ? HPC_GIT_ABSENT : HPC_GIT_CORRUPT;
}

static int get_by_libgit2(git_raw *out, hpc_git *g, const git_oid *id, git_object_t want,
                          size_t limit, char why[200])
{
    int code = g->lib.odb_read_header(&out->n, &out->type, g->odb, id);
    if (code < 0) return outcome_of(&g->lib, code, why);
    int rc = git_fits(out, want, limit, why);
    if (rc != HPC_GIT_READ) return rc;
    out->lib = &g->lib;
    code = g->lib.odb_read(&out->packed, g->odb, id);
    if (code < 0) return outcome_of(&g->lib, code, why);
    out->data = g->lib.odb_object_data(out->packed);
    if (g->lib.odb_object_size(out->packed) == out->n &&
        g->lib.odb_object_type(out->packed) == out->type)
        return HPC_GIT_READ;
    git_raw_release(out);
    snprintf(why, 200, "has a size different from its header");
    return HPC_GIT_CORRUPT;
}

static int get_packed(git_raw *out, hpc_git *g, const hpc_git_id *id, git_object_t want,
                      size_t limit, char why[200])
{
    git_oid oid;
    memcpy(oid.id, id->byte, sizeof oid.id);
    int rc = git_get_packed(out, g, id, want, limit, why);
    if (rc != HPC_GIT_ABSENT) return rc;
    rc = get_by_libgit2(out, g, &oid, want, limit, why);
    /* A repack by somebody else may have taken a pack away under our feet. When an object is not
     * found, libgit2 looks for new packs by itself. */
    if (rc == HPC_GIT_CORRUPT && g->lib.odb_refresh(g->odb) == 0)
        rc = get_by_libgit2(out, g, &oid, want, limit, why);
    return rc;
}

int git_get(git_raw *out, hpc_git *g, const hpc_git_id *id, git_object_t want, size_t limit,
            char why[200])
{
    /* There nearly everything is. */
    int rc = git_get_packed(out, g, id, want, limit, why);
    if (rc != HPC_GIT_ABSENT && rc != HPC_GIT_CORRUPT) return rc;
    rc = HPC_GIT_ABSENT;
    if (g->loose[id->byte[0]]) rc = git_get_loose(out, g, id, want, limit, why);
    if (rc != HPC_GIT_ABSENT && rc != HPC_GIT_CORRUPT) return rc;
    git_raw loose = *out;
    char loose_why[200];
    if (rc == HPC_GIT_CORRUPT) memcpy(loose_why, why, sizeof loose_why);
    int packed = get_packed(out, g, id, want, limit, why);
    if (packed != HPC_GIT_ABSENT) return packed;
    if (rc == HPC_GIT_CORRUPT) {
        *out = loose;
        memcpy(why, loose_why, sizeof loose_why);
        return rc;
    }
    /* Unpacked since this handle was opened, perhaps. */
    return g->loose[id->byte[0]] ? rc : git_get_loose(out, g, id, want, limit, why);
}

void git_raw_release(git_raw *raw)
{
    if (raw->packed) raw->lib->odb_object_free(raw->packed);
    git_held_release(raw->held);
    hpc_free(raw->loose);
    memset(raw, 0, sizeof *raw);
}

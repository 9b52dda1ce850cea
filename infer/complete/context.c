/*
 * context.c: an open repository that answers repeated queries for the context of positions in its
 * files.
 */
#include "infer/complete/context.h"

#include <stdio.h>
#include <string.h>

#include "infer/complete/context_priv.h"

/* ---- opening ------------------------------------------------------------------------------ */

/* Anything missing in a repository is ignored, without a message. */
static int forgive(int rc)
{
    if (rc >= 0 || rc == HPC_E_NOMEM) return rc;
    hpc_error_clear();
    return HPC_OK;
}

static int open_git(hpc_context *c)
{
    hpc_git_facts facts;
    hpc_git_close(c->git);
    c->git = NULL;
    int rc = hpc_git_open(&c->git, c->root);
    if (rc >= 0) rc = hpc_git_describe(&facts, c->git);
    if (rc >= 0 && facts.name[0]) memcpy(c->name, facts.name, sizeof c->name);
    return forgive(rc);
}

int hpc_context_open(hpc_context **out, const char *path)
{
    bool git = false;
    int rc = HPC_E_NOMEM;
    hpc_context *c = hpc_alloc(1, sizeof *c);
    *out = NULL;
    if (!c) return rc;
    context_words_init(&c->words);
    c->files = hpc_map_create();
    c->arena = hpc_arena_create(0);
    if (!c->files || !c->arena) goto out;
    c->begin = hpc_arena_here(c->arena);
    if (!context_locate(c->root, c->path, &git, path)) c->root[0] = '\0';
    if (git) snprintf(c->name, sizeof c->name, "%.255s", context_name_of(c->root));
    TRY(git ? open_git(c) : HPC_OK);
    *out = c;
    c = NULL;
out:
    hpc_context_close(c);
    return rc;
}

void hpc_context_close(hpc_context *c)
{
    if (!c) return;
    hpc_git_close(c->git);
    hpc_git_commits_release(&c->commits);
    context_list_release(&c->list);
    context_scratch_release(&c->scratch);
    for (int64_t k = 0; k < c->file_n; k++) {
        context_file_release(c->file[k]);
        hpc_free(c->file[k]);
    }
    hpc_free(c->file);
    hpc_map_free(c->files);
    hpc_arena_free(c->arena);
    hpc_free(c);
}

bool hpc_context_holds(const hpc_context *c, const char *path)
{
    char root[PATH_MAX], inner[PATH_MAX];
    bool git;
    return c->root[0] && context_locate(root, inner, &git, path) && strcmp(root, c->root) == 0;
}

/* ---- asking ------------------------------------------------------------------------------- */

/* A handle knows the packs that were there when it was opened: where HEAD has moved and something
 * is missing, they may have changed. */
static int read_history(hpc_context *c)
{
    hpc_git_id before = c->commits.head;
    const hpc_git_id none = {{0}};
    int rc;
    if (!c->git) return HPC_OK;
    TRY(hpc_git_recent(&c->commits, c->git, CONTEXT_COMMITS, CONTEXT_COMMIT_FILES));
    bool moved = memcmp(&before, &none, sizeof none) != 0 &&
                 memcmp(&before, &c->commits.head, sizeof before) != 0;
    if (!moved || (c->commits.missing_n == 0 && !c->commits.cut)) return HPC_OK;
    hpc_git_commits_release(&c->commits);
    TRY(open_git(c));
    if (c->git) TRY(hpc_git_recent(&c->commits, c->git, CONTEXT_COMMITS, CONTEXT_COMMIT_FILES));
out:
    return forgive(rc);
}

static int read_own(context_file *own, hpc_context *c, const hpc_spot *d)
{
    size_t n = d->text.n < CONTEXT_FILE_BYTES ? d->text.n : CONTEXT_FILE_BYTES;
    int rc = HPC_OK;
    own->language = d->language;
    own->fixed = d->fixed;
    TRY(hpc_buf_add(&own->text, n > 0 ? d->text.data : "", n));
    TRY(context_file_look(own, &c->scratch, &c->words));
out:
    return rc;
}

static void drop(hpc_context *c, int64_t k)
{
    c->bytes -= c->file[k]->text.n;
    context_file_release(c->file[k]);
    hpc_free(c->file[k]);
    c->file[k] = NULL;
}

/* What this answer did not need goes when there is too much. */
static int forget(hpc_context *c)
{
    int64_t kept = 0;
    int rc = HPC_OK;
    if (c->bytes <= CONTEXT_CACHE_BYTES) return rc;
    hpc_map *files = hpc_map_create();
    TRY(files ? 0 : HPC_E_NOMEM);
    for (int64_t k = 0; k < c->file_n; k++)
        if (c->file[k]->used == c->asked)
            TRY(hpc_map_put(files, c->file[k]->path, strlen(c->file[k]->path), (uint64_t)kept++));
    kept = 0;
    for (int64_t k = 0; k < c->file_n; k++) {
        if (c->file[k]->used == c->asked)
            c->file[kept++] = c->file[k];
        else
            drop(c, k);
    }
    c->file_n = kept;
    hpc_map *old = c->files;
    c->files = files;
    files = old;
out:
    hpc_map_free(files);
    return rc;
}

static int find(hpc_context_parts *out, hpc_context *c, const hpc_spot *d,
                const hpc_context_options *o)
{
    context_related r = {0};
    context_file own = {0};
    char folder[PATH_MAX];
    size_t n = (size_t)(context_name_of(c->path) - c->path);
    int rc;
    memcpy(folder, c->path, n);
    folder[n] = '\0';
    TRY(context_list_refresh(&c->list, c->git));
    TRY(context_list_folder(&c->list, c->root, folder));
    TRY(read_history(c));
    TRY(read_own(&own, c, d));
    TRY(context_relate(&r, c, c->path, &own));
    TRY(context_rank(out, c, &r, d, o));
    out->files_n = r.looked_n;
    out->read_n = c->read_n;
    TRY(forget(c));
out:
    context_related_release(&r);
    context_file_release(&own);
    return rc;
}

int hpc_context_find(hpc_context_parts *out, hpc_context *c, const char *path, const hpc_spot *d,
                     const hpc_context_options *o)
{
    char root[PATH_MAX];
    bool git;
    int rc = HPC_OK;
    *out = (hpc_context_parts){0};
    if (!c->root[0] || !context_locate(root, c->path, &git, path) || strcmp(root, c->root) != 0)
        return rc;
    hpc_arena_rewind(c->arena, c->begin);
    c->asked++;
    c->read_n = 0;
    rc = find(out, c, d, o);
    if (rc < 0) {
        *out = (hpc_context_parts){0};
        return rc;
    }
    out->repository = c->name[0] ? c->name : NULL;
    out->path = c->path;
    return HPC_OK;
}

/*
 * open.c: handles to repositories. libgit2's options are global to the process; every opening sets
 * them to the same values. Objects are checked by the checksums of their compressed form and by
 * size, but not hashed again, as in `git cat-file`. Only delta bases are cached (16 MiB a pack),
 * and at most 384 MiB of packs are mapped at a time. These options matter only for objects that
 * pack_read.c leaves to libgit2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/git/priv.h"

enum { WINDOW_BYTES = 32 << 20, MAPPED_BYTES = 384 << 20 };

static void set_options(const git_library *l)
{
    l->libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
    l->libgit2_opts(GIT_OPT_ENABLE_CACHING, 0);
    l->libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, (size_t)WINDOW_BYTES);
    l->libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, (size_t)MAPPED_BYTES);
}

static int none_there(const char *path)
{
    return hpc_fail(
        HPC_E_IO, SHOWN ": not a git repository: use a folder that has .git, or a bare repository",
        path);
}

/* "gitdir: WHERE" in a file of that name, as worktrees and submodules have it. */
static int follow_file(hpc_buf *folder, const char *path)
{
    static const char key[] = "gitdir: ";
    hpc_buf text = {0};
    int rc;
    TRY(hpc_buf_printf(folder, "%s/.git", path));
    TRY(hpc_file_read(&text, folder->data, GIT_PATH_BYTES));
    folder->n = 0;
    while (text.n > 0 && (text.data[text.n - 1] == '\n' || text.data[text.n - 1] == '\r'))
        text.data[--text.n] = '\0';
    if (text.n < sizeof key || strncmp(text.data, key, sizeof key - 1) != 0) {
        rc = hpc_fail(HPC_E_IO, SHOWN ": its .git is neither a folder nor a file that names one",
                      path);
        goto out;
    }
    const char *where = text.data + sizeof key - 1;
    rc = where[0] == '/' ? hpc_buf_text(folder, where)
                         : hpc_buf_printf(folder, "%s/%s", path, where);
out:
    hpc_buf_release(&text);
    return rc;
}

/* The folder that git keeps its own things in. */
static int find_folder(hpc_buf *folder, const char *path)
{
    int rc;
    TRY(hpc_buf_printf(folder, "%s/.git/HEAD", path));
    bool inside = hpc_file_exists(folder->data);
    folder->n -= strlen("/HEAD");
    folder->data[folder->n] = '\0';
    if (inside) goto out;
    inside = hpc_file_exists(folder->data);
    folder->n = 0;
    rc = inside ? follow_file(folder, path) : hpc_buf_text(folder, path);
out:
    return rc;
}

/* As if it were bare, for nothing but objects and references is read. It also leaves out checks of
 * libgit2 that do not fit: of the owner, and of the format (config.c). */
static int open_repository(hpc_git *g)
{
    hpc_buf folder = {0};
    char why[200];
    int rc;
    TRY(find_folder(&folder, g->path));
    int code = g->lib.repository_open_bare(&g->repository, folder.data);
    if (code == 0) goto out;
    git_reason(&g->lib, why);
    if (git_ran_out(&g->lib))
        rc = hpc_fail(HPC_E_NOMEM, "out of memory while opening " SHOWN, g->path);
    else if (code == GIT_ENOTFOUND)
        rc = none_there(g->path);
    else
        rc = hpc_fail(HPC_E_FORMAT, SHOWN ": cannot be opened: %s", g->path, why);
out:
    hpc_buf_release(&folder);
    return rc;
}

static int open_at(hpc_git **out, const char *path)
{
    int rc = HPC_OK;
    hpc_git *g = hpc_alloc(1, sizeof *g);
    *out = NULL;
    if (!g) return HPC_E_NOMEM;
    size_t n = strlen(path);
    g->path = hpc_alloc(n + 1, 1);
    TRY(g->path ? 0 : HPC_E_NOMEM);
    memcpy(g->path, path, n);
    TRY(git_library_open(&g->lib, HPC_SONAME_LIBGIT2));
    /* Counted, and never shut down: a shutdown while other threads live loses their error records.
     */
    if (g->lib.libgit2_init() < 0) TRY(hpc_fail(HPC_E_NOMEM, "libgit2 cannot be initialised"));
    set_options(&g->lib);
    TRY(open_repository(g));
    TRY(git_store_open(g));
out:
    if (rc < 0)
        hpc_git_close(g);
    else
        *out = g;
    return rc;
}

int hpc_git_open(hpc_git **out, const char *path)
{
    git_facts_of_config config;
    int rc = open_at(out, path);
    if (rc < 0) return rc;
    rc = git_read_config(&config, *out);
    if (rc >= 0) rc = git_packs_open(&(*out)->packs, *out);
    if (rc >= 0) return rc;
    hpc_git_close(*out);
    *out = NULL;
    return rc;
}

int hpc_git_share(hpc_git **out, const hpc_git *like)
{
    int rc = open_at(out, like->path);
    if (rc >= 0) (*out)->packs = git_packs_share(like->packs);
    return rc;
}

void hpc_git_close(hpc_git *g)
{
    if (!g) return;
    git_store_close(g);
    git_packs_close(g->packs);
    if (g->repository) g->lib.repository_free(g->repository);
    hpc_free(g->path);
    hpc_free(g);
}

void hpc_git_id_text(char out[41], const hpc_git_id *id)
{
    static const char digit[] = "0123456789abcdef";
    for (int k = 0; k < 20; k++) {
        out[2 * k] = digit[id->byte[k] >> 4];
        out[2 * k + 1] = digit[id->byte[k] & 15];
    }
    out[40] = '\0';
}

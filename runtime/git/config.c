/*
 * config.c: a repository's own configuration file: its format, its origin, and partial
 * clones.
 *
 * User and system configuration are ignored, because results must not depend on the
 * reader. Two parts of libgit2 are replaced: its format check rejects harmless
 * extensions, and its search by expression leaks 20 KiB for each name that does not
 * match.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

static bool starts_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), e = strlen(end);
    return n > e && strcmp(name + n - e, end) == 0;
}

/* Of extensions that change nothing about reading objects and references by libgit2. */
static bool harmless(const char *name, const char *value)
{
    static const char *const known[] = {"noop",           "noop-v1",           "partialclone",
                                        "worktreeconfig", "relativeworktrees", "preciousobjects"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(name, known[k]) == 0) return true;
    return (strcmp(name, "objectformat") == 0 && strcmp(value, "sha1") == 0) ||
           (strcmp(name, "refstorage") == 0 && strcmp(value, "files") == 0);
}

static int check_entry(git_facts_of_config *out, const char *name, const char *value,
                       const char *shown)
{
    static const char extensions[] = "extensions.";
    if (strcmp(name, "core.repositoryformatversion") == 0 && atoi(value) > 1)
        return hpc_fail(HPC_E_UNSUPPORTED, SHOWN ": repository format %.20s is not supported",
                        shown, value);
    if (starts_with(name, extensions) && !harmless(name + sizeof extensions - 1, value))
        return hpc_fail(HPC_E_UNSUPPORTED,
                        SHOWN ": %.80s = %.40s is not supported; SHA-1 repositories with "
                              "references in files are",
                        shown, name, value);
    if (strcmp(name, "remote.origin.url") == 0) git_name_of_url(out->name, value);
    if (strcmp(name, "extensions.partialclone") == 0 ||
        (starts_with(name, "remote.") && ends_with(name, ".promisor")))
        out->partial = true;
    return HPC_OK;
}

static int damaged(const hpc_git *g)
{
    char why[200];
    if (git_ran_out(&g->lib))
        return hpc_fail(HPC_E_NOMEM, "out of memory while reading a configuration");
    return hpc_fail(HPC_E_FORMAT, SHOWN ": its configuration cannot be read: %s", g->path,
                    git_reason(&g->lib, why));
}

int git_read_config(git_facts_of_config *out, const hpc_git *g)
{
    git_config *config = NULL;
    git_config_iterator *it = NULL;
    git_config_entry *entry;
    hpc_buf path = {0};
    int rc, code = 0;
    memset(out, 0, sizeof *out);
    TRY(hpc_buf_printf(&path, "%sconfig", g->lib.repository_commondir(g->repository)));
    if (!hpc_file_exists(path.data)) goto out;
    TRY(g->lib.config_open_ondisk(&config, path.data) < 0 ? damaged(g) : 0);
    TRY(g->lib.config_iterator_new(&it, config) < 0 ? damaged(g) : 0);
    while ((code = g->lib.config_next(&entry, it)) == 0)
        TRY(check_entry(out, entry->name, entry->value ? entry->value : "true", g->path));
    if (code != GIT_ITEROVER) rc = damaged(g);
out:
    g->lib.config_iterator_free(it);
    g->lib.config_free(config);
    hpc_buf_release(&path);
    return rc;
}

/*
 * resolve.c: resolves a revision as users write it to the id of a commit.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

enum { DIGITS_LEAST = 4, STEPS_MOST = 1 << 24 };

static int nothing(const hpc_git *g, const char *name)
{
    return hpc_fail(HPC_E_ARG, SHOWN ": '%.100s' names no commit", g->path, name);
}

/* ---- references --------------------------------------------------------------------------- */

/* 1: there is such a reference. */
static int by_reference(hpc_git_id *out, hpc_git *g, const char *name, size_t n)
{
    static const char *const places[] = {"%.*s",
                                         "refs/%.*s",
                                         "refs/tags/%.*s",
                                         "refs/heads/%.*s",
                                         "refs/remotes/%.*s",
                                         "refs/remotes/%.*s/HEAD"};
    char path[GIT_PATH_BYTES];
    git_oid oid;
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        if (snprintf(path, sizeof path, places[k], (int)n, name) >= (int)sizeof path) return 0;
        if (g->lib.reference_name_to_id(&oid, g->repository, path) < 0) {
            if (git_ran_out(&g->lib))
                return hpc_fail(HPC_E_NOMEM, "out of memory while reading references");
            continue;
        }
        memcpy(out->byte, oid.id, sizeof out->byte);
        return 1;
    }
    return 0;
}

/* ---- ids that are cut --------------------------------------------------------------------- */

typedef struct search {
    hpc_git *g;
    char digits[41]; /* in lower case */
    size_t n;
    hpc_git_id found;
    int commits; /* of different ids */
} search;

static int meet(search *s, const hpc_git_id *id)
{
    hpc_git_id commit = *id;
    git_object_t type;
    char hex[41];
    hpc_git_id_text(hex, id);
    if (memcmp(hex, s->digits, s->n) != 0) return HPC_OK;
    if (s->commits && memcmp(&s->found, id, sizeof *id) == 0) return HPC_OK;
    int rc = git_peel(&commit, &type, s->g);
    if (rc < 0 || type != GIT_OBJECT_COMMIT) return rc;
    s->found = *id;
    s->commits++;
    return HPC_OK;
}

static int search_pack(search *s, const git_pack *p)
{
    char first[3] = {s->digits[0], s->digits[1], '\0'};
    unsigned long byte = strtoul(first, NULL, 16);
    const uint8_t *end = p->fanout + 4 * byte, *begin = byte ? end - 4 : NULL;
    int64_t to = (int64_t)end[0] << 24 | end[1] << 16 | end[2] << 8 | end[3];
    int64_t at = begin ? (int64_t)begin[0] << 24 | begin[1] << 16 | begin[2] << 8 | begin[3] : 0;
    int rc = HPC_OK;
    for (; at < to && rc >= 0; at++) {
        hpc_git_id id;
        memcpy(id.byte, p->ids + (size_t)at * p->stride, sizeof id.byte);
        rc = meet(s, &id);
    }
    return rc;
}

static int search_loose(search *s, const char *folder)
{
    hpc_buf path = {0}, names = {0};
    int64_t n = 0;
    int rc = HPC_OK;
    TRY(hpc_buf_printf(&path, "%s/%.2s", folder, s->digits));
    if (!hpc_file_exists(path.data)) goto out;
    TRY(hpc_file_list(&names, &n, path.data));
    const char *name = names.data;
    for (int64_t k = 0; k < n; k++, name += strlen(name) + 1) {
        char hex[44];
        hpc_git_id id;
        snprintf(hex, sizeof hex, "%.2s%.40s", s->digits, name);
        if (hpc_git_id_parse(&id, hex)) TRY(meet(s, &id));
    }
out:
    hpc_buf_release(&path);
    hpc_buf_release(&names);
    return rc;
}

/* 1: exactly one commit. */
static int by_digits(hpc_git_id *out, hpc_git *g, const char *name, size_t n)
{
    search s = {.g = g, .n = n};
    int rc = HPC_OK;
    if (n < DIGITS_LEAST || n > 40) return 0;
    for (size_t k = 0; k < n; k++) {
        if (!isxdigit((unsigned char)name[k])) return 0;
        s.digits[k] = (char)tolower((unsigned char)name[k]);
    }
    for (int64_t k = 0; k < g->packs->n; k++) TRY(search_pack(&s, &g->packs->item[k]));
    for (int k = 0; k < g->folders_n; k++) TRY(search_loose(&s, g->folder[k]));
    if (s.commits > 1)
        TRY(hpc_fail(HPC_E_ARG,
                     SHOWN ": the ids of %d commits start with %.40s: use a longer prefix", g->path,
                     s.commits, s.digits));
    *out = s.found;
    rc = s.commits;
out:
    return rc;
}

/* ---- steps after a name --------------------------------------------------------------------- */

static int to_commit(hpc_git_id *id, hpc_git *g, const char *name)
{
    git_object_t type;
    int rc = git_peel(id, &type, g);
    if (rc < 0) return rc;
    if (type == GIT_OBJECT_COMMIT) return HPC_OK;
    char hex[41];
    hpc_git_id_text(hex, id);
    return hpc_fail(HPC_E_ARG, SHOWN ": '%.100s' is %s, which is %s", g->path, name, hex,
                    type == GIT_OBJECT_INVALID ? "not in this clone" : "not a commit");
}

/* The k-th parent, from 1. */
static int to_parent(hpc_git_id *id, hpc_git *g, long k, const char *name)
{
    git_commit_head c = {0};
    int rc;
    TRY(git_read_commit(&c, g, id));
    if (rc != HPC_GIT_READ || k > c.parents)
        TRY(hpc_fail(HPC_E_ARG, SHOWN ": '%.100s' is beyond the start of the history%s", g->path,
                     name, rc == HPC_GIT_ABSENT ? " that this clone has" : ""));
    *id = c.parent[k - 1];
out:
    git_commit_release(&c);
    return rc;
}

static int go(hpc_git_id *id, hpc_git *g, const char *steps, const char *name)
{
    int rc = HPC_OK;
    for (const char *at = steps; *at;) {
        const char *step = at;
        char kind = *at++, *end = NULL;
        bool counted = isdigit((unsigned char)*at);
        long n = counted ? strtol(at, &end, 10) : 1;
        if (counted) at = end;
        if ((kind != '~' && kind != '^') || n < 0 || n > STEPS_MOST)
            TRY(hpc_fail(HPC_E_ARG,
                         SHOWN ": '%.100s': a name can be followed by ~N, ^ and ^N, not by '%.20s'",
                         g->path, name, step));
        long times = kind == '~' ? n : n > 0, parent = kind == '~' ? 1 : n;
        for (long k = 0; k < times; k++) TRY(to_parent(id, g, parent, name));
    }
out:
    return rc;
}

int hpc_git_resolve(hpc_git_id *out, hpc_git *g, const char *name)
{
    size_t n = strcspn(name, "~^");
    const char *plain = n == 1 && name[0] == '@' ? "HEAD" : name;
    size_t plain_n = plain == name ? n : 4;
    int rc;
    if (n == 0 || n >= GIT_PATH_BYTES / 2) return nothing(g, name);
    TRY(by_reference(out, g, plain, plain_n));
    if (rc == 0) TRY(by_digits(out, g, plain, plain_n));
    if (rc == 0) TRY(nothing(g, name));
    TRY(to_commit(out, g, name));
    TRY(go(out, g, name + n, name));
    TRY(to_commit(out, g, name)); /* a parent that a shallow clone lacks */
out:
    return rc;
}

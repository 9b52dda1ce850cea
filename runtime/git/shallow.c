/*
 * shallow.c: the boundary of a shallow clone: the commits that it has without their parents.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/git/walk.h"

enum { SHALLOW_BYTES = 64 << 20 };

static int order_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(hpc_git_id));
}

/* One id a line. Other lines are ignored; the commits that they should name then count as
 * missing. */
static int parse(git_boundary *out, char *text)
{
    int64_t cap = 0;
    int rc = HPC_OK;
    for (char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        char *next = line + n + (line[n] == '\n');
        line[n] = '\0';
        TRY(hpc_grow(&out->id, &cap, out->n + 1, sizeof *out->id));
        out->n += hpc_git_id_parse(&out->id[out->n], line);
        line = next;
    }
out:
    return rc;
}

int git_boundary_read(git_boundary *out, const hpc_git *g)
{
    hpc_buf path = {0}, text = {0};
    int rc;
    memset(out, 0, sizeof *out);
    TRY(hpc_buf_printf(&path, "%sshallow", g->lib.repository_commondir(g->repository)));
    if (!hpc_file_exists(path.data)) goto out;
    TRY(hpc_file_read(&text, path.data, SHALLOW_BYTES));
    if (text.n > 0) TRY(parse(out, text.data));
    if (out->n > 1) qsort(out->id, (size_t)out->n, sizeof *out->id, order_ids);
out:
    hpc_buf_release(&path);
    hpc_buf_release(&text);
    return rc;
}

bool git_boundary_has(const git_boundary *b, const hpc_git_id *commit)
{
    return b->n > 0 && bsearch(commit, b->id, (size_t)b->n, sizeof *b->id, order_ids);
}

/*
 * loose.c: reads loose objects, each in a file of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/git/priv.h"

enum { HEADER_BYTES = 32 }; /* "commit 18446744073709551615" and its NUL */

/* "blob 123" and a NUL. */
static bool parse_header(git_object_t *type, size_t *size, size_t *header_n, const char *text,
                         size_t n)
{
    const char *end = memchr(text, '\0', n), *blank = memchr(text, ' ', n);
    char name[8] = "";
    if (!end || !blank || blank > end || blank - text >= (ptrdiff_t)sizeof name) return false;
    memcpy(name, text, (size_t)(blank - text));
    *type = git_type_of(name);
    *header_n = (size_t)(end - text) + 1;
    *size = 0;
    for (const char *p = blank + 1; p < end; p++) {
        if (*p < '0' || *p > '9' || *size > (SIZE_MAX >> 1) / 10 - 1) return false;
        *size = *size * 10 + (size_t)(*p - '0');
    }
    return blank + 1 < end && *type != GIT_OBJECT_INVALID;
}

static int corrupt(char why[200], const char *reason)
{
    snprintf(why, 200, "%s", reason);
    return HPC_GIT_CORRUPT;
}

static int read_header(git_raw *out, size_t *header_n, git_inflater *f, const hpc_file_view *v,
                       char why[200])
{
    uint8_t text[HEADER_BYTES + GIT_SLACK];
    size_t n = HEADER_BYTES;
    if (git_inflate(text, &n, f, v->data, v->bytes) == GIT_INFLATE_BROKEN)
        return corrupt(why, "a loose object that does not inflate: truncated or damaged");
    if (!parse_header(&out->type, &out->n, header_n, (const char *)text, n))
        return corrupt(why, "a loose object without a proper header");
    return HPC_GIT_READ;
}

static int read_body(git_raw *out, size_t header_n, git_inflater *f, const hpc_file_view *v,
                     char why[200])
{
    size_t whole = header_n + out->n, n = whole;
    uint8_t *data = hpc_alloc(whole + GIT_SLACK, 1);
    if (!data) return HPC_E_NOMEM;
    int rc = git_inflate(data, &n, f, v->data, v->bytes);
    if (rc == GIT_INFLATED && n == whole) {
        out->loose = data;
        out->data = data + header_n;
        return HPC_GIT_READ;
    }
    hpc_free(data);
    return corrupt(why, rc == GIT_INFLATE_BROKEN
                            ? "a loose object that does not inflate: truncated or damaged"
                            : "a loose object with a size different from its header");
}

/* True if only this file is at fault, so the rest of the repository is readable. Too many open
 * files or a failing disk must not pass for a damaged object. */
static bool is_of_the_file(int os)
{
    return os == 0 || os == ENOENT || os == EACCES || os == EPERM || os == ELOOP || os == EISDIR;
}

static int read_file(git_raw *out, git_inflater *f, const char *path, git_object_t want,
                     size_t limit, char why[200])
{
    hpc_file_view v;
    size_t header_n = 0;
    int rc = hpc_file_open(&v, path);
    if (rc == HPC_E_IO && is_of_the_file(hpc_error_get()->os)) {
        snprintf(why, 200, "%.199s", hpc_error_get()->text);
        hpc_error_clear();
        return HPC_GIT_CORRUPT;
    }
    if (rc < 0) return rc;
    rc = read_header(out, &header_n, f, &v, why);
    if (rc == HPC_GIT_READ) rc = git_fits(out, want, limit, why);
    if (rc == HPC_GIT_READ) rc = read_body(out, header_n, f, &v, why);
    hpc_file_close(&v);
    return rc;
}

int git_get_loose(git_raw *out, const hpc_git *g, const hpc_git_id *id, git_object_t want,
                  size_t limit, char why[200])
{
    char path[GIT_PATH_BYTES], hex[41];
    hpc_git_id_text(hex, id);
    for (int k = 0; k < g->folders_n; k++) {
        int n = snprintf(path, sizeof path, "%s/%.2s/%s", g->folder[k], hex, hex + 2);
        if (n < 0 || n >= (int)sizeof path || !hpc_file_exists(path)) continue;
        return read_file(out, g->inflater, path, want, limit, why);
    }
    return HPC_GIT_ABSENT;
}

/* Which of the folders 00 to ff there are. */
int git_find_loose(hpc_git *g)
{
    hpc_buf names = {0};
    int64_t n;
    int rc = HPC_OK;
    for (int k = 0; k < g->folders_n; k++) {
        names.n = 0;
        TRY(hpc_file_list(&names, &n, g->folder[k]));
        const char *name = names.data;
        for (int64_t i = 0; i < n; i++, name += strlen(name) + 1) {
            char *end;
            if (strlen(name) != 3 || name[2] != '/') continue;
            unsigned long number = strtoul(name, &end, 16);
            if (end == name + 2) g->loose[number] = true;
        }
    }
out:
    hpc_buf_release(&names);
    return rc;
}

/*
 * path.c: see path.h.
 */
#include "runtime/base/path.h"

#include <string.h>

bool hpc_path_ends(const char *path, const char *end)
{
    const size_t n = strlen(path), m = strlen(end);
    return n >= m && memcmp(path + n - m, end, m) == 0 && (n == m || path[n - m - 1] == '/');
}

bool hpc_path_meets(const char *a, const char *b)
{
    while (strncmp(a, "./", 2) == 0) a += 2;
    while (strncmp(b, "./", 2) == 0) b += 2;
    return hpc_path_ends(a, b) || hpc_path_ends(b, a);
}

int hpc_path_lines(char ***line, int64_t *n, hpc_arena *arena, const char *path, size_t limit)
{
    hpc_buf b = {0};
    int64_t all = 1, k = 0;
    int rc;
    *n = 0;
    TRY(hpc_file_read(&b, path, limit));
    char *text = hpc_arena_text(arena, "%s", b.data ? b.data : "");
    if (!text) TRY(HPC_E_NOMEM);
    for (const char *p = strchr(text, '\n'); p; p = strchr(p + 1, '\n')) all++;
    *line = hpc_arena_alloc(arena, (size_t)all, sizeof **line);
    if (!*line) TRY(HPC_E_NOMEM);
    for (char *p = text; p; k++) {
        (*line)[k] = p;
        p = strchr(p, '\n');
        if (p) *p++ = '\0';
    }
    if (k > 0 && (*line)[k - 1][0] == '\0') k--; /* after the last line's end */
    *n = k;
out:
    hpc_buf_release(&b);
    return rc;
}

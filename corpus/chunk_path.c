/*
 * chunk_path.c: validates repository names and maps them to folders.
 *
 * Names come from addresses, command lines and untrusted databases, so they must not escape the
 * corpus folder. '/' is written '+'; '+' and '%' are escaped.
 */
#include <string.h>

#include "corpus/priv.h"

enum { NAME_MOST = 200 };

static bool is_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MOST || name[0] == '.' || name[0] == '/' || name[n - 1] == '/')
        return false;
    for (size_t k = 0; k < n; k++)
        if ((unsigned char)name[k] < ' ' || name[k] == 0x7F) return false;
    return corpus_is_utf8(name, n);
}

int corpus_chunk_path(hpc_buf *out, const char *folder, const char *repository, int64_t chunk)
{
    int rc = HPC_OK;
    out->n = 0;
    if (!is_name(repository))
        TRY(hpc_fail(HPC_E_FORMAT,
                     "'%.200s' is not a valid name of a repository: expected at most %d bytes of "
                     "UTF-8 without control characters, not starting with a dot or slash",
                     repository, NAME_MOST));
    TRY(hpc_buf_printf(out, "%s/content/", folder));
    for (const char *p = repository; *p; p++) {
        const char *escaped = *p == '/' ? "+" : *p == '+' ? "%2B" : *p == '%' ? "%25" : NULL;
        TRY(escaped ? hpc_buf_text(out, escaped) : hpc_buf_add(out, p, 1));
    }
    if (chunk >= 0) TRY(hpc_buf_printf(out, "/%05lld.chunk", (long long)chunk));
out:
    return rc;
}

/*
 * context.h: finds the most relevant parts of other files for a place in a file.
 *
 * Candidates come from the repository of the file, in its state on disk: files that it includes,
 * files with a similar name, files that were changed together with it, files with the same
 * includes, and files in nearby folders. A part is a function, a piece of a long function, or some
 * declarations. Parts rank by the rare names that they share with the text around the place, or
 * define.
 *
 * Repositories are untrusted. No path or symbolic link is followed out of the repository or into
 * .git. Files above 512 KiB, binary files, other languages and unreadable files are skipped. An
 * answer examines at most 192 files and 8 MiB.
 */
#ifndef HPC_CONTEXT_H
#define HPC_CONTEXT_H

#include "infer/complete/complete.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_context hpc_context; /* one thread at a time */

/* Opens the repository of a file, which need not exist: the work tree of the nearest parent folder
 * with a .git, or else the file's own folder alone. A missing folder has no parts, and a damaged
 * repository no history; neither is an error. */
int hpc_context_open(hpc_context **out, const char *path);
void hpc_context_close(hpc_context *c);
/* True if hpc_context_open would find the same folder for this file. */
bool hpc_context_holds(const hpc_context *c, const char *path);

typedef struct hpc_context_options {
    size_t bytes;      /* of all parts, at most */
    size_t part_bytes; /* of a part; longer ones are cut */
} hpc_context_options;
#define HPC_CONTEXT_DEFAULTS                                                                       \
    {                                                                                              \
        .bytes = 16 << 10, .part_bytes = 2 << 10                                                   \
    }

typedef struct hpc_context_parts {
    const char *repository;     /* "owner/name", or the folder's name; NULL: none */
    const char *path;           /* of the file within it; NULL: unknown */
    const hpc_snippet *snippet; /* [n], most relevant first */
    const int64_t *line;        /* [n]: their first lines, from 1 */
    int64_t n;
    int64_t files_n; /* files that were examined */
    int64_t read_n;  /* of these, files that were read again: new or changed */
} hpc_context_parts; /* valid until the next call or the close of the context */
/* path: the file of d, in the repository of c. Equal files and text give equal answers. Typing
 * within a name or line does not change the answer until the names on the line change. Duplicate
 * texts are returned once. Negative only if memory is exhausted. */
int hpc_context_find(hpc_context_parts *out, hpc_context *c, const char *path, const hpc_spot *d,
                     const hpc_context_options *o);

#ifdef __cplusplus
}
#endif
#endif

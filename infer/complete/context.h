/*
 * context.h: the parts of other files that tell most about a place in a file.
 *
 * They come from the repository in which the file lies, as it is on disk: from what the file
 * includes, what is called like it, was changed together with it, includes the same, or lies near
 * by. A part is a function, a piece of a long one, or a few declarations; those come first that
 * share the most telling names with what stands around the place, or define them.
 *
 * A repository is untrusted. Nothing outside of it is read: no path and no symbolic link leads out
 * of it, or into .git. Files above 512 KiB, binary ones, and what is no source code of ours are
 * left out; so is what cannot be read. At most 192 files and 8 MiB are looked into for an answer.
 */
#ifndef HPC_CONTEXT_H
#define HPC_CONTEXT_H

#include "infer/complete/complete.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_context hpc_context; /* one thread at a time */

/* Of the repository in which a file lies or would lie: the work tree of the nearest folder upward
 * with a .git, or else the file's own folder alone. A folder that is not there has nothing to tell,
 * and a damaged repository no history: both are no errors. */
int hpc_context_open(hpc_context **out, const char *path);
void hpc_context_close(hpc_context *c);
/* Whether c can be asked about this file: hpc_context_open would find the same folder for it. */
bool hpc_context_holds(const hpc_context *c, const char *path);

typedef struct hpc_context_options {
    size_t bytes;      /* of all parts together, at most */
    size_t part_bytes; /* of one: longer ones lose their ends */
} hpc_context_options;
#define HPC_CONTEXT_DEFAULTS                                                                       \
    {                                                                                              \
        .bytes = 16 << 10, .part_bytes = 2 << 10                                                   \
    }

typedef struct hpc_context_parts {
    const char *repository;     /* "owner/name", or the folder's name; NULL: none */
    const char *path;           /* of the file in it; NULL: not known */
    const hpc_snippet *snippet; /* [n], the most telling one first */
    const int64_t *line;        /* [n]: where they begin, from 1 */
    int64_t n;
    int64_t files_n; /* files that were looked into */
    int64_t read_n;  /* of them, those that were read for it: not known yet, or changed */
} hpc_context_parts; /* the context's, until it is asked again or closed */
/* path: of the file that d shows, which c holds. The same files and text give the same answer; what
 * is typed into the name at the place, or within a line, changes nothing before it names something
 * else. Texts are told once, however many files have them. Negative only when memory ran out. */
int hpc_context_find(hpc_context_parts *out, hpc_context *c, const char *path, const hpc_spot *d,
                     const hpc_context_options *o);

#ifdef __cplusplus
}
#endif
#endif

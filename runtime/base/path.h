/*
 * path.h: paths that name one file from different folders, and the lines of small text files.
 */
#ifndef HPC_PATH_H
#define HPC_PATH_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if `path` is `end`, or ends with it after a slash: "project/src/a.c" ends with "src/a.c". */
bool hpc_path_ends(const char *path, const char *end);
/* True if one of two paths ends with the other. "./" at their beginnings is ignored. */
bool hpc_path_meets(const char *a, const char *b);

/* Reads the lines of a file, without their ends, into memory of the arena. Their text may be
 * changed. A file larger than `limit` bytes is an error. */
int hpc_path_lines(char ***line, int64_t *n, hpc_arena *arena, const char *path, size_t limit);

#ifdef __cplusplus
}
#endif
#endif

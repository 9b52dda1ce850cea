/*
 * Text documents that an editor has open: their text, its edits, and positions in it.
 */
#ifndef HPC_SERVE_DOCUMENT_H
#define HPC_SERVE_DOCUMENT_H

#include "runtime/base/base.h"

/* Unit of `character` in positions. */
typedef enum hpc_position_unit { HPC_UNIT_UTF8, HPC_UNIT_UTF16 } hpc_position_unit;

typedef struct hpc_text_position { /* both from 0, as the Language Server Protocol counts */
    int64_t line, character;
} hpc_text_position;

/* The byte of a position. Beyond the end of a line: the line's end; beyond the last line: the end
 * of the text. Within a character: its beginning. Lines end with LF, CRLF or CR. */
size_t hpc_text_offset(const hpc_buf *text, hpc_text_position p, hpc_position_unit unit);
hpc_text_position hpc_text_position_of(const hpc_buf *text, size_t at, hpc_position_unit unit);

typedef struct hpc_document {
    char *uri, *path; /* path: NULL unless the URI is a file's */
    hpc_buf text;     /* followed by a NUL */
    int64_t version;
    int language; /* for the caller */
} hpc_document;

typedef struct hpc_documents {
    hpc_document *item;
    int64_t n, cap;
} hpc_documents; /* zero to begin with */

/* Opens a document, or replaces an open one. */
int hpc_documents_put(hpc_documents *d, const char *uri, int64_t version, const char *text,
                      size_t n);
hpc_document *hpc_documents_find(const hpc_documents *d, const char *uri); /* NULL: not open */
void hpc_documents_close(hpc_documents *d, const char *uri);
void hpc_documents_release(hpc_documents *d);
/* Replaces [begin, end). HPC_E_ARG: end is before begin. */
int hpc_document_edit(hpc_document *d, size_t begin, size_t end, const char *text, size_t n);

/* The path of a file URI, percent-decoded; NULL with HPC_OK for other URIs. The caller frees it. */
int hpc_uri_path(char **out, const char *uri);

#endif

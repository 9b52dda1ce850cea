/*
 * container.h: containers of stored tensors: safetensors and GGUF.
 */
#ifndef HPC_CONTAINER_H
#define HPC_CONTAINER_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- containers ----------------------------------------------------------------------- */
/* safetensors: a JSON header, then data. The file is untrusted. Opening checks that the header has
 * at most 100 MB, ranges lie inside the file without overlaps, gaps or trailing bytes, names are
 * unique, and sizes match the shapes. */
typedef struct hpc_safetensors hpc_safetensors;
typedef struct hpc_stored_tensor {
    const char *name;
    hpc_dtype dtype; /* F32, F16, BF16, F64, I32, I64, F8_E4M3, and blocks from GGUF. For other
                        types, _at and _find return an error */
    int rank;        /* at most 8 */
    int64_t extent[8];
    const void *data; /* mapped; NULL in a list to write */
    size_t bytes;
} hpc_stored_tensor;
int hpc_safetensors_open(hpc_safetensors **out, const char *path);
void hpc_safetensors_close(hpc_safetensors *s);
int64_t hpc_safetensors_n(const hpc_safetensors *s);
/* A metadata value; NULL: the key is absent. */
const char *hpc_safetensors_says(const hpc_safetensors *s, const char *key);
int hpc_safetensors_at(hpc_stored_tensor *out, const hpc_safetensors *s, int64_t i);
/* A missing tensor is HPC_E_FORMAT; the message names tensor and file. */
int hpc_safetensors_find(hpc_stored_tensor *out, const hpc_safetensors *s, const char *name);
/* Replaces `path` atomically. `data` writes the bytes of tensor i with hpc_file_write, called in
 * list order. metadata: name, value, ..., NULL. */
int hpc_safetensors_save(const char *path, const hpc_stored_tensor *list, int64_t n,
                         const char *const *metadata,
                         int (*data)(hpc_file_writer *w, int64_t i, void *user), void *user);

/* GGUF, version 2 or 3, little-endian: key/value pairs, tensor descriptions, data. The file is
 * untrusted. Opening checks that keys (at most 65535 bytes) and names (at most 127) are printable
 * ASCII and unique, lists are not nested, and the alignment is a power of two from 8 to 65536.
 * Tensors have at most 4 extents. Their data is aligned, in order, and leaves no other gaps or
 * trailing bytes. Any part of a split model opens all its parts, which must be in one folder. */
typedef struct hpc_gguf hpc_gguf;
typedef enum hpc_gguf_kind { /* numbered as in the file */
                             HPC_GGUF_U8,
                             HPC_GGUF_I8,
                             HPC_GGUF_U16,
                             HPC_GGUF_I16,
                             HPC_GGUF_U32,
                             HPC_GGUF_I32,
                             HPC_GGUF_F32,
                             HPC_GGUF_BOOL,
                             HPC_GGUF_TEXT,
                             HPC_GGUF_LIST,
                             HPC_GGUF_U64,
                             HPC_GGUF_I64,
                             HPC_GGUF_F64,
                             HPC_GGUF_KIND_N
} hpc_gguf_kind;
typedef struct hpc_gguf_value {
    const char *key;
    int kind, item;   /* hpc_gguf_kind; item: element type of a list */
    int64_t n;        /* number of list elements */
    const void *data; /* unaligned, not NUL-terminated: a number, a string, or packed list elements;
                         each string of a list follows its u64 length */
    size_t bytes;
} hpc_gguf_value;
int hpc_gguf_open(hpc_gguf **out, const char *path);
void hpc_gguf_close(hpc_gguf *g);
const hpc_gguf_value *hpc_gguf_get(const hpc_gguf *g, const char *key); /* NULL: absent */
const hpc_gguf_value *hpc_gguf_value_at(const hpc_gguf *g, int64_t i);  /* NULL after the end */
int64_t hpc_gguf_n(const hpc_gguf *g);                                  /* number of tensors */
int hpc_gguf_at(hpc_stored_tensor *out, const hpc_gguf *g, int64_t i);  /* as for safetensors */
int hpc_gguf_find(hpc_stored_tensor *out, const hpc_gguf *g, const char *name);
/* Replaces `path` atomically, like hpc_safetensors_save. Writes version 3 and adds the key for
 * alignment 32. */
int hpc_gguf_save(const char *path, const hpc_gguf_value *value, int64_t values,
                  const hpc_stored_tensor *list, int64_t n,
                  int (*data)(hpc_file_writer *w, int64_t i, void *user), void *user);

#ifdef __cplusplus
}
#endif
#endif

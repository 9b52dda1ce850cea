/*
 * base.h: foundation of all modules: errors, memory, text, files, JSON, progress, random numbers,
 * threads, the clock and hashes. Option tables are in options.h.
 *
 * Nothing here prints, exits or keeps mutable global state, except that a broken contract
 * (hpc_assert) prints and aborts. Only the error record, one per thread, outlives a call.
 */
#ifndef HPC_BASE_H
#define HPC_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---------------------------------------------------------------
 * A fallible function returns 0 or one of the negative codes below and stores
 * the details in the calling thread's record. The first failure wins: while an error
 * is recorded, later ones are ignored until hpc_error_clear(). */
enum {
    HPC_OK = 0,
    HPC_E_ARG = -1,         /* bad usage or configuration */
    HPC_E_FORMAT = -2,      /* malformed file or message */
    HPC_E_SHAPE = -3,       /* operands or grids do not match */
    HPC_E_UNSUPPORTED = -4, /* valid, but not in this build, on this backend or CPU */
    HPC_E_NOMEM = -5,
    HPC_E_IO = -6,
    HPC_E_STATE = -7,  /* called in the wrong order */
    HPC_E_FAULT = -8,  /* a device rule was violated (reported by the mock device) */
    HPC_E_ABORTED = -9 /* another rank or thread failed first */
};

typedef struct hpc_error {
    int code;         /* HPC_OK when nothing is recorded */
    int os;           /* errno, or 0 */
    int line;         /* in `file` */
    const char *file; /* source file that reported the error; static string */
    char text[512];   /* one line for the user: what, where, what to do */
} hpc_error;

#define hpc_fail(code, ...) hpc_error_set(__FILE__, __LINE__, (code), 0, __VA_ARGS__)
/* Also records errno and appends its text to the message. */
#define hpc_fail_os(code, ...) hpc_error_set(__FILE__, __LINE__, (code), errno, __VA_ARGS__)
/* Returns `code`. */
int hpc_error_set(const char *file, int line, int code, int os, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Prepends "PREFIX: " to the recorded text; returns the recorded code. */
int hpc_error_where(const char *format, ...) __attribute__((format(printf, 1, 2)));
const hpc_error *hpc_error_get(void);
void hpc_error_clear(void);
/* Copies another thread's record into this thread's; the first failure still wins. */
int hpc_error_adopt(const hpc_error *from);
const char *hpc_error_name(int code); /* "bad shape", ... */

/* In a function with `int rc` and one exit label `out:`. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        rc = (expr);                                                                               \
        if (rc < 0) goto out;                                                                      \
    } while (0)

/* A broken contract is a bug in hpccoder: prints the condition and aborts, in every build. */
#define hpc_assert(cond) ((cond) ? (void)0 : hpc_assert_failed(#cond, __FILE__, __LINE__))
void hpc_assert_failed(const char *cond, const char *file, int line) __attribute__((noreturn));

/* ---- memory ---------------------------------------------------------------
 * All allocators return zeroed memory, or NULL with HPC_E_NOMEM recorded; they never
 * abort and check n * size for overflow. hpc_free(NULL) does nothing. */
void *hpc_alloc(size_t n, size_t size);                       /* aligned to 16 */
void *hpc_alloc_aligned(size_t n, size_t size, size_t align); /* power of two; 2 MiB: huge pages */
int hpc_grow(void *array_ptr, int64_t *cap, int64_t n, size_t size); /* amortised; zeroed */
void hpc_free(void *p);

typedef struct hpc_arena hpc_arena; /* many small objects with one lifetime */
typedef struct hpc_arena_mark {
    void *block;
    size_t used;
} hpc_arena_mark;
hpc_arena *hpc_arena_create(size_t block_bytes); /* 0: a default */
void hpc_arena_free(hpc_arena *a);
void *hpc_arena_alloc(hpc_arena *a, size_t n, size_t size); /* aligned to 16, zeroed */
char *hpc_arena_text(hpc_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Turns untrusted text into one line of UTF-8: drops control characters and those that change the
 * writing direction, joins white space, and cuts after `most` bytes with "...". NULL: no memory. */
const char *hpc_arena_line(hpc_arena *a, const char *text, size_t most);
hpc_arena_mark hpc_arena_here(const hpc_arena *a);
void hpc_arena_rewind(hpc_arena *a, hpc_arena_mark mark); /* keeps the blocks for reuse */
size_t hpc_arena_bytes(const hpc_arena *a);               /* reserved from the system */

/* A growing byte string. Once data is not NULL, a NUL follows the n bytes. A failed append records
 * the error, stores its code in `failed` and leaves the text unchanged; all later appends fail with
 * the same code, so a caller may append many times and check once. Appended bytes must not lie in
 * the buffer itself. */
typedef struct hpc_buf {
    char *data;
    size_t n, cap;
    int failed;
} hpc_buf;
int hpc_buf_add(hpc_buf *b, const void *data, size_t n);
int hpc_buf_text(hpc_buf *b, const char *text);
int hpc_buf_printf(hpc_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hpc_buf_release(hpc_buf *b);

/* A map from byte strings to 64-bit values that iterates in insertion order. It copies the keys;
 * the copies never move. A failed put changes nothing. hpc_map_at returns NULL past the end. */
typedef struct hpc_map hpc_map;
hpc_map *hpc_map_create(void);
void hpc_map_free(hpc_map *m);
int hpc_map_put(hpc_map *m, const void *key, size_t bytes, uint64_t value); /* adds or replaces */
bool hpc_map_get(const hpc_map *m, const void *key, size_t bytes, uint64_t *value);
int64_t hpc_map_n(const hpc_map *m);
const void *hpc_map_at(const hpc_map *m, int64_t i, size_t *bytes, uint64_t *value);

/* ---- files (only this module opens files) --------------------------------- */
typedef struct hpc_file_view { /* a read-only mapping */
    const uint8_t *data;
    size_t bytes;
    int64_t changed_ns; /* last modification, ns since 1970 */
    void *priv;
} hpc_file_view;
int hpc_file_read(hpc_buf *out, const char *path, size_t limit); /* appends; larger: an error */
/* Reads a text file into the empty `out`, decompressed if it begins with a zstd frame; larger: an
 * error. */
int hpc_file_read_text(hpc_buf *out, const char *path, size_t limit);
/* Maps a regular file. It must not shrink while it is open: access past its end raises SIGBUS. */
int hpc_file_open(hpc_file_view *out, const char *path);
/* Drops the whole pages of a part from memory; the next access reads them from the file. */
void hpc_file_drop(const hpc_file_view *v, const void *part, size_t bytes);
void hpc_file_close(hpc_file_view *v);
/* Zeros in a new file in `folder`, mapped to be written. The file has no name, and goes with the
 * mapping; its blocks are allocated now, so that a full disk is an error here. */
int hpc_file_scratch(void **out, const char *folder, size_t bytes);
void hpc_file_scratch_close(void *data, size_t bytes);
/* Atomic: writes a temporary file in the same folder, fsyncs it, renames it, fsyncs the folder.
 * Follows symbolic links; keeps the mode of an existing file. */
int hpc_file_save(const char *path, const void *data, size_t bytes);
/* Replaces the content `from` of a user's file by `to`, following symbolic links. Keeps owner,
 * mode, ACLs, extended attributes and hard links; `lost` receives the names of those that it could
 * not keep. A failure leaves or restores `from`; if that also fails, the message names a file with
 * the new text. HPC_E_ARG: the file is read-only (`force` overrides), or its content is no longer
 * `from`. */
int hpc_file_edit(hpc_buf *lost, const char *path, const hpc_buf *from, const hpc_buf *to,
                  bool force);
int hpc_file_check_edit(const char *path, bool force); /* before long work */
/* hpc_file_save of a file that, if new, only its owner may read and write. */
int hpc_file_save_private(const char *path, const void *data, size_t bytes);
bool hpc_file_exists(const char *path);
int hpc_file_mkdir(const char *path); /* and its parents; may exist */
/* The same; a new last folder is private to its owner. HPC_E_ARG: it belongs to another user, or
 * others may write to it. */
int hpc_file_mkdir_private(const char *path);
int hpc_file_touch(const char *path);  /* sets the modification time to now */
int hpc_file_remove(const char *path); /* may be absent */
/* hpc_file_save in pieces. Closing without a commit discards everything. hpc_file_write_at replaces
 * bytes within those written so far. */
typedef struct hpc_file_writer hpc_file_writer;
int hpc_file_create(hpc_file_writer **out, const char *path);
int hpc_file_write(hpc_file_writer *w, const void *data, size_t bytes);
int hpc_file_write_at(hpc_file_writer *w, size_t at, const void *data, size_t bytes);
/* Appends to a file in place, without hpc_file_write_at and hpc_file_commit. */
int hpc_file_append(hpc_file_writer **out, const char *path);
size_t hpc_file_written(const hpc_file_writer *w);
int hpc_file_commit(hpc_file_writer *w);        /* at most once, then close */
void hpc_file_close_writer(hpc_file_writer *w); /* committed or not; NULL is fine */
/* Names in a folder: NUL-separated, sorted by bytes, without temporary files; a folder's name ends
 * in '/'. */
int hpc_file_list(hpc_buf *out, int64_t *n, const char *folder);
int hpc_file_sweep(const char *folder); /* removes all temporary files, even of running processes */
/* Takes an advisory lock on the file `path`, which it creates; the lock ends with the process.
 * Returns 0 and *lock >= 0; or 0 and *lock == -1 if the lock is held elsewhere and `wait` is
 * false. */
int hpc_file_lock(int *lock, const char *path, bool wait);
void hpc_file_unlock(int lock); /* -1: does nothing */

/* ---- JSON -----------------------------------------------------------------
 * Integers beyond 64 bits become reals. Parse errors name source, line and column; errors of the
 * typed getters name the key, the value and the expected kind. Returned values belong to the root
 * and live as long as it. A NULL pointer stands for an absent value and has the kind HPC_JSON_NULL.
 */
typedef struct hpc_json hpc_json;
typedef enum hpc_json_kind {
    HPC_JSON_NULL,
    HPC_JSON_BOOL,
    HPC_JSON_INT,
    HPC_JSON_REAL,
    HPC_JSON_TEXT,
    HPC_JSON_LIST,
    HPC_JSON_OBJECT
} hpc_json_kind;
int hpc_json_parse(hpc_json **root, const char *text, size_t bytes, const char *source);
int hpc_json_read(hpc_json **root, const char *path);
void hpc_json_free(hpc_json *root);
hpc_json_kind hpc_json_kind_of(const hpc_json *v);
int64_t hpc_json_n(const hpc_json *v);                        /* of a list or object, else 0 */
const hpc_json *hpc_json_at(const hpc_json *list, int64_t i); /* NULL past the end */
const hpc_json *hpc_json_get(const hpc_json *object, const char *key); /* NULL when absent */
const char *hpc_json_key(const hpc_json *object, int64_t i, const hpc_json **value);
/* HPC_E_FORMAT if v has another kind; hpc_json_real also accepts integers. `what` names v in the
 * message. */
int hpc_json_int(int64_t *out, const hpc_json *v, const char *what);
int hpc_json_real(double *out, const hpc_json *v, const char *what);
int hpc_json_bool(bool *out, const hpc_json *v, const char *what);
int hpc_json_text(const char **out, const hpc_json *v, const char *what);
/* Writer: appends to a buffer and adds commas and escapes. In lists the key is NULL. */
typedef struct hpc_json_out {
    hpc_buf *buf;
    int depth, indent; /* indent 0: one line */
    bool more[64];
} hpc_json_out;
void hpc_json_open(hpc_json_out *w, const char *key, char bracket);         /* '{' or '[' */
void hpc_json_close(hpc_json_out *w, char bracket);                         /* '}' or ']' */
void hpc_json_put_text(hpc_json_out *w, const char *key, const char *text); /* NULL: null */
void hpc_json_put_int(hpc_json_out *w, const char *key, int64_t value);
void hpc_json_put_real(hpc_json_out *w, const char *key, double value); /* non-finite: null */
void hpc_json_put_bool(hpc_json_out *w, const char *key, bool value);
void hpc_json_put(hpc_json_out *w, const char *key, const hpc_json *v); /* including children */

/* ---- progress ------------------------------------------------------------- */
typedef struct hpc_progress {
    void (*write)(void *user, const char *text, size_t n);
    void *user;
    bool terminal; /* redraws one line; else prints a line about every 10 s */
    int columns;   /* width of the terminal; 0: 80 */
    const char *label, *unit;
    int64_t total; /* 0: unknown */
    int64_t start_ns, shown_ns;
    int64_t start_done; /* done before the start: set after it when resuming */
    int64_t until_ns;   /* deadline by hpc_clock_ns, which bounds the time left; 0: none */
} hpc_progress;
void hpc_progress_start(hpc_progress *p, const char *label, const char *unit, int64_t total);
void hpc_progress_update(hpc_progress *p, int64_t done, const char *extra); /* extra may be NULL */
void hpc_progress_end(hpc_progress *p, int64_t done);
void hpc_progress_clear(hpc_progress *p); /* ends without a last line */

/* ---- random numbers -------------------------------------------------------
 * Philox4x32-10: a pure function of (seed, tensor, step, index). Any thread, rank or
 * backend can compute any element in any order and gets the same bits. */
void hpc_random_block(uint32_t out[4], uint64_t seed, uint32_t tensor, uint32_t step,
                      uint64_t block);
/* Element `index` is lane index % 4 of block index / 4. */
uint32_t hpc_random_bits(uint64_t seed, uint32_t tensor, uint32_t step, uint64_t index);
/* hpc_random_half: 16 bits; a lane holds two elements, the first in its low bits. */
uint32_t hpc_random_share(double p); /* p * 65,536, rounded: a threshold for hpc_random_half */
uint32_t hpc_random_half(uint64_t seed, uint32_t tensor, uint32_t step, uint64_t index);
float hpc_random_uniform(uint32_t bits); /* [0, 1), 24 bits */
/* Elements first to first + n - 1; the same bits in every build (no libm, no contraction). */
void hpc_random_fill_uniform(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                             uint64_t first);
void hpc_random_fill_normal(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                            uint64_t first);

/* ---- threads -------------------------------------------------------------- */
/* A barrier for n threads: waiters spin, then yield, then sleep. n == 1 returns at once. All writes
 * before a thread's wait are visible to every thread after the wait. */
typedef struct hpc_barrier {
    int n;
    int spins;      /* 0 when there are fewer CPUs than threads */
    int arrived;    /* like generation: only by atomic built-ins */
    char pad[60];   /* keeps both on different cache lines at any alignment */
    int generation; /* grows by 2; bit 0: a thread sleeps */
    char pad2[60];
} hpc_barrier;
void hpc_barrier_init(hpc_barrier *b, int n);
void hpc_barrier_wait(hpc_barrier *b);

/* A pool of n workers, 1 to 4096; the caller of hpc_pool_run is worker 0 and is never bound to a
 * CPU. On Linux, if the creating thread may use exactly n CPUs, each other worker is bound to its
 * own, as are threads that it starts. */
typedef struct hpc_pool hpc_pool;
int hpc_pool_create(hpc_pool **out, int n);
void hpc_pool_free(hpc_pool *p);
int hpc_pool_n(const hpc_pool *p);
/* Runs fn on all workers concurrently and returns when all have finished. Returns the failure
 * (below 0) of the lowest worker, and copies its record to the caller; otherwise 0. Not
 * re-entrant. */
int hpc_pool_run(hpc_pool *p, int (*fn)(int worker, int workers, void *user), void *user);
/* The worker's share [*lo, *hi) of n items, split at multiples of `grain`; a pure function. */
void hpc_share(int64_t *lo, int64_t *hi, int64_t n, int64_t grain, int worker, int workers);
int64_t hpc_clock_ns(void); /* monotonic */

/* Loads the shared object `name` of this build: `file` or, if NULL, the one in the
 * program's folder or in ../lib/hpccoder. Never unloads it. HPC_E_UNSUPPORTED names `package`. */
int hpc_library_open(void **out, const char *file, const char *name, const char *package);

/* ---- hashes (XXH3: the same on every machine; not for secrets) --------------- */
typedef struct hpc_hash128 {
    uint64_t low, high;
} hpc_hash128;
uint64_t hpc_hash(const void *data, size_t bytes, uint64_t seed);
hpc_hash128 hpc_hash_wide(const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/*
 * base.h: what every other room stands on: errors, memory, text, files, JSON,
 * progress, random numbers, threads and the clock. Option tables are options.h's.
 *
 * Nothing here prints, exits or keeps mutable global state. The one thing that
 * outlives a call is the error record, which is per thread.
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
 * A fallible function returns 0 or one of the negative codes below and leaves
 * the detail in the calling thread's record. The first failure wins: setting an
 * error while one is recorded is ignored until hpc_error_clear(). */
enum {
    HPC_OK = 0,
    HPC_E_ARG = -1,         /* bad usage or configuration */
    HPC_E_FORMAT = -2,      /* a file or message is not what it should be */
    HPC_E_SHAPE = -3,       /* operands or grids do not fit together */
    HPC_E_UNSUPPORTED = -4, /* valid, but this build, backend or CPU cannot */
    HPC_E_NOMEM = -5,
    HPC_E_IO = -6,
    HPC_E_STATE = -7,  /* called in the wrong order */
    HPC_E_FAULT = -8,  /* a rule of the device was broken (found by mock) */
    HPC_E_ABORTED = -9 /* another rank or thread failed first */
};

typedef struct hpc_error {
    int code;         /* HPC_OK when nothing is recorded */
    int os;           /* errno, or 0 */
    int line;         /* where in our source */
    const char *file; /* static string */
    char text[512];   /* one line for the user: what, where, what to do */
} hpc_error;

#define hpc_fail(code, ...) hpc_error_set(__FILE__, __LINE__, (code), 0, __VA_ARGS__)
/* Records errno as well, and appends its text to the message. */
#define hpc_fail_os(code, ...) hpc_error_set(__FILE__, __LINE__, (code), errno, __VA_ARGS__)
/* Returns `code`. */
int hpc_error_set(const char *file, int line, int code, int os, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Prepends "PREFIX: " to the recorded text; returns the recorded code. */
int hpc_error_where(const char *format, ...) __attribute__((format(printf, 1, 2)));
const hpc_error *hpc_error_get(void);
void hpc_error_clear(void);
/* Makes another thread's record this thread's (first failure still wins). */
int hpc_error_adopt(const hpc_error *from);
const char *hpc_error_name(int code); /* "bad shape", ... */

/* In a function with `int rc` and one exit label `out:`. */
#define TRY(expr)                                                                                  \
    do {                                                                                           \
        rc = (expr);                                                                               \
        if (rc < 0) goto out;                                                                      \
    } while (0)

/* A broken contract is a bug of ours: reports and aborts, in every build. */
#define hpc_assert(cond) ((cond) ? (void)0 : hpc_assert_failed(#cond, __FILE__, __LINE__))
void hpc_assert_failed(const char *cond, const char *file, int line) __attribute__((noreturn));

/* ---- memory ---------------------------------------------------------------
 * All allocators return NULL with HPC_E_NOMEM recorded, never abort, check the
 * product n * size for overflow and return zeroed memory. hpc_free(NULL) is fine. */
void *hpc_alloc(size_t n, size_t size);                       /* aligned to 16 */
void *hpc_alloc_aligned(size_t n, size_t size, size_t align); /* power of two; 2 MiB: huge pages */
int hpc_grow(void *array_ptr, int64_t *cap, int64_t n, size_t size); /* amortised; zeroes */
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
hpc_arena_mark hpc_arena_here(const hpc_arena *a);
void hpc_arena_rewind(hpc_arena *a, hpc_arena_mark mark); /* keeps the blocks for reuse */
size_t hpc_arena_bytes(const hpc_arena *a);               /* reserved from the system */

/* A growing byte string; always NUL-terminated behind n once it has data. A failed append records
 * the error, sets `failed` to its code and leaves the text as it was; all later ones fail likewise,
 * so a caller may append many times and check once. What is appended must not lie in the buffer. */
typedef struct hpc_buf {
    char *data;
    size_t n, cap;
    int failed;
} hpc_buf;
int hpc_buf_add(hpc_buf *b, const void *data, size_t n);
int hpc_buf_text(hpc_buf *b, const char *text);
int hpc_buf_printf(hpc_buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hpc_buf_release(hpc_buf *b);

/* Byte-string keys to 64-bit values; iterates in insertion order; keys copied. A
 * failed put changes nothing. hpc_map_at: NULL past the end; keys never move. */
typedef struct hpc_map hpc_map;
hpc_map *hpc_map_create(void);
void hpc_map_free(hpc_map *m);
int hpc_map_put(hpc_map *m, const void *key, size_t bytes, uint64_t value); /* adds or replaces */
bool hpc_map_get(const hpc_map *m, const void *key, size_t bytes, uint64_t *value);
int64_t hpc_map_n(const hpc_map *m);
const void *hpc_map_at(const hpc_map *m, int64_t i, size_t *bytes, uint64_t *value);

/* ---- files (the only place that opens any) -------------------------------- */
typedef struct hpc_file_view { /* a read-only mapping */
    const uint8_t *data;
    size_t bytes;
    int64_t changed_ns; /* when the file was written last, since 1970 */
    void *priv;
} hpc_file_view;
int hpc_file_read(hpc_buf *out, const char *path, size_t limit); /* refuses more than limit */
int hpc_file_open(hpc_file_view *out, const char *path);
/* That part is not needed soon: what of it is in memory goes, and comes back when it is touched. */
void hpc_file_drop(const hpc_file_view *v, const void *part, size_t bytes);
void hpc_file_close(hpc_file_view *v);
/* Whole or not at all: temporary name beside it, fsync, rename, fsync of the folder. */
int hpc_file_save(const char *path, const void *data, size_t bytes);
/* Replaces the content of a user's file by `to`, whole or not at all, through symbolic links.
 * Owner, mode, ACLs, extended attributes and hard links stay; `lost` gets the names of what could
 * not. HPC_E_ARG: the file is read-only (`force` overrides), or no longer holds `from`. */
int hpc_file_edit(hpc_buf *lost, const char *path, const hpc_buf *from, const hpc_buf *to,
                  bool force);
int hpc_file_check_edit(const char *path, bool force); /* for commands that work for long before */
/* hpc_file_save, of a new file that only its owner may read and write. */
int hpc_file_save_private(const char *path, const void *data, size_t bytes);
bool hpc_file_exists(const char *path);
int hpc_file_mkdir(const char *path); /* with parents; existing is fine */
/* The same; the last folder is for its owner alone if it is new. HPC_E_ARG: it belongs to another
 * user, or others may write to it. */
int hpc_file_mkdir_private(const char *path);
int hpc_file_touch(const char *path);  /* sets the time of the last change to now */
int hpc_file_remove(const char *path); /* absent is fine */
/* hpc_file_save in pieces: closing without a commit leaves no trace; `at` is below the length. */
typedef struct hpc_file_writer hpc_file_writer;
int hpc_file_create(hpc_file_writer **out, const char *path);
int hpc_file_write(hpc_file_writer *w, const void *data, size_t bytes);
int hpc_file_write_at(hpc_file_writer *w, size_t at, const void *data, size_t bytes);
int hpc_file_append(hpc_file_writer **out, const char *path); /* in place; written at once */
size_t hpc_file_written(const hpc_file_writer *w);
int hpc_file_commit(hpc_file_writer *w);        /* at most once, then close */
void hpc_file_close_writer(hpc_file_writer *w); /* committed or not; NULL is fine */
/* *n names in a folder, NUL-separated, sorted by bytes; folders end in '/'; no temporaries. */
int hpc_file_list(hpc_buf *out, int64_t *n, const char *folder);
int hpc_file_sweep(const char *folder); /* removes temporaries that a killed process left there */
/* An advisory lock on a file made for it, gone when its process is: 0 and *lock >= 0, or 0 and
 * *lock == -1 when another holds it and `wait` is false. */
int hpc_file_lock(int *lock, const char *path, bool wait);
void hpc_file_unlock(int lock); /* -1 is fine */

/* ---- JSON -----------------------------------------------------------------
 * Integers beyond 64 bits are reals. Parse errors name source, line and column; the typed getters
 * name the key, the value and what was expected. Borrowed values live as long as the root; NULL is
 * an absent one, of kind NULL. */
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
/* Of a value itself: HPC_E_FORMAT when of another kind; `what` names it in the message. */
int hpc_json_int(int64_t *out, const hpc_json *v, const char *what);
int hpc_json_real(double *out, const hpc_json *v, const char *what);
int hpc_json_bool(bool *out, const hpc_json *v, const char *what);
int hpc_json_text(const char **out, const hpc_json *v, const char *what);
/* Writing: appends to a buffer, commas and escapes by itself. key NULL in lists. */
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
void hpc_json_put(hpc_json_out *w, const char *key, const hpc_json *v); /* with all below it */

/* ---- progress ------------------------------------------------------------- */
typedef struct hpc_progress {
    void (*write)(void *user, const char *text, size_t n);
    void *user;
    bool terminal; /* redraw one line; otherwise a line about every 10 s */
    const char *label, *unit;
    int64_t total; /* 0: unknown */
    int64_t start_ns, shown_ns;
    int64_t start_done; /* done before the start: set after it when resuming */
} hpc_progress;
void hpc_progress_start(hpc_progress *p, const char *label, const char *unit, int64_t total);
void hpc_progress_update(hpc_progress *p, int64_t done, const char *extra); /* extra may be NULL */
void hpc_progress_end(hpc_progress *p, int64_t done);
void hpc_progress_clear(hpc_progress *p); /* ends it without a last line */

/* ---- random numbers -------------------------------------------------------
 * Philox4x32-10: a pure function of (seed, tensor, step, index), so any element
 * can be drawn by any thread, rank or backend, in any order, again. */
void hpc_random_block(uint32_t out[4], uint64_t seed, uint32_t tensor, uint32_t step,
                      uint64_t block);
/* Element `index` is lane index % 4 of block index / 4. */
uint32_t hpc_random_bits(uint64_t seed, uint32_t tensor, uint32_t step, uint64_t index);
/* 16 bits, two elements to a lane, of which the first has the low ones. */
uint32_t hpc_random_share(double p); /* how many of 65,536 p is, rounded */
uint32_t hpc_random_half(uint64_t seed, uint32_t tensor, uint32_t step, uint64_t index);
float hpc_random_uniform(uint32_t bits); /* [0, 1), 24 bits */
/* Elements first..first+n-1; exact in every build (no libm, no contraction). */
void hpc_random_fill_uniform(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                             uint64_t first);
void hpc_random_fill_normal(float *out, int64_t n, uint64_t seed, uint32_t tensor, uint32_t step,
                            uint64_t first);

/* ---- threads -------------------------------------------------------------- */
/* A sense-reversing barrier: spins, then yields, then sleeps. n == 1 is free. Whatever a thread did
 * before its wait is seen by all after theirs. */
typedef struct hpc_barrier {
    int n;
    int spins;      /* 0 when there are fewer CPUs than threads */
    int arrived;    /* this and generation by atomic built-ins only, and a whole */
    char pad[60];   /* cache line apart wherever the struct begins */
    int generation; /* grows by 2; bit 0: somebody sleeps */
    char pad2[60];
} hpc_barrier;
void hpc_barrier_init(hpc_barrier *b, int n);
void hpc_barrier_wait(hpc_barrier *b);

/* n workers; the caller of run is worker 0. With exactly one CPU for each, the others are bound to
 * one each, and so is what they start; the caller never is. */
typedef struct hpc_pool hpc_pool;
int hpc_pool_create(hpc_pool **out, int n);
void hpc_pool_free(hpc_pool *p);
int hpc_pool_n(const hpc_pool *p);
/* Runs fn on every worker at once and returns when all have. The first failure (below 0) by worker
 * index is returned, its record copied to the caller; otherwise 0. Not re-entrant. */
int hpc_pool_run(hpc_pool *p, int (*fn)(int worker, int workers, void *user), void *user);
/* Items [*lo, *hi) of worker's share: whole multiples of `grain`, independent of time. */
void hpc_share(int64_t *lo, int64_t *hi, int64_t n, int64_t grain, int worker, int workers);
int64_t hpc_clock_ns(void); /* monotonic */

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

/*
 * feature.h: features of a change that affect run time: a fixed vector of named numbers for each
 * function and for the whole change, and reasons as phrases.
 *
 * A function is a list of events (event.h), such as allocations, divisions and stores, with their
 * loop depth. Features are sums after the change minus sums before it, so they are signed. Types,
 * callees in other files and trip counts are unknown: "work" assumes eight iterations per loop.
 */
#ifndef HPC_PERF_FEATURE_H
#define HPC_PERF_FEATURE_H

#include "corpus/history/hot_line.h"
#include "infer/perf/change.h"
#include "infer/perf/event.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features ------------------------------------------------------------------------------- */
enum { HPC_PERF_FEATURES = 167 };
typedef struct hpc_perf_feature {
    const char *name, *meaning;
    int event; /* the event that it counts; -1: none */
} hpc_perf_feature;
/* Feature i; the order never changes. */
const hpc_perf_feature *hpc_perf_feature_at(int i);
int hpc_perf_feature_named(const char *name); /* -1: unknown name */
typedef struct hpc_perf_vector {
    double value[HPC_PERF_FEATURES];
} hpc_perf_vector;

/* An event in only one version, or at different loop depths. */
typedef struct hpc_perf_shift {
    int64_t function;
    size_t word;                   /* in `words` */
    uint32_t base_line, head_line; /* 0: absent */
    int8_t base_depth, head_depth; /* -1: absent */
    uint8_t kind;
} hpc_perf_shift;
typedef struct hpc_perf_constant { /* a changed literal */
    int64_t function;
    size_t base, head; /* in `words` */
    uint32_t base_line, head_line;
    uint8_t depth;
} hpc_perf_constant;

typedef struct hpc_perf_features {
    hpc_perf_vector commit;    /* of all functions together */
    hpc_perf_vector *function; /* as in the change */
    int64_t n, cap;
    hpc_perf_shift *shift; /* by function */
    int64_t shifts_n, shifts_cap;
    hpc_perf_constant *constant;
    int64_t constants_n, constants_cap;
    struct hpc_perf_touched { /* where a function changed in its innermost changed loop */
        uint32_t line;        /* of head, or of base if `gone` */
        uint8_t depth;
        bool gone;
    } * touched;
    int64_t touched_cap;
    hpc_buf words;
} hpc_perf_features; /* zero to begin with; reused by the next call */
void hpc_perf_features_release(hpc_perf_features *f);

typedef struct hpc_perf_scanner hpc_perf_scanner; /* reusable memory of one thread */
int hpc_perf_scanner_create(hpc_perf_scanner **out);
void hpc_perf_scanner_free(hpc_perf_scanner *s);
/* Replaces out. Needs the sources of c, so call it before the next change of the reader; out does
 * not refer to them. A new function that a changed one calls counts as if it were inlined there, so
 * that splitting a function is not a change. */
int hpc_perf_features_find(hpc_perf_features *out, hpc_perf_scanner *s, const hpc_perf_change *c);

/* ---- heat --------------------------------------------------------------------------------------
 * Sets the features "cold", "heat", "heat_near", ... of f: the share of the measured cost in
 * changed lines. hot: line profile of base or of a commit near it, sorted by key; NULL: unknown,
 * and these features are 0. f was computed from c, whose sources must still be valid. */
void hpc_perf_heat_find(hpc_perf_features *f, const hpc_perf_change *c, const hpc_hot_line *hot,
                        int64_t n);
void hpc_perf_heat_forget(hpc_perf_vector *x); /* sets them to 0 */

/* ---- reasons --------------------------------------------------------------------------------- */
typedef struct hpc_perf_reason {
    int feature;
    double value, score; /* score: value times the feature's weight */
    int64_t function;    /* of the change */
    uint32_t line;       /* that explains it; 0: none */
    bool base;           /* a line of base that was removed */
    size_t text;         /* in `text` below: one line, without line break and position */
} hpc_perf_reason;
typedef struct hpc_perf_reasons {
    hpc_perf_reason *item;
    int64_t n, cap;
    hpc_buf text;
} hpc_perf_reasons; /* zero to begin with; reused by the next call */
void hpc_perf_reasons_release(hpc_perf_reasons *r);
/* Replaces out by at most `most` reasons for one function, or for the whole change (-1): the
 * largest absolute scores first, one per kind of event and function. weight: by feature; below 0:
 * faster, 0: no reason. NULL: 1 for counts of events, constants and changes without effect, 0 for
 * size and location. */
int hpc_perf_reasons_find(hpc_perf_reasons *out, const hpc_perf_features *f, int64_t function,
                          const double *weight, int64_t most);

#ifdef __cplusplus
}
#endif
#endif

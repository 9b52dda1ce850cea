/*
 * feature.h: what a change does to the time that a program takes, as far as its text tells: a fixed
 * vector of named numbers for each function and for all of it, and the reasons in words.
 *
 * A function is read as a list of events: an allocation, a division, a store, each in so many
 * loops. What is counted of them before is taken from what is counted after, so every number has a
 * sign. Nothing is known of types, of what is called elsewhere or of how often a loop runs: "work"
 * takes each loop to run eight times.
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
    int event; /* that it counts, or -1 */
} hpc_perf_feature;
/* The i-th, always the same. */
const hpc_perf_feature *hpc_perf_feature_at(int i);
int hpc_perf_feature_named(const char *name); /* -1: there is none */
typedef struct hpc_perf_vector {
    double value[HPC_PERF_FEATURES];
} hpc_perf_vector;

/* Something that happens in one version and not in the other, or in other loops than there. */
typedef struct hpc_perf_shift {
    int64_t function;
    size_t word;                   /* in `words` */
    uint32_t base_line, head_line; /* 0: not there */
    int8_t base_depth, head_depth; /* -1: not there */
    uint8_t kind;
} hpc_perf_shift;
typedef struct hpc_perf_constant { /* a number that became another */
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

typedef struct hpc_perf_scanner hpc_perf_scanner; /* memory that is used again; of one thread */
int hpc_perf_scanner_create(hpc_perf_scanner **out);
void hpc_perf_scanner_free(hpc_perf_scanner *s);
/* Replaces out. The sources of c must still be there: before the next change of its reader. What it
 * tells does not need them any more. A function that is new and called by a changed one counts as
 * if it stood where it is called, so that what is only taken apart is no change. */
int hpc_perf_features_find(hpc_perf_features *out, hpc_perf_scanner *s, const hpc_perf_change *c);

/* ---- heat --------------------------------------------------------------------------------------
 * Where it was measured in which lines the cost is, of base or of a commit like it: "cold", "heat",
 * "heat_near", ... say how much of it the change touches. hot, in order of keys, NULL: it is not
 * known, and all of these are 0. Adds to f, which was found of c; the sources of c must still be
 * there. */
void hpc_perf_heat_find(hpc_perf_features *f, const hpc_perf_change *c, const hpc_hot_line *hot,
                        int64_t n);
void hpc_perf_heat_forget(hpc_perf_vector *x);

/* ---- reasons --------------------------------------------------------------------------------- */
typedef struct hpc_perf_reason {
    int feature;
    double value, score; /* score: value times the feature's weight */
    int64_t function;    /* of the change */
    uint32_t line;       /* that drives it, 0: none */
    bool base;           /* the line is of base: it is gone */
    size_t text;         /* in `text` below: one line, without an end and without its place */
} hpc_perf_reason;
typedef struct hpc_perf_reasons {
    hpc_perf_reason *item;
    int64_t n, cap;
    hpc_buf text;
} hpc_perf_reasons; /* zero to begin with; reused by the next call */
void hpc_perf_reasons_release(hpc_perf_reasons *r);
/* Replaces out by at most `most` reasons for what is told of one function, or of all (-1), those of
 * the largest score in absolute value first, one for each kind of event and function. weight: of
 * each feature, below 0: faster; those of weight 0 give none. NULL: 1 for those that count events,
 * for constants and for what has no effect, 0 for those of size and place. */
int hpc_perf_reasons_find(hpc_perf_reasons *out, const hpc_perf_features *f, int64_t function,
                          const double *weight, int64_t most);

#ifdef __cplusplus
}
#endif
#endif

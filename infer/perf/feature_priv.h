/*
 * feature_priv.h: sums of events over the versions of a function or of a change, from which its
 * feature vector is computed.
 */
#ifndef HPC_PERF_FEATURE_PRIV_H
#define HPC_PERF_FEATURE_PRIV_H

#include "infer/perf/feature.h"
#include "infer/perf/scan.h"

typedef enum perf_measure { /* of an event */
                            PERF_COUNT,
                            PERF_IN_LOOPS, /* those in a loop */
                            PERF_INNER,    /* those in an innermost loop */
                            PERF_WORK,     /* executions, as a power of two */
                            PERF_MEASURES
} perf_measure;
typedef enum perf_effect {                    /* upper bound of the effect of a change */
                           PERF_EFFECT_NONE,  /* comments, white space */
                           PERF_EFFECT_NAMES, /* of locals */
                           PERF_EFFECT_STRINGS,
                           PERF_EFFECT_ORDER, /* same tokens in another order, mostly
                                                 declarations */
                           PERF_EFFECT_ANY
} perf_effect;
typedef enum perf_special { /* features that count no event */
                            PERF_LINES_ADDED,
                            PERF_LINES_REMOVED,
                            PERF_TOKENS_ADDED,
                            PERF_TOKENS_REMOVED,
                            PERF_TOKENS_BEFORE,
                            PERF_FUNCTIONS_MODIFIED,
                            PERF_FUNCTIONS_ADDED,
                            PERF_FUNCTIONS_REMOVED,
                            PERF_FUNCTIONS_RENAMED,
                            PERF_OUTSIDE,
                            PERF_FILES,
                            PERF_BUILD_FILES,
                            PERF_OTHER_FILES,
                            PERF_MODULES,
                            PERF_SKIPPED,
                            PERF_NO_EFFECT,
                            PERF_ONLY_NAMES,
                            PERF_ONLY_STRINGS,
                            PERF_ONLY_ORDER,
                            PERF_HEADERS,
                            PERF_CHANGED_DEPTH,
                            PERF_CHANGED_WORK,
                            PERF_CHANGED_INNER,
                            PERF_NESTING,
                            PERF_CONSTANTS,
                            PERF_CONSTANTS_GROWTH,
                            PERF_LANGUAGE_CHANGED, /* 0: set by hpc_perf_language_put */
                            PERF_LANGUAGE_SLOWER,
                            PERF_WORK_CHANGE, /* as features */
                            PERF_WORK_SHARE,
                            PERF_HEAT_KNOWN, /* from here on: set by heat.c */
                            PERF_COLD,
                            PERF_HEAT,
                            PERF_HEAT_NEAR,
                            PERF_HEAT_AROUND,
                            PERF_HEAT_COST,
                            PERF_SPECIALS
} perf_special;

typedef struct perf_sums {
    double event[2][PERF_MEASURES][HPC_PERF_EVENTS]; /* of base, of head */
    double special[PERF_SPECIALS];                   /* raw sums, not features */
    double tokens, headers;                          /* changed; those in headers */
    double nesting[2];                               /* the deepest loop */
    perf_effect effect;
} perf_sums;
void perf_sums_add(perf_sums *to, const perf_sums *s);
/* feature_table.c */
void perf_sums_vector(hpc_perf_vector *out, const perf_sums *s);
bool perf_feature_is_special(int feature, perf_special *which);
/* phrase.c: "30 tokens of code added", "more calls of other functions (+3)". */
int perf_feature_put(hpc_buf *out, int feature, double value);

/* view.c: prior expectation without a model. 1: slower, -1: faster, 0: neither. */
int perf_expected_effect(int feature, double value);

bool perf_is_header(const char *path); /* feature.c */
/* effect.c: compares two versions of a function with different code. */
int perf_effect_of(perf_effect *out, const perf_scan *base, const perf_scan *head);
/* shift.c: adds the differing events of function k to out. */
int perf_shifts_find(hpc_perf_features *out, int64_t k, const perf_scan *base,
                     const perf_scan *head);
int perf_word_add(size_t *at, hpc_perf_features *out, const hpc_perf_source *s, uint32_t from,
                  uint32_t n);

#endif

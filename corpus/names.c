/*
 * names.c: names of reasons and splits in tables, JSON and corpus.db.
 */
#include "corpus/corpus.h"

const char *hpc_reason_name(hpc_reason r)
{
    static const char *const name[HPC_REASON_N] = {
        [HPC_REASON_KEPT] = "kept",
        [HPC_REASON_HELD_OUT_REPOSITORY] = "held-out-repository",
        [HPC_REASON_HELD_OUT_PATH] = "held-out-path",
        [HPC_REASON_VENDORED] = "vendored",
        [HPC_REASON_TOO_LARGE] = "too-large",
        [HPC_REASON_ABSENT] = "absent",
        [HPC_REASON_CORRUPT] = "corrupt",
        [HPC_REASON_NOT_UTF8] = "not-utf8",
        [HPC_REASON_TOO_SHORT] = "too-short",
        [HPC_REASON_GENERATED] = "generated",
        [HPC_REASON_MINIFIED] = "minified",
        [HPC_REASON_LICENCE] = "licence",
        [HPC_REASON_HELD_OUT_HASH] = "held-out-hash",
        [HPC_REASON_HELD_OUT_SHINGLES] = "held-out-shingles",
        [HPC_REASON_DUPLICATE] = "duplicate",
        [HPC_REASON_NEAR_DUPLICATE] = "near-duplicate",
        [HPC_REASON_STRADDLES] = "straddles",
    };
    hpc_assert((unsigned)r < HPC_REASON_N);
    return name[r];
}

const char *hpc_split_name(hpc_split s)
{
    static const char *const name[HPC_SPLIT_N] = {[HPC_SPLIT_TRAIN] = "train",
                                                  [HPC_SPLIT_VALIDATION] = "validation",
                                                  [HPC_SPLIT_TEST] = "test"};
    hpc_assert((unsigned)s < HPC_SPLIT_N);
    return name[s];
}

/*
 * study.h: the analysis of one loop: the lifetimes of its prover, facts, walk and answer.
 */
#ifndef HPC_PRAGMA_STUDY_H
#define HPC_PRAGMA_STUDY_H

#include "infer/pragma/walk.h"

typedef struct study {
    prover prover;
    loop_facts loop;
    answer answer;
    walk walk;
} study; /* must not move: the walk points into it */
/* Does not read *s. study_end is valid after a failure. */
int study_begin(study *s, const program *p, int32_t loop, int32_t function, bool is_instance);
bool study_walk(study *s); /* false: the loop is not analysed; the answer has the reason */
int study_end(study *s);   /* releases all; the first failure */

#endif

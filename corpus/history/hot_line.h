/*
 * hot_line.h: lines of source code by what they say and what stands around them, so that what was
 * measured of a line is found again in a later version, wherever the line is there.
 */
#ifndef HPC_HISTORY_HOT_LINE_H
#define HPC_HISTORY_HOT_LINE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_hot_line {
    uint32_t key;
    float share; /* of all of the cost, above 0 */
} hpc_hot_line;

/* Of line `number`, from 1, of a text whose n lines begin at line[0] ... line[n - 1] and end at
 * line[n]: by itself and its neighbours that are not blank, without white space at either end.
 * Lines that agree in all three have the same key. 0: it is blank or not there. */
uint32_t hpc_line_key(const char *text, const uint32_t *line, uint32_t n, uint32_t number);

/* The share of a key; 0: it is none of these, which are in order of keys. */
float hpc_hot_share(const hpc_hot_line *hot, int64_t n, uint32_t key);

#ifdef __cplusplus
}
#endif
#endif

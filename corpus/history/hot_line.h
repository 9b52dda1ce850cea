/*
 * hot_line.h: line profiles: shares of cost by keys of source lines, which survive moves of the
 * line.
 */
#ifndef HPC_HISTORY_HOT_LINE_H
#define HPC_HISTORY_HOT_LINE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_hot_line {
    uint32_t key;
    float share; /* of the total cost; above 0 */
} hpc_hot_line;

/* The key of line `number`, from 1, of a text whose n lines begin at line[0] ... line[n - 1] and
 * end at line[n]. It hashes the line and the nearest lines before and after that are not blank,
 * without white space at both ends. 0: the line is blank or does not exist. */
uint32_t hpc_line_key(const char *text, const uint32_t *line, uint32_t n, uint32_t number);

/* The share of a key; 0: not found. hot is sorted by key. */
float hpc_hot_share(const hpc_hot_line *hot, int64_t n, uint32_t key);

#ifdef __cplusplus
}
#endif
#endif

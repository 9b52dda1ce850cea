/*
 * corpus_print.h: results of the corpus commands as JSON and as text, appended to a buffer.
 */
#ifndef HPC_CMD_CORPUS_PRINT_H
#define HPC_CMD_CORPUS_PRINT_H

#include "corpus/corpus.h"

typedef struct harvest_spent {
    double seconds;
    int64_t peak_bytes;
} harvest_spent;
void hpc_cmd_harvest_json(hpc_buf *out, const hpc_harvest_result *r, const harvest_spent *s);
void hpc_cmd_harvest_text(hpc_buf *out, const hpc_harvest_result *r, const harvest_spent *s);

typedef struct pack_part { /* the result of one split */
    hpc_split split;
    hpc_pack_result result;
    double seconds;
} pack_part;
/* perf: with the commits that were left out. */
void hpc_cmd_pack_json(hpc_buf *out, const pack_part *p, int n, bool perf);
void hpc_cmd_pack_text(hpc_buf *out, const pack_part *p, int n, bool perf);

#endif

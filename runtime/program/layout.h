/*
 * layout.h: layouts of values on the axes of the process grid.
 */
#ifndef HPC_LAYOUT_H
#define HPC_LAYOUT_H

#include "runtime/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Layout of a value on one grid axis. The extent of a split value is global until hpc_shard has
 * run, and local afterwards. */
enum { HPC_REPLICATED = 0, HPC_PARTIAL = -1, HPC_LOGARITHM = -2 /* of a partial sum */ };
#define HPC_SPLIT(dim) (1 + (dim))
/* Also a split; its parts are subdivisions of the parts of every axis with HPC_SPLIT(dim). If
 * operands of one instruction have both kinds of split, those with HPC_INNER are gathered. */
#define HPC_INNER(dim) (1 + HPC_RANK_MAX + (dim))
/* Each rank has the rows that were sent to it, as many as the run-time extent says: any part of
 * them, so extents are not divided. Numbers about such rows (starts, counts) are HPC_OWN(0) as
 * well, and mean the rank's own rows. There is no conversion from or to this layout. */
#define HPC_OWN(dim) (1 + 2 * HPC_RANK_MAX + (dim))
static inline bool hpc_layout_own(int8_t layout)
{
    return layout > 2 * HPC_RANK_MAX;
}
static inline bool hpc_layout_inner(int8_t layout)
{
    return layout > HPC_RANK_MAX && !hpc_layout_own(layout);
}
/* The dimension that a layout splits, in any way; below 0: none. */
static inline int hpc_layout_dim(int8_t layout)
{
    return layout <= 0 ? layout - 1 : (layout - 1) % HPC_RANK_MAX;
}
static inline int8_t hpc_layout_split(int dim, bool inner)
{
    return (int8_t)(inner ? HPC_INNER(dim) : HPC_SPLIT(dim));
}

#ifdef __cplusplus
}
#endif
#endif

/*
 * transfer.h: what the executor sends over links for a collective instruction.
 */
#ifndef HPC_TRAIN_TRANSFER_H
#define HPC_TRAIN_TRANSFER_H

#include "runtime/program/program.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HPC_TRANSFERS = 2 }; /* at most, of an instruction */

/* n: elements, as in hpc_comm. */
typedef struct hpc_transfer {
    hpc_comm_kind kind;
    hpc_axes axes;
    hpc_dtype dtype;
    int64_t n;
} hpc_transfer;

/* Transfers of a collective, in their order; returns their number. i: of a rank's program. Rows of
 * experts: as many for each rank, and no slot is without a row. */
int hpc_transfers_of(hpc_transfer out[HPC_TRANSFERS], const hpc_program *p, const hpc_insn *i);
int64_t hpc_transfer_bytes(const hpc_transfer *t); /* n elements */
/* The part of a value's extent that rows fill, if as many have come from each rank; 1 if none have
 * come from other ranks. */
double hpc_transfer_share(const hpc_program *p, const hpc_type *t);

#ifdef __cplusplus
}
#endif
#endif

/*
 * priv.h: the peers that this build may have.
 */
#ifndef HPC_PEER_PRIV_H
#define HPC_PEER_PRIV_H

#include "config.h"
#include "runtime/device/peer/peer.h"

#if HPC_HAVE_DNNL
extern const hpc_peer hpc_peer_dnnl;
#endif
#if HPC_HAVE_OPENBLAS
extern const hpc_peer hpc_peer_openblas;
#endif

#endif

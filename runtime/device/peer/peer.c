/*
 * peer.c: the table of peer libraries found when this was built.
 */
#include "runtime/device/peer/priv.h"

#include <stddef.h>

const hpc_peer *const hpc_peers[] = {
#if HPC_HAVE_DNNL
    &hpc_peer_dnnl,
#endif
#if HPC_HAVE_OPENBLAS
    &hpc_peer_openblas,
#endif
    NULL,
};

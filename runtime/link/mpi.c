/*
 * mpi.c: detecting and opening the world of ranks that mpirun or srun has started.
 *
 * MPI itself is in a shared object (mpi/) that is loaded here; the link is implemented
 * in wire_*.c.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/link/wire_priv.h"

/* ---- how this process was started ------------------------------------------------ */
bool hpc_mpi_launched(void)
{
    /* A batch script of Slurm has SLURM_NTASKS too; a step alone has this. */
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE",
                                        "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const char *text = getenv(sizes[k]);
        if (text) return atoi(text) > 1;
    }
    return getenv("PMIX_RANK") || getenv("PMI_RANK");
}

/* Tasks of srun that nothing brings together: each would be a world of its own, or MPI would end
 * them with a page of text. */
static int check_launch(void)
{
    static const char *const ways[] = {"OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMIX_RANK",
                                       "MV2_COMM_WORLD_SIZE"};
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (!tasks || atoi(tasks) < 2) return 0;
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
        if (getenv(ways[k])) return 0;
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "srun started %s tasks without a process manager: use srun --mpi=pmix (srun "
                    "--mpi=list lists the available ones), or mpirun within the job",
                    tasks);
}

int hpc_mpi_open(hpc_link **world, const char *library)
{
    void *object = NULL;
    office *o = NULL;
    int rc = 0;
    *world = NULL;
    TRY(check_launch());
    TRY(hpc_library_open(&object, library, "hpccoder-mpi.so", "libopenmpi-dev"));
    const hpc_wire *wire = dlsym(object, HPC_WIRE_SYMBOL);
    if (!wire || wire->version != HPC_WIRE_VERSION)
        return hpc_fail(HPC_E_UNSUPPORTED, "hpccoder-mpi.so has another version; rebuild it");
    TRY(hpc_office_open(&o, wire));
    rc = hpc_wire_world(world, o);
    if (rc < 0) hpc_office_close(o, 0);
out:
    return rc;
}

int hpc_mpi_peer(hpc_link *world, const hpc_comm *c)
{
    office *o = ((wire_link *)world)->office;
    char text[HPC_WIRE_TEXT];
    hpc_wire_peer what = c->kind == HPC_ALL_REDUCE   ? HPC_WIRE_SUM
                         : c->kind == HPC_ALL_GATHER ? HPC_WIRE_GATHER
                                                     : HPC_WIRE_SCATTER;
    hpc_assert(world->ops == &hpc_wire_ops && c->dtype == HPC_F32 && c->n <= INT_MAX);
    pthread_mutex_lock(&o->lock);
    int code = o->wire->peer(o->self, what, c->recv, c->send, (int)c->n);
    if (code != 0) o->wire->text(o->self, code, text);
    pthread_mutex_unlock(&o->lock);
    return code == 0 ? 0 : hpc_fail(HPC_E_IO, "mpi: %s", text);
}

const char *hpc_mpi_library(const hpc_link *world)
{
    return ((const wire_link *)world)->office->info.library;
}

/*
 * train_ranks.c: a run on many ranks: as processes of one job, or as threads of this process.
 */
#include <stdlib.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/train.h"

enum { LAST_WORD = 1 << 20 }; /* a tag under which nothing is sent */

typedef struct ranks {
    const hpc_training_options *t;
    const train_options *o;
    hpc_cmd_train_fn *fn;
    hpc_grid_shape shape;
    int here; /* ranks that share this machine's processors */
    bool processes;
    int first_rc; /* the first rank's; of a process, its own */
} ranks;

/* Workers of a rank: those asked for, or its share of the processors; a launcher that binds a rank
 * to some has shared them out already. */
static int workers_of(const ranks *r)
{
    int all = hpc_cmd_threads(r->o->threads);
    if (r->o->threads > 0 || all < (int)sysconf(_SC_NPROCESSORS_ONLN)) return all;
    return all > r->here ? all / r->here : 1;
}

/* Aborts the job. Of several processes, the first prints the reason beforehand, because a launcher
 * kills the others when one has ended; then only the exit code is returned. */
static int give_up(const ranks *r, hpc_link *world, int rc)
{
    bool says = r->processes && hpc_link_rank(world) == 0 && rc != HPC_E_ABORTED;
    if (says) rc = hpc_cmd_failed("train", rc);
    hpc_link_abort(world, hpc_error_get()->text);
    return rc;
}

/* Waits for the first rank, which also fails and prints the reason. */
static void end_behind(hpc_link *world)
{
    int64_t nothing;
    hpc_error_clear();
    (void)hpc_link_run(world, &(hpc_comm){.kind = HPC_RECV,
                                          .dtype = HPC_I64,
                                          .n = 1,
                                          .peer = 0,
                                          .tag = LAST_WORD,
                                          .recv = &nothing});
    hpc_error_clear();
}

static int run_rank(hpc_link *world, void *user)
{
    ranks *r = user;
    hpc_training_options t = *r->t;
    int rc;
    t.trainer.device.threads = workers_of(r);
    TRY(hpc_grid_open(&t.trainer.grid, world, &r->shape));
    rc = r->fn(&t, r->o, hpc_link_rank(world) == 0);
    if (r->processes || hpc_link_rank(world) == 0) r->first_rc = rc;
out:
    /* Before its links are closed, which is all that the others would hear of otherwise. */
    if (rc < 0) rc = give_up(r, world, rc);
    if (r->processes) r->first_rc = rc;
    if (rc > 0 && r->processes && hpc_link_rank(world) > 0) end_behind(world);
    hpc_grid_close(t.trainer.grid);
    return rc < 0 ? rc : HPC_OK;
}

/* Ranks of one machine, as launchers tell it; all of them if they do not. */
static int ranks_here(int size)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_TASKS_PER_NODE"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const char *text = getenv(names[k]);
        int n = text ? atoi(text) : 0;
        if (n > 0) return n;
    }
    return size;
}

static int check_size(const ranks *r, int size)
{
    int n = hpc_grid_size(&r->shape);
    if (n == size) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "grid=%s has %d ranks, but %d were started", r->o->ranks.grid, n,
                    size);
}

/* Checks that all ranks agree on the run. All of them see a failure; only the first reports it. */
static int meet(ranks *r, hpc_link *world)
{
    int rc, size = hpc_link_size(world);
    TRY(hpc_cmd_train_meet(world, r->o));
    if (r->o->ranks.grid[0] == '\0') r->shape.extent[HPC_AXIS_DATA] = size;
    TRY(check_size(r, size));
out:
    if (rc >= 0 || rc == HPC_E_ABORTED || hpc_link_rank(world) == 0) return rc;
    r->first_rc = hpc_cmd_exit_code(rc);
    end_behind(world);
    return r->first_rc;
}

static int run_processes(ranks *r)
{
    hpc_link *world = NULL;
    int rc;
    r->processes = true;
    TRY(hpc_mpi_open(&world, NULL));
    TRY(meet(r, world));
    r->here = ranks_here(hpc_link_size(world));
    if (rc == HPC_OK) TRY(run_rank(world, r));
out:
    if (rc < 0 && world) r->first_rc = rc = give_up(r, world, rc);
    hpc_link_close(world);
    return rc < 0 ? rc : HPC_OK;
}

int hpc_cmd_train_ranks(const hpc_training_options *t, const train_options *o, hpc_cmd_train_fn *fn)
{
    ranks r = {.t = t, .o = o, .fn = fn};
    hpc_training_options alone = *t;
    int rc;
    TRY(hpc_grid_parse(&r.shape, o->ranks.grid));
    if (hpc_mpi_launched()) {
        TRY(run_processes(&r));
        return r.first_rc;
    }
    r.here = hpc_grid_size(&r.shape);
    if (r.here == 1) return fn(&alone, o, true);
    TRY(hpc_threads_run(r.here, run_rank, &r));
    return r.first_rc;
out:
    return rc;
}

/*
 * train_meet.c: checks that the processes of a run agree on the program and its options. Data and
 * parameters are compared where they are opened (train/run.c).
 */
#include <inttypes.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/train.h"

/* Adds a hash of the program file, because equal versions may have different code. */
static int add_program(hpc_buf *out)
{
    hpc_file_view v = {0};
    int rc = hpc_file_open(&v, "/proc/self/exe");
    if (rc < 0) return rc;
    hpc_hash128 h = hpc_hash_wide(v.data, v.bytes);
    hpc_file_close(&v);
    return hpc_buf_printf(out, "program=version %s, build %016" PRIx64 "\n", HPC_VERSION, h.high);
}

/* What may differ from rank to rank, and what the first alone is asked. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"threads", "quiet", "json", "hours", "set"};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++)
        if (strcmp(own[k], name) == 0) return true;
    return false;
}

static int add_options(hpc_buf *out, const train_options *o)
{
    hpc_buf value = {0};
    int rc = HPC_OK;
    for (const hpc_option *k = hpc_cmd_train.options; k->name; k = hpc_option_next(k)) {
        if (is_own(k->name)) continue;
        hpc_cmd_train_value(&value, k, o);
        TRY(value.failed);
        TRY(hpc_buf_printf(out, "%s=%s\n", k->name, value.data));
    }
out:
    hpc_buf_release(&value);
    return rc;
}

int hpc_cmd_train_meet(hpc_link *world, const train_options *o)
{
    hpc_buf program = {0}, options = {0};
    int rc = add_program(&program);
    if (rc >= 0) rc = add_options(&options, o);
    TRY(hpc_link_agree(world, rc));
    TRY(hpc_link_same(world, program.data, "start the same program on all nodes"));
    TRY(hpc_link_same(world, options.data, "give all ranks the same options"));
out:
    hpc_buf_release(&program);
    hpc_buf_release(&options);
    return rc;
}

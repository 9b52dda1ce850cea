/*
 * pragma.c: names of verdicts, and the release of results.
 */
#include "infer/pragma/pragma.h"

const char *hpc_verdict_name(hpc_verdict v)
{
    static const char *const names[] = {"unknown", "unsafe", "conditional", "parallel"};
    return names[v];
}

const char *hpc_existing_name(hpc_existing e)
{
    static const char *const names[] = {"none",      "right",    "racy",     "clause",
                                        "reduction", "unproven", "harmless", "redundant"};
    return names[e];
}

const char *hpc_loop_verdict_name(const hpc_pragma_loop *l)
{
    return l->already ? "already parallel" : hpc_verdict_name(l->verdict);
}

void hpc_pragma_loops_release(hpc_pragma_loops *l)
{
    hpc_free(l->item);
    hpc_arena_free(l->arena);
    *l = (hpc_pragma_loops){0};
}

/*
 * pragma.c: names of verdicts, and the release of results.
 */
#include "infer/pragma/existing.h"

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

int pragma_list_line(hpc_pragma_loops *l, uint32_t line)
{
    for (int64_t i = 0; i + 1 < l->n; i++)
        l->item[i].holds = l->item[i + 1].at < l->item[i].end && l->item[i + 1].at > l->item[i].at;
    if (line == 0) return HPC_OK;
    int32_t *moved = hpc_arena_alloc(l->arena, (size_t)l->n + 1, sizeof *moved);
    int64_t n = 0;
    if (!moved) return HPC_E_NOMEM;
    for (int64_t i = 0; i < l->n; i++) {
        hpc_pragma_loop x = l->item[i];
        moved[i] = -1;
        if (line < x.line || line > x.end_line) continue;
        if (x.outer >= 0) x.outer = moved[x.outer];
        moved[i] = (int32_t)n;
        l->item[n++] = x;
    }
    l->n = n;
    return HPC_OK;
}

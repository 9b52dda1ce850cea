/*
 * evidence.c: adds lines of evidence to a loop that has a verdict.
 */
#include <stdio.h>
#include <string.h>

#include "infer/verify/priv.h"

int evidence_add(hpc_pragma_loops *l, hpc_pragma_loop *loop, const char *kind, uint32_t line,
                 const char *format, ...)
{
    char text[1200];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    size_t n = (size_t)loop->evidence_n;
    hpc_evidence *all = hpc_arena_alloc(l->arena, n + 1, sizeof *all);
    const char *kept = hpc_arena_text(l->arena, "%s", text);
    if (!all || !kept) return HPC_E_NOMEM;
    if (n) memcpy(all, loop->evidence, n * sizeof *all);
    all[n] = (hpc_evidence){.kind = kind, .line = line, .text = kept};
    loop->evidence = all;
    loop->evidence_n++;
    return 0;
}

const char *directive_of(const hpc_pragma_loop *loop)
{
    bool wrong =
        loop->existing_is == HPC_EXISTING_CLAUSE || loop->existing_is == HPC_EXISTING_REDUCTION;
    if (loop->existing && !(wrong && loop->pragma)) return loop->existing;
    return loop->pragma;
}

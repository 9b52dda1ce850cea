/*
 * doubt.c: verdicts of files that are not read as their build reads them: with a header missing, or
 * with the flags of another file.
 */
#include <string.h>

#include "infer/pragma/directives.h"

/* Experts' directives agree less often with proposals in files with stand-ins for types. */
#define DOUBT 0.8

static int add_note(hpc_pragma_loop *l, hpc_arena *a, const char *text)
{
    hpc_evidence *e = hpc_arena_alloc(a, (size_t)l->evidence_n + 1, sizeof *e);
    if (!e) return HPC_E_NOMEM;
    if (l->evidence_n > 0) memcpy(e, l->evidence, (size_t)l->evidence_n * sizeof *e);
    e[l->evidence_n++] =
        (hpc_evidence){.kind = "form", .text = text, .alone = HPC_VERDICT_PARALLEL};
    l->evidence = e;
    return HPC_OK;
}

int hpc_directives_doubt(hpc_directive_file *f, const hpc_check_flags *flags)
{
    const bool borrowed = flags && flags->from && !flags->exact;
    const char *text = NULL;
    int rc = HPC_OK;
    if (f->missing[0] && f->errors > 0)
        text = hpc_arena_text(f->arena,
                              "less certain: the header %s is missing, and unknown types stand for "
                              "its types",
                              f->missing);
    else if (borrowed)
        text = hpc_arena_text(f->arena, "less certain: the flags are those of %s", flags->from);
    else if (f->searched)
        text =
            hpc_arena_text(f->arena, "less certain: its headers were found by their names alone");
    else
        return HPC_OK;
    if (!text) return HPC_E_NOMEM;
    for (int64_t i = 0; i < f->loops.n; i++) {
        hpc_pragma_loop *l = &f->loops.item[i];
        if (l->verdict < HPC_VERDICT_CONDITIONAL) continue;
        l->confidence *= DOUBT;
        TRY(add_note(l, f->arena, text));
    }
out:
    return rc;
}

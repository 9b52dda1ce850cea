/*
 * direct.c: selects the loops with a directive to try, and writes the file with the directives of
 * some of them.
 */
#include <string.h>

#include "infer/verify/priv.h"

bool is_candidate_loop(const hpc_pragma_loop *l)
{
    return !l->again && l->verdict >= HPC_VERDICT_CONDITIONAL && directive_of(l);
}

/* How many candidates are around a loop. */
int depth_of_loop(const hpc_pragma_loops *l, int64_t k)
{
    int depth = 0;
    for (int32_t p = l->item[k].outer; p >= 0; p = l->item[p].outer)
        depth += is_candidate_loop(&l->item[p]);
    return depth;
}

/* The file with the directives of the chosen loops, and of no others where they can go. */
int write_directed(scratch *s, const hpc_pragma_loops *l, const hpc_verify_file *f,
                   const bool *chosen)
{
    edits e = {.arena = s->arena};
    hpc_buf text = {0};
    int rc = 0;
    for (int64_t k = 0; k < l->n; k++) {
        const hpc_pragma_loop *p = &l->item[k];
        const bool drop = p->existing && strcasestr(p->existing, "parallel");
        if (p->again || (!chosen[k] && !drop)) continue;
        if (f->language == HPC_LANGUAGE_FORTRAN)
            TRY((chosen[k] ? edits_direct_fortran : edits_drop_fortran)(&e, f, p));
        else if (chosen[k])
            TRY(edits_direct(&e, f->text, p));
        else
            TRY(edits_drop_pragmas(&e, f->text, p->at));
    }
    TRY(edits_apply(&text, &e, f->text, f->n));
    TRY(scratch_write(s, text.data ? text.data : "", text.n));
out:
    edits_release(&e);
    hpc_buf_release(&text);
    return rc;
}

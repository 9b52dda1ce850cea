/*
 * written.c: see written.h.
 */
#include "infer/pragma/written.h"

int directives_open(directives *d, const char *text, size_t n, hpc_language l, bool fixed_form)
{
    int rc;
    *d = (directives){.text = text, .n = n, .language = l};
    TRY(hpc_lex(&d->tokens, text, n, l, fixed_form));
    TRY(hpc_functions_find(&d->functions, &d->tokens, text, l));
    TRY(hpc_loops_find(&d->loops, &d->tokens, text, l, &d->functions));
out:
    if (rc < 0) directives_close(d);
    return rc;
}

void directives_close(directives *d)
{
    hpc_tokens_release(&d->tokens);
    hpc_functions_release(&d->functions);
    hpc_loops_release(&d->loops);
}

int64_t directives_loop(const directives *d, size_t at)
{
    int64_t lo = 0, hi = d->loops.n;
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (d->loops.item[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < d->loops.n && d->loops.item[lo].at == at ? lo : -1;
}

int64_t directives_of(const directives *d, int64_t loop)
{
    const hpc_loop *x = &d->loops.item[loop];
    for (int64_t k = x->pragmas_n - 1; x->pragma >= 0 && k >= 0; k--) {
        const hpc_pragma *p = &d->loops.pragma[x->pragma + k];
        if (p->api == HPC_DIRECTIVE_OMP && !p->closes && !p->alternative) return x->pragma + k;
    }
    return -1;
}

bool directives_reach(const directives *d, int64_t pragma, size_t at)
{
    const hpc_token *t = d->tokens.item;
    if (d->loops.pragma[pragma].end > at) return false;
    for (int64_t k = hpc_token_at(&d->tokens, at) - 1;
         k >= 0 && t[k].at >= d->loops.pragma[pragma].end; k--)
        if (t[k].kind != HPC_TOKEN_COMMENT && !(t[k].flags & HPC_TOKEN_IN_DIRECTIVE)) return false;
    return true;
}

/*
 * complete_source.c: sources of code that a completion of `hpccoder complete` repeats.
 */

#include "cmd/complete.h"

int complete_open_passages(hpc_passages **out, char known[PATH_MAX], const complete_options *o,
                           const char *model)
{
    int rc;
    *out = NULL;
    TRY(hpc_cmd_find_passages(known, o->passages, model));
    if (known[0]) rc = hpc_passages_open(out, known);
    if (rc < 0 && rc != HPC_E_NOMEM && !o->passages && !o->no_verbatim) {
        hpc_cmd_warn(hpc_error_get()->text, "complete");
        hpc_error_clear();
        rc = HPC_OK;
    }
    if (rc >= 0 && o->no_verbatim && !*out)
        rc = hpc_fail(HPC_E_ARG, "--no-verbatim: %s has no passage index: name one with --passages",
                      model);
out:
    return rc;
}

void complete_put_source(hpc_json_out *w, const hpc_completion *c)
{
    if (c->source_n == 0) {
        hpc_json_put_text(w, "source", NULL);
        return;
    }
    for (int64_t k = 0; k < c->source_n; k++) {
        const hpc_completion_source *s = &c->source[k];
        hpc_json_open(w, k == 0 ? "source" : NULL, '{');
        hpc_json_put_text(w, "repository", s->repository);
        hpc_json_put_text(w, "license", s->licence);
        hpc_json_put_int(w, "tokens", s->tokens);
        hpc_json_put_int(w, "line", s->line);
        hpc_json_put_int(w, "end_line", s->end_line);
        if (k == 0)
            hpc_json_open(w, "others", '[');
        else
            hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    hpc_json_close(w, '}');
}

void complete_remark_source(const hpc_completion *c, int64_t left_out)
{
    if (left_out > 0)
        fprintf(stderr, "hpccoder complete: dropped %lld that repeat the training data\n",
                (long long)left_out);
    for (int64_t k = 0; c && k < c->source_n; k++)
        fprintf(stderr, "hpccoder complete: lines %lld to %lld: %lld tokens match %s (%s)\n",
                (long long)c->source[k].line, (long long)c->source[k].end_line,
                (long long)c->source[k].tokens, c->source[k].repository, c->source[k].licence);
}

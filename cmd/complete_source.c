/*
 * complete_source.c: sources of code that a completion of `hpccoder complete` repeats.
 */
#include <string.h>

#include "cmd/complete.h"

int complete_open_passages(hpc_passages **out, char known[PATH_MAX], const complete_options *o,
                           const char *model)
{
    size_t n = strlen(model);
    bool file = n > 5 && strcmp(model + n - 5, ".gguf") == 0;
    int length, rc = HPC_OK;
    *out = NULL;
    if (o->passages)
        length = snprintf(known, PATH_MAX, "%s", o->passages);
    else if (file)
        length = snprintf(known, PATH_MAX, "%.*s.passages", (int)n - 5, model);
    else
        length = snprintf(known, PATH_MAX, "%s/model.passages", model);
    if (length >= PATH_MAX) return hpc_fail(HPC_E_ARG, "--passages: the path is too long");
    if (o->passages ? strcmp(o->passages, "none") != 0 : hpc_file_exists(known))
        rc = hpc_passages_open(out, known);
    if (rc < 0 && rc != HPC_E_NOMEM && !o->passages && !o->no_verbatim) {
        hpc_cmd_warn(hpc_error_get()->text, "complete");
        hpc_error_clear();
        rc = HPC_OK;
    }
    if (rc >= 0 && o->no_verbatim && !*out)
        rc = hpc_fail(HPC_E_ARG, "--no-verbatim: %s has no passage index: name one with --passages",
                      model);
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

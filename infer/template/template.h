/*
 * template.h: renders chat templates: a subset of Jinja, with the text that transformers renders.
 *
 * A template comes from a model file, which is untrusted: nesting, steps, memory and output are
 * limited. A construct outside the subset is HPC_E_UNSUPPORTED; the message names it and its line.
 * No engine and no tokenizer here.
 */
#ifndef HPC_TEMPLATE_H
#define HPC_TEMPLATE_H

#include "runtime/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hpc_template hpc_template;

/* Copies the text. HPC_E_FORMAT: it is not a Jinja template, or too large. The parsed template is
 * read-only: any number of threads may render it. */
int hpc_template_parse(hpc_template **out, const char *text, size_t n);
void hpc_template_free(hpc_template *t);

typedef struct hpc_template_variable {
    const char *name;
    const hpc_json *value; /* NULL: none */
    /* Its strings come from a request, except those in `known`. hpc_template_output.foreign marks
     * their bytes. */
    bool foreign;
} hpc_template_variable;

typedef struct hpc_template_input {
    const hpc_template_variable *variable;
    int64_t n;
    const char *const *known; /* NULL-terminated, e.g. names of roles; NULL: none */
    int64_t now;              /* seconds since 1970, for strftime_now (local time) */
} hpc_template_input;

typedef struct hpc_template_output {
    hpc_buf text, foreign; /* foreign.data[k]: 1: text.data[k] comes from a request */
} hpc_template_output;

/* Appends. HPC_E_ARG: an error of the template's own (raise_exception, with its text), an error
 * that Python raises, or a limit. HPC_E_UNSUPPORTED: a construct outside the subset. */
int hpc_template_render(hpc_template_output *out, const hpc_template *t,
                        const hpc_template_input *in);
void hpc_template_output_release(hpc_template_output *out);

#ifdef __cplusplus
}
#endif
#endif

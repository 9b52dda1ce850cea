/*
 * directive_prompt.c: see directive_prompt.h.
 */
#include "infer/complete/directive_prompt.h"

#include <string.h>

int directive_coder_open(hpc_coder *out, const hpc_tokenizer *t, const char *model)
{
    const unsigned marks =
        1u << HPC_MARK_FILE | 1u << HPC_MARK_LOOP | 1u << HPC_MARK_PRAGMA | 1u << HPC_MARK_END;
    return hpc_coder_open(out, t, marks, model, "loops", "pragma");
}

int directive_encode_answer(hpc_ids *out, const hpc_coder *c, const char *directive)
{
    int rc = HPC_OK;
    if (*directive)
        TRY(hpc_tokenizer_encode(out, c->t, c->scratch, directive, strlen(directive),
                                 HPC_ENCODE_INNER));
    TRY(hpc_grow(&out->id, &out->cap, out->n + 1, sizeof *out->id));
    out->id[out->n++] = c->mark[HPC_MARK_END];
out:
    return rc;
}

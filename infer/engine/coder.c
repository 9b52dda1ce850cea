/*
 * coder.c: see coder.h.
 */
#include "infer/engine/coder.h"

#include <string.h>

static int32_t find(const hpc_tokenizer *t, hpc_mark m)
{
    int32_t id;
    if (m != HPC_MARK_FILE && m != HPC_MARK_END) return hpc_tokenizer_find(t, hpc_mark_text(m));
    hpc_tokenizer_special_name(t, m == HPC_MARK_FILE ? HPC_SPECIAL_FILE : HPC_SPECIAL_END, &id);
    return id;
}

int hpc_coder_open(hpc_coder *out, const hpc_tokenizer *t, unsigned marks, const char *model,
                   const char *things, const char *task)
{
    hpc_tokenizer_special special = hpc_tokenizer_specials(t);
    *out = (hpc_coder){.t = t, .begin = special.add_begin ? special.begin : -1};
    for (int m = 0; m < HPC_MARK_N; m++) {
        out->mark[m] = marks >> m & 1 ? find(t, (hpc_mark)m) : -1;
        if (marks >> m & 1 && out->mark[m] < 0)
            return hpc_fail(HPC_E_UNSUPPORTED,
                            "%s: its tokenizer has no %s: the model was not trained on %s from "
                            "`hpccoder corpus pack --task %s`",
                            model, hpc_mark_text((hpc_mark)m), things, task);
    }
    return hpc_tokenizer_scratch_create(&out->scratch, t);
}

void hpc_coder_close(hpc_coder *c)
{
    hpc_tokenizer_scratch_free(c->scratch);
    *c = (hpc_coder){0};
}

static int add_mark(hpc_ids *ids, int32_t id)
{
    int rc = hpc_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id);
    if (rc >= 0) ids->id[ids->n++] = id;
    return rc;
}

/* The first text of a sample begins a text for the tokenizer, even after a mark. */
int hpc_coder_encode(hpc_ids *out, const hpc_coder *c, const hpc_sample *s)
{
    int rc = HPC_OK;
    if (c->begin >= 0) TRY(add_mark(out, c->begin));
    for (int64_t k = 0; k < s->n; k++) {
        const hpc_sample_part *p = &s->part[k];
        if (p->mark != HPC_MARK_NONE)
            TRY(add_mark(out, c->mark[p->mark]));
        else
            TRY(hpc_tokenizer_encode(out, c->t, c->scratch, s->text.data + p->at, p->n,
                                     k <= 1 ? 0 : HPC_ENCODE_INNER));
    }
out:
    return rc;
}

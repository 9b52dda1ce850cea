/*
 * ask_prompt.c: samples of loops as the tokens that a model was taught.
 *
 * What it makes of a sample is what corpus/pack_encode.c does; a test holds one against the other.
 */
#include "infer/pragma/ask_priv.h"

#include <string.h>

static int lacks(const char *model, const char *mark)
{
    return hpc_fail(HPC_E_UNSUPPORTED,
                    "%s: its tokenizer has no %s: the model did not learn from loops as `hpccoder "
                    "corpus pack --task pragma` shows them",
                    model, mark);
}

int ask_coder_open(ask_coder *out, const hpc_tokenizer *t, const char *model)
{
    hpc_tokenizer_special special = hpc_tokenizer_specials(t);
    const char *loop = hpc_mark_text(HPC_MARK_LOOP), *pragma = hpc_mark_text(HPC_MARK_PRAGMA);
    *out = (ask_coder){.t = t, .begin = special.add_begin ? special.begin : -1};
    out->loop = hpc_tokenizer_find(t, loop);
    out->pragma = hpc_tokenizer_find(t, pragma);
    hpc_tokenizer_special_name(t, HPC_SPECIAL_FILE, &out->file);
    hpc_tokenizer_special_name(t, HPC_SPECIAL_END, &out->end);
    if (out->loop < 0) return lacks(model, loop);
    if (out->pragma < 0) return lacks(model, pragma);
    if (out->file < 0) return lacks(model, hpc_mark_text(HPC_MARK_FILE));
    if (out->end < 0) return lacks(model, hpc_mark_text(HPC_MARK_END));
    return hpc_tokenizer_scratch_create(&out->scratch, t);
}

void ask_coder_close(ask_coder *c)
{
    hpc_tokenizer_scratch_free(c->scratch);
    *c = (ask_coder){0};
}

static int add_id(hpc_ids *ids, int32_t id)
{
    int rc = hpc_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id);
    if (rc >= 0) ids->id[ids->n++] = id;
    return rc;
}

static int32_t id_of(const ask_coder *c, hpc_mark m)
{
    return m == HPC_MARK_FILE     ? c->file
           : m == HPC_MARK_LOOP   ? c->loop
           : m == HPC_MARK_PRAGMA ? c->pragma
                                  : c->end;
}

/* The first text of a sample begins one for the tokenizer, behind a mark or not. */
int ask_encode(hpc_ids *out, const ask_coder *c, const hpc_sample *s)
{
    int rc = HPC_OK;
    if (c->begin >= 0) TRY(add_id(out, c->begin));
    for (int64_t k = 0; k < s->n; k++) {
        const hpc_sample_part *p = &s->part[k];
        if (p->mark != HPC_MARK_NONE)
            TRY(add_id(out, id_of(c, p->mark)));
        else
            TRY(hpc_tokenizer_encode(out, c->t, c->scratch, s->text.data + p->at, p->n,
                                     k <= 1 ? 0 : HPC_ENCODE_INNER));
    }
out:
    return rc;
}

int ask_encode_answer(hpc_ids *out, const ask_coder *c, const char *directive)
{
    int rc = HPC_OK;
    if (*directive)
        TRY(hpc_tokenizer_encode(out, c->t, c->scratch, directive, strlen(directive),
                                 HPC_ENCODE_INNER));
    TRY(add_id(out, c->end));
out:
    return rc;
}

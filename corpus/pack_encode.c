/*
 * pack_encode.c: encodes samples as token ids: texts by the tokenizer, marks by its special
 * pieces.
 *
 * The tokenizer maps marks to the spelling that a model was trained with. Samples have no chat
 * templates.
 */
#include <string.h>

#include "corpus/pack.h"

/* Special piece of a mark, for marks that other models have. */
static const struct {
    bool known;
    hpc_special special;
} special_of[HPC_MARK_N] = {
    [HPC_MARK_FIM_PREFIX] = {true, HPC_SPECIAL_FIM_PREFIX},
    [HPC_MARK_FIM_SUFFIX] = {true, HPC_SPECIAL_FIM_SUFFIX},
    [HPC_MARK_FIM_MIDDLE] = {true, HPC_SPECIAL_FIM_MIDDLE},
    [HPC_MARK_FILE] = {true, HPC_SPECIAL_FILE},
    [HPC_MARK_REPOSITORY] = {true, HPC_SPECIAL_REPOSITORY},
    [HPC_MARK_END] = {true, HPC_SPECIAL_END},
};
/* Marks that must not be spelled as text: the middle must never look like source, and a document
 * has to end. */
enum {
    NEVER_TEXT = 1 << HPC_MARK_FIM_PREFIX | 1 << HPC_MARK_FIM_SUFFIX | 1 << HPC_MARK_FIM_MIDDLE |
                 1 << HPC_MARK_END
};

static int add_id(hpc_ids *ids, int32_t id)
{
    int rc = hpc_grow(&ids->id, &ids->cap, ids->n + 1, sizeof *ids->id);
    if (rc >= 0) ids->id[ids->n++] = id;
    return rc;
}

/* ---- marks -------------------------------------------------------------------------- */

static int32_t find_mark(const char **spelling, const hpc_tokenizer *t, hpc_mark m)
{
    int32_t id;
    *spelling = hpc_mark_text(m);
    if (!special_of[m].known) return hpc_tokenizer_find(t, *spelling);
    *spelling = hpc_tokenizer_special_name(t, special_of[m].special, &id);
    return id;
}

static int open_mark(pack_encoder *e, hpc_tokenizer_scratch *s, hpc_mark m, const char *name)
{
    const char *text = hpc_mark_text(m);
    int32_t id = find_mark(&e->spelling[m], e->tokenizer, m);
    if (id >= 0) return add_id(&e->mark[m], id);
    if (m == HPC_MARK_END)
        return hpc_fail(HPC_E_ARG,
                        "%.200s has neither a token for %s nor an end token: train a tokenizer "
                        "with `hpccoder tokenizer train`",
                        name, text);
    if (NEVER_TEXT >> m & 1)
        return hpc_fail(HPC_E_ARG,
                        "%.200s has no token for %s: pack with --fim-rate 0, or train a tokenizer "
                        "with `hpccoder tokenizer train`",
                        name, text);
    return hpc_tokenizer_encode(&e->mark[m], e->tokenizer, s, text, strlen(text), HPC_ENCODE_INNER);
}

int pack_encoder_open(pack_encoder *out, const hpc_tokenizer *t, unsigned needed, const char *name)
{
    hpc_tokenizer_special special = hpc_tokenizer_specials(t);
    hpc_tokenizer_scratch *s = NULL;
    int rc = HPC_OK;
    *out = (pack_encoder){.tokenizer = t, .begin = special.add_begin ? special.begin : -1};
    TRY(hpc_tokenizer_scratch_create(&s, t));
    for (int m = HPC_MARK_NONE + 1; m < HPC_MARK_N; m++)
        if (needed >> m & 1) TRY(open_mark(out, s, (hpc_mark)m, name));
out:
    hpc_tokenizer_scratch_free(s);
    if (rc < 0) pack_encoder_release(out);
    return rc;
}

void pack_encoder_release(pack_encoder *e)
{
    for (int m = 0; m < HPC_MARK_N; m++) hpc_free(e->mark[m].id);
    *e = (pack_encoder){0};
}

/* ---- samples ------------------------------------------------------------------------- */

/* Where a tokenizer puts a blank before the first word of a text, it is put where models that have
 * such tokenizers were trained with it: at the start of the document and of the text before the
 * gap, which follows the middle mark when the suffix comes first. */
static bool starts_text(const hpc_sample *s, int64_t k)
{
    if (k == 0) return true;
    hpc_mark before = s->part[k - 1].mark;
    if (before == HPC_MARK_FIM_PREFIX) return true;
    if (before != HPC_MARK_FIM_MIDDLE) return k == 1;
    for (int64_t j = k - 2; j > 0; j--)
        if (s->part[j].mark == HPC_MARK_FIM_SUFFIX)
            return s->part[j - 1].mark == HPC_MARK_FIM_PREFIX;
    return false;
}

static int add_mark(hpc_ids *ids, const hpc_ids *mark)
{
    int rc = HPC_OK;
    hpc_assert(mark->n > 0); /* the task named it as needed */
    for (int64_t k = 0; k < mark->n; k++) TRY(add_id(ids, mark->id[k]));
out:
    return rc;
}

int pack_encode(hpc_ids *ids, int64_t *answer, const pack_encoder *e, hpc_tokenizer_scratch *s,
                const hpc_sample *sample)
{
    int64_t first = ids->n;
    int rc = HPC_OK;
    *answer = -1;
    if (e->begin >= 0) TRY(add_id(ids, e->begin));
    for (int64_t k = 0; k < sample->n; k++) {
        const hpc_sample_part *p = &sample->part[k];
        if (p->mark == HPC_MARK_NONE) {
            TRY(hpc_tokenizer_encode(ids, e->tokenizer, s, sample->text.data + p->at, p->n,
                                     starts_text(sample, k) ? 0 : HPC_ENCODE_INNER));
            continue;
        }
        TRY(add_mark(ids, &e->mark[p->mark]));
        if (p->mark == HPC_MARK_PRAGMA || p->mark == HPC_MARK_PERF_LABEL) *answer = ids->n - first;
    }
out:
    return rc;
}

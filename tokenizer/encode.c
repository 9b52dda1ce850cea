/*
 * encode.c: encodes text: special tokens, begin and end.
 *
 * The family encodes the text between special tokens. stream.c encodes one long text on many
 * workers.
 */
#include "tokenizer/priv.h"

static const unsigned known_flags =
    HPC_ENCODE_SPECIALS | HPC_ENCODE_BEGIN | HPC_ENCODE_END | HPC_ENCODE_INNER;

int hpc_tokenizer_scratch_create(hpc_tokenizer_scratch **out, const hpc_tokenizer *t)
{
    int rc = HPC_OK;
    hpc_tokenizer_scratch *s = hpc_alloc(1, sizeof *s);
    *out = NULL;
    if (!s) return HPC_E_NOMEM;
    s->tokenizer = t;
    TRY(tokenizer_cache_create(&s->cache));
    TRY(tokenizer_matcher_create(&s->controls));
    for (int64_t id = 0; id < t->n; id++) {
        const tokenizer_piece *p = &t->piece[id];
        if (!p->text || p->kind != PIECE_CONTROL || p->n == 0) continue;
        TRY(tokenizer_matcher_add(s->controls, p->text, p->n, (int32_t)id));
    }
    if (t->family->scratch_create) TRY(t->family->scratch_create(&s->state, t));
    *out = s;
    s = NULL;
out:
    hpc_tokenizer_scratch_free(s);
    return rc;
}

void hpc_tokenizer_scratch_free(hpc_tokenizer_scratch *s)
{
    if (!s) return;
    if (s->state && s->tokenizer->family->scratch_free)
        s->tokenizer->family->scratch_free(s->state);
    tokenizer_cache_free(s->cache);
    tokenizer_matcher_free(s->controls);
    hpc_free(s->symbols.id);
    hpc_buf_release(&s->heap);
    hpc_free(s);
}

/* Without begin and end. */
static int encode_inner(hpc_ids *ids, hpc_tokenizer_scratch *s, const char *text, size_t n,
                        unsigned flags)
{
    const hpc_tokenizer *t = s->tokenizer;
    bool first = !(flags & HPC_ENCODE_INNER);
    int rc = HPC_OK;
    if (t->family->encode_marked) return t->family->encode_marked(ids, t, s, text, n, flags);
    if (!(flags & HPC_ENCODE_SPECIALS)) return t->family->encode(ids, t, s, text, n, first);
    for (size_t at = 0; at < n;) {
        size_t special = tokenizer_matcher_find(s->controls, text, n, at);
        if (special > at) TRY(t->family->encode(ids, t, s, text + at, special - at, first));
        first = false;
        at = special;
        if (at == n) break;
        int32_t id = -1;
        at += tokenizer_matcher_at(&id, s->controls, text, n, at);
        TRY(tokenizer_ids_add(ids, id));
    }
out:
    return rc;
}

int tokenizer_check_flags(unsigned flags)
{
    if ((flags & ~known_flags) == 0) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "unknown flags %#x for encoding", flags & ~known_flags);
}

int hpc_tokenizer_encode(hpc_ids *ids, const hpc_tokenizer *t, hpc_tokenizer_scratch *s,
                         const char *text, size_t n, unsigned flags)
{
    int rc = HPC_OK;
    hpc_assert(s->tokenizer == t);
    TRY(tokenizer_check_flags(flags));
    if (flags & HPC_ENCODE_BEGIN && t->special.begin >= 0)
        TRY(tokenizer_ids_add(ids, t->special.begin));
    if (n > 0) TRY(encode_inner(ids, s, text, n, flags));
    if (flags & HPC_ENCODE_END && t->special.end >= 0) TRY(tokenizer_ids_add(ids, t->special.end));
out:
    return rc;
}

/*
 * source.c: see source.h.
 */
#include "infer/complete/source.h"

#include "infer/complete/priv.h"

typedef struct asking {
    const hpc_spot *d;
    const hpc_passages *p;
    hpc_buf text; /* the file up to the end of a completion */
    hpc_tokens tokens;
    hpc_passage_list found;
} asking;

/* The first token that counts: of the completion, or so many tokens of code before it. */
static int64_t first_token(const asking *a)
{
    const hpc_token *t = a->tokens.item;
    int64_t i = hpc_token_at(&a->tokens, a->d->at);
    if (i > 0 && t[i - 1].at + t[i - 1].n > a->d->at) i--; /* the completion continues this token */
    for (int before = 0; i > 0 && before < HPC_COMPLETE_BEFORE;)
        before += hpc_token_is_code(&t[--i]);
    return i;
}

static void add(hpc_completion *c, const asking *a, const hpc_passage *x, int32_t source)
{
    const hpc_source *s = hpc_passages_source(a->p, source);
    const hpc_token *t = a->tokens.item;
    const hpc_completion_source made = {.repository = s->repository,
                                        .licence = s->licence,
                                        .tokens = x->tokens,
                                        .line = t[x->first].line,
                                        .end_line = t[x->last - 1].line};
    int64_t k = c->source_n++;
    for (; k > 0 && c->source[k - 1].tokens < made.tokens; k--) c->source[k] = c->source[k - 1];
    c->source[k] = made;
}

static int ask(hpc_completion *c, asking *a)
{
    const hpc_spot *d = a->d;
    hpc_language l = d->language == HPC_LANGUAGE_NONE ? HPC_LANGUAGE_C : d->language;
    int64_t n = 0;
    int rc;
    a->text.n = d->at;
    TRY(hpc_buf_add(&a->text, c->text.data, c->text.n));
    TRY(hpc_lex(&a->tokens, a->text.data, a->text.n, l, d->fixed));
    TRY(hpc_passages_find(&a->found, a->p, &a->tokens, first_token(a), a->tokens.n));
    for (int64_t k = 0; k < a->found.n; k++) n += a->found.item[k].sources_n;
    hpc_free(c->source);
    c->source = NULL;
    c->source_n = 0;
    if (n == 0) return HPC_OK;
    c->source = hpc_alloc((size_t)n, sizeof *c->source);
    if (!c->source) return HPC_E_NOMEM;
    for (int64_t k = 0; k < a->found.n; k++)
        for (int32_t i = 0; i < a->found.item[k].sources_n; i++)
            add(c, a, &a->found.item[k], a->found.item[k].source[i]);
out:
    return rc;
}

int hpc_completions_find_sources(hpc_completions *c, const hpc_spot *spot, const hpc_passages *p)
{
    asking a = {.d = spot, .p = p};
    int rc;
    TRY(hpc_buf_add(&a.text, spot->text.data, spot->at));
    for (int64_t k = 0; k < c->n; k++)
        if (c->item[k].text.n > 0) TRY(ask(&c->item[k], &a));
out:
    hpc_buf_release(&a.text);
    hpc_tokens_release(&a.tokens);
    hpc_passage_list_release(&a.found);
    return rc;
}

int64_t hpc_completions_leave_out(hpc_completions *c)
{
    int64_t kept = 0, gone = 0;
    for (int64_t k = 0; k < c->n; k++) {
        hpc_completion x = c->item[k];
        if (x.source_n == 0) {
            c->item[kept++] = x;
            continue;
        }
        gone += x.times;
        hpc_buf_release(&x.text);
        hpc_free(x.source);
    }
    c->n = kept;
    return gone;
}

/*
 * directive_model.c: see directive_model.h.
 *
 * A prompt ends with the mark after which training had the answer: a directive and the end token,
 * or the end token at once. A given answer is rated by allowing only its tokens, one at a time. The
 * engine's cache keeps a prompt for all questions about it.
 */
#include "infer/complete/directive_model.h"

#include <string.h>

#include "infer/complete/directive_prompt.h"
#include "infer/engine/grammar.h"

enum {
    PROMPTS = 8,         /* in the cache together */
    ANSWERS = 4,         /* to one prompt, at the same time */
    ANSWER_MOST = 96,    /* tokens of a directive */
    CONTEXT_MOST = 2048, /* tokens of a prompt and its answer */
    PAGE = 16            /* tokens by which a request may exceed its length in the cache */
};

struct hpc_directive_model {
    hpc_pragma_model interface;
    hpc_model_files *files;
    hpc_tokenizer *tokenizer;
    hpc_coder coder;
    hpc_vocabulary *vocabulary;
    hpc_engine *engine;
    hpc_ids prompt[PROMPTS];
    int64_t room, words; /* tokens of a text; words of a mask */
};

/* ---- questions ---- */

typedef struct question {
    hpc_directive_model *a;
    hpc_ids answer;       /* the answer and the end token, if it is given */
    hpc_grammar *grammar; /* of a generated answer; NULL: `answer` is given */
    uint32_t *mask;       /* of one token */
    int64_t id, at;       /* of the request; number of tokens so far */
    double logprob;       /* of all tokens */
    hpc_buf text;         /* generated */
    int failed;
    bool put; /* the engine has the request */
} question;

static const uint32_t *allowed(void *user)
{
    question *q = user;
    if (q->grammar) return hpc_grammar_allowed(q->grammar);
    memset(q->mask, 0, (size_t)q->a->words * sizeof *q->mask);
    q->mask[q->answer.id[q->at] / 32] |= 1u << q->answer.id[q->at] % 32;
    return q->mask;
}

static int take(question *q, int32_t id, float logprob)
{
    int rc = HPC_OK;
    q->at++;
    q->logprob += logprob;
    if (!q->grammar) return HPC_OK;
    size_t n;
    const char *text = hpc_vocabulary_text(q->a->vocabulary, id, &n);
    TRY(hpc_grammar_take(q->grammar, id));
    if (id != q->a->coder.mark[HPC_MARK_END] && text) TRY(hpc_buf_add(&q->text, text, n));
out:
    return rc;
}

static int token_made(void *user, int32_t id, float logprob)
{
    question *q = user;
    q->failed = take(q, id, logprob);
    return q->failed < 0 ||
           (q->grammar ? id == q->a->coder.mark[HPC_MARK_END] : q->at == q->answer.n);
}

static int question_put(question *q, const hpc_ids *prompt)
{
    const hpc_request r = {.token = prompt->id,
                           .n = prompt->n,
                           .most = q->grammar ? ANSWER_MOST : q->answer.n,
                           .sampling = hpc_sampling_greedy(),
                           .token_made = token_made,
                           .allowed = allowed,
                           .user = q};
    int rc = hpc_engine_submit(q->a->engine, &r, &q->id);
    q->put = rc >= 0;
    return rc;
}

/* Cancels the requests and releases the questions, also after a failure. */
static void questions_end(hpc_directive_model *a, question *q, int n)
{
    bool busy = true;
    for (int k = 0; k < n; k++)
        if (q[k].put) hpc_engine_cancel(a->engine, q[k].id);
    while (busy && hpc_engine_step(a->engine, &busy) >= 0) continue;
    for (int k = 0; k < n; k++) {
        hpc_free(q[k].answer.id);
        hpc_free(q[k].mask);
        hpc_buf_release(&q[k].text);
        hpc_grammar_free(q[k].grammar);
    }
}

/* A given text, followed by the end token. */
static int question_given(question *q, hpc_directive_model *a, const char *text)
{
    int rc;
    *q = (question){.a = a};
    q->mask = hpc_alloc((size_t)a->words, sizeof *q->mask);
    if (!q->mask) return HPC_E_NOMEM;
    TRY(directive_encode_answer(&q->answer, &a->coder, text));
out:
    return rc;
}

/* A generated directive over these names. */
static int question_open(question *q, hpc_directive_model *a, const char *const *name,
                         int64_t names_n)
{
    const hpc_grammar_options o = {.rule = {.kind = HPC_GRAMMAR_DIRECTIVE,
                                            .closers = -1,
                                            .bare = true,
                                            .names = name,
                                            .names_n = names_n},
                                   .prefix = "",
                                   .end = &a->coder.mark[HPC_MARK_END],
                                   .end_n = 1};
    *q = (question){.a = a};
    return hpc_grammar_create(&q->grammar, a->vocabulary, &o);
}

static int answer_all(hpc_directive_model *a, const question *q, int64_t n)
{
    bool busy = true;
    int rc = HPC_OK;
    while (busy) TRY(hpc_engine_step(a->engine, &busy));
    for (int64_t k = 0; k < n; k++) TRY(q[k].failed);
out:
    return rc;
}

/* ---- the interface ---- */

static int encode(void *user, bool *fits, int64_t index, const hpc_sample *loop)
{
    hpc_directive_model *a = user;
    hpc_ids *prompt = &a->prompt[index];
    prompt->n = 0;
    int rc = hpc_coder_encode(prompt, &a->coder, loop);
    *fits = rc >= 0 && prompt->n + ANSWER_MOST <= a->room;
    return rc;
}

static int rate(void *user, bool *fits, hpc_pragma_answer *answer, int64_t n)
{
    hpc_directive_model *a = user;
    question q[PROMPTS] = {{0}};
    int rc = HPC_OK;
    *fits = true;
    for (int64_t k = 0; k < n && *fits; k++) {
        TRY(question_given(&q[k], a, answer[k].text));
        *fits = q[k].answer.n <= ANSWER_MOST;
    }
    if (!*fits) goto out;
    for (int64_t k = 0; k < n; k++) TRY(question_put(&q[k], &a->prompt[answer[k].prompt]));
    TRY(answer_all(a, q, n));
    for (int64_t k = 0; k < n; k++) answer[k].logprob = q[k].logprob;
out:
    questions_end(a, q, PROMPTS);
    return rc;
}

static int write_directive(void *user, hpc_buf *directive, int64_t prompt, const char *const *name,
                           int64_t names_n)
{
    hpc_directive_model *a = user;
    question q = {0};
    int rc;
    TRY(question_open(&q, a, name, names_n));
    TRY(question_put(&q, &a->prompt[prompt]));
    TRY(answer_all(a, &q, 1));
    if (hpc_grammar_is_over(q.grammar) && q.text.n > 0)
        TRY(hpc_buf_add(directive, q.text.data, q.text.n));
out:
    questions_end(a, &q, 1);
    return rc;
}

/* ---- lifetime ---- */

int hpc_directive_model_open(hpc_directive_model **out, const hpc_engine_options *o)
{
    hpc_directive_model *a = hpc_alloc(1, sizeof *a);
    hpc_engine_options with = *o;
    int rc;
    *out = NULL;
    if (!a) return HPC_E_NOMEM;
    TRY(hpc_model_files_open(&a->files, o->model));
    TRY(hpc_model_files_tokenizer(&a->tokenizer, a->files));
    TRY(directive_coder_open(&a->coder, a->tokenizer, o->model));
    a->room = hpc_model_files_config(a->files)->positions;
    if (a->room > CONTEXT_MOST) a->room = CONTEXT_MOST;
    with.files = a->files;
    with.requests = PROMPTS;
    with.cache_tokens = PROMPTS * (a->room + PAGE + ANSWERS * (ANSWER_MOST + PAGE));
    with.guess = 0;
    TRY(hpc_engine_open(&a->engine, &with));
    int64_t vocab = hpc_engine_config(a->engine)->vocab;
    a->words = (vocab + 31) / 32;
    TRY(hpc_vocabulary_create(&a->vocabulary, a->tokenizer, vocab));
    a->interface = (hpc_pragma_model){
        .capacity = PROMPTS, .encode = encode, .rate = rate, .write = write_directive, .user = a};
    *out = a;
    a = NULL;
out:
    hpc_directive_model_close(a);
    return rc;
}

void hpc_directive_model_close(hpc_directive_model *a)
{
    if (!a) return;
    for (int k = 0; k < PROMPTS; k++) hpc_free(a->prompt[k].id);
    hpc_engine_close(a->engine);
    hpc_vocabulary_free(a->vocabulary);
    hpc_coder_close(&a->coder);
    hpc_tokenizer_close(a->tokenizer);
    hpc_model_files_close(a->files);
    hpc_free(a);
}

const hpc_pragma_model *hpc_directive_model_interface(const hpc_directive_model *m)
{
    return &m->interface;
}

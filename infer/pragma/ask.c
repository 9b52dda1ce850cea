/*
 * ask.c: loops as samples, and what a model that was taught such samples goes on with.
 *
 * A sample ends in the mark behind which the answer stands: a directive, or the end at once. So the
 * chance of the end is that of no directive; a directive's chance is that of its tokens one by one,
 * each allowed alone. The prompt is in the cache once for all that is asked behind it.
 */
#include "infer/pragma/ask.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/engine/grammar.h"
#include "infer/pragma/ask_priv.h"
#include "runtime/source/source.h"

enum {
    GROUP = 8,        /* loops whose prompts are in the cache together */
    ANSWER_MOST = 96, /* tokens of a directive */
    SCHEDULES = 4,
    PAGE = 16 /* what a text takes more of the cache than it has tokens */
};
static const char *const schedules[SCHEDULES] = {"", " schedule(dynamic)", " schedule(dynamic, 1)",
                                                 " schedule(guided)"};

struct hpc_asker {
    hpc_model_files *files;
    hpc_tokenizer *tokenizer;
    hpc_coder coder;
    hpc_vocabulary *vocabulary;
    hpc_engine *engine;
    int64_t room, words; /* tokens of a text; of a mask */
};

/* ---- opening --------------------------------------------------------------------------------- */

int hpc_asker_open(hpc_asker **out, const hpc_engine_options *o)
{
    hpc_asker *a = hpc_alloc(1, sizeof *a);
    hpc_engine_options with = *o;
    int rc;
    *out = NULL;
    if (!a) return HPC_E_NOMEM;
    TRY(hpc_model_files_open(&a->files, o->model));
    TRY(hpc_model_files_tokenizer(&a->tokenizer, a->files));
    TRY(ask_coder_open(&a->coder, a->tokenizer, o->model));
    a->room = hpc_model_files_config(a->files)->positions;
    if (a->room > ASK_ROOM) a->room = ASK_ROOM;
    with.files = a->files;
    with.requests = GROUP;
    with.cache_tokens = GROUP * (a->room + PAGE + SCHEDULES * (ANSWER_MOST + PAGE));
    with.guess = 0;
    TRY(hpc_engine_open(&a->engine, &with));
    int64_t vocab = hpc_engine_config(a->engine)->vocab;
    a->words = (vocab + 31) / 32;
    TRY(hpc_vocabulary_create(&a->vocabulary, a->tokenizer, vocab));
    *out = a;
    a = NULL;
out:
    hpc_asker_close(a);
    return rc;
}

void hpc_asker_close(hpc_asker *a)
{
    if (!a) return;
    hpc_engine_close(a->engine);
    hpc_vocabulary_free(a->vocabulary);
    hpc_coder_close(&a->coder);
    hpc_tokenizer_close(a->tokenizer);
    hpc_model_files_close(a->files);
    hpc_free(a);
}

/* ---- what is asked --------------------------------------------------------------------------- */

typedef struct question {
    hpc_asker *a;
    hpc_ids answer;        /* what is to come, and the end; or what comes */
    hpc_grammar *grammar;  /* of what comes; NULL: `answer` is given */
    uint32_t *mask;        /* of one token */
    int64_t id, at;        /* of the request; tokens that have come */
    double first, logprob; /* of the first token, and of all */
    hpc_buf text;          /* of what comes */
    int failed;
    bool put; /* it has been asked */
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
    if (q->at++ == 0) q->first = logprob;
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

/* The engine knows nothing of them when they go, whatever failed. */
static void questions_end(hpc_asker *a, question *q, int n)
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

/* A text, and the end. */
static int question_given(question *q, hpc_asker *a, const char *text)
{
    int rc;
    *q = (question){.a = a};
    q->mask = hpc_alloc((size_t)a->words, sizeof *q->mask);
    if (!q->mask) return HPC_E_NOMEM;
    TRY(ask_encode_answer(&q->answer, &a->coder, text));
out:
    return rc;
}

/* Whatever the model makes of a directive over these names. */
static int question_open(question *q, hpc_asker *a, const ask_names *names)
{
    const hpc_grammar_options o = {.rule = {.kind = HPC_GRAMMAR_DIRECTIVE,
                                            .closers = -1,
                                            .bare = true,
                                            .names = names->item,
                                            .names_n = names->n},
                                   .prefix = "",
                                   .end = &a->coder.mark[HPC_MARK_END],
                                   .end_n = 1};
    *q = (question){.a = a};
    return hpc_grammar_create(&q->grammar, a->vocabulary, &o);
}

static int answer_all(hpc_asker *a, const question *q, int64_t n)
{
    bool busy = true;
    int rc = HPC_OK;
    while (busy) TRY(hpc_engine_step(a->engine, &busy));
    for (int64_t k = 0; k < n; k++) TRY(q[k].failed);
out:
    return rc;
}

/* ---- a few loops at a time ------------------------------------------------------------------- */

typedef struct asking {
    hpc_asker *a;
    hpc_pragma_loops *out;
    const hpc_tree *t;
    const char *path, *text;
    size_t n;
    hpc_tokens tokens;
    hpc_functions functions;
    hpc_loops loops;
    hpc_sample sample;
    struct {
        hpc_pragma_loop *loop;
        hpc_ids prompt;
    } item[GROUP];
    int items_n;
} asking;

static int add_loop(asking *x, hpc_pragma_loop *l)
{
    int64_t k = hpc_loops_at(&x->loops, l->at);
    hpc_ids *prompt = &x->item[x->items_n].prompt;
    int rc = HPC_OK;
    if (k < 0 || l->node < 0) return HPC_OK; /* a while; one of a macro */
    hpc_sample_clear(&x->sample);
    TRY(hpc_render_loop(&x->sample, &x->loops, k, &x->functions, x->path, x->text, x->n, NULL,
                        NULL));
    prompt->n = 0;
    TRY(hpc_coder_encode(prompt, &x->a->coder, &x->sample));
    if (prompt->n + ANSWER_MOST > x->a->room) return HPC_OK;
    x->item[x->items_n++].loop = l;
out:
    return rc;
}

/* Whether there would be a directive at all. */
static int ask_whether(asking *x)
{
    question q[GROUP] = {{0}};
    int rc = HPC_OK;
    for (int k = 0; k < x->items_n; k++) {
        TRY(question_given(&q[k], x->a, ""));
        TRY(question_put(&q[k], &x->item[k].prompt));
    }
    TRY(answer_all(x->a, q, x->items_n));
    for (int k = 0; k < x->items_n; k++) x->item[k].loop->likely = -expm1(q[k].first);
out:
    questions_end(x->a, q, GROUP);
    return rc;
}

/* The likeliest of the ways to hand iterations out. */
static int ask_schedule(asking *x, int i)
{
    hpc_pragma_loop *l = x->item[i].loop;
    question q[SCHEDULES] = {{0}};
    char text[1024];
    int rc = HPC_OK, best = 0;
    for (int k = 0; k < SCHEDULES; k++) {
        if (snprintf(text, sizeof text, "%s%s", l->pragma, schedules[k]) >= (int)sizeof text)
            goto out;
        TRY(question_given(&q[k], x->a, text));
        if (q[k].answer.n > ANSWER_MOST) goto out;
    }
    for (int k = 0; k < SCHEDULES; k++) TRY(question_put(&q[k], &x->item[i].prompt));
    TRY(answer_all(x->a, q, SCHEDULES));
    for (int k = 1; k < SCHEDULES; k++)
        if (q[k].logprob > q[best].logprob) best = k;
    if (best > 0) {
        l->pragma = hpc_arena_text(x->out->arena, "%s%s", l->pragma, schedules[best]);
        if (!l->pragma) rc = HPC_E_NOMEM;
    }
out:
    questions_end(x->a, q, SCHEDULES);
    return rc;
}

static int ask_guess(asking *x, int i)
{
    hpc_pragma_loop *l = x->item[i].loop;
    ask_names names = {0};
    question q = {0};
    int rc;
    TRY(ask_names_find(&names, x->t, l->node));
    if (names.n == 0) goto out; /* it would be about nothing */
    TRY(question_open(&q, x->a, &names));
    TRY(question_put(&q, &x->item[i].prompt));
    TRY(answer_all(x->a, &q, 1));
    if (q.grammar && hpc_grammar_is_over(q.grammar) && q.text.n > 0) {
        l->guess = hpc_arena_text(x->out->arena, "%s", q.text.data);
        if (!l->guess) rc = HPC_E_NOMEM;
    }
out:
    questions_end(x->a, &q, 1);
    ask_names_release(&names);
    return rc;
}

static bool runs_threads(const char *pragma)
{
    static const char plain[] = "#pragma omp parallel for";
    return strncmp(pragma, plain, sizeof plain - 1) == 0;
}

static int ask_group(asking *x)
{
    int rc;
    TRY(ask_whether(x));
    for (int k = 0; k < x->items_n; k++) {
        const hpc_pragma_loop *l = x->item[k].loop;
        if (l->verdict == HPC_VERDICT_UNKNOWN) TRY(ask_guess(x, k));
        if (l->pragma && !strstr(l->pragma, "schedule(") && runs_threads(l->pragma))
            TRY(ask_schedule(x, k));
    }
    x->items_n = 0;
out:
    return rc;
}

int hpc_ask(hpc_pragma_loops *l, hpc_asker *a, const hpc_tree *t, const char *path,
            const char *text, size_t n, hpc_language language)
{
    asking x = {.a = a, .out = l, .t = t, .path = path, .text = text, .n = n};
    int rc;
    TRY(hpc_lex(&x.tokens, text, n, language, false));
    TRY(hpc_functions_find(&x.functions, &x.tokens, text, language));
    TRY(hpc_loops_find(&x.loops, &x.tokens, text, language, &x.functions));
    for (int64_t k = 0; k < l->n; k++) {
        TRY(add_loop(&x, &l->item[k]));
        if (x.items_n == GROUP) TRY(ask_group(&x));
    }
    if (x.items_n > 0) TRY(ask_group(&x));
    hpc_pragma_weigh(l);
out:
    for (int k = 0; k < GROUP; k++) hpc_free(x.item[k].prompt.id);
    hpc_sample_release(&x.sample);
    hpc_loops_release(&x.loops);
    hpc_functions_release(&x.functions);
    hpc_tokens_release(&x.tokens);
    return rc;
}

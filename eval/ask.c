/*
 * Completions from a model, by the completer, and from a server, by HTTP.
 */
#include "eval/ask.h"

#include <stdio.h>
#include <string.h>

#include "model/files.h"

enum { PROMPT_TOKENS = 2048, MAX_TOKENS = 512, SPARE = 64, SAMPLES = 8 };

struct hpc_eval_asker {
    hpc_eval_asker_options o;
    hpc_model_files *files;
    hpc_completer *completer;
};

int hpc_eval_asker_open(hpc_eval_asker **out, const hpc_eval_asker_options *o)
{
    hpc_eval_asker *a = hpc_alloc(1, sizeof(*a));
    int rc = a ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) return rc;
    a->o = *o;
    if (a->o.prompt_tokens < 1) a->o.prompt_tokens = PROMPT_TOKENS;
    if (a->o.max_tokens < 1) a->o.max_tokens = MAX_TOKENS;
    if (a->o.samples < 1) a->o.samples = 1;
    if (a->o.samples > SAMPLES) a->o.samples = SAMPLES;
    if (o->model) {
        hpc_engine_options e = {.model = o->model,
                                .backend = o->device,
                                .threads = o->threads,
                                .weights = HPC_DTYPE_N,
                                .cache = HPC_BF16,
                                .guess = 4,
                                .requests = a->o.samples};
        TRY(hpc_model_files_open(&a->files, o->model));
        int64_t positions = hpc_model_files_config(a->files)->positions;
        if (a->o.max_tokens > positions / 2) a->o.max_tokens = positions / 2;
        if (a->o.prompt_tokens > positions - a->o.max_tokens)
            a->o.prompt_tokens = positions - a->o.max_tokens;
        e.files = a->files;
        e.cache_tokens = a->o.prompt_tokens + a->o.samples * (a->o.max_tokens + SPARE);
        TRY(hpc_completer_open(&a->completer, &e));
    }
    *out = a;
    a = NULL;
out:
    hpc_eval_asker_close(a);
    return rc;
}

void hpc_eval_asker_close(hpc_eval_asker *a)
{
    if (!a) return;
    hpc_completer_close(a->completer);
    hpc_model_files_close(a->files);
    hpc_free(a);
}

/* ---- ends ------------------------------------------------------------------------------------ */

int hpc_eval_cut(size_t *n, bool *ended, const char *text, size_t length, hpc_complete_stop stop,
                 hpc_language l)
{
    const char *feed = length > 0 ? memchr(text, '\n', length) : NULL;
    hpc_tokens t = {0};
    int64_t depth = 1;
    int rc;

    *n = length;
    *ended = stop == HPC_STOP_LINE;
    if (stop == HPC_STOP_LINE) {
        if (feed) *n = (size_t)(feed - text);
        return HPC_OK;
    }
    TRY(hpc_lex(&t, text ? text : "", length, l, false));
    for (int64_t k = 0; k < t.n && !*ended; k++) {
        const hpc_token *x = &t.item[k];
        if (x->kind != HPC_TOKEN_PUNCT || x->n != 1 || (x->flags & HPC_TOKEN_IN_DIRECTIVE))
            continue;
        depth += text[x->at] == '{';
        depth -= text[x->at] == '}';
        if (depth == 0) *n = x->at + 1, *ended = true;
    }
out:
    hpc_tokens_release(&t);
    return rc;
}

/* ---- a model --------------------------------------------------------------------------------- */

static hpc_position position_of(const char *text, size_t n)
{
    hpc_position p = {1, 1};

    for (size_t k = 0; k < n; k++) {
        if (text[k] == '\n')
            p.line++, p.col = 1;
        else if ((text[k] & 0xC0) != 0x80)
            p.col++;
    }
    return p;
}

static hpc_sampling sampling_of(const hpc_eval_question *q)
{
    hpc_sampling s = hpc_sampling_greedy();

    s.temperature = q->temperature;
    s.top_p = q->top_p > 0 ? q->top_p : 1;
    s.seed = q->seed;
    return s;
}

/* A line may open a block. */
static bool has_ended(const hpc_completion *c, hpc_complete_stop stop)
{
    return c->finish == HPC_COMPLETION_STOP && (c->open == 0 || stop == HPC_STOP_LINE);
}

/* Equal answers are one completion: they count as often as they were drawn. */
static int take_completions(hpc_eval_answer *answer, const hpc_completions *c, int64_t samples)
{
    int64_t n = 0;
    int rc = HPC_OK;

    for (int64_t k = 0; k < c->n; k++)
        for (int64_t times = 0; times < c->item[k].times && n < samples; times++, n++) {
            if (c->item[k].text.n > 0)
                TRY(hpc_buf_add(&answer[n].text, c->item[k].text.data, c->item[k].text.n));
            answer[n].ended = has_ended(&c->item[k], c->stop);
        }
out:
    return rc;
}

static int ask_model(hpc_eval_answer *answer, hpc_eval_asker *a, const hpc_eval_question *q)
{
    hpc_buf text = {0};
    hpc_spot spot = {0};
    hpc_completions made = {0};
    hpc_complete_request r = {.spot = &spot,
                              .path = q->path,
                              .stop = q->stop,
                              .most = a->o.max_tokens,
                              .close = true,
                              .prompt_tokens = a->o.prompt_tokens,
                              .sampling = sampling_of(q),
                              .cancel = q->stopped};
    int rc;

    TRY(hpc_buf_add(&text, q->prefix, q->prefix_n));
    if (q->suffix_n > 0) TRY(hpc_buf_add(&text, q->suffix, q->suffix_n));
    TRY(hpc_spot_open(&spot, q->path, text.data, text.n, position_of(q->prefix, q->prefix_n)));
    for (int64_t k = 0; k < q->samples; k += a->o.samples) {
        hpc_completions_release(&made);
        r.samples = q->samples - k < a->o.samples ? q->samples - k : a->o.samples;
        TRY(hpc_complete(&made, a->completer, &r));
        TRY(take_completions(answer + k, &made, r.samples));
        r.sampling.seed += 0x9E3779B97F4A7C15u;
    }
out:
    hpc_completions_release(&made);
    hpc_spot_close(&spot);
    hpc_buf_release(&text);
    return rc;
}

/* ---- a server -------------------------------------------------------------------------------- */

/* A copy with a NUL at its end. */
static void put_text(hpc_json_out *w, const char *key, const char *text, size_t n)
{
    hpc_buf copy = {0};

    if (n > 0) hpc_buf_add(&copy, text, n);
    hpc_json_put_text(w, key, copy.n > 0 ? copy.data : "");
    hpc_buf_release(&copy);
}

static int put_body(hpc_buf *body, const hpc_eval_asker *a, const hpc_eval_question *q,
                    int64_t sample)
{
    bool infill = a->o.api == HPC_EVAL_INFILL;
    hpc_json_out w = {.buf = body};

    hpc_json_open(&w, NULL, '{');
    if (infill) hpc_json_put_text(&w, "prompt", "");
    put_text(&w, infill ? "input_prefix" : "prompt", q->prefix, q->prefix_n);
    if (infill || q->suffix_n > 0)
        put_text(&w, infill ? "input_suffix" : "suffix", q->suffix, q->suffix_n);
    hpc_json_put_int(&w, infill ? "n_predict" : "max_tokens", a->o.max_tokens);
    hpc_json_put_real(&w, "temperature", q->temperature);
    hpc_json_put_real(&w, "top_p", q->top_p > 0 ? q->top_p : 1);
    hpc_json_put_int(&w, "seed", (int64_t)((q->seed + (uint64_t)sample) & 0x7fffffff));
    if (q->stop == HPC_STOP_LINE) {
        hpc_json_open(&w, "stop", '[');
        hpc_json_put_text(&w, NULL, "\n");
        hpc_json_close(&w, ']');
    }
    hpc_json_close(&w, '}');
    return body->failed;
}

/* {"content":...} or {"choices":[{"text":...}]} */
static int take_answer(hpc_eval_answer *out, const hpc_buf *from, const hpc_eval_asker *a,
                       const hpc_eval_question *q)
{
    hpc_json *root = NULL;
    const char *text;
    size_t n;
    int rc;

    TRY(hpc_json_parse(&root, from->data ? from->data : "", from->n, a->o.server));
    const hpc_json *choice = hpc_json_at(hpc_json_get(root, "choices"), 0);
    TRY(hpc_json_text(&text,
                      a->o.api == HPC_EVAL_INFILL ? hpc_json_get(root, "content")
                                                  : hpc_json_get(choice, "text"),
                      "text of the answer"));
    TRY(hpc_eval_cut(&n, &out->ended, text, strlen(text), q->stop, hpc_language_of_path(q->path)));
    if (n > 0) TRY(hpc_buf_add(&out->text, text, n));
out:
    hpc_json_free(root);
    return rc;
}

static int ask_server(hpc_eval_answer *answer, hpc_eval_asker *a, const hpc_eval_question *q)
{
    const char *path = a->o.api == HPC_EVAL_INFILL ? "/infill" : "/v1/completions";
    hpc_buf body = {0}, from = {0};
    int rc = HPC_OK;

    for (int64_t k = 0; k < q->samples; k++) {
        body.n = from.n = 0;
        TRY(put_body(&body, a, q, k));
        TRY(hpc_eval_post(&from, a->o.server, path, &body));
        TRY(take_answer(&answer[k], &from, a, q));
    }
out:
    hpc_buf_release(&body);
    hpc_buf_release(&from);
    return rc;
}

int hpc_eval_ask(hpc_eval_answer *answer, hpc_eval_asker *a, const hpc_eval_question *q)
{
    return a->completer ? ask_model(answer, a, q) : ask_server(answer, a, q);
}

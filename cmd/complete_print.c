/*
 * Output of `hpccoder complete`: JSON, text and progress.
 */
#include <string.h>

#include "cmd/complete.h"

/* ---- results -------------------------------------------------------------------------------- */

static const char *finish_name(hpc_completion_finish f)
{
    static const char *const names[] = {[HPC_COMPLETION_STOP] = "stop",
                                        [HPC_COMPLETION_LENGTH] = "length",
                                        [HPC_COMPLETION_REPETITION] = "repetition",
                                        [HPC_COMPLETION_UNBALANCED] = "unbalanced",
                                        [HPC_COMPLETION_TIME] = "time",
                                        [HPC_COMPLETION_FORCED] = "forced",
                                        [HPC_COMPLETION_CANCELLED] = "cancelled",
                                        [HPC_COMPLETION_ERROR] = "error"};
    return names[f];
}

static void put_completion(hpc_json_out *w, const hpc_completion *c)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "text", c->text.n ? c->text.data : "");
    hpc_json_put_int(w, "tokens", c->tokens);
    hpc_json_put_real(w, "logprob", c->logprob);
    hpc_json_put_text(w, "finish", finish_name(c->finish));
    hpc_json_put_text(w, "stop_token", c->stop_token[0] ? c->stop_token : NULL);
    hpc_json_put_int(w, "samples", c->times);
    hpc_json_put_int(w, "open", c->open);
    hpc_json_put_int(w, "retries", c->retries);
    hpc_json_open(w, "checks", '[');
    for (int64_t k = 0; k < c->check_n; k++) {
        hpc_json_open(w, NULL, '{');
        hpc_json_put_text(w, "kind", c->check[k].kind);
        hpc_json_put_bool(w, "ok", c->check[k].ok);
        hpc_json_put_text(w, "text", c->check[k].text);
        hpc_json_close(w, '}');
    }
    hpc_json_close(w, ']');
    complete_put_source(w, c);
    hpc_json_close(w, '}');
}

/* The errors of the file itself. */
static void put_base(hpc_json_out *w, const completing *x)
{
    const hpc_check_base *b = x->checker ? hpc_completions_checker_base(x->checker) : NULL;
    hpc_json_open(w, "file_check", '{');
    hpc_json_put_int(w, "line", b ? b->line : 0);
    hpc_json_put_text(w, "error", b && b->error[0] ? b->error : NULL);
    hpc_json_put_text(w, "headers", b && b->headers[0] ? b->headers : NULL);
    hpc_json_close(w, '}');
}

int complete_print_json(completing *x)
{
    const hpc_completions *m = &x->made;
    hpc_buf out = {0};
    hpc_json_out w = {.buf = &out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "file", x->name);
    hpc_json_put_text(&w, "language",
                      x->spot.language == HPC_LANGUAGE_NONE ? NULL
                                                            : hpc_language_name(x->spot.language));
    hpc_json_put_int(&w, "line", x->spot.line);
    hpc_json_put_int(&w, "col", x->spot.col);
    hpc_json_put_text(&w, "model", x->model);
    hpc_json_put_text(&w, "converted",
                      hpc_engine_facts_of(hpc_completer_engine(x->completer)).note);
    hpc_json_put_text(&w, "passages", x->passages ? x->known : NULL);
    hpc_json_open(&w, "completions", '[');
    for (int64_t k = 0; k < m->n; k++) put_completion(&w, &m->item[k]);
    hpc_json_close(&w, ']');
    hpc_json_put_int(&w, "left_out", x->left_out);
    hpc_json_put_int(&w, "drawn", m->drawn);
    put_base(&w, x);
    hpc_json_open(&w, "timing", '{');
    hpc_json_put_real(&w, "load_ms", (double)(x->loaded_ns - x->start_ns) * 1e-6);
    hpc_json_put_real(&w, "prompt_ms", (double)m->first_token_ns * 1e-6);
    hpc_json_put_real(&w, "first_token_ms",
                      (double)(x->loaded_ns - x->start_ns + m->first_token_ns) * 1e-6);
    hpc_json_put_real(&w, "decode_tokens_per_s", hpc_completions_decode_rate(m));
    hpc_json_put_real(&w, "prompt_tokens_per_s", hpc_completions_prompt_rate(m));
    hpc_json_put_int(&w, "prompt_tokens", m->prompt_tokens);
    hpc_json_put_int(&w, "prompt_tokens_without_limit", m->prompt_wanted);
    hpc_json_close(&w, '}');
    hpc_json_close(&w, '}');
    hpc_buf_text(&out, "\n");
    return hpc_cmd_print(&out);
}

static bool is_streamed(const completing *x, const hpc_buf *text)
{
    return x->streamed.n == text->n &&
           (text->n == 0 || memcmp(x->streamed.data, text->data, text->n) == 0);
}

/* A better completion than the one that was streamed is printed after it. */
int complete_print_text(completing *x)
{
    const hpc_buf *text = x->made.n > 0 ? &x->made.item[0].text : NULL;
    hpc_buf out = {0};
    if (!text) return HPC_OK;
    if (x->streamed.n > 0 && !is_streamed(x, text)) {
        hpc_buf_text(&out, "\n");
        int rc = hpc_cmd_print(&out);
        if (rc < 0) return rc;
        fprintf(stderr,
                "hpccoder complete: the text above fails its checks; the best of %lld follows\n",
                (long long)x->made.drawn);
        x->streamed.n = out.n = 0;
    }
    if (x->streamed.n == 0) hpc_buf_add(&out, text->data, text->n);
    if (text->n > 0 && !x->o->raw) hpc_buf_text(&out, "\n");
    return hpc_cmd_print(&out);
}

/* ---- progress ------------------------------------------------------------------------------- */

static void show_progress(completing *x, const char *label, int64_t done, int64_t total)
{
    if (!x->progress.label || strcmp(x->progress.label, label) != 0)
        hpc_progress_start(&x->progress, label, "tokens", total);
    hpc_progress_update(&x->progress, done, NULL);
}

void complete_show_reading(void *user, int64_t done, int64_t total)
{
    show_progress(user, "reading the prompt", done, total);
}

void complete_show_writing(void *user, int64_t done, int64_t total)
{
    show_progress(user, "completing, at most", done, total);
}

void complete_end_progress(completing *x)
{
    if (x->progress.label) hpc_progress_clear(&x->progress);
    x->progress.label = NULL;
}

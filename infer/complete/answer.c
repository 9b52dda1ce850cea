/*
 * Sampling of one answer: tokens become text, the text is cut at its end, repetitions are
 * resampled, and open brackets are closed.
 */
#include "infer/complete/answer.h"

#include <stdio.h>
#include <string.h>

enum {
    BUDGET = 256, /* tokens before a text has to be sound to get as many again */
    RETRIES = 3   /* continuations after an end that leaves brackets open */
};
static const double RETRY_LEAST = 0.5, RETRY_STEP = 0.2; /* temperatures of these */

/* ---- the text kept so far ------------------------------------------------------------------- */

static int look(complete_answer *a, bool last)
{
    complete_run *x = a->run;
    bool over = false, circles = false, repeats = false;
    a->end = a->raw.n;
    if (x->r->raw) return HPC_OK;
    int rc = complete_stop_find(&a->end, &over, &x->stop, a->raw.data, a->raw.n, last || a->over);
    if (rc < 0) return rc;
    complete_circle_find(&a->end, &circles, a->raw.data, a->end, last || over);
    complete_repeat_find(&a->end, &repeats, x->r->spot, a->raw.data, a->end, last || over);
    a->repeats = a->repeats || circles;
    a->over = a->over || over || circles || repeats;
    return HPC_OK;
}

/* The end of the text without trailing blank lines and blanks, which may still be removed depending
 * on what follows. */
static size_t sure_end(const complete_answer *a)
{
    size_t end = a->end;
    while (end > 0 && a->raw.data[end - 1] != '\n') end--;
    while (end > 0 && complete_is_blank(a->raw.data + end - 1, 1)) end--;
    return end;
}

static int show(complete_answer *a, size_t end)
{
    complete_run *x = a->run;
    int rc;
    a->shown.n = 0;
    rc = x->r->raw ? hpc_buf_add(&a->shown, a->raw.data, end)
                   : complete_indent_apply(&a->shown, &a->indent, &x->stop, a->raw.data, end);
    if (rc < 0) return rc;
    if (x->r->ready && a == x->answer && a->shown.n > a->told) {
        x->r->ready(x->r->user, a->shown.data + a->told, a->shown.n - a->told);
        a->told = a->shown.n;
        a->told_raw = end;
    }
    return HPC_OK;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static const uint32_t *allowed(void *user)
{
    const complete_answer *a = user;
    bool free = !a->grammar || (!a->run->r->rule && hpc_grammar_owes(a->grammar) == 0);
    return free ? NULL : hpc_grammar_allowed(a->grammar);
}

/* Owed bytes are in the file already; a token of nothing else is not part of the answer. */
static bool is_owed(const complete_answer *a, int32_t id)
{
    size_t n, owed = a->grammar ? hpc_grammar_owes(a->grammar) : 0;
    if (owed == 0) return false;
    hpc_vocabulary_text(a->run->c->words.vocabulary, id, &n);
    return n <= owed;
}

static int add_token(complete_answer *a, int32_t id, float logprob)
{
    complete_run *x = a->run;
    if (is_owed(a, id)) return HPC_OK;
    a->made++;
    if (x->made++ == 0) x->first_ns = hpc_clock_ns();
    int rc = hpc_grow(&a->token, &a->token_cap, a->token_n + 1, sizeof *a->token);
    if (rc < 0) return rc;
    a->token[a->token_n++] = (complete_token){.at = a->raw.n, .logprob = logprob};
    a->full = a->token_n == x->r->most;
    return HPC_OK;
}

static int push_token(complete_answer *a, int32_t id, float logprob)
{
    size_t owed;
    bool stopped;
    int rc = HPC_OK;
    TRY(add_token(a, id, logprob));
    TRY(hpc_text_push(a->text, id, &a->raw, &stopped));
    owed = a->owed < a->raw.n ? a->owed : a->raw.n;
    if (owed > 0) memmove(a->raw.data, a->raw.data + owed, a->raw.n -= owed);
    a->owed -= owed;
out:
    return rc;
}

/* At the end of its budget a text gets as much again, or counts as a repetition. */
static int extend_budget(complete_answer *a)
{
    bool sound = true;
    if (a->run->r->raw || a->token_n < a->budget) return HPC_OK;
    int rc = complete_is_sound(&sound, &a->run->stop, a->raw.data, a->end);
    a->budget *= 2;
    if (!sound) a->repeats = a->over = true;
    return rc;
}

static int take_token(complete_answer *a, int32_t id, float logprob)
{
    size_t before = a->raw.n;
    int rc;
    TRY(push_token(a, id, logprob));
    if (a->grammar) TRY(hpc_grammar_take(a->grammar, id));
    if (a->run->r->rule) a->over = hpc_grammar_is_over(a->grammar);
    if (a->raw.n == before) return HPC_OK;
    TRY(look(a, false));
    TRY(extend_budget(a));
    TRY(show(a, a->run->r->raw ? a->end : sure_end(a)));
out:
    return rc;
}

static int token_made(void *user, int32_t id, float logprob)
{
    complete_answer *a = user;
    complete_run *x = a->run;
    x->begins = true;
    if (x->failed >= 0) x->failed = take_token(a, id, logprob);
    a->late = x->r->until_ns > 0 && hpc_clock_ns() >= x->r->until_ns;
    return x->failed < 0 || a->over || a->full || a->late;
}

/* ---- its end -------------------------------------------------------------------------------- */

static hpc_completion_finish finish_of(const complete_answer *a, hpc_finish how)
{
    if (how == HPC_FINISH_CANCELLED) return HPC_COMPLETION_CANCELLED;
    if (a->repeats) return HPC_COMPLETION_REPETITION;
    if (a->over) return HPC_COMPLETION_STOP;
    if (a->late) return HPC_COMPLETION_TIME;
    if (a->full || how == HPC_FINISH_LENGTH) return HPC_COMPLETION_LENGTH;
    return how == HPC_FINISH_ERROR ? HPC_COMPLETION_ERROR : HPC_COMPLETION_STOP;
}

/* White space before the end of a line is nothing that anybody wants. */
static size_t trim(const complete_answer *a)
{
    const hpc_spot *d = a->run->r->spot;
    const char *suffix = d->text.data + d->at;
    size_t rest = complete_line_end(suffix, d->text.n - d->at, 0), end = a->end;
    if (a->run->r->raw) return end;
    if (!complete_is_blank(suffix, rest) && !complete_is_blank(a->raw.data, end)) return end;
    while (end > 0 && complete_is_blank(a->raw.data + end - 1, 1)) end--;
    return end;
}

/* Cuts after the last complete statement, but takes nothing back that was shown. */
static int cut_to_statement(complete_answer *a, bool open_too)
{
    size_t end;
    int rc = complete_statement_end(&end, &a->run->stop, a->raw.data, a->end, open_too);
    if (rc < 0) return rc;
    a->end = end > a->told_raw ? end : a->told_raw;
    return HPC_OK;
}

/* Before another attempt. */
static int keep_best(complete_answer *a)
{
    size_t end;
    int rc;
    TRY(complete_statement_end(&end, &a->run->stop, a->raw.data, a->end, false));
    if (end <= a->best.n) return HPC_OK;
    TRY(hpc_grow(&a->best_token, &a->best_token_cap, a->token_n, sizeof *a->best_token));
    memcpy(a->best_token, a->token, (size_t)a->token_n * sizeof *a->token);
    a->best_token_n = a->token_n;
    a->best.n = 0;
    rc = hpc_buf_add(&a->best, a->raw.data, end);
out:
    return rc;
}

/* The best attempt replaces the last one if that has less than half as much. */
static int return_to_best(complete_answer *a)
{
    int rc;
    if (a->best.n <= 2 * a->end) return HPC_OK;
    a->raw.n = 0;
    TRY(hpc_buf_add(&a->raw, a->best.data, a->best.n));
    TRY(hpc_grow(&a->token, &a->token_cap, a->best_token_n, sizeof *a->token));
    memcpy(a->token, a->best_token, (size_t)a->best_token_n * sizeof *a->token);
    a->token_n = a->best_token_n;
    a->end = a->raw.n;
out:
    return rc;
}

/* Not if no statement is complete: brackets alone complete nothing. */
static int close_brackets(complete_answer *a)
{
    complete_stop *s = &a->run->stop;
    hpc_buf closing = {0};
    int rc;
    TRY(cut_to_statement(a, false));
    TRY(return_to_best(a));
    if (complete_is_blank(a->raw.data, a->end)) return HPC_OK;
    TRY(complete_close(&closing, s, a->raw.data, a->end));
    if (closing.n == 0) return HPC_OK;
    a->raw.n = a->end;
    TRY(hpc_buf_add(&a->raw, closing.data, closing.n));
    a->end = a->raw.n;
    a->finish = HPC_COMPLETION_FORCED;
out:
    hpc_buf_release(&closing);
    return rc;
}

/* How it ended, and whether another continuation may end better. */
static int judge_end(complete_answer *a, bool *closes)
{
    const hpc_complete_request *r = a->run->r;
    bool blocks = !r->raw && !r->rule && a->run->stop.kind != HPC_STOP_LINE;
    int64_t open;
    int rc = complete_open_count(&open, &a->run->stop, a->raw.data, a->end);
    bool ends = a->finish == HPC_COMPLETION_STOP;
    if (blocks && ends && a->over && open > 0) a->finish = HPC_COMPLETION_UNBALANCED;
    bool retries = a->finish == HPC_COMPLETION_REPETITION || (ends && open > 0);
    a->resample = blocks && retries && a->retries < RETRIES && a->made < r->most;
    *closes = blocks && r->close && (!ends || open > 0) && a->finish != HPC_COMPLETION_CANCELLED;
    return rc;
}

static int finish(complete_answer *a)
{
    bool closes;
    int rc;
    TRY(hpc_text_end(a->text, &a->raw));
    TRY(look(a, true));
    TRY(judge_end(a, &closes));
    if (a->resample) return HPC_OK;
    if (closes) TRY(close_brackets(a));
    a->end = trim(a);
    TRY(show(a, a->end));
    a->ended = true;
    a->run->ended++;
out:
    return rc;
}

static void ended(void *user, hpc_finish how, int32_t id)
{
    complete_answer *a = user;
    complete_run *x = a->run;
    a->stop_token = id;
    a->finish = finish_of(a, how);
    x->cancelled = x->cancelled || how == HPC_FINISH_CANCELLED;
    if (x->failed >= 0) x->failed = finish(a);
}

/* ---- its requests --------------------------------------------------------------------------- */

static int begin_grammar(complete_answer *a)
{
    hpc_completer *c = a->run->c;
    const hpc_complete_request *r = a->run->r;
    const hpc_grammar_rule any = {.kind = HPC_GRAMMAR_ANY};
    const hpc_grammar_options o = {.rule = r->rule ? *r->rule : any,
                                   .owed = c->prompter.owed,
                                   .masks = r->rule ? 0 : 1,
                                   .prefix = r->spot->text.data,
                                   .prefix_n = r->spot->at,
                                   .end = c->prompter.stop,
                                   .end_n = c->prompter.stop_n};
    a->owed = o.owed;
    return hpc_grammar_create(&a->grammar, c->words.vocabulary, &o);
}

int complete_answer_begin(complete_answer *a, complete_run *x, int64_t k)
{
    int rc = HPC_OK;
    *a = (complete_answer){.run = x, .sample = k, .budget = BUDGET};
    if (x->r->rule || x->c->prompter.owed > 0) TRY(begin_grammar(a));
    TRY(complete_indent_create(&a->indent, x->r->spot));
    TRY(hpc_text_create(&a->text, x->c->words.tokenizer, NULL, false));
out:
    return rc;
}

static int submit(complete_answer *a, const hpc_ids *prompt, const hpc_sampling *sampling)
{
    hpc_completer *c = a->run->c;
    int64_t owed = a->grammar ? (int64_t)hpc_grammar_owes(a->grammar) : 0;
    const hpc_request q = {.token = prompt->id,
                           .n = prompt->n,
                           .most = a->run->r->most - a->token_n + owed,
                           .sampling = *sampling,
                           .sample = (uint32_t)a->sample,
                           .stop = c->prompter.stop,
                           .stop_n = c->prompter.stop_n,
                           .token_made = token_made,
                           .ended = ended,
                           .allowed = a->grammar ? allowed : NULL,
                           .user = a};
    return complete_drive_submit(a->run, &q, &a->id);
}

int complete_answer_submit(complete_answer *a)
{
    return submit(a, &a->run->c->prompt, &a->run->r->sampling);
}

/* Each retry keeps less of the text, but all that was shown. */
static int cut_for_retry(complete_answer *a)
{
    int rc = keep_best(a);
    if (rc < 0) return rc;
    a->end = a->end * (size_t)(RETRIES - a->retries) / RETRIES;
    rc = cut_to_statement(a, true);
    a->raw.n = a->end;
    while (a->token_n > 0 && a->token[a->token_n - 1].at >= a->end) a->token_n--;
    return rc;
}

/* The prompt, bytes before the cursor that it leaves out, and the text kept. */
static int retry_prompt(hpc_ids *out, complete_answer *a)
{
    hpc_completer *c = a->run->c;
    const hpc_spot *d = a->run->r->spot;
    size_t owed = c->prompter.owed;
    hpc_buf text = {0};
    int rc;
    TRY(hpc_grow(&out->id, &out->cap, c->prompt.n, sizeof *out->id));
    memcpy(out->id, c->prompt.id, (size_t)c->prompt.n * sizeof *out->id);
    out->n = c->prompt.n;
    TRY(hpc_buf_add(&text, d->text.data + d->at - owed, owed));
    TRY(hpc_buf_add(&text, a->raw.data, a->raw.n));
    TRY(hpc_tokenizer_encode(out, c->words.tokenizer, c->prompter.scratch, text.data, text.n,
                             HPC_ENCODE_INNER));
out:
    hpc_buf_release(&text);
    return rc;
}

int complete_answer_resample(complete_answer *a)
{
    hpc_sampling sampling = a->run->r->sampling;
    double least = RETRY_LEAST + RETRY_STEP * (double)a->retries;
    hpc_ids prompt = {0};
    int rc;
    a->resample = a->over = a->repeats = a->full = a->late = false;
    TRY(cut_for_retry(a));
    a->retries++;
    a->budget = a->token_n + BUDGET;
    hpc_text_free(a->text);
    hpc_grammar_free(a->grammar);
    a->text = NULL;
    a->grammar = NULL;
    a->owed = 0;
    TRY(hpc_text_create(&a->text, a->run->c->words.tokenizer, NULL, false));
    TRY(retry_prompt(&prompt, a));
    if (sampling.temperature < least) sampling.temperature = least;
    sampling.seed += (uint64_t)a->retries;
    TRY(submit(a, &prompt, &sampling));
out:
    hpc_free(prompt.id);
    return rc;
}

/* ---- its result ----------------------------------------------------------------------------- */

int complete_answer_take(hpc_completion *c, complete_answer *a)
{
    int rc = complete_open_count(&c->open, &a->run->stop, a->raw.data, a->end);
    if (rc < 0) return rc;
    for (; c->tokens < a->token_n && a->token[c->tokens].at < a->end; c->tokens++)
        c->logprob += a->token[c->tokens].logprob;
    c->finish = a->finish;
    if (a->finish == HPC_COMPLETION_STOP && a->stop_token >= 0) {
        size_t n = 0;
        const char *piece = hpc_tokenizer_piece(a->run->c->words.tokenizer, a->stop_token, &n);
        snprintf(c->stop_token, sizeof c->stop_token, "%.*s", (int)n, piece ? piece : "");
    }
    c->retries = a->retries;
    c->text = a->shown;
    a->shown = (hpc_buf){0};
    return HPC_OK;
}

void complete_answer_release(complete_answer *a)
{
    hpc_text_free(a->text);
    hpc_grammar_free(a->grammar);
    hpc_buf_release(&a->raw);
    hpc_buf_release(&a->shown);
    hpc_buf_release(&a->best);
    hpc_free(a->best_token);
    hpc_free(a->token);
}

/*
 * Remarks of `hpccoder complete` on standard error: limits, failed checks, engine and rates.
 */
#include <math.h>
#include <string.h>

#include "cmd/complete.h"

static void remark_engine(const hpc_engine *e)
{
    const hpc_engine_facts f = hpc_engine_facts_of(e);
    const hpc_model_config *c = hpc_engine_config(e);
    fprintf(stderr,
            "hpccoder complete: %s with %lld parameters, %s; %s %s, %d thread%s, up to %.1f MiB of "
            "private memory\n",
            c->family, (long long)hpc_model_config_params(c), f.mapped ? "mapped" : "loaded",
            f.backend, f.isa, f.threads, f.threads == 1 ? "" : "s", (double)f.bytes / 0x1p20);
}

static void remark_weights(const completing *x)
{
    const char *note = hpc_engine_facts_of(hpc_completer_engine(x->completer)).note;
    if (note) fprintf(stderr, "hpccoder complete: %s: %s\n", x->model, note);
}

static void put_rate(hpc_buf *out, const char *before, double rate)
{
    if (isfinite(rate)) hpc_buf_printf(out, "%s%.1f tokens/s", before, rate);
}

static void remark_rates(const completing *x)
{
    const hpc_completions *m = &x->made;
    const double load_ms = (double)(x->loaded_ns - x->start_ns) * 1e-6;
    hpc_buf line = {0};
    hpc_buf_printf(&line, "loaded in %.1f ms; prompt of %lld tokens", load_ms,
                   (long long)m->prompt_tokens);
    put_rate(&line, " at ", hpc_completions_prompt_rate(m));
    hpc_buf_printf(&line, ", first token after %.1f ms; %lld tokens generated",
                   load_ms + (double)m->first_token_ns * 1e-6, (long long)m->made);
    put_rate(&line, " at ", hpc_completions_decode_rate(m));
    if (line.n > 0) hpc_cmd_warn(line.data, "complete");
    hpc_buf_release(&line);
}

/* Limits that the user did not ask for. */
static void remark_limits(const completing *x)
{
    const hpc_completions *m = &x->made;
    const hpc_completion *c = m->n > 0 ? m->item : NULL;
    bool free_text = !x->o->raw && strcmp(x->o->grammar, "none") == 0;
    if (free_text && x->spot.language == HPC_LANGUAGE_NONE)
        fprintf(stderr,
                "hpccoder complete: %s: the file name is not one of C, C++, CUDA, HIP, OpenCL or "
                "Fortran: blocks end by indentation, and the completion is not checked\n",
                x->name);
    if (m->prompt_tokens < m->prompt_wanted)
        fprintf(stderr,
                "hpccoder complete: shortened the prompt from %lld to %lld tokens to read it in "
                "%g s (--prompt-seconds)\n",
                (long long)m->prompt_wanted, (long long)m->prompt_tokens, x->o->prompt_seconds);
    if (x->o->raw && c && c->stop_token[0])
        fprintf(stderr, "hpccoder complete: --raw ended at the model's special token %s\n",
                c->stop_token);
}

const hpc_completion_check *complete_incomplete(const completing *x)
{
    return x->made.n > 0 ? hpc_completion_incomplete(&x->made.item[0], x->made.stop) : NULL;
}

static void remark_base(const completing *x)
{
    const hpc_check_base *b = x->checker ? hpc_completions_checker_base(x->checker) : NULL;
    if (!b || (!b->error[0] && !b->headers[0])) return;
    fprintf(stderr, "hpccoder complete: %s:%u: the unchanged file does not compile: %s%s%s\n",
            x->name, b->line, b->error, b->headers[0] ? "; checked with " : "", b->headers);
}

/* Samples from item k on that kind rejects; 0 if it rejects an earlier one. */
static int64_t rejected_from(const hpc_completions *m, int64_t k, const char *kind)
{
    int64_t times = 0;
    for (int64_t i = 0; i < m->n; i++) {
        const hpc_completion_check *worst = hpc_completion_worst(&m->item[i]);
        if (!worst || strcmp(worst->kind, kind) != 0) continue;
        if (i < k) return 0;
        times += m->item[i].times;
    }
    return times;
}

/* Adds the number of samples by the failed check that weighs most: "5 compile, 3 intent". */
static void put_rejections(hpc_buf *out, const hpc_completions *m)
{
    const char *before = "";
    for (int64_t k = 0; k < m->n; k++) {
        const hpc_completion_check *worst = hpc_completion_worst(&m->item[k]);
        int64_t times = worst ? rejected_from(m, k, worst->kind) : 0;
        if (times == 0) continue;
        hpc_buf_printf(out, "%s%lld %s", before, (long long)times, worst->kind);
        before = ", ";
    }
}

/* The best completion ends and pairs its brackets, but fails another check. */
static void remark_rejected(const completing *x, const hpc_completion_check *worst)
{
    hpc_buf line = {0};
    hpc_buf_printf(&line, "%s:%lld: ", x->name, (long long)x->spot.line);
    if (x->made.drawn > 1) {
        hpc_buf_printf(
            &line, "none of %lld samples passes the checks (failed: ", (long long)x->made.drawn);
        put_rejections(&line, &x->made);
        hpc_buf_printf(&line, "); the best fails %s: %s; try more --samples, or a larger --model",
                       worst->kind, worst->text);
    } else {
        hpc_buf_printf(&line,
                       "the completion fails the check %s: %s; --samples 8 draws more and prints "
                       "the best",
                       worst->kind, worst->text);
    }
    if (line.n > 0) hpc_cmd_warn(line.data, "complete");
    hpc_buf_release(&line);
}

static void remark_end(const completing *x)
{
    const hpc_completion *c = x->made.n > 0 ? &x->made.item[0] : NULL;
    const hpc_completion_check *k = complete_incomplete(x);
    if (k)
        fprintf(stderr, "hpccoder complete: %s:%lld: the completion is incomplete: %s%s%s\n",
                x->name, (long long)x->spot.line, k->text,
                x->o->write && !x->o->partial ? "; nothing was written (--partial accepts it)" : "",
                c->finish == HPC_COMPLETION_LENGTH ? "; -n N allows more tokens" : "");
    else if (c && c->text.n > 0 && hpc_completion_worst(c))
        remark_rejected(x, hpc_completion_worst(c));
    else if (c && c->finish == HPC_COMPLETION_FORCED)
        fprintf(stderr,
                "hpccoder complete: %s:%lld: the model did not end; its brackets were closed "
                "after the last statement\n",
                x->name, (long long)x->spot.line);
    else if (c && c->finish == HPC_COMPLETION_LENGTH && !x->o->json)
        fprintf(stderr,
                "hpccoder complete: stopped at the limit of %lld tokens; -n N allows more\n",
                (long long)x->most);
}

void complete_remark(const completing *x)
{
    const hpc_completions *m = &x->made;
    if (!x->o->quiet) remark_weights(x);
    if (!x->o->quiet) remark_limits(x);
    if (!x->o->quiet) remark_base(x);
    if (!x->o->quiet) remark_end(x);
    if (!x->o->quiet) complete_remark_source(x->o->json || m->n == 0 ? NULL : m->item, x->left_out);
    if (!x->o->quiet && (m->n == 0 || m->item[0].text.n == 0))
        fprintf(stderr, "hpccoder complete: %s:%lld:%lld: nothing to add\n", x->name,
                (long long)x->spot.line, (long long)x->spot.col);
    for (int64_t k = 0; x->o->verbose && k < x->parts.n; k++)
        fprintf(stderr, "hpccoder complete: context %s:%lld, %zu bytes\n", x->parts.snippet[k].path,
                (long long)x->parts.line[k], x->parts.snippet[k].n);
    if (x->o->verbose) remark_engine(hpc_completer_engine(x->completer));
    if (x->o->verbose) remark_rates(x);
}

/*
 * ask.c: see ask.h. Loops are rendered as in training, in groups that the model keeps together.
 */
#include "infer/pragma/ask.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "infer/pragma/ask_names.h"
#include "runtime/source/source.h"

enum { GROUP = 8, SCHEDULES = 4 };
static const char *const schedules[SCHEDULES] = {"", " schedule(dynamic)", " schedule(dynamic, 1)",
                                                 " schedule(guided)"};

typedef struct asking {
    const hpc_pragma_model *m;
    hpc_pragma_loops *out;
    const hpc_tree *t;
    const char *path, *text;
    size_t n;
    hpc_tokens tokens;
    hpc_functions functions;
    hpc_loops loops;
    hpc_sample sample;
    hpc_pragma_loop *item[GROUP]; /* by prompt */
    int items_n, group;
} asking;

static int add_loop(asking *x, hpc_pragma_loop *l)
{
    int64_t k = hpc_loops_at(&x->loops, l->at);
    bool fits;
    int rc = HPC_OK;
    if (k < 0 || l->node < 0) return HPC_OK; /* a while loop, or a loop from a macro */
    hpc_sample_clear(&x->sample);
    TRY(hpc_render_loop(&x->sample, &x->loops, k, &x->functions, x->path, x->text, x->n, NULL,
                        NULL));
    TRY(x->m->encode(x->m->user, &fits, x->items_n, &x->sample));
    if (fits) x->item[x->items_n++] = l;
out:
    return rc;
}

/* The probability that a loop has any directive. */
static int ask_whether(asking *x)
{
    hpc_pragma_answer none[GROUP];
    bool fits;
    int rc;
    for (int k = 0; k < x->items_n; k++) none[k] = (hpc_pragma_answer){.prompt = k, .text = ""};
    TRY(x->m->rate(x->m->user, &fits, none, x->items_n));
    for (int k = 0; k < x->items_n && fits; k++) x->item[k]->likely = -expm1(none[k].logprob);
out:
    return rc;
}

/* Adds the likeliest schedule. */
static int ask_schedule(asking *x, int i)
{
    hpc_pragma_loop *l = x->item[i];
    hpc_pragma_answer with[SCHEDULES];
    char text[SCHEDULES][1024];
    bool fits;
    int rc = HPC_OK, best = 0;
    for (int k = 0; k < SCHEDULES; k++) {
        int n = snprintf(text[k], sizeof text[k], "%s%s", l->pragma, schedules[k]);
        if (n >= (int)sizeof text[k]) return HPC_OK;
        with[k] = (hpc_pragma_answer){.prompt = i, .text = text[k]};
    }
    TRY(x->m->rate(x->m->user, &fits, with, SCHEDULES));
    for (int k = 1; k < SCHEDULES && fits; k++)
        if (with[k].logprob > with[best].logprob) best = k;
    if (best == 0) return HPC_OK;
    l->pragma = hpc_arena_text(x->out->arena, "%s", text[best]);
    if (!l->pragma) rc = HPC_E_NOMEM;
out:
    return rc;
}

static int ask_guess(asking *x, int i)
{
    hpc_pragma_loop *l = x->item[i];
    ask_names names = {0};
    hpc_buf text = {0};
    int rc;
    TRY(ask_names_find(&names, x->t, l->node));
    if (names.n == 0) goto out; /* no variable to name */
    TRY(x->m->write(x->m->user, &text, i, names.item, names.n));
    if (text.n == 0) goto out;
    l->guess = hpc_arena_text(x->out->arena, "%s", text.data);
    if (!l->guess) rc = HPC_E_NOMEM;
out:
    hpc_buf_release(&text);
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
        const hpc_pragma_loop *l = x->item[k];
        if (l->verdict == HPC_VERDICT_UNKNOWN) TRY(ask_guess(x, k));
        if (l->pragma && !strstr(l->pragma, "schedule(") && runs_threads(l->pragma))
            TRY(ask_schedule(x, k));
    }
    x->items_n = 0;
out:
    return rc;
}

int hpc_ask(hpc_pragma_loops *l, const hpc_pragma_model *m, const hpc_tree *t, const char *path,
            const char *text, size_t n, hpc_language language)
{
    asking x = {.m = m, .out = l, .t = t, .path = path, .text = text, .n = n};
    int rc;
    x.group = m->capacity < GROUP ? (int)m->capacity : GROUP;
    TRY(hpc_lex(&x.tokens, text, n, language, false));
    TRY(hpc_functions_find(&x.functions, &x.tokens, text, language));
    TRY(hpc_loops_find(&x.loops, &x.tokens, text, language, &x.functions));
    for (int64_t k = 0; k < l->n; k++) {
        TRY(add_loop(&x, &l->item[k]));
        if (x.items_n == x.group) TRY(ask_group(&x));
    }
    if (x.items_n > 0) TRY(ask_group(&x));
    hpc_pragma_weigh(l);
out:
    hpc_sample_release(&x.sample);
    hpc_loops_release(&x.loops);
    hpc_functions_release(&x.functions);
    hpc_tokens_release(&x.tokens);
    return rc;
}

/*
 * asked.c: metrics, variables and folders, as commands that measure commits are given them.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/asked.h"

int asked_metrics(asked *a, const hpc_texts *given)
{
    int rc = HPC_OK;
    if (given->n > HISTORY_METRICS)
        TRY(hpc_fail(HPC_E_ARG, "--metric: at most %d of them", HISTORY_METRICS));
    for (int64_t k = 0; k < given->n; k++)
        TRY(history_metric_parse(&a->metric[a->metrics++], given->item[k]));
    if (given->n == 0) TRY(history_metric_parse(&a->metric[a->metrics++], "time"));
    for (int k = 0; k < a->metrics; k++)
        for (int i = 0; i < k; i++)
            if (strcmp(a->metric[k].name, a->metric[i].name) == 0)
                TRY(hpc_fail(HPC_E_ARG, "--metric: %s is given twice", a->metric[k].name));
out:
    return rc;
}

int asked_environment(asked *a, const hpc_texts *given)
{
    int rc = HPC_OK;
    a->environment = hpc_arena_alloc(a->arena, (size_t)given->n + 1, sizeof *a->environment);
    TRY(a->environment ? HPC_OK : HPC_E_NOMEM);
    for (int64_t k = 0; k < given->n; k++) {
        const char *text = given->item[k], *value = strchr(text, '=') ? "" : getenv(text);
        if (!value)
            TRY(hpc_fail(HPC_E_ARG, "--env %.100s: it is not set here; give %.100s=VALUE", text,
                         text));
        a->environment[k] =
            strchr(text, '=') ? text : hpc_arena_text(a->arena, "%s=%s", text, value);
        TRY(a->environment[k] ? HPC_OK : HPC_E_NOMEM);
    }
out:
    return rc;
}

int asked_work(history_options *h, asked *a, const char *work)
{
    h->work = work ? work : hpc_arena_text(a->arena, "%s.work", h->database);
    return h->work ? HPC_OK : HPC_E_NOMEM;
}

void asked_say(void *user, const char *line)
{
    const asked *a = user;
    if (!a->quiet) hpc_cmd_warn(line, (void *)(uintptr_t)a->command);
}

void asked_release(asked *a)
{
    for (int k = 0; k < a->metrics; k++) history_metric_release(&a->metric[k]);
    a->metrics = 0;
}

/*
 * Metrics, environment and folders from the options of commands that measure commits.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/asked.h"

/* Default: "time". */
static int take_metrics(asked *a, const hpc_texts *given)
{
    int rc = HPC_OK;
    if (given->n > HPC_HISTORY_METRICS)
        TRY(hpc_fail(HPC_E_ARG, "--metric: at most %d metrics", HPC_HISTORY_METRICS));
    for (int64_t k = 0; k < given->n; k++)
        TRY(hpc_history_metric_parse(&a->metric[a->metrics++], given->item[k]));
    if (given->n == 0) TRY(hpc_history_metric_parse(&a->metric[a->metrics++], "time"));
    for (int k = 0; k < a->metrics; k++)
        for (int i = 0; i < k; i++)
            if (strcmp(a->metric[k].name, a->metric[i].name) == 0)
                TRY(hpc_fail(HPC_E_ARG, "--metric: %s is given twice", a->metric[k].name));
out:
    return rc;
}

static int take_environment(asked *a, const hpc_texts *given)
{
    int rc = HPC_OK;
    a->environment = hpc_arena_alloc(a->arena, (size_t)given->n + 1, sizeof *a->environment);
    TRY(a->environment ? HPC_OK : HPC_E_NOMEM);
    for (int64_t k = 0; k < given->n; k++) {
        const char *text = given->item[k], *value = strchr(text, '=') ? "" : getenv(text);
        if (!value)
            TRY(hpc_fail(HPC_E_ARG, "--env %.100s: the variable is not set; use %.100s=VALUE", text,
                         text));
        a->environment[k] =
            strchr(text, '=') ? text : hpc_arena_text(a->arena, "%s=%s", text, value);
        TRY(a->environment[k] ? HPC_OK : HPC_E_NOMEM);
    }
out:
    return rc;
}

int asked_history(hpc_history_options *h, asked *a, const asked_measure *o)
{
    int rc = HPC_OK;
    if (!o->run) TRY(hpc_fail(HPC_E_ARG, "--run CMD is missing: the command to measure"));
    if (!o->db) TRY(hpc_fail(HPC_E_ARG, "--db FILE is missing: the performance history"));
    TRY(take_metrics(a, &o->metric));
    TRY(take_environment(a, &o->env));
    h->database = o->db;
    h->work = o->work ? o->work : hpc_arena_text(a->arena, "%s.work", o->db);
    TRY(h->work ? HPC_OK : HPC_E_NOMEM);
    h->build = o->build;
    h->run = o->run;
    h->metric = a->metric;
    h->metrics = a->metrics;
    h->least = (int)o->repeat;
    h->most = (int)(o->most > o->repeat ? o->most : o->repeat);
    h->precision = o->precision / 100;
    h->warm_up = (int)o->warm_up;
    h->together = (int)o->together;
    h->seed = (uint64_t)o->seed;
    h->limits.build_seconds = o->build_seconds;
    h->limits.run_seconds = o->run_seconds;
    h->limits.memory_bytes = o->memory_mib << 20;
    h->cpus = o->cpus;
    h->environment = a->environment;
    h->machine = o->machine;
    h->cache_bytes = o->cache_mib << 20;
    h->again = o->again;
out:
    return rc;
}

void asked_say(void *user, const char *line)
{
    const asked *a = user;
    if (!a->quiet) hpc_cmd_warn(line, (void *)(uintptr_t)a->command);
}

void asked_release(asked *a)
{
    for (int k = 0; k < a->metrics; k++) hpc_history_metric_release(&a->metric[k]);
    a->metrics = 0;
}

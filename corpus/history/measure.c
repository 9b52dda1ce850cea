/*
 * One run of the command, plain or under valgrind, which counts instructions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus/history/priv.h"

enum { COUNTS_MOST = 256 << 20 };
static const double least_seconds = 1e-6; /* no run takes less */

bool history_is_counted(const hpc_history_metric *m)
{
    return m->kind == HISTORY_INSTRUCTIONS || m->kind == HISTORY_COST;
}

void history_run_release(history_run *r)
{
    hpc_buf_release(&r->log);
    hpc_free(r->hot);
    *r = (history_run){0};
}

static void take(history_run *out, int k, double value)
{
    out->took[k] = true;
    out->value[k] = value;
}

static int fail(history_run *out, const char *why)
{
    out->outcome = HISTORY_FAILED;
    return hpc_buf_printf(&out->log, "hpccoder: %s\n", why);
}

/* ---- plain runs --------------------------------------------------------------------------------
 */

static int take_parsed(history_run *out, const hpc_history_metric *m, int k,
                       const hpc_proc_result *r)
{
    double value;
    hpc_buf printed = {0};
    int rc;
    TRY(hpc_buf_add(&printed, r->out.data ? r->out.data : "", r->out.n));
    TRY(hpc_buf_add(&printed, r->err.data ? r->err.data : "", r->err.n));
    for (size_t i = 0; i < printed.n; i++)
        if (!printed.data[i]) printed.data[i] = ' ';
    rc = history_parse(&value, m, &printed);
    if (rc == HPC_OK) take(out, k, value);
    if (rc == HPC_E_FORMAT) {
        rc = fail(out, hpc_error_get()->text);
        hpc_error_clear();
    }
out:
    hpc_buf_release(&printed);
    return rc;
}

static int take_plain(history_run *out, const history_work *w, const hpc_proc_result *r)
{
    int rc = HPC_OK;
    for (int k = 0; k < w->o->metrics; k++) {
        const hpc_history_metric *m = &w->o->metric[k];
        double user = r->user_seconds > least_seconds ? r->user_seconds : least_seconds;
        if (m->kind == HISTORY_TIME) take(out, k, r->seconds);
        if (m->kind == HISTORY_USER) take(out, k, user);
        if (m->kind == HISTORY_MEMORY) take(out, k, (double)r->peak_bytes);
        if (m->kind == HISTORY_HARDWARE && r->counted > 0) take(out, k, (double)r->counted);
        if (m->kind == HISTORY_HARDWARE && r->counted <= 0)
            TRY(fail(out, "the processor counted no instructions"));
        if (m->kind == HISTORY_PARSED) TRY(take_parsed(out, m, k, r));
    }
out:
    return rc;
}

/* ---- counted ------------------------------------------------------------------------------------
 */

/* Of the shell that starts the command nothing counts. */
static int add_counts(history_counts *c, history_profile *p, int *n, const char *folder,
                      const char *sources)
{
    hpc_buf names = {0}, text = {0}, path = {0};
    int64_t files = 0;
    int rc;
    TRY(hpc_file_list(&names, &files, folder));
    const char *name = names.data;
    for (int64_t k = 0; k < files; k++, name += strlen(name) + 1) {
        path.n = text.n = 0;
        TRY(hpc_buf_printf(&path, "%s/%s", folder, name));
        TRY(hpc_file_read(&text, path.data, COUNTS_MOST));
        const char *command = text.data ? strstr(text.data, "\ncmd: ") : NULL;
        if (!command || strncmp(command, "\ncmd: sh -c ", 12) == 0) continue;
        *n += history_counts_add(c, text.data);
        TRY(history_profile_add(p, text.data, sources));
    }
out:
    hpc_buf_release(&names);
    hpc_buf_release(&text);
    hpc_buf_release(&path);
    return rc;
}

static int take_counted(history_run *out, const history_work *w, const char *counts,
                        const char *sources)
{
    history_counts c = {0};
    history_profile p = {0};
    int n = 0, rc;
    TRY(add_counts(&c, &p, &n, counts, sources));
    if (n == 0) {
        rc = fail(out, "valgrind counted nothing");
        goto out;
    }
    for (int k = 0; k < w->o->metrics; k++) {
        const hpc_history_metric *m = &w->o->metric[k];
        if (m->kind == HISTORY_INSTRUCTIONS) take(out, k, c.instructions);
        if (m->kind == HISTORY_COST) take(out, k, history_cost(&c));
    }
    TRY(history_profile_find(&out->hot, &out->hot_n, &p));
out:
    history_profile_release(&p);
    return rc;
}

/* Caches of no machine in particular, the same on each: 32 KiB of eight ways twice, and 8 MiB of
 * sixteen. */
static int start_counted(hpc_proc_result *r, const history_work *w, const char *folder,
                         const char *counts)
{
    char file[4200];
    const char *argv[] = {"valgrind",
                          "-q",
                          "--tool=cachegrind",
                          history_wants(w->o, HISTORY_COST) ? "--cache-sim=yes" : "--cache-sim=no",
                          "--I1=32768,8,64",
                          "--D1=32768,8,64",
                          "--LL=8388608,16,64",
                          "--trace-children=yes",
                          file,
                          "sh",
                          "-c",
                          w->o->run,
                          NULL};
    snprintf(file, sizeof file, "--cachegrind-out-file=%s/%%p", counts);
    return history_start(r, w, folder, argv, w->o->limits.run_seconds, 0);
}

/* ---- either ---------------------------------------------------------------------------------- */

static int judge(history_run *out, const hpc_proc_result *r, size_t most, bool counted)
{
    char why[128];
    int rc = HPC_OK;
    out->seconds = r->seconds;
    out->outcome = r->timed_out ? HISTORY_TIMED_OUT : HISTORY_DONE;
    history_failure(why, r);
    if (!why[0]) return rc;
    if (!r->timed_out) out->outcome = HISTORY_FAILED;
    TRY(history_put_log(&out->log, r, most));
    if (counted && strstr(why, "signal 4 "))
        rc = hpc_buf_text(
            &out->log,
            "hpccoder: valgrind does not support that instruction (AVX-512, or an SSE 4.2 string "
            "instruction): build for an older processor, for example with -march=x86-64\n");
out:
    return rc;
}

int history_measure(history_run *out, const history_work *w, const char *folder, bool counted)
{
    char counts[4128];
    hpc_proc_result r = {0};
    int rc;
    *out = (history_run){0};
    snprintf(counts, sizeof counts, "%s/counts", w->root);
    if (counted) {
        TRY(history_remove(counts));
        TRY(hpc_file_mkdir(counts));
        TRY(start_counted(&r, w, folder, counts));
    } else {
        TRY(history_command(&r, w, folder, w->o->run, w->o->limits.run_seconds));
    }
    TRY(judge(out, &r, (size_t)w->o->limits.log_bytes, counted));
    if (out->outcome == HISTORY_DONE)
        TRY(counted ? take_counted(out, w, counts, folder) : take_plain(out, w, &r));
    if (counted) TRY(history_remove(counts));
out:
    hpc_proc_release(&r);
    if (rc < 0) history_run_release(out);
    return rc;
}

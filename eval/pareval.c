/*
 * Suite ParEval: candidates from a model, a server or a file, and their scores for each task.
 */
#include "eval/pareval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eval/priv.h"

#define METRIC(what, k)                                                                            \
    {                                                                                              \
        .name = what "_" #k, .title = what "@" #k, .sum = what "_" #k, .decimals = 3               \
    }
static const hpc_eval_metric metrics[] = {
    METRIC("build", 1),       METRIC("build", 5),      METRIC("build", 10),
    METRIC("build", 20),      METRIC("pass", 1),       METRIC("pass", 5),
    METRIC("pass", 10),       METRIC("pass", 20),      METRIC("speedup", 1),
    METRIC("speedup", 5),     METRIC("speedup", 10),   METRIC("speedup", 20),
    METRIC("efficiency", 1),  METRIC("efficiency", 5), METRIC("efficiency", 10),
    METRIC("efficiency", 20),
};
static const int64_t tries[] = {1, 5, 10, 20};

const hpc_eval_suite hpc_eval_suite_pareval = {
    .name = "pareval",
    .title = "ParEval",
    .unit = "tasks",
    .metric = metrics,
    .metric_n = sizeof metrics / sizeof *metrics,
    .notes =
        "[low, high]: 95 % bootstrap interval over problems. build@k, pass@k: probability that "
        "one of k candidates builds, and is valid. speedup@k: expected best of k speedups over "
        "ParEval's sequential code; a candidate that fails counts as 0. efficiency@k: speedup "
        "per thread or rank. All are unbiased estimates from the candidates of each task.",
};

typedef struct judging {
    const hpc_eval_pareval_options *o;
    hpc_pareval_tasks tasks;
    hpc_pareval_runner runner;
    hpc_eval_box *box;
    hpc_eval_asker *asker;
    hpc_json *given;       /* samples_in */
    const hpc_json **task; /* [tasks.n]: the entry of `given`; NULL: none */
    char drivers[512];
} judging;

/* ---- scores of a task ------------------------------------------------------------------------ */

static void put_scores(hpc_json_out *w, const hpc_pareval_verdict *v, int64_t n, int64_t resources)
{
    static const char *const names[] = {"build", "pass", "speedup", "efficiency"};
    double *time = hpc_alloc((size_t)n + 1, sizeof(*time)), best = NAN;
    int64_t built = 0, valid = 0;
    bool timed = true; /* the driver prints run times */
    char key[32];

    for (int64_t k = 0; k < n && time; k++) {
        built += v[k].built, valid += v[k].valid;
        time[k] = v[k].valid && !isnan(v[k].seconds) ? fmax(v[k].seconds, 1e-8) : INFINITY;
        timed = timed && (!v[k].valid || !isnan(v[k].seconds));
        if (!isnan(v[k].best) && !(best <= v[k].best)) best = v[k].best;
    }
    if (isnan(best)) best = 0; /* nothing is valid: every speedup is 0 */
    for (int what = 0; what < (timed ? 4 : 2) && time; what++)
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            double x = what == 0   ? hpc_eval_pass_at(n, built, tries[i])
                       : what == 1 ? hpc_eval_pass_at(n, valid, tries[i])
                                   : hpc_eval_speedup_at(time, n, tries[i], best);
            if (what == 3) x /= (double)resources;
            snprintf(key, sizeof key, "%s_%d", names[what], (int)tries[i]);
            if (!isnan(x)) hpc_json_put_real(w, key, x);
        }
    hpc_free(time);
}

static void put_candidate(hpc_json_out *w, const char *text, const hpc_pareval_verdict *v)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "text", text);
    hpc_json_put_bool(w, "built", v->built);
    hpc_json_put_bool(w, "ran", v->ran);
    hpc_json_put_bool(w, "valid", v->valid);
    hpc_json_put_real(w, "seconds", v->seconds);
    hpc_json_put_real(w, "best_seconds", v->best);
    hpc_json_put_text(w, "error", v->why[0] ? v->why : NULL);
    hpc_json_close(w, '}');
}

static int put_sample(hpc_eval_log *log, const char *id, const hpc_pareval_task *t,
                      const char *const *text, const hpc_pareval_verdict *v, int64_t n,
                      int64_t resources)
{
    hpc_buf line = {0};
    hpc_json_out w = {.buf = &line};

    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "id", id);
    hpc_json_put_text(&w, "cluster", t->name);
    hpc_json_open(&w, "group", '{');
    hpc_json_put_text(&w, "model", t->model);
    hpc_json_put_text(&w, "type", t->type);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "number", '{');
    put_scores(&w, v, n, strcmp(t->model, "serial") == 0 ? 1 : resources);
    hpc_json_close(&w, '}');
    hpc_json_put_int(&w, "resources", resources);
    hpc_json_open(&w, "candidates", '[');
    for (int64_t k = 0; k < n; k++) put_candidate(&w, text[k], &v[k]);
    hpc_json_close(&w, ']');
    hpc_json_close(&w, '}');
    int rc = line.failed ? HPC_E_NOMEM : hpc_eval_log_add(log, &line);
    hpc_buf_release(&line);
    return rc;
}

/* Equal candidates are judged once. */
static int judge_all(hpc_eval_log *log, judging *j, const char *id, const hpc_pareval_task *t,
                     const char *const *text, int64_t n)
{
    hpc_pareval_verdict *v = hpc_alloc((size_t)n + 1, sizeof(*v));
    int rc = v ? HPC_OK : HPC_E_NOMEM;

    for (int64_t k = 0; k < n && rc >= 0; k++) {
        int64_t same = 0;
        while (same < k && strcmp(text[same], text[k]) != 0) same++;
        if (same < k)
            v[k] = v[same];
        else
            TRY(hpc_pareval_judge(&v[k], &j->runner, t, text[k]));
        if (eval_stopped(j->o->stop)) goto out; /* the task is judged again by the next run */
    }
    if (rc >= 0) TRY(put_sample(log, id, t, text, v, n, j->o->resources));
out:
    hpc_free(v);
    return rc;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static int ask(hpc_eval_log *log, judging *j, const char *id, const hpc_pareval_task *t)
{
    int64_t n = j->o->samples;
    hpc_eval_answer *answer = hpc_alloc((size_t)n, sizeof(*answer));
    const char **text = hpc_alloc((size_t)n, sizeof(*text));
    const hpc_eval_question q = {.path = "generated.cpp",
                                 .prefix = t->prompt,
                                 .prefix_n = strlen(t->prompt),
                                 .suffix = "",
                                 .stop = HPC_STOP_FUNCTION,
                                 .temperature = j->o->temperature,
                                 .top_p = j->o->top_p,
                                 .seed = hpc_hash(id, strlen(id), j->o->seed),
                                 .samples = n,
                                 .stopped = j->o->stop};
    int rc = answer && text ? HPC_OK : HPC_E_NOMEM;

    if (rc < 0) goto out;
    TRY(hpc_eval_ask(answer, j->asker, &q));
    if (eval_stopped(j->o->stop)) goto out;
    for (int64_t k = 0; k < n; k++) text[k] = answer[k].text.n > 0 ? answer[k].text.data : "";
    TRY(judge_all(log, j, id, t, text, n));
out:
    for (int64_t k = 0; answer && k < n; k++) hpc_buf_release(&answer[k].text);
    hpc_free(answer);
    hpc_free(text);
    return rc;
}

/* Outputs are texts, or objects with "generated_output" as in results of ParEval. */
static int take_given(hpc_eval_log *log, judging *j, const char *id, const hpc_pareval_task *t,
                      const hpc_json *entry)
{
    const hpc_json *list = hpc_json_get(entry, "outputs");
    int64_t n = hpc_json_n(list);
    const char **text = hpc_alloc((size_t)n + 1, sizeof(*text));
    int rc = text ? HPC_OK : HPC_E_NOMEM;

    for (int64_t k = 0; k < n && rc >= 0; k++) {
        const hpc_json *v = hpc_json_at(list, k);
        if (hpc_json_kind_of(v) == HPC_JSON_OBJECT) v = hpc_json_get(v, "generated_output");
        TRY(hpc_json_text(&text[k], v, "generated output"));
    }
    if (n > 0 && rc >= 0) TRY(judge_all(log, j, id, t, text, n));
out:
    hpc_free(text);
    return rc;
}

static int read_given(judging *j, int64_t *unmatched)
{
    int rc;

    TRY(hpc_json_read(&j->given, j->o->samples_in));
    j->task = hpc_alloc((size_t)j->tasks.n, sizeof(*j->task));
    if (!j->task) TRY(HPC_E_NOMEM);
    for (int64_t k = 0; k < hpc_json_n(j->given); k++) {
        const hpc_json *entry = hpc_json_at(j->given, k);
        const char *prompt, *model;
        TRY(hpc_json_text(&prompt, hpc_json_get(entry, "prompt"), "prompt"));
        TRY(hpc_json_text(&model, hpc_json_get(entry, "parallelism_model"), "parallelism_model"));
        int64_t at = hpc_pareval_match(&j->tasks, prompt, model);
        if (at >= 0 && !j->task[at])
            j->task[at] = entry;
        else
            (*unmatched)++;
    }
out:
    return rc;
}

/* ---- the suite ------------------------------------------------------------------------------- */

static int copy_folder(const char *from, const char *to)
{
    const char *argv[] = {"cp", "-rL", "--no-preserve=mode,ownership", "--", from, to, NULL};
    hpc_proc_options o = HPC_PROC_DEFAULTS;
    hpc_proc_result r = {0};
    int rc;

    o.argv = argv;
    TRY(hpc_proc_run(&r, &o));
    if (r.status != 0)
        TRY(hpc_fail(HPC_E_IO, "cannot copy %s: %.*s", from,
                     r.err.n > 0 ? (int)strcspn(r.err.data, "\n") : 0, r.err.n ? r.err.data : ""));
out:
    hpc_proc_release(&r);
    return rc;
}

/* Headers and libraries of a Kokkos that was installed where ParEval's README has it. */
static int copy_kokkos(const judging *j)
{
    static const char *const part[] = {"include", "lib", "lib64"};
    char from[512], to[600];
    int rc = HPC_OK, libraries = 0;

    snprintf(from, sizeof from, "%s/tpl/kokkos/build/include/Kokkos_Core.hpp", j->o->checkout);
    if (!hpc_file_exists(from))
        return hpc_fail(HPC_E_UNSUPPORTED,
                        "kokkos prompts need %s: install Kokkos there, as ParEval's README has it",
                        from);
    snprintf(to, sizeof to, "%s/kokkos", j->drivers);
    TRY(hpc_eval_box_mkdir(to));
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        snprintf(from, sizeof from, "%s/tpl/kokkos/build/%s", j->o->checkout, part[k]);
        if (!hpc_file_exists(from)) continue;
        TRY(copy_folder(from, to));
        libraries += k > 0;
    }
    if (libraries == 0)
        TRY(hpc_fail(HPC_E_UNSUPPORTED, "Kokkos in %s/tpl/kokkos/build has no lib or lib64",
                     j->o->checkout));
out:
    return rc;
}

/* Drivers are copied to where the user of the sandbox can read them. */
static int copy_drivers(judging *j)
{
    char from[512];
    int rc;

    snprintf(from, sizeof from, "%s/drivers/cpp", j->o->checkout);
    snprintf(j->drivers, sizeof j->drivers, "%s/drivers", hpc_eval_box_folder(j->box));
    TRY(copy_folder(from, j->drivers));
    for (int64_t k = 0; k < j->tasks.n; k++)
        if (strcmp(j->tasks.item[k].model, "kokkos") == 0) return copy_kokkos(j);
out:
    return rc;
}

static int prepare(judging *j, int64_t *unmatched)
{
    const hpc_eval_pareval_options *o = j->o;
    int rc;

    TRY(hpc_pareval_read(&j->tasks, o->checkout, o->models, o->shrink));
    if (o->samples_in) TRY(read_given(j, unmatched));
    TRY(hpc_eval_box_open(&j->box, o->tmp, o->is_unsafe));
    TRY(copy_drivers(j));
    j->runner = (hpc_pareval_runner){.box = j->box,
                                     .drivers = j->drivers,
                                     .resources = o->resources,
                                     .build_seconds = o->build_seconds,
                                     .run_seconds = o->run_seconds,
                                     .stop = o->stop};
    if (!o->samples_in) TRY(hpc_eval_asker_open(&j->asker, &o->asker));
out:
    return rc;
}

/* True for `limit` of the problems that have candidates, chosen by the seed. */
static bool is_chosen(const judging *j, int64_t k)
{
    const char *name = j->tasks.item[k].name;
    uint64_t own = hpc_hash(name, strlen(name), j->o->seed);
    hpc_map *lower = NULL;
    bool chosen = true;

    if (j->task && !j->task[k]) return false;
    if (j->o->limit < 1) return true;
    lower = hpc_map_create();
    for (int64_t i = 0; i < j->tasks.n && lower; i++) {
        const char *other = j->tasks.item[i].name;
        if (j->task && !j->task[i]) continue;
        if (hpc_hash(other, strlen(other), j->o->seed) < own)
            (void)hpc_map_put(lower, other, strlen(other), 1);
    }
    chosen = lower && hpc_map_n(lower) < j->o->limit;
    hpc_map_free(lower);
    return chosen;
}

static int judge_task(hpc_eval_log *log, judging *j, int64_t k)
{
    const hpc_pareval_task *t = &j->tasks.item[k];
    char id[256];

    snprintf(id, sizeof id, "%s %s", t->name, t->model);
    if (!is_chosen(j, k) || hpc_eval_log_has(log, id)) return HPC_OK;
    return j->task ? take_given(log, j, id, t, j->task[k]) : ask(log, j, id, t);
}

int hpc_eval_pareval(hpc_eval_log *log, int64_t *unmatched, const hpc_eval_pareval_options *o)
{
    judging j = {.o = o};
    int rc;

    *unmatched = 0;
    TRY(prepare(&j, unmatched));
    if (o->progress) hpc_progress_start(o->progress, "judging", "tasks", j.tasks.n);
    for (int64_t k = 0; k < j.tasks.n && !eval_stopped(o->stop); k++) {
        TRY(judge_task(log, &j, k));
        if (o->progress) hpc_progress_update(o->progress, k + 1, j.tasks.item[k].name);
    }
    if (o->progress) hpc_progress_clear(o->progress);
out:
    hpc_eval_asker_close(j.asker);
    hpc_eval_box_close(j.box);
    hpc_pareval_release(&j.tasks);
    hpc_json_free(j.given);
    hpc_free(j.task);
    return rc;
}

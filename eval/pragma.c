/*
 * Suite of directives: verdicts and clauses of the analysis on loops with known truth.
 */
#include "eval/pragma.h"

#include <stdio.h>
#include <string.h>

#include "eval/label.h"
#include "eval/priv.h"
#include "runtime/source/tree.h"

static const hpc_eval_metric metrics[] = {
    {.name = "found", .title = "found", .sum = "found", .decimals = 3},
    {.name = "wrong", .title = "wrong", .sum = "wrong", .decimals = 4, .lower_is_better = true},
    {.name = "clauses", .title = "clauses", .sum = "clauses", .decimals = 3},
    {.name = "refuted", .title = "refuted", .sum = "refuted", .decimals = 3},
};

const hpc_eval_suite hpc_eval_suite_pragma = {
    .name = "pragma",
    .title = "Directives for loops with known truth",
    .unit = "loops",
    .metric = metrics,
    .metric_n = sizeof metrics / sizeof *metrics,
    .notes =
        "[low, high]: 95 % bootstrap interval over files. found: parallel loops (safe, or safe "
        "under assumptions) that get a directive. wrong: loops with a directive that their "
        "label forbids. clauses: directives with exactly the necessary data clauses. refuted: "
        "loops with a dependence that are reported as unsafe.",
};

static const char *const truths[] = {[HPC_TRUTH_SAFE] = "safe",
                                     [HPC_TRUTH_IF] = "if",
                                     [HPC_TRUTH_CARRIED] = "carried",
                                     [HPC_TRUTH_UNKNOWN] = "unknown"};

static void put_numbers(hpc_json_out *w, const hpc_eval_label *want, const hpc_pragma_loop *l)
{
    bool positive = l && l->verdict >= HPC_VERDICT_CONDITIONAL;
    bool wrong = l && hpc_eval_label_is_wrong(l, want);

    hpc_json_open(w, "number", '{');
    if (hpc_eval_label_counts(want)) {
        hpc_json_put_int(w, "found", positive);
        if (positive && !wrong && l->pragma)
            hpc_json_put_int(w, "clauses", hpc_eval_clauses_same(l->pragma, want->clauses));
    }
    hpc_json_put_int(w, "wrong", wrong);
    if (want->truth == HPC_TRUTH_CARRIED)
        hpc_json_put_int(w, "refuted", l && l->verdict == HPC_VERDICT_UNSAFE);
    hpc_json_close(w, '}');
}

static int put_sample(hpc_eval_log *log, const char *id, const hpc_eval_file *f,
                      const hpc_eval_label *want, const hpc_pragma_loop *l)
{
    hpc_buf line = {0};
    hpc_json_out w = {.buf = &line};

    hpc_json_open(&w, NULL, '{');
    hpc_json_put_text(&w, "id", id);
    hpc_json_put_text(&w, "cluster", f->path);
    hpc_json_open(&w, "group", '{');
    hpc_json_put_text(&w, "language", hpc_language_name(f->language));
    hpc_json_put_text(&w, "truth", truths[want->truth]);
    hpc_json_close(&w, '}');
    put_numbers(&w, want, l);
    hpc_json_put_int(&w, "line", want->line);
    hpc_json_put_text(&w, "label", want->text);
    hpc_json_put_text(&w, "verdict", l ? hpc_verdict_name(l->verdict) : NULL);
    hpc_json_put_text(&w, "pragma", l ? l->pragma : NULL);
    hpc_json_close(&w, '}');
    int rc = line.failed ? HPC_E_NOMEM : hpc_eval_log_add(log, &line);
    hpc_buf_release(&line);
    return rc;
}

static int put_loops(hpc_eval_log *log, const hpc_eval_file *f, const hpc_eval_labels *labels,
                     const hpc_pragma_loops *loops)
{
    hpc_buf id = {0};
    int rc = HPC_OK;

    for (int64_t k = 0; k < labels->n; k++) {
        const hpc_eval_label *want = &labels->item[k];
        const hpc_pragma_loop *l = NULL;
        for (int64_t i = 0; i < loops->n && !l; i++)
            if (loops->item[i].line == want->line) l = &loops->item[i];
        id.n = 0;
        TRY(hpc_buf_printf(&id, "%s:%u %s", f->path, want->line, want->name_of_loop));
        if (!hpc_eval_log_has(log, id.data)) TRY(put_sample(log, id.data, f, want, l));
    }
out:
    hpc_buf_release(&id);
    return rc;
}

static int judge_file(hpc_eval_log *log, const hpc_eval_pragma_options *o, const hpc_eval_file *f,
                      int64_t *labelled)
{
    static const hpc_pragma_options options = HPC_PRAGMA_DEFAULTS;
    const hpc_tree_file file = {.path = f->path,
                                .text = f->text.data,
                                .n = f->text.n,
                                .language = f->language,
                                .flags = o->flags};
    hpc_eval_labels labels = {0};
    hpc_tree_source *source = NULL;
    hpc_tree tree = {0};
    hpc_pragma_loops loops = {0};
    int rc;

    TRY(hpc_eval_labels_read(&labels, f->text.data, f->path));
    *labelled += labels.n;
    if (labels.n == 0) goto out;
    TRY(hpc_tree_open(&source, o->checker, &file));
    TRY(hpc_tree_get(&tree, source));
    TRY(hpc_pragma_find(&loops, &tree, f->text.data, f->text.n, f->language, &options));
    TRY(put_loops(log, f, &labels, &loops));
out:
    hpc_pragma_loops_release(&loops);
    hpc_tree_release(&tree);
    hpc_tree_close(source);
    hpc_free(labels.item);
    return rc;
}

int hpc_eval_pragma(hpc_eval_log *log, const hpc_eval_pragma_options *o)
{
    hpc_eval_files files = {0};
    int64_t labelled = 0;
    int rc;

    TRY(hpc_eval_files_read(&files, &o->files));
    if (o->progress) hpc_progress_start(o->progress, "analysing", "files", files.n);
    for (int64_t k = 0; k < files.n && !eval_stopped(o->stop); k++) {
        if (hpc_check_knows(files.item[k].language))
            TRY(judge_file(log, o, &files.item[k], &labelled));
        if (o->progress) hpc_progress_update(o->progress, k + 1, NULL);
    }
    if (o->progress) hpc_progress_clear(o->progress);
    if (labelled == 0 && !eval_stopped(o->stop))
        rc = hpc_fail(HPC_E_ARG, "these files have no labels '// loop NAME: VERDICT'");
out:
    hpc_eval_files_release(&files);
    return rc;
}

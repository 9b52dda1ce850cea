/*
 * Output of `hpccoder perf train`: the training data and the accuracy, as text and JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/perf_train.h"
#include "cmd/terminal.h"

/* ---- examples ------------------------------------------------------------------------------- */

static void put_row(hpc_json_out *w, const hpc_perf_gather_row *r)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "file", r->path);
    hpc_json_put_text(w, "repository", r->repository);
    for (int v = 0; v < HPC_PERF_UNKNOWN; v++)
        hpc_json_put_int(w, hpc_perf_verdict_name((hpc_perf_verdict)v), r->label[v]);
    hpc_json_put_int(w, "nothing_differs", r->nothing);
    hpc_json_put_int(w, "undecided", r->undecided);
    hpc_json_put_int(w, "lacking", r->lacking);
    hpc_json_put_int(w, "there_before", r->again);
    hpc_json_close(w, '}');
}

static void say_row(hpc_table *t, const hpc_perf_gather_row *r)
{
    const int64_t number[] = {r->label[HPC_PERF_SLOWER],
                              r->label[HPC_PERF_SAME],
                              r->label[HPC_PERF_FASTER],
                              r->nothing,
                              r->undecided,
                              r->lacking};
    hpc_table_cell(t, "%s", r->repository[0] ? r->repository : r->path);
    for (size_t k = 0; k < sizeof number / sizeof *number; k++)
        hpc_table_cell(t, "%lld", (long long)number[k]);
}

void train_print_set(hpc_buf *out, hpc_json_out *json, const hpc_perf_gathered *s)
{
    static const hpc_column columns[] = {{.title = "examples of", .fit = HPC_FIT_CUT, .least = 12},
                                         HPC_COLUMN_NUMBER("slower"),
                                         HPC_COLUMN_NUMBER("same"),
                                         HPC_COLUMN_NUMBER("faster"),
                                         HPC_COLUMN_NUMBER("no code*"),
                                         HPC_COLUMN_NUMBER("undecided"),
                                         HPC_COLUMN_NUMBER("lacking")};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    hpc_perf_gather_row all = {.repository = "all"};
    hpc_buf notes = {0};
    if (json) hpc_json_open(json, "sources", '[');
    for (int64_t k = 0; k < s->rows; k++) {
        const hpc_perf_gather_row *r = &s->row[k];
        for (int v = 0; v < HPC_PERF_UNKNOWN; v++) all.label[v] += r->label[v];
        all.nothing += r->nothing;
        all.undecided += r->undecided;
        all.lacking += r->lacking;
        if (json)
            put_row(json, r);
        else
            say_row(&t, r);
    }
    if (json) {
        hpc_json_close(json, ']');
        hpc_json_put_int(json, "examples", s->all.n);
        hpc_json_put_int(json, "commits", s->learnt_n);
        return;
    }
    if (s->rows > 1) say_row(&t, &all);
    hpc_table_print(out, &t, hpc_cmd_table_columns());
    hpc_buf_printf(&notes,
                   "* commits without a change of code: labelled the same, not used for training\n"
                   "%lld commits used for training, each with one metric\n",
                   (long long)s->learnt_n);
    hpc_text_fill_take(out, &notes, 2, hpc_cmd_table_columns());
}

/* ---- figures -------------------------------------------------------------------------------- */

static void put_interval(hpc_json_out *w, const char *key, hpc_perf_interval i)
{
    hpc_json_open(w, key, '{');
    hpc_json_put_real(w, "value", i.value);
    hpc_json_put_real(w, "low", i.low);
    hpc_json_put_real(w, "high", i.high);
    hpc_json_close(w, '}');
}

static bool is_told(hpc_perf_method r, int figure)
{
    return r == HPC_PERF_LEARNER || figure < HPC_PERF_COVERAGE;
}

static void put_judgement(hpc_json_out *w, const hpc_perf_judgement *j)
{
    for (int v = 0; v < HPC_PERF_UNKNOWN; v++)
        hpc_json_put_int(w, hpc_perf_verdict_name((hpc_perf_verdict)v), j->n[v]);
    hpc_json_put_int(w, "repositories", j->groups);
    hpc_json_put_int(w, "left_out", j->left_out);
    for (int r = 0; r < HPC_PERF_METHODS; r++) {
        if (!j->has[r]) continue;
        hpc_json_open(w, hpc_perf_method_name((hpc_perf_method)r), '{');
        for (int f = 0; f < HPC_PERF_FIGURES; f++)
            if (is_told((hpc_perf_method)r, f))
                put_interval(w, hpc_perf_figure_name((hpc_perf_figure)f), j->figure[r][f]);
        if (r != HPC_PERF_LEARNER) {
            hpc_json_open(w, "learner ahead by", '{');
            for (int f = 0; f < HPC_PERF_COVERAGE; f++)
                put_interval(w, hpc_perf_figure_name((hpc_perf_figure)f), j->ahead[r][f]);
            hpc_json_close(w, '}');
        }
        hpc_json_close(w, '}');
    }
}

static void say_interval(hpc_table *t, hpc_perf_interval i)
{
    if (isnan(i.value))
        hpc_table_cell(t, "-");
    else if (isnan(i.low))
        hpc_table_cell(t, "%.3f [    -,     -]", i.value);
    else
        hpc_table_cell(t, "%.3f [%6.3f,%6.3f]", i.value, i.low, i.high);
}

static void say_rivals(hpc_buf *out, const hpc_perf_judgement *j)
{
    hpc_column column[1 + HPC_PERF_METHODS] = {HPC_COLUMN_TEXT("")};
    hpc_table t = {.column = column, .columns = 1};
    for (int r = 0; r < HPC_PERF_METHODS; r++)
        if (j->has[r])
            column[t.columns++] =
                (hpc_column)HPC_COLUMN_NUMBER(hpc_perf_method_name((hpc_perf_method)r));
    for (int f = 0; f < HPC_PERF_FIGURES; f++) {
        hpc_table_cell(&t, "%s", hpc_perf_figure_name((hpc_perf_figure)f));
        for (int r = 0; r < HPC_PERF_METHODS; r++)
            if (j->has[r] && is_told((hpc_perf_method)r, f)) say_interval(&t, j->figure[r][f]);
        hpc_table_end_row(&t);
    }
    hpc_table_cell(&t, "the learner's lead");
    hpc_table_end_row(&t);
    for (int f = 0; f < HPC_PERF_COVERAGE; f++) {
        hpc_table_cell(&t, "  %s", hpc_perf_figure_name((hpc_perf_figure)f));
        if (j->has[HPC_PERF_LEARNER]) hpc_table_cell(&t, "%s", "");
        for (int r = HPC_PERF_LEARNER + 1; r < HPC_PERF_METHODS; r++)
            if (j->has[r]) say_interval(&t, j->ahead[r][f]);
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

void train_print_judgement(hpc_buf *out, hpc_json_out *json, const hpc_perf_judgement *j,
                           hpc_perf_split split)
{
    static const char *const keys[] = {[HPC_PERF_BY_GROUP] = "by_repository",
                                       [HPC_PERF_BY_TIME] = "by_time",
                                       [HPC_PERF_APART] = "apart"};
    static const char *const words[] = {
        [HPC_PERF_BY_GROUP] = "leaving out each repository in turn",
        [HPC_PERF_BY_TIME] = "leaving out the last part of each repository's history",
        [HPC_PERF_APART] = "commits not used for training"};
    hpc_buf head = {0};
    if (json) {
        hpc_json_open(json, keys[split], '{');
        put_judgement(json, j);
        hpc_json_close(json, '}');
        return;
    }
    hpc_buf_printf(&head,
                   "\n%s: %lld slower, %lld the same, %lld faster, of %lld repositor%s "
                   "(95 %% intervals over commits)\n",
                   words[split], (long long)j->n[HPC_PERF_SLOWER], (long long)j->n[HPC_PERF_SAME],
                   (long long)j->n[HPC_PERF_FASTER], (long long)j->groups,
                   j->groups == 1 ? "y" : "ies");
    if (j->left_out > 0)
        hpc_buf_printf(
            &head,
            "%lld repositor%s could not be judged: the remaining training data is too small\n",
            (long long)j->left_out, j->left_out == 1 ? "y" : "ies");
    hpc_text_fill_take(out, &head, 2, hpc_cmd_table_columns());
    say_rivals(out, j);
}

/*
 * corpus_stats.c: `hpccoder corpus stats`: the composition of a corpus, as tables, JSON or a
 * picture.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "corpus/corpus.h"
#include "runtime/plot/plot.h"

enum { PLOT_ROWS = 25 }; /* of a key; the remaining values share one row */

typedef struct stats_options {
    bool json;
    int64_t rows;
    const char *plot;
} stats_options;

static const hpc_option options[] = {
    HPC_CMD_JSON(stats_options),
    {.name = "plot",
     .kind = HPC_TEXT,
     .offset = offsetof(stats_options, plot),
     .argument = "FILE",
     .help = "Also draw the counts to a .png, .svg or .html file (needs gnuplot)."},
    {.name = "rows",
     .kind = HPC_INT,
     .offset = offsetof(stats_options, rows),
     .fallback = "40",
     .argument = "N",
     .most = 1e9,
     .help = "Maximum number of rows per table; 0: totals only."},
    {0}};

/* ---- tables -------------------------------------------------------------------- */

/* 1234567 as "1,234,567". */
static const char *grouped(char out[32], int64_t v)
{
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%lld", (long long)v), k = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) out[k++] = ',';
        out[k++] = digits[i];
    }
    out[k] = '\0';
    return out;
}

static void print_row(hpc_table *t, const hpc_stats_row *row)
{
    char text[32];
    const int64_t number[] = {row->files, row->bytes, row->lines, row->tokens};
    hpc_table_cell(t, "%s", row->name);
    for (int k = 0; k < 4; k++) hpc_table_cell(t, "%s", grouped(text, number[k]));
}

/* The titles stand in the table, once for each property, so that all columns are aligned. */
static void print_head(hpc_table *t, const char *name)
{
    static const char *const titles[] = {"files", "bytes", "lines", "tokens"};
    hpc_table_cell(t, "%s", name);
    for (int k = 0; k < 4; k++) hpc_table_cell(t, "%s", titles[k]);
}

static void print_tables(hpc_buf *out, const hpc_stats *s, const stats_options *o)
{
    static const hpc_column columns[] = {{.fit = HPC_FIT_CUT, .least = 16},
                                         {.right = true},
                                         {.right = true},
                                         {.right = true},
                                         {.right = true}};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    print_head(&t, "");
    print_row(&t, &s->total);
    print_row(&t, &s->kept);
    for (int k = 0; k < HPC_STATS_N && o->rows > 0; k++) {
        hpc_table_cell(&t, "%s", "");
        hpc_table_end_row(&t);
        print_head(&t, hpc_stats_key_name(k));
        for (int64_t i = 0; i < s->rows_n[k] && i < o->rows; i++) print_row(&t, &s->row[k][i]);
        if (s->rows_n[k] <= o->rows) continue;
        hpc_table_cell(&t, "(%lld more: --rows)", (long long)(s->rows_n[k] - o->rows));
        hpc_table_end_row(&t);
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

/* ---- JSON ------------------------------------------------------------------------ */

static void put_row(hpc_json_out *w, const char *key, const hpc_stats_row *row)
{
    hpc_json_open(w, key, '{');
    if (!key) hpc_json_put_text(w, "name", row->name);
    hpc_json_put_int(w, "files", row->files);
    hpc_json_put_int(w, "bytes", row->bytes);
    hpc_json_put_int(w, "lines", row->lines);
    hpc_json_put_int(w, "tokens", row->tokens);
    hpc_json_close(w, '}');
}

static void print_json(hpc_buf *out, const hpc_stats *s)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    put_row(&w, "all", &s->total);
    put_row(&w, "kept", &s->kept);
    for (int k = 0; k < HPC_STATS_N; k++) {
        hpc_json_open(&w, hpc_stats_key_name(k), '[');
        for (int64_t i = 0; i < s->rows_n[k]; i++) put_row(&w, NULL, &s->row[k][i]);
        hpc_json_close(&w, ']');
    }
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

/* ---- picture ----------------------------------------------------------------------- */

typedef struct drawing {
    const char *label[HPC_STATS_N][PLOT_ROWS + 1];
    double value[HPC_STATS_N][PLOT_ROWS + 1];
    hpc_plot_series series[HPC_STATS_N];
    hpc_plot plot[HPC_STATS_N];
} drawing;

static void prepare(drawing *d, const hpc_stats *s, hpc_stats_key k)
{
    static const char *const title[HPC_STATS_N] = {
        [HPC_STATS_LANGUAGE] = "Kept, by language",
        [HPC_STATS_PARALLEL] = "Kept, by parallel model (a file may use several)",
        [HPC_STATS_LICENCE] = "Kept, by licence",
        [HPC_STATS_REPOSITORY] = "Kept, by repository",
        [HPC_STATS_REASON] = "All files, by result",
        [HPC_STATS_SPLIT] = "Kept, by split"};
    int64_t n = 0, rest = 0;
    for (int64_t i = 0; i < s->rows_n[k]; i++) {
        if (i >= PLOT_ROWS) {
            rest += s->row[k][i].bytes;
            continue;
        }
        d->label[k][n] = s->row[k][i].name;
        d->value[k][n++] = (double)s->row[k][i].bytes;
    }
    if (rest) {
        d->label[k][n] = "others";
        d->value[k][n++] = (double)rest;
    }
    d->series[k] = (hpc_plot_series){.y = d->value[k], .n = n};
    d->plot[k] = (hpc_plot){.kind = HPC_PLOT_BARS,
                            .title = title[k],
                            .x_label = "bytes",
                            .y_label = hpc_stats_key_name(k),
                            .label = d->label[k],
                            .series = &d->series[k],
                            .series_n = 1,
                            .log_x = k == HPC_STATS_REASON};
}

static int draw(const hpc_stats *s, const char *folder, const char *path)
{
    char title[256];
    int64_t n = 0;
    drawing *d = hpc_alloc(1, sizeof *d);
    if (!d) return HPC_E_NOMEM;
    for (int k = 0; k < HPC_STATS_N; k++) {
        prepare(d, s, k);
        if (d->series[k].n > 0) d->plot[n++] = d->plot[k];
    }
    snprintf(title, sizeof title, "%.120s: %.1f MB in %lld files kept, of %.1f MB in %lld", folder,
             (double)s->kept.bytes / 1e6, (long long)s->kept.files, (double)s->total.bytes / 1e6,
             (long long)s->total.files);
    hpc_figure f = {.title = title, .plot = d->plot, .n = n};
    int rc = n == 0 ? hpc_fail(HPC_E_ARG, "%s has no files; there is nothing to draw", folder)
                    : hpc_plot_save(path, &f);
    hpc_free(d);
    return rc;
}

static int run(void *opaque, int argc, char **argv)
{
    const stats_options *o = opaque;
    hpc_stats s = {0};
    hpc_buf out = {0};
    int rc = 0;
    if (argc != 1) return hpc_fail(HPC_E_ARG, "name one corpus: hpccoder corpus stats CORPUS");
    TRY(hpc_corpus_stats(&s, argv[0]));
    if (o->plot) TRY(draw(&s, argv[0], o->plot));
    if (o->json)
        print_json(&out, &s);
    else
        print_tables(&out, &s, o);
    rc = hpc_cmd_print(&out);
out:
    hpc_buf_release(&out);
    hpc_stats_release(&s);
    return rc < 0 ? rc : EXIT_DONE;
}

const hpc_command hpc_cmd_corpus_stats = {
    .name = "corpus stats",
    .summary = "Count the files of a corpus by language, licence and other properties.",
    .arguments = "CORPUS",
    .description = "Counts files, bytes, lines and tokens (of the lexer) of a harvested corpus. "
                   "Kept files are counted by language, parallel programming model, licence, "
                   "repository and split. Dropped files are counted by reason.",
    .examples = "hpccoder corpus stats corpus  # tables\n"
                "hpccoder corpus stats corpus --plot corpus.png  # tables and a plot",
    .options = options,
    .options_bytes = sizeof(stats_options),
    .run = run};

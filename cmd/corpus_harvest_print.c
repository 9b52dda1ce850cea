/*
 * corpus_harvest_print.c: the results of `corpus harvest` as JSON and as text.
 */
#include "cmd/cmd.h"
#include "cmd/corpus_print.h"
#include "cmd/terminal.h"

static void put_counts(hpc_json_out *w, const char *key, int64_t files, int64_t bytes)
{
    hpc_json_open(w, key, '{');
    hpc_json_put_int(w, "files", files);
    hpc_json_put_int(w, "bytes", bytes);
    hpc_json_close(w, '}');
}

void hpc_cmd_harvest_json(hpc_buf *out, const hpc_harvest_result *r, const harvest_spent *s)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_bool(&w, "complete", r->complete);
    hpc_json_put_int(&w, "repositories", r->repositories_n);
    hpc_json_put_int(&w, "failed", r->failed_n);
    put_counts(&w, "read", r->read_n, r->read_bytes);
    put_counts(&w, "all", r->files_n, r->bytes);
    hpc_json_open(&w, "kept", '{');
    hpc_json_put_int(&w, "files", r->kept_n);
    hpc_json_put_int(&w, "bytes", r->kept_bytes);
    hpc_json_put_int(&w, "tokens", r->kept_tokens);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "reasons", '{');
    for (int k = 0; k < HPC_REASON_N; k++)
        put_counts(&w, hpc_reason_name((hpc_reason)k), r->reason_n[k], r->reason_bytes[k]);
    hpc_json_close(&w, '}');
    hpc_json_open(&w, "splits", '{');
    for (int k = 0; k < HPC_SPLIT_N; k++)
        put_counts(&w, hpc_split_name((hpc_split)k), r->split_n[k], r->split_bytes[k]);
    hpc_json_close(&w, '}');
    hpc_json_put_real(&w, "seconds", s->seconds);
    hpc_json_put_int(&w, "peak_bytes", s->peak_bytes);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void put_row(hpc_table *t, const char *name, int64_t files, int64_t bytes)
{
    char text[32];
    hpc_table_cell(t, "%s", name);
    hpc_table_cell(t, "%lld", (long long)files);
    hpc_table_cell(t, "%s", hpc_cmd_bytes(text, (double)bytes));
}

static void put_table(hpc_buf *out, const hpc_harvest_result *r)
{
    static const hpc_column columns[] = {HPC_COLUMN_TEXT(""), HPC_COLUMN_NUMBER("files"),
                                         HPC_COLUMN_NUMBER("bytes")};
    hpc_table t = {.column = columns, .columns = 3, .indent = 2};
    put_row(&t, "all", r->files_n, r->bytes);
    for (int k = 0; k < HPC_REASON_N; k++)
        if (r->reason_n[k] > 0 || k == HPC_REASON_KEPT)
            put_row(&t, hpc_reason_name((hpc_reason)k), r->reason_n[k], r->reason_bytes[k]);
    for (int c = 0; c < 3; c++) hpc_table_cell(&t, "%s", "");
    for (int k = 0; k < HPC_SPLIT_N; k++)
        put_row(&t, hpc_split_name((hpc_split)k), r->split_n[k], r->split_bytes[k]);
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

void hpc_cmd_harvest_text(hpc_buf *out, const hpc_harvest_result *r, const harvest_spent *s)
{
    char read[32], peak[32];
    hpc_buf line = {0};
    double rate = s->seconds > 0 ? (double)r->read_bytes / s->seconds : 0;
    hpc_buf_printf(&line,
                   "%lld repositor%s, %lld failed; read %lld file%s, %s in %.1f s (%.0f MB/s)\n",
                   (long long)r->repositories_n, r->repositories_n == 1 ? "y" : "ies",
                   (long long)r->failed_n, (long long)r->read_n, r->read_n == 1 ? "" : "s",
                   hpc_cmd_bytes(read, (double)r->read_bytes), s->seconds, rate * 1e-6);
    hpc_text_fill_take(out, &line, 2, hpc_cmd_table_columns());
    if (!r->complete) return;
    hpc_buf_text(out, "\n");
    put_table(out, r);
    hpc_buf_printf(out, "\n%lld tokens kept, as the lexer counts them\npeak memory %s\n",
                   (long long)r->kept_tokens, hpc_cmd_bytes(peak, (double)s->peak_bytes));
}

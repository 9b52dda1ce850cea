/*
 * corpus_pack_print.c: the results of `corpus pack` as JSON and as text.
 */
#include "cmd/cmd.h"
#include "cmd/corpus_print.h"
#include "cmd/terminal.h"

static int64_t left_out(const hpc_pack_result *r)
{
    int64_t n = r->broad_n;
    for (int k = 0; k < HPC_REASON_N; k++) n += r->held_out_n[k];
    return n;
}

static void put_pairs_json(hpc_json_out *w, const hpc_pack_result *r)
{
    hpc_json_open(w, "pairs", '{');
    hpc_json_put_int(w, "all", r->pairs_n);
    hpc_json_put_int(w, "left_out", left_out(r));
    hpc_json_put_int(w, "too_broad", r->broad_n);
    for (int k = 0; k < HPC_REASON_N; k++)
        if (r->held_out_n[k] > 0)
            hpc_json_put_int(w, hpc_reason_name((hpc_reason)k), r->held_out_n[k]);
    hpc_json_close(w, '}');
}

static void put_pairs(hpc_buf *out, const pack_part *p)
{
    const hpc_pack_result *r = &p->result;
    hpc_buf line = {0};
    hpc_buf_printf(&line, "%s: %lld commits with their parents, %lld left out",
                   hpc_split_name(p->split), (long long)r->pairs_n, (long long)left_out(r));
    if (r->broad_n > 0) hpc_buf_printf(&line, ", %lld too broad", (long long)r->broad_n);
    for (int k = 0; k < HPC_REASON_N; k++)
        if (r->held_out_n[k] > 0)
            hpc_buf_printf(&line, ", %lld %s", (long long)r->held_out_n[k],
                           hpc_reason_name((hpc_reason)k));
    hpc_text_fill_take(out, &line, 2, hpc_cmd_table_columns());
}

static void put_json(hpc_json_out *w, const pack_part *p, bool perf)
{
    hpc_json_open(w, NULL, '{');
    hpc_json_put_text(w, "split", hpc_split_name(p->split));
    hpc_json_put_bool(w, "complete", p->result.complete);
    hpc_json_put_int(w, "documents", p->result.documents_n);
    hpc_json_put_int(w, "tokens", p->result.tokens_n);
    hpc_json_put_int(w, "bytes", p->result.bytes);
    hpc_json_put_int(w, "shards", p->result.shards_n);
    hpc_json_put_int(w, "fim", p->result.fim_n);
    if (perf) put_pairs_json(w, &p->result);
    hpc_json_put_real(w, "seconds", p->seconds);
    hpc_json_close(w, '}');
}

void hpc_cmd_pack_json(hpc_buf *out, const pack_part *p, int n, bool perf)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '[');
    for (int k = 0; k < n; k++) put_json(&w, &p[k], perf);
    hpc_json_close(&w, ']');
    hpc_buf_text(out, "\n");
}

void hpc_cmd_pack_text(hpc_buf *out, const pack_part *p, int n, bool perf)
{
    static const hpc_column columns[] = {
        HPC_COLUMN_TEXT("split"),   HPC_COLUMN_NUMBER("documents"), HPC_COLUMN_NUMBER("tokens"),
        HPC_COLUMN_NUMBER("bytes"), HPC_COLUMN_NUMBER("shards"),    HPC_COLUMN_TEXT("")};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    char size[32];
    for (int k = 0; k < n; k++) {
        const hpc_pack_result *r = &p[k].result;
        hpc_table_cell(&t, "%s", hpc_split_name(p[k].split));
        hpc_table_cell(&t, "%lld", (long long)r->documents_n);
        hpc_table_cell(&t, "%lld", (long long)r->tokens_n);
        hpc_table_cell(&t, "%s", hpc_cmd_bytes(size, (double)r->bytes));
        hpc_table_cell(&t, "%lld", (long long)r->shards_n);
        hpc_table_cell(&t, "%s", r->complete ? "" : "not finished");
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
    for (int k = 0; k < n && perf; k++) put_pairs(out, &p[k]);
}

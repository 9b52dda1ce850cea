/*
 * eval_graph.c: the command `eval graph`.
 */
#include "cmd/cmd.h"
#include "cmd/compiler.h"
#include "cmd/terminal.h"
#include "eval/code.h"

typedef struct graph_options {
    int64_t width, layers, labels, epochs, seed, threads;
    double rate;
    bool quiet;
} graph_options;

static void put_value(hpc_table *t, const hpc_eval_code_value *v)
{
    hpc_table_cell(t, "%.3f", v->value);
    hpc_table_cell(t, "%.3f to %.3f", v->low, v->high);
}

static int print(const hpc_eval_code_result *r)
{
    static const hpc_column columns[] = {
        HPC_COLUMN_TEXT("method"), HPC_COLUMN_NUMBER("area"), HPC_COLUMN_NUMBER("95 %"),
        HPC_COLUMN_NUMBER("minus score"), HPC_COLUMN_NUMBER("95 %")};
    hpc_buf out = {0};
    hpc_table t = {.column = columns, .columns = sizeof columns / sizeof *columns};
    hpc_buf_printf(&out,
                   "%lld samples, %lld with label 1, in %lld groups with both labels; %lld graphs "
                   "were cut\n",
                   (long long)r->samples, (long long)r->marked, (long long)r->groups,
                   (long long)r->cut);
    if (r->trees > 0)
        hpc_buf_printf(&out, "%lld graphs are of the compiler's trees, the others of tokens\n",
                       (long long)r->trees);
    hpc_buf_printf(&out, "trained on %lld samples, loss %.3f nats\n\n", (long long)r->trained,
                   r->loss);
    for (int m = 0; m < HPC_EVAL_CODE_METHODS; m++) {
        if (!r->has_score && m != HPC_EVAL_CODE_GRAPH) continue;
        hpc_table_cell(&t, "%s", hpc_eval_code_method_name((hpc_eval_code_method)m));
        put_value(&t, &r->auc[m]);
        if (r->has_score && m != HPC_EVAL_CODE_SCORE) put_value(&t, &r->ahead[m]);
        hpc_table_end_row(&t);
    }
    hpc_table_print(&out, &t, hpc_cmd_table_columns());
    return hpc_cmd_print(&out);
}

static int run(void *options, int argc, char **argv)
{
    const graph_options *o = options;
    const hpc_encoder_options defaults = HPC_ENCODER_DEFAULTS;
    hpc_encoder_options e = {.width = o->width,
                             .layers = o->layers,
                             .labels = o->labels,
                             .epochs = o->epochs,
                             .rate = o->rate,
                             .decay = defaults.decay,
                             .seed = (uint64_t)o->seed,
                             .threads = (int)o->threads};
    hpc_eval_code_result r;
    hpc_progress progress;
    int rc;
    if (argc != 1) return hpc_fail(HPC_E_ARG, "name one file of samples");
    hpc_cmd_progress(&progress, o->quiet);
    TRY(hpc_eval_code(&r, argv[0], &e, hpc_cmd_open_checker, &progress));
    TRY(print(&r));
out:
    return rc < 0 ? rc : EXIT_DONE;
}

#define INT(field, option, value, most_of, what)                                                   \
    {                                                                                              \
        .name = option, .kind = HPC_INT, .offset = offsetof(graph_options, field),                 \
        .fallback = value, .argument = "N", .least = 1, .most = most_of, .help = what              \
    }

static const hpc_option options[] = {
    INT(width, "width", "32", 1024, "Features per node."),
    INT(layers, "layers", "2", HPC_ENCODER_LAYERS, "Layers."),
    INT(labels, "labels", "2048", 1 << 20, "Size of the hashed table of labels."),
    INT(epochs, "epochs", "4", 1000, "Passes over the samples that a network is trained on."),
    {.name = "rate",
     .kind = HPC_REAL,
     .offset = offsetof(graph_options, rate),
     .fallback = "0.003",
     .argument = "R",
     .least = 0,
     .most = 1,
     .help = "Learning rate of AdamW, which falls to 0."},
    INT(seed, "seed", "1", 1000000000, "Seed of parameters, order and bootstrap."),
    HPC_CMD_THREADS(graph_options),
    HPC_CMD_QUIET(graph_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_eval_graph = {
    .name = "eval graph",
    .summary = "Compare a graph network over code with other scores.",
    .arguments = "FILE.jsonl",
    .description =
        "Trains a graph network on graphs of code, with typed edges for syntax, control, data and "
        "calls. Measures how well it separates samples with label 1 from those with label 0 of "
        "the same repository: alone, and together with another score. A network that was trained "
        "on other folds scores each sample. Intervals come from a bootstrap over repositories.\n"
        "\n"
        "FILE.jsonl has a JSON object per line: group (the repository), fold (from 0; -1: only for "
        "training), label, and code (a loop or function) or base and head (a function before and "
        "after a change). Optional are language (default c++; not fortran) and score, of which "
        "only the order counts. With file (a path) and line, the sample is the loop that begins "
        "there and its graph is of libclang's syntax tree, in which macros are expanded and "
        "variables have types; code is then used where libclang finds no loop. The weight of the "
        "network in the sum is chosen on the other repositories.",
    .examples = "hpccoder eval graph loops.jsonl  # loops that experts annotated or not",
    .options = options,
    .options_bytes = sizeof(graph_options),
    .run = run,
};

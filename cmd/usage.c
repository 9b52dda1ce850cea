/*
 * usage.c: the list of all commands, main jobs first, and suggestions for misspelled ones.
 */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"

/* In the order of the groups below. */
const hpc_command *const hpc_commands[] = {&hpc_cmd_complete,
                                           &hpc_cmd_pragma,
                                           &hpc_cmd_lsp,
                                           &hpc_cmd_serve,
                                           &hpc_cmd_mcp,
                                           &hpc_cmd_perf_predict,
                                           &hpc_cmd_corpus_harvest,
                                           &hpc_cmd_train,
                                           &hpc_cmd_import,
                                           &hpc_cmd_perf_collect,
                                           &hpc_cmd_perf_report,
                                           &hpc_cmd_perf_train,
                                           &hpc_cmd_corpus_check,
                                           &hpc_cmd_corpus_stats,
                                           &hpc_cmd_corpus_loops,
                                           &hpc_cmd_corpus_passages,
                                           &hpc_cmd_corpus_sketch,
                                           &hpc_cmd_tokenizer_train,
                                           &hpc_cmd_tokenizer_encode,
                                           &hpc_cmd_tokenizer_decode,
                                           &hpc_cmd_tokenizer_rename,
                                           &hpc_cmd_corpus_pack,
                                           &hpc_cmd_export,
                                           &hpc_cmd_report,
                                           &hpc_cmd_plan_show,
                                           &hpc_cmd_plan_check,
                                           &hpc_cmd_plan_simulate,
                                           &hpc_cmd_eval_complete,
                                           &hpc_cmd_eval_perplexity,
                                           &hpc_cmd_eval_pareval,
                                           &hpc_cmd_eval_pragma,
                                           &hpc_cmd_eval_perf,
                                           &hpc_cmd_eval_graph,
                                           &hpc_cmd_bench_op,
                                           &hpc_cmd_bench_step,
                                           &hpc_cmd_bench_decode,
                                           &hpc_cmd_bench_optimizer,
                                           &hpc_cmd_bench_link,
                                           &hpc_cmd_bench_graph,
                                           &hpc_cmd_info,
                                           NULL};

typedef struct group {
    const char *title;
    const hpc_command *first; /* its commands: from this one to the next group's */
} group;

static const group groups[] = {
    {"Main jobs, with an example each", &hpc_cmd_complete},
    {"Performance histories", &hpc_cmd_perf_collect},
    {"Corpora and tokenizers", &hpc_cmd_corpus_check},
    {"Models and training", &hpc_cmd_export},
    {"Evaluation of models", &hpc_cmd_eval_complete},
    {"Benchmarks and this build", &hpc_cmd_bench_op},
};
enum { GROUPS = sizeof groups / sizeof *groups, NAME = 80 };

/* One for each command of the first group. */
static const char *const examples[] = {
    "hpccoder complete solver.c --at 120",
    "hpccoder pragma solver.c",
    "hpccoder lsp",
    "hpccoder serve --http 127.0.0.1:8012",
    "hpccoder mcp",
    "hpccoder perf predict origin/main..HEAD",
    "hpccoder corpus harvest ~/src/hypre --out corpus",
    "hpccoder train --data shards/train --out run",
    "hpccoder import model.gguf --out model",
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

static int write_commands(hpc_buf *out, FILE *to, int columns)
{
    int g = 0, rc = HPC_OK;
    for (int k = 0; hpc_commands[k]; k++) {
        const hpc_command *const one[] = {hpc_commands[k], NULL};
        if (g < GROUPS && hpc_commands[k] == groups[g].first)
            hpc_buf_printf(out, "\n%s%s:%s\n", terminal_begin(to, STYLE_TITLE), groups[g++].title,
                           terminal_end(to, STYLE_TITLE));
        TRY(hpc_options_overview(out, one, columns));
        if (k < EXAMPLES) hpc_buf_printf(out, "      %s\n", examples[k]);
    }
out:
    return rc;
}

int hpc_cmd_usage(FILE *to)
{
    hpc_buf list = {0};
    int rc = write_commands(&list, to, hpc_cmd_columns());
    fprintf(to, "usage: hpccoder COMMAND [OPTION]...\n%s", rc < 0 ? "" : list.data);
    hpc_buf_release(&list);
    fprintf(to,
            "\n`hpccoder COMMAND --help` describes one command.\n"
            "`hpccoder --completion bash` prints a completion script, `--version` the version.\n");
    if (to == stderr) return EXIT_BAD_INPUT;
    return fflush(to) == 0 ? EXIT_DONE
                           : hpc_cmd_failed(NULL, hpc_fail(HPC_E_IO, HPC_CMD_CANNOT_WRITE));
}

/* ---- misspelled commands ------------------------------------------------------------------- */

typedef struct guess {
    char name[NAME]; /* "": none yet */
    int edits;
} guess;

static void consider(guess *g, const char *wrote, const char *known, const char *name, size_t n)
{
    int d = hpc_options_edits(wrote, known);
    if (d < 0 || (g->name[0] && d >= g->edits) || n >= NAME) return;
    g->edits = d;
    snprintf(g->name, NAME, "%.*s", (int)n, name);
}

/* The command meant by two words. */
static void guess_by_two(guess *g, const char *wrote)
{
    for (int k = 0; hpc_commands[k]; k++) {
        const char *name = hpc_commands[k]->name;
        if (strchr(name, ' ')) consider(g, wrote, name, name, strlen(name));
    }
}

/* By one: a whole name, a first word ("plan"), or a second word without the first ("harvest"). */
static void guess_by_one(guess *g, const char *wrote)
{
    char word[NAME];
    for (int k = 0; hpc_commands[k]; k++) {
        const char *name = hpc_commands[k]->name, *blank = strchr(name, ' ');
        size_t n = strcspn(name, " ");
        snprintf(word, NAME, "%.*s", (int)n, name);
        if (blank && strcmp(wrote, blank + 1) == 0) consider(g, wrote, wrote, name, strlen(name));
        consider(g, wrote, word, name, n);
    }
}

static int unknown_option(const char *option)
{
    static const char *const known[] = {"--help", "--version", "--completion", "--man-pages"};
    guess g = {.name = ""};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        consider(&g, option, known[k], known[k], strlen(known[k]));
    if (g.name[0])
        return hpc_fail(HPC_E_ARG, "unknown option %s, did you mean %s?", option, g.name);
    return hpc_fail(HPC_E_ARG, "option %s without a command: write hpccoder COMMAND %s", option,
                    option);
}

/* The names that begin with this word, separated by commas. */
static void list_group(hpc_buf *out, const char *first)
{
    size_t n = strlen(first);
    for (int k = 0; hpc_commands[k]; k++)
        if (strncmp(hpc_commands[k]->name, first, n) == 0 && hpc_commands[k]->name[n] == ' ')
            hpc_buf_printf(out, "%s%s", out->n ? ", " : "", hpc_commands[k]->name);
}

int hpc_cmd_unknown(const char *first, const char *second)
{
    char wrote[NAME];
    hpc_buf known = {0};
    guess g = {.name = ""};
    int rc;
    if (first[0] == '-') return unknown_option(first);
    list_group(&known, first);
    snprintf(wrote, NAME, "%.38s %.38s", first, second);
    if (second[0] && second[0] != '-') guess_by_two(&g, wrote);
    if (!g.name[0] && !known.n) {
        snprintf(wrote, NAME, "%.70s", first);
        guess_by_one(&g, wrote);
    }
    if (g.name[0])
        rc = hpc_fail(HPC_E_ARG, "unknown command '%s', did you mean '%s'?", wrote, g.name);
    else if (known.n)
        rc = hpc_fail(HPC_E_ARG, "'%s' needs a second word: %s", first, known.data);
    else
        rc = hpc_fail(HPC_E_ARG, "unknown command '%s'; hpccoder --help lists the commands", first);
    hpc_buf_release(&known);
    return rc;
}

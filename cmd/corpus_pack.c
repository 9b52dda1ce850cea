/*
 * corpus_pack.c: `hpccoder corpus pack`: packs a corpus into token shards.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/corpus_print.h"

typedef struct pack_options {
    const char *tokenizer, *out, *task, *split, *loops, *perf, *repository, *held_out;
    double fim_rate, suffix_first, negatives, from, to;
    int64_t seed, shard_tokens, threads, window;
    bool resume, json, quiet;
} pack_options;

static const char *const tasks[] = {"code", "pragma", "perf", NULL};
static const char *const splits[] = {"train", "validation", "test", "all", NULL};

static int report(const pack_part *p, int n, const pack_options *o)
{
    bool perf = strcmp(o->task, "perf") == 0;
    hpc_buf text = {0};
    o->json ? hpc_cmd_pack_json(&text, p, n, perf) : hpc_cmd_pack_text(&text, p, n, perf);
    return hpc_cmd_print_report(
        &text, p[n - 1].result.complete ? "the data set is complete in" : "complete shards are in",
        o->out);
}

/* Training on an empty split fails, so it is better known now. */
static void remark_if_empty(const pack_part *p, const pack_options *o)
{
    char line[PATH_MAX + 160];
    if (o->quiet || !p->result.complete || p->result.documents_n > 0) return;
    snprintf(line, sizeof line,
             "the %s split in %s has no documents: do not pass it to hpccoder train; to fill it, "
             "harvest more repositories or use a larger --split",
             hpc_split_name(p->split), o->out);
    hpc_cmd_warn(line, (void *)(uintptr_t) "corpus pack");
}

static int pack_one(pack_part *p, const hpc_pack_options *common, const char *out, bool all)
{
    hpc_pack_options h = *common;
    char folder[PATH_MAX];
    int64_t start = hpc_clock_ns();
    int n = snprintf(folder, sizeof folder, "%s%s%s", out, all ? "/" : "",
                     all ? hpc_split_name(p->split) : "");
    if (n >= (int)sizeof folder) return hpc_fail(HPC_E_ARG, "the path of --out is too long");
    h.out = folder;
    h.split = p->split;
    int rc = hpc_corpus_pack(&p->result, &h);
    p->seconds = (double)(hpc_clock_ns() - start) * 1e-9;
    return rc;
}

static int run_all(const pack_options *o, const hpc_pack_options *h)
{
    pack_part parts[HPC_SPLIT_N] = {0};
    bool all = strcmp(o->split, "all") == 0, complete = true;
    int n = 0, rc = HPC_OK;
    for (int k = 0; k < HPC_SPLIT_N && complete; k++) {
        if (!all && strcmp(o->split, hpc_split_name((hpc_split)k)) != 0) continue;
        parts[n] = (pack_part){.split = (hpc_split)k};
        TRY(pack_one(&parts[n++], h, o->out, all));
        complete = parts[n - 1].result.complete;
    }
    TRY(report(parts, n, o));
    for (int k = 0; k < n; k++) remark_if_empty(&parts[k], o);
    if (!complete)
        TRY(hpc_fail(HPC_E_ABORTED, "stopped; complete shards are in %s, --resume continues",
                     o->out));
out:
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const pack_options *o = options;
    hpc_pack_options h = HPC_PACK_DEFAULTS;
    hpc_progress progress;
    hpc_cmd_signals *signals = NULL;
    char sketch[PATH_MAX];
    int rc = HPC_OK;
    bool perf = strcmp(o->task, "perf") == 0;
    if (argc > 1) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[1]);
    if (argc == 0 && !perf) return hpc_fail(HPC_E_ARG, "name a corpus");
    if (argc == 1 && perf)
        return hpc_fail(HPC_E_ARG,
                        "unexpected argument '%s': task perf takes --perf and "
                        "--repository, no corpus",
                        argv[0]);
    if (!o->out) return hpc_fail(HPC_E_ARG, "--out DIR is missing: the folder for the shards");
    if (!o->tokenizer) return hpc_fail(HPC_E_ARG, "--tokenizer FILE is missing");
    if (o->held_out && !perf)
        return hpc_fail(HPC_E_ARG,
                        "--held-out is for task perf: `corpus harvest` excludes held-out content "
                        "from a corpus, and `corpus check` verifies it");
    if (perf) TRY(hpc_cmd_find_sketch(&h.held_out, sketch, o->held_out));
    TRY(hpc_cmd_signals_start(&signals, "corpus pack",
                              "finished work is kept, --resume continues"));
    hpc_cmd_progress(&progress, o->quiet);
    h.corpus = argc ? argv[0] : NULL;
    h.tokenizer = o->tokenizer;
    h.task = o->task;
    h.loops = o->loops;
    h.perf = o->perf;
    h.repository = o->repository;
    h.fim_rate = o->fim_rate;
    h.from = o->from, h.to = o->to;
    h.suffix_first = o->suffix_first;
    h.negatives = o->negatives;
    h.window = o->window;
    h.seed = o->seed;
    h.shard_tokens = o->shard_tokens;
    h.threads = hpc_cmd_threads(o->threads);
    h.resume = o->resume;
    h.progress = &progress;
    h.stop = hpc_cmd_signals_stop(signals);
    h.warn = hpc_cmd_warn;
    h.user = (void *)"corpus pack";
    TRY(run_all(o, &h));
out:
    hpc_cmd_signals_end(signals);
    return rc;
}

static const hpc_option options[] = {
    {.name = "tokenizer",
     .kind = HPC_TEXT,
     .offset = offsetof(pack_options, tokenizer),
     .argument = "FILE",
     .help = "Tokenizer: a tokenizer.model, a tokenizer.json, or a folder with one of them."},
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(pack_options, out),
     .argument = "DIR",
     .help = "Folder for the data set; created if missing."},
    {.name = "task",
     .kind = HPC_CHOICE,
     .offset = offsetof(pack_options, task),
     .fallback = "code",
     .choices = tasks,
     .help = "Documents to pack: files (code), loops with their directives (pragma), or changed "
             "functions (perf)."},
    {.name = "split",
     .kind = HPC_CHOICE,
     .offset = offsetof(pack_options, split),
     .fallback = "train",
     .choices = splits,
     .help = "Split of the corpus to pack. all: each split into its own folder in DIR."},
    {.name = "fim-rate",
     .kind = HPC_REAL,
     .offset = offsetof(pack_options, fim_rate),
     .fallback = "0.5",
     .argument = "R",
     .most = 1,
     .help = "Task code: share of the documents arranged for fill-in-the-middle training."},
    {.name = "suffix-first",
     .kind = HPC_REAL,
     .offset = offsetof(pack_options, suffix_first),
     .fallback = "0.5",
     .argument = "S",
     .most = 1,
     .help =
         "Task code: share of the fill-in-the-middle documents with the suffix before the prefix."},
    {.name = "window",
     .kind = HPC_INT,
     .offset = offsetof(pack_options, window),
     .fallback = "0",
     .argument = "BYTES",
     .most = 1e9,
     .help = "Task code: cut files at line ends into documents of about this many bytes, each "
             "arranged for fill-in-the-middle on its own; 0: whole files."},
    {.name = "from",
     .kind = HPC_REAL,
     .offset = offsetof(pack_options, from),
     .fallback = "0",
     .argument = "S",
     .most = 1,
     .help = "Task code: --seed assigns a number between 0 and 1 to each group of near-duplicate "
             "files; pack only files at or above S. --to S and --from S together divide a data set "
             "in two."},
    {.name = "to",
     .kind = HPC_REAL,
     .offset = offsetof(pack_options, to),
     .fallback = "1",
     .argument = "S",
     .most = 1,
     .help = "Task code: pack only files below S."},
    {.name = "loops",
     .kind = HPC_TEXT,
     .offset = offsetof(pack_options, loops),
     .argument = "DIR",
     .help = "Task pragma: folder of loops.db. Default: the corpus."},
    {.name = "negatives",
     .kind = HPC_REAL,
     .offset = offsetof(pack_options, negatives),
     .fallback = "1",
     .argument = "R",
     .most = 1e6,
     .help = "Task pragma: presumed negatives per annotated loop."},
    {.name = "perf",
     .kind = HPC_TEXT,
     .offset = offsetof(pack_options, perf),
     .argument = "FILE",
     .help = "Task perf: performance history."},
    {.name = "repository",
     .kind = HPC_TEXT,
     .offset = offsetof(pack_options, repository),
     .argument = "DIR",
     .help = "Task perf: git repository of the performance history."},
    {.name = "held-out",
     .kind = HPC_TEXT,
     .offset = offsetof(pack_options, held_out),
     .argument = "FILE|none",
     .help = "Task perf: sketch of content to exclude. Default: held-out.sketch, which comes with "
             "the program."},
    {.name = "seed",
     .kind = HPC_INT,
     .offset = offsetof(pack_options, seed),
     .fallback = "0",
     .argument = "N",
     .help = "Seed for fill-in-the-middle cuts and the choice of negatives."},
    {.name = "shard-tokens",
     .kind = HPC_INT,
     .offset = offsetof(pack_options, shard_tokens),
     .fallback = "67108864",
     .argument = "N",
     .least = 1,
     .most = 1ll << 40,
     .help = "Start a new shard after this many tokens."},
    HPC_CMD_THREADS(pack_options),
    HPC_CMD_RESUME(pack_options),
    HPC_CMD_JSON(pack_options),
    HPC_CMD_QUIET(pack_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_corpus_pack = {
    .name = "corpus pack",
    .summary = "Tokenize a corpus, its loops or a performance history into shards.",
    .arguments = "[CORPUS]",
    .description =
        "Writes the documents of a task as token ids into memory-mapped shards (00000.shard and "
        "following) with label columns. It writes index.json last. Every section has a checksum. "
        "The shards record the hash of the tokenizer, and readers reject a different tokenizer.\n\n"
        "Task code: the kept files of a split. Files of a repository follow each other; a file "
        "comes after the files that it includes or uses. A share of the files is cut at two "
        "positions between characters, and the middle moves to the end. Columns: file, language, "
        "repository, fim (0 no, 1 prefix first, 2 suffix first).\n\n"
        "Task pragma: each distinct loop with an OpenMP directive, with its context and without "
        "it, followed by the directive as the answer. The answer leaves out clauses for numbers of "
        "threads, offloading and style. Presumed negatives have an empty answer. The task needs "
        "loops.db from `hpccoder corpus loops`. Columns: label (1 annotated), answer (its first "
        "token), loop, words.\n\n"
        "Task perf: functions before and after a commit, followed by slower, same or faster. The "
        "label comes from the medians of the history's samples of the commit and its parent. A "
        "change counts if it exceeds 5 % and three standard errors; pairs that are neither changed "
        "nor certainly within 5 % are left out. Columns: label (0 slower, 1 same, 2 faster), "
        "answer, change, pair. The latest tenth of the commits is used for validation and test. "
        "Secrets are masked as by `corpus harvest`. A commit is left out and counted if its "
        "repository, the path or content of a file that it changes, or a changed function is held "
        "out; --held-out none packs evaluation data.\n\n"
        "Marks are single tokens. The tokenizers of StarCoder, Qwen, CodeLlama and DeepSeek-Coder "
        "have some of these marks under other names, which are used. Missing marks are spelled as "
        "text, except fill-in-the-middle marks: without these, --fim-rate must be 0. index.json "
        "records the marks.\n\n"
        "The same input and options give the same bytes for any number of threads. Ctrl-C, TERM, a "
        "kill or a full disk leave only complete shards, and --resume continues to the same "
        "result.",
    .examples =
        "hpccoder corpus pack corpus --tokenizer tokenizer.model --out data --split all  # files\n"
        "hpccoder corpus pack corpus --task pragma --loops loops --tokenizer tokenizer.model --out "
        "pragma  # loops\n"
        "hpccoder corpus pack --task perf --perf hypre.db --repository ~/src/hypre --tokenizer "
        "tokenizer.model --out perf  # commits",
    .options = options,
    .options_bytes = sizeof(pack_options),
    .run = run,
};

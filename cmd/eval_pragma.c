/*
 * eval_pragma.c: the command `eval pragma`.
 */
#include "cmd/compiler.h"
#include "cmd/eval.h"
#include "eval/pragma.h"

typedef struct pragma_options {
    eval_common c;
} pragma_options;

static int judge(const pragma_options *o, hpc_eval_log *log, int argc, char **argv,
                 const char *const *given)
{
    hpc_cmd_signals *signals = NULL;
    hpc_check_flags flags = {0};
    hpc_checker *checker = NULL;
    hpc_progress progress;
    hpc_eval_pragma_options x = {
        .files = {.path = (const char *const *)argv, .path_n = argc, .seed = (uint64_t)o->c.seed},
        .progress = &progress};
    int rc;
    TRY(hpc_cmd_open_checker(&checker));
    if (given) TRY(hpc_check_flags_given(&flags, given, NULL));
    x.checker = checker;
    x.flags = given ? &flags : NULL;
    TRY(hpc_cmd_signals_start(&signals, "eval pragma", "reporting the files analysed so far"));
    x.stop = hpc_cmd_signals_stop(signals);
    hpc_cmd_progress(&progress, o->c.quiet);
    TRY(hpc_eval_pragma(log, &x));
out:
    hpc_cmd_signals_end(signals);
    hpc_checker_close(checker);
    hpc_check_flags_release(&flags);
    return rc;
}

static int run(void *options, int argc, char **argv)
{
    const char *const *given = hpc_cmd_take_flags(&argc, argv);
    const pragma_options *o = options;
    hpc_eval_log *log = NULL;
    int rc;
    if (argc < 1) return hpc_fail(HPC_E_ARG, "name files or folders with labelled loops");
    TRY(hpc_cmd_eval_open(&log, &hpc_cmd_eval_pragma, o, &o->c, (const char *const *)argv, argc));
    TRY(judge(o, log, argc, argv, given));
    TRY(hpc_cmd_eval_report(&hpc_eval_suite_pragma, log, &o->c));
out:
    hpc_eval_log_close(log);
    return rc;
}

static const hpc_option options[] = {
    EVAL_OPTIONS(offsetof(pragma_options, c)),
    {.name = NULL},
};

const hpc_command hpc_cmd_eval_pragma = {
    .name = "eval pragma",
    .summary = "Score the analysis of loops on loops with known truth.",
    .arguments = "FILE|DIR... [-- COMPILER FLAGS]",
    .description =
        "Analyses the loops of C and C++ files as `hpccoder pragma` does, and compares verdicts "
        "and clauses with the labels in comments above the loops, such as `// loop sum: safe "
        "reduction(+:s)` or `// loop scan: carried 1 1`. Reports the share of parallel loops that "
        "get a directive, of loops with a wrong directive, and of directives with exactly the "
        "necessary clauses.\n\n"
        "tests/pragma/loops of the source tree has labelled loops and describes the format.",
    .examples = "hpccoder eval pragma tests/pragma/loops\n"
                "hpccoder eval pragma my-loops --out results/loops -- -Iinclude",
    .options = options,
    .options_bytes = sizeof(pragma_options),
    .flags = true,
    .run = run,
};

/*
 * pragma.c: `hpccoder pragma`: which loops may run in parallel, under which directive, and why.
 */
#include <string.h>

#include "cmd/pragma.h"

static int check_options(pragma_judging *j, int argc)
{
    const pragma_options *o = j->o;
    j->sarif = strcmp(o->format, "sarif") == 0;
    j->json = !j->sarif && (o->json || strcmp(o->format, "json") == 0);
    if (argc == 0) return hpc_fail(HPC_E_ARG, "name source files; see --help");
    if (o->diff + o->fix + o->check > 1)
        return hpc_fail(HPC_E_ARG, "--diff, --fix and --check exclude each other");
    if (o->force && !o->fix)
        return hpc_fail(HPC_E_ARG, "--force needs --fix: nothing else changes files");
    if (o->guard && o->conditional)
        return hpc_fail(HPC_E_ARG, "--guard and --conditional exclude each other");
    if (o->guard && o->target)
        return hpc_fail(HPC_E_ARG, "--guard and --target exclude each other: an if clause does not "
                                   "stop teams from running at once");
    if (o->json && j->sarif)
        return hpc_fail(HPC_E_ARG, "--json and --format sarif exclude each other");
    if ((o->diff || o->fix) && (j->json || j->sarif))
        return hpc_fail(HPC_E_ARG, "--diff and --fix have no JSON output; leave them out");
    return pragma_verify_options(o);
}

static int open_model(pragma_judging *j)
{
    char model[PATH_MAX];
    hpc_engine_options e = {.model = model,
                            .threads = hpc_cmd_threads(j->o->threads),
                            .weights = HPC_DTYPE_N,
                            .cache = HPC_BF16};
    int rc = HPC_OK;
    if (!j->o->rank && !j->o->model) return HPC_OK;
    TRY(hpc_cmd_find_model(model, j->o->model, "pragma.gguf"));
    TRY(hpc_directive_model_open(&j->model, &e));
out:
    return rc;
}

/* The files from the one that --from names. */
static int skip_files(char ***file, int64_t *n, const char *from)
{
    if (!from) return HPC_OK;
    while (*n > 0 && strcmp(**file, from) != 0) {
        ++*file;
        --*n;
    }
    return *n > 0 ? HPC_OK
                  : hpc_fail(HPC_E_ARG, "--from %s: none of the files has this name", from);
}

static int run(void *options, int argc, char **argv)
{
    pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
    hpc_trust trust = {0};
    hpc_line_profile profile = {0};
    pragma_judging j = {.o = options, .worst = EXIT_DONE, .asking = &asking};
    hpc_cmd_signals *signals = NULL;
    int64_t n;
    int rc;
    j.given = hpc_cmd_take_flags(&argc, argv);
    n = argc;
    TRY(check_options(&j, argc));
    TRY(skip_files(&argv, &n, j.o->from));
    if (strcmp(j.o->verify, "run") != 0) { /* with it, Ctrl-C is the program's */
        TRY(hpc_cmd_signals_start(&signals, "pragma", "finishing the files in progress"));
    }
    TRY(open_model(&j));
    if (j.o->trust) {
        TRY(hpc_trust_read(&trust, j.o->trust));
        j.trust = &trust;
    }
    if (j.o->line_profile) {
        TRY(hpc_line_profile_read(&profile, j.o->line_profile));
        j.profile = &profile;
    }
    TRY(pragma_judge_all(&j, argv, n, signals ? hpc_cmd_signals_stop(signals) : NULL));
    TRY(pragma_print_summary(&j));
    pragma_warn_of_trust(&j);
    rc = j.worst != EXIT_DONE ? j.worst : j.o->check && j.wrong_n > 0 ? EXIT_FINDINGS : EXIT_DONE;
out:
    hpc_cmd_signals_end(signals);
    hpc_directive_model_close(j.model);
    hpc_trust_release(&trust);
    hpc_line_profile_release(&profile);
    return rc;
}

const hpc_command hpc_cmd_pragma = {
    .name = "pragma",
    .summary = "Suggest OpenMP directives, with evidence.",
    .arguments = "FILE... [-- COMPILER FLAGS]",
    .description =
        "Judges every loop in files of C, C++, CUDA, HIP and Fortran, with libclang or flang and "
        "an "
        "analysis of the memory that iterations read and write. The verdicts are: `parallel`: "
        "proven. "
        "`conditional`: proven under the assumptions listed, for example that two pointers do not "
        "overlap; each comes with an expression that tests it, if there is one. At most three "
        "have none: a programmer must check them, and --trust records those confirmed. `unsafe`: "
        "the "
        "evidence names the values that one iteration passes to another. `unknown`: the evidence "
        "names the obstacle. The analysis assumes that programs are free of undefined behaviour "
        "and that sums of floating-point numbers may be reordered.\n\n"
        "In a nest, the outermost loop is proposed. The directive has a collapse clause if all "
        "loops of the nest are independent and the outer loop has fewer than 64 iterations, or an "
        "unknown number of them and a proposed loop contains another one. Loops inside a parallel "
        "region, loops too small to pay and loops that already have a directive are not proposed. "
        "--simd proposes vectorization for innermost loops of plain arithmetic, also where threads "
        "do not pay. --target offloads loops whose memory accesses are known, with map clauses. "
        "--fix inserts a line above each proposed loop that is proven; with --guard or "
        "--conditional also above loops that depend on assumptions. It keeps indentation and line "
        "ends, and a second run changes nothing. It does not touch loops from macros, headers, and "
        "generated files (#line).\n\n"
        "Compiler flags come from the nearest compile_commands.json, from the file given with -p, "
        "or from the command line after \"--\". If a header is missing, verdicts that depend on "
        "it are less certain, and the exit status is 2. "
        "Loops in OpenCL are listed as unknown, and those in Fortran if hpccoder was built without "
        "flang.\n\n"
        "`confidence` in JSON is the share of similar loops on which experts did what is proposed: "
        "add a directive, or none. With --rank, a model is asked as well, and the loops that "
        "experts would most probably annotate come first.\n\n"
        "With --verify compile, libclang and the compiler, or gfortran, read each proposed "
        "directive "
        "with its if clause. --verify run also builds and runs the program in a copy of its folder "
        "(--folder). "
        "A serial run records every access of the loops and finds iterations that conflict; it "
        "also "
        "orders loops by their share of the accesses, and fits schedule and collapse to the costs "
        "of iterations. Runs "
        "with the directives on 1, 2 and 4 threads must give the same output and the same files. A "
        "run under ThreadSanitizer follows if clang and Archer are installed. These findings can "
        "lower a verdict, never raise it. A message on standard error names each step that could "
        "not be done.\n\n"
        "Workers (-j) judge files in parallel. Results appear in the order of the files, each as "
        "soon as available; in JSON they are elements of one list. Files with the same flags share "
        "the parsed standard headers. Each worker runs libclang in a process limited to 3 GiB and "
        "60 s per parse. If that process crashes or exceeds a limit, a message names the file, and "
        "its loops are listed as unknown. Ctrl-C finishes the files in progress and the output, "
        "and prints the --from option that continues with the remaining files.\n\n"
        "Exit status: 0: done. 1: --check found a wrong directive. 2: a file cannot be used or "
        "does not compile; the other files are judged. 3: stopped, or another failure.",
    .examples = "hpccoder pragma solver.c  # verdict and evidence for each loop\n"
                "hpccoder pragma solver.c --at 120  # only the loops around line 120\n"
                "hpccoder pragma --diff solver.c -- -Iinclude -DN=512 | git apply\n"
                "hpccoder pragma --rank src/*.c  # the most promising loops of each file first\n"
                "hpccoder pragma --fix --guard src/*.c  # with if clauses that test assumptions\n"
                "hpccoder pragma solver.c --verify run --build make --run './solver 100'\n"
                "hpccoder pragma --check src/*.cpp  # in CI: wrong directives only\n"
                "hpccoder pragma --format sarif src/*.c >pragma.sarif",
    .options = pragma_option_table,
    .options_bytes = sizeof(pragma_options),
    .flags = true,
    .run = run,
};

/*
 * pragma.c: `hpccoder pragma`: which loops may run in parallel, under which directive, and why.
 */
#include "cmd/pragma.h"

#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/ordered.h"

enum { FILE_MOST = 16 << 20, WINDOW = 256, PROGRESS_FILES = 10 };
#define PROGRESS_NS INT64_C(2000000000)

typedef struct judging { /* a worker has a copy, of which it changes the checker alone */
    const pragma_options *o;
    const char *const *given; /* flags, NULL-terminated; NULL: none were given */
    hpc_checker *checker;
    hpc_directive_model *model; /* NULL: no model is asked */
    pthread_mutex_t *asking;
    bool sarif, json;
    int64_t by_verdict[4], wrong_n, directives_n, files_n;
    int worst; /* exit code */
    char warned[2][800];
} judging;

static void release_file(pragma_file *f)
{
    hpc_directive_file_release(&f->d);
    hpc_buf_release(&f->d.text);
    hpc_buf_release(&f->warnings);
    *f = (pragma_file){0};
}

/* Workers only collect warnings: the thread that prints results prints them next to the results. */
static int add_warning(pragma_file *f, const char *line)
{
    return hpc_buf_add(&f->warnings, line, strlen(line) + 1);
}

static void print_warnings(pragma_file *f)
{
    for (size_t k = 0; k < f->warnings.n; k += strlen(f->warnings.data + k) + 1)
        hpc_cmd_warn(f->warnings.data + k, "pragma");
    f->warnings.n = 0;
}

/* ---- one file ----------------------------------------------------------------------------------
 */

static int read_text(pragma_file *f)
{
    struct stat st;
    int rc = HPC_OK;
    if (stat(f->d.path, &st) == 0 && !S_ISREG(st.st_mode))
        return hpc_fail(HPC_E_ARG, "%s is a %s; name source files", f->d.path,
                        S_ISDIR(st.st_mode) ? "folder" : "device or pipe");
    TRY(hpc_file_read(&f->d.text, f->d.path, FILE_MOST));
    TRY(hpc_buf_text(&f->d.text, "")); /* an empty one has data too */
    const char *zero = memchr(f->d.text.data, '\0', f->d.text.n);
    const bool is_utf16 = f->d.text.n >= 2 && (memcmp(f->d.text.data, "\xff\xfe", 2) == 0 ||
                                               memcmp(f->d.text.data, "\xfe\xff", 2) == 0);
    if (is_utf16)
        rc = hpc_fail(HPC_E_FORMAT, "%s: UTF-16 text: convert it to UTF-8 first", f->d.path);
    else if (zero)
        rc = hpc_fail(HPC_E_FORMAT, "%s is not text: byte %zu is NUL", f->d.path,
                      (size_t)(zero - f->d.text.data));
    f->d.language = hpc_language_of(f->d.path, f->d.text.data, f->d.text.n);
    if (rc >= 0 && f->d.language == HPC_LANGUAGE_NONE)
        rc = hpc_fail(HPC_E_ARG,
                      "%s: the file name is not one of C, C++, CUDA, HIP, OpenCL or Fortran",
                      f->d.path);
out:
    return rc;
}

/* A database that is not asked for and cannot be used is as none. */
static int find_flags(hpc_check_flags *out, pragma_file *f, const judging *j)
{
    char found[PATH_MAX];
    const char *database = j->o->database, *path = f->d.path;
    *out = (hpc_check_flags){0};
    if (j->given) return hpc_check_flags_given(out, j->given, NULL);
    if (database && strcmp(database, "none") == 0) return HPC_OK;
    if (database) return hpc_check_flags_find(out, database, path);
    hpc_check_database_find(found, path);
    int rc = *found ? hpc_check_flags_find(out, found, path) : HPC_OK;
    if (rc < 0 && rc != HPC_E_NOMEM) {
        rc = add_warning(f, hpc_error_get()->text);
        hpc_error_clear();
    }
    return rc;
}

typedef struct judged { /* a file, for the callbacks of its analysis */
    pragma_file *f;
    judging *j;
    const hpc_check_flags *flags;
} judged;

static int ask(hpc_directive_file *d, const hpc_tree *tree, void *user)
{
    const judged *x = user;
    pthread_mutex_lock(x->j->asking);
    int rc = hpc_ask(&d->loops, hpc_directive_model_interface(x->j->model), tree, d->path,
                     d->text.data, d->text.n, d->language);
    pthread_mutex_unlock(x->j->asking);
    return rc;
}

static int verify(hpc_directive_file *d, const hpc_tree *tree, void *user)
{
    const judged *x = user;
    (void)d;
    return pragma_verify(x->f, tree, x->flags, x->j->checker, x->j->o);
}

/* Without libclang the loops of a file are listed with the reason. */
static int open_checker(pragma_file *f, judging *j)
{
    int rc = j->checker ? HPC_OK : hpc_cmd_open_checker(&j->checker);
    if (rc != HPC_E_UNSUPPORTED) return rc;
    f->d.untyped = hpc_arena_text(f->d.arena, "%s", hpc_error_get()->text);
    hpc_error_clear();
    return f->d.untyped ? HPC_OK : HPC_E_NOMEM;
}

static int find_loops(pragma_file *f, judging *j)
{
    const pragma_options *o = j->o;
    hpc_check_flags flags = {0};
    judged x = {f, j, &flags};
    hpc_directive_options d = {.loops = HPC_PRAGMA_DEFAULTS,
                               .guard = o->guard,
                               .conditional = o->conditional,
                               .flags = &flags,
                               .ask = j->model ? ask : NULL,
                               .verify = verify,
                               .user = &x};
    int rc = HPC_OK;
    d.loops.default_none = o->default_none;
    d.loops.simd = o->simd;
    d.loops.target = o->target;
    d.loops.line = (uint32_t)o->at;
    if (hpc_check_knows(f->d.language)) {
        TRY(find_flags(&flags, f, j));
        TRY(open_checker(f, j));
    }
    TRY(hpc_directives_find(&f->d, j->checker, &d));
    if (f->d.untyped && hpc_check_knows(f->d.language) && !o->quiet)
        TRY(add_warning(f, f->d.untyped));
out:
    hpc_check_flags_release(&flags);
    return rc;
}

/* ---- what comes of it --------------------------------------------------------------------------
 */

static int fix(const pragma_file *f, judging *j)
{
    hpc_directive_edits c = {0};
    hpc_buf out = {0}, report = {0};
    int rc;
    TRY(hpc_directive_edits_find(&c, &f->d, -1));
    if (j->o->diff) {
        TRY(pragma_diff(&report, &c, f));
    } else if (c.n > 0) {
        TRY(hpc_directive_edits_apply(&out, &c, &f->d.text));
        TRY(hpc_cmd_edit("pragma", f->d.path, &f->d.text, &out, j->o->force));
        for (int64_t i = 0; i < f->d.loops.n; i++)
            if (f->d.choice[i].put)
                hpc_buf_printf(&report, "%s:%u: %s\n", f->d.path, f->d.loops.item[i].line,
                               f->d.choice[i].directive);
    }
    j->directives_n += c.directives_n;
    rc = hpc_cmd_print(&report);
out:
    hpc_directive_edits_release(&c);
    hpc_buf_release(&out);
    hpc_buf_release(&report);
    return rc;
}

/* The first error of the compiler, where it is, and what to do. Errors take verdicts away, so the
 * file counts as one that could not be used. */
static void warn_of_errors(const pragma_file *f, judging *j)
{
    char count[40] = "", text[800];
    if (f->d.errors == 0) return;
    j->worst = EXIT_BAD_INPUT;
    if (f->d.errors > 1)
        snprintf(count, sizeof count, " (first of %lld errors)", (long long)f->d.errors);
    snprintf(text, sizeof text, "%s%s; %s", f->d.error, count, pragma_error_advice(f));
    hpc_cmd_warn(text, "pragma");
}

/* Prints each step that --verify had to skip; once if all files have the same one. */
static void warn_of_skipped(const pragma_file *f, judging *j)
{
    static const char *const what[] = {"nothing was compiled", "ThreadSanitizer was not run"};
    char text[800];
    for (int k = 0; k < 2; k++) {
        if (!f->skipped[k]) continue;
        snprintf(text, sizeof text, "%s: %s", what[k], f->skipped[k]);
        if (strcmp(text, j->warned[k]) == 0) continue;
        snprintf(j->warned[k], sizeof j->warned[k], "%s", text);
        hpc_cmd_warn(text, "pragma");
    }
    if (f->rejected) j->worst = EXIT_BAD_INPUT;
}

static void remark(const pragma_file *f, judging *j)
{
    warn_of_errors(f, j);
    warn_of_skipped(f, j);
    if (f->d.cut && !j->o->quiet)
        fprintf(stderr, "hpccoder pragma: %s: too large, functions at its end are skipped\n",
                f->d.path);
}

static int tell(const pragma_file *f, judging *j)
{
    hpc_buf out = {0};
    int rc;
    for (int64_t i = 0; i < f->d.loops.n; i++) {
        j->by_verdict[f->d.loops.item[i].verdict]++;
        j->wrong_n += hpc_directive_is_wrong(&f->d.loops.item[i]);
    }
    remark(f, j);
    if (j->o->fix || j->o->diff) return fix(f, j);
    if (j->json || j->sarif) return HPC_OK;
    TRY(pragma_put_text(&out, f, j->o));
    rc = hpc_cmd_print(&out);
out:
    hpc_buf_release(&out);
    return rc;
}

static int check_line(const pragma_file *f, int64_t at)
{
    int64_t lines = f->d.text.n > 0 && f->d.text.data[f->d.text.n - 1] != '\n';
    for (size_t k = 0; k < f->d.text.n; k++) lines += f->d.text.data[k] == '\n';
    if (at <= lines) return HPC_OK;
    return hpc_fail(HPC_E_ARG, "%s: there is no line %lld, the file has %lld line%s", f->d.path,
                    (long long)at, (long long)lines, lines == 1 ? "" : "s");
}

/* Records why a file cannot be used; the run continues with the other files. */
static int give_up_on(pragma_file *f, int rc)
{
    if (rc == HPC_E_NOMEM || rc >= 0) return rc;
    if (rc == HPC_E_IO && f->d.choice) return rc; /* an error of output ends the run */
    f->failed = hpc_arena_text(f->d.arena, "%s", hpc_error_get()->text);
    f->d.loops.n = 0;
    rc = add_warning(f, hpc_error_get()->text);
    hpc_error_clear();
    return f->failed ? rc : HPC_E_NOMEM;
}

static int judge(pragma_file *f, judging *j, const char *path)
{
    int rc;
    f->d.path = path;
    f->d.arena = hpc_arena_create(0);
    if (!f->d.arena) return HPC_E_NOMEM;
    TRY(read_text(f));
    TRY(check_line(f, j->o->at));
    TRY(find_loops(f, j));
out:
    return give_up_on(f, rc);
}

static int end(pragma_file *f, judging *j)
{
    int rc = HPC_OK;
    print_warnings(f);
    if (!f->failed) rc = give_up_on(f, tell(f, j));
    print_warnings(f);
    if (f->failed)
        j->worst = EXIT_BAD_INPUT;
    else
        j->files_n++;
    return rc;
}

/* ---- many files -------------------------------------------------------------------------- */

typedef struct run_of_files {
    judging *all, *worker; /* the counts; by worker */
    char **path;
    pragma_file *file;
    int64_t n;
    hpc_buf out;
    hpc_json_out json;
    hpc_progress progress;
    int64_t start_ns;
    bool silent; /* no progress */
} run_of_files;

static int judge_one(int64_t k, int worker, void *user)
{
    run_of_files *r = user;
    return judge(&r->file[k], &r->worker[worker], r->path[k]);
}

/* JSON is printed file by file: an element of the list that is open. */
static int end_one(int64_t k, void *user)
{
    run_of_files *r = user;
    int rc;
    if (r->progress.label) hpc_progress_clear(&r->progress); /* results begin on an empty line */
    TRY(end(&r->file[k], r->all));
    if (r->all->json) {
        pragma_put_json(&r->json, &r->file[k]);
        TRY(hpc_cmd_print(&r->out));
    }
    if (!r->all->sarif) release_file(&r->file[k]);
out:
    return rc;
}

/* Shown once several files take a while. */
static void show_progress(int64_t done, void *user)
{
    run_of_files *r = user;
    if (r->silent || hpc_clock_ns() - r->start_ns < PROGRESS_NS) return;
    if (!r->progress.label) {
        hpc_progress_start(&r->progress, "pragma", "files", r->n);
        r->progress.start_ns = r->start_ns;
    }
    hpc_progress_update(&r->progress, done, NULL);
}

static int print_end(run_of_files *r, int64_t done)
{
    if (r->progress.label) hpc_progress_end(&r->progress, done);
    if (r->all->sarif) {
        hpc_json_out w = {.buf = &r->out, .indent = 2};
        pragma_put_sarif(&w, r->file, done);
    } else if (r->all->json) {
        hpc_json_close(&r->json, ']');
    } else {
        return HPC_OK;
    }
    hpc_buf_text(&r->out, "\n");
    return hpc_cmd_print(&r->out);
}

static int judge_all(run_of_files *r, const int *stop)
{
    const pragma_options *o = r->all->o;
    int64_t done = 0;
    bool twins = false;
    hpc_checker **checker = NULL;
    int rc = HPC_OK, workers = 0;
    if (o->fix) TRY(pragma_has_twins(&twins, r->path, r->n));
    const bool alone = twins || strcmp(o->verify, "run") == 0;
    const int threads = alone ? 1 : hpc_cmd_threads(o->threads);
    workers = threads < r->n ? threads : (int)r->n;
    r->json = (hpc_json_out){.buf = &r->out, .indent = 2};
    r->file = hpc_alloc((size_t)r->n, sizeof *r->file);
    r->worker = hpc_alloc((size_t)workers, sizeof *r->worker);
    if (!r->file || !r->worker) TRY(HPC_E_NOMEM);
    for (int k = 0; k < workers; k++) r->worker[k] = *r->all;
    checker = hpc_alloc((size_t)workers, sizeof *checker);
    if (!checker) TRY(HPC_E_NOMEM);
    if (workers > 1) rc = pragma_open_checkers(checker, workers, r->path, r->n);
    for (int k = 0; k < workers; k++) r->worker[k].checker = checker[k];
    TRY(rc);
    if (r->all->json) hpc_json_open(&r->json, NULL, '[');
    TRY(hpc_ordered_run(&done, &(hpc_ordered_options){.n = r->n,
                                                      .workers = workers,
                                                      .window = alone ? 1 : WINDOW,
                                                      .stop = stop,
                                                      .work = judge_one,
                                                      .emit = end_one,
                                                      .look = show_progress,
                                                      .user = r}));
    TRY(print_end(r, done));
    if (done < r->n) {
        fprintf(stderr,
                "hpccoder pragma: stopped after %lld of %lld files; continue with the same command "
                "and --from %s\n",
                (long long)done, (long long)r->n, r->path[done]);
        r->all->worst = EXIT_FAILURE_INTERNAL;
    }
out:
    for (int64_t k = 0; r->file && k < r->n; k++) release_file(&r->file[k]);
    for (int k = 0; r->worker && k < workers; k++) hpc_checker_close(r->worker[k].checker);
    hpc_free(checker);
    hpc_free(r->worker);
    hpc_free(r->file);
    hpc_buf_release(&r->out);
    return rc;
}

static int summarise(const judging *j)
{
    const int64_t *v = j->by_verdict, n = v[0] + v[1] + v[2] + v[3];
    hpc_buf out = {0};
    if (j->o->quiet || j->o->diff || j->json || j->sarif || j->files_n == 0) return HPC_OK;
    if (j->o->fix)
        hpc_buf_printf(&out, "%lld directive%s inserted\n", (long long)j->directives_n,
                       j->directives_n == 1 ? "" : "s");
    else if (j->o->check)
        hpc_buf_printf(&out, "%lld wrong directive%s\n", (long long)j->wrong_n,
                       j->wrong_n == 1 ? "" : "s");
    else
        hpc_buf_printf(&out,
                       "%lld loop%s: %lld parallel, %lld conditional, %lld unsafe, %lld unknown\n",
                       (long long)n, n == 1 ? "" : "s", (long long)v[HPC_VERDICT_PARALLEL],
                       (long long)v[HPC_VERDICT_CONDITIONAL], (long long)v[HPC_VERDICT_UNSAFE],
                       (long long)v[HPC_VERDICT_UNKNOWN]);
    return hpc_cmd_print(&out);
}

/* ---- the command -------------------------------------------------------------------------------
 */

static int check_options(judging *j, int argc)
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

static int open_model(judging *j)
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
    judging j = {.o = options, .worst = EXIT_DONE, .asking = &asking};
    run_of_files r = {.all = &j, .path = argv, .start_ns = hpc_clock_ns()};
    hpc_cmd_signals *signals = NULL;
    int rc;
    j.given = hpc_cmd_take_flags(&argc, argv);
    r.n = argc;
    TRY(check_options(&j, argc));
    TRY(skip_files(&r.path, &r.n, j.o->from));
    if (strcmp(j.o->verify, "run") != 0) { /* with it, Ctrl-C is the program's */
        TRY(hpc_cmd_signals_start(&signals, "pragma", "finishing the files in progress"));
    }
    TRY(open_model(&j));
    hpc_cmd_progress(&r.progress, j.o->quiet);
    r.silent = j.o->quiet || r.n < (r.progress.terminal ? 2 : PROGRESS_FILES);
    TRY(judge_all(&r, signals ? hpc_cmd_signals_stop(signals) : NULL));
    TRY(summarise(&j));
    rc = j.worst != EXIT_DONE ? j.worst : j.o->check && j.wrong_n > 0 ? EXIT_FINDINGS : EXIT_DONE;
out:
    hpc_cmd_signals_end(signals);
    hpc_directive_model_close(j.model);
    return rc;
}

const hpc_command hpc_cmd_pragma = {
    .name = "pragma",
    .summary = "Suggest OpenMP directives, with evidence.",
    .arguments = "FILE... [-- COMPILER FLAGS]",
    .description =
        "Judges every loop in files of C, C++, CUDA and HIP, with libclang and an analysis of the "
        "memory that iterations read and write. The verdicts are: `parallel`: proven. "
        "`conditional`: proven under the assumptions listed, for example that two pointers do not "
        "overlap; each comes with an expression that tests it, if there is one. `unsafe`: the "
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
        "or from the command line after \"--\". Loops that depend on a missing header are unknown. "
        "Loops in Fortran and OpenCL are listed as unknown.\n\n"
        "`confidence` in JSON is the share of similar loops on which experts did what is proposed: "
        "add a directive, or none. With --rank, a model is asked as well, and the loops that "
        "experts would most probably annotate come first.\n\n"
        "With --verify compile, libclang and the compiler read each proposed directive with its if "
        "clause. --verify run also builds and runs the program in a copy of its folder (--folder). "
        "A serial run records every access of the loops and finds iterations that conflict. Runs "
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

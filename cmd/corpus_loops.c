/*
 * corpus_loops.c: `hpccoder corpus loops`: the loops of a corpus, or of single
 * files, with their directives.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/terminal.h"
#include "corpus/corpus.h"

enum { FILE_MOST = 1 << 28 };

typedef struct loops_options {
    const char *out;
    int64_t threads;
    bool json, quiet;
} loops_options;

/* ---- a corpus ----------------------------------------------------------------------------- */

static void write_json(hpc_buf *out, const hpc_loops_result *r)
{
    hpc_json_out w = {.buf = out, .indent = 2};
    hpc_json_open(&w, NULL, '{');
    hpc_json_put_int(&w, "files", r->files_n);
    hpc_json_put_int(&w, "loops", r->loops_n);
    hpc_json_put_int(&w, "distinct", r->distinct_n);
    hpc_json_put_int(&w, "annotated", r->annotated_n);
    hpc_json_put_int(&w, "pairs", r->distinct_pairs_n);
    hpc_json_put_int(&w, "parallel_for", r->parallel_for_n);
    hpc_json_put_int(&w, "presumed_negative", r->presumed_n);
    hpc_json_put_int(&w, "acc", r->acc_n);
    hpc_json_close(&w, '}');
    hpc_buf_text(out, "\n");
}

static void write_counts(hpc_buf *out, const hpc_loops_result *r)
{
    const struct {
        const char *name;
        int64_t n;
    } row[] = {{"files", r->files_n},
               {"loops", r->loops_n},
               {"distinct loops", r->distinct_n},
               {"  with an OpenMP directive", r->annotated_n},
               {"    parallel for, parallel do", r->parallel_for_n},
               {"    different directives counted", r->distinct_pairs_n},
               {"  with an OpenACC directive", r->acc_n},
               {"  presumed negatives", r->presumed_n}};
    static const hpc_column columns[] = {{.title = NULL}, {.right = true}};
    hpc_table t = {.column = columns, .columns = 2};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        hpc_table_cell(&t, "%s", row[k].name);
        hpc_table_cell(&t, "%lld", (long long)row[k].n);
    }
    hpc_table_print(out, &t, hpc_cmd_table_columns());
}

static int run_corpus(const loops_options *o, const char *folder)
{
    hpc_loops_result r;
    hpc_progress progress;
    hpc_buf text = {0};
    hpc_loops_options l = {.folder = folder,
                           .out = o->out,
                           .threads = hpc_cmd_threads(o->threads),
                           .progress = &progress};
    int rc = HPC_OK;
    hpc_cmd_progress(&progress, o->quiet);
    TRY(hpc_corpus_loops(&r, &l));
    if (o->json)
        write_json(&text, &r);
    else
        write_counts(&text, &r);
    rc = hpc_cmd_print_report(&text, "the loops are in", o->out);
out:
    return rc;
}

/* ---- single files --------------------------------------------------------------------------- */

static const char *text_of(const hpc_json *object, const char *key)
{
    const char *text = "";
    const hpc_json *v = hpc_json_get(object, key);
    if (hpc_json_kind_of(v) == HPC_JSON_TEXT) hpc_json_text(&text, v, key);
    return text;
}

static int64_t int_of(const hpc_json *object, const char *key)
{
    int64_t n = 0;
    hpc_json_int(&n, hpc_json_get(object, key), key);
    return n;
}

/* "src/a.c:10-14  annotated  f  #pragma omp parallel for": nested loops are indented. */
static int put_row(hpc_table *t, const char *line, size_t n)
{
    hpc_buf text = {0};
    hpc_json *v = NULL;
    int rc = HPC_OK;
    TRY(hpc_json_parse(&v, line, n, "loops"));
    for (const char *p = text_of(v, "directive"); *p; p++)
        TRY(hpc_buf_add(&text, *p == '\n' ? " | " : p, *p == '\n' ? 3 : 1));
    hpc_table_cell(t, "%s:%lld-%lld", text_of(v, "path"), (long long)int_of(v, "line"),
                   (long long)int_of(v, "end_line"));
    hpc_table_cell(t, "%*s%s", 2 * (int)int_of(v, "depth"), "", text_of(v, "kind"));
    hpc_table_cell(t, "%s", text_of(v, "function"));
    hpc_table_cell(t, "%s", text.n ? text.data : "");
out:
    hpc_buf_release(&text);
    hpc_json_free(v);
    return rc;
}

static int put_table(hpc_buf *out, const hpc_buf *lines)
{
    static const hpc_column columns[] = {{.fit = HPC_FIT_CUT_FRONT, .least = 16},
                                         {.title = NULL},
                                         {.fit = HPC_FIT_CUT, .least = 8},
                                         {.fit = HPC_FIT_WRAP, .least = 12}};
    const char *p = lines->data, *end = p + lines->n;
    hpc_table t = {.column = columns, .columns = 4};
    int rc = HPC_OK;
    while (p < end) {
        size_t n = (size_t)((const char *)memchr(p, '\n', (size_t)(end - p)) - p);
        TRY(put_row(&t, p, n));
        p += n + 1;
    }
    TRY(hpc_table_print(out, &t, hpc_cmd_table_columns()));
out:
    hpc_buf_release(&t.text);
    return rc;
}

static int run_file(const loops_options *o, hpc_loops_result *counts, const char *path)
{
    hpc_buf text = {0}, lines = {0}, table = {0};
    int rc = HPC_OK;
    TRY(hpc_file_read(&text, path, FILE_MOST));
    TRY(hpc_corpus_loops_text(&lines, counts, path, text.n > 0 ? text.data : "", text.n));
    if (lines.n == 0) goto out;
    if (!o->json) TRY(put_table(&table, &lines));
    TRY(hpc_cmd_print(o->json ? &lines : &table));
out:
    hpc_buf_release(&text);
    hpc_buf_release(&lines);
    hpc_buf_release(&table);
    return rc;
}

/* A file that cannot be used is reported, and the others are processed. */
static int run_files(const loops_options *o, int argc, char **argv)
{
    hpc_loops_result counts = {0};
    hpc_buf text = {0};
    int worst = EXIT_DONE;
    for (int k = 0; k < argc; k++) {
        int rc = run_file(o, &counts, argv[k]);
        if (rc >= 0) continue;
        if (rc != HPC_E_ARG && rc != HPC_E_FORMAT && rc != HPC_E_UNSUPPORTED &&
            (rc != HPC_E_IO || hpc_file_exists(argv[k])))
            return rc;
        hpc_cmd_warn(hpc_error_get()->text, "corpus loops");
        hpc_error_clear();
        worst = EXIT_BAD_INPUT;
    }
    if (o->json || o->quiet) return worst;
    hpc_buf_printf(&text, "%lld loops in %lld files: %lld annotated, %lld presumed negatives\n",
                   (long long)counts.loops_n, (long long)counts.files_n,
                   (long long)counts.annotated_n, (long long)counts.presumed_n);
    int rc = hpc_cmd_print(&text);
    return rc < 0 ? rc : worst;
}

static bool is_corpus(const char *path)
{
    char db[PATH_MAX];
    int n = snprintf(db, sizeof db, "%s/corpus.db", path);
    return n < (int)sizeof db && hpc_file_exists(db);
}

static int run(void *options, int argc, char **argv)
{
    const loops_options *o = options;
    if (argc == 0) return hpc_fail(HPC_E_ARG, "name a corpus, with --out DIR, or source files");
    if (o->out && argc > 1) return hpc_fail(HPC_E_ARG, "unexpected argument '%s'", argv[1]);
    if (o->out) return run_corpus(o, argv[0]);
    if (is_corpus(argv[0]))
        return hpc_fail(HPC_E_ARG,
                        "--out DIR is missing: the folder for the loops of the corpus %s", argv[0]);
    return run_files(o, argc, argv);
}

static const hpc_option options[] = {
    {.name = "out",
     .letter = 'o',
     .kind = HPC_TEXT,
     .offset = offsetof(loops_options, out),
     .argument = "DIR",
     .help = "Folder for loops.db and loops.jsonl of a corpus; created if missing."},
    HPC_CMD_THREADS(loops_options),
    HPC_CMD_JSON(loops_options),
    HPC_CMD_QUIET(loops_options),
    {.name = NULL},
};

const hpc_command hpc_cmd_corpus_loops = {
    .name = "corpus loops",
    .summary = "Extract loops and their directives from a corpus or source files.",
    .arguments = "CORPUS|FILE...",
    .description =
        "Finds every `for` loop of C, C++, CUDA, HIP and OpenCL and every `do` loop of Fortran, "
        "with its OpenMP and OpenACC directives. A directive may span lines, be written as _Pragma "
        "or as an attribute, and share its loop with other directives. Loops inside macros and "
        "inside #if 0 are excluded, and so are `while` loops.\n\n"
        "For a corpus, the command writes DIR/loops.db (SQLite; the view `loops` has all columns) "
        "and DIR/loops.jsonl, which adds the text of each loop and the header of its function. "
        "Loops that differ only in white space, comments and their own directive are the same. "
        "Each pair of loop and directive is stored once, with its number of occurrences. A loop "
        "that occurs in several splits is assigned to test before validation before training, and "
        "removed from the others. Loops longer than 64 KiB or nested more than 16 deep are counted "
        "but not written. The files do not depend on the number of threads.\n\n"
        "Kinds: `annotated`: has an OpenMP loop directive. `presumed-negative`: has none, is "
        "outside parallel regions, and is in a file that uses OpenMP. `disputed`: a loop of this "
        "kind that has a directive elsewhere. `acc`: has an OpenACC directive. `other`: everything "
        "else.\n\n"
        "For source files, the command prints a table, or JSON lines with --json.",
    .examples = "hpccoder corpus loops corpus --out loops  # all loops of a corpus\n"
                "hpccoder corpus loops src/solver.c  # one file, as a table\n"
                "hpccoder corpus loops --json src/*.f90  # for scripts",
    .options = options,
    .options_bytes = sizeof(loops_options),
    .run = run,
};

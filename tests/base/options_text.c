/*
 * Tests of runtime/base/options_text.c, options_man.c and options_completion.c: generated texts
 * equal golden ones, and groff and bash accept them.
 */
/* tsan: left out, starts no thread. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/options.h"
#include "tests/support/fault.h"

typedef struct opts {
    bool json, cache;
    int64_t n;
    double temperature;
    const char *out, *format;
    hpc_texts db;
} opts;

static const char *const formats[] = {"text", "json", "sarif", NULL};

static const hpc_option table[] = {
    {.name = "max-tokens",
     .letter = 'n',
     .kind = HPC_INT,
     .offset = offsetof(opts, n),
     .fallback = "64",
     .argument = "N",
     .help = "Stop after this many tokens.",
     .least = 1,
     .most = 4096},
    {.name = "temperature",
     .letter = 't',
     .kind = HPC_REAL,
     .offset = offsetof(opts, temperature),
     .fallback = "0.8",
     .argument = "T",
     .help = "How evenly to draw; 0 takes the most probable token every time.",
     .most = INFINITY},
    {.name = "format",
     .letter = 'f',
     .kind = HPC_CHOICE,
     .offset = offsetof(opts, format),
     .fallback = "text",
     .argument = "KIND",
     .help = "How to report.",
     .choices = formats},
    {.name = "db",
     .kind = HPC_TEXTS,
     .offset = offsetof(opts, db),
     .argument = "FILE",
     .help = "A history of timings."},
    {.name = "a-rather-long-name",
     .kind = HPC_TEXT,
     .offset = offsetof(opts, out),
     .fallback = "", /* not shown */
     .argument = "FOLDER",
     .help = "Where it goes."},
    {.name = "cache",
     .kind = HPC_FLAG,
     .offset = offsetof(opts, cache),
     .fallback = "true",
     .help = "Use the cache."},
    {.name = "json",
     .letter = 'j',
     .kind = HPC_FLAG,
     .offset = offsetof(opts, json),
     .help = "Report as JSON."},
    {0},
};

static const hpc_command bench_op = {
    .name = "bench op",
    .summary = "measure ops against their limits",
    .arguments = "FILE...",
    .description = "Measures every op, and says how far each is from the limit that was measured "
                   "in the same run.\n\nA second 'paragraph',\nabout \\n, ~user and \"-j\".\n"
                   ".TH is no request here.\n\n\n",
    .examples = "hpccoder bench op --op 'gemm'  # Measures products alone.\n"
                "hpccoder bench op -j\n",
    .options = table,
    .options_bytes = sizeof(opts),
};
static const hpc_command bench_step = {.name = "bench step", .summary = "measure a step"};
static const hpc_command info = {.name = "info", .summary = "say what there is"};
static const hpc_command eval = {.name = "eval", .summary = "score", .options = table};
static const hpc_command eval_one = {.name = "eval one", .summary = "score one thing"};
static const hpc_command *const commands[] = {&bench_op, &info,     &bench_step,
                                              &eval,     &eval_one, NULL};

static int setup(void **state)
{
    (void)state;
    hpc_error_clear();
    hpc_test_fault_reset();
    return 0;
}

/* ---- help ---- */

static const char golden_help[] =
    "Usage: hpccoder bench op [OPTION]... FILE...\n"
    "\n"
    "measure ops against their limits\n"
    "\n"
    "Measures every op, and says how far each is from the limit that was measured in\n"
    "the same run.\n"
    "\n"
    "A second 'paragraph', about \\n, ~user and \"-j\". .TH is no request here.\n"
    "\n"
    "Options:\n"
    "  -n, --max-tokens N   Stop after this many tokens. [1 to 4096; default 64]\n"
    "  -t, --temperature T  How evenly to draw; 0 takes the most probable token\n"
    "                       every time. [at least 0; default 0.8]\n"
    "  -f, --format KIND    How to report. [text|json|sarif; default text]\n"
    "      --db FILE        A history of timings. [may be repeated]\n"
    "      --a-rather-long-name FOLDER\n"
    "                       Where it goes.\n"
    "      --[no-]cache     Use the cache. [on by default]\n"
    "  -j, --json           Report as JSON.\n"
    "  -h, --help           Show this help and exit.\n"
    "\n"
    "Examples:\n"
    "  hpccoder bench op --op 'gemm'\n"
    "      Measures products alone.\n"
    "  hpccoder bench op -j\n";

static void test_help(void **state)
{
    (void)state;
    hpc_buf b = {0};
    assert_int_equal(hpc_options_help(&b, &bench_op, "hpccoder", 80), 0);
    assert_string_equal(b.data, golden_help);
    hpc_buf_release(&b);
}

static int longest_line(const char *text)
{
    int longest = 0, at = 0;
    for (const char *p = text; *p; p++) {
        at = *p == '\n' ? 0 : at + (((unsigned char)*p & 0xC0) != 0x80);
        if (at > longest) longest = at;
    }
    return longest;
}

static void overview_fits_the_width(void **state)
{
    (void)state;
    for (int width = 24; width <= 120; width += 24) {
        hpc_buf b = {0};
        assert_int_equal(hpc_options_overview(&b, commands, width), 0);
        assert_in_range(longest_line(b.data), 1, width - 1);
        hpc_buf_release(&b);
    }
}

static void test_help_of_little(void **state)
{
    (void)state;
    hpc_buf b = {0};
    assert_int_equal(hpc_options_help(&b, &info, "hpccoder", 80), 0);
    assert_string_equal(b.data, "Usage: hpccoder info [OPTION]...\n\nsay what there is\n\n"
                                "Options:\n  -h, --help  Show this help and exit.\n");
    hpc_buf_release(&b);
}

static void test_help_wraps_before_column_80(void **state)
{
    (void)state;
    hpc_buf b = {0};
    char text[2000] = "";
    for (int i = 0; i < 120; i++)
        strcat(text, i % 7 ? "w\xC3\xB6rter " : "sehr vielf\xC3\xA4ltige ");
    const hpc_option options[] = {
        {.name = "words", .kind = HPC_TEXT, .argument = "W", .help = text},
        {.name = "host", .letter = 'h', .kind = HPC_TEXT, .argument = "H", .help = "A host."},
        {0}};
    const hpc_command c = {.name = "x", .summary = "y", .description = text, .options = options};
    assert_int_equal(hpc_options_help(&b, &c, "p", 80), 0);
    assert_in_range(longest_line(b.data), 72, 79);
    assert_non_null(strstr(b.data, "\n      --help     Show")); /* the table took its letter */
    for (int width = 24; width < 120; width += 12) {
        b.n = 0;
        assert_int_equal(hpc_options_help(&b, &c, "p", width), 0);
        assert_in_range(longest_line(b.data), width - 12, width - 1);
    }
    hpc_buf_release(&b);
}

/* ---- manual ---- */

static const char golden_man[] =
    ".TH \"HPCCODER\\-BENCH\\-OP\" 1 \"\" \"hpccoder 0.1\" \"User Commands\"\n"
    ".SH NAME\n"
    "hpccoder\\-bench\\-op \\- measure ops against their limits\n"
    ".SH SYNOPSIS\n"
    "\\fBhpccoder bench op\\fR [\\fIOPTION\\fR]...\\&\n"
    "\\fIFILE...\\fR\n"
    ".SH DESCRIPTION\n"
    "Measures every op, and says how far each is from the limit that was measured\n"
    "in the same run.\n"
    ".PP\n"
    "A second \\(aqparagraph\\(aq, about \\en, \\(tiuser and \\(dq\\-j\\(dq. \\&.TH is no request "
    "here.\n"
    ".SH OPTIONS\n"
    ".TP\n"
    "\\fB\\-n\\fR, \\fB\\-\\-max\\-tokens\\fR \\fIN\\fR\n"
    "Stop after this many tokens.\n"
    "[1 to 4096; default 64]\n"
    ".TP\n"
    "\\fB\\-t\\fR, \\fB\\-\\-temperature\\fR \\fIT\\fR\n"
    "How evenly to draw; 0 takes the most probable token every time.\n"
    "[at least 0; default 0.8]\n"
    ".TP\n"
    "\\fB\\-f\\fR, \\fB\\-\\-format\\fR \\fIKIND\\fR\n"
    "How to report.\n"
    "[text|json|sarif; default text]\n"
    ".TP\n"
    "\\fB\\-\\-db\\fR \\fIFILE\\fR\n"
    "A history of timings.\n"
    "[may be repeated]\n"
    ".TP\n"
    "\\fB\\-\\-a\\-rather\\-long\\-name\\fR \\fIFOLDER\\fR\n"
    "Where it goes.\n"
    ".TP\n"
    "\\fB\\-\\-cache\\fR, \\fB\\-\\-no\\-cache\\fR\n"
    "Use the cache.\n"
    "[on by default]\n"
    ".TP\n"
    "\\fB\\-j\\fR, \\fB\\-\\-json\\fR\n"
    "Report as JSON.\n"
    ".TP\n"
    "\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"
    "Show this help and exit.\n"
    ".SH EXAMPLES\n"
    ".TP\n"
    "\\fBhpccoder bench op \\-\\-op \\(aqgemm\\(aq\\fR\n"
    "Measures products alone.\n"
    ".PP\n"
    "\\fBhpccoder bench op \\-j\\fR\n"
    ".SH EXIT STATUS\n"
    ".TP\n"
    "\\fB0\\fR\n"
    "Done; nothing to report.\n"
    ".TP\n"
    "\\fB1\\fR\n"
    "Done, with findings.\n"
    ".TP\n"
    "\\fB2\\fR\n"
    "Bad usage or bad input; one line on standard error names it.\n"
    ".TP\n"
    "\\fB3\\fR\n"
    "A missing resource or an internal failure.\n";

static void test_man(void **state)
{
    (void)state;
    hpc_buf b = {0};
    assert_int_equal(hpc_options_man(&b, &bench_op, "hpccoder", "0.1"), 0);
    assert_string_equal(b.data, golden_man);
    hpc_buf_release(&b);
}

static void save_temporary(char path[32], const hpc_buf *b)
{
    strcpy(path, "/tmp/hpc-options-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hpc_file_save(path, b->data, b->n), 0);
}

/* Runs a command line with one "%s" for the path; its output, cut at the size. */
static void run(char *out, size_t size, const char *format, const char *path)
{
    char line[1000];
    snprintf(line, sizeof line, format, path);
    FILE *p = popen(line, "r");
    assert_non_null(p);
    out[fread(out, 1, size - 1, p)] = '\0';
    pclose(p);
}

static void need(const char *tool)
{
    char line[64];
    snprintf(line, sizeof line, "command -v %s >/dev/null 2>&1", tool);
    if (system(line) == 0) return;
    print_message("SKIP: no %s on this machine\n", tool);
    skip();
}

static void test_man_formats_without_a_warning(void **state)
{
    (void)state;
    char path[32], out[8000];
    hpc_buf b = {0};
    need("groff");
    assert_int_equal(hpc_options_man(&b, &bench_op, "hpccoder", "0.1"), 0);
    save_temporary(path, &b);
    run(out, sizeof out, "groff -ww -man -Tascii -z '%s' 2>&1", path);
    assert_string_equal(out, "");
    run(out, sizeof out, "groff -man -Tascii -P-c -P-b -P-u '%s' 2>&1", path);
    assert_non_null(strstr(out, "hpccoder bench op [OPTION]... FILE..."));
    assert_non_null(strstr(out, "about \\n, ~user and \"-j\". .TH is no request"));
    assert_non_null(strstr(out, "--cache, --no-cache"));
    unlink(path);
    hpc_buf_release(&b);
}

/* ---- completion ---- */

static const char golden_completion[] =
    "# bash completion for hpccoder; zsh reads it through bashcompinit\n"
    "if [[ -n ${ZSH_VERSION-} ]]; then\n"
    "    autoload -U +X bashcompinit && bashcompinit\n"
    "fi\n"
    "_hpccoder()\n"
    "{\n"
    "    local cur prev cmd words\n"
    "    cur=${COMP_WORDS[COMP_CWORD]}\n"
    "    prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    if [[ $cur == '=' ]]; then\n"
    "        cur=''\n"
    "    elif [[ $prev == '=' ]] && (( COMP_CWORD > 1 )); then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    COMPREPLY=()\n"
    "    if (( COMP_CWORD == 1 )); then\n"
    "        words='bench info'\n"
    "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "        return\n"
    "    fi\n"
    "    cmd=${COMP_WORDS[1]}\n"
    "    case $cmd in\n"
    "    bench)\n"
    "        words='op'\n"
    "        if (( COMP_CWORD == 2 )); then\n"
    "            COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "            return\n"
    "        fi\n"
    "        [[ \" $words \" != *\" ${COMP_WORDS[2]} \"* ]] || cmd=\"$cmd ${COMP_WORDS[2]}\"\n"
    "        ;;\n"
    "    esac\n"
    "    words=''\n"
    "    case $cmd in\n"
    "    'bench op')\n"
    "        words='--max-tokens --temperature --format --db --a-rather-long-name --cache "
    "--no-cache --json --help'\n"
    "        case $prev in\n"
    "        --max-tokens|-n) return ;;\n"
    "        --temperature|-t) return ;;\n"
    "        --format|-f) COMPREPLY=($(compgen -W 'text json sarif' -- \"$cur\")); return ;;\n"
    "        --db) return ;;\n"
    "        --a-rather-long-name) return ;;\n"
    "        esac\n"
    "        ;;\n"
    "    'info')\n"
    "        words='--help'\n"
    "        ;;\n"
    "    esac\n"
    "    [[ $cur != -* ]] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
    "}\n"
    "complete -o default -F _hpccoder hpccoder\n";

static void test_completion(void **state)
{
    (void)state;
    hpc_buf b = {0};
    const hpc_command *const two[] = {&bench_op, &info, NULL};
    assert_int_equal(hpc_options_completion(&b, two, "hpccoder"), 0);
    assert_string_equal(b.data, golden_completion);
    hpc_buf_release(&b);
    assert_int_equal(hpc_options_completion(&b, two, "hpc-x.y"), 0);
    assert_non_null(strstr(b.data, "\ncomplete -o default -F _hpc_x_y hpc-x.y\n"));
    hpc_buf_release(&b);
}

/* What bash offers when the words are typed and the last one is being completed. */
static void assert_offers(const char *script, const char *words, const char *offers)
{
    char format[600], out[600];
    snprintf(format, sizeof format,
             "bash -c 'set -u; source %%s; COMP_WORDS=(hpccoder %s); "
             "COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); _hpccoder; "
             "echo \"${COMPREPLY[*]-}\"' 2>&1",
             words);
    run(out, sizeof out, format, script);
    out[strcspn(out, "\n")] = '\0';
    assert_string_equal(out, offers);
}

static void test_completion_in_bash(void **state)
{
    (void)state;
    char path[32];
    hpc_buf b = {0};
    need("bash");
    assert_int_equal(hpc_options_completion(&b, commands, "hpccoder"), 0);
    save_temporary(path, &b);
    assert_offers(path, "\"\"", "bench info eval");
    assert_offers(path, "b", "bench");
    assert_offers(path, "bench \"\"", "op step");
    assert_offers(path, "bench s", "step");
    assert_offers(path, "bench op --m", "--max-tokens");
    assert_offers(path, "bench op x.c --no", "--no-cache");
    assert_offers(path, "bench op --format \"\"", "text json sarif");
    assert_offers(path, "bench op -f js", "json");
    assert_offers(path, "bench op --format =", "text json sarif");
    assert_offers(path, "bench op --format = t", "text");
    assert_offers(path, "bench op --db --f", ""); /* a value: files */
    assert_offers(path, "bench op x", "");
    assert_offers(path, "bench step --", "--help");
    assert_offers(path, "info --h", "--help");
    assert_offers(path, "nothing --h", "");
    assert_offers(path, "eval o", "one"); /* a command, and a group too */
    assert_offers(path, "eval --j", "--json");
    assert_offers(path, "eval x.c --j", "--json");
    assert_offers(path, "eval one --j", "");
    unlink(path);
    hpc_buf_release(&b);
}

static int texts_body(void *user)
{
    (void)user;
    hpc_buf help = {0}, man = {0}, completion = {0};
    int rc = hpc_options_help(&help, &bench_op, "hpccoder", 80);
    if (rc == 0) rc = hpc_options_man(&man, &bench_op, "hpccoder", "0.1");
    if (rc == 0) rc = hpc_options_completion(&completion, commands, "hpccoder");
    hpc_buf_release(&help);
    hpc_buf_release(&man);
    hpc_buf_release(&completion);
    return rc;
}

static void test_texts_without_memory(void **state)
{
    (void)state;
    assert_true(hpc_test_each_alloc(texts_body, NULL) >= 6);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup(f, setup)
    const struct CMUnitTest tests[] = {
        CASE(test_help),
        CASE(test_help_of_little),
        CASE(overview_fits_the_width),
        CASE(test_help_wraps_before_column_80),
        CASE(test_man),
        CASE(test_man_formats_without_a_warning),
        CASE(test_completion),
        CASE(test_completion_in_bash),
        CASE(test_texts_without_memory),
    };
    return cmocka_run_group_tests_name("options_text", tests, NULL, NULL);
}

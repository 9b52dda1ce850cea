/*
 * Build files as words, and the compiler flags in them that affect speed.
 *
 * It parses no build language. It sees that a flag appears or disappears, but not for which
 * compiler or target.
 */
#include <string.h>

#include "infer/perf/change_priv.h"
#include "infer/perf/scan.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool perf_is_build(const char *path)
{
    static const char *const names[] = {
        "CMakeLists.txt", "CMakePresets.json", "GNUmakefile",       "configure",  "configure.ac",
        "configure.in",   "meson.build",       "SConstruct",        "SConscript", "BUILD",
        "BUILD.bazel",    "setup.py",          "meson_options.txt", "xmake.lua",  NULL};
    static const char *const ends[] = {".cmake", ".mk", ".make", ".am", ".cmake.in", ".mak", NULL};
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    for (const char *const *n = names; *n; n++)
        if (strcmp(name, *n) == 0) return true;
    for (const char *const *e = ends; *e; e++)
        if (ends_with(name, *e)) return true;
    return strncmp(name, "Makefile", 8) == 0 || strncmp(name, "makefile", 8) == 0 ||
           strncmp(name, "Make.", 5) == 0 || strncmp(name, "make.", 5) == 0;
}

/* ---- words --------------------------------------------------------------------------------- */

static bool in_word(char c)
{
    return (unsigned char)c > ' ' && !strchr("\"'(),;{}[]", c);
}

/* "CFLAGS=-O2" is two words, "-march=native" one. */
static const char *word_end(const char *p, const char *end)
{
    bool flag = *p == '-';
    const char *q = p;
    while (q < end && in_word(*q) && (flag || *q != '=')) q++;
    return q > p ? q : p + 1;
}

static int add(hpc_tokens *out, const char *text, const char *p, const char *q, uint32_t line,
               hpc_token_kind kind)
{
    int rc = hpc_grow(&out->item, &out->cap, out->n + 1, sizeof *out->item);
    if (rc < 0) return rc;
    out->item[out->n++] = (hpc_token){.at = (uint32_t)(p - text),
                                      .n = (uint32_t)(q - p),
                                      .line = line,
                                      .hash = hpc_token_hash(p, (size_t)(q - p)),
                                      .kind = (uint8_t)kind};
    return HPC_OK;
}

int perf_build_words(hpc_tokens *out, const char *text, size_t n)
{
    const char *end = text + n;
    uint32_t line = 1;
    int rc = HPC_OK;
    out->n = 0;
    for (const char *p = text; p < end;) {
        const char *q = p + 1;
        bool begins = p == text || (unsigned char)p[-1] <= ' ';
        if (*p == '\n') {
            line++;
        } else if (*p == '#' && begins) {
            q = memchr(p, '\n', (size_t)(end - p));
            if (!q) q = end;
            TRY(add(out, text, p, q, line, HPC_TOKEN_COMMENT));
        } else if ((unsigned char)*p > ' ') {
            q = word_end(p, end);
            TRY(add(out, text, p, q, line, HPC_TOKEN_NAME));
        }
        p = q;
    }
out:
    return rc;
}

/* ---- flags ----------------------------------------------------------------------------------- */

static int flag_kind(const char *word, size_t n)
{
    static const struct {
        const char *word;
        bool whole;
        hpc_perf_event_kind kind;
    } flags[] = {
        {"-O0", true, HPC_PERF_FLAG_O0},
        {"-Og", true, HPC_PERF_FLAG_O0},
        {"-O1", true, HPC_PERF_FLAG_O1},
        {"-O", true, HPC_PERF_FLAG_O1},
        {"-Os", true, HPC_PERF_FLAG_O1},
        {"-O2", true, HPC_PERF_FLAG_O2},
        {"-O3", true, HPC_PERF_FLAG_O3},
        {"-O4", true, HPC_PERF_FLAG_O3},
        {"-Ofast", true, HPC_PERF_FLAG_O3},
        {"-fast", true, HPC_PERF_FLAG_O3},
        {"-g", true, HPC_PERF_FLAG_SYMBOLS},
        {"-g3", true, HPC_PERF_FLAG_SYMBOLS},
        {"-ggdb", false, HPC_PERF_FLAG_SYMBOLS},
        {"-fsanitize", false, HPC_PERF_FLAG_SANITIZE},
        {"-fcheck", false, HPC_PERF_FLAG_SANITIZE},
        {"-fbounds-check", true, HPC_PERF_FLAG_SANITIZE},
        {"-fstack-protector", false, HPC_PERF_FLAG_SANITIZE},
        {"-pg", true, HPC_PERF_FLAG_PROFILE},
        {"--coverage", true, HPC_PERF_FLAG_PROFILE},
        {"-fprofile-arcs", true, HPC_PERF_FLAG_PROFILE},
        {"-finstrument-functions", true, HPC_PERF_FLAG_PROFILE},
        {"-DNDEBUG", true, HPC_PERF_FLAG_NDEBUG},
        {"-D_GLIBCXX_DEBUG", false, HPC_PERF_FLAG_DEBUG},
        {"-D_GLIBCXX_ASSERTIONS", false, HPC_PERF_FLAG_DEBUG},
        {"-DDEBUG", false, HPC_PERF_FLAG_DEBUG},
        {"-D_DEBUG", false, HPC_PERF_FLAG_DEBUG},
        {"-UNDEBUG", true, HPC_PERF_FLAG_DEBUG},
        {"-DCMAKE_BUILD_TYPE=Debug", false, HPC_PERF_FLAG_DEBUG},
        {"-DCMAKE_BUILD_TYPE=Rel", false, HPC_PERF_FLAG_RELEASE},
        {"-march", false, HPC_PERF_FLAG_MACHINE},
        {"-mcpu", false, HPC_PERF_FLAG_MACHINE},
        {"-mtune", false, HPC_PERF_FLAG_MACHINE},
        {"-mavx", false, HPC_PERF_FLAG_MACHINE},
        {"-msse", false, HPC_PERF_FLAG_MACHINE},
        {"-mfma", false, HPC_PERF_FLAG_MACHINE},
        {"-xHost", false, HPC_PERF_FLAG_MACHINE},
        {"-xCORE", false, HPC_PERF_FLAG_MACHINE},
        {"-ffast-math", true, HPC_PERF_FLAG_FAST_MATH},
        {"-funsafe-math-optimizations", true, HPC_PERF_FLAG_FAST_MATH},
        {"-fassociative-math", true, HPC_PERF_FLAG_FAST_MATH},
        {"--use_fast_math", true, HPC_PERF_FLAG_FAST_MATH},
        {"-use_fast_math", true, HPC_PERF_FLAG_FAST_MATH},
        {"-fopenmp", false, HPC_PERF_FLAG_OPENMP},
        {"-qopenmp", false, HPC_PERF_FLAG_OPENMP},
        {"OpenMP::OpenMP", false, HPC_PERF_FLAG_OPENMP},
        {"-flto", false, HPC_PERF_FLAG_LTO},
        {"-ipo", true, HPC_PERF_FLAG_LTO},
        {"-fno-inline", false, HPC_PERF_FLAG_SLOW},
        {"-fno-tree-vectorize", true, HPC_PERF_FLAG_SLOW},
        {"-fno-vectorize", true, HPC_PERF_FLAG_SLOW},
        {"-fno-unroll-loops", true, HPC_PERF_FLAG_SLOW},
        {"-fno-strict-aliasing", true, HPC_PERF_FLAG_SLOW},
        {"-fno-omit-frame-pointer", true, HPC_PERF_FLAG_SLOW},
    };
    if (*word != '-' && *word != 'O') return -1;
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
        size_t m = strlen(flags[k].word);
        bool fits = flags[k].whole ? n == m : n >= m;
        if (fits && memcmp(word, flags[k].word, m) == 0) return flags[k].kind;
    }
    return -1;
}

static bool same(const char *word, size_t n, const char *other)
{
    return n == strlen(other) && memcmp(word, other, n) == 0;
}

/* "Debug" and "Release" say something only where a build type is set. */
static int type_kind(const char *word, size_t n)
{
    if (same(word, n, "Debug")) return HPC_PERF_FLAG_DEBUG;
    bool release =
        same(word, n, "Release") || same(word, n, "RelWithDebInfo") || same(word, n, "MinSizeRel");
    return release ? HPC_PERF_FLAG_RELEASE : -1;
}

/* ---- commands ------------------------------------------------------------------------------- */

typedef struct command { /* on the line of a recipe */
    uint32_t line;
    bool starts;   /* the next word is a command */
    bool compiles; /* not known to be another tool */
} command;

/* "@mkdir", "-rm", "/usr/bin/install"; "$(MKDIR)" is such a word between parentheses. */
static bool is_other_tool(const char *word, size_t n)
{
    static const char *const tools[] = {"chmod", "cp",  "curl",  "git",   "install", "ln",
                                        "mkdir", "mv",  "rm",    "rsync", "sort",    "ssh",
                                        "strip", "tar", "touch", "unzip", "wget",    NULL};
    size_t from = n;
    while (from > 0 && !strchr("/@-", word[from - 1])) from--;
    return perf_is_one_of(word + from, n - from, tools);
}

/* Takes the word at i: options of tools that compile nothing are no flags of the compiler. */
static void follow_command(command *c, const perf_scan *x, int64_t i)
{
    static const char *const before[] = {";", "&&", "||", "|",    "&",  "(",    "{",       "=",
                                         "@", "-",  "!",  "then", "do", "else", "COMMAND", NULL};
    const hpc_token *t = perf_token(x, i), *last = i > 0 ? perf_token(x, i - 1) : NULL;
    const char *text = x->s->text.data;
    bool continued = last && same(text + last->at, last->n, "\\");
    if (!last || (t->line != c->line && !continued))
        *c = (command){.starts = true, .compiles = true};
    c->line = t->line;
    if (c->starts) c->compiles = !is_other_tool(text + t->at, t->n);
    c->starts = perf_is_one_of(text + t->at, t->n, before);
}

int perf_scan_build(perf_scan *x)
{
    command c = {0};
    int64_t since = 1 << 20; /* words after CMAKE_BUILD_TYPE */
    int rc = HPC_OK;
    for (int64_t i = 0; i < x->n; i++, since++) {
        const hpc_token *t = perf_token(x, i);
        const char *word = x->s->text.data + t->at;
        follow_command(&c, x, i);
        if (same(word, t->n, "CMAKE_BUILD_TYPE") || same(word, t->n, "buildtype")) since = 0;
        int kind = c.compiles ? flag_kind(word, t->n) : -1;
        if (kind < 0 && since < 4) kind = type_kind(word, t->n);
        if (kind >= 0) TRY(perf_event_add(x, (hpc_perf_event_kind)kind, i));
    }
out:
    return rc;
}

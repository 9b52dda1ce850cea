/*
 * check_flags.c: the compiler flags of a file, from compile_commands.json or from a
 * list.
 *
 * The author of the database must not be able to run or write anything through
 * hpccoder. So flags are kept only if they are on a list of those that affect the
 * meaning of a text.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/source/check_priv.h"

/* ---- which flags are kept ------------------------------------------------------------------- */

typedef enum kind {
    PLAIN,  /* this word */
    JOINED, /* all words that begin so */
    VALUE,  /* with a value, joined or in the next word */
    FOLDER, /* the same, and the value is a path */
    FILE_,  /* the same, looked for in folders too unless it is where the path says */
    ASSIGN, /* a path after '=' or in the next argument */
    OPENMP, /* by whatever name */
    SKIP    /* with the next argument */
} kind;

typedef struct rule {
    const char *name;
    kind kind;
} rule;

/* The first that fits decides. */
static const rule rules[] = {
    {"-Xclang", SKIP},
    {"-Xlinker", SKIP},
    {"-Xpreprocessor", SKIP},
    {"-Xassembler", SKIP},
    {"-Xopenmp-target", SKIP},
    {"-Xptxas", SKIP},
    {"-Xnvlink", SKIP},
    {"-mllvm", SKIP},
    {"-o", SKIP},
    {"-x", SKIP},
    {"-MF", SKIP},
    {"-MT", SKIP},
    {"-MQ", SKIP},
    {"-include-pch", SKIP},
    {"-isystem", FOLDER},
    {"-iquote", FOLDER},
    {"-idirafter", FOLDER},
    {"-isysroot", FOLDER},
    {"--sysroot", ASSIGN},
    {"-include", FILE_},
    {"-imacros", FILE_},
    {"-I", FOLDER},
    {"-D", VALUE},
    {"-U", VALUE},
    {"-target", VALUE},
    {"--target=", JOINED},
    {"-std=", JOINED},
    {"-stdlib=", JOINED},
    {"-march=", JOINED},
    {"-mcpu=", JOINED},
    {"-mtune=", JOINED},
    {"-mavx", JOINED},
    {"-msse", JOINED},
    {"-mamx", JOINED},
    {"-mno-avx", JOINED},
    {"-mno-sse", JOINED},
    {"-mfma", PLAIN},
    {"-mno-fma", PLAIN},
    {"-mf16c", PLAIN},
    {"-mbmi", PLAIN},
    {"-mbmi2", PLAIN},
    {"-mpopcnt", PLAIN},
    {"-m32", PLAIN},
    {"-m64", PLAIN},
    {"-ansi", PLAIN},
    {"-pthread", PLAIN},
    {"-nostdinc", PLAIN},
    {"-nostdinc++", PLAIN},
    {"-O", PLAIN},
    {"-O0", PLAIN},
    {"-O1", PLAIN},
    {"-O2", PLAIN},
    {"-O3", PLAIN},
    {"-Os", PLAIN},
    {"-Og", PLAIN},
    {"-Ofast", PLAIN},
    {"-fopenmp", OPENMP},
    {"-fopenmp=libomp", OPENMP},
    {"-fopenmp=libgomp", OPENMP},
    {"-fopenmp=libiomp5", OPENMP},
    {"-fiopenmp", OPENMP},
    {"-qopenmp", OPENMP},
    {"-openmp", OPENMP},
    {"-mp", OPENMP},
    {"-fopenmp-simd", PLAIN},
    {"-fexceptions", PLAIN},
    {"-fno-exceptions", PLAIN},
    {"-frtti", PLAIN},
    {"-fno-rtti", PLAIN},
    {"-fchar8_t", PLAIN},
    {"-fno-char8_t", PLAIN},
    {"-fcoroutines", PLAIN},
    {"-fsigned-char", PLAIN},
    {"-funsigned-char", PLAIN},
    {"-fno-signed-char", PLAIN},
    {"-fshort-enums", PLAIN},
    {"-fshort-wchar", PLAIN},
    {"-fms-extensions", PLAIN},
    {"-fgnu89-inline", PLAIN},
    {"-ffreestanding", PLAIN},
    {"-fhosted", PLAIN},
    {"-fblocks", PLAIN},
    {"-fdeclspec", PLAIN},
    {"-fno-builtin", PLAIN},
    {"-ffast-math", PLAIN},
    {"-fno-signed-zeros", PLAIN},
};

static bool fits(const rule *r, const char *word)
{
    size_t n = strlen(r->name);
    if (strncmp(word, r->name, n) != 0) return false;
    if (r->kind == ASSIGN) return word[n] == '\0' || word[n] == '=';
    if (r->kind == PLAIN || r->kind == OPENMP || r->kind == SKIP) return word[n] == '\0';
    if (r->kind == VALUE && n > 2) return word[n] == '\0'; /* "-target" is only ever apart */
    return true;
}

static const rule *rule_of(const char *word)
{
    if (word[0] != '-') return NULL; /* an input, a list of flags, a value of a dropped one */
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (fits(&rules[k], word)) return &rules[k];
    return NULL;
}

/* ---- keeping them --------------------------------------------------------------------------- */

static int keep(hpc_check_flags *f, const char *text)
{
    if (!text) return HPC_E_NOMEM;
    f->item[f->n++] = text;
    return HPC_OK;
}

/* Names of one letter have the value in the same word, longer ones in the next. */
static int keep_value(hpc_check_flags *f, const rule *r, const char *value, const char *folder)
{
    int rc = HPC_OK;
    const char *path = value;
    if (r->kind != VALUE) {
        path = check_path(f->arena, folder, value);
        if (!path) return HPC_E_NOMEM;
        if (r->kind == FILE_ && !hpc_file_exists(path)) path = value;
    }
    if (r->kind == ASSIGN) return keep(f, hpc_arena_text(f->arena, "%s=%s", r->name, path));
    if (strlen(r->name) == 2) return keep(f, hpc_arena_text(f->arena, "%s%s", r->name, path));
    TRY(keep(f, r->name));
    TRY(keep(f, hpc_arena_text(f->arena, "%s", path)));
out:
    return rc;
}

static int keep_openmp(hpc_check_flags *f)
{
    int rc = HPC_OK;
    for (int64_t i = 0; i < f->n; i++)
        if (strcmp(f->item[i], "-fopenmp") == 0) return HPC_OK;
    TRY(keep(f, "-fopenmp"));
    TRY(keep(f, "-fopenmp-version=51"));
out:
    return rc;
}

/* The word at *i and what belongs to it. */
static int filter_one(hpc_check_flags *f, const char *const *list, int64_t n, int64_t *i,
                      const char *folder)
{
    const char *word = list[*i];
    const rule *r = rule_of(word);
    if (!r) return HPC_OK;
    size_t length = strlen(r->name);
    switch (r->kind) {
    case SKIP: ++*i; return HPC_OK;
    case OPENMP: return keep_openmp(f);
    case PLAIN:
    case JOINED: return keep(f, hpc_arena_text(f->arena, "%s", word));
    default: break;
    }
    const char *value = word + length;
    if (*value == '=' && r->kind != VALUE) value++; /* as some compilers have it */
    if (!*value) value = ++*i < n ? list[*i] : "";
    return *value ? keep_value(f, r, value, folder) : HPC_OK;
}

static int filter(hpc_check_flags *f, const char *const *list, int64_t n, const char *folder)
{
    int rc = HPC_OK;
    /* A word becomes two at most: a value that was joined, and the version of OpenMP. */
    f->item = hpc_arena_alloc(f->arena, 2 * (size_t)n + 1, sizeof *f->item);
    if (!f->item) return HPC_E_NOMEM;
    for (int64_t i = 0; i < n; i++) TRY(filter_one(f, list, n, &i, folder));
    f->item[f->n] = NULL;
out:
    return rc;
}

static int working_folder(char out[PATH_MAX])
{
    return getcwd(out, PATH_MAX) ? HPC_OK : hpc_fail(HPC_E_IO, "the working folder has no name");
}

int hpc_check_flags_given(hpc_check_flags *out, const char *const *list, const char *folder)
{
    char here[PATH_MAX];
    int64_t n = 0;
    int rc;
    *out = (hpc_check_flags){0};
    TRY(working_folder(here));
    out->arena = hpc_arena_create(0);
    if (!out->arena) TRY(HPC_E_NOMEM);
    folder = folder ? check_path(out->arena, here, folder) : here;
    if (!folder) TRY(HPC_E_NOMEM);
    while (list[n]) n++;
    TRY(filter(out, list, n, folder));
    out->exact = true;
out:
    if (rc < 0) hpc_check_flags_release(out);
    return rc;
}

void hpc_check_flags_release(hpc_check_flags *f)
{
    hpc_arena_free(f->arena);
    *f = (hpc_check_flags){0};
}

/* ---- the entry of a file -------------------------------------------------------------------- */

typedef struct search {
    hpc_arena *arena;                   /* for paths of entries, rewound after each */
    const char *path, *database, *base; /* the file, the database and its folder */
    const hpc_json *best;
    int64_t best_score; /* of nothing: -1 */
} search;

enum { SCORE_STEM = 1 << 22, SCORE_LANGUAGE = 1 << 21, SCORE_EXACT = 1 << 23 };

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool same_stem(const char *a, const char *b)
{
    const char *x = name_of(a), *y = name_of(b), *dot = strrchr(x, '.'), *dot_y = strrchr(y, '.');
    size_t n = dot ? (size_t)(dot - x) : strlen(x), m = dot_y ? (size_t)(dot_y - y) : strlen(y);
    return n == m && memcmp(x, y, n) == 0;
}

static int64_t folders_in_common(const char *a, const char *b)
{
    int64_t n = 0;
    for (; *a && *a == *b; a++, b++) n += *a == '/';
    return n;
}

/* A ".h" may belong to a file of any language. */
static bool same_language(const char *asked, const char *other)
{
    size_t n = strlen(asked);
    if (n > 2 && strcmp(asked + n - 2, ".h") == 0) return true;
    return hpc_language_of_path(asked) == hpc_language_of_path(other);
}

static int64_t score_of(const search *s, const char *path)
{
    int64_t score = folders_in_common(s->path, path);
    if (score >= SCORE_LANGUAGE) score = SCORE_LANGUAGE - 1;
    if (strcmp(path, s->path) == 0) return SCORE_EXACT;
    if (same_stem(path, s->path)) score += SCORE_STEM;
    if (same_language(s->path, path)) score += SCORE_LANGUAGE;
    return score;
}

/* The folder of an entry, absolute. */
static int folder_of(const char **out, const search *s, hpc_arena *a, const hpc_json *entry)
{
    const hpc_json *v = hpc_json_get(entry, "directory");
    const char *text = ".";
    int rc = HPC_OK;
    if (v) TRY(hpc_json_text(&text, v, "directory"));
    *out = check_path(a, s->base, text);
    if (!*out) rc = HPC_E_NOMEM;
out:
    return rc;
}

static int consider(search *s, const hpc_json *entry)
{
    const char *folder, *file;
    int rc;
    hpc_arena_mark mark = hpc_arena_here(s->arena);
    if (hpc_json_kind_of(entry) != HPC_JSON_OBJECT) TRY(hpc_fail(HPC_E_FORMAT, "is not an object"));
    TRY(hpc_json_text(&file, hpc_json_get(entry, "file"), "file"));
    TRY(folder_of(&folder, s, s->arena, entry));
    const char *path = check_path(s->arena, folder, file);
    if (!path) TRY(HPC_E_NOMEM);
    int64_t score = score_of(s, path);
    if (score > s->best_score) {
        s->best = entry;
        s->best_score = score;
    }
out:
    hpc_arena_rewind(s->arena, mark);
    return rc;
}

/* The words of the entry's command, that of the compiler aside. */
static int words_of(const char ***out, int64_t *n, hpc_arena *a, const hpc_json *entry)
{
    const hpc_json *list = hpc_json_get(entry, "arguments");
    const char *command;
    int rc = HPC_OK;
    if (!list) {
        TRY(hpc_json_text(&command, hpc_json_get(entry, "command"), "command"));
        TRY(check_words(out, n, a, command));
    } else {
        if (hpc_json_kind_of(list) != HPC_JSON_LIST)
            TRY(hpc_fail(HPC_E_FORMAT, "arguments is not a list"));
        *n = hpc_json_n(list);
        *out = hpc_arena_alloc(a, (size_t)*n + 1, sizeof **out);
        if (!*out) TRY(HPC_E_NOMEM);
        for (int64_t i = 0; i < *n; i++)
            TRY(hpc_json_text(&(*out)[i], hpc_json_at(list, i), "arguments"));
    }
    if (*n > 0) ++*out, --*n;
out:
    return rc;
}

static int take(hpc_check_flags *out, search *s)
{
    const char **words, *folder, *file;
    int64_t n;
    int rc;
    TRY(folder_of(&folder, s, out->arena, s->best));
    TRY(words_of(&words, &n, out->arena, s->best));
    TRY(filter(out, words, n, folder));
    TRY(hpc_json_text(&file, hpc_json_get(s->best, "file"), "file"));
    out->from = check_path(out->arena, folder, file);
    out->exact = s->best_score == SCORE_EXACT;
    if (!out->from) rc = HPC_E_NOMEM;
out:
    return rc;
}

static int find(hpc_check_flags *out, search *s, const hpc_json *root)
{
    int rc = HPC_OK;
    int64_t i = 0;
    if (hpc_json_kind_of(root) != HPC_JSON_LIST)
        return hpc_fail(HPC_E_FORMAT, "%.300s is not a list of commands", s->database);
    for (; i < hpc_json_n(root) && s->best_score < SCORE_EXACT; i++)
        TRY(consider(s, hpc_json_at(root, i)));
    if (!s->best) return HPC_OK;
    for (i = 0; hpc_json_at(root, i) != s->best; i++) continue;
    TRY(take(out, s));
out:
    if (rc < 0 && rc != HPC_E_NOMEM)
        hpc_error_where("%.200s: entry %lld", s->database, (long long)i + 1);
    return rc;
}

/* The database itself, and its folder. */
static int locate(search *s, const char *here, const char *database)
{
    const char *whole = check_path(s->arena, here, database);
    if (!whole) return HPC_E_NOMEM;
    s->database = hpc_arena_text(s->arena, "%s/compile_commands.json", whole);
    s->base = whole;
    if (!s->database) return HPC_E_NOMEM;
    if (hpc_file_exists(s->database)) return HPC_OK;
    size_t n = (size_t)(name_of(whole) - whole);
    s->database = whole;
    s->base = hpc_arena_text(s->arena, "%.*s", (int)n, whole);
    return s->base ? HPC_OK : HPC_E_NOMEM;
}

int hpc_check_flags_find(hpc_check_flags *out, const char *database, const char *path)
{
    char here[PATH_MAX];
    hpc_json *root = NULL;
    search s = {.best_score = -1};
    int rc;
    *out = (hpc_check_flags){0};
    TRY(working_folder(here));
    out->arena = hpc_arena_create(0);
    s.arena = hpc_arena_create(0);
    if (!out->arena || !s.arena) TRY(HPC_E_NOMEM);
    TRY(locate(&s, here, database));
    s.path = check_path(s.arena, here, path);
    if (!s.path) TRY(HPC_E_NOMEM);
    TRY(hpc_json_read(&root, s.database));
    TRY(find(out, &s, root));
out:
    hpc_json_free(root);
    hpc_arena_free(s.arena);
    if (rc < 0) hpc_check_flags_release(out);
    return rc;
}

/* ---- where it lies ---------------------------------------------------------------------- */

void hpc_check_database_find(char *out, const char *file)
{
    static const char *const names[] = {"compile_commands.json", "build/compile_commands.json"};
    char folder[PATH_MAX];
    *out = '\0';
    if (!realpath(file, folder)) return;
    for (char *slash = strrchr(folder, '/'); slash; slash = strrchr(folder, '/')) {
        *slash = '\0';
        for (int k = 0; k < 2; k++) {
            int n = snprintf(out, PATH_MAX, "%s/%s", folder, names[k]);
            if (n < PATH_MAX && hpc_file_exists(out)) return;
        }
    }
    *out = '\0';
}

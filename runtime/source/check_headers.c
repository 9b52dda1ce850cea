/*
 * check_headers.c: the standard headers that a file includes before any code, so that files with
 * the same flags can share one parse of them.
 *
 * Standard headers may be included in any order, and a macro of the user's changes none of them
 * unless it has a name that is reserved. A header is in the set only if the compiler certainly
 * includes it, and before anything that it could change. A header that is left out costs time
 * alone: the file includes it itself.
 */
#include <ctype.h>
#include <string.h>

#include "runtime/source/check_priv.h"

enum { DEPTH_MOST = 32, FILE_MOST = 1 << 20, FILES_MOST = 512 };

/* Of C++, C and POSIX. The order is that of the text that includes them. */
static const char *const names[] = {
    "algorithm",     "any",         "array",         "atomic",
    "bitset",        "cassert",     "cctype",        "cerrno",
    "cfloat",        "chrono",      "cinttypes",     "climits",
    "clocale",       "cmath",       "complex",       "condition_variable",
    "csignal",       "cstdarg",     "cstddef",       "cstdint",
    "cstdio",        "cstdlib",     "cstring",       "ctime",
    "deque",         "exception",   "forward_list",  "fstream",
    "functional",    "future",      "initializer_list", "iomanip",
    "ios",           "iosfwd",      "iostream",      "istream",
    "iterator",      "limits",      "list",          "locale",
    "map",           "memory",      "mutex",         "new",
    "numeric",       "optional",    "ostream",       "queue",
    "random",        "ratio",       "regex",         "set",
    "sstream",       "stack",       "stdexcept",     "streambuf",
    "string",        "string_view", "system_error",  "thread",
    "tuple",         "type_traits", "typeinfo",      "unordered_map",
    "unordered_set", "utility",     "valarray",      "variant",
    "vector",        "assert.h",    "ctype.h",       "errno.h",
    "float.h",       "inttypes.h",  "limits.h",      "locale.h",
    "math.h",        "signal.h",    "stdarg.h",      "stdbool.h",
    "stddef.h",      "stdint.h",    "stdio.h",       "stdlib.h",
    "string.h",      "time.h",      "dirent.h",      "fcntl.h",
    "omp.h",         "pthread.h",   "sched.h",       "strings.h",
    "sys/mman.h",    "sys/resource.h", "sys/stat.h", "sys/time.h",
    "sys/times.h",   "sys/types.h", "sys/wait.h",    "unistd.h"};
enum { NAMES_N = sizeof names / sizeof *names };
_Static_assert(NAMES_N <= sizeof(check_headers) * 8, "one bit for each name");

/* ---- sets ----------------------------------------------------------------------------------- */

static bool has(const check_headers *s, int k)
{
    return s->bits[k / 64] >> (k % 64) & 1;
}

static bool add_name(check_headers *s, const char *name, size_t n)
{
    for (int k = 0; k < NAMES_N; k++) {
        if (strlen(names[k]) != n || memcmp(names[k], name, n) != 0) continue;
        s->bits[k / 64] |= UINT64_C(1) << (k % 64);
        return true;
    }
    return false;
}

int check_headers_n(const check_headers *s)
{
    int n = 0;
    for (int k = 0; k < NAMES_N; k++) n += has(s, k);
    return n;
}

bool check_headers_within(const check_headers *a, const check_headers *b)
{
    return (a->bits[0] & ~b->bits[0]) == 0 && (a->bits[1] & ~b->bits[1]) == 0;
}

int check_headers_text(hpc_buf *out, const check_headers *s)
{
    for (int k = 0; k < NAMES_N; k++)
        if (has(s, k)) hpc_buf_printf(out, "#include <%s>\n", names[k]);
    return out->failed;
}

/* ---- headers that are missing --------------------------------------------------------------- */

enum { KEY_BYTES = 8 + 120 };

/* Where a header is looked for depends on the flags. 0: the name is too long. */
static size_t missing_key(char key[KEY_BYTES], const hpc_check_file *f, const char *name, size_t n)
{
    uint64_t hash = 0;
    for (int64_t k = 0; k < f->flags_n; k++)
        hash = hpc_hash(f->flags[k], strlen(f->flags[k]) + 1, hash);
    if (n > KEY_BYTES - sizeof hash) return 0;
    memcpy(key, &hash, sizeof hash);
    memcpy(key + sizeof hash, name, n);
    return sizeof hash + n;
}

bool check_headers_is_missing(const hpc_check_file *f, const char *name, size_t n)
{
    char key[KEY_BYTES];
    uint64_t value;
    const size_t key_n = missing_key(key, f, name, n);
    return key_n > 0 && hpc_map_get(f->c->missing, key, key_n, &value);
}

int check_headers_add_missing(hpc_check_file *f, const char *name, size_t n)
{
    char key[KEY_BYTES];
    const size_t key_n = missing_key(key, f, name, n);
    return key_n > 0 ? hpc_map_put(f->c->missing, key, key_n, 1) : HPC_OK;
}

/* ---- lines ---------------------------------------------------------------------------------- */

typedef struct scan {
    const hpc_check_file *f;
    check_headers *out;
    hpc_arena *arena;
    hpc_map *seen;    /* files, by path */
    hpc_map *defined; /* macros that the files defined */
    bool stop;        /* code, or something that may be code, was met */
} scan;

typedef struct cursor {
    const char *at, *end;
} cursor;

typedef struct word {
    const char *at;
    size_t n;
} word;

/* After blanks and comments; the end of a line is a blank if `lines`. */
static void skip(cursor *c, bool lines)
{
    while (c->at < c->end) {
        const size_t left = (size_t)(c->end - c->at);
        if (*c->at == '\\' && left > 1 && (c->at[1] == '\n' || c->at[1] == '\r')) {
            c->at += c->at[1] == '\r' && left > 2 ? 3 : 2;
        } else if (isspace((unsigned char)*c->at)) {
            if (*c->at == '\n' && !lines) return;
            c->at++;
        } else if (left > 1 && c->at[0] == '/' && c->at[1] == '*') {
            const char *end = memmem(c->at + 2, left - 2, "*/", 2);
            c->at = end ? end + 2 : c->end;
        } else if (left > 1 && c->at[0] == '/' && c->at[1] == '/') {
            const char *end = memchr(c->at, '\n', left);
            c->at = end ? end : c->end;
        } else {
            return;
        }
    }
}

/* To the end of the line. A string may contain what looks like a comment. */
static void skip_line(cursor *c)
{
    bool text = false;
    while (c->at < c->end) {
        if (!text) skip(c, false);
        if (c->at == c->end || *c->at == '\n') return;
        if (*c->at == '"') text = !text;
        if (*c->at == '\\' && c->at + 1 < c->end) c->at++;
        c->at++;
    }
}

static word take_word(cursor *c)
{
    skip(c, false);
    word w = {c->at, 0};
    while (c->at < c->end && (isalnum((unsigned char)*c->at) || *c->at == '_')) c->at++;
    w.n = (size_t)(c->at - w.at);
    return w;
}

static bool is(word w, const char *text)
{
    return strlen(text) == w.n && memcmp(text, w.at, w.n) == 0;
}

/* The name of the next directive, with the cursor after it; n is 0 at the end of the file and
 * where code stands, which *code says. */
static word next_directive(cursor *c, bool *code)
{
    skip(c, true);
    *code = c->at < c->end && *c->at != '#';
    if (c->at == c->end || *code) return (word){c->at, 0};
    c->at++;
    return take_word(c);
}

/* ---- macros and conditions ------------------------------------------------------------------ */

static bool is_defined(const scan *s, word w)
{
    uint64_t value;
    if (is(w, "__cplusplus")) return true;
    if (hpc_map_get(s->defined, w.at, w.n, &value)) return true;
    for (int64_t k = 0; k < s->f->flags_n; k++) {
        const char *flag = s->f->flags[k];
        if (strncmp(flag, "-D", 2) == 0 && strncmp(flag + 2, w.at, w.n) == 0 &&
            (flag[2 + w.n] == '\0' || flag[2 + w.n] == '='))
            return true;
    }
    return false;
}

/* No standard header tests or uses such a name, nor defines it. */
static bool is_free(word w)
{
    return w.n > 0 && isupper((unsigned char)*w.at);
}

static bool is_undefined(word w)
{
    return is_free(w) || is(w, "_WIN32") || is(w, "_MSC_VER");
}

static void define(scan *s, word w)
{
    if (w.n == 0 || hpc_map_put(s->defined, w.at, w.n, 1) < 0) s->stop = true;
}

/* What stands between an #if and its #endif. */
typedef struct branches {
    bool plain;  /* whichever branch is taken, it is directives that matter to nothing */
    bool choice; /* there is an #else or #elif */
    bool last;   /* nothing follows in the file */
} branches;

/* From after an #if to after its #endif. */
static branches skip_branches(cursor *c)
{
    branches b = {.plain = true};
    bool code;
    for (int depth = 1; depth > 0;) {
        skip_line(c);
        const word w = next_directive(c, &code);
        if (c->at == c->end && w.n == 0) return (branches){.choice = true};
        if (w.n >= 2 && memcmp(w.at, "if", 2) == 0)
            depth++;
        else if (is(w, "endif"))
            depth--;
        else if (w.n >= 2 && memcmp(w.at, "el", 2) == 0)
            b.choice |= depth == 1;
        else if (!is(w, "error") && !is(w, "warning"))
            b.plain = false;
    }
    cursor rest = *c;
    skip_line(&rest);
    skip(&rest, true);
    b.last = rest.at == rest.end;
    return b;
}

/* "#ifndef X, #define X" around all of a file; the cursor is after "ifndef". */
static bool is_guard(cursor c)
{
    bool code;
    const word name = take_word(&c);
    cursor inside = c;
    skip_line(&inside);
    if (!is(next_directive(&inside, &code), "define")) return false;
    const word defined = take_word(&inside);
    if (name.n == 0 || defined.n != name.n || memcmp(defined.at, name.at, name.n) != 0)
        return false;
    const branches b = skip_branches(&c);
    return b.last && !b.choice;
}

/* ---- files ---------------------------------------------------------------------------------- */

static void scan_text(scan *s, const char *path, const char *text, size_t n, int depth);

static void scan_file(scan *s, const char *path, int depth)
{
    hpc_buf text = {0};
    uint64_t value;
    if (hpc_map_get(s->seen, path, strlen(path), &value)) return;
    if (depth >= DEPTH_MOST || hpc_map_n(s->seen) >= FILES_MOST ||
        hpc_map_put(s->seen, path, strlen(path), 1) < 0 ||
        hpc_file_read(&text, path, FILE_MOST) < 0)
    {
        hpc_error_clear();
        s->stop = true;
    } else {
        scan_text(s, path, text.data ? text.data : "", text.n, depth);
    }
    hpc_buf_release(&text);
}

static const char *folder_of_flag(const scan *s, int64_t *k)
{
    static const char *const apart[] = {"-isystem", "-idirafter", "-iquote"};
    const char *flag = s->f->flags[*k];
    if (strncmp(flag, "-I", 2) == 0 && flag[2]) return flag + 2;
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (strcmp(flag, apart[i]) == 0 && *k + 1 < s->f->flags_n) return s->f->flags[++*k];
    return NULL;
}

/* NULL: in no folder that is known. */
static const char *find(const scan *s, const char *includer, word name, bool quoted)
{
    const char *slash = strrchr(includer, '/');
    if (quoted && slash) {
        const char *path = hpc_arena_text(s->arena, "%.*s/%.*s", (int)(slash - includer), includer,
                                          (int)name.n, name.at);
        if (path && hpc_file_exists(path)) return path;
    }
    for (int64_t k = 0; k < s->f->flags_n; k++) {
        const char *folder = folder_of_flag(s, &k);
        if (!folder || strncmp(folder, CHECK_FOLDER, strlen(CHECK_FOLDER)) == 0) continue;
        const char *path =
            hpc_arena_text(s->arena, "%s/%.*s", folder, (int)name.n, name.at);
        if (path && hpc_file_exists(path)) return path;
    }
    return NULL;
}

static void scan_include(scan *s, const char *includer, cursor *c, int depth)
{
    skip(c, false);
    const char open = c->at < c->end ? *c->at : '\0', close = open == '<' ? '>' : open;
    if (open != '<' && open != '"') { /* a macro */
        s->stop = true;
        return;
    }
    word name = {c->at + 1, 0};
    while (name.at + name.n < c->end && name.at[name.n] != close && name.at[name.n] != '\n')
        name.n++;
    const char *path =
        name.n > 0 && *name.at == '/'
            ? hpc_arena_text(s->arena, "%.*s", (int)name.n, name.at)
            : find(s, includer, name, open == '"');
    if (path)
        scan_file(s, path, depth + 1);
    else if (!add_name(s->out, name.at, name.n) && !check_headers_is_missing(s->f, name.at, name.n))
        s->stop = true;
}

/* An #if, #ifdef or #ifndef: enters it, or goes after it. */
static void scan_condition(scan *s, cursor *c, word directive, int *open)
{
    const bool negated = is(directive, "ifndef"), guard = negated && is_guard(*c);
    cursor ahead = *c;
    const word name = take_word(&ahead);
    const bool defined = is_defined(s, name);
    const bool known = !is(directive, "if") && (defined || guard || is_undefined(name));
    if (known && defined != negated) {
        ++*open;
        if (!guard) return;
        bool code; /* its #define changes nothing, whatever its name */
        skip_line(c);
        next_directive(c, &code);
        define(s, take_word(c));
        return;
    }
    const branches b = skip_branches(c);
    if (!b.plain && (!known || b.choice)) s->stop = true;
}

static void scan_directive(scan *s, const char *path, cursor *c, word w, int depth, int *open)
{
    if (is(w, "include")) {
        scan_include(s, path, c, depth);
    } else if (is(w, "define")) {
        const word name = take_word(c);
        s->stop |= !is_free(name);
        define(s, name);
    } else if (is(w, "pragma")) {
        s->stop |= !is(take_word(c), "once");
    } else if (is(w, "endif") && *open > 0) {
        --*open;
    } else if (is(w, "if") || is(w, "ifdef") || is(w, "ifndef")) {
        scan_condition(s, c, w, open);
    } else if (w.n > 0) { /* an #else of what was entered, an #undef */
        s->stop = true;
    }
}

static void scan_text(scan *s, const char *path, const char *text, size_t n, int depth)
{
    cursor c = {text, text + n};
    int open = 0;
    while (!s->stop) {
        bool code;
        const word w = next_directive(&c, &code);
        s->stop |= code;
        if (code || (c.at == c.end && w.n == 0)) return;
        scan_directive(s, path, &c, w, depth, &open);
        skip_line(&c);
    }
}

int check_headers_find(check_headers *out, const hpc_check_file *f)
{
    scan s = {.f = f, .out = out};
    int rc = HPC_OK;
    *out = (check_headers){0};
    if (f->language != HPC_LANGUAGE_CPP && f->language != HPC_LANGUAGE_CUDA &&
        f->language != HPC_LANGUAGE_HIP)
        return HPC_OK; /* C's headers take no time */
    s.arena = hpc_arena_create(0);
    s.seen = hpc_map_create();
    s.defined = hpc_map_create();
    if (!s.arena || !s.seen || !s.defined) TRY(HPC_E_NOMEM);
    scan_text(&s, f->path, f->text, f->n, 0);
out:
    hpc_map_free(s.defined);
    hpc_map_free(s.seen);
    hpc_arena_free(s.arena);
    return rc;
}

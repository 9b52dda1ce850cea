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

/* Headers that several headers include, as bits, and the time that they take. */
enum { STRING = 1 << 0, STREAM = 1 << 1, MATH = 1 << 2, PARTS_N = 3 };
static const int part_ms[PARTS_N] = {70, 50, 60};

/* Headers of C++, C and POSIX, with the time that libclang needs for the rest of each: ms on a
 * core of 2023 with GCC 12's headers. Only their ratios matter, to what is worth sharing. The order
 * is that of the text that includes them. */
static const struct {
    const char *name;
    int ms, parts;
} headers[] = {
    {"algorithm", 15, 0},
    {"any", 20, 0},
    {"array", 15, 0},
    {"atomic", 20, 0},
    {"bitset", 20, 0},
    {"cassert", 2, 0},
    {"cctype", 2, 0},
    {"cerrno", 2, 0},
    {"cfloat", 2, 0},
    {"chrono", 30, 0},
    {"cinttypes", 2, 0},
    {"climits", 2, 0},
    {"clocale", 2, 0},
    {"cmath", 2, MATH},
    {"complex", 30, MATH | STRING | STREAM},
    {"condition_variable", 50, 0},
    {"csignal", 2, 0},
    {"cstdarg", 2, 0},
    {"cstddef", 2, 0},
    {"cstdint", 2, 0},
    {"cstdio", 2, 0},
    {"cstdlib", 2, 0},
    {"cstring", 2, 0},
    {"ctime", 2, 0},
    {"deque", 10, 0},
    {"exception", 10, 0},
    {"forward_list", 10, 0},
    {"fstream", 8, STRING | STREAM},
    {"functional", 50, 0},
    {"future", 50, 0},
    {"initializer_list", 10, 0},
    {"iomanip", 8, STRING | STREAM},
    {"ios", 8, STRING | STREAM},
    {"iosfwd", 10, 0},
    {"iostream", 8, STRING | STREAM},
    {"istream", 8, STRING | STREAM},
    {"iterator", 10, 0},
    {"limits", 10, 0},
    {"list", 10, 0},
    {"locale", 20, STRING | STREAM},
    {"map", 20, 0},
    {"memory", 50, 0},
    {"mutex", 50, 0},
    {"new", 10, 0},
    {"numeric", 10, 0},
    {"optional", 20, 0},
    {"ostream", 8, STRING | STREAM},
    {"queue", 20, 0},
    {"random", 60, MATH | STRING | STREAM},
    {"ratio", 10, 0},
    {"regex", 120, STRING | STREAM},
    {"set", 20, 0},
    {"sstream", 8, STRING | STREAM},
    {"stack", 10, 0},
    {"stdexcept", 5, STRING},
    {"streambuf", 8, STRING | STREAM},
    {"string", 5, STRING},
    {"string_view", 5, STRING},
    {"system_error", 5, STRING},
    {"thread", 50, 0},
    {"tuple", 10, 0},
    {"type_traits", 10, 0},
    {"typeinfo", 10, 0},
    {"unordered_map", 40, 0},
    {"unordered_set", 40, 0},
    {"utility", 10, 0},
    {"valarray", 40, 0},
    {"variant", 20, 0},
    {"vector", 20, 0},
    {"assert.h", 2, 0},
    {"ctype.h", 2, 0},
    {"dirent.h", 2, 0},
    {"errno.h", 2, 0},
    {"fcntl.h", 2, 0},
    {"float.h", 2, 0},
    {"inttypes.h", 2, 0},
    {"limits.h", 2, 0},
    {"locale.h", 2, 0},
    {"math.h", 2, MATH},
    {"omp.h", 2, 0},
    {"pthread.h", 2, 0},
    {"sched.h", 2, 0},
    {"signal.h", 2, 0},
    {"stdarg.h", 2, 0},
    {"stdbool.h", 2, 0},
    {"stddef.h", 2, 0},
    {"stdint.h", 2, 0},
    {"stdio.h", 2, 0},
    {"stdlib.h", 2, 0},
    {"string.h", 2, 0},
    {"strings.h", 2, 0},
    {"sys/mman.h", 2, 0},
    {"sys/resource.h", 2, 0},
    {"sys/stat.h", 2, 0},
    {"sys/time.h", 2, 0},
    {"sys/times.h", 2, 0},
    {"sys/types.h", 2, 0},
    {"sys/wait.h", 2, 0},
    {"time.h", 2, 0},
    {"unistd.h", 2, 0},
};
enum { HEADERS_N = sizeof headers / sizeof *headers };
_Static_assert(HEADERS_N <= sizeof(check_headers) * 8, "one bit for each");

/* ---- sets ----------------------------------------------------------------------------------- */

static bool has(const check_headers *s, int k)
{
    return s->bits[k / 64] >> (k % 64) & 1;
}

static bool add_name(check_headers *s, const char *name, size_t n)
{
    for (int k = 0; k < HEADERS_N; k++) {
        if (strlen(headers[k].name) != n || memcmp(headers[k].name, name, n) != 0) continue;
        s->bits[k / 64] |= UINT64_C(1) << (k % 64);
        return true;
    }
    return false;
}

int check_headers_ms(const check_headers *s)
{
    int ms = 0, parts = 0;
    for (int k = 0; k < HEADERS_N; k++) {
        if (!has(s, k)) continue;
        ms += headers[k].ms;
        parts |= headers[k].parts;
    }
    for (int k = 0; k < PARTS_N; k++)
        if (parts >> k & 1) ms += part_ms[k];
    return ms;
}

check_headers check_headers_common(const check_headers *a, const check_headers *b)
{
    return (check_headers){{a->bits[0] & b->bits[0], a->bits[1] & b->bits[1]}};
}

bool check_headers_within(const check_headers *a, const check_headers *b)
{
    return (a->bits[0] & ~b->bits[0]) == 0 && (a->bits[1] & ~b->bits[1]) == 0;
}

int check_headers_text(hpc_buf *out, const check_headers *s)
{
    for (int k = 0; k < HEADERS_N; k++)
        if (has(s, k)) hpc_buf_printf(out, "#include <%s>\n", headers[k].name);
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

/* A header that libclang did not find with the file's flags. */
static bool is_missing(const hpc_check_file *f, const char *name, size_t n)
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

/* The text between an #if and its #endif. */
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

int check_read_header(hpc_buf *out, const char *path, size_t limit)
{
    hpc_file_view regular;
    int rc;
    TRY(hpc_file_open(&regular, path));
    hpc_file_close(&regular);
    TRY(hpc_file_read(out, path, limit));
out:
    return rc;
}

static void scan_text(scan *s, const char *path, const char *text, size_t n, int depth);

static void scan_file(scan *s, const char *path, int depth)
{
    hpc_buf text = {0};
    uint64_t value;
    if (hpc_map_get(s->seen, path, strlen(path), &value)) return;
    if (depth >= DEPTH_MOST || hpc_map_n(s->seen) >= FILES_MOST ||
        hpc_map_put(s->seen, path, strlen(path), 1) < 0 ||
        check_read_header(&text, path, FILE_MOST) < 0)
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

static const char *beside(const scan *s, const char *includer, word name)
{
    const char *slash = strrchr(includer, '/');
    if (!slash) return NULL;
    const char *path = hpc_arena_text(s->arena, "%.*s/%.*s", (int)(slash - includer), includer,
                                      (int)name.n, name.at);
    return path && hpc_file_exists(path) ? path : NULL;
}

/* NULL: in no folder that is known. */
static const char *find(const scan *s, const char *includer, word name, bool quoted)
{
    const char *path = quoted ? beside(s, includer, name) : NULL;
    for (int64_t k = 0; k < s->f->flags_n && !path; k++) {
        const char *folder = folder_of_flag(s, &k);
        if (!folder || strncmp(folder, CHECK_FOLDER, strlen(CHECK_FOLDER)) == 0) continue;
        path = hpc_arena_text(s->arena, "%s/%.*s", folder, (int)name.n, name.at);
        if (path && !hpc_file_exists(path)) path = NULL;
    }
    return path;
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
    const char *path = name.n > 0 && *name.at == '/'
                           ? hpc_arena_text(s->arena, "%.*s", (int)name.n, name.at)
                           : find(s, includer, name, open == '"');
    if (!path && add_name(s->out, name.at, name.n)) return;
    if (!path && is_missing(s->f, name.at, name.n)) /* then it reads this instead */
        path = beside(s, includer, name);
    else if (!path)
        s->stop = true;
    if (path) scan_file(s, path, depth + 1);
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

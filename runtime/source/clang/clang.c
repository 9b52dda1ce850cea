/*
 * clang.c: the function table over libclang. Every unit has an index of its
 * own, because libclang frees nothing of a closed unit before its index. Crash recovery is off: it
 * would leave a signal handler by a jump, with locks held and memory in an undefined state, and the
 * process is expendable.
 */
#include "runtime/source/clang/clang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/source/clang/priv.h"

enum { TEXTS_MOST = 32 };

static int failed(char error[HPC_CLANG_ERROR_BYTES], const char *what, int code)
{
    static const char *const names[] = {"", "an unknown failure", "a crash", "bad arguments",
                                        "a broken syntax tree"};
    bool known = code > 0 && code < (int)(sizeof names / sizeof *names);
    snprintf(error, HPC_CLANG_ERROR_BYTES, "libclang cannot %s: %s", what,
             known ? names[code] : names[1]);
    return -1;
}

static unsigned unsaved_of(struct CXUnsavedFile out[TEXTS_MOST], const hpc_clang_text *texts,
                           size_t n)
{
    unsigned k = 0;
    for (; k < n && k < TEXTS_MOST; k++)
        out[k] = (struct CXUnsavedFile){texts[k].path, texts[k].text, texts[k].n};
    return k;
}

/* ---- units ---------------------------------------------------------------------------------- */

static void close_unit(hpc_clang_unit *u)
{
    if (!u) return;
    walk_close(u);
    if (u->unit) clang_disposeTranslationUnit(u->unit);
    if (u->index) clang_disposeIndex(u->index);
    free(u->kept);
    free(u);
}

static CXIndex create_index(void)
{
    CXIndexOptions o;
    memset(&o, 0, sizeof o);
    o.Size = sizeof o;
    o.StorePreamblesInMemory = 1;
    o.ExcludeDeclarationsFromPCH = 1; /* of no visit */
    CXIndex index = clang_createIndexWithOptions(&o);
    clang_toggleCrashRecovery(0); /* creating an index turns it on */
    return index;
}

static int count(const char *const *flags)
{
    int n = 0;
    while (flags[n]) n++;
    return n;
}

static bool is_language(const char *const *flags, const char *name)
{
    for (int k = 0; flags[k] && flags[k + 1]; k++)
        if (strcmp(flags[k], "-x") == 0) return strcmp(flags[k + 1], name) == 0;
    return false;
}

/* Headers come before what is checked: they are parsed once, without the bodies of functions, and
 * a header that is missing does not end the parse. A preamble costs as much as half a parse. */
static const unsigned how = CXTranslationUnit_KeepGoing;
static const unsigned with_preamble =
    CXTranslationUnit_PrecompiledPreamble | CXTranslationUnit_CreatePreambleOnFirstParse;
static const unsigned without_bodies =
    CXTranslationUnit_SkipFunctionBodies | CXTranslationUnit_LimitSkipFunctionBodiesToPreamble;

static void note_kept(CXFile file, CXSourceLocation *stack, unsigned n, CXClientData user)
{
    hpc_clang_unit *u = user;
    (void)stack;
    (void)n;
    walk_grow(&u->kept, &u->kept_cap, u->kept_n + 1, sizeof *u->kept);
    if (clang_getFileUniqueID(file, &u->kept[u->kept_n]) == 0) u->kept_n++;
}

static int open_unit(hpc_clang_unit **out, hpc_clang_kept **kept, const hpc_clang_text *texts,
                     size_t texts_n, const char *const *flags, bool bodies, bool again,
                     char error[HPC_CLANG_ERROR_BYTES])
{
    (void)kept;
    struct CXUnsavedFile unsaved[TEXTS_MOST];
    unsigned n = unsaved_of(unsaved, texts, texts_n);
    *out = NULL;
    hpc_clang_unit *u = calloc(1, sizeof *u);
    if (!u) return failed(error, "begin", 0);
    u->is_c = is_language(flags, "c");
    u->is_cuda = is_language(flags, "cuda");
    u->index = create_index();
    const unsigned options = how | (again ? with_preamble : 0u) | (bodies ? 0u : without_bodies);
    int code = CXError_Failure;
    if (u->index)
        code = (int)clang_parseTranslationUnit2(u->index, texts[0].path, flags, count(flags),
                                                unsaved, n, options, &u->unit);
    u->file = u->unit ? clang_getFile(u->unit, texts[0].path) : NULL;
    if (code == CXError_Success && u->file) {
        clang_getInclusions(u->unit, note_kept, u);
        *out = u;
        return 0;
    }
    close_unit(u);
    return failed(error, "parse the file with these flags", code);
}

static bool is_kept(const hpc_clang_unit *u, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return false;
    for (size_t k = 0; k < u->kept_n; k++)
        if (u->kept[k].data[0] == st.st_dev && u->kept[k].data[1] == st.st_ino) return true;
    return false;
}

/* The line that includes the unit's own file is the last one of texts[0]. */
static unsigned last_line(const hpc_clang_text *t)
{
    size_t k = t->n;
    if (k > 0) k--;
    while (k > 0 && t->text[k - 1] != '\n') k--;
    return (unsigned)k;
}

static int parse_unit(hpc_clang_unit *u, const hpc_clang_text *texts, size_t texts_n, size_t own,
                      char error[HPC_CLANG_ERROR_BYTES])
{
    struct CXUnsavedFile unsaved[TEXTS_MOST];
    unsigned n = unsaved_of(unsaved, texts, texts_n);
    if (own > 0 && is_kept(u, texts[own].path)) return 1;
    int code =
        clang_reparseTranslationUnit(u->unit, n, unsaved, clang_defaultReparseOptions(u->unit));
    if (code != 0) return failed(error, "parse the file again", code);
    u->file = clang_getFile(u->unit, texts[own].path);
    u->outer = own > 0 ? clang_getFile(u->unit, texts[0].path) : NULL;
    u->outer_end = own > 0 ? last_line(&texts[0]) : 0;
    return u->file ? 0 : failed(error, "find the file", 0);
}

static void suspend_unit(hpc_clang_unit *u)
{
    walk_close(u);
    u->file = u->outer = NULL;
    clang_suspendTranslationUnit(u->unit);
}

/* ---- errors --------------------------------------------------------------------------------- */

static bool is_of_parser(CXDiagnostic d)
{
    CXString name = clang_getDiagnosticCategoryText(d);
    const char *s = clang_getCString(name);
    bool is =
        s && (strcmp(s, "Parse Issue") == 0 || strcmp(s, "Lexical or Preprocessor Issue") == 0);
    clang_disposeString(name);
    return is;
}

/* Position of the diagnostic; for a macro, where it is used. A token missing at the end of the file
 * is reported where the including text continues. */
static bool place(hpc_clang_issue *out, const hpc_clang_unit *u, CXDiagnostic d)
{
    CXFile file;
    unsigned line, column, at;
    clang_getExpansionLocation(clang_getDiagnosticLocation(d), &file, &line, &column, &at);
    if (file && u->outer && at >= u->outer_end && clang_File_isEqual(file, u->outer)) {
        size_t n = 0;
        const char *text = clang_getFileContents(u->unit, u->file, &n);
        const unsigned end = walk_end_of(text, n);
        clang_getExpansionLocation(clang_getLocationForOffset(u->unit, u->file, end), &file, &line,
                                   &column, &at);
    }
    if (!file || !u->file || !clang_File_isEqual(file, u->file)) return false;
    out->line = line;
    out->column = column;
    out->at = at;
    return true;
}

static bool is_of_include(CXDiagnostic note)
{
    static const char begin[] = "in file included from";
    CXString text = clang_getDiagnosticSpelling(note);
    const char *s = clang_getCString(text);
    bool is = s && strncmp(s, begin, sizeof begin - 1) == 0;
    clang_disposeString(text);
    return is;
}

/* An error in a header was led to by something in the file, and that is what the notes say. */
static void place_by_notes(hpc_clang_issue *out, const hpc_clang_unit *u, CXDiagnostic d)
{
    CXDiagnosticSet notes = clang_getChildDiagnostics(d);
    unsigned n = clang_getNumDiagnosticsInSet(notes);
    for (unsigned i = 0; i < n && out->line == 0; i++) {
        CXDiagnostic note = clang_getDiagnosticInSet(notes, i);
        if (!is_of_include(note)) place(out, u, note);
        clang_disposeDiagnostic(note);
    }
    clang_disposeDiagnosticSet(notes);
}

/* The string that the issue borrows the name of its header from. */
static CXString header_of(hpc_clang_issue *out, CXDiagnostic d)
{
    CXFile file = NULL;
    unsigned line = 0;
    if (!out->inside)
        clang_getExpansionLocation(clang_getDiagnosticLocation(d), &file, &line, NULL, NULL);
    CXString name = clang_getFileName(file); /* of no file: a string that is NULL */
    const char *path = clang_getCString(name), *slash = path ? strrchr(path, '/') : NULL;
    out->header = slash ? slash + 1 : path ? path : "";
    out->header_line = line;
    return name;
}

static bool report_one(const hpc_clang_unit *u, CXDiagnostic d,
                       bool (*report)(const hpc_clang_issue *issue, void *user), void *user)
{
    hpc_clang_issue issue = {0};
    if (clang_getDiagnosticSeverity(d) < CXDiagnostic_Error) return true;
    CXString text = clang_getDiagnosticSpelling(d);
    issue.text = clang_getCString(text);
    if (!issue.text) issue.text = "";
    issue.parse = is_of_parser(d);
    issue.inside = place(&issue, u, d);
    if (!issue.inside) place_by_notes(&issue, u, d);
    CXString header = header_of(&issue, d);
    bool more = report(&issue, user);
    clang_disposeString(header);
    clang_disposeString(text);
    return more;
}

static void issues(const hpc_clang_unit *u,
                   bool (*report)(const hpc_clang_issue *issue, void *user), void *user)
{
    unsigned n = clang_getNumDiagnostics(u->unit);
    bool more = true;
    for (unsigned i = 0; i < n && more; i++) {
        CXDiagnostic d = clang_getDiagnostic(u->unit, i);
        more = report_one(u, d, report, user);
        clang_disposeDiagnostic(d);
    }
}

const hpc_clang hpc_clang_table = {
    .open = open_unit,
    .parse = parse_unit,
    .issues = issues,
    .suspend = suspend_unit,
    .tree = walk_tree,
    .close = close_unit,
};

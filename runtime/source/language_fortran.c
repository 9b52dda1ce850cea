/*
 * language_fortran.c: distinguishes Fortran from C if the file name does not, and fixed from free
 * form, by the shape of the first few hundred lines, each on its own. Compilers use the extension,
 * but many free-form files are named ".f".
 */
#include "runtime/source/priv.h"

enum { LINES_N = 400 };

/* A line without its end and the blanks before it. */
typedef struct line {
    const uint8_t *p, *end;
    const uint8_t *code; /* after spaces and tabs */
} line;

static const uint8_t *next_line(line *l, const uint8_t *p, const uint8_t *end)
{
    const uint8_t *feed = hpc_scan_line(p, end);
    l->p = p;
    l->end = feed;
    while (l->end > p && hpc_byte_is_blank(l->end[-1])) l->end--;
    l->code = hpc_blanks_end(p, l->end);
    return feed < end ? feed + 1 : end;
}

/* ---- Fortran or C ------------------------------------------------------------------ */

static bool fortran_word(const uint8_t *p, const uint8_t *end)
{
    static const char *const words[] = {
        "integer",   "real",    "double",     "complex",     "logical",  "character", "common",
        "implicit",  "use",     "subroutine", "function",    "module",   "program",   "call",
        "parameter", "save",    "dimension",  "external",    "data",     "end",       "enddo",
        "endif",     "include", "interface",  "equivalence", "intrinsic"};
    const uint8_t *q = hpc_name_end(p, end);
    size_t n = (size_t)(q - p);
    char low[12];
    if (n < 3 || n > 11) return false;
    for (size_t i = 0; i < n; i++) low[i] = (char)hpc_byte_lower(p[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], low, n) == 0) return true;
    return false;
}

hpc_language hpc_language_of_shared(const uint8_t *p, const uint8_t *end, bool header)
{
    int fortran = 0, c = 0, other = 0;
    if (end - p > 2 && p[0] == '<' && p[1] == '?') return HPC_LANGUAGE_NONE;
    for (int i = 0; i < LINES_N && p < end; i++) {
        line l;
        p = next_line(&l, p, end);
        if (l.code == l.end) continue;
        uint8_t first = *l.code, last = l.end[-1];
        bool column_one = l.code == l.p;
        if (last == ';' || last == '{' || last == '}' || first == '{' || first == '}' ||
            (first == '/' && l.end - l.code > 1 && (l.code[1] == '*' || l.code[1] == '/')))
        {
            c++;
        } else if (first == '#') {
            c += l.end - l.code > 2 && !header; /* Fortran has preprocessor lines too */
        } else if (first == '!' || fortran_word(l.code, l.end) ||
                   (column_one && (first == 'c' || first == 'C') && l.end - l.p > 1 &&
                    !hpc_byte_in_name(l.p[1]) && l.p[1] != '('))
        {
            fortran++;
        } else {
            other++;
        }
        if (c > 20 + 2 * fortran) break;
    }
    if (fortran > 2 * c) return HPC_LANGUAGE_FORTRAN;
    if (header || c > 0) return HPC_LANGUAGE_C;
    return other > 0 ? HPC_LANGUAGE_NONE : HPC_LANGUAGE_C;
}

/* ---- fixed or free form --------------------------------------------------------------- */

static bool fixed_extension(const char *extension)
{
    static const char *const fixed[] = {"f", "for", "ftn", "f77"};
    char low[4] = {0};
    if (strlen(extension) > 3) return false;
    for (size_t i = 0; extension[i]; i++) low[i] = (char)hpc_byte_lower((uint8_t)extension[i]);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(low, fixed[i]) == 0) return true;
    return false;
}

static bool is_comment_column(uint8_t c)
{
    return c == 'c' || c == 'C' || c == '*' || c == 'd' || c == 'D';
}

/* +1: this line shows free form; -1: fixed form; 0: neither. */
static int form_of(const line *l)
{
    uint8_t first = *l->code;
    if (first == '!' || first == '#') return 0;
    if (l->code == l->p && is_comment_column(first)) {
        bool spaced = l->end - l->p < 2 || !hpc_byte_in_name(l->p[1]);
        return spaced ? -1 : 0; /* "call" and "c text" both begin with c */
    }
    size_t indent = (size_t)(l->code - l->p); /* a tab leads beyond column 6 */
    if (indent <= 5 && !memchr(l->p, '\t', indent)) {
        if (indent < 5 && hpc_byte_class[first] == HPC_CLASS_NAME) return 1;
        if (indent == 5 && !hpc_byte_in_name(first)) return -1;
    }
    if (l->end[-1] == '&' && l->end - l->p < 72 && !memchr(l->p, '!', (size_t)(l->end - l->p)))
        return 1;
    return 0;
}

bool hpc_language_fixed_form(const char *path, const char *text, size_t n)
{
    const char *extension = hpc_path_extension(path);
    const uint8_t *p = (const uint8_t *)text, *end = p + n;
    bool fixed = fixed_extension(extension);
    bool shared = strcmp(extension, "inc") == 0 || strcmp(extension, "h") == 0;
    if (!fixed && !shared) return false;
    int balance = fixed ? 0 : 1;
    for (int left = LINES_N; p < end && balance > -left && balance <= left; left--) {
        line l;
        p = next_line(&l, p, end);
        if (l.code < l.end) balance += form_of(&l);
    }
    return balance <= 0;
}

/*
 * language.c: the language of a file, from its name and the words in its first
 * kilobytes.
 *
 * It skips comments and strings; it does not parse or allocate. Code under #ifdef
 * __cplusplus does not make a header C++. language_fortran.c distinguishes Fortran from
 * C, and fixed from free form.
 */
#include "runtime/source/priv.h"

enum { LOOK_BYTES = 16 << 10 }; /* after the leading comments */

static const char *const names[HPC_LANGUAGE_N] = {
    [HPC_LANGUAGE_NONE] = "none",     [HPC_LANGUAGE_C] = "c",
    [HPC_LANGUAGE_CPP] = "c++",       [HPC_LANGUAGE_CUDA] = "cuda",
    [HPC_LANGUAGE_HIP] = "hip",       [HPC_LANGUAGE_FORTRAN] = "fortran",
    [HPC_LANGUAGE_OPENCL] = "opencl",
};

const char *hpc_language_name(hpc_language l)
{
    return (unsigned)l < HPC_LANGUAGE_N ? names[l] : names[HPC_LANGUAGE_NONE];
}

hpc_language hpc_language_named(const char *name)
{
    for (int l = 0; l < HPC_LANGUAGE_N; l++)
        if (strcmp(name, names[l]) == 0) return (hpc_language)l;
    return HPC_LANGUAGE_NONE;
}

/* ---- by name ------------------------------------------------------------------ */

/* Upper case counts where it is listed: "C" and "H" are C++, "c" and "h" are not. */
static const struct {
    const char *extension;
    hpc_language language;
} extensions[] = {
    {"c", HPC_LANGUAGE_C},         {"h", HPC_LANGUAGE_C},         {"inc", HPC_LANGUAGE_C},
    {"C", HPC_LANGUAGE_CPP},       {"cc", HPC_LANGUAGE_CPP},      {"CC", HPC_LANGUAGE_CPP},
    {"cpp", HPC_LANGUAGE_CPP},     {"CPP", HPC_LANGUAGE_CPP},     {"cxx", HPC_LANGUAGE_CPP},
    {"CXX", HPC_LANGUAGE_CPP},     {"c++", HPC_LANGUAGE_CPP},     {"cppm", HPC_LANGUAGE_CPP},
    {"H", HPC_LANGUAGE_CPP},       {"hh", HPC_LANGUAGE_CPP},      {"HH", HPC_LANGUAGE_CPP},
    {"hpp", HPC_LANGUAGE_CPP},     {"HPP", HPC_LANGUAGE_CPP},     {"hxx", HPC_LANGUAGE_CPP},
    {"Hxx", HPC_LANGUAGE_CPP},     {"HXX", HPC_LANGUAGE_CPP},     {"h++", HPC_LANGUAGE_CPP},
    {"inl", HPC_LANGUAGE_CPP},     {"ipp", HPC_LANGUAGE_CPP},     {"tpp", HPC_LANGUAGE_CPP},
    {"txx", HPC_LANGUAGE_CPP},     {"tcc", HPC_LANGUAGE_CPP},     {"icc", HPC_LANGUAGE_CPP},
    {"cu", HPC_LANGUAGE_CUDA},     {"cuh", HPC_LANGUAGE_CUDA},    {"hip", HPC_LANGUAGE_HIP},
    {"cl", HPC_LANGUAGE_OPENCL},   {"f", HPC_LANGUAGE_FORTRAN},   {"F", HPC_LANGUAGE_FORTRAN},
    {"for", HPC_LANGUAGE_FORTRAN}, {"FOR", HPC_LANGUAGE_FORTRAN}, {"ftn", HPC_LANGUAGE_FORTRAN},
    {"FTN", HPC_LANGUAGE_FORTRAN}, {"f77", HPC_LANGUAGE_FORTRAN}, {"F77", HPC_LANGUAGE_FORTRAN},
    {"f90", HPC_LANGUAGE_FORTRAN}, {"F90", HPC_LANGUAGE_FORTRAN}, {"f95", HPC_LANGUAGE_FORTRAN},
    {"F95", HPC_LANGUAGE_FORTRAN}, {"f03", HPC_LANGUAGE_FORTRAN}, {"F03", HPC_LANGUAGE_FORTRAN},
    {"f08", HPC_LANGUAGE_FORTRAN}, {"F08", HPC_LANGUAGE_FORTRAN}, {"fpp", HPC_LANGUAGE_FORTRAN},
    {"FPP", HPC_LANGUAGE_FORTRAN},
};

/* The text after the last '.' of the file name, or "" if nothing precedes that dot. */
const char *hpc_path_extension(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? dot + 1 : "";
}

hpc_language hpc_language_of_path(const char *path)
{
    const char *extension = hpc_path_extension(path);
    hpc_language l = HPC_LANGUAGE_NONE;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions && !l; i++)
        if (strcmp(extension, extensions[i].extension) == 0) l = extensions[i].language;
    if (l != HPC_LANGUAGE_C && l != HPC_LANGUAGE_CPP) return l;
    size_t stem = strlen(path) - strlen(extension) - 1;
    if (stem > 4 && memcmp(path + stem - 4, ".hip", 4) == 0) return HPC_LANGUAGE_HIP;
    if (stem > 3 && memcmp(path + stem - 3, ".cu", 3) == 0) return HPC_LANGUAGE_CUDA;
    return l;
}

/* ---- by words ------------------------------------------------------------------- */

enum {
    SAYS_CPP = 1,
    SAYS_CUDA = 2,
    SAYS_HIP = 4,
    SAYS_DEVICE = 8, /* code for a GPU, of CUDA or of HIP */
    SAYS_OPENCL = 16
};

/* A word tells something only before what it stands before in that language: C programs have
 * variables called `class` and `template`. */
static const struct {
    const char *word;
    char next; /* 0: anything; 'a': a name; '{': a name or a brace; else this byte */
    uint8_t says;
} words[] = {
    {"class", 'a', SAYS_CPP},
    {"template", '<', SAYS_CPP},
    {"namespace", '{', SAYS_CPP},
    {"typename", 'a', SAYS_CPP},
    {"constexpr", 'a', SAYS_CPP},
    {"public", ':', SAYS_CPP},
    {"private", ':', SAYS_CPP},
    {"protected", ':', SAYS_CPP},
    {"using", 'a', SAYS_CPP},
    {"static_cast", '<', SAYS_CPP},
    {"reinterpret_cast", '<', SAYS_CPP},
    {"nullptr", 0, SAYS_CPP},
    {"noexcept", 0, SAYS_CPP},
    {"decltype", '(', SAYS_CPP},
    {"__global__", 0, SAYS_DEVICE},
    {"hipLaunchKernelGGL", 0, SAYS_HIP | SAYS_DEVICE},
    {"__kernel", 'a', SAYS_OPENCL},
};
enum { WORDS_N = sizeof words / sizeof *words };

/* Of this call alone: for each first byte, 1 + the first of its words, linked by `next`. */
typedef struct word_index {
    uint8_t first[256], next[WORDS_N], n[WORDS_N];
} word_index;

static void build_index(word_index *x)
{
    memset(x->first, 0, sizeof x->first);
    for (int i = WORDS_N - 1; i >= 0; i--) {
        uint8_t *first = &x->first[(uint8_t)words[i].word[0]];
        x->next[i] = *first;
        x->n[i] = (uint8_t)strlen(words[i].word);
        *first = (uint8_t)(i + 1);
    }
}

static bool followed_by(char next, const uint8_t *p, const uint8_t *end)
{
    if (next == 0) return true;
    while (p < end && (hpc_byte_is_blank(*p) || *p == '\n')) p++;
    if (p == end) return false;
    bool name = hpc_byte_class[*p] == HPC_CLASS_NAME;
    if (next == 'a') return name;
    return *p == (uint8_t)next || (next == '{' && name);
}

static unsigned word_says(const word_index *x, const uint8_t *p, const uint8_t *q,
                          const uint8_t *end)
{
    for (int i = x->first[*p]; i > 0; i = x->next[i - 1])
        if (x->n[i - 1] == q - p && memcmp(words[i - 1].word, p, (size_t)(q - p)) == 0)
            return followed_by(words[i - 1].next, q, end) ? words[i - 1].says : 0;
    return 0;
}

static bool starts(const uint8_t *p, const uint8_t *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* Evidence from the header named after "include" at p. */
static unsigned header_says(const uint8_t *p, const uint8_t *end)
{
    p = hpc_scan_blanks(p, end);
    if (p == end || (*p != '<' && *p != '"')) return 0;
    bool system = *p++ == '<';
    const uint8_t *q = p, *dot = NULL;
    for (; q < end && *q != '>' && *q != '"' && *q != '\n'; q++) {
        if (*q == '.') dot = q;
        if (*q == '/') dot = NULL;
    }
    unsigned says = starts(p, q, "hip/") ? SAYS_HIP : 0;
    if (starts(p, q, "cuda.h") || starts(p, q, "cuda_runtime")) says |= SAYS_CUDA;
    /* <vector>, but not <mpi>: no header of C is without ".h". */
    if (system && !dot && q > p) says |= SAYS_CPP;
    if (dot && (starts(dot, q, ".hpp") || starts(dot, q, ".hxx") || starts(dot, q, ".hh")))
        says |= SAYS_CPP;
    return says;
}

/* Branches of #if. Those that only C++ compiles are skipped, and includes inside branches are no
 * evidence: portable code includes headers of many systems. */
typedef struct guard {
    int depth; /* open #ifs inside the first that asks for C++, itself included; 0: outside */
    int open;  /* all that are open, but for one around the whole file */
    bool skip, any;
} guard;

static unsigned directive_says(guard *g, const uint8_t *p, const uint8_t *end)
{
    p = hpc_scan_blanks(p + 1, end);
    const uint8_t *q = hpc_name_end(p, end), *stop = hpc_scan_line(q, end);
    bool first = !g->any;
    g->any = true;
    if (q - p == 7 && memcmp(p, "include", 7) == 0)
        return g->skip || g->open > 0 ? 0 : header_says(q, stop);
    if (starts(p, q, "if")) {
        g->open += !first;
        if (g->depth > 0) {
            g->depth++;
        } else if (memmem(q, (size_t)(stop - q), "__cplusplus", 11)) {
            g->depth = 1;
            g->skip = p[2] != 'n'; /* not #ifndef */
        }
    } else if (starts(p, q, "el") && g->depth == 1) {
        g->skip = !g->skip;
    } else if (starts(p, q, "endif")) {
        g->open -= g->open > 0;
        if (g->depth > 0 && --g->depth == 0) g->skip = false;
    }
    return 0;
}

static const uint8_t *skip_comments(const uint8_t *p, const uint8_t *end)
{
    for (;;) {
        while (p < end && (hpc_byte_is_blank(*p) || *p == '\n')) p++;
        if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
            p = hpc_scan_block_comment(p, end).end;
        } else if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
            p = hpc_scan_line_comment(p, end).end;
        } else {
            return p;
        }
    }
}

/* Everything that the first kilobytes of code say. */
static unsigned look(const uint8_t *p, const uint8_t *end)
{
    word_index x;
    build_index(&x);
    guard g = {0};
    unsigned says = 0;
    bool directive = false, first = true;
    p = skip_comments(p, end);
    if (end - p > LOOK_BYTES) end = p + LOOK_BYTES;
    while (p < end) {
        uint8_t c = *p;
        const uint8_t *q = p + 1;
        switch (hpc_byte_class[c]) {
        case HPC_CLASS_BLANK: p = q; continue;
        case HPC_CLASS_NEWLINE:
            first = true;
            directive = false;
            p = q;
            continue;
        case HPC_CLASS_NAME:
            q = hpc_name_end(p, end);
            if (!directive && !g.skip) says |= word_says(&x, p, q, end);
            break;
        case HPC_CLASS_DIGIT: q = hpc_scan_number(p, end); break;
        case HPC_CLASS_HASH:
            if (first) {
                directive = true;
                says |= directive_says(&g, p, end);
            }
            break;
        case HPC_CLASS_SLASH:
            if (q < end && (*q == '*' || *q == '/'))
                q = *q == '*' ? hpc_scan_block_comment(p, end).end
                              : hpc_scan_line_comment(p, end).end;
            break;
        case HPC_CLASS_QUOTE:
        case HPC_CLASS_APOSTROPHE: q = hpc_scan_string(p, end).end; break;
        case HPC_CLASS_BACKSLASH: q = hpc_scan_splice(p, end) ? hpc_scan_splice(p, end) : q; break;
        case HPC_CLASS_LESS:
            if (!directive && end - p > 3 && p[1] == '<' && p[2] == '<') {
                says |= SAYS_DEVICE;
                q = p + 3;
            }
            break;
        case HPC_CLASS_OPERATOR:
            if (c == ':' && q < end && *q == ':' && !directive && !g.skip) says |= SAYS_CPP;
            break;
        default: break;
        }
        first = false;
        p = q;
    }
    return says;
}

/* Lisp also uses this extension. */
static bool is_lisp(const uint8_t *p, const uint8_t *end)
{
    while (p < end && (hpc_byte_is_blank(*p) || *p == '\n')) p++;
    return p < end && (*p == '(' || *p == ';');
}

hpc_language hpc_language_of(const char *path, const char *text, size_t n)
{
    const uint8_t *p = (const uint8_t *)text, *end = p + n;
    hpc_language l = hpc_language_of_path(path);
    const char *extension = hpc_path_extension(path);
    if (l == HPC_LANGUAGE_NONE || l == HPC_LANGUAGE_FORTRAN) return l;
    if (l == HPC_LANGUAGE_OPENCL) return is_lisp(p, end) ? HPC_LANGUAGE_NONE : l;

    bool shared = strcmp(extension, "inc") == 0 || strcmp(extension, "h") == 0;
    if (l == HPC_LANGUAGE_C && !shared) return l;
    if (shared) {
        hpc_language other = hpc_language_of_shared(p, end, extension[0] == 'h');
        if (other != HPC_LANGUAGE_C) return other;
    }
    unsigned says = look(p, end);
    bool hip = (says & SAYS_HIP) && !(says & SAYS_CUDA);
    if (l == HPC_LANGUAGE_HIP || hip) return HPC_LANGUAGE_HIP;
    if (l == HPC_LANGUAGE_CUDA || (says & SAYS_DEVICE)) return HPC_LANGUAGE_CUDA;
    if ((says & SAYS_OPENCL) && shared && !(says & SAYS_CPP)) return HPC_LANGUAGE_OPENCL;
    return l == HPC_LANGUAGE_CPP || (says & SAYS_CPP) ? HPC_LANGUAGE_CPP : HPC_LANGUAGE_C;
}

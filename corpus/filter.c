/*
 * filter.c: excludes files without training value by path and tokens: vendored, generated,
 * minified, tables of numbers, too short.
 *
 * It looks at one file alone; near.c and merge.c find duplicates.
 */
#include <string.h>
#include <strings.h>

#include "corpus/priv.h"
#include "corpus/vector.h"

enum {
    LEAST_TOKENS = 15,
    HEADER_BYTES = 4096,     /* range to search for generator comments */
    LINE_MEAN = 200,         /* bytes; longer lines on average are not written by people */
    LINE_WORST = 20000,      /* one line of this length is data */
    JUDGED_BYTES = 2000,     /* line lengths of less than this mean little */
    TABLE_TOKENS = 500,      /* minimum code tokens of a table of numbers */
    TABLE_SHARE_PERCENT = 40 /* limit of numbers; the rest are commas, braces */
};

/* ---- vendored trees --------------------------------------------------------- */

typedef struct vendored {
    const char *name;
    const char *project; /* name of the project's own repository; NULL: none */
} vendored;

static const vendored vendored_folders[] = {
    {"third_party", NULL},
    {"third-party", NULL},
    {"thirdparty", NULL},
    {"third_parties", NULL},
    {"3rdparty", NULL},
    {"3rd_party", NULL},
    {"3rd-party", NULL},
    {"3rdparties", NULL},
    {"vendor", NULL},
    {"vendors", NULL},
    {"vendored", NULL},
    {"external", NULL},
    {"externals", NULL},
    {"extern", NULL},
    {"externalpackages", NULL},
    {"deps", NULL},
    {"dependencies", NULL},
    {"node_modules", NULL},
    {"submodules", NULL},
    {"subprojects", NULL},
    {"tpl", NULL},
    {"tpls", NULL},
    {"site-packages", NULL},
    {"bundled", NULL},
    {"kokkos_src", NULL},
    {"kokkos-src", NULL},
    {"raja_src", NULL},
    {"blt", "blt"},
    {"gtest", "googletest"},
    {"gmock", "googletest"},
    {"googletest", "googletest"},
    {"googlemock", "googletest"},
    {"catch2", "catch2"},
    {"pybind11", "pybind11"},
    {"nlohmann", "json"},
    {"rapidjson", "rapidjson"},
};

/* Libraries that are copied as one or two files. */
static const vendored vendored_files[] = {
    {"json.hpp", "json"},
    {"catch.hpp", "catch2"},
    {"catch_amalgamated.hpp", "catch2"},
    {"catch_amalgamated.cpp", "catch2"},
    {"doctest.h", "doctest"},
    {"CLI11.hpp", "cli11"},
    {"cxxopts.hpp", "cxxopts"},
    {"argparse.hpp", "argparse"},
    {"toml.hpp", "toml11"},
    {"toml.hpp", "tomlplusplus"},
    {"sqlite3.c", "sqlite"},
    {"sqlite3.h", "sqlite"},
    {"miniz.c", "miniz"},
    {"miniz.h", "miniz"},
    {"tinyxml2.cpp", "tinyxml2"},
    {"tinyxml2.h", "tinyxml2"},
    {"pugixml.cpp", "pugixml"},
    {"pugixml.hpp", "pugixml"},
    {"cJSON.c", "cjson"},
    {"cJSON.h", "cjson"},
    {"lodepng.cpp", "lodepng"},
    {"lodepng.c", "lodepng"},
    {"lodepng.h", "lodepng"},
    {"uthash.h", "uthash"},
    {"gtest.h", "googletest"},
    {"gtest-all.cc", "googletest"},
    {"gmock-gtest-all.cc", "googletest"},
    {"xxhash.h", "xxhash"},
    {"xxhash.c", "xxhash"},
    {"lz4.c", "lz4"},
    {"lz4.h", "lz4"},
    {"getopt.c", "glibc"},
    {"getopt.h", "glibc"},
    {"getopt_long.c", "musl"},
    {"stb_image.h", "stb"},
    {"stb_image_write.h", "stb"},
    {"cl.hpp", "opencl-clhpp"},
    {"cl2.hpp", "opencl-clhpp"},
    {"opencl.hpp", "opencl-clhpp"},
    {"miniaudio.h", "miniaudio"},
    {"khrplatform.h", "egl-registry"},
    {"glad.c", "glad"},
    {"tinyobj_loader.h", "tinyobjloader"},
    {"tiny_obj_loader.h", "tinyobjloader"},
};

/* Whole projects under their own name inside another's tree. */
static const vendored vendored_paths[] = {
    {"kokkos/kokkos/", "kokkos"},
    {"kokkos/core/src/", "kokkos"},
    {"kokkos/containers/src/", "kokkos"},
    {"raja/include/raja/", "raja"},
    {"mfem/fem/", "mfem"},
    {"hypre/src/", "hypre"},
};

/* "DaveGamble/cJSON", "cjson.git" and "mirrors/cJSON-mirror" are cJSON's own repositories. */
static bool is_project(const char *repository, const char *project)
{
    static const char *const endings[] = {"",        ".git",  "-mirror",
                                          "_mirror", "-fork", "-amalgamation"};
    const char *slash = strrchr(repository, '/'), *name = slash ? slash + 1 : repository;
    size_t n = project ? strlen(project) : 0;
    if (!project || strncasecmp(name, project, n) != 0) return false;
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
        if (strcasecmp(name + n, endings[k]) == 0) return true;
    return false;
}

/* The entry with that name, unless the repository is at home there. */
static const char *in_list(const vendored *list, size_t list_n, const char *name, size_t n,
                           const char *repository)
{
    const char *found = NULL;
    for (size_t k = 0; k < list_n; k++) {
        if (strncasecmp(list[k].name, name, n) != 0 || list[k].name[n]) continue;
        if (is_project(repository, list[k].project)) return NULL;
        found = list[k].name;
    }
    return found;
}

const char *corpus_vendored(const char *path, const char *repository)
{
    const char *part = path, *found = NULL;
    for (const char *slash; (slash = strchr(part, '/')); part = slash + 1) {
        found = in_list(vendored_folders, sizeof vendored_folders / sizeof *vendored_folders, part,
                        (size_t)(slash - part), repository);
        if (found) return found;
    }
    for (part = path; part; part = strchr(part, '/'), part = part ? part + 1 : NULL)
        for (size_t k = 0; k < sizeof vendored_paths / sizeof *vendored_paths; k++) {
            const vendored *v = &vendored_paths[k];
            if (strncasecmp(part, v->name, strlen(v->name)) == 0 &&
                !is_project(repository, v->project))
                return v->name;
        }
    part = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return in_list(vendored_files, sizeof vendored_files / sizeof *vendored_files, part,
                   strlen(part), repository);
}

/* ---- UTF-8 -------------------------------------------------------------------- */

enum { BLOCK = 64 }; /* bytes */

/* Are eight bytes all ASCII and nonzero? */
static bool plain_eight(const char *text)
{
    uint64_t w;
    memcpy(&w, text, sizeof w);
    uint64_t high = UINT64_C(0x8080808080808080);
    uint64_t zero = (w - UINT64_C(0x0101010101010101)) & ~w & high;
    return ((w & high) | zero) == 0;
}

/* Length of the character at text, or 0. By table 3-7 of the Unicode standard. */
static size_t character(const unsigned char *s, size_t n)
{
    unsigned char a = s[0];
    size_t length = a < 0x80 ? 1 : a < 0xc2 ? 0 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 0;
    if (length == 0 || length > n || a == 0) return 0;
    for (size_t k = 1; k < length; k++)
        if ((s[k] & 0xc0) != 0x80) return 0;
    if ((a == 0xe0 && s[1] < 0xa0) || (a == 0xed && s[1] > 0x9f) || (a == 0xf0 && s[1] < 0x90) ||
        (a == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

/* Bytes before the first block with a zero or non-ASCII byte: both have the upper bit set, directly
 * or after subtracting one. */
static size_t plain_blocks(const char *text, size_t n)
{
    size_t i = 0;
    for (; n - i >= BLOCK; i += BLOCK) {
        const char *p = text + i;
        corpus_bytes a = corpus_bytes_load(p), b = corpus_bytes_load(p + 16);
        corpus_bytes c = corpus_bytes_load(p + 32), d = corpus_bytes_load(p + 48);
        corpus_bytes odd = a | b | c | d | (a - 1) | (b - 1) | (c - 1) | (d - 1);
        if (corpus_bytes_any(odd, 0x80)) break;
    }
    return i;
}

bool corpus_is_utf8(const char *text, size_t n)
{
    for (size_t i = plain_blocks(text, n); i < n; i += plain_blocks(text + i, n - i))
        for (size_t stop = n - i < BLOCK ? n : i + BLOCK; i < stop;) {
            if (n - i >= 8 && plain_eight(text + i)) {
                i += 8;
                continue;
            }
            size_t length = character((const unsigned char *)text + i, n - i);
            if (length == 0) return false;
            i += length;
        }
    return true;
}

/* ---- generated ------------------------------------------------------------------ */

/* In lower case; the first match is reported. The word that is searched for starts at `head`. */
static const struct {
    const char *words;
    size_t head;
} generated_phrases[] = {
    {"do not edit", 7},
    {"do not modify this file", 7},
    {"automatically generated", 14},
    {"auto-generated", 5},
    {"auto generated", 5},
    {"autogenerated", 4},
    {"this file is generated", 13},
    {"this file was generated", 14},
    {"file generated by", 5},
    {"code generated by", 5},
    {"generated automatically", 0},
    {"machine generated", 8},
    {"machine-generated", 8},
    {"@generated", 1},
    {"generated from a template", 0},
    {"-- translated by f2c", 17},
    {"translated by f2c", 14},
    {"created by swig", 11},
    {"a bison parser", 2},
    {"a lexical scanner generated by flex", 18},
    {"generated by the protocol buffer compiler", 0},
    {"generated by tapenade", 0},
    {"meta object code from reading", 0},
};
enum { GENERATED_PHRASES = sizeof generated_phrases / sizeof *generated_phrases };

static const char *const generated_heads[] = {
    "gen GEN", "edi EDI", "mod MOD", "f2c F2C", "swi SWI", "bis BIS", "met MET",
};

static const char *const generated_endings[] = {
    ".pb.h",   ".pb.cc", ".pb-c.c", ".pb-c.h",   ".tab.c", ".tab.h",
    ".tab.cc", ".yy.c",  "_wrap.c", "_wrap.cxx", ".moc",   ".ui.h",
};

static const char *generated_by_path(const char *path)
{
    size_t n = strlen(path);
    for (size_t k = 0; k < sizeof generated_endings / sizeof *generated_endings; k++) {
        size_t m = strlen(generated_endings[k]);
        if (n > m && strcmp(path + n - m, generated_endings[k]) == 0) return generated_endings[k];
    }
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "moc_", 4) == 0 ? "moc_" : NULL;
}

/* The comments near the start: further down the words are about something else. */
static size_t opening_comments(char out[HEADER_BYTES + 1], const char *text, const hpc_tokens *t)
{
    size_t used = 0;
    for (const hpc_token *c = t->item, *end = c + t->n; c < end && c->at < HEADER_BYTES; c++) {
        if (c->kind != HPC_TOKEN_COMMENT) continue;
        size_t n = c->n < HEADER_BYTES - used ? c->n : HEADER_BYTES - used;
        memcpy(out + used, text + c->at, n);
        used += n;
    }
    out[used] = '\0';
    return used;
}

/* The first of the first `most` phrases that matches around `at`, the position of its head; or
 * `most`. */
static size_t phrase_at(const char *words, size_t at, size_t most)
{
    for (size_t k = 0; k < most; k++) {
        const char *phrase = generated_phrases[k].words;
        size_t head = generated_phrases[k].head;
        if ((words[at] | 32) == phrase[head] && at >= head &&
            strncasecmp(words + at - head, phrase, strlen(phrase)) == 0)
            return k;
    }
    return most;
}

static const char *generated_by_text(const char *text, const hpc_tokens *t)
{
    char words[HEADER_BYTES + 1];
    corpus_heads h;
    size_t n = opening_comments(words, text, t), found = GENERATED_PHRASES;
    corpus_heads_init(&h, generated_heads, sizeof generated_heads / sizeof *generated_heads);
    for (size_t at = 0; (at = corpus_heads_next(&h, words, n, at)) < n; at++)
        found = phrase_at(words, at, found);
    return found < GENERATED_PHRASES ? generated_phrases[found].words : NULL;
}

/* ---- minified --------------------------------------------------------------------- */

/* Is there a stretch of LINE_WORST bytes without a line end? Each search starts at the last line
 * end within reach of the previous one. */
static bool has_endless_line(const char *text, size_t n)
{
    for (size_t lo = 0; n - lo > LINE_WORST;) {
        const char *end = memrchr(text + lo, '\n', LINE_WORST);
        if (!end) return true;
        lo = (size_t)(end - text) + 1;
    }
    return false;
}

static const char *by_lines(const char *text, size_t n, const hpc_tokens *t)
{
    size_t lines = t->n > 0 ? t->item[t->n - 1].line : 1;
    if (n < JUDGED_BYTES) return NULL;
    if (has_endless_line(text, n)) return "a line of more than 20000 bytes";
    return n / lines > LINE_MEAN ? "lines of more than 200 bytes on average" : NULL;
}

typedef struct kinds {
    int64_t code, numbers;
} kinds;

static bool is_table(kinds k)
{
    return k.numbers * 100 > k.code * TABLE_SHARE_PERCENT;
}

/* Of all tokens, or of enough: there is code, and no table even if all of the rest is numbers. */
static kinds count_kinds(const hpc_tokens *t)
{
    enum { BATCH = 64, CODE = 1 };
    const uint64_t number = UINT64_C(1) << 32; /* two sums in one */
    const uint64_t weight[] = {
        [HPC_TOKEN_NAME] = CODE,      [HPC_TOKEN_NUMBER] = CODE + number,
        [HPC_TOKEN_STRING] = CODE,    [HPC_TOKEN_PUNCT] = CODE,
        [HPC_TOKEN_CHARACTER] = CODE, [HPC_TOKEN_COMMENT] = 0,
        [HPC_TOKEN_NEWLINE] = 0,      [HPC_TOKEN_SENTINEL] = CODE,
        [HPC_TOKEN_LABEL] = CODE,     [HPC_TOKEN_END_DIRECTIVE] = 0,
    };
    kinds sum = {0, 0};
    for (const hpc_token *x = t->item, *end = x + t->n; x < end;) {
        uint64_t part = 0;
        for (int k = 0; k < BATCH && end - x >= 4; k += 4, x += 4)
            part += weight[x[0].kind] + weight[x[1].kind] + weight[x[2].kind] + weight[x[3].kind];
        for (; end - x < 4 && x < end; x++) part += weight[x->kind];
        sum.code += (int64_t)(part & UINT32_MAX);
        sum.numbers += (int64_t)(part >> 32);
        kinds most = {sum.code + (end - x), sum.numbers + (end - x)};
        if (sum.code >= LEAST_TOKENS && !is_table(most)) break;
    }
    return sum;
}

const char *corpus_worthless(hpc_reason *reason, const char *path, const char *text, size_t n,
                             const hpc_tokens *t)
{
    kinds tokens = count_kinds(t);
    const char *why = NULL;
    *reason = HPC_REASON_TOO_SHORT;
    if (tokens.code < LEAST_TOKENS) return "fewer than 15 tokens";
    *reason = HPC_REASON_GENERATED;
    why = generated_by_path(path);
    if (!why) why = generated_by_text(text, t);
    if (why) return why;
    *reason = HPC_REASON_MINIFIED;
    why = by_lines(text, n, t);
    if (!why && tokens.code >= TABLE_TOKENS && is_table(tokens)) why = "a table of numbers";
    if (!why) *reason = HPC_REASON_KEPT;
    return why;
}
